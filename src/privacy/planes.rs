//! Margins and gradients of several outputs: the records are read once for all of them, where they are dense.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features, chunk_of, total};
use super::lines::Lines;
use super::records::Move;
use super::sparse_products::column_products;

/// A move of the margins of one output.
pub(super) struct Step {
    output: usize,
    /// What all of them move by: the intercept.
    constant: i64,
    /// Features with their weights.
    terms: Vec<(usize, i64)>,
}

impl Step {
    /// The output whose margins move.
    pub(super) fn output(&self) -> usize {
        self.output
    }

    /// How many columns of features it reads.
    pub(super) fn columns(&self) -> usize {
        self.terms.len()
    }

    /// Columns of features with what their entries are multiplied by.
    pub(super) fn terms(&self) -> &[(usize, i64)] {
        &self.terms
    }

    /// What every margin moves by besides.
    pub(super) fn constant(&self) -> i64 {
        self.constant
    }
}

impl BoundedData {
    /// The moves, with features and the intercept apart.
    pub(super) fn steps(&self, moves: &[Move<'_>]) -> Vec<Step> {
        let p = self.schema.n_features();
        let own = i64::from(self.schema.lattice_intercept());
        let step = |step: &Move<'_>| {
            let all = (step.direction.iter()).map(|&(j, entry)| (j as usize, step.weight * entry));
            let (terms, intercept): (Vec<_>, Vec<_>) = all.partition(|&(j, _)| j < p);
            Step {
                output: step.output,
                constant: own * intercept.iter().map(|term| term.1).sum::<i64>(),
                terms,
            }
        };
        moves.iter().map(step).collect()
    }

    /// Moves margins, plane by plane; `fresh` ones start at 0. Of dense or packed records with several moves each
    /// thread takes its own chunk of records through all of them.
    ///
    /// That nothing overflows is proved at [`Move`].
    pub(in crate::privacy) fn move_planes(
        &self,
        planes: &mut [Vec<i64>],
        moves: &[Move<'_>],
        fresh: bool,
    ) {
        let (Some(groups), 2..) = (self.groups(), moves.len()) else {
            if fresh {
                let pieces = planes
                    .par_iter_mut()
                    .flat_map(|margins| margins.par_chunks_mut(chunk_of(1)));
                pieces.for_each(|margins| margins.fill(0));
            }
            for step in moves {
                let margins = &mut planes[step.output];
                self.add_to_margins(margins, step.direction, step.weight);
            }
            return;
        };
        let steps = self.steps(moves);
        let addends = groups.addends(&steps, planes.len());
        let most = steps.iter().map(Step::columns).max().unwrap_or(0);
        let chunk = chunk_of(most);
        by_records(planes, chunk)
            .par_iter_mut()
            .enumerate()
            .for_each(|(k, pieces)| {
                if fresh {
                    pieces.iter_mut().for_each(|margins| margins.fill(0));
                }
                addends.add(pieces, k * chunk);
            });
    }

    /// [`BoundedData::gradient`] of each plane of slopes, one after the other.
    pub(in crate::privacy) fn gradients(&self, planes: &[Vec<i16>], gradients: &mut [i64]) {
        let columns = self.n_columns();
        match (&self.features, planes) {
            (Features::Dense(_) | Features::Packed(_), [_, _, ..]) => {
                let Some(groups) = self.groups() else {
                    unreachable!("groups of dense and of packed records")
                };
                let slopes: Vec<&[i16]> = planes.iter().map(Vec::as_slice).collect();
                let sums = groups.sums_of(&slopes);
                let gradients = gradients.chunks_mut(columns).zip(planes);
                for (k, (gradient, plane)) in gradients.enumerate() {
                    let (features, intercept) = gradient.split_at_mut(self.schema.n_features());
                    groups.inner_products(k, &sums, features);
                    intercept.fill(i64::from(self.schema.lattice_intercept()) * total(plane));
                }
            }
            (Features::Sparse { columns, base, .. }, [a, b, c]) => {
                self.three_gradients((columns, base), [a, b, c], gradients);
            }
            _ => {
                for (plane, gradient) in planes.iter().zip(gradients.chunks_mut(columns)) {
                    self.gradient(plane, gradient);
                }
            }
        }
    }
}

impl BoundedData {
    /// The gradients of three planes over sparse records, whose columns are read once: three limbs of fine slopes.
    fn three_gradients(
        &self,
        (columns, base): (&Lines, &[i16]),
        planes: [&[i16]; 3],
        gradients: &mut [i64],
    ) {
        let totals = planes.map(total);
        let products = column_products(columns, planes);
        let (p, n_columns) = (columns.len(), self.n_columns());
        for (k, gradient) in gradients.chunks_mut(n_columns).enumerate() {
            let (features, intercept) = gradient.split_at_mut(p);
            for ((out, products), &base) in features.iter_mut().zip(&products).zip(base) {
                *out = products[k] + i64::from(base) * totals[k];
            }
            if let [intercept] = intercept {
                *intercept = i64::from(self.schema.lattice_intercept()) * totals[k];
            }
        }
    }
}

/// The same records of every plane together, in pieces of `chunk` records.
pub(in crate::privacy) fn by_records<T>(planes: &mut [Vec<T>], chunk: usize) -> Vec<Vec<&mut [T]>> {
    let n = planes.first().map_or(0, Vec::len);
    in_pieces(planes.iter_mut().map(Vec::as_mut_slice), n, chunk)
}

/// The same of any planes of `n` records.
pub(super) fn in_pieces<'a, T: 'a>(
    planes: impl ExactSizeIterator<Item = &'a mut [T]>,
    n: usize,
    chunk: usize,
) -> Vec<Vec<&'a mut [T]>> {
    let mut pieces: Vec<Vec<&mut [T]>> = Vec::new();
    pieces.resize_with(n.div_ceil(chunk), || Vec::with_capacity(planes.len()));
    for plane in planes {
        for (piece, entries) in pieces.iter_mut().zip(plane.chunks_mut(chunk)) {
            piece.push(entries);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    /// In every storage several planes move, and are summed, as each alone does.
    #[test]
    fn planes_are_what_each_is_alone() {
        for (n, p, intercept) in [
            (1, 1, true),
            (700, 37, true),
            (5000, 6, false),
            (4097, 2, true),
        ] {
            let bounds = Bounds {
                lower: vec![-1.0],
                upper: vec![3.0],
            };
            let target = Target::Multiclass { classes: 3 };
            let schema =
                Schema::new(p, bounds, Geometry::Centred, target, intercept, None).unwrap();
            let x =
                Array2::from_shape_fn((n, p), |(i, j)| ((i * 31 + j * 17) % 9) as f64 / 2.0 - 1.0);
            let columns = schema.n_columns();
            let entry = |k: usize| (k as i64 * 7919 % 2001 - 1000) << (k % 3 * 12);
            let directions: Vec<Vec<(u32, i64)>> = (0..3)
                .map(|k| (0..columns).map(|j| (j as u32, entry(j + 5 * k))).collect())
                .collect();
            let step = |output: usize, columns: usize| Move {
                output,
                direction: &directions[output][..columns],
                weight: output as i64 - 7,
            };
            let several = [step(0, columns), step(2, columns), step(1, 1), step(2, 1)];
            let slopes: Vec<Vec<i16>> = (0..3)
                .map(|k| (0..n).map(|i| (entry(i + k) % 16_385) as i16).collect())
                .collect();
            for data in all_kinds(&x, &schema) {
                for (moves, fresh) in [
                    (&several[..], true),
                    (&several, false),
                    (&several[..1], true),
                ] {
                    let mut planes = vec![vec![11i64; n]; 3];
                    let mut alone = vec![vec![if fresh { 0 } else { 11 }; n]; 3];
                    data.move_planes(&mut planes, moves, fresh);
                    for step in moves {
                        data.add_to_margins(&mut alone[step.output], step.direction, step.weight);
                    }
                    assert_eq!(planes, alone);
                }
                let (mut sums, mut alone) = (vec![5i64; 3 * columns], vec![0i64; columns]);
                data.gradients(&slopes, &mut sums);
                for (slopes, sums) in slopes.iter().zip(sums.chunks(columns)) {
                    data.gradient(slopes, &mut alone);
                    assert_eq!(sums, alone);
                }
            }
        }
    }
}
