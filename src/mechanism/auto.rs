//! Which mechanism is best, by public facts alone (MECHANISMS M13).

use super::defaults::{AUTO_CLIP, WEIGHTED_ROW};
use super::{
    Domain, Mechanism, NoisyFrankWolfe, NoisyProximalGradient, ObjectivePerturbation, PrivateScale,
    SelectRefit,
};
use crate::error::Result;
use crate::privacy::calibrate::rho_from_epsilon;
use crate::privacy::{Bounds, Target};

/// What is public before a fit.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Number of records (under add-remove: the public normaliser).
    pub n_samples: usize,
    /// Number of features.
    pub n_features: usize,
    /// Privacy parameters; no delta means the default one.
    pub epsilon: f64,
    /// See `epsilon`.
    pub delta: Option<f64>,
    /// How many records one person may own.
    pub records_per_person: usize,
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
    /// Whether the loss is catalogued: convex and smooth by review.
    pub reviewed_loss: bool,
    /// Whether the loss has a Lipschitz constant.
    pub lipschitz_loss: bool,
    /// Whether it is the logistic loss, whose derivatives can be clamped.
    pub logistic_loss: bool,
}

/// The mechanism of the name "auto", with private scales where they are allowed and worth their budget.
///
/// | public facts | mechanism |
/// |---|---|
/// | a norm other than l1 | select-refit for groups, Frank-Wolfe where its ball has few vertices, else noisy Frank-Wolfe |
/// | a user's own loss | Frank-Wolfe |
/// | several records a person, or the squared loss for classes | as for a regression |
/// | classes, n >= p^2, or rows far shorter than sqrt(p), or one wide range for all features | objective perturbation |
/// | classes otherwise | select-refit |
/// | a regression, n >= p^2 or with a row norm | noisy proximal gradient |
/// | a regression otherwise | Frank-Wolfe |
///
/// Objective perturbation and noisy proximal gradient come after private scales ([`PrivateScale`]), unless a row norm says that
/// features are scaled as they should be.
///
/// ```
/// use dpsparse::mechanism::{Domain, Facts, auto};
/// use dpsparse::privacy::{Bounds, Target};
/// let bounds = Bounds { lower: vec![0.0], upper: vec![1.0] };
/// let facts = Facts {
///     n_samples: 10_000,
///     n_features: 1_000,
///     epsilon: 1.0,
///     delta: None,
///     records_per_person: 1,
///     bounds: &bounds,
///     row_norm: None,
///     intercept: true,
///     target: Target::Classes,
///     domain: &Domain::L1,
///     reviewed_loss: true,
///     lipschitz_loss: true,
///     logistic_loss: true,
/// };
/// // Fewer records than squared features: select, then refit.
/// assert!(format!("{:?}", auto(facts, true)?).starts_with("SelectRefit"));
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// As [`PrivateScale::new`]; an epsilon or delta outside its domain.
pub fn auto(facts: Facts<'_>, scale: bool) -> Result<Box<dyn Mechanism>> {
    let Facts {
        n_samples: n,
        n_features: p,
        bounds,
        row_norm,
        ..
    } = facts;
    let clip = facts.logistic_loss.then_some(AUTO_CLIP);
    let classes = facts.target == Target::Classes;
    // Objective perturbation is proved for one record per person (MECHANISMS M8).
    let objective = facts.reviewed_loss && facts.lipschitz_loss && facts.records_per_person == 1;
    match facts.domain {
        Domain::L1 => {}
        Domain::Groups(_) if classes && objective && row_norm.is_none() => {
            return Ok(select_refit(clip));
        }
        domain => {
            let few = domain.polytope(p, facts.intercept, None, 1.0).is_ok();
            return Ok(if few {
                frank_wolfe()
            } else {
                Box::new(NoisyFrankWolfe::default())
            });
        }
    }
    if !facts.reviewed_loss {
        return Ok(frank_wolfe());
    }
    let many = n / p.max(1) >= p;
    let sparse = row_norm.is_some_and(|norm| norm * norm < WEIGHTED_ROW * p as f64);
    let delta = facts
        .delta
        .unwrap_or_else(|| (n.max(2) as f64).powi(-2).min(1e-6));
    let rho = rho_from_epsilon(facts.epsilon, delta)?;
    let wide = bounds.fits(p) && (0..p).any(|j| !bounds.is_unit(j));
    let alike = wide && (1..p).all(|j| bounds.of(j) == bounds.of(0));
    let centred = scale && wide && facts.intercept && row_norm.is_none();
    let ranged = centred && PrivateScale::can_range(bounds, n, p, facts.records_per_person, rho);
    let chosen: Box<dyn Mechanism> = if classes && objective {
        if many || sparse || (alike && centred) {
            Box::new(ObjectivePerturbation {
                clip,
                ..ObjectivePerturbation::default()
            })
        } else {
            return Ok(select_refit(clip));
        }
    } else if many || row_norm.is_some() {
        Box::new(NoisyProximalGradient::default())
    } else {
        return Ok(frank_wolfe());
    };
    if centred && !ranged && alike && classes {
        return Ok(Box::new(PrivateScale::public(chosen)));
    }
    if scale && (sparse || ranged || (row_norm.is_none() && !wide)) {
        let scaled = PrivateScale::new(chosen, facts.domain, p, bounds, facts.intercept, row_norm)?;
        return Ok(Box::new(scaled));
    }
    Ok(chosen)
}

/// It centres features, which a bound on uncentred rows says nothing about: with one, uncentred, it loses 7 points on dna_splice
/// at epsilon 0.5.
fn select_refit(clip: Option<f64>) -> Box<dyn Mechanism> {
    Box::new(SelectRefit {
        drop_row_norm: true,
        clip,
        ..SelectRefit::default()
    })
}

fn frank_wolfe() -> Box<dyn Mechanism> {
    Box::new(super::frank_wolfe::Constrained::default())
}
