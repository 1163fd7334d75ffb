//! Records whose only features are public scores of theirs.

use super::bounded_data::{BoundedData, Features};
use super::columns::Columns;
use crate::numeric::kernel::MAX_FEATURE;
use crate::question::{Projection, lattice_directions};
use crate::schema::Schema;

impl Projection {
    /// The images of the records, under `schema`, which has one feature a score and no norm to shorten rows to. Scores
    /// are exact sums over coefficients on a lattice: they depend on no storage.
    pub(in crate::privacy) fn apply(&self, data: &BoundedData, schema: &Schema) -> BoundedData {
        let (n, scores) = (data.n_records(), schema.n_features());
        let (directions, margin_unit) =
            lattice_directions(self.theta(), self.theta().len() / scores);
        let margins_of = |direction: &Vec<(u32, i64)>| {
            let mut margins = vec![0; n];
            data.add_to_margins(&mut margins, direction, 1);
            margins
        };
        let margins: Vec<Vec<i64>> = directions.iter().map(margins_of).collect();
        let unit = f64::from(MAX_FEATURE);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Target};
    use ndarray::Array2;
    use proptest::prelude::*;

    proptest! {
        /// In every storage images are the clamped scores, up to the lattice.
        #[test]
        fn images_are_scores(
            x in prop::collection::vec(prop_oneof![Just(0.0), -2.0..2.0f64], 30),
            theta in (1usize..4).prop_flat_map(|scores| prop::collection::vec(-3.0..3.0f64, 4 * scores)),
            reach in 0.1..5.0f64,
        ) {
            let bounds = Bounds { lower: vec![-1.0, 0.5, -2.0], upper: vec![1.0, 2.0, 2.0] };
            let from = Schema::new(3, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
            let unit = Bounds { lower: vec![-1.0], upper: vec![1.0] };
            let scores = theta.len() / 4;
            let to = Schema::new(scores, unit, Geometry::Uncentred, Target::Classes, true, None).unwrap();
            let x = Array2::from_shape_vec((10, 3), x).unwrap();
            let projection = Projection::new(theta.clone(), reach).unwrap();
            let (mut row, mut image) = (vec![0.0; 4], vec![0.0; scores + 1]);
            for data in all_kinds(&x, &from) {
                let made = projection.apply(&data, &to);
                for i in 0..10 {
                    data.fill_row(i, &mut row);
                    made.fill_row(i, &mut image);
                    for (theta, image) in theta.chunks(4).zip(&image) {
                        let score: f64 = row.iter().zip(theta).map(|(x, t)| x * t).sum();
                        prop_assert!((image - (score / reach).clamp(-1.0, 1.0)).abs() < 1e-4);
                    }
                    prop_assert_eq!(image[scores], 1.0);
                }
            }
        }
    }
}
