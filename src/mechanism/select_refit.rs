use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;

use super::constant_scores::ConstantScores;
use super::minimiser::{check_loss, clipped};
use super::refit::{Refit, RefitBy};
use crate::accounting::calibrate::rho_from_epsilon;
use crate::accounting::event::Event;
use crate::error::{Error, Result, fraction};
use crate::loss::Growth;
use crate::mechanism::Mechanism;
use crate::numeric::kernel::MAX_FEATURE;
use crate::plan::defaults::{
    CLAMPED_RESIDUAL, CLASSIFIER_SELECT_STEP, REGRESSOR_SELECT_STEP, SELECT_POWER, SELECT_SHARE,
    SELECT_SIZE, SIDE_SHARE, range_within,
};
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::polytope::{Selectable, Structure};
use crate::privacy::answer::VertexAt;
use crate::privacy::{Geometry, Planned, Program, Question, Session, Statement, Target};
use crate::question::{SelectionNoise, Vertex};

/// Select, then refit: k features or groups by exact selection without replacement, then objective perturbation or
/// noisy Newton steps on them alone ([`crate::theory_of_privacy::select_refit`]).
///
/// Each selection is an exponential mechanism on the integer gradient at the present coefficients, which then move a
/// fixed step along what was selected (private forward stagewise selection: re-scoring matters, since features overlap
/// in what they explain). The refit is in k dimensions, where its noise no longer grows with p. The intercept is a
/// candidate that is never used up: a step may go to it, so that unbalanced classes do not make every feature look
/// useful; it is always refitted.
///
/// **Neighbours**: replace-one or add-remove. **Privacy**: k bounded-range events and those of
/// [`ObjectivePerturbation`](super::ObjectivePerturbation) or [`NoisyNewton`](super::NoisyNewton), composed adaptively
/// by Renyi divergence: which features the refit uses is public once they are selected. **Needs** a catalogued loss.
/// Norms: "l1" (features) and disjoint groups. With three or more classes a feature is selected for all of them at
/// once, by its coefficients' gradients in all classes, at offsets that are released first instead of being candidates;
/// the refit is by noisy Newton steps.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectRefit {
    /// k: features, or groups; None: a public rule.
    pub n_selected: Option<usize>,
    /// Share of the zCDP budget that selection spends; None: a public constant.
    pub share: Option<f64>,
    /// How the selected features are refitted; None: by objective perturbation where that is proved, else by noisy
    /// Newton steps.
    pub refit: Option<RefitBy>,
    /// Ridge of the refit in scaled units; None: a public rule for objective perturbation, 0 for noisy Newton steps.
    pub ridge: Option<f64>,
    /// Clamp of the derivative of the logistic loss, in (0, 1); None: none. Noise is proportional to it.
    pub clip: Option<f64>,
}

/// Integer units of a step.
const STEP_UNITS: f64 = 1024.0;

#[derive(Debug)]
struct Steps {
    /// None where everything is selected anyway.
    selection: Option<Question<Vertex>>,
    /// Of three or more classes, before a selection.
    offsets: Option<ConstantScores>,
    refit: Refit,
    /// About the features that are refitted, whichever they will be.
    selected: Arc<Statement>,
    n_selected: usize,
    /// How far a coefficient moves when its feature is selected.
    step: f64,
}

impl Mechanism for SelectRefit {
    fn geometry(
        &self,
        domain: &Domain,
        intercept: bool,
        row_norm: Option<f64>,
    ) -> Result<Geometry> {
        // It centres features, which a bound on uncentred rows says nothing about.
        if row_norm.is_some() {
            return Err(Error::invalid(
                "row_norm",
                "is not used by select-refit; leave it at None",
            ));
        }
        domain.check_vertices()?;
        if !matches!(domain, Domain::L1 | Domain::Groups(_)) {
            return Err(Error::invalid(
                "norm",
                "must be \"l1\" or DisjointGroups(...) for select-refit",
            ));
        }
        Ok(if intercept {
            Geometry::Centred
        } else {
            Geometry::Uncentred
        })
    }

    fn margin_bound(&self, _: &Domain, _: usize, _: bool, _: Target) -> Result<f64> {
        Ok(1.0) // users' own losses are refused by the plan
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        let delta = problem.validate()?;
        let problem = clipped(problem, self.clip)?;
        check_loss(&problem)?;
        domain.reviewed_norm(problem.schema().n_features())?;
        let problem = with_residual_bound(problem);
        let n_features = problem.schema().n_features();
        let outputs = problem.outputs();
        let polytope = polytope(&problem, domain)?;
        let (candidates, largest) = candidates(&problem, &polytope);
        let rho = rho_from_epsilon(problem.epsilon, delta)?;
        let share = fraction("share", self.share.unwrap_or(SELECT_SHARE))?;
        let strength = problem.n_samples() as f64 * rho.sqrt() / largest as f64;
        let n_selected = self.size(candidates, strength)?;
        // k selections of epsilon0^2/8 each take the share.
        let selects = n_selected < candidates;
        let of_offsets = match outputs > 1 && selects {
            true => SIDE_SHARE,
            false => 0.0,
        };
        let rho_of_choices = (1.0 - of_offsets) * share * rho;
        let epsilon0 = range_within(rho_of_choices / n_selected as f64);
        let offsets = (of_offsets > 0.0 && problem.schema().has_intercept())
            .then(|| ConstantScores::plan(&problem, of_offsets * share, rho))
            .transpose()?;
        let statement = &problem.statement;
        let noise = SelectionNoise::Exponential { epsilon0 };
        let selection = selects
            .then(|| statement.vertex(&problem.model()?, &polytope, noise, None))
            .transpose()?;
        let choices = (selection.iter())
            .flat_map(|selection| selection.events())
            .map(|&(event, _)| (event, n_selected as u64));
        let companions: Vec<(Event, u64)> = (offsets.iter().flat_map(ConstantScores::events))
            .copied()
            .chain(choices)
            .collect();
        let selected = statement.restricted((n_selected * largest).min(n_features))?;
        let by = self.refit.unwrap_or_else(|| RefitBy::best(&problem));
        let restricted = Problem {
            statement: Arc::clone(&selected),
            ..problem.clone()
        };
        let refit = Refit::plan(by, &restricted, self.ridge, &companions)?;
        let what = match domain {
            Domain::Groups(_) => "groups",
            _ => "features",
        };
        // The refit's own, k dimensions of noise against the ridge and the curvature of the loss.
        let columns = outputs as f64 * (n_selected as f64 + 1.0);
        let curvature = problem.smoothness() * problem.curvature() + refit.ridge();
        let summary = Summary {
            mechanism: format!(
                "select-refit: {n_selected} {what} by exact selection, then {}",
                refit.describe(&problem)
            ),
            n_iter: n_selected + 1,
            noise_scale: refit.noise_scale(),
            predicted_excess_risk: 0.5 * columns * refit.noise_scale().powi(2) / curvature,
            ..Summary::default()
        };
        let steps = Steps {
            step: step(problem.schema().target()),
            selection,
            offsets,
            refit,
            selected,
            n_selected,
        };
        Plan::seal(problem, steps, summary)
    }
}

impl SelectRefit {
    /// How many are selected.
    fn size(&self, candidates: usize, strength: f64) -> Result<usize> {
        match self.n_selected {
            Some(k) if k == 0 || k > candidates => Err(Error::invalid(
                "n_selected",
                format!("must be between 1 and the number of candidates, {candidates}"),
            )),
            Some(k) => Ok(k),
            None => Ok(((SELECT_SIZE * strength.powf(SELECT_POWER)) as usize).clamp(1, candidates)),
        }
    }
}

/// The squared loss is clamped where nothing is said.
fn with_residual_bound(problem: Problem) -> Problem {
    Problem {
        residual_bound: match problem.loss.growth() {
            Growth::SquaredResidual => problem.residual_bound.or(Some(CLAMPED_RESIDUAL)),
            Growth::Bounded { .. } => problem.residual_bound,
        },
        ..problem
    }
}

/// What is selected, at radius 1; a feature for all classes at once.
fn polytope(problem: &Problem, domain: &Domain) -> Result<Selectable> {
    let each = || {
        let features = 0..problem.schema().n_features();
        Domain::Groups(features.map(|j| vec![j]).collect())
    };
    match domain {
        Domain::L1 if problem.outputs() > 1 => problem.polytope(&each(), Some(1.0)),
        domain => problem.polytope(domain, Some(1.0)),
    }
}

/// How many features or groups there are, and how many features the largest one has.
fn candidates(problem: &Problem, polytope: &Selectable) -> (usize, usize) {
    match polytope.structure() {
        Structure::Groups(groups) => (
            groups.len() - usize::from(problem.schema().has_intercept()),
            groups.iter().map(Vec::len).max().unwrap_or(1) / problem.outputs(),
        ),
        _ => (problem.schema().n_features(), 1),
    }
}

/// How far a coefficient moves when its feature is selected.
fn step(target: Target) -> f64 {
    match target {
        Target::Classes => CLASSIFIER_SELECT_STEP,
        // Of two classes the difference of their scores moves as far.
        Target::Multiclass { .. } => 0.5 * CLASSIFIER_SELECT_STEP,
        Target::Interval { .. } | Target::Counts { .. } => REGRESSOR_SELECT_STEP,
    }
}

impl Program<Fitted> for Steps {
    fn questions(&self) -> Vec<Planned> {
        let selection = self.selection.iter();
        let selection = selection.map(|selection| selection.times(self.n_selected as u64));
        let offsets = self.offsets.iter().map(ConstantScores::planned);
        offsets
            .chain(selection)
            .chain(self.refit.planned())
            .collect()
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let (p, columns) = {
            let statement = session.statement();
            (statement.schema().n_features(), statement.n_columns())
        };
        let features: Vec<u32> = match &self.selection {
            None => (0..p as u32).collect(),
            Some(selection) => self.select(selection, session, (p, columns))?,
        };
        let (k, intercept) = (features.len(), columns - p);
        let total = self.n_selected + 1;
        let progress = |session: &mut Session<'_>, _| session.progress(total - 1, total);
        let refitted = {
            let mut restricted = session.restricted(&features, &self.selected)?;
            (self.refit).release(&mut restricted, (k, k + intercept), &progress)?
        };
        session.progress(total, total)?;
        let outputs = refitted.len() / (k + intercept);
        let mut scaled = vec![0.0; outputs * columns];
        let scores = scaled.chunks_mut(columns);
        for (scaled, refitted) in scores.zip(refitted.chunks(k + intercept)) {
            for (&j, &theta) in features.iter().zip(refitted) {
                scaled[j as usize] = theta;
            }
            scaled[p..].copy_from_slice(&refitted[k..]);
        }
        Ok(scaled.into())
    }
}

impl Steps {
    /// The selected features of p, ascending; a score has so many columns.
    fn select(
        &self,
        selection: &Question<Vertex>,
        session: &mut Session<'_>,
        (p, columns): (usize, usize),
    ) -> Result<Vec<u32>> {
        let mut selected = BTreeSet::new();
        // Margins are integers; so many units of a coefficient are the step.
        let unit = self.step / STEP_UNITS / f64::from(MAX_FEATURE);
        let (mut vertex, mut retired) = (Vec::new(), Vec::new());
        let mut weight = STEP_UNITS as i64;
        if let Some(offsets) = &self.offsets {
            let value = session.statement().schema().intercept_value();
            let entry = |offset: f64| (offset / value / self.step * STEP_UNITS).round() as i64;
            let intercepts = (0..).map(|k| (p + k * columns) as u32);
            let offsets = offsets.release(session)?;
            vertex = intercepts.zip(offsets.into_iter().map(entry)).collect();
            // They are no candidates then.
            retired = vertex.iter().map(|&(j, _)| j).collect();
            weight = 1;
        }
        for k in 0..self.n_selected {
            let at = VertexAt {
                moved: (&vertex, weight),
                retired: &retired,
                unit,
            };
            vertex = session.ask(selection, at)?;
            weight = STEP_UNITS as i64;
            retired = (vertex.iter().map(|&(j, _)| j))
                .filter(|&j| (j as usize) % columns < p)
                .collect();
            selected.extend(retired.iter().map(|&j| j % columns as u32));
            session.progress(k + 1, self.n_selected + 1)?;
        }
        Ok(selected.into_iter().collect())
    }
}
