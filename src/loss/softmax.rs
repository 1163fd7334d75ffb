use super::logistic::exp;
use super::{Catalogued, Growth, Model};
use crate::error::{Error, Result};
use crate::numeric::kernel::for_wide_vectors;

/// The logistic model of K classes: l(z; y) = ln(sum_k exp z_k) - z_y, the class y one of 0, ..., K - 1.
///
/// With P = softmax(z) the slopes are s = P - e_y. They add up to 0, s_y = -(1 - P_y) and the others are non-negative,
/// so |s|_inf <= 1, |s|_1 = 2 (1 - P_y) <= 2 and |s|_2^2 <= (1 - P_y)^2 + (sum of the others)^2 <= 2. Reached as P_y
/// falls to 0 and one other class has it all.
///
/// The second derivative diag(P) - PP' is at most (I - 11'/K)/2 (Boehning 1992): smoothness 1/2.
///
/// **With a clamp** c < 1 slopes are multiplied by min(1, c/(1 - P_y)), which keeps 1 - P_y below c and all three bounds
/// below c times what they were. Noise is proportional to them, and records far on the wrong side, which are the only
/// ones that the clamp changes, are often outliers. With m = z_y - ln(sum over the others of exp z_k), a concave
/// function of z, l is ln(1 + exp(-m)), and the clamp replaces that falling convex function of m by
/// [`ClippedLogistic`](super::ClippedLogistic)'s, which is one too: l stays convex. Where it is clamped the second
/// derivative is c times that of ln sum exp of the others: smoothness 1/2 still.
///
/// ```
/// use dpsparse::loss::{Model, Softmax};
/// let mut slopes = [0.0; 3];
/// Softmax::new(3)?.slopes(&[0.0, 0.0, 0.0], &[2.0], &mut slopes);
/// assert!((slopes[0] - 1.0 / 3.0).abs() < 1e-15 && (slopes[2] + 2.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Softmax {
    classes: usize,
    clamp: f64,
}

/// Records that are worked on together.
const BLOCK: usize = 128;

impl Softmax {
    /// Of so many classes, without a clamp.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `classes` for fewer than two.
    pub fn new(classes: usize) -> Result<Self> {
        if classes < 2 {
            return Err(Error::invalid("classes", "must be at least two"));
        }
        Ok(Self {
            classes,
            clamp: 1.0,
        })
    }

    /// What the logistic losses are for so many classes.
    ///
    /// # Errors
    /// As [`Softmax::new`]; [`Error::InvalidArgument`] naming `loss` for any other loss.
    pub(crate) fn of(loss: Option<&Catalogued>, classes: usize) -> Result<Self> {
        let clamp = match loss.map(|loss| (loss.name(), loss.parameter())) {
            Some(("logistic", None)) => 1.0,
            Some(("clipped-logistic", Some((_, bound)))) => bound,
            _ => {
                return Err(Error::invalid(
                    "loss",
                    "must be \"logistic\" for three or more classes, which are one softmax model",
                ));
            }
        };
        Ok(Self {
            clamp,
            ..Self::new(classes)?
        })
    }

    /// l(z; y), one entry of z a class; infinite for a class that is none.
    pub fn value(&self, z: &[f64], y: usize) -> f64 {
        let Some(&own) = z.get(y) else {
            return f64::INFINITY;
        };
        let others = || (0..).zip(z).filter(|&(k, _)| k != y).map(|(_, &z)| z);
        let largest = others().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = others().map(|z| (z - largest).exp()).sum();
        let margin = own - (largest + sum.ln());
        // 1 - P_y is c at the kink.
        let kink = ((1.0 - self.clamp) / self.clamp).ln();
        let (near, beyond) = (margin.max(kink), (kink - margin).max(0.0));
        let logistic = (-near).max(0.0) + (-near.abs()).exp().ln_1p();
        match beyond > 0.0 {
            true => logistic + self.clamp * beyond,
            false => logistic,
        }
    }

    /// The slopes of at most [`BLOCK`] records that begin at record `start` of planes of `m` entries.
    #[inline(always)]
    fn block(&self, z: &[f64], y: &[f64], out: &mut [f64], (start, m): (usize, usize)) {
        let len = y.len();
        let plane = |k: usize| k * m + start..k * m + start + len;
        let (mut largest, mut sum, mut others) = ([0f64; BLOCK], [0f64; BLOCK], [0f64; BLOCK]);
        largest[..len].copy_from_slice(&z[plane(0)]);
        for k in 1..self.classes {
            for (largest, &z) in largest.iter_mut().zip(&z[plane(k)]) {
                *largest = largest.max(z);
            }
        }
        // In the order of the classes, for every record: its slopes depend on nothing else.
        for k in 0..self.classes {
            let class = k as f64;
            let weights = out[plane(k)].iter_mut().zip(&z[plane(k)]);
            for (i, (weight, &z)) in weights.enumerate() {
                *weight = exp((z - largest[i]).max(-700.0));
                sum[i] += *weight;
                others[i] += if y[i] == class { 0.0 } else { *weight };
            }
        }
        for i in 0..len {
            let missed = others[i] / sum[i];
            let factor = if missed > self.clamp {
                self.clamp / missed
            } else {
                1.0
            };
            (sum[i], others[i]) = (factor / sum[i], -(factor * missed));
        }
        for k in 0..self.classes {
            let class = k as f64;
            for (i, slope) in out[plane(k)].iter_mut().enumerate() {
                *slope = if y[i] == class {
                    others[i]
                } else {
                    *slope * sum[i]
                };
            }
        }
    }
}

impl Model for Softmax {
    fn outputs(&self) -> usize {
        self.classes
    }

    fn growth(&self) -> Growth {
        Growth::Bounded {
            linf: self.clamp,
            l1: 2.0 * self.clamp,
            l2: (2f64.sqrt() * self.clamp).next_up(),
        }
    }

    fn smoothness(&self) -> Option<f64> {
        Some(0.5)
    }

    fn slopes(&self, z: &[f64], y: &[f64], out: &mut [f64]) {
        let m = y.len();
        for_wide_vectors(
            #[inline(always)]
            || {
                for start in (0..m).step_by(BLOCK) {
                    let end = m.min(start + BLOCK);
                    self.block(z, &y[start..end], out, (start, m));
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{ClippedLogistic, Logistic, Loss};
    use crate::numeric::kernel::tests::at_every_width;
    use proptest::prelude::*;

    fn slopes(model: &Softmax, z: &[f64], y: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::NAN; z.len()];
        model.slopes(z, y, &mut out);
        out
    }

    fn model(classes: usize, clamp: f64) -> Softmax {
        Softmax { classes, clamp }
    }

    fn scores() -> impl Strategy<Value = Vec<f64>> {
        let score = prop_oneof![-3.0..3.0f64, -40.0..40.0f64, -1e9..1e9f64];
        prop::collection::vec(score, 2..7)
    }

    proptest! {
        /// What sensitivities rest on: three bounds, and slopes that are the derivatives of the value.
        #[test]
        fn slopes_keep_their_bounds_and_are_derivatives(
            z in scores(),
            clamp in prop_oneof![Just(1.0), 0.1..1.0f64],
            own in any::<prop::sample::Index>(),
        ) {
            let (model, y) = (model(z.len(), clamp), own.index(z.len()));
            let s = slopes(&model, &z, &[y as f64]);
            let Growth::Bounded { linf, l1, l2 } = model.growth() else { unreachable!() };
            let slack = 1.0 + 1e-13;
            prop_assert!(s.iter().all(|s| s.abs() <= linf * slack));
            prop_assert!(s.iter().map(|s| s.abs()).sum::<f64>() <= l1 * slack);
            prop_assert!(s.iter().map(|s| s * s).sum::<f64>().sqrt() <= l2 * slack);
            prop_assert!(s.iter().sum::<f64>().abs() < 1e-13);
            prop_assert!(s[y] <= 0.0 && (0..z.len()).all(|k| k == y || s[k] >= 0.0));
            if z.iter().all(|z| z.abs() < 50.0) {
                for k in 0..z.len() {
                    let at = |step: f64| {
                        let mut moved = z.clone();
                        moved[k] += step;
                        model.value(&moved, y)
                    };
                    let step = 1e-5;
                    let numeric = (at(step) - at(-step)) / (2.0 * step);
                    prop_assert!((numeric - s[k]).abs() < 1e-5, "{k}: {numeric} {}", s[k]);
                }
            }
        }

        /// Convex, and smooth: <slopes(z + d) - slopes(z), d> lies between 0 and (1/2)(|d|^2 - (sum d)^2/K), with a
        /// clamp and without.
        #[test]
        fn slopes_rise_no_faster_than_the_bound(
            z in prop::collection::vec(-4.0..4.0f64, 4),
            d in prop::collection::vec(-3.0..3.0f64, 4),
            clamp in prop_oneof![Just(1.0), 0.1..1.0f64],
            y in 0usize..4,
        ) {
            let model = model(4, clamp);
            let there: Vec<f64> = z.iter().zip(&d).map(|(z, d)| z + d).collect();
            let (here, there) = (slopes(&model, &z, &[y as f64]), slopes(&model, &there, &[y as f64]));
            let rise: f64 = (0..4).map(|k| (there[k] - here[k]) * d[k]).sum();
            let most = 0.5 * (d.iter().map(|d| d * d).sum::<f64>() - d.iter().sum::<f64>().powi(2) / 4.0);
            prop_assert!(rise >= -1e-12 && rise <= most + 1e-12, "{rise} {most}");
        }

        /// The same bits wherever a record lies, at every width of vectors.
        #[test]
        fn slopes_do_not_depend_on_the_position(
            records in prop::collection::vec((prop::array::uniform3(-50.0..50.0f64), 0usize..3), 1..300),
            clamp in prop_oneof![Just(1.0), 0.1..1.0f64],
        ) {
            let model = model(3, clamp);
            let m = records.len();
            let z: Vec<f64> = (0..3).flat_map(|k| records.iter().map(move |record| record.0[k])).collect();
            let y: Vec<f64> = records.iter().map(|record| record.1 as f64).collect();
            for out in at_every_width(|| slopes(&model, &z, &y)) {
                for (i, (z, y)) in records.iter().enumerate().step_by(7) {
                    let alone = slopes(&model, z, &[*y as f64]);
                    for k in 0..3 {
                        prop_assert_eq!(alone[k].to_bits(), out[k * m + i].to_bits());
                    }
                }
            }
        }

        /// Two classes are the scalar model: the slope of z_1 - z_0.
        #[test]
        fn two_classes_are_the_scalar_loss(z in -30.0..30.0f64, shift in -5.0..5.0f64, bound in 0.1..0.9f64, y in 0usize..2) {
            let sign = 2.0 * y as f64 - 1.0;
            for (model, scalar) in [
                (model(2, 1.0), Logistic.derivative(z, sign)),
                (model(2, bound), ClippedLogistic::new(bound).unwrap().derivative(z, sign)),
            ] {
                let s = slopes(&model, &[shift, shift + z], &[y as f64]);
                prop_assert!((s[1] - scalar).abs() < 1e-13 && (s[0] + scalar).abs() < 1e-13);
            }
        }
    }

    /// No smaller bounds hold: one other class has all probability.
    #[test]
    fn bounds_are_attained() {
        for clamp in [1.0, 0.4] {
            let model = model(5, clamp);
            let Growth::Bounded { linf, l1, l2 } = model.growth() else {
                unreachable!()
            };
            let s = slopes(&model, &[60.0, 0.0, 0.0, 0.0, 0.0], &[3.0]);
            let norms = [
                (s[3].abs(), linf),
                (s.iter().map(|s| s.abs()).sum(), l1),
                (s.iter().map(|s| s * s).sum::<f64>().sqrt(), l2),
            ];
            for (norm, bound) in norms {
                assert!(norm > bound * (1.0 - 1e-12));
            }
        }
    }

    #[test]
    fn other_losses_and_numbers_of_classes_are_refused() {
        let logistic = Catalogued::from(Logistic);
        assert_eq!(Softmax::of(Some(&logistic), 3), Softmax::new(3));
        let clipped = Catalogued::from(ClippedLogistic::new(0.25).unwrap());
        assert_eq!(Softmax::of(Some(&clipped), 3), Ok(model(3, 0.25)));
        let squared = Catalogued::from(crate::loss::Squared);
        assert!(Softmax::of(Some(&squared), 3).is_err() && Softmax::of(None, 3).is_err());
        assert!(Softmax::new(1).is_err());
    }
}
