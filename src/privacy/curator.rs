//! Diagnostics for the curator of the data: **not private**, and named so.

use super::answer::SoftmaxPlan;
use super::bounded_data::BoundedData;
use super::derivative_lattice::DerivativeLattice;
use crate::error::{Error, Result};
use crate::loss::Loss;

/// The integer gradient sum_i d_i x_i at the public integer coefficients `theta`, with margins z_i = <theta,
/// x_i> unit.
///
/// **Not private**: for a curator's own checks, and for tests of the sensitivity (MECHANISMS M1, M13).
///
/// # Errors
/// A `theta` of another length than there are columns, or so large that margins could overflow.
pub fn non_private_integer_gradient(
    data: &BoundedData,
    loss: &dyn Loss,
    lattice: &DerivativeLattice,
    theta: &[i64],
    unit: f64,
) -> Result<Vec<i64>> {
    if theta.len() != data.n_columns() {
        return Err(Error::invalid(
            "theta",
            "must have one entry per column, the intercept included",
        ));
    }
    if theta
        .iter()
        .map(|&entry| u128::from(entry.unsigned_abs()))
        .sum::<u128>()
        >= 1 << 45
    {
        return Err(Error::invalid("theta", "is too large for integer margins"));
    }
    let mut margins = vec![0; data.n_records()];
    let direction: Vec<(u32, i64)> = theta
        .iter()
        .enumerate()
        .map(|(j, &entry)| (j as u32, entry))
        .collect();
    data.add_to_margins(&mut margins, &direction, 1);
    let mut derivatives = vec![0; data.n_records()];
    lattice.derivatives(loss, &margins, unit, &data.targets, &mut derivatives);
    let mut gradient = vec![0; data.n_columns()];
    data.gradient(&derivatives, &mut gradient);
    Ok(gradient)
}

/// The integer scores q that softmax sampling draws from: P(a) is proportional to exp(-q_a 2^-bits).
///
/// **Not private**: for a curator's own checks, and for tests of the KKT residual and of the law (MECHANISMS M9).
///
/// # Errors
/// Records of another schema or number than the plan is for.
pub fn non_private_softmax_scores(data: &BoundedData, plan: &SoftmaxPlan) -> Result<Vec<i64>> {
    plan.scores(data, &mut || Ok(()))
}
