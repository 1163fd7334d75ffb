use super::lattice::{LatticeNoise, OutputNoise, power_of_two_below};
use crate::accounting::accountant::Accountant;
use crate::accounting::calibrate::{calibrate_events, rho_from_epsilon};
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result};
use crate::exact::noise::integer_law::IntegerLaw;
use crate::exact::noise::rounded_gaussian::RoundedGaussian;
use crate::exact::noise::source::Source;
use crate::exact::noise::spherical_gamma::SphericalGamma;
use crate::loss::Loss;
use crate::norm::Norm;
use crate::numeric::directed::{add_up, div_up, mul_up, sqrt_up};
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::fine_gradient::FineGradient;
use crate::privacy::ledger::Budget;
use crate::privacy::minimiser::{MOST_LOAD, Objective, Start, Watch, minimise};
use serde::Deserialize;

/// Where the randomness of a released minimiser stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Perturbation {
    /// On the output alone: theta* + noise (Chaudhuri, Monteleoni & Sarwate 2011; MECHANISMS M7, mode A).
    Output(OutputNoise),
    /// A random linear term <b, theta>/n in the objective, and a little noise on the output that covers what the solver
    /// leaves open (Kifer, Smith & Thakurta 2012; Redberg, Koskela & Wang 2023; MECHANISMS M8).
    Objective(TiltNoise),
}

/// The law of b.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TiltNoise {
    /// Independent Gaussians: (epsilon, delta).
    #[default]
    Gaussian,
    /// Density proportional to exp(-|b|_2/scale): pure epsilon (Chaudhuri, Monteleoni & Sarwate 2011).
    Gamma,
}

/// The public constants of a minimiser, in scaled units.
#[derive(Debug, Clone, Copy)]
pub struct MinimiserFacts {
    /// L = sup |l'|.
    pub lipschitz: f64,
    /// beta = sup l''.
    pub smoothness: f64,
    /// R2: the Euclidean bound of a row, the intercept included.
    pub rows: f64,
    /// Factor of |theta|^2/2, the intercept included; positive.
    pub ridge: f64,
    /// alpha, the factor of Omega; 0: no penalty.
    pub alpha: f64,
    /// Float error of the prox of Omega per unit of size ([`crate::norm::SetFunctionNorm::prox_error`]).
    pub prox_error: f64,
    /// n (under add-remove: the public normaliser).
    pub n_samples: usize,
    /// Number of columns, the intercept included.
    pub columns: usize,
    /// Neighbouring relation.
    pub adjacency: Adjacency,
    /// Records that a person may own.
    pub records_per_person: usize,
}

/// How the minimiser of one strongly convex objective is released: sensitivity, noise and events, all before any data.
///
/// **Output** (M7, mode A). The objectives of neighbours differ by at most c m L R2/n in gradient, c = 2 under
/// replace-one and 1 under add-remove, and both are ridge-strongly convex: |theta* - theta*'|_2 <= c m L R2/(n ridge).
/// What is released is within e of theta*, so D2 = c m L R2/(n ridge) + 2 e.
///
/// **Objective** (M8). theta*(b) with b ~ N(0, s^2 I) costs an objective-perturbation event of L R2, s and
/// ln(1 + kappa), kappa = beta R2^2/(n ridge). b is drawn as a multiple of a lattice so fine that replacing it by the
/// continuous b moves theta* by at most e_b = h_b sqrt(p)/(2 n ridge); with the solver's e the released point is
/// within e + e_b of theta*(b) of the continuous b, a function of a private release, so Gaussian noise of sensitivity 2
/// (e + e_b) covers the difference.
///
/// Either way the point is rounded to the lattice h: sqrt(p) lattice units more (M7).
#[derive(Debug, Clone)]
pub struct MinimiserPlan {
    facts: MinimiserFacts,
    noise: LatticeNoise,
    /// None for output perturbation.
    tilt: Option<Tilt>,
    events: Vec<(Event, u64)>,
}

/// The random linear term.
#[derive(Debug, Clone, Copy)]
struct Tilt {
    law: TiltLaw,
    /// Bound on |b|_2/n.
    bound: f64,
}

#[derive(Debug, Clone, Copy)]
enum TiltLaw {
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
/// less than the last digit of any delta: [`MinimiserPlan::new`] calibrates to the float below delta.
const TILT_SIZES: f64 = 64.0;
/// The same for Gamma noise: |b| > size (p + sqrt(2 p t) + t) has probability below exp(-t) (Boucheron, Lugosi &
/// Massart 2013, section 2.4).
const GAMMA_TAIL: f64 = 2000.0;
/// Probability with which Gamma noise may be farther off than its error bound.
const GAMMA_FAILURE: f64 = 1e-30;
/// Most steps that the proved way to the minimiser may take.
const MOST_STEPS: f64 = 1e7;
/// Share of the zCDP of a release, or of its pure epsilon, that covers the solver's error.
const ERROR_SHARE: f64 = 0.01;

impl MinimiserPlan {
    /// Calibrates the noise to (epsilon, delta).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a ridge that is not positive, or so small that epsilon cannot be met whatever the
    /// noise; [`Error::UnsoundMechanism`] for objective perturbation with several records per person, for which no
    /// bound is proved.
    pub fn new(
        perturbation: Perturbation,
        facts: MinimiserFacts,
        epsilon: f64,
        delta: f64,
    ) -> Result<Self> {
        if !(facts.ridge.is_finite() && facts.ridge > 0.0) {
            return Err(Error::invalid(
                "ridge",
                "must be positive: the minimiser of an objective that is not strongly convex may jump between neighbours \
                 (MECHANISMS M7)",
            ));
        }
        let delta = delta.next_down();
        match perturbation {
            Perturbation::Output(noise) => Self::output(facts, noise, epsilon, delta),
            Perturbation::Objective(noise) => Self::objective(facts, noise, epsilon, delta),
        }
    }

    /// Objective perturbation in one release with `companions`, events that the rest of it spends: all of them together
    /// meet (epsilon, delta).
    ///
    /// # Errors
    /// As [`MinimiserPlan::new`].
    pub fn objective_beside(
        facts: MinimiserFacts,
        companions: &[(Event, u64)],
        epsilon: f64,
        delta: f64,
    ) -> Result<Self> {
        Self::gaussian_tilt(facts, epsilon, delta.next_down(), companions)
    }

    fn output(facts: MinimiserFacts, noise: OutputNoise, epsilon: f64, delta: f64) -> Result<Self> {
        let noise = LatticeNoise::new(noise, facts.moved()?, facts.columns, epsilon, delta)?;
        Ok(Self {
            facts,
            events: noise.events().to_vec(),
            noise,
            tilt: None,
        })
    }

    fn objective(
        facts: MinimiserFacts,
        noise: TiltNoise,
        epsilon: f64,
        delta: f64,
    ) -> Result<Self> {
        match noise {
            TiltNoise::Gaussian => Self::gaussian_tilt(facts, epsilon, delta, &[]),
            TiltNoise::Gamma => Self::gamma_tilt(facts, epsilon, delta),
        }
    }

    fn gamma_tilt(facts: MinimiserFacts, epsilon: f64, delta: f64) -> Result<Self> {
        facts.check_objective()?;
        if GAMMA_FAILURE * (1.0 + epsilon.exp()) > delta {
            return Err(Error::invalid(
                "delta",
                "must be at least 1e-30 (1 + exp(epsilon)) for gamma noise, whose floats are off with probability 1e-30",
            ));
        }
        let curvature_log = facts.curvature_log();
        let cover = ERROR_SHARE * epsilon;
        let left = epsilon * (1.0 - 1e-12) - cover - curvature_log;
        if left <= 0.01 * epsilon {
            return Err(facts.too_small_a_ridge(epsilon));
        }
        let slope = mul_up(facts.count(), mul_up(facts.lipschitz, facts.rows));
        let size = div_up(slope, left);
        let p = facts.columns as f64;
        let bound = 1.001 * size * (p + (2.0 * p * GAMMA_TAIL).sqrt() + GAMMA_TAIL)
            / facts.n_samples as f64;
        let error = facts.solver_error(bound)?;
        let tilt_error = div_up(
            SphericalGamma::new(facts.columns, size)?.error(GAMMA_FAILURE)?,
            facts.n_samples as f64 * facts.ridge * (1.0 - 1e-15),
        );
        let moved = mul_up(2.0, add_up(error, tilt_error));
        let noise = LatticeNoise::new(OutputNoise::Laplace, moved, facts.columns, cover, delta)?;
        let pure = Event::pure(add_up(div_up(slope, size), curvature_log))?;
        Ok(Self {
            facts,
            tilt: Some(Tilt {
                law: TiltLaw::Gamma { size },
                bound,
            }),
            events: vec![(pure, 1), noise.events()[0]],
            noise,
        })
    }

    fn gaussian_tilt(
        facts: MinimiserFacts,
        epsilon: f64,
        delta: f64,
        companions: &[(Event, u64)],
    ) -> Result<Self> {
        facts.check_objective()?;
        let curvature_log = facts.curvature_log();
        let lipschitz = mul_up(facts.lipschitz, facts.rows);
        let rho = rho_from_epsilon(epsilon, delta)?;
        let ratio = (2.0 * ERROR_SHARE * rho).sqrt();
        let events = |s: f64| -> Result<Vec<(Event, u64)>> {
            let own = [
                (
                    Event::objective_perturbation(lipschitz, s, curvature_log, facts.adjacency)?,
                    1,
                ),
                (Event::gaussian(ratio, 1.0)?, 1),
            ];
            Ok(companions.iter().copied().chain(own).collect())
        };
        let bracket = (1e-3 * lipschitz, 1e9 * lipschitz);
        let private_at_most = {
            let mut accountant = Accountant::new();
            for (event, count) in events(bracket.1)? {
                accountant.add(event, count)?;
            }
            accountant.delta(epsilon)? <= delta
        };
        if !private_at_most {
            return Err(facts.too_small_a_ridge(epsilon));
        }
        let s = calibrate_events(events, epsilon, delta, bracket)?;
        let tilt_lattice = power_of_two_below(s / TILT_UNITS);
        let tilt_sigma = div_up(s, tilt_lattice);
        let tilt_bound =
            1.001 * TILT_SIZES * s * (facts.columns as f64).sqrt() / facts.n_samples as f64;
        let error = facts.solver_error(tilt_bound)?;
        let root = sqrt_up(facts.columns as f64);
        let tilt_error = div_up(
            mul_up(tilt_lattice, root),
            facts.n_samples as f64 * facts.ridge * (1.0 - 1e-15),
        );
        // 2 (e + e_b), of which tilt_error is the second half.
        let moved = add_up(mul_up(2.0, error), tilt_error);
        let lattice = power_of_two_below(moved / root);
        let sensitivity = add_up(div_up(moved, lattice), root);
        let noise = LatticeNoise::gaussian(lattice, sensitivity, div_up(1.0, ratio))?;
        RoundedGaussian::new(tilt_sigma)?;
        Ok(Self {
            facts,
            // The noise drawn is at least s: the event that is spent covers it.
            tilt: Some(Tilt {
                law: TiltLaw::Gaussian {
                    lattice: tilt_lattice,
                    sigma: tilt_sigma,
                },
                bound: tilt_bound,
            }),
            events: vec![
                (
                    Event::objective_perturbation(lipschitz, s, curvature_log, facts.adjacency)?,
                    1,
                ),
                noise.events()[0],
            ],
            noise,
        })
    }

    /// The events of the release.
    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    /// Standard deviation of the noise on an entry of the released point, in scaled units.
    pub fn output_scale(&self) -> f64 {
        self.noise.scale(self.facts.columns)
    }

    /// Standard deviation of an entry of b/n, the random linear term; 0 without one.
    pub fn tilt_scale(&self) -> f64 {
        let entry = self.tilt.map_or(0.0, |tilt| match tilt.law {
            TiltLaw::Gaussian { lattice, sigma } => lattice * sigma,
            TiltLaw::Gamma { size } => size * (self.facts.columns as f64 + 1.0).sqrt(),
        });
        entry / self.facts.n_samples as f64
    }

    /// As [`MinimiserPlan::release`] with some of the features alone; `features` is public, at most as many as the plan
    /// was made for, and there is no penalty.
    ///
    /// # Errors
    /// More features than the plan has columns for; [`Error::Randomness`].
    pub fn release_restricted(
        &self,
        data: &BoundedData,
        features: &[u32],
        loss: &dyn Loss,
        source: &mut Source,
        watch: Watch<'_>,
    ) -> Result<Vec<f64>> {
        let restricted = data.restricted(features)?;
        if restricted.n_columns() > self.facts.columns {
            return Err(Error::invalid(
                "n_selected",
                "is smaller than the number of features that were selected",
            ));
        }
        let mut this = self.clone();
        this.facts.columns = restricted.n_columns();
        this.release(&restricted, loss, None, source, watch)
    }

    /// Draws b, minimises, adds the output noise, and spends the events before. `norm` is the catalogued norm of the
    /// penalty; `watch` is called before every pass over the records and may stop the run.
    ///
    /// # Errors
    /// An error of `watch`; [`Error::Randomness`]; before anything is spent, more records than
    /// [`MinimiserFacts::MOST_RECORDS`] times n.
    pub fn release(
        &self,
        data: &BoundedData,
        loss: &dyn Loss,
        norm: Option<&dyn Norm>,
        source: &mut Source,
        watch: Watch<'_>,
    ) -> Result<Vec<f64>> {
        self.facts.load(data)?;
        Budget::new(&self.events).spend_all(&self.events)?;
        source.renew_after_fork()?;
        let theta = self.point(data, loss, norm, source, watch)?;
        self.noise.release(&theta, source)
    }

    /// The minimiser before its noise, and D2, in scaled units; None for objective perturbation, which has no D2.
    ///
    /// **Not private**: for a curator's own checks, and for tests of the sensitivity.
    ///
    /// # Errors
    /// As [`MinimiserPlan::release`].
    pub fn non_private_point(
        &self,
        data: &BoundedData,
        loss: &dyn Loss,
        norm: Option<&dyn Norm>,
        source: &mut Source,
    ) -> Result<Option<(Vec<f64>, f64)>> {
        if self.tilt.is_some() {
            return Ok(None);
        }
        let theta = self.point(data, loss, norm, source, &mut || Ok(()))?;
        Ok(Some((theta, self.facts.moved()?)))
    }

    fn point(
        &self,
        data: &BoundedData,
        loss: &dyn Loss,
        norm: Option<&dyn Norm>,
        source: &mut Source,
        watch: Watch<'_>,
    ) -> Result<Vec<f64>> {
        let facts = &self.facts;
        let load = facts.load(data)?;
        let mut tilt = vec![0.0; facts.columns];
        let mut tilt_bound = 0.0;
        if let Some(Tilt { law, bound }) = self.tilt {
            match law {
                TiltLaw::Gaussian { lattice, sigma } => {
                    let noise = RoundedGaussian::new(sigma)?;
                    for tilt in &mut tilt {
                        *tilt = noise.draw(source) as f64 * lattice / facts.n_samples as f64;
                    }
                }
                TiltLaw::Gamma { size } => {
                    tilt = SphericalGamma::new(facts.columns, size)?.draw(source)?;
                    (tilt.iter_mut()).for_each(|entry| *entry /= facts.n_samples as f64);
                }
            }
            tilt_bound = bound;
        }
        let penalty = norm
            .filter(|_| facts.alpha > 0.0)
            .map(|norm| (norm, facts.alpha));
        let objective = Objective {
            load,
            ..facts.objective(tilt_bound, penalty)
        };
        let mut gradient = FineGradient::new(data, loss, facts.lipschitz, facts.n_samples);
        let mut start = Start::new(facts.columns);
        minimise(&objective, &mut gradient, &tilt, &mut start, watch)?;
        Ok(start.theta)
    }
}

impl MinimiserFacts {
    /// Under add-remove the true number of records is at most so many times n: a public fact, which the float error
    /// needs.
    pub const MOST_RECORDS: usize = MOST_LOAD as usize;

    /// The number of records per n.
    pub(super) fn load(&self, data: &BoundedData) -> Result<f64> {
        let load = data.n_records() as f64 / self.n_samples as f64;
        if load > MOST_LOAD {
            return Err(Error::InvalidData(format!(
                "X has more than {MOST_LOAD} times n_public records: this mechanism takes a closer n_public"
            )));
        }
        Ok(load)
    }

    /// What objective perturbation asks of the facts.
    fn check_objective(&self) -> Result<()> {
        if self.records_per_person != 1 {
            return Err(Error::UnsoundMechanism(
                "objective perturbation is proved for one record per person (MECHANISMS M8); use output-perturbation or \
                 noisy-gradient-frank-wolfe for records_per_person > 1"
                    .into(),
            ));
        }
        // Before anything else can refuse a ridge that is absurdly small.
        self.solver_error(0.0).map(|_| ())
    }

    /// c: 2 under replace-one, 1 under add-remove.
    fn count(&self) -> f64 {
        match self.adjacency {
            Adjacency::ReplaceOne => 2.0,
            Adjacency::AddRemove => 1.0,
        }
    }

    /// ln(1 + kappa), kappa = beta R2^2/(n ridge), rounded up.
    fn curvature_log(&self) -> f64 {
        let kappa = div_up(
            mul_up(self.smoothness, mul_up(self.rows, self.rows)),
            self.n_samples as f64 * self.ridge * (1.0 - 1e-15),
        );
        // ln_1p is within a few ulp.
        kappa.ln_1p() * (1.0 + 1e-14)
    }

    fn too_small_a_ridge(&self, epsilon: f64) -> Error {
        Error::invalid(
            "ridge",
            format!(
                "is too small for this epsilon: ln(1 + beta R2^2/(n ridge)) = {:.3} of epsilon is lost before any noise; a \
                 ridge of {:.3e} leaves room",
                self.curvature_log(),
                self.smoothness * self.rows * self.rows
                    / (self.n_samples as f64 * (0.1 * epsilon).exp_m1())
            ),
        )
    }

    /// c m L R2/(n ridge), rounded up.
    pub(super) fn shift(&self) -> f64 {
        let records = self.count() * self.records_per_person as f64;
        let slope = mul_up(records, mul_up(self.lipschitz, self.rows));
        div_up(slope, self.n_samples as f64 * self.ridge * (1.0 - 1e-15))
    }

    /// e, whatever the records are.
    pub(super) fn solver_error(&self, tilt_bound: f64) -> Result<f64> {
        let objective = self.objective(tilt_bound, None);
        let steps = objective.steps(self.columns);
        if steps.is_nan() || steps > MOST_STEPS {
            return Err(Error::invalid(
                "ridge",
                format!(
                    "is too small: the minimiser might take {steps:.1e} passes over the data; beta R2^2/ridge of at most 1e4 is \
                     safe"
                ),
            ));
        }
        Ok(objective.distance(self.columns))
    }

    /// D2 of the minimiser that the solver returns.
    fn moved(&self) -> Result<f64> {
        Ok(add_up(self.shift(), mul_up(2.0, self.solver_error(0.0)?)))
    }

    /// F; the load is the largest until the records are known.
    pub(super) fn objective<'a>(
        &self,
        tilt_bound: f64,
        penalty: Option<(&'a dyn Norm, f64)>,
    ) -> Objective<'a> {
        let most_load = match self.adjacency {
            Adjacency::ReplaceOne => 1.0,
            Adjacency::AddRemove => MOST_LOAD,
        };
        Objective {
            prox_error: if self.alpha > 0.0 {
                self.prox_error
            } else {
                0.0
            },
            lipschitz: self.lipschitz,
            smoothness: self.smoothness,
            rows: self.rows,
            ridge: self.ridge,
            penalty,
            tilt_bound,
            load: most_load,
            most_load,
        }
    }
}
