//! Numbers of values between thresholds, of all records: the integer counts behind private quantiles.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use super::column_sums::added;
use super::columns::Columns;
use crate::numeric::kernel::{clip, for_wide_vectors, truncate};
use crate::numeric::pieces::{fold_pieces, for_each_piece};

/// Thresholds so few that neighbouring records, which may often have the same one, are counted apart: no number is
/// changed twice in a row then, and the tables stay in the nearest cache.
const FEW: usize = 512;

/// Thresholds -limit, -limit + stride, ... on the lattice, up to limit at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Thresholds {
    /// Size of the first one.
    pub limit: i64,
    /// Distance of neighbours, positive.
    pub stride: i64,
}

impl Thresholds {
    /// How many there are.
    pub fn len(self) -> usize {
        (2 * self.limit / self.stride + 1) as usize
    }

    /// The threshold of an index.
    pub fn at(self, index: usize) -> i64 {
        index as i64 * self.stride - self.limit
    }

    /// The place of every one of these entries, or as many as there are thresholds beyond all of them.
    ///
    /// (x + limit + stride - 1/2) / stride is 1 / (2 stride) or more from every integer, and far less from what is
    /// computed.
    fn places(self, entries: &[i16], places: &mut [u16]) {
        let (inverse, beyond) = (1.0 / self.stride as f64, self.len() as f64);
        let offset = (self.limit + self.stride) as f64 - 0.5;
        for_wide_vectors(
            #[inline(always)]
            || {
                for (place, &x) in places.iter_mut().zip(entries) {
                    let exact = (f64::from(x) + offset) * inverse;
                    *place = truncate(clip(exact, 0.0, beyond)) as u16;
                }
            },
        );
    }

    /// Counts `times` values x, at least -limit, at the first threshold that is no smaller, if there is one.
    fn count(self, counts: &mut [i64], x: i64, times: i64) {
        let place = (x + self.limit + self.stride - 1) / self.stride;
        if let Some(count) = counts.get_mut(place as usize) {
            *count += times;
        }
    }
}

impl BoundedData {
    /// For each of these features the number of its values between every threshold and the one before.
    ///
    /// Sparse records take one step per stored entry and one for all that are not stored. A record adds 1 to one count
    /// of each feature.
    pub(super) fn counts_of_features(&self, features: &[u32], at: Thresholds) -> Vec<i64> {
        let several = together(features.len());
        let mut counts = vec![0; features.len() * at.len()];
        let entries = counts.len() + self.n_records() * features.len();
        let pieces = counts.par_chunks_mut(several * at.len());
        let pieces = pieces.zip(features.par_chunks(several));
        for_each_piece(entries, pieces, |(counts, features)| {
            let counts: Vec<&mut [i64]> = counts.chunks_mut(at.len()).collect();
            self.count_features(features, at, counts);
        });
        counts
    }

    /// The same of the values of all features together: a record adds 1 per feature.
    pub(super) fn counts_of_all(&self, at: Thresholds) -> Vec<i64> {
        let zeros = || vec![0; at.len()];
        let features: Vec<u32> = (0..self.schema.n_features() as u32).collect();
        let some = features.chunks(together(features.len())).collect();
        let add = |mut counts: Vec<i64>, (_, features): (usize, &[u32])| {
            if self.n_records() < at.len() {
                // Tables of a feature each would be longer than what is counted.
                for &feature in features {
                    self.count_features(&[feature], at, vec![&mut counts]);
                }
                return counts;
            }
            let mut each = vec![0; features.len() * at.len()];
            self.count_features(features, at, each.chunks_mut(at.len()).collect());
            for each in each.chunks(at.len()) {
                (counts.iter_mut().zip(each)).for_each(|(count, more)| *count += more);
            }
            counts
        };
        let entries = self.n_records() * features.len();
        fold_pieces(some, entries, zeros, add, |counts| counts, added)
    }

    /// Adds to the counts of each of these features.
    fn count_features(&self, features: &[u32], at: Thresholds, mut counts: Vec<&mut [i64]>) {
        let n = self.n_records();
        match &self.features {
            Features::Dense(columns) if n < at.len() => count_few(columns, features, at, counts),
            Features::Dense(columns) if at.len() <= FEW => {
                count_columns::<4>(columns, features, at, counts);
            }
            Features::Dense(columns) => count_columns::<1>(columns, features, at, counts),
            Features::Packed(packed) => {
                for (counts, &j) in counts.iter_mut().zip(features) {
                    packed.for_each_value(j as usize, |x, times| {
                        at.count(counts, i64::from(x), times);
                    });
                }
            }
            Features::Sparse { columns, base, .. } => {
                for (counts, &j) in counts.iter_mut().zip(features) {
                    let base = i64::from(base[j as usize]);
                    at.count(counts, base, (n - columns.stored(j as usize)) as i64);
                    for (_, value) in columns.line(j as usize) {
                        at.count(counts, base + value, 1);
                    }
                }
            }
        }
    }
}

/// Features that one thread counts together: lines side by side are read at once.
fn together(features: usize) -> usize {
    features.div_ceil(rayon::current_num_threads()).clamp(1, 4)
}

/// Adds to the counts of each of some columns, of fewer records than thresholds: other places are not looked at.
fn count_few(columns: &Columns, features: &[u32], at: Thresholds, mut counts: Vec<&mut [i64]>) {
    let mut places = Vec::new();
    columns.for_each_run(features, |k, run| {
        places.resize(run.len(), 0);
        at.places(run, &mut places);
        for &place in &places {
            // The last place is that of values beyond all thresholds.
            if let Some(count) = counts[k].get_mut(usize::from(place)) {
                *count += 1;
            }
        }
    });
}

/// Adds to the counts of each of some columns; of fewer than 2^31 records, `APART` neighbours in tables of their own.
fn count_columns<const APART: usize>(
    columns: &Columns,
    features: &[u32],
    at: Thresholds,
    counts: Vec<&mut [i64]>,
) {
    // The last place is that of values beyond all thresholds.
    let mut numbers = vec![vec![[0u32; APART]; at.len() + 1]; features.len()];
    let mut places = Vec::new();
    columns.for_each_run(features, |k, run| {
        places.resize(run.len(), 0);
        at.places(run, &mut places);
        let numbers = &mut numbers[k][..];
        let (several, rest) = places.as_chunks::<APART>();
        for places in several.iter().map(|places| &places[..]).chain([rest]) {
            for (apart, &place) in places.iter().enumerate() {
                let number = &mut numbers[usize::from(place)][apart];
                *number = number.wrapping_add(1);
            }
        }
    });
    for (counts, numbers) in counts.into_iter().zip(numbers) {
        for (count, apart) in counts.iter_mut().zip(numbers) {
            *count += apart.iter().map(|&times| i64::from(times)).sum::<i64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;
    use proptest::prelude::*;

    proptest! {
        /// Against the definition, in every storage, with bounds that exclude zero or are equal.
        #[test]
        fn counts_are_those_of_the_values(
            x in prop::collection::vec(prop_oneof![Just(0.0), -2.0..7.0f64], 40),
            stride in 1i64..20_000,
        ) {
            let bounds = Bounds { lower: vec![-1.0, 0.0, 2.0, -2.0], upper: vec![1.0, 5.0, 6.0, -2.0] };
            let schema = Schema::new(4, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
            let x = Array2::from_shape_vec((10, 4), x).unwrap();
            let at = Thresholds { limit: 16_383, stride };
            let values = |j: usize| x.column(j).iter().map(|&x| i64::from(schema.lattice_value(x, j))).collect::<Vec<_>>();
            let between = |values: &[i64]| -> Vec<i64> {
                let inside = |k: usize| move |&&x: &&i64| x <= at.at(k) && (k == 0 || x > at.at(k - 1));
                (0..at.len()).map(|k| values.iter().filter(inside(k)).count() as i64).collect()
            };
            prop_assert_eq!(at.at(0), -16_383);
            prop_assert!(at.at(at.len() - 1) <= 16_383 && at.at(at.len()) > 16_383);
            let all: Vec<i64> = (0..4).flat_map(values).collect();
            for data in all_kinds(&x, &schema) {
                let counts = data.counts_of_features(&[3, 0, 2], at);
                prop_assert_eq!(counts, [3, 0, 2].map(|j| between(&values(j))).concat());
                prop_assert_eq!(data.counts_of_all(at), between(&all));
            }
        }
    }
}
