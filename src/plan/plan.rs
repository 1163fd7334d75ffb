use crate::accounting::event::Event;
use crate::error::Result;
use crate::plan::{Problem, Trace};
use crate::privacy::{Planned, Program, Question, Sealed, Session, for_reproduction, seal};
use crate::question::Point;

/// What a fit will do, fixed before any record is read: the sealed program, and what it says of itself.
#[derive(Debug)]
pub struct Plan {
    /// The public statement that the plan was made for.
    pub problem: Problem,
    /// What is known of the fit beforehand.
    pub summary: Summary,
    sealed: Sealed<Fitted>,
}

/// What is known of a fit before it, from public facts alone.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// The mechanism in words.
    pub mechanism: String,
    /// Iterations.
    pub n_iter: usize,
    /// Scale of the noise, in units of the mean loss.
    pub noise_scale: f64,
    /// Predicted excess of the mean training loss over the best model of the constraint set.
    pub predicted_excess_risk: f64,
    /// Further public numbers that the plan fixed, by name: what a rule chose where the user left it open.
    pub parameters: Vec<(&'static str, f64)>,
    /// The question whose point is all that leaves, where the mechanism is of that kind: a curator may look at it
    /// without noise.
    pub point: Option<Question<Point>>,
}

/// What a fit lets out.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Coefficients in scaled units: the features, then the intercept where there is one; of a softmax model so for
    /// class 0, then for class 1, and so on.
    pub scaled: Vec<f64>,
    /// Released ranges in scaled units, one per feature; None: none were released.
    pub feature_ranges: Option<FeatureRanges<Vec<(f64, f64)>>>,
    /// Whether features are clipped at the smaller limit of their map, where it has one
    /// ([`Units::near`](crate::question::Units::near)).
    pub near: bool,
    /// What steps released on their way, where intervals can be had from it.
    pub trace: Option<Box<Trace>>,
}

/// Ranges of features that were released, public ones in their place where a feature has none.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRanges<T> {
    /// The ranges, one per feature.
    pub of: T,
    /// Whether features are clipped to them before the coefficients apply, in the fit and in predictions alike;
    /// otherwise they gave the units of the fit alone, and the model is linear everywhere.
    pub clips: bool,
}

impl<T> FeatureRanges<T> {
    /// The same ranges as something else.
    pub fn map<U>(self, map: impl FnOnce(T) -> U) -> FeatureRanges<U> {
        let Self { of, clips } = self;
        FeatureRanges { of: map(of), clips }
    }
}

impl From<Vec<f64>> for Fitted {
    /// A model that is linear everywhere.
    fn from(scaled: Vec<f64>) -> Self {
        Self {
            scaled,
            feature_ranges: None,
            near: false,
            trace: None,
        }
    }
}

impl Plan {
    /// Seals a program for a problem.
    ///
    /// # Errors
    /// [`crate::Error::UnsoundMechanism`] where its questions cost more than the problem's epsilon and delta.
    pub fn seal(
        problem: Problem,
        program: impl Program<Fitted> + 'static,
        summary: Summary,
    ) -> Result<Self> {
        let claim = problem.room_claim(&summary.mechanism)?;
        let sealed = seal(&problem.statement, Box::new(program), claim)?;
        Ok(Self {
            problem,
            summary,
            sealed,
        })
    }

    /// The same without a guarantee, to reproduce figures with.
    ///
    /// # Errors
    /// Public parameters out of their domains.
    pub fn for_reproduction(
        problem: Problem,
        program: impl Program<Fitted> + 'static,
        summary: Summary,
    ) -> Result<Self> {
        let claim = problem.room_claim(&summary.mechanism)?;
        let sealed = for_reproduction(&problem.statement, Box::new(program), claim)?;
        Ok(Self {
            problem,
            summary,
            sealed,
        })
    }

    /// The sealed program.
    pub fn sealed(&self) -> &Sealed<Fitted> {
        &self.sealed
    }

    /// The questions, to be planned for by a larger program.
    pub fn questions(&self) -> &[Planned] {
        self.sealed.questions()
    }

    /// Runs the program within a larger one, whose session holds its questions.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run_within(&self, session: &mut Session<'_>) -> Result<Fitted> {
        self.sealed.run_within(session)
    }

    /// The program and what it says of itself, to be asked by a larger one.
    pub fn into_program(self) -> (Box<dyn Program<Fitted>>, Summary) {
        (self.sealed.into_program(), self.summary)
    }

    /// The events that a run will spend, with their counts.
    pub fn events(&self) -> &[(Event, u64)] {
        self.sealed.events()
    }

    /// The mechanism in words, with the reason why it was chosen where there is one.
    pub fn mechanism(&self) -> &str {
        &self.sealed.claim().mechanism
    }

    /// epsilon that the release will carry.
    pub fn epsilon(&self) -> f64 {
        self.sealed.claim().epsilon
    }

    /// delta that the release will carry.
    pub fn delta(&self) -> f64 {
        self.sealed.claim().delta
    }

    /// Bytes that the records of a dense table take at most while a run holds them, beside the table itself:
    /// [`Sealed::bytes_of_table`].
    ///
    /// # Errors
    /// As there.
    pub fn memory(&self) -> Result<u128> {
        self.sealed.bytes_of_table()
    }

    /// Whether its guarantee is proved.
    pub fn certified(&self) -> bool {
        self.sealed.certified()
    }
}
