//! Privacy events: frozen facts about what was released, apart from the accountants that add them up.
//!
//! Each event has an upper bound R(a) on the Renyi divergence of every order a > 1 between neighbours, and
//! some a zCDP parameter, a pure epsilon or an exact (epsilon, delta) curve. All are rounded up. They
//! serialise as tagged JSON and are checked when read back.

pub mod bounded_range;
pub mod failure;
pub mod gaussian;
pub(crate) mod objective;
pub mod randomised_response;

use crate::error::{Error, Result, positive};
use crate::numeric::directed::{div_up, mul_up};
use objective::Objective;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Which data sets count as neighbours ([`crate::theory_of_privacy::conventions`]).
///
/// ```
/// use dpsparse::accounting::event::Adjacency;
/// assert_eq!("add-remove".parse::<Adjacency>().unwrap(), Adjacency::AddRemove);
/// assert_eq!(Adjacency::ReplaceOne.to_string(), "replace-one");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjacency {
    /// One record is replaced by another; the number of records is public.
    ReplaceOne,
    /// One record is added or removed.
    AddRemove,
}

impl Adjacency {
    /// The name in JSON and Python: "replace-one" or "add-remove".
    pub fn name(self) -> &'static str {
        match self {
            Adjacency::ReplaceOne => "replace-one",
            Adjacency::AddRemove => "add-remove",
        }
    }
}

impl std::fmt::Display for Adjacency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Adjacency {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Adjacency::ReplaceOne, Adjacency::AddRemove]
            .into_iter()
            .find(|adjacency| adjacency.name() == name)
            .ok_or_else(|| Error::invalid("adjacency", "must be \"replace-one\" or \"add-remove\""))
    }
}

/// One private release, as the accountant needs to know it.
///
/// ```
/// use dpsparse::accounting::event::Event;
/// let event = Event::gaussian(1.0, 10.0).unwrap();
/// let json = serde_json::to_string(&event).unwrap();
/// assert_eq!(json, r#"{"kind":"gaussian","sensitivity":1.0,"sigma":10.0}"#);
/// assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
/// assert!(serde_json::from_str::<Event>(&json.replace("10.0", "-1.0")).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    remote = "Self",
    tag = "kind",
    rename_all = "kebab-case",
    deny_unknown_fields
)]
#[non_exhaustive]
pub enum Event {
    /// Continuous Gaussian noise, or its rounding (post-processing): the exact curve of Balle & Wang holds
    /// ([`crate::theory_of_privacy::noise_and_accounting`]).
    Gaussian {
        /// L2 sensitivity.
        sensitivity: f64,
        /// Standard deviation, in the units of the answer.
        sigma: f64,
    },
    /// Discrete Gaussian noise: zCDP only; it does not satisfy the continuous curve (Canonne, Kamath &
    /// Steinke 2020; [`crate::theory_of_privacy::noise_and_accounting`]).
    DiscreteGaussian {
        /// L2 sensitivity.
        sensitivity: f64,
        /// The parameter sigma of the law exp(-k^2/(2 sigma^2)).
        sigma: f64,
    },
    /// The exponential mechanism, or any epsilon0-bounded-range choice ([`crate::theory_of_privacy::selection`]).
    Exponential {
        /// Range of the privacy loss.
        epsilon0: f64,
    },
    /// An epsilon-DP release of any kind.
    Pure {
        /// The pure epsilon.
        epsilon: f64,
    },
    /// Laplace noise, discrete or continuous, accounted as (sensitivity/scale)-DP.
    ///
    /// The continuous law has a smaller Renyi curve, but the lattice variants that are drawn here do not
    /// inherit it: a discrete Laplace vector is not a rounding of a continuous one. What both satisfy,
    /// whatever the lattice, is |ln P/Q| <= |k - k'|_1/scale <= sensitivity/scale.
    Laplace {
        /// L1 sensitivity.
        sensitivity: f64,
        /// Scale of the law exp(-|k|/scale).
        scale: f64,
    },
    /// A release with R(a) <= rho a for every order, such as a product of independent sign choices (the linf
    /// ball of [`crate::theory_of_privacy::frank_wolfe`], [`crate::theory_of_privacy::minkowski`]).
    ZeroConcentrated {
        /// The zCDP parameter.
        rho: f64,
    },
    /// Objective perturbation with Gaussian b ([`crate::theory_of_privacy::objective_perturbation`]): exact tail curves
    /// alone, Renyi or split curves in company.
    ObjectivePerturbation {
        /// L R2: the largest norm of one record's gradient.
        lipschitz_norm: f64,
        /// Standard deviation of b.
        sigma: f64,
        /// kl = ln(1 + kappa), kappa = beta R2^2/(n ridge).
        curvature_log: f64,
        /// Neighbour relation, which decides the curve.
        adjacency: Adjacency,
    },
    /// With probability at most `delta` the release may be anything; what it is otherwise, other events say
    /// ([`failure`]).
    Failure {
        /// The probability, below 1.
        delta: f64,
    },
}

impl Event {
    /// A checked [`Event::Gaussian`].
    ///
    /// # Errors
    /// An argument not positive and finite.
    pub fn gaussian(sensitivity: f64, sigma: f64) -> Result<Self> {
        Event::Gaussian { sensitivity, sigma }.checked()
    }

    /// A checked [`Event::DiscreteGaussian`].
    ///
    /// # Errors
    /// An argument not positive and finite.
    pub fn discrete_gaussian(sensitivity: f64, sigma: f64) -> Result<Self> {
        Event::DiscreteGaussian { sensitivity, sigma }.checked()
    }

    /// A checked [`Event::Exponential`].
    ///
    /// # Errors
    /// `epsilon0` not positive and finite.
    pub fn exponential(epsilon0: f64) -> Result<Self> {
        Event::Exponential { epsilon0 }.checked()
    }

    /// A checked [`Event::Pure`].
    ///
    /// # Errors
    /// `epsilon` not positive and finite.
    pub fn pure(epsilon: f64) -> Result<Self> {
        Event::Pure { epsilon }.checked()
    }

    /// A checked [`Event::Laplace`].
    ///
    /// # Errors
    /// An argument not positive and finite.
    pub fn laplace(sensitivity: f64, scale: f64) -> Result<Self> {
        Event::Laplace { sensitivity, scale }.checked()
    }

    /// A checked [`Event::ZeroConcentrated`].
    ///
    /// # Errors
    /// `rho` not positive and finite.
    pub fn zero_concentrated(rho: f64) -> Result<Self> {
        Event::ZeroConcentrated { rho }.checked()
    }

    /// A checked [`Event::ObjectivePerturbation`]; `curvature_log` may be 0 (a linear loss).
    ///
    /// # Errors
    /// `lipschitz_norm` or `sigma` not positive and finite, `curvature_log` negative or not finite.
    pub fn objective_perturbation(
        lipschitz_norm: f64,
        sigma: f64,
        curvature_log: f64,
        adjacency: Adjacency,
    ) -> Result<Self> {
        Event::ObjectivePerturbation {
            lipschitz_norm,
            sigma,
            curvature_log,
            adjacency,
        }
        .checked()
    }

    /// A checked [`Event::Failure`].
    ///
    /// # Errors
    /// `delta` not strictly between 0 and 1.
    pub fn failure(delta: f64) -> Result<Self> {
        Event::Failure { delta }.checked()
    }

    /// The failure that stands for a release which equals an `epsilon`-DP one but for a probability of at most
    /// `eta`: its delta is (1 + e^epsilon) eta, by the proof in [`failure`].
    ///
    /// # Errors
    /// That delta not strictly between 0 and 1.
    ///
    /// ```
    /// use dpsparse::accounting::event::Event;
    /// let Event::Failure { delta } = Event::broken_coupling(1e-30, 1.0)? else { unreachable!() };
    /// assert!((delta / 3.718281828e-30 - 1.0).abs() < 1e-9);
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    pub fn broken_coupling(eta: f64, epsilon: f64) -> Result<Self> {
        Event::failure(failure::of_coupling(eta, epsilon))
    }

    /// The event itself if its parameters are in their domain; negative zero becomes zero.
    ///
    /// # Errors
    /// A parameter out of its domain, named.
    pub fn checked(self) -> Result<Self> {
        let positive = |name: &str, value: f64| positive(name, value).map(drop);
        match self {
            Event::Gaussian { sensitivity, sigma }
            | Event::DiscreteGaussian { sensitivity, sigma } => {
                positive("sensitivity", sensitivity)?;
                positive("sigma", sigma)?;
            }
            Event::Exponential { epsilon0 } => positive("epsilon0", epsilon0)?,
            Event::Pure { epsilon } => positive("epsilon", epsilon)?,
            Event::Laplace { sensitivity, scale } => {
                positive("sensitivity", sensitivity)?;
                positive("scale", scale)?;
            }
            Event::ZeroConcentrated { rho } => positive("rho", rho)?,
            Event::Failure { delta } => {
                if !(delta > 0.0 && delta < 1.0) {
                    return Err(Error::invalid("delta", "must lie strictly between 0 and 1"));
                }
            }
            Event::ObjectivePerturbation {
                lipschitz_norm,
                sigma,
                curvature_log,
                adjacency,
            } => {
                positive("lipschitz_norm", lipschitz_norm)?;
                positive("sigma", sigma)?;
                if !(curvature_log >= 0.0 && curvature_log.is_finite()) {
                    return Err(Error::invalid(
                        "curvature_log",
                        "must be finite and not negative",
                    ));
                }
                return Ok(Event::ObjectivePerturbation {
                    lipschitz_norm,
                    sigma,
                    curvature_log: curvature_log + 0.0,
                    adjacency,
                });
            }
        }
        Ok(self)
    }

    /// R(order): an upper bound on the Renyi divergence of that order between neighbours, rounded up; at order 1, where
    /// it is the Kullback-Leibler divergence, the limit of the bounds from above, which holds because divergences rise
    /// with the order (van Erven & Harremoes 2014, theorem 3). Infinite below order 1, where nothing is stated, and at
    /// the infinite order unless the event is pure. The curve of a failure is 0 at finite orders: it is carried apart
    /// ([`failure`]), so no curve may be read without the failures beside it.
    ///
    /// ```
    /// use dpsparse::accounting::event::Event;
    /// assert_eq!(Event::gaussian(1.0, 1.0).unwrap().renyi(3.0), 1.5);
    /// assert_eq!(Event::gaussian(1.0, 2.0).unwrap().renyi(1.0), 0.125);
    /// assert_eq!(Event::pure(0.5).unwrap().renyi(f64::INFINITY), 0.5);
    /// ```
    pub fn renyi(&self, order: f64) -> f64 {
        if order.is_nan() || order < 1.0 {
            return f64::INFINITY;
        }
        if order == f64::INFINITY {
            return self.pure_epsilon().unwrap_or(f64::INFINITY);
        }
        match *self {
            Event::Gaussian { .. }
            | Event::DiscreteGaussian { .. }
            | Event::ZeroConcentrated { .. } => mul_up(order, self.rho().unwrap_or(f64::INFINITY)),
            Event::Exponential { epsilon0 } => bounded_range::renyi(epsilon0, order),
            Event::Pure { .. } | Event::Laplace { .. } => match self.pure_epsilon() {
                Some(epsilon) if epsilon.is_finite() => randomised_response::renyi(epsilon, order),
                _ => f64::INFINITY,
            },
            Event::ObjectivePerturbation { .. } => {
                self.objective().map_or(f64::INFINITY, |o| o.renyi(order))
            }
            Event::Failure { .. } => 0.0,
        }
    }

    /// The zCDP parameter: R(a) <= rho a for all a > 1 (Bun & Steinke 2016); rounded up. None for objective
    /// perturbation, whose Renyi bound does not vanish in proportion; 0 for a failure, which is carried apart.
    ///
    /// Gaussian laws D^2/(2 sigma^2); bounded range eps0^2/8 (Cesar & Rogers 2021); pure epsilon
    /// tanh(epsilon/2).
    ///
    /// ```
    /// use dpsparse::accounting::event::Event;
    /// assert_eq!(Event::gaussian(1.0, 2.0).unwrap().rho(), Some(0.125));
    /// assert_eq!(Event::exponential(2.0).unwrap().rho(), Some(0.5));
    /// ```
    pub fn rho(&self) -> Option<f64> {
        match *self {
            Event::Gaussian { sensitivity, sigma }
            | Event::DiscreteGaussian { sensitivity, sigma } => {
                let ratio = div_up(sensitivity, sigma);
                Some(mul_up(mul_up(ratio, ratio), 0.5))
            }
            Event::Exponential { epsilon0 } => Some(mul_up(mul_up(epsilon0, epsilon0), 0.125)),
            Event::Pure { .. } | Event::Laplace { .. } => {
                self.pure_epsilon().map(randomised_response::rho)
            }
            Event::ZeroConcentrated { rho } => Some(rho),
            Event::ObjectivePerturbation { .. } => None,
            Event::Failure { .. } => Some(0.0),
        }
    }

    /// The epsilon of pure differential privacy where the event has one, rounded up.
    ///
    /// A bounded range of epsilon0 implies it: the loss takes both signs or is 0, so |loss| <= epsilon0.
    ///
    /// ```
    /// use dpsparse::accounting::event::Event;
    /// assert_eq!(Event::laplace(1.0, 4.0).unwrap().pure_epsilon(), Some(0.25));
    /// assert_eq!(Event::gaussian(1.0, 4.0).unwrap().pure_epsilon(), None);
    /// ```
    pub fn pure_epsilon(&self) -> Option<f64> {
        match *self {
            Event::Exponential { epsilon0 } => Some(epsilon0),
            Event::Pure { epsilon } => Some(epsilon),
            Event::Laplace { sensitivity, scale } => Some(div_up(sensitivity, scale)),
            _ => None,
        }
    }

    /// One plain sentence for people.
    ///
    /// ```
    /// use dpsparse::accounting::event::Event;
    /// let sentence = Event::exponential(0.1).unwrap().describe();
    /// assert_eq!(sentence, "A choice by the exponential mechanism whose privacy loss has range 0.1.");
    /// ```
    pub fn describe(&self) -> String {
        match self {
            Event::Gaussian { sensitivity, sigma } => format!(
                "Gaussian noise of standard deviation {sigma} on an answer of L2 sensitivity {sensitivity}."
            ),
            Event::DiscreteGaussian { sensitivity, sigma } => format!(
                "Discrete Gaussian noise of parameter {sigma} on an integer answer of L2 sensitivity {sensitivity}."
            ),
            Event::Exponential { epsilon0 } => {
                format!(
                    "A choice by the exponential mechanism whose privacy loss has range {epsilon0}."
                )
            }
            Event::Pure { epsilon } => {
                format!("A release that is {epsilon}-differentially private.")
            }
            Event::Laplace { sensitivity, scale } => {
                format!(
                    "Laplace noise of scale {scale} on an answer of L1 sensitivity {sensitivity}."
                )
            }
            Event::ZeroConcentrated { rho } => {
                format!("A release of zero-concentrated differential privacy {rho}.")
            }
            Event::ObjectivePerturbation {
                lipschitz_norm,
                sigma,
                curvature_log,
                adjacency,
            } => format!(
                "Objective perturbation by Gaussian noise of standard deviation {sigma} for gradients of norm at most \
                 {lipschitz_norm}, with curvature term {curvature_log}, under {adjacency} neighbours."
            ),
            Event::Failure { delta } => {
                format!(
                    "A failure of probability at most {delta}, in which the release may be anything."
                )
            }
        }
    }

    /// A number for the kind, and the parameters: no two events share them.
    pub(super) fn words(&self) -> (u64, [f64; 3]) {
        match *self {
            Event::Gaussian { sensitivity, sigma } => (0, [sensitivity, sigma, 0.0]),
            Event::DiscreteGaussian { sensitivity, sigma } => (1, [sensitivity, sigma, 0.0]),
            Event::Exponential { epsilon0 } => (2, [epsilon0, 0.0, 0.0]),
            Event::Pure { epsilon } => (3, [epsilon, 0.0, 0.0]),
            Event::Laplace { sensitivity, scale } => (4, [sensitivity, scale, 0.0]),
            Event::ZeroConcentrated { rho } => (5, [rho, 0.0, 0.0]),
            Event::Failure { delta } => (6, [delta, 0.0, 0.0]),
            Event::ObjectivePerturbation {
                lipschitz_norm,
                sigma,
                curvature_log,
                adjacency,
            } => {
                let kind = match adjacency {
                    Adjacency::ReplaceOne => 7,
                    Adjacency::AddRemove => 8,
                };
                (kind, [lipschitz_norm, sigma, curvature_log])
            }
        }
    }

    /// The curves of an objective perturbation; None for the other kinds.
    pub(crate) fn objective(&self) -> Option<Objective> {
        match *self {
            Event::ObjectivePerturbation {
                lipschitz_norm,
                sigma,
                curvature_log,
                adjacency,
            } => Some(Objective::new(
                lipschitz_norm,
                sigma,
                curvature_log,
                adjacency,
            )),
            _ => None,
        }
    }
}

// `remote = "Self"` derives the two functions below as inherent ones, so that reading can check the
// parameters.
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        Event::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Event::deserialize(deserializer)?
            .checked()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all() -> Vec<Event> {
        vec![
            Event::gaussian(1.0, 2.0).unwrap(),
            Event::discrete_gaussian(3.0, 2.0).unwrap(),
            Event::exponential(0.1).unwrap(),
            Event::pure(0.3).unwrap(),
            Event::laplace(1.0, 3.0).unwrap(),
            Event::zero_concentrated(0.01).unwrap(),
            Event::objective_perturbation(1.0, 5.0, 0.0, Adjacency::ReplaceOne).unwrap(),
            Event::objective_perturbation(1.0, 5.0, 0.2, Adjacency::AddRemove).unwrap(),
            Event::failure(1e-9).unwrap(),
        ]
    }

    #[test]
    fn json_round_trips_and_is_checked() {
        for event in all() {
            let json = serde_json::to_string(&event).unwrap();
            assert!(json.starts_with("{\"kind\":\""), "{json}");
            assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
            assert!(event.describe().ends_with('.'));
        }
        for bad in [
            r#"{"kind":"gaussian","sensitivity":1.0,"sigma":0.0}"#,
            r#"{"kind":"gaussian","sensitivity":1.0}"#,
            r#"{"kind":"gaussian","sensitivity":1.0,"sigma":1.0,"extra":2.0}"#,
            r#"{"kind":"unheard-of"}"#,
            r#"{"kind":"pure","epsilon":null}"#,
        ] {
            assert!(serde_json::from_str::<Event>(bad).is_err(), "{bad}");
        }
        let json = serde_json::to_string(&all()[6]).unwrap();
        assert!(
            json.contains(r#""kind":"objective-perturbation""#)
                && json.contains(r#""adjacency":"replace-one""#)
        );
    }

    #[test]
    fn bad_parameters_are_named() {
        for (result, name) in [
            (Event::gaussian(0.0, 1.0), "sensitivity"),
            (Event::gaussian(1.0, f64::NAN), "sigma"),
            (Event::exponential(-1.0), "epsilon0"),
            (Event::pure(f64::INFINITY), "epsilon"),
            (Event::laplace(1.0, 0.0), "scale"),
            (Event::zero_concentrated(0.0), "rho"),
            (Event::failure(0.0), "delta"),
            (Event::failure(1.0), "delta"),
            (
                Event::objective_perturbation(1.0, 1.0, -0.1, Adjacency::AddRemove),
                "curvature_log",
            ),
        ] {
            match result.unwrap_err() {
                Error::InvalidArgument { argument, .. } => assert_eq!(argument, name),
                other => panic!("{other}"),
            }
        }
        assert!("add".parse::<Adjacency>().is_err());
    }

    /// A positive double as numerator 2^-1074.
    fn exact(x: f64) -> num_bigint::BigUint {
        let (bits, one) = (x.to_bits(), num_bigint::BigUint::from(1u8));
        ((one << 52u32) + (bits & ((1 << 52) - 1))) << ((bits >> 52) - 1)
    }

    proptest! {
        /// rho of noise, and the pure epsilon of Laplace noise, in exact arithmetic: never below the truth.
        #[test]
        fn costs_of_noise_are_rounded_up(sensitivity in 1e-3f64..1e3, noise in 1e-3f64..1e3, epsilon0 in 1e-3f64..10.0) {
            let (d, s) = (exact(sensitivity), exact(noise));
            for event in [Event::gaussian(sensitivity, noise), Event::discrete_gaussian(sensitivity, noise)] {
                // rho 2 sigma^2 >= D^2
                let rho = exact(event.unwrap().rho().unwrap());
                prop_assert!((rho * &s * &s) << 1u32 >= (&d * &d) << 1074u32);
            }
            let epsilon = exact(Event::laplace(sensitivity, noise).unwrap().pure_epsilon().unwrap());
            prop_assert!(epsilon * &s >= &d << 1074u32);
            let (rho, e) = (Event::exponential(epsilon0).unwrap().rho().unwrap(), exact(epsilon0));
            prop_assert!(exact(rho) << (3 + 1074) >= &e * &e);
            // No more than two units above it.
            prop_assert!(rho <= epsilon0 * epsilon0 / 8.0 * (1.0 + 1e-15));
            let gaussian = Event::gaussian(sensitivity, noise).unwrap().rho().unwrap();
            prop_assert!(gaussian <= (sensitivity / noise).powi(2) / 2.0 * (1.0 + 2e-15));
        }
    }

    #[test]
    fn renyi_is_monotone_in_the_order_and_below_rho() {
        for event in all() {
            let mut last = 0.0;
            for i in -20..60 {
                let order = 1.0 + (0.4 * f64::from(i)).exp();
                let r = event.renyi(order);
                assert!(r >= last * (1.0 - 1e-11), "{event:?} {order}");
                last = r;
                if let Some(rho) = event.rho() {
                    assert!(r <= rho * order * (1.0 + 1e-11), "{event:?} {order}");
                }
                if let Some(epsilon) = event.pure_epsilon() {
                    assert!(r <= epsilon);
                }
            }
            assert_eq!(event.renyi(1.0 - 1e-15), f64::INFINITY);
            assert_eq!(event.renyi(f64::NAN), f64::INFINITY);
            let limit = event.renyi(1.0);
            assert!(
                (event.renyi(1.0 + 1e-9) - limit).abs() <= 1e-8 * limit,
                "{event:?}"
            );
        }
    }

    #[test]
    fn order_one_is_finite_and_signs_of_zero_are_one() {
        for event in all() {
            let (limit, near) = (event.renyi(1.0), event.renyi(1.0 + 1e-9));
            assert!(
                limit.is_finite() && (limit - near).abs() <= 1e-6 * near,
                "{event:?}"
            );
            assert_eq!(event.renyi(1.0 - 1e-9), f64::INFINITY);
        }
        let with = |zero| Event::objective_perturbation(1.0, 5.0, zero, Adjacency::AddRemove);
        let Event::ObjectivePerturbation { curvature_log, .. } = with(-0.0).unwrap() else {
            panic!("another kind");
        };
        assert_eq!(curvature_log.to_bits(), 0.0f64.to_bits());
    }
}
