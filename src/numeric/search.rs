//! One-dimensional searches: of reals they can only lose tightness, never soundness; of integers they are exact.

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

/// The first index of a range that satisfies a predicate, or its end; the predicate holds beyond an index where it
/// holds.
///
/// ```
/// use dpsparse::numeric::search::first_index;
/// assert_eq!(first_index(0..100, |k| k * k >= 50), 8);
/// assert_eq!(first_index(3..5, |k| k > 9), 5);
/// ```
pub fn first_index(range: std::ops::Range<usize>, satisfies: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (range.start, range.end);
    while from < to {
        let middle = from.midpoint(to);
        match satisfies(middle) {
            true => to = middle,
            false => from = middle + 1,
        }
    }
    from
}

/// The least value met on the way to the minimum in [low, high] of a function that falls, then rises.
///
/// Every value met is a valid bound, so a function with several dips costs tightness only. From `guess` the search
/// walks downhill in growing steps until the minimum is enclosed; then parabolas through the best three points, or
/// golden sections, close in on it to `width` (Brent 1973, chapter 5), which errs by about f'' width^2/2. NaN counts as
/// infinite; where the guess does, the walk starts at the best point of an even grid.
///
/// ```
/// use dpsparse::numeric::search::minimum;
/// let least = minimum(|x| (x - 1.3) * (x - 1.3) + 2.0, 5.0, (-10.0, 10.0), 1e-6);
/// assert!((least - 2.0).abs() < 1e-12);
/// ```
pub fn minimum(f: impl Fn(f64) -> f64, guess: f64, (low, high): (f64, f64), width: f64) -> f64 {
    let at = |x: f64| {
        let y = f(x);
        (x, if y.is_nan() { f64::INFINITY } else { y })
    };
    let mut start = at(guess.clamp(low, high));
    if start.1 == f64::INFINITY {
        let grid = (0..=GRID).map(|i| at(low + (high - low) * f64::from(i) / f64::from(GRID)));
        start = grid.fold(
            start,
            |best, point| if point.1 < best.1 { point } else { best },
        );
    }
    if start.1 == f64::INFINITY {
        return start.1;
    }
    let (left, best, right) = enclosed(at, start, (low, high));
    closed_in(at, left, best, right, width)
}

/// Intervals of the grid of a search whose guess is of no use.
const GRID: u32 = 22;
/// First step downhill.
const STEP: f64 = 0.25;
/// Most evaluations on either way: so many steps leave every interval, and golden sections shrink by 3e12.
const MOST: u32 = 60;

/// A point and its value.
type Point = (f64, f64);

/// A point between two whose values are no less; at an end of the interval it is its own neighbour.
///
/// Never inlined: the code generator of rustc 1.95 (LLVM 22) crashes on some copies of [`minimum`] that hold it.
#[inline(never)]
fn enclosed(
    at: impl Fn(f64) -> Point,
    start: Point,
    (low, high): (f64, f64),
) -> (Point, Point, Point) {
    let mut best = start;
    let (mut left, mut right) = (at((best.0 - STEP).max(low)), at((best.0 + STEP).min(high)));
    let mut step = STEP;
    for _ in 0..MOST {
        step *= 2.0;
        if left.1 < best.1 {
            (left, best, right) = (at((left.0 - step).max(low)), left, best);
        } else if right.1 < best.1 {
            (left, best, right) = (best, right, at((right.0 + step).min(high)));
        } else {
            break;
        }
    }
    (left, best, right)
}

/// The least value met between two points around the best one.
fn closed_in(at: impl Fn(f64) -> Point, left: Point, best: Point, right: Point, width: f64) -> f64 {
    /// The smaller part of a golden section.
    const GOLDEN: f64 = 0.381_966_011_250_105_2;
    let (mut a, mut b) = (left.0, right.0);
    let (mut second, mut third) = if left.1 <= right.1 {
        (left, right)
    } else {
        (right, left)
    };
    let mut best = best;
    let (mut step, mut previous) = (b - a, b - a);
    for _ in 0..MOST {
        let (x, fx) = best;
        let middle = 0.5 * (a + b);
        if (x - middle).abs() <= 2.0 * width - 0.5 * (b - a) {
            break;
        }
        let r = (x - second.0) * (fx - third.1);
        let q = (x - third.0) * (fx - second.1);
        let p = (x - third.0) * q - (x - second.0) * r;
        let q = 2.0 * (q - r);
        let (p, q) = if q > 0.0 { (-p, q) } else { (p, -q) };
        let usable = p.abs() < (0.5 * q * previous).abs() && p > q * (a - x) && p < q * (b - x);
        if usable {
            (step, previous) = (p / q, step);
            let near_an_end = x + step - a < 2.0 * width || b - x - step < 2.0 * width;
            if near_an_end {
                step = width.copysign(middle - x);
            }
        } else {
            previous = if x >= middle { a - x } else { b - x };
            step = GOLDEN * previous;
        }
        let next = at(x + if step.abs() >= width {
            step
        } else {
            width.copysign(step)
        });
        if next.1 <= fx {
            if next.0 >= x {
                a = x;
            } else {
                b = x;
            }
            (best, second, third) = (next, best, second);
        } else {
            if next.0 < x {
                a = next.0;
            } else {
                b = next.0;
            }
            if next.1 <= second.1 || second.0 == x {
                (second, third) = (next, second);
            } else if next.1 <= third.1 || third.0 == x || third.0 == second.0 {
                third = next;
            }
        }
    }
    best.1
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
    fn minimum_is_found_from_any_guess_in_few_evaluations() {
        let asked = std::cell::Cell::new(0);
        for centre in [-13.7, -2.0, 0.0, 0.1, 9.9, 29.0] {
            for guess in [-14.0, -3.0, 0.0, 0.2, 30.0] {
                asked.set(0);
                let f = |x: f64| {
                    asked.set(asked.get() + 1);
                    let t: f64 = x - centre;
                    t.exp() + (-2.0 * t).exp()
                };
                let least = minimum(f, guess, (-14.0, 30.0), 1e-6);
                let truth = 2f64.powf(1.0 / 3.0) + 2f64.powf(-2.0 / 3.0);
                assert!(
                    (least / truth - 1.0).abs() < 1e-11,
                    "{centre} {guess} {least}"
                );
                assert!(asked.get() < 50, "{centre} {guess}: {}", asked.get());
            }
        }
        // At either end of the interval.
        assert!((minimum(|x| x, 3.0, (0.0, 10.0), 1e-6)).abs() <= 1e-5);
        assert_eq!(minimum(|x| x, 0.0, (0.0, 10.0), 1e-6), 0.0);
        assert!((minimum(|x: f64| -x, 3.0, (0.0, 10.0), 1e-6) + 10.0).abs() <= 1e-5);
    }

    #[test]
    fn minimum_survives_infinities() {
        let above_two = |x: f64| if x < 2.0 { f64::INFINITY } else { x };
        for guess in [0.0, 1.9, 2.5, 10.0] {
            let least = minimum(above_two, guess, (0.0, 10.0), 1e-6);
            assert!((2.0..2.0 + 1e-5).contains(&least), "{guess} {least}");
        }
        assert_eq!(minimum(|_| f64::NAN, 3.0, (0.0, 10.0), 1e-6), f64::INFINITY);
    }
}
