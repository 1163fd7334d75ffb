//! Slopes as clamped integers: d_ik = clamp(round(l'_k(z_i) 2^b)).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::{Admitted, AdmittedData, Catalogued, Growth, Model, Rounding, Softmax};
use crate::numeric::kernel::MAX_DERIVATIVE;
use crate::schema::Target;

/// A loss as the room uses it: reviewed or tabulated, and its slopes clamped to public bounds, whatever it says.
#[derive(Debug, Clone)]
pub struct RoomModel {
    loss: Admitted,
    model: Arc<dyn Model>,
    /// K of a softmax model.
    classes: Option<u32>,
    bound: SlopeBound<f64>,
    lattice: SlopeLattice,
}

/// A model as data.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ModelData {
    loss: AdmittedData,
    clamp: Option<f64>,
    classes: Option<u32>,
}

impl ModelData {
    /// The same model, bit for bit.
    ///
    /// # Errors
    /// As [`RoomModel::for_target`], for what [`RoomModel::as_data`] did not make.
    pub(crate) fn model(&self) -> Result<RoomModel> {
        let loss = Admitted::from(self.loss.clone());
        match self.classes {
            Some(classes) => {
                RoomModel::for_target(&loss, self.clamp, Target::Multiclass { classes })
            }
            None => RoomModel::new(&loss, self.clamp),
        }
    }
}

/// Bounds on the slopes of one record in three norms: one coordinate of a gradient feels the largest slope, all
/// coefficients of one feature their sum, the whole gradient their Euclidean norm. Equal for one output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlopeBound<T> {
    /// The largest slope.
    pub linf: T,
    /// The sum of the sizes of the slopes.
    pub l1: T,
    /// The Euclidean norm of the slopes.
    pub l2: T,
}

impl RoomModel {
    /// A loss with its own bounds, or with slopes clamped at `clamp` where nothing else bounds them.
    ///
    /// A clamped slope of a convex loss is that of a convex loss, as smooth: any public clamp is sound.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `residual_bound`: a clamp for a loss that has bounds, none for one that has
    /// not, or one that is not positive and finite; bounds that no lattice fits.
    pub fn new(loss: &Admitted, clamp: Option<f64>) -> Result<Self> {
        Self::of(loss, loss.model(), None, clamp)
    }

    /// The same for records with targets of a schema: for three or more classes the logistic losses are a [`Softmax`]
    /// model, and nothing else is.
    ///
    /// # Errors
    /// As [`RoomModel::new`]; [`Error::InvalidArgument`] naming `loss` for other losses of several classes.
    pub fn for_target(loss: &Admitted, clamp: Option<f64>, target: Target) -> Result<Self> {
        match target {
            Target::Multiclass { classes } => {
                let softmax = Softmax::of(loss.catalogued(), classes as usize)?;
                Self::of(loss, Arc::new(softmax), Some(classes), clamp)
            }
            Target::Classes | Target::Interval { .. } | Target::Counts { .. } => {
                Self::new(loss, clamp)
            }
        }
    }

    fn of(
        loss: &Admitted,
        model: Arc<dyn Model>,
        classes: Option<u32>,
        clamp: Option<f64>,
    ) -> Result<Self> {
        let bound = match (model.growth(), clamp) {
            (Growth::Bounded { .. }, Some(_)) => {
                return Err(Error::invalid(
                    "residual_bound",
                    "is used by the squared loss only; leave it at None",
                ));
            }
            (Growth::Bounded { linf, l1, l2 }, None) => SlopeBound { linf, l1, l2 },
            (Growth::SquaredResidual, Some(clamp)) if clamp.is_finite() && clamp > 0.0 => {
                SlopeBound {
                    linf: clamp,
                    l1: clamp,
                    l2: clamp,
                }
            }
            (Growth::SquaredResidual, _) => {
                return Err(Error::invalid(
                    "residual_bound",
                    "must be positive and finite",
                ));
            }
        };
        Ok(Self {
            loss: loss.clone(),
            lattice: SlopeLattice::new(bound).ok_or_else(|| match clamp {
                Some(_) => Error::invalid("residual_bound", format!("must lie {SLOPES}")),
                None => Error::invalid(
                    "loss",
                    format!("must have slopes whose bound (lipschitz) lies {SLOPES}"),
                ),
            })?,
            model,
            classes,
            bound,
        })
    }

    /// The model as data, which travels to records that are elsewhere.
    pub(crate) fn as_data(&self) -> ModelData {
        let clamped = self.model.growth() == Growth::SquaredResidual;
        ModelData {
            loss: self.loss.as_data(),
            clamp: clamped.then_some(self.bound.linf),
            classes: self.classes,
        }
    }

    pub(crate) fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// What rounding does to slopes, where the loss states it.
    pub(crate) fn rounding(&self) -> Option<Rounding> {
        self.loss.rounding()
    }

    /// K.
    pub fn outputs(&self) -> usize {
        self.model.outputs()
    }

    /// Coefficients of the differences between the scores and the last one, which is 0 then, where slopes see nothing
    /// else of scores: one plane of margins less. None where that would have more entries that are not 0 than `theta`,
    /// or would not be finite.
    pub(crate) fn differences(&self, theta: &[f64], columns: usize) -> Option<Vec<f64>> {
        self.model.balanced()?;
        let last = theta.chunks(columns).next_back()?;
        let own = theta.iter().zip(last.iter().cycle());
        let differences: Vec<f64> = own.map(|(own, last)| own - last).collect();
        let entries = |theta: &[f64]| theta.iter().filter(|&&entry| entry != 0.0).count();
        let fewer = entries(&differences) <= entries(theta);
        (fewer && differences.iter().all(|entry| entry.is_finite())).then_some(differences)
    }

    /// L in three norms.
    pub fn bound(&self) -> SlopeBound<f64> {
        self.bound
    }

    /// The lattice of integer slopes.
    pub fn lattice(&self) -> &SlopeLattice {
        &self.lattice
    }

    /// A bound on the second derivative in every direction, where the model is reviewed as convex and smooth: a
    /// catalogued loss of one score, or the softmax model without a clamp. What proofs about minimisers and full
    /// descents take.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] for a user's own loss, and for softmax slopes with a clamp.
    pub(crate) fn convex(&self) -> Result<f64> {
        if self.outputs() == 1 {
            return Ok(self.reviewed()?.smoothness());
        }
        let softmax = self.loss.catalogued().map(|loss| loss.name()) == Some("logistic");
        (self.model.smoothness().filter(|_| softmax)).ok_or_else(|| {
            Error::UnsoundMechanism(
                "slopes of three or more classes that are clamped are no gradient of a convex function, which this \
                 mechanism rests on; use loss=\"logistic\", or noisy-newton, which takes clamped slopes"
                    .into(),
            )
        })
    }

    /// The loss of one score where it is reviewed as convex and smooth: what proofs about permuted descents, random
    /// linear terms and dual paths take.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] for a user's own, and for a model of several scores.
    pub(crate) fn reviewed(&self) -> Result<&Catalogued> {
        if self.outputs() > 1 {
            return Err(Error::UnsoundMechanism(
                "Only binary classification is supported by this mechanism, which rests on a proof for one score a record; use \
                 noisy-newton, noisy-proximal-gradient, noisy-gradient-frank-wolfe, frank-wolfe or select-refit"
                    .into(),
            ));
        }
        self.loss.catalogued().ok_or_else(|| {
            Error::UnsoundMechanism(
                "this mechanism rests on the loss being convex and smooth, which is not proved for a user's own loss; \
                 use a catalogued loss, or frank-wolfe, noisy-gradient-frank-wolfe or noisy-proximal-gradient"
                    .into(),
            )
        })
    }
}

/// Where largest slopes lie that a lattice fits.
const SLOPES: &str =
    "between 2^-100 and 2^100, in units of half the range of the targets where there is one";

/// The lattice of slopes of one loss: 2^b with the largest b such that L 2^b <= 2^14, and integer bounds in three
/// norms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlopeLattice {
    scale: f64,
    bound: SlopeBound<u64>,
}

impl SlopeLattice {
    /// For slopes within `bound`; None for a largest slope outside [2^-100, 2^100].
    pub fn new(bound: SlopeBound<f64>) -> Option<Self> {
        if !(2f64.powi(-100)..=2f64.powi(100)).contains(&bound.linf) {
            return None;
        }
        let mut scale = 2f64.powi(120);
        while bound.linf * scale > f64::from(MAX_DERIVATIVE) {
            scale *= 0.5;
        }
        let floor = |bound: f64| (bound * scale).floor() as u64;
        Some(Self {
            scale,
            bound: SlopeBound {
                linf: floor(bound.linf),
                l1: floor(bound.l1),
                l2: floor(bound.l2),
            },
        })
    }

    /// The integer bounds that slopes are clamped to.
    pub fn bound(&self) -> SlopeBound<u64> {
        self.bound
    }

    /// Lattice points per unit of slope.
    pub fn scale(&self) -> f64 {
        self.scale
    }
}

impl RoomModel {
    /// Of a model that is in no catalogue: for tests of the room.
    #[cfg(test)]
    pub(crate) fn of_test(model: Arc<dyn Model>, bound: SlopeBound<f64>) -> Self {
        Self {
            loss: crate::loss::Squared.into(),
            model,
            classes: None,
            bound,
            lattice: SlopeLattice::new(bound).unwrap(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Squared;

    #[test]
    fn an_unbounded_loss_needs_a_clamp_and_others_take_none() {
        assert!(RoomModel::new(&Squared.into(), None).is_err());
        assert!(RoomModel::new(&Squared.into(), Some(f64::INFINITY)).is_err());
        let clamped = RoomModel::new(&Squared.into(), Some(2.0)).unwrap();
        assert_eq!(clamped.bound().linf, 2.0);
        assert!(RoomModel::new(&crate::loss::Logistic.into(), Some(1.0)).is_err());
    }

    /// Slopes see differences of scores alone: with the last score taken from all of them they are the same; where that
    /// would be more entries, or infinite ones, coefficients stay as they are, as they do of one score.
    #[test]
    fn differences_have_the_slopes_of_scores() {
        let target = Target::Multiclass { classes: 3 };
        let softmax = RoomModel::for_target(&crate::loss::Logistic.into(), None, target).unwrap();
        let theta = [1.0, 2.0, 0.0, -3.0, 4.0, 0.5];
        let differences = softmax.differences(&theta, 2).unwrap();
        assert_eq!(differences, [-3.0, 1.5, -4.0, -3.5, 0.0, 0.0]);
        let slopes = |theta: &[f64]| {
            let z: Vec<f64> = theta.chunks(2).map(|row| row[0] - 0.3 * row[1]).collect();
            let mut slopes = [0.0; 3];
            softmax.model().slopes(&z, &[1.0], &mut slopes);
            slopes
        };
        for (one, other) in slopes(&theta).iter().zip(slopes(&differences)) {
            assert!((one - other).abs() < 1e-14, "{one} {other}");
        }
        assert_eq!(
            softmax.differences(&[0.0, 0.0, 0.0, 0.0, 1.0, 1.0], 2),
            None
        );
        assert_eq!(
            softmax.differences(&[1e308, 0.0, 0.0, 0.0, -1e308, 0.0], 2),
            None
        );
        let one = RoomModel::new(&crate::loss::Logistic.into(), None).unwrap();
        assert_eq!(one.differences(&theta, 6), None);
    }
}
