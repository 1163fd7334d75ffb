//! Every sensitivity bound, in lattice integers, each with its proof ([`crate::theory_of_privacy`]).
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
pub(crate) struct Contribution {
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

    /// One signed coordinate +-g_j: |d x_j| <= d_max 16383. [`crate::theory_of_privacy::frank_wolfe`], l1 ball and
    /// simplex.
    ///
    /// # Errors
    /// A bound beyond 2^62.
    pub fn coordinate(&self) -> Result<u64> {
        self.times(self.slopes.linf, FEATURE)
    }

    /// A signed sum over entries of at most `features` features, for each of them of several outputs, and of a column
    /// of the intercept where the lattice value `intercept` is not 0:
    /// |sum_kj s_kj d_k x_j| <= sum_j |x_j| sum_k |d_k| <= |d|_1 (|x_G|_1 + intercept), and
    /// |x_G|_1 <= min(features * 16383, sqrt(features) |x|_2). `row_norm` bounds |x|_2 in lattice units, without the
    /// intercept. One output has |d|_1 = d_max. [`crate::theory_of_privacy::frank_wolfe`], disjoint groups.
    ///
    /// # Errors
    /// A bound beyond 2^62.
    pub fn group(&self, features: u64, row_norm: Option<u64>, intercept: i16) -> Result<u64> {
        let by_entries = features.saturating_mul(FEATURE);
        // Beyond the integers it says less than the entries do.
        let by_norm = row_norm.and_then(|norm| {
            let square = u128::from(norm).pow(2); // below 2^128: norm < 2^64
            square.checked_mul(u128::from(features)).map(sqrt_up)
        });
        let of_features = by_norm.map_or(by_entries, |bound| bound.min(by_entries));
        let bound = of_features.saturating_add(u64::from(intercept.unsigned_abs()));
        self.times(self.slopes.l1, bound)
    }

    /// Inner product with a vertex whose absolute integer coordinates sum to at most `l1`: |<v, d x>| <=
    /// d_max 16383 l1. [`crate::theory_of_privacy::frank_wolfe`], explicit vertices.
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
    /// the intercept's column (0 without one), R the norm to which contributions or rows are scaled down, and at most
    /// 16383 sqrt(n_varying) over the features that vary. The l-infinity ball, and noisy gradients.
    ///
    /// # Errors
    /// A bound beyond 2^62.
    pub fn euclidean(&self, statement: &Statement) -> Result<u64> {
        let schema = statement.schema();
        let norm = (schema.lattice_gradient_norm()).or(schema.lattice_row_norm());
        let varying = schema.n_varying().max(1) as u64;
        self.row(varying, norm, schema.lattice_intercept())
    }

    fn row(&self, n_varying: u64, norm: Option<u64>, intercept: i16) -> Result<u64> {
        // Below 2^28 2^64, and so is the minimum: nothing overflows.
        let by_entries = u128::from(FEATURE).pow(2) * u128::from(n_varying);
        let features = norm.map_or(by_entries, |norm| by_entries.min(u128::from(norm).pow(2)));
        let intercept = u128::from(intercept.unsigned_abs());
        self.times(self.slopes.l2, sqrt_up(features + intercept.pow(2)))
    }
}

/// The least integer whose square is at least `x`; the largest integer, which no sensitivity reaches, beyond 64 bits.
fn sqrt_up(x: u128) -> u64 {
    let root = x.isqrt();
    let up = if root * root < x { root + 1 } else { root };
    u64::try_from(up).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use num_bigint::BigUint;
    use proptest::prelude::*;

    fn contribution(derivative: u64) -> Contribution {
        Contribution {
            slopes: SlopeBound {
                linf: derivative,
                l1: derivative,
                l2: derivative,
            },
            changed: 2,
        }
    }

    /// A row norm that no row reaches bounds nothing, however large: the entries do.
    #[test]
    fn huge_row_norms_do_not_wrap() {
        let entries = contribution(1).group(4, None, 0).unwrap();
        assert_eq!(entries, 2 * 4 * FEATURE);
        for norm in [1 << 31, 1 << 62, 1 << 63, u64::MAX] {
            assert_eq!(contribution(1).group(4, Some(norm), 0).unwrap(), entries);
            let all = contribution(1).row(4, Some(norm), 0).unwrap();
            assert_eq!(all, contribution(1).row(4, None, 0).unwrap());
        }
        let bounds = || Bounds {
            lower: vec![-1.0, -1.0, 3.0],
            upper: vec![1.0, 1.0, 3.0],
        };
        let target = Target::Classes;
        for norm in [2f64.powi(63) / 16383.0, 1e300] {
            let schema =
                Schema::new(3, bounds(), Geometry::Uncentred, target, true, Some(norm)).unwrap();
            // ceil(16383 sqrt(2)): two features vary.
            assert_eq!(schema.lattice_row_norm(), Some(23_170));
        }
    }

    proptest! {
        /// No bound is below its formula in integers of any length, at any argument; a bound that does not fit is an
        /// error.
        #[test]
        fn bounds_hold_at_every_size(
            size in 1u64..,
            norm in prop::option::of(prop_oneof![0u64.., 0u64..1 << 33]),
            derivative in prop_oneof![1u64..40_000, 1u64..],
            intercept in 0i16..=16_383,
        ) {
            let big = BigUint::from;
            let twice = BigUint::from(2 * u128::from(derivative));
            let entry = big(FEATURE) * big(FEATURE);
            let square = |bound: u64| big(bound).pow(2);
            let row = |norm: u64| big(norm).pow(2);
            if let Ok(bound) = contribution(derivative).group(size, norm, intercept) {
                let entries = &entry * big(size).pow(2);
                let features = norm.map_or(entries.clone(), |norm| (row(norm) * big(size)).min(entries));
                let constant = &twice * big(u64::from(intercept.unsigned_abs()));
                prop_assert!(big(bound) >= constant);
                prop_assert!((big(bound) - constant).pow(2) >= twice.pow(2) * features);
            }
            if let Ok(bound) = contribution(derivative).row(size, norm, intercept) {
                let entries = &entry * big(size);
                let features = norm.map_or(entries.clone(), |norm| row(norm).min(entries));
                let intercept = BigUint::from(intercept.unsigned_abs()).pow(2);
                prop_assert!(square(bound) >= twice.pow(2) * (features + intercept));
            }
            if let Ok(bound) = contribution(derivative).vertex(size) {
                prop_assert!(square(bound) >= twice.pow(2) * &entry * big(size).pow(2));
            }
        }
    }
}
