//! Whether a certificate holds: what it cost, where its randomness came from, and that its facts agree.

use serde_json::Value;

use super::{Certificate, checksum};
use crate::accounting::accountant::Accountant;
use crate::error::{Error, Result};
use crate::schema::Target;

impl Certificate {
    /// Recomputes the claim from the events: true when they cost at most the claimed (epsilon, delta), the mechanism is
    /// one that is proved, all randomness came from the operating system, and the contents are those that were written
    /// and do not contradict each other. The text says which of them is not so.
    pub fn verify(&self) -> bool {
        self.objections().is_empty()
    }

    /// That the events are what the release cost, and so may be added to others: all that [`Self::verify`] asks except
    /// where the randomness came from, of which a sum says what its certificates say.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] for a release without a proof, [`Error::InvalidArgument`] for contents that are not
    /// those that were written, or that contradict each other.
    pub(crate) fn countable(&self) -> Result<()> {
        let &Self { certified, .. } = self;
        if !certified {
            return Err(Error::UnsoundMechanism(
                "no guarantee is proved for this release: its cost has no bound, and was not added"
                    .into(),
            ));
        }
        match self.contradictions().into_iter().next() {
            None => Ok(()),
            Some(problem) => Err(Error::invalid(
                "certificate",
                format!("does not say what the release cost, and was not added: {problem}"),
            )),
        }
    }

    /// Why there is no guarantee; empty where there is one.
    pub(super) fn objections(&self) -> Vec<String> {
        let mut objections = Vec::new();
        let mut unless = |holds: bool, otherwise: &str| {
            if !holds {
                objections.push(otherwise.to_string());
            }
        };
        unless(
            self.certified,
            "this calibration is not proved; it is for reproduction only",
        );
        unless(
            self.secure,
            "the randomness of this run was seeded, not drawn from the operating system",
        );
        objections.extend(self.contradictions());
        objections
    }

    /// Why its contents cannot be believed; empty where they can.
    fn contradictions(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.intact() {
            found.push("this certificate was changed after it was written".into());
        }
        match self.consistent() {
            Err(error) => found.push(format!("this certificate contradicts itself: {error}")),
            Ok(accountant) => {
                let costs = accountant.delta(self.claimed_epsilon);
                if !costs.is_ok_and(|delta| delta <= self.claimed_delta) {
                    found.push("what was spent costs more than what is claimed".into());
                }
            }
        }
        found
    }

    /// Whether the contents are those that the checksum was written for.
    pub(super) fn intact(&self) -> bool {
        self.checksum == self.sum()
    }

    /// The checksum of the contents.
    pub(super) fn sum(&self) -> String {
        // A plain tree of strings and numbers always serialises; null would meet no checksum that was written.
        let mut contents = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(fields) = &mut contents {
            fields.remove("checksum");
        }
        format!("{:016x}", checksum::of(&contents))
    }

    /// What was spent, if nothing stated contradicts itself.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `certificate`, or a parameter of an event.
    pub(super) fn consistent(&self) -> Result<Accountant> {
        let require = |holds: bool, what: &str| {
            if holds {
                Ok(())
            } else {
                Err(Error::invalid("certificate", format!("must have {what}")))
            }
        };
        let sorted = |low: f64, high: f64| low.is_finite() && high.is_finite() && low <= high;
        let (epsilon, delta) = self.claim();
        require(
            epsilon > 0.0 && epsilon.is_finite(),
            "a positive, finite epsilon",
        )?;
        require(
            (0.0..1.0).contains(&delta),
            "a delta of at least 0 and below 1",
        )?;
        require(self.n_samples > 0, "a positive number of samples")?;
        require(self.n_features > 0, "a positive number of features")?;
        for (text, name) in [
            (&self.mechanism, "a mechanism"),
            (&self.unit, "a unit"),
            (&self.version, "a version"),
        ] {
            require(!text.trim().is_empty(), name)?;
        }
        require(
            self.row_norm
                .is_none_or(|norm| norm > 0.0 && norm.is_finite()),
            "a positive, finite row norm or none",
        )?;
        require(
            self.bounds.fits(self.n_features),
            "bounds for all features or one pair",
        )?;
        require(
            (0..self.n_features.min(self.bounds.n_pairs())).all(|j| {
                let (low, high) = self.bounds.of(j);
                sorted(low, high)
            }),
            "finite bounds, the lower one first",
        )?;
        if let Some(Target::Interval { low, high }) = self.target {
            require(
                sorted(low, high) && low < high,
                "finite bounds of y, the lower one first",
            )?;
        }
        if let Some(Target::Counts { low, high, unit }) = self.target {
            require(
                sorted(low, high) && 0.0 <= low && low < high && unit > 0.0 && unit.is_finite(),
                "finite bounds of counts, the lower one first and not negative",
            )?;
        }
        require(
            self.target.is_none() || !self.events.is_empty(),
            "events for a fit: none spends nothing",
        )?;
        for spent in &self.events {
            let adjacency = spent.event.objective().map(|o| o.adjacency());
            require(
                adjacency.is_none_or(|adjacency| adjacency == self.adjacency),
                "events of its own adjacency",
            )?;
        }
        self.accountant()
    }
}
