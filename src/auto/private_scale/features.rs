//! What is released of the features, and the map that it makes.

use std::sync::Arc;

use super::ranges::{Found, RangeChoice, clipped_at_deviations, every, map_of_ranges, not_unit};
use super::releases::{MapAndRanges, Scales};
use super::spread::{Laws, NARROW, Seen, Zero, in_records};
use super::weights::weights_of;
use crate::accounting::event::Event;
use crate::error::Result;
use crate::numeric::normal::upper_quantile;
use crate::plan::Problem;
use crate::plan::defaults::{COLUMNS_SHARE, ENOUGH_NOISE, HISTOGRAM_NOISE, WIDE_BINS_NOISE};
use crate::privacy::{FeatureMap, Planned, Question, Schema, Session, Statement};
use crate::question::{AbsoluteSums, Bins, Histograms, Ranges, RangesOf};

/// The ends of a range of a law that is known but for its middle and deviation.
const QUARTILE: f64 = 0.25;

/// What tells how features are spread.
#[derive(Debug)]
pub(super) enum OfFeatures {
    /// Two quantiles of each.
    Ranges(Question<Ranges>),
    /// Where quantiles would be missed and ranges clip: what noise leaves of a histogram of each.
    Histograms(Question<Histograms>),
    /// How much of each column there is.
    Weights(Question<AbsoluteSums>),
}

impl OfFeatures {
    /// The finest that `scales` allow and that is worth its noise, if any is.
    pub fn new(scales: Scales, problem: &Problem, rho: f64) -> Result<Option<Self>> {
        let statement = &problem.statement;
        let bounds = problem.schema().bounds();
        let (n, p) = (problem.n_samples(), problem.schema().n_features());
        let person = problem.records_per_person();
        let choice = match scales {
            Scales::Boxes => {
                let of = every(bounds, p);
                Some(RangeChoice::new(of, scales, (n, p), person, rho))
            }
            Scales::Ranges | Scales::Clipped => {
                RangeChoice::best(scales, bounds, n, p, person, rho)
            }
            Scales::Weights => {
                let multiplier = 1.0 / (2.0 * COLUMNS_SHARE * rho).sqrt();
                return Ok(Some(Self::Weights(statement.absolute_sums(multiplier)?)));
            }
            Scales::Norm | Scales::Target => None,
        };
        match (choice, scales) {
            (Some(choice), _) => choice.question(statement).map(|of| Some(Self::Ranges(of))),
            (None, Scales::Clipped) => {
                let histograms = histograms(statement, not_unit(bounds, p), rho)?;
                Ok(histograms.map(Self::Histograms))
            }
            (None, _) => Ok(None),
        }
    }

    /// Where features are clipped, in standard deviations if they are normal, as far as where noise is large.
    pub fn clipped_at(&self) -> Option<f64> {
        match self {
            Self::Ranges(ranges) => Some(clipped_at_deviations(ranges.level())),
            Self::Histograms(_) => Some(clipped_at_deviations(QUARTILE)),
            Self::Weights(_) => None,
        }
    }

    /// Whether feature `j` is mapped by what is released of it; indicators stay where they are.
    pub fn moves(&self, schema: &Schema, j: usize) -> bool {
        let of = |features: &[u32]| features.binary_search(&(j as u32)).is_ok();
        match self {
            Self::Ranges(ranges) => match ranges.of() {
                RangesOf::Each(features) => of(features) && !schema.bounds().is_unit(j),
                RangesOf::Together(_) => true,
            },
            Self::Histograms(histograms) => of(histograms.features()),
            Self::Weights(_) => true,
        }
    }

    pub fn planned(&self) -> Planned {
        match self {
            Self::Ranges(ranges) => ranges.once(),
            Self::Histograms(histograms) => histograms.once(),
            Self::Weights(weights) => weights.once(),
        }
    }

    pub fn events(&self) -> &[(Event, u64)] {
        match self {
            Self::Ranges(ranges) => ranges.events(),
            Self::Histograms(histograms) => histograms.events(),
            Self::Weights(weights) => weights.events(),
        }
    }

    pub fn describe(&self) -> String {
        match self {
            Self::Ranges(ranges) => match ranges.of() {
                RangesOf::Each(features) => format!("ranges of {} features", features.len()),
                RangesOf::Together(_) => "one range for all features".into(),
            },
            Self::Histograms(histograms) => {
                format!("histograms of {} features", histograms.features().len())
            }
            Self::Weights(_) => "weights of the columns".into(),
        }
    }

    /// Asks, and makes the map, which clips `open` times as far out as where noise is large; with it the ranges of all
    /// features, if they have any.
    pub fn release(
        &self,
        session: &mut Session<'_>,
        scales: Scales,
        open: f64,
    ) -> Result<MapAndRanges> {
        let found = match self {
            Self::Ranges(question) => Found {
                of: question.of().clone(),
                ranges: session.ask(question, ())?,
                level: question.level(),
                resolution: question.resolution(),
            },
            Self::Histograms(question) => {
                let noisy = session.ask(question, ())?;
                spreads(question, &noisy, session.statement())
            }
            Self::Weights(question) => {
                let sums = session.ask(question, ())?;
                let weights = weights_of(&sums, question.noise_scale());
                return Ok((FeatureMap::linear(weights), None));
            }
        };
        let schema = session.statement().schema();
        let map = map_of_ranges(scales, &found, schema, open);
        Ok((map, Some(found.of_all(schema))))
    }
}

/// Histograms of some features, where there is not too much noise for any to be of use.
fn histograms(
    statement: &Arc<Statement>,
    of: RangesOf,
    rho: f64,
) -> Result<Option<Question<Histograms>>> {
    let RangesOf::Each(features) = of else {
        return Ok(None);
    };
    if features.is_empty() {
        return Ok(None);
    }
    let n = statement.n_samples() as f64;
    let of = |multiplier: f64, bins: Bins| statement.histograms(multiplier, features.clone(), bins);
    let multiplier = 1.0 / (2.0 * COLUMNS_SHARE * rho).sqrt();
    let fine = of(multiplier, Bins::Fine)?;
    let noise = fine.noise() / n;
    if noise < ENOUGH_NOISE {
        return of(multiplier * (ENOUGH_NOISE / noise), Bins::Fine).map(Some);
    }
    if noise < WIDE_BINS_NOISE {
        return Ok(Some(fine));
    }
    let both = of(multiplier, Bins::FineAndWide)?;
    Ok(Some(both).filter(|both| both.noise() / n <= HISTOGRAM_NOISE))
}

/// Quartiles of the laws of features that have a spread.
fn spreads(question: &Question<Histograms>, noisy: &[i64], statement: &Statement) -> Found {
    let schema = statement.schema();
    let laws = Laws::within();
    let shares = laws.own_shares(question.bins());
    let n = statement.n_samples() as f64;
    let bins = question.bins().ends().len();
    let of_one = |(&j, noisy): (&u32, &[i64])| {
        let zero = Zero::of(schema.bounds().of(j as usize));
        let noisy = &in_records(noisy, question.unit());
        let seen = Seen {
            shares,
            noisy,
            sigma: question.noise(),
        };
        let found = laws.posterior(&[seen], n, zero);
        let quartile = upper_quantile(QUARTILE) * found.deviation;
        let range = (found.mean - quartile, found.mean + quartile);
        (found.deviation > NARROW).then_some((j, range))
    };
    let (features, ranges) = (question.features().iter().zip(noisy.chunks_exact(bins)))
        .filter_map(of_one)
        .unzip();
    Found {
        of: RangesOf::Each(features),
        ranges,
        level: QUARTILE,
        resolution: 0.0,
    }
}
