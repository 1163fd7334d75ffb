//! Gradients over dense or packed records in one read: a piece of the records is fetched from memory once, for its
//! margins, its slopes and its sums, of all outputs.

use std::ops::Range;

use super::bounded_data::{BoundedData, total};
use super::planes::{Step, by_records};
use super::records::Move;
use super::slopes::Scratch;
use crate::loss::BLOCK;
use crate::numeric::kernel::{Fetched, InnerProducts};
use crate::numeric::pieces::fold_pieces;

/// Moves of fewer columns than one in so many read little of dense records.
const FEW: usize = 4;

/// Records of a piece, at most, where there are several outputs: what is made of them stays in a near cache.
pub(in crate::privacy) const SEVERAL: usize = 1024;

/// Slopes of a piece of the records, output by output: they stay in the nearest cache.
pub(super) struct PieceOfSlopes {
    /// Of all records of the piece.
    pub planes: Vec<Vec<i16>>,
    /// Room for what they are made of.
    pub scratch: Scratch,
}

impl BoundedData {
    /// [`BoundedData::gradient`] at margins of one output that this move makes, of those that are `kept` and go on, or
    /// else of new ones that start at 0 and are left to nobody, strip by strip: `slopes_of(start, margins, slopes)`
    /// sets the slopes of the records from `start` on, each by its own margin alone. None for records that are not
    /// dense, and for a move of the intercept alone.
    ///
    /// That nothing overflows is proved where [`BoundedData::gradients_in_one_read`] says.
    pub(in crate::privacy) fn gradient_in_one_read(
        &self,
        step: &Move<'_>,
        kept: Option<&mut [i64]>,
        slopes_of: impl Fn(usize, &[i64], &mut [i16]) + Sync,
    ) -> Option<Vec<i64>> {
        let groups = self.groups()?;
        let steps = self.steps(std::slice::from_ref(step));
        let addends = groups.addends(&steps, 1);
        let (strips, weights) = groups.only(&addends)?;
        let whole = weights.of_whole_strips();
        let weights = whole.as_ref().unwrap_or(weights);
        let (n, chunk, constant) = (self.n_records(), groups.chunk(), addends.constants()[0]);
        let mut kept: Vec<Option<&mut [i64]>> =
            kept.map_or_else(Vec::new, |kept| kept.chunks_mut(chunk).map(Some).collect());
        kept.resize_with(n.div_ceil(chunk), || None);
        let none = || (InnerProducts::zeros(strips.columns(), 1), 0);
        let (products, total) = fold_pieces(
            kept,
            n * self.n_columns(),
            none,
            |(mut products, total), (k, kept)| {
                let (start, m) = (k * chunk, chunk.min(n - k * chunk));
                let (strips, at) = (strips.from_record(start), (weights, constant));
                let slopes_of = |first: usize, margins: &[i64], slopes: &mut [i16]| {
                    slopes_of(start + first, margins, slopes);
                };
                let more = products.add_in_one_read(strips, m, at, kept, slopes_of);
                (products, total + more)
            },
            |sums| sums,
            |(products, total), (more, others)| (products.plus(&more), total + others),
        );
        let mut sums = vec![0i64; self.n_columns()];
        let (features, last) = sums.split_at_mut(self.schema.n_features());
        products.of_plane(0, features);
        last.fill(i64::from(self.schema.lattice_intercept()) * total);
        Some(sums)
    }

    /// [`BoundedData::gradient`] of each of some planes of slopes, one after the other, at margins of all outputs that
    /// these moves make: of those that are `kept` and go on, or else of new ones that start at 0 and are left to
    /// nobody. `slopes_of(start, margins, slopes)` sets the slopes of the records from `start` on, each by its own
    /// margins alone. None for sparse records.
    ///
    /// That no margin overflows is proved at [`Move`], that no sum does at [`BoundedData::gradient`]; sums of pieces
    /// add up to the same integers whatever the pieces are.
    pub(in crate::privacy) fn gradients_in_one_read(
        &self,
        (outputs, planes): (usize, usize),
        moves: &[Move<'_>],
        kept: Option<&mut [Vec<i64>]>,
        slopes_of: impl Fn(usize, &[&mut [i64]], &mut PieceOfSlopes) + Sync,
    ) -> Option<Vec<i64>> {
        let groups = self.groups()?;
        let steps = self.steps(moves);
        let addends = groups.addends(&steps, outputs);
        let constants = addends.constants();
        let own = i64::from(self.schema.lattice_intercept());
        let moved: usize = steps.iter().map(Step::columns).sum();
        // Where few columns move, next to nothing is read twice.
        let few = FEW * moved < groups.wide_columns();
        let chunk = match few {
            true => groups.long_chunk(),
            false => groups.chunk(),
        };
        let fetched = match few || planes == 1 {
            true => Fetched::ByMargins,
            false => Fetched::ByBoth,
        };
        let piece = match few || outputs == 1 {
            true => chunk,
            // As long as each other, and whole blocks of slopes but the last.
            false => chunk
                .div_ceil(chunk.div_ceil(SEVERAL))
                .next_multiple_of(BLOCK),
        };
        let n = self.n_records();
        let mut kept = kept.map_or_else(Vec::new, |kept| by_records(kept, chunk));
        kept.resize_with(n.div_ceil(chunk), Vec::new);
        let none = || (groups.no_sums(planes), vec![0; planes]);
        let start = || {
            let margins = vec![Vec::new(); outputs];
            let slopes = PieceOfSlopes {
                planes: vec![Vec::new(); planes],
                scratch: Scratch::default(),
            };
            (none(), margins, slopes)
        };
        let (by_group, intercepts) = fold_pieces(
            kept,
            n * self.n_columns() * outputs,
            start,
            |((mut sums, mut intercepts), mut new, mut slopes), (k, mut kept)| {
                let (start, end) = (k * chunk, n.min((k + 1) * chunk));
                for (margins, &constant) in kept.iter_mut().zip(constants) {
                    if constant != 0 {
                        (margins.iter_mut())
                            .for_each(|margin| *margin = margin.wrapping_add(constant));
                    }
                }
                for first in (start..end).step_by(piece) {
                    let m = piece.min(end - first);
                    slopes
                        .planes
                        .iter_mut()
                        .for_each(|plane| plane.resize(m, 0));
                    let make = |margins: &mut [&mut [i64]]| {
                        addends.add_products(margins, first, fetched);
                        slopes_of(first, margins, &mut slopes);
                    };
                    if kept.is_empty() {
                        for (margins, &constant) in new.iter_mut().zip(constants) {
                            margins.resize(m, 0);
                            margins.fill(constant);
                        }
                        slices_of(&mut new, 0..m, make);
                    } else {
                        slices_of(&mut kept, first - start..first - start + m, make);
                    }
                    groups.add_slopes(first, &slopes.planes, (0..m, fetched), &mut sums);
                    for (sum, slopes) in intercepts.iter_mut().zip(&slopes.planes) {
                        *sum += own * total(slopes);
                    }
                }
                ((sums, intercepts), new, slopes)
            },
            |(sums, ..)| sums,
            |(sums, mut own_sums), (more, others)| {
                (own_sums.iter_mut().zip(others)).for_each(|(sum, other)| *sum += other);
                (sums.plus(more), own_sums)
            },
        );
        let mut sums = vec![0i64; self.n_columns() * planes];
        let planes = sums.chunks_mut(self.n_columns()).zip(intercepts);
        for (k, (sums, intercept)) in planes.enumerate() {
            let (features, last) = sums.split_at_mut(self.schema.n_features());
            groups.inner_products(k, &by_group, features);
            last.fill(intercept);
        }
        Some(sums)
    }
}

/// What `work` makes of the same records of every plane.
fn slices_of<P: AsMut<[i64]>>(
    planes: &mut [P],
    here: Range<usize>,
    work: impl FnOnce(&mut [&mut [i64]]),
) {
    match planes {
        [only] => work(&mut [&mut only.as_mut()[here]]),
        several => {
            let slices = several
                .iter_mut()
                .map(|plane| &mut plane.as_mut()[here.clone()]);
            work(&mut slices.collect::<Vec<_>>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    /// One read is two passes, bit for bit: across the ends of chunks, on any number of threads, for one output and
    /// several, for several moves of all columns or one of a few, margins that go on, which new ones leave alone, and
    /// slopes that depend on where a record stands. The last are so many that threads share them.
    #[test]
    fn one_read_is_two_passes() {
        let all = [
            (1, 1, true),
            (5000, 37, true),
            (4127, 6, false),
            (9000, 37, true),
        ];
        for (n, p, intercept) in all {
            let bounds = Bounds {
                lower: vec![-1.0],
                upper: vec![3.0],
            };
            let (geometry, target) = (Geometry::Centred, Target::Classes);
            let schema = Schema::new(p, bounds, geometry, target, intercept, None).unwrap();
            let x =
                Array2::from_shape_fn((n, p), |(i, j)| ((i * 31 + j * 17) % 9) as f64 / 2.0 - 1.0);
            let [data, sparse, _] = all_kinds(&x, &schema);
            let columns = schema.n_columns();
            let entry = |j: usize, k: i64| (j as u32, (j as i64 * 7919 + k) % 4001 - 2000);
            let directions: [Vec<(u32, i64)>; 2] =
                [5, 77].map(|k| (0..columns).map(|j| entry(j, k)).collect());
            let step = |output: usize, direction, weight| Move {
                output,
                direction,
                weight,
            };
            let slope = |i: usize, k: usize, margin: i64| {
                ((margin >> 7) % 16_000 + (i + 3 * k) as i64 % 7) as i16
            };
            for (outputs, moves) in [
                (
                    1,
                    vec![step(0, &directions[0], 3), step(0, &directions[1], -2)],
                ),
                (1, vec![step(0, &directions[0], 3)]),
                (1, vec![step(0, &directions[0][..1], 3)]),
                (
                    4,
                    vec![step(2, &directions[0], 3), step(0, &directions[1], -2)],
                ),
            ] {
                for (fresh, threads) in [(true, 1), (true, 3), (false, 2)] {
                    let mut margins = vec![vec![11i64; n]; outputs];
                    let mut expected = margins.clone();
                    data.move_planes(&mut expected, &moves, fresh);
                    let all: Vec<Vec<i16>> = (expected.iter().enumerate())
                        .map(|(k, margins)| (0..n).map(|i| slope(i, k, margins[i])).collect())
                        .collect();
                    let mut sums = vec![0; outputs * columns];
                    data.gradients(&all, &mut sums);
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    let read = pool.unwrap().install(|| {
                        let kept = (!fresh).then_some(&mut margins[..]);
                        data.gradients_in_one_read(
                            (outputs, outputs),
                            &moves,
                            kept,
                            |start, margins, slopes| {
                                let planes = slopes.planes.iter_mut().zip(margins);
                                for (k, (slopes, margins)) in planes.enumerate() {
                                    for (i, (out, &margin)) in
                                        slopes.iter_mut().zip(margins.iter()).enumerate()
                                    {
                                        *out = slope(start + i, k, margin);
                                    }
                                }
                            },
                        )
                    });
                    assert_eq!(read.as_ref(), Some(&sums));
                    if let (1, [only]) = (outputs, &moves[..]) {
                        let mut alone = vec![11i64; n];
                        let kept = (!fresh).then_some(&mut alone[..]);
                        let read =
                            data.gradient_in_one_read(only, kept, |start, margins, slopes| {
                                for (i, (out, &margin)) in
                                    slopes.iter_mut().zip(margins).enumerate()
                                {
                                    *out = slope(start + i, 0, margin);
                                }
                            });
                        assert_eq!(read, Some(sums));
                        assert_eq!(alone, margins[0]);
                    }
                    let kept = if fresh {
                        vec![vec![11; n]; outputs]
                    } else {
                        expected
                    };
                    assert_eq!(margins, kept);
                }
            }
            let moves = [step(0, &directions[0], 3)];
            let read = sparse.gradients_in_one_read((1, 1), &moves, None, |_, _, _| {});
            assert_eq!(read, None);
            let read = sparse.gradient_in_one_read(&moves[0], None, |_, _, _| {});
            assert_eq!(read, None);
        }
    }
}
