//! Means of the features that have no range: rows around them are shorter, and all noise is less for it.

use std::sync::Arc;

use super::features::OfFeatures;
use super::ranges::public_scales;
use super::releases::{Scales, public_norm, typical_norm};
use crate::accounting::event::Event;
use crate::error::Result;
use crate::plan::Problem;
use crate::plan::defaults::{ENOUGH_NOISE, MINOR_SHARE, MOST_NOISE, SCALED_ROW, SIDE_SHARE};
use crate::privacy::{FeatureMap, Planned, Question, Session};
use crate::question::{ImageSums, TypicalNorm};

/// Of features whose bounds begin or end at zero, so that sums of their sizes are sums.
///
/// The square of a row of indicators is as many as there are ones in it, and around its mean as many as there are
/// variances: half of it or less where most attributes have few levels.
#[derive(Debug)]
pub(super) struct Means {
    norm: Option<Question<TypicalNorm>>,
    sums: Question<ImageSums>,
    /// Features that are expected to need one.
    count: usize,
}

impl Means {
    /// Under a zCDP budget, beside what is released of the `features`; None where these do not move, all have a range,
    /// or noise hides the means.
    pub fn new(
        scales: Scales,
        features: Option<&OfFeatures>,
        problem: &Problem,
        rho: f64,
    ) -> Result<Option<Self>> {
        let outer = problem.schema();
        let (n, p) = (problem.n_samples() as f64, outer.n_features());
        let left = |&j: &usize| {
            outer.bounds().sign(j) != 0.0 && !features.is_some_and(|of| of.moves(outer, j))
        };
        let count = (0..p).filter(left).count();
        if !matches!(scales, Scales::Ranges | Scales::Clipped) || count == 0 {
            return Ok(None);
        }
        // What noise on all means adds to the squared norm of a row, in units of it: 2 count (multiplier/n)^2.
        let adds = |share: f64| n * (share / (2.0 * count as f64)).sqrt();
        let multiplier = 1.0 / (2.0 * SIDE_SHARE * rho).sqrt();
        if multiplier > adds(MOST_NOISE) {
            return Ok(None);
        }
        let multiplier = multiplier.max(adds(ENOUGH_NOISE));
        Ok(Some(Self {
            norm: typical_norm(problem, [MINOR_SHARE * rho; 2])?,
            sums: problem.statement.image_sums(multiplier, SCALED_ROW)?,
            count,
        }))
    }

    pub fn describe(&self) -> String {
        format!("means of {} features", self.count)
    }

    pub fn planned(&self) -> impl Iterator<Item = Planned> {
        let norm = self.norm.iter().map(Question::once);
        norm.chain([self.sums.once()])
    }

    pub fn events(&self) -> impl Iterator<Item = &(Event, u64)> {
        let norm = self.norm.iter().flat_map(Question::events);
        norm.chain(self.sums.events())
    }

    /// Asks, and moves what `map` leaves where its bounds are to its mean.
    pub fn release(&self, session: &mut Session<'_>, map: FeatureMap) -> Result<FeatureMap> {
        let statement = Arc::clone(session.statement());
        let schema = statement.schema();
        let (factor, shift) = public_scales(schema);
        let left = |j: usize| match map.has(j, (factor[j], shift[j])) {
            true => schema.bounds().sign(j),
            false => 0.0,
        };
        let signs: Vec<f64> = (0..schema.n_features()).map(left).collect();
        let only = |of: &[f64]| of.iter().zip(&signs).map(|(of, sign)| of * sign).collect();
        // Not negative, whatever the sign.
        let sizes = FeatureMap::new(only(&factor), only(&shift), f64::INFINITY);
        let norm = match &self.norm {
            Some(norm) => session.ask(norm, &sizes)?,
            None => public_norm(signs.iter().filter(|&&sign| sign != 0.0).count()),
        };
        // Sizes end at 1, and so do their images.
        let divisor = (norm / SCALED_ROW).max(1.0);
        let sizes = sizes.divided_by(divisor);
        let sums = session.ask(&self.sums, &sizes)?;
        // In units of the map's images.
        let unit = self.sums.unit() * divisor / statement.n_samples() as f64;
        let noisy: Vec<f64> = sums.iter().map(|&sum| sum as f64 * unit).collect();
        Ok(map.around(&expected(&noisy, self.sums.noise_scale() * unit, &signs)))
    }
}

/// Means of sizes with noise of a standard deviation `sigma`, each drawn to the mean of all by as much as it is noise
/// (James & Stein 1961), and within [0, 1]; with their signs.
fn expected(noisy: &[f64], sigma: f64, signs: &[f64]) -> Vec<f64> {
    let of = || (noisy.iter().zip(signs)).filter_map(|(mean, sign)| (*sign != 0.0).then_some(mean));
    let count = of().count().max(1) as f64;
    let middle = of().sum::<f64>() / count;
    let square = of().map(|mean| (mean - middle).powi(2)).sum::<f64>() / count;
    let share = (1.0 - sigma.powi(2) / square.max(f64::MIN_POSITIVE)).max(0.0);
    let drawn = |mean: &f64| (middle + share * (mean - middle)).clamp(0.0, 1.0);
    let pairs = noisy.iter().zip(signs);
    pairs.map(|(mean, sign)| sign * drawn(mean)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without noise they are what was found, with nothing but noise their mean; features that are left out have none.
    #[test]
    fn means_are_drawn_together_by_noise() {
        let signs = [1.0, -1.0, 0.0, 1.0];
        let noisy = [0.1, 0.5, 7.0, 0.9];
        let exact = expected(&noisy, 0.0, &signs);
        for (found, mean) in exact.iter().zip([0.1, -0.5, 0.0, 0.9]) {
            assert!((found - mean).abs() < 1e-12);
        }
        for mean in expected(&noisy, 10.0, &signs).iter().zip(signs) {
            assert!((mean.0 - 0.5 * mean.1).abs() < 1e-12);
        }
        let between = expected(&noisy, 0.2, &signs);
        assert!(between[0] > 0.1 && between[0] < 0.5 && between[3] < 0.9 && between[3] > 0.5);
        assert!((between[0] + between[3] - 1.0).abs() < 1e-12);
        // Beyond what there can be.
        assert_eq!(expected(&[-0.3, 1.4], 0.0, &[1.0, 1.0]), [0.0, 1.0]);
        assert_eq!(expected(&[], 1.0, &[]), [0.0; 0]);
    }
}
