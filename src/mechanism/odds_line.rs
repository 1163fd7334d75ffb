//! What is expected of the line through the scores of two classes, before it is released.

use crate::numeric::normal::density;

/// Places of the quadrature over a standard normal law, and how far out they go.
const PLACES: usize = 65;
const END: f64 = 5.0;
/// Scores that vary by less have no slope.
const ALIKE: f64 = 1e-6;
/// Scores further out are as sure: floats tell their probabilities no further apart.
const SURE: f64 = 700.0;
/// Least curvature: ridges are divided by it, and where all are sure there is none in floats.
const LEAST_CURVATURE: f64 = 1e-100;
/// No line moves further when its slope changes.
const FAR: f64 = 64.0;
/// How many times as large as steps count on the curvature may be, at most.
const STEEPEST: f64 = 3.0;

/// Scores of records, taken for normal.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScoreLaw {
    pub mean: f64,
    pub deviation: f64,
}

/// Log odds as a line through scores: those at the score `centre`, and how they change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OddsLine {
    pub centre: f64,
    pub middle: f64,
    pub slope: f64,
}

impl ScoreLaw {
    /// That of scores so many times as large.
    pub fn times(self, slope: f64) -> Self {
        Self {
            mean: slope * self.mean,
            deviation: slope * self.deviation,
        }
    }

    /// The line through the log odds that scores of a loss stand for whose derivatives are clamped at `clip`, as it is
    /// without noise, where records tell of it: they count by the curvature of their loss.
    ///
    /// A saturated model with the share p of the second class has mean derivative 0 at q, the probability of the score,
    /// where p min(1 - q, clip) = (1 - p) min(q, clip): with a clamp of 1/2, p = q/(1/2) (1 - p) for q below it. Log
    /// odds of rare classes are their scores less the logarithm of the clamp, and those of even ones change by a half
    /// of what scores do.
    pub fn odds(self, clip: f64) -> OddsLine {
        let score = |z: f64| self.mean + self.deviation * z;
        let odds = |z: f64| log_odds(score(z), clip);
        let weight = |z: f64| variance(odds(z));
        let total = normal_mean(weight);
        let mean = |of: &dyn Fn(f64) -> f64| normal_mean(|z| weight(z) * of(z)) / total;
        let (centre, middle) = (mean(&score), mean(&odds));
        let square = mean(&|z| (score(z) - centre).powi(2));
        let product = mean(&|z| (score(z) - centre) * (odds(z) - middle));
        OddsLine {
            centre,
            middle,
            // Of scores that are all alike rounding would decide.
            slope: match square.sqrt() > ALIKE {
                true => product / square,
                false => 1.0,
            },
        }
    }

    /// The mean probability of the second class.
    pub fn share(self, line: OddsLine) -> f64 {
        normal_mean(|z| probability(line.at(self.mean + self.deviation * z)))
    }

    /// The curvature of the logistic loss that steps along a line count on, in units of that at scores of 0: as it is
    /// when the slope changes, which is little where scores are sure, but no less than what the mean curvature may be
    /// whatever their law is, over `steepest` and at most [`STEEPEST`]. Steps with the momentum of Newton's converge
    /// where it is up to six times what they count on.
    pub fn curvature_along(self, line: OddsLine, steepest: f64) -> f64 {
        let most = curvature_of(self.share(line));
        let score = |z: f64| self.mean + self.deviation * z;
        let square = |z: f64| (score(z) - line.centre).powi(2);
        let curved = normal_mean(|z| 4.0 * variance(line.at(score(z))) * square(z));
        let along = curved / normal_mean(square);
        // NaN of scores that are all alike, or beyond floats.
        match along.is_nan() {
            true => most,
            false => along.clamp(most / steepest.clamp(1.0, STEEPEST), most),
        }
    }

    /// The line of another slope with the same share.
    pub fn with_slope(self, line: OddsLine, slope: f64) -> OddsLine {
        let share = self.share(line);
        let moved = |by: f64| OddsLine {
            middle: line.middle + by,
            slope,
            ..line
        };
        let (mut low, mut high) = (-FAR, FAR);
        while high - low > 1e-9 {
            let by = 0.5 * (low + high);
            match self.share(moved(by)) < share {
                true => low = by,
                false => high = by,
            }
        }
        moved(0.5 * (low + high))
    }
}

impl OddsLine {
    /// Log odds of a score.
    fn at(self, score: f64) -> f64 {
        self.middle + self.slope * (score - self.centre)
    }
}

/// About the most that the mean curvature of the logistic loss may be for this share of the second class, in units of
/// that at scores of 0: mean p_i (1 - p_i) is at most p (1 - p) with the mean p of the p_i, whatever their law
/// (Jensen's inequality).
pub(super) fn curvature_of(share: f64) -> f64 {
    (4.0 * share * (1.0 - share)).max(LEAST_CURVATURE)
}

/// The curvature of the logistic loss when normal scores around 0 of this deviation are multiplied by a little more, in
/// units of what it would be if that of every record were the one at a score of 0.
pub(super) fn curvature_along(deviation: f64) -> f64 {
    let curved = normal_mean(|z| 4.0 * variance(deviation * z) * z * z);
    (curved / normal_mean(|z| z * z)).max(LEAST_CURVATURE)
}

/// Of one score, or of the difference between two of K that differ alike.
pub(super) fn deviation_of_difference(laws: &[ScoreLaw]) -> f64 {
    let square: f64 = laws.iter().map(|law| law.deviation.powi(2)).sum();
    match laws.len() {
        1 => square.sqrt(),
        k => (2.0 * square / (k as f64 - 1.0)).sqrt(),
    }
}

fn log_odds(score: f64, clip: f64) -> f64 {
    let score = score.clamp(-SURE, SURE);
    let [first, second] = [-score, score].map(|z| probability(z).min(clip));
    (second / first).ln()
}

fn probability(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// p (1 - p).
fn variance(score: f64) -> f64 {
    (2.0 * (0.5 * score).cosh()).powi(-2)
}

/// Of a standard normal variable.
fn normal_mean(of: impl Fn(f64) -> f64) -> f64 {
    let place = |k: usize| END * (2.0 * k as f64 / (PLACES - 1) as f64 - 1.0);
    let places = || (0..PLACES).map(place);
    let total: f64 = places().map(density).sum();
    places().map(|z| density(z) * of(z)).sum::<f64>() / total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(mean: f64, deviation: f64) -> ScoreLaw {
        ScoreLaw { mean, deviation }
    }

    /// Without a clamp scores are log odds. With one of a half they are too far apart where classes are even, by a
    /// quarter or so at a usual spread, and too low by ln 2 where one is rare; and the derivative of the clamped loss
    /// is 0 on average.
    #[test]
    fn clamps_are_undone() {
        let line = law(-2.0, 1.3).odds(1.0);
        assert!((line.middle - line.centre).abs() < 1e-12 && (line.slope - 1.0).abs() < 1e-12);
        let even = law(0.0, 1.0).odds(0.5);
        assert!(even.middle.abs() < 1e-12 && even.centre.abs() < 1e-12);
        assert!((0.65..0.78).contains(&even.slope), "{even:?}");
        let rare = law(-9.0, 0.5).odds(0.5);
        assert!((rare.middle - rare.centre - 2f64.ln()).abs() < 1e-3);
        assert!((rare.slope - 1.0).abs() < 1e-3);
        assert_eq!(law(-1.0, 0.0).odds(0.5).slope, 1.0);
        for (score, clip) in [(-3.0, 0.5), (0.4, 0.5), (1.0, 0.3), (-0.2, 0.9)] {
            let [p, q] = [log_odds(score, clip), score].map(probability);
            let mean = p * (1.0 - q).min(clip) - (1.0 - p) * q.min(clip);
            assert!(mean.abs() < 1e-12, "{score} {clip}");
        }
    }

    /// The middle is where records tell of the line: of rare classes one variance nearer to even odds than most are, of
    /// sure ones where odds are even, wherever most are.
    #[test]
    fn lines_are_about_the_scores_that_tell_of_them() {
        let rare = law(-9.0, 1.0).odds(1.0);
        assert!((rare.centre + 8.0).abs() < 0.01, "{rare:?}");
        let sure = law(-6.0, 10.0).odds(1.0);
        assert!(sure.centre.abs() < 0.5, "{sure:?}");
    }

    /// A line of another slope has the same share, and the same slope moves nothing.
    #[test]
    fn slopes_keep_the_share() {
        for scores in [law(-4.0, 1.5), law(0.3, 2.0), law(6.0, 0.5)] {
            let line = scores.odds(0.5);
            for slope in [0.1, 0.5, 2.0] {
                let moved = scores.with_slope(line, slope);
                assert_eq!(moved.slope, slope);
                assert!((scores.share(moved) / scores.share(line) - 1.0).abs() < 1e-6);
            }
            let same = scores.with_slope(line, line.slope);
            assert!((same.middle - line.middle).abs() < 1e-6);
        }
    }

    /// Where all scores are so sure that no record tells of a line there is one, in numbers: it was none, and the fit
    /// ended in an error after it was paid for.
    #[test]
    fn sure_scores_have_a_line() {
        for mean in [40.0, 1e3, 1e4, 1e12, 1e100] {
            for (mean, deviation) in [
                (mean, 0.0),
                (-mean, 1.0),
                (mean, 1e-3 * mean),
                (-mean, mean),
            ] {
                for clip in [1.0, 0.5, 1e-6] {
                    let scores = law(mean, deviation);
                    let line = scores.odds(clip);
                    let line = scores.with_slope(line, 0.5 * line.slope);
                    let share = scores.share(line);
                    let numbers = [
                        line.centre,
                        line.middle,
                        line.slope,
                        1.0 / curvature_of(share),
                    ];
                    assert!(
                        numbers.iter().all(|number| number.is_finite()),
                        "{scores:?} {line:?}"
                    );
                    assert!((0.0..=1.0).contains(&share));
                }
            }
        }
    }

    /// Second differences of the mean loss of scores that are stretched, over their mean square, at even odds.
    #[test]
    fn sure_scores_curve_less() {
        assert!((curvature_along(0.0) - 1.0).abs() < 1e-4);
        for deviation in [0.3f64, 1.0, 4.0] {
            let loss =
                |times: f64| normal_mean(|z| (2.0 * (0.5 * times * deviation * z).cosh()).ln());
            let step = 1e-3;
            let second = (loss(1.0 + step) - 2.0 * loss(1.0) + loss(1.0 - step)) / step.powi(2);
            let expected = 4.0 * second / deviation.powi(2);
            assert!((curvature_along(deviation) / expected - 1.0).abs() < 1e-4);
        }
        for deviation in [1e3, 1e9, 1e300, f64::INFINITY] {
            let curvature = curvature_along(deviation);
            assert!(curvature > 0.0 && curvature < 0.01);
        }
        let law = |deviation| law(0.0, deviation);
        assert_eq!(deviation_of_difference(&[law(0.7)]), 0.7);
        // Scores of two classes that are +-z/2.
        assert!((deviation_of_difference(&[law(0.5), law(0.5)]) - 1.0).abs() < 1e-15);
    }

    /// Steps along a line of sure scores count on less curvature, but for a third of the most that it may be.
    #[test]
    fn steps_along_lines_of_sure_scores_are_longer() {
        let along = |deviation: f64, clip: f64| {
            let law = law(0.0, deviation);
            let line = law.odds(clip);
            (
                law.curvature_along(line, 9.0),
                curvature_of(law.share(line)),
            )
        };
        for deviation in [0.0, 0.01] {
            let (curvature, most) = along(deviation, 1.0);
            assert!((curvature / most - 1.0).abs() < 1e-3 && (most - 1.0).abs() < 1e-9);
        }
        let (some, _) = along(1.5, 1.0);
        assert!((some - curvature_along(1.5)).abs() < 1e-9 && some > 0.34 && some < 0.7);
        for deviation in [5.0, 1e3, 1e100] {
            let (curvature, most) = along(deviation, 0.5);
            assert!((curvature * STEEPEST / most - 1.0).abs() < 1e-9);
        }
        for deviation in [1e200, f64::INFINITY] {
            let (curvature, most) = along(deviation, 0.5);
            assert!(curvature >= most / STEEPEST && curvature <= most);
        }
        // Where noise is large, as on any scores.
        let scores = law(0.0, 5.0);
        let line = scores.odds(0.5);
        assert_eq!(
            scores.curvature_along(line, 1.0),
            curvature_of(scores.share(line))
        );
    }

    #[test]
    fn curvatures_are_those_of_shares() {
        assert_eq!(curvature_of(0.5), 1.0);
        for scores in [law(-3.0, 1.0), law(1.0, 4.0)] {
            let line = scores.odds(1.0);
            let mean = normal_mean(|z| 4.0 * variance(scores.mean + scores.deviation * z));
            assert!(mean <= curvature_of(scores.share(line)));
        }
    }
}
