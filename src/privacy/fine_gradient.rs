//! Gradients of the mean loss at coefficients that depend on unreleased data, with a stated error
//! ([`crate::theory_of_privacy`]).
//!
//! There 14-bit derivatives would break non-expansiveness and optimality conditions by far. Here they have 42 bits, in
//! three limbs of 14, so that the exact integer kernels sum them: no rounding in any sum, the same bits on any number
//! of threads and in any storage, and an error that does not grow with the number of records.

use rayon::prelude::*;

use super::block::Block;
use super::bounded_data::{BoundedData, total};
use super::curvature::Curvature;
use super::groups::{Addends, Groups};
use super::planes::{by_records, in_pieces};
use super::records::{Move, Pass, Records, States, Sum, Watch};
use crate::error::Result;
use crate::numeric::kernel::{Fetched, MAX_FEATURE, clip, for_wide_vectors, integer};
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

/// Evaluates (1/n) sum_i l'(<x_i, theta>; y_i) x_i in scaled units; of several outputs one such sum after the other,
/// with the slopes of each and the rows of theta one after the other too.
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
        let columns = self.records.n_columns();
        for (out, sums) in out.chunks_mut(columns).zip(sums.chunks(LIMBS * columns)) {
            for (k, sums) in sums.chunks(columns).enumerate() {
                let unit = 2f64.powi(LIMB as i32 * k as i32) / quanta / f64::from(MAX_FEATURE);
                for (out, &sum) in out.iter_mut().zip(sums) {
                    *out += sum as f64 * unit * self.normaliser;
                }
            }
        }
        Ok(())
    }

    /// Lower triangle, row by row in a square, of (1/n) sum_i l''(z_i; y_i) x_i x_i' + ridge I at the coefficients of
    /// the last [`FineGradient::evaluate`], in plain floats: it only steers Newton's method and proves nothing.
    pub fn hessian(&self, ridge: f64, out: &mut [f64]) {
        (self.records).curvature(self.model, self.normaliser, &self.states, out);
        let p = self.records.n_columns() * self.model.outputs();
        for j in 0..p {
            out[j * p + j] += ridge;
        }
    }

    /// The same Hessian of one output as a linear map; None where records are in several blocks, or elsewhere.
    pub fn curvature(&self, ridge: f64) -> Option<Curvature<'_>> {
        let data = self.records.whole().ok()?;
        let weights = Block(data).curvatures(self.model, self.normaliser, &self.states)?;
        Some(Curvature::new(data, weights, ridge))
    }
}

/// The pass behind [`FineGradient::evaluate`]: for each output three sums of limbs, from the finest to the coarsest.
pub(in crate::privacy) fn pass(
    data: &BoundedData,
    model: &RoomModel,
    theta: &[f64],
    states: &mut States,
) -> Sum {
    let (n, columns, outputs) = (data.n_records(), data.n_columns(), model.outputs());
    states.scores.resize(outputs * n, 0.0);
    if let Some(groups) = data.groups() {
        return one_read(data, &groups, model, theta, &mut states.scores);
    }
    states.margins.resize_with(1, || vec![0; n]);
    (states.limbs).resize_with(LIMBS * outputs, || vec![0; n]);
    let States {
        margins,
        scores,
        limbs,
        ..
    } = states;
    for (theta, scores) in theta.chunks(columns).zip(scores.chunks_mut(n)) {
        set_scores(data, theta, &mut margins[0], scores);
    }
    (by_records(limbs, CHUNK).par_iter_mut())
        .zip(in_pieces(scores.chunks_mut(n), n, CHUNK))
        .enumerate()
        .for_each_init(Scratch::default, |scratch, (chunk, (limbs, scores))| {
            set_limbs(data, model, chunk * CHUNK, &scores, limbs, scratch);
        });
    let mut sums = vec![0; LIMBS * outputs * columns];
    data.gradients(&states.limbs, &mut sums);
    Sum(sums)
}

/// The same of dense or packed records, in one read: each chunk of them is fetched from memory once, for its scores,
/// its limbs and its sums. The sums are those of whole columns, whatever the chunks are, and scores add up in one
/// order.
fn one_read(
    data: &BoundedData,
    groups: &Groups<'_>,
    model: &RoomModel,
    theta: &[f64],
    scores: &mut [f64],
) -> Sum {
    let (n, p) = (data.n_records(), data.schema.n_features());
    let (columns, outputs) = (data.n_columns(), model.outputs());
    let own = i64::from(data.schema.lattice_intercept());
    let chunk = groups.chunk().min(CHUNK);
    // Of each output, what makes margins of its parts, one after the other, and their units.
    let parts: Vec<(Addends<'_>, Vec<f64>)> = (theta.chunks(columns))
        .map(|theta| {
            let parts = parts_of(theta);
            let steps = (parts.iter().enumerate()).map(|(output, (direction, _))| Move {
                output,
                direction,
                weight: 1,
            });
            let steps: Vec<Move<'_>> = steps.collect();
            let addends = groups.addends(&data.steps(&steps), parts.len());
            (addends, parts.iter().map(|part| part.1).collect())
        })
        .collect();
    let most = parts.iter().map(|(_, units)| units.len()).max();
    let planes = LIMBS * outputs;
    let none = || (groups.no_sums_of_limbs(planes), vec![0; planes]);
    let start = || {
        let limbs = vec![vec![0i16; chunk]; LIMBS * outputs];
        let margins = vec![0i64; most.unwrap_or(0) * chunk];
        (none(), margins, limbs, Scratch::default())
    };
    let by_group = (in_pieces(scores.chunks_mut(n), n, chunk).into_par_iter())
        .enumerate()
        .fold(
            start,
            |(mut sums, mut margins, mut limbs, mut scratch), (k, mut scores)| {
                let (start, m) = (k * chunk, scores[0].len());
                for (scores, (addends, units)) in scores.iter_mut().zip(&parts) {
                    let margins = &mut margins[..units.len() * m];
                    let mut planes: Vec<&mut [i64]> = margins.chunks_mut(m).collect();
                    for (margins, &constant) in planes.iter_mut().zip(addends.constants()) {
                        margins.fill(constant);
                    }
                    addends.add_products(&mut planes, start, Fetched::ByBoth);
                    scores.fill(0.0);
                    for (margins, &unit) in planes.iter().zip(units) {
                        add_scores(margins, unit, scores);
                    }
                }
                let mut limbs_here: Vec<&mut [i16]> =
                    limbs.iter_mut().map(|limbs| &mut limbs[..m]).collect();
                set_limbs(data, model, start, &scores, &mut limbs_here, &mut scratch);
                let here = (0..m, Fetched::ByBoth);
                groups.add_slopes(start, &limbs_here, here, &mut sums.0);
                for (intercept, limbs) in sums.1.iter_mut().zip(limbs_here) {
                    *intercept += own * total(limbs);
                }
                (sums, margins, limbs, scratch)
            },
        )
        .map(|(sums, ..)| sums)
        .reduce(none, |(sums, mut own), (more, others)| {
            (own.iter_mut().zip(others)).for_each(|(own, other)| *own += other);
            (sums.plus(more), own)
        });
    let mut sums = vec![0; LIMBS * outputs * columns];
    for (k, (sums, own)) in sums.chunks_mut(columns).zip(by_group.1).enumerate() {
        let (features, intercept) = sums.split_at_mut(p);
        groups.inner_products(k, &by_group.0, features);
        intercept.fill(own);
    }
    Sum(sums)
}

/// Finite coefficients of one output as integers, part by part: from the coarsest to the finest, whose unit is
/// 2^-COEFFICIENT_SCALE, each with the unit of its margins. A coefficient is the exact sum of its parts up to half of
/// that.
fn parts_of(theta: &[f64]) -> Vec<(Vec<(u32, i64)>, f64)> {
    let mut parts = Vec::new();
    let mut rest = theta.to_vec();
    let largest = theta.iter().fold(0.0f64, |m, t| m.max(t.abs()));
    // Entries of a part are at most 2^bits, and p of them times 2^14 (three times over for sparse columns) stay
    // below 2^62.
    let columns = usize::BITS - theta.len().leading_zeros();
    let bits = 28.min(45 - columns as i32);
    let highest = largest.max(f64::MIN_POSITIVE).log2().floor() as i32 + 1;
    let mut exponent = highest - bits;
    loop {
        exponent = exponent.max(-COEFFICIENT_SCALE);
        let unit = 2f64.powi(exponent);
        let mut direction = Vec::with_capacity(theta.len());
        for (rest, j) in rest.iter_mut().zip(0u32..) {
            let whole = (*rest / unit).round();
            *rest -= whole * unit;
            if whole != 0.0 {
                direction.push((j, whole as i64));
            }
        }
        parts.push((direction, unit / f64::from(MAX_FEATURE)));
        if exponent == -COEFFICIENT_SCALE {
            return parts;
        }
        exponent -= bits;
    }
}

/// Recomputes the scores <x_i, theta> of one output; theta is finite.
fn set_scores(data: &BoundedData, theta: &[f64], margins: &mut [i64], scores: &mut [f64]) {
    scores.fill(0.0);
    for (direction, unit) in parts_of(theta) {
        margins.fill(0);
        data.add_to_margins(margins, &direction, 1);
        (scores.par_chunks_mut(CHUNK))
            .zip(margins.par_chunks(CHUNK))
            .for_each(|(scores, margins)| add_scores(margins, unit, scores));
    }
}

/// scores_i += margins_i * unit.
fn add_scores(margins: &[i64], unit: f64, scores: &mut [f64]) {
    for_wide_vectors(
        #[inline(always)]
        || {
            for (score, &margin) in scores.iter_mut().zip(margins) {
                *score += margin as f64 * unit;
            }
        },
    );
}

/// Scores and slopes of a chunk, of all outputs one after the other.
#[derive(Default)]
struct Scratch {
    z: Vec<f64>,
    slopes: Vec<f64>,
}

/// Slopes at the scores of the records from `start` on, of each output, in balanced limbs.
fn set_limbs(
    data: &BoundedData,
    model: &RoomModel,
    start: usize,
    scores: &[&mut [f64]],
    limbs: &mut [&mut [i16]],
    scratch: &mut Scratch,
) {
    let lipschitz = model.bound().linf;
    let quanta = QUANTA / lipschitz;
    let m = scores[0].len();
    let Scratch { z, slopes } = scratch;
    z.clear();
    scores.iter().for_each(|scores| z.extend_from_slice(scores));
    slopes.resize(z.len(), 0.0);
    model.unclamped(z, &data.targets[start..][..m], slopes);
    if let Some(weights) = &data.weights {
        // A share of a clamped slope, which is within the clamp; it errs by half an ulp.
        let shares = &weights.shares()[start..][..m];
        for slopes in slopes.chunks_mut(m) {
            for (slope, share) in slopes.iter_mut().zip(shares) {
                *slope = slope.clamp(-lipschitz, lipschitz) * share;
            }
        }
    }
    let (limbs, _) = limbs.as_chunks_mut::<LIMBS>();
    for (slopes, limbs) in slopes.chunks(m).zip(limbs) {
        for_wide_vectors(
            #[inline(always)]
            || to_limbs(slopes, lipschitz, quanta, limbs),
        );
    }
}

/// Clamped slopes in quanta, as low, middle and high limbs.
#[inline(always)]
fn to_limbs(slopes: &[f64], lipschitz: f64, quanta: f64, limbs: &mut [&mut [i16]; LIMBS]) {
    let m = slopes.len();
    let [low, middle, high] = limbs.each_mut().map(|limb| &mut limb[..m]);
    for (k, slope) in slopes.iter().enumerate() {
        let slope = if slope.is_nan() { 0.0 } else { *slope };
        let mut rest = integer((clip(slope, -lipschitz, lipschitz) * quanta).round());
        for limb in [&mut low[k], &mut middle[k]] {
            // Balanced: in [-2^13, 2^13).
            let part = (rest << (64 - LIMB)) >> (64 - LIMB);
            *limb = part as i16;
            rest = rest.wrapping_sub(part) >> LIMB;
        }
        // |rest| <= 2^13 now, since |slope| <= 2^41 quanta.
        high[k] = rest as i16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::loss::{Admitted, Huber, Logistic, Pinball, Poisson, SmoothedHinge, Squared};
    use crate::numeric::linear::norm2;
    use crate::privacy::blocks::Blocks;
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

    fn schema(p: usize, target: Target) -> Schema {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        Schema::new(p, bounds, Geometry::Uncentred, target, true, None).unwrap()
    }

    /// The same records densely and sparsely, with weights or without.
    fn records(
        (n, p): (usize, usize),
        target: Target,
        weighted: bool,
        state: &mut u64,
    ) -> (Blocks, Blocks) {
        let x = Array2::from_shape_fn((n, p), |_| {
            let value = 2.4 * uniform(state) - 1.2;
            if value.abs() < 0.4 { 0.0 } else { value }
        });
        let y: Vec<f64> = match target.outputs() {
            1 => (0..n).map(|i| [1.0, -1.0][i % 2]).collect(),
            classes => (0..n).map(|i| (i % classes) as f64).collect(),
        };
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
        let (mut schema, mut weights) = (schema(p, target), None);
        if weighted {
            schema = schema.with_max_weight(3.0).unwrap();
            weights = Some((0..n).map(|_| 4.0 * uniform(state)).collect::<Vec<_>>());
        }
        let statement = Statement::new(schema.clone(), n, Adjacency::ReplaceOne, 1).unwrap();
        let dense = BoundedData::from_dense(x.view(), &y, schema.clone());
        let sparse = BoundedData::from_sparse(sparse, Orientation::Rows, (n, p), &y, schema);
        let read = |data: Result<BoundedData>| {
            let data = data.unwrap().weighed(weights.as_deref()).unwrap();
            Blocks::new(Arc::new(data), &statement).unwrap()
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

    /// Scores in 128-bit integers, sums in compensated floats: the error is within its bound at thetas of any size,
    /// with weights and without, and storages agree bit for bit.
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
            let (dense, sparse) = records((n, p), Target::Classes, weighted, &mut state);
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
                        dense.whole().unwrap().fill_row(i, &mut row);
                        let score: i128 = (row.iter().zip(&theta))
                            .map(|(x, &t)| (x * unit).round() as i128 * fixed(t))
                            .sum();
                        let z = score as f64 * 2f64.powi(-90) / unit;
                        let d = loss.derivative(z, dense.whole().unwrap().targets[i]);
                        let d = d.clamp(-lipschitz, lipschitz) * dense.whole().unwrap().share(i);
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

    /// Slopes of a softmax model at exact scores, in units of 1/`unit`: differences of scores are exact.
    fn softmax_slopes(scores: &[i128], unit: f64, y: usize) -> Vec<f64> {
        let largest = scores.iter().max().unwrap();
        let weights: Vec<f64> = scores
            .iter()
            .map(|z| ((z - largest) as f64 / unit).exp())
            .collect();
        let sum: f64 = weights.iter().sum();
        let others: f64 = (0..scores.len())
            .filter(|&k| k != y)
            .map(|k| weights[k])
            .sum();
        let slope = |k: usize| if k == y { -others } else { weights[k] } / sum;
        (0..scores.len()).map(slope).collect()
    }

    /// Euclidean norm of the error of a gradient of classes.
    fn error_of_classes(records: &Blocks, theta: &[f64], found: &[f64], classes: usize) -> f64 {
        let (n, columns) = (records.n_records(), records.n_columns());
        let (unit, fixed) = (f64::from(MAX_FEATURE), 2f64.powi(70));
        let mut sums = vec![0.0; theta.len()];
        let mut row = vec![0.0; columns];
        for i in 0..n {
            records.whole().unwrap().fill_row(i, &mut row);
            let scores: Vec<i128> = (theta.chunks(columns))
                .map(|theta| {
                    let products = row.iter().zip(theta);
                    products
                        .map(|(x, t)| (x * unit).round() as i128 * (t * fixed) as i128)
                        .sum()
                })
                .collect();
            let y = records.whole().unwrap().targets[i] as usize;
            let slopes = softmax_slopes(&scores, unit * fixed, y);
            assert_eq!(slopes.len(), classes);
            for (slope, sums) in slopes.iter().zip(sums.chunks_mut(columns)) {
                let slope = slope * records.whole().unwrap().share(i) / n as f64;
                for (sum, x) in sums.iter_mut().zip(&row) {
                    *sum += slope * ((x * unit).round() / unit);
                }
            }
        }
        let differences: Vec<f64> = sums.iter().zip(found).map(|(a, b)| a - b).collect();
        norm2(&differences)
    }

    /// With scores that are long and differ little, with scores so far apart that weights vanish, and at thetas of any
    /// size. Without the part that rises with the length of scores the bound would not hold; storages agree bit for
    /// bit.
    #[test]
    fn errors_of_classes_are_within_their_bound_and_storages_agree() {
        let (mut state, mut closest) = (3, 0.0f64);
        for (classes, n, p, weighted) in [
            (2, 40, 3, false),
            (3, CHUNK + 37, 7, false),
            (3, 300, 40, true),
            (12, 50, 5, false),
        ] {
            let target = Target::Multiclass { classes };
            let (dense, sparse) = records((n, p), target, weighted, &mut state);
            let logistic = Admitted::from(Logistic);
            let model = RoomModel::for_target(&logistic, None, target).unwrap();
            let (columns, classes) = (p + 1, classes as usize);
            for exponent in [-40, -12, -3, 0, 4, 12, 20, 30] {
                for apart in [0.0, 1.0, 2f64.powi(exponent)] {
                    let common: Vec<f64> = (0..columns)
                        .map(|_| (uniform(&mut state) - 0.5) * 2f64.powi(exponent))
                        .collect();
                    let theta: Vec<f64> = (0..classes * columns)
                        .map(|k| common[k % columns] + apart * (uniform(&mut state) - 0.5))
                        .collect();
                    let gradients = [&dense, &sparse].map(|data| {
                        let mut out = vec![0.0; theta.len()];
                        (FineGradient::new(data, &model))
                            .evaluate(&theta, &mut out, &mut || Ok(()))
                            .unwrap();
                        out
                    });
                    assert_eq!(gradients[0], gradients[1]);
                    let error = error_of_classes(&dense, &theta, &gradients[0], classes);
                    let rows = (columns as f64).sqrt();
                    let bound =
                        crate::question::gradient_error(&model, 0.5, rows, columns, norm2(&theta));
                    assert!(error <= bound, "{error} {bound} {classes} {n} {exponent}");
                    closest = closest.max(error / bound);
                }
            }
        }
        assert!(closest > 1e-3, "{closest}");
    }

    /// However many coefficients there are, margins of a part stay in 64 bits; the parts add up to them, and the
    /// coarsest one takes as many bits as there are.
    #[test]
    fn parts_of_coefficients_do_not_overflow_and_lose_nothing() {
        for p in [1, 100, 1 << 17, (1 << 17) + 1, 1 << 20] {
            let theta: Vec<f64> = (0..p).map(|j| 1.5 - 1e-9 * j as f64).collect();
            let parts = parts_of(&theta);
            let mut sums = vec![0.0; p];
            for (direction, unit) in &parts {
                let size: i128 = direction
                    .iter()
                    .map(|&(_, whole)| i128::from(whole.abs()))
                    .sum();
                assert!(((3 * size) << 14) < (1 << 62), "{p}");
                for &(j, whole) in direction {
                    sums[j as usize] += whole as f64 * unit * f64::from(MAX_FEATURE);
                }
            }
            let bits = 28.min(44 - p.ilog2());
            let sizes = parts.iter().map(|(direction, _)| {
                let entries = direction.iter().map(|&(_, whole)| whole.abs());
                entries.max().unwrap_or(0)
            });
            let sizes: Vec<i64> = sizes.collect();
            assert!(sizes.iter().all(|&size| size <= 1 << bits), "{p} {sizes:?}");
            assert!(sizes[0] > 1 << (bits - 1), "{p} {sizes:?}");
            assert!(parts.len() <= 8, "{p} {}", parts.len());
            let error = sums.iter().zip(&theta).map(|(sum, t)| (sum - t).abs());
            assert!(error.fold(0.0, f64::max) < 1e-13, "{p}");
        }
    }

    /// The Hessian that steers Newton's method is the derivative of the gradient, of one output and of several, with
    /// weights and without; of no records the ridge is left.
    #[test]
    fn the_hessian_is_the_derivative_of_the_gradient() {
        let (mut state, ridge, step) = (5, 0.25, 1e-4);
        for (target, weighted) in [
            (Target::Classes, false),
            (Target::Classes, true),
            (Target::Multiclass { classes: 3 }, false),
            (Target::Multiclass { classes: 3 }, true),
        ] {
            let (dense, sparse) = records((60, 3), target, weighted, &mut state);
            let model = RoomModel::for_target(&Logistic.into(), None, target).unwrap();
            let size = 4 * model.outputs();
            let theta: Vec<f64> = (0..size).map(|_| 2.0 * uniform(&mut state) - 1.0).collect();
            for records in [&dense, &sparse] {
                let mut gradient = FineGradient::new(records, &model);
                let mut at = |j: usize, by: f64| {
                    let (mut moved, mut out) = (theta.clone(), vec![0.0; size]);
                    moved[j] += by;
                    gradient.evaluate(&moved, &mut out, &mut || Ok(())).unwrap();
                    out
                };
                let expected: Vec<Vec<f64>> = (0..size)
                    .map(|j| {
                        let ends = at(j, step).into_iter().zip(at(j, -step));
                        ends.map(|(high, low)| (high - low) / (2.0 * step))
                            .collect()
                    })
                    .collect();
                at(0, 0.0);
                let mut hessian = vec![f64::NAN; size * size];
                gradient.hessian(ridge, &mut hessian);
                for j in 0..size {
                    for l in 0..=j {
                        let own = if j == l { ridge } else { 0.0 };
                        let error = hessian[j * size + l] - own - expected[j][l];
                        assert!(error.abs() < 1e-6, "{j} {l} {error}");
                    }
                }
            }
            let empty = dense.emptied().unwrap().unwrap();
            let mut gradient = FineGradient::new(&*empty, &model);
            let mut hessian = vec![f64::NAN; size * size];
            gradient
                .evaluate(&theta, &mut vec![0.0; size], &mut || Ok(()))
                .unwrap();
            gradient.hessian(ridge, &mut hessian);
            for j in 0..size {
                let row = &hessian[j * size..][..=j];
                assert!(row[..j].iter().all(|&entry| entry == 0.0) && row[j] == ridge);
            }
        }
    }

    /// Limbs of slopes up to the clamp, and beyond it, are within 2^13 and add up to the slope, which is 2^41 at the
    /// clamp.
    #[test]
    fn limbs_are_balanced_and_add_up() {
        let (lipschitz, quanta) = (0.7, QUANTA / 0.7);
        let slopes = [0.7, -0.7, 0.1, -1e-9, 3.0, -f64::MAX, 0.0, -0.35, f64::NAN];
        let mut limbs = [[0i16; 9]; LIMBS];
        let planes = &mut limbs.each_mut().map(|limb| &mut limb[..]);
        to_limbs(&slopes, lipschitz, quanta, planes);
        let sums: [i64; 9] = std::array::from_fn(|k| {
            let limbs = limbs.map(|limb| i64::from(limb[k]));
            assert!(limbs.iter().all(|limb| limb.abs() <= 1 << 13), "{limbs:?}");
            limbs[0] + (limbs[1] << 14) + (limbs[2] << 28)
        });
        assert_eq!([sums[0], sums[4]], [1 << 41; 2]);
        assert_eq!([sums[1], sums[5]], [-(1 << 41); 2]);
        // What a user's loss may return.
        assert_eq!(sums[8], 0);
        for (sum, slope) in sums.into_iter().zip(&slopes[..8]) {
            let clamped = slope.clamp(-lipschitz, lipschitz);
            assert!((sum as f64 - clamped / lipschitz * 2f64.powi(41)).abs() < 1.0);
        }
    }
}
