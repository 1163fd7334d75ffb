//! Mechanisms, built from the room's answers: one file each. A mechanism plans before data and cannot read a
//! record.

mod catalogue;
mod dual_frank_wolfe;
mod explained;
mod feature_scaler;
mod frank_wolfe;
mod minimiser;
mod minkowski;
mod newton_steps;
mod noisy_frank_wolfe;
mod noisy_gradient;
mod noisy_newton;
mod noisy_proximal_gradient;
mod objective_perturbation;
mod online_ftrl;
mod output_perturbation;
mod public_width;
mod refit;
mod select_refit;
mod sgd_output;
mod simplex_sampling;
mod varying;

pub use catalogue::{CATALOGUE, Entry, Mechanism, by_name};
pub use dual_frank_wolfe::{DualFrankWolfe, Variant, theorem_4_iterations};
pub(crate) use explained::Explained;
pub use feature_scaler::{FeatureScaler, FeatureScalerPlan};
pub(crate) use frank_wolfe::Constrained;
pub use frank_wolfe::{Calibration, FrankWolfe, FrankWolfePlan};
pub use noisy_frank_wolfe::NoisyFrankWolfe;
pub use noisy_newton::NoisyNewton;
pub use noisy_proximal_gradient::NoisyProximalGradient;
pub use objective_perturbation::ObjectivePerturbation;
pub use online_ftrl::{OnlineFtrl, OnlineSimplex};
pub use output_perturbation::{Mode, OutputPerturbation};
pub use refit::RefitBy;
pub use select_refit::SelectRefit;
pub use sgd_output::SgdOutput;
pub use simplex_sampling::{SimplexSampling, SimplexSamplingPlan};
pub use varying::Varying;

use crate::accounting::event::Event;
use crate::error::Result;
use crate::exact::noise::source::Source;
use crate::plan::Problem;
use crate::privacy::BoundedData;

/// What a mechanism will do, fixed before any record is read.
pub trait Plan: std::fmt::Debug + Send + Sync {
    /// The public statement that the plan was made for.
    fn problem(&self) -> &Problem;

    /// The mechanism in words.
    fn describe(&self) -> String;

    /// Whether its guarantee is proved.
    fn certified(&self) -> bool;

    /// What the guarantee assumes beyond what every mechanism does.
    fn assumptions(&self) -> Vec<String> {
        Vec::new()
    }

    /// delta that the release will carry.
    fn delta(&self) -> f64;

    /// Iterations.
    fn n_iter(&self) -> usize;

    /// The events that the run will spend, with their counts.
    fn events(&self) -> Vec<(Event, u64)>;

    /// Scale of the noise, in units of the mean loss.
    fn noise_scale(&self) -> f64;

    /// Predicted excess of the mean training loss over the best model of the constraint set.
    fn predicted_excess_risk(&self) -> f64;

    /// Further public numbers that the plan fixed, by name: what a rule chose where the user left it open.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The point that noise is added to and the bound on its L2 sensitivity, both in scaled units, where the mechanism
    /// has such a point.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the sensitivity (MECHANISMS M13).
    ///
    /// # Errors
    /// As [`Plan::execute`].
    fn non_private_release(
        &self,
        data: &BoundedData,
        source: &mut Source,
    ) -> Result<Option<(Vec<f64>, f64)>> {
        let _ = (data, source);
        Ok(None)
    }

    /// Runs the plan. `progress(done, total)` is called after every iteration (public numbers) and may stop
    /// the run. Users call [`crate::release::run`].
    ///
    /// # Errors
    /// An error of `progress`, [`crate::Error::BudgetExceeded`], [`crate::Error::Randomness`].
    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome>;
}

/// What the room let out.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Coefficients in scaled units: the features, then the intercept where there is one.
    pub scaled: Vec<f64>,
    /// The events spent.
    pub events: Vec<(Event, u64)>,
    /// Whether all randomness came from the operating system.
    pub secure: bool,
    /// Released ranges in scaled units, one per feature, to which features are clipped before the coefficients apply;
    /// None: the model is linear everywhere.
    pub feature_ranges: Option<Vec<(f64, f64)>>,
}
