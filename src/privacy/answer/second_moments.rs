use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::noise::integer_law;
use crate::exact::noise::rounded_gaussian::RoundedGaussian;
use crate::exact::noise::source::Source;
use crate::numeric::directed::{add_up, div_up, mul_up, sqrt_up};
use crate::numeric::kernel::{MAX_FEATURE, gradient_pass};
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::ledger::Budget;
use crate::privacy::row_norm::RowNorm;
use crate::schema::Schema;

/// How the second moments sum_i x_i x_i' of the records are released, the intercept's column included: an integer
/// matrix plus the exactly rounded Gaussian (Dwork, Talwar, Thakurta & Zhang 2014; MECHANISMS M0, M10).
///
/// Rows are in integers and no longer than r in lattice units, those that count less in gradients
/// ([`Schema::with_gradient_norm`]) by shortening them, intercept included: r^2 = R^2 + c^2.
///
/// **Sensitivity.** |x x'|_F = |x|^2 <= r^2 under add-remove. Under replace-one |a a' - b b'|_F^2 = |a|^4 + |b|^4 - 2
/// <a, b>^2 <= 2 r^4: sqrt(2) r^2. Times m for m records a person. The entries on and above the diagonal are released,
/// the diagonal divided by sqrt(2): that vector has 1/sqrt(2) of the Frobenius norm, so noise of standard deviation
/// sigma off the diagonal and sqrt(2) sigma on it has the multiplier sqrt(2) sigma/|.|_F. The exact Gaussian curve
/// holds (M12).
#[derive(Debug, Clone)]
pub struct MomentsPlan {
    columns: usize,
    /// Entries are released in units of 2^shift.
    shift: u32,
    sigma: f64,
    event: Event,
}

impl MomentsPlan {
    /// Most columns: the matrix has their square.
    pub const MOST_COLUMNS: usize = 2048;

    /// Noise of standard deviation `multiplier` times the sensitivity.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `X` for more than 2047 features, and noise that the exact sampler does not
    /// take.
    pub fn new(
        schema: &Schema,
        multiplier: f64,
        adjacency: Adjacency,
        records_per_person: usize,
    ) -> Result<Self> {
        let columns = schema.n_columns();
        if columns > Self::MOST_COLUMNS {
            return Err(Error::invalid(
                "X",
                format!(
                    "has too many features for a matrix of second moments: at most {}",
                    Self::MOST_COLUMNS - 1
                ),
            ));
        }
        let norm = schema.lattice_gradient_norm().or(schema.lattice_row_norm());
        let unit = f64::from(MAX_FEATURE);
        let features = norm.map_or(unit * unit * schema.n_varying() as f64, |norm| {
            mul_up(norm as f64, norm as f64)
        });
        let row = add_up(features, f64::from(schema.lattice_intercept()).powi(2));
        // In units of sqrt(2): 1/sqrt(2) of the Frobenius norm.
        let neighbours = match adjacency {
            Adjacency::ReplaceOne => 1.0,
            Adjacency::AddRemove => sqrt_up(0.5),
        };
        let exact = mul_up(mul_up(neighbours, records_per_person as f64), row);
        // In units of 2^shift the noise fits the sampler. Flooring moves the difference of two entries by less than 1.
        let shift = ((multiplier * exact).log2() - 38.0).ceil().max(0.0) as u32;
        let floored = if shift > 0 { columns as f64 } else { 0.0 };
        let sensitivity = add_up(div_up(exact, 2f64.powi(shift as i32)), floored);
        let sigma = mul_up(multiplier, sensitivity);
        RoundedGaussian::new(sigma)?;
        RoundedGaussian::new(mul_up(sigma, sqrt_up(2.0)))?;
        Ok(Self {
            columns,
            shift,
            sigma,
            event: Event::gaussian(sensitivity, sigma)?,
        })
    }

    /// The event of the release.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Standard deviation of the noise on an entry off the diagonal, in scaled units; sqrt(2) times that on the
    /// diagonal.
    pub fn noise_scale(&self) -> f64 {
        self.sigma * self.unit()
    }

    /// One unit of the release, in scaled units.
    fn unit(&self) -> f64 {
        2f64.powi(self.shift as i32) / f64::from(MAX_FEATURE).powi(2)
    }

    /// Spends the event, draws, and returns the symmetric matrix in scaled units, row by row. The records may have
    /// fewer columns than planned for: the bounds hold for some of the features too. `poll` is called after every
    /// column and may stop the release.
    ///
    /// No overflow: an entry is below n 2^28 < 2^59.
    ///
    /// # Errors
    /// More columns than planned for; an error of `poll`; [`Error::Randomness`].
    pub fn release(
        &self,
        data: &BoundedData,
        source: &mut Source,
        poll: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Vec<f64>> {
        let d = data.n_columns();
        if d > self.columns {
            let problem = "hold more features than the moments were planned for";
            return Err(Error::invalid("data", problem));
        }
        // Before anything is spent: memory may not be there.
        let rows = bounded_columns(data)?;
        let events = [(self.event, 1)];
        Budget::new(&events).spend_all(&events)?;
        source.renew_after_fork()?;
        let n = data.n_records();
        let mut diagonal = vec![0i64; d];
        let mut above = Vec::with_capacity(d * (d - 1) / 2);
        let mut products = vec![0i64; d];
        for j in 0..d {
            let products = &mut products[j..];
            gradient_pass(&rows[j * n..], &rows[j * n..(j + 1) * n], products);
            (products.iter_mut()).for_each(|entry| *entry >>= self.shift);
            diagonal[j] = products[0];
            above.extend_from_slice(&products[1..]);
            poll()?;
        }
        let noise = RoundedGaussian::new(self.sigma)?;
        let above = integer_law::add(&noise, source, &above)?;
        let noise = RoundedGaussian::new(mul_up(self.sigma, sqrt_up(2.0)))?;
        let diagonal = integer_law::add(&noise, source, &diagonal)?;
        // Post-processing from here on.
        let mut matrix = vec![0.0; d * d];
        let mut above = above.into_iter();
        for (j, &entry) in diagonal.iter().enumerate() {
            matrix[j * d + j] = entry as f64 * self.unit();
            for (k, entry) in (j + 1..d).zip(above.by_ref()) {
                let entry = entry as f64 * self.unit();
                (matrix[j * d + k], matrix[k * d + j]) = (entry, entry);
            }
        }
        Ok(matrix)
    }
}

/// The columns one after the other, the intercept's last, with rows that count less in gradients shortened: truncation
/// moves towards zero, so |trunc(w x)| <= w |x| <= r.
fn bounded_columns(data: &BoundedData) -> Result<Vec<i16>> {
    let n = data.n_records();
    let mut columns = data.dense_columns(usize::from(data.schema.has_intercept()))?;
    if data.schema.has_intercept() {
        columns.resize(columns.len() + n, data.schema.lattice_intercept());
    }
    if let Some(weights) = RowNorm::gradient_weights(data) {
        for column in columns.chunks_exact_mut(n) {
            for (value, weight) in column.iter_mut().zip(&weights) {
                *value = (f64::from(*value) * weight) as i16;
            }
        }
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bounds, Geometry, Target};
    use proptest::prelude::*;

    fn schema(norm: Option<f64>, gradient_norm: Option<f64>) -> Schema {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let target = Target::Classes;
        let schema = Schema::new(4, bounds, Geometry::Uncentred, target, true, norm).unwrap();
        let schema = schema.with_intercept_value(0.3).unwrap();
        match gradient_norm {
            Some(norm) => schema.with_gradient_norm(norm).unwrap(),
            None => schema,
        }
    }

    /// What is released without noise: the entries above the diagonal and those on it over sqrt(2).
    fn released(rows: &[Vec<f64>], schema: &Schema) -> Vec<f64> {
        let n = rows.len();
        let x = ndarray::Array2::from_shape_fn((n, 4), |(i, j)| rows[i][j]);
        let data = BoundedData::from_dense(x.view(), &vec![1.0; n], schema.clone()).unwrap();
        let columns = bounded_columns(&data).unwrap();
        let column = |j: usize| &columns[j * n..(j + 1) * n];
        let mut entries = Vec::new();
        for j in 0..5 {
            for k in j..5 {
                let product = |(a, b): (&i16, &i16)| i64::from(*a) * i64::from(*b);
                let sum: i64 = column(j).iter().zip(column(k)).map(product).sum();
                entries.push(sum as f64 / if j == k { 2f64.sqrt() } else { 1.0 });
            }
        }
        entries
    }

    proptest! {
        /// Replacing or removing a record moves what is released by no more than the event says, and a pair of records
        /// that reaches the bound exists.
        #[test]
        fn the_sensitivity_holds(
            a in prop::collection::vec(-1.0..1.0f64, 4),
            b in prop::collection::vec(-1.0..1.0f64, 4),
            norm in prop_oneof![Just((None, None)), Just((Some(0.7), None)), Just((None, Some(0.7)))],
        ) {
            let schema = schema(norm.0, norm.1);
            let distance = |a: &[f64], b: &[f64]| {
                a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
            };
            let plan = |adjacency| MomentsPlan::new(&schema, 1.0, adjacency, 1).unwrap();
            let (one, other) = (released(std::slice::from_ref(&a), &schema), released(&[b], &schema));
            prop_assert!(distance(&one, &other) <= plan(Adjacency::ReplaceOne).sigma);
            prop_assert!(distance(&one, &[0.0; 15]) <= plan(Adjacency::AddRemove).sigma);
            let largest = released(&[vec![1.0; 4]], &schema);
            prop_assert!(distance(&largest, &[0.0; 15]) > 0.999 * plan(Adjacency::AddRemove).sigma);
        }
    }

    /// The mean of the release is the matrix, and its noise has the standard deviations of the plan.
    #[test]
    fn noise_is_as_planned() {
        let schema = schema(None, None);
        let x =
            ndarray::Array2::from_shape_fn((50, 4), |(i, j)| ((i * 7 + j * 3) % 11) as f64 / 11.0);
        let data = BoundedData::from_dense(x.view(), &[1.0; 50], schema.clone()).unwrap();
        let plan = MomentsPlan::new(&schema, 2.0, Adjacency::AddRemove, 1).unwrap();
        let mut source = Source::seeded(3);
        let runs = 4000;
        let (mut mean, mut square) = (vec![0.0; 25], vec![0.0; 25]);
        let exact = |j: usize, k: usize| -> f64 {
            let column = |i: usize, j: usize| if j == 4 { 0.3 } else { x[[i, j]] };
            (0..50).map(|i| column(i, j) * column(i, k)).sum()
        };
        for _ in 0..runs {
            let matrix = plan.release(&data, &mut source, &mut || Ok(())).unwrap();
            for (k, entry) in matrix.iter().enumerate() {
                let error = entry - exact(k / 5, k % 5);
                mean[k] += error / f64::from(runs);
                square[k] += error * error / f64::from(runs);
            }
            assert_eq!(matrix[1], matrix[5]);
        }
        for k in 0..25 {
            let wanted = plan.noise_scale() * if k % 6 == 0 { 2f64.sqrt() } else { 1.0 };
            // Five standard errors of a mean and seven of a variance: below 1e-6 for all 15 entries together.
            assert!(mean[k].abs() < 5.5 * wanted / f64::from(runs).sqrt() + 0.01);
            assert!((square[k].sqrt() / wanted - 1.0).abs() < 0.08);
        }
    }

    #[test]
    fn wide_matrices_are_refused() {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let target = Target::Classes;
        let schema = Schema::new(3000, bounds, Geometry::Uncentred, target, true, None).unwrap();
        let error = MomentsPlan::new(&schema, 1.0, Adjacency::ReplaceOne, 1).unwrap_err();
        assert!(error.to_string().contains("at most 2047"));
    }
}
