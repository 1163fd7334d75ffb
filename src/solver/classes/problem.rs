use super::ClassDesign;
use crate::error::{Error, Result, non_negative};
use crate::loss::Softmax;
use crate::solver::DenseDesign;
use crate::solver::problem::normalised;

/// The smooth part of the objective: data, ridge, intercepts. Validated once, on construction.
#[derive(Debug)]
pub struct ClassProblem<'a> {
    given: &'a (dyn ClassDesign + 'a),
    centred: Option<(DenseDesign<'static>, Vec<f64>)>,
    targets: &'a [f64],
    softmax: Softmax,
    /// Sum to 1.
    weights: Vec<f64>,
    /// Of the weights, one a class.
    shares: Vec<f64>,
    ridge: f64,
    fit_intercept: bool,
}

impl<'a> ClassProblem<'a> {
    /// The model of `n_classes` classes; a target is one of 0, 1, ..., `n_classes` - 1. No weights means equal weights.
    ///
    /// # Errors
    /// Lengths that do not match X; other targets; fewer than two classes; weights that are negative, not finite or all
    /// 0; with intercepts a class without a record of positive weight (its best intercept would be infinite); a
    /// negative ridge.
    pub fn new(
        design: &'a (dyn ClassDesign + 'a),
        targets: &'a [f64],
        n_classes: usize,
        weights: Option<&[f64]>,
        ridge: f64,
        fit_intercept: bool,
    ) -> Result<Self> {
        let softmax = Softmax::new(n_classes)?;
        let invalid = |text: &str| Err(Error::InvalidData(text.into()));
        if targets.len() != design.n_rows() || weights.is_some_and(|w| w.len() != targets.len()) {
            return invalid("X, y and sample_weight must have the same number of rows");
        }
        let ridge = non_negative("ridge", ridge)?;
        let is_class = |y: &f64| *y >= 0.0 && *y < n_classes as f64 && y.fract() == 0.0;
        if !targets.iter().all(is_class) {
            return invalid("the labels must be 0, 1, ..., n_classes - 1");
        }
        let weights = normalised(weights, targets.len())?;
        let mut shares = vec![0.0; n_classes];
        for (y, w) in targets.iter().zip(&weights) {
            shares[*y as usize] += w;
        }
        if fit_intercept && shares.contains(&0.0) {
            return invalid(
                "every class needs a record of positive weight where there are intercepts",
            );
        }
        let centred = fit_intercept.then(|| design.centred(&weights)).flatten();
        Ok(Self {
            given: design,
            centred,
            targets,
            softmax,
            weights,
            shares,
            ridge,
            fit_intercept,
        })
    }

    /// X, with its columns centred where that is for free.
    pub(super) fn design(&self) -> &(dyn ClassDesign + '_) {
        match &self.centred {
            Some((design, _)) => design,
            None => self.given,
        }
    }

    /// Whether columns of [`Self::design`] vie with free intercepts: they are as they were given, not centred.
    pub(super) fn vies(&self) -> bool {
        self.fit_intercept && self.centred.is_none()
    }

    /// What the scores of the given X have beyond those of [`Self::design`], one number a class.
    pub(super) fn offsets(&self, coefficients: &[f64]) -> Vec<f64> {
        let mut offsets = vec![0.0; self.n_classes()];
        if let Some((_, means)) = &self.centred {
            for (theta, mean) in coefficients.chunks_exact(offsets.len()).zip(means) {
                for (offset, t) in offsets.iter_mut().zip(theta) {
                    *offset += mean * t;
                }
            }
        }
        offsets
    }

    /// The class of every record.
    pub(super) fn targets(&self) -> &'a [f64] {
        self.targets
    }

    /// The loss of one record.
    pub(super) fn softmax(&self) -> Softmax {
        self.softmax
    }

    /// K.
    pub fn n_classes(&self) -> usize {
        self.shares.len()
    }

    /// The weights, normalised to sum 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The weight of every class.
    pub(super) fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Factor of |Theta|_F^2 / 2.
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Whether b is free; otherwise it is 0.
    pub fn fit_intercept(&self) -> bool {
        self.fit_intercept
    }
}
