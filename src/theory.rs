//! What the papers' theorems predict, with explicit constants: the one place of every formula that plans and
//! `dpsparse.theory` use.
//!
//! The papers state orders; the constants here are those of the mended mechanisms ([`crate::theory_of_privacy`]).

/// alpha = L R2/(sqrt(n) G): the penalty that Kumar & Deisenroth 2019, Theorem 1, suggests, G the Gaussian width of
/// |P|(F); their lambda is n alpha. A choice of penalty only: the privacy that the theorem claims does not hold as
/// printed ([`crate::theory_of_privacy::output_perturbation`]).
///
/// ```
/// assert_eq!(dpsparse::theory::suggested_alpha(1.0, 2.0, 100.0, 4.0), 0.05);
/// ```
pub fn suggested_alpha(lipschitz: f64, row_norm: f64, n: f64, width: f64) -> f64 {
    lipschitz * row_norm / (n.sqrt() * width)
}

/// T = (curvature n epsilon/scale)^(2/3): Talwar, Thakurta & Zhang 2015, Theorem 2.5 (scale L1 |C|_1) and Theorem 2.6
/// (scale L2 G_C); Kumar & Deisenroth 2019, Theorem 4 (curvature the squared diameter of K, scale L G_K).
///
/// ```
/// assert!((dpsparse::theory::printed_iterations(1.0, 1000.0, 1.0, 1.0) - 100.0).abs() < 1e-9);
/// ```
pub fn printed_iterations(curvature: f64, n: f64, epsilon: f64, scale: f64) -> f64 {
    (curvature * n * epsilon / scale).powf(2.0 / 3.0)
}

/// Excess of the mean loss after T steps of Frank-Wolfe whose vertices fall short of the best by `error` on average:
/// 2 curvature/(T + 2) + error (Jaggi 2013, Theorem 1; Talwar, Thakurta & Zhang 2015, Theorem A.2).
pub fn frank_wolfe_excess(curvature: f64, iterations: f64, error: f64) -> f64 {
    2.0 * curvature / (iterations + 2.0) + error
}

/// Expected shortfall of one of T exact choices among exp(`log_candidates`) candidates, whose scores have sensitivity
/// D, under rho-zCDP together: each is eps0-bounded-range with T eps0^2/8 = rho and loses at most (2 D/eps0) ln|S|
/// (McSherry & Talwar 2007; in place of the Laplace noise of Theorem 2.5, which is not proved,
/// [`crate::theory_of_privacy::frank_wolfe`]).
pub fn selection_error(log_candidates: f64, sensitivity: f64, iterations: f64, rho: f64) -> f64 {
    log_candidates * 2.0 * sensitivity * (iterations / (8.0 * rho)).sqrt()
}

/// Expected shortfall of a vertex chosen by a gradient with normal noise of standard deviation `noise` on every entry,
/// over a set of Gaussian width `width`: the noise moves the best and the chosen score by `noise * width` each (Theorem
/// 2.6, with the exact Gaussian calibration in place of its sigma).
pub fn noisy_vertex_error(width: f64, noise: f64) -> f64 {
    2.0 * width * noise
}

/// Mean curvature of an empirical risk, and the size of the model that it is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Landscape {
    /// Number of columns.
    pub columns: f64,
    /// Trace of the Hessian of the mean loss.
    pub trace: f64,
    /// Curvature in the flat directions, where noise on the gradient does its harm: at most trace/columns.
    pub floor: f64,
    /// |theta*|_2 of the model compared with.
    pub distance: f64,
}

impl Landscape {
    /// Excess of the mean loss at a minimiser with `ridge`, after normal noise of standard deviation `tilt` on the
    /// entries of the gradient (objective perturbation, [`crate::theory_of_privacy::objective_perturbation`]) and
    /// `output` on those of the minimiser (output perturbation, [`crate::theory_of_privacy::output_perturbation`]).
    ///
    /// For a quadratic risk: the ridge costs ridge |theta*|^2/2 at most, the tilt p tilt^2/(2 (floor + ridge)), the
    /// output noise output^2 (trace + p ridge)/2 (Jain & Thakurta 2014, Theorems 1 and 2, whose noise term is free of p
    /// in the same way: the trace is at most beta R2^2).
    pub fn ridge_excess(&self, ridge: f64, tilt: f64, output: f64) -> f64 {
        let tilt = self.columns * tilt * tilt / (self.floor + ridge);
        let output = (self.trace + self.columns * ridge) * output * output;
        0.5 * (ridge * self.distance * self.distance + tilt + output)
    }

    /// The same for gradient descent of total length `length` (steps times their number) without a ridge: early
    /// stopping acts like a ridge of 1/length. `tilt` is the noise of the mean of all gradients.
    pub fn descent_excess(&self, length: f64, tilt: f64, output: f64) -> f64 {
        self.ridge_excess(1.0 / length, tilt, output)
    }

    /// The length at which [`Landscape::descent_excess`] is least for gradients with noise: 1/length = noise
    /// sqrt(p)/|theta*| - floor, infinite where that is not positive.
    pub fn best_length(&self, tilt: f64) -> f64 {
        let ridge = tilt * self.columns.sqrt() / self.distance - self.floor;
        if ridge > 0.0 {
            1.0 / ridge
        } else {
            f64::INFINITY
        }
    }
}

/// The candidate of least value; the first of equals, and 1 if none is comparable.
pub(crate) fn least(candidates: impl Iterator<Item = f64>, value: impl Fn(f64) -> f64) -> f64 {
    candidates
        .map(|candidate| (candidate, value(candidate)))
        .filter(|(_, value)| !value.is_nan())
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(1.0, |(candidate, _)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_length_is_where_the_excess_is_least() {
        let landscape = Landscape {
            columns: 124.0,
            trace: 0.3,
            floor: 0.002,
            distance: 3.0,
        };
        let best = landscape.best_length(1e-3);
        let excess = |length| landscape.descent_excess(length, 1e-3, 0.0);
        assert!(excess(best) < excess(0.99 * best) && excess(best) < excess(1.01 * best));
        assert_eq!(landscape.best_length(1e-9), f64::INFINITY);
    }
}
