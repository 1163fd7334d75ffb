use super::lattice::{LatticeNoise, power_of_two_below};
use super::noisy_minimiser::MinimiserFacts;
use crate::accounting::calibrate::{calibrate, calibrate_events};
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::exact::selection::{LARGEST_SCORE, MinkowskiSelection, Summand};
use crate::loss::Loss;
use crate::numeric::directed::{add_up, div_up, mul_up, sqrt_up};
use crate::numeric::linear::norm2;
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::fine_gradient::FineGradient;
use crate::privacy::ledger::Budget;
use crate::privacy::minimiser::{Objective, Start, minimise};

/// How the minimisers theta(s) = argmin mean loss + (ridge/2)|theta|^2 + <s, theta> leave at public s, |s|_2 <= a
/// public bound (MECHANISMS M6): sensitivity, noise and events, all before any data.
///
/// **Sensitivity.** At the same s the objectives of neighbours differ by at most c m L R2/n in gradient, c = 2 under
/// replace-one and 1 under add-remove, and both are ridge-strongly convex; what the room holds is within e of the
/// minimiser, whatever it started from. So D2 = c m L R2/(n ridge) + 2 e, the same at every s. s is public: it comes
/// from earlier answers alone.
///
/// **Release**: theta(s) on a lattice with Gaussian noise, sqrt(p) lattice units added to D2. **Choice**: a vertex of a
/// Minkowski sum at theta(s) rounded to a lattice h, |d|_2 <= D2/h + sqrt(p) units ([`MinkowskiSelection`]).
#[derive(Debug, Clone)]
pub struct DualPlan {
    facts: MinimiserFacts,
    tilt_bound: f64,
    noise: LatticeNoise,
    choice: Option<Choice>,
    events: Vec<(Event, u64)>,
}

#[derive(Debug, Clone)]
struct Choice {
    /// h.
    lattice: f64,
    selection: MinkowskiSelection,
    event: Event,
}

/// Lattice units per unit of D2/sqrt(p): rounding adds a thousandth.
const FINENESS: f64 = 1000.0;

/// D2.
fn sensitivity(facts: &MinimiserFacts, tilt_bound: f64) -> Result<f64> {
    if !(facts.ridge.is_finite() && facts.ridge > 0.0) {
        return Err(Error::invalid(
            "ridge",
            "must be positive: theta(s) of an objective that is not strongly convex may jump between neighbours \
             (MECHANISMS M6)",
        ));
    }
    let error = facts.objective(tilt_bound, None).distance(facts.columns);
    let sensitivity = add_up(facts.shift(), mul_up(2.0, error));
    if !(1e-100..1e100).contains(&sensitivity) {
        return Err(Error::invalid(
            "alpha",
            "is too large for this ridge: theta(s) leaves the range of floating point",
        ));
    }
    Ok(sensitivity)
}

impl DualPlan {
    /// `n_iter` releases, by the exact Gaussian curve. `facts.alpha` is not used.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a ridge that is not positive or noise beyond what the exact sampler takes.
    pub fn noisy_iterates(
        facts: MinimiserFacts,
        tilt_bound: f64,
        n_iter: u64,
        epsilon: f64,
        delta: f64,
    ) -> Result<Self> {
        let sensitivity = sensitivity(&facts, tilt_bound)?;
        let make = |multiplier| Event::gaussian(1.0, multiplier);
        let multiplier = calibrate(make, n_iter, epsilon, delta, (1e-3, 1e9))?;
        let noise = Self::noise(&facts, sensitivity, multiplier)?;
        Ok(Self {
            facts,
            tilt_bound,
            events: vec![(noise.events()[0].0, n_iter)],
            noise,
            choice: None,
        })
    }

    /// `n_iter` choices of a vertex of the sum of `summands` over the first `n_features` columns, then one release,
    /// which takes the share `release_share` of the zCDP of the whole.
    ///
    /// # Errors
    /// As [`DualPlan::noisy_iterates`], and those of [`MinkowskiSelection::new`].
    #[allow(clippy::too_many_arguments)]
    pub fn selection(
        facts: MinimiserFacts,
        tilt_bound: f64,
        summands: Vec<Summand>,
        n_features: usize,
        n_iter: u64,
        release_share: f64,
        epsilon: f64,
        delta: f64,
    ) -> Result<Self> {
        let sensitivity = sensitivity(&facts, tilt_bound)?;
        let one_choice = |rho: f64| rho * (1.0 - release_share) / n_iter as f64;
        let ratio = |rho: f64| (2.0 * rho * release_share).sqrt();
        let events = |rho: f64| -> Result<Vec<(Event, u64)>> {
            Ok(vec![
                (Event::zero_concentrated(one_choice(rho))?, n_iter),
                (Event::gaussian(1.0, div_up(1.0, ratio(rho)))?, 1),
            ])
        };
        let rho = calibrate_events(events, epsilon, delta, (1e-12, 1e9))?;
        let noise = Self::noise(&facts, sensitivity, div_up(1.0, ratio(rho)))?;
        let root = sqrt_up(n_features as f64);
        let lattice = power_of_two_below(sensitivity / root / FINENESS);
        let moved = add_up(div_up(sensitivity, lattice), root);
        let selection = MinkowskiSelection::new(summands, n_features, moved, one_choice(rho))?;
        let event = Event::zero_concentrated(selection.rho())?;
        Ok(Self {
            facts,
            tilt_bound,
            events: vec![(event, n_iter), (noise.events()[0].0, 1)],
            noise,
            choice: Some(Choice {
                lattice,
                selection,
                event,
            }),
        })
    }

    fn noise(facts: &MinimiserFacts, sensitivity: f64, multiplier: f64) -> Result<LatticeNoise> {
        let root = sqrt_up(facts.columns as f64);
        let lattice = power_of_two_below(sensitivity / root / FINENESS);
        let units = add_up(div_up(sensitivity, lattice), root);
        LatticeNoise::gaussian(lattice, units, multiplier)
    }

    /// The events of the whole.
    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    /// Standard deviation of the noise on an entry of a released theta(s), in scaled units.
    pub fn output_scale(&self) -> f64 {
        self.noise.scale(self.facts.columns)
    }
}

/// Answers at one public s after another. theta(s) stays in here, as the start of the next minimisation.
pub struct DualIterates<'a> {
    plan: &'a DualPlan,
    objective: Objective<'a>,
    gradient: FineGradient<'a>,
    budget: Budget,
    source: &'a mut Source,
    held: Start,
}

impl<'a> DualIterates<'a> {
    /// Ready for the events of the plan.
    ///
    /// # Errors
    /// More records than [`MinimiserFacts::MOST_RECORDS`] times n, another number of columns.
    pub fn new(
        data: &'a BoundedData,
        loss: &'a dyn Loss,
        plan: &'a DualPlan,
        source: &'a mut Source,
    ) -> Result<Self> {
        let facts = &plan.facts;
        if data.n_columns() != facts.columns {
            return Err(Error::invalid("data", "have another number of columns"));
        }
        Ok(Self {
            plan,
            objective: Objective {
                load: facts.load(data)?,
                ..facts.objective(plan.tilt_bound, None)
            },
            gradient: FineGradient::new(data, loss, facts.lipschitz, facts.n_samples),
            budget: Budget::new(&plan.events),
            source,
            held: Start::new(facts.columns),
        })
    }

    /// theta(s) with its noise: spends the event, then draws. s is public, in scaled units, 0 for the intercept.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] where the plan holds no release now, [`Error::InvalidArgument`] for an s that is not
    /// finite, too large or of another length, [`Error::Randomness`].
    pub fn release(&mut self, s: &[f64]) -> Result<Vec<f64>> {
        self.check(s)?;
        let plan = self.plan;
        self.budget.spend(&plan.noise.events()[0].0)?;
        self.source.renew_after_fork()?;
        self.minimise(s)?;
        plan.noise.release(&self.held.theta, self.source)
    }

    /// A vertex of the Minkowski sum, chosen for a large inner product with theta(s): spends the event, then draws.
    ///
    /// # Errors
    /// As [`DualIterates::release`].
    pub fn choose(&mut self, s: &[f64], vertex: &mut [f64]) -> Result<()> {
        self.check(s)?;
        let plan = self.plan;
        let Some(choice) = &plan.choice else {
            return Err(Error::BudgetExceeded("the plan holds no choice".into()));
        };
        self.budget.spend(&choice.event)?;
        self.source.renew_after_fork()?;
        self.minimise(s)?;
        // Half a unit of rounding an entry, on either side; the clamp does not expand.
        let score = |t: &f64| {
            let units = (t / choice.lattice).round() as i64;
            units.clamp(-LARGEST_SCORE, LARGEST_SCORE)
        };
        let scores: Vec<i64> = self.held.theta[..vertex.len()].iter().map(score).collect();
        choice.selection.draw(&scores, self.source, vertex)
    }

    fn check(&self, s: &[f64]) -> Result<()> {
        // A NaN or an infinite entry has no norm below the bound.
        if s.len() != self.held.theta.len() || s.iter().any(|s| !s.is_finite()) {
            return Err(Error::invalid(
                "s",
                "must have one finite entry per column, the intercept included",
            ));
        }
        if norm2(s) > self.plan.tilt_bound {
            return Err(Error::invalid(
                "s",
                "is longer than the plan's public bound",
            ));
        }
        Ok(())
    }

    fn minimise(&mut self, s: &[f64]) -> Result<()> {
        // One of many: the callers look after Ctrl-C between two of them.
        minimise(
            &self.objective,
            &mut self.gradient,
            s,
            &mut self.held,
            &mut || Ok(()),
        )
    }

    /// The events spent, once all are, and whether the randomness was secure.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] where something of the plan is left.
    pub fn finish(self) -> Result<(Vec<(Event, u64)>, bool)> {
        self.budget.finished()?;
        Ok((self.plan.events.clone(), self.source.is_secure()))
    }
}

#[cfg(test)]
mod tests;
