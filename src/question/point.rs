//! The shape of an answer that is a point: a stable algorithm in the room, then noise on a lattice.

use super::Question;
use super::descent::Descent;
use super::lattice::{GAMMA_FAILURE, LatticeNoise, PointNoise, gamma_failure, power_of_two_below};
use super::permuted::Permuted;
use super::statement::Statement;
use super::strongly_convex::StronglyConvex;
use crate::accounting::event::Event;
use crate::error::Result;
use crate::exact::noise::rounded_gaussian::RoundedGaussian;
use crate::exact::noise::spherical_gamma::SphericalGamma;
use crate::norm::ReviewedNorm;
use crate::numeric::directed::{add_up, div_up, mul_up, sqrt_up};

/// The point of a stable algorithm, released with noise (Chaudhuri, Monteleoni & Sarwate 2011).
///
/// It is rounded to the lattice h of its noise: sqrt(p) lattice units more on its sensitivity.
#[derive(Debug, Clone)]
pub struct Point {
    pub(crate) algorithm: Algorithm,
    pub(crate) noise: LatticeNoise,
    /// D2; None with a random linear term, whose event says what it costs.
    pub(crate) sensitivity: Option<f64>,
}

#[derive(Debug, Clone)]
pub(crate) enum Algorithm {
    Minimise(StronglyConvex, Option<Tilt>),
    Descend(Descent),
    Permute(Permuted),
}

impl Algorithm {
    /// The penalty, where it has one.
    pub(crate) fn penalty(&self) -> Option<&(ReviewedNorm, f64)> {
        match self {
            Self::Minimise(minimiser, _) => minimiser.penalty(),
            Self::Descend(descent) => descent.options.penalty.as_ref(),
            Self::Permute(_) => None,
        }
    }

    /// Scores of a record.
    fn outputs(&self) -> usize {
        match self {
            Self::Minimise(minimiser, _) => minimiser.model.outputs(),
            Self::Descend(descent) => descent.model.outputs(),
            Self::Permute(_) => 1,
        }
    }
}

/// The random linear term <b, theta>/n of objective perturbation, and the noise that covers the solver's error (Kifer,
/// Smith & Thakurta 2012; Redberg, Koskela & Wang 2023).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum TiltNoise {
    /// b ~ N(0, sigma^2 I), and a Gaussian of `cover` times the sensitivity on the point.
    Gaussian {
        /// Standard deviation of an entry of b, absolute: in units of the gradient of the summed loss.
        sigma: f64,
        /// Standard deviations of the cover per unit of its sensitivity.
        cover: f64,
    },
    /// b of density proportional to exp(-|b|_2/size), size = c L R2/epsilon, and lattice Laplace noise on the point
    /// (Chaudhuri, Monteleoni & Sarwate 2011).
    Gamma {
        /// What b costs beside the curvature.
        epsilon: f64,
        /// What the cover costs.
        cover: f64,
    },
}

/// The random linear term.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tilt {
    pub law: DrawnTilt,
    /// Bound on |b|_2/n.
    pub bound: f64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum DrawnTilt {
    Gaussian {
        /// h_b.
        lattice: f64,
        /// Standard deviation of an entry of b, in units of h_b.
        sigma: f64,
    },
    Gamma {
        /// Scale of |b|_2.
        size: f64,
    },
}

/// Lattice units per standard deviation of b.
const TILT_UNITS: f64 = (1u64 << 39) as f64;
/// Standard deviations sqrt(p) that the size of b may take. Larger ones have probability below exp(-63^2 p/2) < 1e-850,
/// less than the last digit of any delta: claims are kept with the float below delta.
const TILT_SIZES: f64 = 64.0;
/// The same for Gamma noise: |b| > size (p + sqrt(2 p t) + t) has probability below exp(-t) (Boucheron, Lugosi &
/// Massart 2013, section 2.4).
const GAMMA_TAIL: f64 = 2000.0;

impl StronglyConvex {
    /// The minimiser with noise on the point: output perturbation.
    ///
    /// # Errors
    /// Noise beyond what the exact samplers take; a ridge so small that the solver could take too many steps.
    pub fn with_output_noise(&self, noise: PointNoise) -> Result<Question<Point>> {
        let sensitivity = self.sensitivity()?;
        let noise = LatticeNoise::new(noise, sensitivity, self.entries())?;
        Ok(question(
            self.statement(),
            Algorithm::Minimise(self.clone(), None),
            noise,
            sensitivity,
        ))
    }

    /// The minimiser of the objective with a random linear term: objective perturbation.
    ///
    /// theta*(b) with b ~ N(0, s^2 I) costs an objective-perturbation event of L R2, s and ln(1 + kappa), kappa = beta
    /// R2^2/(n ridge). b is drawn as a multiple of a lattice so fine that replacing it by the continuous b moves theta*
    /// by at most e_b = h_b sqrt(p)/(2 n ridge); with the solver's e the released point is within e + e_b of theta*(b)
    /// of the continuous b, a function of a private release, so Gaussian noise of sensitivity 2 (e + e_b) covers the
    /// difference. With Gamma noise: pure c L R2/size + ln(1 + kappa), and Laplace noise for the cover.
    ///
    /// # Errors
    /// [`Error::UnsoundMechanism`](crate::Error::UnsoundMechanism) for several records a person, for which no bound is
    /// proved, or the squared loss; noise beyond what the exact samplers take.
    pub fn with_random_tilt(&self, noise: TiltNoise) -> Result<Question<Point>> {
        self.check_tilted()?;
        match noise {
            TiltNoise::Gaussian { sigma, cover } => self.gaussian_tilt(sigma, cover),
            TiltNoise::Gamma { epsilon, cover } => self.gamma_tilt(epsilon, cover),
        }
    }

    fn gaussian_tilt(&self, s: f64, cover: f64) -> Result<Question<Point>> {
        let statement = self.statement();
        let event = Event::objective_perturbation(
            self.slope_norm(),
            s,
            self.curvature_log(),
            statement.adjacency(),
        )?;
        let lattice = power_of_two_below(s / TILT_UNITS);
        // The noise drawn is at least s: the event covers it.
        let sigma = div_up(s, lattice);
        RoundedGaussian::new(sigma)?;
        let root = sqrt_up(self.columns() as f64);
        let bound = 1.001 * TILT_SIZES * s * (self.columns() as f64).sqrt() / self.n_samples();
        let error = self.solver_error(bound)?;
        let tilt_error = self.distance(mul_up(lattice, root));
        // 2 (e + e_b), of which tilt_error is the second half.
        let moved = add_up(mul_up(2.0, error), tilt_error);
        let point_lattice = power_of_two_below(moved / root);
        let units = add_up(div_up(moved, point_lattice), root);
        let noise = LatticeNoise::gaussian(point_lattice, units, cover)?;
        let law = DrawnTilt::Gaussian { lattice, sigma };
        Ok(self.tilted(Tilt { law, bound }, noise, vec![(event, 1)]))
    }

    fn gamma_tilt(&self, epsilon: f64, cover: f64) -> Result<Question<Point>> {
        let slope = self.changed_slope();
        let size = div_up(slope, epsilon);
        let p = self.columns() as f64;
        let bound =
            1.001 * size * (p + (2.0 * p * GAMMA_TAIL).sqrt() + GAMMA_TAIL) / self.n_samples();
        let error = self.solver_error(bound)?;
        let tilt_error =
            self.distance(SphericalGamma::new(self.columns(), size)?.error(GAMMA_FAILURE)?);
        let moved = mul_up(2.0, add_up(error, tilt_error));
        let noise = LatticeNoise::new(
            PointNoise::Laplace { epsilon: cover },
            moved,
            self.columns(),
        )?;
        let pure = Event::pure(add_up(div_up(slope, size), self.curvature_log()))?;
        let failure = gamma_failure(&[pure, noise.events()[0].0])?;
        let law = DrawnTilt::Gamma { size };
        let mut question = self.tilted(Tilt { law, bound }, noise, vec![(pure, 1)]);
        question.also_costs(failure);
        Ok(question)
    }

    /// By how much the minimiser moves with a linear term whose b moves by `moved`, rounded up.
    fn distance(&self, moved: f64) -> f64 {
        div_up(moved, self.n_samples() * self.ridge() * (1.0 - 1e-15))
    }

    fn tilted(
        &self,
        tilt: Tilt,
        noise: LatticeNoise,
        mut events: Vec<(Event, u64)>,
    ) -> Question<Point> {
        events.extend_from_slice(noise.events());
        let point = Point {
            algorithm: Algorithm::Minimise(self.clone(), Some(tilt)),
            noise,
            sensitivity: None,
        };
        let question = Question::new(self.statement(), point, events);
        question.of_at_most(self.most_records()).in_one_block()
    }
}

impl Descent {
    /// The last iterate with noise on it.
    ///
    /// # Errors
    /// Noise beyond what the exact samplers take.
    pub fn with_output_noise(&self, noise: PointNoise) -> Result<Question<Point>> {
        let sensitivity = self.sensitivity();
        let noise = LatticeNoise::new(noise, sensitivity, self.entries())?;
        let algorithm = Algorithm::Descend(self.clone());
        Ok(question(self.statement(), algorithm, noise, sensitivity))
    }
}

impl Permuted {
    /// The last iterate with noise on it.
    ///
    /// # Errors
    /// Noise beyond what the exact samplers take.
    pub fn with_output_noise(&self, noise: PointNoise) -> Result<Question<Point>> {
        let sensitivity = self.sensitivity();
        let columns = self.statement().n_columns();
        let noise = LatticeNoise::new(noise, sensitivity, columns)?;
        let algorithm = Algorithm::Permute(self.clone());
        Ok(question(self.statement(), algorithm, noise, sensitivity))
    }
}

fn question(
    statement: &std::sync::Arc<Statement>,
    algorithm: Algorithm,
    noise: LatticeNoise,
    sensitivity: f64,
) -> Question<Point> {
    let events = noise.events().to_vec();
    let most_records = match &algorithm {
        Algorithm::Minimise(minimiser, _) => minimiser.most_records(),
        Algorithm::Descend(_) | Algorithm::Permute(_) => statement.n_samples(),
    };
    let outputs = algorithm.outputs();
    let point = Point {
        algorithm,
        noise,
        sensitivity: Some(sensitivity),
    };
    let question = Question::new(statement, point, events);
    (question.of_at_most(most_records).of_fine_outputs(outputs)).in_one_block()
}

impl Question<Point> {
    /// Standard deviation of the noise on an entry of the released point, in scaled units.
    pub fn output_scale(&self) -> f64 {
        let entries = self.statement().n_columns() * self.answer.algorithm.outputs();
        (self.answer.noise).scale(entries)
    }

    /// Steps that it reports, a public number: 1 for a minimiser, whose passes depend on the records.
    pub fn steps(&self) -> usize {
        match &self.answer.algorithm {
            Algorithm::Minimise(..) => 1,
            Algorithm::Descend(descent) => descent.options.n_iter,
            Algorithm::Permute(permuted) => permuted.options.passes,
        }
    }

    /// Standard deviation of an entry of b/n, the random linear term; 0 without one.
    pub fn tilt_scale(&self) -> f64 {
        let Algorithm::Minimise(minimiser, Some(tilt)) = &self.answer.algorithm else {
            return 0.0;
        };
        let entry = match tilt.law {
            DrawnTilt::Gaussian { lattice, sigma } => lattice * sigma,
            DrawnTilt::Gamma { size } => size * (minimiser.columns() as f64 + 1.0).sqrt(),
        };
        entry / minimiser.n_samples()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::{Adjacency, failure::of_coupling};
    use crate::loss::Logistic;
    use crate::question::RoomModel;
    use crate::schema::{Bounds, Geometry, Schema, Target};

    const P: usize = 3;
    const COLUMNS: f64 = 4.0;
    const N: usize = 50;
    /// Rows of three features in [-1, 1] and an intercept of 1; slopes of at most 1.
    const SLOPE: f64 = 2.0;

    fn minimiser(adjacency: Adjacency, ridge: f64) -> StronglyConvex {
        let bounds = Bounds {
            lower: vec![-1.0],
            upper: vec![1.0],
        };
        let schema = Schema::new(P, bounds, Geometry::Uncentred, Target::Classes, true, None);
        let statement = Statement::new(schema.unwrap(), N, adjacency, 1).unwrap();
        let model = RoomModel::new(&Logistic.into(), None).unwrap();
        statement.strongly_convex(&model, None, ridge).unwrap()
    }

    fn minimisers() -> Vec<(StronglyConvex, f64, f64)> {
        let mut all = Vec::new();
        for (adjacency, changed) in [(Adjacency::ReplaceOne, 2.0), (Adjacency::AddRemove, 1.0)] {
            for ridge in [0.01, 1.0] {
                all.push((minimiser(adjacency, ridge), ridge, changed));
            }
        }
        all
    }

    fn at_least(what: &str, stated: f64, exact: f64) {
        // Rounded up, by no more than a few units of the last digits.
        let range = exact * (1.0 - 1e-15)..exact * (1.0 + 1e-9);
        assert!(range.contains(&stated), "{what}: {stated} for {exact}");
    }

    /// ln(1 + beta R2^2/(n ridge)), beta = 1/4.
    fn curvature(ridge: f64) -> f64 {
        (0.25 * SLOPE * SLOPE / (N as f64 * ridge)).ln_1p()
    }

    fn tilt(question: &Question<Point>) -> Tilt {
        match &question.answer.algorithm {
            Algorithm::Minimise(_, Some(tilt)) => *tilt,
            algorithm => panic!("{algorithm:?}"),
        }
    }

    /// What is within e of a minimiser moves by 2 e more, also along a path of linear terms.
    #[test]
    fn points_pay_for_what_the_solver_leaves() {
        for (minimiser, ridge, changed) in minimisers() {
            let exact = changed * SLOPE / (N as f64 * ridge);
            let error = minimiser.solver_error(0.0).unwrap();
            assert!(error > 1e-13 * exact, "too small to be seen: {error}");
            let stated = minimiser.sensitivity().unwrap();
            assert!(stated >= exact + 2.0 * error && stated <= exact + 2.001 * error);
            let reach = 0.5;
            let error = minimiser.solver_error(reach).unwrap();
            let stated = minimiser.tilted_sensitivity(reach);
            assert!(stated >= exact + 2.0 * error && stated <= exact + 2.001 * error);
        }
    }

    #[test]
    fn objectives_state_slopes_curvature_and_covers() {
        for (minimiser, ridge, changed) in minimisers() {
            let distance = |moved: f64| moved / (N as f64 * ridge);
            let noise = TiltNoise::Gaussian {
                sigma: 7.0,
                cover: 20.0,
            };
            let question = minimiser.with_random_tilt(noise).unwrap();
            let [(objective, 1), (Event::Gaussian { sensitivity, .. }, 1)] = question.events()
            else {
                panic!("{:?}", question.events());
            };
            let Event::ObjectivePerturbation {
                lipschitz_norm,
                sigma,
                curvature_log,
                adjacency,
            } = *objective
            else {
                panic!("{objective:?}");
            };
            assert_eq!((sigma, adjacency), (7.0, minimiser.statement().adjacency()));
            at_least("slopes", lipschitz_norm, SLOPE);
            at_least("curvature", curvature_log, curvature(ridge));
            // The cover: the solver's error and half a lattice unit of b an entry, on both sides; then its own lattice.
            let Tilt { law, bound } = tilt(&question);
            let DrawnTilt::Gaussian { lattice, .. } = law else {
                panic!("{law:?}");
            };
            let moved =
                2.0 * minimiser.solver_error(bound).unwrap() + distance(lattice * COLUMNS.sqrt());
            let unit = question.answer.noise.lattice;
            at_least("cover", *sensitivity, moved / unit + COLUMNS.sqrt());

            let noise = TiltNoise::Gamma {
                epsilon: 0.8,
                cover: 0.1,
            };
            let question = minimiser.with_random_tilt(noise).unwrap();
            let [
                (Event::Pure { epsilon }, 1),
                (Event::Laplace { sensitivity, scale }, 1),
                (Event::Failure { .. }, 1),
            ] = *question.events()
            else {
                panic!("{:?}", question.events());
            };
            let Tilt { law, bound } = tilt(&question);
            let DrawnTilt::Gamma { size } = law else {
                panic!("{law:?}");
            };
            at_least("gamma size", size, changed * SLOPE / 0.8);
            at_least("gamma epsilon", epsilon, 0.8 + curvature(ridge));
            let floats = SphericalGamma::new(P + 1, size).unwrap();
            let error = minimiser.solver_error(bound).unwrap()
                + distance(floats.error(GAMMA_FAILURE).unwrap());
            let unit = question.answer.noise.lattice;
            let moved = COLUMNS.sqrt() * 2.0 * error / unit + COLUMNS;
            at_least("gamma cover", sensitivity, moved);
            at_least("gamma cover's cost", sensitivity / scale, 0.1);
        }
    }

    /// Spherical noise costs its own epsilon, that of the cover of its floats, and the failure of both together.
    #[test]
    fn gamma_noise_states_its_failure() {
        let minimiser = minimiser(Adjacency::ReplaceOne, 0.5);
        let output = (minimiser.with_output_noise(PointNoise::Gamma { epsilon: 0.7 })).unwrap();
        let tilt = TiltNoise::Gamma {
            epsilon: 0.8,
            cover: 0.1,
        };
        let tilted = minimiser.with_random_tilt(tilt).unwrap();
        for (question, total) in [(output, 0.7), (tilted, 0.9 + curvature(0.5))] {
            let [
                (Event::Pure { epsilon }, 1),
                (cover @ Event::Laplace { .. }, 1),
                (Event::Failure { delta }, 1),
            ] = *question.events()
            else {
                panic!("{:?}", question.events());
            };
            at_least("epsilon", epsilon + cover.pure_epsilon().unwrap(), total);
            at_least("failure", delta, of_coupling(GAMMA_FAILURE, total));
        }
    }
}
