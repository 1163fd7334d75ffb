use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::numeric::kernel::MAX_FEATURE;
use crate::privacy::bounded_data::{BoundedData, Features};
use crate::privacy::event::Event;
use crate::privacy::ledger::Budget;
use crate::privacy::noise::source::Source;
use crate::privacy::row_norm::RowNorm;
use crate::privacy::schema::Geometry;
use crate::privacy::selection::{ExponentialMechanism, InverseTemperature};

/// Candidates of all features together: beyond, the grid of thresholds gets coarser.
const MOST_CANDIDATES: usize = 1 << 26;
/// Least width of a range in lattice units: a feature is stored in so many levels at least.
const LEAST_WIDTH: i64 = 64;

/// How the ranges of features are released: two quantiles of each by the exponential mechanism (Smith 2011).
///
/// A threshold t on the lattice of a feature has the score |#{i: x_ij <= t} - round(q n)|, minimised. Replacing (or adding,
/// or removing) a record moves the count by at most 1, and q n is public: sensitivity m for m records a person. Each choice
/// is a bounded-range event; 2 p of them compose.
#[derive(Debug, Clone)]
pub struct RangePlan {
    epsilon0: f64,
    sensitivity: u64,
    /// q of the lower end; the upper end has 1 - q.
    level: f64,
    /// What the range between the quantiles is widened by on each side, in units of its width.
    margin: f64,
    n_samples: usize,
    n_features: usize,
    event: Event,
}

/// Public ranges, in lattice units of the schema that the records were read with.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranges(Vec<(f64, f64)>);

impl RangePlan {
    /// Two choices of bounded range `epsilon0` a feature.
    ///
    /// # Errors
    /// Levels or margins out of their domains, and an epsilon0 that the exact sampler does not take.
    pub fn new(
        epsilon0: f64,
        level: f64,
        margin: f64,
        n_samples: usize,
        n_features: usize,
        records_per_person: usize,
    ) -> Result<Self> {
        if !(level > 0.0 && level < 0.5 && margin >= 0.0 && margin.is_finite()) {
            return Err(Error::invalid(
                "scale",
                "needs a quantile below one half and a margin that is not negative",
            ));
        }
        let sensitivity = records_per_person as u64;
        InverseTemperature::new(epsilon0, sensitivity)?;
        Ok(Self {
            epsilon0,
            sensitivity,
            level,
            margin,
            n_samples,
            n_features,
            event: Event::exponential(epsilon0)?,
        })
    }

    /// The events of the release.
    pub fn events(&self) -> Vec<(Event, u64)> {
        vec![(self.event, 2 * self.n_features as u64)]
    }

    /// Spends the events and draws the ranges.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for sparse records, whose unstored zeros scaling would fill; [`Error::Randomness`].
    pub fn release(&self, data: &BoundedData, source: &mut Source) -> Result<Ranges> {
        let Features::Dense(columns) = &data.features else {
            return Err(Error::invalid(
                "scale",
                "\"private\" needs dense X: scaling would fill the zeros of a sparse one",
            ));
        };
        let events = self.events();
        Budget::new(&events).spend_all(&events)?;
        source.renew_after_fork()?;
        let n = data.n_records();
        let limit = i64::from(MAX_FEATURE);
        let stride = (2 * limit as usize * self.n_features).div_ceil(MOST_CANDIDATES) as i64;
        let thresholds: Vec<i64> = (-limit..=limit).step_by(stride as usize).collect();
        let temperature = InverseTemperature::new(self.epsilon0, self.sensitivity)?;
        let counts: Vec<Vec<i64>> = (columns.par_chunks(n))
            .map(|column| cumulative(column, &thresholds, stride))
            .collect();
        let mut ranges = Vec::with_capacity(self.n_features);
        let (mut scores, mut storage) = (Vec::new(), Vec::new());
        let mut choose = |counts: &[i64], q: f64, source: &mut Source| -> Result<i64> {
            let target = (q * self.n_samples as f64).round() as i64;
            scores.clear();
            scores.extend(counts.iter().map(|count| (count - target).abs()));
            let mechanism =
                ExponentialMechanism::new(&scores, &temperature, std::mem::take(&mut storage))?;
            let choice = mechanism.draw(source);
            storage = mechanism.into_storage();
            Ok(thresholds[choice])
        };
        for counts in &counts {
            let a = choose(counts, self.level, source)?;
            let b = choose(counts, 1.0 - self.level, source)?;
            let (low, high) = (a.min(b), a.max(b).max(a.min(b) + LEAST_WIDTH));
            let wider = self.margin * (high - low) as f64;
            ranges.push((low as f64 - wider, high as f64 + wider));
        }
        Ok(Ranges(ranges))
    }
}

/// #{x <= t} for every threshold t, `stride` apart.
fn cumulative(column: &[i16], thresholds: &[i64], stride: i64) -> Vec<i64> {
    let mut counts = vec![0i64; thresholds.len()];
    for &x in column {
        let place = (i64::from(x) - thresholds[0] + stride - 1) / stride;
        if let Some(count) = counts.get_mut(place as usize) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for count in &mut counts {
        sum += *count;
        *count = sum;
    }
    counts
}

impl Ranges {
    /// What a feature is multiplied by, and then moved by, in scaled units: its range becomes [-1, 1], or, uncentred, its
    /// larger end becomes 1 in size.
    fn map(&self, j: usize, geometry: Geometry) -> (f64, f64) {
        let (low, high) = self.0[j];
        let unit = f64::from(MAX_FEATURE);
        match geometry {
            Geometry::Centred => (2.0 * unit / (high - low), -(high + low) / (high - low)),
            Geometry::Uncentred => (
                unit / low.abs().max(high.abs()).max(LEAST_WIDTH as f64),
                0.0,
            ),
        }
    }

    /// The records with every feature mapped from its range and clipped again.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for sparse records.
    pub fn rescale(&self, data: &BoundedData) -> Result<BoundedData> {
        let Features::Dense(columns) = &data.features else {
            return Err(Error::invalid("scale", "\"private\" needs dense X"));
        };
        let n = data.n_records();
        let unit = f64::from(MAX_FEATURE);
        let mut scaled = vec![0i16; columns.len()];
        (scaled.par_chunks_mut(n))
            .zip(columns.par_chunks(n))
            .enumerate()
            .for_each(|(j, (out, column))| {
                let (factor, shift) = self.map(j, data.schema.geometry());
                for (out, &x) in out.iter_mut().zip(column) {
                    let value = f64::from(x) * factor + shift * unit;
                    *out = value.round().clamp(-unit, unit) as i16;
                }
            });
        if let Some(norm) = RowNorm::of(&data.schema) {
            norm.shorten_dense(&mut scaled, n)?;
        }
        Ok(BoundedData {
            schema: data.schema.clone(),
            targets: data.targets.clone(),
            features: Features::Dense(scaled),
        })
    }

    /// Coefficients for the scaled units of the schema from those for rescaled features.
    pub fn undo(&self, theta: &mut [f64], geometry: Geometry) {
        let p = self.0.len();
        let mut moved = 0.0;
        for (j, theta) in theta[..p].iter_mut().enumerate() {
            let (factor, shift) = self.map(j, geometry);
            moved += *theta * shift;
            *theta *= factor;
        }
        // Without an intercept the geometry is uncentred and nothing moves.
        if let Some(intercept) = theta.get_mut(p) {
            *intercept += moved;
        }
    }
}
