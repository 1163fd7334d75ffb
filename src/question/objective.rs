//! The objective of a private minimiser: what public constants prove of it.

use super::class_slopes::slope_error;
use super::model::RoomModel;
use crate::loss::Rounding;
use crate::norm::ReviewedNorm;

/// F(theta) = (1/n) sum_i l(<x_i, theta>; y_i) + <tilt, theta> + (ridge/2)|theta|_2^2 + alpha
/// Omega(theta without intercept), in scaled units, the intercept last and under the ridge too. Of several scores theta
/// has a row each, one after the other, and Omega is summed over the rows. `columns` are those of one row.
pub struct Objective<'a> {
    /// The loss, with its bound L on |l'|.
    pub model: &'a RoomModel,
    /// beta >= l''.
    pub smoothness: f64,
    /// R2, the Euclidean bound of a row, the intercept included.
    pub rows: f64,
    /// Positive.
    pub ridge: f64,
    /// Omega with its factor; None or 0: no penalty.
    pub penalty: Option<(&'a ReviewedNorm, f64)>,
    /// Float error of the prox per unit of size; 0 without a penalty.
    pub prox_error: f64,
    /// A bound on |tilt|_2.
    pub tilt_bound: f64,
    /// Records per record of the normaliser: 1 under replace-one, private under add-remove.
    pub load: f64,
    /// A public bound on it.
    pub most_load: f64,
}

/// Under add-remove the number of records is private, and more of them than the public normaliser make F steeper. The
/// float error is proved for up to so many times the normaliser; that there are no more is a public fact of the domain,
/// as finite values are, and is checked before anything is spent.
pub(crate) const MOST_LOAD: f64 = 16.0;

impl Objective<'_> {
    /// Smoothness of F without the penalty, for some load.
    pub fn total_smoothness(&self, load: f64) -> f64 {
        (self.smoothness * self.rows * self.rows * load + self.ridge) * (1.0 + 1e-12)
    }

    /// |theta*|_2 is at most this: 0 is in the subdifferential of F at theta*, whose penalty part has a non-negative
    /// inner product with theta*, so ridge |theta*| <= L R2 load + |tilt|.
    pub fn size_bound(&self, load: f64) -> f64 {
        (self.model.bound().l2 * self.rows * load + self.tilt_bound) / self.ridge
    }

    /// Bound on the float error of a residual: the gradient's own, twice, and the roundings of tilt and ridge terms,
    /// whose sizes are at most |tilt| and (beta R2^2 load + ridge) 2 |theta*|. A prox that is off by e at a point of
    /// size at most 7 size bounds (3 of the point, 4 of a gradient step) makes the residual that of a point e away: it
    /// is off by twice (beta R2^2 load + ridge) e, and the point by e. Public: at the largest load.
    pub fn float_error(&self, columns: usize) -> f64 {
        let load = self.most_load;
        let farthest = 7.0 * self.size_bound(load);
        let gradient =
            gradient_error(self.model, self.smoothness, self.rows, columns, farthest) * load;
        let sizes = self.total_smoothness(load) * self.size_bound(load);
        let terms = self.tilt_bound + 4.0 * sizes;
        2.0 * gradient + 2f64.powi(-49) * terms + 24.0 * sizes * self.prox_error
    }

    /// e: what the room minimises ends within this distance of the minimiser, whatever the records are.
    pub fn distance(&self, columns: usize) -> f64 {
        5.0 * self.float_error(columns) / self.ridge * (1.0 + 1e-12)
    }

    /// The number of plain proximal gradient steps that are proved to get there: kappa ln(2 size ridge/error).
    pub fn steps(&self, columns: usize) -> f64 {
        let condition = self.total_smoothness(self.load) / self.ridge;
        let start = 2.0 * self.size_bound(self.load) * self.ridge;
        let steps = condition * (start / self.float_error(columns)).ln().max(1.0);
        steps.ceil()
    }
}

/// Euclidean norm of the error of a fine gradient for a loss of slopes up to L and smoothness beta, rows of Euclidean
/// norm at most `rows`, p columns and coefficients of Euclidean norm at most `size`. For several scores see
/// [`slope_error`]; for one:
///
/// A score: theta is rounded to multiples of 2^-56, so |dz| <= rows sqrt(p) 2^-57; margins of its parts are exact.
/// Adding them in floats errs by less than 2^-50 of the largest partial sum, which is at most |z| and the parts that
/// are not there yet: entries of at most 2^(1 - bits) size, bits >= 13, hence rows sqrt(p) size 2^-12. The part of |z|
/// moves a derivative by at most 2^-50 sup |z l''(z)|, which for most catalogued losses is at most 2 L + beta: l''
/// vanishes, or falls like exp(-|z|), beyond |z| = |y| + L/beta. Evaluating l' errs by a few ulp, below 2^-46 L; other
/// losses state both ([`Rounding`](crate::loss::Rounding)). Its rounding errs by 2^-42 L. Sums over records are exact,
/// their conversion relative 2^-50. An error dd of every derivative moves the mean by at most dd rows.
pub(crate) fn gradient_error(
    model: &RoomModel,
    smoothness: f64,
    rows: f64,
    p: usize,
    size: f64,
) -> f64 {
    let lipschitz = model.bound().l2;
    if model.outputs() > 1 {
        let slopes = slope_error(model, smoothness, rows, p, size);
        return rows * (slopes + lipschitz * 2f64.powi(-48));
    }
    let score = rows * (p as f64).sqrt() * (2f64.powi(-57) + size * 2f64.powi(-62));
    let rounding = model.rounding().unwrap_or(Rounding {
        relative: 2.0 * lipschitz + smoothness,
        magnitude: lipschitz,
    });
    let derivative = smoothness * score
        + 2f64.powi(-50) * rounding.relative
        + 2f64.powi(-46) * rounding.magnitude
        + lipschitz * 2f64.powi(-42);
    rows * (derivative + lipschitz * 2f64.powi(-50))
}
