//! A private line through released scores: what makes the coefficients of a shrunk or clamped fit honest.

use std::sync::Arc;

use nalgebra::DVector;

use super::newton_steps::{NewtonOptions, NewtonSteps, Start, Steps};
use super::odds_line::{OddsLine, ScoreLaw};
use super::pace::curvature;
use super::regularisation::Regularisation;
use crate::accounting::calibrate::rho_from_epsilon;
use crate::accounting::event::Event;
use crate::error::{Result, fraction};
use crate::loss::{Growth, Logistic};
use crate::plan::defaults::{
    CLASSIFIER_REACH, CLASSIFIER_SIGNAL, COUNT_LIFT, FREE_REACH, FREE_SLOPE, LEAST_REACH,
    LINE_COUNT_PRIOR, LINE_PRIOR, LINE_PROBES, LINE_REACH, LINE_SLOPE_PRIOR, LINE_STEPS,
    LINE_TYPICAL, NEWTON_SHARE, ODDS_REACH, ODDS_STEPS, PROBED_TAIL, REGRESSOR_SIGNAL, SCORE_REACH,
    SCORE_TYPICAL, STEEPER, classifier_reach, count_line_clamp, count_reach, line_clamp,
    line_typical,
};
use crate::plan::{LineTrace, Problem, Trace};
use crate::privacy::{Planned, Session, Statement, Target};
use crate::question::{Projection, Units};

/// After a release of theta, two more parameters: theta <- slope theta, and a constant, by noisy Newton steps on the
/// loss without its clamp (Platt 1999 for classes), from one record's score each.
///
/// Noise on two coefficients is small, so the clamp may be wide: what a tight clamp and shrinkage did to all
/// coefficients at once, and to the intercept, is undone. Records whose scores are far out count less, and all noise is
/// less for it. What is expected of the line lies between what gradients tell and the slope that fits without noise
/// have: by the two precisions for the squared loss, by a ridge for others.
#[derive(Debug)]
pub(super) struct Line {
    statement: Arc<Statement>,
    steps: NewtonSteps,
    /// Largest score whose image is 1.
    reach: f64,
    /// Of the squared loss, the clamp of residuals and about how far the constant is from where it starts; None: a
    /// ridge draws to the start.
    squared: Option<Squared>,
    /// Slope of the line through scores without noise.
    slope: f64,
    /// Of log odds, the clamp of the derivatives of what was fitted, 1 for none.
    clip: Option<f64>,
    /// About the variance of scores without noise.
    signal: f64,
    /// What a clamp is expected to have taken off all scores.
    lift: f64,
}

/// Where scores are clipped, the slope that a line starts at, and about how far off that is, in units of it.
struct Reach {
    reach: f64,
    slope: f64,
    off: f64,
}

#[derive(Debug)]
struct Squared {
    clamp: Option<f64>,
    constant: f64,
}

/// What public facts say of a line before it is asked for.
struct Expected {
    /// That of the line, whose loss may be clamped less.
    problem: Problem,
    /// Largest score whose image is 1.
    reach: f64,
    /// Slope of the line through scores without noise.
    slope: f64,
    /// About how far its two parameters are from where they start.
    prior: f64,
    /// About the variance of scores without noise.
    signal: f64,
    /// What a clamp is expected to have taken off all scores.
    lift: f64,
    /// The score from which on records count less, in units of the reach. The slope has noise in units of the deviation
    /// of the scores, a part of their reach, the constant in units of the value of its column, which this is, too; both
    /// times the norm of a row: few rows are longer than the typical one.
    typical: f64,
}

impl Expected {
    /// With `clip` as [`clip_of`] has it, and rho of the zCDP budget.
    fn of(problem: &Problem, clip: Option<f64>, rho: f64) -> Result<Self> {
        let (n, person) = (problem.n_samples(), problem.records_per_person());
        Ok(match problem.schema().target() {
            Target::Classes | Target::Multiclass { .. } => {
                let loss = match problem.loss.name() {
                    "clipped-logistic" => Logistic.into(),
                    _ => problem.loss.clone(),
                };
                // Scores of a clamped fit are too large.
                let usual = ScoreLaw {
                    mean: 0.0,
                    deviation: CLASSIFIER_SIGNAL.sqrt(),
                };
                Self {
                    problem: Problem {
                        loss,
                        ..problem.clone()
                    },
                    reach: classifier_reach(n, person, rho),
                    slope: clip.map_or(1.0, |clip| usual.odds(clip).slope),
                    prior: LINE_PRIOR,
                    signal: CLASSIFIER_SIGNAL,
                    lift: 0.0,
                    typical: SCORE_TYPICAL,
                }
            }
            Target::Counts { .. } => {
                let clamp = count_line_clamp(n, person, rho);
                Self {
                    problem: problem.of_counts(clamp.max(problem.lipschitz()))?,
                    reach: count_reach(n, person, rho),
                    slope: 1.0,
                    prior: LINE_COUNT_PRIOR,
                    signal: REGRESSOR_SIGNAL,
                    lift: COUNT_LIFT / problem.lipschitz(),
                    typical: SCORE_TYPICAL,
                }
            }
            Target::Interval { .. } => {
                let spread = problem.spread.unwrap_or(0.5);
                let clamp = line_clamp(n, person, rho);
                let squared = problem.loss.growth() == Growth::SquaredResidual;
                let typical = match problem.spread {
                    Some(_) if squared => line_typical(n, person, rho),
                    _ => LINE_TYPICAL,
                };
                Self {
                    problem: Problem {
                        residual_bound: problem.residual_bound.map(|_| clamp * spread),
                        ..problem.clone()
                    },
                    reach: SCORE_REACH * spread,
                    slope: 1.0,
                    prior: LINE_PRIOR * spread,
                    signal: REGRESSOR_SIGNAL * spread.powi(2),
                    lift: 0.0,
                    typical: typical / LINE_REACH,
                }
            }
        })
    }
}

/// Of log odds, the clamp of the derivatives of what was fitted, 1 for none.
fn clip_of(problem: &Problem) -> Option<f64> {
    match problem.loss.name() {
        "logistic" => Some(1.0),
        "clipped-logistic" => problem.loss.parameter().map(|(_, bound)| bound),
        _ => None,
    }
}

impl Line {
    /// For `share` of the zCDP budget of `problem`, whose loss may be clamped more than the line's; `measures` says
    /// whether it is worth knowing how large residuals are.
    pub fn plan(problem: &Problem, share: f64, measures: bool) -> Result<Self> {
        let rho =
            fraction("line", share)? * rho_from_epsilon(problem.epsilon, problem.validate()?)?;
        let clip = clip_of(problem);
        let Expected {
            problem: mut line,
            reach,
            slope,
            prior,
            signal,
            lift,
            typical,
        } = Expected::of(problem, clip, rho)?;
        let statement = problem.statement.projected(typical, typical)?;
        line.statement = Arc::clone(&statement);
        let multiplier = 1.0 / (2.0 * rho).sqrt();
        let quadratic = line.loss.growth() == Growth::SquaredResidual;
        let n_iter = clip.map_or(LINE_STEPS, |_| ODDS_STEPS);
        let options = NewtonOptions {
            n_iter: Some(n_iter),
            damping: Some(1.0),
            share: Some(NEWTON_SHARE[0]),
            ridge: None,
            probes: if measures { LINE_PROBES } else { 0 },
        };
        let mut steps = NewtonSteps::with_multiplier(&line, options, multiplier)?;
        if !quadratic {
            // Of quantiles it may be anything, of others it is about one.
            let curvature = line.level().map_or(1.0, |_| curvature(&line));
            // Noise of variance N^2 on the mean gradient against coefficients that are off by about `prior`.
            let noise = steps.gradients.noise_scale / (n_iter as f64).sqrt();
            steps.ridge = (noise / prior).powi(2) / curvature;
        }
        Ok(Self {
            statement,
            steps,
            reach,
            squared: quadratic.then_some(Squared {
                clamp: line.residual_bound,
                constant: prior,
            }),
            slope,
            clip,
            signal,
            lift,
        })
    }

    /// Slope of the line through scores without noise.
    pub fn usual_slope(&self) -> f64 {
        self.slope
    }

    pub fn planned(&self) -> Vec<Planned> {
        self.steps.planned()
    }

    pub fn events(&self) -> Vec<(Event, u64)> {
        self.steps.events()
    }

    /// The coefficients after the line, for records of `session`, and what both released. With a ball no slope leaves
    /// it, and penalties are those of the slope too. `constant` is the score of the model of a constant, where the fit
    /// started.
    pub fn run(
        &self,
        session: &mut Session<'_>,
        fit: &Steps,
        constant: f64,
        beside: &Regularisation,
        near: Option<f64>,
    ) -> Result<(Vec<f64>, Option<Box<Trace>>)> {
        let mut theta = fit.theta.clone();
        let intercept = session.statement().schema().intercept_value();
        let odds = (self.clip).map(|clip| self.odds(fit, clip, constant));
        let centre = odds.map_or(0.0, |(line, _)| line.centre);
        // The larger rates are in units of their spread, the less skewed their law.
        let middle = odds.map_or(self.lift / session.rate(), |(line, _)| line.middle);
        let deviation = fit.deviation.unwrap_or(self.signal.sqrt());
        // Deviations say little of an indicator that few records have, who may count less besides.
        let effect = (session.units()).map_or(0.0, |units| largest_effect(&theta, units));
        let slope = odds.map_or(self.slope * self.clean_share(fit), |(line, _)| line.slope);
        let Reach { reach, slope, off } = self.reach(slope, fit.deviation, effect);
        let reach = match self.clip {
            Some(_) => reach.min(odds_reach(fit, centre, effect)),
            None => reach,
        };
        // A clamp that hardly any residual reaches would add noise for nothing.
        let usual = session.usual_target() + deviation.max(effect);
        let clamp = self.squared.as_ref().and_then(|squared| squared.clamp);
        let zoom = match session.statement().schema().target().is_classes() {
            true => 1.0, // labels are where they are
            false => clamp.map_or(1.0, |clamp| (clamp / usual).max(1.0)),
        };
        if let Some(last) = theta.last_mut() {
            *last -= centre / intercept;
        }
        let mut projection = Projection::new(theta.clone(), reach)?.with_zoom(zoom)?;
        if let Some(near) = near {
            projection = projection.with_beyond(near, vec![0.0; theta.len()])?;
        }
        let mut projected = session.projected(&projection, &self.statement)?;
        let value = self.statement.schema().intercept_value();
        let start = Start {
            theta: vec![slope * reach * zoom, middle / value],
            drawn: 2,
        };
        let slopes = beside.of_multiples(&theta, reach * zoom)?;
        // Of the squared loss what is expected is moved, and not what the steps are.
        let of_steps = match &self.squared {
            Some(_) => &Regularisation::default(),
            None => &slopes,
        };
        let curvature = odds.map_or(1.0, |(_, curvature)| curvature);
        let steps = self.steps.with_curvature(curvature);
        let steps = steps.run(&mut projected, &start, of_steps, &|_, _| Ok(()))?;
        let line = match (&self.squared, steps.evidence) {
            (Some(squared), Some(evidence)) => {
                let from = DVector::from_column_slice(&start.theta);
                let deviations =
                    zoom * DVector::from_vec(vec![off * slope * reach, squared.constant / value]);
                let mut expected = evidence.expected(&from, &deviations).unwrap_or(from);
                let slopes = slopes.of_loss(zoom.powi(2));
                let hessian = self.steps.hessian(&evidence);
                slopes.move_minimiser(expected.as_mut_slice(), hessian)?;
                expected.as_slice().to_vec()
            }
            _ => steps.theta,
        };
        let mut trace = fit.trace.clone();
        if let Some(released) = steps.trace {
            // What was planned is asked for, whether or not it is of use.
            let probed = self.probe(&mut projected, *released, &line, (reach, zoom))?;
            trace
                .iter_mut()
                .for_each(|trace| trace.line = Some(probed.clone()));
        }
        let slope = line[0] / (reach * zoom);
        theta.iter_mut().for_each(|theta| *theta *= slope);
        if let Some(last) = theta.last_mut() {
            *last += line[1] * value / (zoom * intercept);
        }
        Ok((theta, trace))
    }

    /// How far a line of this slope goes, where the deviation of scores is told or not, and an indicator adds no more
    /// than `effect` to one.
    fn reach(&self, slope: f64, deviation: Option<f64>, effect: f64) -> Reach {
        match (&self.squared, deviation) {
            (None, _) => Reach {
                reach: self.reach,
                slope,
                off: 0.0,
            },
            // The less scores vary within their reach, the more noise there is on a slope.
            (Some(_), Some(deviation)) => {
                let least = LEAST_REACH * self.reach;
                // A clip would make slopes too large: where scores vary more than most targets do, none is before their
                // end.
                let reach = (LINE_REACH * deviation).max(effect);
                Reach {
                    reach: reach.clamp(least, self.reach.max(1.0)),
                    slope,
                    off: LINE_SLOPE_PRIOR,
                }
            }
            (Some(_), None) => Reach {
                reach: SCORE_REACH * self.signal.sqrt(),
                slope: slope * FREE_SLOPE,
                off: FREE_SLOPE,
            },
        }
    }

    /// The best multiple of scores with so much noise, in units of that of scores without.
    fn clean_share(&self, fit: &Steps) -> f64 {
        self.signal / (self.signal + fit.noise)
    }

    /// Where the line of log odds starts after a fit with derivatives clamped at `clip`, and the curvature that steps
    /// count on there. Without moments all that is known of scores is how common the classes are; with them gradients
    /// tell what is to be made of scores.
    fn odds(&self, fit: &Steps, clip: f64, constant: f64) -> (OddsLine, f64) {
        let told = fit.scores.as_ref().and_then(|scores| scores.first());
        let law = told.copied().unwrap_or_else(|| ScoreLaw {
            mean: constant,
            deviation: self.signal.sqrt(),
        });
        let line = law.odds(clip);
        let times = match fit.slope {
            Some(slope) => slope.clamp(1.0 / STEEPER, STEEPER),
            None => self.clean_share(fit),
        };
        let line = law.with_slope(line, times * line.slope);
        // The more noise there is, the nearer scores are clipped, and the shorter steps are.
        (line, law.curvature_along(line, self.reach))
    }

    /// How large residuals are, beside what steps released.
    ///
    /// With the constant off by t > clamp, the slope of the squared loss is the clamp for every record whose residual
    /// is not beyond clamp - t: the mean slope tells the mean of what lies beyond. At t = clamp and -clamp that is the
    /// mean of
    /// |residual|, up to twice the clamp; further out it tells of tails.
    fn probe(
        &self,
        session: &mut Session<'_>,
        released: Trace,
        line: &[f64],
        (reach, zoom): (f64, f64),
    ) -> Result<LineTrace> {
        let value = self.statement.schema().intercept_value();
        let n = released.n_samples as f64;
        let weight = self.mean_weight(&released);
        let mut points = released.points;
        let mut gradients = released.gradients;
        let clamp = released.clamp;
        let mut off = clamp;
        for _ in 0..self.steps.probes / 2 {
            let mut size = 0.0;
            for side in [-1.0, 1.0] {
                let point = [line[0], line[1] + side * off / value];
                let gradient = self.steps.gradients.ask(session, &point)?;
                points.extend(point);
                gradients.extend(gradient.iter().map(|g| g / n));
                size += clamp - side * gradients[gradients.len() - 1] / (value * weight);
            }
            // The next ones tell of what lies beyond a typical residual.
            off = clamp + PROBED_TAIL * size.clamp(0.0, 2.0 * clamp);
        }
        for (point, gradient) in (points.chunks_exact_mut(2)).zip(gradients.chunks_exact_mut(2)) {
            point[0] /= zoom;
            point[1] *= value / zoom;
            gradient[0] /= zoom * weight;
            gradient[1] /= value * zoom * weight;
        }
        Ok(LineTrace {
            reach,
            points,
            gradients,
            constant_noise: released.gradient_noise / (value * zoom * weight),
            clamp: clamp / zoom,
            probes: self.steps.probes,
        })
    }

    /// About the mean weight of records: the root of the mean square, which second moments tell, is hardly more where
    /// few scores are far out.
    fn mean_weight(&self, released: &Trace) -> f64 {
        let schema = self.statement.schema();
        let intercept = schema.intercept_value().powi(2);
        let norm = schema.gradient_norm().map_or(1.0, |norm| norm.powi(2));
        // That of a record whose score is at the reach, which the norm is below.
        let least = (norm + intercept) / (1.0 + intercept);
        let last = released.moments[released.moments.len() - 1];
        let square = last / (released.n_samples as f64 * intercept);
        square.clamp(least, 1.0).sqrt()
    }
}

/// As far as scores of two classes go from the middle of their line, whatever noise allows.
fn odds_reach(fit: &Steps, centre: f64, effect: f64) -> f64 {
    let told = fit.scores.as_ref().and_then(|scores| scores.first());
    told.map_or(FREE_REACH, |law| {
        let far = (law.mean - centre).abs() + ODDS_REACH * law.deviation;
        far.max(effect).max(CLASSIFIER_REACH[0])
    })
}

/// The most that an indicator adds to a score.
fn largest_effect(theta: &[f64], units: &Units) -> f64 {
    let effects = theta.iter().zip(&units.indicators);
    effects.fold(0.0, |most, (theta, entry)| most.max(theta.abs() * entry))
}
