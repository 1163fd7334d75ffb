//! Noisy sums of vectors that are made anew in every round ([`RunningSumsPlan`]).

use ndarray::{ArrayView1, ArrayView2};

use super::release::Witness;
use crate::accounting::event::Adjacency;
use crate::certificate::ledger::{Entry, Ledger};
use crate::certificate::owner::Owner;
use crate::certificate::{Certificate, Terms};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::question::{LENGTH, RunningSumsPlan};
use crate::schema::Bounds;

/// A run of noisy sums at work.
pub struct RunningSums {
    plan: RunningSumsPlan,
    source: Source,
    round: u64,
    owner: Owner,
}

impl RunningSums {
    /// All rounds are committed to the ledger now.
    ///
    /// # Errors
    /// What the ledger refuses.
    pub fn new(plan: RunningSumsPlan, source: Source, ledger: &mut dyn Ledger) -> Result<Self> {
        let run = Self {
            plan,
            source,
            round: 0,
            owner: Owner::default(),
        };
        ledger.commit(&Entry {
            certificate: run.certificate(),
            records_per_person: 1,
            release: None,
        })?;
        Ok(run)
    }

    /// The noisy sum of the rows, one a person, each shortened to the bound. A row with an entry that is not finite
    /// counts as zeros: an error would tell of it.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] after the last round, [`Error::InvalidData`] for rows of another length or, under
    /// replace-one, of another number, [`Error::UnsoundMechanism`] in a process that was forked from the run's, all
    /// before anything is drawn; [`Error::Randomness`].
    pub fn sum(&mut self, vectors: ArrayView2<'_, f64>) -> Result<Vec<f64>> {
        self.owner
            .check("this run of rounds", "make all of them in one process")?;
        let plan = &self.plan;
        let Some(noise) = plan.noise_of(self.round) else {
            return Err(Error::BudgetExceeded(format!(
                "the budget holds {} rounds, which are used up",
                plan.n_rounds()
            )));
        };
        let counted = plan.adjacency == Adjacency::ReplaceOne;
        let (n, p) = vectors.dim();
        if p != plan.n_features || (counted && n != plan.n_people) {
            let problem = "must have one row per person and one column per element";
            return Err(Error::InvalidData(format!("vectors {problem}")));
        }
        if n >= 1 << 31 {
            return Err(Error::InvalidData("vectors are too many".into()));
        }
        // It is counted before it is drawn.
        self.round += 1;
        let mut sums = vec![0i64; p];
        let mut row = vec![0i64; p];
        for vector in vectors.rows() {
            shorten(vector, plan.norm, &mut row);
            sums.iter_mut().zip(&row).for_each(|(sum, x)| *sum += x);
        }
        let noisy = noise.add(&noise.floored(sums), 1.0, &mut self.source)?;
        let unit = noise.unit() * plan.unit();
        Ok(noisy.into_iter().map(|entry| entry as f64 * unit).collect())
    }

    /// Rounds so far.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// The public facts.
    pub fn plan(&self) -> &RunningSumsPlan {
        &self.plan
    }

    /// What all rounds cost, whether or not they were made.
    pub fn certificate(&self) -> Certificate {
        let plan = &self.plan;
        let unit = match plan.adjacency {
            Adjacency::ReplaceOne => "the data of one person, replaced by another's",
            Adjacency::AddRemove => "one person, present or absent",
        };
        let terms = Terms {
            mechanism: plan.mechanism.clone(),
            claim: plan.claim,
            adjacency: plan.adjacency,
            unit: unit.into(),
            n_samples: plan.n_people,
            n_features: plan.n_features,
            bounds: Bounds {
                lower: vec![-plan.norm],
                upper: vec![plan.norm],
            },
            row_norm: Some(plan.norm),
            target: None,
            assumptions: vec![
                "the number of elements, the bound on a person's vector and the number of rounds are public".into(),
                "a person's vector of a round is a function of that person's data and of what was released".into(),
                "running time is outside the guarantee".into(),
            ],
            secure: self.source.is_secure(),
            certified: true,
        };
        Certificate::new(terms, plan.events.clone(), &Witness::new())
    }
}

/// `vector` in units of bound/2^20, of a norm of at most 2^20 in these: shortened, then rounded towards zero.
fn shorten(vector: ArrayView1<'_, f64>, bound: f64, out: &mut [i64]) {
    // In units of the bound, so that squares neither overflow nor vanish.
    let largest = vector.iter().fold(0.0f64, |a, &x| a.max((x / bound).abs()));
    if !largest.is_finite() || vector.iter().any(|x| !x.is_finite()) {
        return out.fill(0);
    }
    let size = largest.max(1.0);
    let squares: f64 = vector.iter().map(|x| (x / bound / size).powi(2)).sum();
    let norm = squares.sqrt() * size;
    let length = LENGTH as f64 / norm.max(1.0);
    for (out, x) in out.iter_mut().zip(vector) {
        *out = (x / bound * length).trunc() as i64;
    }
    // Floats may leave it a little too long; each is exactly what it is now.
    let square = |out: &[i64]| -> u128 {
        let squares = out.iter().map(|x| u128::from(x.unsigned_abs()).pow(2));
        squares.sum()
    };
    let most = u128::from(LENGTH.unsigned_abs()).pow(2);
    // Rounding of `norm` is far below one of 2^20 units, and one unit less in every entry is at least half a one less
    // in the norm.
    if square(out) > most {
        out.iter_mut().for_each(|x| *x -= x.signum());
    }
    // The bound does not rest on that, and no data move how often this runs.
    if square(out) > most {
        out.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::MemoryLedger;
    use ndarray::Axis;
    use proptest::prelude::*;

    fn plan(adjacency: Adjacency, multiplier: f64) -> RunningSumsPlan {
        let rounds = [(2, multiplier), (1, multiplier)];
        RunningSumsPlan::new((3, 4), 2.0, adjacency, (50.0, 1e-6), &rounds, "test".into()).unwrap()
    }

    proptest! {
        /// No vector is longer than the bound, whatever floats do, and short ones are what they were.
        #[test]
        fn vectors_are_shortened(
            entries in prop::collection::vec(prop::num::f64::ANY, 1..6),
            bound in prop::sample::select(vec![1e-90, 1e-3, 1.0, 7.0, 1e90]),
            near in any::<bool>(),
        ) {
            let entries: Vec<f64> = if near {
                entries.iter().map(|x| if x.is_finite() { (x % 2.0) * bound } else { 0.0 }).collect()
            } else { entries };
            let mut out = vec![0i64; entries.len()];
            shorten(ArrayView1::from(&entries), bound, &mut out);
            let square: u128 = out.iter().map(|x| u128::from(x.unsigned_abs()).pow(2)).sum();
            prop_assert!(square <= 1 << 40);
            let norm = entries.iter().map(|x| (x / bound).powi(2)).sum::<f64>().sqrt();
            if norm < 1.0 - 1e-9 {
                for (out, x) in out.iter().zip(&entries) {
                    prop_assert!((*out as f64 - x / bound * LENGTH as f64).abs() <= 1.0);
                }
            } else if norm.is_finite() {
                prop_assert!((square as f64).sqrt() >= 0.999 * LENGTH as f64);
            }
        }
    }

    #[test]
    fn sums_are_what_they_should_be_within_their_noise() {
        let mut ledger = MemoryLedger::default();
        let plan = plan(Adjacency::ReplaceOne, 1.0);
        let noise = plan.noise_scale(0).unwrap();
        assert!((noise / 4.0 - 1.0).abs() < 1e-6); // twice the bound
        assert_eq!(plan.noise_scale(3), None);
        let mut run = RunningSums::new(plan, Source::seeded(1), &mut ledger).unwrap();
        assert_eq!(ledger.entries().len(), 1);
        let vectors = ndarray::array![
            [1.0, 0.0, 0.0, 0.5],
            [0.0, 30.0, 0.0, 0.0],
            [f64::NAN, 1.0, 0.0, 0.0]
        ];
        for _ in 0..3 {
            let sum = run.sum(vectors.view()).unwrap();
            for (found, expected) in sum.iter().zip([1.0, 2.0, 0.0, 0.5]) {
                assert!((found - expected).abs() < 6.0 * noise); // 1e-8 an entry
            }
        }
        assert!(matches!(
            run.sum(vectors.view()),
            Err(Error::BudgetExceeded(_))
        ));
        assert!(!run.certificate().verify()); // seeded
        let plan = self::plan(Adjacency::AddRemove, 1.0);
        assert!((plan.noise_scale(0).unwrap() / 2.0 - 1.0).abs() < 1e-6);
        let mut run = RunningSums::new(plan, Source::secure().unwrap(), &mut ledger).unwrap();
        assert!(run.certificate().verify());
        assert!(run.sum(vectors.slice_axis(Axis(0), (0..2).into())).is_ok());
        assert!(run.sum(vectors.slice_axis(Axis(1), (0..2).into())).is_err());
        assert_eq!(run.round(), 1);
    }

    /// Where noise hides nothing: rows add up, each shortened to the bound; a row that is not finite counts as zeros.
    #[test]
    fn sums_are_those_of_shortened_rows() {
        let (adjacency, rounds) = (Adjacency::ReplaceOne, [(3, 1e-4)]);
        let claim = (1e10, 1e-6);
        let plan = RunningSumsPlan::new((3, 2), 2.0, adjacency, claim, &rounds, "test".into());
        let (plan, mut ledger) = (plan.unwrap(), MemoryLedger::default());
        let noise = plan.noise_scale(0).unwrap();
        let mut run = RunningSums::new(plan, Source::seeded(1), &mut ledger).unwrap();
        for (rows, expected) in [
            ([[1.0, 0.5], [-0.25, 1.0], [0.0, 0.0]], [0.75, 1.5]),
            ([[3.0, 4.0], [0.5, -1.0], [0.25, 0.25]], [1.95, 0.85]),
            (
                [[f64::INFINITY, 1.0], [1.0, f64::NAN], [-0.5, 0.125]],
                [-0.5, 0.125],
            ),
        ] {
            let sum = run.sum(ndarray::arr2(&rows).view()).unwrap();
            for (found, expected) in sum.iter().zip(expected) {
                // A unit of 2^-20 an entry of each row, and noise: 1e-8 an entry.
                assert!((found - expected).abs() < 6.0 * noise + 3.0 * 2.0 / LENGTH as f64);
            }
        }
        assert_eq!((run.round(), noise < 1e-3), (3, true));
    }

    #[test]
    fn rounds_that_cost_more_than_the_claim_are_refused() {
        let make = |multiplier: f64| {
            let (rounds, claim) = ([(10, multiplier)], (1.0, 1e-6));
            RunningSumsPlan::new(
                (3, 4),
                2.0,
                Adjacency::ReplaceOne,
                claim,
                &rounds,
                "test".into(),
            )
        };
        assert!(make(1.0).is_err() && make(20.0).is_ok());
    }

    /// A vector at the bound stays as long as it is; one that is longer by any factor that floats hold becomes as long.
    #[test]
    fn the_longest_vectors_are_those_at_the_bound() {
        let shortened = |entries: &[f64], bound: f64| {
            let mut out = vec![0i64; entries.len()];
            shorten(ArrayView1::from(entries), bound, &mut out);
            out
        };
        assert_eq!(shortened(&[0.0, -2.0], 2.0), [0, -LENGTH]);
        assert_eq!(shortened(&[1.2, 1.6], 2.0)[0], LENGTH * 3 / 5);
        for size in [1e160, 1e200, 1e300] {
            let out = shortened(&[3.0 * size, -4.0 * size], 7.0);
            assert!((out[0] - LENGTH * 3 / 5).abs() <= 1, "{out:?}");
            assert!((out[1] + LENGTH * 4 / 5).abs() <= 1, "{out:?}");
        }
        assert_eq!(shortened(&[1e300, 1.0], 1e-90), [0, 0]);
    }

    /// Each of these squares is rounded down by nearly half a unit when it is added: the sum is so much too small that
    /// the entries, rounded towards zero, are still too long together. They lose a unit each, and no more.
    #[test]
    fn roundings_that_add_up_lengthen_no_vector() {
        let (entry, n) = (0.700_000_000_005_041_1, 1 << 16);
        let mut entries = vec![entry; n];
        entries.push(entry / 4096.0);
        let squares: f64 = entries.iter().map(|x| x * x).sum();
        let length = LENGTH as f64 / squares.sqrt();
        let plain = entries.iter().map(|x| (x * length) as i64);
        assert_eq!(plain.map(|x| x * x).sum::<i64>(), LENGTH * LENGTH + 1);
        let mut out = vec![0i64; entries.len()];
        shorten(ArrayView1::from(&entries), 1.0, &mut out);
        assert!(out[..n].iter().all(|&x| x == 4095) && out[n] == 0);
    }
}
