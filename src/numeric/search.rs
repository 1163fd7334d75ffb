//! One-dimensional searches that can only lose tightness, never soundness.

/// The boundary of a monotone requirement, from its satisfied side.
///
/// `excess(x)` <= 0 says that x satisfies the requirement. `bad` does not and `good` does (both already
/// known, neither is evaluated again for the answer); the returned point was evaluated and satisfies it, or
/// is `good`, and lies within `relative` of a point that does not. Brent's method on the values of `excess`
/// (Brent 1973, chapter 4), which falls back to bisection and so needs at most the square of its steps.
///
/// ```
/// use dpsparse::numeric::search::boundary;
/// let root = boundary(|x| x * x - 2.0, 3.0, 0.0, 1e-14);
/// assert!(root * root <= 2.0 && (root - 2f64.sqrt()).abs() < 1e-13);
/// ```
pub fn boundary(excess: impl Fn(f64) -> f64, bad: f64, good: f64, relative: f64) -> f64 {
    // b is the best point, c the other end of the bracket, a the previous best.
    let (mut a, mut fa) = (bad, excess(bad));
    let (mut b, mut fb) = (good, excess(good));
    let (mut c, mut fc) = (a, fa);
    let mut satisfied = good;
    let mut step = b - a;
    let mut previous = step;
    for _ in 0..400 {
        if (fb > 0.0) == (fc > 0.0) {
            (c, fc) = (a, fa);
            step = b - a;
            previous = step;
        }
        if fc.abs() < fb.abs() {
            (a, fa) = (b, fb);
            (b, fb) = (c, fc);
            (c, fc) = (a, fa);
        }
        let tolerance = (0.5 * relative * b.abs()).max(f64::MIN_POSITIVE);
        let middle = 0.5 * (c - b);
        if middle.abs() <= tolerance {
            break;
        }
        let usable = fa.is_finite() && fb.is_finite() && fc.is_finite() && fa != fb;
        if usable && previous.abs() >= tolerance {
            let s = fb / fa;
            let (mut p, mut q) = if a == c {
                (2.0 * middle * s, 1.0 - s)
            } else {
                let (q, r) = (fa / fc, fb / fc);
                let p = s * (2.0 * middle * q * (q - r) - (b - a) * (r - 1.0));
                (p, (q - 1.0) * (r - 1.0) * (s - 1.0))
            };
            if p > 0.0 {
                q = -q;
            }
            p = p.abs();
            if 2.0 * p < (3.0 * middle * q - (tolerance * q).abs()).min((previous * q).abs()) {
                previous = step;
                step = p / q;
            } else {
                step = middle;
                previous = middle;
            }
        } else {
            step = middle;
            previous = middle;
        }
        (a, fa) = (b, fb);
        b += if step.abs() > tolerance {
            step
        } else {
            tolerance.copysign(middle)
        };
        fb = excess(b);
        if fb <= 0.0 && ((bad < good) == (b < satisfied)) {
            satisfied = b;
        }
    }
    satisfied
}

/// The boundary of a monotone requirement given as a predicate, from its satisfied side: plain bisection.
///
/// Geometric while both ends are positive and apart by more than a factor of two, arithmetic otherwise, until
/// the ends are within `relative`. A failing predicate ends the search with its error.
///
/// # Errors
/// Those of the predicate.
///
/// ```
/// use dpsparse::numeric::search::bisect;
/// let edge = bisect(|x| Ok::<_, ()>(x >= 3.0), 1e-9, 1e9, 1e-12).unwrap();
/// assert!(edge >= 3.0 && edge < 3.0 + 1e-11);
/// ```
pub fn bisect<E>(
    satisfies: impl Fn(f64) -> Result<bool, E>,
    mut bad: f64,
    mut good: f64,
    relative: f64,
) -> Result<f64, E> {
    for _ in 0..2200 {
        if (good - bad).abs() <= relative * good.abs() {
            break;
        }
        let geometric = bad > 0.0 && good > 0.0 && (good > 2.0 * bad || bad > 2.0 * good);
        let middle = if geometric {
            bad.sqrt() * good.sqrt()
        } else {
            bad + 0.5 * (good - bad)
        };
        if middle == bad || middle == good || !middle.is_finite() {
            break;
        }
        if satisfies(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

/// The smallest value of f met on an even grid of [low, high] refined by golden section around its best
/// point.
///
/// Every value met is a valid bound, so a function with several dips costs tightness only. NaN counts as
/// infinite. `refine` golden steps shrink two grid steps by 0.618 each.
///
/// ```
/// use dpsparse::numeric::search::minimum;
/// assert!((minimum(|x| (x - 1.3) * (x - 1.3) + 2.0, -10.0, 10.0, 21, 25) - 2.0).abs() < 1e-10);
/// ```
pub fn minimum(f: impl Fn(f64) -> f64, low: f64, high: f64, points: u32, refine: u32) -> f64 {
    let value = |x: f64| {
        let y = f(x);
        if y.is_nan() { f64::INFINITY } else { y }
    };
    let step = (high - low) / f64::from(points.max(2) - 1);
    let (mut best, mut centre) = (f64::INFINITY, low);
    for i in 0..points.max(2) {
        let x = low + step * f64::from(i);
        let y = value(x);
        if y < best {
            (best, centre) = (y, x);
        }
    }
    if best == f64::INFINITY {
        return best;
    }
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let (mut left, mut right) = ((centre - step).max(low), (centre + step).min(high));
    let mut x1 = right - GOLDEN * (right - left);
    let mut x2 = left + GOLDEN * (right - left);
    let (mut y1, mut y2) = (value(x1), value(x2));
    for _ in 0..refine {
        best = best.min(y1).min(y2);
        if y1 <= y2 {
            (right, x2, y2) = (x2, x1, y1);
            x1 = right - GOLDEN * (right - left);
            y1 = value(x1);
        } else {
            (left, x1, y1) = (x1, x2, y2);
            x2 = left + GOLDEN * (right - left);
            y2 = value(x2);
        }
    }
    best.min(y1).min(y2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundary_stays_on_the_satisfied_side_both_ways() {
        for target in [1e-9, 0.3, 1.0, 7.7, 1e6] {
            let rising = boundary(|x: f64| x.powi(3) - target, 1e3, 0.0, 1e-14);
            assert!(rising.powi(3) <= target && rising >= target.cbrt() * (1.0 - 1e-12));
            let falling = boundary(|x: f64| target - x.powi(3), 0.0, 1e3, 1e-14);
            assert!(falling.powi(3) >= target && falling <= target.cbrt() * (1.0 + 1e-12));
        }
        let steps = boundary(
            |x: f64| if x < 0.7 { 1.0 } else { f64::NEG_INFINITY },
            0.0,
            5.0,
            1e-13,
        );
        assert!((0.7..0.7 + 1e-12).contains(&steps));
    }

    #[test]
    fn minimum_survives_infinities() {
        let y = minimum(
            |x: f64| if x < 2.0 { f64::INFINITY } else { x },
            0.0,
            10.0,
            11,
            30,
        );
        assert!((2.0..2.0 + 1e-5).contains(&y));
        assert_eq!(minimum(|_| f64::NAN, 0.0, 1.0, 5, 5), f64::INFINITY);
    }
}
