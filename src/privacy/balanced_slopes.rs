//! Integer slopes of a softmax model, which add up to 0 for every record: the plane of the last class is minus the sum
//! of the others, and nobody makes it.
//!
//! **Definition.** With s the slopes of the model and y the record's class: d_k = round(s_k 2^b) between 0 and linf for
//! k other than y, shortened where they are too long together, and d_y = -(sum of the others). With the own slope
//! rounded by itself a record's slopes would add up to anything within K/2.
//!
//! **Bounds.** With t = sum_(k not y) d_k: the largest slope is t, the sum of the sizes 2 t, the Euclidean norm
//! sqrt(t^2 + sum_(k not y) d_k^2). Records with t beyond min(linf, l1/2), or the norm beyond l2, have all d_k, k other
//! than y, multiplied by the same factor and rounded towards zero: t and the norm are no more than the factor times
//! what they were, and all three bounds hold, whatever the model said.
//!
//! **Weights** below 1 make the slopes of the others no larger, each as a slope alone is, and so their sum: d_y is
//! minus that sum again, and |d_y| no more than the weight times what it was where that holds of the others. What is
//! proved of a slope and its weight entry by entry ([`super::record_weights`], [`super::row_norm`]) holds of all norms.
//!
//! A target that is no class would make the last class the record's own: nothing above rests on targets.

use super::slopes::scores;
use crate::loss::{BLOCK, Balanced, Block};
use crate::numeric::kernel::{clip, for_wide_vectors, quantise};
use crate::question::{RoomModel, SlopeBound};

/// Records that are weighed at once.
const PIECE: usize = 32;

/// Adding it rounds to an integer, ties to even.
const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

impl RoomModel {
    /// How many planes of slopes are made: of all outputs, or of all but the last where that is minus the sum of the
    /// others.
    pub(super) fn planes(&self) -> usize {
        self.outputs() - usize::from(self.model().balanced().is_some())
    }

    /// Gradients of all outputs, of those of the planes.
    ///
    /// No overflow: of every record the slopes of the first outputs add up to no more than linf in size, so that sums
    /// of them are bounded as those of one are.
    pub(super) fn of_all_outputs(&self, mut sums: Vec<i64>, columns: usize) -> Vec<i64> {
        if self.model().balanced().is_some() {
            let mut last = vec![0; columns];
            for plane in sums.chunks(columns) {
                (last.iter_mut().zip(plane)).for_each(|(last, sum)| *last -= sum);
            }
            sums.extend(last);
        }
        sums
    }

    /// Slopes of some records, of all classes but the last, by one thread.
    pub(super) fn balanced_slopes<M: AsRef<[i64]>, S: AsMut<[i16]>>(
        &self,
        model: &dyn Balanced,
        (margins, unit): (&[M], f64),
        targets: &[f64],
        out: &mut [S],
        others: &mut Vec<Block>,
    ) {
        debug_assert_eq!(out.len(), self.planes());
        others.resize(margins.len(), Block::ZEROS);
        for (block, targets) in targets.chunks(BLOCK).enumerate() {
            let (first, len) = (block * BLOCK, targets.len());
            let mut y = [0.0; BLOCK];
            y[..len].copy_from_slice(targets);
            for (Block(z), margins) in others.iter_mut().zip(margins) {
                let (here, beyond) = z.split_at_mut(len);
                scores(&margins.as_ref()[first..][..len], unit, here);
                beyond.fill(0.0);
            }
            let factors = model.others(others, &y);
            let mut sizes = self.round_others(others, (&factors, &y));
            if sizes.any_beyond {
                self.shorten_others(others, &mut sizes);
            }
            for (k, (out, Block(others))) in out.iter_mut().zip(&*others).enumerate() {
                let out = &mut out.as_mut()[first..][..len];
                out.copy_from_slice(&slopes_of(k, others, (&sizes.sums, &y))[..len]);
            }
        }
    }

    /// Rounds slopes of the others to integers, that of the own class to 0. Sums and squares are exact: integers below
    /// 2^53, of at most 2^10 classes.
    fn round_others(&self, others: &mut [Block], (factors, y): (&Block, &[f64; BLOCK])) -> Sizes {
        let (scale, linf) = (self.lattice().scale(), self.lattice().bound().linf as f64);
        let bounds = self.bounds_of_others();
        let (mut sums, mut squares) = (Block::ZEROS, Block::ZEROS);
        let mut most = [0.0f64; 8];
        for_wide_vectors(
            #[inline(always)]
            || {
                for (k, Block(others)) in others.iter_mut().enumerate() {
                    for i in 0..BLOCK {
                        let slope = others[i] * factors.0[i] * scale;
                        let slope = (clip(slope, 0.0, linf) + SHIFT) - SHIFT;
                        let slope = if y[i] == k as f64 { 0.0 } else { slope };
                        others[i] = slope;
                        sums.0[i] += slope;
                        squares.0[i] += slope * slope;
                    }
                }
                let (sums, _) = sums.0.as_chunks::<8>();
                let (squares, _) = squares.0.as_chunks::<8>();
                for (sums, squares) in sums.iter().zip(squares) {
                    for (i, most) in most.iter_mut().enumerate() {
                        let beyond = beyond(sums[i], squares[i], bounds);
                        *most = if beyond > *most { beyond } else { *most };
                    }
                }
            },
        );
        Sizes {
            sums,
            squares,
            any_beyond: most.iter().any(|&beyond| beyond > 0.0),
        }
    }

    /// What slopes of the others add up to at most, and the square of the norm of all of a record.
    fn bounds_of_others(&self) -> (f64, f64) {
        let SlopeBound { linf, l1, l2 } = self.lattice().bound();
        (linf.min(l1 / 2) as f64, (l2 * l2) as f64)
    }

    /// Makes slopes of records that are beyond their bounds as short as stated.
    fn shorten_others(&self, others: &mut [Block], sizes: &mut Sizes) {
        let (most, square) = self.bounds_of_others();
        let Sizes { sums, squares, .. } = sizes;
        for_wide_vectors(
            #[inline(always)]
            || {
                let mut factors = Block::ZEROS;
                for (i, factor) in factors.0.iter_mut().enumerate() {
                    let (sum, squares) = (sums.0[i], squares.0[i]);
                    let by_sum = most / sum;
                    let by_norm = (square / (sum * sum + squares)).sqrt();
                    let of_both = if by_norm < by_sum { by_norm } else { by_sum };
                    // A little less than the quotient, which errs by some ulps.
                    let is_beyond = beyond(sum, squares, (most, square)) > 0.0;
                    *factor = if is_beyond {
                        of_both * (1.0 - 1e-12)
                    } else {
                        1.0
                    };
                }
                *sums = Block::ZEROS;
                for Block(others) in others {
                    let sums = sums.0.iter_mut().zip(&factors.0);
                    for (other, (sum, factor)) in others.iter_mut().zip(sums) {
                        // Towards zero.
                        *other = (*other * factor).trunc();
                        *sum += *other;
                    }
                }
            },
        );
    }
}

/// Sums and squares of the slopes of the others of each record.
struct Sizes {
    sums: Block,
    squares: Block,
    /// Whether those of any record are beyond their bounds.
    any_beyond: bool,
}

/// By how much slopes of the others of a record are beyond a bound on their sum, or their squares and that of their sum
/// beyond a bound on these; not positive where they are beyond neither.
#[inline(always)]
fn beyond(sum: f64, squares: f64, (most, square): (f64, f64)) -> f64 {
    let (beyond, longer) = (sum - most, sum * sum + squares - square);
    if beyond > longer { beyond } else { longer }
}

/// Integer slopes of class k: those of the others, or minus their sum where it is the record's own.
#[inline(always)]
fn slopes_of(k: usize, others: &[f64; BLOCK], (sums, y): (&Block, &[f64; BLOCK])) -> [i16; BLOCK] {
    let mut slopes = [0; BLOCK];
    for_wide_vectors(
        #[inline(always)]
        || {
            for i in 0..BLOCK {
                let is_own = y[i] == k as f64;
                let slope = if is_own { -sums.0[i] } else { others[i] };
                slopes[i] = quantise(slope, 1.0, 0.0, -32_768.0, 32_767.0);
            }
        },
    );
    slopes
}

/// Gives the slopes of the others of every record of these planes to `part`, with the number of the record: it makes
/// them no larger, and 0 of 0.
pub(super) fn weigh_others<S: AsRef<[i16]> + AsMut<[i16]>>(
    planes: &mut [S],
    part: impl Fn(i16, usize) -> i16,
) {
    let m = planes.first().map_or(0, |plane| plane.as_ref().len());
    for first in (0..m).step_by(PIECE) {
        let here = first..m.min(first + PIECE);
        let (mut last, mut sums) = ([0i16; PIECE], [0i16; PIECE]);
        for_wide_vectors(
            #[inline(always)]
            || {
                for plane in &*planes {
                    for (last, &slope) in last.iter_mut().zip(&plane.as_ref()[here.clone()]) {
                        *last = last.wrapping_sub(slope);
                    }
                }
                let mut add = |slopes: &[i16]| {
                    for (i, (sum, &slope)) in sums.iter_mut().zip(slopes).enumerate() {
                        *sum = sum.wrapping_add(part(slope.max(0), first + i));
                    }
                };
                add(&last[..here.len()]);
                planes
                    .iter()
                    .for_each(|plane| add(&plane.as_ref()[here.clone()]));
                for plane in planes.iter_mut() {
                    let slopes = &mut plane.as_mut()[here.clone()];
                    for (i, (slope, &sum)) in slopes.iter_mut().zip(&sums).enumerate() {
                        let other = part(slope.wrapping_abs(), first + i);
                        *slope = if *slope < 0 {
                            sum.wrapping_neg()
                        } else {
                            other
                        };
                    }
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Admitted, ClippedLogistic, Growth, Logistic, Model};
    use crate::numeric::kernel::tests::at_every_width;
    use crate::numeric::kernel::truncate;
    use crate::schema::Target;
    use proptest::prelude::*;
    use std::sync::Arc;

    const CLASSES: usize = 5;

    /// A model of five classes whose slopes are anything: what it states is wrong.
    #[derive(Debug)]
    struct Wild;

    impl Model for Wild {
        fn outputs(&self) -> usize {
            CLASSES
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

        fn balanced(&self) -> Option<&dyn Balanced> {
            Some(self)
        }
    }

    impl Balanced for Wild {
        fn others(&self, z: &mut [Block], _: &[f64; BLOCK]) -> Block {
            for z in z.iter_mut().flat_map(|z| &mut z.0) {
                *z = match *z {
                    z if z > 2.3 => f64::INFINITY,
                    z if z < -2.3 => f64::NAN,
                    z => z,
                };
            }
            Block([1.0; BLOCK])
        }
    }

    type Record = [i64; CLASSES];

    /// Slopes of all classes, the last of them as its sums are made: record by record.
    fn slopes(model: &RoomModel, unit: f64, records: &[Record], y: &[f64]) -> Vec<Record> {
        let margins = |k: usize| records.iter().map(|record| record[k]).collect();
        let margins: Vec<Vec<i64>> = (0..CLASSES).map(margins).collect();
        let mut out = vec![vec![0i16; records.len()]; model.planes()];
        model.slopes(&margins, unit, y, &mut out);
        let of_record = |i: usize| {
            let planes = out.iter().map(|plane| i64::from(plane[i])).collect();
            model.of_all_outputs(planes, 1).try_into().unwrap()
        };
        (0..records.len()).map(of_record).collect()
    }

    fn square(d: &Record) -> u64 {
        d.iter().map(|d| (d * d) as u64).sum()
    }

    proptest! {
        /// Whatever a model says of the others, and whatever targets are, the slopes of a record add up to 0, that of
        /// one class alone is negative, and they keep all three bounds; each depends on its own record.
        #[test]
        fn balanced_slopes_keep_three_bounds(
            records in prop::collection::vec(prop::array::uniform5(-40_000i64..40_000), 1..400),
            small in any::<bool>(),
            l1 in prop_oneof![Just(2.0), 1.0..2.0f64],
            l2 in prop_oneof![Just(2f64.sqrt()), 0.1..1.5f64],
            wrong in prop_oneof![Just(2.0), Just(9.0), Just(f64::NAN), Just(-1.0), Just(0.5)],
        ) {
            let bound = SlopeBound { linf: 1.0, l1, l2 };
            let model = RoomModel::of_test(Arc::new(Wild), bound);
            let targets: Vec<f64> = (0..records.len()).map(|i| if i % 7 == 3 { wrong } else { (i % CLASSES) as f64 }).collect();
            let unit = if small { 2f64.powi(-17) } else { 2f64.powi(-14) };
            let SlopeBound { linf, l1, l2 } = model.lattice().bound();
            let out = at_every_width(|| slopes(&model, unit, &records, &targets));
            for (i, d) in out[0].iter().enumerate() {
                prop_assert!(d.iter().all(|d| d.unsigned_abs() <= linf));
                prop_assert!(d.iter().map(|d| d.unsigned_abs()).sum::<u64>() <= l1);
                prop_assert!(square(d) <= l2 * l2, "{d:?}");
                prop_assert_eq!(d.iter().sum::<i64>(), 0);
                prop_assert!(d.iter().filter(|&&d| d < 0).count() <= 1);
                if i % 50 == 0 {
                    prop_assert_eq!(slopes(&model, unit, &records[i..=i], &targets[i..=i])[0], *d);
                }
            }
            prop_assert!(out.iter().all(|other| *other == out[0]));
        }

        /// Of a softmax model they are its slopes, rounded, the own one minus the sum of the others: half a unit, and
        /// where rounding took a record beyond its bounds what that added and a unit.
        #[test]
        fn balanced_slopes_are_rounded_slopes(
            records in prop::collection::vec((prop::array::uniform5(-40_000i64..40_000), 0usize..CLASSES), 1..200),
            size in prop_oneof![Just(1e-4), Just(1e-5), Just(0.02), Just(1.0)],
            clip in prop_oneof![Just(None), (0.05..0.9f64).prop_map(Some)],
        ) {
            let loss: Admitted = match clip {
                None => Logistic.into(),
                Some(clip) => ClippedLogistic::new(clip).unwrap().into(),
            };
            let target = Target::Multiclass { classes: CLASSES as u32 };
            let model = RoomModel::for_target(&loss, None, target).unwrap();
            let y: Vec<f64> = records.iter().map(|record| record.1 as f64).collect();
            let margins: Vec<Record> = records.iter().map(|record| record.0).collect();
            let scale = model.lattice().scale();
            for (i, d) in slopes(&model, size, &margins, &y).iter().enumerate() {
                let z = margins[i].map(|margin| margin as f64 * size);
                let mut exact = [0.0; CLASSES];
                model.unclamped(&z, &y[i..=i], &mut exact);
                let own = records[i].1;
                for (k, (&d, exact)) in d.iter().zip(exact).enumerate() {
                    let most = if k == own { 2.0 * CLASSES as f64 } else { 4.0 };
                    prop_assert!((d as f64 - exact * scale).abs() <= most, "{k} of {own}: {d} {}", exact * scale);
                }
            }
        }

        /// Weights leave no more of any slope than they say, and slopes that add up to 0: those of the others are what
        /// each alone would be.
        #[test]
        fn weighed_slopes_stay_balanced(
            others in prop::collection::vec((prop::array::uniform4(0i16..=4096), 0usize..CLASSES, 0.0..=1.0f64), 1..100),
        ) {
            let whole: Vec<Record> = others.iter().map(|(others, own, _)| {
                let mut d = [0; CLASSES];
                let rest = (0..CLASSES).filter(|k| k != own);
                rest.zip(others).for_each(|(k, &other)| d[k] = i64::from(other));
                d[*own] = -d.iter().sum::<i64>();
                d
            }).collect();
            let planes: Vec<Vec<i16>> = (0..CLASSES - 1).map(|k| whole.iter().map(|d| d[k] as i16).collect()).collect();
            let part = |slope: i16, i: usize| truncate(f64::from(slope) * others[i].2);
            let weighed = at_every_width(|| {
                let mut planes = planes.clone();
                weigh_others(&mut planes, part);
                planes
            });
            prop_assert!(weighed.iter().all(|planes| *planes == weighed[0]));
            for (i, d) in whole.iter().enumerate() {
                let mut now: Vec<i64> = weighed[0].iter().map(|plane| i64::from(plane[i])).collect();
                now.push(-now.iter().sum::<i64>());
                for (k, (&now, &d)) in now.iter().zip(d).enumerate() {
                    prop_assert!(now.abs() as f64 <= d.abs() as f64 * others[i].2 + 1e-9, "{now} {d}");
                    if k != others[i].1 {
                        prop_assert_eq!(now, i64::from(part(d as i16, i)));
                    }
                }
            }
        }
    }
}
