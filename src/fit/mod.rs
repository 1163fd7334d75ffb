//! A private fit in one expression, from records to a model that predicts: classes and intercept are handled, the
//! mechanism is chosen by public facts where none is named.
//!
//! ```
//! use dpsparse::fit::PrivateFit;
//! use dpsparse::ndarray::Array2;
//!
//! // The second feature decides the class.
//! let x = Array2::from_shape_fn((4000, 3), |(i, j)| ((i * (j + 3) * 7919) % 201) as f64 / 100.0 - 1.0);
//! let y: Vec<&str> = x.column(1).iter().map(|&value| if value > 0.0 { "yes" } else { "no" }).collect();
//!
//! let fit = PrivateFit::classifier().classes(["no", "yes"]).bounds(-1.0, 1.0).epsilon(1.0);
//! println!("{}", fit.plan(4000, 3)?.mechanism()); // before any record is read
//! let model = fit.fit(&x, &y)?;
//! assert!(model.coefficients()[1] > 0.0);
//! assert_eq!(model.predict(&dpsparse::ndarray::array![[0.0, 0.9, 0.0]])?, ["yes"]);
//! assert!(model.certificate().verify());
//! # Ok::<(), dpsparse::Error>(())
//! ```
//!
//! Records that are sparse, in blocks or on other machines go the longer way: [`PrivateFit::plan`], a
//! [`Curator`](crate::privacy::Curator) of theirs, and [`release::run`](crate::release::run).

mod builder;
mod facts;
mod model;

pub use builder::{Classes, Counts, Interval, Numbers, PrivateFit};
#[cfg(feature = "python")]
pub(crate) use facts::PublicFacts;
pub use model::{Classifier, CountRegressor, Regressor};
