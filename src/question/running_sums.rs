//! Noisy sums of vectors that are made anew in every round: their public facts, and what a round costs.

use super::GaussianSum;
use crate::accounting::accountant::keeps;
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::numeric::directed::mul_up;

/// The largest Euclidean norm of a person's vector, as integers: 2^20. Sums over fewer than 2^31 people stay below
/// 2^51.
pub(crate) const LENGTH: i64 = 1 << 20;

/// The public facts of a run of sums, and what its rounds cost.
///
/// In round t each person has a vector v_i of `n_features` entries, a function of that person's data and of what was
/// released before. It is shortened to the Euclidean norm `norm`, rounded towards zero to multiples of norm/2^20, and
/// the sum leaves with exactly rounded Gaussian noise.
///
/// **Neighbours**: the data of one person are replaced (replace-one), or the person is added or removed.
/// **Sensitivity**: a vector of integers has a norm of at most 2^20, which the room checks in integers; the sum moves
/// by at most 2 2^20, or 2^20. **Privacy**: Gaussian mechanisms of known ratio, composed adaptively by the exact
/// Gaussian curve ([`crate::theory_of_privacy::noisy_gradients`]); what vectors are made by need not be right.
#[derive(Debug, Clone)]
pub struct RunningSumsPlan {
    pub(crate) n_people: usize,
    pub(crate) n_features: usize,
    pub(crate) norm: f64,
    pub(crate) adjacency: Adjacency,
    pub(crate) claim: (f64, f64),
    pub(crate) mechanism: String,
    /// How many rounds have which noise, in order.
    pub(crate) rounds: Vec<(u64, GaussianSum)>,
    pub(crate) events: Vec<(Event, u64)>,
}

impl RunningSumsPlan {
    /// Rounds with noise of so many times the sensitivity: pairs of a count and a multiplier, in order.
    ///
    /// # Errors
    /// A parameter out of its domain; [`Error::UnsoundMechanism`] for rounds that cost more than `claim`.
    pub fn new(
        (n_people, n_features): (usize, usize),
        norm: f64,
        adjacency: Adjacency,
        claim: (f64, f64),
        rounds: &[(u64, f64)],
        mechanism: String,
    ) -> Result<Self> {
        if n_people == 0 || n_people >= 1 << 31 {
            return Err(Error::invalid(
                "n_samples",
                "must be positive and below 2^31",
            ));
        }
        if n_features == 0 || u32::try_from(n_features).is_err() {
            return Err(Error::invalid(
                "n_features",
                "must be positive and below 2^32",
            ));
        }
        if !(1e-100..=1e100).contains(&norm) {
            let problem = "must be positive, between 1e-100 and 1e100";
            return Err(Error::invalid("norm", problem));
        }
        let changed = match adjacency {
            Adjacency::ReplaceOne => 2.0,
            Adjacency::AddRemove => 1.0,
        };
        let sensitivity = mul_up(changed, LENGTH as f64);
        let rounds: Vec<(u64, GaussianSum)> = (rounds.iter())
            .map(|&(count, multiplier)| {
                Ok((
                    count,
                    GaussianSum::new(sensitivity, n_features as f64, multiplier)?,
                ))
            })
            .collect::<Result<_>>()?;
        let events: Vec<(Event, u64)> = (rounds.iter())
            .map(|(count, sum)| Ok((sum.event()?, *count)))
            .collect::<Result<_>>()?;
        keeps(&events, claim)?;
        Ok(Self {
            n_people,
            n_features,
            norm,
            adjacency,
            claim,
            mechanism,
            rounds,
            events,
        })
    }

    /// Number of people (under add-remove: the public stand-in for it).
    pub fn n_people(&self) -> usize {
        self.n_people
    }

    /// Entries of a vector.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The bound on the Euclidean norm of a person's vector.
    pub fn norm(&self) -> f64 {
        self.norm
    }

    /// epsilon and delta of all rounds together.
    pub fn claim(&self) -> (f64, f64) {
        self.claim
    }

    /// The run in words.
    pub fn mechanism(&self) -> &str {
        &self.mechanism
    }

    /// What all rounds cost.
    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    /// Rounds that the budget holds.
    pub fn n_rounds(&self) -> u64 {
        self.rounds.iter().map(|(count, _)| count).sum()
    }

    /// Standard deviation of the noise on an entry of the sum of a round, counted from 0, in the users' units; None:
    /// there is no such round.
    pub fn noise_scale(&self, round: u64) -> Option<f64> {
        let sum = self.noise_of(round)?;
        Some(sum.sigma() * sum.unit() * self.unit())
    }

    pub(crate) fn noise_of(&self, round: u64) -> Option<&GaussianSum> {
        let mut first = 0;
        for (count, sum) in &self.rounds {
            first += count;
            if round < first {
                return Some(sum);
            }
        }
        None
    }

    /// One integer in the users' units.
    pub(crate) fn unit(&self) -> f64 {
        self.norm / LENGTH as f64
    }
}
