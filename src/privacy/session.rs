//! A release at work: the only way from records to the outside.

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use super::answer::{Answer, Room};
use super::answer::{Part, Sides};
use super::budget::Budget;
use super::checkpoint::Transcript;
use super::curator::{Curator, Taken};
use super::derived::Derived;
use super::records::Records;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::question::{Derivation, FeatureMap, Projection, Question, Split, Statement, Units};
use crate::schema::{Schema, Target};

/// What a running program may do: ask what it announced. It hands out no records, and nothing outside the room makes
/// one.
///
/// ```compile_fail,E0451
/// use dpsparse::privacy::Session;
/// fn forge(of: Session<'_>) -> Session<'_> { Session { ..of } }
/// ```
pub struct Session<'a> {
    records: Held<'a>,
    states: HashMap<u64, Box<dyn Any + Send>>,
    core: &'a mut Core,
    report: Report<'a>,
    curator: &'a Curator<'a>,
    last_read: Option<Read>,
    /// See [`Session::usual_target`].
    usual_target: f64,
    /// See [`Session::units`].
    units: Option<Units>,
    /// See [`Session::of_scores`].
    rate: f64,
}

/// A part as it was last read: the fits of a search often share it, and only the public facts decide how it is read.
struct Read {
    /// None: all records.
    positions: Option<Vec<u32>>,
    schema: Schema,
    taken: Taken,
}

/// Records of a session: all that the curator gave, or what was made of them.
pub(in crate::privacy) enum Held<'a> {
    Given(&'a dyn Records),
    Made(Box<dyn Records>),
}

impl<'a> From<&'a dyn Records> for Held<'a> {
    fn from(records: &'a dyn Records) -> Self {
        Held::Given(records)
    }
}

impl From<Box<dyn Records>> for Held<'_> {
    fn from(records: Box<dyn Records>) -> Self {
        Held::Made(records)
    }
}

/// What sessions of one release share.
pub(in crate::privacy) struct Core {
    pub budget: Budget,
    pub source: Source,
    /// Steps done of how many, both public: what is reported next.
    pub progress: Cell<(usize, usize)>,
    /// Where answers are kept, if they are.
    pub transcript: Option<Transcript>,
}

/// Hears of progress, (done, total), and may stop the release. The numbers are public; how often it hears the same ones
/// is a matter of running time ([`crate::theory_of_privacy::leaks`]).
pub type Report<'a> = &'a mut (dyn FnMut(usize, usize) -> Result<()> + 'a);

impl Held<'_> {
    fn get(&self) -> &dyn Records {
        match self {
            Held::Given(records) => *records,
            Held::Made(records) => &**records,
        }
    }
}

impl<'a> Session<'a> {
    pub(in crate::privacy) fn new(
        records: impl Into<Held<'a>>,
        core: &'a mut Core,
        report: Report<'a>,
        curator: &'a Curator<'a>,
    ) -> Self {
        Self {
            records: records.into(),
            states: HashMap::new(),
            core,
            report,
            curator,
            last_read: None,
            usual_target: 1.0,
            units: None,
            rate: 1.0,
        }
    }

    /// The public facts of the records of this session.
    pub fn statement(&self) -> &Arc<Statement> {
        self.records.get().statement()
    }

    /// About how far targets of these records are from 0, in scaled units, by what is public by now: 1, or less where a
    /// map of the targets leaves room for values that their public bounds exclude, or that few have.
    pub fn usual_target(&self) -> f64 {
        self.usual_target
    }

    /// What one unit of coefficients and targets of these records is in those of the records that they are the images
    /// of, with features mapped to [-1, 1] by their bounds; None where no map was made, or features are others since.
    pub fn units(&self) -> Option<&Units> {
        self.units.as_ref()
    }

    /// Of counts, the rate of score 0, in units of these records: r, where scores s stand for rates r e^(s/r)
    /// ([`FeatureMap::with_rate`]). 1 without a map of them. Public.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The coefficients to ask these records about for those whose scores are meant: others where counts have a
    /// [rate](Session::rate).
    pub fn of_scores<'t>(&self, theta: &'t [f64]) -> Cow<'t, [f64]> {
        if self.rate == 1.0 {
            return theta.into();
        }
        let mut theta: Vec<f64> = theta.iter().map(|theta| theta / self.rate).collect();
        if let Some(last) = theta.last_mut() {
            *last += self.rate.ln() / self.records.get().schema().intercept_value();
        }
        theta.into()
    }

    /// An answer: the question is taken off the plan, then noise or a choice is drawn. What the caller says, `at`, is
    /// public.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a question about other records, or one that is asked in a way that it does not
    /// take; [`Error::BudgetExceeded`] for one that the plan does not hold or no longer holds; all before anything is
    /// spent. [`Error::Randomness`], [`Error::Interrupted`], [`Error::Checkpoint`].
    pub fn ask<A: Answer>(&mut self, question: &Question<A>, at: A::At<'_>) -> Result<A::Released> {
        let Self {
            records,
            states,
            core,
            report,
            ..
        } = self;
        let records = records.get();
        if !records.statement().same(question.statement()) {
            return Err(Error::invalid(
                "question",
                "is about other records than those of this session",
            ));
        }
        let schema = records.schema();
        let all = schema.n_columns() == records.statement().n_columns();
        if !(all || question.answer.takes_fewer_features()) {
            return Err(Error::invalid(
                "question",
                "needs all the features that its statement speaks of",
            ));
        }
        let state =
            (states.entry(question.state_id())).or_insert_with(|| Box::<A::State>::default());
        let state = state.downcast_mut().ok_or_else(|| {
            Error::invalid("question", "shares its state with one of another kind")
        })?;
        question.answer.check(&at, schema)?;
        question.answer.check_after(&at, state)?;
        core.budget.spend(question.id())?;
        core.source.renew_after_fork()?;
        let Core {
            source,
            progress,
            transcript,
            ..
        } = &mut **core;
        let mut watch = || {
            let (done, total) = progress.get();
            report(done, total)
        };
        let room = Room {
            records,
            state,
            source: &mut *source,
            watch: &mut watch,
            progress,
        };
        let Some(transcript) = transcript else {
            return question.answer.draw(at, room);
        };
        let asked = transcript.asked(question.id(), &at);
        if let Some((answer, position)) = transcript.again(&asked)? {
            question.answer.replay(at, &answer, room)?;
            position.into_iter().for_each(|there| source.go_to(there));
            return Ok(answer);
        }
        let answer = question.answer.draw(at, room)?;
        // Before the program has it: what anyone may have seen is never drawn again.
        transcript.keep(asked, &answer, source)?;
        Ok(answer)
    }

    /// The same records after a public map of their features, as `to` states them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a statement that was not made for it ([`Statement::mapped`],
    /// [`Statement::scaled`]), and for a rate where there are no counts, or no intercept to start at it.
    pub fn mapped(&mut self, map: &FeatureMap, to: &Arc<Statement>) -> Result<Session<'_>> {
        let scaled = map.is_linear() && to.derives(self.statement(), Derivation::Scaled);
        let by = [Derivation::Mapped, Derivation::Scaled][usize::from(scaled)];
        self.derives(to, by)?;
        map.check(self.records.get().schema())?;
        map.check(to.schema())?;
        if !map.moves_targets() && to.schema().target() != self.statement().schema().target() {
            return Err(Error::invalid(
                "map",
                "must move the targets where the statement says so",
            ));
        }
        let starts = to.schema().has_intercept() && to.schema().target().units().is_some();
        if map.rate() != 1.0 && !starts {
            return Err(Error::invalid(
                "map",
                "has a rate, which is for counts and an intercept",
            ));
        }
        let by = Derived::Mapped {
            map: map.clone(),
            schema: to.schema().clone(),
        };
        let units = map.units(self.statement().schema(), to.schema());
        let made = (self.records.get()).derived(by, to)?;
        Ok(Session {
            usual_target: map.usual_target(self.usual_target),
            units: Some(units),
            rate: map.rate(),
            ..self.with(made)
        })
    }

    /// Some of the features of the records, ascending, as `to` states them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a statement that was not made for it ([`Statement::restricted`]), more features
    /// than it has, or features that are not ascending.
    pub fn restricted(&mut self, features: &[u32], to: &Arc<Statement>) -> Result<Session<'_>> {
        self.derives(to, Derivation::Restricted)?;
        // There may be fewer than the statement speaks of.
        let p = self.records.get().schema().n_features();
        let ascending = features.windows(2).all(|pair| pair[0] < pair[1])
            && features.last().is_none_or(|&j| (j as usize) < p);
        let columns = features.len() + usize::from(to.schema().has_intercept());
        if !ascending || columns == 0 || features.len() > to.schema().n_features() {
            return Err(Error::invalid(
                "features",
                "must be ascending, at most as many as the statement is for, and leave a column",
            ));
        }
        let made = (self.records.get()).derived(Derived::Restricted(features.to_vec()), to)?;
        Ok(self.with(made))
    }

    /// The features that vary, as `to` states them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a statement that was not made for it ([`Statement::varying`]).
    pub fn varying(&mut self, to: &Arc<Statement>) -> Result<Session<'_>> {
        self.derives(to, Derivation::Varying)?;
        let made = (self.records.get()).derived(Derived::Varying, to)?;
        Ok(self.with(made))
    }

    /// The same records with public scores as their only features, as `to` states them: as many as it has.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a statement that was not made for it ([`Statement::projected_scores`]),
    /// coefficients that are not one a column of each score, or targets that are not those of a regression and would
    /// change.
    pub fn projected(
        &mut self,
        projection: &Projection,
        to: &Arc<Statement>,
    ) -> Result<Session<'_>> {
        self.derives(to, Derivation::Projected)?;
        let records = self.records.get();
        if projection.theta().len() != to.schema().n_features() * records.schema().n_columns() {
            return Err(Error::invalid(
                "projection",
                "must have one coefficient a column of the records, for each score",
            ));
        }
        let reals = matches!(to.schema().target(), Target::Interval { .. });
        if projection.zoom() != 1.0 && !reals {
            return Err(Error::invalid("zoom", "is for the targets of regressions"));
        }
        let by = Derived::Projected {
            projection: projection.clone(),
            schema: to.schema().clone(),
        };
        let made = records.derived(by, to)?;
        Ok(Session {
            usual_target: (self.usual_target * projection.zoom()).min(1.0),
            ..self.with(made)
        })
    }

    /// A part of the records, read as `to` states: one side of a split that was asked for, or all of them.
    ///
    /// Positions are those among all records. A part has no parts: under add-remove, positions within it would shift
    /// for all records after the one that neighbours differ in, and name others.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a statement that was not made for it ([`Statement::part`]), a split that was not
    /// asked for, a part of a part, or, where the size of a part is public, a statement about another one.
    pub fn part(&mut self, part: Part<'_>, to: &Arc<Statement>) -> Result<Session<'_>> {
        if self.statement().is_part() {
            return Err(Error::invalid("part", "must be one of all the records"));
        }
        self.derives(to, Derivation::Part)?;
        if !self.core.budget.needs(self.statement()) {
            // They were for the split alone: parts are read anew, and never two in memory.
            if let Some(none) = self.records.get().emptied()? {
                self.records = none.into();
            }
        }
        let sides = |split: &Question<Split>| {
            let state = self.states.get(&split.state_id());
            (state.and_then(|state| state.downcast_ref::<Sides>()))
                .ok_or_else(|| Error::invalid("split", "was not asked for in this session"))
        };
        let positions = match part {
            Part::All => None,
            Part::Training(split) => Some(sides(split)?.training.as_slice()),
            Part::HeldOut(split) => Some(sides(split)?.held_out.as_slice()),
        };
        let schema = to.schema();
        let same = |read: &Read| read.positions.as_deref() == positions && read.schema == *schema;
        let taken = match self.last_read.take_if(|read| same(read)) {
            Some(read) => read.taken,
            None => {
                self.last_read = None; // before the next is read: never two in memory
                self.curator.take(positions, schema)?
            }
        };
        self.last_read = Some(Read {
            positions: positions.map(<[u32]>::to_vec),
            schema: schema.clone(),
            taken: taken.clone(),
        });
        let one_block = self.core.budget.needs_one_block(to);
        let made = self.curator.given(taken, to, one_block)?;
        Ok(self.with(made))
    }

    /// There is memory for the records that questions of the plan are about, and for no others.
    fn derives(&self, to: &Arc<Statement>, by: Derivation) -> Result<()> {
        let problem = match to.derives(self.statement(), by) {
            true if self.core.budget.expects(to) => return Ok(()),
            true => "is one that no question of the plan is about",
            false => "was not derived from that of this session in this way",
        };
        Err(Error::invalid("statement", problem))
    }

    fn with(&mut self, made: Box<dyn Records>) -> Session<'_> {
        Session {
            records: Held::Made(made),
            states: HashMap::new(),
            core: &mut *self.core,
            report: &mut *self.report,
            curator: self.curator,
            last_read: None,
            usual_target: self.usual_target,
            units: None,
            rate: self.rate,
        }
    }

    /// Records in its hands: none once they are let go.
    #[cfg(test)]
    pub(in crate::privacy) fn n_records_held(&self) -> usize {
        self.records.get().n_records()
    }

    /// Reports `done` of `total` steps (public numbers).
    ///
    /// # Errors
    /// What stops the release.
    pub fn progress(&mut self, done: usize, total: usize) -> Result<()> {
        self.core.progress.set((done, total));
        (self.report)(done, total)
    }
}
