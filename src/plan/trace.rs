/// What noisy Newton steps on one score released on their way to a model: answers that the fit has paid for, so
/// whatever is made of them is free.
///
/// Everything is in scaled units of the records that the steps were made on, the intercept's column last.
#[derive(Debug, Clone)]
pub struct Trace {
    /// sum_i w_i^2 x_i x_i' with its noise, a symmetric d x d matrix; w_i is below 1 for records that count less.
    pub moments: Vec<f64>,
    /// Standard deviation of the noise on it, off the diagonal; sqrt(2) times that on the diagonal.
    pub moment_noise: f64,
    /// The least eigenvalue of that matrix.
    pub least_eigenvalue: f64,
    /// Coefficients at which gradients were asked for, d a step.
    pub points: Vec<f64>,
    /// (1/n) sum_i w_i l'_i x_i there, with its noise.
    pub gradients: Vec<f64>,
    /// Standard deviation of the noise on an entry of a gradient.
    pub gradient_noise: f64,
    /// Number of records that means are over.
    pub n_samples: usize,
    /// Clamp of the slopes of the loss.
    pub clamp: f64,
    /// Whether records may count less than once.
    pub weighs: bool,
    /// Value in the column of the intercept; 0 without one.
    pub intercept: f64,
    /// Where features were clipped to released ranges, in standard deviations if they were normal; None: nowhere.
    pub clipped_at: Option<f64>,
    /// Whether features say less far out than a linear model has it: another one, whose features are clipped nearer,
    /// predicts better beyond doubt.
    pub bends: bool,
    /// Coefficients without the line, where there is one.
    pub theta: Vec<f64>,
    /// What the line through scores released, where there is one.
    pub line: Option<LineTrace>,
    /// In the units of the model's user: the images of d + 1 models, 0 and the d unit vectors. Units change by affine
    /// maps, so they tell all others.
    pub images: Vec<Vec<f64>>,
}

impl Trace {
    /// Forgets all steps but the last one: those before were too long, and tell little of the minimiser.
    pub(crate) fn keep_last(&mut self) {
        let d = self.images.len() - 1;
        for all in [&mut self.points, &mut self.gradients] {
            all.drain(..all.len() - d);
        }
    }
}

/// The same of a private line through released scores, whose only feature is a score over `reach`, clipped to [-1, 1].
#[derive(Debug, Clone)]
pub struct LineTrace {
    /// Score whose image is 1.
    pub reach: f64,
    /// Slope and constant at which gradients were asked for, two a step.
    pub points: Vec<f64>,
    /// sum_i w_i l'_i (s_i, 1) over about sum_i w_i there, with its noise; w_i is below 1 for records far out.
    pub gradients: Vec<f64>,
    /// Standard deviation of the noise on the second entry of a gradient; there is no more on the first.
    pub constant_noise: f64,
    /// Clamp of the slopes of the loss.
    pub clamp: f64,
    /// So many of the gradients, the last ones, were asked for at constants that are off by the clamp and more.
    pub probes: usize,
}

impl Trace {
    /// Moves the images to other units, as models are moved.
    pub fn moved(mut self: Box<Self>, map: impl Fn(Vec<f64>) -> Vec<f64>) -> Box<Self> {
        self.images = self.images.into_iter().map(map).collect();
        self
    }
}

/// 0 and the unit vectors of d entries.
pub(crate) fn frame(d: usize) -> Vec<Vec<f64>> {
    let unit = |k: usize| (1..=d).map(|j| f64::from(u8::from(j == k))).collect();
    (0..=d).map(unit).collect()
}
