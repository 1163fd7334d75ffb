//! A vertex of a polytope, chosen by its linear score at public coefficients.

use std::sync::Arc;

use super::Question;
use super::model::RoomModel;
use super::sensitivity::Contribution;
use super::statement::{MOST_RECORDS, Statement};
use crate::accounting::event::Event;
use crate::error::{Error, Result, positive};
use crate::exact::noise::discrete_laplace::DiscreteLaplace;
use crate::exact::selection::InverseTemperature;
use crate::polytope::{Selectable, Structure};

/// Randomisation of one selection.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
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

impl SelectionNoise {
    fn is_exponential(self) -> bool {
        matches!(self, SelectionNoise::Exponential { .. })
    }
}

/// The choice of a vertex v by its linear score <v, gradient> at public coefficients (Talwar, Thakurta & Zhang 2015,
/// Algorithm 2).
///
/// The margins <x_i, u> of the unnormalised iterate u stay in the room, as integers: they follow from the records and
/// from the vertices selected so far.
#[derive(Debug, Clone)]
pub struct Vertex {
    pub(crate) model: RoomModel,
    pub(crate) polytope: Selectable,
    pub(crate) sensitivity: u64,
    pub(crate) shift: u32,
    pub(crate) noise: SelectionNoise,
    pub(crate) origin: Option<i64>,
    /// How far a score moves before the slope of its record is taken anew; None: slopes are those of every step.
    pub(crate) lag: Option<f64>,
    /// Whether every choice does the same work, whatever the scores are.
    pub(crate) constant_time: bool,
}

/// Scores of explicit vertices are floored to multiples of 2^shift so that they fit an i64: |q| < 2^59 l1.
fn score_shift(l1: i64) -> u32 {
    (64 - l1.leading_zeros()).saturating_sub(3)
}

/// The columns, ascending, that the entries of a group are of; entry j of output k is k `columns` + j.
fn columns_of(group: &[u32], columns: usize) -> Vec<usize> {
    let mut of_group: Vec<usize> = group.iter().map(|&j| j as usize % columns).collect();
    of_group.sort_unstable();
    of_group.dedup();
    of_group
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
                let schema = self.schema();
                let (p, columns) = (schema.n_features(), self.n_columns());
                let mut most = 0;
                for group in groups {
                    let of_group = columns_of(group, columns);
                    let features = of_group.partition_point(|&j| j < p);
                    // A row norm does not cover the column of the intercept.
                    let intercept = match features < of_group.len() {
                        true => schema.lattice_intercept(),
                        false => 0,
                    };
                    let norm = schema.lattice_row_norm();
                    most = most.max(contribution.group(features as u64, norm, intercept)?);
                }
                Ok(most)
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
                // The chosen score and the others move by the sensitivity each, apart (Dwork & Roth 2014, Claim 3.9;
                // the proof holds for the integer law, whose neighbouring weights differ by exp(1/scale), and for any
                // order among ties).
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
            lag: None,
            constant_time: false,
        };
        // A group sum is below n 2^28 |g|; it must stay below 2^62.
        let most_records = match polytope.structure() {
            Structure::Groups(groups) => {
                let largest = groups.iter().map(Vec::len).max().unwrap_or(1).max(1);
                (((1usize << 34) - 1) / largest).min(MOST_RECORDS)
            }
            _ => MOST_RECORDS,
        };
        let question = Question::new(self, vertex, vec![(event, 1)]).of_at_most(most_records);
        Ok(question.of_outputs(model.outputs()))
    }
}

impl Question<Vertex> {
    /// The same choices at slopes that may lag behind: that of a record is taken anew in the first step in which its
    /// score is `tolerance` or more away from the score at which it was last taken, and in no other
    /// ([`crate::theory_of_privacy::frank_wolfe`]). A slope is still a bounded function of its record and of public
    /// steps: sensitivity and cost stay as they are.
    ///
    /// # Errors
    /// A tolerance that is not positive and finite; [`Error::InvalidArgument`] naming `refresh` for Laplace noise,
    /// several outputs, or candidates that are not signed coordinates, column by column.
    pub fn lagging(self, tolerance: f64) -> Result<Self> {
        let tolerance = positive("tolerance", tolerance)?;
        let listed = match self.answer.polytope.structure() {
            Structure::Coordinates(list) => list.is_sorted_by_key(|&(j, _)| j),
            _ => false,
        };
        if !(self.answer.noise.is_exponential() && listed && self.answer.model.outputs() == 1) {
            return Err(Error::invalid(
                "refresh",
                "must be \"auto\" or \"exact\" but for an l1 ball or a simplex, one score a record, and \
                 calibration=\"tight\"",
            ));
        }
        let answer = Vertex {
            lag: Some(tolerance),
            ..self.answer
        };
        Ok(Self { answer, ..self }.with_lag())
    }

    /// The same choices, by the same law, with work that does not depend on scores
    /// ([`draw_in_constant_time`](crate::exact::selection::draw_in_constant_time)); what comes before a choice has its
    /// own time.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming `constant_time` for Laplace noise, slopes that lag behind, or candidates that
    /// are not listed.
    pub fn in_constant_time(self) -> Result<Self> {
        let listed = matches!(
            self.answer.polytope.structure(),
            Structure::Coordinates(_) | Structure::Vertices(_)
        );
        if !(self.answer.noise.is_exponential() && listed && self.answer.lag.is_none()) {
            return Err(Error::invalid(
                "constant_time",
                "must be False but for an l1 ball, a simplex or explicit vertices, refresh=\"exact\" and \
                 calibration=\"tight\"",
            ));
        }
        let answer = Vertex {
            constant_time: true,
            ..self.answer
        };
        Ok(Self { answer, ..self })
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
