//! What a budget pays for, in records.

/// n mu: records per unit of noise on a sum of bounded contributions, under a zCDP budget.
pub(crate) fn noise_allows(n: usize, person: usize, rho: f64) -> f64 {
    n as f64 / person as f64 * (2.0 * rho).sqrt()
}

/// The product of a level q and an epsilon0 with which thresholds at the quantile are so many nats likelier than those
/// in the empty tail. The exponential mechanism misses the quantile where exp(-epsilon0 q n/(2 m)) times the number of
/// thresholds in the empty tail is not small.
pub(crate) fn level_times_epsilon0(nats: f64, n: usize, person: usize) -> f64 {
    2.0 * nats * person as f64 / n as f64
}

/// The bounded range of a choice that spends a zCDP budget, no larger than one that is drawn: beyond, of scores that
/// differ by 1/15 of their sensitivity the larger is drawn once in 2^49 times or less.
pub(crate) fn range_within(rho: f64) -> f64 {
    (8.0 * rho).sqrt().min(1024.0)
}
