//! The shape of an answer that is a sum: integers of bounded contributions, and integer Gaussian noise.

use crate::accounting::event::Event;
use crate::error::Result;
use crate::exact::noise::rounded_gaussian::RoundedGaussian;
use crate::numeric::directed::{add_up, div_up, mul_up, sqrt_up};

/// Noise on a vector of integer sums: the exactly rounded continuous Gaussian, so that the exact Gaussian curve holds
/// (rounding a noisy vector is post-processing).
///
/// Sums are floored to multiples of 2^shift, so that the noise fits the exact sampler. Flooring moves the difference of
/// two entries by less than 1 of these units: sqrt(entries) more in Euclidean norm.
#[derive(Debug, Clone)]
pub(crate) struct GaussianSum {
    pub(crate) shift: u32,
    sensitivity: f64,
    sigma: f64,
}

impl GaussianSum {
    /// Noise of standard deviation `multiplier` times the sensitivity, for `entries` sums that move by at most `exact`
    /// together in Euclidean norm.
    ///
    /// # Errors
    /// Noise that the exact sampler does not take.
    pub fn new(exact: f64, entries: f64, multiplier: f64) -> Result<Self> {
        let shift = ((multiplier * exact).log2() - 38.0).ceil().max(0.0) as u32;
        let floored = if shift > 0 { sqrt_up(entries) } else { 0.0 };
        let sensitivity = add_up(div_up(exact, 2f64.powi(shift as i32)), floored);
        // Rounded up: sigma/sensitivity >= multiplier.
        let sigma = mul_up(multiplier, sensitivity);
        let sum = Self {
            shift,
            sensitivity,
            sigma,
        };
        sum.noise(1.0)?;
        Ok(sum)
    }

    /// The noise on some entries, of `factor` times the standard deviation.
    ///
    /// # Errors
    /// Noise that the exact sampler does not take: a question asks for all that it will draw, before it costs anything.
    pub fn noise(&self, factor: f64) -> Result<RoundedGaussian> {
        RoundedGaussian::new(mul_up(self.sigma, factor))
    }

    /// The event of one release.
    pub fn event(&self) -> Result<Event> {
        Event::gaussian(self.sensitivity, self.sigma)
    }

    /// Standard deviation in the units of the release.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// One unit of the release, in units of the sums.
    pub fn unit(&self) -> f64 {
        2f64.powi(self.shift as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the noise is so large that sums are floored, the sensitivity pays for it.
    #[test]
    fn flooring_costs_the_root_of_the_entries() {
        let exact = 1e9;
        let mut shifted = 0;
        for multiplier in [0.01, 1.0, 1e3, 1e6, 1e9] {
            let sum = GaussianSum::new(exact, 100.0, multiplier).unwrap();
            let floored = if sum.shift > 0 { 10.0 } else { 0.0 };
            assert!(sum.sensitivity >= exact / sum.unit() + floored);
            assert!(sum.sigma() >= multiplier * sum.sensitivity);
            let ratio = sum.sigma() * sum.unit() / (multiplier * exact);
            assert!((1.0..1.1).contains(&ratio), "{multiplier}");
            shifted += u32::from(sum.shift > 0);
        }
        assert!((1..5).contains(&shifted));
    }
}
