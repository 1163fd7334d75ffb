use crate::accounting::event::Adjacency;
use crate::auto::{Asked, Choice, Facts, PrivateScale, auto};
use crate::error::Result;
use crate::loss::{Admitted, Loss, Poisson, Task};
use crate::mechanism::{Mechanism, Varying};
use crate::plan::defaults::COUNT_CLAMP;
use crate::plan::{Domain, PrivacyClaim, Problem};
use crate::privacy::{Bounds, Schema, Statement, Target};
use crate::search::SearchFacts;

/// What is public about a fit, apart from its loss and its mechanism.
#[derive(Debug, Clone)]
pub(crate) struct PublicFacts {
    pub n_samples: usize,
    pub n_features: usize,
    pub bounds: Bounds,
    pub row_norm: Option<f64>,
    pub target: Target,
    pub intercept: bool,
    pub residual_bound: Option<f64>,
    pub epsilon: f64,
    pub delta: Option<f64>,
    pub adjacency: Adjacency,
    pub records_per_person: usize,
    /// The largest weight, where records have weights.
    pub max_weight: Option<f64>,
    pub domain: Domain,
    /// What "auto" is asked for; mechanisms of other names have options of their own.
    pub asked: Asked,
    pub assumptions: Vec<String>,
}

impl PublicFacts {
    /// The mechanism of a fit: `named`, or without one the choice of "auto", each after private scales or not. None
    /// leaves scales to "auto", and is no for every other mechanism. `loss` is the catalogued one; None: a user's own.
    /// Constant features are left out of everything.
    pub fn choice(
        &self,
        named: Option<Box<dyn Mechanism>>,
        scale: Option<bool>,
        loss: Option<&dyn Loss>,
    ) -> Result<Choice> {
        let varying = Varying::of(&self.bounds, self.n_features, &self.domain)?;
        let mut row_norm = self.row_norm;
        if let Some(varying) = &varying {
            // No row of the features that vary is longer.
            row_norm = row_norm.map(|norm| norm.min((varying.n_features() as f64).sqrt()));
        }
        let (bounds, domain, n_features) = match &varying {
            Some(varying) => (varying.bounds(), varying.domain(), varying.n_features()),
            None => (&self.bounds, &self.domain, self.n_features),
        };
        let facts = Facts {
            claim: self.claim(),
            n_features,
            bounds,
            row_norm,
            intercept: self.intercept,
            target: self.target,
            domain,
            asked: self.asked,
            loss,
        };
        let choice = match named {
            None => auto(&facts, scale.unwrap_or(true))?,
            Some(inner) => Choice {
                mechanism: match scale {
                    Some(true) => Box::new(PrivateScale::new(inner, &facts)?),
                    _ => inner,
                },
                row_norm,
                reason: None,
            },
        };
        Ok(match varying {
            Some(varying) => Choice {
                mechanism: varying.around(choice.mechanism),
                ..choice
            },
            None => choice,
        })
    }

    /// How records are clipped and scaled for a mechanism that was chosen, and a bound on the margins of its models,
    /// for the table of a user's loss.
    pub fn schema(&self, choice: &Choice) -> Result<(Schema, f64)> {
        let (mechanism, row_norm) = (choice.mechanism.as_ref(), choice.row_norm);
        let (p, target, intercept) = (self.n_features, self.target, self.intercept);
        let geometry = mechanism.geometry(&self.domain, intercept, row_norm)?;
        let bounds = self.bounds.clone();
        let mut schema = Schema::new(p, bounds, geometry, target, intercept, row_norm)?;
        if let Some(largest) = self.max_weight {
            schema = schema.with_max_weight(largest)?;
        }
        let reach = mechanism.margin_bound(&self.domain, p, intercept, target)?;
        self.claim().validate()?;
        Ok((schema, reach))
    }

    /// The statement that a plan is made for; within a search, about a part of its records. The loss of counts is put
    /// in the unit of their rates, and the residual bound is its own.
    pub fn problem(
        &self,
        schema: Schema,
        loss: Admitted,
        choice: &Choice,
        within: Option<&SearchFacts>,
    ) -> Result<Problem> {
        let (n, person) = (self.n_samples, self.records_per_person);
        let loss = match (loss.task(), self.target.units()) {
            (Task::Counts, Some(units)) => {
                Poisson::new(units, self.residual_bound.unwrap_or(COUNT_CLAMP))?.into()
            }
            _ => loss,
        };
        Ok(Problem {
            statement: match within {
                Some(search) => search.part(schema, n)?,
                None => Statement::new(schema, n, self.adjacency, person)?,
            },
            loss,
            residual_bound: self.residual_bound,
            spread: None,
            opens: false,
            epsilon: self.epsilon,
            delta: self.delta,
            reason: choice.reason,
            assumptions: self.assumptions.clone(),
        })
    }

    fn claim(&self) -> PrivacyClaim {
        PrivacyClaim {
            n_samples: self.n_samples,
            epsilon: self.epsilon,
            delta: self.delta,
            adjacency: self.adjacency,
            records_per_person: self.records_per_person,
        }
    }
}
