//! What is public before a fit, and what it says.

use serde::Deserialize;

use super::class_constant::has_constant;
use super::private_scale::{in_units_of_spread, models_targets};
use crate::loss::Loss;
use crate::mechanism::{ClassScores, NoisyNewton};
use crate::plan::defaults::{
    AUTO_CLIP, OPEN_STRENGTH, SELECT_AROUND_MEANS, SELECT_SHORT_ROWS, SELECT_STRENGTH, SURE_CLIP,
    WEIGHTED_ROW, hides_classes, noise_allows,
};
use crate::plan::{Domain, PrivacyClaim};
use crate::privacy::{Bounds, Target};

/// What a fit has beside its loss, in scaled units, which are those of the public bounds.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Asked {
    /// The penalty per unit of the norm, for the penalised form.
    pub alpha: Option<f64>,
    /// The largest norm, for the constrained form.
    pub radius: Option<f64>,
    /// The ridge of all features: (ridge/2)|theta|^2.
    pub ridge: Option<f64>,
}

impl Asked {
    pub(super) fn has_ridge(&self) -> bool {
        self.ridge.is_some_and(|ridge| ridge > 0.0)
    }
}

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
    /// What the fit has beside its loss.
    pub asked: Asked,
    /// The loss where it is catalogued, convex and smooth by review; None: a user's own.
    pub loss: Option<&'a dyn Loss>,
}

impl Facts<'_> {
    /// Whether noise in all p coordinates is large; it is in proportion to the length of rows. More columns than second
    /// moments are taken of are sparse as a rule.
    pub(super) fn few(&self, rho: f64) -> bool {
        let (n, person) = (self.claim.n_samples, self.claim.records_per_person);
        let (columns, allowed) = (self.n_features.max(1) as f64, noise_allows(n, person, rho));
        let [classes, reals] = SELECT_SHORT_ROWS;
        let least = if self.target.is_classes() {
            classes
        } else {
            reals
        };
        let long = self
            .row_norm
            .is_none_or(|norm| allowed < least * norm * columns.sqrt());
        let few = long && allowed < SELECT_STRENGTH * columns;
        few && self.n_features < NoisyNewton::MOST_COLUMNS
    }

    /// Whether the row norm is far below sqrt(p), and features are alike: records are sparse counts. A table with a
    /// number beside the indicators of a category of many levels is none.
    pub(super) fn sparse(&self) -> bool {
        let most = WEIGHTED_ROW * self.n_features as f64;
        let (bounds, p) = (self.bounds, self.n_features);
        let alike = bounds.fits(p) && (bounds.all_unit(p) || !bounds.any_unit(p));
        alike && self.row_norm.is_some_and(|norm| norm * norm < most)
    }

    /// Whether there are bounds that say nothing about how features are spread.
    pub(super) fn wide(&self) -> bool {
        self.bounds.fits(self.n_features) && !self.bounds.all_unit(self.n_features)
    }

    /// Whether ranges or means of features could help: they move features, which takes an intercept and no row norm.
    pub(super) fn movable(&self) -> bool {
        let some = self.wide() || self.has_means();
        some && self.intercept && self.row_norm.is_none()
    }

    /// The same, if a row norm is not used.
    fn movable_without_norm(&self) -> bool {
        !self.sparse() && self.without_norm().movable()
    }

    fn without_norm(&self) -> Self {
        Self {
            row_norm: None,
            ..*self
        }
    }

    /// Whether there are features whose sizes add up to means.
    fn has_means(&self) -> bool {
        let bounds = self.bounds;
        bounds.fits(self.n_features) && (0..self.n_features).any(|j| bounds.sign(j) != 0.0)
    }

    /// Whether reals with unit bounds are better around their means than selected, with this noise.
    pub(super) fn better_around_means(&self, rho: f64) -> bool {
        let (n, person) = (self.claim.n_samples, self.claim.records_per_person);
        let enough = SELECT_AROUND_MEANS * (self.n_features as f64).sqrt();
        let movable = self.movable_without_norm();
        !self.target.is_classes() && movable && noise_allows(n, person, rho) >= enough
    }

    /// Whether objective perturbation is proved for these facts: one record per person
    /// ([`crate::theory_of_privacy::objective_perturbation`]).
    pub(super) fn objective(&self) -> bool {
        let lipschitz = |loss: &dyn Loss| loss.growth().is_bounded();
        let scalar = self.target.outputs() == 1;
        scalar && self.claim.records_per_person == 1 && self.loss.is_some_and(lipschitz)
    }

    /// The clamp of the derivatives of the logistic loss in objective perturbation; other losses have none.
    pub(super) fn clip(&self) -> Option<f64> {
        if self.target.outputs() > 1 {
            return self.logistic().then_some(self.least_clip());
        }
        let strength =
            self.claim.n_samples as f64 * self.claim.epsilon / self.n_features.max(1) as f64;
        let clip = if strength < OPEN_STRENGTH {
            AUTO_CLIP
        } else {
            SURE_CLIP
        };
        self.logistic().then_some(clip)
    }

    pub(super) fn logistic(&self) -> bool {
        self.loss.is_some_and(|loss| loss.name() == "logistic")
    }

    /// Whether scores of a constant are worth knowing first.
    pub(super) fn starts(&self) -> bool {
        (self.loss).is_some_and(|loss| NoisyNewton::starts(self.target, loss.name()))
    }

    /// The clamp of the derivatives of the logistic loss where noise is large: their size where all classes are alike.
    pub(super) fn least_clip(&self) -> f64 {
        ClassScores(self.target.outputs()).least_clip()
    }

    /// The same facts for private scales before a mechanism that counts long rows less or shortens them: a norm says
    /// nothing about features that ranges or means move, and rows are shorter there than any norm tells.
    pub(super) fn scaled(&self, weighs: bool) -> Self {
        let moved = self.wide() || (weighs && self.movable_without_norm());
        match moved && !self.sparse() {
            true => self.without_norm(),
            false => *self,
        }
    }

    /// Whether there are too few records for a model: those of a regression, or of counts, must be found first, and
    /// shares of classes are.
    pub(super) fn hides_targets(&self, rho: f64) -> bool {
        let takes = |loss: &dyn Loss| match self.target {
            Target::Interval { .. } => in_units_of_spread(loss.name()),
            Target::Counts { .. } => true,
            Target::Classes | Target::Multiclass { .. } => has_constant(self.target, loss),
        };
        let (n, person) = (self.claim.n_samples, self.claim.records_per_person);
        let few = match self.target.is_classes() {
            true => hides_classes(n, person, self.n_features, rho),
            false => !models_targets(n, person, rho),
        };
        self.intercept && self.loss.is_some_and(takes) && few
    }

    /// Whether there are groups, and nothing says how large they may be.
    pub(super) fn hides_groups(&self) -> bool {
        let groups = matches!(self.domain, Domain::Groups(_) | Domain::GroupLasso(_));
        let Asked { alpha, radius, .. } = self.asked;
        groups && alpha.is_none() && radius.is_none() && !self.asked.has_ridge()
    }
}
