//! What every mechanism does, and mechanisms by name.

use serde::de::DeserializeOwned;

use super::CATALOGUE;
use crate::error::{Error, Result};
use crate::plan::{Domain, Plan, Problem};
use crate::privacy::{Geometry, Target};

/// A mechanism with its options, before it knows the public statement of a fit.
pub trait Mechanism: std::fmt::Debug + Send + Sync {
    /// How it scales features: uncentred where it uses the Euclidean norm of a row
    /// ([`crate::theory_of_privacy::frank_wolfe`]).
    ///
    /// # Errors
    /// A norm that it does not take, or a `row_norm` that it does not use.
    fn geometry(
        &self,
        domain: &Domain,
        intercept: bool,
        row_norm: Option<f64>,
    ) -> Result<Geometry> {
        let _ = (domain, intercept, row_norm);
        Ok(Geometry::Uncentred)
    }

    /// A bound on |<theta, x>| over the models that it considers, for the table of a user's loss
    /// ([`crate::theory_of_privacy::records`]).
    ///
    /// # Errors
    /// A norm or radius that it does not take.
    fn margin_bound(
        &self,
        domain: &Domain,
        n_features: usize,
        intercept: bool,
        target: Target,
    ) -> Result<f64>;

    /// Whether it uses records through noisy gradients alone, where a long one can count less than once
    /// ([`crate::privacy::Schema::with_gradient_norm`]) instead of being shortened, and does so for this target.
    fn weighs_records(&self, target: Target) -> bool {
        let _ = target;
        false
    }

    /// Iterations, noise and events, from public facts alone.
    ///
    /// # Errors
    /// Public parameters out of their domains, [`Error::UnsoundMechanism`] for a combination without a guarantee.
    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan>;
}

/// A mechanism known by name.
pub struct Entry {
    /// Name users write.
    pub name: &'static str,
    parse: fn(&str) -> serde_json::Result<Box<dyn Mechanism>>,
}

pub(super) const fn entry<M: Mechanism + DeserializeOwned + 'static>(name: &'static str) -> Entry {
    Entry {
        name,
        parse: |options| Ok(Box::new(serde_json::from_str::<M>(options)?)),
    }
}

/// The mechanism of a name with its options as a JSON object; absent options keep their defaults.
///
/// ```
/// use dpsparse::mechanism::by_name;
/// assert!(by_name("frank-wolfe", r#"{"n_iter": 40}"#).is_ok());
/// let error = by_name("frank-wolfe", r#"{"n_iter": -1}"#).unwrap_err();
/// assert!(error.to_string().starts_with("n_iter"));
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for an unknown name or options that the mechanism does not take.
pub fn by_name(name: &str, options: &str) -> Result<Box<dyn Mechanism>> {
    let entry = CATALOGUE.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| {
        let known: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
        Error::invalid("mechanism", format!("must be one of {}", known.join(", ")))
    })?;
    (entry.parse)(options).map_err(|error| unusable(entry, options, &error))
}

/// Names the option that the mechanism does not take.
fn unusable(entry: &Entry, options: &str, error: &serde_json::Error) -> Error {
    let all: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(options).unwrap_or_default();
    for (key, value) in all {
        let alone = serde_json::json!({ key.as_str(): value }).to_string();
        if let Err(error) = (entry.parse)(&alone) {
            let text = error.to_string();
            let (problem, _) = text.split_once(" at line").unwrap_or((&text, ""));
            return Error::invalid(key, format!("is not taken by {}: {problem}", entry.name));
        }
    }
    Error::invalid("mechanism", format!("has unusable options: {error}"))
}
