use std::sync::Arc;

use crate::accounting::event::Adjacency;
use crate::error::{Error, Result};
use crate::loss::{Admitted, Growth, Poisson, Task};
use crate::plan::defaults::{
    CLASSIFIER_CURVATURE, CLASSIFIER_DISTANCE, CLASSIFIER_FLATNESS, CLASSIFIER_MARGIN,
    CLASSIFIER_RADIUS, LEAST_RIDGE, REGRESSOR_CURVATURE, REGRESSOR_DISTANCE, REGRESSOR_FLATNESS,
    REGRESSOR_MARGIN, REGRESSOR_RADIUS, REGRESSOR_SPREAD, RESIDUAL_BOUND,
};
use crate::plan::{Domain, PrivacyClaim};
use crate::polytope::Selectable;
use crate::privacy::{Claim, RoomModel, Schema, Statement, Target};
use crate::theory::Landscape;

/// The public statement of a private fit: everything that a plan may depend on.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The public facts of the records.
    pub statement: Arc<Statement>,
    /// The loss.
    pub loss: Admitted,
    /// Clamp of the slope of a loss that nothing else bounds (squared), in scaled units; None: 2. For counts the bound
    /// of the loss, where it was given.
    pub residual_bound: Option<f64>,
    /// About how far targets of a regression lie from their middle, one standard deviation if they were normal, in
    /// scaled units, where that was released; None: nothing is known.
    pub spread: Option<f64>,
    /// Whether features are clipped farther out than where noise is large, and it may be better there.
    pub opens: bool,
    /// Privacy parameter epsilon.
    pub epsilon: f64,
    /// Privacy parameter delta; None: min(1/n^2, 1e-6), for replace-one only.
    pub delta: Option<f64>,
    /// Why this mechanism was chosen, where a rule chose it: plans and certificates say so.
    pub reason: Option<&'static str>,
    /// What the caller vouches for beside what every release assumes, such as a label set taken for public.
    pub assumptions: Vec<String>,
}

impl Problem {
    /// Bounds, scaling, target, intercept.
    pub fn schema(&self) -> &Schema {
        self.statement.schema()
    }

    /// Number of records (under add-remove: the public normaliser `n_public`).
    pub fn n_samples(&self) -> usize {
        self.statement.n_samples()
    }

    /// Neighbouring relation.
    pub fn adjacency(&self) -> Adjacency {
        self.statement.adjacency()
    }

    /// How many records one person may own.
    pub fn records_per_person(&self) -> usize {
        self.statement.records_per_person() as usize
    }

    /// delta, after all checks of public parameters.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `epsilon`, `delta`, `records_per_person`, `residual_bound`, `loss`
    /// or the number of samples.
    pub fn validate(&self) -> Result<f64> {
        let delta = self.claim().validate()?;
        let (target, name) = (self.schema().target(), self.loss.name());
        if self.loss.task() == Task::Classification && !target.is_classes() {
            let problem = format!("{name:?} is for two classes or more, not for regression");
            return Err(Error::invalid("loss", problem));
        }
        if (self.loss.task() == Task::Counts) != matches!(target, Target::Counts { .. }) {
            let problem = format!(
                "{name:?} does not fit the targets: \"poisson\" is for counts, as of PrivateSparsePoissonRegressor, and \
                 counts are for no other loss"
            );
            return Err(Error::invalid("loss", problem));
        }
        self.model()?;
        Ok(delta)
    }

    /// What is asked for, and for whom.
    pub fn claim(&self) -> PrivacyClaim {
        PrivacyClaim {
            n_samples: self.n_samples(),
            epsilon: self.epsilon,
            delta: self.delta,
            adjacency: self.adjacency(),
            records_per_person: self.records_per_person(),
        }
    }

    /// What a release of this problem claims.
    pub(crate) fn room_claim(&self, mechanism: &str) -> Result<Claim> {
        let reason = self.reason.map(|reason| format!(" (auto: {reason})"));
        let mut assumptions = self.assumptions.clone();
        if self.loss.catalogued().is_none() {
            assumptions.push("the user's loss was chosen without looking at the data".into());
        }
        Ok(Claim {
            epsilon: self.epsilon,
            delta: self.validate()?,
            mechanism: format!("{mechanism}{}", reason.unwrap_or_default()),
            assumptions,
        })
    }

    /// L: the bound on the slopes of the loss, or their clamp.
    pub fn lipschitz(&self) -> f64 {
        match self.loss.growth() {
            Growth::Bounded { linf, .. } => linf,
            Growth::SquaredResidual => self.residual_bound.unwrap_or(RESIDUAL_BOUND),
        }
    }

    /// The loss as the room uses it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `residual_bound` for a clamp that is not positive and finite, or one for a
    /// loss that needs none.
    pub fn model(&self) -> Result<RoomModel> {
        match self.loss.growth() {
            // It has become the bound of the loss.
            _ if self.loss.task() == Task::Counts => self.room_model(None),
            Growth::Bounded { .. } => self.room_model(self.residual_bound),
            Growth::SquaredResidual => self.clamped(self.lipschitz()),
        }
    }

    /// The loss as the room uses it, with slopes clamped at `clamp` where nothing else bounds them.
    ///
    /// # Errors
    /// As [`Problem::model`].
    pub fn clamped(&self, clamp: f64) -> Result<RoomModel> {
        match self.loss.growth() {
            Growth::Bounded { .. } => self.room_model(None),
            Growth::SquaredResidual => self.room_model(Some(clamp)),
        }
    }

    /// The level of the pinball loss; None: another loss.
    pub fn level(&self) -> Option<f64> {
        let pinball = self.loss.name() == "pinball";
        pinball.then(|| self.loss.parameter().map_or(0.5, |(_, level)| level))
    }

    /// The threshold of Huber's loss; None: another loss.
    pub fn threshold(&self) -> Option<f64> {
        let huber = self.loss.name() == "huber";
        huber.then(|| self.lipschitz())
    }

    /// The same problem with slopes of counts clamped at `bound`, in units of rates.
    ///
    /// # Errors
    /// As [`Poisson::new`]; targets that are no counts.
    pub(crate) fn of_counts(&self, bound: f64) -> Result<Self> {
        let units = self.schema().target().units();
        let units = units.ok_or_else(|| Error::invalid("y_bounds", "must be those of counts"))?;
        Ok(Self {
            loss: Poisson::new(units, bound)?.into(),
            ..self.clone()
        })
    }

    fn room_model(&self, clamp: Option<f64>) -> Result<RoomModel> {
        RoomModel::for_target(&self.loss, clamp, self.schema().target())
    }

    /// K, the number of scores of a record.
    pub fn outputs(&self) -> usize {
        self.schema().target().outputs()
    }

    /// Curvature of the mean loss per unit of smoothness and squared reach: a public constant, see
    /// [`defaults`](crate::plan::defaults).
    pub fn curvature(&self) -> f64 {
        match self.schema().target() {
            Target::Classes | Target::Multiclass { .. } => CLASSIFIER_CURVATURE,
            Target::Interval { .. } | Target::Counts { .. } => REGRESSOR_CURVATURE,
        }
    }

    /// beta, of a softmax model 1/2 (Boehning 1992), or L for a user's own loss, whose second derivative nothing
    /// bounds.
    pub fn smoothness(&self) -> f64 {
        if self.outputs() > 1 {
            return 0.5;
        }
        let smoothness = self.loss.smoothness();
        if smoothness.is_finite() {
            smoothness
        } else {
            self.lipschitz()
        }
    }

    /// R2: the Euclidean bound of a scaled row, the intercept included; features that do not vary are 0.
    pub fn row_bound(&self) -> f64 {
        self.statement.row_bound()
    }

    /// The Euclidean bound of what a record adds to a gradient, per unit of its slope.
    pub fn gradient_bound(&self) -> f64 {
        self.statement.gradient_bound()
    }

    /// The least ridge of the public rules, in scaled units, for rows no longer than `rows`: the proved number of steps
    /// of the minimiser stays below 1e7.
    pub fn least_ridge(&self, rows: f64) -> f64 {
        let records = match self.adjacency() {
            Adjacency::ReplaceOne => 1.0,
            // They may be 16 times as many as announced, which doubles the margin left.
            Adjacency::AddRemove => 8.0,
        };
        records * LEAST_RIDGE * self.smoothness() * rows * rows
    }

    /// What the public rules of mechanisms with Euclidean noise take the mean loss to look like.
    pub fn landscape(&self) -> Landscape {
        let (flatness, least, margin) = match self.schema().target() {
            Target::Classes | Target::Multiclass { .. } => {
                (CLASSIFIER_FLATNESS, CLASSIFIER_DISTANCE, CLASSIFIER_MARGIN)
            }
            Target::Interval { .. } => (REGRESSOR_FLATNESS, REGRESSOR_DISTANCE, REGRESSOR_MARGIN),
            Target::Counts { .. } => (CLASSIFIER_FLATNESS, REGRESSOR_DISTANCE, CLASSIFIER_MARGIN),
        };
        // Models are as large as targets are spread.
        let size = (self.spread).map_or(1.0, |spread| spread / REGRESSOR_SPREAD);
        let bound = self.smoothness() * self.gradient_bound().powi(2);
        // Records span no more directions than there are records.
        let directions = self.schema().n_columns().min(self.n_samples()) as f64;
        Landscape {
            columns: self.schema().n_columns() as f64,
            trace: self.curvature() * bound,
            floor: flatness * bound / self.schema().n_columns() as f64,
            distance: size * least.max(margin * directions.sqrt() / self.gradient_bound()),
        }
    }

    /// The ball of a domain that selection works on; no radius means the public default.
    ///
    /// # Errors
    /// As [`Domain::polytope`].
    pub fn polytope(&self, domain: &Domain, radius: Option<f64>) -> Result<Selectable> {
        let schema = self.schema();
        let default = Self::default_radius(schema.target());
        let (p, intercept) = (schema.n_features(), schema.has_intercept());
        match self.outputs() {
            1 => domain.polytope(p, intercept, radius, default),
            outputs => domain.polytope_of_scores(outputs, p, intercept, radius, default),
        }
    }

    /// The public default radius for a target.
    pub fn default_radius(target: Target) -> f64 {
        match target {
            Target::Classes | Target::Multiclass { .. } => CLASSIFIER_RADIUS,
            Target::Interval { .. } | Target::Counts { .. } => REGRESSOR_RADIUS,
        }
    }
}
