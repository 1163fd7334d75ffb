//! Middle and spread of the targets of few records: histograms of ever smaller windows.

use std::borrow::Cow;
use std::sync::Arc;

use super::spread::{Laws, NARROW, Posterior, Seen, Shares, Zero, in_records};
use crate::accounting::event::Event;
use crate::error::Result;
use crate::plan::defaults::{
    HISTOGRAM_NOISE, MOST_SHARE, TARGET_NOISE, TARGET_SHARE, TARGET_WINDOWS, WINDOW_REACH,
};
use crate::privacy::{Planned, Question, Session, Statement, Target};
use crate::question::{Bins, TargetHistogram, Window};

/// [`TARGET_WINDOWS`] histograms of the targets, all of them with the same noise: each one of the window where those
/// before it leave the targets, so that bounds may be far wider than these are spread. Where they are as wide as the
/// bounds all windows are the whole of these, and the histograms tell together what one would for the same budget.
#[derive(Debug)]
pub(super) struct TargetWindows(Question<TargetHistogram>);

/// The numbers in the bins of a window.
type Numbers = (Window, Vec<f64>);

impl TargetWindows {
    /// With as little noise as a zCDP budget is worth; None where it hides the targets.
    pub fn new(statement: &Arc<Statement>, rho: f64) -> Result<Option<Self>> {
        let multiplier = |share: f64| 1.0 / (2.0 * share * rho).sqrt();
        let of = |multiplier: f64| statement.target_histogram(multiplier, Bins::FineAndWide);
        // Of a multiplier of 1, in units of n: noise is in proportion to the multiplier.
        let noise = of(1.0)?.noise() / statement.n_samples() as f64;
        let [fine, sure] = TARGET_NOISE.map(|noise_wanted| noise_wanted / noise);
        let together = (fine.max(multiplier(MOST_SHARE))).min(sure.max(multiplier(TARGET_SHARE)));
        if together * noise > HISTOGRAM_NOISE {
            return Ok(None);
        }
        of(together * (TARGET_WINDOWS as f64).sqrt()).map(|each| Some(Self(each)))
    }

    pub fn planned(&self) -> Planned {
        self.0.times(TARGET_WINDOWS)
    }

    pub fn events(&self) -> impl Iterator<Item = (Event, u64)> {
        let times = |&(event, count): &(Event, u64)| (event, count * TARGET_WINDOWS);
        self.0.events().iter().map(times)
    }

    /// The middle, and about one standard deviation of the targets, if they are normal.
    pub fn release(&self, session: &mut Session<'_>) -> Result<(f64, f64)> {
        // Most counts that are at no other place than 0 and a large bound are all 0.
        let within = match self.0.statement().schema().target() {
            Target::Counts { high, .. } if high > 1.0 => Laws::within(),
            _ => Laws::within_or_at_ends(),
        };
        let around = Laws::around();
        let mut window = self.whole();
        let mut all: Vec<Numbers> = Vec::new();
        // Of the histograms in turn, in units of the window: as long as it stays they do.
        let mut shares: Vec<Cow<'static, Shares>> = Vec::new();
        loop {
            let noisy = session.ask(&self.0, window)?;
            all.push((window, in_records(&noisy, self.0.unit())));
            let laws = if window == self.whole() {
                within
            } else {
                around
            };
            for &(of, _) in &all[shares.len()..] {
                let bins = self.0.bins();
                shares.push(if of == window {
                    Cow::Borrowed(laws.own_shares(bins))
                } else {
                    Cow::Owned(laws.shares(bins, |place| window.place(of.at(place))))
                });
            }
            let found = self.found(laws, &all, &shares, window);
            let middle = window.at(found.mean);
            if all.len() as u64 == TARGET_WINDOWS {
                let spread = window.half() * found.spread.max(NARROW);
                return Ok((middle.clamp(-1.0, 1.0), spread));
            }
            let reach = WINDOW_REACH * window.half() * found.deviation;
            let next = self.whole().around(middle, reach);
            if next != window {
                shares.clear();
            }
            window = next;
        }
    }

    /// All that targets can be: counts are not negative.
    fn whole(&self) -> Window {
        match self.0.statement().schema().target() {
            Target::Counts { .. } => Window::ALL.around(0.5, 0.5),
            _ => Window::ALL,
        }
    }

    /// What all histograms tell together, in units of a window, in which the laws have these shares.
    fn found(
        &self,
        laws: &Laws,
        all: &[Numbers],
        shares: &[Cow<'_, Shares>],
        window: Window,
    ) -> Posterior {
        let statement = self.0.statement();
        let zero = match statement.schema().target() {
            Target::Interval { low, high } | Target::Counts { low, high, .. } => {
                Zero::of((low, high)).seen_from(window, self.whole())
            }
            Target::Classes | Target::Multiclass { .. } => Zero::Elsewhere,
        };
        let seen = all.iter().zip(shares).map(|((_, noisy), shares)| Seen {
            shares,
            noisy,
            sigma: self.0.noise(),
        });
        let seen: Vec<Seen<'_>> = seen.collect();
        laws.posterior(&seen, statement.n_samples() as f64, zero)
    }
}
