//! What the mean of counts is chosen by: three sums to a rate.

use super::bounded_data::BoundedData;
use super::column_sums::added;
use super::record_weights::part;
use crate::numeric::pieces::fold_pieces;
use crate::question::MeanCandidates;

/// Records per piece of work.
const CHUNK: usize = 1 << 10;

impl BoundedData {
    /// The shares of what records add to the sums of every rate, one after the other: below 2^31 2^14 in size.
    pub(super) fn about_the_mean(&self, candidates: &MeanCandidates) -> Vec<i64> {
        let shares = self.weights.as_ref().map(|weights| weights.shares());
        let add = |mut sums: Vec<i64>, (piece, targets): (usize, &[f64])| {
            let shares = shares.map(|shares| &shares[piece * CHUNK..][..targets.len()]);
            for (k, sums) in sums.chunks_mut(MeanCandidates::SUMS).enumerate() {
                for (i, &y) in targets.iter().enumerate() {
                    for (sum, added) in sums.iter_mut().zip(candidates.contribution(k, y)) {
                        *sum += shares.map_or(added, |shares| part(added, shares[i]));
                    }
                }
            }
            sums
        };
        let zeros = || vec![0; MeanCandidates::SUMS * candidates.len()];
        let pieces = self.targets.chunks(CHUNK).collect();
        let entries = self.targets.len() * candidates.len();
        fold_pieces(pieces, entries, zeros, add, |sums| sums, added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;
    use crate::question::Statement;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    /// Records in several pieces, each with its own share, add what they add by themselves.
    #[test]
    fn every_record_adds_its_share() {
        let n = 2 * CHUNK + 5;
        let y: Vec<f64> = (0..n).map(|i| (i * 7 % 12) as f64).collect();
        let weights: Vec<f64> = (0..n).map(|i| (i % 5) as f64 / 2.0).collect();
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let target = Target::counts(0.0, 10.0, true);
        let schema = Schema::new(1, bounds, Geometry::Centred, target, true, None).unwrap();
        let statement = Statement::new(schema.clone(), n, Adjacency::ReplaceOne, 1).unwrap();
        let question = statement.mean_count(0.1, 3.0, 0.1).unwrap();
        let candidates = &question.answer.candidates;
        let x = Array2::<f64>::zeros((n, 1));
        for weights in [None, Some(&weights[..])] {
            let schema = match weights {
                Some(_) => schema.clone().with_max_weight(2.0).unwrap(),
                None => schema.clone(),
            };
            let data = BoundedData::from_dense(x.view(), &y, schema).unwrap();
            let found = (data.weighed(weights).unwrap()).about_the_mean(candidates);
            for k in [0, candidates.len() / 2, candidates.len() - 1] {
                let mut expected = [0; MeanCandidates::SUMS];
                for (i, y) in y.iter().enumerate() {
                    let share = weights.map_or(1.0, |weights| weights[i].min(2.0) / 2.0);
                    let added = candidates.contribution(k, y.min(10.0) / 10.0);
                    for (sum, added) in expected.iter_mut().zip(added) {
                        *sum += (share * added as f64).round() as i64;
                    }
                }
                let sums = &found[k * MeanCandidates::SUMS..][..MeanCandidates::SUMS];
                assert!(expected.iter().any(|&sum| sum != 0));
                assert_eq!(*sums, expected);
            }
        }
    }
}
