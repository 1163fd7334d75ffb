use std::sync::Arc;

use super::{Growth, Loss};

/// A loss of K scores of a record: what sums over records are made of.
///
/// A [`Loss`] of one score is lifted into it by [`Lifted`].
pub trait Model: std::fmt::Debug + Send + Sync {
    /// K, the number of scores of a record.
    fn outputs(&self) -> usize;

    /// What bounds the slopes of one record.
    fn growth(&self) -> Growth;

    /// A bound on the second derivative in every direction; None where nothing bounds it.
    fn smoothness(&self) -> Option<f64>;

    /// Writes the slopes of m records: `z` and `out` hold K planes of m entries one after the other, `y` m entries.
    /// Entry i of every plane depends on record i alone, with the same operations wherever it lies in memory.
    fn slopes(&self, z: &[f64], y: &[f64], out: &mut [f64]);

    /// The loss of one score that this is, where it is one.
    fn scalar(&self) -> Option<&dyn Loss> {
        None
    }
}

/// A scalar loss as a [`Model`] of one output.
///
/// ```
/// use dpsparse::loss::{Lifted, Logistic, Model};
/// let model = Lifted(std::sync::Arc::new(Logistic));
/// let mut slopes = [0.0; 2];
/// model.slopes(&[0.0, 0.0], &[1.0, -1.0], &mut slopes);
/// assert_eq!((model.outputs(), slopes), (1, [-0.5, 0.5]));
/// ```
#[derive(Debug, Clone)]
pub struct Lifted(pub Arc<dyn Loss>);

impl Model for Lifted {
    fn outputs(&self) -> usize {
        1
    }

    fn growth(&self) -> Growth {
        self.0.growth()
    }

    fn smoothness(&self) -> Option<f64> {
        let smoothness = self.0.smoothness();
        smoothness.is_finite().then_some(smoothness)
    }

    fn slopes(&self, z: &[f64], y: &[f64], out: &mut [f64]) {
        self.0.derivatives(z, y, out);
    }

    fn scalar(&self) -> Option<&dyn Loss> {
        Some(&*self.0)
    }
}
