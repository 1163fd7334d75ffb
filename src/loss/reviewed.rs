//! Which losses may see records: those of the catalogue, and tables.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ClippedLogistic, Huber, Lifted, Logistic, Loss, Model, Pinball, Poisson};
use super::{SmoothedHinge, Squared, Tabulated};

/// A loss that was reviewed: a pure function of its arguments, convex, and smooth with the constants that it states.
/// Implementing it is the review; nothing outside the crate can.
pub(crate) trait Reviewed: Loss {
    /// The loss as data.
    fn as_data(&self) -> LossData;
}

/// A loss of the catalogue as data, which travels to records that are elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum LossData {
    ClippedLogistic(ClippedLogistic),
    Huber(Huber),
    Logistic(Logistic),
    Pinball(Pinball),
    Poisson(Poisson),
    SmoothedHinge(SmoothedHinge),
    Squared(Squared),
}

impl From<LossData> for Catalogued {
    fn from(data: LossData) -> Self {
        match data {
            LossData::ClippedLogistic(loss) => loss.into(),
            LossData::Huber(loss) => loss.into(),
            LossData::Logistic(loss) => loss.into(),
            LossData::Pinball(loss) => loss.into(),
            LossData::Poisson(loss) => loss.into(),
            LossData::SmoothedHinge(loss) => loss.into(),
            LossData::Squared(loss) => loss.into(),
        }
    }
}

/// An admitted loss as data: a user's own travels as the table that it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum AdmittedData {
    Catalogued(LossData),
    Tabulated(Arc<Tabulated>),
}

/// A loss of the catalogue. Proofs that need convexity and smoothness take nothing else.
///
/// ```
/// use dpsparse::loss::{Catalogued, Huber, Loss, by_name};
/// let loss: Catalogued = Huber::new(0.5)?.into();
/// assert_eq!(loss.smoothness(), by_name("huber", &[0.5])?.smoothness());
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// A loss from elsewhere is none:
/// ```compile_fail,E0277
/// # use dpsparse::loss::{Catalogued, Tabulated};
/// fn smuggle(table: Tabulated) -> Catalogued { table.into() }
/// ```
#[derive(Debug, Clone)]
pub struct Catalogued {
    loss: Arc<dyn Loss>,
    data: LossData,
}

#[allow(private_bounds)] // the review is not for others to make
impl<L: Reviewed + 'static> From<L> for Catalogued {
    fn from(loss: L) -> Self {
        Self {
            data: loss.as_data(),
            loss: Arc::new(loss),
        }
    }
}

impl Deref for Catalogued {
    type Target = dyn Loss;

    fn deref(&self) -> &Self::Target {
        &*self.loss
    }
}

impl Catalogued {
    /// The loss itself, for solvers without privacy.
    pub fn into_loss(self) -> Arc<dyn Loss> {
        self.loss
    }
}

/// A loss whose slopes may be taken at records: a catalogued one, or a user's own that was tabulated on a public grid
/// before any record was read.
#[derive(Debug, Clone)]
pub enum Admitted {
    /// Reviewed.
    Catalogued(Catalogued),
    /// A table: it cannot couple records, raise, loop or log, whatever it was made from.
    Tabulated(Arc<Tabulated>),
}

impl Admitted {
    /// The loss where it is reviewed.
    pub fn catalogued(&self) -> Option<&Catalogued> {
        match self {
            Self::Catalogued(loss) => Some(loss),
            Self::Tabulated(_) => None,
        }
    }

    pub(crate) fn as_data(&self) -> AdmittedData {
        match self {
            Self::Catalogued(loss) => AdmittedData::Catalogued(loss.data),
            Self::Tabulated(table) => AdmittedData::Tabulated(Arc::clone(table)),
        }
    }

    /// As a model of one output.
    pub fn model(&self) -> Arc<dyn Model> {
        Arc::new(Lifted(match self {
            Self::Catalogued(loss) => loss.loss.clone(),
            Self::Tabulated(table) => table.clone(),
        }))
    }
}

impl Deref for Admitted {
    type Target = dyn Loss;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Catalogued(loss) => &**loss,
            Self::Tabulated(table) => &**table,
        }
    }
}

impl From<AdmittedData> for Admitted {
    fn from(data: AdmittedData) -> Self {
        match data {
            AdmittedData::Catalogued(loss) => Self::Catalogued(loss.into()),
            AdmittedData::Tabulated(table) => Self::Tabulated(table),
        }
    }
}

#[allow(private_bounds)]
impl<L: Reviewed + 'static> From<L> for Admitted {
    fn from(loss: L) -> Self {
        Self::Catalogued(loss.into())
    }
}

impl From<Catalogued> for Admitted {
    fn from(loss: Catalogued) -> Self {
        Self::Catalogued(loss)
    }
}

impl From<Tabulated> for Admitted {
    fn from(table: Tabulated) -> Self {
        Self::Tabulated(Arc::new(table))
    }
}
