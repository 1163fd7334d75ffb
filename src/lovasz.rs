//! The Lovasz extension f of a set function and the greedy vertices that attain it (Edmonds 1970; Bach 2013, section
//! 3).
//!
//! Two polytopes are solved greedily, and they differ: the base polytope
//! B(F) = {s: s(A) <= F(A) for all A, s(V) = F(V)}, whose support function is f, and for a monotone F the symmetric
//! polyhedron |P|(F) = {s: |s|(A) <= F(A) for all A}, whose support function is the norm Omega(theta) = f(|theta|). The
//! ball of Omega is the polar of |P|(F), another polytope.

use crate::error::Result;
use crate::set_function::{SetFunction, Structure};

/// The indices 0..p by falling key, ties by index.
pub fn descending_order(keys: &[f64], order: &mut Vec<usize>) {
    order.clear();
    order.extend(0..keys.len());
    sort_descending(keys, order);
}

/// Sorts distinct indices into `keys` by falling key (in the total order of floats), ties by index.
///
/// Indices and the leading bits of their keys are packed into one integer, so that the sort compares and moves machine
/// words and follows no index; what these bits leave open is sorted by the whole keys afterwards.
///
/// ```
/// let mut order = vec![0, 2, 3];
/// dpsparse::lovasz::sort_descending(&[1.0, 9.0, 5.0, 1.0], &mut order);
/// assert_eq!(order, [2, 0, 3]);
/// ```
pub fn sort_descending(keys: &[f64], order: &mut [usize]) {
    let by_key = |&i: &usize, &j: &usize| keys[j].total_cmp(&keys[i]).then(i.cmp(&j));
    let index_bits = usize::BITS - (keys.len().max(2) - 1).leading_zeros();
    if order.len() < 32 || index_bits >= usize::BITS {
        order.sort_unstable_by(by_key);
        return;
    }
    let mask = (1usize << index_bits) - 1;
    for entry in order.iter_mut() {
        let bits = keys[*entry].to_bits();
        // Falling in the total order: negative numbers by their bits, positive ones by the complement, before them.
        let falling = if bits >> 63 == 1 {
            bits
        } else {
            !bits & !(1 << 63)
        };
        let leading = (falling >> (64 - (usize::BITS - index_bits))) as usize;
        *entry |= leading << index_bits;
    }
    order.sort_unstable();
    let mut start = 0;
    for end in 1..=order.len() {
        if end == order.len() || (order[end] ^ order[start]) > mask {
            let run = &mut order[start..end];
            run.iter_mut().for_each(|entry| *entry &= mask);
            if run.len() > 1 && !run.is_sorted_by(|i, j| by_key(i, j).is_le()) {
                run.sort_unstable_by(by_key);
            }
            start = end;
        }
    }
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
    if let Structure::Modular(weights) = f.structure() {
        // The only point of B(F).
        s.copy_from_slice(weights);
        return Ok(());
    }
    let mut order = Vec::new();
    descending_order(w, &mut order);
    let mut gains = vec![0.0; w.len()];
    f.gains(&order, &mut gains)?;
    for (&j, &gain) in order.iter().zip(&gains) {
        s[j] = gain;
    }
    Ok(())
}

/// The vertex s of |P|(F) that maximises <theta, s>, for a monotone F: gains along falling |theta|, with the signs of
/// theta ([`crate::theory_of_privacy::polyhedra`]). Features with theta_j = 0 get s_j = 0.
///
/// # Errors
/// Only where a user's oracle fails.
pub fn support_vertex(f: &dyn SetFunction, theta: &[f64], s: &mut [f64]) -> Result<()> {
    if let Structure::Modular(weights) = f.structure() {
        // Gains do not depend on the order.
        for ((s, weight), t) in s.iter_mut().zip(weights).zip(theta) {
            *s = if *t == 0.0 { 0.0 } else { weight.copysign(*t) };
        }
        return Ok(());
    }
    let sizes: Vec<f64> = theta.iter().map(|t| t.abs()).collect();
    let mut order: Vec<usize> = (0..theta.len()).filter(|&j| sizes[j] > 0.0).collect();
    sort_descending(&sizes, &mut order);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packed_order_is_the_order(
            keys in prop::collection::vec(
                prop_oneof![-2.0..2.0f64, Just(0.0), Just(-0.0), Just(1.0), Just(1.0 + f64::EPSILON), Just(1.0 + 3e-16), Just(f64::INFINITY)],
                1..200,
            ),
        ) {
            let mut order = Vec::new();
            descending_order(&keys, &mut order);
            let mut expected: Vec<usize> = (0..keys.len()).collect();
            expected.sort_by(|&i, &j| keys[j].total_cmp(&keys[i]));
            prop_assert_eq!(order, expected);
        }
    }
}
