use crate::accounting::calibrate::calibrate;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::plan::PrivacyClaim;
use crate::privacy::{
    Bounds, Claim, Geometry, Planned, Program, Question, Schema, Sealed, Session, Statement,
    Target, seal,
};
use crate::question::Gains;

/// Private maximisation of F(A) = sum over people of the largest of their values in A, |A| = k: coverage for values of
/// 0 and 1, facility location for values in [0, 1] (Gupta, Ligett, McSherry, Roth & Talwar 2010, section 3; Mitrovic,
/// Bun, Krause & Karbasi 2017).
///
/// The greedy algorithm of Nemhauser, Wolsey & Fisher 1978, its k choices made by the exact exponential mechanism
/// ([`Gains`], where neighbours, sensitivity and proof stand). **Utility**: with probability 1 - beta the set reaches
/// (1 - 1/e) times the best F less k (2 S/epsilon0) ln(p k/beta), S the largest value of a record: each choice is short
/// of the best gain by no more than (2 S/epsilon0) ln(p k/beta), and shortfalls add up.
#[derive(Debug, Clone, PartialEq)]
pub struct GreedySelection {
    /// Number of records, budget, neighbours.
    pub claim: PrivacyClaim,
    /// p, the number of elements to choose from.
    pub n_features: usize,
    /// k, how many are chosen.
    pub n_selected: usize,
    /// What the release takes for granted beside what the room does.
    pub assumptions: Vec<String>,
}

/// What a [`GreedySelection`] will release and spend, fixed before any record is read.
#[derive(Debug)]
pub struct GreedySelectionPlan {
    sealed: Sealed<Vec<usize>>,
    epsilon0: f64,
}

#[derive(Debug)]
struct Choices {
    question: Question<Gains>,
    n_selected: usize,
}

impl GreedySelection {
    /// Plans the release.
    ///
    /// ```
    /// use dpsparse::accounting::event::Adjacency;
    /// use dpsparse::exact::noise::source::Source;
    /// use dpsparse::mechanism::GreedySelection;
    /// use dpsparse::plan::PrivacyClaim;
    /// use dpsparse::privacy::{Curator, MemoryLedger, release};
    /// let greedy = GreedySelection {
    ///     claim: PrivacyClaim {
    ///         n_samples: 3000,
    ///         epsilon: 1.0,
    ///         delta: Some(1e-6),
    ///         adjacency: Adjacency::ReplaceOne,
    ///         records_per_person: 1,
    ///     },
    ///     n_features: 4,
    ///     n_selected: 2,
    ///     assumptions: vec![],
    /// };
    /// let plan = greedy.plan()?;
    /// // Elements 0 and 1 cover the same people, 2 the others.
    /// let covers = |i: usize, j: usize| [i < 2000, i < 1900, i >= 2000, false][j];
    /// let x = ndarray::Array2::from_shape_fn((3000, 4), |(i, j)| f64::from(u8::from(covers(i, j))));
    /// let (curator, mut ledger) = (Curator::from_dense(x.view(), &[1.0; 3000]), MemoryLedger::default());
    /// let released = release(plan.sealed(), &curator, &mut ledger, Source::secure()?, &mut |_, _| Ok(()))?;
    /// assert!(released.value.contains(&2) && released.certificate.verify());
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming the public parameter that is out of its domain.
    pub fn plan(&self) -> Result<GreedySelectionPlan> {
        let claim = self.claim;
        let delta = claim.validate()?;
        let (k, p) = (self.n_selected, self.n_features);
        if p == 1 {
            return Err(Error::invalid("n_features", "= 1 leaves nothing to choose"));
        }
        if k == 0 || k >= p {
            let problem = format!(
                "must be between 1 and {}, one less than there are elements",
                p.saturating_sub(1)
            );
            return Err(Error::invalid("n_selected", problem));
        }
        let bounds = Bounds {
            lower: vec![0.0],
            upper: vec![1.0],
        };
        let (geometry, target) = (Geometry::Uncentred, Target::Classes);
        let schema = Schema::new(p, bounds, geometry, target, false, None)?;
        let (n, person) = (claim.n_samples, claim.records_per_person);
        let statement = Statement::new(schema, n, claim.adjacency, person)?;
        let bracket = (1e-12, 1000.0);
        let epsilon0 = calibrate(Event::exponential, k as u64, claim.epsilon, delta, bracket)
            .map_err(|_: Error| Error::invalid("epsilon", "is too small for so many choices"))?;
        let room_claim = Claim {
            epsilon: claim.epsilon,
            delta,
            mechanism: format!(
                "greedy maximisation of coverage or facility location, {k} of {p} elements, epsilon0 = {epsilon0:.4} a choice"
            ),
            assumptions: self.assumptions.clone(),
        };
        let choices = Choices {
            question: statement.gains(epsilon0)?,
            n_selected: k,
        };
        Ok(GreedySelectionPlan {
            sealed: seal(&statement, Box::new(choices), room_claim)?,
            epsilon0,
        })
    }
}

impl Program<Vec<usize>> for Choices {
    fn questions(&self) -> Vec<Planned> {
        vec![self.question.times(self.n_selected as u64)]
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Vec<usize>> {
        let mut chosen: Vec<u32> = Vec::with_capacity(self.n_selected);
        for t in 0..self.n_selected {
            let next = session.ask(&self.question, &chosen[..])?;
            chosen.push(next);
            session.progress(t + 1, self.n_selected)?;
        }
        Ok(chosen.into_iter().map(|j| j as usize).collect())
    }
}

impl GreedySelectionPlan {
    /// The sealed program: the chosen elements in the order of their choice.
    pub fn sealed(&self) -> &Sealed<Vec<usize>> {
        &self.sealed
    }

    /// What one choice costs: its bounded range.
    pub fn epsilon0(&self) -> f64 {
        self.epsilon0
    }
}
