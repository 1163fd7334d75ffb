use super::sealed::Token;
use super::{Groups, SetFunction, Structure, check_n_features};
use crate::error::Result;
use crate::numeric::allocate::room;

/// F(A) = p - 1 + max A - min A + 1 for A not empty: Omega selects contiguous ranges of features (Bach 2010).
///
/// ```
/// use dpsparse::set_function::{ContiguousRange, SetFunction};
/// let f = ContiguousRange::new(5)?;
/// assert_eq!(f.value(&[1])?, 5.0);
/// assert_eq!(f.value(&[3, 1])?, 7.0);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ContiguousRange {
    n_features: usize,
}

impl ContiguousRange {
    /// On p features in their order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) where p = 0.
    pub fn new(n_features: usize) -> Result<Self> {
        check_n_features(n_features)?;
        Ok(Self { n_features })
    }
}

/// The contiguous range as a cover by 2p - 1 groups: p - 1 + max A - min A + 1 counts the {k, ...} with k >= 1 and the
/// {..., k} with k < p - 1 that meet A, and V.
///
/// # Errors
/// Those of [`Groups::new`] for p = 0 or too large a p: the groups have about p^2 members.
pub(crate) fn contiguous_cover(p: usize) -> Result<Groups> {
    room(p.saturating_mul(p), size_of::<usize>())?;
    let tails = (1..p).map(|k| (k..p).collect());
    let heads = (0..p).map(|k| (0..k + 1).collect());
    let groups: Vec<Vec<usize>> = tails.chain(heads).collect();
    Groups::new(&groups, None, p)
}

impl SetFunction for ContiguousRange {
    fn name(&self) -> &'static str {
        "contiguous range"
    }

    fn n_features(&self) -> usize {
        self.n_features
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        let Some(&first) = order.first() else {
            return Ok(());
        };
        gains[0] = self.n_features as f64;
        let (mut low, mut high) = (first, first);
        for (gain, &j) in gains.iter_mut().zip(order).skip(1) {
            let length = high - low;
            (low, high) = (low.min(j), high.max(j));
            *gain = (high - low - length) as f64;
        }
        Ok(())
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn structure(&self) -> Structure<'_> {
        Structure::ContiguousRange
    }

    fn is_own(&self, _: Token) -> bool {
        true
    }
}
