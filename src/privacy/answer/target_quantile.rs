use super::quantile::geometric;
use super::{Answer, Room};
use crate::error::{Error, Result};
use crate::privacy::records::{Pass, States};
use crate::privacy::thresholds::FloatThresholds;
use crate::question::{TargetQuantile, TargetValue};
use crate::schema::Schema;

/// Distances have thresholds 2 * 2^(-k/PER_OCTAVE) for k from 0 to PER_OCTAVE * OCTAVES.
const PER_OCTAVE: usize = 2;
const OCTAVES: usize = 20;

/// The same of sizes, below 1: their spread may be a small share of them.
const SIZES_PER_OCTAVE: usize = 12;

impl TargetValue {
    /// The last is at least as large as any value.
    fn thresholds(self, bits: u32) -> FloatThresholds {
        let listed = |largest, per_octave| {
            FloatThresholds::Listed(geometric(largest, per_octave, OCTAVES).collect())
        };
        match self {
            TargetValue::Itself => FloatThresholds::Even(bits),
            TargetValue::Size => listed(1.0, SIZES_PER_OCTAVE),
            TargetValue::DistanceFrom(_) => listed(2.0, PER_OCTAVE),
        }
    }

    /// The middle of the values that are counted at a threshold, so that coarse grids move nothing up: of sizes and
    /// distances their geometric mean.
    fn counted_at(self, thresholds: &FloatThresholds, choice: usize) -> f64 {
        let (least, most) = (
            thresholds.at(choice.saturating_sub(1)),
            thresholds.at(choice),
        );
        match self {
            TargetValue::Itself => 0.5 * (least + most),
            TargetValue::Size | TargetValue::DistanceFrom(_) => (least * most).sqrt(),
        }
    }

    /// Of a target.
    pub(in crate::privacy) fn of(self, target: f64) -> f64 {
        match self {
            TargetValue::Itself | TargetValue::Size => target,
            TargetValue::DistanceFrom(point) => (target - point).abs(),
        }
    }
}

impl Answer for TargetQuantile {
    type At<'a> = TargetValue;
    /// The quantile, in scaled units; of sizes and distances it is positive.
    type Released = f64;
    type State = States;

    fn check(&self, value: &TargetValue, schema: &Schema) -> Result<()> {
        match *value {
            TargetValue::Size if schema.target().units().is_none() => {
                Err(Error::invalid("value", "must be that of counts"))
            }
            TargetValue::DistanceFrom(point) if !(-1.0..=1.0).contains(&point) => {
                Err(Error::invalid("point", "must lie between -1 and 1"))
            }
            _ => Ok(()),
        }
    }

    fn draw(&self, value: TargetValue, room: Room<'_, '_, States>) -> Result<f64> {
        let thresholds = value.thresholds(self.bits);
        let pass = Pass::Targets {
            value,
            thresholds: &thresholds,
        };
        let counts = room.records.fold(&pass, room.state, room.watch)?.0;
        let choice = self.quantile.choose(counts, room.source);
        Ok(value.counted_at(&thresholds, choice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is released for a value is no farther from it than half of what its threshold counts, on either side alike.
    #[test]
    fn thresholds_stand_for_the_values_counted_there() {
        for bits in [3, 9] {
            let thresholds = TargetValue::Itself.thresholds(bits);
            let released = |y: f64| {
                let choice = (0..thresholds.len())
                    .find(|&k| thresholds.at(k) >= y)
                    .unwrap();
                TargetValue::Itself.counted_at(&thresholds, choice)
            };
            let half = 0.5f64.powi(bits as i32 + 1);
            for y in [-1.0, -0.71, -0.003, 0.003, 0.42, 1.0] {
                assert!((released(y) - y).abs() <= half);
            }
            for y in [0.003, 0.42, 0.99] {
                assert_eq!(released(y), -released(-y));
            }
        }
        let distances = TargetValue::DistanceFrom(0.0);
        for (value, per_octave) in [
            (distances, PER_OCTAVE),
            (TargetValue::Size, SIZES_PER_OCTAVE),
        ] {
            let thresholds = value.thresholds(3);
            let last = thresholds.at(thresholds.len() - 1);
            for y in [1e-9, 1e-3, 0.7, 2.0].map(|y: f64| y.min(last)) {
                let choice = (0..thresholds.len())
                    .find(|&k| thresholds.at(k) >= y)
                    .unwrap();
                let ratio = value.counted_at(&thresholds, choice) / y;
                let half = 2f64.powf(0.5 / per_octave as f64) * (1.0 + 1e-12);
                assert!(y < thresholds.at(0) || (1.0 / half..=half).contains(&ratio));
            }
        }
    }
}
