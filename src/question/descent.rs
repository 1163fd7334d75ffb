//! Proximal gradient descent of a public number of steps.

use std::sync::Arc;

use super::model::RoomModel;
use super::objective::gradient_error;
use super::statement::Statement;
use super::strongly_convex::check_penalty;
use crate::accounting::event::Adjacency;
use crate::error::{Error, Result, non_negative};
use crate::norm::ReviewedNorm;
use crate::numeric::directed::{add_up, div_up, mul_up};

/// What a descent may be told.
#[derive(Debug, Clone)]
pub struct DescentOptions {
    /// Factor of |theta|^2/2, the intercept included; 0 is allowed.
    pub ridge: f64,
    /// Omega, reviewed, with its factor alpha.
    pub penalty: Option<(ReviewedNorm, f64)>,
    /// T.
    pub n_iter: usize,
    /// eta; at most 2/(2 ridge + beta R2^2).
    pub step: f64,
}

/// The last iterate of T proximal gradient steps (without a prox the bolt-on gradient descent of Zhang, Zheng, Mou &
/// Wang 2017).
///
/// A step theta -> prox(theta - eta grad F(theta)) of a convex, smooth F with eta <= 2/(beta_total + mu) contracts by
/// 1 - eta mu (Nesterov 2004, Theorem 2.1.12), and a prox does not expand. Replacing m records moves the gradient at
/// one point by at most 2 m L R2/n. With float errors e_grad and e_prox of a step on both sides:
///
/// D2 = eta (2 m L R2/n + 2 e_grad + 2 e_prox/eta) sum_{t < T} (1 - eta mu)^t.
///
/// No ridge is needed, so this keeps the promise that Kumar & Deisenroth (2019), Theorem 1, make for a penalty alone. n
/// is a true count here: replace-one only.
#[derive(Debug, Clone)]
pub struct Descent {
    statement: Arc<Statement>,
    pub(crate) model: RoomModel,
    smoothness: f64,
    pub(crate) options: DescentOptions,
}

impl Statement {
    /// A descent on a reviewed loss.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] under add-remove, for a user's own loss or clamped slopes of several scores;
    /// [`Error::InvalidArgument`] for a step that is too long for the steps to be non-expansive, or no iterations.
    pub fn descent(
        self: &Arc<Self>,
        model: &RoomModel,
        options: DescentOptions,
    ) -> Result<Descent> {
        let smoothness = model.convex()?;
        if self.adjacency() != Adjacency::ReplaceOne {
            return Err(Error::UnsoundMechanism(
                "early stopping divides by the true number of records, which add-remove keeps private; use \
                 adjacency=\"replace-one\" or mode=\"ridge\""
                    .into(),
            ));
        }
        if options.n_iter == 0 {
            return Err(Error::invalid("n_iter", "must be at least 1"));
        }
        non_negative("ridge", options.ridge)?;
        check_penalty(self, options.penalty.as_ref())?;
        let rows = self.row_bound();
        let longest = 2.0 / ((smoothness * rows * rows + 2.0 * options.ridge) * (1.0 + 1e-12));
        check_step(options.step, longest)?;
        Ok(Descent {
            statement: Arc::clone(self),
            model: model.clone(),
            smoothness,
            options,
        })
    }
}

/// Refuses a step that is not positive or too long.
pub(crate) fn check_step(step: f64, longest: f64) -> Result<()> {
    if step > 0.0 && step <= longest {
        return Ok(());
    }
    Err(Error::invalid(
        "step",
        format!("must be positive and at most {longest:.6}: longer steps may expand"),
    ))
}

impl Descent {
    pub(crate) fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// Coefficients: a column of every score.
    pub(crate) fn entries(&self) -> usize {
        self.statement.n_columns() * self.model.outputs()
    }

    /// D2, rounded up.
    pub fn sensitivity(&self) -> f64 {
        let DescentOptions {
            ridge,
            ref penalty,
            n_iter,
            step,
        } = self.options;
        let (lipschitz, rows) = (self.model.bound().l2, self.statement.row_bound());
        let changed = self.statement.changed_contributions() as f64;
        let replaced = div_up(
            mul_up(changed, mul_up(lipschitz, rows)),
            self.statement.n_samples() as f64,
        );
        let steps = n_iter as f64;
        // |theta_t| <= eta T L R2: gradients have at most size L R2, ridge and prox only shrink.
        let size = step * steps * lipschitz * rows;
        let columns = self.statement.n_columns();
        let gradient = gradient_error(&self.model, self.smoothness, rows, columns, size);
        let update = 2f64.powi(-50) * (size + step * (lipschitz * rows + ridge * size));
        let prox = (penalty.as_ref()).map_or(0.0, |(norm, _)| norm.prox_error() * size);
        let errors = 2.0 * (gradient + (update + prox) / step) * (1.0 + 1e-12);
        // sum_{t < T} (1 - eta mu)^t <= min(T, 1/(eta mu)).
        let contraction = step * ridge * (1.0 - 1e-12);
        let sum = if contraction * steps > 1.0 {
            div_up(1.0, contraction)
        } else {
            steps
        };
        mul_up(mul_up(step, add_up(replaced, errors)), sum)
    }
}
