use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;

use super::minimiser::{check_reviewed, clipped};
use super::refit::{Refit, RefitBy};
use crate::accounting::calibrate::rho_from_epsilon;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::mechanism::{Mechanism, Outcome, Plan};
use crate::numeric::kernel::MAX_FEATURE;
use crate::plan::defaults::{
    CLASSIFIER_SELECT_STEP, REGRESSOR_SELECT_STEP, SELECT_POWER, SELECT_RESIDUAL, SELECT_SHARE,
    SELECT_SIZE,
};
use crate::plan::{Domain, Problem};
use crate::polytope::{Polytope, Structure};
use crate::privacy::answer::{SelectionNoise, SelectionPlan, VertexSelector};
use crate::privacy::sensitivity::Contribution;
use crate::privacy::{BoundedData, Geometry, Target};

/// Select, then refit: k features or groups by exact selection without replacement, then objective perturbation or
/// noisy Newton steps on them alone (MECHANISMS M10).
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
/// Norms: "l1" (features) and disjoint groups.
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

#[derive(Debug)]
struct SelectRefitPlan {
    problem: Problem,
    polytope: Arc<dyn Polytope>,
    /// None where everything is selected anyway.
    selection: Option<SelectionPlan>,
    refit: Refit,
    n_selected: usize,
    /// How far a coefficient moves when its feature is selected.
    step: f64,
    delta: f64,
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

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Box<dyn Plan>> {
        let delta = problem.validate()?;
        let problem = clipped(problem, self.clip)?;
        check_reviewed(&problem, domain)?;
        let problem = Problem {
            residual_bound: match problem.loss.lipschitz() {
                None => problem.residual_bound.or(Some(SELECT_RESIDUAL)),
                Some(_) => problem.residual_bound,
            },
            ..problem
        };
        let n_features = problem.schema.n_features();
        let polytope =
            domain.polytope(n_features, problem.schema.has_intercept(), Some(1.0), 1.0)?;
        let candidates = match polytope.structure() {
            Structure::Groups(groups) => groups.len() - usize::from(problem.schema.has_intercept()),
            _ => n_features,
        };
        let largest = match polytope.structure() {
            Structure::Groups(groups) => groups.iter().map(Vec::len).max().unwrap_or(1),
            _ => 1,
        };
        let rho = rho_from_epsilon(problem.epsilon, delta)?;
        let share = self.share.unwrap_or(SELECT_SHARE);
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::invalid("share", "must lie strictly between 0 and 1"));
        }
        let strength = problem.n_samples as f64 * rho.sqrt() / largest as f64;
        let n_selected = match self.n_selected {
            Some(k) if k == 0 || k > candidates => {
                return Err(Error::invalid(
                    "n_selected",
                    format!("must be between 1 and the number of candidates, {candidates}"),
                ));
            }
            Some(k) => k,
            None => ((SELECT_SIZE * strength.powf(SELECT_POWER)) as usize).clamp(1, candidates),
        };
        let lattice = problem.derivative_lattice()?;
        let contribution = Contribution {
            derivative: lattice.bound(),
            adjacency: problem.adjacency,
            records_per_person: problem.records_per_person as u64,
        };
        // k selections of epsilon0^2/8 each take the share.
        let epsilon0 = (8.0 * share * rho / n_selected as f64).sqrt();
        let selection = if n_selected < candidates {
            Some(SelectionPlan::new(
                polytope.as_ref(),
                &problem.schema,
                contribution,
                lattice,
                SelectionNoise::Exponential { epsilon0 },
            )?)
        } else {
            None
        };
        let refitted = (n_selected * largest).min(n_features);
        let companions: Vec<(Event, u64)> = (selection.iter())
            .map(|selection| (*selection.event(), n_selected as u64))
            .collect();
        let by = self.refit.unwrap_or_else(|| RefitBy::best(&problem));
        let refit = Refit::plan(by, &problem, refitted, self.ridge, &companions)?;
        Ok(Box::new(SelectRefitPlan {
            step: match problem.schema.target() {
                Target::Classes => CLASSIFIER_SELECT_STEP,
                Target::Interval { .. } => REGRESSOR_SELECT_STEP,
            },
            problem,
            polytope,
            selection,
            refit,
            n_selected,
            delta,
        }))
    }
}

impl Plan for SelectRefitPlan {
    fn problem(&self) -> &Problem {
        &self.problem
    }

    fn describe(&self) -> String {
        let what = match self.polytope.structure() {
            Structure::Groups(_) => "groups",
            _ => "features",
        };
        format!(
            "select-refit: {} {what} by exact selection, then {}",
            self.n_selected,
            self.refit.describe(&self.problem)
        )
    }

    fn certified(&self) -> bool {
        true
    }

    fn delta(&self) -> f64 {
        self.delta
    }

    fn n_iter(&self) -> usize {
        self.n_selected + 1
    }

    fn events(&self) -> Vec<(Event, u64)> {
        let selection = self.selection.iter();
        let selections = selection.map(|selection| (*selection.event(), self.n_selected as u64));
        selections.chain(self.refit.events()).collect()
    }

    fn noise_scale(&self) -> f64 {
        self.refit.noise_scale()
    }

    fn predicted_excess_risk(&self) -> f64 {
        // The refit's own, k dimensions of tilt noise against the ridge and the curvature of the loss.
        let columns = self.n_selected as f64 + 1.0;
        let curvature =
            self.problem.loss.smoothness() * self.problem.curvature() + self.refit.ridge();
        0.5 * columns * self.noise_scale().powi(2) / curvature
    }

    fn assumptions(&self) -> Vec<String> {
        self.refit.assumptions(&self.problem)
    }

    fn execute(
        &self,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Outcome> {
        let p = self.problem.schema.n_features();
        let features: Vec<u32> = match &self.selection {
            None => (0..p as u32).collect(),
            Some(selection) => self.select(selection, data, source, progress)?,
        };
        let poll = &mut || progress(self.n_selected, self.n_selected + 1);
        let refitted = (self.refit).release(data, &features, &self.problem, source, poll)?;
        progress(self.n_selected + 1, self.n_selected + 1)?;
        let mut scaled = vec![0.0; data.n_columns()];
        for (&j, &theta) in features.iter().zip(&refitted) {
            scaled[j as usize] = theta;
        }
        if self.problem.schema.has_intercept() {
            scaled[self.problem.schema.n_features()] = refitted[features.len()];
        }
        Ok(Outcome {
            scaled,
            events: self.events(),
            secure: source.is_secure(),
            feature_ranges: None,
        })
    }
}

impl SelectRefitPlan {
    /// The selected features, ascending.
    fn select(
        &self,
        selection: &SelectionPlan,
        data: &BoundedData,
        source: &mut Source,
        progress: &mut dyn FnMut(usize, usize) -> Result<()>,
    ) -> Result<Vec<u32>> {
        let loss = self.problem.loss.as_ref();
        let (count, p) = (self.n_selected as u64, self.problem.schema.n_features());
        let polytope = self.polytope.as_ref();
        let mut selector = VertexSelector::new(data, loss, polytope, selection, count, source)?;
        let mut selected = BTreeSet::new();
        // Margins are integers; one unit of a coefficient is the step.
        let unit = self.step / f64::from(MAX_FEATURE);
        for k in 0..self.n_selected {
            let vertex = selector.choose(unit)?;
            let features = vertex.iter().map(|&(j, _)| j);
            let features: Vec<u32> = features.filter(|&j| (j as usize) < p).collect();
            selected.extend(features.iter().copied());
            if k + 1 < self.n_selected {
                selector.retire(&features)?;
                selector.advance(&vertex, 1);
            }
            progress(k + 1, self.n_selected + 1)?;
        }
        Ok(selected.into_iter().collect())
    }
}
