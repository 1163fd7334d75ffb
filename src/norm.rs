//! What a solver asks of a regulariser Omega: its value, its dual, a subgradient, its prox.

mod group_lasso;
mod potential;

use std::sync::Arc;

use crate::error::{Error, Result, non_negative};
use crate::lovasz;
use crate::polytope::{base, norm_ball, singletons, symmetric};
use crate::prox::{self, Scratch};
use crate::set_function::{SetFunction, Structure, is_own, unscaled};

pub use group_lasso::GroupLasso;
pub use potential::{Blocks, Potential};

/// A norm, or a seminorm such as total variation. K is its dual ball {s: <s, theta> <= Omega(theta) for all theta}.
pub trait Norm: std::fmt::Debug + Send + Sync {
    /// p.
    fn n_features(&self) -> usize;

    /// Omega(theta).
    ///
    /// # Errors
    /// Only where a user's oracle fails; so everywhere below.
    fn value(&self, theta: &[f64]) -> Result<f64>;

    /// A vertex s of K with <s, theta> = Omega(theta).
    fn vertex(&self, theta: &[f64], s: &mut [f64]) -> Result<()>;

    /// The least t >= 0 with s in tK: the dual norm. Infinite where no t does (a seminorm, and s is not orthogonal to
    /// its kernel).
    fn dual(&self, s: &[f64]) -> Result<f64>;

    /// out = argmin_x |x - v|^2/2 + step*Omega(x); returns a bound on the excess of that objective at `out` over its
    /// minimum, 0 for closed forms. Entries that Omega ties together come out exactly equal, and entries that it sets
    /// to zero are exactly zero.
    fn prox(&self, v: &[f64], step: f64, out: &mut [f64], scratch: &mut Scratch) -> Result<f64>;

    /// The same by an algorithm with a proved float error, slower for some norms: what the noise of a private minimiser
    /// must cover.
    fn proved_prox(
        &self,
        v: &[f64],
        step: f64,
        out: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<f64> {
        self.prox(v, step, out, scratch)
    }

    /// Bound on the Euclidean float error of [`Norm::proved_prox`], per unit of the size of the point that it moves;
    /// infinite where none is proved.
    fn prox_error(&self) -> f64 {
        f64::INFINITY
    }

    /// Whether {Omega <= 1} is bounded: Omega is a norm, not a seminorm.
    fn ball_is_bounded(&self) -> bool;

    /// argmin <g, x> over the ball {Omega <= 1}.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a seminorm, whose ball is unbounded, or where no algorithm is known; else only
    /// where a user's oracle fails.
    fn ball_vertex(&self, _g: &[f64], _x: &mut [f64]) -> Result<()> {
        Err(Error::invalid(
            "norm",
            "has no known minimiser over its ball",
        ))
    }

    /// About the largest |theta|_2 over the unit ball, for public rules: of single features and of all of them together
    /// where nothing better is known.
    ///
    /// # Errors
    /// As [`Norm::value`].
    fn reach(&self) -> Result<f64> {
        let p = self.n_features();
        let mut largest = (p as f64).sqrt() / self.value(&vec![1.0; p])?;
        let mut single = vec![0.0; p];
        for j in 0..p {
            single[j] = 1.0;
            largest = largest.max(1.0 / self.value(&single)?);
            single[j] = 0.0;
        }
        Ok(largest)
    }

    /// Whether theta >= 0 is part of it: its prox keeps it, at step 0 as the projection on it, and [`Norm::dual`] is
    /// one-sided.
    fn is_positive(&self) -> bool {
        false
    }

    /// The w of Omega(theta) = sum_j w_j |theta_j|, all positive, where Omega is such a norm.
    fn weights(&self) -> Option<Vec<f64>> {
        None
    }

    /// The set function, where Omega is made of one.
    fn set_function(&self) -> Option<&dyn SetFunction> {
        None
    }

    /// The group lasso, where Omega is one: what has steps for groups asks for it.
    fn group_lasso(&self) -> Option<&GroupLasso> {
        None
    }

    /// Replaces the first p entries of `scaled`, the features, by their [`Norm::prox`] with step `threshold` and leaves
    /// what follows them, an intercept; 0 leaves all of it, but for what theta >= 0 forbids. On a release with a public
    /// threshold this is post-processing (Dwork & Roth 2014, proposition 2.1).
    ///
    /// ```
    /// use dpsparse::norm::{Norm, SetFunctionNorm};
    /// use dpsparse::set_function::Cardinality;
    /// let l1 = SetFunctionNorm::new(std::sync::Arc::new(Cardinality::new(2)?))?;
    /// let mut scaled = [3.0, -0.5, 0.25];
    /// l1.threshold(&mut scaled, 1.0)?;
    /// assert_eq!(scaled, [2.0, 0.0, 0.25]);
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for fewer than p entries, one of the first p that is not finite, or a threshold that
    /// is negative or not finite.
    fn threshold(&self, scaled: &mut [f64], threshold: f64) -> Result<()> {
        non_negative("threshold", threshold)?;
        let Some(features) = scaled.get_mut(..self.n_features()) else {
            return Err(Error::invalid(
                "scaled",
                format!("must have at least {} entries", self.n_features()),
            ));
        };
        if threshold > 0.0 || self.is_positive() {
            let released = features.to_vec();
            self.prox(&released, threshold, features, &mut Scratch::default())?;
        }
        Ok(())
    }
}

/// The norm Omega(theta) = f(|theta|) of a monotone set function, or the seminorm Omega(theta) = f(theta) of one with
/// F(V) = 0, such as a cut (total variation). A seminorm is symmetric where F(A) = F(V \ A).
///
/// ```
/// use dpsparse::norm::{Norm, SetFunctionNorm};
/// use dpsparse::set_function::Cardinality;
/// let l1 = SetFunctionNorm::new(std::sync::Arc::new(Cardinality::new(2)?))?;
/// assert_eq!((l1.value(&[1.0, -2.0])?, l1.dual(&[1.0, -2.0])?), (3.0, 2.0));
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SetFunctionNorm {
    function: Arc<dyn SetFunction>,
}

impl SetFunctionNorm {
    /// The norm of a set function.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a monotone F with some F({j}) = 0, which gives no norm, naming the feature; for
    /// an F that is not monotone and has F(V) != 0; for a multiple of a multiple without end. Else only where a user's
    /// oracle fails.
    pub fn new(function: Arc<dyn SetFunction>) -> Result<Self> {
        unscaled(&*function)?;
        if function.is_monotone() {
            let singletons = singletons(&*function)?;
            if let Some(j) = singletons.iter().position(|&value| value <= 0.0) {
                return Err(Error::invalid(
                    "function",
                    format!(
                        "is not a norm: F({{{j}}}) = 0, so feature {j} costs nothing; make it cost something, or give it a \
                         group of weight 0 of GroupLasso(...), which leaves it free"
                    ),
                ));
            }
        } else {
            base::check_total(&*function)?;
        }
        Ok(Self { function })
    }

    /// The set function.
    pub fn function(&self) -> &dyn SetFunction {
        &*self.function
    }
}

impl Norm for SetFunctionNorm {
    fn n_features(&self) -> usize {
        self.function.n_features()
    }

    fn value(&self, theta: &[f64]) -> Result<f64> {
        if self.function.is_monotone() {
            lovasz::norm(&*self.function, theta)
        } else {
            lovasz::extension(&*self.function, theta)
        }
    }

    fn vertex(&self, theta: &[f64], s: &mut [f64]) -> Result<()> {
        if self.function.is_monotone() {
            lovasz::support_vertex(&*self.function, theta, s)
        } else {
            lovasz::base_vertex(&*self.function, theta, s)
        }
    }

    fn dual(&self, s: &[f64]) -> Result<f64> {
        if self.function.is_monotone() {
            symmetric::dual_norm(&*self.function, s)
        } else {
            base::gauge(&*self.function, s)
        }
    }

    fn weights(&self) -> Option<Vec<f64>> {
        let (factor, structure) = unscaled(&*self.function).ok()?;
        match structure {
            Structure::Modular(weights) => Some(weights.iter().map(|w| factor * w).collect()),
            _ => None,
        }
    }

    fn prox_error(&self) -> f64 {
        prox::proved_error(&*self.function).unwrap_or(f64::INFINITY)
    }

    fn ball_is_bounded(&self) -> bool {
        self.function.is_monotone()
    }

    /// A vertex of the polar of |P|(F).
    fn ball_vertex(&self, g: &[f64], x: &mut [f64]) -> Result<()> {
        norm_ball::vertex(&*self.function, g, x)
    }

    fn reach(&self) -> Result<f64> {
        let p = self.n_features();
        let largest = (p as f64).sqrt() / self.value(&vec![1.0; p])?;
        let lengths = singletons(&*self.function)?.into_iter();
        Ok(lengths.map(f64::recip).fold(largest, f64::max))
    }

    fn set_function(&self) -> Option<&dyn SetFunction> {
        Some(&*self.function)
    }

    fn prox(&self, v: &[f64], step: f64, out: &mut [f64], scratch: &mut Scratch) -> Result<f64> {
        prox::prox(&*self.function, v, step, out, scratch)
    }

    fn proved_prox(
        &self,
        v: &[f64],
        step: f64,
        out: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<f64> {
        prox::proved_prox(&*self.function, v, step, out, scratch)
    }
}

/// A norm that was reviewed: convex, with a prox that does not expand and whose float error is proved
/// ([`Norm::prox_error`]). What proofs about minimisers and descents take; a user's own set function is none, whatever
/// it says of itself, and neither is another implementation of [`Norm`]: the room asks a reviewed norm at points that
/// are not released, where a user's could keep what it sees.
#[derive(Debug, Clone)]
pub struct ReviewedNorm(Arc<dyn Norm>);

impl ReviewedNorm {
    /// The norm if it is one of the reviewed ones: a [`GroupLasso`] of disjoint groups, or the norm of one of this
    /// crate's set functions with a structure, on which alone the prox works.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use dpsparse::norm::{ReviewedNorm, SetFunctionNorm};
    /// use dpsparse::set_function::{Cardinality, LogDet};
    /// let l1 = SetFunctionNorm::new(Arc::new(Cardinality::new(2)?))?;
    /// assert!(ReviewedNorm::new(Arc::new(l1)).is_some());
    /// let kernel = ndarray::array![[1.0, 0.5], [0.5, 1.0]];
    /// let determinant = SetFunctionNorm::new(Arc::new(LogDet::new(kernel.view(), 1.0)?))?;
    /// assert!(ReviewedNorm::new(Arc::new(determinant)).is_none());
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    ///
    /// No other set function can say that it is one of them:
    /// ```compile_fail,E0603
    /// use dpsparse::set_function::{SetFunction, sealed::Token};
    /// ```
    pub fn new<N: Reviewable>(norm: Arc<N>) -> Option<Self> {
        norm.is_reviewed().then(|| Self(norm))
    }
}

impl std::ops::Deref for ReviewedNorm {
    type Target = dyn Norm;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// Norms that [`ReviewedNorm::new`] can tell: those of this crate.
pub trait Reviewable: Norm + sealed::Sealed + 'static {
    /// Whether the proofs hold for it.
    fn is_reviewed(&self) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::SetFunctionNorm {}
    impl Sealed for super::GroupLasso {}
}

impl Reviewable for GroupLasso {
    /// Where there is a prox: [`GroupLasso`] proves it.
    fn is_reviewed(&self) -> bool {
        !self.overlaps()
    }
}

impl Reviewable for SetFunctionNorm {
    fn is_reviewed(&self) -> bool {
        // Before it is asked for anything else: a user's own may answer otherwise the next time.
        if !is_own(self.function()) {
            return false;
        }
        let positive = |weights: &[f64]| weights.iter().all(|w| w.is_finite() && *w >= 0.0);
        match unscaled(self.function()).map(|(_, structure)| structure) {
            Ok(Structure::Modular(weights)) => positive(weights),
            Ok(Structure::Blocks(blocks)) => blocks
                .iter()
                .all(|b| positive(&b.gains) && b.gains.is_sorted_by(|a, b| a >= b)),
            Ok(Structure::Laminar(groups) | Structure::Cover(groups)) => positive(groups.weights()),
            Ok(Structure::Cut(graph)) => positive(graph.weights()),
            Ok(Structure::ContiguousRange) => true,
            Ok(Structure::Scaled(..) | Structure::General) | Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests;
