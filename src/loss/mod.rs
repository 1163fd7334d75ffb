//! Losses l(z; y) of a margin or prediction z = <x, theta>: pure scalar functions of one record.
//!
//! A new loss is one file that implements [`Loss`] and one line in [`CATALOGUE`]. A catalogued loss has
//! been reviewed: it reads nothing but its arguments, so the derivative of record i depends on record i and
//! on public state only ([`crate::theory_of_privacy::records`]). A user's own derivative goes through [`Tabulated`].

mod clipped_logistic;
mod exponential;
mod growth;
mod huber;
mod logistic;
mod model;
mod pinball;
mod poisson;
mod reviewed;
mod rounding;
mod smoothed_hinge;
mod softmax;
mod squared;
mod tabulated;

pub use clipped_logistic::ClippedLogistic;
pub use growth::Growth;
pub use huber::Huber;
pub use logistic::Logistic;
pub use model::{BLOCK, Balanced, Block, Lifted, Model};
pub use pinball::Pinball;
pub use poisson::Poisson;
pub(crate) use reviewed::AdmittedData;
pub use reviewed::{Admitted, Catalogued};
pub use rounding::Rounding;
pub use smoothed_hinge::SmoothedHinge;
pub use softmax::Softmax;
pub use squared::Squared;
pub use tabulated::{Tabulated, TargetGrid};

use crate::error::{Error, Result};
use crate::numeric::kernel::{map_margins, map_pairs};

/// Which targets a loss is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Task {
    /// y is -1 or +1 only.
    Classification,
    /// y is real (the two labels -1 and +1 are reals too).
    Regression,
    /// y is not negative; e^z predicts it.
    Counts,
}

/// A convex loss l(z; y), differentiable in z.
///
/// ```
/// use dpsparse::loss::{Logistic, Loss};
/// assert_eq!(Logistic.derivative(0.0, 1.0), -0.5);
/// ```
pub trait Loss: std::fmt::Debug + Send + Sync {
    /// Catalogue name.
    fn name(&self) -> &'static str;

    /// Shape parameter (name, value) where the loss has one.
    fn parameter(&self) -> Option<(&'static str, f64)> {
        None
    }

    /// Which targets it takes.
    fn task(&self) -> Task;

    /// l(z; y).
    fn value(&self, z: f64, y: f64) -> f64;

    /// d l(z; y) / d z.
    fn derivative(&self, z: f64, y: f64) -> f64;

    /// Second derivative in z (any element of the generalised derivative at a kink).
    fn curvature(&self, z: f64, y: f64) -> f64;

    /// What bounds |l'|.
    fn growth(&self) -> Growth;

    /// beta = sup l''.
    fn smoothness(&self) -> f64;

    /// What rounding does to l' for targets in [-1, 1]; None: sup |z l''| <= 2 L + beta, and l' errs by a few ulp of L.
    fn rounding(&self) -> Option<Rounding> {
        None
    }

    /// Fenchel conjugate sup_z a z - l(z; y), infinite outside its domain.
    fn conjugate(&self, a: f64, y: f64) -> f64;

    /// Writes the derivative of every record into `out`. Elementwise: entry i depends on (z_i, y_i) alone,
    /// with the same operations wherever the record lies in memory.
    fn derivatives(&self, z: &[f64], y: &[f64], out: &mut [f64]) {
        map_pairs(
            z,
            y,
            out,
            #[inline(always)]
            |z, y| self.derivative(z, y),
        );
    }

    /// d l(z; y) / d z but for a relative error below 2^-25, which is enough for what is rounded to 14 bits next.
    fn quick_derivative(&self, z: f64, y: f64) -> f64 {
        self.derivative(z, y)
    }

    /// Writes the derivative of every record as an integer: scale l'(z_i; y_i), z_i = margins_i * unit, l' as
    /// [`Loss::quick_derivative`] has it, rounded to the nearest one, ties to even, and at most 2^14 in size; 0 where
    /// l' is NaN. Elementwise, as [`Loss::derivatives`].
    fn integer_derivatives(
        &self,
        margins: &[i64],
        unit: f64,
        y: &[f64],
        scale: f64,
        out: &mut [i16],
    ) {
        map_margins(
            (margins, unit),
            y,
            scale,
            out,
            #[inline(always)]
            |z, y| self.quick_derivative(z, y),
        );
    }
}

/// One catalogued name: how to build the loss, and its shape parameters with their defaults.
pub struct Entry {
    /// Name users write.
    pub name: &'static str,
    /// Names and defaults of the shape parameters, if any.
    pub parameters: &'static [(&'static str, f64)],
    build: fn(&[f64]) -> Result<Catalogued>,
}

/// Every loss known by name. `absolute` is Huber's loss with a small threshold; counts of `poisson` are up to 8 units.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: "logistic",
        parameters: &[],
        build: |_| Ok(Logistic.into()),
    },
    Entry {
        name: "clipped-logistic",
        parameters: &[("bound", 0.5)],
        build: |b| Ok(ClippedLogistic::new(b[0])?.into()),
    },
    Entry {
        name: "hinge",
        parameters: &[("width", 0.5)],
        build: |w| Ok(SmoothedHinge::new(w[0])?.into()),
    },
    Entry {
        name: "squared",
        parameters: &[],
        build: |_| Ok(Squared.into()),
    },
    Entry {
        name: "huber",
        parameters: &[("threshold", 1.0)],
        build: |t| Ok(Huber::new(t[0])?.into()),
    },
    Entry {
        name: "absolute",
        parameters: &[("threshold", 0.1)],
        build: |t| Ok(Huber::new(t[0])?.into()),
    },
    Entry {
        name: "pinball",
        parameters: &[("level", 0.5), ("width", 0.1)],
        build: |p| Ok(Pinball::new(p[0], p[1])?.into()),
    },
    Entry {
        name: "poisson",
        parameters: &[("bound", 1.0)],
        build: |b| Ok(Poisson::new(8.0, b[0])?.into()),
    },
];

/// Builds a catalogued loss; `parameters` override the defaults of its shape parameters, in their order, and may be
/// fewer.
///
/// # Errors
/// An unknown name, more parameters than the loss has, or a parameter outside its domain.
///
/// ```
/// let loss = dpsparse::loss::by_name("huber", &[0.5]).unwrap();
/// assert_eq!(loss.growth(), dpsparse::loss::Growth::scalar(0.5));
/// ```
pub fn by_name(name: &str, parameters: &[f64]) -> Result<Catalogued> {
    let Some(entry) = CATALOGUE.iter().find(|entry| entry.name == name) else {
        let known: Vec<_> = CATALOGUE.iter().map(|entry| entry.name).collect();
        return Err(Error::invalid(
            "loss",
            format!("must be one of {}; got {name:?}", known.join(", ")),
        ));
    };
    if parameters.len() > entry.parameters.len() {
        let known: Vec<_> = entry.parameters.iter().map(|(name, _)| *name).collect();
        let known = match known.as_slice() {
            [] => "no parameter".into(),
            known => format!("no parameters but {}", known.join(", ")),
        };
        return Err(Error::invalid("loss", format!("{name:?} has {known}")));
    }
    let mut all: Vec<f64> = entry
        .parameters
        .iter()
        .map(|&(_, default)| default)
        .collect();
    all[..parameters.len()].copy_from_slice(parameters);
    (entry.build)(&all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::kernel::tests::at_every_width;
    use proptest::prelude::*;

    /// A target that the loss takes.
    fn target_of(loss: &Catalogued, y: f64) -> f64 {
        match loss.task() {
            Task::Classification => 1f64.copysign(y),
            Task::Regression => y,
            Task::Counts => y.abs(),
        }
    }

    /// A loss that is read has the parameters of one that is made: slopes and smoothness are what it states.
    #[test]
    fn losses_that_are_read_are_checked() {
        type Read = fn(&str) -> bool;
        fn reads<L: serde::de::DeserializeOwned>(text: &str) -> bool {
            serde_json::from_str::<L>(text).is_ok()
        }
        let cases: [(Read, &str, &[&str]); 5] = [
            (
                reads::<Huber>,
                r#"{"threshold":0.5}"#,
                &[r#"{"threshold":-0.5}"#],
            ),
            (
                reads::<Pinball>,
                r#"{"level":0.5,"width":0.1}"#,
                &[
                    r#"{"level":2.0,"width":0.1}"#,
                    r#"{"level":0.5,"width":0.0}"#,
                ],
            ),
            (
                reads::<ClippedLogistic>,
                r#"{"bound":0.5}"#,
                &[r#"{"bound":1.5}"#],
            ),
            (
                reads::<SmoothedHinge>,
                r#"{"width":0.5}"#,
                &[r#"{"width":-0.5}"#],
            ),
            // Its smoothness would be 0.1, and is 1.
            (
                reads::<Poisson>,
                r#"{"largest":8.0,"bound":1.0}"#,
                &[
                    r#"{"largest":-0.9,"bound":1.0}"#,
                    r#"{"largest":8.0,"bound":-1.0}"#,
                ],
            ),
        ];
        for (read, good, bad) in cases {
            assert!(read(good), "{good}");
            bad.iter().for_each(|bad| assert!(!read(bad), "{bad}"));
        }
        let table = Tabulated::new(|z, _| Ok(z), TargetGrid::Classes, 4.0, 0.5).unwrap();
        let text = serde_json::to_string(&table).unwrap();
        let steep = text.replacen("-0.5", "-7.5", 1);
        let read: Tabulated = serde_json::from_str(&steep).unwrap();
        assert!(text != steep && read.derivative(-4.0, -1.0) == -0.5);
        let short = text.replacen("-0.5,", "", 1);
        assert!(!reads::<Tabulated>(&short));
        let flat = text.replace("\"lipschitz\":0.5", "\"lipschitz\":-0.5");
        assert!(flat != text && !reads::<Tabulated>(&flat));
    }

    proptest! {
        /// What sensitivities rest on: slopes stay within their growth, rise with z, and no faster than the smoothness.
        #[test]
        fn slopes_keep_their_bounds(
            parameter in 0.05f64..0.95,
            z in prop_oneof![-0.5..0.5f64, -3.0..3.0f64, -1e3..1e3f64, -1e9..1e9f64],
            step in prop_oneof![1e-3..1.0f64, 1.0..1e3f64],
            y in prop_oneof![Just(-1.0), Just(1.0), -1.0..1.0f64],
        ) {
            for entry in CATALOGUE {
                let loss = by_name(entry.name, &vec![parameter; entry.parameters.len()]).unwrap();
                let y = target_of(&loss, y);
                // Slopes change fastest near the target, or near its logarithm.
                for z in [z, z + y, z + y.abs().max(0.1).ln()] {
                    let (here, there) = (loss.derivative(z, y), loss.derivative(z + step, y));
                    if let Growth::Bounded { linf, l1, l2 } = loss.growth() {
                        prop_assert!(here.abs() <= linf * (1.0 + 1e-13), "{} {} {}", entry.name, here, linf);
                        prop_assert!(linf == l1 && linf == l2);
                    }
                    let slack = 1e-13 * (1.0 + z.abs());
                    prop_assert!(there >= here - slack);
                    let most = loss.smoothness() * step * (1.0 + 1e-9) + slack;
                    prop_assert!(there - here <= most, "{}", entry.name);
                }
            }
        }

        /// The bounds of the catalogue are attained: no smaller ones hold.
        #[test]
        fn bounds_of_slopes_are_attained(which in 0..CATALOGUE.len(), parameter in 0.05f64..0.95) {
            let entry = &CATALOGUE[which];
            let loss = by_name(entry.name, &vec![parameter; entry.parameters.len()]).unwrap();
            if let Growth::Bounded { linf, .. } = loss.growth() {
                let largest = [-1e6, 1e6].map(|z| loss.derivative(z, 1.0).abs());
                prop_assert!(largest[0].max(largest[1]) > linf * (1.0 - 1e-9), "{}", entry.name);
            }
        }

        /// A relative error of z moves a slope by no more than is stated.
        #[test]
        fn relative_errors_move_slopes_as_stated(
            parameter in 0.05f64..0.95,
            z in prop_oneof![-3.0..3.0f64, -30.0..30.0f64],
            y in prop_oneof![Just(-1.0), Just(1.0), -1.0..1.0f64],
        ) {
            for entry in CATALOGUE {
                let loss = by_name(entry.name, &vec![parameter; entry.parameters.len()]).unwrap();
                let Growth::Bounded { linf, .. } = loss.growth() else { continue };
                let y = target_of(&loss, y);
                let usual = 2.0 * linf + loss.smoothness();
                let stated = loss.rounding().map_or(usual, |rounding| rounding.relative);
                // Slopes of counts up to 8 are within their clamp near the logarithm alone.
                for z in [z, (8.0 * y.abs()).max(0.1).ln()] {
                    prop_assert!(z.abs() * loss.curvature(z, y) <= stated * (1.0 + 1e-12), "{}", entry.name);
                }
            }
        }

        /// Integers are those of quick derivatives, at every width of vectors, whatever the scale: halves go to even
        /// ones, what is too large stays at 2^14.
        #[test]
        fn integer_derivatives_are_rounded_derivatives(
            records in prop::collection::vec((-(1i64 << 40)..1 << 40, any::<bool>()), 1..70),
            which in 0..CATALOGUE.len(),
            scale in prop_oneof![1.0..20_000.0f64, Just(16_384.0), Just(1e9)],
        ) {
            let loss = by_name(CATALOGUE[which].name, &[]).unwrap();
            let margins: Vec<i64> = records.iter().map(|record| record.0).collect();
            let y: Vec<f64> = records.iter().map(|record| if record.1 { 1.0 } else { -1.0 }).collect();
            let unit = 2f64.powi(-36);
            let integers = || {
                let mut out = vec![7i16; margins.len()];
                loss.integer_derivatives(&margins, unit, &y, scale, &mut out);
                out
            };
            for out in at_every_width(integers) {
                for ((&margin, &y), out) in margins.iter().zip(&y).zip(out) {
                    let quick = loss.quick_derivative(margin as f64 * unit, y) * scale;
                    let expected = quick.clamp(-16_384.0, 16_384.0).round_ties_even();
                    prop_assert_eq!(f64::from(out), expected, "{}", loss.name());
                }
            }
        }

        #[test]
        fn quick_derivatives_err_by_no_more_than_they_say(
            parameter in 0.05f64..0.95,
            z in prop_oneof![-3.0..3.0f64, -40.0..40.0f64, -1e3..1e3f64],
            y in prop_oneof![Just(-1.0), Just(1.0), -1.0..1.0f64],
        ) {
            for entry in CATALOGUE {
                let loss = by_name(entry.name, &vec![parameter; entry.parameters.len()]).unwrap();
                let y = target_of(&loss, y);
                let (quick, exact) = (loss.quick_derivative(z, y), loss.derivative(z, y));
                prop_assert!((quick - exact).abs() <= exact.abs() * 2f64.powi(-25), "{} {quick} {exact}", entry.name);
            }
        }

        /// Wide vectors and single records give the same bits: a derivative must not depend on where in memory its
        /// record lies ([`crate::theory_of_privacy::records`]; add-remove needs it).
        #[test]
        fn derivatives_do_not_depend_on_the_position(
            records in prop::collection::vec((-50.0..50.0f64, any::<bool>()), 1..70),
            which in 0..CATALOGUE.len(),
        ) {
            let loss = by_name(CATALOGUE[which].name, &[]).unwrap();
            let z: Vec<f64> = records.iter().map(|record| record.0).collect();
            let y: Vec<f64> = records.iter().map(|record| if record.1 { 1.0 } else { -1.0 }).collect();
            let derivatives = |z: &[f64], y: &[f64]| {
                let mut out = vec![0.0; z.len()];
                loss.derivatives(z, y, &mut out);
                out
            };
            for out in at_every_width(|| derivatives(&z, &y)) {
                for ((&z, &y), out) in z.iter().zip(&y).zip(out) {
                    prop_assert_eq!(loss.derivative(z, y).to_bits(), out.to_bits());
                    prop_assert_eq!(derivatives(&[z], &[y])[0].to_bits(), out.to_bits());
                }
            }
        }
    }
}
