//! The base polytope B(F) = {s: s(A) <= F(A) for all A, s(V) = F(V)}, whose support function is the Lovasz extension f.

use super::radius::{self, NormOrder, Radius};
use super::ratio;
use super::symmetric::check_vector;
use super::width::{self, Estimate, Look, Simulation};
use crate::error::{Error, Result};
use crate::minimise::minimise;
use crate::set_function::{Graph, SetFunction, Structure};

/// Sums below this multiple of the sum of |s| count as 0: the caller's s carries rounding of its own.
const ROUNDING: f64 = 1e-12;

/// The least t >= 0 with s in tB(F), for an F with F(V) = 0 such as a cut: the dual of the seminorm f(theta). Infinite
/// where s is not orthogonal, beyond rounding (1e-12 of the sum of |s|), to the vectors on which f vanishes: those
/// constant on V, for a cut those constant on every component.
///
/// On a chain max_j |s_0 + ... + s_j|/w_j; else Dinkelbach's method on max_A s(A)/F(A).
///
/// # Errors
/// [`Error::InvalidArgument`] where F(V) is not 0 (tB(F) then lies in {s: s(V) = tF(V)} and is no dual of a seminorm)
/// and for an s that does not have one finite entry per feature; else only where a user's oracle fails.
pub fn gauge(f: &dyn SetFunction, s: &[f64]) -> Result<f64> {
    check_vector(f, s)?;
    check_total(f)?;
    let rounding = ROUNDING * s.iter().map(|s| s.abs()).sum::<f64>();
    if s.iter().sum::<f64>().abs() > rounding {
        return Ok(f64::INFINITY);
    }
    general_gauge(f, s, rounding)
}

fn general_gauge(f: &dyn SetFunction, s: &[f64], rounding: f64) -> Result<f64> {
    match f.structure() {
        Structure::Scaled(scale, f) => Ok(general_gauge(f, s, rounding)? / scale),
        Structure::Cut(graph) if graph.is_chain() => Ok(chain(graph, s, rounding)),
        _ => Ok(ratio::dinkelbach(f, s, rounding)?.value),
    }
}

/// s is the divergence of exactly one flow along the chain.
fn chain(graph: &Graph, s: &[f64], rounding: f64) -> f64 {
    let mut weights = vec![0.0; s.len()];
    for (&(i, j), weight) in graph.edges().iter().zip(graph.weights()) {
        weights[i.min(j) as usize] += weight;
    }
    let (mut flow, mut gauge) = (0.0f64, 0.0f64);
    for (s, weight) in s.iter().zip(weights) {
        flow += s;
        if weight > 0.0 {
            gauge = gauge.max(flow.abs() / weight);
        } else if flow.abs() > rounding {
            return f64::INFINITY;
        } else {
            flow = 0.0;
        }
    }
    gauge
}

/// Whether no s(A) exceeds F(A) by more than tol*(1 + sum of |s|), and s(V) = F(V) up to as much.
///
/// ```
/// use dpsparse::{polytope::base, set_function::Modular};
/// let f = Modular::new(vec![1.0, 2.0])?;
/// assert!(base::contains(&f, &[1.0, 2.0], 1e-9)? && !base::contains(&f, &[1.0, 1.0], 1e-9)?);
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for an s that does not have one finite entry per feature; else only where a user's oracle
/// fails.
pub fn contains(f: &dyn SetFunction, s: &[f64], tol: f64) -> Result<bool> {
    check_vector(f, s)?;
    let slack = tol * (1.0 + s.iter().map(|s| s.abs()).sum::<f64>());
    let off = s.iter().sum::<f64>() - total(f)?;
    Ok(off.abs() <= slack && minimise(f, s)?.value >= -slack)
}

/// max |s|_ord over B(F). Exact for ord infinity, and for p <= 16 by dynamic programming over subsets; else an upper
/// bound from max |s_j| = max(|F({j})|, |F(V) - F(V \\ j)|) of every j, and the result says so (ord 1 of a cut is twice
/// the maximum cut, which is hard).
///
/// # Errors
/// Only where a user's oracle fails.
pub fn radius(f: &dyn SetFunction, ord: NormOrder) -> Result<Radius> {
    radius::base(f, ord)
}

/// The Gaussian width E max <b, s> over B(F) = E f(b), b standard normal: exact for cuts and modular functions, else
/// simulated.
///
/// # Errors
/// [`Error::InvalidArgument`] for fewer than 2 samples where they are needed; else only where a user's oracle fails.
pub fn gaussian_width(f: &dyn SetFunction, simulation: Simulation) -> Result<Estimate> {
    gaussian_width_watched(f, simulation, &mut |_, _| Ok(()))
}

/// The same, with a look at the draws done, of all of them, now and then: one that fails stops the simulation.
///
/// # Errors
/// As [`gaussian_width`], and what `look` returns.
pub fn gaussian_width_watched(
    f: &dyn SetFunction,
    simulation: Simulation,
    look: &mut Look<'_>,
) -> Result<Estimate> {
    width::base(f, simulation, look)
}

/// F(V).
fn total(f: &dyn SetFunction) -> Result<f64> {
    let all: Vec<usize> = (0..f.n_features()).collect();
    f.value(&all)
}

/// Refuses F(V) != 0, up to rounding of the values along one order.
pub(crate) fn check_total(f: &dyn SetFunction) -> Result<()> {
    let all: Vec<usize> = (0..f.n_features()).collect();
    let mut gains = vec![0.0; all.len()];
    f.gains(&all, &mut gains)?;
    let total: f64 = gains.iter().sum();
    let sizes: f64 = gains.iter().map(|gain| gain.abs()).sum();
    if total.abs() <= ROUNDING * sizes {
        return Ok(());
    }
    Err(Error::invalid(
        "function",
        format!(
            "must have F(V) = 0 where it is not monotone: {} has {total}",
            f.name()
        ),
    ))
}
