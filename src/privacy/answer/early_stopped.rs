use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::loss::Loss;
use crate::norm::Norm;
use crate::numeric::directed::{add_up, div_up, mul_up};
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::fine_gradient::FineGradient;
use crate::privacy::ledger::Budget;
use crate::prox::Scratch;

use super::lattice::{LatticeNoise, OutputNoise};

/// The public constants of an early-stopped descent, in scaled units.
#[derive(Debug, Clone, Copy)]
pub struct DescentFacts {
    /// L, the bound to which |l'| is clamped.
    pub lipschitz: f64,
    /// beta = sup l''.
    pub smoothness: f64,
    /// R2: the Euclidean bound of a row, the intercept included.
    pub rows: f64,
    /// Factor of |theta|^2/2, the intercept included; 0 is allowed.
    pub ridge: f64,
    /// alpha, the factor of Omega; 0: no penalty.
    pub alpha: f64,
    /// Float error of the prox of Omega per unit of size ([`crate::norm::SetFunctionNorm::prox_error`]).
    pub prox_error: f64,
    /// T.
    pub n_iter: usize,
    /// eta; at most 2/(2 ridge + beta R2^2).
    pub step: f64,
    /// n.
    pub n_samples: usize,
    /// Number of columns, the intercept included.
    pub columns: usize,
    /// Records that a person may own.
    pub records_per_person: usize,
}

/// The last iterate of T proximal gradient steps, released with noise (MECHANISMS M7, mode B; without a prox the
/// bolt-on gradient descent of Zhang, Zheng, Mou & Wang 2017).
///
/// A step theta -> prox(theta - eta grad F(theta)) of a convex, smooth F with eta <= 2/(beta_total + mu) contracts by
/// 1 - eta mu (Nesterov 2004, Theorem 2.1.12), and a prox does not expand. Replacing m records moves the gradient at
/// one point by at most 2 m L R2/n. With float errors e_grad and e_prox of a step on both sides:
///
/// D2 = eta (2 m L R2/n + 2 e_grad + 2 e_prox/eta) sum_{t < T} (1 - eta mu)^t.
///
/// No ridge is needed, so this keeps the promise that KD Theorem 1 makes for a penalty alone. n is a true count here:
/// replace-one only.
#[derive(Debug, Clone)]
pub struct DescentPlan {
    facts: DescentFacts,
    noise: LatticeNoise,
}

impl DescentPlan {
    /// Calibrates the noise to (epsilon, delta).
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] under add-remove; [`Error::InvalidArgument`] for a step that is too long for the
    /// steps to be non-expansive, or no iterations.
    pub fn new(
        facts: DescentFacts,
        noise: OutputNoise,
        adjacency: Adjacency,
        epsilon: f64,
        delta: f64,
    ) -> Result<Self> {
        if adjacency != Adjacency::ReplaceOne {
            return Err(Error::UnsoundMechanism(
                "early stopping divides by the true number of records, which add-remove keeps private (MECHANISMS M0); use \
                 adjacency=\"replace-one\" or mode=\"ridge\""
                    .into(),
            ));
        }
        if facts.n_iter == 0 {
            return Err(Error::invalid("n_iter", "must be at least 1"));
        }
        let curvature = facts.smoothness * facts.rows * facts.rows;
        let longest = 2.0 / ((curvature + 2.0 * facts.ridge) * (1.0 + 1e-12));
        if !(facts.step > 0.0 && facts.step <= longest) {
            return Err(Error::invalid(
                "step",
                format!("must be positive and at most {longest:.6}: longer steps may expand"),
            ));
        }
        let noise = LatticeNoise::new(
            noise,
            facts.sensitivity(),
            facts.columns,
            epsilon,
            delta.next_down(),
        )?;
        Ok(Self { facts, noise })
    }

    /// The events of the release.
    pub fn events(&self) -> &[(Event, u64)] {
        self.noise.events()
    }

    /// Standard deviation of the noise on an entry of the released point, in scaled units.
    pub fn output_scale(&self) -> f64 {
        self.noise.scale(self.facts.columns)
    }

    /// Spends the events, descends, and adds the noise. `norm` is the catalogued norm of the penalty;
    /// `progress(done, total)` may stop the run.
    ///
    /// # Errors
    /// An error of `progress`, [`Error::Randomness`].
    pub fn release(
        &self,
        data: &BoundedData,
        loss: &dyn Loss,
        norm: &dyn Norm,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Vec<f64>> {
        Budget::new(self.events()).spend_all(self.events())?;
        let theta = self.point(data, loss, norm, progress)?;
        self.noise.release(&theta, source)
    }

    /// The last iterate before its noise, and D2, in scaled units.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the sensitivity.
    ///
    /// # Errors
    /// As [`DescentPlan::release`].
    pub fn non_private_point(
        &self,
        data: &BoundedData,
        loss: &dyn Loss,
        norm: &dyn Norm,
    ) -> Result<(Vec<f64>, f64)> {
        let theta = self.point(data, loss, norm, &mut |_, _| Ok(()))?;
        Ok((theta, self.facts.sensitivity()))
    }

    fn point(
        &self,
        data: &BoundedData,
        loss: &dyn Loss,
        norm: &dyn Norm,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let facts = &self.facts;
        let p = norm.n_features();
        let mut gradient = FineGradient::new(data, loss, facts.lipschitz, facts.n_samples);
        let mut theta = vec![0.0; facts.columns];
        let (mut slope, mut moved) = (vec![0.0; facts.columns], vec![0.0; p]);
        let mut scratch = Scratch::default();
        for t in 0..facts.n_iter {
            gradient.set_scores(&theta);
            gradient.evaluate(&mut slope);
            for (theta, slope) in theta.iter_mut().zip(&slope) {
                *theta -= facts.step * (slope + facts.ridge * *theta);
            }
            if facts.alpha > 0.0 {
                moved.copy_from_slice(&theta[..p]);
                norm.proved_prox(
                    &moved,
                    facts.step * facts.alpha,
                    &mut theta[..p],
                    &mut scratch,
                )?;
            }
            progress(t + 1, facts.n_iter)?;
        }
        Ok(theta)
    }
}

impl DescentFacts {
    /// D2, rounded up.
    fn sensitivity(&self) -> f64 {
        let replaced = div_up(
            mul_up(
                2.0 * self.records_per_person as f64,
                mul_up(self.lipschitz, self.rows),
            ),
            self.n_samples as f64,
        );
        let steps = self.n_iter as f64;
        // |theta_t| <= eta T L R2: gradients have at most size L R2, ridge and prox only shrink.
        let size = self.step * steps * self.lipschitz * self.rows;
        let gradient =
            FineGradient::error_bound(self.lipschitz, self.smoothness, self.rows, self.columns);
        let update =
            2f64.powi(-50) * (size + self.step * (self.lipschitz * self.rows + self.ridge * size));
        let prox = if self.alpha > 0.0 {
            self.prox_error * size
        } else {
            0.0
        };
        let errors = 2.0 * (gradient + (update + prox) / self.step) * (1.0 + 1e-12);
        // sum_{t < T} (1 - eta mu)^t <= min(T, 1/(eta mu)).
        let contraction = self.step * self.ridge * (1.0 - 1e-12);
        let sum = if contraction * steps > 1.0 {
            div_up(1.0, contraction)
        } else {
            steps
        };
        mul_up(mul_up(self.step, add_up(replaced, errors)), sum)
    }
}
