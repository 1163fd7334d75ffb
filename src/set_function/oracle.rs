use super::norm_check::last_gains;
use super::{SetFunction, check_n_features};
use crate::error::{Error, Result};

/// Rounding that a caller's function is allowed, relative to the values compared.
const TOLERANCE: f64 = 1e-9;
/// Up to so many features every (A, i, j) is checked.
const EXHAUSTIVE: usize = 6;
/// Beyond them, so many random ones.
const SAMPLES: usize = 128;

/// A caller's own set function.
///
/// It is called with distinct indices in rising order, and never on the empty set once constructed: F(empty) = 0. Gains
/// take one call per feature.
///
/// ```
/// use dpsparse::set_function::{Oracle, SetFunction};
/// let f = Oracle::new(4, |set| Ok((set.len() as f64).sqrt()), None)?;
/// assert!(f.is_monotone());
/// assert_eq!(f.value(&[3, 0, 1, 2])?, 2.0);
///
/// let convex = Oracle::new(4, |set| Ok((set.len() as f64).powi(2)), None).unwrap_err();
/// assert_eq!(
///     convex.to_string(),
///     "the set function is not submodular: with A = [], i = 0, j = 1, F(A+i) + F(A+j) = 1 + 1 is less than \
///      F(A+i+j) + F(A) = 4 + 0"
/// );
/// # Ok::<(), dpsparse::Error>(())
/// ```
pub struct Oracle {
    n_features: usize,
    callable: Box<Callable>,
    is_monotone: bool,
}

type Callable = dyn Fn(&[usize]) -> Result<f64> + Send + Sync;

impl Oracle {
    /// Checks the function and wraps it.
    ///
    /// F(A+i) + F(A+j) >= F(A+i+j) + F(A) is checked for every set A and pair i, j up to 6 features, beyond for 128
    /// random ones, the same at every call. Whether F is monotone is found, or held against `monotone`, by p + 1 more
    /// calls, unless that is Some(false).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no features, a value that is not finite, F(empty) other than 0 (within 1e-9), or
    /// `monotone` declared where F falls; [`Error::NotSubmodular`]; whatever the function itself returns.
    pub fn new(
        n_features: usize,
        callable: impl Fn(&[usize]) -> Result<f64> + Send + Sync + 'static,
        monotone: Option<bool>,
    ) -> Result<Self> {
        check_n_features(n_features)?;
        let mut oracle = Self {
            n_features,
            callable: Box::new(callable),
            is_monotone: false,
        };
        let empty = oracle.call(&[])?;
        if empty.abs() > TOLERANCE {
            return Err(Error::invalid(
                "callable",
                format!("must be 0 on the empty set; F([]) = {empty}"),
            ));
        }
        let fall = match (monotone, oracle.check_samples()?) {
            (Some(false), _) => None,
            (_, None) => oracle.last_fall()?,
            (_, found) => found,
        };
        if let (Some(true), Some((set, i))) = (monotone, &fall) {
            let set = match n_features > 1 && set.len() + 1 == n_features {
                true => "all others".into(),
                false => format!("{set:?}"),
            };
            return Err(Error::invalid(
                "monotone",
                format!("must not be true: adding {i} to {set} lowers F"),
            ));
        }
        oracle.is_monotone = monotone.unwrap_or(fall.is_none());
        Ok(oracle)
    }

    /// Calls the function on a rising set.
    fn call(&self, set: &[usize]) -> Result<f64> {
        let value = (self.callable)(set)?;
        if value.is_finite() {
            return Ok(value);
        }
        Err(Error::invalid(
            "callable",
            format!("must return finite numbers; F({set:?}) = {value}"),
        ))
    }

    /// All features but one, whose addition lowers F, where there is one: a submodular function falls there, or
    /// nowhere.
    fn last_fall(&self) -> Result<Option<(Vec<usize>, usize)>> {
        let all: Vec<usize> = (0..self.n_features).collect();
        let slack = TOLERANCE * self.value(&all)?.abs();
        let fall = last_gains(self)?.iter().position(|gain| *gain < -slack);
        Ok(fall.map(|i| (all.into_iter().filter(|&j| j != i).collect(), i)))
    }

    /// Refuses what is not submodular; returns a set and a feature whose addition lowers F, where one was met.
    fn check_samples(&self) -> Result<Option<(Vec<usize>, usize)>> {
        let p = self.n_features;
        let mut fall = None;
        if p == 1 {
            let alone = self.call(&[0])?;
            return Ok((alone < -TOLERANCE).then(|| (Vec::new(), 0)));
        }
        if p <= EXHAUSTIVE {
            for mask in 0..1_usize << p {
                let set: Vec<usize> = (0..p).filter(|j| mask >> j & 1 == 1).collect();
                for i in (0..p).filter(|i| mask >> i & 1 == 0) {
                    for j in (i + 1..p).filter(|j| mask >> j & 1 == 0) {
                        self.check(&set, i, j, &mut fall)?;
                    }
                }
            }
            return Ok(fall);
        }
        let mut random = SplitMix(0);
        let mut order: Vec<usize> = (0..p).collect();
        for _ in 0..SAMPLES {
            let size = random.below(p - 1);
            for k in 0..size + 2 {
                order.swap(k, k + random.below(p - k));
            }
            let mut set = order[..size].to_vec();
            set.sort_unstable();
            let (i, j) = (order[size], order[size + 1]);
            self.check(&set, i.min(j), i.max(j), &mut fall)?;
        }
        Ok(fall)
    }

    fn check(
        &self,
        set: &[usize],
        i: usize,
        j: usize,
        fall: &mut Option<(Vec<usize>, usize)>,
    ) -> Result<()> {
        let with_i = with(set, i);
        let values = [
            self.call(&with_i)?,
            self.call(&with(set, j))?,
            self.call(&with(&with_i, j))?,
            self.value(set)?,
        ];
        let [a, b, both, neither] = values;
        let slack = TOLERANCE * values.iter().fold(0.0, |size: f64, v| size.max(v.abs()));
        if a + b < both + neither - slack {
            return Err(Error::NotSubmodular {
                set: set.to_vec(),
                i,
                j,
                values,
            });
        }
        for (k, value) in [(i, a), (j, b)] {
            if value < neither - slack && fall.is_none() {
                *fall = Some((set.to_vec(), k));
            }
        }
        Ok(())
    }
}

/// A rising set with one more index.
fn with(set: &[usize], j: usize) -> Vec<usize> {
    let mut larger = set.to_vec();
    larger.insert(set.partition_point(|&k| k < j), j);
    larger
}

/// Steele, Lea and Flood's generator (2014): the samples are the same at every construction.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

impl std::fmt::Debug for Oracle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Oracle")
            .field("n_features", &self.n_features)
            .field("is_monotone", &self.is_monotone)
            .finish_non_exhaustive()
    }
}

impl SetFunction for Oracle {
    fn name(&self) -> &'static str {
        "oracle"
    }

    fn n_features(&self) -> usize {
        self.n_features
    }

    fn value(&self, set: &[usize]) -> Result<f64> {
        if set.is_empty() {
            return Ok(0.0);
        }
        let mut rising = set.to_vec();
        rising.sort_unstable();
        self.call(&rising)
    }

    fn gains(&self, order: &[usize], gains: &mut [f64]) -> Result<()> {
        let mut rising = Vec::with_capacity(order.len());
        let mut before = 0.0;
        for (gain, &j) in gains.iter_mut().zip(order) {
            rising.insert(rising.partition_point(|&k| k < j), j);
            let value = self.call(&rising)?;
            *gain = value - before;
            before = value;
        }
        Ok(())
    }

    fn is_monotone(&self) -> bool {
        self.is_monotone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::UserError;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn refused(p: usize, f: impl Fn(&[usize]) -> f64 + Send + Sync + 'static) -> Error {
        Oracle::new(p, move |set| Ok(f(set)), None).unwrap_err()
    }

    /// The only fault of the function is at A = {1, 2}, i = 0, j = 3: exhaustive checks find it and say so.
    #[test]
    fn one_fault_among_all_triples_is_found() {
        let f = |set: &[usize]| match set {
            [0, 1, 2, 3] => 4.5,
            _ => set.len() as f64,
        };
        let error = refused(4, f);
        assert!(
            matches!(&error, Error::NotSubmodular { set, .. } if set.len() == 2),
            "{error}"
        );
    }

    #[test]
    fn many_features_are_sampled() {
        let error = refused(40, |set| (set.len() as f64).powi(2));
        let Error::NotSubmodular { set, i, j, values } = error else {
            panic!("{error}");
        };
        let n = set.len() as f64;
        assert_eq!(
            values,
            [
                (n + 1.0).powi(2),
                (n + 1.0).powi(2),
                (n + 2.0).powi(2),
                n.powi(2)
            ]
        );
        assert!(i != j && !set.contains(&i) && !set.contains(&j));
    }

    #[test]
    fn sets_come_rising_without_repeats_and_every_size_is_met() {
        let sizes = Arc::new(std::sync::Mutex::new([false; 10]));
        let seen = sizes.clone();
        let f = move |set: &[usize]| {
            assert!(set.windows(2).all(|pair| pair[0] < pair[1]) && set.iter().all(|&j| j < 9));
            seen.lock().unwrap()[set.len()] = true;
            Ok(set.len() as f64)
        };
        Oracle::new(9, f, Some(true)).unwrap();
        assert_eq!(*sizes.lock().unwrap(), [true; 10]);
    }

    #[test]
    fn bad_values_are_refused_at_once_and_later() {
        let offset = refused(3, |set| 1.0 + set.len() as f64);
        assert!(offset.to_string().contains("F([]) = 1"));
        let nan = refused(3, |set| {
            if set == [0, 2] {
                f64::NAN
            } else {
                set.len() as f64
            }
        });
        assert_eq!(
            nan.to_string(),
            "callable must return finite numbers; F([0, 2]) = NaN"
        );

        let calls = Arc::new(AtomicUsize::new(0));
        let count = calls.clone();
        let f = move |set: &[usize]| {
            Ok(if count.fetch_add(1, Ordering::Relaxed) < 1000 {
                set.len() as f64
            } else {
                f64::INFINITY
            })
        };
        let f = Oracle::new(3, f, None).unwrap();
        calls.store(1000, Ordering::Relaxed);
        assert!(f.gains(&[1, 0], &mut [0.0; 2]).is_err());
        assert!(f.value(&[1]).is_err());
        assert_eq!(f.value(&[]), Ok(0.0));
    }

    #[test]
    fn the_callers_error_comes_back_as_it_is() {
        let inner = Error::from(UserError::new(std::io::Error::other("no such table")));
        let copy = inner.clone();
        let error = Oracle::new(3, move |_| Err(copy.clone()), None).unwrap_err();
        assert_eq!(error, inner);
        assert_eq!(error.to_string(), "no such table");
    }

    #[test]
    fn monotonicity_is_found_or_declared() {
        // Falls only from 7 to 8 features: the samples need not meet it, the last gains do.
        let late = |set: &[usize]| Ok(set.len().min(14 - set.len()) as f64);
        let f = |monotone| Oracle::new(8, late, monotone);
        assert!(!f(None).unwrap().is_monotone());
        assert!(!f(Some(false)).unwrap().is_monotone());
        let falling = |set: &[usize]| Ok(-(set.len() as f64));
        // Falls at the last feature alone, where a user says that it never does.
        let last = |set: &[usize]| {
            Ok(if set.len() == 3 { 2.75 } else { 2.875 } * f64::from(u8::from(!set.is_empty())))
        };
        for error in [f(Some(true)), Oracle::new(3, last, Some(true))] {
            let error = error.unwrap_err().to_string();
            assert_eq!(
                error,
                "monotone must not be true: adding 0 to all others lowers F"
            );
        }
        for p in [1, 3, 30] {
            let error = Oracle::new(p, falling, Some(true)).unwrap_err().to_string();
            assert!(
                error.starts_with("monotone must not be true: adding"),
                "{error}"
            );
            assert!(!Oracle::new(p, falling, None).unwrap().is_monotone());
        }
    }
}
