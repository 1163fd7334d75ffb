//! Spherical Gamma noise: density proportional to exp(-|b|_2 / scale) on R^p, in floats at a stated distance.

use std::sync::LazyLock;

use num_bigint::BigUint;

use super::rate::Rate;
use super::rounded_gaussian::{FRACTION, HALF_NORMAL};
use super::source::Source;
use super::strips::{Density, Exponent, Strips, Support};
use crate::error::{Error, Result};
use crate::numeric::directed::up;

/// Binary digits of an exponential variable's first attempt.
const EXPONENTIAL_FRACTION: u32 = 67;

/// The exponential law in units of 2^-67: strips of width 2^-4 up to 511/16.
pub(super) static EXPONENTIAL: LazyLock<Strips> = LazyLock::new(|| {
    let rate = Rate::new(1u8.into(), BigUint::from(1u8) << EXPONENTIAL_FRACTION);
    let exponent = Exponent::Linear;
    Strips::new(
        Density { rate, exponent },
        Support::Reals,
        EXPONENTIAL_FRACTION - 4,
        512,
    )
});

/// A sampler in dimension p: radius Gamma(p, scale), uniform direction
/// ([`crate::theory_of_privacy::output_perturbation`], [`crate::theory_of_privacy::objective_perturbation`]).
///
/// **What is exact.** The vector b = scale R g/|g|, R a sum of p exponential and g a vector of p normal variables, all
/// of them drawn exactly in the reals (`strips`), has exactly the density above. **What is not:** the floats returned,
/// b', differ from b, by no more than [`SphericalGamma::error`] but with the stated probability. A mechanism must pay
/// for that distance ([`crate::theory_of_privacy::objective_perturbation`]: e_b and delta_b); b' itself is no private
/// noise, since floats of neighbours have different supports.
///
/// **Rounds:** 2p draws from `strips`, and no rejection of its own.
///
/// ```
/// use dpsparse::exact::noise::{source::Source, spherical_gamma::SphericalGamma};
/// let noise = SphericalGamma::new(1000, 0.25)?;
/// let b = noise.draw(&mut Source::secure()?)?;
/// let norm = b.iter().map(|x| x * x).sum::<f64>().sqrt();
/// assert!((norm - 250.0).abs() < 100.0); // mean 250, standard deviation 8
/// assert!(noise.error(1e-15)? < 1e-10);
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub struct SphericalGamma {
    dimension: usize,
    scale: f64,
}

impl SphericalGamma {
    /// # Errors
    /// `dimension` outside [1, 2^32], `scale` outside [2^-200, 2^200].
    pub fn new(dimension: usize, scale: f64) -> Result<Self> {
        if dimension == 0 || dimension as u64 > 1 << 32 {
            return Err(Error::invalid("dimension", "must lie between 1 and 2^32"));
        }
        if !(2f64.powi(-200)..=2f64.powi(200)).contains(&scale) {
            return Err(Error::invalid("scale", "must lie between 2^-200 and 2^200"));
        }
        Ok(Self { dimension, scale })
    }

    /// One vector b'.
    ///
    /// # Errors
    /// [`Error::Randomness`].
    pub fn draw(&self, source: &mut Source) -> Result<Vec<f64>> {
        source.renew_after_fork()?;
        let mut b = Vec::with_capacity(self.dimension);
        let (mut radius, mut square) = (0f64, 0f64);
        for _ in 0..self.dimension {
            radius += EXPONENTIAL.draw(source).float(EXPONENTIAL_FRACTION, source);
            let draw = HALF_NORMAL.draw(source);
            let negative = draw.negative;
            let magnitude = draw.float(FRACTION, source);
            square += magnitude * magnitude;
            b.push(if negative { -magnitude } else { magnitude });
        }
        // All digits zero, of probability below 2^-132 for p = 1, would make the direction 0/0.
        let factor = self.scale * (radius / square.sqrt().max(f64::MIN_POSITIVE));
        b.iter_mut().for_each(|entry| *entry *= factor);
        Ok(b)
    }

    /// An upper bound of |b' - b|_2 that holds with probability 1 - `delta` at least: e_b and delta_b of
    /// [`crate::theory_of_privacy::objective_perturbation`].
    ///
    /// Write u = 2^-53, a = 2^-131. A float variable has relative error 3u and absolute error a (`Draw::float`).
    /// Relative errors, to first order: radius (p + 3)u; |g| half of (p + 7)u; coordinate 3u; quotient and two products
    /// 3u; in all (3p/2 + 13)u, and (2p + 32)u with the higher orders, as p u <= 2^-21. Absolute errors move the radius
    /// by p a, the direction by at most 2 sqrt(p) a/|g|; doubled for the higher orders. So
    /// |b' - b| <= scale (R ((2p + 32)u + 4 sqrt(p) a/|g|) + 2 p a). With t = ln(2/delta), R > p + sqrt(2 p t) + t has
    /// probability at most delta/2 (Boucheron, Lugosi & Massart 2013, section 2.4), and so has |g| < (delta/2)^(1/p),
    /// as the |g_i| are independent and their densities below 1.
    ///
    /// # Errors
    /// `delta` outside [1e-30, 1).
    pub fn error(&self, delta: f64) -> Result<f64> {
        if !(1e-30..1.0).contains(&delta) {
            return Err(Error::invalid("delta", "must lie between 1e-30 and 1"));
        }
        let (u, a) = (2f64.powi(-53), 2f64.powi(-131));
        let p = self.dimension as f64;
        let t = (2.0 / delta).ln();
        let radius = p + (2.0 * p * t).sqrt() + t;
        let smallest = (delta / 2.0).powf(1.0 / p) * (1.0 - 1e-13);
        let relative = (2.0 * p + 32.0) * u + 4.0 * p.sqrt() * a / smallest;
        // The slack covers the roundings of this very formula.
        Ok(up(self.scale * (radius * relative + 2.0 * p * a), 1e-12))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of values in [0, 1) against the uniform law, 20 cells: 1 - 1e-6 quantile at 19 degrees 64.
    fn uniform(values: &[f64]) -> bool {
        let mut counts = [0f64; 20];
        values
            .iter()
            .for_each(|&value| counts[((value * 20.0) as usize).min(19)] += 1.0);
        let mean = values.len() as f64 / 20.0;
        counts
            .iter()
            .map(|count| (count - mean).powi(2) / mean)
            .sum::<f64>()
            < 64.0
    }

    #[test]
    fn radius_and_direction_follow_the_law_in_space() {
        let (noise, mut source) = (SphericalGamma::new(3, 2.0).unwrap(), Source::seeded(8));
        let (mut radii, mut directions) = (Vec::new(), [const { Vec::new() }; 3]);
        for _ in 0..50_000 {
            let b = noise.draw(&mut source).unwrap();
            let norm = b.iter().map(|x| x * x).sum::<f64>().sqrt();
            // The distribution function of Gamma(3, 2) makes radii uniform; each coordinate of a uniform
            // direction in space is uniform on [-1, 1] (Archimedes).
            let r = norm / 2.0;
            radii.push(1.0 - (-r).exp() * (1.0 + r + r * r / 2.0));
            for (list, x) in directions.iter_mut().zip(&b) {
                list.push((x / norm + 1.0) / 2.0);
            }
        }
        assert!(uniform(&radii) && directions.iter().all(|list| uniform(list)));
        let products: Vec<f64> = radii
            .iter()
            .zip(&directions[0])
            .map(|(r, d)| (r + d).fract())
            .collect();
        assert!(uniform(&products)); // independent uniforms add up to a uniform modulo 1
        let wrong: Vec<f64> = radii.iter().map(|r| r.powf(1.05)).collect();
        assert!(!uniform(&wrong));
    }

    #[test]
    fn one_dimension_is_the_laplace_law() {
        let (noise, mut source) = (SphericalGamma::new(1, 0.5).unwrap(), Source::seeded(9));
        let draws: Vec<f64> = (0..50_000)
            .map(|_| noise.draw(&mut source).unwrap()[0] / 0.5)
            .map(|b| {
                if b < 0.0 {
                    b.exp() / 2.0
                } else {
                    1.0 - (-b).exp() / 2.0
                }
            })
            .collect();
        assert!(uniform(&draws));
    }

    #[test]
    fn the_error_is_small_and_grows_as_it_should() {
        let error = |p, scale, delta| SphericalGamma::new(p, scale).unwrap().error(delta).unwrap();
        assert!(error(1, 1.0, 1e-9) < 1e-12);
        assert!(error(1000, 1.0, 1e-12) < 1000.0 * 1e-12);
        // Not below the errors of the mean radius, (2p + 32) 2^-53 of it.
        assert!(error(1000, 1.0, 1e-12) > 1000.0 * 2032.0 * 2f64.powi(-53));
        assert!(error(1000, 1.0, 1e-30) < 1000.0 * 1e-12);
        assert!(error(1 << 16, 1.0, 1e-30) < 65536.0 * 1e-10);
        assert_eq!(error(10, 4.0, 1e-9), 4.0 * error(10, 1.0, 1e-9));
        assert!(error(10, 1.0, 1e-12) > error(10, 1.0, 1e-9));
        for bad in [0.0, 1.0, -1.0, f64::NAN, 1e-31] {
            assert!(SphericalGamma::new(1, 1.0).unwrap().error(bad).is_err());
        }
    }

    #[test]
    fn a_forked_child_draws_its_own_noise() {
        let noise = SphericalGamma::new(2, 1.0).unwrap();
        let here = std::process::id();
        let drawn = |process| noise.draw(&mut Source::inherited(process)).unwrap();
        assert_eq!(drawn(here), drawn(here));
        assert_ne!(drawn(here), drawn(here ^ 1));
    }

    #[test]
    fn bad_arguments() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-70] {
            assert!(SphericalGamma::new(3, scale).is_err());
        }
        assert!(SphericalGamma::new(0, 1.0).is_err());
    }

    #[test]
    fn values_are_stable() {
        let b = SphericalGamma::new(2, 1.0)
            .unwrap()
            .draw(&mut Source::seeded(42))
            .unwrap();
        assert_eq!(b, [-1.7361691014983585, -0.13103638524726738]);
    }
}
