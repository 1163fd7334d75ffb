//! How many records every class has.

use std::sync::Arc;

use super::Question;
use super::statement::Statement;
use crate::accounting::event::Event;
use crate::error::{Error, Result, positive};
use crate::exact::noise::discrete_laplace::DiscreteLaplace;
use crate::numeric::directed::{div_up, mul_up};

/// Noisy numbers of the records of every class, with integer Laplace noise: pure differential privacy (Dwork, McSherry,
/// Nissim & Smith 2006; Ghosh, Roughgarden & Sundararajan 2012).
///
/// A record with a weight counts its share, rounded to 2^-14.
///
/// **Sensitivity**: a record adds to one number, at most one: in the sum of sizes that is 2 for a replaced record and 1
/// for one added or removed, m times that for m of them. Where the whole budget is for these numbers their noise is
/// about half of that of a Gaussian release at a delta of 1/n^2.
#[derive(Debug, Clone)]
pub struct ClassCounts {
    /// Of the noise, in units.
    pub(crate) scale: f64,
}

/// Units of a record.
pub(crate) const UNIT: i64 = 1 << 14;

impl Statement {
    /// Numbers of records, at a cost of `epsilon`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `classes` for targets that are none; `epsilon` that is not positive and
    /// finite; noise that the exact sampler does not take.
    pub fn class_counts(self: &Arc<Self>, epsilon: f64) -> Result<Question<ClassCounts>> {
        if !self.schema().target().is_classes() {
            return Err(Error::invalid("classes", "are counted, not other targets"));
        }
        let epsilon = positive("epsilon", epsilon)?;
        let sensitivity = mul_up(self.changed_contributions() as f64, UNIT as f64);
        let scale = div_up(sensitivity, epsilon);
        DiscreteLaplace::new(scale)?;
        let events = vec![(Event::laplace(sensitivity, scale)?, 1)];
        Ok(Question::new(self, ClassCounts { scale }, events))
    }
}

impl Question<ClassCounts> {
    /// Standard deviation of the noise on a number, in records.
    pub fn noise_scale(&self) -> f64 {
        std::f64::consts::SQRT_2 * self.answer.scale * self.unit()
    }

    /// One unit of the answer in records.
    pub fn unit(&self) -> f64 {
        1.0 / UNIT as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::schema::{Bounds, Geometry, Schema, Target};

    fn statement(target: Target, adjacency: Adjacency, person: usize) -> Arc<Statement> {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema = Schema::new(2, bounds, Geometry::Centred, target, true, None).unwrap();
        Statement::new(schema, 100, adjacency, person).unwrap()
    }

    /// 2 of a replaced record, 1 of one that is added, as often as a person has records.
    #[test]
    fn the_sensitivity_is_that_of_one_class_a_record() {
        let replace = Adjacency::ReplaceOne;
        for (adjacency, person, exact) in [
            (replace, 1, 2.0),
            (Adjacency::AddRemove, 1, 1.0),
            (replace, 3, 6.0),
        ] {
            for target in [Target::Classes, Target::Multiclass { classes: 5 }] {
                let question = statement(target, adjacency, person)
                    .class_counts(0.3)
                    .unwrap();
                let [(Event::Laplace { sensitivity, scale }, 1)] = question.events()[..] else {
                    panic!("{:?}", question.events());
                };
                let sensitivity = sensitivity * question.unit();
                assert!(sensitivity >= exact && sensitivity < exact * (1.0 + 1e-12));
                assert!(scale * question.unit() >= sensitivity / 0.3);
                let deviation = question.noise_scale() / (2f64.sqrt() * exact / 0.3);
                assert!((deviation - 1.0).abs() < 1e-12, "{deviation}");
            }
        }
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        let reals = Target::Interval {
            low: 0.0,
            high: 1.0,
        };
        let replace = Adjacency::ReplaceOne;
        let error = statement(reals, replace, 1).class_counts(0.3).unwrap_err();
        assert_eq!(error.to_string(), "classes are counted, not other targets");
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-12] {
            let classes = statement(Target::Classes, replace, 1);
            assert!(classes.class_counts(epsilon).is_err(), "{epsilon}");
        }
    }
}
