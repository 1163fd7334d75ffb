//! Slopes of records as clamped integers: d_ik = clamp(round(l'_k(z_i) 2^b)).

use std::ops::Range;

use rayon::prelude::*;

use super::planes::by_records;
use crate::numeric::kernel::{for_wide_vectors, round_clamped};
use crate::question::{RoomModel, SlopeBound};

/// Records per piece of work.
const CHUNK: usize = 1024;

/// Records of one output whose slopes are taken at once.
const PIECE: usize = 32;

impl RoomModel {
    /// Slopes before any clamp, plane by plane.
    pub fn unclamped(&self, z: &[f64], y: &[f64], out: &mut [f64]) {
        self.model().slopes(z, y, out);
    }

    /// d from margins and targets, record by record: entry i of every plane depends on record i and on the public
    /// `unit` only (z_ik = margins_ik * unit), with the same operations for every record.
    pub fn slopes(&self, margins: &[Vec<i64>], unit: f64, targets: &[f64], out: &mut [Vec<i16>]) {
        if let ([margins], [out]) = (margins, &mut *out) {
            out.par_chunks_mut(CHUNK)
                .zip(margins.par_chunks(CHUNK))
                .zip(targets.par_chunks(CHUNK))
                .for_each(|((out, margins), targets)| {
                    self.scalar_slopes(margins, unit, targets, out);
                });
        } else {
            self.planes_of_slopes(margins, unit, targets, out);
        }
    }

    /// The same of one output, by one thread.
    pub fn scalar_slopes(&self, margins: &[i64], unit: f64, targets: &[f64], out: &mut [i16]) {
        let bound = self.lattice().bound().linf as f64;
        let pieces = margins.chunks(PIECE).zip(targets.chunks(PIECE));
        for (out, (margins, targets)) in out.chunks_mut(PIECE).zip(pieces) {
            let (mut z, mut slopes) = ([0f64; PIECE], [0f64; PIECE]);
            scores(margins, unit, &mut z);
            let n = out.len();
            self.model().slopes(&z[..n], targets, &mut slopes[..n]);
            round_clamped(&slopes[..n], self.lattice().scale(), bound, out);
        }
    }

    /// Slopes of several outputs, clamped in all three norms: a record beyond a sum or a Euclidean norm is shortened.
    fn planes_of_slopes(
        &self,
        margins: &[Vec<i64>],
        unit: f64,
        targets: &[f64],
        out: &mut [Vec<i16>],
    ) {
        (by_records(out, CHUNK).par_iter_mut().enumerate())
            .zip(targets.par_chunks(CHUNK))
            .for_each_init(Vec::new, |scratch, ((chunk, out), targets)| {
                let here = chunk * CHUNK..chunk * CHUNK + targets.len();
                let margins: Vec<&[i64]> = margins.iter().map(|all| &all[here.clone()]).collect();
                self.chunk_of_slopes(&margins, unit, targets, out, scratch);
            });
    }

    /// Slopes of some records of all planes, by one thread.
    pub fn piece_of_slopes(
        &self,
        margins: &[&mut [i64]],
        unit: f64,
        targets: &[f64],
        records: Range<usize>,
        out: &mut [&mut [i16]],
    ) {
        if let ([margins], [out]) = (margins, &mut *out) {
            let (margins, out) = (&margins[records.clone()], &mut out[records.clone()]);
            return self.scalar_slopes(margins, unit, &targets[records], out);
        }
        let mut scratch = Vec::new();
        for first in records.clone().step_by(CHUNK) {
            let here = first..records.end.min(first + CHUNK);
            let margins: Vec<&[i64]> = margins.iter().map(|all| &all[here.clone()]).collect();
            let mut out: Vec<&mut [i16]> =
                (out.iter_mut()).map(|all| &mut all[here.clone()]).collect();
            self.chunk_of_slopes(&margins, unit, &targets[here], &mut out, &mut scratch);
        }
    }

    /// Slopes of several outputs of at most [`CHUNK`] records.
    fn chunk_of_slopes(
        &self,
        margins: &[&[i64]],
        unit: f64,
        targets: &[f64],
        out: &mut [&mut [i16]],
        scratch: &mut Vec<f64>,
    ) {
        let SlopeBound { linf, .. } = self.lattice().bound();
        let m = targets.len();
        scratch.resize(2 * margins.len() * m, 0.0);
        let (z, slopes) = scratch.split_at_mut(margins.len() * m);
        for (z, margins) in z.chunks_mut(m).zip(margins) {
            scores(margins, unit, z);
        }
        self.model().slopes(z, targets, slopes);
        for (out, slopes) in out.iter_mut().zip(slopes.chunks(m)) {
            round_clamped(slopes, self.lattice().scale(), linf as f64, out);
        }
        self.shorten(out);
    }

    /// Shortens every record of these planes to the bounds on its sum and on its Euclidean norm.
    fn shorten(&self, planes: &mut [&mut [i16]]) {
        let SlopeBound { linf, l1, l2 } = self.lattice().bound();
        let (mut sums, mut squares) = ([0u32; CHUNK], [0u32; CHUNK]);
        for_wide_vectors(
            #[inline(always)]
            || add_sizes(planes, &mut sums, &mut squares),
        );
        // Sums are exact: fewer than 2^18 outputs of at most 2^14. So are the squares of records within the bound on the
        // sum, sum d^2 <= linf sum |d|, where that product fits; of no other record are they looked at.
        let exact = planes.len() < 1 << 18 && linf * l1 < 1 << 32;
        let m = planes.first().map_or(0, |plane| plane.len());
        for i in 0..m {
            if !exact || u64::from(sums[i]) > l1 || u64::from(squares[i]) > l2 * l2 {
                self.shorten_record(planes, i);
            }
        }
    }

    /// The same for one record.
    fn shorten_record(&self, planes: &mut [&mut [i16]], i: usize) {
        let SlopeBound { l1, l2, .. } = self.lattice().bound();
        let sizes = || {
            planes
                .iter()
                .map(|plane| u64::from(plane[i].unsigned_abs()))
        };
        let (sum, square) = (sizes().sum::<u64>(), sizes().map(|d| d * d).sum::<u64>());
        if sum > l1 || square > l2 * l2 {
            // Towards zero, and a little less than the quotient, which errs by an ulp.
            let factor = (l1 as f64 / sum as f64).min(l2 as f64 / (square as f64).sqrt());
            let factor = factor.min(1.0) * (1.0 - 1e-12);
            for plane in planes.iter_mut() {
                plane[i] = (f64::from(plane[i]) * factor) as i16;
            }
        }
    }
}

/// z_i = margins_i * unit.
fn scores(margins: &[i64], unit: f64, z: &mut [f64]) {
    for_wide_vectors(
        #[inline(always)]
        || {
            for (z, &margin) in z.iter_mut().zip(margins) {
                *z = margin as f64 * unit;
            }
        },
    );
}

/// Adds |d| and d^2 of every record of these planes, modulo 2^32.
#[inline(always)]
fn add_sizes(planes: &[&mut [i16]], sums: &mut [u32; CHUNK], squares: &mut [u32; CHUNK]) {
    for plane in planes {
        for ((sum, square), &d) in sums.iter_mut().zip(squares.iter_mut()).zip(plane.iter()) {
            let size = u32::from(d.unsigned_abs());
            *sum = sum.wrapping_add(size);
            *square = square.wrapping_add(size.wrapping_mul(size));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Growth, Model};
    use proptest::prelude::*;
    use std::sync::Arc;

    /// A model of three outputs whose slopes are anything: what it states is wrong.
    #[derive(Debug)]
    struct Wild;

    impl Model for Wild {
        fn outputs(&self) -> usize {
            3
        }

        fn growth(&self) -> Growth {
            Growth::Bounded {
                linf: 1.0,
                l1: 2.0,
                l2: 2f64.sqrt(),
            }
        }

        fn smoothness(&self) -> Option<f64> {
            None
        }

        fn slopes(&self, z: &[f64], _: &[f64], out: &mut [f64]) {
            out.copy_from_slice(z);
        }
    }

    fn wild(l2: f64) -> RoomModel {
        let bound = SlopeBound {
            linf: 1.0,
            l1: 2.0,
            l2,
        };
        RoomModel::of_test(Arc::new(Wild), bound)
    }

    proptest! {
        /// Whatever a model of several outputs gives, the slopes of a record keep all three bounds, and depend on
        /// that record alone; also where the bound on the norm says more than the other two.
        #[test]
        fn slopes_of_several_outputs_keep_three_bounds(
            records in prop::collection::vec(prop::array::uniform3(-40_000i64..40_000), 1..2100),
            l2 in prop_oneof![Just(2f64.sqrt()), 0.1..1.5f64],
        ) {
            let model = wild(l2);
            let planes = |records: &[[i64; 3]]| {
                let margins: Vec<Vec<i64>> = (0..3).map(|k| records.iter().map(|z| z[k]).collect()).collect();
                let mut out = vec![vec![0i16; records.len()]; 3];
                model.slopes(&margins, 1.0 / 16_384.0, &vec![1.0; records.len()], &mut out);
                out
            };
            let out = planes(&records);
            let SlopeBound { linf, l1, l2 } = model.lattice().bound();
            for (i, record) in records.iter().enumerate() {
                let d: Vec<i64> = out.iter().map(|plane| i64::from(plane[i])).collect();
                prop_assert!(d.iter().all(|d| d.unsigned_abs() <= linf));
                prop_assert!(d.iter().map(|d| d.unsigned_abs()).sum::<u64>() <= l1);
                prop_assert!(d.iter().map(|d| (d * d) as u64).sum::<u64>() <= l2 * l2);
                if i % 500 == 0 {
                    let alone: Vec<i64> = planes(&[*record]).iter().map(|plane| i64::from(plane[0])).collect();
                    prop_assert_eq!(d, alone);
                }
            }
        }
    }

    /// Twenty outputs, whose squares do not fit 32 bits.
    #[derive(Debug)]
    struct Wide;

    impl Model for Wide {
        fn outputs(&self) -> usize {
            20
        }

        fn growth(&self) -> Growth {
            Wild.growth()
        }

        fn smoothness(&self) -> Option<f64> {
            None
        }

        fn slopes(&self, z: &[f64], _: &[f64], out: &mut [f64]) {
            out.copy_from_slice(z);
        }
    }

    /// Where quick sums of squares may wrap each record is looked at by itself: none is too long, also where its sum is
    /// 2^32, and one within the bounds, or at one of them, keeps its slopes.
    #[test]
    fn records_are_as_short_as_said_where_sums_could_wrap() {
        let model = |l1, l2| RoomModel::of_test(Arc::new(Wide), SlopeBound { linf: 1.0, l1, l2 });
        let slopes = |model: &RoomModel, record: &[i64; 20]| {
            let margins = record.map(|entry| vec![entry]);
            let mut out = vec![vec![0i16]; 20];
            model.slopes(&margins, 1.0 / 16_384.0, &[1.0], &mut out);
            std::array::from_fn::<i64, 20, _>(|k| out[k][0].into())
        };
        let first = |n, entry, others| std::array::from_fn(|k| if k < n { entry } else { others });
        for (l1, l2, record) in [
            (16.0, 3.9, first(15, 16_384, 7)),
            (18.0, 3.9, first(15, 16_384, 7)),
            (16.0, 3.9, first(1, 13_111, 13_107)), // 16 in all
            (18.0, 3.0, first(9, 16_384, 0)),      // of norm 3
        ] {
            assert_eq!(slopes(&model(l1, l2), &record), record);
        }
        let wrapping = first(16, 16_384, 0);
        for l1 in [16.0, 18.0] {
            let model = model(l1, 3.9);
            let SlopeBound { l2, .. } = model.lattice().bound();
            let square = |record: [i64; 20]| record.iter().map(|d| (d * d) as u64).sum::<u64>();
            assert_eq!(square(wrapping), 1 << 32);
            let short = square(slopes(&model, &wrapping));
            assert!(short <= l2 * l2 && short as f64 > 0.999 * (l2 * l2) as f64);
        }
    }
}
