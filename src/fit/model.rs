use ndarray::{Array1, Array2, ArrayBase, Data, Ix2};

use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::release::Release;

/// Rates beyond are not computed: e^z overflows.
const LARGEST_LOG_RATE: f64 = 700.0;

/// What every model of a [`PrivateFit`](super::PrivateFit) shows of its release.
macro_rules! shows_its_release {
    ($model:ident $(<$label:ident>)?) => {
        impl $(<$label>)? $model $(<$label>)? {
            /// One coefficient a feature in the user's units; of a softmax model those of the first class, then those
            /// of the second, and so on.
            pub fn coefficients(&self) -> &[f64] {
                &self.release.coefficients
            }

            /// The intercept, one a class of a softmax model.
            pub fn intercepts(&self) -> &[f64] {
                &self.release.intercepts
            }

            /// Indices of the features with a coefficient that is not 0, increasing.
            pub fn support(&self) -> Vec<usize> {
                self.release.support()
            }

            /// What the release cost, and what that rests on.
            pub fn certificate(&self) -> &Certificate {
                &self.release.certificate
            }

            /// All that was released.
            pub fn release(&self) -> &Release {
                &self.release
            }
        }
    };
}

/// A private model of classes.
#[derive(Debug, Clone)]
pub struct Classifier<L> {
    release: Release,
    classes: Vec<L>,
    logistic: bool,
}

shows_its_release!(Classifier<L>);

impl<L: Clone> Classifier<L> {
    pub(super) fn new(release: Release, classes: Vec<L>, logistic: bool) -> Self {
        Self {
            release,
            classes,
            logistic,
        }
    }

    /// The labels, sorted. A positive score of a model of two speaks for the second.
    pub fn classes(&self) -> &[L] {
        &self.classes
    }

    /// The likeliest label of each row.
    ///
    /// # Errors
    /// As [`Release::scores`].
    pub fn predict<T, S>(&self, x: &ArrayBase<S, Ix2>) -> Result<Vec<L>>
    where
        T: Copy + Into<f64>,
        S: Data<Elem = T>,
    {
        let scores = self.release.scores(x)?;
        let best = |row: ndarray::ArrayView1<'_, f64>| match row.len() {
            1 => usize::from(row[0] > 0.0),
            several => (1..several).fold(0, |best, k| if row[k] > row[best] { k } else { best }),
        };
        let label = |row| self.classes[best(row)].clone();
        Ok(scores.rows().into_iter().map(label).collect())
    }

    /// The probability of each class, of shape (n_samples, n_classes), for models of the logistic loss.
    ///
    /// # Errors
    /// As [`Release::scores`]; [`Error::InvalidArgument`] naming `loss` for another loss, whose scores say no
    /// probabilities.
    pub fn predict_probabilities<T, S>(&self, x: &ArrayBase<S, Ix2>) -> Result<Array2<f64>>
    where
        T: Copy + Into<f64>,
        S: Data<Elem = T>,
    {
        if !self.logistic {
            let problem = "must be logistic for probabilities: scores of other losses are none";
            return Err(Error::invalid("loss", problem));
        }
        let scores = self.release.scores(x)?;
        let mut all = Array2::zeros((scores.nrows(), self.classes.len()));
        for (scores, mut row) in scores.rows().into_iter().zip(all.rows_mut()) {
            match scores.len() {
                1 => row[1] = scores[0], // against a score of 0
                _ => row.assign(&scores),
            }
            let largest = row.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            row.mapv_inplace(|score| libm::exp(score - largest));
            let total = row.sum();
            row /= total;
        }
        Ok(all)
    }
}

/// A private model of targets within public bounds.
#[derive(Debug, Clone)]
pub struct Regressor {
    release: Release,
    bounds: (f64, f64),
}

shows_its_release!(Regressor);

impl Regressor {
    pub(super) fn new(release: Release, bounds: (f64, f64)) -> Self {
        Self { release, bounds }
    }

    /// A prediction a row, clipped to the public bounds of the target.
    ///
    /// # Errors
    /// As [`Release::scores`].
    pub fn predict<T, S>(&self, x: &ArrayBase<S, Ix2>) -> Result<Array1<f64>>
    where
        T: Copy + Into<f64>,
        S: Data<Elem = T>,
    {
        let (low, high) = self.bounds;
        let scores = self.release.scores(x)?;
        Ok(scores.column(0).mapv(|score| score.clamp(low, high)))
    }
}

/// A private model of counts, with a logarithmic link.
#[derive(Debug, Clone)]
pub struct CountRegressor {
    release: Release,
    bounds: (f64, f64),
}

shows_its_release!(CountRegressor);

impl CountRegressor {
    pub(super) fn new(release: Release, bounds: (f64, f64)) -> Self {
        Self { release, bounds }
    }

    /// The rate of each row, clipped to the public bounds of counts.
    ///
    /// # Errors
    /// As [`Release::scores`].
    pub fn predict<T, S>(&self, x: &ArrayBase<S, Ix2>) -> Result<Array1<f64>>
    where
        T: Copy + Into<f64>,
        S: Data<Elem = T>,
    {
        let (low, high) = self.bounds;
        let rate = |score: f64| {
            libm::exp(score.clamp(-LARGEST_LOG_RATE, LARGEST_LOG_RATE)).clamp(low, high)
        };
        Ok(self.release.scores(x)?.column(0).mapv(rate))
    }
}
