//! The edge of a monotone requirement that is dear to ask, found by a guide that is smooth.

use crate::numeric::search::bisect;

/// Steps of the guide; each at least halves the bracket every second time.
const STEPS: usize = 100;
/// First step from the guess, on the logarithmic scale, where the guide does not tell how far it is.
const STEP: f64 = 0.02;
/// The longest first step where it does.
const LONGEST: f64 = 1.0;
/// The relative width to which a guide is followed as a rule: where the rounding of privacy curves begins to count.
pub(super) const NEAR: f64 = 1e-11;

/// A point that satisfies, within about `near` of one that does not, relatively. It was asked, or is `good`, whatever
/// the guide says.
///
/// The guide finds about where the edge is, from `guess` on; `satisfies` is asked on both sides of it, and plain
/// bisection goes on where the two answers are farther apart. `guide(x)` is about negative where x satisfies, and about
/// linear in ln x. Values that are not finite are bisected.
///
/// # Errors
/// Those of `satisfies` and `guide`.
pub(super) fn edge<E>(
    satisfies: impl Fn(f64) -> Result<bool, E>,
    guide: impl Fn(f64) -> Result<f64, E>,
    guess: f64,
    (bad, good): (f64, f64),
    near: f64,
) -> Result<f64, E> {
    if !(bad > 0.0 && good > 0.0) {
        return bisect(satisfies, bad, good, near);
    }
    let root = crossing(&guide, guess, (bad, good), near)?;
    let towards_good = if good > bad { 1.0 } else { -1.0 };
    // A point at the root, or a growing distance from it, that satisfies or does not; the ends are known.
    let beside = |satisfied: bool| -> Result<f64, E> {
        let (start, side, end) = if satisfied {
            (root.1, towards_good, good)
        } else {
            (root.0, -towards_good, bad)
        };
        let mut width = 0.0;
        while width < 1.0 {
            let x = start * (1.0 + side * width);
            if (x - end) * side >= 0.0 {
                break;
            }
            if satisfies(x)? == satisfied {
                return Ok(x);
            }
            width = (8.0 * width).max(0.1 * near);
        }
        Ok(end)
    };
    let (known_good, known_bad) = (beside(true)?, beside(false)?);
    bisect(satisfies, known_bad, known_good, 3.0 * near)
}

/// Two points within about `near` between which the guide changes its sign, a bad one first; the ends where it does
/// not.
pub(super) fn crossing<E>(
    guide: impl Fn(f64) -> Result<f64, E>,
    guess: f64,
    ends: (f64, f64),
    near: f64,
) -> Result<(f64, f64), E> {
    let (a, b) = enclosed(&guide, guess, ends, near)?;
    root(&guide, a, b, near)
}

/// Logarithm of a point, and the guide there.
type Point = (f64, f64);

/// Two points between which the guide changes its sign, a bad one first: from the guess in growing steps, or the ends.
fn enclosed<E>(
    guide: impl Fn(f64) -> Result<f64, E>,
    guess: f64,
    (bad, good): (f64, f64),
    near: f64,
) -> Result<(Point, Point), E> {
    let (least, most) = (bad.min(good), bad.max(good));
    let at = |t: f64| Ok((t, guide(t.exp().clamp(least, most))?));
    let (bad, good) = (bad.ln(), good.ln());
    let (low, high) = (bad.min(good), bad.max(good));
    let mut known = at(guess.ln().max(low).min(high))?;
    // Guides grow once to twice as fast as ln x: a step of what the guide says reaches beyond the edge, but not far.
    let far = Some(known.1.abs()).filter(|far| far.is_finite());
    let mut step = far.map_or(STEP, |far| far.min(LONGEST)).max(near);
    let satisfied = known.1 <= 0.0;
    let end = if satisfied { bad } else { good };
    loop {
        let next = (known.0 + step.copysign(end - known.0)).max(low).min(high);
        let next = at(next)?;
        let changed = (next.1 <= 0.0) != satisfied;
        if changed || next.0 == end {
            return Ok(if satisfied {
                (next, known)
            } else {
                (known, next)
            });
        }
        known = next;
        step *= 4.0;
    }
}

/// Two points, no more than about `near` apart, between which the guide changes its sign, by false position on the
/// logarithmic scale.
fn root<E>(
    guide: impl Fn(f64) -> Result<f64, E>,
    (mut a, mut at_a): Point,
    (mut b, mut at_b): Point,
    near: f64,
) -> Result<(f64, f64), E> {
    let mut last = None;
    for _ in 0..STEPS {
        if (b - a).abs() <= near {
            break;
        }
        let middle = if at_a.is_finite() && at_b.is_finite() {
            let secant = b - at_b * (b - a) / (at_b - at_a);
            // Not nearer to an end than half of what is asked for, so that a root beside an end is bracketed at once.
            secant.max(a.min(b) + 0.5 * near).min(a.max(b) - 0.5 * near)
        } else {
            0.5 * (a + b)
        };
        let value = guide(middle.exp())?;
        let satisfied = value <= 0.0;
        if satisfied {
            if last == Some(true) {
                at_a *= kept(value / at_b);
            }
            (b, at_b) = (middle, value);
        } else {
            if last == Some(false) {
                at_b *= kept(value / at_a);
            }
            (a, at_a) = (middle, value);
        }
        last = Some(satisfied);
    }
    Ok((a.exp(), b.exp()))
}

/// What an end keeps of its value when the other end has moved twice, by this share of its own value the second time:
/// as if a parabola went through the three (Anderson & Bjorck 1973), or half (the Illinois rule).
fn kept(share: f64) -> f64 {
    if share < 1.0 { 1.0 - share } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::convert::Infallible;

    proptest! {
        #[test]
        fn the_edge_is_found_from_its_satisfied_side_in_few_evaluations(
            log_edge in -20.0f64..20.0,
            skew in 1e-14f64..1e-12,
            log_near in -25.0f64..-9.0,
            log_guess in prop_oneof![Just(f64::NEG_INFINITY), Just(f64::INFINITY), -30.0f64..30.0],
            power in prop_oneof![Just(-2.0), Just(-0.5), Just(0.5), Just(1.0), Just(2.0)],
        ) {
            let (border, near) = (log_edge.exp(), log_near.exp());
            let asked = Cell::new(0);
            let satisfies = |x: f64| {
                asked.set(asked.get() + 1);
                Ok::<_, Infallible>((x <= border) == (power > 0.0))
            };
            // Neither exact nor straight, and without a value far from the edge.
            let guide = |x: f64| {
                asked.set(asked.get() + 1);
                let t = power * (x / border).ln() + skew;
                Ok::<_, Infallible>(if t > 9.0 { f64::INFINITY } else { t + 0.03 * t * t.abs() })
            };
            let ends = if power > 0.0 { (1e12, 1e-12) } else { (1e-12, 1e12) };
            let Ok(found) = edge(satisfies, guide, log_guess.exp(), ends, near);
            prop_assert!((found <= border) == (power > 0.0));
            prop_assert!((found / border - 1.0).abs() <= 4.0 * near, "{} {}", found, border);
            prop_assert!(asked.get() <= 24, "{}", asked.get());
        }

        #[test]
        fn a_guide_that_is_wrong_costs_time_alone(log_edge in -20.0f64..20.0, shift in -30.0f64..30.0) {
            let border = log_edge.exp();
            let satisfies = |x: f64| Ok::<_, Infallible>(x >= border);
            let guide = |x: f64| Ok(-(x / border).ln() + shift);
            let Ok(found) = edge(satisfies, guide, 1.0, (1e-12, 1e12), NEAR);
            prop_assert!(found >= border && found <= border * (1.0 + 4.0 * NEAR));
        }
    }
}
