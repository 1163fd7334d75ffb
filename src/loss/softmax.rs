use super::exponential::{exp, quick_exp};
use super::{BLOCK, Balanced, Block, Catalogued, Growth, Model};
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
/// **With a clamp** c < 1 slopes longer than sqrt(2) c are shortened to it, s min(1, sqrt(2) c/|s|_2). Noise is
/// proportional to that length, and all records have about sqrt(1 - 1/K) at first; those that the clamp changes are on
/// the wrong side. Slopes still add up to 0 and have the sign of y, so the largest of them is -s_y, and the others, K -
/// 1 of the same sum, have at least s_y^2/(K - 1) together: |s|_inf <= |s|_2 sqrt(1 - 1/K) and |s|_1 = 2 |s_y|. For K =
/// 2 this is [`ClippedLogistic`](super::ClippedLogistic). For more classes such slopes are no gradient of a convex
/// function; nothing that privacy rests on needs one where a softmax model is taken.
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
                    "must be \"logistic\" for three or more classes, which are one softmax model. Only binary \
                     classification is supported by other losses",
                ));
            }
        };
        Ok(Self {
            clamp,
            ..Self::new(classes)?
        })
    }

    /// l(z; y) without a clamp, one entry of z a class; infinite for a class that is none.
    pub fn value(&self, z: &[f64], y: usize) -> f64 {
        let largest = z.iter().fold(f64::NEG_INFINITY, |m, &z| m.max(z));
        let sum: f64 = z.iter().map(|z| (z - largest).exp()).sum();
        (z.get(y)).map_or(f64::INFINITY, |own| largest + sum.ln() - own)
    }

    /// The largest Euclidean norm of slopes.
    fn longest(&self) -> f64 {
        2f64.sqrt() * self.clamp
    }

    /// What scores become slopes of other classes by: in their place exp(z - the largest), of every class, and what
    /// that is multiplied by. In the order of the classes, for every record: its slopes depend on nothing else.
    ///
    /// Without a clamp the length is not looked at: it is at most sqrt(2), and beyond that by rounding alone.
    #[inline(always)]
    fn weights(&self, z: &mut [Block], y: &[f64; BLOCK], exp: impl Fn(f64) -> f64) -> Block {
        let (mut largest, mut sum) = (z[0], Block::ZEROS);
        for Block(z) in &z[1..] {
            for (largest, &z) in largest.0.iter_mut().zip(z) {
                *largest = larger(z, *largest);
            }
        }
        for Block(z) in z.iter_mut() {
            let sums = sum.0.iter_mut().zip(&largest.0);
            for (z, (sum, largest)) in z.iter_mut().zip(sums) {
                *z = exp(larger(*z - largest, -700.0));
                *sum += *z;
            }
        }
        if self.clamp == 1.0 {
            for sum in &mut sum.0 {
                *sum = 1.0 / *sum;
            }
            return sum;
        }
        let (mut others, mut squares) = (Block::ZEROS, Block::ZEROS);
        for (class, Block(z)) in z.iter().enumerate() {
            for i in 0..BLOCK {
                let other = if y[i] == class as f64 { 0.0 } else { z[i] };
                others.0[i] += other;
                squares.0[i] += other * other;
            }
        }
        let longest = self.longest();
        for i in 0..BLOCK {
            // sum |s| and |s| without the clamp.
            let length = (others.0[i] * others.0[i] + squares.0[i]).sqrt();
            let is_longer = length > longest * sum.0[i];
            let part = if is_longer { longest } else { 1.0 };
            sum.0[i] = part / if is_longer { length } else { sum.0[i] };
        }
        sum
    }
}

/// The larger number, in one instruction.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

impl Balanced for Softmax {
    fn others(&self, z: &mut [Block], y: &[f64; BLOCK]) -> Block {
        let mut factors = Block::ZEROS;
        for_wide_vectors(
            #[inline(always)]
            || factors = self.weights(z, y, quick_exp),
        );
        factors
    }
}

impl Model for Softmax {
    fn outputs(&self) -> usize {
        self.classes
    }

    fn growth(&self) -> Growth {
        let others = 1.0 - 1.0 / self.classes as f64;
        let linf = (self.longest() * others.sqrt()).min(1.0) * (1.0 + 1e-15);
        Growth::Bounded {
            linf,
            l1: 2.0 * linf,
            l2: self.longest() * (1.0 + 1e-15),
        }
    }

    fn smoothness(&self) -> Option<f64> {
        Some(0.5)
    }

    fn slopes(&self, z: &[f64], y: &[f64], out: &mut [f64]) {
        let (m, mut scores) = (y.len(), vec![Block::ZEROS; self.classes]);
        for start in (0..m).step_by(BLOCK) {
            let len = BLOCK.min(m - start);
            let plane = |k: usize| k * m + start..k * m + start + len;
            let mut classes = [0.0; BLOCK];
            classes[..len].copy_from_slice(&y[start..][..len]);
            for (k, Block(scores)) in scores.iter_mut().enumerate() {
                scores[..len].copy_from_slice(&z[plane(k)]);
            }
            for_wide_vectors(
                #[inline(always)]
                || {
                    let factors = self.weights(&mut scores, &classes, exp);
                    let mut own = Block::ZEROS;
                    for (k, Block(weights)) in scores.iter().enumerate() {
                        for i in 0..BLOCK {
                            let is_own = classes[i] == k as f64;
                            own.0[i] += if is_own { 0.0 } else { weights[i] };
                        }
                    }
                    for (k, Block(weights)) in scores.iter().enumerate() {
                        for (i, out) in out[plane(k)].iter_mut().enumerate() {
                            let is_own = classes[i] == k as f64;
                            let size = factors.0[i] * if is_own { own.0[i] } else { weights[i] };
                            *out = if is_own { -size } else { size };
                        }
                    }
                },
            );
        }
    }

    fn balanced(&self) -> Option<&dyn Balanced> {
        Some(self)
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
            if clamp == 1.0 && z.iter().all(|z| z.abs() < 50.0) {
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

        /// Convex, and smooth: <slopes(z + d) - slopes(z), d> lies between 0 and (1/2)(|d|^2 - (sum d)^2/K).
        #[test]
        fn slopes_rise_no_faster_than_the_bound(
            z in prop::collection::vec(-4.0..4.0f64, 4),
            d in prop::collection::vec(-3.0..3.0f64, 4),
            y in 0usize..4,
        ) {
            let model = model(4, 1.0);
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

    /// No smaller bounds hold.
    #[test]
    fn bounds_are_attained() {
        for clamp in [1.0, 0.4] {
            let model = model(5, clamp);
            let Growth::Bounded { linf, l1, l2 } = model.growth() else {
                unreachable!()
            };
            // One other class has it all, or all others have as much.
            let one = slopes(&model, &[60.0, 0.0, 0.0, 0.0, 0.0], &[3.0]);
            let all = slopes(&model, &[60.0, 60.0, 60.0, 0.0, 60.0], &[3.0]);
            let largest = |s: &[f64]| s[3].abs();
            let sum = |s: &[f64]| s.iter().map(|s| s.abs()).sum::<f64>();
            let length = one.iter().map(|s| s * s).sum::<f64>().sqrt();
            let norms = [
                (largest(&one).max(largest(&all)), linf),
                (sum(&one).max(sum(&all)), l1),
                (length, l2),
            ];
            for (norm, bound) in norms {
                assert!(norm > bound * (1.0 - 1e-12), "{norm} {bound}");
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
