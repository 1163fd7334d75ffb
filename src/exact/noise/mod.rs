//! Exact discrete randomness, all from one [`source::Source`].
//!
//! | file | law |
//! |---|---|
//! | [`bernoulli`], [`bernoulli_exp`] | a coin of probability p, exp(-gamma) |
//! | [`rounded_gaussian`] | round(N(0, sigma^2)): post-processing of the Gaussian mechanism |
//! | [`discrete_gaussian`] | exp(-k^2 / (2 sigma^2)) on the integers |
//! | [`discrete_laplace`] | exp(-abs(k) / scale) on the integers |
//! | [`spherical_gamma`] | exp(-norm(b) / scale) in R^p, **in floats**, with a stated distance to an exact draw |
//! | [`integer_law`] | what the integer laws share: vectors, in parallel, and noise added without overflow |
//!
//! How: `strips` draws a point below a histogram of integer heights (`histogram`) that covers the density, and
//! keeps it if it lies below the density itself, whose exponent `rate` encloses in integers. Nearly always the
//! first 64 bits of the point decide; otherwise its digits are drawn on until they do. So the law is exact given
//! perfect random bits, whatever the precision of the first attempt, and no float takes part. Scales are doubles
//! in [2^-10, 2^40], taken as the exact rational numbers that they are.

pub mod bernoulli;
pub mod bernoulli_exp;
pub mod discrete_gaussian;
pub mod discrete_laplace;
mod histogram;
pub mod integer_law;
mod rate;
pub mod rounded_gaussian;
pub mod source;
pub mod spherical_gamma;
mod strips;

/// Makes the tables that all threads share, which otherwise the first draw does.
pub fn prepare() {
    std::sync::LazyLock::force(&rounded_gaussian::HALF_NORMAL);
    std::sync::LazyLock::force(&spherical_gamma::EXPONENTIAL);
}
