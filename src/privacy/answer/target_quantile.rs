use super::{Answer, Room};
use crate::error::{Error, Result};
use crate::privacy::records::{Pass, States};
use crate::question::{TargetQuantile, TargetValue};
use crate::schema::Schema;

/// Distances have thresholds 2 * 2^(-k/PER_OCTAVE) for k from 0 to PER_OCTAVE * OCTAVES.
const PER_OCTAVE: usize = 2;
const OCTAVES: usize = 20;

impl TargetValue {
    /// Ascending; the last is at least as large as any value.
    fn thresholds(self, bits: u32) -> Vec<f64> {
        match self {
            TargetValue::Itself => {
                let half = 1i32 << bits;
                let thresholds = (-half..=half).map(|k| f64::from(k) / f64::from(half));
                thresholds.collect()
            }
            TargetValue::DistanceFrom(_) => (0..=PER_OCTAVE * OCTAVES)
                .rev()
                .map(|k| 2.0 * 2f64.powf(-(k as f64) / PER_OCTAVE as f64))
                .collect(),
        }
    }

    /// Of a target.
    pub(in crate::privacy) fn of(self, target: f64) -> f64 {
        match self {
            TargetValue::Itself => target,
            TargetValue::DistanceFrom(point) => (target - point).abs(),
        }
    }
}

impl Answer for TargetQuantile {
    type At<'a> = TargetValue;
    /// The quantile, in scaled units; of distances it is positive.
    type Released = f64;
    type State = States;

    fn check(&self, value: &TargetValue, _: &Schema) -> Result<()> {
        match *value {
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
        Ok(thresholds[self.quantile.choose(counts, room.source)?])
    }
}
