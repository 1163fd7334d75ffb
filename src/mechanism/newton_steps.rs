//! Noisy Newton steps: what noisy-newton, its last line and the refit of a selection share
//! ([`crate::theory_of_privacy::noisy_gradients`], [`crate::theory_of_privacy::select_refit`]).

use nalgebra::{DMatrix, DVector, Dyn, SymmetricEigen};

use super::class_scores::ClassScores;
use super::class_shrinkage::{Differences, Propagation};
use super::damping::Damping;
use super::divisor::Divisor;
use super::evidence::{Evidence, law_of_scores, with_eigenvalues};
use super::newton_descent::{Descent, Reached};
use super::noisy_gradient::Gradients;
use super::odds_line::ScoreLaw;
use super::pace::Pace;
use super::regularisation::{MOST, Regularisation};
use super::ridge::Ridge;
use crate::accounting::calibrate::calibrate_events;
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result, non_negative};
use crate::loss::Growth;
use crate::numeric::eigen::symmetric_eigen;
use crate::plan::defaults::{NEWTON_COLUMNS, NEWTON_SHARE, STEEPER};
use crate::plan::{Problem, Trace, frame};
use crate::privacy::{Planned, Question, Schema, Session};
use crate::question::Moments;

/// No mean weight is taken for less: below, noise could decide it.
const LEAST_MEAN_WEIGHT: f64 = 0.01;

/// Dampings below are lost in the rounding of moments, in which a flat direction may have no curvature at all then.
const LEAST_DAMPING: f64 = 1e-10;

/// What users may set; None: the public rules.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NewtonOptions {
    pub n_iter: Option<usize>,
    pub share: Option<f64>,
    pub damping: Option<f64>,
    pub ridge: Option<f64>,
    /// Gradients beside those of the steps.
    pub probes: usize,
}

impl NewtonOptions {
    fn share(&self, problem: &Problem) -> f64 {
        let usual = match problem.statement.n_columns() > NEWTON_COLUMNS {
            true => 0.0,
            false => NEWTON_SHARE[usize::from(!needs_moments(problem))],
        };
        self.share.unwrap_or(usual)
    }

    /// Whether second moments are released.
    pub fn moments(&self, problem: &Problem) -> bool {
        self.share(problem) > 0.0
    }

    /// Whether intervals can be had from a regression's steps, if it is known how large residuals are: there are
    /// moments, and records are independent.
    pub fn intervals(&self, problem: &Problem) -> bool {
        let independent =
            problem.records_per_person() == 1 && problem.adjacency() == Adjacency::ReplaceOne;
        squares_reals(problem) && independent && self.moments(problem)
    }

    /// The share of the moments, after checks of all that users may set.
    fn checked_share(&self, problem: &Problem) -> Result<f64> {
        let share = self.share(problem);
        if !(0.0..1.0).contains(&share) {
            return Err(Error::invalid("share", "must be at least 0 and below 1"));
        }
        non_negative("ridge", self.ridge.unwrap_or(0.0))?;
        if !(LEAST_DAMPING..=MOST).contains(&self.damping.unwrap_or(1.0)) {
            let problem = "must be positive, between 1e-10 and 1e100";
            return Err(Error::invalid("damping", problem));
        }
        Ok(share)
    }
}

/// Whether residuals of reals are squared.
fn squares_reals(problem: &Problem) -> bool {
    let squared = problem.loss.growth() == Growth::SquaredResidual;
    squared && !problem.schema().target().is_classes()
}

/// Whether more than steps rests on second moments: intervals, or the spread of the scores of several classes.
fn needs_moments(problem: &Problem) -> bool {
    squares_reals(problem) || problem.outputs() > 1
}

/// One release of second moments, unless they are too many, and T of gradients; and the constants of the steps.
#[derive(Debug, Clone)]
pub(super) struct NewtonSteps {
    /// None: steps are divided by lambda alone.
    moments: Option<Question<Moments>>,
    pub gradients: Gradients,
    /// Gradients that are left for others to ask for, once steps are made.
    pub probes: usize,
    momentum: f64,
    stride: f64,
    pub first_of_mean: usize,
    /// In units of the Hessian of the mean loss.
    pub damping: Damping,
    /// What a feature usually adds to a score.
    effect: f64,
    pub ridge: f64,
    /// Bound on the curvature of the loss over n.
    scale: f64,
    normaliser: f64,
    /// R: rows are no longer, or count less.
    largest_row: f64,
    /// Bound on slopes, and whether longer rows count less.
    clamp: f64,
    weighs: bool,
    intercept: f64,
    pub scores: ClassScores,
}

/// What steps release.
#[derive(Debug)]
pub(super) struct Steps {
    /// The mean of the iterates but for the first ones, in scaled units, score by score.
    pub theta: Vec<f64>,
    /// About the variance of scores that is noise.
    pub noise: f64,
    /// About the root of the mean square of scores, where moments tell it.
    pub deviation: Option<f64>,
    /// About the mean and the standard deviation of each score, where moments and an intercept tell both.
    pub scores: Option<Vec<ScoreLaw>>,
    /// How many times as large scores should be around their means, as far as gradients and not their noise ask for it;
    /// of scores whose laws are known, without a ridge or a norm, before three or more classes follow it.
    pub slope: Option<f64>,
    /// About the share that records count by.
    pub mean_weight: f64,
    /// Where there are moments; of several scores, what steps found before their differences were stretched.
    pub evidence: Option<Evidence>,
    pub trace: Option<Box<Trace>>,
}

/// Where steps start, and which coefficients the ridge draws to it.
#[derive(Debug, Clone)]
pub(super) struct Start {
    pub theta: Vec<f64>,
    /// So many of the first coefficients of every score.
    pub drawn: usize,
}

impl NewtonSteps {
    /// Calibrated so that with `companions`, events that the release spends besides, (epsilon, delta) of `problem` is
    /// met.
    pub fn plan(
        problem: &Problem,
        options: NewtonOptions,
        companions: &[(Event, u64)],
    ) -> Result<Self> {
        let delta = problem.validate()?;
        // However many steps there are: they and the moments cost together what one Gaussian mechanism costs (Dong,
        // Roth & Su 2022, corollary 2).
        let events = |multiplier: f64| {
            let mut events = companions.to_vec();
            events.push((Event::gaussian(1.0, multiplier)?, 1));
            Ok::<_, Error>(events)
        };
        let multiplier = calibrate_events(events, problem.epsilon, delta, (1e-3, 1e7))
            .map_err(|_| Error::invalid("epsilon", "is too small for noisy-newton"))?;
        Self::with_multiplier(problem, options, multiplier)
    }

    /// With one multiplier for both: the inverse squares of theirs add up to its own.
    pub fn with_multiplier(
        problem: &Problem,
        options: NewtonOptions,
        multiplier: f64,
    ) -> Result<Self> {
        let share = options.checked_share(problem)?;
        let of_all = multiplier / (1.0 - share).sqrt();
        let noise = Gradients::with_multiplier(problem, 1, of_all)?.noise_scale;
        let moments = (share > 0.0)
            .then(|| (problem.statement).moments(multiplier / share.sqrt()))
            .transpose()?;
        let pace = Pace::new(problem, &options, noise, moments.as_ref());
        let steps = of_all * ((pace.n_iter + options.probes) as f64).sqrt();
        let normaliser = 1.0 / problem.n_samples() as f64;
        let gradients = Gradients::with_multiplier(problem, pace.n_iter, steps)?;
        let n_iter = pace.n_iter as f64;
        let of_one = n_iter * pace.stride;
        let columns = problem.statement.n_columns() as f64;
        Ok(Self {
            effect: pace.effect,
            moments,
            damping: Damping {
                least: pace.damping,
                n_iter: of_one,
                noise: gradients.noise_scale / n_iter.sqrt(),
                // A row of length R whose p entries are alike has entries of R/sqrt(p).
                usual: pace.effect * columns.sqrt() / problem.gradient_bound(),
                hidden: pace.hidden,
            },
            gradients,
            probes: options.probes,
            momentum: pace.momentum,
            stride: pace.stride,
            first_of_mean: pace.first_of_mean,
            ridge: options.ridge.unwrap_or(0.0),
            scale: pace.curvature * normaliser,
            normaliser,
            largest_row: problem.gradient_bound(),
            clamp: problem.lipschitz(),
            weighs: problem.schema().gradient_norm().is_some(),
            intercept: problem.schema().intercept_value(),
            scores: ClassScores(problem.outputs()),
        })
    }

    /// The same steps where the curvature is so much of what it is at scores of 0. Gradients say less of what is to be
    /// found then, and the ridge draws to the start by as much more.
    pub fn with_curvature(&self, curvature: f64) -> Self {
        Self {
            scale: curvature * self.scale,
            damping: Damping {
                least: curvature * self.damping.least,
                hidden: curvature * self.damping.hidden,
                ..self.damping
            },
            ridge: self.ridge / curvature,
            ..self.clone()
        }
    }

    /// K: scores of a record.
    pub fn outputs(&self) -> usize {
        self.scores.0
    }

    pub fn planned(&self) -> Vec<Planned> {
        let moments = self.moments.iter().map(Question::once);
        let gradients = (self.gradients.question).times(self.asked());
        moments.chain([gradients]).collect()
    }

    pub fn events(&self) -> Vec<(Event, u64)> {
        let asked = self.asked();
        let gradients = self.gradients.question.events().iter();
        let gradients = gradients.map(|&(event, count)| (event, count * asked));
        let moments = self.moments.iter().flat_map(Question::events).copied();
        moments.chain(gradients).collect()
    }

    /// Gradients that are paid for.
    fn asked(&self) -> u64 {
        (self.gradients.n_iter + self.probes) as u64
    }

    pub fn describe(&self, ridge: f64) -> String {
        let moments = match self.moments {
            Some(_) => "",
            None => " without second moments",
        };
        format!(
            "noisy-newton with ridge {ridge}, {} steps damped by {:.3e}{moments}",
            self.gradients.n_iter, self.damping.least
        )
    }

    /// From `start`, for records with one column a coefficient of each score, the intercept's last: as many as planned
    /// for, or fewer.
    ///
    /// `progress(session, t)` is called after every step.
    pub fn run(
        &self,
        session: &mut Session<'_>,
        start: &Start,
        beside: &Regularisation,
        progress: &dyn Fn(&mut Session<'_>, usize) -> Result<()>,
    ) -> Result<Steps> {
        progress(session, 0)?;
        let moments = (self.moments.as_ref())
            .map(|moments| session.ask(moments, ()))
            .transpose()?;
        let columns = start.theta.len() / self.scores.0;
        let mean_weight = (moments.as_deref()).map_or(1.0, |moments| {
            self.mean_weight(moments, session.statement().schema())
        });
        let eigen = (moments.as_deref())
            .map(|moments| symmetric_eigen(DMatrix::from_column_slice(columns, columns, moments)));
        let mut trace = (moments.zip(eigen.as_ref()))
            .filter(|_| self.scores.0 == 1)
            .map(|(moments, eigen)| self.trace(moments, &eigen.eigenvalues));
        let ridge = beside.ridge.as_ref();
        let damping = self.damping_of(session);
        let noise = self.noise(eigen.as_ref(), columns, ridge, &damping) / mean_weight;
        let divisor = Divisor {
            moments: eigen.as_ref(),
            scale: self.scale,
            damping,
            of_step: true,
            shared: self.ridge,
            ridge,
            columns,
        };
        let descent = Descent::new(self, start, divisor, beside)?;
        let reached = self.descend(session, descent, trace.as_mut(), progress)?;
        let intercept = start.drawn < columns;
        let mut steps = self.steps_of(reached, eigen, trace, (noise, mean_weight), intercept);
        // Those that a ridge or a norm holds should not be larger, whatever the loss asks for.
        if beside.ridge.is_none() && beside.sparsity.is_none() {
            steps.slope = self.slope(&steps, &damping);
        }
        if self.scores.0 > 1 {
            steps.stretch(&self.propagation(damping, ridge), self.scores, intercept);
        }
        Ok(steps)
    }

    /// Asks for all gradients, one a step, and keeps them in the trace.
    fn descend(
        &self,
        session: &mut Session<'_>,
        mut descent: Descent<'_>,
        mut trace: Option<&mut Trace>,
        progress: &dyn Fn(&mut Session<'_>, usize) -> Result<()>,
    ) -> Result<Reached> {
        for t in 0..self.gradients.n_iter {
            let gradient = self.gradients.ask(session, descent.theta())?;
            let mut gradient = DVector::from_vec(gradient);
            gradient *= self.normaliser;
            if let Some(trace) = &mut trace {
                trace.points.extend_from_slice(descent.theta());
                trace.gradients.extend_from_slice(gradient.as_slice());
            }
            self.scores.project(gradient.as_mut_slice());
            let too_long = descent.step(t, gradient)?;
            if let (true, Some(trace)) = (too_long, &mut trace) {
                trace.keep_last();
            }
            progress(session, t + 1)?;
        }
        descent.end()
    }

    /// The steps as they act on noise.
    fn propagation(&self, damping: Damping, ridge: Option<&Ridge>) -> Propagation {
        Propagation {
            n_iter: self.gradients.n_iter,
            first_of_mean: self.first_of_mean,
            momentum: self.momentum(),
            stride: self.stride,
            damping,
            ridge: self.ridge + ridge.map_or(0.0, Ridge::mean),
            scale: self.scale,
            noise: self.gradients.noise_scale,
        }
    }

    /// What steps release, with the moments, where they are known.
    fn steps_of(
        &self,
        reached: Reached,
        moments: Option<SymmetricEigen<f64, Dyn>>,
        trace: Option<Trace>,
        (noise, mean_weight): (f64, f64),
        intercept: bool,
    ) -> Steps {
        let per_record = self.normaliser / mean_weight;
        let noise_of_moments = self.moment_noise();
        let scores = moments.as_ref().filter(|_| intercept).and_then(|moments| {
            let theta = reached.mean.as_slice();
            (theta.chunks(theta.len() / self.scores.0))
                .map(|theta| {
                    let theta = DVector::from_column_slice(theta);
                    law_of_scores(
                        moments,
                        noise_of_moments,
                        &theta,
                        self.intercept,
                        per_record,
                    )
                })
                .collect()
        });
        let evidence = moments.map(|moments| Evidence {
            moments,
            scale: self.scale,
            theta: reached.at,
            gradient: reached.mean_gradient,
            variance: self.noise_of(reached.gradients).powi(2),
            secant: reached.secant,
        });
        let mean = reached.mean;
        let deviation = |evidence: &Evidence| (evidence.squares(&mean) * per_record).sqrt();
        let of_one = evidence.as_ref().filter(|_| self.scores.0 == 1);
        let theta = mean.as_slice().to_vec();
        Steps {
            noise,
            slope: None,
            deviation: of_one.map(deviation),
            scores,
            mean_weight,
            evidence,
            trace: trace.map(|trace| {
                let theta = theta.clone();
                Box::new(Trace { theta, ..trace })
            }),
            theta,
        }
    }

    /// [`Steps::slope`] of what these steps released.
    fn slope(&self, released: &Steps, damping: &Damping) -> Option<f64> {
        let evidence = released.evidence.as_ref()?;
        let laws = released.scores.as_ref()?;
        let of_one = (damping.noise * self.scores.noise()).powi(2);
        let along = -of_one * self.scores.0 as f64 * self.followed(evidence, damping);
        evidence.slope(&released.theta, laws, self.intercept, along)
    }

    /// How much of noise on their mean gradient steps have followed: the sum over the eigenvectors.
    fn followed(&self, evidence: &Evidence, damping: &Damping) -> f64 {
        let curvatures = evidence.moments.eigenvalues.iter();
        curvatures
            .map(|value| (self.scale * value).max(0.0))
            .map(|curvature| 1.0 / (curvature + self.acts_as(damping, curvature)))
            .sum()
    }

    /// For the images of a session, where it is public what they are divided by.
    fn damping_of(&self, session: &Session<'_>) -> Damping {
        let images = session.units().map(|units| units.norm * session.rate());
        let usual = images.map_or(self.damping.usual, |unit| self.effect * unit);
        Damping {
            usual,
            ..self.damping
        }
    }

    pub fn momentum(&self) -> f64 {
        if self.gradients.n_iter == 1 {
            0.0
        } else {
            self.momentum
        }
    }

    /// How many times what steps are divided by the curvature may be so that they converge (Polyak 1964).
    pub fn stable(&self) -> f64 {
        let momentum = self.momentum();
        2.0 * (1.0 + momentum) / (1.0 - momentum) / self.stride
    }

    /// The stride of step t: the first is as long as the bound on the curvature, which at a score of 0 is the
    /// curvature, lets it be, and every further one half of that longer.
    pub fn stride(&self, t: usize) -> f64 {
        (1.0 + 0.5 * t as f64).min(self.stride)
    }

    /// The first step whose gradient is one of the mean: the first ones may be far from the minimiser, and clamps are
    /// quadratic near it only.
    pub fn first_of_evidence(&self) -> usize {
        self.gradients.n_iter / 4
    }

    /// Standard deviation of the noise on an entry of the mean of so many gradients.
    pub fn noise_of(&self, gradients: usize) -> f64 {
        self.gradients.noise_scale / (gradients as f64).sqrt()
    }

    /// About the mean share that records with weights count by, from the released second moment of the intercept; 1
    /// without weights or an intercept.
    fn mean_weight(&self, moments: &[f64], schema: &Schema) -> f64 {
        match (moments.last(), schema.max_weight()) {
            (Some(last), Some(_)) if schema.has_intercept() => {
                let mean = last * self.normaliser / schema.intercept_value().powi(2);
                mean.clamp(LEAST_MEAN_WEIGHT, 1.0)
            }
            _ => 1.0,
        }
    }

    /// Standard deviation of the noise on a second moment; 0 without any.
    fn moment_noise(&self) -> f64 {
        (self.moments.as_ref()).map_or(0.0, Question::<Moments>::noise_scale)
    }

    /// Of steps that are not made yet.
    fn trace(&self, moments: Vec<f64>, eigenvalues: &DVector<f64>) -> Trace {
        let d = eigenvalues.len();
        Trace {
            moments,
            moment_noise: self.moment_noise(),
            least_eigenvalue: eigenvalues.min(),
            points: Vec::new(),
            gradients: Vec::new(),
            gradient_noise: self.gradients.noise_scale,
            n_samples: (1.0 / self.normaliser).round() as usize,
            clamp: self.clamp,
            weighs: self.weighs,
            intercept: self.intercept,
            clipped_at: None,
            bends: false,
            theta: Vec::new(),
            line: None,
            images: frame(d),
        }
    }

    /// About the variance that noise on the gradients leaves in scores.
    ///
    /// T steps act as a ridge lambda/T against noise N on their mean: an eigenvector whose mean square score is m has
    /// the variance m (N/(scale m + lambda/T))^2. Noise on the moments adds eigenvalues; those of rows add up to no
    /// more than R^2. Without moments they are taken to fall as 1/j.
    fn noise(
        &self,
        moments: Option<&SymmetricEigen<f64, Dyn>>,
        columns: usize,
        ridge: Option<&Ridge>,
        damping: &Damping,
    ) -> f64 {
        let ridge = ridge.map_or(0.0, Ridge::mean);
        let trace = self.largest_row.powi(2) / self.normaliser;
        let Some(eigen) = moments else {
            let falling = || (1..=columns).map(|j| 1.0 / j as f64);
            let scale = trace / falling().sum::<f64>();
            return self.noise_in_scores(falling().map(|m| m * scale), ridge, damping);
        };
        let positive = || eigen.eigenvalues.iter().map(|value| value.max(0.0));
        let total: f64 = positive().sum();
        let share = (trace / total.max(f64::MIN_POSITIVE)).min(1.0);
        share * self.noise_in_scores(positive(), ridge, damping)
    }

    /// The Hessian of the mean of halved squared residuals, without their clamp, records with weights by their shares.
    /// T steps act as a ridge lambda/T.
    pub fn hessian(&self, evidence: &Evidence) -> DMatrix<f64> {
        let counted = self.scale / self.normaliser;
        let value = |value: f64| {
            let curvature = (self.scale * value).max(0.0);
            (curvature + self.acts_as(&self.damping, curvature)) / counted
        };
        with_eigenvalues(&evidence.moments, value)
    }

    /// [`NewtonSteps::noise`] for these eigenvalues of the sums of squares and a ridge.
    fn noise_in_scores(
        &self,
        eigenvalues: impl Iterator<Item = f64>,
        ridge: f64,
        damping: &Damping,
    ) -> f64 {
        let variance = self.damping.noise.powi(2);
        eigenvalues
            .map(|value| {
                let curvature = self.scale * value;
                let divisor = curvature + ridge + self.acts_as(damping, curvature);
                value * self.normaliser * variance / divisor.powi(2)
            })
            .sum()
    }

    /// The ridge that all steps together act as, beside that of features.
    fn acts_as(&self, damping: &Damping, curvature: f64) -> f64 {
        self.ridge + self.ridge / damping.n_iter + damping.ridge(curvature)
    }
}

impl Steps {
    /// Multiplies the differences between scores of three or more classes by what gradients ask for: up to [`STEEPER`]
    /// times, and down to what is more than noise of them, which is all that they are multiplied by where nothing is
    /// asked for.
    fn stretch(&mut self, steps: &Propagation, scores: ClassScores, intercept: bool) {
        let Some(evidence) = &self.evidence else {
            return;
        };
        let differences = Differences::new(&evidence.moments, intercept);
        let signal = differences.signal(&self.theta, steps, scores);
        let factor = self
            .slope
            .map_or(signal, |slope| slope.clamp(signal, STEEPER));
        differences.stretch(&mut self.theta, factor);
        for law in self.scores.iter_mut().flatten() {
            law.deviation *= factor;
        }
    }
}

impl Start {
    /// At zero, with `p` features of each score and an intercept in the other columns, if there is one, that nothing
    /// draws.
    pub fn zero(p: usize, columns: usize, outputs: usize) -> Self {
        Self {
            theta: vec![0.0; outputs * columns],
            drawn: p,
        }
    }

    /// At the scores of a constant, one a class, where the intercept's column has this value.
    pub fn at_constant(mut self, scores: &[f64], value: f64) -> Self {
        let columns = self.theta.len() / scores.len();
        for (theta, score) in self.theta.chunks_mut(columns).zip(scores) {
            theta[columns - 1] = score / value;
        }
        self
    }
}
