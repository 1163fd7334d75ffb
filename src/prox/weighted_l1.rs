use super::soft_threshold;

/// prox of step*sum_j w_j |x_j|: a soft threshold of every entry at its own level.
pub(super) fn weighted_l1(v: &[f64], weights: &[f64], step: f64, out: &mut [f64]) {
    for ((out, &v), weight) in out.iter_mut().zip(v).zip(weights) {
        *out = soft_threshold(v, step * weight);
    }
}
