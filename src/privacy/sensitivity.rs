//! Every sensitivity bound, in lattice integers, each with its proof (MECHANISMS M0, M1, M3).
//!
//! Setting: a record contributes d_i x_i to the integer gradient, |d_i| <= d_max, |x_ij| <= 16383. At a
//! public theta d_i is a function of record i and public state only. Replacing a record replaces one
//! contribution by another: the change is a difference of two contributions. Adding or removing one adds or
//! removes a single contribution. A person who owns m records changes m of them: the triangle inequality
//! multiplies every bound by m.

use super::model::{RoomModel, SlopeBound};
use super::statement::Statement;
use crate::error::{Error, Result};
use crate::numeric::kernel::MAX_FEATURE;

/// What the bounds depend on.
#[derive(Debug, Clone, Copy)]
pub(in crate::privacy) struct Contribution {
    /// The clamps of the integer slopes of one record.
    slopes: SlopeBound<u64>,
    /// By how many contributions neighbouring sums differ.
    changed: u64,
}

/// |x_ij| <= 16383.
const FEATURE: u64 = MAX_FEATURE as u64;

impl Contribution {
    /// Of records of `statement` to gradients of `model`.
    pub fn of(statement: &Statement, model: &RoomModel) -> Self {
        Self {
            slopes: model.lattice().bound(),
            changed: statement.changed_contributions(),
        }
    }

    /// changed * slope * factor, checked.
    fn times(&self, slope: u64, factor: u64) -> Result<u64> {
        let product = (self.changed.checked_mul(slope)).and_then(|bound| bound.checked_mul(factor));
        product.filter(|&bound| bound < 1 << 62).ok_or_else(|| {
            Error::invalid(
                "records_per_person",
                "is too large: the sensitivity does not fit the integer scores",
            )
        })
    }

    /// One signed coordinate +-g_j: |d x_j| <= d_max 16383. M3, l1 ball and simplex.
    ///
    /// # Errors
    /// A bound beyond 2^62.
    pub fn coordinate(&self) -> Result<u64> {
        self.times(self.slopes.linf, FEATURE)
    }

    /// A signed sum over at most `size` coordinates: |sum_j s_j d x_j| <= d_max |x_G|_1, and
    /// |x_G|_1 <= min(size * 16383, sqrt(size) |x|_2). `row_norm` bounds |x|_2 in lattice units. M3, disjoint groups.
    ///
    /// # Errors
    /// A bound beyond 2^62.
    pub fn group(&self, size: u64, row_norm: Option<u64>) -> Result<u64> {
        let by_entries = size.saturating_mul(FEATURE);
        let by_norm =
            row_norm.map(|norm| sqrt_up(u128::from(size) * u128::from(norm) * u128::from(norm)));
        // An intercept is a group of one that no row norm covers: never below one entry.
        let bound = by_norm.map_or(by_entries, |bound| bound.max(FEATURE).min(by_entries));
        self.times(self.slopes.linf, bound)
    }

    /// Inner product with a vertex whose absolute integer coordinates sum to at most `l1`: |<v, d x>| <=
    /// d_max 16383 l1. M3, explicit vertices.
    ///
    /// # Errors
    /// A bound beyond 2^62.
    pub fn vertex(&self, l1: u64) -> Result<u64> {
        let factor = FEATURE.checked_mul(l1);
        factor
            .ok_or_else(|| Error::invalid("vertices", "have too large entries"))
            .and_then(|factor| self.times(self.slopes.linf, factor))
    }

    /// Euclidean norm of the change of the whole gradient: |s|_2 |x|_2 <= s_max sqrt(R^2 + c^2), c the lattice value of
    /// the intercept's column (0 without one), R the norm to which contributions or rows are scaled down, 16383
    /// sqrt(n_features) without one. The l-infinity ball, and noisy gradients.
    ///
    /// # Errors
    /// A bound beyond 2^62.
    pub fn euclidean(&self, statement: &Statement) -> Result<u64> {
        let schema = statement.schema();
        let unit = u128::from(FEATURE) * u128::from(FEATURE);
        let norm = (schema.lattice_gradient_norm()).or(schema.lattice_row_norm());
        let features = norm.map_or(unit * schema.n_features() as u128, |norm| {
            u128::from(norm) * u128::from(norm)
        });
        let intercept = u128::from(schema.lattice_intercept().unsigned_abs());
        self.times(self.slopes.l2, sqrt_up(features + intercept * intercept))
    }
}

/// The least integer whose square is at least `x`.
fn sqrt_up(x: u128) -> u64 {
    let root = x.isqrt();
    let up = if root * root < x { root + 1 } else { root };
    u64::try_from(up).unwrap_or(u64::MAX)
}
