//! What output and objective perturbation share: the release of one point.

use super::class_scores::ClassScores;
use super::regularisation::moderate_or_none;
use crate::error::{Error, Result};
use crate::loss::{ClippedLogistic, Growth};
use crate::norm::ReviewedNorm;
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Planned, Program, Question, Session};
use crate::question::{Point, StronglyConvex};
use crate::theory::Landscape;

/// Options in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    pub ridge: f64,
    pub alpha: f64,
    /// tau of the prox that follows the release.
    pub threshold: f64,
}

impl Options {
    /// Refuses an alpha or a threshold that floats do not take.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [("alpha", self.alpha), ("threshold", self.threshold)] {
            moderate_or_none(name, value)?;
        }
        Ok(())
    }

    /// The penalty, where there is one, or the constraint alone.
    pub fn penalty(&self, norm: &ReviewedNorm) -> Option<(ReviewedNorm, f64)> {
        (self.alpha > 0.0 || norm.is_positive()).then(|| (norm.clone(), self.alpha))
    }

    /// In words.
    pub fn describe(&self, name: &str, problem: &Problem) -> String {
        let mut text = format!("{name} with ridge {:.6}", self.ridge);
        text += &describe_clip(problem);
        if self.alpha > 0.0 {
            text += &format!(" and penalty {}", self.alpha);
        }
        if self.threshold > 0.0 {
            text += &format!(", then a prox of {}", self.threshold);
        }
        text
    }
}

/// The plan of one point, the minimiser with the options' ridge.
pub(super) fn plan_minimiser(
    name: &str,
    problem: Problem,
    options: Options,
    norm: ReviewedNorm,
    question: Question<Point>,
) -> Result<Plan> {
    let (tilt, output) = (question.tilt_scale(), question.output_scale());
    let excess = landscape(&problem).ridge_excess(options.ridge, tilt, output);
    let summary = Summary {
        mechanism: options.describe(name, &problem),
        n_iter: 1,
        noise_scale: output.max(tilt),
        predicted_excess_risk: excess,
        point: Some(question.clone()),
        ..Summary::default()
    };
    let release = Release {
        question,
        norm,
        threshold: options.threshold,
    };
    Plan::seal(problem, release, summary)
}

/// What the public rules of minimisers take the mean loss to look like, all scores of a record together.
pub(super) fn landscape(problem: &Problem) -> Landscape {
    ClassScores(problem.outputs()).landscape(problem.landscape())
}

/// One point, then a prox with a public threshold, score by score, which makes what noise moved below 0 admissible
/// again.
#[derive(Debug)]
pub(super) struct Release {
    pub question: Question<Point>,
    pub norm: ReviewedNorm,
    pub threshold: f64,
}

impl Program<Fitted> for Release {
    fn questions(&self) -> Vec<Planned> {
        vec![self.question.once()]
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let mut scaled = session.ask(&self.question, ())?;
        for scaled in scaled.chunks_mut(session.statement().n_columns()) {
            self.norm.threshold(scaled, self.threshold)?;
        }
        let steps = self.question.steps();
        session.progress(steps, steps)?;
        Ok(scaled.into())
    }
}

/// The norm of a domain where it, and the loss, were reviewed: what the proofs about minimisers and descents need.
pub(super) fn reviewed(problem: &Problem, domain: &Domain) -> Result<ReviewedNorm> {
    check_loss(problem)?;
    domain.reviewed_norm(problem.schema().n_features())
}

/// The proofs about minimisers and descents need a loss that was reviewed: convex and smooth.
pub(super) fn check_loss(problem: &Problem) -> Result<()> {
    if problem.loss.catalogued().is_none() {
        return Err(Error::UnsoundMechanism(
            "this mechanism rests on the loss being convex and smooth, which is not proved for a user's own loss; use a \
             catalogued loss, or frank-wolfe, noisy-gradient-frank-wolfe or noisy-proximal-gradient"
                .into(),
        ));
    }
    Ok(())
}

/// The proofs about permuted descents and dual paths are for one score a record.
pub(super) fn check_scalar(problem: &Problem) -> Result<()> {
    if problem.outputs() > 1 {
        return Err(Error::UnsoundMechanism(
            "Only binary classification is supported by this mechanism: it is proved for one score a record, not for the \
             softmax model of three or more classes; use noisy-newton, noisy-proximal-gradient, noisy-gradient-frank-wolfe, \
             frank-wolfe, select-refit or output-perturbation"
                .into(),
        ));
    }
    Ok(())
}

/// Objective perturbation is proved for one score a record ([`crate::theory_of_privacy::softmax_model`]).
pub(super) fn check_tilted_scalar(problem: &Problem) -> Result<()> {
    if problem.outputs() > 1 {
        return Err(Error::UnsoundMechanism(
            "Only binary classification is supported by objective perturbation: it is proved for losses whose second \
             derivative has rank one for each record, and that of K classes has K - 1; use noisy-newton, or \
             refit=\"noisy-newton\""
                .into(),
        ));
    }
    Ok(())
}

/// The minimiser of a problem with a ridge, whose noise goes on the output.
///
/// The squared loss has no bound on its slope, but 0 = <theta*, subgradient> gives ridge |theta*|^2 <= mean of z (y -
/// z) <= 1/4, as targets fill [-1, 1]: around theta* the residual is at most 1 + R2/(2 sqrt(ridge)). Beyond that the
/// slope is clamped, which changes no minimiser.
pub(super) fn minimiser(
    problem: &Problem,
    penalty: Option<(ReviewedNorm, f64)>,
    ridge: f64,
) -> Result<StronglyConvex> {
    if problem.loss.growth() == Growth::SquaredResidual && problem.residual_bound.is_some() {
        return Err(Error::invalid(
            "residual_bound",
            "is not used by output-perturbation, which derives the bound from the ridge; leave it at None",
        ));
    }
    let clamp = (0.5 * problem.row_bound() / ridge.sqrt() + 1.0) * (1.0 + 1e-12);
    let statement = &problem.statement;
    if !(ridge.is_finite() && ridge > 0.0) {
        // Its own error: no clamp follows from such a ridge.
        return statement.strongly_convex(&problem.model()?, penalty, ridge);
    }
    statement.strongly_convex(&problem.clamped(clamp)?, penalty, ridge)
}

/// The same problem with derivatives of the logistic loss clamped at `clip`, where one is given.
pub(super) fn clipped(problem: Problem, clip: Option<f64>) -> Result<Problem> {
    let Some(clip) = clip else {
        return Ok(problem);
    };
    if problem.loss.name() != "logistic" {
        return Err(Error::invalid(
            "clip",
            "is for the logistic loss; leave it at None",
        ));
    }
    let loss = ClippedLogistic::new(clip)
        .map_err(|_| Error::invalid("clip", "must lie strictly between 0 and 1"))?;
    Ok(Problem {
        loss: loss.into(),
        ..problem
    })
}

/// What a plan says about its loss where that is not the user's own choice.
pub(super) fn describe_clip(problem: &Problem) -> String {
    match (problem.loss.name(), problem.loss.parameter()) {
        ("clipped-logistic", Some((_, bound))) => {
            format!(" and derivatives of the logistic loss clamped at {bound}")
        }
        _ => String::new(),
    }
}
