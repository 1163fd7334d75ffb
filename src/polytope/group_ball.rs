use super::{Polytope, Structure};
use crate::error::{Error, Result};

/// {sum over groups g of max_{j in g} |theta_j| <= radius} for disjoint groups that cover every feature:
/// vertices are the sign vectors of one group, times radius ([`crate::theory_of_privacy::frank_wolfe`]).
#[derive(Debug, Clone)]
pub struct GroupBall {
    radius: f64,
    groups: Vec<Vec<u32>>,
}

impl GroupBall {
    /// The ball of the given disjoint groups of features; the intercept, if any, is a group of its own.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming the group: empty, overlapping another, an index out of range, or a
    /// feature in no group (the gauge would not be a norm).
    ///
    /// ```
    /// use dpsparse::polytope::GroupBall;
    /// assert!(GroupBall::new(&[vec![0, 2], vec![1]], 3, true, 10.0).is_ok());
    /// let error = GroupBall::new(&[vec![0, 1], vec![1]], 2, true, 10.0).unwrap_err();
    /// assert_eq!(error.to_string(), "groups must be disjoint: feature 1 is in group 1 and in an earlier one");
    /// ```
    pub fn new(
        groups: &[Vec<usize>],
        n_features: usize,
        intercept: bool,
        radius: f64,
    ) -> Result<Self> {
        let invalid = |problem: String| Err(Error::invalid("groups", problem));
        let mut covered = vec![false; n_features];
        for (g, group) in groups.iter().enumerate() {
            if group.is_empty() {
                return invalid(format!("must not be empty: group {g} is"));
            }
            for &j in group {
                match covered.get_mut(j) {
                    None => {
                        return invalid(format!(
                            "must hold feature indices below {n_features}: group {g} has {j}"
                        ));
                    }
                    Some(true) => {
                        return invalid(format!(
                            "must be disjoint: feature {j} is in group {g} and in an earlier one"
                        ));
                    }
                    Some(seen) => *seen = true,
                }
            }
        }
        if let Some(j) = covered.iter().position(|&seen| !seen) {
            return invalid(format!("must cover every feature: feature {j} is in none"));
        }
        let mut groups: Vec<Vec<u32>> = groups
            .iter()
            .map(|group| group.iter().map(|&j| j as u32).collect())
            .collect();
        if intercept {
            groups.push(vec![n_features as u32]);
        }
        Ok(Self { radius, groups })
    }

    fn largest(&self) -> usize {
        self.groups.iter().map(Vec::len).max().unwrap_or(0)
    }
}

impl Polytope for GroupBall {
    fn name(&self) -> &'static str {
        "ball of disjoint groups (l1 over groups, l-infinity inside)"
    }

    fn unit(&self) -> f64 {
        self.radius
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Groups(&self.groups)
    }

    fn log_vertices(&self) -> f64 {
        // ln sum_g 2^|g|, without overflow
        let largest = self.largest() as f64;
        let rest: f64 = self
            .groups
            .iter()
            .map(|group| (group.len() as f64 - largest).exp2())
            .sum();
        largest * std::f64::consts::LN_2 + rest.ln()
    }

    fn l1_radius(&self) -> i64 {
        self.largest() as i64
    }

    fn reach(&self) -> f64 {
        self.radius * (self.largest() as f64).sqrt()
    }
}
