//! A vertex of a Minkowski sum: one independent exact choice per summand ([`crate::theory_of_privacy::minkowski`]).

use std::sync::Arc;

use super::exponential::ExponentialMechanism;
use super::inverse_temperature::InverseTemperature;
use super::sign::draw_sign;
use super::signed_subset::{FINE, MOST, draw_subset};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::numeric::directed::{add_up, mul_up};

/// The shape of a summand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// conv{+e_j, -e_j: j in the list}, a summand of |P|(F) for a cover F.
    Cross(Vec<u32>),
    /// The segment from -(e_i - e_j) to e_i - e_j, a summand of B(F) for a cut F.
    Segment(u32, u32),
    /// conv{sum of s_j e_j over k features j of the list, s_j = -1 or 1}, 1 < k < their number: a summand of |P|(F) for
    /// min(number in A, k), and so for every concave function of the cardinality.
    Subsets(Arc<[u32]>, usize),
}

/// A shape times a positive weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Summand {
    /// w.
    pub weight: f64,
    /// What it multiplies.
    pub shape: Shape,
}

/// Chooses a vertex of sum_g w_g S_g for integer scores k (maximised): summand g takes its vertex v with probability
/// proportional to exp(eta_g <v, k>), eta_g = epsilon0_g/2 near eta w_g, exactly and apart from the others. No loop of
/// its own: the rounds of each choice are bounded where it is drawn.
///
/// **Cost.** A choice whose scores move by at most b between neighbours has a privacy loss of range 2 eta_g b, which is
/// (2 eta_g b)^2/8 = (eta_g^2/2) b^2 zCDP (Cesar & Rogers 2021), and zCDP adds over independent choices.
/// With k - k' = d: a cross moves by b = |d_g|_inf, b^2 <= sum_{j in g} d_j^2; a segment by b = |d_i - d_j|, b^2 <= 2
/// (d_i^2 + d_j^2), up to four times what a cross over its two ends would cost; signed k-subsets are (eta_g^2/2)
/// sum_{j in g} d_j^2 zCDP by their variance (`signed_subset`). In all
///   rho <= (1/2) sum_j d_j^2 load_j <= (1/2) |d|_2^2 max_j load_j, load_j = sum of eta_g^2 (crosses and subsets
///   at j) + 2 eta_g^2 (segments at j).
#[derive(Debug, Clone)]
pub struct MinkowskiSelection {
    summands: Vec<(Summand, InverseTemperature)>,
    n_features: usize,
    rho: f64,
}

/// Largest size of a score.
pub const LARGEST_SCORE: i64 = 1 << 50;
/// Largest eta_g a summand may have per unit of a score, and factor that keeps roundings below a wanted rho. That of
/// subsets keeps their sampler fast.
const LARGEST: f64 = 512.0;
const LARGEST_OF_SUBSETS: f64 = 1.0;
const SHAVE: f64 = 1.0 - 1e-12;

/// Least share of the largest eta_g. A summand of smaller weight is chosen with this share, more surely than in
/// proportion, so that its temperature stays one that integers hold. What that costs is in the load: 2^-60 of the
/// largest summand's for each such summand.
const LEAST_SHARE: f64 = 1.0 / (1u64 << 30) as f64;
/// Least 2 eta_g that the samplers take.
const LEAST_EPSILON: f64 = 1.0 / (1u128 << 64) as f64;

impl MinkowskiSelection {
    /// The selection of cost at most `rho` for score vectors on `n_features` that differ by at most `sensitivity` in L2
    /// between neighbours.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for summands with weights that are not positive and finite, an empty or repeated list
    /// of features, subsets of more than 2^22 features, a feature out of range, no summand at all, or a budget too
    /// small for the integers of the exact sampler.
    pub fn new(
        summands: Vec<Summand>,
        n_features: usize,
        sensitivity: f64,
        rho: f64,
    ) -> Result<Self> {
        for summand in &summands {
            summand.check(n_features)?;
        }
        // Dividing by the largest weight first: no overflow.
        let largest = summands.iter().map(|s| s.weight).fold(0.0, f64::max);
        let relative = |summand: &Summand| (summand.weight / largest).max(LEAST_SHARE);
        let load = largest_load(&summands, n_features, |g| relative(&summands[g]));
        let unit = (2.0 * rho / load).sqrt() / sensitivity * SHAVE;
        if !(unit.is_finite() && unit > 0.0) {
            return Err(Error::invalid(
                "norm",
                "must be a sum of at least one group or edge of positive weight",
            ));
        }
        // 2 eta_g, rounded somehow: what is drawn with and what is accounted for.
        let epsilons: Vec<f64> = (summands.iter())
            .map(|summand| 2.0 * (unit * relative(summand)).min(summand.largest()))
            .collect();
        if epsilons.iter().any(|&epsilon| epsilon < LEAST_EPSILON) {
            return Err(Error::invalid(
                "epsilon",
                "is too small for this selection: use a larger epsilon, fewer iterations or variant=\"noisy-iterates\"",
            ));
        }
        let load = largest_load(&summands, n_features, |g| 0.5 * epsilons[g]);
        let spent = mul_up(0.5, mul_up(mul_up(sensitivity, sensitivity), load));
        if spent.is_nan() || spent > rho {
            return Err(Error::invalid("rho", "is too small for this selection"));
        }
        let temperature = |(summand, epsilon): (Summand, f64)| {
            let temperature = InverseTemperature::new(epsilon, summand.units())?;
            Ok((summand, temperature))
        };
        let summands = summands.into_iter().zip(epsilons).map(temperature);
        Ok(Self {
            summands: summands.collect::<Result<_>>()?,
            n_features,
            rho: spent,
        })
    }

    /// The zCDP parameter of one selection, rounded up.
    pub fn rho(&self) -> f64 {
        self.rho
    }

    /// Writes the chosen vertex sum_g w_g v_g; `scores` holds one integer of size at most
    /// [`LARGEST_SCORE`] per feature.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another number of features, or a larger score.
    pub fn draw(&self, scores: &[i64], source: &mut Source, vertex: &mut [f64]) -> Result<()> {
        if scores.len() != self.n_features || vertex.len() != self.n_features {
            return Err(Error::invalid("scores", "must hold one score per feature"));
        }
        if scores
            .iter()
            .any(|score| score.unsigned_abs() > LARGEST_SCORE.unsigned_abs())
        {
            return Err(Error::invalid("scores", "must be at most 2^50 in size"));
        }
        vertex.fill(0.0);
        let mut costs = Vec::new();
        let mut storage = Vec::new();
        for (Summand { weight, shape }, temperature) in &self.summands {
            match shape {
                Shape::Cross(features) if features.len() == 1 => {
                    let j = features[0] as usize;
                    // draw_sign takes s with probability proportional to exp(-eta s g).
                    vertex[j] += weight * draw_sign(-scores[j], temperature, source) as f64;
                }
                Shape::Cross(features) => {
                    costs.clear();
                    for &j in features {
                        costs.extend([-scores[j as usize], scores[j as usize]]);
                    }
                    let mechanism = ExponentialMechanism::new(&costs, temperature, storage)?;
                    let choice = mechanism.draw(source);
                    storage = mechanism.into_storage();
                    let sign = if choice % 2 == 0 { 1.0 } else { -1.0 };
                    vertex[features[choice / 2] as usize] += weight * sign;
                }
                Shape::Segment(i, j) => {
                    let (i, j) = (*i as usize, *j as usize);
                    let sign = draw_sign(scores[j] - scores[i], temperature, source) as f64;
                    vertex[i] += weight * sign;
                    vertex[j] -= weight * sign;
                }
                Shape::Subsets(features, size) => {
                    for (j, sign) in draw_subset(features, *size, scores, temperature, source) {
                        vertex[j as usize] += weight * sign as f64;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Summand {
    /// The features that its score depends on.
    fn features(&self) -> impl Iterator<Item = usize> + '_ {
        let (members, ends): (&[u32], _) = match &self.shape {
            Shape::Cross(features) => (features, None),
            Shape::Subsets(features, _) => (features, None),
            Shape::Segment(i, j) => (&[], Some([*i, *j])),
        };
        let all = members.iter().copied().chain(ends.into_iter().flatten());
        all.map(|j| j as usize)
    }

    /// The c of a cost (eta_g^2/2) c sum of d_j^2 over its features.
    fn factor(&self) -> f64 {
        match self.shape {
            Shape::Cross(_) | Shape::Subsets(..) => 1.0,
            Shape::Segment(..) => 2.0,
        }
    }

    /// Units per unit of a score that its sampler works in.
    fn units(&self) -> u64 {
        match self.shape {
            Shape::Cross(_) | Shape::Segment(..) => 1,
            Shape::Subsets(..) => 1 << FINE,
        }
    }

    /// Its largest eta_g.
    fn largest(&self) -> f64 {
        match self.shape {
            Shape::Cross(_) | Shape::Segment(..) => LARGEST,
            Shape::Subsets(..) => LARGEST_OF_SUBSETS,
        }
    }

    fn check(&self, n_features: usize) -> Result<()> {
        let mut features: Vec<usize> = self.features().collect();
        features.sort_unstable();
        let inside = features.last().is_some_and(|&last| last < n_features);
        if !inside || features.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid(
                "norm",
                format!("must be over groups or edges of distinct features below {n_features}"),
            ));
        }
        if let Shape::Subsets(features, _) = &self.shape
            && features.len() > MOST
        {
            return Err(Error::invalid(
                "norm",
                format!(
                    "must have subsets of at most {MOST} features for a selection; use variant=\"noisy-iterates\""
                ),
            ));
        }
        if let Shape::Subsets(features, size) = &self.shape
            && !(1 < *size && *size < features.len())
        {
            return Err(Error::invalid(
                "norm",
                "must have subsets of more than one feature and fewer than all",
            ));
        }
        if !(self.weight.is_finite() && self.weight > 0.0) {
            return Err(Error::invalid(
                "norm",
                "must have positive and finite weights",
            ));
        }
        Ok(())
    }
}

/// max_j sum over the summands at j of factor * size(g)^2, rounded up.
fn largest_load(summands: &[Summand], n_features: usize, size: impl Fn(usize) -> f64) -> f64 {
    let mut load = vec![0.0; n_features];
    for (g, summand) in summands.iter().enumerate() {
        let own = mul_up(summand.factor(), mul_up(size(g), size(g)));
        for j in summand.features() {
            load[j] = add_up(load[j], own);
        }
    }
    load.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
