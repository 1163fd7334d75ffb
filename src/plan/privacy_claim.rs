use crate::accounting::event::Adjacency;
use crate::error::{Error, Result, fraction, positive};

/// The part of a public statement that every release has: how private, and whom it protects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrivacyClaim {
    /// Number of records (under add-remove: the public normaliser `n_public`).
    pub n_samples: usize,
    /// Privacy parameter epsilon.
    pub epsilon: f64,
    /// Privacy parameter delta; None: min(1/n^2, 1e-6), for replace-one only.
    pub delta: Option<f64>,
    /// Neighbouring relation.
    pub adjacency: Adjacency,
    /// How many records one person may own.
    pub records_per_person: usize,
}

impl PrivacyClaim {
    /// delta, after all checks.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `epsilon`, `delta`, `records_per_person` or the number of samples.
    pub fn validate(&self) -> Result<f64> {
        positive("epsilon", self.epsilon)?;
        (self.delta)
            .map(|delta| fraction("delta", delta))
            .transpose()?;
        if self.records_per_person == 0 {
            return Err(Error::invalid("records_per_person", "must be at least 1"));
        }
        if self.n_samples < 2 {
            let n = self.n_samples;
            return Err(Error::invalid(
                "X",
                format!("has n_samples={n}: at least 2 records are needed"),
            ));
        }
        match (self.delta, self.adjacency) {
            (Some(delta), _) => Ok(delta),
            (None, Adjacency::ReplaceOne) => Ok((self.n_samples as f64).powi(-2).min(1e-6)),
            (None, Adjacency::AddRemove) => Err(Error::invalid(
                "delta",
                "must be given under add-remove, where the number of records is private",
            )),
        }
    }
}
