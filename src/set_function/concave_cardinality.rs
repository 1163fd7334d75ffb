use super::sealed::Token;
use super::{Block, SetFunction, Structure, check_n_features};
use crate::error::{Error, Result};

/// How far, relative to the largest |h|, values may lie below their concave majorant: rounding of the caller's, no
/// more.
const TOLERANCE: f64 = 1e-10;

/// F(A) = h(|A|) with h concave and h(0) = 0: where h does not fall, Omega is a sorted l1 norm (Bach 2013, section
/// 6.1).
///
/// ```
/// use dpsparse::set_function::{ConcaveCardinality, SetFunction};
/// let f = ConcaveCardinality::new(vec![1.0, 1.5, 1.75])?;
/// assert_eq!(f.value(&[2, 0])?, 1.5);
/// assert!(f.is_monotone());
/// assert!(!ConcaveCardinality::new(vec![1.0, 1.5, 1.25])?.is_monotone());
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ConcaveCardinality {
    /// h(1), ..., h(p).
    values: Vec<f64>,
    is_monotone: bool,
    /// The one block of all features, with the gains of h.
    block: [Block; 1],
}

impl ConcaveCardinality {
    /// With `values[k]` = h(k + 1); p is the number of values.
    ///
    /// h may fall: such a set function is not monotone. Values within 1e-10 max |h| of a concave sequence are replaced
    /// by the least concave sequence above them, so rounding in 0.1*k does no harm.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no values, one that is not finite, or values that are not concave. The text names
    /// the entry.
    pub fn new(mut values: Vec<f64>) -> Result<Self> {
        check_n_features(values.len())?;
        let invalid = |problem: String| Err(Error::invalid("values", problem));
        if let Some(k) = values.iter().position(|value| !value.is_finite()) {
            return invalid(format!("must be finite; entry {k} is {}", values[k]));
        }
        let (majorant, mut gains) = concave_majorant(&values);
        let size = values
            .iter()
            .fold(0.0, |size: f64, value| size.max(value.abs()));
        let slack = |k: usize| majorant[k] - values[k];
        let worst = (0..values.len()).fold(0, |a, b| if slack(b) > slack(a) { b } else { a });
        if slack(worst) > TOLERANCE * size {
            return invalid(format!(
                "must be concave, h(0) = 0 included: entry {worst} is {}, {} below the line between values beside it",
                values[worst],
                slack(worst)
            ));
        }
        values = majorant;
        // A fall by rounding is none.
        let top = values.iter().fold(0.0, |top: f64, value| top.max(*value));
        if top - values[values.len() - 1] <= TOLERANCE * size {
            for k in 0..values.len() {
                gains[k] = gains[k].max(0.0);
                if k > 0 {
                    values[k] = values[k].max(values[k - 1]);
                }
            }
        }
        Ok(Self {
            is_monotone: gains.iter().all(|gain| *gain >= 0.0),
            block: [Block {
                members: (0..values.len()).collect(),
                gains,
            }],
            values,
        })
    }
}

/// The least concave h above the values, h(0) = 0 included, and its gains (not increasing).
fn concave_majorant(values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let h = |k: usize| if k == 0 { 0.0 } else { values[k - 1] };
    let slope = |a: usize, b: usize| (h(b) - h(a)) / (b - a) as f64;
    let mut corners = vec![0];
    for k in 1..=values.len() {
        while let [.., a, b] = corners[..]
            && slope(a, b) < slope(b, k)
        {
            corners.pop();
        }
        corners.push(k);
    }
    let (mut majorant, mut gains) = (Vec::new(), Vec::new());
    for pair in corners.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        for k in a + 1..b {
            majorant.push(h(a) + (k - a) as f64 * slope(a, b));
        }
        majorant.push(h(b));
        gains.resize(b, slope(a, b));
    }
    (majorant, gains)
}

impl SetFunction for ConcaveCardinality {
    fn name(&self) -> &'static str {
        "concave cardinality"
    }

    fn n_features(&self) -> usize {
        self.values.len()
    }

    fn value(&self, set: &[usize]) -> Result<f64> {
        Ok(if set.is_empty() {
            0.0
        } else {
            self.values[set.len() - 1]
        })
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        gains.copy_from_slice(&self.block[0].gains[..order.len()]);
        Ok(())
    }

    fn is_monotone(&self) -> bool {
        self.is_monotone
    }

    fn structure(&self) -> Structure<'_> {
        if self.is_monotone {
            Structure::Blocks(&self.block)
        } else {
            Structure::General
        }
    }

    fn is_own(&self, _: Token) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_forgiven_and_a_real_dent_is_not() {
        // 0.1*k in floats is not concave: 0.30000000000000004 - 0.2 > 0.1.
        let linear: Vec<f64> = (1..=1000).map(|k| f64::from(k) * 0.1).collect();
        let f = ConcaveCardinality::new(linear.clone()).unwrap();
        assert!(f.is_monotone());
        let gains = &f.block[0].gains;
        assert!(gains.windows(2).all(|pair| pair[0] >= pair[1]));
        assert!((f.value(&[4, 2]).unwrap() - 0.2).abs() < 1e-15);

        let mut dented = linear;
        dented[500] -= 1e-6;
        let error = ConcaveCardinality::new(dented).unwrap_err().to_string();
        assert!(
            error.starts_with("values must be concave") && error.contains("entry 500"),
            "{error}"
        );
    }

    #[test]
    fn convex_values_and_a_convex_start_are_refused() {
        for values in [vec![1.0, 4.0, 9.0], vec![-1.0, 0.0], vec![1.0, 1.0, 1.5]] {
            assert!(ConcaveCardinality::new(values).is_err());
        }
        let error = ConcaveCardinality::new(vec![1.0, f64::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "values must be finite; entry 1 is NaN");
    }

    #[test]
    fn a_fall_by_rounding_is_none() {
        let f = ConcaveCardinality::new(vec![1.0, 1.0 - 1e-15, 1.0 - 2e-15]).unwrap();
        assert!(f.is_monotone());
        assert_eq!(f.value(&[0, 1, 2]).unwrap(), 1.0);
        assert_eq!(f.block[0].gains, [1.0, 0.0, 0.0]);
    }
}
