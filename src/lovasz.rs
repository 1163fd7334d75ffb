//! The Lovasz extension f of a set function and the greedy vertices that attain it (Edmonds 1970; Bach 2013, section 3).
//!
//! Two polytopes are solved greedily, and they differ (ARCHITECTURE rule 8): the base polytope
//! B(F) = {s: s(A) <= F(A) for all A, s(V) = F(V)}, whose support function is f, and for a monotone F the symmetric
//! polyhedron |P|(F) = {s: |s|(A) <= F(A) for all A}, whose support function is the norm Omega(theta) = f(|theta|). The
//! ball of Omega is the polar of |P|(F), another polytope.

use crate::error::Result;
use crate::set_function::SetFunction;

/// The indices 0..p by falling key, ties by index.
pub fn descending_order(keys: &[f64], order: &mut Vec<usize>) {
    order.clear();
    order.extend(0..keys.len());
    order.sort_unstable_by(|&i, &j| keys[j].total_cmp(&keys[i]).then(i.cmp(&j)));
}

/// f(w) = max <w, s> over B(F).
///
/// ```
/// use dpsparse::set_function::Cardinality;
/// let f = Cardinality::new(3)?;
/// assert_eq!(dpsparse::lovasz::extension(&f, &[2.0, -1.0, 0.5])?, 1.5);
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// Only where a user's oracle fails.
pub fn extension(f: &dyn SetFunction, w: &[f64]) -> Result<f64> {
    let mut s = vec![0.0; w.len()];
    base_vertex(f, w, &mut s)?;
    Ok(w.iter().zip(&s).map(|(w, s)| w * s).sum())
}

/// The vertex s of B(F) that maximises <w, s>: gains along falling w.
///
/// # Errors
/// Only where a user's oracle fails.
pub fn base_vertex(f: &dyn SetFunction, w: &[f64], s: &mut [f64]) -> Result<()> {
    let mut order = Vec::new();
    descending_order(w, &mut order);
    let mut gains = vec![0.0; w.len()];
    f.gains(&order, &mut gains)?;
    for (&j, &gain) in order.iter().zip(&gains) {
        s[j] = gain;
    }
    Ok(())
}

/// The vertex s of |P|(F) that maximises <theta, s>, for a monotone F: gains along falling |theta|, with the signs of theta
/// (MECHANISMS M11). Features with theta_j = 0 get s_j = 0.
///
/// # Errors
/// Only where a user's oracle fails.
pub fn support_vertex(f: &dyn SetFunction, theta: &[f64], s: &mut [f64]) -> Result<()> {
    let sizes: Vec<f64> = theta.iter().map(|t| t.abs()).collect();
    let mut order = Vec::new();
    descending_order(&sizes, &mut order);
    order.truncate(order.partition_point(|&j| sizes[j] > 0.0));
    let mut gains = vec![0.0; order.len()];
    f.gains(&order, &mut gains)?;
    s.fill(0.0);
    for (&j, &gain) in order.iter().zip(&gains) {
        s[j] = gain.copysign(theta[j]);
    }
    Ok(())
}

/// Omega(theta) = f(|theta|) for a monotone F.
///
/// # Errors
/// Only where a user's oracle fails.
pub fn norm(f: &dyn SetFunction, theta: &[f64]) -> Result<f64> {
    let mut s = vec![0.0; theta.len()];
    support_vertex(f, theta, &mut s)?;
    Ok(theta.iter().zip(&s).map(|(t, s)| t * s).sum())
}
