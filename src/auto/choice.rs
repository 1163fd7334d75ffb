//! Which mechanism is best, by public facts alone ([`crate::theory_of_privacy::leaks`]).

use crate::accounting::calibrate::rho_from_epsilon;
use crate::auto::PrivateScale;
use crate::error::Result;
use crate::loss::Loss;
use crate::mechanism::{
    Mechanism, NoisyFrankWolfe, NoisyNewton, NoisyProximalGradient, ObjectivePerturbation,
    SelectRefit,
};
use crate::plan::defaults::{
    AUTO_CLIP, CLASSIFIER_NEWTON_LIMIT, NEWTON_CLIP, REGRESSOR_NEWTON_LIMIT, SURE_CLIP,
    SURE_STRENGTH, WEIGHTED_ROW,
};
use crate::plan::{Domain, PrivacyClaim};
use crate::privacy::{Bounds, Target};

/// What is public before a fit.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Number of records, budget, neighbours.
    pub claim: PrivacyClaim,
    /// Number of features.
    pub n_features: usize,
    /// Public bounds of the features.
    pub bounds: &'a Bounds,
    /// Public bound on the Euclidean norm of a scaled row.
    pub row_norm: Option<f64>,
    /// Whether an intercept is fitted.
    pub intercept: bool,
    /// What y holds.
    pub target: Target,
    /// The norm.
    pub domain: &'a Domain,
    /// The loss where it is catalogued, convex and smooth by review; None: a user's own.
    pub loss: Option<&'a dyn Loss>,
}

impl Facts<'_> {
    /// Whether n >= p^2: there noise in all p coordinates is small.
    fn many(&self) -> bool {
        self.claim.n_samples / self.n_features.max(1) >= self.n_features
    }

    /// Whether the row norm is far below sqrt(p): records are sparse counts.
    pub(super) fn sparse(&self) -> bool {
        let most = WEIGHTED_ROW * self.n_features as f64;
        self.row_norm.is_some_and(|norm| norm * norm < most)
    }

    /// Whether there are bounds that say nothing about how features are spread.
    fn wide(&self) -> bool {
        self.bounds.fits(self.n_features) && !self.bounds.all_unit(self.n_features)
    }

    /// Whether all features have one wide range.
    fn alike(&self) -> bool {
        self.wide() && self.bounds.all_equal(self.n_features)
    }

    /// Whether ranges of features could help: they move features, which takes an intercept and no row norm.
    pub(super) fn movable(&self) -> bool {
        self.wide() && self.intercept && self.row_norm.is_none()
    }

    /// Whether noisy second moments say more of most directions than their noise hides, under a zCDP budget.
    fn moments_are_clear(&self, rho: f64) -> bool {
        let columns = self.n_features + usize::from(self.intercept);
        let limit = match self.target {
            Target::Classes => CLASSIFIER_NEWTON_LIMIT,
            Target::Interval { .. } => REGRESSOR_NEWTON_LIMIT,
        };
        columns <= NoisyNewton::MOST_COLUMNS
            && NoisyNewton::relative_damping(&self.claim, columns, rho) <= limit
    }

    /// Whether objective perturbation is proved for these facts: one record per person
    /// ([`crate::theory_of_privacy::objective_perturbation`]).
    fn objective(&self) -> bool {
        let lipschitz = |loss: &dyn Loss| loss.growth().is_bounded();
        self.claim.records_per_person == 1 && self.loss.is_some_and(lipschitz)
    }

    /// The clamp of the derivatives of the logistic loss; other losses have none.
    fn clip(&self) -> Option<f64> {
        let logistic = self.loss.is_some_and(|loss| loss.name() == "logistic");
        let strength =
            self.claim.n_samples as f64 * self.claim.epsilon / self.n_features.max(1) as f64;
        let clip = if strength < SURE_STRENGTH {
            AUTO_CLIP
        } else {
            SURE_CLIP
        };
        logistic.then_some(clip)
    }

    fn choose(&self, mechanism: Box<dyn Mechanism>, reason: &'static str) -> Choice {
        Choice {
            mechanism,
            row_norm: self.row_norm,
            reason: Some(reason),
        }
    }

    /// It centres features, which a bound on uncentred rows says nothing about: with one, uncentred, it loses 7 points
    /// on dna_splice at epsilon 0.5.
    fn select_refit(&self, reason: &'static str) -> Choice {
        let mechanism = SelectRefit {
            clip: self.clip(),
            ..SelectRefit::default()
        };
        Choice {
            row_norm: None,
            ..self.choose(Box::new(mechanism), reason)
        }
    }

    fn frank_wolfe(&self, reason: &'static str) -> Choice {
        self.choose(Box::new(crate::mechanism::Constrained::default()), reason)
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

/// The mechanism of the name "auto", with private scales where they are allowed and worth their budget; its plan and its
/// certificate say why.
///
/// | public facts | mechanism |
/// |---|---|
/// | another norm | select-refit for groups, Frank-Wolfe where its ball has few vertices, else noisy Frank-Wolfe |
/// | a user's own loss | Frank-Wolfe |
/// | several records a person, or the squared loss for classes | as for a regression |
/// | classes, private ranges | noisy Newton |
/// | classes, n >= p^2, or rows far shorter than sqrt(p), or one wide range for all features | objective perturbation |
/// | classes otherwise | select-refit |
/// | a regression, n >= p^2 or private ranges | noisy Newton, or proximal gradient where noise hides the moments |
/// | a regression with a row norm | noisy proximal gradient |
/// | a regression otherwise | select-refit |
///
/// Objective perturbation, noisy Newton and noisy proximal gradient come after private scales ([`PrivateScale`]),
/// unless a row norm says that features are scaled as they should be.
///
/// ```
/// use dpsparse::loss::Logistic;
/// use dpsparse::auto::{Facts, auto};
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
///     loss: Some(&Logistic),
/// };
/// // Fewer records than squared features: select, then refit.
/// let choice = auto(&facts, true)?;
/// assert!(format!("{:?}", choice.mechanism).contains("SelectRefit"));
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// As [`PrivateScale::new`] and [`PrivacyClaim::validate`].
pub fn auto(facts: &Facts<'_>, scale: bool) -> Result<Choice> {
    let classes = facts.target == Target::Classes;
    match facts.domain {
        Domain::L1 => {}
        Domain::Groups(_) if facts.loss.is_some() && facts.row_norm.is_none() => {
            return Ok(facts.select_refit("groups"));
        }
        domain => {
            let ball = domain.polytope(facts.n_features, facts.intercept, None, 1.0);
            return Ok(match ball {
                Ok(_) => facts.frank_wolfe("a ball with few vertices"),
                Err(_) => {
                    let mechanism = Box::new(NoisyFrankWolfe::default());
                    facts.choose(mechanism, "a norm other than l1")
                }
            });
        }
    }
    if facts.loss.is_none() {
        return Ok(facts.frank_wolfe("a user's own loss"));
    }
    let rho = rho_from_epsilon(facts.claim.epsilon, facts.claim.validate()?)?;
    let (many, sparse, alike) = (facts.many(), facts.sparse(), facts.alike());
    let centred = scale && facts.movable();
    // A regression on wide bounds is lost without ranges: on california at epsilon 0.05 R^2 -.8, and .6 with poor ones.
    let ranged = centred && (!classes || PrivateScale::can_range(facts, rho));
    let clear = facts.moments_are_clear(rho);
    let newton = || NoisyNewton {
        clip: facts.clip().map(|_| NEWTON_CLIP),
        ..NoisyNewton::default()
    };
    let objective = || ObjectivePerturbation {
        clip: facts.clip(),
        ..ObjectivePerturbation::default()
    };
    let (chosen, reason): (Box<dyn Mechanism>, _) = if ranged && clear {
        (
            Box::new(newton()),
            "bounds that say little, second moments above their noise",
        )
    } else if classes && facts.objective() {
        let reason = match (many, sparse) {
            (true, _) => "n >= p^2",
            (_, true) => "rows far shorter than sqrt(p)",
            _ if alike && centred => "one wide range for all features",
            _ => return Ok(facts.select_refit("n < p^2")),
        };
        (Box::new(objective()), reason)
    } else if !classes && many && clear {
        (
            Box::new(newton()),
            "n >= p^2, second moments above their noise",
        )
    } else if many || facts.row_norm.is_some() {
        let reason = if many { "n >= p^2" } else { "a row norm" };
        (Box::new(NoisyProximalGradient::default()), reason)
    } else {
        return Ok(facts.select_refit("n < p^2"));
    };
    let scaled = sparse || ranged || (facts.row_norm.is_none() && !facts.wide());
    let mechanism: Box<dyn Mechanism> = if centred && !ranged && alike && classes {
        Box::new(PrivateScale::public(chosen))
    } else if scale && scaled {
        Box::new(PrivateScale::new(chosen, facts)?)
    } else {
        chosen
    };
    Ok(facts.choose(mechanism, reason))
}
