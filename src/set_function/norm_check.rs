use super::{SetFunction, Structure};
use crate::error::{Error, Result};

/// F(V) - F(V \ {j}) for every feature j: by submodularity the least gain that the feature ever has, so F is monotone
/// exactly where none is negative.
///
/// Fast for the structures that sums are made of, else p + 1 values.
///
/// # Errors
/// Only where a user's oracle fails.
pub(super) fn last_gains(f: &dyn SetFunction) -> Result<Vec<f64>> {
    let p = f.n_features();
    match f.structure() {
        Structure::Modular(weights) => return Ok(weights.to_vec()),
        Structure::Scaled(factor, inner) => {
            let mut last = last_gains(inner)?;
            last.iter_mut().for_each(|gain| *gain *= factor);
            return Ok(last);
        }
        Structure::Cut(graph) => {
            let total = |j| {
                graph
                    .incident(j)
                    .iter()
                    .map(|&(_, e)| graph.weights()[e as usize])
            };
            return Ok((0..p).map(|j| -total(j).sum::<f64>()).collect());
        }
        Structure::Laminar(groups) | Structure::Cover(groups) => {
            let alone = |g: &&u32| groups.members(**g as usize).len() == 1;
            let weight = |g: &u32| groups.weights()[*g as usize];
            let of = |j| groups.of_feature(j).iter().filter(alone).map(weight);
            return Ok((0..p).map(|j| of(j).sum()).collect());
        }
        Structure::Blocks(_) | Structure::ContiguousRange | Structure::General => {}
    }
    let mut rest: Vec<usize> = (0..p).collect();
    let all = f.value(&rest)?;
    let mut last = vec![0.0; p];
    for j in (0..p).rev() {
        rest.remove(j);
        last[j] = all - f.value(&rest)?;
        rest.insert(j, j);
    }
    Ok(last)
}

/// Refuses a set function for which Omega(theta) = f(|theta|) is no norm; `what` names the argument.
///
/// ```
/// use dpsparse::set_function::{PartitionRank, check_norm};
/// let f = PartitionRank::new(&[vec![0, 2]], &[1], 3)?;
/// assert_eq!(
///     check_norm(&f, "norm").unwrap_err().to_string(),
///     "norm must be positive at every feature: feature 1 is in no group, so f(|theta|) is not a norm"
/// );
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] where F is not monotone or some F({j}) is not positive (the text names the feature), and
/// where a user's oracle fails.
pub fn check_norm(f: &dyn SetFunction, what: &str) -> Result<()> {
    check_monotone(f, what)?;
    for j in 0..f.n_features() {
        if f.value(&[j])? > 0.0 {
            continue;
        }
        let mut structure = f.structure();
        while let Structure::Scaled(_, inner) = structure {
            structure = inner.structure();
        }
        let why = match structure {
            Structure::Laminar(_) | Structure::Cover(_) => {
                format!("feature {j} is in no group of positive weight")
            }
            Structure::Blocks(blocks) if blocks.iter().all(|block| !block.members.contains(&j)) => {
                format!("feature {j} is in no group")
            }
            _ => format!("F([{j}]) is 0"),
        };
        return Err(Error::invalid(
            what,
            format!("must be positive at every feature: {why}, so f(|theta|) is not a norm"),
        ));
    }
    Ok(())
}

/// Refuses a set function that is not monotone; `what` names the argument.
///
/// # Errors
/// [`Error::InvalidArgument`] where F is not monotone.
pub fn check_monotone(f: &dyn SetFunction, what: &str) -> Result<()> {
    if f.is_monotone() {
        return Ok(());
    }
    Err(Error::invalid(
        what,
        format!(
            "must be monotone for f(|theta|) to be a norm; this {} is not: its regulariser is the Lovasz extension f(theta)",
            f.name()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_function::{Cardinality, GraphCut, GroupCover, Modular, scaled};
    use std::sync::Arc;

    #[test]
    fn the_refusal_names_the_feature_and_the_reason() {
        let text = |f: &dyn SetFunction| check_norm(f, "norm").unwrap_err().to_string();
        let cover = GroupCover::new(&[vec![0, 1], vec![2, 3]], Some(vec![1.0, 0.0]), 4).unwrap();
        assert!(text(&cover).contains("feature 2 is in no group of positive weight"));
        let twice = scaled(2.0, Arc::new(cover)).unwrap();
        assert!(text(twice.as_ref()).contains("feature 2 is in no group of positive weight"));
        assert!(text(&Modular::new(vec![1.0, 0.0]).unwrap()).contains("F([1]) is 0"));
        let cut = GraphCut::new(&[(0, 1)], None, 2).unwrap();
        assert!(text(&cut).starts_with("norm must be monotone"));
        assert_eq!(check_norm(&Cardinality::new(3).unwrap(), "norm"), Ok(()));
    }
}
