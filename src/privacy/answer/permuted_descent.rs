use super::lattice::{LatticeNoise, OutputNoise};
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::loss::Loss;
use crate::numeric::directed::{add_up, div_up, mul_up};
use crate::numeric::linear::dot;
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::ledger::Budget;

/// The public constants of stochastic gradient descent over permutations, in scaled units.
#[derive(Debug, Clone, Copy)]
pub struct PermutedFacts {
    /// L, the bound to which |l'| is clamped.
    pub lipschitz: f64,
    /// beta = sup l''.
    pub smoothness: f64,
    /// R2: the Euclidean bound of a row, the intercept included.
    pub rows: f64,
    /// mu, the factor of |theta|^2/2, the intercept included; 0: the convex case.
    pub ridge: f64,
    /// k.
    pub passes: usize,
    /// Records per step.
    pub batch: usize,
    /// eta of the convex case; unused with a ridge.
    pub step: f64,
    /// n.
    pub n_samples: usize,
    /// Number of columns, the intercept included.
    pub columns: usize,
    /// Records that a person may own.
    pub records_per_person: usize,
}

/// The last iterate of k passes of stochastic gradient descent, released with noise (Wu, Li, Kumar, Chaudhuri, Jha &
/// Naughton 2017, Theorems 2 and 3; MECHANISMS M7, cousins).
///
/// The permutation is drawn without looking at the data, so the record that neighbours differ in is used at the
/// same k steps. **Convex**, eta <= 2/(beta R2^2): steps do not expand, and each of those k adds 2 eta L R2/b:
/// 2 k eta L R2/b. **Strongly convex**, eta_t = min(1/beta_total, 1/(mu t)), beta_total = beta R2^2 + mu: a step
/// contracts by 1 - eta_t mu, so what is added at step t is worth at most 2 L R2/(b mu T) at the end, T = k ceil(n/b):
/// 2 k L R2/(b mu T) <= 2 L R2/(mu n). Batches are whole but for the last of a pass, which is divided
/// by b too. m records: m times. Float errors of T steps on both sides are added. n is a true count: replace-one only.
#[derive(Debug, Clone)]
pub struct PermutedPlan {
    facts: PermutedFacts,
    noise: LatticeNoise,
}

impl PermutedPlan {
    /// Calibrates the noise to (epsilon, delta).
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] under add-remove; [`Error::InvalidArgument`] for no passes, an empty batch, or a
    /// step that may expand.
    pub fn new(
        facts: PermutedFacts,
        noise: OutputNoise,
        adjacency: Adjacency,
        epsilon: f64,
        delta: f64,
    ) -> Result<Self> {
        if adjacency != Adjacency::ReplaceOne {
            return Err(Error::UnsoundMechanism(
                "sgd-output goes through the true number of records, which add-remove keeps private (MECHANISMS M7); use \
                 adjacency=\"replace-one\""
                    .into(),
            ));
        }
        if facts.passes == 0 || facts.batch == 0 || facts.batch > facts.n_samples {
            return Err(Error::invalid(
                if facts.passes == 0 {
                    "n_passes"
                } else {
                    "batch_size"
                },
                "must be at least 1, and a batch no larger than the data",
            ));
        }
        let longest = 2.0 / (facts.smoothness * facts.rows * facts.rows * (1.0 + 1e-12));
        if facts.ridge == 0.0 && !(facts.step > 0.0 && facts.step <= longest) {
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

    /// Spends the events, descends, and adds the noise; `progress(pass, passes)` may stop the run.
    ///
    /// # Errors
    /// An error of `progress`, [`Error::Randomness`].
    pub fn release(
        &self,
        data: &BoundedData,
        loss: &dyn Loss,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Vec<f64>> {
        Budget::new(self.events()).spend_all(self.events())?;
        let theta = self.point(data, loss, source, progress)?;
        self.noise.release(&theta, source)
    }

    /// The last iterate before its noise under the permutations of `source`, and D2, in scaled units.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the sensitivity.
    ///
    /// # Errors
    /// As [`PermutedPlan::release`].
    pub fn non_private_point(
        &self,
        data: &BoundedData,
        loss: &dyn Loss,
        source: &mut Source,
    ) -> Result<(Vec<f64>, f64)> {
        let theta = self.point(data, loss, source, &mut |_, _| Ok(()))?;
        Ok((theta, self.facts.sensitivity()))
    }

    fn point(
        &self,
        data: &BoundedData,
        loss: &dyn Loss,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Vec<f64>> {
        source.renew_after_fork()?;
        let facts = &self.facts;
        let n = data.n_records();
        let mut order: Vec<usize> = (0..n).collect();
        let mut theta = vec![0.0; facts.columns];
        let (mut row, mut slope) = (vec![0.0; facts.columns], vec![0.0; facts.columns]);
        let mut t = 0.0;
        for pass in 0..facts.passes {
            // Fisher & Yates, on unbiased integers.
            for last in (1..n).rev() {
                order.swap(last, source.below(last as u128 + 1) as usize);
            }
            for batch in order.chunks(facts.batch) {
                t += 1.0;
                let step = facts.step_at(t);
                slope.fill(0.0);
                for &i in batch {
                    data.fill_row(i, &mut row);
                    let derivative = loss.derivative(dot(&row, &theta), data.targets[i]);
                    let derivative = derivative.clamp(-facts.lipschitz, facts.lipschitz);
                    for (slope, x) in slope.iter_mut().zip(&row) {
                        *slope += derivative * x;
                    }
                }
                for (theta, slope) in theta.iter_mut().zip(&slope) {
                    *theta -= step * (slope / facts.batch as f64 + facts.ridge * *theta);
                }
            }
            progress(pass + 1, facts.passes)?;
        }
        Ok(theta)
    }
}

impl PermutedFacts {
    fn total_smoothness(&self) -> f64 {
        (self.smoothness * self.rows * self.rows + self.ridge) * (1.0 + 1e-12)
    }

    fn step_at(&self, t: f64) -> f64 {
        if self.ridge > 0.0 {
            (1.0 / self.total_smoothness()).min(1.0 / (self.ridge * t))
        } else {
            self.step
        }
    }

    /// T.
    fn steps(&self) -> f64 {
        self.passes as f64 * self.n_samples.div_ceil(self.batch) as f64
    }

    /// D2, rounded up, the float errors of T steps on both sides included.
    fn sensitivity(&self) -> f64 {
        let slope = mul_up(self.lipschitz, self.rows);
        let records = 2.0 * self.records_per_person as f64;
        let (longest, size) = if self.ridge > 0.0 {
            (1.0 / self.total_smoothness(), slope / self.ridge)
        } else {
            (self.step, self.step * self.steps() * slope)
        };
        let replaced = if self.ridge > 0.0 {
            div_up(
                mul_up(records, slope),
                self.ridge * self.n_samples as f64 * (1.0 - 1e-15),
            )
        } else {
            let passes = records * self.passes as f64;
            div_up(mul_up(mul_up(passes, self.step), slope), self.batch as f64)
        };
        // Scores err by p 2^-52 R2 |theta|, slopes by beta R2 times that and by (p + b) 2^-52 L R2; updates by 2^-50.
        let p = self.columns as f64;
        let score = p * 2f64.powi(-52) * self.rows * size;
        let slopes =
            self.smoothness * self.rows * score + (p + self.batch as f64) * 2f64.powi(-50) * slope;
        let step = longest * slopes + 2f64.powi(-45) * (size + longest * slope);
        add_up(replaced, mul_up(2.0 * self.steps(), step))
    }
}
