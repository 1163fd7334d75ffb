//! Expectations of functions of |b_1|, ..., |b_m| for independent standard normal b: Gaussian widths in closed form.
//!
//! All are integrals over t of E h(N_t), where N_t counts the |b_j| above t and is binomial with probability
//! q(t) = P(|b| > t) = erfc(t/sqrt 2): sum_k (h(k) - h(k-1)) |b|_(k) is the integral of h(N_t). Above t = 10 a feature
//! contributes less than 2e-24.

use crate::numeric::quadrature::gauss_legendre;

const UPPER: f64 = 10.0;

/// E max_j |b_j| over m features.
pub(super) fn expected_maximum(m: usize) -> f64 {
    integral(&|t| at_least_one(m, tail(t)), 1.0)
}

/// E sum_k gains_k |b|_(k), with |b|_(k) the k-th largest of as many entries as gains.
pub(super) fn expected_sorted_sum(gains: &[f64]) -> f64 {
    let (first, rest) = (gains[0], &gains[1..]);
    if rest.iter().all(|&gain| gain == 0.0) {
        return first * expected_maximum(gains.len());
    }
    let mut values = vec![0.0];
    let mut sum = 0.0;
    for gain in gains {
        sum += gain;
        values.push(sum);
    }
    integral(&|t| binomial_mean(&values, tail(t)), sum)
}

/// E f(|b|) for F(A) = p - 1 + max A - min A + 1: the cover by all proper prefixes and suffixes and the whole, hence
/// 2 sum_{k<p} E max of k + E max of p; the sum over k is geometric.
pub(super) fn expected_range(p: usize) -> f64 {
    let total = p as f64;
    let integrand = |t: f64| {
        let q = tail(t);
        let whole = at_least_one(p, q);
        if q == 0.0 {
            return 0.0;
        }
        // sum_{k=1}^{p-1} (1 - r^k) = p - (1 - r^p)/(1 - r) with r = 1 - q.
        2.0 * (total - whole / q) + whole
    };
    integral(&integrand, total)
}

/// P(|b| > t).
fn tail(t: f64) -> f64 {
    libm::erfc(t * std::f64::consts::FRAC_1_SQRT_2)
}

/// 1 - (1 - q)^m.
fn at_least_one(m: usize, q: f64) -> f64 {
    -libm::expm1(m as f64 * libm::log1p(-q))
}

/// E values[N] for N binomial(m, q), by ratios of probabilities outwards from the mode: no large factorials, no
/// cancellation.
fn binomial_mean(values: &[f64], q: f64) -> f64 {
    let m = values.len() - 1;
    if q <= 0.0 || q >= 1.0 {
        return values[if q <= 0.0 { 0 } else { m }];
    }
    let mode = (((m + 1) as f64 * q) as usize).min(m);
    let odds = q / (1.0 - q);
    let (mut mass, mut sum) = (1.0, values[mode]);
    let mut probability = 1.0;
    for (k, value) in values.iter().enumerate().skip(mode + 1) {
        probability *= odds * (m + 1 - k) as f64 / k as f64;
        mass += probability;
        sum += probability * value;
        if probability < 1e-18 {
            break;
        }
    }
    probability = 1.0;
    for k in (0..mode).rev() {
        probability *= (k + 1) as f64 / (odds * (m - k) as f64);
        mass += probability;
        sum += probability * values[k];
        if probability < 1e-18 {
            break;
        }
    }
    sum / mass
}

/// The integral over [0, 10] by the ten-point rule, halving intervals until halves and whole agree to 1e-13 of `scale`,
/// at most 12 times: the sum of some dozens of intervals is then good to 1e-11. The integral is at least a third of
/// `scale`: E max |b_j| >= E|b_1|, and for gains that do not grow sum_k gains_k |b|_(k) >= (mean gain) |b|_1 by
/// Chebyshev's inequality for sums.
fn integral(f: &dyn Fn(f64) -> f64, scale: f64) -> f64 {
    fn refine(
        f: &dyn Fn(f64) -> f64,
        start: f64,
        length: f64,
        whole: f64,
        slack: f64,
        depth: u32,
    ) -> f64 {
        let half = 0.5 * length;
        let left = gauss_legendre(f, start, half);
        let right = gauss_legendre(f, start + half, half);
        if depth == 0 || (left + right - whole).abs() <= slack {
            return left + right;
        }
        refine(f, start, half, left, slack, depth - 1)
            + refine(f, start + half, half, right, slack, depth - 1)
    }
    (0..UPPER as usize)
        .map(|k| {
            let start = k as f64;
            refine(
                f,
                start,
                1.0,
                gauss_legendre(f, start, 1.0),
                1e-13 * scale,
                12,
            )
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_expectations() {
        let pi = std::f64::consts::PI;
        assert!((expected_maximum(1) - (2.0 / pi).sqrt()).abs() < 1e-12);
        // E max(|a|, |b|) = 2/sqrt(pi).
        assert!((expected_maximum(2) - 2.0 / pi.sqrt()).abs() < 1e-12);
        // All order statistics together are m means.
        for m in [1, 2, 7, 100, 10_000] {
            let mean = (2.0 / pi).sqrt() * m as f64;
            assert!(
                (expected_sorted_sum(&vec![1.0; m]) / mean - 1.0).abs() < 1e-11,
                "{m}"
            );
        }
        // The largest and the second largest of two.
        let sorted = expected_sorted_sum(&[2.0, 1.0]);
        let second = 2.0 * (2.0 / pi).sqrt() - 2.0 / pi.sqrt();
        assert!((sorted - 4.0 / pi.sqrt() - second).abs() < 1e-11);
        // The k largest of many: by an independent sum of integrals of binomial tails.
        for p in [1, 2, 5, 40] {
            let direct = 2.0 * (1..p).map(expected_maximum).sum::<f64>() + expected_maximum(p);
            assert!((expected_range(p) / direct - 1.0).abs() < 1e-11, "{p}");
        }
    }
}
