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

    /// The model as one whose slopes of a record add up to 0, where they do.
    fn balanced(&self) -> Option<&dyn Balanced> {
        None
    }
}

/// Records whose slopes are made together.
pub const BLOCK: usize = 128;

/// An entry of each of so many records, from the beginning of a cache line on.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Block(pub [f64; BLOCK]);

impl Block {
    /// Zeros.
    pub const ZEROS: Self = Self([0.0; BLOCK]);
}

/// A [`Model`] of K classes whose slopes see differences of scores alone, and of which those of a record add up to 0,
/// where that of its own class is the only negative one: the slopes of the others say all.
pub trait Balanced: Model {
    /// Makes weights of scores, a block a class, and gives what they are multiplied by to be the slopes of classes
    /// other than the record's own, y, with a relative error below 2^-24; of that itself anything may stay. Each
    /// depends on its record alone, with the same operations wherever it lies.
    fn others(&self, z: &mut [Block], y: &[f64; BLOCK]) -> Block;
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
