//! Which mechanism is best, by public facts alone ([`crate::theory_of_privacy::leaks`]).

use super::class_constant::ClassConstant;
use super::constant::Constant;
use super::count_constant::CountConstant;
use super::facts::{Asked, Facts};
use super::private_scale::PrivateScale;
use crate::accounting::calibrate::rho_from_epsilon;
use crate::error::{Error, Result, non_negative, positive};
use crate::mechanism::{
    Constrained, Mechanism, NoisyFrankWolfe, NoisyNewton, NoisyProximalGradient,
    ObjectivePerturbation, SelectRefit,
};
use crate::plan::Domain;
use crate::plan::defaults::{
    LINE_DEFAULT_SHARE, MINOR_SHARE, NEWTON_COLUMNS, OPEN_STRENGTH, class_start, noise_allows,
};
use crate::privacy::Target;

impl Facts<'_> {
    /// Noisy Newton steps and a line through their scores. The clamp of the logistic loss opens as noise falls: none is
    /// left where the fit without it is what noise allows.
    fn newton(&self, rho: f64) -> NoisyNewton {
        let (n, person) = (self.claim.n_samples, self.claim.records_per_person);
        let columns = (self.n_features + usize::from(self.intercept)) as f64;
        let outputs = self.target.outputs();
        let directions = columns * (outputs.max(2) - 1) as f64;
        let open = noise_allows(n, person, rho) / (OPEN_STRENGTH * directions);
        let start = match self.target.is_classes() {
            true => class_start(n, person, rho, outputs),
            false => MINOR_SHARE,
        };
        NoisyNewton {
            clip: (self.logistic() && open < 1.0).then_some(open.max(self.least_clip())),
            line: self.line().then_some(LINE_DEFAULT_SHARE),
            start: (self.intercept && self.starts()).then_some(start),
            ..NoisyNewton::default()
        }
    }

    /// Whether a line is worth its budget: that of classes needs second moments, and models that nothing else holds.
    fn line(&self) -> bool {
        let Asked { alpha, radius, .. } = self.asked;
        let held = radius.is_some() || alpha.is_some_and(|alpha| alpha > 0.0);
        let free = self.n_features < NEWTON_COLUMNS && !held && !self.asked.has_ridge();
        self.intercept && (self.target.outputs() == 1 || free)
    }

    fn choose(&self, mechanism: Box<dyn Mechanism>, reason: &'static str) -> Choice {
        Choice {
            mechanism,
            row_norm: self.row_norm,
            reason: Some(reason),
        }
    }

    fn after_scales(&self, mechanism: Box<dyn Mechanism>, reason: &'static str) -> Result<Choice> {
        let facts = self.scaled(mechanism.weighs_records(self.target));
        let mechanism = PrivateScale::new(mechanism, &facts)?;
        Ok(facts.choose(Box::new(mechanism), reason))
    }

    /// It centres features, which a bound on uncentred rows says nothing about: with one, uncentred, it loses 7 points
    /// on dna_splice at epsilon 0.5.
    fn select_refit(&self, reason: &'static str, scale: bool) -> Choice {
        let mechanism = SelectRefit {
            clip: self.clip(),
            ..SelectRefit::default()
        };
        let regression = !self.target.is_classes();
        let mechanism: Box<dyn Mechanism> = match self.intercept && regression && scale {
            true => Box::new(PrivateScale::target(Box::new(mechanism))),
            false => Box::new(mechanism),
        };
        Choice {
            row_norm: None,
            ..self.choose(mechanism, reason)
        }
    }

    /// Noisy proximal gradients, after private scales where they are allowed: they leave signs as they are. A norm
    /// without signs is a penalty of the size of the noise, unless alpha says how large it is, or a ridge is what is
    /// asked for.
    fn proximal(&self, reason: &'static str, scale: bool) -> Result<Choice> {
        let Asked { alpha, ridge, .. } = self.asked;
        let mechanism = NoisyProximalGradient {
            alpha,
            ridge,
            hides_noise: !self.domain.is_positive() && !self.asked.has_ridge(),
            ..NoisyProximalGradient::default()
        };
        if !scale || self.loss.is_none() {
            return Ok(self.choose(Box::new(mechanism), reason));
        }
        self.after_scales(Box::new(mechanism), reason)
    }

    fn frank_wolfe(&self, reason: &'static str) -> Choice {
        self.choose(Box::new(Constrained::over(self.asked.radius)), reason)
    }

    /// Frank-Wolfe, noisy where the ball has no vertices to select among.
    fn frank_wolfe_of_norm(&self) -> Choice {
        let ball = (self.domain).polytope(self.n_features, self.intercept, None, 1.0);
        match ball {
            Ok(_) => self.frank_wolfe("a ball with few vertices"),
            Err(_) => {
                let mechanism = NoisyFrankWolfe {
                    radius: self.asked.radius,
                    ..NoisyFrankWolfe::default()
                };
                self.choose(Box::new(mechanism), "a ball with many vertices")
            }
        }
    }

    /// Noisy Newton steps with what is asked for, where moments are taken and the norm has a prox.
    /// Without an alpha or a radius groups that are not worth their noise are zero.
    fn sparse_newton(&self, rho: f64, scale: bool, reason: &'static str) -> Result<Option<Choice>> {
        let columns = self.n_features + usize::from(self.intercept);
        let Asked { alpha, radius, .. } = self.asked;
        let held = radius.is_some() || alpha.is_some_and(|alpha| alpha > 0.0);
        if self.domain.is_positive() && !held {
            return Ok(None);
        }
        let takes = NoisyNewton::takes(
            self.domain,
            self.n_features,
            self.target.outputs(),
            radius.is_some(),
        );
        // Without second moments proximal gradients are as good for weighted l1 penalties. Nothing else knows balls and
        // other norms in units of the public bounds, though balls of set functions would take long.
        let norm = self.domain.norm(self.n_features);
        let weighted = norm.is_ok_and(|norm| norm.weights().is_some());
        let quick = weighted || !matches!(self.domain, Domain::SetFunction(_));
        let alone = (radius.is_some() && quick) || (alpha.is_some() && !weighted);
        let many = columns > NEWTON_COLUMNS && !alone;
        if !takes || many || !scale || self.loss.is_none() {
            return Ok(None);
        }
        let mechanism = NoisyNewton {
            alpha,
            radius,
            ridge: self.asked.ridge,
            hides_noise: self.hides_groups(),
            ..self.newton(rho)
        };
        self.after_scales(Box::new(mechanism), reason).map(Some)
    }

    /// For the l1 norm, where neither alpha, radius nor ridge is asked for.
    fn of_l1(&self, rho: f64, scale: bool) -> Result<Choice> {
        if self.loss.is_none() {
            return Ok(self.frank_wolfe("a user's own loss"));
        }
        let lipschitz = self.target.is_classes() && self.objective();
        let (chosen, reason): (Box<dyn Mechanism>, _) = if lipschitz && self.sparse() {
            let objective = ObjectivePerturbation {
                clip: self.clip(),
                ..ObjectivePerturbation::default()
            };
            (Box::new(objective), "rows far shorter than sqrt(p)")
        } else if self.target.outputs() == 1
            && self.few(rho)
            && !self.wide()
            && !(scale && self.better_around_means(rho))
        {
            return Ok(self.select_refit("unit bounds, few records", scale));
        } else {
            (Box::new(self.newton(rho)), "l1 and a smooth loss")
        };
        match scale {
            true => self.after_scales(chosen, reason),
            false => {
                let facts = self.scaled(chosen.weighs_records(self.target));
                Ok(facts.choose(chosen, reason))
            }
        }
    }
}

/// A mechanism and what it is told of the row norm.
#[derive(Debug)]
pub struct Choice {
    /// The mechanism.
    pub mechanism: Box<dyn Mechanism>,
    /// The row norm of the fit; None where none was given, or the mechanism that was chosen has no use for it.
    pub row_norm: Option<f64>,
    /// Why it was chosen, where a rule chose it.
    pub reason: Option<&'static str>,
}

/// The mechanism of the name "auto", with private scales where they are allowed and worth their budget; its plan and
/// its certificate say why.
///
/// | public facts | mechanism |
/// |---|---|
/// | reals or counts, too few records for what a model's noise leaves ([`MODEL_NATS`](crate::plan::defaults::MODEL_NATS)) | a constant |
/// | classes, too few records ([`CLASS_CONSTANT`](crate::plan::defaults::CLASS_CONSTANT)) | a constant |
/// | alpha, radius or ridge, a norm with a prox, at most 512 columns | noisy Newton with these penalties or in this ball |
/// | alpha of another norm than l1, or a ball of another than a set function's, more columns | the same without second moments |
/// | alpha or ridge | noisy proximal gradients with these penalties |
/// | radius | Frank-Wolfe, noisy where the ball has many vertices |
/// | a norm with theta >= 0 | noisy proximal gradients |
/// | disjoint groups, bounds [0, 1] or [-1, 1], n mu below 5 p, or more columns | select-refit |
/// | groups | noisy Newton, without groups that are not worth their noise |
/// | another norm that has a prox, or a set function's seminorm | noisy proximal gradients |
/// | a polytope, or a user's own loss | Frank-Wolfe, noisy where the ball has many vertices |
/// | classes, a Lipschitz loss, rows far shorter than sqrt(p) | objective perturbation |
/// | two classes or reals, bounds [0, 1] or [-1, 1], n mu below 5 p and 5 R sqrt(p) (reals 19; reals whose features can be around means, 15 sqrt(p)), p < 2047 | select-refit |
/// | anything else | noisy Newton, without second moments beyond 512 columns, and a line through its scores |
///
/// R is the row norm, where there is one; a fit whose features ranges or means move has no other use for it. Private
/// scales ([`PrivateScale`]) come before all of these but the first and Frank-Wolfe, and the middle and spread of the
/// target alone before select-refit.
///
/// ```
/// use dpsparse::loss::Logistic;
/// use dpsparse::auto::{Asked, Facts, auto};
/// use dpsparse::plan::{Domain, PrivacyClaim};
/// use dpsparse::accounting::event::Adjacency;
/// use dpsparse::privacy::{Bounds, Target};
/// let bounds = Bounds { lower: vec![0.0], upper: vec![1.0] };
/// let facts = Facts {
///     claim: PrivacyClaim {
///         n_samples: 10_000,
///         epsilon: 1.0,
///         delta: None,
///         adjacency: Adjacency::ReplaceOne,
///         records_per_person: 1,
///     },
///     n_features: 1_000,
///     bounds: &bounds,
///     row_norm: None,
///     intercept: true,
///     target: Target::Classes,
///     domain: &Domain::L1,
///     asked: Asked::default(),
///     loss: Some(&Logistic),
/// };
/// // Fewer records than squared features: select, then refit.
/// let choice = auto(&facts, true)?;
/// assert!(format!("{:?}", choice.mechanism).contains("SelectRefit"));
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// As [`PrivateScale::new`] and [`PrivacyClaim::validate`](crate::plan::PrivacyClaim::validate); an alpha or a ridge
/// that is negative or not finite; a radius outside [1e-100, 1e100]; a ridge beside a radius where Frank-Wolfe is what
/// is left; a row norm that is not positive and finite.
pub fn auto(facts: &Facts<'_>, scale: bool) -> Result<Choice> {
    let Asked {
        alpha,
        radius,
        ridge,
    } = facts.asked;
    for (name, value) in [("alpha", alpha), ("ridge", ridge)] {
        non_negative(name, value.unwrap_or(0.0))?;
    }
    Domain::size(radius, 1.0)?;
    // A choice that has no use for a norm drops it.
    positive("row_norm", facts.row_norm.unwrap_or(1.0))?;
    let has_ridge = facts.asked.has_ridge();
    let rho = rho_from_epsilon(facts.claim.epsilon, facts.claim.validate()?)?;
    // Others are a constraint that a constant need not meet, or leave features free.
    let has_prox = |domain: &Domain| {
        let norm = domain.norm(facts.n_features);
        norm.is_ok_and(|norm| norm.ball_is_bounded())
    };
    // Seminorms of set functions too: a penalty of the size of the noise holds back what they cost.
    let penalises = |domain: &Domain| {
        let of_function = matches!(domain, Domain::SetFunction(_));
        has_prox(domain) || (of_function && domain.norm(facts.n_features).is_ok())
    };
    match facts.domain {
        domain if scale && facts.hides_targets(rho) && has_prox(domain) => {
            let constant: Box<dyn Mechanism> = match facts.target {
                Target::Classes | Target::Multiclass { .. } => Box::new(ClassConstant),
                Target::Counts { .. } => Box::new(CountConstant),
                Target::Interval { .. } => Box::new(Constant),
            };
            Ok(facts.choose(constant, "too few records for a model"))
        }
        _ if radius.is_some() => match facts.sparse_newton(rho, scale, "a ball")? {
            Some(newton) => Ok(newton),
            None if has_ridge => {
                let problem = "is not used by Frank-Wolfe, which a radius takes for this norm or so many columns; leave one of them at None";
                Err(Error::invalid("ridge", problem))
            }
            None => Ok(facts.frank_wolfe_of_norm()),
        },
        _ if alpha.is_some() || has_ridge => {
            let newton = facts.sparse_newton(rho, scale, "a penalty")?;
            // Only weighted l1 norms are in units of the public bounds after private scales.
            let norm = facts.domain.norm(facts.n_features);
            let scale = scale && norm.is_ok_and(|norm| norm.weights().is_some());
            newton.map_or_else(|| facts.proximal("a penalty", scale), Ok)
        }
        Domain::L1 => facts.of_l1(rho, scale),
        domain if domain.is_positive() => facts.proximal("no negative coefficients", scale),
        domain if facts.hides_groups() => {
            let newton = facts.sparse_newton(rho, scale, "groups")?;
            let selects = matches!(domain, Domain::Groups(_))
                && facts.loss.is_some()
                && facts.row_norm.is_none();
            let few = facts.few(rho) && !facts.wide();
            match newton {
                Some(newton) if !(selects && few) => Ok(newton),
                _ if selects => Ok(facts.select_refit("groups", scale)),
                _ if facts.loss.is_some() && has_prox(domain) => {
                    facts.proximal("a norm other than l1", scale)
                }
                _ => Ok(facts.frank_wolfe_of_norm()),
            }
        }
        domain if facts.loss.is_some() && penalises(domain) => {
            facts.proximal("a norm other than l1", scale)
        }
        _ => Ok(facts.frank_wolfe_of_norm()),
    }
}
