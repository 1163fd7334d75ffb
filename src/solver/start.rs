//! Where a fit starts: an earlier solution, with the dual point that certified it.

use super::duality_gap::DualPoint;
use super::point::balance;
use super::regulariser::Omega;
use super::{Design, Problem};
use crate::error::{Error, Result};

/// A start, for instance an earlier [`super::Solution`]. Any one is sound: bounds are computed anew from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Start<'s> {
    /// theta.
    pub coefficients: &'s [f64],
    /// b, a guess.
    pub intercept: f64,
    /// [`super::Solution::dual`] of an earlier fit to the same records: without it a fit that starts at its solution
    /// has to find another certificate.
    pub dual: Option<&'s [f64]>,
}

/// The dual point of a start.
#[derive(Debug)]
pub(super) struct GivenDual {
    slopes: Vec<f64>,
    correlations: Vec<f64>,
}

impl GivenDual {
    /// None where there is none, or where a seminorm leaves directions free and the point is not orthogonal to them, as
    /// with other records.
    ///
    /// # Errors
    /// A point that does not hold one finite number per record.
    pub fn new<D: Design + ?Sized>(
        dual: Option<&[f64]>,
        problem: &Problem<'_, D>,
        omega: &Omega<'_>,
    ) -> Result<Option<Self>> {
        let Some(dual) = dual else {
            return Ok(None);
        };
        let (design, weights) = (problem.design(), problem.weights());
        if dual.len() != design.n_rows() || !dual.iter().all(|a| a.is_finite()) {
            return Err(Error::InvalidData(
                "the dual point of the start must hold one finite number per row of X".into(),
            ));
        }
        let mut slopes = dual.to_vec();
        if omega.kernel.balances() {
            if !omega.kernel.is_balanced(weights, &slopes) {
                return Ok(None);
            }
        } else if problem.fit_intercept() {
            balance(&mut slopes, weights);
        }
        let weighted: Vec<f64> = slopes.iter().zip(weights).map(|(a, w)| a * w).collect();
        let mut correlations = vec![0.0; design.n_columns()];
        design.transpose_multiply(&weighted, &mut correlations);
        let usable = correlations.iter().all(|v| v.is_finite());
        Ok(usable.then_some(Self {
            slopes,
            correlations,
        }))
    }

    pub fn point(&self) -> DualPoint<'_> {
        DualPoint {
            slopes: &self.slopes,
            correlations: &self.correlations,
        }
    }
}
