//! Passes that read no records (Friedman, Hastie & Tibshirani 2010, section 2.2, "covariance updates"): where X is sparse,
//! the inner products of a working set cost about as much as a few passes over its columns, and passes by them next to nothing.

use super::Design;
use crate::numeric::vectors::add;

/// Entries of the Gram matrix per row and column of X, at most: the memory of a fit stays O(n + p) beyond the data.
const MOST_PER_LINE: usize = 16;

/// The inner products of a working set; the vectors are allocated once a run.
#[derive(Debug, Default)]
pub(super) struct Covariance {
    /// sum_i h_i x_ia x_ib, row by row in a square; empty where it is not known.
    gram: Vec<f64>,
    /// <x_k, r>, up to date while `moved` is not in r.
    pub gradients: Vec<f64>,
    /// What the passes have added to theta since the residual was up to date.
    pub moved: Vec<f64>,
    /// Whether the last model needed the Gram matrix: the next one then gets it at once.
    pub was_needed: bool,
}

impl Covariance {
    /// For another h or another working set.
    pub fn forget(&mut self) {
        self.gram.clear();
    }

    pub fn is_known(&self) -> bool {
        !self.gram.is_empty()
    }

    /// Passes over the columns `working` that cost as much as their Gram matrix; infinite where that would be too large.
    pub fn cost<D: Design + ?Sized>(design: &D, working: &[usize]) -> f64 {
        let most = MOST_PER_LINE * (design.n_rows() + design.n_columns());
        if working.len() * working.len() > most {
            return f64::INFINITY;
        }
        design.gram_cost(working)
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
