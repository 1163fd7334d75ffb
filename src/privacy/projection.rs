//! Records whose only features are public scores of theirs.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use super::columns::Columns;
use super::sparse_products::add_terms;
use crate::numeric::kernel::{MAX_FEATURE, for_wide_vectors};
use crate::numeric::pieces::for_each_piece;
use crate::numeric::strips::{LINE, Line};
use crate::question::{Projection, lattice_directions};
use crate::schema::Schema;

/// Records per piece of work.
const CHUNK: usize = 4096;

impl Projection {
    /// The images of the records, under `schema`, which has one feature a score and no norm to shorten rows to. Scores
    /// are exact sums over coefficients on a lattice: they depend on no storage.
    pub(in crate::privacy) fn apply(&self, data: &BoundedData, schema: &Schema) -> BoundedData {
        let (n, scores) = (data.n_records(), schema.n_features());
        let columns = self.theta().len() / scores;
        let more = (self.beyond()).map_or(Vec::new(), |beyond| {
            let both = beyond.theta.iter().zip(self.theta());
            both.map(|(beyond, theta)| beyond - theta).collect()
        });
        let all = [self.theta(), &more].concat();
        let (directions, margin_unit) = lattice_directions(&all, columns);
        let (directions, more) = directions.split_at(scores);
        let unit = f64::from(MAX_FEATURE);
        let near = self.beyond().map(|beyond| (beyond.near * unit).round());
        let margins_of = |(k, direction): (usize, &Vec<(u32, i64)>)| {
            let mut margins = vec![0; n];
            data.add_to_margins(&mut margins, direction, 1);
            if let Some(near) = near.filter(|&near| near < unit) {
                add_beyond(near as i16, &mut margins, &more[k], data);
            }
            margins
        };
        let margins: Vec<Vec<i64>> = directions.iter().enumerate().map(margins_of).collect();
        let factor = margin_unit / self.reach() * unit;
        let image = |&margin: &i64| {
            // Rounded to the nearest integer in [-16383, 16383].
            (margin as f64 * factor).round().clamp(-unit, unit) as i16
        };
        BoundedData {
            schema: schema.clone(),
            targets: match self.zoom() {
                // Labels stay as they are.
                1.0 => data.targets.clone(),
                zoom => (data.targets.iter())
                    .map(|&y| (y * zoom).clamp(-1.0, 1.0))
                    .collect(),
            },
            features: Features::Dense(Columns::of_columns(n, scores, |k, start, out| {
                let margins = margins[k][start..].iter();
                (out.iter_mut().zip(margins)).for_each(|(out, margin)| *out = image(margin));
            })),
            weights: data.weights.clone(),
        }
    }
}

/// Adds what entries are beyond `near`, times a direction. No overflow: a margin of either is at most 2^60.
fn add_beyond(near: i16, margins: &mut [i64], direction: &[(u32, i64)], data: &BoundedData) {
    let beyond = |x: i16| i64::from(beyond(x, near));
    let mut weights = vec![0; data.schema.n_features()];
    for &(j, weight) in direction {
        // The last one is that of the intercept.
        if let Some(of_feature) = weights.get_mut(j as usize) {
            *of_feature = weight;
        }
    }
    match &data.features {
        Features::Dense(columns) => {
            let entries = margins.len() * weights.len();
            let pieces = margins.par_chunks_mut(CHUNK).enumerate();
            for_each_piece(entries, pieces, |(k, margins)| {
                let strips = columns.strips().from_record(k * CHUNK);
                for (margins, strip) in margins.chunks_mut(LINE).zip(strips.iter()) {
                    let sums = of_strip(near, &weights, strip);
                    add(margins, &sums);
                }
            });
        }
        Features::Packed(packed) => add(margins, &packed.sums(|j, x| weights[j] * beyond(x))),
        Features::Sparse { rows, base, .. } => {
            let unstored: Vec<i64> = base.iter().map(|&base| beyond(base)).collect();
            let pairs = weights.iter().zip(&unstored);
            let all: i64 = pairs.map(|(weight, x)| weight * x).sum();
            add_terms(margins, rows, all, |j, x| {
                // base + x is the lattice value, in [-16383, 16383].
                let more = beyond(base[j].wrapping_add(x)) - unstored[j];
                weights[j].wrapping_mul(more)
            });
        }
    }
}

/// What x is beyond [-near, near]. Checks of the ends of a clamp would keep loops from wide instructions.
#[inline(always)]
fn beyond(x: i16, near: i16) -> i16 {
    x.wrapping_sub(x.max(near.wrapping_neg()).min(near))
}

fn add(margins: &mut [i64], sums: &[i64]) {
    let pairs = margins.iter_mut().zip(sums);
    pairs.for_each(|(margin, sum)| *margin += sum);
}

/// For each record of a strip the sum of what its entries are beyond `near`, times weights of at most 2^29.
fn of_strip(near: i16, weights: &[i64], strip: &[Line]) -> [i64; LINE] {
    let mut sums = [0i64; LINE];
    for_wide_vectors(
        #[inline(always)]
        || {
            for (&weight, line) in weights.iter().zip(strip) {
                // Wide products are of 32 bits by 32.
                let weight = weight as i32;
                for (sum, &x) in sums.iter_mut().zip(line) {
                    let beyond = i32::from(beyond(x, near));
                    let product = i64::from(weight).wrapping_mul(i64::from(beyond));
                    *sum = sum.wrapping_add(product);
                }
            }
        },
    );
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Target};
    use ndarray::Array2;
    use proptest::prelude::*;

    proptest! {
        /// In every storage images are the clamped scores, up to the lattice, with coefficients of their own for what
        /// lies beyond a size where there are any.
        #[test]
        fn images_are_scores(
            x in prop::collection::vec(prop_oneof![Just(0.0), -2.0..2.0f64], 30),
            both in (1usize..4).prop_flat_map(|scores| prop::collection::vec((-3.0..3.0f64, -3.0..3.0f64), 4 * scores)),
            reach in 0.1..5.0f64,
            near in prop::option::of(1e-6..1.3f64),
        ) {
            let (theta, beyond): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
            let bounds = Bounds { lower: vec![-1.0, 0.5, -2.0], upper: vec![1.0, 2.0, 2.0] };
            let from = Schema::new(3, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
            let unit = Bounds { lower: vec![-1.0], upper: vec![1.0] };
            let scores = theta.len() / 4;
            let to = Schema::new(scores, unit, Geometry::Uncentred, Target::Classes, true, None).unwrap();
            let x = Array2::from_shape_vec((10, 3), x).unwrap();
            let mut projection = Projection::new(theta.clone(), reach).unwrap();
            if let Some(near) = near {
                projection = projection.with_beyond(near, beyond.clone()).unwrap();
            }
            // On the lattice, as entries are.
            let unit = f64::from(MAX_FEATURE);
            let near = near.map_or(f64::INFINITY, |near| (near * unit).round() / unit);
            let (mut row, mut image) = (vec![0.0; 4], vec![0.0; scores + 1]);
            for data in all_kinds(&x, &from) {
                let made = projection.apply(&data, &to);
                for i in 0..10 {
                    data.fill_row(i, &mut row);
                    made.fill_row(i, &mut image);
                    for ((theta, beyond), image) in theta.chunks(4).zip(beyond.chunks(4)).zip(&image) {
                        let within = |j: usize| row[j].clamp(-near, near);
                        let features = (0..3).map(|j| theta[j] * within(j) + beyond[j] * (row[j] - within(j)));
                        let score = features.sum::<f64>() + theta[3] * row[3];
                        prop_assert!((image - (score / reach).clamp(-1.0, 1.0)).abs() < 1e-4);
                    }
                    prop_assert_eq!(image[scores], 1.0);
                }
            }
        }
    }
}
