use super::accelerated_gradient::AcceleratedGradient;
use super::coordinate_descent::CoordinateDescent;
use super::group_descent::GroupDescent;
use super::point::Point;
use super::regulariser::Omega;
use super::run::Run;
use super::{Design, Problem};
use crate::error::Result;

/// How the quadratic model plus penalty is minimised over a working set.
pub(super) enum Model {
    /// The l1 norm only.
    Coordinates(Box<CoordinateDescent>),
    /// The group lasso only.
    Groups(Box<GroupDescent>),
    /// Any norm.
    Gradient(Box<AcceleratedGradient>),
}

impl Model {
    /// Share of the first decreases below which a pass ends the first models. Steps that use one length for all
    /// coordinates take long for digits that the next model throws away.
    pub fn first_accuracy(&self) -> f64 {
        match self {
            Self::Coordinates(_) | Self::Groups(_) => 1e-3,
            Self::Gradient(_) => 1e-2,
        }
    }

    /// h, one entry a record.
    pub fn curvatures(&mut self) -> &mut [f64] {
        match self {
            Self::Coordinates(model) => &mut model.curvatures,
            Self::Groups(model) => &mut model.curvatures,
            Self::Gradient(model) => &mut model.curvatures,
        }
    }

    /// The non-zeros, and features that the penalised problem would add.
    pub fn choose_working_set<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        omega: &mut Omega<'_>,
        point: &Point,
        alpha: f64,
    ) -> Result<()> {
        match self {
            Self::Coordinates(model) => model.choose_working_set(point, alpha),
            Self::Groups(model) => model.choose_working_set(point, alpha),
            Self::Gradient(model) => model.choose_working_set(problem, omega, point, alpha)?,
        }
        Ok(())
    }

    /// Builds the model at a point with weighted slopes `slopes`, from the present curvatures and working set.
    pub fn reset<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        slopes: &[f64],
        alpha: f64,
    ) {
        match self {
            Self::Coordinates(model) => model.reset(problem, slopes, alpha),
            Self::Groups(model) => model.reset(problem, slopes, alpha),
            Self::Gradient(model) => model.reset(problem, slopes, alpha),
        }
    }

    /// Moves theta until passes bring little; returns the change of model plus penalty.
    pub fn minimise<D: Design + ?Sized>(
        &mut self,
        problem: &Problem<'_, D>,
        omega: &mut Omega<'_>,
        theta: &mut [f64],
        run: &mut Run<'_>,
    ) -> Result<f64> {
        match self {
            Self::Coordinates(model) => model.minimise(problem.design(), theta, run),
            Self::Groups(model) => model.minimise(problem.design(), theta, run),
            Self::Gradient(model) => model.minimise(problem.design(), omega, theta, run),
        }
    }
}
