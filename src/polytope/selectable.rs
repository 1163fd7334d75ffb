use std::ops::Deref;
use std::sync::Arc;

use super::{GroupBall, LinfBall, Polytope, SignedCoordinates, VertexList};

/// A polytope whose structure was reviewed for exact selection. Nothing outside the crate can make another one.
pub(crate) trait Listed: Polytope {}

impl Listed for GroupBall {}
impl Listed for LinfBall {}
impl Listed for SignedCoordinates {}
impl Listed for VertexList {}

/// A polytope among whose vertices a private selection chooses: one of the catalogue, whose structure and radius are
/// what they say. Sensitivities of selections rest on it.
///
/// ```
/// use dpsparse::polytope::{Polytope, Selectable, SignedCoordinates};
/// let ball: Selectable = SignedCoordinates::l1_ball(3, 2.0).into();
/// assert_eq!((ball.name(), ball.unit()), ("l1 ball", 2.0));
/// ```
#[derive(Debug, Clone)]
pub struct Selectable(Arc<dyn Polytope>);

#[allow(private_bounds)] // the review is not for others to make
impl<P: Listed + 'static> From<P> for Selectable {
    fn from(polytope: P) -> Self {
        Self(Arc::new(polytope))
    }
}

impl Deref for Selectable {
    type Target = dyn Polytope;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
