//! Features clipped to public ranges within their bounds: what a model that was fitted on clipped features sees.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use crate::error::{Error, Result};
use crate::schema::{Bounds, Schema};

impl BoundedData {
    /// The same records with feature j clipped to `ranges.of(j)`, in the user's units; rows keep their targets and
    /// sparse records stay sparse.
    ///
    /// The ranges are public: what a record becomes depends on the record alone, in every storage. The map onto the
    /// lattice is monotone: without a row norm, clipping before it and after it are the same.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `feature_ranges` for other than one pair per feature, or ends that are not
    /// finite or not in order.
    pub(in crate::privacy) fn clipped(&self, ranges: &Bounds) -> Result<Self> {
        let ranges = lattice_ranges(ranges, &self.schema)?;
        let clip = |x: i16, j: usize| x.clamp(ranges[j].0, ranges[j].1);
        let features = match &self.features {
            Features::Dense(columns) => Features::Dense(columns.mapped(|j, line, clipped| {
                let pairs = clipped.iter_mut().zip(line);
                pairs.for_each(|(clipped, &x)| *clipped = clip(x, j));
            })),
            Features::Packed(packed) => Features::Packed(packed.map(|j, x| clip(x, j))),
            Features::Sparse {
                rows,
                columns,
                base,
            } => {
                let moved: Vec<i16> = (0..).zip(base).map(|(j, &base)| clip(base, j)).collect();
                // Old and new values lie in [-16383, 16383]: their differences fit.
                let value = |value: i16, j: usize| clip(base[j] + value, j) - moved[j];
                let by_rows = (rows.indices.par_iter().zip(&rows.values))
                    .map(|(&j, &x)| value(x, j as usize))
                    .collect();
                let by_columns = (0..columns.len())
                    .into_par_iter()
                    .flat_map_iter(|j| {
                        columns.values[columns.starts[j]..columns.starts[j + 1]]
                            .iter()
                            .map(move |&x| value(x, j))
                    })
                    .collect();
                Features::Sparse {
                    rows: rows.with_values(by_rows),
                    columns: columns.with_values(by_columns),
                    base: moved,
                }
            }
        };
        Ok(Self {
            schema: self.schema.clone(),
            targets: self.targets.clone(),
            features,
            weights: self.weights.clone(),
        })
    }
}

fn lattice_ranges(ranges: &Bounds, schema: &Schema) -> Result<Vec<(i16, i16)>> {
    let p = schema.n_features();
    let problem = "must be one pair of finite values per feature, the lower one first";
    if ranges.lower.len() != p || ranges.upper.len() != p {
        return Err(Error::invalid("feature_ranges", problem));
    }
    (0..p)
        .map(|j| {
            let (lower, upper) = ranges.of(j);
            let fits = lower.is_finite() && upper.is_finite() && lower <= upper;
            fits.then(|| {
                (
                    schema.lattice_value(lower, j),
                    schema.lattice_value(upper, j),
                )
            })
            .ok_or_else(|| Error::invalid("feature_ranges", problem))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::sparse_records::{Compressed, Orientation};
    use crate::schema::{Geometry, Target};
    use ndarray::Array2;
    use proptest::prelude::*;

    proptest! {
        /// Clipping before reading and after it are the same, in every storage.
        #[test]
        fn clipping_commutes_with_reading(
            x in prop::collection::vec(prop_oneof![Just(0.0), -2.0..7.0f64], 20),
            ends in prop::collection::vec((-3.0..8.0f64, 0.0..3.0f64), 4),
        ) {
            let bounds = Bounds { lower: vec![-1.0, 0.0, 2.0, -2.0], upper: vec![1.0, 5.0, 6.0, -2.0] };
            let schema = Schema::new(4, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
            let ranges = Bounds {
                lower: ends.iter().map(|&(low, _)| low).collect(),
                upper: ends.iter().map(|&(low, width)| low + width).collect(),
            };
            let x = Array2::from_shape_vec((5, 4), x).unwrap();
            let first = Array2::from_shape_fn((5, 4), |(i, j)| x[(i, j)].clamp(ranges.lower[j], ranges.upper[j]));
            let expected = BoundedData::from_dense(first.view(), &[1.0; 5], schema.clone()).unwrap();
            let read = BoundedData::from_dense(x.view(), &[1.0; 5], schema.clone()).unwrap();
            let stored = |orientation| {
                let lines = match orientation {
                    Orientation::Rows => x.clone(),
                    Orientation::Columns => x.t().to_owned(),
                };
                let (mut starts, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
                for line in lines.rows() {
                    for (k, &value) in line.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                        indices.push(k as i64);
                        values.push(value);
                    }
                    starts.push(indices.len() as i64);
                }
                let x = Compressed { starts: &starts, indices: &indices, values: &values };
                BoundedData::from_sparse(x, orientation, (5, 4), &[1.0; 5], schema.clone()).unwrap()
            };
            let (mut row, mut other) = (vec![0.0; 5], vec![0.0; 5]);
            let (mut gradient, mut again) = (vec![0; 5], vec![0; 5]);
            let derivatives = [3, -1, 4, 1, -5];
            expected.gradient(&derivatives, &mut gradient);
            for data in [read, stored(Orientation::Rows), stored(Orientation::Columns)] {
                let clipped = data.clipped(&ranges).unwrap();
                for i in 0..5 {
                    expected.fill_row(i, &mut row);
                    clipped.fill_row(i, &mut other);
                    prop_assert_eq!(&row, &other);
                }
                clipped.gradient(&derivatives, &mut again);
                prop_assert_eq!(&gradient, &again);
            }
        }
    }

    #[test]
    fn ranges_are_one_finite_pair_a_feature() {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema =
            Schema::new(2, bounds, Geometry::Centred, Target::Classes, true, None).unwrap();
        let ranges = |lower: &[f64], upper: &[f64]| {
            let ranges = Bounds {
                lower: lower.to_vec(),
                upper: upper.to_vec(),
            };
            lattice_ranges(&ranges, &schema).is_ok()
        };
        assert!(ranges(&[0.0, -0.5], &[0.5, -0.5]));
        for (lower, upper) in [
            (&[0.0][..], &[0.5, 0.5][..]),
            (&[0.0, 0.0], &[0.5]),
            (&[0.0, 0.0, 0.0], &[0.5, 0.5]),
            (&[0.0, 0.5], &[0.5, 0.4]),
            (&[0.0, f64::NEG_INFINITY], &[0.5, 0.4]),
            (&[0.0, 0.0], &[0.5, f64::INFINITY]),
            (&[f64::NAN, 0.0], &[0.5, 0.5]),
        ] {
            assert!(!ranges(lower, upper), "{lower:?} {upper:?}");
        }
    }
}
