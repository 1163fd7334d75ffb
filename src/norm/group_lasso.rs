use super::Norm;
use crate::error::{Error, Result};
use crate::prox::{Scratch, soft_threshold};

/// Newton steps of a search for a dual norm; each about doubles the digits.
const MOST_STEPS: usize = 60;

/// The (sparse) group lasso Omega(theta) = sum_g w_g |theta_g|_2 + l1 |theta|_1 over groups that hold every feature
/// (Yuan & Lin 2006; Simon, Friedman, Hastie & Tibshirani 2013), also with the constraint theta >= 0. A group of weight
/// 0 is not penalised where l1 is 0, and Omega a seminorm.
///
/// **Overlapping groups** are copies of their features: Omega(theta) is the least sum_g w_g |u_g|_2 + l1 |u_g|_1 over
/// vectors u_g, each on its group, that add up to theta (the latent group lasso of Jacob, Obozinski & Vert 2009). It is
/// not the sum of the norms of the restrictions of theta: that one removes whole groups from the support, this one
/// makes the support a union of groups. Its dual norm and the minimiser over its ball have a closed form, its value and
/// prox have not: exact fits copy the columns instead.
///
/// **Dual norm**: the largest root t over the groups of |S(s_g, l1 t)|_2 = w_g t, S the soft threshold.
/// **Prox**: S(v_g, step l1), then a shrinkage of the whole group by step w_g, exact since the second keeps signs and
/// zeros of the first (Yu 2013). Under theta >= 0 negative entries become 0 in between.
///
/// ```
/// use dpsparse::norm::{GroupLasso, Norm};
/// use dpsparse::prox::Scratch;
/// let norm = GroupLasso::new(&[vec![0, 1], vec![2]], None, 0.0)?;
/// assert_eq!(norm.value(&[3.0, -4.0, 2.0])?, 7.0);
/// let mut x = [0.0; 3];
/// norm.prox(&[3.0, -4.0, 2.0], 2.5, &mut x, &mut Scratch::default())?;
/// assert_eq!(x, [1.5, -2.0, 0.0]);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GroupLasso {
    n_features: usize,
    /// Features of the groups, one group after another.
    members: Vec<usize>,
    /// Where each group starts in `members`, and the end.
    starts: Vec<usize>,
    weights: Vec<f64>,
    l1: f64,
    positive: bool,
    overlaps: bool,
}

impl GroupLasso {
    /// The norm of groups that hold all of the features 0, ..., p-1; weights of 1 where none are given.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no groups, an empty one, one that repeats a feature, a feature below the largest
    /// that no group holds, weights that are not one per group, or weights or an l1 that are negative or not finite;
    /// for weights and l1 that are all 0.
    pub fn new(groups: &[Vec<usize>], weights: Option<&[f64]>, l1: f64) -> Result<Self> {
        let invalid = |what: &str, problem: String| Err(Error::invalid(what, problem));
        let Some(&largest) = groups.iter().flatten().max() else {
            return invalid("groups", "must hold at least one feature".into());
        };
        if let Some(g) = groups.iter().position(Vec::is_empty) {
            return invalid("groups", format!("must not be empty: group {g} is"));
        }
        let members: Vec<usize> = groups.iter().flatten().copied().collect();
        // No more features than members: a large index alone allocates nothing.
        if largest >= members.len() {
            return invalid("groups", uncovered(&members));
        }
        let n_features = largest + 1;
        let mut last = vec![usize::MAX; n_features];
        let mut overlaps = false;
        for (g, group) in groups.iter().enumerate() {
            for &j in group {
                if last[j] == g {
                    return invalid(
                        "groups",
                        format!("must not repeat a feature: group {g} holds {j} twice"),
                    );
                }
                overlaps |= last[j] != usize::MAX;
                last[j] = g;
            }
        }
        if last.contains(&usize::MAX) {
            return invalid("groups", uncovered(&members));
        }
        let weights = weights.map_or_else(|| vec![1.0; groups.len()], <[f64]>::to_vec);
        if weights.len() != groups.len() {
            let (expected, got) = (groups.len(), weights.len());
            return invalid(
                "weights",
                format!("must hold one per group: expected {expected}, got {got}"),
            );
        }
        let sound = |w: &f64| w.is_finite() && *w >= 0.0;
        if !weights.iter().all(sound) {
            return invalid("weights", "must be non-negative and finite".into());
        }
        if !sound(&l1) {
            return invalid("l1", "must be non-negative and finite".into());
        }
        if l1 == 0.0 && weights.iter().all(|w| *w == 0.0) {
            return invalid(
                "weights",
                "must not all be 0 where l1 is 0: nothing is penalised".into(),
            );
        }
        let mut starts = vec![0];
        starts.extend(groups.iter().scan(0, |end, group| {
            *end += group.len();
            Some(*end)
        }));
        Ok(Self {
            n_features,
            members,
            starts,
            weights,
            l1,
            positive: false,
            overlaps,
        })
    }

    /// sum_j w_j |theta_j|, weights of 0 included.
    ///
    /// # Errors
    /// As [`GroupLasso::new`].
    pub fn weighted_l1(weights: &[f64]) -> Result<Self> {
        let groups: Vec<Vec<usize>> = (0..weights.len()).map(|j| vec![j]).collect();
        Self::new(&groups, Some(weights), 0.0)
    }

    /// The same on theta >= 0 alone, infinite elsewhere. [`Norm::dual`] is then one-sided: what is negative costs
    /// nothing. Values are those without the constraint; the prox keeps it.
    #[must_use]
    pub fn on_positive(mut self) -> Self {
        self.positive = true;
        self
    }

    /// Whether some feature is in two groups: the latent norm, without a value or a prox in closed form.
    pub fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// The groups, their weights beside them.
    pub fn groups(&self) -> impl Iterator<Item = (&[usize], f64)> + Clone {
        let members = self
            .starts
            .windows(2)
            .map(|ends| &self.members[ends[0]..ends[1]]);
        members.zip(self.weights.iter().copied())
    }

    /// Features of the largest group.
    pub fn largest_group(&self) -> usize {
        self.groups()
            .map(|(group, _)| group.len())
            .max()
            .unwrap_or(0)
    }

    /// The factor of the l1 norm.
    pub fn l1(&self) -> f64 {
        self.l1
    }

    /// Whether some feature costs nothing.
    pub fn is_seminorm(&self) -> bool {
        self.l1 == 0.0 && self.weights.contains(&0.0)
    }

    /// The norm of part of the features, numbered anew; groups of nothing else are dropped. None where nothing that
    /// costs is left.
    ///
    /// # Errors
    /// As [`GroupLasso::new`].
    pub fn restricted(&self, features: &[u32]) -> Result<Option<Self>> {
        let mut places = vec![None; self.n_features];
        for (k, &j) in features.iter().enumerate() {
            places[j as usize] = Some(k);
        }
        let (mut groups, mut weights) = (Vec::new(), Vec::new());
        for (group, weight) in self.groups() {
            let kept: Vec<usize> = group.iter().filter_map(|&j| places[j]).collect();
            if !kept.is_empty() {
                groups.push(kept);
                weights.push(weight);
            }
        }
        if self.l1 == 0.0 && weights.iter().all(|w| *w == 0.0) {
            return Ok(None);
        }
        let mut norm = Self::new(&groups, Some(&weights), self.l1)?;
        norm.positive = self.positive;
        Ok(Some(norm))
    }

    /// The largest |s|_2 over the dual ball, rounded up by what its few operations may lose: a group's part of it is a
    /// ball of radius w_g plus a cube of half-width l1.
    ///
    /// # Errors
    /// As [`Norm::value`].
    pub fn dual_radius(&self) -> Result<f64> {
        self.check_disjoint()?;
        let part =
            |(group, weight): (&[usize], f64)| weight + self.l1 * (group.len() as f64).sqrt();
        let square: f64 = self.groups().map(|group| part(group).powi(2)).sum();
        Ok(square.sqrt() * (1.0 + (self.weights.len() + 8) as f64 * f64::EPSILON))
    }

    /// The least t with s_g in t K_g, and never below it: the root of |S(s_g, l1 t)|_2 = w_g t, which is convex and
    /// falling in t, so that Newton's method climbs to it from the left. Evaluating both sides errs by at most (k + 8)
    /// u (w + l1) t, k the size of the group, and a step from t to (1 + e) t lowers the difference by at least e (w +
    /// l1) t: the last factor makes the result an upper bound.
    pub(crate) fn group_level(&self, s: impl Iterator<Item = f64> + Clone, weight: f64) -> f64 {
        let size = |s: f64| if self.positive { s.max(0.0) } else { s.abs() };
        let count = s.clone().count() as f64;
        let largest = s.clone().map(size).fold(0.0, f64::max);
        if largest == 0.0 {
            return 0.0;
        }
        let up = 1.0 + (count + 8.0) * f64::EPSILON;
        if weight == 0.0 {
            return largest / self.l1 * up; // infinite where nothing costs
        }
        let parts = s.map(|s| size(s) / largest);
        if self.l1 == 0.0 {
            let square: f64 = parts.map(|s| s * s).sum();
            return largest * (square.sqrt() / weight) * up;
        }
        // Of s/largest, so that nothing overflows.
        let mut t = 1.0 / (weight + self.l1);
        for _ in 0..MOST_STEPS {
            let (mut sum, mut square) = (0.0, 0.0);
            for part in parts.clone() {
                let rest = part - self.l1 * t;
                if rest > 0.0 {
                    sum += rest;
                    square += rest * rest;
                }
            }
            let norm = f64::sqrt(square);
            if norm <= weight * t {
                break;
            }
            let next = t + (norm - weight * t) / (weight + self.l1 * sum / norm);
            if next <= t {
                break;
            }
            t = next;
        }
        largest * t * up
    }

    /// Refuses what has no closed form.
    fn check_disjoint(&self) -> Result<()> {
        if self.overlaps {
            return Err(Error::invalid(
                "norm",
                "has groups that overlap, so that its value and its prox have no closed form: copy the features",
            ));
        }
        Ok(())
    }

    /// Omega of one group.
    pub(crate) fn group_value(&self, x: &[f64], weight: f64) -> f64 {
        weight * length(x.iter().copied()) + self.l1 * x.iter().map(|x| x.abs()).sum::<f64>()
    }

    /// The prox of one group in place.
    pub(crate) fn shrink(&self, x: &mut [f64], weight: f64, step: f64) {
        let level = step * self.l1;
        for x in x.iter_mut() {
            *x = soft_threshold(*x, level);
            if self.positive && *x < 0.0 {
                *x = 0.0;
            }
        }
        let threshold = step * weight;
        if threshold == 0.0 {
            return;
        }
        if let [x] = x {
            *x = soft_threshold(*x, threshold);
            return;
        }
        let size = length(x.iter().copied());
        let kept = if size > threshold {
            1.0 - threshold / size
        } else {
            0.0
        };
        x.iter_mut().for_each(|x| *x *= kept);
    }
}

/// What is wrong with groups that leave a feature out.
fn uncovered(members: &[usize]) -> String {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let missing = (0..sorted.len())
        .find(|&j| sorted[j] != j)
        .unwrap_or(sorted.len());
    format!(
        "must hold every feature: {missing} is in none; one that costs nothing is in a group of weight 0"
    )
}

/// The Euclidean length, scaled so that no square overflows or vanishes.
fn length(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(0.0_f64, |a, b| a.max(b.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let square: f64 = values.map(|v| (v / largest) * (v / largest)).sum();
    largest * square.sqrt()
}

impl Norm for GroupLasso {
    fn n_features(&self) -> usize {
        self.n_features
    }

    fn value(&self, theta: &[f64]) -> Result<f64> {
        self.check_disjoint()?;
        let mut value = 0.0;
        for (group, weight) in self.groups() {
            if weight > 0.0 {
                value += weight * length(group.iter().map(|&j| theta[j]));
            }
        }
        if self.l1 > 0.0 {
            value += self.l1 * theta.iter().map(|t| t.abs()).sum::<f64>();
        }
        Ok(value)
    }

    fn vertex(&self, theta: &[f64], s: &mut [f64]) -> Result<()> {
        self.check_disjoint()?;
        for (group, weight) in self.groups() {
            let length = length(group.iter().map(|&j| theta[j]));
            for &j in group {
                s[j] = if theta[j] == 0.0 {
                    0.0
                } else {
                    weight * (theta[j] / length) + self.l1.copysign(theta[j])
                };
            }
        }
        Ok(())
    }

    fn dual(&self, s: &[f64]) -> Result<f64> {
        let levels = (self.groups())
            .map(|(group, weight)| self.group_level(group.iter().map(|&j| s[j]), weight));
        Ok(levels.fold(0.0, f64::max))
    }

    fn prox(&self, v: &[f64], step: f64, out: &mut [f64], _: &mut Scratch) -> Result<f64> {
        self.check_disjoint()?;
        let mut part = vec![0.0; self.largest_group()];
        for (group, weight) in self.groups() {
            let part = &mut part[..group.len()];
            part.iter_mut().zip(group).for_each(|(x, &j)| *x = v[j]);
            self.shrink(part, weight, step);
            part.iter().zip(group).for_each(|(x, &j)| out[j] = *x);
        }
        Ok(0.0)
    }

    /// The soft threshold errs by 2 u in each entry and what follows does not expand. The length of a group of k
    /// entries is a sum of k squares, off by (k/2 + 3) u of itself, and so is threshold/length; the factor 1 -
    /// threshold/length is between 0 and 1, so that its error is at most (k/2 + 5) u, and so is that of the group, per
    /// unit of its length; where rounding decides wrongly that the factor is 0, it was no larger. Twice that and more
    /// is what stands here.
    fn prox_error(&self) -> f64 {
        if self.overlaps {
            return f64::INFINITY;
        }
        (self.largest_group() as f64 + 16.0) * 2f64.powi(-50)
    }

    fn ball_is_bounded(&self) -> bool {
        !self.is_seminorm()
    }

    /// Of the group with the largest level, S(s_g, l1 level) at length 1: where <s_g, x> over the ball is the level.
    fn ball_vertex(&self, g: &[f64], x: &mut [f64]) -> Result<()> {
        x.fill(0.0);
        let (mut best, mut level) = (None, 0.0);
        for (group, weight) in self.groups() {
            let own = self.group_level(group.iter().map(|&j| -g[j]), weight);
            if own > level {
                (best, level) = (Some((group, weight)), own);
            }
        }
        let Some((group, weight)) = best else {
            return Ok(()); // g is 0, or nothing positive is worth it
        };
        if !level.is_finite() {
            return Err(Error::invalid(
                "norm",
                "is a seminorm, whose ball is unbounded",
            ));
        }
        for &j in group {
            let kept = soft_threshold(-g[j], self.l1 * level);
            x[j] = if self.positive { kept.max(0.0) } else { kept };
        }
        let mut value = weight * length(group.iter().map(|&j| x[j]))
            + self.l1 * group.iter().map(|&j| x[j].abs()).sum::<f64>();
        if value == 0.0 {
            // Rounding left nothing above the threshold: the largest entry alone.
            let signed = |j: usize| if self.positive { -g[j] } else { g[j].abs() };
            let largest = group
                .iter()
                .copied()
                .max_by(|&a, &b| signed(a).total_cmp(&signed(b)));
            let j = largest.unwrap_or(group[0]);
            x[j] = -g[j].signum();
            value = weight + self.l1;
        }
        group.iter().for_each(|&j| x[j] /= value);
        Ok(())
    }

    /// A point of one group with one entry has length 1/(w + l1), any other of the group no more.
    fn reach(&self) -> Result<f64> {
        let lengths = self.groups().map(|(_, weight)| 1.0 / (weight + self.l1));
        Ok(lengths.fold(0.0, f64::max))
    }

    fn is_positive(&self) -> bool {
        self.positive
    }

    fn group_lasso(&self) -> Option<&GroupLasso> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;
