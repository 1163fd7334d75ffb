//! Gradients of one output over dense or packed records in one read: each chunk of records is fetched from memory once, for its margins,
//! its slopes and its sums.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, total};
use super::groups::Addends;
use super::planes::Step;
use super::records::Move;

/// Moves of fewer columns than one in so many read little of dense records: two passes are then as fast.
const FEW: usize = 4;

impl BoundedData {
    /// [`BoundedData::gradient`] of slopes at margins that these moves make; `fresh` ones start at 0. `slopes_of(start,
    /// margins, slopes)` sets the slopes of the records from `start` on, each by its own margin alone. None where one read
    /// would not help: for sparse records, or moves of few columns of dense ones.
    ///
    /// That no margin overflows is proved at [`Move`], that no sum does at [`BoundedData::gradient`]; sums of chunks add up
    /// to the same integers whatever the chunks are.
    pub(in crate::privacy) fn gradient_in_one_read(
        &self,
        moves: &[Move<'_>],
        fresh: bool,
        (margins, slopes): (&mut [i64], &mut [i16]),
        slopes_of: impl Fn(usize, &[i64], &mut [i16]) + Sync,
    ) -> Option<Vec<i64>> {
        let groups = self.groups()?;
        let steps = self.steps(moves);
        let moved: usize = steps.iter().map(Step::columns).sum();
        if FEW * moved < groups.wide_columns() {
            return None;
        }
        let addends: Vec<Addends<'_>> = steps.iter().map(|step| groups.addends(step)).collect();
        let own = i64::from(self.schema.lattice_intercept());
        let chunk = groups.chunk();
        let none = || (groups.no_sums(1), 0);
        let (by_group, intercept) = (margins.par_chunks_mut(chunk))
            .zip(slopes.par_chunks_mut(chunk))
            .enumerate()
            .fold(none, |(mut sums, intercept), (k, (margins, slopes))| {
                let start = k * chunk;
                if fresh {
                    margins.fill(0);
                }
                (addends.iter()).for_each(|addends| addends.add(margins, start));
                slopes_of(start, margins, slopes);
                groups.add_slopes(start, &[&*slopes], &mut sums);
                (sums, intercept + own * total(slopes))
            })
            .reduce(none, |(sums, intercept), (more, other)| {
                (sums.plus(more), intercept + other)
            });
        let mut sums = vec![0i64; self.n_columns()];
        let (features, last) = sums.split_at_mut(self.schema.n_features());
        groups.inner_products(0, &by_group, features);
        last.fill(intercept);
        Some(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    /// One read is two passes, bit for bit: across the ends of chunks, on any number of threads, for several moves, margins
    /// that go on, and slopes that depend on where a record stands.
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
            let entry = |j: usize, k: i64| (j as u32, (j as i64 * 7919 + k) % 4001 - 2000);
            let directions: [Vec<(u32, i64)>; 2] =
                [5, 77].map(|k| (0..schema.n_columns()).map(|j| entry(j, k)).collect());
            let moves =
                [(&directions[0], 3), (&directions[1], -2)].map(|(direction, weight)| Move {
                    output: 0,
                    direction,
                    weight,
                });
            let slope = |i: usize, margin: i64| ((margin >> 7) % 16_000 + i as i64 % 7) as i16;
            for (fresh, threads) in [(true, 1), (true, 3), (false, 2)] {
                let mut margins = vec![11i64; n];
                let mut expected = vec![if fresh { 0 } else { 11 }; n];
                for step in &moves {
                    data.add_to_margins(&mut expected, step.direction, step.weight);
                }
                let all: Vec<i16> = (expected.iter().enumerate())
                    .map(|(i, &margin)| slope(i, margin))
                    .collect();
                let mut sums = vec![0; schema.n_columns()];
                data.gradient(&all, &mut sums);
                let mut slopes = vec![0; n];
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let read = pool.unwrap().install(|| {
                    let states = (&mut margins[..], &mut slopes[..]);
                    data.gradient_in_one_read(&moves, fresh, states, |start, margins, slopes| {
                        for (i, (slope_of, &margin)) in
                            (start..).zip(slopes.iter_mut().zip(margins))
                        {
                            *slope_of = slope(i, margin);
                        }
                    })
                });
                assert_eq!(read, Some(sums));
                assert_eq!((margins, slopes), (expected, all));
            }
            let (mut margins, mut slopes) = (vec![0; n], vec![0; n]);
            let states = (&mut margins[..], &mut slopes[..]);
            let read = sparse.gradient_in_one_read(&moves, true, states, |_, _, _| {});
            assert_eq!(read, None);
        }
    }
}
