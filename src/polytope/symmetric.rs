//! The symmetric submodular polyhedron |P|(F) = {s: |s|(A) <= F(A) for all A} of a monotone F: the dual ball of the
//! norm Omega(theta) = f(|theta|). (The ball of Omega is its polar: `norm_ball`.)

use super::radius::{self, NormOrder, Radius};
use super::ratio;
use super::width::{self, Estimate, Look, Simulation};
use crate::error::{Error, Result};
use crate::minimise::minimise;
use crate::set_function::SetFunction;

/// The dual norm max over A of |s|(A)/F(A): the least t with s in t|P|(F) ([`crate::theory_of_privacy::polyhedra`];
/// Bach 2013, section 5.1).
///
/// Closed for modular functions, blocks and disjoint groups; else Dinkelbach's method on [`minimise`], up to rounding,
/// for [`Structure::General`](crate::set_function::Structure::General) up to its minimiser's certificate. Infinite
/// where s_j is not 0 for a feature that costs nothing.
///
/// ```
/// use dpsparse::{polytope::symmetric::dual_norm, set_function::Cardinality};
/// assert_eq!(dual_norm(&Cardinality::new(3)?, &[0.5, -2.0, 1.0])?, 2.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for a function that is not monotone and for an s that does not have one finite entry per
/// feature; else only where a user's oracle fails.
pub fn dual_norm(f: &dyn SetFunction, s: &[f64]) -> Result<f64> {
    Ok(ratio::monotone(f, &sizes(f, s)?)?.value)
}

/// Whether no |s|(A) exceeds F(A) by more than tol*(1 + F(V)).
///
/// # Errors
/// As for [`dual_norm`].
pub fn contains(f: &dyn SetFunction, s: &[f64], tol: f64) -> Result<bool> {
    let sizes = sizes(f, s)?;
    let all: Vec<usize> = (0..s.len()).collect();
    Ok(minimise(f, &sizes)?.value >= -tol * (1.0 + f.value(&all)?))
}

/// max |s|_ord over |P|(F): F(V) for ord 1, max_j F({j}) for ord infinity.
///
/// For ord 2 exact where F is modular, of blocks or laminar, and for p <= 16 by dynamic programming over subsets; else
/// the proved upper bound min(sqrt(sum_j F({j})^2), sqrt(max_j F({j}) F(V))), and the result says so: |s_j| <= F({j}),
/// and
/// |s|_2^2 <= |s|_inf |s|_1.
///
/// ```
/// use dpsparse::polytope::{NormOrder, symmetric};
/// use dpsparse::set_function::Cardinality;
/// let radius = symmetric::radius(&Cardinality::new(4)?, NormOrder::Two)?;
/// assert!(radius.exact && radius.value == 2.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for a function that is not monotone; else only where a user's oracle fails.
pub fn radius(f: &dyn SetFunction, ord: NormOrder) -> Result<Radius> {
    check_monotone(f)?;
    radius::symmetric(f, ord)
}

/// The Gaussian width E max <b, s> over |P|(F) = E f(|b|), b standard normal ([`crate::theory_of_privacy::polyhedra`]):
/// exact, by formula or quadrature, for every structure but General, which is simulated.
///
/// ```
/// use dpsparse::polytope::{Simulation, symmetric};
/// use dpsparse::set_function::Cardinality;
/// let width = symmetric::gaussian_width(&Cardinality::new(2)?, Simulation { n_samples: 1000, seed: 0 })?;
/// assert!(width.exact && (width.value - 1.595769121605731).abs() < 1e-12);
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for a function that is not monotone, and for fewer than 2 samples where they are needed;
/// else only where a user's oracle fails.
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
    check_monotone(f)?;
    width::symmetric(f, simulation, look)
}

/// |s|, if F and s are as they should be.
pub(super) fn sizes(f: &dyn SetFunction, s: &[f64]) -> Result<Vec<f64>> {
    check_monotone(f)?;
    check_vector(f, s)?;
    Ok(s.iter().map(|s| s.abs()).collect())
}

pub(super) fn check_monotone(f: &dyn SetFunction) -> Result<()> {
    if f.is_monotone() {
        return Ok(());
    }
    Err(Error::invalid(
        "function",
        format!(
            "must be monotone for |P|(F) and the norm f(|theta|): {} is not; use the base polytope",
            f.name()
        ),
    ))
}

pub(super) fn check_vector(f: &dyn SetFunction, s: &[f64]) -> Result<()> {
    if s.len() == f.n_features() && s.iter().all(|s| s.is_finite()) {
        return Ok(());
    }
    Err(Error::invalid(
        "s",
        format!("must have {} entries, all finite", f.n_features()),
    ))
}
