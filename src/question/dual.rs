//! Minimisers along a path of public linear terms: what Frank-Wolfe on the dual asks for.

use super::Question;
use super::lattice::{LatticeNoise, power_of_two_below};
use super::strongly_convex::StronglyConvex;
use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::selection::{MinkowskiSelection, Summand};
use crate::numeric::directed::{add_up, div_up, sqrt_up};

/// theta(s) = argmin mean loss + (ridge/2)|theta|^2 + <s, theta> at public s, |s|_2 <= a public bound (Kumar &
/// Deisenroth 2019, Algorithm 2, whose Eq. (13) reads the records).
///
/// **Sensitivity.** At the same s the objectives of neighbours differ by at most c L R2/n in gradient and both are
/// ridge-strongly convex; what the room holds is within e of the minimiser, whatever it started from. So D2 = c L R2/(n
/// ridge) + 2 e, the same at every s. s is public: it comes from earlier answers alone.
#[derive(Debug, Clone)]
pub struct DualPath {
    pub(crate) minimiser: StronglyConvex,
    /// Bound on |s|_2.
    pub(crate) reach: f64,
    sensitivity: f64,
}

/// Lattice units per unit of D2/sqrt(p): rounding adds a thousandth.
const FINENESS: f64 = 1000.0;

/// theta(s), released with Gaussian noise: sqrt(p) lattice units are added to D2.
#[derive(Debug, Clone)]
pub struct DualPoint {
    pub(crate) path: DualPath,
    pub(crate) noise: LatticeNoise,
}

/// A vertex of a Minkowski sum, chosen at theta(s) rounded to a lattice h: |d|_2 <= D2/h + sqrt(p) units
/// ([`MinkowskiSelection`]).
#[derive(Debug, Clone)]
pub struct DualVertex {
    pub(crate) path: DualPath,
    /// h.
    pub(crate) lattice: f64,
    pub(crate) selection: MinkowskiSelection,
}

impl StronglyConvex {
    /// Minimisers with linear terms of norm at most `reach`.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`] for several scores a record, for which no path is proved; [`Error::InvalidArgument`]
    /// where theta(s) leaves the range of floating point, or for a ridge so small that the solver could take too many
    /// steps to it.
    pub fn path(&self, reach: f64) -> Result<DualPath> {
        self.model.reviewed()?;
        let sensitivity = self.tilted_sensitivity(reach);
        if !(1e-100..1e100).contains(&sensitivity) {
            return Err(Error::invalid(
                "alpha",
                "is too large for this ridge: theta(s) leaves the range of floating point",
            ));
        }
        self.solver_error(reach)?;
        Ok(DualPath {
            minimiser: self.clone(),
            reach,
            sensitivity,
        })
    }
}

impl DualPath {
    /// Releases of theta(s) with noise of standard deviation `multiplier` times the sensitivity.
    ///
    /// # Errors
    /// Noise beyond what the exact sampler takes.
    pub fn points(&self, multiplier: f64) -> Result<Question<DualPoint>> {
        let root = sqrt_up(self.minimiser.columns() as f64);
        let lattice = power_of_two_below(self.sensitivity / root / FINENESS);
        let units = add_up(div_up(self.sensitivity, lattice), root);
        let noise = LatticeNoise::gaussian(lattice, units, multiplier)?;
        let events = noise.events().to_vec();
        let path = self.clone();
        let answer = DualPoint { path, noise };
        let most_records = self.minimiser.most_records();
        let question = Question::new(self.minimiser.statement(), answer, events).in_one_block();
        Ok(question.of_at_most(most_records))
    }

    /// Choices of a vertex of the sum of `summands` over the features, each of zCDP `rho`; they work on from where
    /// `points` are, and the other way round.
    ///
    /// # Errors
    /// Those of [`MinkowskiSelection::new`].
    pub fn vertices(
        &self,
        summands: Vec<Summand>,
        rho: f64,
        points: &Question<DualPoint>,
    ) -> Result<Question<DualVertex>> {
        let statement = self.minimiser.statement();
        let p = statement.schema().n_features();
        let root = sqrt_up(p as f64);
        let lattice = power_of_two_below(self.sensitivity / root / FINENESS);
        let moved = add_up(div_up(self.sensitivity, lattice), root);
        let selection = MinkowskiSelection::new(summands, p, moved, rho)?;
        let events = vec![(Event::zero_concentrated(selection.rho())?, 1)];
        let answer = DualVertex {
            path: self.clone(),
            lattice,
            selection,
        };
        let question = Question::new(statement, answer, events);
        let question = question.sharing(points).in_one_block();
        Ok(question.of_at_most(self.minimiser.most_records()))
    }
}

impl Question<DualPoint> {
    /// Standard deviation of the noise on an entry of a released theta(s), in scaled units.
    pub fn output_scale(&self) -> f64 {
        (self.answer.noise).scale(self.statement().n_columns())
    }
}
