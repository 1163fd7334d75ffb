//! Laws of noise as users name them, and what a budget buys of them.

use serde::Deserialize;

use crate::accounting::accountant::Accountant;
use crate::accounting::calibrate::{calibrate, calibrate_events, rho_from_epsilon};
use crate::accounting::event::{Event, failure::of_coupling};
use crate::error::{Error, Result};
use crate::question::{GAMMA_FAILURE, PointNoise, StronglyConvex, TiltNoise};

/// The law of the noise on an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OutputNoise {
    /// Independent Gaussians: (epsilon, delta).
    #[default]
    Gaussian,
    /// Density proportional to exp(-|b|_2 epsilon/D2): pure epsilon but for a failure of its floats, size p D2/epsilon.
    Gamma,
    /// Independent Laplace variables for the L1 sensitivity sqrt(p) D2: pure epsilon.
    Laplace,
}

/// The law of the random linear term of objective perturbation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TiltLaw {
    /// Independent Gaussians: (epsilon, delta).
    #[default]
    Gaussian,
    /// Density proportional to exp(-|b|_2/scale): pure epsilon but for a failure of its floats.
    Gamma,
}

/// What roundings of events that add up to an epsilon may take of it.
const ROUNDINGS: f64 = 1e-12;
/// Share of the zCDP of a release, or of its pure epsilon, that covers the solver's error.
const ERROR_SHARE: f64 = 0.01;

impl OutputNoise {
    /// Noise of one release that keeps (epsilon, delta).
    ///
    /// # Errors
    /// A delta that does not hold the failure of gamma noise.
    pub(crate) fn within(self, epsilon: f64, delta: f64) -> Result<PointNoise> {
        Ok(match self {
            Self::Gaussian => {
                let make = |multiplier| Event::gaussian(1.0, multiplier);
                let multiplier = calibrate(make, 1, epsilon, delta.next_down(), (1e-3, 1e9))?;
                PointNoise::Gaussian { multiplier }
            }
            Self::Laplace => PointNoise::Laplace {
                epsilon: epsilon * (1.0 - ROUNDINGS),
            },
            Self::Gamma => {
                check_gamma(epsilon, delta)?;
                PointNoise::Gamma {
                    epsilon: epsilon * (1.0 - ROUNDINGS),
                }
            }
        })
    }
}

/// The failure of gamma noise is a share of delta, which must hold it.
fn check_gamma(epsilon: f64, delta: f64) -> Result<()> {
    if of_coupling(GAMMA_FAILURE, epsilon) <= delta {
        return Ok(());
    }
    Err(Error::invalid(
        "delta",
        "must be at least 1e-30 (1 + exp(epsilon)) for gamma noise, whose floats are off with probability 1e-30",
    ))
}

impl TiltLaw {
    /// The linear term and its cover that keep (epsilon, delta) together with `companions`, events that the release
    /// spends besides.
    ///
    /// # Errors
    /// A ridge so small that epsilon cannot be met whatever the noise; a delta that does not hold the failure of gamma
    /// noise.
    pub(crate) fn within(
        self,
        minimiser: &StronglyConvex,
        companions: &[(Event, u64)],
        epsilon: f64,
        delta: f64,
    ) -> Result<TiltNoise> {
        let delta = delta.next_down();
        match self {
            Self::Gaussian => gaussian(minimiser, companions, epsilon, delta),
            Self::Gamma => {
                check_gamma(epsilon, delta)?;
                let cover = ERROR_SHARE * epsilon;
                let left = epsilon * (1.0 - ROUNDINGS) - cover - minimiser.curvature_log();
                if left <= 0.01 * epsilon {
                    return Err(minimiser.too_small_a_ridge(epsilon));
                }
                Ok(TiltNoise::Gamma {
                    epsilon: left,
                    cover,
                })
            }
        }
    }
}

fn gaussian(
    minimiser: &StronglyConvex,
    companions: &[(Event, u64)],
    epsilon: f64,
    delta: f64,
) -> Result<TiltNoise> {
    let (lipschitz, curvature_log) = (minimiser.slope_norm(), minimiser.curvature_log());
    let adjacency = minimiser.statement().adjacency();
    let ratio = (2.0 * ERROR_SHARE * rho_from_epsilon(epsilon, delta)?).sqrt();
    let events = |sigma: f64| -> Result<Vec<(Event, u64)>> {
        let tilt = Event::objective_perturbation(lipschitz, sigma, curvature_log, adjacency)?;
        let own = [(tilt, 1), (Event::gaussian(ratio, 1.0)?, 1)];
        Ok(companions.iter().copied().chain(own).collect())
    };
    let bracket = (1e-3 * lipschitz, 1e9 * lipschitz);
    let private_at_most = {
        let mut accountant = Accountant::new();
        for (event, count) in events(bracket.1)? {
            accountant.add(event, count)?;
        }
        accountant.delta(epsilon)? <= delta
    };
    if !private_at_most {
        return Err(minimiser.too_small_a_ridge(epsilon));
    }
    let sigma = calibrate_events(events, epsilon, delta, bracket)?;
    Ok(TiltNoise::Gaussian {
        sigma,
        cover: crate::numeric::directed::div_up(1.0, ratio),
    })
}
