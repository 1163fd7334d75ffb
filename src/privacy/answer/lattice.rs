use crate::error::Result;
use crate::exact::noise::discrete_laplace::DiscreteLaplace;
use crate::exact::noise::integer_law;
use crate::exact::noise::rounded_gaussian::RoundedGaussian;
use crate::exact::noise::source::Source;
use crate::exact::noise::spherical_gamma::SphericalGamma;
use crate::question::{LatticeLaw, LatticeNoise};

impl LatticeNoise {
    /// `theta` on the lattice with its noise. The caller has spent the events.
    ///
    /// # Errors
    /// [`Error::Randomness`](crate::Error::Randomness); a noisy entry beyond 64 bits, which depends on the noisy vector
    /// only.
    pub(super) fn release(&self, theta: &[f64], source: &mut Source) -> Result<Vec<f64>> {
        #[cfg(test)]
        crate::exact::tap::see(|| crate::exact::tap::Seen::Point(theta.to_vec()));
        let units = |values: &mut dyn Iterator<Item = f64>| -> Vec<i64> {
            values.map(|t| (t / self.lattice).round() as i64).collect()
        };
        let noisy = match self.law {
            LatticeLaw::Gaussian(sigma) => {
                let units = units(&mut theta.iter().copied());
                integer_law::add(&RoundedGaussian::new(sigma)?, source, &units)?
            }
            LatticeLaw::Laplace(scale) => {
                let units = units(&mut theta.iter().copied());
                integer_law::add(&DiscreteLaplace::new(scale)?, source, &units)?
            }
            LatticeLaw::Gamma(size, scale) => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Event;
    use crate::question::PointNoise;

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
        assert_eq!(round_sum(0.4, 0.3), 1);
        assert_eq!(round_sum(1e300, -3.0), i64::MAX - 3);
    }
}
