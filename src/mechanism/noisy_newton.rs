use std::sync::Arc;

use serde::Deserialize;

use super::class_line::ClassLine;
use super::class_scores::ClassScores;
use super::class_shrinkage::{slope_of_clamped, without_clamp};
use super::constant_scores::ConstantScores;
use super::line::Line;
use super::minimiser::{clipped, describe_clip};
use super::nearer::Nearer;
use super::newton_steps::{NewtonOptions, NewtonSteps, Start};
use super::odds_line::ScoreLaw;
use super::regularisation::{LossWeight, Regularisation, check_weights, moderate_or_none};
use super::ridge::Ridge;
use super::sparsity::Sparsity;
use crate::accounting::calibrate::rho_from_epsilon;
use crate::error::{Error, Result, non_negative};
use crate::mechanism::Mechanism;
use crate::norm::Norm;
use crate::plan::defaults::USER_LOSS_MARGIN;
use crate::plan::{Domain, Fitted, Plan, Problem, Summary};
use crate::privacy::{Planned, Program, Session, Target};
use crate::question::MOST_MOMENT_COLUMNS;
use crate::solver::Form;

/// Private Newton steps on mean loss + (ridge/2)|theta|^2 with one bound on all Hessians: beta times the second moments
/// of the records (Boehning & Lindsay 1988), released once (Dwork, Talwar, Thakurta & Zhang 2014), then T noisy
/// gradients ([`crate::theory_of_privacy::noisy_gradients`], [`crate::theory_of_privacy::select_refit`]); the mean of
/// the iterates is released, but for the first quarter (half without moments), which is on its way.
///
/// theta <- theta + m (theta - theta of before) - (1 - m) (H + lambda I)^-1 (g_t + ridge theta) (Polyak 1964), where H
/// is beta M/n without its negative eigenvalues, plus the ridge, which after private scales is another one for every
/// coefficient of the images. lambda is at least a public share of the largest eigenvalue that the noise of M has (2
/// sigma sqrt(p) for a symmetric normal matrix): where the noise hides the curvature, steps are those of gradient
/// descent. It is more where T steps would follow the noise on the gradients
/// ([`crate::theory_of_privacy::noisy_gradients`]). For the squared loss M is X'X; with T = 1 (then m = 0) and no clamp
/// on |y| <= 1 the other statistic is X'y, and theta is that of AdaSSP (Wang 2018) with another lambda. Where residuals
/// are small, noise on T clamped gradients is less than noise on X'y. With a start, steps begin at the constant that a
/// noisy gradient of the intercept alone tells, a count of every class. The intercept is not part of the ridge. A last
/// move into a ball, or a prox with a public threshold, makes theta sparse.
///
/// **Neighbours**: replace-one or add-remove. **Sensitivity**: sqrt(2) r^2 (or r^2) on the moments
/// ([`crate::question::Moments`]) and 2 d_max |x|_2 on the gradients (`question/sensitivity.rs`). **Privacy**: 1 + T
/// Gaussian mechanisms, by the exact Gaussian curve; everything else is post-processing, so privacy does not depend on
/// the loss being convex or smooth.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoisyNewton {
    /// T; None: [`NEWTON_STEPS`](crate::plan::defaults::NEWTON_STEPS), for two classes 160 where time allows
    /// ([`FEW_CLASS_STEPS`](crate::plan::defaults::FEW_CLASS_STEPS)), for more up to a hundred
    /// ([`MOST_CLASS_STEPS`](crate::plan::defaults::MOST_CLASS_STEPS) in strides of
    /// [`CLASS_STRIDE`](crate::plan::defaults::CLASS_STRIDE)) where noise is small and records are few; without moments
    /// as many as the length of the descent takes.
    pub n_iter: Option<usize>,
    /// Share of the zCDP budget that the moments take, in [0, 1), 0: none are released; None:
    /// [`NEWTON_SHARE`](crate::plan::defaults::NEWTON_SHARE), 0 for more than
    /// [`NEWTON_COLUMNS`](crate::plan::defaults::NEWTON_COLUMNS) columns.
    pub share: Option<f64>,
    /// lambda in units of the largest eigenvalue that the noise of the moments has, or without moments of the bound
    /// beta R^2 on all Hessians, positive; None: enough, and more where T steps would follow the noise on the
    /// gradients.
    pub damping: Option<f64>,
    /// Ridge in the units of a radius; None: 0.
    pub ridge: Option<f64>,
    /// Largest Omega of the coefficients of all scores together, with three or more classes of weighted l1 norms alone:
    /// models are moved to the nearest one of the ball by what is released of the curvature, after every step
    /// (post-processing). In scaled units, after private scales those of the public bounds; None: no bound.
    pub radius: Option<f64>,
    /// A penalty alpha Omega in its place, in the same units; None: 0.
    pub alpha: Option<f64>,
    /// tau of a prox of Omega that follows the release (post-processing), in scaled units; None: 0.
    pub threshold: Option<f64>,
    /// Clamp of the derivative of the logistic loss, in (0, 1); None: none. Noise is proportional to it.
    pub clip: Option<f64>,
    /// Share of the zCDP budget, in (0, 1), for a last line: a factor for all coefficients and a constant, with a loss
    /// that is clamped less; with three or more classes the factor alone, of scores around their means, which second
    /// moments tell, and without a radius, an alpha or a ridge. Where least squares clip features far out, .6 of it
    /// besides ([`NEARER_SHARES`](crate::plan::defaults::NEARER_SHARES)) for a line with nearer clips, and the choice
    /// between both. None: no line.
    pub line: Option<f64>,
    /// Share of the zCDP budget, in (0, 1), for the scores of a constant, where steps start: how common classes are,
    /// with the logistic loss or three or more of them, or how large counts are; None: steps start at 0.
    pub start: Option<f64>,
    /// Whether coefficients that are not worth their noise are zero, in patterns of the norm, without a radius or alpha
    /// too.
    pub hides_noise: bool,
}

#[derive(Debug)]
struct Release {
    norm: Arc<dyn Norm>,
    start: Option<ConstantScores>,
    steps: NewtonSteps,
    line: Option<Line>,
    /// After a line of least squares whose features are clipped far out.
    nearer: Option<Nearer>,
    /// With three or more classes.
    class_line: Option<ClassLine>,
    /// In scaled units, those of the public bounds.
    beside: Regularisation,
    loss: LossWeight,
    /// What is left of coefficients when their clamp is undone.
    slope: f64,
    threshold: f64,
    /// Of the logistic loss.
    clip: Option<f64>,
}

impl NoisyNewton {
    /// Most columns, the intercept included.
    pub const MOST_COLUMNS: usize = MOST_MOMENT_COLUMNS;

    /// Whether steps with so many scores can end in the ball of a norm, or in its prox.
    pub(crate) fn takes(domain: &Domain, n_features: usize, outputs: usize, ball: bool) -> bool {
        let checked = |norm: Arc<dyn Norm>| Self::check_norm(norm.as_ref(), ball, outputs).is_ok();
        domain.norm(n_features).is_ok_and(checked)
    }

    /// Why they cannot, if they cannot.
    fn check_norm(
        norm: &dyn Norm,
        ball: bool,
        outputs: usize,
    ) -> std::result::Result<(), &'static str> {
        if norm.weights().is_some() {
            return Ok(());
        }
        if !norm.prox_error().is_finite() {
            return Err(
                "is for norms with an exact prox in noisy-newton; use noisy-proximal-gradient",
            );
        }
        if norm.is_positive() && (outputs > 1 || !norm.ball_is_bounded()) {
            return Err(
                "with signs is for one score a record and positive weights in noisy-newton; use noisy-proximal-gradient",
            );
        }
        if ball && !norm.ball_is_bounded() {
            return Err("needs a norm: the ball of a seminorm is not bounded; use alpha");
        }
        if ball && outputs > 1 {
            return Err(
                "is for the l1 norm, weighted or not, where there are three or more classes; use alpha",
            );
        }
        Ok(())
    }

    /// Whether steps of this target and loss take a start.
    pub(crate) fn starts(target: Target, loss: &str) -> bool {
        ConstantScores::tells(target, loss)
    }

    fn line(&self, problem: &Problem, measures: bool) -> Result<Option<Line>> {
        (self.line.filter(|_| problem.outputs() == 1))
            .map(|share| Line::plan(problem, share, measures))
            .transpose()
    }

    /// With three or more classes.
    fn class_line(&self, problem: &Problem, moments: bool) -> Result<Option<ClassLine>> {
        let Some(share) = self.line.filter(|_| problem.outputs() > 1) else {
            return Ok(None);
        };
        if !moments {
            return Err(Error::invalid(
                "line",
                "needs second moments with three or more classes; leave it at None, or give them a share",
            ));
        }
        // Models beyond a slope of 1 would leave a ball, and a penalty is of the slope too.
        let held = |size: Option<f64>| size.is_some_and(|size| size > 0.0);
        if self.radius.is_some() || held(self.alpha) || held(self.ridge) {
            return Err(Error::invalid(
                "line",
                "with three or more classes is not for a radius, an alpha or a ridge; leave it at None",
            ));
        }
        ClassLine::plan(problem, share).map(Some)
    }

    fn sparsity(&self, norm: Arc<dyn Norm>, outputs: usize) -> Result<Option<Sparsity>> {
        let (name, form) = match (self.radius, self.alpha) {
            (None, None) if self.hides_noise => ("norm", Form::Penalty(0.0)),
            (None, None) => return Ok(None),
            (Some(_), None) => ("radius", Form::Ball(Domain::size(self.radius, 1.0)?)),
            (None, Some(alpha)) => ("alpha", Form::Penalty(moderate_or_none("alpha", alpha)?)),
            (Some(_), Some(_)) => {
                let problem = "is another form of the same fit than alpha; leave one at None";
                return Err(Error::invalid("radius", problem));
            }
        };
        Self::check_norm(norm.as_ref(), matches!(form, Form::Ball(_)), outputs)
            .map_err(|problem| Error::invalid(name, problem))?;
        check_weights(norm.as_ref())?;
        let sparsity = Sparsity::of_norm(norm, form);
        Ok(Some(sparsity).filter(|sparsity| self.hides_noise || !sparsity.is_free()))
    }
}

/// What there is besides the steps.
fn describe_rest(
    (line, nearer): (bool, bool),
    sparsity: Option<&Sparsity>,
    threshold: f64,
) -> String {
    let mut rest = String::new();
    if line {
        rest += ", then a line through the scores";
    }
    if nearer {
        rest += ", or through those of features that are clipped nearer";
    }
    if let Some(sparsity) = sparsity {
        let norm = match sparsity.norm() {
            None => "n l1",
            Some(_) => "",
        };
        rest += &match sparsity.form {
            Form::Ball(radius) => format!(", within a{norm} ball of radius {radius}"),
            Form::Penalty(0.0) => ", without what is not worth its noise".to_owned(),
            Form::Penalty(alpha) => format!(", with a{norm} penalty of {alpha}"),
        };
    }
    if threshold > 0.0 {
        rest += &format!(", then a prox of {threshold}");
    }
    rest
}

impl Mechanism for NoisyNewton {
    fn weighs_records(&self, _: Target) -> bool {
        true
    }

    fn margin_bound(&self, domain: &Domain, n_features: usize, _: bool, _: Target) -> Result<f64> {
        domain.norm(n_features)?;
        // Nothing bounds theta: the table ends here, and a margin beyond takes the derivative at its end.
        Ok(USER_LOSS_MARGIN)
    }

    fn plan(&self, problem: Problem, domain: &Domain) -> Result<Plan> {
        problem.validate()?;
        let problem = clipped(problem, self.clip)?;
        if self.radius.is_none() && self.alpha.is_none_or(|alpha| alpha <= 0.0) {
            domain.check_free(
                "without an alpha or a radius its steps minimise a quadratic model of all coefficients at once",
            )?;
        }
        let norm = domain.norm(problem.schema().n_features())?;
        let threshold = non_negative("threshold", self.threshold.unwrap_or(0.0))?;
        let beside = Regularisation {
            sparsity: self.sparsity(Arc::clone(&norm), problem.outputs())?,
            ridge: Ridge::new(self.ridge, problem.schema().n_features())?,
        };
        let options = NewtonOptions {
            n_iter: self.n_iter,
            share: self.share,
            damping: self.damping,
            ridge: None,
            probes: 0,
        };
        let line = self.line(&problem, options.intervals(&problem))?;
        let nearer = (self.line.filter(|_| line.is_some()))
            .map(|share| Nearer::plan(&problem, share))
            .transpose()?
            .flatten();
        let slope = match (&line, self.clip) {
            (Some(line), _) => line.usual_slope(),
            (None, Some(clip)) if problem.outputs() > 1 => {
                slope_of_clamped(clip, ClassScores(problem.outputs()))
            }
            (None, _) => 1.0,
        };
        let rho = rho_from_epsilon(problem.epsilon, problem.validate()?)?;
        let start = (self.start)
            .map(|share| ConstantScores::plan(&problem, share, rho))
            .transpose()?;
        let class_line = self.class_line(&problem, options.moments(&problem))?;
        let mut companions = line.as_ref().map_or_else(Vec::new, Line::events);
        companions.extend(nearer.iter().flat_map(Nearer::events));
        companions.extend(class_line.iter().flat_map(ClassLine::events));
        companions.extend(start.iter().flat_map(ConstantScores::events));
        let steps = NewtonSteps::plan(&problem, options, &companions)?;
        // The mean of T noisy gradients; and as early stopping after T steps of 1/lambda acts.
        let n_iter = steps.gradients.n_iter as f64;
        let noise = steps.gradients.noise_scale / n_iter.sqrt();
        let given = self.ridge.unwrap_or(0.0);
        let ridge = given + steps.damping.least / n_iter;
        let lines = (self.line.is_some(), nearer.is_some());
        let after = describe_rest(lines, beside.sparsity.as_ref(), threshold);
        let summary = Summary {
            mechanism: steps.describe(given) + &describe_clip(&problem) + &after,
            n_iter: steps.gradients.n_iter,
            noise_scale: steps.gradients.noise_scale,
            predicted_excess_risk: problem.landscape().ridge_excess(ridge, noise, 0.0),
            parameters: vec![("damping", steps.damping.least)],
            ..Summary::default()
        };
        let loss = LossWeight::new(&problem);
        let program = Release {
            norm,
            start,
            steps,
            line,
            nearer,
            class_line,
            beside,
            loss,
            slope,
            threshold,
            clip: self.clip,
        };
        Plan::seal(problem, program, summary)
    }
}

impl Program<Fitted> for Release {
    fn questions(&self) -> Vec<Planned> {
        let line = self.line.iter().flat_map(Line::planned);
        let line = line.chain(self.nearer.iter().flat_map(Nearer::planned));
        let line = line.chain(self.class_line.iter().map(ClassLine::planned));
        let start = self.start.iter().map(ConstantScores::planned);
        start.chain(self.steps.planned()).chain(line).collect()
    }

    fn run(&self, session: &mut Session<'_>) -> Result<Fitted> {
        let n_iter = self.steps.gradients.n_iter;
        let statement = Arc::clone(session.statement());
        let columns = statement.n_columns();
        let schema = statement.schema();
        let outputs = schema.target().outputs();
        let value = schema.intercept_value();
        let mut start = Start::zero(schema.n_features(), schema.n_columns(), outputs);
        let mut constant = 0.0;
        if let Some(scores) = &self.start {
            let scores = scores.release(session)?;
            constant = scores[0];
            start = start.at_constant(&scores, value);
        }
        let progress = |session: &mut Session<'_>, t| session.progress(t, n_iter);
        let beside = self.beside.of_images(session.units(), self.loss);
        let clamped = beside.before_slope(self.slope).of_loss(self.loss.left);
        let steps = (self.steps).run(session, &start, &clamped, &progress)?;
        let (laws, mean_weight) = (steps.scores.clone(), steps.mean_weight);
        let (mut scaled, mut trace) = match &self.line {
            Some(line) => line.run(session, &steps, constant, &beside, None)?,
            None => (steps.theta.clone(), steps.trace.clone()),
        };
        let nearer = (self.nearer.as_ref())
            .map(|nearer| nearer.run(session, &steps, &scaled, constant, &beside))
            .transpose()?
            .flatten();
        let near = nearer.is_some();
        if let Some(nearer) = nearer {
            scaled = nearer.theta;
            trace
                .iter_mut()
                .for_each(|trace| trace.bends = nearer.surely);
        }
        if let (2.., Some(clip)) = (outputs, self.clip) {
            without_clamp(&mut scaled, clip, ClassScores(outputs));
        }
        if let Some(line) = &self.class_line {
            let laws = laws.map(|laws| laws.iter().map(|law| law.times(self.slope)).collect());
            let laws: Option<Vec<ScoreLaw>> = laws;
            line.run(session, &mut scaled, laws.as_deref(), mean_weight)?;
        }
        for scaled in scaled.chunks_mut(columns) {
            self.norm.threshold(scaled, self.threshold)?;
        }
        // These take away from what steps found; no interval undoes it.
        let trace = trace.filter(|_| self.threshold == 0.0 && self.beside.sparsity.is_none());
        Ok(Fitted {
            trace,
            near,
            ..scaled.into()
        })
    }
}
