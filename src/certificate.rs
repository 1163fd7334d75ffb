//! The certificate of a release: what it cost, what it assumes, and how anyone checks it.

use serde::{Deserialize, Serialize};

use crate::accounting::accountant::Accountant;
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::schema::{Bounds, Target};

/// Some events of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpentEvent {
    /// What was released.
    pub event: Event,
    /// How often.
    pub count: u64,
}

/// The facts from which anyone can recompute the privacy of a release, and the assumptions that they rest on.
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
    mechanism: String,
    claimed_epsilon: f64,
    claimed_delta: f64,
    events: Vec<SpentEvent>,
    adjacency: Adjacency,
    unit: String,
    n_samples: usize,
    bounds: Bounds,
    row_norm: Option<f64>,
    // None for a stream of costs and for ranges of features; the field itself must be there.
    #[serde(deserialize_with = "Option::deserialize")]
    target: Option<Target>,
    assumptions: Vec<String>,
    secure: bool,
    certified: bool,
}

/// Name and version of the JSON format.
const FORMAT: &str = "dpsparse-certificate-1";

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
    /// What `terms` state and `events` cost.
    pub(crate) fn new(terms: Terms, events: Vec<(Event, u64)>) -> Self {
        Self {
            format: FORMAT.into(),
            mechanism: terms.mechanism,
            claimed_epsilon: terms.claim.0,
            claimed_delta: terms.claim.1,
            events: (events.into_iter())
                .map(|(event, count)| SpentEvent { event, count })
                .collect(),
            adjacency: terms.adjacency,
            unit: terms.unit,
            n_samples: terms.n_samples,
            bounds: terms.bounds,
            row_norm: terms.row_norm,
            target: terms.target,
            assumptions: terms.assumptions,
            secure: terms.secure,
            certified: terms.certified,
        }
    }

    /// The certificate of a release that was made from several others, about the same people, and from answers that
    /// spent `events`: their costs are added up. What the parts assume is assumed here, once.
    ///
    /// # Errors
    /// No parts; parts of different neighbours or units; events that do not compose.
    pub fn composed(
        parts: &[Self],
        events: &[(Event, u64)],
        mechanism: String,
        (claimed_epsilon, claimed_delta): (f64, f64),
        n_samples: usize,
    ) -> Result<Self> {
        let (first, others) = parts
            .split_first()
            .ok_or_else(|| Error::invalid("parts", "must hold at least one certificate"))?;
        let mut composed = Self {
            mechanism,
            claimed_epsilon,
            claimed_delta,
            n_samples,
            ..first.clone()
        };
        for part in others {
            if part.adjacency != first.adjacency || part.unit != first.unit {
                return Err(Error::invalid(
                    "parts",
                    "must be about the same neighbours and units",
                ));
            }
            composed.events.extend(part.events.iter().cloned());
            composed.secure &= part.secure;
            composed.certified &= part.certified;
            if part.row_norm != first.row_norm {
                composed.row_norm = None;
            }
            for assumption in &part.assumptions {
                if !composed.assumptions.contains(assumption) {
                    composed.assume(assumption.as_str());
                }
            }
        }
        let spent = |&(event, count): &(Event, u64)| SpentEvent { event, count };
        composed.events.extend(events.iter().map(spent));
        composed.events = (composed.accountant()?.events().iter().map(spent)).collect();
        Ok(composed)
    }

    /// Adds an assumption that the caller made, such as a label set taken for public.
    pub fn assume(&mut self, assumption: impl Into<String>) {
        self.assumptions.push(assumption.into());
    }

    fn accountant(&self) -> Result<Accountant> {
        let mut accountant = Accountant::new();
        for spent in &self.events {
            accountant.add(spent.event, spent.count)?;
        }
        Ok(accountant)
    }

    /// The least epsilon proved at this delta; infinite for a release that is not certified.
    ///
    /// # Errors
    /// `delta` outside (0, 1).
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        let epsilon = self.accountant()?.epsilon(delta)?;
        Ok(if self.certified {
            epsilon
        } else {
            f64::INFINITY
        })
    }

    /// The least delta proved at this epsilon; 1 for a release that is not certified.
    ///
    /// # Errors
    /// `epsilon` negative or not finite.
    pub fn delta(&self, epsilon: f64) -> Result<f64> {
        let delta = self.accountant()?.delta(epsilon)?;
        Ok(if self.certified { delta } else { 1.0 })
    }

    /// Recomputes the claim from the events: true when they cost at most the claimed (epsilon, delta) and the
    /// mechanism is one that is proved. Whether the randomness was secure is a separate fact,
    /// [`Certificate::secure`].
    pub fn verify(&self) -> bool {
        self.certified
            && self
                .delta(self.claimed_epsilon)
                .is_ok_and(|delta| delta <= self.claimed_delta)
    }

    /// (epsilon, delta) as asked for.
    pub fn claim(&self) -> (f64, f64) {
        (self.claimed_epsilon, self.claimed_delta)
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

    /// The public bounds of the features.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
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

    /// Reads a certificate back.
    ///
    /// # Errors
    /// Text that is not a certificate of this format, or events outside their domains.
    pub fn from_json(text: &str) -> Result<Self> {
        let certificate: Self = serde_json::from_str(text).map_err(|error| {
            Error::invalid(
                "certificate",
                format!("is not readable JSON of a certificate: {error}"),
            )
        })?;
        if certificate.format != FORMAT {
            return Err(Error::invalid(
                "certificate",
                format!("must have the format {FORMAT:?}"),
            ));
        }
        certificate.accountant()?;
        Ok(certificate)
    }
}

impl std::fmt::Display for Certificate {
    /// The certificate in words.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (epsilon, delta) = self.claim();
        if self.certified {
            writeln!(
                f,
                "({epsilon}, {delta:.3e})-differential privacy under {} neighbours",
                self.adjacency
            )?;
        } else {
            writeln!(
                f,
                "NO GUARANTEE: this calibration is not proved; it is for reproduction only"
            )?;
        }
        if !self.secure {
            writeln!(
                f,
                "NO GUARANTEE FOR THIS RUN: its randomness was seeded, not drawn from the operating system"
            )?;
        }
        writeln!(f, "  protects   {}", self.unit)?;
        writeln!(f, "  mechanism  {}", self.mechanism)?;
        for spent in &self.events {
            writeln!(
                f,
                "  spent      {} times: {}",
                spent.count,
                spent.event.describe()
            )?;
        }
        let side = |values: &[f64]| match values {
            [one] => one.to_string(),
            many => format!("{} values", many.len()),
        };
        writeln!(
            f,
            "  bounds     lower {}, upper {}",
            side(&self.bounds.lower),
            side(&self.bounds.upper)
        )?;
        for assumption in &self.assumptions {
            writeln!(f, "  assumes    {assumption}")?;
        }
        Ok(())
    }
}
