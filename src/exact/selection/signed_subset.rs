//! One signed subset of k features: a vertex of {s: |s|_inf <= 1, |s|_1 <= k}
//! ([`crate::theory_of_privacy::minkowski`]).
//!
//! **Cost.** P_u(v), proportional to exp(<v, u>) over signed k-subsets v, is an exponential family with log-partition
//! A: along u' + t (u - u') the function t -> A has the second derivative Var <v, d>, d = u - u', and
//! D_a(P_u | P_u') = (A(a) - a A(1) - (1 - a) A(0))/(a - 1) <= (a/2) sup Var <v, d> (the remainder of linear
//! interpolation). Given the subset S the signs are independent with means m_j = tanh(u_j), and S has product weights
//! at a fixed size, so that membership is negatively correlated (Borcea, Branden & Liggett 2009): the covariance of the
//! indicators has non-positive entries off the diagonal and rows that sum to 0, a graph Laplacian, below twice its
//! diagonal. With q_j = P(j in S),
//!   Var <v, d> <= sum_j d_j^2 (q_j (1 - m_j^2) + 2 q_j (1 - q_j) m_j^2)
//!     = sum_j d_j^2 q_j (1 + m_j^2 (1 - 2 q_j)) <= |d|_2^2,
//! as q (1 + |1 - 2q|) <= 1 for q <= 1/2 and q <= 1 beyond. So scores that move by d cost (eta^2/2)|d|_2^2
//! zCDP. k draws of one feature without replacement would be another law, at k times the cost of the first.

use super::inverse_temperature::InverseTemperature;
use crate::exact::noise::bernoulli::bernoulli;
use crate::exact::noise::source::Source;
use crate::numeric::enclosure::{Interval, exp2_neg};

/// Binary digits that the threshold has beyond the scores: eta of a fine unit is 2^-10 at most, as eta is 1 at most.
pub(super) const FINE: u32 = 10;

/// Most features of a summand: the bound on rounds is proved for so many.
pub(super) const MOST: usize = 1 << 22;

/// Steps of the search for a threshold, and how near to k the expected number must come.
const STEPS: usize = 50;
const NEAR: f64 = 0.1;

/// Draws `size` of the features, each with a sign, with probability proportional to exp(eta sum of s_j k_j), exactly;
/// `temperature` is eta per 2^-[`FINE`] of a score, 0 < size < number of features, and scores stay below 2^51 in size.
///
/// Every feature takes one of the states 0, +1 and -1 on its own, with weights 1, exp(-eta (threshold - k_j)) and
/// exp(-eta (threshold + k_j)), until `size` of them are not 0. Under that condition the threshold is a common factor
/// and drops out: the law is exact whatever it is. It is chosen for an expected number near `size`, by floats.
///
/// **Rounds:** 9 sqrt(min(k, m - k)) + 3 at most are expected for k of m features, whatever the scores are. The number
/// N of features that are not 0 is a sum of independent indicators; write b = eta threshold, mu(b) and V(b) for its
/// mean and variance, V <= min(mu, m - mu, m/4), and P(b) for P(N = k).
/// - *At the b where mu = k,* call it c, k is the mode of N (Darroch 1964), and 3/4 of the mass lies less than
///   2 sqrt(V) from k (Chebyshev), on 4 sqrt(V) + 1 integers at most: P(c) >= (3/4)/(4 sqrt(V) + 1), and
///   V <= min(k, m - k).
/// - *Where the search ends,* abs(mu - k) <= 0.26 ([`threshold`]). If V <= 1/2 there, then P is at least
///   1 - E (N - k)^2, which is at least 1 - 1/2 - 0.07. Else c is near: ln P has the derivative mu - k and mu the
///   derivative -V, and abs(V') <= V, so that mu moves by V (1 - exp(-t)) at least within t; 1 - exp(-t) <= 0.52 brings
///   it to k with t <= 0.74, and ln P(b) is at least ln P(c) - 0.26 t, or ln P(c) - 0.2.
/// - *Rounding to fine units* moves b by 2^-11 at most and ln P by 2^-11 (0.26 + 2^-11 m/4) < 0.26, m <= [`MOST`].
///
/// So P >= exp(-0.46) (3/4)/(4 sqrt(min(k, m - k)) + 1), or P >= 0.43 exp(-0.26). A round draws at most m states, of
/// 4 proposals each at most in expectation ([`Coordinate::draw`]).
pub(super) fn draw_subset(
    features: &[u32],
    size: usize,
    scores: &[i64],
    temperature: &InverseTemperature,
    source: &mut Source,
) -> Vec<(u32, i64)> {
    let scores: Vec<i64> = features.iter().map(|&j| scores[j as usize]).collect();
    let threshold = threshold(&scores, size, temperature.per_unit());
    let coordinates: Vec<Coordinate> = (scores.iter())
        .map(|&score| Coordinate::new(threshold, i128::from(score) << FINE, temperature))
        .collect();
    let mut chosen = Vec::with_capacity(size);
    loop {
        chosen.clear();
        for (done, (coordinate, &feature)) in coordinates.iter().zip(features).enumerate() {
            let state = coordinate.draw(temperature, source);
            if state != 0 {
                chosen.push((feature, state));
            }
            // All is drawn again where the number cannot be met any more.
            let left = features.len() - 1 - done;
            if chosen.len() > size || chosen.len() + left < size {
                break;
            }
        }
        if chosen.len() == size {
            return chosen;
        }
    }
}

/// A threshold, in fine units, at which the expected number of states that are not 0 is within 0.26 of `size`.
///
/// Around the size-th largest |k|, the state of a feature is 0 with odds exp(b)/(2 cosh) for a threshold b/eta above;
/// at b = ln(4m) the features up to it expect 2/(4m) each at most, so that fewer than size - 1/2 are expected in all;
/// at
/// -ln(4m) the `size` largest miss 1/(4m) each at most, so that at least size - 1/4 are. Between the two, halving ends
/// within [`NEAR`] of `size`, or at -ln(4m). Sums of m floats below one are good to 2^-9, far scores included: those
/// have chances near 0 or 1.
fn threshold(scores: &[i64], size: usize, eta_fine: f64) -> i128 {
    let eta = eta_fine * f64::from(1u32 << FINE);
    let mut sizes: Vec<u64> = scores.iter().map(|score| score.unsigned_abs()).collect();
    let anchor = *sizes.select_nth_unstable_by(size - 1, |a, b| b.cmp(a)).1 as i64;
    // ln(2 cosh(eta k_j)) - eta anchor.
    let logs: Vec<f64> = (scores.iter())
        .map(|score| {
            let size = score.unsigned_abs();
            let both = (-2.0 * eta * size as f64).exp().ln_1p();
            eta * (size as i64 - anchor) as f64 + both
        })
        .collect();
    let expected = |b: f64| -> f64 { logs.iter().map(|log| 1.0 / (1.0 + (b - log).exp())).sum() };
    let far = (4.0 * scores.len() as f64).ln();
    let (mut low, mut high) = (-far, far);
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        let excess = expected(middle) - size as f64;
        if excess > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
        if excess.abs() < NEAR {
            (low, high) = (middle, middle);
            break;
        }
    }
    // eta_fine is 2^-76 at least and b below 2^5: both terms, and sums with scores, stay far below 2^127.
    (i128::from(anchor) << FINE) + (0.5 * (low + high) / eta_fine).round() as i128
}

/// The states 0, +1 and -1 of a feature by their distance to the likeliest, with enclosures of exp(-eta distance).
struct Coordinate {
    distances: [u128; 3],
    weights: [Interval; 3],
}

impl Coordinate {
    fn new(threshold: i128, score: i128, temperature: &InverseTemperature) -> Self {
        let costs = [0, threshold - score, threshold + score];
        let least = costs[0].min(costs[1]).min(costs[2]);
        let distances = costs.map(|cost| cost.abs_diff(least));
        Self {
            distances,
            weights: distances.map(|d| exp2_neg(temperature.exponent(d))),
        }
    }

    /// A uniform state is taken with probability exp(-eta distance), else another one is proposed.
    ///
    /// **Rounds:** at most 4 are expected: one of the three states has distance 0, and shows with probability 1/4.
    fn draw(&self, temperature: &InverseTemperature, source: &mut Source) -> i64 {
        loop {
            let state = (source.bits() >> 62) as usize;
            if state == 3 {
                continue;
            }
            let distance = self.distances[state];
            let refine = |bits| temperature.weight(distance, 0, bits);
            if distance == 0 || bernoulli(source, self.weights[state], refine) {
                return [0, 1, -1][state];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ties, far scores and steep laws: the threshold is met, so that few rounds are needed.
    #[test]
    fn thresholds_expect_the_size() {
        let ties = vec![0i64; 1000];
        let far: Vec<i64> = (0..40).map(|j| (j % 7 - 3) << 40).collect();
        let steady: Vec<i64> = (0..300).map(|j| 17 * j - 900).collect();
        for scores in [ties, far, steady] {
            for epsilon in [2f64.powi(-64), 2f64.powi(-40), 1e-3, 2.0] {
                let temperature = InverseTemperature::new(epsilon, 1 << FINE).unwrap();
                let fine = temperature.per_unit();
                assert!((fine / (epsilon / 2048.0) - 1.0).abs() < 1e-12);
                for size in [2, 5, scores.len() / 2, scores.len() - 1] {
                    let threshold = threshold(&scores, size, fine);
                    let expected: f64 = (scores.iter())
                        .map(|&k| {
                            let weight = |s: i128| {
                                (-fine * (threshold - s * (i128::from(k) << FINE)) as f64)
                                    .exp()
                                    .min(1e300)
                            };
                            let both = weight(1) + weight(-1);
                            both / (1.0 + both)
                        })
                        .sum();
                    let off = (expected - size as f64).abs();
                    assert!(off < 0.6, "{epsilon} {size}: {expected}");
                }
            }
        }
    }

    #[test]
    fn extreme_scores_decide_at_once() {
        let temperature = InverseTemperature::new(2.0, 1 << FINE).unwrap();
        let top = 1i64 << 50;
        let scores = [top, -top, 0, top - 100, 5];
        let mut chosen = draw_subset(
            &[4, 3, 2, 1, 0],
            3,
            &scores,
            &temperature,
            &mut Source::seeded(1),
        );
        chosen.sort_unstable();
        assert_eq!(chosen, [(0, 1), (1, -1), (3, 1)]);
    }

    /// Steepness from the least that a plan takes to the largest, scores from ties to the end of their range: the words
    /// drawn stay below what the bound on rounds expects, 9 sqrt(min(k, m - k)) + 3 rounds of m states of 4 proposals
    /// of 2 words. A mean of 200 draws is within its expectation by less than a tenth but for chances far below 1e-6,
    /// and the expectation itself is several times smaller.
    #[test]
    fn rounds_stay_below_their_bound() {
        let top = 1i64 << 50;
        let spread: Vec<i64> = (0..100).map(|j| (j - 50) * (top / 50)).collect();
        let mut split = vec![0; 100];
        split[..40].fill(-top);
        let near: Vec<i64> = (0..100).map(|j| (j % 3) - 1).collect();
        for scores in [vec![0i64; 100], spread, split, near] {
            for power in [-64, -50, -40, -20, 1] {
                let temperature = InverseTemperature::new(2f64.powi(power), 1 << FINE).unwrap();
                let features: Vec<u32> = (0..scores.len() as u32).collect();
                let m = features.len() as u64;
                for size in [2, 40, 50, 99] {
                    let spread = (size.min(features.len() - size) as f64).sqrt();
                    let rounds = (9.0 * spread + 3.0).ceil() as u64;
                    let mut source = Source::limited(7, 200 * rounds * m * 8);
                    for _ in 0..200 {
                        let chosen =
                            draw_subset(&features, size, &scores, &temperature, &mut source);
                        assert_eq!(chosen.len(), size);
                    }
                }
            }
        }
    }
}
