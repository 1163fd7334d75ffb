use super::sealed::Token;
use super::{SetFunction, Structure, check_n_features};
use crate::error::Result;

/// F(A) = |A|: Omega is the l1 norm, |P|(F) the l-infinity ball.
#[derive(Debug, Clone)]
pub struct Cardinality {
    weights: Vec<f64>,
}

impl Cardinality {
    /// On p features.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) where p = 0.
    pub fn new(n_features: usize) -> Result<Self> {
        check_n_features(n_features)?;
        Ok(Self {
            weights: vec![1.0; n_features],
        })
    }
}

impl SetFunction for Cardinality {
    fn name(&self) -> &'static str {
        "cardinality"
    }

    fn n_features(&self) -> usize {
        self.weights.len()
    }

    fn gains(&self, _order: &[usize], gains: &mut [f64]) -> Result<()> {
        gains.fill(1.0);
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
