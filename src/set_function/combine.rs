use std::sync::Arc;

use super::norm_check::last_gains;
use super::sealed::Token;
use super::{ConcaveCardinality, GraphCut, GroupCover, Modular, SetFunction, Structure, unscaled};
use crate::error::{Error, Result};

/// Gains of a sum that are negative by less than this, relative to the values that they are differences of, are
/// rounding.
const TOLERANCE: f64 = 1e-12;

/// F + G. Two functions of one kind (weights, groups, edges, functions of the cardinality) make one of that kind, so
/// special algorithms still apply; weights with groups make groups.
///
/// Where one side is not monotone, whether the sum is costs up to p + 1 values of each.
///
/// ```
/// use std::sync::Arc;
/// use dpsparse::set_function::{Cardinality, GroupCover, SetFunction, Structure, sum};
/// let groups = GroupCover::new(&[vec![0, 1], vec![2]], None, 3)?;
/// let f = sum(Arc::new(Cardinality::new(3)?), Arc::new(groups))?;
/// assert_eq!(f.value(&[0, 1])?, 3.0);
/// assert!(matches!(f.structure(), Structure::Laminar(_)));
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] where the numbers of features differ or weights overflow, and where a user's oracle
/// fails.
pub fn sum(f: Arc<dyn SetFunction>, g: Arc<dyn SetFunction>) -> Result<Arc<dyn SetFunction>> {
    let (p, q) = (f.n_features(), g.n_features());
    if p != q {
        return Err(Error::invalid(
            "n_features",
            format!("must be the same on both sides of a sum; got {p} and {q}"),
        ));
    }
    if let Some(merged) = merge(f.as_ref(), g.as_ref())? {
        return Ok(merged);
    }
    let is_monotone = (f.is_monotone() && g.is_monotone()) || {
        let all: Vec<usize> = (0..p).collect();
        let size = f.value(&all)?.abs() + g.value(&all)?.abs();
        let (a, b) = (last_gains(f.as_ref())?, last_gains(g.as_ref())?);
        let mut sides = a.iter().zip(&b);
        sides.all(|(a, b)| a + b >= -TOLERANCE * (size + a.abs() + b.abs()))
    };
    Ok(Arc::new(Sum { f, g, is_monotone }))
}

/// factor*F for a positive factor.
///
/// ```
/// use std::sync::Arc;
/// use dpsparse::set_function::{Cardinality, scaled};
/// let f = scaled(2.5, Arc::new(Cardinality::new(3)?))?;
/// assert_eq!(f.value(&[0, 1])?, 5.0);
/// assert!(scaled(-1.0, f).is_err());
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for a factor that is not positive and finite.
pub fn scaled(factor: f64, f: Arc<dyn SetFunction>) -> Result<Arc<dyn SetFunction>> {
    if factor.is_finite() && factor > 0.0 {
        return Ok(Arc::new(Scaled { factor, f }));
    }
    Err(Error::invalid(
        "factor",
        format!(
            "must be positive and finite (a negative multiple is not submodular); got {factor}"
        ),
    ))
}

#[derive(Debug)]
struct Sum {
    f: Arc<dyn SetFunction>,
    g: Arc<dyn SetFunction>,
    is_monotone: bool,
}

impl SetFunction for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn n_features(&self) -> usize {
        self.f.n_features()
    }

    fn value(&self, set: &[usize]) -> Result<f64> {
        Ok(self.f.value(set)? + self.g.value(set)?)
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        let mut others = vec![0.0; order.len()];
        self.f.gains(order, gains)?;
        self.g.gains(order, &mut others)?;
        for (gain, other) in gains.iter_mut().zip(others) {
            *gain += other;
        }
        Ok(())
    }

    fn is_monotone(&self) -> bool {
        self.is_monotone
    }
}

#[derive(Debug)]
struct Scaled {
    factor: f64,
    f: Arc<dyn SetFunction>,
}

impl SetFunction for Scaled {
    fn name(&self) -> &'static str {
        self.f.name()
    }

    fn n_features(&self) -> usize {
        self.f.n_features()
    }

    fn value(&self, set: &[usize]) -> Result<f64> {
        Ok(self.factor * self.f.value(set)?)
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        self.f.gains(order, gains)?;
        gains.iter_mut().for_each(|gain| *gain *= self.factor);
        Ok(())
    }

    fn is_monotone(&self) -> bool {
        self.f.is_monotone()
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Scaled(self.factor, self.f.as_ref())
    }

    fn is_own(&self, token: Token) -> bool {
        self.f.is_own(token)
    }
}

/// The sum as one function of the kind of both sides, or None where they have none in common.
fn merge(f: &dyn SetFunction, g: &dyn SetFunction) -> Result<Option<Arc<dyn SetFunction>>> {
    let p = f.n_features();
    let sides = [unscaled(f)?, unscaled(g)?];
    if let [Some(a), Some(b)] = sides.each_ref().map(weights) {
        let total = a.iter().zip(b).map(|(a, b)| a + b).collect();
        return Ok(Some(Arc::new(Modular::new(total)?)));
    }
    if let [Some(a), Some(b)] = sides.each_ref().map(|side| cardinality_gains(side, p)) {
        let mut h = 0.0;
        let total = a.iter().zip(b).map(|(a, b)| {
            h += a + b;
            h
        });
        return Ok(Some(Arc::new(ConcaveCardinality::new(total.collect())?)));
    }
    if let [Some((mut groups, mut weights)), Some(b)] = sides.each_ref().map(cover) {
        groups.extend(b.0);
        weights.extend(b.1);
        let cover = GroupCover::new(&groups, Some(weights), p)?;
        return Ok(Some(Arc::new(cover)));
    }
    if let [Some((mut edges, mut weights)), Some(b)] = sides.each_ref().map(cut) {
        edges.extend(b.0);
        weights.extend(b.1);
        let cut = GraphCut::new(&edges, Some(weights), p)?;
        return Ok(Some(Arc::new(cut)));
    }
    Ok(None)
}

/// A factor and the structure that it multiplies.
type Side<'a> = (f64, Structure<'a>);

fn times(factor: f64, weights: &[f64]) -> Vec<f64> {
    weights.iter().map(|weight| factor * weight).collect()
}

fn weights(&(factor, structure): &Side<'_>) -> Option<Vec<f64>> {
    match structure {
        Structure::Modular(weights) => Some(times(factor, weights)),
        _ => None,
    }
}

/// Gains of a function of the cardinality alone.
fn cardinality_gains(&(factor, structure): &Side<'_>, p: usize) -> Option<Vec<f64>> {
    match structure {
        Structure::Modular(weights) if weights.iter().all(|w| *w == weights[0]) => {
            Some(times(factor, weights))
        }
        Structure::Blocks([block]) if block.members.len() == p => Some(times(factor, &block.gains)),
        _ => None,
    }
}

/// Groups or edges, and their weights.
type Weighted<T> = (Vec<T>, Vec<f64>);

/// Groups and weights; single features where F is modular.
fn cover(&(factor, structure): &Side<'_>) -> Option<Weighted<Vec<usize>>> {
    match structure {
        Structure::Modular(weights) => Some((
            (0..weights.len()).map(|j| vec![j]).collect(),
            times(factor, weights),
        )),
        Structure::Laminar(groups) | Structure::Cover(groups) => {
            let members = |g| groups.members(g).iter().map(|&j| j as usize).collect();
            Some((
                (0..groups.len()).map(members).collect(),
                times(factor, groups.weights()),
            ))
        }
        _ => None,
    }
}

/// Edges and weights.
fn cut(&(factor, structure): &Side<'_>) -> Option<Weighted<(usize, usize)>> {
    match structure {
        Structure::Cut(graph) => Some((
            graph
                .edges()
                .iter()
                .map(|&(i, j)| (i as usize, j as usize))
                .collect(),
            times(factor, graph.weights()),
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_function::{Cardinality, ContiguousRange};

    fn twice(f: impl SetFunction + 'static) -> Arc<dyn SetFunction> {
        scaled(2.0, Arc::new(f)).unwrap()
    }

    #[test]
    fn sums_of_one_kind_stay_of_that_kind() {
        let modular = || Arc::new(Modular::new(vec![1.0, 2.0, 0.0]).unwrap());
        let f = sum(modular(), twice(Cardinality::new(3).unwrap())).unwrap();
        assert!(matches!(f.structure(), Structure::Modular([3.0, 4.0, 2.0])));

        let h = || Arc::new(ConcaveCardinality::new(vec![1.0, 1.5, 1.5]).unwrap());
        let f = sum(h(), twice(Cardinality::new(3).unwrap())).unwrap();
        assert!(matches!(f.structure(), Structure::Blocks(_)));
        assert_eq!(f.value(&[2, 1]).unwrap(), 5.5);
        let f = sum(h(), modular()).unwrap();
        assert!(matches!(f.structure(), Structure::General));

        let groups = |g: &[Vec<usize>]| GroupCover::new(g, None, 3).unwrap();
        let f = sum(
            Arc::new(groups(&[vec![0, 1]])),
            twice(groups(&[vec![1, 2]])),
        )
        .unwrap();
        assert!(matches!(f.structure(), Structure::Cover(_)));
        assert_eq!(f.value(&[2]).unwrap(), 2.0);

        let cut = |edge| GraphCut::new(&[edge], None, 3).unwrap();
        let f = sum(Arc::new(cut((0, 2))), twice(cut((1, 2)))).unwrap();
        assert!(matches!(f.structure(), Structure::Cut(_)));
        assert_eq!(f.value(&[2]).unwrap(), 3.0);
    }

    #[test]
    fn a_sum_may_be_monotone_though_a_side_is_not() {
        let cut = || Arc::new(GraphCut::new(&[(0, 1), (1, 2)], None, 3).unwrap());
        let cardinality = || Arc::new(Cardinality::new(3).unwrap());
        assert!(!sum(cut(), cardinality()).unwrap().is_monotone());
        let enough = scaled(2.0, cardinality()).unwrap();
        assert!(sum(enough.clone(), cut()).unwrap().is_monotone());
        // A sum inside a sum has no structure to read its least gains from.
        let range = Arc::new(ContiguousRange::new(3).unwrap());
        let inner = sum(range, cut()).unwrap();
        assert!(!inner.is_monotone());
        assert!(sum(inner, enough).unwrap().is_monotone());
    }

    #[test]
    fn sizes_must_agree() {
        let f = |p| Arc::new(Cardinality::new(p).unwrap());
        let error = sum(f(2), f(3)).unwrap_err().to_string();
        assert_eq!(
            error,
            "n_features must be the same on both sides of a sum; got 2 and 3"
        );
    }
}
