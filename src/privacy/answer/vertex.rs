//! A vertex of a polytope, chosen by its linear score at public coefficients.

use std::sync::Arc;

use crate::accounting::event::Event;
use crate::error::{Error, Result};
use crate::exact::noise::discrete_laplace::DiscreteLaplace;
use crate::exact::noise::integer_law::IntegerLaw;
use crate::exact::noise::source::Source;
use crate::exact::selection::cosh_groups::draw_group;
use crate::exact::selection::sign::draw_sign;
use crate::exact::selection::{ExponentialMechanism, InverseTemperature};
use crate::polytope::{Selectable, Structure};
use crate::privacy::model::RoomModel;
use crate::privacy::question::{Answer, Question, Room};
use crate::privacy::records::{Move, Pass, Records, States};
use crate::privacy::sensitivity::Contribution;
use crate::privacy::statement::{MOST_RECORDS, Statement};

/// Randomisation of one selection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SelectionNoise {
    /// Exact exponential mechanism, epsilon0-bounded-range (independent signs: the same epsilon0^2/8-zCDP in all).
    Exponential {
        /// Cost of one selection.
        epsilon0: f64,
    },
    /// Report-noisy-minimum with Laplace noise as Talwar, Thakurta & Zhang (2015) print it: **no guarantee is proved
    /// for its calibration**.
    Laplace {
        /// Scale in lattice units of a score.
        scale: f64,
    },
}

/// The choice of a vertex v by its linear score <v, gradient> at public coefficients (Talwar, Thakurta & Zhang 2015,
/// Algorithm 2).
///
/// The margins <x_i, u> of the unnormalised iterate u stay in the room, as integers: they follow from the records and
/// from the vertices selected so far.
#[derive(Debug, Clone)]
pub struct Vertex {
    model: RoomModel,
    polytope: Selectable,
    sensitivity: u64,
    shift: u32,
    noise: SelectionNoise,
    origin: Option<i64>,
}

/// Scores of explicit vertices are floored to multiples of 2^shift so that they fit an i64: |q| < 2^59 l1.
fn score_shift(l1: i64) -> u32 {
    (64 - l1.leading_zeros()).saturating_sub(3)
}

impl Statement {
    /// Sensitivity of the linear score of a vertex, in integer score units.
    ///
    /// # Errors
    /// A bound that does not fit the integers.
    pub fn score_sensitivity(&self, model: &RoomModel, polytope: &Selectable) -> Result<u64> {
        let contribution = Contribution::of(self, model);
        match polytope.structure() {
            Structure::Coordinates(_) => contribution.coordinate(),
            Structure::Groups(groups) => {
                let largest = groups.iter().map(Vec::len).max().unwrap_or(1);
                contribution.group(largest as u64, self.schema().lattice_row_norm())
            }
            // Flooring: |floor(a/2^b) - floor(a'/2^b)| <= ceil(|a - a'|/2^b).
            Structure::Vertices(_) => {
                let l1 = polytope.l1_radius();
                let exact = contribution.vertex(l1.unsigned_abs())?;
                Ok(exact.div_ceil(1 << score_shift(l1)))
            }
            Structure::Signs { .. } => contribution.euclidean(self),
        }
    }

    /// Choices of a vertex. With an `origin` the origin is a further candidate, with the constant score `-origin`: the
    /// linear step of a penalised problem, where every vertex costs that much and the origin nothing. A public constant
    /// has sensitivity 0.
    ///
    /// # Errors
    /// A sensitivity or an epsilon0 that the exact sampler does not take; Laplace noise or an origin for a structure
    /// that has no list of candidates; an origin outside [0, 2^60).
    pub fn vertex(
        self: &Arc<Self>,
        model: &RoomModel,
        polytope: &Selectable,
        noise: SelectionNoise,
        origin: Option<f64>,
    ) -> Result<Question<Vertex>> {
        let sensitivity = self.score_sensitivity(model, polytope)?;
        let event = match (noise, polytope.structure()) {
            // Independent signs: eta = epsilon0/(2 D2) and rho = eta^2/2 |d|_2^2 <= eta^2 D2^2/2 = epsilon0^2/8: each
            // sign is a selection of bounded range 2 eta |d_j|, and zCDP adds over independent choices.
            (SelectionNoise::Exponential { epsilon0 }, Structure::Signs { .. }) => {
                Event::zero_concentrated((epsilon0 * epsilon0 / 8.0).next_up())?
            }
            (SelectionNoise::Exponential { epsilon0 }, _) => Event::exponential(epsilon0)?,
            (
                SelectionNoise::Laplace { scale },
                Structure::Coordinates(_) | Structure::Vertices(_),
            ) => {
                // The chosen score and the others move by the sensitivity each, apart (Dwork & Roth 2014, Claim 3.9; the
                // proof holds for the integer law, whose neighbouring weights differ by exp(1/scale), and for any order
                // among ties).
                Event::laplace(2.0 * (sensitivity as f64).next_up(), scale)?
            }
            (SelectionNoise::Laplace { .. }, _) => {
                return Err(Error::invalid(
                    "calibration",
                    "\"paper\" enumerates the vertices; it is there for the l1 ball, the simplex and explicit vertices",
                ));
            }
        };
        match noise {
            SelectionNoise::Exponential { epsilon0 } => {
                InverseTemperature::new(epsilon0, sensitivity)?;
            }
            SelectionNoise::Laplace { scale } => {
                DiscreteLaplace::new(scale)?;
            }
        }
        let shift = match polytope.structure() {
            Structure::Vertices(_) => score_shift(polytope.l1_radius()),
            _ => 0,
        };
        let vertex = Vertex {
            model: model.clone(),
            polytope: polytope.clone(),
            sensitivity,
            shift,
            noise,
            origin: origin_score(polytope, origin)?,
        };
        Ok(Question::new(self, vertex, vec![(event, 1)]))
    }
}

fn origin_score(polytope: &Selectable, origin: Option<f64>) -> Result<Option<i64>> {
    let Some(penalty) = origin else {
        return Ok(None);
    };
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
    Ok(Some(-(penalty.round() as i64)))
}

/// Where a vertex is chosen.
#[derive(Debug, Clone, Copy)]
pub struct VertexAt<'a> {
    /// How the unnormalised iterate u moved since the last choice: a vector and its weight. The sum over steps of
    /// weight |vector|_1 must stay below 2^46.
    pub moved: (&'a [(u32, i64)], i64),
    /// Candidates that hold one of these columns take no part in this and in later choices: selection without
    /// replacement. The choice among what is left is still an exponential mechanism of the same sensitivity (peeling).
    pub retired: &'a [u32],
    /// z_i = <x_i, u> * unit.
    pub unit: f64,
}

/// Margins, and what is left of the candidates.
pub struct VertexState {
    states: States,
    scores: Vec<i64>,
    classes: Vec<u8>,
    /// Listed candidates (coordinates or groups) that may still be chosen; None: all of them.
    remaining: Option<Vec<u32>>,
    /// Sum of weight |vector|_1 so far.
    moved: u128,
}

impl Vertex {
    /// What is left of the candidates without `columns`.
    fn left(&self, state: &VertexState, columns: &[u32]) -> Result<Option<Vec<u32>>> {
        let (all, holds): (usize, Box<dyn Fn(u32) -> bool>) = match self.polytope.structure() {
            Structure::Coordinates(list) => (
                list.len(),
                Box::new(move |k| columns.contains(&list[k as usize].0)),
            ),
            Structure::Groups(groups) => (
                groups.len(),
                Box::new(move |k| groups[k as usize].iter().any(|j| columns.contains(j))),
            ),
            Structure::Signs { .. } | Structure::Vertices(_) => return Ok(None),
        };
        let mut left = (state.remaining.clone()).unwrap_or_else(|| (0..all as u32).collect());
        left.retain(|&candidate| !holds(candidate));
        if left.is_empty() {
            return Err(Error::invalid(
                "n_selected",
                "must be smaller than the number of candidates",
            ));
        }
        Ok(Some(left))
    }

    fn select(
        &self,
        temperature: &InverseTemperature,
        gradient: &[i64],
        state: &mut VertexState,
        source: &mut Source,
    ) -> Result<Vec<(u32, i64)>> {
        let sign =
            |j: u32, source: &mut Source| (j, draw_sign(gradient[j as usize], temperature, source));
        match self.polytope.structure() {
            Structure::Coordinates(_) | Structure::Vertices(_) => {
                self.fill_scores(gradient, state);
                let storage = std::mem::take(&mut state.classes);
                let mechanism = ExponentialMechanism::new(&state.scores, temperature, storage)?;
                let choice = mechanism.draw(source);
                state.classes = mechanism.into_storage();
                Ok(self.candidate(choice, state))
            }
            Structure::Signs { n_columns } => {
                Ok((0..n_columns as u32).map(|j| sign(j, source)).collect())
            }
            Structure::Groups(groups) => {
                let choice = match &state.remaining {
                    None => {
                        let members = groups.iter().map(Vec::as_slice);
                        draw_group(members, gradient, temperature, source)
                    }
                    Some(remaining) => {
                        let members = remaining.iter().map(|&g| groups[g as usize].as_slice());
                        remaining[draw_group(members, gradient, temperature, source)] as usize
                    }
                };
                Ok(groups[choice].iter().map(|&j| sign(j, source)).collect())
            }
        }
    }

    fn noisy_minimum(
        &self,
        noise: &DiscreteLaplace,
        gradient: &[i64],
        state: &mut VertexState,
        source: &mut Source,
    ) -> Vec<(u32, i64)> {
        self.fill_scores(gradient, state);
        let scores = state.scores.iter();
        let noisy = scores.map(|&score| score.saturating_add(noise.draw(source)));
        let choice = (noisy.enumerate()).min_by_key(|&(_, score)| score);
        self.candidate(choice.map_or(0, |(candidate, _)| candidate), state)
    }

    /// Scores of the listed candidates.
    fn fill_scores(&self, gradient: &[i64], state: &mut VertexState) {
        let scores = &mut state.scores;
        scores.clear();
        match self.polytope.structure() {
            Structure::Coordinates(list) => {
                let score = |&(j, sign): &(u32, i64)| sign * gradient[j as usize];
                match &state.remaining {
                    None => scores.extend(list.iter().map(score)),
                    Some(remaining) => {
                        let left = remaining.iter().map(|&k| &list[k as usize]);
                        scores.extend(left.map(score));
                    }
                }
            }
            Structure::Vertices(list) => {
                // |<v, g>| < l1 2^59 in i128; floored to multiples of 2^shift it fits an i64.
                scores.extend(list.iter().map(|vertex| {
                    let terms = (vertex.iter())
                        .map(|&(j, entry)| i128::from(entry) * i128::from(gradient[j as usize]));
                    (terms.sum::<i128>() >> self.shift) as i64
                }));
            }
            Structure::Signs { .. } | Structure::Groups(_) => {}
        }
        scores.extend(self.origin);
    }

    fn candidate(&self, choice: usize, state: &VertexState) -> Vec<(u32, i64)> {
        match self.polytope.structure() {
            // One beyond the list is the origin.
            Structure::Coordinates(list) => {
                let place = match &state.remaining {
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
}

impl Answer for Vertex {
    type At<'a> = VertexAt<'a>;
    /// Columns with their integer entries, in units of the polytope; empty for the origin.
    type Released = Vec<(u32, i64)>;
    type State = VertexState;

    /// A group sum is below n 2^28 |g|; it must stay below 2^62.
    fn most_records(&self, _: &Statement) -> usize {
        match self.polytope.structure() {
            Structure::Groups(groups) => {
                let largest = groups.iter().map(Vec::len).max().unwrap_or(1).max(1);
                (((1usize << 34) - 1) / largest).min(MOST_RECORDS)
            }
            _ => MOST_RECORDS,
        }
    }

    fn check(&self, at: &VertexAt<'_>, columns: usize) -> Result<()> {
        let inside = |&(j, _): &(u32, i64)| (j as usize) < columns * self.model.outputs();
        if !at.unit.is_finite() || !at.moved.0.iter().all(inside) {
            return Err(Error::invalid("vertex", "must have columns of the records"));
        }
        Ok(())
    }

    fn state(&self, _: &dyn Records) -> Result<VertexState> {
        Ok(VertexState {
            states: States::default(),
            scores: Vec::new(),
            classes: Vec::new(),
            remaining: None,
            moved: 0,
        })
    }

    fn draw(&self, at: VertexAt<'_>, room: Room<'_, '_, VertexState>) -> Result<Vec<(u32, i64)>> {
        let Room {
            records,
            state,
            source,
            watch,
        } = room;
        if !at.retired.is_empty() {
            state.remaining = self.left(state, at.retired)?;
        }
        let (vector, weight) = at.moved;
        let size: u128 = vector.iter().map(|v| u128::from(v.1.unsigned_abs())).sum();
        state.moved =
            (state.moved).saturating_add(size.saturating_mul(u128::from(weight.unsigned_abs())));
        if state.moved >= 1 << 46 {
            return Err(Error::invalid(
                "n_iter",
                "is too large for integer margins of this polytope",
            ));
        }
        let columns = records.n_columns() as u32;
        let of_output = |output: usize| -> Vec<(u32, i64)> {
            let output = output as u32;
            let own = vector.iter().filter(|(j, _)| j / columns == output);
            own.map(|&(j, entry)| (j % columns, entry)).collect()
        };
        let directions: Vec<_> = (0..self.model.outputs()).map(of_output).collect();
        let moves: Vec<Move<'_>> = (directions.iter().enumerate())
            .filter(|(_, direction)| !direction.is_empty())
            .map(|(output, direction)| Move {
                output,
                direction,
                weight,
            })
            .collect();
        let pass = Pass::Gradient {
            model: &self.model,
            moves: &moves,
            fresh: false,
            unit: at.unit,
        };
        let gradient = records.fold(&pass, &mut state.states, watch)?.0;
        match self.noise {
            SelectionNoise::Exponential { epsilon0 } => {
                let temperature = InverseTemperature::new(epsilon0, self.sensitivity)?;
                self.select(&temperature, &gradient, state, source)
            }
            SelectionNoise::Laplace { scale } => {
                let noise = DiscreteLaplace::new(scale)?;
                Ok(self.noisy_minimum(&noise, &gradient, state, source))
            }
        }
    }
}
