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
    /// [`Error::Randomness`](crate::Error::Randomness); a noisy entry beyond 64 bits, which depends on the noisy vector only.
    pub(super) fn release(&self, theta: &[f64], source: &mut Source) -> Result<Vec<f64>> {
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
