//! Poisson losses of records whose counts have no public bound: a clamp that changes no minimiser.

use crate::error::{Error, Result};
use crate::loss::{Loss, Poisson};

/// Twice what is needed.
const MARGIN: f64 = 2.0;
/// Largest clamp, whatever weights are.
const MOST: f64 = 1e15;

/// The Poisson loss for fits of these counts, and the targets that it takes: counts over the largest one.
///
/// e^z grows without bound, and so does its curvature; with its derivative clamped at c the loss is smooth. Losses are
/// not negative, so at a point no worse than theta = 0 with its best intercept, of risk R, each is at most R over the
/// weight of its record. A record whose derivative is beyond c loses at least c - a ln(1 + c/a), a its count, which
/// falls with a. c is such that this exceeds 2 R over the least weight at the largest count: no slope is clamped at the
/// minimiser, and its gap is that of the loss without a clamp.
///
/// Weights are positive and sum to 1.
///
/// # Errors
/// [`Error::InvalidData`] for counts that are negative, not finite or, with an intercept, all 0.
pub fn poisson(
    counts: &[f64],
    weights: Option<&[f64]>,
    fit_intercept: bool,
) -> Result<(Poisson, Vec<f64>)> {
    if !counts.iter().all(|y| y.is_finite() && *y >= 0.0) {
        let problem = "y must hold finite counts that are not negative";
        return Err(Error::InvalidData(problem.into()));
    }
    let largest = counts.iter().fold(0.0f64, |m, &y| m.max(y));
    if largest == 0.0 && fit_intercept {
        let problem = "y holds no count above 0: no finite intercept fits best";
        return Err(Error::InvalidData(problem.into()));
    }
    let largest = if largest > 0.0 { largest } else { 1.0 };
    let targets: Vec<f64> = counts.iter().map(|y| y / largest).collect();
    let total: f64 = weights.map_or(counts.len() as f64, |w| w.iter().sum());
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]) / total;
    let mean: f64 = (0..counts.len()).map(|i| weight(i) * counts[i]).sum();
    let score = if fit_intercept { mean.ln() } else { 0.0 };
    let open = Poisson::new(largest, MOST)?;
    let risk: f64 = (0..counts.len())
        .map(|i| weight(i) * open.value(score, targets[i]))
        .sum();
    let least = (0..counts.len()).map(weight).filter(|w| *w > 0.0);
    let most = MARGIN * risk / least.fold(1.0, f64::min);
    let mut clamp = largest.max(1.0);
    while clamp < MOST && clamp - largest * (clamp / largest).ln_1p() <= most {
        clamp *= 2.0;
    }
    Ok((Poisson::new(largest, clamp)?, targets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A point where a slope is clamped is worse than theta = 0.
        #[test]
        fn nothing_is_clamped_near_the_minimiser(
            counts in prop::collection::vec(prop_oneof![Just(0.0), 0.0..3.0f64, 0.0..1e6f64], 1..20),
            beyond in 0.0..5.0f64,
            which in 0..20usize,
        ) {
            prop_assume!(counts.iter().any(|&y| y > 0.0));
            let (loss, targets) = poisson(&counts, None, true).unwrap();
            let n = counts.len() as f64;
            let mean = counts.iter().sum::<f64>() / n;
            let risk = targets.iter().map(|&y| loss.value(mean.ln(), y)).sum::<f64>() / n;
            let clamp = loss.growth();
            let crate::loss::Growth::Bounded { linf, .. } = clamp else { unreachable!() };
            let i = which % counts.len();
            let z = (counts[i] + linf).ln() + beyond;
            prop_assert!(loss.value(z, targets[i]) / n >= risk);
            // At theta = 0 it is the loss without a clamp.
            let open = Poisson::new(counts.iter().fold(0.0, |m: f64, &y| m.max(y)), MOST).unwrap();
            for &y in &targets {
                prop_assert_eq!(loss.value(mean.ln(), y), open.value(mean.ln(), y));
            }
        }
    }

    #[test]
    fn counts_that_have_no_rate_are_refused() {
        for counts in [&[0.0, 0.0][..], &[-1.0, 2.0], &[f64::NAN], &[f64::INFINITY]] {
            assert!(poisson(counts, None, true).is_err());
        }
        assert!(poisson(&[0.0, 0.0], None, false).is_ok());
    }
}
