//! Streams of costs: their public facts, and what a round costs.

use serde::{Deserialize, Serialize};

use crate::accounting::accountant::keeps;
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::selection::InverseTemperature;

/// A cost of the size of the bound, as an integer: 2^30. Sums over fewer than 2^31 rounds stay below 2^61.
pub(crate) const UNIT: i64 = 1 << 30;

/// The public facts of a stream, and what one round costs.
///
/// Costs x_t with |x_t|_inf <= bound = R become integers round(x_t 2^30/R); after round t the vertex e_a is drawn with
/// probability proportional to exp(-eta q_a/(2 D)), q the exact integer sum of all costs so far.
///
/// **Neighbours**: the cost vector of one round is replaced by another (replace-one) or by zeros (add-remove; the round
/// itself is public). **Sensitivity**: one summand changes, so q moves by at most D = 2 2^30, or 2^30, in every
/// coordinate and round. **Privacy**: every draw is the exponential mechanism of
/// [`crate::theory_of_privacy::selection`], of bounded range eta, given everything released before; T rounds compose
/// adaptively at a parameter fixed beforehand, also where costs answer to released weights. In JT's terms lambda = 2 D
/// R/(2^30 eta): 4 R/eta, or 2 R/eta.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PlanData")]
pub struct RunningPlan {
    pub(crate) n_features: usize,
    pub(crate) horizon: u64,
    pub(crate) bound: f64,
    pub(crate) adjacency: Adjacency,
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    pub(crate) event: Event,
}

/// A plan as data, field for field: read data are what was written, or no plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanData {
    n_features: usize,
    horizon: u64,
    bound: f64,
    adjacency: Adjacency,
    epsilon: f64,
    delta: f64,
    event: Event,
}

impl TryFrom<PlanData> for RunningPlan {
    type Error = Error;

    fn try_from(data: PlanData) -> Result<Self> {
        Self {
            n_features: data.n_features,
            horizon: data.horizon,
            bound: data.bound,
            adjacency: data.adjacency,
            epsilon: data.epsilon,
            delta: data.delta,
            event: data.event,
        }
        .checked()
    }
}

impl RunningPlan {
    /// A stream of at most `horizon` rounds, each of bounded range `epsilon0`, for a claim of (epsilon, delta).
    ///
    /// # Errors
    /// A parameter out of its domain.
    pub fn new(
        n_features: usize,
        horizon: u64,
        bound: f64,
        adjacency: Adjacency,
        claim: (f64, f64),
        epsilon0: f64,
    ) -> Result<Self> {
        let (epsilon, delta) = claim;
        let event = Event::exponential(epsilon0)?;
        Self {
            n_features,
            horizon,
            bound,
            adjacency,
            epsilon,
            delta,
            event,
        }
        .checked()
    }

    fn checked(self) -> Result<Self> {
        if self.n_features == 0 || u32::try_from(self.n_features).is_err() {
            return Err(Error::invalid(
                "n_features",
                "must be positive and below 2^32",
            ));
        }
        if self.horizon == 0 || self.horizon >= 1 << 31 {
            return Err(Error::invalid("horizon", "must be positive and below 2^31"));
        }
        if !(1e-100..=1e100).contains(&self.bound) {
            return Err(Error::invalid(
                "bound",
                "must be positive, between 1e-100 and 1e100",
            ));
        }
        InverseTemperature::new(self.epsilon0(), self.sensitivity())?;
        keeps(&[(self.event, self.horizon)], (self.epsilon, self.delta))?;
        Ok(self)
    }

    pub(crate) fn epsilon0(&self) -> f64 {
        match self.event {
            Event::Exponential { epsilon0 } => epsilon0,
            _ => f64::NAN, // refused by `checked`
        }
    }

    pub(crate) fn sensitivity(&self) -> u64 {
        match self.adjacency {
            Adjacency::ReplaceOne => 2 * UNIT.unsigned_abs(),
            Adjacency::AddRemove => UNIT.unsigned_abs(),
        }
    }

    /// lambda of the entropic regularisation, in the units of the costs.
    pub fn regularisation(&self) -> f64 {
        2.0 * (self.sensitivity() as f64 / UNIT as f64) * self.bound / self.epsilon0()
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// T, the number of rounds that the budget holds.
    pub fn horizon(&self) -> u64 {
        self.horizon
    }

    /// R, to which costs are clipped.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Neighbouring relation.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// epsilon of all rounds together.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// delta of all rounds together.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The event of one round.
    pub fn event(&self) -> &Event {
        &self.event
    }

    pub(crate) fn describe(&self) -> String {
        format!("online-ftrl over the simplex, {} rounds", self.horizon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans that are read keep their claim, as those that are made do.
    #[test]
    fn plans_that_are_read_are_checked() {
        let plan = RunningPlan::new(3, 10, 1.0, Adjacency::AddRemove, (6.0, 0.0), 0.5).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<RunningPlan>(&text).unwrap(), plan);
        for (from, to) in [
            ("\"epsilon0\":0.5", "\"epsilon0\":900.0"),
            ("\"epsilon\":6.0", "\"epsilon\":4.0"),
            ("\"bound\":1.0", "\"bound\":-1.0"),
            ("\"bound\":1.0", "\"bound\":0.0"),
            ("\"horizon\":10", "\"horizon\":0"),
            ("\"n_features\":3", "\"n_features\":0"),
            ("\"n_features\":3", "\"n_features\":4000000000000"),
            ("\"n_features\":3", "\"more\":1,\"n_features\":3"),
        ] {
            assert!(text.contains(from), "{text}");
            let read = serde_json::from_str::<RunningPlan>(&text.replace(from, to));
            assert!(read.is_err(), "{to}");
        }
    }
}
