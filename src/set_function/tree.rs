use std::collections::HashMap;

use super::laminar::crossing_groups;
use super::sealed::Token;
use super::{GroupCover, SetFunction, Structure};
use crate::error::{Error, Result};

/// F(A) = sum_g w_g [A meets g] over groups of which any two are disjoint or nested (Jenatton et al. 2011): the groups
/// form a forest under inclusion.
///
/// A [`GroupCover`] with the same groups is the same function; this type refuses groups that are no forest, so that a
/// slip in a hierarchy does not pass silently.
///
/// ```
/// use dpsparse::set_function::{SetFunction, Tree};
/// let f = Tree::new(&[vec![0, 1, 2], vec![1, 2], vec![2]], None, 3)?;
/// assert_eq!(f.value(&[2])?, 3.0);
/// let error = Tree::new(&[vec![0, 1], vec![1, 2]], None, 3).unwrap_err();
/// assert!(error.to_string().contains("groups 0 and 1 cross"));
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tree(GroupCover);

impl Tree {
    /// Nested groups of features below `n_features`; no weights means 1 each.
    ///
    /// # Errors
    /// Those of [`Groups::new`](super::Groups::new), groups that cross, and a group that comes twice (each would have
    /// to stand above the other). The text names the two groups.
    pub fn new(
        groups: &[Vec<usize>],
        weights: Option<Vec<f64>>,
        n_features: usize,
    ) -> Result<Self> {
        let cover = GroupCover::new(groups, weights, n_features)?;
        let invalid = |problem: String| Err(Error::invalid("groups", problem));
        if let Some((g, h)) = crossing_groups(cover.groups()) {
            return invalid(format!(
                "must be disjoint or nested, any two of them: groups {g} and {h} cross"
            ));
        }
        let mut known = HashMap::new();
        for g in 0..cover.groups().len() {
            if let Some(first) = known.insert(cover.groups().members(g), g) {
                return invalid(format!(
                    "must differ: groups {first} and {g} are the same; keep one, with the sum of their weights"
                ));
            }
        }
        Ok(Self(cover))
    }
}

impl SetFunction for Tree {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        self.0.gains(order, gains)
    }

    fn is_monotone(&self) -> bool {
        true
    }

    fn structure(&self) -> Structure<'_> {
        self.0.structure()
    }

    fn is_own(&self, _: Token) -> bool {
        true
    }
}
