use super::Progress;
use crate::error::Result;

/// What the loops of one run share: the count of passes, whom to tell, how precise to be.
pub(super) struct Run<'r> {
    progress: &'r mut Progress<'r>,
    n_iter: usize,
    max_iter: usize,
    /// The gap that callers see.
    pub reported: f64,
    /// The gap of the penalised problem at hand.
    pub gap: f64,
    /// A model is left once a pass brings this share of the first ones, or of the gap.
    pub accuracy: f64,
}

impl<'r> Run<'r> {
    pub fn new(max_iter: usize, progress: &'r mut Progress<'r>) -> Self {
        Self {
            progress,
            n_iter: 0,
            max_iter,
            reported: f64::INFINITY,
            gap: f64::INFINITY,
            accuracy: 1.0,
        }
    }

    /// Counts from 0 again.
    pub fn start_over(&mut self) {
        self.n_iter = 0;
    }

    pub fn n_iter(&self) -> usize {
        self.n_iter
    }

    pub fn is_over(&self) -> bool {
        self.n_iter >= self.max_iter
    }

    /// After every pass.
    pub fn count(&mut self) -> Result<()> {
        self.n_iter += 1;
        self.report()
    }

    pub fn report(&mut self) -> Result<()> {
        (self.progress)(self.n_iter, self.reported)
    }
}
