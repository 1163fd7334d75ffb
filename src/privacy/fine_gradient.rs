//! Gradients of the mean loss at coefficients that depend on unreleased data, with a stated error (MECHANISMS M1, M6 to
//! M8).
//!
//! There 14-bit derivatives would break non-expansiveness and optimality conditions by far. Here they have 42 bits, in
//! three limbs of 14, so that the exact integer kernels sum them: no rounding in any sum, the same bits on any number
//! of threads and in any storage, and an error that does not grow with the number of records.

use rayon::prelude::*;

use super::bounded_data::BoundedData;
use crate::loss::Loss;
use crate::numeric::kernel::MAX_FEATURE;

/// Bits of a limb; limbs are balanced, in [-2^13, 2^13].
const LIMB: u32 = 14;
/// Limbs of a derivative.
const LIMBS: usize = 3;
/// 2^41: a derivative of size L is this many quanta.
const QUANTA: f64 = (1u64 << (LIMB * LIMBS as u32 - 1)) as f64;
/// Coefficients are rounded to multiples of 2^-56.
const COEFFICIENT_SCALE: i32 = 56;
/// Records per piece of work.
const CHUNK: usize = 1024;

/// Evaluates (1/n) sum_i l'(<x_i, theta>; y_i) x_i in scaled units; vectors are allocated once.
pub(in crate::privacy) struct FineGradient<'a> {
    data: &'a BoundedData,
    loss: &'a dyn Loss,
    /// Bound on |l'|; derivatives are clamped to it.
    lipschitz: f64,
    normaliser: f64,
    direction: Vec<(u32, i64)>,
    rest: Vec<f64>,
    margins: Vec<i64>,
    scores: Vec<f64>,
    limbs: [Vec<i16>; LIMBS],
    sums: Vec<i64>,
}

impl<'a> FineGradient<'a> {
    pub fn new(
        data: &'a BoundedData,
        loss: &'a dyn Loss,
        lipschitz: f64,
        n_samples: usize,
    ) -> Self {
        let n = data.n_records();
        Self {
            data,
            loss,
            lipschitz,
            normaliser: 1.0 / n_samples as f64,
            direction: Vec::with_capacity(data.n_columns()),
            rest: Vec::with_capacity(data.n_columns()),
            margins: vec![0; n],
            scores: vec![0.0; n],
            limbs: [vec![0; n], vec![0; n], vec![0; n]],
            sums: vec![0; data.n_columns()],
        }
    }

    /// Euclidean norm of the error of [`FineGradient::evaluate`], for rows of Euclidean norm at most `rows`, p columns
    /// and a loss of smoothness beta; it does not depend on theta.
    ///
    /// A score: theta is rounded to multiples of 2^-[`COEFFICIENT_SCALE`], so |dz| <= rows sqrt(p) 2^-57; margins are
    /// exact; adding their parts in floats errs by less than 2^-50 |z|, which moves a derivative by at most 2^-50
    /// sup |z l''(z)| <= 2^-50 (2 L + beta) for the catalogued losses: l'' vanishes, or falls like exp(-|z|),
    /// beyond |z| = |y| + L/beta. Evaluating l' errs by a few ulp, below 2^-46 L, its rounding by 2^-42 L. Sums over
    /// records are exact, their conversion relative 2^-50. An error dd of every derivative moves the mean by at most dd
    /// rows.
    pub fn error_bound(lipschitz: f64, smoothness: f64, rows: f64, columns: usize) -> f64 {
        let score = rows * (columns as f64).sqrt() * 2f64.powi(-57);
        let derivative = smoothness * score
            + 2f64.powi(-50) * (2.0 * lipschitz + smoothness)
            + lipschitz * (2f64.powi(-42) + 2f64.powi(-46));
        rows * (derivative + lipschitz * 2f64.powi(-50))
    }

    /// Recomputes the scores <x_i, theta>; theta is finite.
    pub fn set_scores(&mut self, theta: &[f64]) {
        let largest = theta.iter().fold(0.0f64, |m, t| m.max(t.abs()));
        // Entries of a part are at most 2^bits, and p of them times 2^14 (three times over for sparse columns) stay
        // below 2^62.
        let columns = usize::BITS - theta.len().leading_zeros();
        let bits = 28.min(45 - columns as i32);
        self.rest.clear();
        self.rest.extend_from_slice(theta);
        self.scores.fill(0.0);
        // From the coarsest part to the finest, whose unit is 2^-COEFFICIENT_SCALE; a coefficient is the exact sum of
        // its parts up to half of that.
        let highest = largest.max(f64::MIN_POSITIVE).log2().floor() as i32 + 1;
        let mut exponent = highest - bits;
        loop {
            exponent = exponent.max(-COEFFICIENT_SCALE);
            let unit = 2f64.powi(exponent);
            self.direction.clear();
            for (rest, j) in self.rest.iter_mut().zip(0u32..) {
                let whole = (*rest / unit).round();
                *rest -= whole * unit;
                if whole != 0.0 {
                    self.direction.push((j, whole as i64));
                }
            }
            self.margins.fill(0);
            self.data
                .add_to_margins(&mut self.margins, &self.direction, 1);
            let unit = unit / f64::from(MAX_FEATURE);
            (self.scores.par_chunks_mut(CHUNK))
                .zip(self.margins.par_chunks(CHUNK))
                .for_each(|(scores, margins)| {
                    for (score, &margin) in scores.iter_mut().zip(margins) {
                        *score += margin as f64 * unit;
                    }
                });
            if exponent == -COEFFICIENT_SCALE {
                break;
            }
            exponent -= bits;
        }
    }

    /// out = (1/n) sum_i l'(<x_i, theta>; y_i) x_i at the scores of [`FineGradient::set_scores`].
    pub fn evaluate(&mut self, out: &mut [f64]) {
        let quanta = QUANTA / self.lipschitz;
        let (loss, lipschitz) = (self.loss, self.lipschitz);
        let [low, middle, high] = &mut self.limbs;
        (low.par_chunks_mut(CHUNK))
            .zip(middle.par_chunks_mut(CHUNK))
            .zip(high.par_chunks_mut(CHUNK))
            .zip(self.scores.par_chunks(CHUNK))
            .zip(self.data.targets.par_chunks(CHUNK))
            .for_each(|((((low, middle), high), scores), targets)| {
                let mut slopes = [0.0; CHUNK];
                let slopes = &mut slopes[..scores.len()];
                loss.derivatives(scores, targets, slopes);
                for (k, slope) in slopes.iter().enumerate() {
                    let mut rest = (slope.clamp(-lipschitz, lipschitz) * quanta).round() as i64;
                    for limb in [&mut low[k], &mut middle[k]] {
                        // Balanced: in [-2^13, 2^13).
                        let part =
                            (rest + (1 << (LIMB - 1))).rem_euclid(1 << LIMB) - (1 << (LIMB - 1));
                        *limb = part as i16;
                        rest = (rest - part) >> LIMB;
                    }
                    // |rest| <= 2^13 now, since |slope| <= 2^41 quanta.
                    high[k] = rest as i16;
                }
            });
        out.fill(0.0);
        for (k, limb) in self.limbs.iter().enumerate() {
            self.data.gradient(limb, &mut self.sums);
            let unit = 2f64.powi(LIMB as i32 * k as i32) / quanta / f64::from(MAX_FEATURE);
            for (out, &sum) in out.iter_mut().zip(&self.sums) {
                *out += sum as f64 * unit * self.normaliser;
            }
        }
    }

    /// Lower triangle, row by row in a square, of (1/n) sum_i l''(z_i; y_i) x_i x_i' + ridge I at the scores of
    /// [`FineGradient::set_scores`], in plain floats: it only steers Newton's method and proves nothing.
    pub fn hessian(&mut self, ridge: f64, out: &mut [f64]) {
        let loss = self.loss;
        let weights: Vec<f64> = (self.scores.iter().zip(&self.data.targets))
            .map(|(&z, &y)| loss.curvature(z, y) * self.normaliser)
            .collect();
        self.data.weighted_gram(&weights, out);
        let p = self.data.n_columns();
        for j in 0..p {
            out[j * p + j] += ridge;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Huber, Logistic, SmoothedHinge};
    use crate::privacy::sparse_records::{Compressed, Orientation};
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    /// Numbers in [0, 1).
    fn uniform(state: &mut u64) -> f64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 * 2f64.powi(-53)
    }

    fn schema(p: usize) -> Schema {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        Schema::new(p, bounds, Geometry::Uncentred, Target::Classes, true, None).unwrap()
    }

    /// The same records densely and sparsely.
    fn records(n: usize, p: usize, state: &mut u64) -> (BoundedData, BoundedData) {
        let x = Array2::from_shape_fn((n, p), |_| {
            let value = 2.4 * uniform(state) - 1.2;
            if value.abs() < 0.4 { 0.0 } else { value }
        });
        let y: Vec<f64> = (0..n).map(|i| [1.0, -1.0][i % 2]).collect();
        let (mut data, mut indices, mut starts) = (Vec::new(), Vec::new(), vec![0usize]);
        for row in x.rows() {
            for (j, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                data.push(value);
                indices.push(j);
            }
            starts.push(data.len());
        }
        let sparse = Compressed {
            values: &data,
            indices: &indices,
            starts: &starts,
        };
        (
            BoundedData::from_dense(x.view(), &y, schema(p)).unwrap(),
            BoundedData::from_sparse(sparse, Orientation::Rows, (n, p), &y, schema(p)).unwrap(),
        )
    }

    fn losses() -> Vec<(Box<dyn Loss>, f64)> {
        vec![
            (Box::new(Logistic), 1.0),
            (Box::new(SmoothedHinge::new(0.5).unwrap()), 1.0),
            (Box::new(SmoothedHinge::new(1e-3).unwrap()), 1.0),
            (Box::new(Huber::new(0.1).unwrap()), 0.1),
            (Box::new(Huber::new(30.0).unwrap()), 30.0),
        ]
    }

    /// Scores in 128-bit integers, sums in compensated floats: the error is within its bound at thetas of any size, and
    /// storages agree bit for bit.
    #[test]
    fn the_error_is_within_its_bound_and_storages_agree() {
        let mut state = 1;
        for (n, p) in [(3, 1), (CHUNK + 37, 7), (300, 40)] {
            let (dense, sparse) = records(n, p, &mut state);
            let columns = p + 1;
            for (loss, lipschitz) in losses() {
                for exponent in [-40, -12, -3, 0, 4, 12] {
                    let theta: Vec<f64> = (0..columns)
                        .map(|_| (uniform(&mut state) - 0.5) * 2f64.powi(exponent))
                        .collect();
                    let gradients = [&dense, &sparse].map(|data| {
                        let mut gradient = FineGradient::new(data, loss.as_ref(), lipschitz, n);
                        let mut out = vec![0.0; columns];
                        gradient.set_scores(&theta);
                        gradient.evaluate(&mut out);
                        out
                    });
                    assert_eq!(gradients[0], gradients[1]);
                    let unit = f64::from(MAX_FEATURE);
                    // Multiples of 2^-90 hold every theta here, up to less than 2^-90.
                    let fixed = |t: f64| (t * 2f64.powi(90)) as i128;
                    let (mut sums, mut rest) = (vec![0.0; columns], vec![0.0; columns]);
                    let mut row = vec![0.0; columns];
                    for i in 0..n {
                        dense.fill_row(i, &mut row);
                        let score: i128 = (row.iter().zip(&theta))
                            .map(|(x, &t)| (x * unit).round() as i128 * fixed(t))
                            .sum();
                        let z = score as f64 * 2f64.powi(-90) / unit;
                        let d = loss.derivative(z, dense.targets[i]);
                        for ((sum, rest), x) in sums.iter_mut().zip(&mut rest).zip(&row) {
                            let term = d * ((x * unit).round() / unit) - *rest;
                            let next = *sum + term;
                            *rest = (next - *sum) - term;
                            *sum = next;
                        }
                    }
                    let error = (sums.iter().zip(&gradients[0]))
                        .map(|(sum, g)| (sum / n as f64 - g).powi(2))
                        .sum::<f64>()
                        .sqrt();
                    let beta = loss.smoothness();
                    let rows = (columns as f64).sqrt();
                    let bound = FineGradient::error_bound(lipschitz, beta, rows, columns);
                    assert!(
                        error <= bound,
                        "{error} {bound} {} {n} {exponent}",
                        loss.name()
                    );
                }
            }
        }
    }
}
