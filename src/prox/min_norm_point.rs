use super::Scratch;
use super::isotonic::isotonic_descending;
use crate::error::Result;
use crate::lovasz::{descending_order, extension};
use crate::minimise::min_norm_point::nearest;
use crate::set_function::SetFunction;

/// prox of step*f (or, `monotone`, of step*f(|x|)) by the nearest point s of step*B(F) to v; returns a bound on the
/// excess of the objective.
///
/// x = v - s solves it up to the gap of s. Isotonic regression in the order of x only lowers the objective (Bach 2013,
/// section 9.2) and ties entries exactly. For a monotone F the prox of f(|x|) is sign(v) times the positive part of the
/// prox of f at |v|.
///
/// The bound: for y = v - s, any x and any s with <s, x'> <= step*Omega(x') for all x' (of the orthant, if monotone),
/// objective(x) - minimum <= |x - y|^2/2 + step*Omega(x) - <s, x>, by weak duality and completing the square. For the
/// positive part s is lowered to v where it is above: that keeps s(A) <= step*F(A).
pub(super) fn min_norm_point(
    f: &dyn SetFunction,
    v: &[f64],
    step: f64,
    monotone: bool,
    out: &mut [f64],
    scratch: &mut Scratch,
) -> Result<f64> {
    let target: Vec<f64> = if monotone {
        v.iter().map(|v| v.abs()).collect()
    } else {
        v.to_vec()
    };
    let s = nearest(f, &target, step)?.point;
    let mut y: Vec<f64> = target.iter().zip(&s).map(|(v, s)| v - s).collect();
    let Scratch {
        order,
        values,
        pools,
        ..
    } = scratch;
    descending_order(&y, order);
    values.resize(v.len(), 0.0);
    f.gains(order, values)?;
    for (value, &j) in values.iter_mut().zip(order.iter()) {
        *value = target[j] - step * *value;
    }
    isotonic_descending(values, pools);
    for (&j, &value) in order.iter().zip(values.iter()) {
        out[j] = if monotone { value.max(0.0) } else { value };
    }
    let mut s = s;
    if monotone {
        for j in 0..v.len() {
            s[j] = s[j].min(target[j]);
            y[j] = y[j].max(0.0);
        }
    }
    let mut excess = step * extension(f, out)?;
    for j in 0..v.len() {
        excess += 0.5 * (out[j] - y[j]).powi(2) - s[j] * out[j];
    }
    if monotone {
        for (out, v) in out.iter_mut().zip(v) {
            *out = if *out == 0.0 { 0.0 } else { out.copysign(*v) };
        }
    }
    Ok(excess.max(0.0))
}
