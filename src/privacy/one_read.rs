//! Gradients over dense or packed records in one read: each chunk of records is fetched from memory once, for its margins, its
//! slopes and its sums, of all outputs.

use std::ops::Range;

use rayon::prelude::*;

use super::bounded_data::{BoundedData, total};
use super::groups::Addends;
use super::planes::{Step, by_records};
use super::records::Move;

/// Moves of fewer columns than one in so many read little of dense records.
const FEW: usize = 4;

impl BoundedData {
    /// [`BoundedData::gradient`] of each plane of slopes, one after the other, at margins that these moves make; `fresh` ones
    /// start at 0. `slopes_of(start, records, margins, slopes)` sets the slopes of some records of planes that begin with
    /// record `start`, each by its own margins alone. None for sparse records.
    ///
    /// That no margin overflows is proved at [`Move`], that no sum does at [`BoundedData::gradient`]; sums of chunks add up
    /// to the same integers whatever the chunks are.
    pub(in crate::privacy) fn gradients_in_one_read(
        &self,
        moves: &[Move<'_>],
        fresh: bool,
        (margins, slopes): (&mut [Vec<i64>], &mut [Vec<i16>]),
        slopes_of: impl Fn(usize, Range<usize>, &[&mut [i64]], &mut [&mut [i16]]) + Sync,
    ) -> Option<Vec<i64>> {
        let groups = self.groups()?;
        let steps = self.steps(moves);
        let addends = (steps.iter()).map(|step| (step.output(), groups.addends(step)));
        let addends: Vec<(usize, Addends<'_>)> = addends.collect();
        let own = i64::from(self.schema.lattice_intercept());
        let moved: usize = steps.iter().map(Step::columns).sum();
        let outputs = slopes.len();
        // Where few columns move, next to nothing is read twice; where there are several outputs, reading is the least of it.
        let few = FEW * moved < groups.wide_columns();
        let chunk = match few {
            true => groups.long_chunk(),
            false => groups.chunk(),
        };
        let piece = match few || outputs > 1 {
            true => chunk,
            false => groups.piece(),
        };
        let none = || (groups.no_sums(outputs), vec![0; outputs]);
        let (by_group, intercepts) = (by_records(margins, chunk).into_par_iter())
            .zip(by_records(slopes, chunk))
            .enumerate()
            .fold(
                none,
                |(mut sums, mut own_sums), (k, (mut margins, mut slopes))| {
                    let start = k * chunk;
                    if fresh {
                        margins.iter_mut().for_each(|margins| margins.fill(0));
                    }
                    let m = margins[0].len();
                    for first in (0..m).step_by(piece) {
                        let here = first..m.min(first + piece);
                        for (output, addends) in &addends {
                            addends.add(&mut margins[*output][here.clone()], start + first);
                        }
                        slopes_of(start, here.clone(), &margins, &mut slopes);
                        groups.add_slopes(start, &slopes, here, &mut sums);
                    }
                    for (sum, slopes) in own_sums.iter_mut().zip(slopes) {
                        *sum += own * total(slopes);
                    }
                    (sums, own_sums)
                },
            )
            .reduce(none, |(sums, mut own_sums), (more, others)| {
                (own_sums.iter_mut().zip(others)).for_each(|(sum, other)| *sum += other);
                (sums.plus(more), own_sums)
            });
        let mut sums = vec![0i64; self.n_columns() * outputs];
        let outputs = sums.chunks_mut(self.n_columns()).zip(intercepts);
        for (k, (sums, intercept)) in outputs.enumerate() {
            let (features, last) = sums.split_at_mut(self.schema.n_features());
            groups.inner_products(k, &by_group, features);
            last.fill(intercept);
        }
        Some(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    /// One read is two passes, bit for bit: across the ends of chunks, on any number of threads, for one output and several,
    /// for several moves of all columns or one of a few, margins that go on, and slopes that depend on where a record stands.
    #[test]
    fn one_read_is_two_passes() {
        for (n, p, intercept) in [(1, 1, true), (5000, 37, true), (4127, 6, false)] {
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
                    let mut slopes = vec![vec![0; n]; outputs];
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    let read = pool.unwrap().install(|| {
                        let states = (&mut margins[..], &mut slopes[..]);
                        data.gradients_in_one_read(
                            &moves,
                            fresh,
                            states,
                            |start, records, margins, slopes| {
                                for (k, (slopes, margins)) in
                                    slopes.iter_mut().zip(margins).enumerate()
                                {
                                    for i in records.clone() {
                                        slopes[i] = slope(start + i, k, margins[i]);
                                    }
                                }
                            },
                        )
                    });
                    assert_eq!(read, Some(sums));
                    assert_eq!((margins, slopes), (expected, all));
                }
            }
            let (mut margins, mut slopes) = ([vec![0; n]], [vec![0; n]]);
            let states = (&mut margins[..], &mut slopes[..]);
            let moves = [step(0, &directions[0], 3)];
            let read = sparse.gradients_in_one_read(&moves, true, states, |_, _, _, _| {});
            assert_eq!(read, None);
        }
    }
}
