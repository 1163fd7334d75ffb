/// F(A) = p - 1 + max A - min A + 1 (Structure::ContiguousRange) minus s: O(p).
///
/// Inside the range of A all positive s come free, so the minimum is over ranges of p - 1 - sum ((s_j)_+ - 1): the
/// subarray of largest sum (Kadane; Bentley 1984).
pub(crate) fn minimise(s: &[f64]) -> (Vec<usize>, f64) {
    let (mut sum, mut start) = (0.0, 0);
    let (mut best, mut range) = (f64::NEG_INFINITY, 0..0);
    for (j, &s) in s.iter().enumerate() {
        if sum <= 0.0 {
            (sum, start) = (0.0, j);
        }
        sum += s.max(0.0) - 1.0;
        if sum > best {
            (best, range) = (sum, start..j + 1);
        }
    }
    let set: Vec<usize> = range.filter(|&j| s[j] > 0.0).collect();
    let (Some(first), Some(last)) = (set.first(), set.last()) else {
        return (set, 0.0);
    };
    let cost = (s.len() + last - first) as f64;
    let value = cost - set.iter().map(|&j| s[j]).sum::<f64>();
    if value < 0.0 {
        (set, value)
    } else {
        (Vec::new(), 0.0)
    }
}
