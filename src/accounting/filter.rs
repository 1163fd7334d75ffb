//! A privacy filter: whether one more release keeps a total that was fixed beforehand, where each release may be chosen
//! after all earlier ones.
//!
//! Composition theorems speak of events whose parameters were fixed in advance. Whoever looks at one release and then
//! decides what to ask next, at which epsilon, needs a filter: a rule that stops in time on every path.
//!
//! **The rule.** Fixed at the start: epsilon, delta, one order a, a reserve r = delta/2 for failures, and the most that
//! the Renyi divergence of order a may add up to, R, such that R(a) <= R implies (epsilon, delta - r). A release is
//! admitted where after it the failures add up to at most r and
//!
//! 1. the pure epsilons add up to at most epsilon, or
//! 2. the Renyi divergences of order a add up to at most R;
//!
//! and the first release of all is admitted too where it keeps (epsilon, delta) by the tight accountant, but where
//! neither 1 nor 2 holds as well nothing is admitted after it.
//!
//! **Proof.** Sums only grow, so on every path one of the two held to the end, unless the first release was the only
//! one. That one was chosen before anything was released, so the accountant's bound stands. Else let M be what the rule
//! lets through, without failures, and M' what it would let through by 2 alone. Where 1 held to the end the loss is at
//! most epsilon: such paths add nothing to E (1 - exp(epsilon - loss))+, the delta of M at epsilon. On all others 2
//! held to the end, hence at every step before it; M' takes the same path with the same probability and loss. So delta
//! of M is at most that of M'. Under the law of the output, exp((a-1)(loss so far - divergences so far)) is a
//! supermartingale, since each divergence is fixed before its release is drawn; they add up to at most R, so E
//! exp((a-1) loss) <= exp((a-1) R): M' has divergence at most R and delta at most delta - r (Feldman & Zrnic 2021 and
//! Lecuyer 2021 have this filter for Renyi divergences). Failures add at most the most that their probabilities add up
//! to on a path, r.
//!
//! The order is that at which Gaussian noise that used all of the budget would be converted best, so for such noise the
//! filter loses against the optimal Renyi conversion only what the reserve costs: 2.5 % of epsilon at delta 1e-6.

use std::cell::Cell;

use super::accountant::Accountant;
use super::calibrate::{gaussian_sigma, rho_from_epsilon};
use super::event::Event;
use crate::error::{Error, Result, positive};
use crate::numeric::directed::{add_up, count_up, down, mul_up, sub_down};
use crate::numeric::search::minimum;

/// A total guarantee, and what releases have used of it.
///
/// ```
/// use dpsparse::accounting::{event::Event, filter::Filter};
/// let mut filter = Filter::new(1.0, 1e-6)?;
/// for _ in 0..4 {
///     filter.add(&[(Event::pure(0.25)?, 1)])?;
/// }
/// assert!(filter.add(&[(Event::pure(1e-3)?, 1)]).is_err());
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    epsilon: f64,
    delta: f64,
    /// a and R; None at delta 0, where only pure releases pass.
    renyi: Option<(f64, f64)>,
    used: Used,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Used {
    releases: u64,
    pure: f64,
    divergence: f64,
    failures: f64,
}

impl Filter {
    /// A total of (epsilon, delta); at delta 0 for pure releases alone.
    ///
    /// # Errors
    /// `epsilon` not positive or not finite, `delta` negative, or 1 or more.
    pub fn new(epsilon: f64, delta: f64) -> Result<Self> {
        positive("epsilon", epsilon)?;
        if !(0.0..1.0).contains(&delta) {
            return Err(Error::invalid("delta", "must be at least 0 and below 1"));
        }
        let renyi = (delta > 0.0)
            .then(|| budget(epsilon, delta - reserve(delta)))
            .transpose()?;
        let used = Used {
            releases: 0,
            pure: 0.0,
            divergence: 0.0,
            failures: 0.0,
        };
        Ok(Self {
            epsilon,
            delta,
            renyi,
            used,
        })
    }

    /// (epsilon, delta) of all releases together.
    pub fn total(&self) -> (f64, f64) {
        (self.epsilon, self.delta)
    }

    /// How many releases were admitted.
    pub fn releases(&self) -> u64 {
        self.used.releases
    }

    /// Admits one more release, all of whose events are fixed before it begins, or changes nothing.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] where the total would not be kept; events out of their domains, or counts of 0.
    pub fn add(&mut self, events: &[(Event, u64)]) -> Result<()> {
        let mut release = Accountant::new();
        for (event, count) in events {
            release.add(*event, *count)?;
        }
        let used = self.after(events);
        let tight = self.used.releases == 0 && release.delta(self.epsilon)? <= self.delta;
        if !(self.within(&used) || tight) {
            return Err(Error::BudgetExceeded(self.refusal(&release)?));
        }
        self.used = used;
        Ok(())
    }

    /// The largest epsilon for which a next release of (epsilon, `delta`) would pass, if it were pure at `delta` 0 and
    /// of Gaussian noise else; 0 where none would.
    ///
    /// # Errors
    /// `delta` negative, or 1 or more.
    pub fn remaining(&self, delta: f64) -> Result<f64> {
        let mut accountant = Accountant::new();
        accountant.epsilon(delta)?; // checks it
        if self.used.failures > reserve(self.delta) {
            return Ok(0.0); // a first release took more than the reserve: nothing passes after it
        }
        let left = self
            .renyi
            .map(|(order, most)| (order, sub_down(most, self.used.divergence).max(0.0)));
        let added = match self.used.pure.is_finite() {
            true => sub_down(self.epsilon, self.used.pure).max(0.0),
            false => 0.0,
        };
        let pure = added.max(left.map_or(0.0, |(order, left)| pure_within(order, left)));
        let Some((order, left)) = left.filter(|_| delta > 0.0) else {
            return Ok(pure);
        };
        // What is left of the divergence, as a ratio of sensitivity and standard deviation.
        let mut ratio = (2.0 * left / order).sqrt();
        if self.used.releases == 0 {
            ratio = ratio.max(1.0 / gaussian_sigma(1.0, self.epsilon, self.delta)?);
        }
        if ratio == 0.0 {
            return Ok(pure);
        }
        let noise = Event::gaussian(1.0, 1.0 / down(ratio, 1e-12))?;
        Ok(accountant.add(noise, 1)?.epsilon(delta)?.max(pure))
    }

    fn after(&self, events: &[(Event, u64)]) -> Used {
        let mut used = self.used;
        used.releases += 1;
        for &(event, count) in events {
            let times = |x: f64| {
                if x == 0.0 {
                    0.0
                } else {
                    mul_up(count_up(count), x)
                }
            };
            if let Event::Failure { delta } = event {
                used.failures = add_up(used.failures, times(delta));
                continue;
            }
            let pure = event.pure_epsilon().unwrap_or(f64::INFINITY);
            used.pure = add_up(used.pure, times(pure));
            if let Some((order, _)) = self.renyi {
                used.divergence = add_up(used.divergence, times(event.renyi(order)));
            }
        }
        used
    }

    /// Rules 1 and 2. What is infinite is above every limit, and stays so.
    fn within(&self, used: &Used) -> bool {
        let renyi = (self.renyi).is_some_and(|(_, most)| used.divergence <= most);
        used.failures <= reserve(self.delta) && (used.pure <= self.epsilon || renyi)
    }

    fn refusal(&self, release: &Accountant) -> Result<String> {
        let (epsilon, delta) = self.total();
        let asked = release.epsilon(delta)?;
        let asked = match asked.is_finite() {
            true => format!("of epsilon {asked:.4}"),
            false => "without a guarantee".into(),
        };
        let left = self.remaining(delta)?;
        Ok(format!(
            "a release {asked} at delta {delta:e} does not fit the budget of epsilon {epsilon} at delta {delta:e}: \
             {} releases leave room for epsilon {left:.4}",
            self.used.releases
        ))
    }
}

/// The part of delta that failures may use. What is left of delta is exact and above 0: half of the least positive
/// number rounds to 0, and of some next to it up.
fn reserve(delta: f64) -> f64 {
    delta / 2.0
}

/// The largest pure epsilon whose divergence of this order is at most `most`, about.
fn pure_within(order: f64, most: f64) -> f64 {
    if most == 0.0 {
        return 0.0;
    }
    let fits = |epsilon: f64| Event::pure(epsilon).is_ok_and(|event| event.renyi(order) <= most);
    let mut low = 0.0;
    // Divergences of a pure release are at most its epsilon, and near it where that is large.
    let mut high = 2.0 * most + 2.0;
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match fits(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// An order and the divergence of that order that implies (epsilon, delta), rounded down.
fn budget(epsilon: f64, delta: f64) -> Result<(f64, f64)> {
    let rho = rho_from_epsilon(epsilon, delta)?;
    // epsilon = R + ln(1 - 1/a) - (ln delta + ln a)/(a - 1): the conversion that the accountant proves.
    let price = |order: f64| {
        let excess = order - 1.0;
        (-1.0 / order).ln_1p() - (delta.ln() + order.ln()) / excess
    };
    let cost = |log_excess: f64| {
        let order = 1.0 + log_excess.exp();
        rho * order + price(order)
    };
    let guess = (0.5 * (-delta.ln() / rho).ln()).clamp(-10.0, 25.0);
    // Where it stands: the search gives the least value alone. Any order is valid.
    let best = Cell::new((f64::INFINITY, guess));
    let kept = |at: f64| {
        let value = cost(at);
        if value < best.get().0 {
            best.set((value, at));
        }
        value
    };
    minimum(kept, guess, (-10.0, 25.0), 1e-6);
    let order = 1.0 + best.get().1.exp();
    Ok((
        order,
        epsilon - price(order) - 1e-12 * (epsilon + price(order).abs()),
    ))
}

#[cfg(test)]
mod tests;
