use crate::prox::{l1_ball_threshold, soft_threshold};

/// Omega for a coefficient of every feature and class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClassNorm {
    /// The sum of all |theta_jk|.
    L1,
    /// The sum over the features of the Euclidean norm of their K coefficients (Yuan & Lin 2006): all classes share a
    /// support.
    L21,
}

/// Sweeps over the coefficients of one feature that one visit is worth.
const MOST_SWEEPS: usize = 20;
/// Share of the first sweep below which a later one ends a visit.
const SWEEP_ACCURACY: f64 = 1e-6;

/// Share of a penalty below which its change is rounding.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// A quadratic of the coefficients of one feature, with penalties.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'b> {
    /// H, a square.
    pub hessian: &'b [f64],
    /// Least curvature that a step counts on.
    pub least: f64,
    pub alpha: f64,
    pub ridge: f64,
}

impl ClassNorm {
    /// Appends to `sizes` the numbers whose sum is Omega and whose maximum is the dual norm: entries, or norms of rows.
    pub(super) fn sizes(self, matrix: &[f64], n_classes: usize, sizes: &mut Vec<f64>) {
        sizes.clear();
        match self {
            Self::L1 => sizes.extend(matrix.iter().map(|x| x.abs())),
            Self::L21 => sizes.extend(matrix.chunks_exact(n_classes).map(length)),
        }
    }

    /// Omega of the coefficients of one feature.
    pub(super) fn of_feature(self, row: &[f64]) -> f64 {
        match self {
            Self::L1 => row.iter().map(|t| t.abs()).sum(),
            Self::L21 => length(row),
        }
    }

    /// The dual norm of the correlations of one feature.
    pub(super) fn dual_of_feature(self, row: &[f64]) -> f64 {
        match self {
            Self::L1 => row.iter().fold(0.0, |m, v| v.abs().max(m)),
            Self::L21 => length(row),
        }
    }

    /// Subtracts from the coefficients of one feature the constant that makes alpha Omega + (ridge/2)|.|^2 least: no
    /// score of a softmax model notices. Of several for the l1 norm the smallest that leaves an entry 0.
    fn shift(self, alpha: f64, ridge: f64, t: &mut [f64], sorted: &mut [f64]) {
        if t.iter().all(|t| *t == 0.0) {
            return;
        }
        let n = t.len() as f64;
        let mean = t.iter().sum::<f64>() / n;
        let shift = match self {
            Self::L1 if alpha > 0.0 => {
                sorted.copy_from_slice(t);
                sorted.sort_unstable_by(f64::total_cmp);
                if ridge > 0.0 {
                    penalised_centre(sorted, mean, alpha / (ridge * n))
                } else {
                    let (low, high) = (sorted[(t.len() - 1) / 2], sorted[t.len() / 2]);
                    if low.abs() <= high.abs() { low } else { high }
                }
            }
            _ => mean,
        };
        t.iter_mut().for_each(|t| *t -= shift);
    }
}

impl Block<'_> {
    /// Moves theta, the coefficients of one feature, towards the minimum over t of <g, t - theta> + <t - theta, H (t -
    /// theta)>/2 + (ridge/2)|t|^2 + alpha Omega(t), and leaves the step in `step`. Returns by how much that has fallen
    /// at least: a number without cancellation, as differences of values are lost in rounding long before gradients
    /// are. `scratch` holds 2 K numbers of no meaning.
    pub(super) fn update(
        self,
        norm: ClassNorm,
        gradient: &[f64],
        theta: &mut [f64],
        step: &mut [f64],
        scratch: &mut [f64],
    ) -> f64 {
        let (slopes, spare) = scratch.split_at_mut(theta.len());
        step.copy_from_slice(theta);
        slopes.copy_from_slice(gradient);
        let (mut first, mut sum) = (0.0, 0.0);
        for sweep in 0..MOST_SWEEPS {
            let decrease = match norm {
                ClassNorm::L1 => self.sweep(theta, slopes),
                ClassNorm::L21 => self.gradient_step(theta, slopes, spare),
            };
            sum += decrease;
            if sweep == 0 {
                first = decrease;
            }
            if decrease <= SWEEP_ACCURACY * first {
                break;
            }
        }
        // H (t + c 1) = H t: a shift changes nothing but the penalty.
        let before = self.penalty(norm, theta);
        norm.shift(self.alpha, self.ridge, theta, spare);
        let gain = before - self.penalty(norm, theta);
        if gain > ROUNDING * before {
            sum += gain;
        }
        (step.iter_mut().zip(theta.iter())).for_each(|(step, new)| *step = new - *step);
        sum
    }

    fn penalty(self, norm: ClassNorm, theta: &[f64]) -> f64 {
        let square: f64 = theta.iter().map(|t| t * t).sum();
        self.alpha * norm.of_feature(theta) + 0.5 * self.ridge * square
    }

    /// One coordinate after another to its minimum. Returns the least decrease: half the curvature times the squares of
    /// the steps.
    fn sweep(self, t: &mut [f64], slopes: &mut [f64]) -> f64 {
        let mut decrease = 0.0;
        for (k, row) in self.hessian.chunks_exact(t.len()).enumerate() {
            let curvature = row[k].max(self.least) + self.ridge;
            let old = t[k];
            let new = if curvature > 0.0 {
                let slope = slopes[k] + self.ridge * old;
                soft_threshold(curvature * old - slope, self.alpha) / curvature
            } else {
                // A column of zeros.
                0.0
            };
            let step = new - old;
            if step != 0.0 {
                t[k] = new;
                (slopes.iter_mut().zip(row)).for_each(|(slope, h)| *slope += h * step);
                decrease += 0.5 * curvature * step * step;
            }
        }
        decrease
    }

    /// One proximal gradient step of all classes, of a length that suits every eigenvalue of H: they lie between 0 and
    /// the trace, and below twice the largest entry of the diagonal, as the rows of H add up to 0 with no positive
    /// entry off the diagonal (Gershgorin 1931). Returns the least decrease, as [`Self::sweep`].
    fn gradient_step(self, t: &mut [f64], slopes: &mut [f64], steps: &mut [f64]) -> f64 {
        let diagonal = self.hessian.iter().step_by(t.len() + 1);
        let trace: f64 = diagonal.clone().sum();
        let largest = diagonal.fold(0.0f64, |m, h| m.max(*h));
        let curvature = trace.min(2.0 * largest).max(self.least);
        if curvature + self.ridge == 0.0 {
            // A column of zeros.
            t.fill(0.0);
            return 0.0;
        }
        for ((step, t), slope) in steps.iter_mut().zip(t.iter()).zip(slopes.iter()) {
            *step = curvature * t - slope;
        }
        let size = length(steps);
        let factor = if size > self.alpha {
            (1.0 - self.alpha / size) / (curvature + self.ridge)
        } else {
            0.0
        };
        let mut square = 0.0;
        for (step, t) in steps.iter_mut().zip(t.iter_mut()) {
            let new = factor * *step;
            *step = new - *t;
            *t = new;
            square += *step * *step;
        }
        for (slope, row) in slopes
            .iter_mut()
            .zip(self.hessian.chunks_exact(steps.len()))
        {
            *slope += row
                .iter()
                .zip(steps.iter())
                .map(|(h, s)| h * s)
                .sum::<f64>();
        }
        0.5 * (curvature + self.ridge) * square
    }
}

fn length(row: &[f64]) -> f64 {
    row.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// argmin_c sum_k (level n |s_k - c| + (s_k - c)^2/2) of n sorted numbers of the given mean: between the m lowest and
/// the others the derivative is 0 at mean + level (n - 2 m), which falls in m.
fn penalised_centre(sorted: &[f64], mean: f64, level: f64) -> f64 {
    let n = sorted.len();
    for (m, next) in sorted.iter().enumerate() {
        let centre = mean + level * (n as f64 - 2.0 * m as f64);
        if centre <= *next {
            return if m == 0 {
                centre
            } else {
                centre.max(sorted[m - 1])
            };
        }
    }
    (mean - level * n as f64).max(sorted[n - 1])
}

/// Omega from [`ClassNorm::sizes`].
pub(super) fn value(sizes: &[f64]) -> f64 {
    sizes.iter().sum()
}

/// The dual norm from the sizes of correlations.
pub(super) fn dual(sizes: &[f64]) -> f64 {
    sizes.iter().fold(0.0, |m, x| x.max(m))
}

/// min over Theta of <scale V, Theta> + alpha Omega + (ridge/2)|Theta|_F^2 from the sizes of V, for a positive ridge.
pub(super) fn ridge_minimum(sizes: &[f64], scale: f64, alpha: f64, ridge: f64) -> f64 {
    let excess = sizes.iter().map(|x| (scale * x - alpha).max(0.0).powi(2));
    -excess.sum::<f64>() / (2.0 * ridge)
}

/// The penalty at which the minimiser above, at scale 1, has Omega = `radius`; without a ridge the dual norm.
pub(super) fn ball_level(sizes: &[f64], radius: f64, ridge: f64, scratch: &mut Vec<f64>) -> f64 {
    l1_ball_threshold(sizes, ridge * radius, scratch)
}
