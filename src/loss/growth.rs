/// What bounds the slopes of one record: of a loss with K outputs, the K derivatives by z.
///
/// An enum without a default: a loss that grows in another way is a new variant, which everything that rests on a bound
/// has to answer for.
///
/// ```
/// use dpsparse::loss::{Growth, Logistic, Loss, Squared};
/// assert_eq!(Logistic.growth(), Growth::scalar(1.0));
/// assert_eq!(Squared.growth(), Growth::SquaredResidual);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Growth {
    /// Bounds on the slopes of a record in three norms; for one output they are equal.
    Bounded {
        /// The largest slope.
        linf: f64,
        /// The sum of the sizes of the slopes.
        l1: f64,
        /// The Euclidean norm of the slopes.
        l2: f64,
    },
    /// The slope is the residual z - y of the squared loss: a public clamp must bound it.
    SquaredResidual,
}

impl Growth {
    /// |l'| <= `bound`, for one output.
    pub const fn scalar(bound: f64) -> Self {
        Self::Bounded {
            linf: bound,
            l1: bound,
            l2: bound,
        }
    }

    /// Whether slopes are bounded without a clamp.
    pub fn is_bounded(&self) -> bool {
        matches!(self, Self::Bounded { .. })
    }
}
