//! Directed rounding: every privacy bound is rounded against ourselves
//! ([`crate::theory_of_privacy::noise_and_accounting`]).
//!
//! The exact operations find the sign of the rounding error by an error-free transformation (Knuth's TwoSum,
//! and the fused multiply-add for products, quotients and roots; Muller et al., Handbook of Floating-Point
//! Arithmetic, chapter 4) and step to the next float only where the rounded result lies on the wrong side, so
//! 1 * x stays x. Below 1e-280 a residual may itself underflow; there they step unconditionally.

/// Below this magnitude the residual of a product may underflow, so results are stepped unconditionally.
const TINY: f64 = 1e-280;

/// Moves a non-negative `x` up by the relative slack `relative` >= 0, and by one float more.
///
/// The last step covers the rounding of the slack itself; zero becomes the smallest positive float.
///
/// ```
/// use dpsparse::numeric::directed::up;
/// assert!(up(1.0, 0.0) > 1.0 && up(1.0, 1e-9) < 1.0 + 1.1e-9);
/// ```
pub fn up(x: f64, relative: f64) -> f64 {
    debug_assert!((x >= 0.0 || x.is_nan()) && relative >= 0.0);
    if x == f64::INFINITY {
        return x;
    }
    (x + x * relative).next_up()
}

/// Moves a non-negative `x` down by the relative slack `relative` >= 0, and by one float more, not below
/// zero.
///
/// ```
/// use dpsparse::numeric::directed::down;
/// assert!(down(1.0, 0.0) < 1.0);
/// assert_eq!(down(0.0, 0.0), 0.0);
/// ```
pub fn down(x: f64, relative: f64) -> f64 {
    debug_assert!((x >= 0.0 || x.is_nan()) && relative >= 0.0);
    if x == f64::INFINITY {
        return x;
    }
    (x - x * relative).next_down().max(0.0)
}

/// a + b rounded up: x >= a + b in the reals, exact where the sum is a float.
///
/// ```
/// use dpsparse::numeric::directed::add_up;
/// assert_eq!(add_up(1.0, 2.0), 3.0);
/// assert!(add_up(1.0, 1e-300) > 1.0);
/// ```
pub fn add_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    // TwoSum: error = (a + b) - sum exactly, barring overflow.
    let shadow = sum - a;
    let error = (a - (sum - shadow)) + (b - shadow);
    if error > 0.0 { sum.next_up() } else { sum }
}

/// a - b rounded down: x <= a - b in the reals, exact where the difference is a float.
///
/// ```
/// use dpsparse::numeric::directed::sub_down;
/// assert_eq!(sub_down(3.0, 1.0), 2.0);
/// assert!(sub_down(1.0, 1e-300) < 1.0);
/// ```
pub fn sub_down(a: f64, b: f64) -> f64 {
    -add_up(-a, b)
}

/// a * b rounded up, for a, b >= 0; exact where the product is a float.
///
/// ```
/// use dpsparse::numeric::directed::mul_up;
/// assert_eq!(mul_up(3.0, 0.5), 1.5);
/// assert_eq!(mul_up(0.0, 5.0), 0.0);
/// assert!(mul_up(1e-300, 1e-300) > 0.0);
/// ```
pub fn mul_up(a: f64, b: f64) -> f64 {
    let product = a * b;
    if a == 0.0 || b == 0.0 || !product.is_finite() {
        return product;
    }
    if product < TINY || a.mul_add(b, -product) > 0.0 {
        product.next_up()
    } else {
        product
    }
}

/// a / b rounded up, for a >= 0 and b > 0; exact where the quotient is a float.
///
/// ```
/// use dpsparse::numeric::directed::div_up;
/// assert_eq!(div_up(1.0, 4.0), 0.25);
/// assert!(div_up(1.0, 3.0) * 3.0 >= 1.0);
/// ```
pub fn div_up(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    if a == 0.0 || !quotient.is_finite() {
        return quotient;
    }
    // quotient >= a / b exactly when quotient * b - a >= 0; that residual is one fused operation.
    if quotient < TINY || a < TINY || quotient.mul_add(b, -a) < 0.0 {
        quotient.next_up()
    } else {
        quotient
    }
}

/// The square root of x >= 0 rounded up; exact where it is a float.
///
/// ```
/// use dpsparse::numeric::directed::sqrt_up;
/// assert_eq!(sqrt_up(0.25), 0.5);
/// assert!(sqrt_up(2.0).powi(2) >= 2.0);
/// ```
pub fn sqrt_up(x: f64) -> f64 {
    let root = x.sqrt();
    if x == 0.0 || !root.is_finite() {
        return root;
    }
    if x < TINY || root.mul_add(root, -x) < 0.0 {
        root.next_up()
    } else {
        root
    }
}

/// A count as a float, rounded up beyond 2^53.
///
/// ```
/// use dpsparse::numeric::directed::count_up;
/// assert_eq!(count_up(7), 7.0);
/// assert!(count_up((1 << 53) + 1) > (1u64 << 53) as f64);
/// ```
pub fn count_up(count: u64) -> f64 {
    let rounded = count as f64;
    if (rounded as u128) < u128::from(count) {
        rounded.next_up()
    } else {
        rounded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    /// x = mantissa * 2^exponent exactly.
    fn exact(x: f64) -> (BigInt, i32) {
        let bits = x.abs().to_bits();
        let (raw, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
        let (mantissa, exponent) = if raw == 0 {
            (fraction, -1074)
        } else {
            (fraction | (1 << 52), raw - 1075)
        };
        let sign = if x < 0.0 { -1 } else { 1 };
        (BigInt::from(mantissa) * sign, exponent)
    }

    /// Whether x >= y, both as mantissa * 2^exponent.
    fn at_least((x, ex): (BigInt, i32), (y, ey): (BigInt, i32)) -> bool {
        let low = ex.min(ey);
        (x << (ex - low) as usize) >= (y << (ey - low) as usize)
    }

    fn product((x, ex): (BigInt, i32), (y, ey): (BigInt, i32)) -> (BigInt, i32) {
        (x * y, ex + ey)
    }

    fn positive() -> impl Strategy<Value = f64> {
        (-300i32..300, 1.0f64..2.0).prop_map(|(e, m)| m * 2f64.powi(e))
    }

    proptest! {
        #[test]
        fn operations_round_up_by_at_most_one_float(a in positive(), b in positive()) {
            let sum = add_up(a, b);
            let ((x, ex), (y, ey)) = (exact(a), exact(b));
            let low = ex.min(ey);
            let total = ((x << (ex - low) as usize) + (y << (ey - low) as usize), low);
            prop_assert!(at_least(exact(sum), total.clone()));
            prop_assert!(!at_least(exact(sum.next_down()), total));
            let p = mul_up(a, b);
            prop_assert!(at_least(exact(p), product(exact(a), exact(b))));
            prop_assert!(p <= (a * b).next_up());
            let q = div_up(a, b);
            prop_assert!(at_least(product(exact(q), exact(b)), exact(a)));
            prop_assert!(q <= (a / b).next_up());
            let r = sqrt_up(a);
            prop_assert!(at_least(product(exact(r), exact(r)), exact(a)));
            let d = sub_down(a, b);
            prop_assert_eq!(d, -add_up(b, -a));
        }
    }

    #[test]
    fn infinities_pass_through() {
        assert_eq!(add_up(f64::INFINITY, 1.0), f64::INFINITY);
        assert_eq!(mul_up(1e200, 1e200), f64::INFINITY);
        assert_eq!(div_up(1e200, 1e-200), f64::INFINITY);
        assert_eq!(up(f64::INFINITY, 0.0), f64::INFINITY);
        assert_eq!(mul_up(0.0, 0.0), 0.0);
        assert_eq!(count_up(u64::MAX), 2f64.powi(64));
    }
}
