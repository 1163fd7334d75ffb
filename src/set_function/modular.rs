use super::sealed::Token;
use super::{SetFunction, Structure, check_n_features, check_weights};
use crate::error::Result;

/// F(A) = sum_{j in A} w_j with w_j >= 0: Omega is the weighted l1 norm.
#[derive(Debug, Clone)]
pub struct Modular {
    weights: Vec<f64>,
}

impl Modular {
    /// With one weight per feature.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for no weights, or one that is negative or not finite.
    pub fn new(weights: Vec<f64>) -> Result<Self> {
        check_n_features(weights.len())?;
        check_weights(&weights, weights.len(), "feature")?;
        Ok(Self { weights })
    }
}

impl SetFunction for Modular {
    fn name(&self) -> &'static str {
        "modular"
    }

    fn n_features(&self) -> usize {
        self.weights.len()
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        for (gain, &j) in gains.iter_mut().zip(order) {
            *gain = self.weights[j];
        }
        Ok(())
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Modular(&self.weights)
    }

    fn is_own(&self, _: Token) -> bool {
        true
    }
}
