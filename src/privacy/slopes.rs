//! Slopes of records as clamped integers: d_ik = clamp(round(l'_k(z_i) 2^b)); those that add up to 0 are
//! [`super::balanced_slopes`].

use rayon::prelude::*;

use super::one_read::PieceOfSlopes;
use super::planes::by_records;
use crate::loss::{Block, Loss};
use crate::numeric::kernel::{for_wide_vectors, round_clamped, truncate};
use crate::question::{RoomModel, SlopeBound};

/// Records per piece of work.
const CHUNK: usize = 1024;

/// Records whose slopes are shortened at once.
const PIECE: usize = 32;

/// Room for slopes of several outputs before they are integers.
#[derive(Default)]
pub(super) struct Scratch {
    floats: Vec<f64>,
    blocks: Vec<Block>,
}

impl RoomModel {
    /// Slopes before any clamp, plane by plane.
    pub fn unclamped(&self, z: &[f64], y: &[f64], out: &mut [f64]) {
        self.model().slopes(z, y, out);
    }

    /// d from margins and targets, record by record: entry i of every plane depends on record i and on the public
    /// `unit` only (z_ik = margins_ik * unit), with the same operations for every record. Of all outputs, or
    /// of all but the last where slopes add up to 0.
    pub fn slopes(&self, margins: &[Vec<i64>], unit: f64, targets: &[f64], out: &mut [Vec<i16>]) {
        if let (Some(loss), [margins], [out]) = (self.model().scalar(), margins, &mut *out) {
            out.par_chunks_mut(CHUNK)
                .zip(margins.par_chunks(CHUNK))
                .zip(targets.par_chunks(CHUNK))
                .for_each(|((out, margins), targets)| {
                    self.scalar_slopes(loss, (margins, unit), targets, out);
                });
        } else {
            self.planes_of_slopes(margins, unit, targets, out);
        }
    }

    /// The same of the loss of one output that this is, by one thread.
    pub(super) fn scalar_slopes(
        &self,
        loss: &dyn Loss,
        (margins, unit): (&[i64], f64),
        targets: &[f64],
        out: &mut [i16],
    ) {
        loss.integer_derivatives(margins, unit, targets, self.lattice().scale(), out);
        // Whatever the loss says.
        let bound = self.lattice().bound().linf as i16;
        for slope in out {
            *slope = (*slope).max(-bound).min(bound);
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
            .for_each_init(Scratch::default, |scratch, ((chunk, out), targets)| {
                let here = chunk * CHUNK..chunk * CHUNK + targets.len();
                let margins: Vec<&[i64]> = margins.iter().map(|all| &all[here.clone()]).collect();
                self.several_slopes(&margins, unit, targets, out, scratch);
            });
    }

    /// The slopes of a piece of the records, by one thread.
    pub(super) fn piece_of_slopes(
        &self,
        margins: &[&mut [i64]],
        unit: f64,
        targets: &[f64],
        out: &mut PieceOfSlopes,
    ) {
        let PieceOfSlopes { planes, scratch } = out;
        match (self.model().scalar(), margins, &mut **planes) {
            (Some(loss), [margins], [slopes]) => {
                self.scalar_slopes(loss, (margins, unit), targets, slopes);
            }
            (_, margins, slopes) => self.several_slopes(margins, unit, targets, slopes, scratch),
        }
    }

    /// Slopes of several outputs of some records, by one thread.
    fn several_slopes<M: AsRef<[i64]>, S: AsRef<[i16]> + AsMut<[i16]>>(
        &self,
        margins: &[M],
        unit: f64,
        targets: &[f64],
        out: &mut [S],
        scratch: &mut Scratch,
    ) {
        if let Some(model) = self.model().balanced() {
            return self.balanced_slopes(model, (margins, unit), targets, out, &mut scratch.blocks);
        }
        let SlopeBound { linf, .. } = self.lattice().bound();
        let m = targets.len();
        let floats = &mut scratch.floats;
        floats.resize(2 * margins.len() * m, 0.0);
        let (z, slopes) = floats.split_at_mut(margins.len() * m);
        for (z, margins) in z.chunks_mut(m).zip(margins) {
            scores(margins.as_ref(), unit, z);
        }
        self.model().slopes(z, targets, slopes);
        for (out, slopes) in out.iter_mut().zip(slopes.chunks(m)) {
            round_clamped(slopes, self.lattice().scale(), linf as f64, out.as_mut());
        }
        self.shorten(out);
    }

    /// Shortens every record of these planes to the bounds on its sum and on its Euclidean norm.
    fn shorten<S: AsRef<[i16]> + AsMut<[i16]>>(&self, planes: &mut [S]) {
        let SlopeBound { linf, l1, l2 } = self.lattice().bound();
        // Sums are exact: fewer than 2^18 outputs of at most 2^14. So are the squares of records within the bound on
        // the sum, sum d^2 <= linf sum |d|, where that product fits; of no other record are they looked at.
        let exact = planes.len() < 1 << 18 && linf * l1 < 1 << 32;
        let m = planes.first().map_or(0, |plane| plane.as_ref().len());
        for first in (0..m).step_by(PIECE) {
            let here = first..m.min(first + PIECE);
            let (mut sums, mut squares) = ([0u32; PIECE], [0u32; PIECE]);
            for_wide_vectors(
                #[inline(always)]
                || {
                    for plane in &*planes {
                        add_sizes(&plane.as_ref()[here.clone()], &mut sums, &mut squares);
                    }
                },
            );
            for (i, (&sum, &square)) in here.zip(sums.iter().zip(&squares)) {
                if !exact || u64::from(sum) > l1 || u64::from(square) > l2 * l2 {
                    self.shorten_record(planes, i);
                }
            }
        }
    }

    /// The same for one record.
    fn shorten_record<S: AsRef<[i16]> + AsMut<[i16]>>(&self, planes: &mut [S], i: usize) {
        let SlopeBound { l1, l2, .. } = self.lattice().bound();
        let sizes = || (planes.iter()).map(|plane| u64::from(plane.as_ref()[i].unsigned_abs()));
        let (sum, square) = (sizes().sum::<u64>(), sizes().map(|d| d * d).sum::<u64>());
        if sum > l1 || square > l2 * l2 {
            // Towards zero, and a little less than the quotient, which errs by an ulp.
            let factor = (l1 as f64 / sum as f64).min(l2 as f64 / (square as f64).sqrt());
            let factor = factor.min(1.0) * (1.0 - 1e-12);
            for plane in planes.iter_mut() {
                let slope = &mut plane.as_mut()[i];
                *slope = truncate(f64::from(*slope) * factor);
            }
        }
    }
}

/// z_i = margins_i * unit.
pub(super) fn scores(margins: &[i64], unit: f64, z: &mut [f64]) {
    for_wide_vectors(
        #[inline(always)]
        || {
            for (z, &margin) in z.iter_mut().zip(margins) {
                *z = margin as f64 * unit;
            }
        },
    );
}

/// Adds |d| and d^2 of every record of a plane, modulo 2^32.
#[inline(always)]
fn add_sizes(plane: &[i16], sums: &mut [u32; PIECE], squares: &mut [u32; PIECE]) {
    for ((sum, square), &d) in sums.iter_mut().zip(squares.iter_mut()).zip(plane) {
        let size = u32::from(d.unsigned_abs());
        *sum = sum.wrapping_add(size);
        *square = square.wrapping_add(size.wrapping_mul(size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Growth, Model, Task};
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

    /// A loss of one score that says it is a tenth of what it is.
    #[derive(Debug)]
    struct Liar;

    impl Loss for Liar {
        fn name(&self) -> &'static str {
            "liar"
        }

        fn task(&self) -> Task {
            Task::Classification
        }

        fn value(&self, z: f64, _: f64) -> f64 {
            z
        }

        fn derivative(&self, z: f64, _: f64) -> f64 {
            z
        }

        fn curvature(&self, _: f64, _: f64) -> f64 {
            0.0
        }

        fn growth(&self) -> Growth {
            Growth::scalar(0.1)
        }

        fn smoothness(&self) -> f64 {
            0.0
        }

        fn conjugate(&self, _: f64, _: f64) -> f64 {
            0.0
        }

        fn integer_derivatives(&self, m: &[i64], _: f64, _: &[f64], _: f64, out: &mut [i16]) {
            (out.iter_mut().zip(m)).for_each(|(out, &margin)| *out = margin as i16);
        }
    }

    /// The room clamps what a loss of one score writes, also integers of its own.
    #[test]
    fn slopes_of_one_output_keep_their_bound() {
        let bound = SlopeBound {
            linf: 0.1,
            l1: 0.1,
            l2: 0.1,
        };
        let model = RoomModel::of_test(Arc::new(crate::loss::Lifted(Arc::new(Liar))), bound);
        let linf = model.lattice().bound().linf as i16;
        let margins: Vec<i64> = (-40..40).map(|k| k * i64::from(linf) / 3).collect();
        let mut out = [vec![0; margins.len()]];
        let targets = vec![1.0; margins.len()];
        model.slopes(std::slice::from_ref(&margins), 1.0, &targets, &mut out);
        for (&margin, &slope) in margins.iter().zip(&out[0]) {
            let linf = i64::from(linf);
            assert_eq!(
                i64::from(slope),
                i64::from(margin as i16).clamp(-linf, linf)
            );
        }
        assert!(out[0].contains(&linf) && out[0].contains(&-linf));
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
