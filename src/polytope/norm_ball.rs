//! The ball {Omega <= 1} of the norm Omega(theta) = f(|theta|) of a monotone F: the polar of |P|(F).

use super::{ratio, symmetric};
use crate::error::Result;
use crate::set_function::SetFunction;

/// x = argmin <g, x> over {Omega <= 1}, a vertex: -sign(g) 1_A/F(A) for the A that attains the dual norm of g; x = 0
/// for g = 0. Features that cost nothing make the minimum minus infinity, and x infinite.
///
/// ```
/// use dpsparse::{polytope::norm_ball, set_function::Cardinality};
/// let mut x = [0.0; 3];
/// norm_ball::vertex(&Cardinality::new(3)?, &[0.5, -2.0, 1.0], &mut x)?;
/// assert_eq!(x, [0.0, 1.0, 0.0]);
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// As for [`symmetric::dual_norm`].
pub fn vertex(f: &dyn SetFunction, g: &[f64], x: &mut [f64]) -> Result<()> {
    let set = ratio::monotone(f, &symmetric::sizes(f, g)?)?.set;
    x.fill(0.0);
    let price = f.value(&set)?;
    for j in set.into_iter().filter(|&j| g[j] != 0.0) {
        x[j] = -g[j].signum() / price;
    }
    Ok(())
}
