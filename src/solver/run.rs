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
    /// Whether some model was not like the risk: none ever is where the risk is quadratic itself.
    pub doubts: bool,
    most_passes: usize,
    /// Whether the last model ended for having had so many.
    is_cut: bool,
}

/// Passes of a model that follows one that was not like the risk.
const FEWEST_PASSES: usize = 64;

impl<'r> Run<'r> {
    pub fn new(max_iter: usize, progress: &'r mut Progress<'r>) -> Self {
        Self {
            progress,
            n_iter: 0,
            max_iter,
            reported: f64::INFINITY,
            gap: f64::INFINITY,
            accuracy: 1.0,
            doubts: false,
            most_passes: FEWEST_PASSES,
            is_cut: false,
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

    /// Whether a model that has promised so much so far is not worth another pass, or none are left.
    ///
    /// No more than the gap can come, so that of more than twice as much less than half does: the model curves less
    /// than the risk, and its curvature will be raised, whatever its minimiser is. Where the model is next to flat, as
    /// that of a loss with linear parts may be, its minimiser is so far away that passes towards it would not end.
    pub fn ends_model(&self, promised: f64) -> bool {
        promised > 2.0 * self.gap || self.is_over()
    }

    /// As [`Run::ends_model`] of a model that has had so many passes, which are few before it has shown whether it is
    /// like the risk: along a direction in which it is next to flat passes bring little each, and do not end.
    pub fn ends_passes(&mut self, passes: usize, promised: f64) -> bool {
        self.is_cut = passes >= self.most_passes;
        self.is_cut || self.ends_model(promised)
    }

    /// Takes note of whether a model was like the risk: if it was and had more to say, the next one may have twice the
    /// passes.
    pub fn judge_model(&mut self, faithful: bool) {
        self.doubts |= !faithful;
        self.most_passes = match faithful {
            true if self.is_cut => self.most_passes.saturating_mul(2),
            true => self.most_passes,
            false => FEWEST_PASSES,
        };
        self.is_cut = false;
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
