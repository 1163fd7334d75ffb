use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::discrete_laplace::DiscreteLaplace;
use crate::exact::noise::integer_law::IntegerLaw;
use crate::exact::noise::source::Source;
use crate::exact::selection::cosh_groups::draw_group;
use crate::exact::selection::sign::draw_sign;
use crate::exact::selection::{ExponentialMechanism, InverseTemperature};
use crate::loss::Loss;
use crate::polytope::{Polytope, Structure};
use crate::privacy::bounded_data::BoundedData;
use crate::privacy::derivative_lattice::DerivativeLattice;
use crate::privacy::ledger::Budget;
use crate::privacy::sensitivity::Contribution;
use crate::schema::Schema;

/// Randomisation of one selection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SelectionNoise {
    /// Exact exponential mechanism, epsilon0-bounded-range (independent signs: the same epsilon0^2/8-zCDP in
    /// all).
    Exponential {
        /// Cost of one selection.
        epsilon0: f64,
    },
    /// Report-noisy-minimum with Laplace noise as TTZ print it: **no guarantee is proved for its
    /// calibration**.
    Laplace {
        /// Scale in lattice units of a score.
        scale: f64,
    },
}

/// How vertices of one polytope are selected from one schema: sensitivity, event and noise, all before any
/// data.
#[derive(Debug, Clone)]
pub struct SelectionPlan {
    sensitivity: u64,
    shift: u32,
    lattice: DerivativeLattice,
    noise: SelectionNoise,
    origin: Option<i64>,
    event: Event,
}

/// Scores of explicit vertices are floored to multiples of 2^shift so that they fit an i64: |q| < 2^59 l1.
fn score_shift(l1: i64) -> u32 {
    (64 - l1.leading_zeros()).saturating_sub(3)
}

impl SelectionPlan {
    /// Sensitivity of the linear score of a vertex, in integer score units: MECHANISMS M3 line by line.
    ///
    /// # Errors
    /// A bound that does not fit the integers.
    pub fn sensitivity_of(
        polytope: &dyn Polytope,
        schema: &Schema,
        contribution: Contribution,
    ) -> Result<u64> {
        let row_norm = schema.lattice_row_norm();
        match polytope.structure() {
            Structure::Coordinates(_) => contribution.coordinate(),
            Structure::Groups(groups) => {
                let largest = groups.iter().map(Vec::len).max().unwrap_or(1);
                contribution.group(largest as u64, row_norm)
            }
            // Flooring: |floor(a/2^b) - floor(a'/2^b)| <= ceil(|a - a'|/2^b).
            Structure::Vertices(_) => {
                let l1 = polytope.l1_radius();
                Ok(contribution
                    .vertex(l1.unsigned_abs())?
                    .div_ceil(1 << score_shift(l1)))
            }
            Structure::Signs { .. } => contribution.euclidean(
                schema.n_varying() as u64,
                row_norm,
                schema.lattice_intercept(),
            ),
        }
    }

    /// The plan of every selection of one release.
    ///
    /// # Errors
    /// A sensitivity or an epsilon0 that the exact sampler does not take, or Laplace noise on a structure
    /// that has no list of candidates.
    pub fn new(
        polytope: &dyn Polytope,
        schema: &Schema,
        contribution: Contribution,
        lattice: DerivativeLattice,
        noise: SelectionNoise,
    ) -> Result<Self> {
        debug_assert_eq!(contribution.derivative, lattice.bound());
        let sensitivity = Self::sensitivity_of(polytope, schema, contribution)?;
        let event = match (noise, polytope.structure()) {
            // Independent signs: eta = epsilon0/(2 D2) and rho = eta^2/2 |d|_2^2 <= eta^2 D2^2/2 =
            // epsilon0^2/8: each sign is a selection of bounded range 2 eta |d_j|, and zCDP adds over
            // independent choices (M3, M5).
            (SelectionNoise::Exponential { epsilon0 }, Structure::Signs { .. }) => {
                Event::zero_concentrated((epsilon0 * epsilon0 / 8.0).next_up())?
            }
            (SelectionNoise::Exponential { epsilon0 }, _) => Event::exponential(epsilon0)?,
            (
                SelectionNoise::Laplace { scale },
                Structure::Coordinates(_) | Structure::Vertices(_),
            ) => Event::laplace(sensitivity as f64, scale)?,
            (SelectionNoise::Laplace { .. }, _) => {
                return Err(Error::invalid(
                    "calibration",
                    "\"paper\" enumerates the vertices; it is there for the l1 ball, the simplex and explicit vertices",
                ));
            }
        };
        let shift = match polytope.structure() {
            Structure::Vertices(_) => score_shift(polytope.l1_radius()),
            _ => 0,
        };
        Ok(Self {
            sensitivity,
            shift,
            lattice,
            noise,
            origin: None,
            event,
        })
    }

    /// Makes the origin a further candidate, with the constant score `-penalty`: the linear step of a
    /// penalised problem, where every vertex costs `penalty` and the origin nothing. A public constant has
    /// sensitivity 0, so nothing else changes.
    ///
    /// # Errors
    /// A penalty outside [0, 2^60), or a structure that has no list of coordinates.
    pub fn with_origin(mut self, polytope: &dyn Polytope, penalty: f64) -> Result<Self> {
        if !matches!(polytope.structure(), Structure::Coordinates(_)) {
            return Err(Error::invalid(
                "norm",
                "must be \"l1\" or \"simplex\" for a penalised fit",
            ));
        }
        if !(0.0..2f64.powi(60)).contains(&penalty) {
            return Err(Error::invalid(
                "alpha",
                "must be positive and below what integer scores hold",
            ));
        }
        self.origin = Some(-(penalty.round() as i64));
        Ok(self)
    }

    /// The event of one selection.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Replace-one (or add-remove) sensitivity of a score, in integer score units.
    pub fn sensitivity(&self) -> u64 {
        self.sensitivity
    }
}

/// Selects vertices of a polytope by the linear score <v, gradient> at the current, public, coefficient
/// vector.
///
/// The margins <x_i, u> of the unnormalised iterate u live in here, as integers: they follow from the records
/// and from the vertices selected so far. What leaves is the selected vertex.
pub struct VertexSelector<'a> {
    data: &'a BoundedData,
    loss: &'a dyn Loss,
    structure: Structure<'a>,
    plan: &'a SelectionPlan,
    budget: Budget,
    source: &'a mut Source,
    spent: u64,
    margins: Vec<i64>,
    derivatives: Vec<i16>,
    gradient: Vec<i64>,
    scores: Vec<i64>,
    classes: Vec<u8>,
    /// Listed candidates (coordinates, vertices or groups) that may still be chosen; none: all of them.
    remaining: Option<Vec<u32>>,
}

impl<'a> VertexSelector<'a> {
    /// Ready for `count` selections.
    ///
    /// # Errors
    /// Records too many for group sums in 64 bits.
    pub fn new(
        data: &'a BoundedData,
        loss: &'a dyn Loss,
        polytope: &'a dyn Polytope,
        plan: &'a SelectionPlan,
        count: u64,
        source: &'a mut Source,
    ) -> Result<Self> {
        let n = data.n_records();
        if let Structure::Groups(groups) = polytope.structure() {
            // A group sum is below n 2^28 |g|; it must stay below 2^62.
            let largest = groups.iter().map(Vec::len).max().unwrap_or(1);
            if (n as u128) * (largest as u128) >= 1 << 34 {
                return Err(Error::InvalidData(
                    "X has too many records for groups of this size".into(),
                ));
            }
        }
        Ok(Self {
            data,
            loss,
            structure: polytope.structure(),
            plan,
            budget: Budget::new(&[(plan.event, count)]),
            source,
            spent: 0,
            margins: vec![0; n],
            derivatives: vec![0; n],
            gradient: vec![0; data.n_columns()],
            scores: Vec::new(),
            classes: Vec::new(),
            remaining: None,
        })
    }

    /// Selects one vertex at z_i = margin_i * `unit`, `unit` public: spends the event, then draws.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] beyond the planned count, [`Error::Randomness`].
    pub fn choose(&mut self, unit: f64) -> Result<Vec<(u32, i64)>> {
        self.budget.spend(&self.plan.event)?;
        self.spent += 1;
        self.source.renew_after_fork()?;
        self.plan.lattice.derivatives(
            self.loss,
            &self.margins,
            unit,
            &self.data.targets,
            &mut self.derivatives,
        );
        self.data.gradient(&self.derivatives, &mut self.gradient);
        match self.plan.noise {
            SelectionNoise::Exponential { epsilon0 } => {
                let temperature = InverseTemperature::new(epsilon0, self.plan.sensitivity)?;
                self.select(&temperature)
            }
            SelectionNoise::Laplace { scale } => self.noisy_minimum(&DiscreteLaplace::new(scale)?),
        }
    }

    fn select(&mut self, temperature: &InverseTemperature) -> Result<Vec<(u32, i64)>> {
        let sign = |j: u32, gradient: &[i64], source: &mut Source| {
            (j, draw_sign(gradient[j as usize], temperature, source))
        };
        match self.structure {
            Structure::Coordinates(_) | Structure::Vertices(_) => {
                self.fill_scores();
                let mechanism = ExponentialMechanism::new(
                    &self.scores,
                    temperature,
                    std::mem::take(&mut self.classes),
                )?;
                let choice = mechanism.draw(self.source);
                self.classes = mechanism.into_storage();
                Ok(self.candidate(choice))
            }
            Structure::Signs { n_columns } => Ok((0..n_columns as u32)
                .map(|j| sign(j, &self.gradient, self.source))
                .collect()),
            Structure::Groups(groups) => {
                let choice = match &self.remaining {
                    None => {
                        let members = groups.iter().map(Vec::as_slice);
                        draw_group(members, &self.gradient, temperature, self.source)
                    }
                    Some(remaining) => {
                        let members = remaining.iter().map(|&g| groups[g as usize].as_slice());
                        let place = draw_group(members, &self.gradient, temperature, self.source);
                        remaining[place] as usize
                    }
                };
                Ok(groups[choice]
                    .iter()
                    .map(|&j| sign(j, &self.gradient, self.source))
                    .collect())
            }
        }
    }

    fn noisy_minimum(&mut self, noise: &DiscreteLaplace) -> Result<Vec<(u32, i64)>> {
        self.fill_scores();
        let noisy = self
            .scores
            .iter()
            .map(|&score| score.saturating_add(noise.draw(self.source)));
        let choice = noisy
            .enumerate()
            .min_by_key(|&(_, score)| score)
            .map_or(0, |(candidate, _)| candidate);
        Ok(self.candidate(choice))
    }

    /// Scores of the listed candidates.
    fn fill_scores(&mut self) {
        self.scores.clear();
        match self.structure {
            Structure::Coordinates(list) => {
                let score = |&(j, sign): &(u32, i64)| sign * self.gradient[j as usize];
                match &self.remaining {
                    None => self.scores.extend(list.iter().map(score)),
                    Some(remaining) => {
                        let left = remaining.iter().map(|&k| &list[k as usize]);
                        self.scores.extend(left.map(score));
                    }
                }
            }
            Structure::Vertices(list) => {
                // |<v, g>| < l1 2^59 in i128; floored to multiples of 2^shift it fits an i64.
                self.scores.extend(list.iter().map(|vertex| {
                    let terms = vertex.iter().map(|&(j, entry)| {
                        i128::from(entry) * i128::from(self.gradient[j as usize])
                    });
                    (terms.sum::<i128>() >> self.plan.shift) as i64
                }));
            }
            Structure::Signs { .. } | Structure::Groups(_) => {}
        }
        self.scores.extend(self.plan.origin);
    }

    fn candidate(&self, choice: usize) -> Vec<(u32, i64)> {
        match self.structure {
            // One beyond the list is the origin.
            Structure::Coordinates(list) => {
                let place = match &self.remaining {
                    None => Some(choice),
                    Some(remaining) => remaining.get(choice).map(|&k| k as usize),
                };
                let vertex = place.and_then(|place| list.get(place));
                vertex.copied().into_iter().collect()
            }
            Structure::Vertices(list) => list[choice].clone(),
            Structure::Signs { .. } | Structure::Groups(_) => Vec::new(),
        }
    }

    /// Takes every candidate that holds one of `columns` out of the later choices: selection without replacement. The
    /// choice among what is left is still an exponential mechanism of the same sensitivity (peeling; MECHANISMS M10).
    /// `columns` is public. At least one candidate must stay; explicit vertices are not retired.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where no candidate would be left.
    pub fn retire(&mut self, columns: &[u32]) -> Result<()> {
        let holds = |candidate: u32| match self.structure {
            Structure::Coordinates(list) => columns.contains(&list[candidate as usize].0),
            Structure::Groups(groups) => groups[candidate as usize]
                .iter()
                .any(|j| columns.contains(j)),
            Structure::Signs { .. } | Structure::Vertices(_) => false,
        };
        let all = match self.structure {
            Structure::Coordinates(list) => list.len(),
            Structure::Groups(groups) => groups.len(),
            Structure::Signs { .. } | Structure::Vertices(_) => return Ok(()),
        };
        let mut remaining = (self.remaining.take()).unwrap_or_else(|| (0..all as u32).collect());
        remaining.retain(|&candidate| !holds(candidate));
        if remaining.is_empty() {
            return Err(Error::invalid(
                "n_selected",
                "must be smaller than the number of candidates",
            ));
        }
        self.remaining = Some(remaining);
        Ok(())
    }

    /// u += weight * vertex: moves the margins along. `vertex` is public, as everything outside the room is.
    ///
    /// The caller proves that sum over steps of weight |vertex|_1 stays below 2^46, so that margins stay
    /// below 2^60.
    pub fn advance(&mut self, vertex: &[(u32, i64)], weight: i64) {
        self.data.add_to_margins(&mut self.margins, vertex, weight);
    }

    /// The events spent, and whether the randomness was secure.
    pub fn finish(self) -> (Vec<(Event, u64)>, bool) {
        (vec![(self.plan.event, self.spent)], self.source.is_secure())
    }
}
