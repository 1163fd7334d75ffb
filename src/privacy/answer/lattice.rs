//! Noise on a real vector, which leaves on an integer lattice.

use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::discrete_laplace::DiscreteLaplace;
use crate::exact::noise::integer_law;
use crate::exact::noise::rounded_gaussian::RoundedGaussian;
use crate::exact::noise::source::Source;
use crate::exact::noise::spherical_gamma::SphericalGamma;
use crate::numeric::directed::{add_up, div_up, mul_up, sqrt_up};

/// The noise on a point.
#[derive(Debug, Clone, Copy, PartialEq)]
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
pub(super) struct LatticeNoise {
    lattice: f64,
    law: Law,
    events: Vec<(Event, u64)>,
}

#[derive(Debug, Clone, Copy)]
enum Law {
    /// Standard deviation in units.
    Gaussian(f64),
    /// Scale in units.
    Laplace(f64),
    /// Scale of the spherical noise, and of the Laplace noise in units.
    Gamma(f64, f64),
}

/// Probability with which spherical noise may be farther off than its error bound.
pub(super) const GAMMA_FAILURE: f64 = 1e-30;

/// What the failure of spherical noise costs beside the pure events of its release, of epsilon together: but for
/// [`GAMMA_FAILURE`] the release is a function of an exact one that is epsilon-DP, under either of two neighbours, so
/// the law of a set S obeys P(S) <= e^epsilon (Q(S) + failure) + failure: a delta of (1 + e^epsilon) failure.
pub(super) fn gamma_failure(pure: &[Event]) -> Result<Event> {
    let epsilon = pure
        .iter()
        .try_fold(0.0, |sum, event| Some(add_up(sum, event.pure_epsilon()?)))
        .unwrap_or(f64::INFINITY);
    // exp is within an ulp or two.
    let factor = add_up(1.0, epsilon.exp() * (1.0 + 1e-15));
    Event::failure(mul_up(GAMMA_FAILURE, factor)).map_err(|_| {
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
                    law: Law::Laplace(scale),
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
                    law: Law::Gamma(size, scale),
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
            law: Law::Gaussian(sigma),
            events: vec![(Event::gaussian(units, sigma)?, 1)],
        })
    }

    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    /// Standard deviation of the noise on an entry of a vector of p, about.
    pub fn scale(&self, columns: usize) -> f64 {
        match self.law {
            Law::Gaussian(sigma) => sigma * self.lattice,
            Law::Laplace(scale) => 2f64.sqrt() * scale * self.lattice,
            Law::Gamma(size, _) => size * (columns as f64 + 1.0).sqrt(),
        }
    }

    /// `theta` on the lattice with its noise. The caller has spent the events.
    ///
    /// # Errors
    /// [`Error::Randomness`]; a noisy entry beyond 64 bits, which depends on the noisy vector only.
    pub fn release(&self, theta: &[f64], source: &mut Source) -> Result<Vec<f64>> {
        #[cfg(test)]
        crate::exact::tap::see(|| crate::exact::tap::Seen::Point(theta.to_vec()));
        let units = |values: &mut dyn Iterator<Item = f64>| -> Vec<i64> {
            values.map(|t| (t / self.lattice).round() as i64).collect()
        };
        let noisy = match self.law {
            Law::Gaussian(sigma) => {
                let units = units(&mut theta.iter().copied());
                integer_law::add(&RoundedGaussian::new(sigma)?, source, &units)?
            }
            Law::Laplace(scale) => {
                let units = units(&mut theta.iter().copied());
                integer_law::add(&DiscreteLaplace::new(scale)?, source, &units)?
            }
            Law::Gamma(size, scale) => {
                let b = SphericalGamma::new(theta.len(), size)?.draw(source)?;
                let units: Vec<i64> = (theta.iter().zip(&b))
                    .map(|(t, b)| round_sum(t / self.lattice, b / self.lattice))
                    .collect();
                integer_law::add(&DiscreteLaplace::new(scale)?, source, &units)?
            }
        };
        Ok(noisy
            .iter()
            .map(|&unit| unit as f64 * self.lattice)
            .collect())
    }
}

/// a + b rounded to an integer: within 1/2 + 2^-53 of the exact sum, however large its parts are. The fractions are
/// exact.
fn round_sum(a: f64, b: f64) -> i64 {
    let (whole_a, whole_b) = (a.round(), b.round());
    let rest = ((a - whole_a) + (b - whole_b)).round();
    (whole_a as i64)
        .saturating_add(whole_b as i64)
        .saturating_add(rest as i64)
}

/// The largest power of two at most x: products with it are exact.
pub(super) fn power_of_two_below(x: f64) -> f64 {
    2f64.powi(x.log2().floor() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_costs_one_unit_an_entry() {
        for columns in [1, 9, 400] {
            let p = columns as f64;
            let noise =
                LatticeNoise::new(PointNoise::Gaussian { multiplier: 4.0 }, 0.3, columns).unwrap();
            let (Event::Gaussian { sensitivity, sigma }, 1) = noise.events()[0] else {
                panic!("one Gaussian event");
            };
            assert!(sensitivity >= 0.3 / noise.lattice + p.sqrt());
            assert!(sensitivity <= 0.3 / noise.lattice * 1.002);
            assert!(sigma >= 4.0 * sensitivity);
            assert_eq!(noise.scale(columns), sigma * noise.lattice);
            let noise =
                LatticeNoise::new(PointNoise::Laplace { epsilon: 1.0 }, 0.3, columns).unwrap();
            let (Event::Laplace { sensitivity, .. }, 1) = noise.events()[0] else {
                panic!("one Laplace event");
            };
            assert!(sensitivity >= p.sqrt() * 0.3 / noise.lattice + p);
        }
    }

    /// theta plus noise of the stated standard deviation, in the units of theta, on multiples of the lattice.
    #[test]
    fn releases_are_in_the_units_of_theta() {
        let theta = [1.25, -300.0, 1e-3, 0.0];
        for law in [
            PointNoise::Gaussian { multiplier: 6.0 },
            PointNoise::Laplace { epsilon: 0.7 },
            PointNoise::Gamma { epsilon: 0.7 },
        ] {
            let noise = LatticeNoise::new(law, 0.02, 4).unwrap();
            let mut source = Source::seeded(7);
            let (draws, scale) = (4000, noise.scale(4));
            let (mut mean, mut square) = ([0.0; 4], 0.0);
            for _ in 0..draws {
                let released = noise.release(&theta, &mut source).unwrap();
                for ((mean, released), theta) in mean.iter_mut().zip(&released).zip(&theta) {
                    assert_eq!((released / noise.lattice).fract(), 0.0);
                    *mean += (released - theta) / f64::from(draws);
                    square += (released - theta).powi(2) / f64::from(4 * draws);
                }
            }
            assert!(
                mean.iter()
                    .all(|m| m.abs() < 5.0 * scale / f64::from(draws).sqrt()),
                "{law:?}"
            );
            assert!(
                (square.sqrt() / scale - 1.0).abs() < 0.1,
                "{law:?} {} {scale}",
                square.sqrt()
            );
        }
    }

    #[test]
    fn sums_are_rounded_exactly() {
        assert_eq!(
            round_sum(9_007_199_254_740_992.0, 0.75),
            9_007_199_254_740_993
        );
        assert_eq!(
            round_sum(2_251_799_813_685_248.5, 0.25),
            2_251_799_813_685_249
        );
        assert_eq!(round_sum(-2.6, 0.9), -2);
        assert_eq!(round_sum(1e300, -3.0), i64::MAX - 3);
    }
}
