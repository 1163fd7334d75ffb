use super::Design;
use crate::error::{Error, Result, non_negative};
use crate::loss::{Loss, Task};

/// The smooth part of the objective: data, loss, ridge, intercept. Validated once, on construction.
#[derive(Debug)]
pub struct Problem<'a, D: ?Sized> {
    design: &'a D,
    targets: &'a [f64],
    /// Sum to 1.
    weights: Vec<f64>,
    loss: &'a dyn Loss,
    ridge: f64,
    fit_intercept: bool,
}

impl<'a, D: Design + ?Sized> Problem<'a, D> {
    /// sum_i w_i l(z_i; y_i) / sum_i w_i + (ridge/2)|theta|_2^2; no weights means equal weights.
    ///
    /// # Errors
    /// Lengths that do not match X; targets or weights that are not finite; negative weights or weights that
    /// sum to 0; labels other than -1 and +1 for a classification loss, or only one label of positive weight
    /// together with an intercept (the best intercept would be infinite); a loss known by its derivative
    /// only; a negative ridge.
    pub fn new(
        design: &'a D,
        targets: &'a [f64],
        weights: Option<&[f64]>,
        loss: &'a dyn Loss,
        ridge: f64,
        fit_intercept: bool,
    ) -> Result<Self> {
        let n = design.n_rows();
        let invalid = |text: &str| Err(Error::InvalidData(text.into()));
        if targets.len() != n || weights.is_some_and(|w| w.len() != n) {
            return invalid("X, y and sample_weight must have the same number of rows");
        }
        if !loss.smoothness().is_finite() {
            return Err(Error::invalid(
                "loss",
                "must be a catalogued one: an exact fit needs its values and its conjugate",
            ));
        }
        let ridge = non_negative("ridge", ridge)?;
        if !targets.iter().all(|y| y.is_finite()) {
            return invalid("y contains NaN or infinity");
        }
        let weights = normalised(weights, n)?;
        if loss.task() == Task::Classification {
            if targets.iter().any(|y| y.abs() != 1.0) {
                return invalid("the labels of a classification loss must be -1 and +1");
            }
            let has = |label: f64| {
                (targets.iter().zip(&weights)).any(|(&y, &weight)| y == label && weight > 0.0)
            };
            if fit_intercept && !(has(1.0) && has(-1.0)) {
                return invalid("both classes need a record of positive weight, got one class");
            }
        }
        Ok(Self {
            design,
            targets,
            weights,
            loss,
            ridge,
            fit_intercept,
        })
    }

    /// X.
    pub fn design(&self) -> &'a D {
        self.design
    }

    /// y.
    pub fn targets(&self) -> &'a [f64] {
        self.targets
    }

    /// The weights, normalised to sum 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// l.
    pub fn loss(&self) -> &'a dyn Loss {
        self.loss
    }

    /// Factor of |theta|_2^2 / 2.
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Whether b is free; otherwise it is 0.
    pub fn fit_intercept(&self) -> bool {
        self.fit_intercept
    }
}

/// Weights of sum 1 for n records; none given means equal ones.
pub(super) fn normalised(weights: Option<&[f64]>, n: usize) -> Result<Vec<f64>> {
    let Some(weights) = weights else {
        return Ok(vec![1.0 / n as f64; n]);
    };
    let largest = weights.iter().fold(0.0f64, |m, &w| m.max(w));
    if !weights.iter().all(|&w| w.is_finite() && w >= 0.0) || largest == 0.0 {
        return Err(Error::InvalidData(
            "sample_weight must be finite and non-negative, with a positive sum".into(),
        ));
    }
    let sum: f64 = weights.iter().map(|w| w / largest).sum();
    Ok(weights.iter().map(|w| w / largest / sum).collect())
}
