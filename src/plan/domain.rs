use std::sync::Arc;

use crate::error::{Error, Result};
use crate::norm::{GroupLasso, Norm, ReviewedNorm, SetFunctionNorm};
use crate::polytope::{GroupBall, LinfBall, Selectable, SignedCoordinates, VertexList};
use crate::set_function::{
    Cardinality, ConcaveCardinality, GroupCover, SetFunction, Structure, restricted,
};

/// What shapes the models: the norm that is bounded or penalised, or an explicit set of vertices.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Domain {
    /// The l1 norm.
    L1,
    /// The l-infinity norm.
    Linf,
    /// Non-negative coefficients of a given sum.
    Simplex,
    /// l1 over disjoint groups, l-infinity inside.
    Groups(Vec<Vec<usize>>),
    /// The convex hull of explicit vertices.
    Vertices(Vec<Vec<f64>>),
    /// The norm, or seminorm, of a set function.
    SetFunction(Arc<dyn SetFunction>),
    /// Euclidean norms of groups, and the l1 norm beside them.
    GroupLasso(Arc<GroupLasso>),
}

impl Domain {
    /// The ball {Omega <= radius} by its vertices, for mechanisms that select among them; the intercept, where there is
    /// one, joins as in [`crate::theory_of_privacy::conventions`]. A set function is taken where its ball is one of the
    /// selectable ones.
    ///
    /// # Errors
    /// A radius outside [1e-100, 1e100] (the range keeps floats between a radius and a coefficient finite), groups that
    /// overlap, a set function on another number of features or with another ball.
    pub fn polytope(
        &self,
        n_features: usize,
        intercept: bool,
        radius: Option<f64>,
        default: f64,
    ) -> Result<Selectable> {
        let size = Self::size(radius, default)?;
        let n_columns = n_features + usize::from(intercept);
        Ok(match self {
            Domain::L1 => SignedCoordinates::l1_ball(n_columns, size).into(),
            Domain::Linf => LinfBall::new(n_columns, size).into(),
            Domain::Simplex => SignedCoordinates::simplex(n_features, intercept, size).into(),
            Domain::Groups(groups) => GroupBall::new(groups, n_features, intercept, size)?.into(),
            Domain::Vertices(_) if radius.is_some() => {
                return Err(Error::invalid(
                    "radius",
                    "is not used with explicit vertices: scale the vertices",
                ));
            }
            Domain::Vertices(vertices) => VertexList::new(vertices, n_features, intercept)?.into(),
            Domain::SetFunction(function) => {
                self.check_features(n_features)?;
                return selectable(function.as_ref())?.polytope(
                    n_features,
                    intercept,
                    Some(size),
                    default,
                );
            }
            Domain::GroupLasso(norm) => return Err(no_vertices(norm)),
        })
    }

    /// The same ball for K scores a record, entry j of score k at k times the number of columns, plus j: the l1 ball
    /// and the l-infinity ball of all entries; groups hold the coefficients of their features for every score, and the
    /// intercepts are one group.
    ///
    /// # Errors
    /// As [`Domain::polytope`]; [`Error::InvalidArgument`] naming `norm` for the simplex, explicit vertices, and set
    /// functions with another ball.
    pub fn polytope_of_scores(
        &self,
        outputs: usize,
        n_features: usize,
        intercept: bool,
        radius: Option<f64>,
        default: f64,
    ) -> Result<Selectable> {
        let size = Self::size(radius, default)?;
        let columns = n_features + usize::from(intercept);
        let entries = outputs * columns;
        if u32::try_from(entries).is_err() {
            return Err(Error::invalid(
                "X",
                "has too many features for so many classes",
            ));
        }
        Ok(match self {
            Domain::L1 => SignedCoordinates::l1_ball(entries, size).into(),
            Domain::Linf => LinfBall::new(entries, size).into(),
            Domain::Groups(groups) => {
                GroupBall::new(groups, n_features, intercept, size)?; // says what is wrong with them
                let of_scores = |group: &[usize]| -> Vec<usize> {
                    let entries = |k| group.iter().map(move |&j| k * columns + j);
                    (0..outputs).flat_map(entries).collect()
                };
                let mut groups: Vec<Vec<usize>> =
                    groups.iter().map(|group| of_scores(group)).collect();
                if intercept {
                    groups.push(of_scores(&[n_features]));
                }
                GroupBall::new(&groups, entries, false, size)?.into()
            }
            Domain::Simplex | Domain::Vertices(_) => {
                return Err(Error::invalid(
                    "norm",
                    "must be \"l1\", \"linf\" or DisjointGroups(...) for frank-wolfe with three or more classes",
                ));
            }
            Domain::SetFunction(function) => {
                self.check_features(n_features)?;
                return selectable(function.as_ref())?
                    .polytope_of_scores(outputs, n_features, intercept, radius, default);
            }
            Domain::GroupLasso(norm) => return Err(no_vertices(norm)),
        })
    }

    /// The same on some of the `n_features` features, numbered anew, with the coefficients of the others 0. Groups and
    /// vertices lose what they have elsewhere; a group of nothing else is dropped. None where the domain is of another
    /// number of features, or [`restricted`] to some loses what algorithms need.
    ///
    /// # Errors
    /// Only for no features.
    pub fn restricted(&self, n_features: usize, features: &[u32]) -> Result<Option<Self>> {
        Ok(match self {
            Domain::L1 | Domain::Linf | Domain::Simplex => Some(self.clone()),
            Domain::Groups(groups) => {
                if GroupBall::new(groups, n_features, false, 1.0).is_err() {
                    return Ok(None);
                }
                let mut places = vec![None; n_features];
                for (k, &j) in features.iter().enumerate() {
                    places[j as usize] = Some(k);
                }
                let kept = |group: &Vec<usize>| group.iter().filter_map(|&j| places[j]).collect();
                let groups = groups.iter().map(kept);
                let groups = groups.filter(|group: &Vec<usize>| !group.is_empty());
                Some(Domain::Groups(groups.collect()))
            }
            Domain::Vertices(vertices) => {
                if vertices.iter().any(|vertex| vertex.len() != n_features) {
                    return Ok(None);
                }
                let pick =
                    |vertex: &Vec<f64>| features.iter().map(|&j| vertex[j as usize]).collect();
                Some(Domain::Vertices(vertices.iter().map(pick).collect()))
            }
            Domain::SetFunction(function) if function.n_features() == n_features => {
                restricted(function.clone(), features)?.map(Domain::SetFunction)
            }
            Domain::GroupLasso(norm) if norm.n_features() == n_features => {
                let kept = norm.restricted(features)?;
                kept.map(|norm| Domain::GroupLasso(Arc::new(norm)))
            }
            Domain::SetFunction(_) | Domain::GroupLasso(_) => None,
        })
    }

    /// Omega, for mechanisms that use its prox or minimise over its ball.
    ///
    /// # Errors
    /// The simplex and explicit vertices, which are no norms; a set function on another number of features, or one
    /// whose f(|theta|) is no norm and whose f(theta) is no seminorm.
    pub fn norm(&self, n_features: usize) -> Result<Arc<dyn Norm>> {
        self.check_features(n_features)?;
        if let Domain::GroupLasso(norm) = self {
            return Ok(disjoint(norm)?);
        }
        Ok(self.set_function_norm(n_features)?)
    }

    /// Omega, for mechanisms that only minimise over its ball: a group lasso may have groups that overlap.
    ///
    /// # Errors
    /// As [`Domain::norm`], and for a seminorm, whose ball is unbounded.
    pub fn ball(&self, n_features: usize) -> Result<Arc<dyn Norm>> {
        let norm: Arc<dyn Norm> = match self {
            Domain::GroupLasso(norm) => {
                self.check_features(n_features)?;
                norm.clone()
            }
            _ => self.norm(n_features)?,
        };
        if !norm.ball_is_bounded() {
            return Err(Error::invalid(
                "norm",
                "is a seminorm, whose ball is unbounded: give alpha, the size of its penalty, for mechanism=\"auto\", \
                 noisy-newton, noisy-proximal-gradient or output-perturbation",
            ));
        }
        Ok(norm)
    }

    fn set_function_norm(&self, n_features: usize) -> Result<Arc<SetFunctionNorm>> {
        let function: Arc<dyn SetFunction> = match self {
            Domain::L1 => Arc::new(Cardinality::new(n_features)?),
            Domain::Linf => Arc::new(ConcaveCardinality::new(vec![1.0; n_features])?),
            Domain::Groups(groups) => Arc::new(GroupCover::new(groups, None, n_features)?),
            Domain::SetFunction(function) => function.clone(),
            Domain::Simplex | Domain::Vertices(_) | Domain::GroupLasso(_) => {
                return Err(Error::invalid(
                    "norm",
                    "must be \"l1\", \"linf\", DisjointGroups(...), a set function or GroupLasso(...) for this mechanism: the \
                     simplex and explicit vertices have no prox; use frank-wolfe, which takes no ridge",
                ));
            }
        };
        Ok(Arc::new(SetFunctionNorm::new(function)?))
    }

    /// Omega where it is reviewed: what proofs about minimisers and descents take.
    ///
    /// # Errors
    /// As [`Domain::norm`]; [`Error::UnsoundMechanism`] for a user's own set function, LogDet or sums of unlike ones.
    pub fn reviewed_norm(&self, n_features: usize) -> Result<ReviewedNorm> {
        self.check_features(n_features)?;
        let reviewed = match self {
            Domain::GroupLasso(norm) => ReviewedNorm::new(disjoint(norm)?),
            _ => ReviewedNorm::new(self.set_function_norm(n_features)?),
        };
        reviewed.ok_or_else(|| {
            Error::UnsoundMechanism(
                "this mechanism rests on the norm being convex with a prox that does not expand and has a proved float \
                 error, which is so for catalogued norms, but not for a user's own set function, LogDet or sums of unlike \
                 ones; use dual-frank-wolfe, noisy-gradient-frank-wolfe or noisy-proximal-gradient"
                    .into(),
            )
        })
    }

    /// Refuses a ball without vertices, which there is nothing to select among.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] for a group lasso.
    pub(crate) fn check_vertices(&self) -> Result<()> {
        match self {
            Domain::GroupLasso(norm) => Err(no_vertices(norm)),
            _ => Ok(()),
        }
    }

    /// Whether selection knows the vertices of the ball of a set function.
    #[cfg(feature = "python")]
    pub(crate) fn knows_vertices(function: &dyn SetFunction) -> bool {
        selectable(function).is_ok()
    }

    /// Whether theta >= 0 is part of it.
    pub(crate) fn is_positive(&self) -> bool {
        matches!(self, Domain::GroupLasso(norm) if norm.is_positive())
    }

    /// Refuses theta >= 0 for a mechanism that does not keep it, for this reason.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] where theta >= 0 is part of the norm.
    pub(crate) fn check_free(&self, reason: &str) -> Result<()> {
        if !self.is_positive() {
            return Ok(());
        }
        Err(Error::UnsoundMechanism(format!(
            "positive=True is not for this mechanism: {reason}; use noisy-proximal-gradient, mirror-descent, \
             noisy-gradient-frank-wolfe, output-perturbation or objective-perturbation"
        )))
    }

    /// The radius of a ball: the one that was given, or else the default.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `radius` outside [1e-100, 1e100].
    pub(crate) fn size(radius: Option<f64>, default: f64) -> Result<f64> {
        let size = radius.unwrap_or(default);
        if !(1e-100..=1e100).contains(&size) {
            let problem = "must be positive, between 1e-100 and 1e100";
            return Err(Error::invalid("radius", problem));
        }
        Ok(size)
    }

    /// Refuses a set function or groups on another number of features.
    fn check_features(&self, n_features: usize) -> Result<()> {
        let (what, own) = match self {
            Domain::SetFunction(function) => ("a set function", function.n_features()),
            Domain::GroupLasso(norm) => ("a group lasso", norm.n_features()),
            _ => return Ok(()),
        };
        if own == n_features {
            return Ok(());
        }
        Err(Error::invalid(
            "norm",
            format!("is {what} on {own} features, but X has {n_features}"),
        ))
    }
}

/// The group lasso where it has a prox.
fn disjoint(norm: &Arc<GroupLasso>) -> Result<Arc<GroupLasso>> {
    if norm.overlaps() {
        return Err(Error::UnsoundMechanism(
            "this mechanism uses the prox or the value of the norm, and a group lasso whose groups overlap has neither in \
             closed form, so that no float error is proved; use noisy-gradient-frank-wolfe, which minimises over the ball \
             (radius, without alpha and ridge), groups that do not overlap, or GroupCover(...)"
                .into(),
        ));
    }
    Ok(norm.clone())
}

/// Why nothing selects among the vertices of a ball.
fn no_vertices(norm: &GroupLasso) -> Error {
    let reason = if norm.is_positive() {
        "this mechanism selects among vertices of either sign, and positive=True leaves one; use \
         noisy-gradient-frank-wolfe or noisy-proximal-gradient, or norm=\"simplex\", whose coefficients are not negative and \
         have a given sum"
    } else if norm.largest_group() == 1 {
        "this mechanism selects among the vertices of a bounded polytope, and the ball is unbounded where a feature of \
         weight 0 costs nothing; use noisy-proximal-gradient, output-perturbation or objective-perturbation"
    } else {
        "this mechanism selects among the vertices of a polytope, and the ball of a group lasso is none; use \
         noisy-gradient-frank-wolfe, or DisjointGroups(...), which is l-infinity inside groups"
    };
    Error::UnsoundMechanism(reason.into())
}

/// The equal domain whose ball has vertices that exact selection can use.
fn selectable(function: &dyn SetFunction) -> Result<Domain> {
    match function.structure() {
        Structure::Modular(weights) if weights.iter().all(|&w| w == 1.0) => return Ok(Domain::L1),
        Structure::Blocks([block])
            if block.members.len() == function.n_features()
                && block.gains[0] == 1.0
                && block.gains[1..].iter().all(|&gain| gain == 0.0) =>
        {
            return Ok(Domain::Linf);
        }
        Structure::Laminar(groups) if groups.weights().iter().all(|&w| w == 1.0) => {
            let disjoint = (0..groups.n_features()).all(|j| groups.of_feature(j).len() == 1);
            if disjoint {
                let members = |g| groups.members(g).iter().map(|&j| j as usize).collect();
                return Ok(Domain::Groups((0..groups.len()).map(members).collect()));
            }
        }
        _ => {}
    }
    Err(Error::invalid(
        "norm",
        "must be \"l1\", \"linf\", \"simplex\", DisjointGroups(...), Vertices(...) or a set function with the ball of one \
         of them for frank-wolfe; noisy-gradient-frank-wolfe takes every norm",
    ))
}
