//! A vertex per round, drawn by the softmax of a running sum of costs (Jain & Thakurta 2014, section 5.2;
//! [`crate::theory_of_privacy::softmax`]).

use serde::{Deserialize, Serialize};

use super::release::Witness;
use crate::accounting::event::Adjacency;
use crate::certificate::ledger::{Entry, Ledger};
use crate::certificate::owner::Owner;
use crate::certificate::{Certificate, Terms};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{ExponentialMechanism, InverseTemperature};
use crate::numeric::allocate::filled;
use crate::question::{RunningPlan, UNIT};
use crate::schema::Bounds;

/// A stream at work: the running sum stays in here.
pub struct RunningSoftmax {
    state: State,
    owner: Owner,
}

/// Everything that a stream needs to go on. `sums` is private data.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    format: String,
    plan: RunningPlan,
    seed: Option<u64>,
    restorations: u64,
    round: u64,
    choice: usize,
    sums: Vec<i64>,
}

/// Name and version of the JSON format.
const FORMAT: &str = "dpsparse-secret-online-state-1";

/// The generator of one round: fresh from the operating system, or a function of the seed and of the round, so that a
/// restored stream goes on as the original would.
fn source(seed: Option<u64>, round: u64) -> Result<Source> {
    seed.map_or_else(Source::secure, |seed| {
        Ok(Source::seeded(
            seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17),
        ))
    })
}

impl RunningSoftmax {
    /// Round 0: a uniform vertex, which costs nothing. All rounds are committed to the ledger now. A `seed` makes the
    /// stream reproducible and **not private**.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Randomness`]; what the ledger refuses.
    pub fn new(plan: RunningPlan, seed: Option<u64>, ledger: &mut dyn Ledger) -> Result<Self> {
        let mut stream = Self {
            state: State {
                format: FORMAT.into(),
                seed,
                restorations: 0,
                round: 0,
                choice: 0,
                sums: filled(plan.n_features, 0)?,
                plan,
            },
            owner: Owner::default(),
        };
        ledger.commit(&Entry {
            certificate: stream.certificate(),
            records_per_person: 1,
            release: None,
        })?;
        let p = stream.state.plan.n_features;
        stream.state.choice = source(seed, 0)?.below(p as u128) as usize;
        Ok(stream)
    }

    /// Adds the costs of one round, clipped to the bound, and draws the vertex of the next.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] past the horizon; [`Error::InvalidData`] for a vector of another length or entries
    /// that are not finite; [`Error::UnsoundMechanism`] in a process that was forked from the stream's; all before
    /// anything is spent or changed. [`Error::Randomness`] after the round was counted.
    pub fn update(&mut self, costs: &[f64]) -> Result<usize> {
        self.owner.check(
            "this learner",
            "save its state there, and go on from it in one process",
        )?;
        let state = &mut self.state;
        if state.round >= state.plan.horizon {
            return Err(Error::BudgetExceeded(format!(
                "the horizon of {} updates is used up; a longer stream needs a larger horizon from the start",
                state.plan.horizon
            )));
        }
        if costs.len() != state.sums.len() {
            return Err(Error::InvalidData(format!(
                "cost_vector must hold one cost per feature ({})",
                state.sums.len()
            )));
        }
        if costs.iter().any(|cost| !cost.is_finite()) {
            return Err(Error::InvalidData(
                "cost_vector contains NaN or infinity".into(),
            ));
        }
        // The plan holds it: it is counted before it is drawn.
        state.round += 1;
        for (sum, cost) in state.sums.iter_mut().zip(costs) {
            // |cost/R| <= 1, so the product is exact but for the division.
            let share = (cost / state.plan.bound).clamp(-1.0, 1.0);
            *sum += (share * UNIT as f64).round() as i64;
        }
        let temperature = InverseTemperature::new(state.plan.epsilon0(), state.plan.sensitivity())?;
        let mut source = source(state.seed, state.round)?;
        let mechanism = ExponentialMechanism::new(&state.sums, &temperature, Vec::new())?;
        state.choice = mechanism.draw(&mut source);
        Ok(state.choice)
    }

    /// The vertex of the current round: released.
    pub fn choice(&self) -> usize {
        self.state.choice
    }

    /// Rounds seen.
    pub fn round(&self) -> u64 {
        self.state.round
    }

    /// The public facts.
    pub fn plan(&self) -> &RunningPlan {
        &self.state.plan
    }

    /// Whether all randomness comes from the operating system.
    pub fn is_secure(&self) -> bool {
        self.state.seed.is_none()
    }

    /// What all rounds of the horizon cost, whether or not they were seen: the released vertices may decide when a
    /// stream ends, and a sum of as many events as there were rounds holds for numbers that were fixed beforehand only
    /// ([`crate::theory_of_privacy::softmax`]).
    pub fn certificate(&self) -> Certificate {
        let plan = &self.state.plan;
        let unit = match plan.adjacency {
            Adjacency::ReplaceOne => "the cost vector of one round, replaced by another",
            Adjacency::AddRemove => {
                "the cost vector of one round, present or replaced by zeros (rounds stay public)"
            }
        };
        let mut assumptions = vec![
            "the bound, the number of features, the horizon and the times of the updates are public".into(),
            "costs may depend on released weights and on other costs of the stream, but each person stands behind one \
             round only"
                .into(),
            "running time is outside the guarantee".into(),
        ];
        if self.restorations() > 0 {
            assumptions.push(
                "of every saved state only one copy was continued: rounds of other copies cost as much again".into(),
            );
        }
        let terms = Terms {
            mechanism: plan.describe(),
            claim: (plan.epsilon, plan.delta),
            adjacency: plan.adjacency,
            unit: unit.into(),
            n_samples: plan.horizon as usize,
            n_features: plan.n_features,
            bounds: Bounds {
                lower: vec![-plan.bound],
                upper: vec![plan.bound],
            },
            row_norm: None,
            target: None,
            assumptions,
            secure: self.is_secure(),
            certified: true,
        };
        Certificate::new(terms, vec![(plan.event, plan.horizon)], &Witness::new())
    }

    /// How often the stream was restored from a saved state.
    pub fn restorations(&self) -> u64 {
        self.state.restorations
    }

    /// Everything that [`Self::from_secret_json`] needs to go on. **The text holds the running sum of the costs: it is
    /// private data, not a release.** Keep it as you keep the costs.
    pub fn to_secret_json(&self) -> String {
        // Strings, integers and finite floats always serialise.
        serde_json::to_string(&self.state).unwrap_or_default()
    }

    /// Goes on from a saved state, its rounds counted. Every copy that goes on spends the rounds that are left again;
    /// the certificate is that of one run.
    ///
    /// # Errors
    /// Text that is not such a state, or one that no stream can reach.
    pub fn from_secret_json(text: &str) -> Result<Self> {
        let unreadable = || Error::invalid("text", "is not the saved state of an online learner");
        let mut state: State = serde_json::from_str(text).map_err(|_| unreadable())?;
        let most = state.round.min(1 << 31) as i64 * UNIT;
        let reachable = state.format == FORMAT
            && state.round <= state.plan.horizon
            && state.choice < state.plan.n_features
            && state.sums.len() == state.plan.n_features
            && state
                .sums
                .iter()
                .all(|sum| sum.unsigned_abs() <= most.unsigned_abs());
        if !reachable {
            return Err(unreadable());
        }
        state.restorations = state.restorations.saturating_add(1);
        Ok(Self {
            state,
            owner: Owner::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::MemoryLedger;

    fn plan(adjacency: Adjacency, epsilon0: f64) -> RunningPlan {
        RunningPlan::new(3, 2000, 2.0, adjacency, (3001.0, 1e-6), epsilon0).unwrap()
    }

    fn opened(plan: RunningPlan, seed: u64) -> RunningSoftmax {
        RunningSoftmax::new(plan, Some(seed), &mut MemoryLedger::default()).unwrap()
    }

    /// The law of a round is softmax(-sum x/lambda) of clipped costs: chi-square with 2 degrees of freedom, 1 - 1e-6
    /// quantile 27.6.
    #[test]
    fn rounds_follow_the_law() {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
            let lambda = plan(adjacency, 1.5).regularisation();
            let factor = if adjacency == Adjacency::ReplaceOne {
                4.0
            } else {
                2.0
            };
            assert_eq!(lambda, factor * 2.0 / 1.5);
            let mut counts = [0.0; 3];
            let n = 30_000;
            for seed in 0..n {
                let mut stream = opened(plan(adjacency, 1.5), seed);
                stream.update(&[1.0, -0.5, 0.0]).unwrap();
                counts[stream.update(&[0.0, 7.0, -1.0]).unwrap()] += 1.0;
            }
            let weights = [1.0f64, 1.5, -1.0].map(|cost| (-cost / lambda).exp());
            let total: f64 = weights.iter().sum();
            let statistic: f64 = weights
                .iter()
                .zip(counts)
                .map(|(w, count)| {
                    let expected = w / total * n as f64;
                    (count - expected) * (count - expected) / expected
                })
                .sum();
            assert!(statistic < 27.6, "{statistic}");
        }
    }

    #[test]
    fn states_are_checked_and_keep_their_rounds() {
        let mut stream = opened(plan(Adjacency::ReplaceOne, 0.5), 4);
        assert_eq!((stream.is_secure(), stream.restorations()), (false, 0));
        assert!(!stream.certificate().verify()); // seeded
        for _ in 0..1999 {
            stream.update(&[1.0, 0.0, -3.0]).unwrap();
        }
        let json = stream.to_secret_json();
        let choice = format!("\"choice\":{}", stream.choice());
        let mut back = RunningSoftmax::from_secret_json(&json).unwrap();
        assert_eq!(
            (back.round(), back.choice(), back.restorations()),
            (1999, stream.choice(), 1)
        );
        // Copies are told of where there may be some.
        let assumptions = |stream: &RunningSoftmax| {
            stream
                .certificate()
                .to_json()
                .contains("only one copy was continued")
        };
        assert!(assumptions(&back) && !assumptions(&stream));
        let costs = [0.5, 0.25, 0.125];
        assert_eq!(back.update(&costs).unwrap(), stream.update(&costs).unwrap());
        for stream in [&mut back, &mut stream] {
            assert!(matches!(
                stream.update(&costs),
                Err(Error::BudgetExceeded(_))
            ));
        }
        let mut ended = RunningSoftmax::from_secret_json(&back.to_secret_json()).unwrap();
        assert!(matches!(
            ended.update(&costs),
            Err(Error::BudgetExceeded(_))
        ));
        for (from, to) in [
            ("\"round\":1999", "\"round\":2001"),
            ("\"round\":1999", "\"round\":3"),
            (choice.as_str(), "\"choice\":3"),
            ("\"bound\":2.0", "\"bound\":0.0"),
            (
                "\"kind\":\"exponential\",\"epsilon0\"",
                "\"kind\":\"pure\",\"epsilon\"",
            ),
            ("secret", "public"),
        ] {
            assert!(json.contains(from));
            assert!(
                RunningSoftmax::from_secret_json(&json.replace(from, to)).is_err(),
                "{to}"
            );
        }
    }

    /// Costs add up in units of the bound, each clipped to it; the sums say which of two vertices is the cheaper one.
    #[test]
    fn costs_add_up() {
        let mut stream = opened(plan(Adjacency::ReplaceOne, 0.5), 4);
        for costs in [[1.0, -0.5, 9.0], [0.25, -9.0, 0.0]] {
            stream.update(&costs).unwrap();
        }
        let shares = stream
            .state
            .sums
            .iter()
            .map(|&sum| sum as f64 / UNIT as f64);
        assert_eq!(shares.collect::<Vec<_>>(), [0.625, -1.25, 1.0]);
    }

    /// Every round draws by itself: without costs its vertices are uniform. Chi-square as above.
    #[test]
    fn rounds_draw_afresh() {
        for seed in [Some(1), None] {
            let plan = plan(Adjacency::ReplaceOne, 0.5);
            let mut stream = RunningSoftmax::new(plan, seed, &mut MemoryLedger::default()).unwrap();
            let mut counts = [0.0; 3];
            for _ in 0..2000 {
                counts[stream.update(&[0.0; 3]).unwrap()] += 1.0;
            }
            let expected = 2000.0 / 3.0;
            let statistic: f64 = (counts.iter())
                .map(|count: &f64| (count - expected).powi(2) / expected)
                .sum();
            assert!(statistic < 27.6, "{statistic}");
        }
    }

    /// All rounds keep the claim, are committed before the first, and are what is certified at any time: vertices may
    /// say when to stop.
    #[test]
    fn rounds_are_paid_for() {
        let (adjacency, epsilon0) = (Adjacency::AddRemove, 0.5);
        let claim = (0.6, 1e-6);
        let plan = |horizon| RunningPlan::new(3, horizon, 2.0, adjacency, claim, epsilon0);
        assert!(plan(1).is_ok() && plan(2).is_err());
        let mut ledger = MemoryLedger::default();
        let plan = RunningPlan::new(3, 100, 2.0, adjacency, (51.0, 1e-6), epsilon0).unwrap();
        let event = *plan.event();
        let mut stream = RunningSoftmax::new(plan, None, &mut ledger).unwrap();
        assert!(stream.is_secure() && stream.certificate().verify());
        assert_eq!(ledger.entries()[0].events(), [(event, 100)]);
        for round in 0..3 {
            assert_eq!(stream.round(), round);
            assert_eq!(stream.certificate(), ledger.entries()[0].certificate);
            stream.update(&[1.0, 0.0, 0.5]).unwrap();
        }
    }

    /// A public size that memory does not hold is refused before anything is spent: taking it would end the process.
    #[test]
    fn more_features_than_memory_holds_are_refused() {
        let p = u32::MAX as usize;
        if crate::numeric::allocate::room(p, 8).is_ok() {
            return; // this machine has them
        }
        let plan = RunningPlan::new(p, 10, 1.0, Adjacency::AddRemove, (6.0, 0.0), 0.5).unwrap();
        let mut ledger = MemoryLedger::default();
        let refused = RunningSoftmax::new(plan, None, &mut ledger);
        assert!(matches!(refused.err(), Some(Error::TooLarge { .. })));
        assert!(ledger.entries().is_empty());
    }

    /// Rounds of one seed, and one round of several seeds, have generators of their own.
    #[test]
    fn no_two_rounds_of_seeds_share_a_generator() {
        let mut first = std::collections::BTreeSet::new();
        for seed in 0..16 {
            for round in 0..16 {
                first.insert(source(Some(seed), round).unwrap().below(1 << 100));
            }
        }
        assert_eq!(first.len(), 256);
    }
}
