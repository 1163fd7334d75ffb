//! The Hessian of the mean loss as a linear map in plain floats: it steers Newton's method where there are too many
//! columns to write it down, and proves nothing.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use super::records::Watch;
use crate::error::Result;
use crate::numeric::kernel::MAX_FEATURE;
use crate::numeric::linear::{dot, norm2};

/// Records of a piece of work, at least.
const RECORDS: usize = 4096;

/// Products of the Hessian of one search for a direction.
const MOST_PRODUCTS: usize = 1000;

/// H = sum_i w_i x_i x_i' + ridge I, in scaled units, the intercept last.
pub(in crate::privacy) struct Curvature<'a> {
    data: &'a BoundedData,
    weights: Vec<f64>,
    ridge: f64,
    margins: Vec<f64>,
}

impl<'a> Curvature<'a> {
    /// With a weight for each record.
    pub fn new(data: &'a BoundedData, weights: Vec<f64>, ridge: f64) -> Self {
        Self {
            margins: vec![0.0; weights.len()],
            data,
            weights,
            ridge,
        }
    }

    /// The value of unstored entries of each feature, in lattice units: none but in sparse records.
    fn base(&self) -> &'a [i16] {
        match &self.data.features {
            Features::Dense(_) | Features::Packed(_) => &[],
            Features::Sparse { base, .. } => base,
        }
    }

    /// out = H v: what stored entries give, and beside it the base and the intercept. Threads share the entries of
    /// margins and of `out`, so they change no bit.
    fn times(&mut self, v: &[f64], out: &mut [f64]) {
        let p = self.data.schema.n_features();
        let own = f64::from(self.data.schema.lattice_intercept());
        self.data.float_margins(&v[..p], &mut self.margins);
        let base = self.base().iter().zip(v);
        let constant = base.map(|(&base, v)| f64::from(base) * v).sum::<f64>()
            + v.get(p).map_or(0.0, |v| own * v);
        let unit = f64::from(MAX_FEATURE).powi(-2);
        (self.margins.par_iter_mut().zip(&self.weights))
            .with_min_len(RECORDS)
            .for_each(|(margin, weight)| *margin = (*margin + constant) * weight * unit);
        let (features, intercept) = out.split_at_mut(p);
        self.data.float_gradient(&self.margins, features);
        let total: f64 = self.margins.iter().sum();
        for (out, &base) in features.iter_mut().zip(self.base()) {
            *out += f64::from(base) * total;
        }
        if let [intercept] = intercept {
            *intercept = own * total;
        }
        for (out, v) in out.iter_mut().zip(v) {
            *out += self.ridge * v;
        }
    }

    /// The diagonal of H.
    fn diagonal(&self) -> Vec<f64> {
        let (p, own) = (
            self.data.schema.n_features(),
            f64::from(self.data.schema.lattice_intercept()),
        );
        let total: f64 = self.weights.iter().sum();
        let mut squares = vec![0.0; p];
        match &self.data.features {
            Features::Dense(_) | Features::Packed(_) => {
                (self.data).float_sums(&self.weights, |x| x * x, &mut squares);
            }
            Features::Sparse { columns, base, .. } => (squares.par_iter_mut().enumerate())
                .with_min_len(16)
                .for_each(|(j, square)| {
                    let base = f64::from(base[j]);
                    let term =
                        |(i, x): (usize, i64)| self.weights[i] * x as f64 * (x as f64 + 2.0 * base);
                    *square = base * base * total + columns.line(j).map(term).sum::<f64>();
                }),
        }
        if self.data.schema.has_intercept() {
            squares.push(own * own * total);
        }
        let unit = f64::from(MAX_FEATURE).powi(-2);
        (squares.iter_mut()).for_each(|square| *square = *square * unit + self.ridge);
        squares
    }

    /// d with |H d - slope| at most `reduction` of |slope|, or near it: conjugate gradients, every column divided by
    /// its own curvature.
    pub fn direction(
        &mut self,
        slope: &[f64],
        reduction: f64,
        watch: Watch<'_>,
    ) -> Result<Vec<f64>> {
        let diagonal = self.diagonal();
        let size_of = |rest: &[f64]| -> f64 {
            let terms = rest.iter().zip(&diagonal);
            terms.map(|(rest, own)| rest * rest / own).sum()
        };
        let mut direction = vec![0.0; slope.len()];
        let (mut towards, mut product) = (direction.clone(), direction.clone());
        let mut rest = slope.to_vec();
        let (mut size, mut kept) = (size_of(&rest), 0.0);
        for _ in 0..MOST_PRODUCTS {
            if norm2(&rest) <= reduction * norm2(slope) {
                break;
            }
            watch()?;
            for (towards, (rest, own)) in towards.iter_mut().zip(rest.iter().zip(&diagonal)) {
                *towards = rest / own + kept * *towards;
            }
            self.times(&towards, &mut product);
            let length = size / dot(&towards, &product);
            for k in 0..slope.len() {
                direction[k] += length * towards[k];
                rest[k] -= length * product[k];
            }
            let before = std::mem::replace(&mut size, size_of(&rest));
            kept = size / before;
        }
        Ok(direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    /// The map is the matrix that is written down for few columns, in every storage, and directions solve with it.
    #[test]
    fn the_map_is_the_matrix() {
        for (n, p, intercept) in [(1, 1, true), (300, 7, true), (70, 12, false)] {
            let bounds = Bounds {
                lower: vec![-1.0],
                upper: vec![3.0],
            };
            let (geometry, target) = (Geometry::Centred, Target::Classes);
            let schema = Schema::new(p, bounds, geometry, target, intercept, None).unwrap();
            let x =
                Array2::from_shape_fn((n, p), |(i, j)| ((i * 31 + j * 17) % 9) as f64 / 2.0 - 1.0);
            let weights: Vec<f64> = (0..n).map(|i| (i % 5) as f64 / n as f64).collect();
            let (ridge, columns) = (0.01, schema.n_columns());
            let v: Vec<f64> = (0..columns).map(|j| (j as f64 * 1.7).sin()).collect();
            for data in all_kinds(&x, &schema) {
                let mut gram = vec![0.0; columns * columns];
                data.weighted_gram(&weights, &mut gram);
                let entry = |j: usize, k: usize| gram[j.max(k) * columns + j.min(k)];
                let mut map = Curvature::new(&data, weights.clone(), ridge);
                let diagonal = map.diagonal();
                let mut image = vec![0.0; columns];
                map.times(&v, &mut image);
                for j in 0..columns {
                    let row: f64 = (0..columns).map(|k| entry(j, k) * v[k]).sum();
                    assert!((image[j] - row - ridge * v[j]).abs() < 1e-12);
                    assert!((diagonal[j] - entry(j, j) - ridge).abs() < 1e-12);
                }
                let direction = map.direction(&image, 1e-10, &mut || Ok(())).unwrap();
                for (found, v) in direction.iter().zip(&v) {
                    assert!((found - v).abs() < 1e-7, "{found} {v}");
                }
            }
        }
    }

    /// Who watches may stop a search between two products.
    #[test]
    fn a_search_can_be_stopped() {
        let bounds = Bounds {
            lower: vec![0.0],
            upper: vec![1.0],
        };
        let (geometry, target) = (Geometry::Uncentred, Target::Classes);
        let schema = Schema::new(2, bounds, geometry, target, false, None).unwrap();
        let [data, ..] = all_kinds(&Array2::eye(2), &schema);
        let mut map = Curvature::new(&data, vec![1.0, 2.0], 0.1);
        let stop = &mut || Err(crate::error::Error::Interrupted);
        assert!(map.direction(&[1.0, 1.0], 0.1, stop).is_err());
    }
}
