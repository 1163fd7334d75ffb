use std::fmt;
use std::sync::Arc;

use ndarray::{ArrayBase, Data, Ix2};

use super::facts::PublicFacts;
use super::model::{Classifier, CountRegressor, Regressor};
use crate::accounting::event::Adjacency;
use crate::auto::Asked;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::loss::{Admitted, Catalogued, Logistic, Squared, Tabulated, TargetGrid, by_name};
use crate::mechanism::{self, Mechanism};
use crate::plan::{Domain, Plan};
use crate::privacy::{Bounds, Curator, Ledger, MemoryLedger, Target};
use crate::release::{self, Release};

/// Fits of classes with labels of type `L`, by [`PrivateFit::classifier`].
#[derive(Debug, Clone)]
pub struct Classes<L> {
    declared: Option<Vec<L>>,
}

/// Fits of targets within public bounds, by [`PrivateFit::regressor`].
#[derive(Debug, Clone)]
pub struct Interval {
    bounds: (f64, f64),
}

/// Fits of counts within public bounds, by [`PrivateFit::counts`].
#[derive(Debug, Clone)]
pub struct Counts {
    bounds: (f64, f64),
}

/// A private fit that is being described: what is public about it, before any record is read. Nothing is checked until
/// [`PrivateFit::plan`] or a fit, whose errors name what is wrong.
///
/// ```
/// use dpsparse::fit::PrivateFit;
/// use dpsparse::ndarray::Array2;
/// let x = Array2::from_shape_fn((5000, 2), |(i, j)| ((i * (j + 2) * 7919) % 201) as f64 / 100.0 - 1.0);
/// let y: Vec<f64> = x.rows().into_iter().map(|row| 3.0 * row[0] - row[1]).collect();
/// let model = PrivateFit::regressor(-4.0, 4.0).bounds(-1.0, 1.0).epsilon(2.0).delta(1e-6).fit(&x, &y)?;
/// assert!((model.coefficients()[0] - 3.0).abs() < 0.5);
/// # Ok::<(), dpsparse::Error>(())
/// ```
#[derive(Clone)]
pub struct PrivateFit<Task> {
    task: Task,
    bounds: Option<Bounds>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    n_public: Option<usize>,
    records_per_person: usize,
    max_weight: Option<f64>,
    row_norm: Option<f64>,
    intercept: bool,
    domain: Domain,
    loss: Option<Loss>,
    residual_bound: Option<f64>,
    mechanism: Option<Arc<MakeMechanism>>,
    scale: Option<bool>,
    seed: Option<u64>,
}

/// A mechanism anew for each plan.
type MakeMechanism = dyn Fn() -> Result<Box<dyn Mechanism>> + Send + Sync;

/// A catalogued loss, or the derivative of a user's own and its Lipschitz constant.
#[derive(Clone)]
enum Loss {
    Catalogued(Catalogued),
    Own(Arc<dyn Fn(f64, f64) -> f64 + Send + Sync>, f64),
}

impl Loss {
    fn catalogued(&self) -> Option<&dyn crate::loss::Loss> {
        match self {
            Loss::Catalogued(loss) => Some(&**loss),
            Loss::Own(..) => None,
        }
    }

    /// The loss as fits take it: a user's own is tabulated here, on a public grid.
    fn admitted(self, target: Target, reach: f64) -> Result<Admitted> {
        Ok(match self {
            Loss::Catalogued(loss) => Admitted::Catalogued(loss),
            Loss::Own(derivative, lipschitz) => {
                let grid = match target {
                    Target::Classes | Target::Multiclass { .. } => TargetGrid::Classes,
                    Target::Interval { .. } | Target::Counts { .. } => TargetGrid::Interval,
                };
                let derivative = |z, y| Ok(derivative(z, y));
                Tabulated::new(derivative, grid, reach, lipschitz)?.into()
            }
        })
    }
}

impl<Task: fmt::Debug> fmt::Debug for PrivateFit<Task> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateFit")
            .field("task", &self.task)
            .field("bounds", &self.bounds)
            .field("epsilon", &self.epsilon)
            .field("delta", &self.delta)
            .finish_non_exhaustive()
    }
}

impl<L> PrivateFit<Classes<L>> {
    /// A fit of two classes or more; three or more are one softmax model.
    pub fn classifier() -> Self {
        Self::of(Classes { declared: None })
    }

    /// The public labels, in any order. Without them they are read from y, which the certificate records as an
    /// assumption.
    pub fn classes(mut self, labels: impl IntoIterator<Item = L>) -> Self {
        self.task.declared = Some(labels.into_iter().collect());
        self
    }
}

impl PrivateFit<Interval> {
    /// A fit of targets, which are clipped to public bounds, as predictions are.
    pub fn regressor(low: f64, high: f64) -> Self {
        Self::of(Interval {
            bounds: (low, high),
        })
    }

    /// The clamp of the slope of a loss that nothing else bounds, in units of half the width of the target's bounds.
    pub fn residual_bound(mut self, bound: f64) -> Self {
        self.residual_bound = Some(bound);
        self
    }
}

impl PrivateFit<Counts> {
    /// A fit of counts with a logarithmic link; counts are clipped to public bounds, as predicted rates are.
    pub fn counts(low: f64, high: f64) -> Self {
        Self::of(Counts {
            bounds: (low, high),
        })
    }
}

impl<Task> PrivateFit<Task> {
    fn of(task: Task) -> Self {
        Self {
            task,
            bounds: None,
            epsilon: None,
            delta: None,
            n_public: None,
            records_per_person: 1,
            max_weight: None,
            row_norm: None,
            intercept: true,
            domain: Domain::L1,
            loss: None,
            residual_bound: None,
            mechanism: None,
            scale: None,
            seed: None,
        }
    }

    /// Public bounds of all features, which values are clipped to.
    pub fn bounds(self, lower: f64, upper: f64) -> Self {
        self.feature_bounds(vec![lower], vec![upper])
    }

    /// Public bounds of each feature. A feature whose bounds are equal is constant, with coefficient 0.
    pub fn feature_bounds(mut self, lower: Vec<f64>, upper: Vec<f64>) -> Self {
        self.bounds = Some(Bounds { lower, upper });
        self
    }

    /// The privacy parameter epsilon of the whole fit.
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = Some(epsilon);
        self
    }

    /// The privacy parameter delta of the whole fit; without it min(1/n^2, 1e-6).
    pub fn delta(mut self, delta: f64) -> Self {
        self.delta = Some(delta);
        self
    }

    /// Neighbours differ by the presence of a person, and `n_public` stands for the number of records. Needs
    /// [`PrivateFit::delta`]. Otherwise neighbours differ by the records of one person, and their number is public.
    pub fn add_remove(mut self, n_public: usize) -> Self {
        self.n_public = Some(n_public);
        self
    }

    /// How many records one person may own; 1 without.
    pub fn records_per_person(mut self, records: usize) -> Self {
        self.records_per_person = records;
        self
    }

    /// The public bound of weights, for fits with weights.
    pub fn max_weight(mut self, largest: f64) -> Self {
        self.max_weight = Some(largest);
        self
    }

    /// A public bound on the Euclidean norm of a scaled row, for mechanisms that use one.
    pub fn row_norm(mut self, bound: f64) -> Self {
        self.row_norm = Some(bound);
        self
    }

    /// Whether an intercept is fitted; it is, without a word.
    pub fn intercept(mut self, fitted: bool) -> Self {
        self.intercept = fitted;
        self
    }

    /// The norm that is bounded or penalised; the l1 norm without.
    pub fn norm(mut self, domain: Domain) -> Self {
        self.domain = domain;
        self
    }

    /// A loss of the catalogue; logistic of classes and squared of targets without.
    pub fn loss(mut self, loss: impl Into<Catalogued>) -> Self {
        self.loss = Some(Loss::Catalogued(loss.into()));
        self
    }

    /// A loss of one's own by its derivative d l(z; y)/dz, which is tabulated on a public grid before any record is
    /// read, and a bound on it, to which it is clamped. Targets of regressions are mapped to [-1, 1].
    pub fn own_loss(
        mut self,
        derivative: impl Fn(f64, f64) -> f64 + Send + Sync + 'static,
        lipschitz: f64,
    ) -> Self {
        self.loss = Some(Loss::Own(Arc::new(derivative), lipschitz));
        self
    }

    /// The mechanism; without, public facts choose one.
    pub fn mechanism(mut self, mechanism: impl Mechanism + Clone + 'static) -> Self {
        self.mechanism = Some(Arc::new(move || Ok(Box::new(mechanism.clone()))));
        self
    }

    /// The mechanism of a name with its options as a JSON object, as of
    /// [`mechanism::by_name`](crate::mechanism::by_name).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an unknown name or options that the mechanism does not take.
    pub fn mechanism_by_name(mut self, name: &str, options: &str) -> Result<Self> {
        mechanism::by_name(name, options)?;
        let (name, options) = (name.to_owned(), options.to_owned());
        self.mechanism = Some(Arc::new(move || mechanism::by_name(&name, &options)));
        Ok(self)
    }

    /// Whether private scales come before the mechanism; without, where no mechanism is named and public facts find
    /// them worth their budget.
    pub fn scale(mut self, private: bool) -> Self {
        self.scale = Some(private);
        self
    }

    /// Makes fits reproducible, and therefore **not private**: certificates do not verify.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    fn planned(
        &self,
        shape: (usize, usize),
        target: Target,
        loss: Loss,
        assumptions: Vec<String>,
    ) -> Result<Plan> {
        let stated = |name, what| {
            Error::invalid(
                name,
                format!("must be stated: {what} is public, and yours to say"),
            )
        };
        let facts = PublicFacts {
            n_samples: self.n_public.unwrap_or(shape.0),
            n_features: shape.1,
            bounds: (self.bounds.clone())
                .ok_or_else(|| stated("bounds", "what features lie in"))?,
            row_norm: self.row_norm,
            target,
            intercept: self.intercept,
            residual_bound: self.residual_bound,
            epsilon: (self.epsilon).ok_or_else(|| stated("epsilon", "the privacy budget"))?,
            delta: self.delta,
            adjacency: match self.n_public {
                Some(_) => Adjacency::AddRemove,
                None => Adjacency::ReplaceOne,
            },
            records_per_person: self.records_per_person,
            max_weight: self.max_weight,
            domain: self.domain.clone(),
            asked: Asked::default(),
            assumptions,
        };
        let named = self.mechanism.as_ref().map(|make| make()).transpose()?;
        let choice = facts.choice(named, self.scale, loss.catalogued())?;
        let (schema, reach) = facts.schema(&choice)?;
        let loss = loss.admitted(target, reach)?;
        let problem = facts.problem(schema, loss, &choice, None)?;
        choice.mechanism.plan(problem, &self.domain)
    }

    fn run(&self, plan: &Plan, curator: &Curator<'_>, ledger: &mut dyn Ledger) -> Result<Release> {
        let source = match self.seed {
            Some(seed) => Source::seeded(seed),
            None => Source::secure()?,
        };
        release::run(plan, curator, ledger, source, &mut |_, _| Ok(()))
    }

    fn loss_or(&self, usual: impl Into<Catalogued>) -> Loss {
        (self.loss.clone()).unwrap_or_else(|| Loss::Catalogued(usual.into()))
    }
}

/// A curator of dense records, with weights where there are some.
fn curator<'x, T, S>(
    x: &'x ArrayBase<S, Ix2>,
    y: &'x [f64],
    weights: Option<&'x [f64]>,
) -> Curator<'x>
where
    T: Copy + Into<f64> + Sync + 'x,
    S: Data<Elem = T>,
{
    let curator = Curator::from_dense(x.view(), y);
    match weights {
        Some(weights) => curator.weighted(weights),
        None => curator,
    }
}

impl<L: Ord + Clone> PrivateFit<Classes<L>> {
    fn labels(&self) -> Result<Option<Vec<L>>> {
        let Some(declared) = &self.task.declared else {
            return Ok(None);
        };
        let labels = sorted(declared.iter());
        if labels.len() < 2 || labels.len() < declared.len() {
            let problem = "must be two or more different labels";
            return Err(Error::invalid("classes", problem));
        }
        Ok(Some(labels))
    }

    fn plan_for(&self, shape: (usize, usize), n_classes: usize) -> Result<Plan> {
        let target = match n_classes {
            2 => Target::Classes,
            more => Target::Multiclass {
                classes: u32::try_from(more)
                    .map_err(|_| Error::invalid("classes", "are too many for one model"))?,
            },
        };
        let mut assumptions = Vec::new();
        if self.task.declared.is_none() {
            let count = match n_classes {
                2 => "two".to_string(),
                more => more.to_string(),
            };
            assumptions.push(format!("the {count} labels, read from y, are public"));
        }
        self.planned(shape, target, self.loss_or(Logistic), assumptions)
    }

    /// What a fit of so many records will do and cost, before any is read; of two classes where none were declared.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming what is missing or out of its domain; [`Error::UnsoundMechanism`].
    pub fn plan(&self, n_samples: usize, n_features: usize) -> Result<Plan> {
        let n_classes = self.labels()?.map_or(2, |labels| labels.len());
        self.plan_for((n_samples, n_features), n_classes)
    }

    /// Fits privately: x of shape (n_samples, n_features), a label a row.
    ///
    /// # Errors
    /// As [`PrivateFit::plan`]; [`Error::InvalidData`] for records that are unusable, before anything is spent.
    pub fn fit<T, S>(&self, x: &ArrayBase<S, Ix2>, y: &[L]) -> Result<Classifier<L>>
    where
        T: Copy + Into<f64> + Sync,
        S: Data<Elem = T>,
    {
        self.fit_recorded(&mut MemoryLedger::default(), x, y, None)
    }

    /// The same with a ledger that the release is committed to before anything is drawn, and a weight a record where
    /// [`PrivateFit::max_weight`] is stated.
    ///
    /// # Errors
    /// As [`PrivateFit::fit`]; [`Error::BudgetExceeded`] by the ledger.
    pub fn fit_recorded<T, S>(
        &self,
        ledger: &mut dyn Ledger,
        x: &ArrayBase<S, Ix2>,
        y: &[L],
        weights: Option<&[f64]>,
    ) -> Result<Classifier<L>>
    where
        T: Copy + Into<f64> + Sync,
        S: Data<Elem = T>,
    {
        let labels = match self.labels()? {
            Some(labels) => labels,
            None => sorted(y.iter()),
        };
        if labels.len() < 2 {
            let problem = "y holds one class only; a classifier needs two.";
            return Err(Error::InvalidData(problem.into()));
        }
        let targets = codes(y, &labels)?;
        let plan = self.plan_for(x.dim(), labels.len())?;
        let release = self.run(&plan, &curator(x, &targets, weights), ledger)?;
        let logistic = plan.problem.loss.name() == "logistic";
        Ok(Classifier::new(release, labels, logistic))
    }
}

/// Different labels, sorted.
fn sorted<'l, L: Ord + Clone + 'l>(labels: impl Iterator<Item = &'l L>) -> Vec<L> {
    let different: std::collections::BTreeSet<&L> = labels.collect();
    different.into_iter().cloned().collect()
}

/// -1 and +1 for two labels, otherwise the index of each.
fn codes<L: Ord>(y: &[L], labels: &[L]) -> Result<Vec<f64>> {
    let code = |label: &L| {
        let index = labels.binary_search(label).ok()?;
        Some(match labels.len() {
            2 => 2.0 * index as f64 - 1.0,
            _ => index as f64,
        })
    };
    let codes: Option<Vec<f64>> = y.iter().map(code).collect();
    codes.ok_or_else(|| {
        Error::InvalidData("y holds a label that is not among the declared classes".into())
    })
}

mod sealed {
    use super::{Catalogued, Release, Result, Target};

    pub trait Numbers {
        type Model;
        fn target(&self, intercept: bool) -> Target;
        fn usual_loss() -> Result<Catalogued>;
        fn model(&self, release: Release) -> Self::Model;
    }
}

/// Fits whose targets are numbers: [`Interval`] and [`Counts`].
pub trait Numbers: sealed::Numbers {}

impl Numbers for Interval {}

impl Numbers for Counts {}

impl sealed::Numbers for Interval {
    type Model = Regressor;

    fn target(&self, _: bool) -> Target {
        let (low, high) = self.bounds;
        Target::Interval { low, high }
    }

    fn usual_loss() -> Result<Catalogued> {
        Ok(Squared.into())
    }

    fn model(&self, release: Release) -> Regressor {
        Regressor::new(release, self.bounds)
    }
}

impl sealed::Numbers for Counts {
    type Model = CountRegressor;

    fn target(&self, intercept: bool) -> Target {
        Target::counts(self.bounds.0, self.bounds.1, intercept)
    }

    fn usual_loss() -> Result<Catalogued> {
        by_name("poisson", &[])
    }

    fn model(&self, release: Release) -> CountRegressor {
        CountRegressor::new(release, self.bounds)
    }
}

impl<N: Numbers> PrivateFit<N> {
    /// What a fit of so many records will do and cost, before any is read.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming what is missing or out of its domain; [`Error::UnsoundMechanism`].
    pub fn plan(&self, n_samples: usize, n_features: usize) -> Result<Plan> {
        let target = self.task.target(self.intercept);
        let loss = self.loss_or(N::usual_loss()?);
        self.planned((n_samples, n_features), target, loss, Vec::new())
    }

    /// Fits privately: x of shape (n_samples, n_features), a target a row.
    ///
    /// # Errors
    /// As [`PrivateFit::plan`]; [`Error::InvalidData`] for records that are unusable, before anything is spent.
    pub fn fit<T, S>(&self, x: &ArrayBase<S, Ix2>, y: &[f64]) -> Result<N::Model>
    where
        T: Copy + Into<f64> + Sync,
        S: Data<Elem = T>,
    {
        self.fit_recorded(&mut MemoryLedger::default(), x, y, None)
    }

    /// The same with a ledger that the release is committed to before anything is drawn, and a weight a record where
    /// [`PrivateFit::max_weight`] is stated.
    ///
    /// # Errors
    /// As [`PrivateFit::fit`]; [`Error::BudgetExceeded`] by the ledger.
    pub fn fit_recorded<T, S>(
        &self,
        ledger: &mut dyn Ledger,
        x: &ArrayBase<S, Ix2>,
        y: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<N::Model>
    where
        T: Copy + Into<f64> + Sync,
        S: Data<Elem = T>,
    {
        let plan = self.plan(x.nrows(), x.ncols())?;
        let release = self.run(&plan, &curator(x, y, weights), ledger)?;
        Ok(self.task.model(release))
    }
}
