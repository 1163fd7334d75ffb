/// argmin sum_k (x_k - z_k)^2 over x_0 >= x_1 >= ...; in place, in O(n). Entries that are pooled come out exactly
/// equal.
///
/// Pool adjacent violators (Best & Chakravarti 1990), on a stack of (sum, number).
pub(crate) fn isotonic_descending(z: &mut [f64], stack: &mut Vec<(f64, usize)>) {
    stack.clear();
    for &z in z.iter() {
        let (mut sum, mut number) = (z, 1);
        while let Some(&(above, count)) = stack.last() {
            if above * number as f64 > sum * count as f64 {
                break;
            }
            sum += above;
            number += count;
            stack.pop();
        }
        stack.push((sum, number));
    }
    let mut rest = z;
    for &(sum, number) in stack.iter() {
        let (pool, behind) = rest.split_at_mut(number);
        if number > 1 {
            pool.fill(sum / number as f64);
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// x is optimal if x falls, and z - x has non-positive partial sums that vanish wherever x falls strictly.
        #[test]
        fn optimality(z in prop::collection::vec(prop_oneof![-5.0..5.0f64, Just(1.0)], 0..40)) {
            let mut x = z.clone();
            isotonic_descending(&mut x, &mut Vec::new());
            prop_assert!(x.is_sorted_by(|a, b| a >= b));
            let mut partial = 0.0;
            for k in 0..z.len() {
                partial += z[k] - x[k];
                prop_assert!(partial < 1e-12);
                if k + 1 == z.len() || x[k] > x[k + 1] {
                    prop_assert!(partial.abs() < 1e-12);
                }
            }
        }
    }
}
