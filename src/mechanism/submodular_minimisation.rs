use crate::accounting::calibrate::calibrate;
use crate::accounting::event::{Adjacency, Event};
use crate::error::{Error, Result, positive};
use crate::plan::PrivacyClaim;
use crate::plan::defaults::{LEVEL_SHARE, SUBGRADIENT_STEPS};
use crate::privacy::RunningSumsPlan;

/// What rounding of square roots could take from a calibrated multiplier.
const SPARE: f64 = 1.0 + 1e-9;

/// Private minimisation of a submodular F = sum_i F_i, one summand a person with F_i(empty) = 0, by noisy subgradients
/// of the Lovasz extension (Kumar & Deisenroth 2019, section 5, leaves it open; Bassily, Smith & Thakurta 2014 for the
/// noise).
///
/// At released w_t the greedy vertices s_i of the base polytopes of all F_i along one public order, that of w_t, add up
/// to a subgradient of the extension of F; it leaves as a noisy sum ([`RunningSumsPlan`], where neighbours, sensitivity
/// and proof stand), each s_i shortened to a public Euclidean norm. w_t moves against it within the cube [0, 1]^p, and
/// the mean of the points is released. A last sum at this mean w, with less noise, has the gains along its order: their
/// partial sums are the values of its level sets, and the least of them is the minimiser that is released.
///
/// **Minimum-norm point** ([`Goal::MinimumNormPoint`]): the same noisy sums s_t, along the orders that rise with the
/// last point x_t, pull it to the point of least norm of the base polytope of the mean summand: x_{t+1} = x_t + 2/(t +
/// 2) (s_t - x_t). With w = -x these are steps of subgradient descent on the Lovasz extension plus |w|^2/2, whose
/// minimiser is minus that point (Fujishige 2005; Bach 2013): E |x_T - x*|^2 <= 4 G^2/(T + 1), G^2 the mean square of
/// s_t - x_t (Lacoste-Julien, Schmidt & Bach 2012). Where it is below -l lies the least minimiser of F(A)/n + l |A|,
/// for every l at once.
///
/// **Utility.** Where no s_i is shortened, F(level set) <= the extension at w for one of the sets; the extension at the
/// mean exceeds the minimum of F by at most sqrt(p/T) sqrt(c^2 + p s^2)/2 a person, c the norm and s the noise on an
/// entry of the mean subgradient.
#[derive(Debug, Clone, PartialEq)]
pub struct SubmodularMinimisation {
    /// Number of people, budget, neighbours; one summand a person.
    pub claim: PrivacyClaim,
    /// p, the size of the ground set.
    pub n_features: usize,
    /// Public bound on the Euclidean norm of a greedy vertex of a summand; longer ones are shortened.
    pub norm: f64,
    /// T; None: a public rule.
    pub n_iter: Option<usize>,
    /// What is looked for.
    pub goal: Goal,
}

/// What noisy greedy vertices are summed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Goal {
    /// A set that minimises F.
    #[default]
    Minimiser,
    /// The point of least norm of the base polytope of F over the number of people.
    MinimumNormPoint,
}

/// What a [`SubmodularMinimisation`] will release and spend.
#[derive(Debug, Clone)]
pub struct SubmodularMinimisationPlan {
    /// The noisy sums: T of them, and the last where a set is looked for.
    pub sums: RunningSumsPlan,
    /// T.
    pub n_iter: usize,
    /// Length of a step, for subgradients of the mean over people; None for a minimum-norm point, whose steps are
    /// shares.
    pub step: Option<f64>,
}

impl SubmodularMinimisation {
    /// Plans the run.
    ///
    /// ```
    /// use dpsparse::accounting::event::Adjacency;
    /// use dpsparse::mechanism::{Goal, SubmodularMinimisation};
    /// use dpsparse::plan::PrivacyClaim;
    /// let minimisation = SubmodularMinimisation {
    ///     claim: PrivacyClaim {
    ///         n_samples: 5000,
    ///         epsilon: 1.0,
    ///         delta: Some(1e-6),
    ///         adjacency: Adjacency::ReplaceOne,
    ///         records_per_person: 1,
    ///     },
    ///     n_features: 10,
    ///     norm: 1.5,
    ///     n_iter: None,
    ///     goal: Goal::Minimiser,
    /// };
    /// let plan = minimisation.plan()?;
    /// assert_eq!(plan.sums.n_rounds() as usize, plan.n_iter + 1);
    /// assert!(plan.sums.noise_scale(0) > plan.sums.noise_scale(plan.n_iter as u64));
    /// # Ok::<(), dpsparse::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming the public parameter that is out of its domain.
    pub fn plan(&self) -> Result<SubmodularMinimisationPlan> {
        let claim = self.claim;
        let delta = claim.validate()?;
        if claim.records_per_person != 1 {
            let problem =
                "must be 1: a person has one summand, which may hold all of that person's records";
            return Err(Error::invalid("records_per_person", problem));
        }
        positive("norm", self.norm)?;
        if self.n_features == 0 {
            return Err(Error::invalid("n_features", "must be positive"));
        }
        let one = |multiplier: f64| Event::gaussian(1.0, multiplier);
        let whole = calibrate(one, 1, claim.epsilon, delta, (1e-3, 1e9))? * SPARE;
        let levels = match self.goal {
            Goal::Minimiser => LEVEL_SHARE,
            Goal::MinimumNormPoint => 0.0,
        };
        let steps = whole / (1.0 - levels).sqrt();
        let changed = match claim.adjacency {
            Adjacency::ReplaceOne => 2.0,
            Adjacency::AddRemove => 1.0,
        };
        let (n, p) = (claim.n_samples as f64, self.n_features as f64);
        // Noise on an entry of the mean subgradient if one step had the budget of all.
        let noise = changed * self.norm * steps / n;
        let n_iter = match self.n_iter {
            Some(0) => return Err(Error::invalid("n_iter", "must be positive")),
            Some(t) => t,
            // More steps bring little once their noise is twice the subgradient.
            None => {
                let (fewest, most) = SUBGRADIENT_STEPS;
                (4.0 * self.norm.powi(2) / (p * noise * noise)).clamp(fewest, most) as usize
            }
        };
        let t = n_iter as f64;
        let mut rounds = vec![(n_iter as u64, steps * t.sqrt())];
        let what = match self.goal {
            Goal::Minimiser => {
                rounds.push((1, whole / levels.sqrt()));
                "submodular minimisation by noisy subgradients of the Lovasz extension"
            }
            Goal::MinimumNormPoint => {
                "minimum-norm point of a base polytope by noisy greedy vertices"
            }
        };
        let length = (self.norm.powi(2) + p * t * noise * noise).sqrt();
        Ok(SubmodularMinimisationPlan {
            sums: RunningSumsPlan::new(
                (claim.n_samples, self.n_features),
                self.norm,
                claim.adjacency,
                (claim.epsilon, delta),
                &rounds,
                format!("{what}, {n_iter} steps"),
            )?,
            n_iter,
            step: (self.goal == Goal::Minimiser).then(|| 0.5 * p.sqrt() / (length * t.sqrt())),
        })
    }
}
