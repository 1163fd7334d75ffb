//! Stochastic gradient descent over permutations that are drawn without the records.

use std::sync::Arc;

use super::descent::check_step;
use super::model::RoomModel;
use super::statement::Statement;
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result, non_negative};
use crate::numeric::directed::{add_up, div_up, mul_up};

/// What a permuted descent may be told.
#[derive(Debug, Clone, Copy)]
pub struct PermutedOptions {
    /// mu, the factor of |theta|^2/2, the intercept included; 0: the convex case.
    pub ridge: f64,
    /// k.
    pub passes: usize,
    /// Records per step.
    pub batch: usize,
    /// eta of the convex case; unused with a ridge.
    pub step: f64,
}

/// The last iterate of k passes of stochastic gradient descent (Wu, Li, Kumar, Chaudhuri, Jha &
/// Naughton 2017, Theorems 2 and 3; "bolt-on" privacy).
///
/// The permutation is drawn without looking at the data, so the record that neighbours differ in is used at the
/// same k steps. **Convex**, eta <= 2/(beta R2^2): steps do not expand, and each of those k adds 2 eta L R2/b:
/// 2 k eta L R2/b. **Strongly convex**, eta_t = min(1/beta_total, 1/(mu t)), beta_total = beta R2^2 + mu: a step
/// contracts by 1 - eta_t mu, so what is added at step t is worth at most 2 L R2/(b mu T) at the end, T = k ceil(n/b):
/// 2 k L R2/(b mu T) <= 2 L R2/(mu n). Batches are whole but for the last of a pass, which is divided
/// by b too. m records: m times. Float errors of T steps on both sides are added, those of the loss's own slopes
/// included ([`Rounding`](crate::loss::Rounding)). n is a true count: replace-one only.
#[derive(Debug, Clone)]
pub struct Permuted {
    statement: Arc<Statement>,
    pub(crate) model: RoomModel,
    smoothness: f64,
    pub(crate) options: PermutedOptions,
}

impl Statement {
    /// A permuted descent on a reviewed loss.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] under add-remove or for a user's own loss; [`Error::InvalidArgument`] for no passes,
    /// an empty batch, or a step that may expand.
    pub fn permuted(
        self: &Arc<Self>,
        model: &RoomModel,
        options: PermutedOptions,
    ) -> Result<Permuted> {
        let smoothness = model.reviewed()?.smoothness();
        if self.adjacency() != Adjacency::ReplaceOne {
            return Err(Error::UnsoundMechanism(
                "sgd-output goes through the true number of records, which add-remove keeps private; use \
                 adjacency=\"replace-one\""
                    .into(),
            ));
        }
        let problem = "must be at least 1, and a batch no larger than the data";
        if options.passes == 0 {
            return Err(Error::invalid("n_passes", problem));
        }
        if options.batch == 0 || options.batch > self.n_samples() {
            return Err(Error::invalid("batch_size", problem));
        }
        non_negative("ridge", options.ridge)?;
        let rows = self.row_bound();
        if options.ridge == 0.0 {
            check_step(
                options.step,
                2.0 / (smoothness * rows * rows * (1.0 + 1e-12)),
            )?;
        }
        Ok(Permuted {
            statement: Arc::clone(self),
            model: model.clone(),
            smoothness,
            options,
        })
    }
}

impl Permuted {
    pub(crate) fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    fn total_smoothness(&self) -> f64 {
        let rows = self.statement.row_bound();
        (self.smoothness * rows * rows + self.options.ridge) * (1.0 + 1e-12)
    }

    pub(crate) fn step_at(&self, t: f64) -> f64 {
        let PermutedOptions { ridge, step, .. } = self.options;
        if ridge > 0.0 {
            (1.0 / self.total_smoothness()).min(1.0 / (ridge * t))
        } else {
            step
        }
    }

    /// T.
    fn steps(&self) -> f64 {
        let PermutedOptions { passes, batch, .. } = self.options;
        passes as f64 * self.statement.n_samples().div_ceil(batch) as f64
    }

    /// D2, rounded up, the float errors of T steps on both sides included.
    pub fn sensitivity(&self) -> f64 {
        let PermutedOptions {
            ridge,
            passes,
            batch,
            step,
        } = self.options;
        let (n, rows) = (
            self.statement.n_samples() as f64,
            self.statement.row_bound(),
        );
        let slope = mul_up(self.model.bound().linf, rows);
        let records = self.statement.changed_contributions() as f64;
        let (longest, size) = if ridge > 0.0 {
            (1.0 / self.total_smoothness(), slope / ridge)
        } else {
            (step, step * self.steps() * slope)
        };
        let replaced = if ridge > 0.0 {
            div_up(mul_up(records, slope), ridge * n * (1.0 - 1e-15))
        } else {
            let passes = records * passes as f64;
            div_up(mul_up(mul_up(passes, step), slope), batch as f64)
        };
        // Scores err by p 2^-52 R2 |theta|, slopes by beta R2 times that and by (p + b) 2^-52 L R2; updates by 2^-50. A
        // loss whose slopes are differences of larger numbers than L errs by more, as it states, in each record of a
        // batch: by that much in their mean.
        let p = self.statement.n_columns() as f64;
        let score = p * 2f64.powi(-52) * rows * size;
        let slopes = self.smoothness * rows * score + (p + batch as f64) * 2f64.powi(-50) * slope;
        let rounding = self.model.rounding();
        let slopes = slopes + rounding.map_or(0.0, |r| 2f64.powi(-46) * r.magnitude * rows);
        let step = longest * slopes + 2f64.powi(-45) * (size + longest * slope);
        add_up(replaced, mul_up(2.0 * self.steps(), step))
    }
}
