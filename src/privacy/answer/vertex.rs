use std::borrow::Cow;
use std::collections::BTreeMap;

use super::lagging_vertex::Choices;
use super::{Answer, Room};
use crate::error::{Error, Result};
use crate::exact::noise::discrete_laplace::DiscreteLaplace;
use crate::exact::noise::integer_law::IntegerLaw;
use crate::exact::noise::source::Source;
use crate::exact::selection::cosh_groups::draw_group;
use crate::exact::selection::sign::draw_sign;
use crate::exact::selection::{ExponentialMechanism, InverseTemperature, draw_in_constant_time};
use crate::polytope::Structure;
use crate::privacy::records::{LaggingPass, Move, Pass, States};
use crate::question::{SelectionNoise, Vertex};
use crate::schema::Schema;

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

/// Units of lagging scores are below: with margins below 2^60 scores are finite.
const LARGEST_UNIT: f64 = (1u64 << 60) as f64;

/// Margins, and what is left of the candidates.
#[derive(Default)]
pub struct VertexState {
    pub(super) states: States,
    /// Candidates of choices at lagging slopes.
    pub(super) choices: Option<Choices>,
    scores: Vec<i64>,
    classes: Vec<u8>,
    /// Listed candidates (coordinates or groups) that may still be chosen; None: all of them.
    remaining: Option<Vec<u32>>,
    /// Sum of weight |vector|_1 so far.
    moved: u128,
    /// How the iterate moved since margins last did, entry by entry: answers that were given again leave it to the next
    /// one that is drawn.
    owed: BTreeMap<u32, i64>,
}

impl VertexState {
    /// The move of margins that is due with `moved`.
    fn due<'a>(
        &mut self,
        (vector, weight): (&'a [(u32, i64)], i64),
    ) -> (Cow<'a, [(u32, i64)]>, i64) {
        if self.owed.is_empty() {
            return (Cow::Borrowed(vector), weight);
        }
        self.owe((vector, weight));
        let all = std::mem::take(&mut self.owed);
        (Cow::Owned(all.into_iter().collect()), 1)
    }

    /// No overflow: sizes add up to less than 2^46, as `moved` says.
    fn owe(&mut self, (vector, weight): (&[(u32, i64)], i64)) {
        for &(j, entry) in vector {
            *self.owed.entry(j).or_default() += weight * entry;
        }
    }
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

    /// Takes in what the caller says: what is retired, and how far margins move by now.
    fn heed(&self, at: &VertexAt<'_>, state: &mut VertexState) -> Result<()> {
        if !at.retired.is_empty() {
            state.remaining = self.left(state, at.retired)?;
        }
        state.moved = moved_after(at, state)?;
        Ok(())
    }

    /// A vector over the columns of all outputs, one after the other, as one of each output.
    fn directions(&self, vector: &[(u32, i64)], columns: usize) -> Vec<Vec<(u32, i64)>> {
        let columns = columns as u32;
        let of_output = |output: usize| -> Vec<(u32, i64)> {
            let output = output as u32;
            let own = vector.iter().filter(|(j, _)| j / columns == output);
            own.map(|&(j, entry)| (j % columns, entry)).collect()
        };
        (0..self.model.outputs()).map(of_output).collect()
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
                if self.constant_time {
                    let choice = draw_in_constant_time(&state.scores, temperature, source)?;
                    return Ok(self.candidate(choice, state));
                }
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

/// Sum of weight |vector|_1 with the move that is said now.
fn moved_after(at: &VertexAt<'_>, state: &VertexState) -> Result<u128> {
    let (vector, weight) = at.moved;
    let size: u128 = vector.iter().map(|v| u128::from(v.1.unsigned_abs())).sum();
    let moved = (state.moved).saturating_add(size.saturating_mul(weight.unsigned_abs().into()));
    if moved >= 1 << 46 {
        return Err(Error::invalid(
            "n_iter",
            "is too large for integer margins of this polytope",
        ));
    }
    Ok(moved)
}

impl Answer for Vertex {
    type At<'a> = VertexAt<'a>;
    /// Columns with their integer entries, in units of the polytope; empty for the origin.
    type Released = Vec<(u32, i64)>;
    type State = VertexState;

    fn check(&self, at: &VertexAt<'_>, schema: &Schema) -> Result<()> {
        let entries = schema.n_columns() * self.model.outputs();
        let inside = |&(j, _): &(u32, i64)| (j as usize) < entries;
        if !at.unit.is_finite() || !at.moved.0.iter().all(inside) {
            return Err(Error::invalid("vertex", "must have columns of the records"));
        }
        let lags = self.lag.is_some();
        if lags && !(0.0..LARGEST_UNIT).contains(&at.unit) {
            return Err(Error::invalid("unit", "must not be negative, nor huge"));
        }
        if lags && !at.retired.is_empty() {
            return Err(Error::invalid(
                "retired",
                "must be empty where slopes may lag behind",
            ));
        }
        Ok(())
    }

    fn check_after(&self, at: &VertexAt<'_>, state: &VertexState) -> Result<()> {
        moved_after(at, state)?;
        if !at.retired.is_empty() {
            self.left(state, at.retired)?;
        }
        Ok(())
    }

    fn draw(&self, at: VertexAt<'_>, room: Room<'_, '_, VertexState>) -> Result<Vec<(u32, i64)>> {
        let Room {
            records,
            state,
            source,
            watch,
            ..
        } = room;
        self.heed(&at, state)?;
        let (vector, weight) = state.due(at.moved);
        let directions = self.directions(&vector, records.n_columns());
        let moves = moves(&directions, weight);
        if let Some(tolerance) = self.lag {
            let pass = LaggingPass {
                model: &self.model,
                moves: &moves,
                unit: at.unit,
                tolerance,
                rare: None,
            };
            return self.choose_lagging(&pass, records, state, source, watch);
        }
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

    fn replay(
        &self,
        at: VertexAt<'_>,
        _: &Vec<(u32, i64)>,
        room: Room<'_, '_, VertexState>,
    ) -> Result<()> {
        self.heed(&at, room.state)?;
        let Some(tolerance) = self.lag else {
            room.state.owe(at.moved);
            return Ok(());
        };
        // When slopes are taken anew depends on every step.
        let directions = self.directions(at.moved.0, room.records.n_columns());
        let pass = LaggingPass {
            model: &self.model,
            moves: &moves(&directions, at.moved.1),
            unit: at.unit,
            tolerance,
            rare: None,
        };
        let followed = self.follow_lagging(&pass, room.records, room.state, room.watch)?;
        followed.choices.settle();
        Ok(())
    }
}

/// How margins move, output by output.
fn moves(directions: &[Vec<(u32, i64)>], weight: i64) -> Vec<Move<'_>> {
    (directions.iter().enumerate())
        .filter(|(_, direction)| !direction.is_empty())
        .map(|(output, direction)| Move {
            output,
            direction,
            weight,
        })
        .collect()
}
