//! Bisection with a guide: the answer of plain bisection in a fifth of its evaluations.

use crate::numeric::search::bisect;

/// Steps of the guide; each at least halves the bracket every second time.
const STEPS: usize = 100;
/// Relative width at which the guide stops, and by which the first two checks stand beside its root.
const NEAR: f64 = 5e-13;

/// `bisect(satisfies, bad, good, relative)`, to the last bit where `satisfies` is monotone: a guide finds about where the
/// answer is, `satisfies` is asked on both sides of it, and bisection is then answered without evaluation outside of
/// them. The answer was evaluated, or is `good`, whatever the guide says.
///
/// `guide(x)` is about negative where x satisfies, and about linear in ln x. Values that are not finite are bisected.
///
/// # Errors
/// Those of `satisfies` and `guide`.
pub(super) fn bisect_guided<E>(
    satisfies: impl Fn(f64) -> Result<bool, E>,
    guide: impl Fn(f64) -> Result<f64, E>,
    bad: f64,
    good: f64,
    relative: f64,
) -> Result<f64, E> {
    if !(bad > 0.0 && good > 0.0) {
        return bisect(satisfies, bad, good, relative);
    }
    let root = root(&guide, bad, good)?;
    let towards_good = if good > bad { 1.0 } else { -1.0 };
    // A point at the distance `width` from the root that satisfies, or does not; the ends are known.
    let beside = |satisfied: bool| -> Result<f64, E> {
        let (side, end) = if satisfied {
            (towards_good, good)
        } else {
            (-towards_good, bad)
        };
        let mut width = NEAR;
        while width < 1.0 {
            let x = root * (1.0 + side * width);
            if (x - end) * side >= 0.0 {
                break;
            }
            if satisfies(x)? == satisfied {
                return Ok(x);
            }
            width *= 8.0;
        }
        Ok(end)
    };
    let (known_good, known_bad) = (beside(true)?, beside(false)?);
    let answered = |x: f64| {
        if (x - known_good) * towards_good >= 0.0 {
            Ok(true)
        } else if (x - known_bad) * towards_good <= 0.0 {
            Ok(false)
        } else {
            satisfies(x)
        }
    };
    let answer = bisect(answered, bad, good, relative)?;
    // A point that was inferred and never asked, or said to satisfy by a predicate that is not monotone.
    if answer == good || answer == known_good || satisfies(answer)? {
        Ok(answer)
    } else {
        Ok(known_good)
    }
}

/// About where the guide changes its sign, by false position on the logarithmic scale (the Illinois rule).
fn root<E>(guide: impl Fn(f64) -> Result<f64, E>, bad: f64, good: f64) -> Result<f64, E> {
    let (mut a, mut b) = (bad.ln(), good.ln());
    let (mut at_a, mut at_b) = (guide(bad)?, guide(good)?);
    let mut last = None;
    for _ in 0..STEPS {
        if (b - a).abs() <= NEAR {
            break;
        }
        let middle = if at_a.is_finite() && at_b.is_finite() {
            let secant = b - at_b * (b - a) / (at_b - at_a);
            // Not nearer to an end than half of what is asked for, so that a root beside an end is bracketed at once.
            secant.max(a.min(b) + 0.5 * NEAR).min(a.max(b) - 0.5 * NEAR)
        } else {
            0.5 * (a + b)
        };
        let value = guide(middle.exp())?;
        let satisfied = value <= 0.0;
        if satisfied {
            (b, at_b) = (middle, value);
            if last == Some(true) {
                at_a *= 0.5;
            }
        } else {
            (a, at_a) = (middle, value);
            if last == Some(false) {
                at_b *= 0.5;
            }
        }
        last = Some(satisfied);
    }
    Ok(b.exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::convert::Infallible;

    proptest! {
        #[test]
        fn the_answer_is_that_of_bisection_in_few_evaluations(
            log_edge in -20.0f64..20.0,
            skew in 1e-14f64..1e-12,
            power in prop_oneof![Just(-2.0), Just(-0.5), Just(0.5), Just(1.0), Just(2.0)],
        ) {
            let edge = log_edge.exp();
            let asked = Cell::new(0);
            let satisfies = |x: f64| {
                asked.set(asked.get() + 1);
                Ok::<_, Infallible>((x <= edge) == (power > 0.0))
            };
            // Neither exact nor straight, and without a value far from the edge.
            let guide = |x: f64| {
                asked.set(asked.get() + 1);
                let t = power * (x / edge).ln() + skew;
                Ok::<_, Infallible>(if t > 9.0 { f64::INFINITY } else { t + 0.03 * t * t.abs() })
            };
            let ends = if power > 0.0 { (1e12, 1e-12) } else { (1e-12, 1e12) };
            let Ok(plain) = bisect(satisfies, ends.0, ends.1, 1e-13);
            let steps = asked.replace(0);
            let Ok(guided) = bisect_guided(satisfies, guide, ends.0, ends.1, 1e-13);
            prop_assert_eq!(plain.to_bits(), guided.to_bits());
            prop_assert!(asked.get() <= 30, "{} instead of {}", asked.get(), steps);
        }

        #[test]
        fn a_guide_that_is_wrong_costs_time_alone(log_edge in -20.0f64..20.0, shift in -30.0f64..30.0) {
            let edge = log_edge.exp();
            let satisfies = |x: f64| Ok::<_, Infallible>(x >= edge);
            let guide = |x: f64| Ok(-(x / edge).ln() + shift);
            let Ok(plain) = bisect(satisfies, 1e-12, 1e12, 1e-13);
            let Ok(guided) = bisect_guided(satisfies, guide, 1e-12, 1e12, 1e-13);
            prop_assert_eq!(plain.to_bits(), guided.to_bits());
        }
    }
}
