//! The certificate of a release: what it cost, what it assumes, and how anyone checks it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::accounting::accountant::Accountant;
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::privacy::Witness;
use crate::schema::{Bounds, Target};

mod check;
mod checksum;
pub mod ledger;
pub(crate) mod owner;
mod text;

/// Some events of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpentEvent {
    /// What was released.
    pub event: Event,
    /// How often.
    pub count: u64,
}

/// The facts from which anyone can recompute the privacy of a release, and the assumptions that they rest on.
///
/// Its checksum binds the facts to each other: events cost what they cost under one neighbour relation, for one unit,
/// with one count of records. It tells slips, not forgers: whoever writes the facts can write their checksum.
///
/// ```
/// # use dpsparse::Certificate;
/// # fn example(certificate: Certificate) -> dpsparse::Result<()> {
/// let again = Certificate::from_json(&certificate.to_json())?;
/// assert_eq!(again, certificate);
/// assert!(again.verify());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    version: String,
    mechanism: String,
    claimed_epsilon: f64,
    claimed_delta: f64,
    events: Vec<SpentEvent>,
    adjacency: Adjacency,
    unit: String,
    n_samples: usize,
    n_features: usize,
    bounds: Bounds,
    // Fields that may be null must be there.
    #[serde(deserialize_with = "Option::deserialize")]
    row_norm: Option<f64>,
    // None for a stream of costs and for ranges of features.
    #[serde(deserialize_with = "Option::deserialize")]
    target: Option<Target>,
    assumptions: Vec<String>,
    secure: bool,
    certified: bool,
    checksum: String,
}

/// Name and version of the JSON format.
const FORMAT: &str = "dpsparse-certificate-2";

/// What a certificate states beside the events: public facts, fixed before any record was read.
pub(crate) struct Terms {
    /// The mechanism in words.
    pub mechanism: String,
    /// (epsilon, delta) as asked for.
    pub claim: (f64, f64),
    pub adjacency: Adjacency,
    /// What is protected as one unit.
    pub unit: String,
    pub n_samples: usize,
    pub n_features: usize,
    pub bounds: Bounds,
    pub row_norm: Option<f64>,
    /// None for a stream of costs and for ranges of features.
    pub target: Option<Target>,
    pub assumptions: Vec<String>,
    /// Whether all randomness came from the operating system.
    pub secure: bool,
    /// Whether the guarantee is proved.
    pub certified: bool,
}

impl Certificate {
    /// What `terms` state and `events` cost. Only the room has a witness that they were asked.
    pub(crate) fn new(terms: Terms, events: Vec<(Event, u64)>, _: &Witness) -> Self {
        let mut certificate = Self {
            format: FORMAT.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            mechanism: terms.mechanism,
            claimed_epsilon: terms.claim.0,
            claimed_delta: terms.claim.1,
            events: (events.into_iter())
                .map(|(event, count)| SpentEvent { event, count })
                .collect(),
            adjacency: terms.adjacency,
            unit: terms.unit,
            n_samples: terms.n_samples,
            n_features: terms.n_features,
            bounds: terms.bounds,
            row_norm: terms.row_norm,
            target: terms.target,
            assumptions: terms.assumptions,
            secure: terms.secure,
            certified: terms.certified,
            checksum: String::new(),
        };
        certificate.checksum = certificate.sum();
        certificate
    }

    /// Adds an assumption that the caller made, such as a label set taken for public.
    pub fn assume(&mut self, assumption: impl Into<String>) {
        let intact = self.intact();
        self.assumptions.push(assumption.into());
        if intact {
            self.checksum = self.sum();
        }
    }

    fn accountant(&self) -> Result<Accountant> {
        let mut accountant = Accountant::new();
        for spent in &self.events {
            accountant.add(spent.event, spent.count)?;
        }
        Ok(accountant)
    }

    /// The least epsilon proved at this delta, of a run with secure randomness; infinite for a release that is not
    /// certified, or where the contents are not those that were written.
    ///
    /// # Errors
    /// `delta` negative, or 1 or more.
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        let epsilon = self.accountant()?.epsilon(delta)?;
        Ok(if self.certified && self.intact() {
            epsilon
        } else {
            f64::INFINITY
        })
    }

    /// The least delta proved at this epsilon, of a run with secure randomness; 1 for a release that is not certified,
    /// or where the contents are not those that were written.
    ///
    /// # Errors
    /// `epsilon` negative or not finite.
    pub fn delta(&self, epsilon: f64) -> Result<f64> {
        let delta = self.accountant()?.delta(epsilon)?;
        Ok(if self.certified && self.intact() {
            delta
        } else {
            1.0
        })
    }

    /// (epsilon, delta) as asked for.
    pub fn claim(&self) -> (f64, f64) {
        (self.claimed_epsilon, self.claimed_delta)
    }

    /// Version of the package that made the release.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The mechanism in words.
    pub fn mechanism(&self) -> &str {
        &self.mechanism
    }

    /// What was spent.
    pub fn events(&self) -> &[SpentEvent] {
        &self.events
    }

    /// Neighbouring relation.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// What is protected as one unit.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Number of records (under add-remove: the public normaliser; of a stream: its horizon).
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The public bounds of the features.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The public bound on the Euclidean norm of a scaled row, if there was one.
    pub fn row_norm(&self) -> Option<f64> {
        self.row_norm
    }

    /// The public bounds of y; None for classes, and where there is no y.
    pub fn y_bounds(&self) -> Option<(f64, f64)> {
        match self.target {
            Some(Target::Interval { low, high } | Target::Counts { low, high, .. }) => {
                Some((low, high))
            }
            Some(Target::Classes | Target::Multiclass { .. }) | None => None,
        }
    }

    /// What the guarantee assumes.
    pub fn assumptions(&self) -> &[String] {
        &self.assumptions
    }

    /// Whether all randomness came from the operating system. Without it there is no guarantee.
    pub fn secure(&self) -> bool {
        self.secure
    }

    /// Whether the guarantee is proved.
    pub fn certified(&self) -> bool {
        self.certified
    }

    /// JSON text that [`Certificate::from_json`] reads back to an equal certificate.
    pub fn to_json(&self) -> String {
        // A plain tree of strings and finite numbers always serialises.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads a certificate back. One whose contents are not those that were written is read too, but does not
    /// [`verify`](Certificate::verify).
    ///
    /// # Errors
    /// Text that is not a certificate of this format, events outside their domains, or contents that contradict each
    /// other.
    pub fn from_json(text: &str) -> Result<Self> {
        let unreadable = |error: serde_json::Error| {
            Error::invalid(
                "certificate",
                format!("is not readable JSON of a certificate: {error}"),
            )
        };
        let written: Value = serde_json::from_str(text).map_err(unreadable)?;
        match written.get("format").and_then(Value::as_str) {
            Some(FORMAT) => {}
            Some("dpsparse-certificate-1") => {
                return Err(Error::invalid(
                    "certificate",
                    format!(
                        "has the format \"dpsparse-certificate-1\", which does not bind its facts to each other and is \
                         read no more; {FORMAT:?} is needed"
                    ),
                ));
            }
            _ => {
                return Err(Error::invalid(
                    "certificate",
                    format!("must have the format {FORMAT:?}"),
                ));
            }
        }
        let certificate: Self = serde_json::from_str(text).map_err(unreadable)?;
        // Lists in the place of objects are read by position: refused, with whatever else would be written otherwise.
        let again = serde_json::to_value(&certificate).map_err(unreadable)?;
        if checksum::of(&again) != checksum::of(&written) {
            return Err(Error::invalid(
                "certificate",
                "must be written as to_json writes it, objects as objects",
            ));
        }
        certificate.consistent()?;
        Ok(certificate)
    }
}

#[cfg(test)]
mod tests;
