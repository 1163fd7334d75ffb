use super::laminar::crossing_groups;
use super::sealed::Token;
use super::{Groups, SetFunction, Structure};
use crate::error::Result;

/// F(A) = sum_g w_g [A meets g]: Omega(theta) = sum_g w_g max_{j in g} |theta_j|, overlapping groups allowed.
///
/// ```
/// use dpsparse::set_function::{GroupCover, SetFunction};
/// let f = GroupCover::new(&[vec![0, 1], vec![1, 2]], Some(vec![1.0, 3.0]), 3)?;
/// assert_eq!(f.value(&[1])?, 4.0);
/// let mut gains = [0.0; 3];
/// f.gains(&[0, 1, 2], &mut gains)?;
/// assert_eq!(gains, [1.0, 3.0, 0.0]);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GroupCover {
    groups: Groups,
    is_laminar: bool,
}

impl GroupCover {
    /// Groups of features below `n_features`; no weights means 1 each.
    ///
    /// # Errors
    /// Those of [`Groups::new`].
    pub fn new(
        groups: &[Vec<usize>],
        weights: Option<Vec<f64>>,
        n_features: usize,
    ) -> Result<Self> {
        let groups = Groups::new(groups, weights, n_features)?;
        let is_laminar = crossing_groups(&groups).is_none();
        Ok(Self { groups, is_laminar })
    }

    /// The groups.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }
}

impl SetFunction for GroupCover {
    fn name(&self) -> &'static str {
        "group cover"
    }

    fn n_features(&self) -> usize {
        self.groups.n_features()
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        let mut seen = vec![false; self.groups.len()];
        for (gain, &j) in gains.iter_mut().zip(order) {
            *gain = 0.0;
            for &g in self.groups.of_feature(j) {
                if !std::mem::replace(&mut seen[g as usize], true) {
                    *gain += self.groups.weights()[g as usize];
                }
            }
        }
        Ok(())
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn structure(&self) -> Structure<'_> {
        if self.is_laminar {
            Structure::Laminar(&self.groups)
        } else {
            Structure::Cover(&self.groups)
        }
    }

    fn is_own(&self, _: Token) -> bool {
        true
    }
}
