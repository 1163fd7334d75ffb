//! Noisy Newton steps of classes.

/// Most steps of classes, of stride 1. One bound on the curvature of the loss serves all steps, and where classes are sure it overstates
/// the true one tenfold and more, so that slopes are still on their way after 40: the training log loss of 84 tables is off scikit-learn's
/// by more than .01 on 11 after 40 steps at epsilon 1000, and on 3 after as many as these constants give. More steps cost time and no
/// privacy.
pub const MOST_CLASS_STEPS: f64 = 1000.0;

/// How many times as many steps of classes as let moments' noise allow the shrinkage that gradients' noise asks for: with 1, 3 and
/// 10 log losses of held-out records on 84 tables exceed scikit-learn's by .0413, .0395 and .0373 at epsilon 1, .0142, .0127
/// and .0120 at 4 (40 steps: .0421 and .0141).
pub const CLASS_STEPS: f64 = 10.0;

/// Steps of classes that are taken in strides of 1, and the longest stride of further ones, with as much more momentum: held-out log
/// losses of 43 tables are those of as many steps of stride 1 within .0002 on average at epsilon 1, 4 and 1000, in a tenth to a fifth of the
/// time.
pub const FEW_CLASS_STEPS: f64 = 80.0;

/// See [`FEW_CLASS_STEPS`].
pub const CLASS_STRIDE: f64 = 10.0;

/// Slope of the scores of a softmax fit that was clamped at the length that slopes have at first, without noise: one less
/// this over K. For two classes a fourth less, as on the open sets (.7 to .8); on anes_party and happiness (three) log losses want .8 to .85, on
/// gss_occupation (eleven) .97.
pub const CLASS_SLOPE: f64 = 0.5;

/// Curvature of a clamped softmax fit in units of that at equal probabilities: what shrinks differences by their noise
/// counts on it. On anes_party it is about .6 and on happiness, at epsilon 0.1, 1 would leave half of the noise.
pub const CLASS_CURVATURE: f64 = 0.6;
