//! Gradients of the mean loss at coefficients that depend on unreleased data, with a stated error
//! ([`crate::theory_of_privacy`]).
//!
//! There 14-bit derivatives would break non-expansiveness and optimality conditions by far. Here they have 42 bits, in
//! three limbs of 14, so that the exact integer kernels sum them: no rounding in any sum, the same bits on any number
//! of threads and in any storage, and an error that does not grow with the number of records.

use rayon::prelude::*;

use super::bounded_data::BoundedData;
use super::records::{Pass, Records, States, Sum, Watch};
use crate::error::Result;
use crate::numeric::kernel::MAX_FEATURE;
use crate::question::RoomModel;

/// Bits of a limb; limbs are balanced, in [-2^13, 2^13].
const LIMB: u32 = 14;
/// Limbs of a derivative.
pub const LIMBS: usize = 3;
/// 2^41: a derivative of size L is this many quanta.
const QUANTA: f64 = (1u64 << (LIMB * LIMBS as u32 - 1)) as f64;
/// Coefficients are rounded to multiples of 2^-56.
pub const COEFFICIENT_SCALE: i32 = 56;
/// Records per piece of work.
const CHUNK: usize = 1024;

/// Evaluates (1/n) sum_i l'(<x_i, theta>; y_i) x_i in scaled units.
pub(in crate::privacy) struct FineGradient<'a> {
    records: &'a dyn Records,
    model: &'a RoomModel,
    states: States,
    normaliser: f64,
}

impl<'a> FineGradient<'a> {
    /// The mean is over the public number of records.
    pub fn new(records: &'a dyn Records, model: &'a RoomModel) -> Self {
        Self {
            records,
            model,
            states: States::default(),
            normaliser: 1.0 / records.statement().n_samples() as f64,
        }
    }

    /// out = (1/n) sum_i l'(<x_i, theta>; y_i) x_i; theta is finite.
    pub fn evaluate(&mut self, theta: &[f64], out: &mut [f64], watch: Watch<'_>) -> Result<()> {
        let model = self.model;
        let pass = Pass::Fine { model, theta };
        let sums = self.records.fold(&pass, &mut self.states, watch)?.0;
        let quanta = QUANTA / model.bound().linf;
        out.fill(0.0);
        for (k, sums) in sums.chunks(out.len()).enumerate() {
            let unit = 2f64.powi(LIMB as i32 * k as i32) / quanta / f64::from(MAX_FEATURE);
            for (out, &sum) in out.iter_mut().zip(sums) {
                *out += sum as f64 * unit * self.normaliser;
            }
        }
        Ok(())
    }

    /// Lower triangle, row by row in a square, of (1/n) sum_i l''(z_i; y_i) x_i x_i' + ridge I at the coefficients of
    /// the last [`FineGradient::evaluate`], in plain floats: it only steers Newton's method and proves nothing.
    pub fn hessian(&self, ridge: f64, out: &mut [f64]) {
        (self.records).curvature(self.model, self.normaliser, &self.states, out);
        let p = self.records.n_columns();
        for j in 0..p {
            out[j * p + j] += ridge;
        }
    }
}

/// The pass behind [`FineGradient::evaluate`]: three sums of limbs, from the finest to the coarsest.
pub(in crate::privacy) fn pass(
    data: &BoundedData,
    model: &RoomModel,
    theta: &[f64],
    states: &mut States,
) -> Sum {
    let n = data.n_records();
    states.scores.resize(n, 0.0);
    states.margins.resize_with(1, || vec![0; n]);
    (states.limbs.iter_mut()).for_each(|limb| limb.resize(n, 0));
    set_scores(data, theta, states);
    set_limbs(data, model, states);
    let columns = data.n_columns();
    let mut sums = vec![0; LIMBS * columns];
    data.gradients(&states.limbs, &mut sums);
    Sum(sums)
}

/// Recomputes the scores <x_i, theta>; theta is finite.
fn set_scores(data: &BoundedData, theta: &[f64], states: &mut States) {
    let States {
        margins, scores, ..
    } = states;
    let margins = &mut margins[0];
    let mut direction = Vec::with_capacity(theta.len());
    let mut rest = theta.to_vec();
    let largest = theta.iter().fold(0.0f64, |m, t| m.max(t.abs()));
    // Entries of a part are at most 2^bits, and p of them times 2^14 (three times over for sparse columns) stay
    // below 2^62.
    let columns = usize::BITS - theta.len().leading_zeros();
    let bits = 28.min(45 - columns as i32);
    scores.fill(0.0);
    // From the coarsest part to the finest, whose unit is 2^-COEFFICIENT_SCALE; a coefficient is the exact sum of
    // its parts up to half of that.
    let highest = largest.max(f64::MIN_POSITIVE).log2().floor() as i32 + 1;
    let mut exponent = highest - bits;
    loop {
        exponent = exponent.max(-COEFFICIENT_SCALE);
        let unit = 2f64.powi(exponent);
        direction.clear();
        for (rest, j) in rest.iter_mut().zip(0u32..) {
            let whole = (*rest / unit).round();
            *rest -= whole * unit;
            if whole != 0.0 {
                direction.push((j, whole as i64));
            }
        }
        margins.fill(0);
        data.add_to_margins(margins, &direction, 1);
        let unit = unit / f64::from(MAX_FEATURE);
        (scores.par_chunks_mut(CHUNK))
            .zip(margins.par_chunks(CHUNK))
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

/// Slopes at the scores, in balanced limbs.
fn set_limbs(data: &BoundedData, model: &RoomModel, states: &mut States) {
    let lipschitz = model.bound().linf;
    let quanta = QUANTA / lipschitz;
    let States { scores, limbs, .. } = states;
    let [low, middle, high] = limbs;
    (low.par_chunks_mut(CHUNK))
        .zip(middle.par_chunks_mut(CHUNK))
        .zip(high.par_chunks_mut(CHUNK))
        .zip(scores.par_chunks(CHUNK))
        .zip(data.targets.par_chunks(CHUNK))
        .enumerate()
        .for_each(|(chunk, ((((low, middle), high), scores), targets))| {
            let mut slopes = [0.0; CHUNK];
            let slopes = &mut slopes[..scores.len()];
            model.unclamped(scores, targets, slopes);
            if let Some(weights) = &data.weights {
                // A share of a clamped slope, which is within the clamp; it errs by half an ulp.
                let shares = &weights.shares()[chunk * CHUNK..];
                for (slope, share) in slopes.iter_mut().zip(shares) {
                    *slope = slope.clamp(-lipschitz, lipschitz) * share;
                }
            }
            for (k, slope) in slopes.iter().enumerate() {
                let mut rest = (slope.clamp(-lipschitz, lipschitz) * quanta).round() as i64;
                for limb in [&mut low[k], &mut middle[k]] {
                    // Balanced: in [-2^13, 2^13).
                    let part = (rest + (1 << (LIMB - 1))).rem_euclid(1 << LIMB) - (1 << (LIMB - 1));
                    *limb = part as i16;
                    rest = (rest - part) >> LIMB;
                }
                // |rest| <= 2^13 now, since |slope| <= 2^41 quanta.
                high[k] = rest as i16;
            }
        });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::loss::{Admitted, Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared};
    use crate::numeric::linear::norm2;
    use crate::privacy::in_memory::InMemory;
    use crate::privacy::sparse_records::{Compressed, Orientation};
    use crate::question::Statement;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;
    use std::sync::Arc;

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

    /// The same records densely and sparsely, with weights or without.
    fn records(n: usize, p: usize, weighted: bool, state: &mut u64) -> (InMemory, InMemory) {
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
        let (mut schema, mut weights) = (schema(p), None);
        if weighted {
            schema = schema.with_max_weight(3.0).unwrap();
            weights = Some((0..n).map(|_| 4.0 * uniform(state)).collect::<Vec<_>>());
        }
        let statement = Statement::new(schema.clone(), n, Adjacency::ReplaceOne, 1).unwrap();
        let dense = BoundedData::from_dense(x.view(), &y, schema.clone());
        let sparse = BoundedData::from_sparse(sparse, Orientation::Rows, (n, p), &y, schema);
        let read = |data: Result<BoundedData>| {
            let data = data.unwrap().weighed(weights.as_deref()).unwrap();
            InMemory::new(Arc::new(data), &statement).unwrap()
        };
        (read(dense), read(sparse))
    }

    /// Losses, with the clamp of the one that needs it.
    fn losses() -> Vec<(Admitted, Option<f64>)> {
        vec![
            (Logistic.into(), None),
            (SmoothedHinge::new(0.5).unwrap().into(), None),
            (SmoothedHinge::new(1e-3).unwrap().into(), None),
            (Huber::new(0.1).unwrap().into(), None),
            (Huber::new(30.0).unwrap().into(), None),
            (Squared.into(), Some(0.05)),
            (Squared.into(), Some(2.0)),
            (Pinball::new(0.9, 1e-3).unwrap().into(), None),
            (Poisson::new(8.0, 1.0).unwrap().into(), None),
            (Poisson::new(1e4, 0.01).unwrap().into(), None),
        ]
    }

    /// Scores in 128-bit integers, sums in compensated floats: the error is within its bound at thetas of any size, with
    /// weights and without, and storages agree bit for bit.
    #[test]
    fn the_error_is_within_its_bound_and_storages_agree() {
        let mut state = 1;
        for (n, p, weighted) in [
            (3, 1, false),
            (CHUNK + 37, 7, false),
            (300, 40, false),
            (CHUNK + 37, 7, true),
            (300, 40, true),
        ] {
            let (dense, sparse) = records(n, p, weighted, &mut state);
            let columns = p + 1;
            for (loss, clamp) in losses() {
                let model = RoomModel::new(&loss, clamp).unwrap();
                let lipschitz = model.bound().linf;
                for exponent in [-40, -12, -3, 0, 4, 12] {
                    let theta: Vec<f64> = (0..columns)
                        .map(|_| (uniform(&mut state) - 0.5) * 2f64.powi(exponent))
                        .collect();
                    let gradients = [&dense, &sparse].map(|data| {
                        let mut out = vec![0.0; columns];
                        (FineGradient::new(data, &model))
                            .evaluate(&theta, &mut out, &mut || Ok(()))
                            .unwrap();
                        out
                    });
                    assert_eq!(gradients[0], gradients[1]);
                    let unit = f64::from(MAX_FEATURE);
                    // Multiples of 2^-90 hold every theta here, up to less than 2^-90.
                    let fixed = |t: f64| (t * 2f64.powi(90)) as i128;
                    let (mut sums, mut rest) = (vec![0.0; columns], vec![0.0; columns]);
                    let mut row = vec![0.0; columns];
                    for i in 0..n {
                        dense.data.fill_row(i, &mut row);
                        let score: i128 = (row.iter().zip(&theta))
                            .map(|(x, &t)| (x * unit).round() as i128 * fixed(t))
                            .sum();
                        let z = score as f64 * 2f64.powi(-90) / unit;
                        let d = loss.derivative(z, dense.data.targets[i]);
                        let d = d.clamp(-lipschitz, lipschitz) * dense.data.share(i);
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
                    let size = norm2(&theta);
                    let bound = crate::question::gradient_error(&model, beta, rows, columns, size);
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
