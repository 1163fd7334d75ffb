//! Passes that read no records (Friedman, Hastie & Tibshirani 2010, section 2.2, "covariance updates"): where X is
//! sparse, the inner products of a working set cost about as much as a few passes over its columns, and passes by them
//! next to nothing.

use super::Design;
use crate::numeric::vectors::add;

/// Entries of the Gram matrix per row and column of X, at most: the memory of a fit stays O(n + p) beyond the data.
const MOST_PER_LINE: usize = 16;

/// Stored entries of X up to which the records are always read. So small problems take the same path whether rows are
/// weighted or repeated, and end, by their support steps, in the same point far below the tolerance.
const SMALL: usize = 4096;
/// Passes over the records that every working set gets.
const FEWEST_PASSES: usize = 4;

/// The inner products of a working set; the vectors are allocated once a run.
#[derive(Debug, Default)]
pub(super) struct Covariance {
    /// sum_i h_i x_ia x_ib, row by row in a square; empty where it is not known.
    gram: Vec<f64>,
    /// <x_k, r>, up to date while `moved` is not in r.
    pub gradients: Vec<f64>,
    /// What the passes have added to theta since the residual was up to date.
    pub moved: Vec<f64>,
    /// Passes over the records that cost as much as the Gram matrix, once it has been asked for.
    cost: Option<f64>,
    /// Whether another model has needed the Gram matrix: the next ones then get it at once.
    was_needed: bool,
}

impl Covariance {
    /// For another h or another working set.
    pub fn forget(&mut self) {
        self.gram.clear();
        self.cost = None;
    }

    pub fn is_known(&self) -> bool {
        !self.gram.is_empty()
    }

    /// Whether to compute the Gram matrix of the columns `working` after so many passes: no later than when they have
    /// cost as much, and never where it would be too large.
    pub fn is_due<D: Design + ?Sized>(
        &mut self,
        design: &D,
        working: &[usize],
        passes: usize,
    ) -> bool {
        let too_early = !self.was_needed && passes < FEWEST_PASSES;
        if self.is_known() || design.n_stored() <= SMALL || too_early {
            return false;
        }
        let cost = *self.cost.get_or_insert_with(|| {
            let most = MOST_PER_LINE * (design.n_rows() + design.n_columns());
            if working.len() * working.len() > most {
                return f64::INFINITY;
            }
            design.gram_cost(working)
        });
        cost <= passes as f64 || (self.was_needed && cost < f64::INFINITY)
    }

    /// Computes the Gram matrix.
    pub fn build<D: Design + ?Sized>(&mut self, design: &D, working: &[usize], h: &[f64]) {
        self.gram.clear();
        self.gram.resize(working.len() * working.len(), 0.0);
        design.gram(working, h, &mut self.gram);
        self.was_needed = true;
    }

    /// Starts from the residual r.
    pub fn start<D: Design + ?Sized>(&mut self, design: &D, working: &[usize], residual: &[f64]) {
        self.gradients.resize(working.len(), 0.0);
        design.dot_columns(working, residual, &mut self.gradients);
        self.moved.clear();
        self.moved.resize(working.len(), 0.0);
    }

    /// sum_i h_i x_ia x_ib of two positions in the working set.
    pub fn product(&self, a: usize, b: usize) -> f64 {
        self.gram[a * self.moved.len() + b]
    }

    /// Coordinate k moves by `step`.
    pub fn add(&mut self, k: usize, step: f64) {
        let size = self.moved.len();
        self.moved[k] += step;
        add(
            &self.gram[k * size..(k + 1) * size],
            step,
            &mut self.gradients,
        );
    }
}
