//! Which losses may see records: those of the catalogue, and tables.

use std::ops::Deref;
use std::sync::Arc;

use super::{Lifted, Loss, Model, Tabulated};

/// A loss that was reviewed: a pure function of its arguments, convex, and smooth with the constants that it states.
/// Implementing it is the review; nothing outside the crate can.
pub(crate) trait Reviewed: Loss {}

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
pub struct Catalogued(Arc<dyn Loss>);

#[allow(private_bounds)] // the review is not for others to make
impl<L: Reviewed + 'static> From<L> for Catalogued {
    fn from(loss: L) -> Self {
        Self(Arc::new(loss))
    }
}

impl Deref for Catalogued {
    type Target = dyn Loss;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl Catalogued {
    /// The loss itself, for solvers without privacy.
    pub fn into_loss(self) -> Arc<dyn Loss> {
        self.0
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

    /// As a model of one output.
    pub fn model(&self) -> Arc<dyn Model> {
        Arc::new(Lifted(match self {
            Self::Catalogued(loss) => loss.0.clone(),
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
