//! Slopes as clamped integers: d_ik = clamp(round(l'_k(z_i) 2^b)).

use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::loss::{Admitted, Catalogued, Growth, Model};
use crate::numeric::kernel::{MAX_DERIVATIVE, round_clamped};

/// Records per piece of work.
const CHUNK: usize = 1024;

/// A loss as the room uses it: reviewed or tabulated, and its slopes clamped to public bounds, whatever it says.
#[derive(Debug, Clone)]
pub struct RoomModel {
    loss: Admitted,
    model: Arc<dyn Model>,
    bound: SlopeBound<f64>,
    lattice: SlopeLattice,
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
        let model = loss.model();
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
            lattice: SlopeLattice::new(bound)?,
            model,
            bound,
        })
    }

    /// K.
    pub fn outputs(&self) -> usize {
        self.model.outputs()
    }

    /// L in three norms.
    pub fn bound(&self) -> SlopeBound<f64> {
        self.bound
    }

    /// The lattice of integer slopes.
    pub fn lattice(&self) -> &SlopeLattice {
        &self.lattice
    }

    /// The loss where it is reviewed as convex and smooth.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] for a user's own.
    pub(in crate::privacy) fn reviewed(&self) -> Result<&Catalogued> {
        self.loss.catalogued().ok_or_else(|| {
            Error::UnsoundMechanism(
                "this mechanism rests on the loss being convex and smooth, which is not proved for a user's own loss; \
                 use a catalogued loss, or frank-wolfe, noisy-gradient-frank-wolfe or noisy-proximal-gradient"
                    .into(),
            )
        })
    }

    /// Slopes before any clamp, of one output.
    pub(in crate::privacy) fn unclamped(&self, z: &[f64], y: &[f64], out: &mut [f64]) {
        self.model.slopes(z, y, out);
    }

    /// d from margins and targets, record by record: entry i of every plane depends on record i and on the public
    /// `unit` only (z_ik = margins_ik * unit), with the same operations for every record.
    pub(in crate::privacy) fn slopes(
        &self,
        margins: &[Vec<i64>],
        unit: f64,
        targets: &[f64],
        out: &mut [Vec<i16>],
    ) {
        if let ([margins], [out]) = (margins, &mut *out) {
            self.scalar_slopes(margins, unit, targets, out);
        } else {
            self.planes_of_slopes(margins, unit, targets, out);
        }
    }

    fn scalar_slopes(&self, margins: &[i64], unit: f64, targets: &[f64], out: &mut [i16]) {
        let bound = self.lattice.bound.linf as f64;
        out.par_chunks_mut(CHUNK)
            .zip(margins.par_chunks(CHUNK))
            .zip(targets.par_chunks(CHUNK))
            .for_each(|((out, margins), targets)| {
                let (mut z, mut slopes) = ([0f64; CHUNK], [0f64; CHUNK]);
                for (z, &margin) in z.iter_mut().zip(margins) {
                    *z = margin as f64 * unit;
                }
                let n = out.len();
                self.model.slopes(&z[..n], targets, &mut slopes[..n]);
                round_clamped(&slopes[..n], self.lattice.scale, bound, out);
            });
    }

    /// Slopes of several outputs, clamped in all three norms: a record beyond a sum or a Euclidean norm is shortened.
    fn planes_of_slopes(
        &self,
        margins: &[Vec<i64>],
        unit: f64,
        targets: &[f64],
        out: &mut [Vec<i16>],
    ) {
        let outputs = margins.len();
        let SlopeBound { linf, l1, l2 } = self.lattice.bound;
        let (mut z, mut slopes) = (vec![0.0; outputs * CHUNK], vec![0.0; outputs * CHUNK]);
        let mut rounded = vec![0i16; CHUNK];
        for (chunk, targets) in targets.chunks(CHUNK).enumerate() {
            let (start, m) = (chunk * CHUNK, targets.len());
            for (z, margins) in z.chunks_mut(m).zip(margins) {
                for (z, &margin) in z.iter_mut().zip(&margins[start..]) {
                    *z = margin as f64 * unit;
                }
            }
            let size = outputs * m;
            self.model.slopes(&z[..size], targets, &mut slopes[..size]);
            for (out, slopes) in out.iter_mut().zip(slopes.chunks(m)) {
                round_clamped(slopes, self.lattice.scale, linf as f64, &mut rounded[..m]);
                out[start..start + m].copy_from_slice(&rounded[..m]);
            }
            for i in start..start + m {
                let of_record = || out.iter().map(|plane| i64::from(plane[i]));
                let sum: i64 = of_record().map(i64::abs).sum();
                let square: i64 = of_record().map(|d| d * d).sum();
                let most =
                    (l1 as f64 / sum.max(1) as f64).min(l2 as f64 / (square.max(1) as f64).sqrt());
                if most < 1.0 {
                    // Towards zero, and a little less than the quotient, which errs by an ulp.
                    let factor = most * (1.0 - 1e-12);
                    for plane in out.iter_mut() {
                        plane[i] = (f64::from(plane[i]) * factor) as i16;
                    }
                }
            }
        }
    }
}

/// The lattice of slopes of one loss: 2^b with the largest b such that L 2^b <= 2^14, and integer bounds in three norms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlopeLattice {
    scale: f64,
    bound: SlopeBound<u64>,
}

impl SlopeLattice {
    /// For slopes within `bound`.
    ///
    /// # Errors
    /// A largest slope outside [2^-100, 2^100].
    pub fn new(bound: SlopeBound<f64>) -> Result<Self> {
        if !(2f64.powi(-100)..=2f64.powi(100)).contains(&bound.linf) {
            return Err(Error::invalid(
                "residual_bound",
                "and every bound on the slope of a loss must lie between 2^-100 and 2^100",
            ));
        }
        let mut scale = 2f64.powi(120);
        while bound.linf * scale > f64::from(MAX_DERIVATIVE) {
            scale *= 0.5;
        }
        let floor = |bound: f64| (bound * scale).floor() as u64;
        Ok(Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Squared;
    use proptest::prelude::*;

    /// A model of three outputs whose slopes are anything: what it states is wrong.
    #[derive(Debug)]
    struct Wild;

    impl Model for Wild {
        fn outputs(&self) -> usize {
            3
        }

        fn growth(&self) -> Growth {
            Growth::Bounded {
                linf: 1.0,
                l1: 2.0,
                l2: 2f64.sqrt(),
            }
        }

        fn smoothness(&self) -> Option<f64> {
            None
        }

        fn slopes(&self, z: &[f64], _: &[f64], out: &mut [f64]) {
            out.copy_from_slice(z);
        }
    }

    fn wild() -> RoomModel {
        let bound = SlopeBound {
            linf: 1.0,
            l1: 2.0,
            l2: 2f64.sqrt(),
        };
        RoomModel {
            loss: Squared.into(),
            model: Arc::new(Wild),
            bound,
            lattice: SlopeLattice::new(bound).unwrap(),
        }
    }

    proptest! {
        /// Whatever a model of several outputs gives, the slopes of a record keep all three bounds, and depend on
        /// that record alone.
        #[test]
        fn slopes_of_several_outputs_keep_three_bounds(
            records in prop::collection::vec(prop::array::uniform3(-40_000i64..40_000), 1..2100),
        ) {
            let model = wild();
            let planes = |records: &[[i64; 3]]| {
                let margins: Vec<Vec<i64>> = (0..3).map(|k| records.iter().map(|z| z[k]).collect()).collect();
                let mut out = vec![vec![0i16; records.len()]; 3];
                model.slopes(&margins, 1.0 / 16_384.0, &vec![1.0; records.len()], &mut out);
                out
            };
            let out = planes(&records);
            let SlopeBound { linf, l1, l2 } = model.lattice().bound();
            for (i, record) in records.iter().enumerate() {
                let d: Vec<i64> = out.iter().map(|plane| i64::from(plane[i])).collect();
                prop_assert!(d.iter().all(|d| d.unsigned_abs() <= linf));
                prop_assert!(d.iter().map(|d| d.unsigned_abs()).sum::<u64>() <= l1);
                prop_assert!(d.iter().map(|d| (d * d) as u64).sum::<u64>() <= l2 * l2);
                if i % 500 == 0 {
                    let alone: Vec<i64> = planes(&[*record]).iter().map(|plane| i64::from(plane[0])).collect();
                    prop_assert_eq!(d, alone);
                }
            }
        }
    }

    #[test]
    fn an_unbounded_loss_needs_a_clamp_and_others_take_none() {
        assert!(RoomModel::new(&Squared.into(), None).is_err());
        assert!(RoomModel::new(&Squared.into(), Some(f64::INFINITY)).is_err());
        let clamped = RoomModel::new(&Squared.into(), Some(2.0)).unwrap();
        assert_eq!(clamped.bound().linf, 2.0);
        assert!(RoomModel::new(&crate::loss::Logistic.into(), Some(1.0)).is_err());
    }
}
