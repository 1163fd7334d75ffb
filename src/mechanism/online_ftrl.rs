use crate::accounting::calibrate::calibrate;
use crate::accounting::event::{Adjacency, Event};
use crate::certificate::Certificate;
use crate::error::{Result, fraction, positive};
use crate::privacy::{Ledger, RunningPlan, RunningSoftmax};

/// Private follow-the-regularised-leader over the simplex (Jain & Thakurta 2014, section 5.2;
/// [`crate::theory_of_privacy::softmax`]): after every round one vertex, drawn by the softmax of minus the summed costs
/// over lambda.
///
/// The proof of its privacy stands at [`RunningPlan`]; lambda is the least that the accountant allows for `horizon`
/// events (the paper's R sqrt(8 T ln(1/delta))/epsilon is its leading order).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnlineFtrl {
    /// Privacy parameter epsilon of all rounds together.
    pub epsilon: f64,
    /// Privacy parameter delta of all rounds together.
    pub delta: f64,
    /// T: updates that the budget holds.
    pub horizon: u64,
    /// Number of features.
    pub n_features: usize,
    /// Public bound on the absolute value of a cost; larger ones are clipped.
    pub bound: f64,
    /// Neighbouring relation: a round's costs are replaced, or present or not.
    pub adjacency: Adjacency,
}

impl OnlineFtrl {
    /// Calibrates the rounds, before any cost.
    ///
    /// ```
    /// use dpsparse::mechanism::OnlineFtrl;
    /// use dpsparse::privacy::MemoryLedger;
    /// use dpsparse::accounting::event::Adjacency;
    /// let ftrl = OnlineFtrl {
    ///     epsilon: 1.0, delta: 1e-6, horizon: 100, n_features: 8, bound: 1.0, adjacency: Adjacency::ReplaceOne,
    /// };
    /// let mut learner = ftrl.start(None, &mut MemoryLedger::default())?;
    /// learner.update(&[0.5; 8])?;
    /// assert!(learner.vertex() < 8 && learner.round() == 1);
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// A parameter out of its domain.
    pub fn plan(&self) -> Result<RunningPlan> {
        positive("epsilon", self.epsilon)?;
        fraction("delta", self.delta)?;
        let claim = (self.epsilon, self.delta);
        let with = |epsilon0: f64| {
            let (p, horizon, bound) = (self.n_features, self.horizon, self.bound);
            RunningPlan::new(p, horizon, bound, self.adjacency, claim, epsilon0)
        };
        if self.horizon == 0 {
            // Nothing to calibrate: the plan says what is wrong.
            return with(1.0);
        }
        let (horizon, bracket) = (self.horizon, (1e-12, 1000.0));
        let epsilon0 = calibrate(
            Event::exponential,
            horizon,
            self.epsilon,
            self.delta,
            bracket,
        )?;
        with(epsilon0)
    }

    /// Plans, commits all rounds to the ledger, and draws the first vertex, which costs nothing. A `seed` makes the
    /// stream reproducible and **not private**.
    ///
    /// # Errors
    /// As [`Self::plan`]; [`Error::Randomness`](crate::error::Error::Randomness); what the ledger refuses.
    pub fn start(&self, seed: Option<u64>, ledger: &mut dyn Ledger) -> Result<OnlineSimplex> {
        Ok(OnlineSimplex {
            stream: RunningSoftmax::new(self.plan()?, seed, ledger)?,
        })
    }
}

/// An online learner at work.
pub struct OnlineSimplex {
    stream: RunningSoftmax,
}

impl OnlineSimplex {
    /// The costs of the round that the current vertex was for; then draws the next vertex.
    ///
    /// # Errors
    /// As [`RunningSoftmax::update`].
    pub fn update(&mut self, costs: &[f64]) -> Result<()> {
        self.stream.update(costs).map(|_| ())
    }

    /// The current vertex: all weight on this feature.
    pub fn vertex(&self) -> usize {
        self.stream.choice()
    }

    /// Updates so far.
    pub fn round(&self) -> u64 {
        self.stream.round()
    }

    /// The public facts.
    pub fn plan(&self) -> &RunningPlan {
        self.stream.plan()
    }

    /// Whether all randomness comes from the operating system.
    pub fn is_secure(&self) -> bool {
        self.stream.is_secure()
    }

    /// How often the learner was restored from a saved state.
    pub fn restorations(&self) -> u64 {
        self.stream.restorations()
    }

    /// A bound on the expected regret over the whole horizon, against costs that do not see the current vertex
    /// beforehand: bound (12) of the paper with explicit constants, lambda ln p + T R^2/(2 lambda) + T R 2^-29.
    ///
    /// With W_t = sum_a exp(-X_t,a/lambda), X_t the summed costs: ln(W_t/W_t-1) = ln E exp(-x_t,a/lambda) <= -E
    /// x_t,a/lambda + R^2/(2 lambda^2) by Hoeffding's lemma, and ln(W_T/W_0) >= -min X_T/lambda - ln p. Rounding moves
    /// a cost by at most R 2^-31 and a little, on both sides of the difference. Costs beyond the bound count as
    /// clipped.
    pub fn regret_bound(&self) -> f64 {
        let plan = self.plan();
        let (lambda, r, t) = (plan.regularisation(), plan.bound(), plan.horizon() as f64);
        let p = plan.n_features() as f64;
        lambda * p.ln() + t * r * r / (2.0 * lambda) + t * r * 2f64.powi(-29)
    }

    /// Everything needed to go on elsewhere. **Private data, not a release**: see [`RunningSoftmax::to_secret_json`].
    pub fn to_secret_json(&self) -> String {
        self.stream.to_secret_json()
    }

    /// Goes on from a saved state; see [`RunningSoftmax::from_secret_json`].
    ///
    /// # Errors
    /// Text that is not such a state, or a state whose rounds cost more than they claim.
    pub fn from_secret_json(text: &str) -> Result<Self> {
        let stream = RunningSoftmax::from_secret_json(text)?;
        Ok(Self { stream })
    }

    /// What all rounds of the horizon cost: see [`RunningSoftmax::certificate`].
    pub fn certificate(&self) -> Certificate {
        self.stream.certificate()
    }
}
