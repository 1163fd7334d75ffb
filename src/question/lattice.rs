//! Noise on a real vector, which leaves on an integer lattice.

use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::discrete_laplace::DiscreteLaplace;
use crate::exact::noise::rounded_gaussian::RoundedGaussian;
use crate::exact::noise::spherical_gamma::SphericalGamma;
use crate::numeric::directed::{add_up, div_up, mul_up, sqrt_up};

/// The noise on a point.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum PointNoise {
    /// Independent Gaussians of standard deviation `multiplier` times the sensitivity.
    Gaussian {
        /// Standard deviations per unit of sensitivity.
        multiplier: f64,
    },
    /// Independent Laplace variables for the L1 sensitivity sqrt(p) D2: pure `epsilon`.
    Laplace {
        /// What the release costs.
        epsilon: f64,
    },
    /// Density proportional to exp(-|b|_2/scale), of size p D2/epsilon: pure `epsilon` but for a failure of its floats.
    Gamma {
        /// What the release costs beside the failure.
        epsilon: f64,
    },
}

/// Noise for one vector of p entries with L2 sensitivity D2.
///
/// The vector is rounded to multiples of the lattice h, which moves each of two neighbours by at most sqrt(p)/2 units
/// in L2 and p/2 in L1: D2/h + sqrt(p) and sqrt(p) D2/h + p units between them.
///
/// **Gamma**: theta + b with exact b is epsilon-DP. Floats give b' within e_b of b but with probability 1e-30
/// ([`SphericalGamma::error`]), so theta + b' is a function of theta + b plus an error of at most e_b, which lattice
/// Laplace noise for sqrt(p) 2 e_b/h + p covers with 1 % of epsilon. The sum is rounded exactly, but for 2^-53 of a
/// unit. The 1e-30 is an event of its own ([`gamma_failure`]).
#[derive(Debug, Clone)]
pub(crate) struct LatticeNoise {
    pub(crate) lattice: f64,
    pub(crate) law: LatticeLaw,
    events: Vec<(Event, u64)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum LatticeLaw {
    /// Standard deviation in units.
    Gaussian(f64),
    /// Scale in units.
    Laplace(f64),
    /// Scale of the spherical noise, and of the Laplace noise in units.
    Gamma(f64, f64),
}

/// Probability with which spherical noise may be farther off than its error bound.
pub const GAMMA_FAILURE: f64 = 1e-30;

/// What the failure of spherical noise costs beside the pure events of its release: but for [`GAMMA_FAILURE`] the
/// release is a function of an exact one that they pay for together ([`Event::broken_coupling`]).
pub(crate) fn gamma_failure(pure: &[Event]) -> Result<Event> {
    let epsilon = (pure.iter())
        .try_fold(0.0, |sum, event| Some(add_up(sum, event.pure_epsilon()?)))
        .unwrap_or(f64::INFINITY);
    Event::broken_coupling(GAMMA_FAILURE, epsilon).map_err(|_| {
        Error::invalid(
            "epsilon",
            "is too large for gamma noise, whose floats are off with probability 1e-30; use gaussian or laplace noise",
        )
    })
}

/// Shares of epsilon for spherical noise and for its error.
const GAMMA_SHARES: (f64, f64) = (0.99, 0.01);

impl LatticeNoise {
    /// # Errors
    /// Noise beyond what the exact samplers take.
    pub fn new(noise: PointNoise, sensitivity: f64, columns: usize) -> Result<Self> {
        let root = sqrt_up(columns as f64);
        let p = columns as f64;
        // Rounding adds a thousandth.
        let lattice = power_of_two_below(sensitivity / root / 1000.0);
        let l1 = |l2: f64, lattice: f64| add_up(div_up(mul_up(root, l2), lattice), p);
        match noise {
            PointNoise::Gaussian { multiplier } => {
                let units = add_up(div_up(sensitivity, lattice), root);
                Self::gaussian(lattice, units, multiplier)
            }
            PointNoise::Laplace { epsilon } => {
                let units = l1(sensitivity, lattice);
                let scale = div_up(units, epsilon);
                DiscreteLaplace::new(scale)?;
                Ok(Self {
                    lattice,
                    law: LatticeLaw::Laplace(scale),
                    events: vec![(Event::laplace(units, scale)?, 1)],
                })
            }
            PointNoise::Gamma { epsilon } => {
                let pure = GAMMA_SHARES.0 * epsilon;
                let size = div_up(sensitivity, pure);
                let error = SphericalGamma::new(columns, size)?.error(GAMMA_FAILURE)?;
                let lattice = power_of_two_below(sensitivity / p / 1e6);
                // Rounding theta + b: half a unit and 2^-53 on either side.
                let units = add_up(l1(mul_up(2.0, error), lattice), p * 2f64.powi(-52));
                let scale = div_up(units, GAMMA_SHARES.1 * epsilon);
                DiscreteLaplace::new(scale)?;
                let noise = Event::pure(div_up(sensitivity, size))?;
                let cover = Event::laplace(units, scale)?;
                Ok(Self {
                    lattice,
                    law: LatticeLaw::Gamma(size, scale),
                    events: vec![(noise, 1), (cover, 1), (gamma_failure(&[noise, cover])?, 1)],
                })
            }
        }
    }

    /// Gaussian noise of `multiplier` times a sensitivity given in units.
    pub fn gaussian(lattice: f64, units: f64, multiplier: f64) -> Result<Self> {
        let sigma = mul_up(multiplier, units);
        RoundedGaussian::new(sigma)?;
        Ok(Self {
            lattice,
            law: LatticeLaw::Gaussian(sigma),
            events: vec![(Event::gaussian(units, sigma)?, 1)],
        })
    }

    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    /// Standard deviation of the noise on an entry of a vector of p, about.
    pub fn scale(&self, columns: usize) -> f64 {
        match self.law {
            LatticeLaw::Gaussian(sigma) => sigma * self.lattice,
            LatticeLaw::Laplace(scale) => 2f64.sqrt() * scale * self.lattice,
            LatticeLaw::Gamma(size, _) => size * (columns as f64 + 1.0).sqrt(),
        }
    }
}

/// The largest power of two at most x: products with it are exact.
pub(crate) fn power_of_two_below(x: f64) -> f64 {
    2f64.powi(x.log2().floor() as i32)
}
