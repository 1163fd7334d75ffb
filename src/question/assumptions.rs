//! What is protected as one unit, and what every release about records assumes: for its certificate.

use super::statement::{MOST_RECORDS, Statement};
use super::{AnyQuestion, Planned};
use crate::accounting::event::Adjacency;
use crate::schema::Geometry;

/// The most records that every question takes.
pub(crate) fn most_records(planned: &[Planned]) -> usize {
    let questions = planned.iter().flat_map(Planned::questions);
    let most = questions.map(|question: &AnyQuestion| question.most_records);
    most.min().unwrap_or(MOST_RECORDS)
}

impl Statement {
    /// That there are more records than `most`.
    pub(crate) fn too_many(&self, most: usize) -> String {
        match self.adjacency() {
            Adjacency::ReplaceOne => "X has too many records for groups of this size".into(),
            Adjacency::AddRemove => format!(
                "X has more than {} times n_public records: this mechanism takes a closer n_public",
                most / self.n_samples()
            ),
        }
    }

    /// The unit, and assumptions; no question takes more than `most` records.
    pub(crate) fn terms(&self, most: usize) -> (String, Vec<String>) {
        let m = self.records_per_person();
        let weight = self.schema().max_weight();
        let (one, several) = match weight {
            None => ("its entry of y", "their entries of y"),
            Some(_) => (
                "its entries of y and of sample_weight",
                "their entries of y and of sample_weight",
            ),
        };
        let unit = match m {
            1 => format!("one record (a row of X with {one})"),
            _ => {
                format!("one person, who owns at most {m} records (rows of X with {several})")
            }
        };
        let mut assumptions = vec![
            "the bounds, feature names, hyper-parameters and the domain (finite values, known labels) are public".into(),
            match self.adjacency() {
                Adjacency::ReplaceOne => "the number of records is public".into(),
                Adjacency::AddRemove => "the public number of records was chosen without looking at the data".into(),
            },
            "values outside the bounds are clipped to them".into(),
            "how X is stored (dense or sparse, its precision) is public".into(),
            "the machine has memory for the records and for what the mechanism makes of them".into(),
            "running time is outside the guarantee".into(),
        ];
        if let Some(largest) = weight {
            assumptions.push(format!(
                "records have weights, finite and not negative; larger ones than the public {largest} are clipped to it, and \
                 a record counts by its weight over it"
            ));
        }
        if self.adjacency() == Adjacency::AddRemove {
            assumptions.push("there is at least one record, and there are fewer than 2^31".into());
        }
        if m > 1 {
            assumptions.push(format!("no person owns more than {m} records"));
        }
        if self.schema().geometry() == Geometry::Uncentred {
            assumptions
                .push("features were scaled by the larger of their two absolute bounds".into());
        }
        if most < MOST_RECORDS && self.adjacency() == Adjacency::AddRemove {
            assumptions.push(match most / self.n_samples() {
                0 => format!("there are at most {most} records"),
                times => {
                    format!("there are at most {times} times as many records as the public number")
                }
            });
        }
        (unit, assumptions)
    }
}
