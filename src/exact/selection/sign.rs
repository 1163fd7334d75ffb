//! One sign: the exponential mechanism over the two scores +g and -g.

use super::inverse_temperature::InverseTemperature;
use crate::exact::noise::bernoulli::bernoulli;
use crate::exact::noise::source::Source;
use crate::numeric::enclosure::exp2_neg;

/// Draws s in {-1, +1} with probability proportional to exp(-eta s g), exactly.
///
/// Propose a sign by a fair bit; the better one (s g < 0) is accepted, the other one with probability
/// exp(-2 eta |g|), else all is drawn again: the ratio of the two probabilities is exp(-2 eta |g|).
///
/// **Rounds:** at most 2 are expected, as each ends with probability 1/2 or more, whatever g is.
pub fn draw_sign(g: i64, temperature: &InverseTemperature, source: &mut Source) -> i64 {
    #[cfg(test)]
    crate::exact::tap::see(|| crate::exact::tap::Seen::Sign(g, temperature.per_unit()));
    let better = if g > 0 { -1 } else { 1 };
    if g == 0 {
        return if source.bits() >> 63 == 0 { 1 } else { -1 };
    }
    let gap = u128::from(g.unsigned_abs()) * 2;
    let fast = exp2_neg(temperature.exponent(gap));
    loop {
        if source.bits() >> 63 == 0 {
            return better;
        }
        if bernoulli(source, fast, |bits| temperature.weight(gap, 0, bits)) {
            return -better;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        let eta = InverseTemperature::new(0.7, 5).unwrap();
        let mut source = Source::seeded(5);
        for g in [-9i64, 0, 1, 4] {
            let n = 50_000;
            let plus = (0..n)
                .filter(|_| draw_sign(g, &eta, &mut source) == 1)
                .count() as f64;
            let p = 1.0 / (1.0 + (2.0 * 0.07 * g as f64).exp());
            let z = (plus - f64::from(n) * p) / (f64::from(n) * p * (1.0 - p)).sqrt();
            assert!(z.abs() < 4.9, "{g}: {z}"); // two-sided 1e-6
        }
    }
}
