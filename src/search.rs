//! Hyper-parameter search that is paid for: every fit, the choice on held-out records, and the refit.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::plan::{FeatureRanges, Fitted, Plan};
use crate::privacy::answer::Part;
use crate::privacy::{
    Bounds, Claim, Curator, Geometry, Planned, Program, Question, Schema, Sealed, Session,
    Statement, Target, events_of, seal,
};
use crate::question::{HeldOut, LinearModel, Split};

/// The public facts of a search, from which those of its fits are derived.
#[derive(Debug, Clone)]
pub struct SearchFacts {
    root: Arc<Statement>,
    /// About the held-out records.
    held_out: Arc<Statement>,
    split: Question<Split>,
}

impl SearchFacts {
    /// A search among `n_samples` records, of which `n_held_out` (under add-remove: each with probability `share`) are
    /// held out. Models are compared on features within `bounds`. Records have weights of at most `max_weight`, or
    /// none.
    ///
    /// # Errors
    /// Public facts out of their domains.
    pub fn new(
        n_features: usize,
        bounds: Bounds,
        target: Target,
        (n_samples, n_held_out, share): (usize, usize, f64),
        adjacency: Adjacency,
        records_per_person: usize,
        max_weight: Option<f64>,
    ) -> Result<Self> {
        let schema = Schema::new(n_features, bounds, Geometry::Centred, target, true, None)?;
        let schema = match max_weight {
            Some(largest) => schema.with_max_weight(largest)?,
            None => schema,
        };
        let root = Statement::new(schema.clone(), n_samples, adjacency, records_per_person)?;
        Ok(Self {
            split: root.split(n_held_out, share)?,
            held_out: root.part(schema, n_held_out)?,
            root,
        })
    }

    /// The integer scores by which models would be compared on these records, as many as there are.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the law and of the sensitivity.
    ///
    /// # Errors
    /// As [`Curator::non_private_scores`].
    pub fn non_private_scores(
        &self,
        curator: &Curator<'_>,
        models: &[LinearModel],
    ) -> Result<Vec<i64>> {
        curator.non_private_scores(&self.root, models)
    }

    /// The statement of a fit on `n_samples` of the records, read under a schema of its own.
    ///
    /// # Errors
    /// As [`Statement::part`].
    pub fn part(&self, schema: Schema, n_samples: usize) -> Result<Arc<Statement>> {
        self.root.part(schema, n_samples)
    }
}

/// A search: fits on the training part, a choice by held-out loss, and a refit of the winner on all records.
///
/// Fits, choice and refit are composed one after the other, the held-out part counted as if it were the training part,
/// which holds for any split and for people with records in both. The fits' parameters are fixed in advance. Given
/// their models, the choice is an exponential mechanism ([`HeldOut`]). Which refit is made depends on it: it costs what
/// dominates every one of them ([`Planned::OneOf`]). No parallel composition of the two parts is used.
#[derive(Debug, Clone)]
pub struct Search {
    facts: SearchFacts,
    fits: Vec<Arc<Plan>>,
    /// Empty: the winner is kept as it was fitted.
    refits: Vec<Arc<Plan>>,
    choice: Question<HeldOut>,
}

/// What a search lets out.
#[derive(Debug, Clone)]
pub struct Found {
    /// Index of the winner.
    pub best: usize,
    /// The winning model, in the user's units.
    pub model: LinearModel,
    /// Its released ranges, clipped to or not.
    pub feature_ranges: Option<FeatureRanges<Bounds>>,
    /// Iterations of its fit (public).
    pub n_iter: usize,
}

impl Search {
    /// Fits, and as many refits or none, planned under statements of `facts`; the choice has bounded range `epsilon0`.
    ///
    /// # Errors
    /// No fits, another number of refits, an epsilon0 that the exact sampler does not take.
    pub fn new(
        facts: &SearchFacts,
        fits: Vec<Arc<Plan>>,
        refits: Vec<Arc<Plan>>,
        epsilon0: f64,
    ) -> Result<Self> {
        if fits.is_empty() || !(refits.is_empty() || refits.len() == fits.len()) {
            return Err(Error::invalid(
                "param_grid",
                "must hold candidates, each with a refit or none with one",
            ));
        }
        if !fits.iter().chain(&refits).all(|plan| plan.certified()) {
            return Err(Error::UnsoundMechanism(
                "a search takes proved mechanisms only: leave out calibration='paper'".into(),
            ));
        }
        Ok(Self {
            choice: facts.held_out.held_out(epsilon0)?,
            facts: facts.clone(),
            fits,
            refits,
        })
    }

    /// Everything that it spends.
    ///
    /// # Errors
    /// Refits that no events dominate.
    pub fn events(&self) -> Result<Vec<(Event, u64)>> {
        events_of(&self.questions())
    }

    /// The search in words.
    pub fn describe(&self) -> String {
        let last = match self.refits.len() {
            0 => "no refit",
            _ => "a refit of the winner on all records",
        };
        let mechanisms: BTreeSet<&str> = self.fits.iter().map(|plan| plan.mechanism()).collect();
        let mechanisms: Vec<&str> = mechanisms.into_iter().collect();
        format!(
            "search among {} candidates, chosen by held-out loss (exponential mechanism), {last}; candidates: {}",
            self.fits.len(),
            mechanisms.join("; ")
        )
    }

    /// Seals it.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] where it costs more than (epsilon, delta).
    pub fn seal(self, epsilon: f64, delta: f64, assumptions: Vec<String>) -> Result<Sealed<Found>> {
        let mut assumptions = assumptions;
        for plan in self.fits.iter().chain(&self.refits) {
            for assumption in &plan.sealed().claim().assumptions {
                if !assumptions.contains(assumption) {
                    assumptions.push(assumption.clone());
                }
            }
        }
        let claim = Claim {
            epsilon,
            delta,
            mechanism: self.describe(),
            assumptions,
        };
        let root = Arc::clone(&self.facts.root);
        seal(&root, Box::new(self), claim)
    }
}

/// A fitted model in the user's units, and its released ranges.
fn linear(plan: &Plan, fitted: Fitted) -> (LinearModel, Option<FeatureRanges<Bounds>>) {
    let schema = plan.problem.schema();
    let (mut coefficients, mut intercepts) = (Vec::new(), Vec::new());
    for scaled in fitted.scaled.chunks(schema.n_columns()) {
        let (own, intercept) = schema.to_user_units(scaled);
        coefficients.extend(own);
        intercepts.push(intercept);
    }
    let ranges =
        (fitted.feature_ranges).map(|ranges| ranges.map(|of| schema.ranges_to_user_units(&of)));
    let clipped = ranges.as_ref().filter(|ranges| ranges.clips);
    let model = LinearModel {
        coefficients,
        intercepts,
        feature_ranges: clipped.map(|ranges| ranges.of.clone()),
    };
    (model, ranges)
}

impl Program<Found> for Search {
    fn questions(&self) -> Vec<Planned> {
        let mut questions = vec![self.facts.split.once()];
        questions.extend(self.fits.iter().flat_map(|plan| plan.questions().to_vec()));
        questions.push(self.choice.once());
        if !self.refits.is_empty() {
            let options = self.refits.iter().map(|plan| plan.questions().to_vec());
            questions.push(Planned::OneOf(options.collect()));
        }
        questions
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Found> {
        let split = &self.facts.split;
        session.ask(split, ())?;
        let (mut models, mut ranges) = (Vec::new(), Vec::new());
        for plan in &self.fits {
            let mut training = session.part(Part::Training(split), &plan.problem.statement)?;
            let (model, own) = linear(plan, plan.run_within(&mut training)?);
            models.push(model);
            ranges.push(own);
        }
        let best = (session.part(Part::HeldOut(split), &self.facts.held_out)?)
            .ask(&self.choice, &models)?;
        let ((model, feature_ranges), n_iter) = match self.refits.get(best) {
            Some(plan) => {
                let mut all = session.part(Part::All, &plan.problem.statement)?;
                (
                    linear(plan, plan.run_within(&mut all)?),
                    plan.summary.n_iter,
                )
            }
            None => {
                let winner = (models.swap_remove(best), ranges.swap_remove(best));
                (winner, self.fits[best].summary.n_iter)
            }
        };
        Ok(Found {
            best,
            model,
            feature_ranges,
            n_iter,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 40;

    /// Whoever is a neighbour of whom in a search is so in its fits and in its choice.
    #[test]
    fn parts_of_a_search_keep_its_neighbours() {
        let bounds = || Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let target = Target::Classes;
        for (adjacency, changed) in [(Adjacency::ReplaceOne, 6), (Adjacency::AddRemove, 3)] {
            let sizes = (N, 10, 0.25);
            let facts = SearchFacts::new(2, bounds(), target, sizes, adjacency, 3, None).unwrap();
            let schema = Schema::new(2, bounds(), Geometry::Uncentred, target, true, None);
            let fit = facts.part(schema.unwrap(), 30).unwrap();
            for (part, n_samples) in [(&facts.root, N), (&facts.held_out, 10), (&fit, 30)] {
                assert_eq!(part.n_samples(), n_samples);
                assert_eq!(part.adjacency(), adjacency);
                assert_eq!(part.changed_contributions(), changed);
            }
        }
    }
}
