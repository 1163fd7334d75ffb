//! Which coefficients of a model are worth their noise.

use nalgebra::{DMatrix, DVector};

use super::nearest_sparse::{Curvature, LAST_GAP, Nearest, factor_of};
use super::sparsity::Sparsity;
use crate::error::Result;
use crate::norm::Norm;
use crate::solver::Form;

/// Radius of a ball that holds every model that is looked for, in units of the norm of the one that there is.
const FREE: f64 = 1e6;

/// Penalties whose patterns are looked at: from so many times what noise has in the dual norm on average down to so
/// many standard deviations, each so many times the one before.
const PATH: (f64, f64) = (4.0, 0.7);
const FALL: f64 = 0.9;

/// What theta was found by: H, of which so much is a ridge that only holds noise back, and noise of so large a standard
/// deviation on the entries of H theta.
#[derive(Debug)]
pub(super) struct Found {
    pub hessian: DMatrix<f64>,
    pub ridge: f64,
    pub noise: f64,
}

/// Makes coefficients zero that are not worth their noise, and moves the others to the nearest model of the same ball
/// without them, if it is one. Rows of `columns` coefficients.
///
/// Of the patterns of zeros that penalties with Omega of about the size of the noise leave, and of no zeros, it is the
/// one whose model is expected to have the least risk: x_S' (H - r I) x_S/2 - b_S' x_S + N^2 tr H_SS^-1 for b = H
/// theta, x_S = H_SS^-1 b_S, the ridge r and noise of variance N^2 on the entries of b, which is unbiased for one
/// pattern (Mallows 1973). What the penalty takes from the others it need not. One coefficient is all that there is of
/// a model, and stays; so do all with a seminorm, whose patterns are no zeros.
///
/// # Errors
/// As [`Nearest::new`] and [`Nearest::move_to`].
pub(super) fn hide_noise(
    theta: &mut [f64],
    columns: usize,
    by: Found,
    sparsity: &Sparsity,
) -> Result<()> {
    let (p, outputs) = (sparsity.weights.len(), theta.len() / columns);
    let norm = sparsity.value(theta, columns)?;
    let has_zeros = sparsity.norm().is_none_or(Norm::ball_is_bounded);
    if norm == 0.0 || outputs * p == 1 || !has_zeros {
        return Ok(());
    }
    let risk = Risk::new(&by, theta, columns);
    let curvature = Curvature::Matrix(by.hessian.clone());
    let nearest = |sparsity| Nearest::new(sparsity, outputs, columns, &curvature);
    let mut best = (risk.of(theta, p)?, theta.to_vec());
    let mut largest = 0.0f64;
    for slopes in risk.slopes_at_zero(p) {
        largest = largest.max(sparsity.dual(slopes.as_slice())?);
    }
    let mut level = largest.min(PATH.0 * by.noise * sparsity.dual_width()?);
    let mut path = nearest(sparsity.with(vec![1.0; p], Form::Penalty(level)))?;
    let mut last = Vec::new();
    while level > PATH.1 * by.noise {
        path.set_form(Form::Penalty(level));
        let mut found = theta.to_vec();
        path.move_to(&mut found, LAST_GAP)?;
        let pattern: Vec<bool> = found.iter().map(|found| *found == 0.0).collect();
        if pattern != last {
            let value = risk.of(&found, p)?;
            if value < best.0 {
                best = (value, found);
            }
            last = pattern;
        }
        level *= FALL;
    }
    let form = match sparsity.form {
        Form::Penalty(_) => Form::Ball(FREE * norm),
        ball => ball,
    };
    let among = sparsity.with(sparsity.weights.clone(), form);
    let among = among.where_not_zero(&best.1, columns);
    nearest(among)?.move_to(theta, LAST_GAP)?;
    Ok(())
}

/// What models with zeros are expected to have of the risk of a quadratic loss.
struct Risk<'a> {
    by: &'a Found,
    /// H theta, one column a score.
    slopes: DMatrix<f64>,
}

impl<'a> Risk<'a> {
    fn new(by: &'a Found, theta: &[f64], columns: usize) -> Self {
        let theta = DMatrix::from_column_slice(columns, theta.len() / columns, theta);
        let slopes = &by.hessian * theta;
        Self { by, slopes }
    }

    /// The slopes of the first p coefficients of every score at 0, where the others are at their best.
    fn slopes_at_zero(&self, p: usize) -> impl Iterator<Item = DVector<f64>> {
        self.slopes.column_iter().map(move |slopes| {
            let others = (p..slopes.len()).map(|k| (k, slopes[k] / self.by.hessian[(k, k)]));
            let taken = |j: usize| {
                others
                    .clone()
                    .map(|(k, best)| self.by.hessian[(j, k)] * best)
                    .sum::<f64>()
            };
            DVector::from_fn(p, |j, _| slopes[j] - taken(j))
        })
    }

    /// Of all scores, for the models that are zero where `theta` is, but for columns from p on.
    fn of(&self, theta: &[f64], p: usize) -> Result<f64> {
        let columns = self.by.hessian.nrows();
        let mut total = 0.0;
        for (slopes, theta) in self.slopes.column_iter().zip(theta.chunks(columns)) {
            let kept: Vec<usize> = (0..columns)
                .filter(|&j| j >= p || theta[j] != 0.0)
                .collect();
            if kept.is_empty() {
                continue;
            }
            let matrix = self.by.hessian.select_rows(&kept).select_columns(&kept);
            let slopes = DVector::from_iterator(kept.len(), kept.iter().map(|&j| slopes[j]));
            let factor = factor_of(matrix)?;
            let found = factor.solve(&slopes);
            total += self.by.noise.powi(2) * factor.inverse().trace();
            total -= (found.dot(&slopes) + self.by.ridge * found.norm_squared()) / 2.0;
        }
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::norm::SetFunctionNorm;
    use crate::set_function::GroupCover;
    use std::sync::Arc;

    fn found(hessian: DMatrix<f64>) -> Found {
        Found {
            hessian,
            ridge: 0.0,
            noise: 0.1,
        }
    }

    const FORMS: [Form; 2] = [Form::Penalty(1e-3), Form::Ball(100.0)];

    /// Of the identity, entries up to sqrt(2) N are zero, and the others stay; where entries go together the rest takes
    /// over.
    #[test]
    fn what_is_not_worth_its_noise_is_hidden() {
        for form in FORMS {
            let sparsity = Sparsity::new(vec![1.0; 3], form);
            let mut theta = [0.13, -0.15, 3.0, 7.0];
            hide_noise(&mut theta, 4, found(DMatrix::identity(4, 4)), &sparsity).unwrap();
            assert_eq!((theta[0], theta[3]), (0.0, 7.0));
            assert!((theta[1] + 0.15).abs() < 1e-5 && (theta[2] - 3.0).abs() < 1e-5);
            // Two features that go together: what the first loses the second has.
            let alike = DMatrix::from_row_slice(2, 2, &[1.0, 0.9, 0.9, 1.0]);
            let sparsity = Sparsity::new(vec![1.0; 2], form);
            let mut theta = [0.01, 2.0];
            hide_noise(&mut theta, 2, found(alike), &sparsity).unwrap();
            assert_eq!(theta[0], 0.0);
            assert!((theta[1] - 2.009).abs() < 1e-5);
            // A single one, and nothing at all, stay.
            for theta in [[0.01], [0.0]] {
                let mut hidden = theta;
                let sparsity = Sparsity::new(vec![1.0], form);
                hide_noise(&mut hidden, 1, found(DMatrix::identity(1, 1)), &sparsity).unwrap();
                assert_eq!(hidden, theta);
            }
        }
    }

    /// What is half of its own size already is worth less noise: at H = 2 and a ridge of 1 entries of H theta from
    /// sqrt(4/3) N on.
    #[test]
    fn a_ridge_that_holds_noise_back_is_no_reason_to_hide() {
        for (slope, hidden) in [(0.11, true), (0.12, false)] {
            let sparsity = Sparsity::new(vec![1.0; 2], Form::Penalty(1e-3));
            let mut theta = [slope / 2.0, 3.0];
            let by = Found {
                ridge: 1.0,
                ..found(2.0 * DMatrix::identity(2, 2))
            };
            hide_noise(&mut theta, 2, by, &sparsity).unwrap();
            assert_eq!(theta[0] == 0.0, hidden);
        }
    }

    /// Two groups of three: squares of a group that add up to less than 2 N^2 for each of its entries are noise,
    /// however large one of them is, and no entry of another is.
    #[test]
    fn groups_are_hidden_together() {
        let groups = GroupCover::new(&[vec![0, 1, 2], vec![3, 4, 5]], None, 6).unwrap();
        let norm = Arc::new(SetFunctionNorm::new(Arc::new(groups)).unwrap());
        for form in FORMS {
            let sparsity = Sparsity::of_norm(norm.clone(), form);
            for (large, hidden) in [(0.2, true), (0.26, false)] {
                let given = [large, 0.05, 0.05, 0.01, 1.0, -2.0];
                let mut theta = given;
                hide_noise(&mut theta, 6, found(DMatrix::identity(6, 6)), &sparsity).unwrap();
                assert_eq!(theta[..3].iter().all(|theta| *theta == 0.0), hidden);
                for (theta, given) in theta.iter().zip(given).skip(if hidden { 3 } else { 0 }) {
                    assert!((theta - given).abs() < 1e-4);
                }
            }
        }
    }
}
