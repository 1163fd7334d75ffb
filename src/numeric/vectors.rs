//! Inner products and sums of columns of floats, compiled for wide instructions too.
//!
//! Every sum has a fixed number of interleaved parts, whatever the width of the instructions: all machines get the same
//! bits.

use super::kernel::dispatch;

/// Interleaved parts of an inner product.
const PARTS: usize = 8;

/// <a, b>, up to the end of the shorter.
///
/// ```
/// assert_eq!(dpsparse::numeric::vectors::dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
/// ```
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    #[inline(always)]
    fn body(a: &[f64], b: &[f64]) -> f64 {
        let n = a.len().min(b.len());
        let (a, a_tail) = a[..n].as_chunks::<PARTS>();
        let (b, b_tail) = b[..n].as_chunks::<PARTS>();
        let mut sums = [0.0; PARTS];
        for (a, b) in a.iter().zip(b) {
            for k in 0..PARTS {
                sums[k] += a[k] * b[k];
            }
        }
        let tail: f64 = a_tail.iter().zip(b_tail).map(|(a, b)| a * b).sum();
        sums.iter().sum::<f64>() + tail
    }
    dispatch!([], body, (a: &[f64], b: &[f64]) -> f64)
}

/// sum_i h_i a_i^2, up to the end of the shorter.
///
/// ```
/// assert_eq!(dpsparse::numeric::vectors::weighted_square(&[1.0, 2.0], &[3.0, 4.0]), 19.0);
/// ```
#[inline]
pub fn weighted_square(a: &[f64], h: &[f64]) -> f64 {
    #[inline(always)]
    fn body(a: &[f64], h: &[f64]) -> f64 {
        let n = a.len().min(h.len());
        let (a, a_tail) = a[..n].as_chunks::<PARTS>();
        let (h, h_tail) = h[..n].as_chunks::<PARTS>();
        let mut sums = [0.0; PARTS];
        for (a, h) in a.iter().zip(h) {
            for k in 0..PARTS {
                sums[k] += h[k] * a[k] * a[k];
            }
        }
        let tail: f64 = a_tail.iter().zip(h_tail).map(|(a, h)| h * a * a).sum();
        sums.iter().sum::<f64>() + tail
    }
    dispatch!([], body, (a: &[f64], h: &[f64]) -> f64)
}

/// <a_k, b> for four a, with the bits of [`dot`]: b is read once.
///
/// # Panics
/// Where one of the a is shorter than b.
#[inline]
pub fn dot4(a: [&[f64]; 4], b: &[f64]) -> [f64; 4] {
    #[inline(always)]
    fn body(a: [&[f64]; 4], b: &[f64]) -> [f64; 4] {
        let n = b.len();
        let a = a.map(|a| &a[..n]);
        let whole = n / PARTS * PARTS;
        let mut sums = [[0.0; PARTS]; 4];
        for i in (0..whole).step_by(PARTS) {
            for (sums, a) in sums.iter_mut().zip(a) {
                for k in 0..PARTS {
                    sums[k] += a[i + k] * b[i + k];
                }
            }
        }
        let mut out = sums.map(|sums| sums.iter().sum::<f64>());
        for (out, a) in out.iter_mut().zip(a) {
            *out += (whole..n).map(|i| a[i] * b[i]).sum::<f64>();
        }
        out
    }
    dispatch!([], body, (a: [&[f64]; 4], b: &[f64]) -> [f64; 4])
}

/// out_i += sum_k scales_k a_ki, four columns: out is read and written once.
///
/// # Panics
/// Where a column is shorter than out.
#[inline]
pub fn add4(a: [&[f64]; 4], scales: [f64; 4], out: &mut [f64]) {
    #[inline(always)]
    fn body(a: [&[f64]; 4], scales: [f64; 4], out: &mut [f64]) {
        let [a, b, c, d] = a.map(|a| &a[..out.len()]);
        let [s, t, u, v] = scales;
        for i in 0..out.len() {
            out[i] += s * a[i] + t * b[i] + (u * c[i] + v * d[i]);
        }
    }
    dispatch!([], body, (a: [&[f64]; 4], scales: [f64; 4], out: &mut [f64]) -> ())
}

/// out_i += h_i sum_k scales_k a_ki for four columns.
///
/// # Panics
/// Where a column or h is shorter than out.
#[inline]
pub fn add4_weighted(a: [&[f64]; 4], scales: [f64; 4], h: &[f64], out: &mut [f64]) {
    #[inline(always)]
    fn body(a: [&[f64]; 4], scales: [f64; 4], h: &[f64], out: &mut [f64]) {
        let [a, b, c, d] = a.map(|a| &a[..out.len()]);
        let [s, t, u, v] = scales;
        let h = &h[..out.len()];
        for i in 0..out.len() {
            out[i] += h[i] * (s * a[i] + t * b[i] + (u * c[i] + v * d[i]));
        }
    }
    dispatch!([], body, (a: [&[f64]; 4], scales: [f64; 4], h: &[f64], out: &mut [f64]) -> ())
}

/// out += scale * a, up to the end of the shorter.
#[inline]
pub fn add(a: &[f64], scale: f64, out: &mut [f64]) {
    #[inline(always)]
    fn body(a: &[f64], scale: f64, out: &mut [f64]) {
        for (out, a) in out.iter_mut().zip(a) {
            *out += scale * a;
        }
    }
    dispatch!([], body, (a: &[f64], scale: f64, out: &mut [f64]) -> ())
}

/// The inner products sum_i h_i a_ki a_li of the pairs (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2) of four columns.
///
/// # Panics
/// Where a column is shorter than h.
pub fn pair_products(a: [&[f64]; 4], h: &[f64]) -> [f64; 6] {
    const PARTS: usize = 4;
    #[inline(always)]
    fn body(a: [&[f64]; 4], h: &[f64]) -> [f64; 6] {
        let n = h.len();
        let [a, b, c, d] = a.map(|a| &a[..n]);
        let whole = n / PARTS * PARTS;
        let terms = |i: usize| {
            let (x, y, z) = (h[i] * a[i], h[i] * b[i], h[i] * c[i]);
            [x * b[i], x * c[i], y * c[i], x * d[i], y * d[i], z * d[i]]
        };
        let mut sums = [[0.0; PARTS]; 6];
        for i in (0..whole).step_by(PARTS) {
            for k in 0..PARTS {
                for (sums, term) in sums.iter_mut().zip(terms(i + k)) {
                    sums[k] += term;
                }
            }
        }
        let mut out = sums.map(|sums| sums.iter().sum::<f64>());
        for i in whole..n {
            for (out, term) in out.iter_mut().zip(terms(i)) {
                *out += term;
            }
        }
        out
    }
    dispatch!([], body, (a: [&[f64]; 4], h: &[f64]) -> [f64; 6])
}

#[cfg(test)]
mod tests {
    use super::super::kernel::tests::at_every_width;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plain_loops_agree_and_every_width_has_the_same_bits(
            entries in prop::collection::vec(-3.0..3.0f64, 5..400),
            scales in prop::array::uniform4(-2.0..2.0f64),
        ) {
            let n = entries.len() / 5;
            let rows: Vec<&[f64]> = entries.chunks_exact(n).collect();
            let (a, b) = ([rows[0], rows[1], rows[2], rows[3]], rows[4]);
            let plain = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            let close = |x: f64, y: f64| (x - y).abs() <= 1e-12 * n as f64;
            prop_assert!(close(dot(a[0], b), plain(a[0], b)));
            prop_assert_eq!(dot4(a, b), a.map(|a| dot(a, b)));
            let squares: f64 = a[0].iter().zip(b).map(|(x, h)| h * x * x).sum();
            prop_assert!(close(weighted_square(a[0], b), squares));
            let mut pairs = pair_products(a, b).into_iter();
            for k in 1..4 {
                for l in 0..k {
                    let weighted: Vec<f64> = a[k].iter().zip(b).map(|(x, h)| x * h).collect();
                    prop_assert!(close(pairs.next().unwrap(), plain(&weighted, a[l])));
                }
            }
            let (mut sum, mut weighted, mut single) = (b.to_vec(), b.to_vec(), b.to_vec());
            add4(a, scales, &mut sum);
            add4_weighted(a, scales, b, &mut weighted);
            add(a[0], scales[0], &mut single);
            for i in 0..n {
                let change: f64 = a.iter().zip(scales).map(|(a, s)| s * a[i]).sum();
                prop_assert!(close(sum[i], b[i] + change));
                prop_assert!(close(weighted[i], b[i] + b[i] * change));
                prop_assert!(close(single[i], b[i] + scales[0] * a[0][i]));
            }
            let all = at_every_width(|| {
                let mut out = b.to_vec();
                add4(a, scales, &mut out);
                add4_weighted(a, scales, b, &mut out);
                add(a[1], scales[1], &mut out);
                out.push(dot(a[0], b));
                out.push(weighted_square(a[0], b));
                out.extend(dot4(a, b));
                out.extend(pair_products(a, b));
                out.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            });
            prop_assert!(all.iter().all(|other| *other == all[0]));
        }
    }
}
