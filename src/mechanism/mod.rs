//! Mechanisms, built from the room's answers: one file each, and its lines here. A mechanism plans before data and
//! cannot read a record.

mod catalogue;
mod class_line;
mod class_scores;
mod class_shares;
mod class_shrinkage;
#[cfg(test)]
mod class_tests;
mod constant_scores;
mod damping;
mod divisor;
mod dual_frank_wolfe;
mod evidence;
mod feature_scaler;
mod frank_wolfe;
mod greedy_selection;
mod hidden_noise;
mod line;
mod minimiser;
mod minkowski;
mod mirror_descent;
mod nearer;
mod nearest_sparse;
mod newton_descent;
mod newton_steps;
mod noise_law;
mod noisy_frank_wolfe;
mod noisy_gradient;
mod noisy_newton;
mod noisy_proximal_gradient;
mod objective_perturbation;
mod odds_line;
mod online_ftrl;
mod output_perturbation;
mod pace;
mod public_width;
mod refit;
mod regularisation;
mod ridge;
mod select_refit;
mod sgd_output;
mod simplex_sampling;
mod sparsity;
mod steepness;
mod submodular_minimisation;
mod varying;

use catalogue::entry;
pub use catalogue::{Entry, Mechanism, by_name};
pub(crate) use class_scores::ClassScores;
pub(crate) use class_shares::scores_of_shares;
pub use dual_frank_wolfe::{DualFrankWolfe, Variant, theorem_4_iterations};
pub use feature_scaler::{FeatureScaler, FeatureScalerPlan};
pub(crate) use frank_wolfe::Constrained;
pub use frank_wolfe::{Calibration, FrankWolfe, Refresh};
pub use greedy_selection::{GreedySelection, GreedySelectionPlan};
pub use mirror_descent::{MirrorDescent, PotentialChoice};
pub use noise_law::{OutputNoise, TiltLaw};
pub use noisy_frank_wolfe::NoisyFrankWolfe;
pub use noisy_newton::NoisyNewton;
pub use noisy_proximal_gradient::NoisyProximalGradient;
pub use objective_perturbation::ObjectivePerturbation;
pub use online_ftrl::{OnlineFtrl, OnlineSimplex};
pub use output_perturbation::{Mode, OutputPerturbation};
pub use refit::RefitBy;
pub use select_refit::SelectRefit;
pub use sgd_output::SgdOutput;
pub use simplex_sampling::SimplexSampling;
pub use submodular_minimisation::{Goal, SubmodularMinimisation, SubmodularMinimisationPlan};
pub use varying::Varying;

/// Every mechanism known by name.
pub const CATALOGUE: &[Entry] = &[
    entry::<Constrained>("frank-wolfe"),
    entry::<frank_wolfe::Penalised>("penalised-frank-wolfe"),
    entry::<NoisyFrankWolfe>("noisy-gradient-frank-wolfe"),
    entry::<NoisyProximalGradient>("noisy-proximal-gradient"),
    entry::<NoisyNewton>("noisy-newton"),
    entry::<MirrorDescent>("mirror-descent"),
    entry::<OutputPerturbation>("output-perturbation"),
    entry::<ObjectivePerturbation>("objective-perturbation"),
    entry::<SgdOutput>("sgd-output"),
    entry::<SelectRefit>("select-refit"),
    entry::<SimplexSampling>("simplex-sampling"),
    entry::<DualFrankWolfe>("dual-frank-wolfe"),
];
