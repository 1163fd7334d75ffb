//! Gaussian widths E max <b, s> over a polytope of a set function, for independent standard normal b
//! ([`crate::theory_of_privacy::polyhedra`]).

use std::time::{Duration, Instant};

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::half_normal::{expected_maximum, expected_range, expected_sorted_sum};
use crate::error::{Error, Result};
use crate::lovasz;
use crate::set_function::{Groups, SetFunction, Structure};

/// A width, with its standard error where it was simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The width.
    pub value: f64,
    /// Its standard error, 0 where `exact`.
    pub stderr: f64,
    /// Whether it comes from a formula or a quadrature (to some 1e-10 of its size).
    pub exact: bool,
}

/// How a width is simulated where no formula is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulation {
    /// Number of draws of b, at least 2.
    pub n_samples: usize,
    /// The seed: the same seed gives the same bits, for any number of threads.
    pub seed: u64,
}

/// Is told how many of how many draws are done, and may stop the simulation.
pub type Look<'l> = dyn FnMut(usize, usize) -> Result<()> + 'l;

/// Draws between two looks are doubled until they take so long.
const PAUSE: Duration = Duration::from_millis(20);

fn exact(value: f64) -> Estimate {
    Estimate {
        value: value + 0.0,
        stderr: 0.0,
        exact: true,
    }
}

/// E f(|b|), the width of |P|(F): closed for every structure but General. The expectation is linear, so that a cover
/// has sum_g w_g E max_{j in g} |b_j|, overlaps or not.
pub(super) fn symmetric(
    f: &dyn SetFunction,
    simulation: Simulation,
    look: &mut Look<'_>,
) -> Result<Estimate> {
    let mean = (2.0 / std::f64::consts::PI).sqrt();
    Ok(match f.structure() {
        Structure::Modular(weights) => exact(mean * weights.iter().sum::<f64>()),
        Structure::Blocks(blocks) => exact(
            blocks
                .iter()
                .map(|block| expected_sorted_sum(&block.gains))
                .sum(),
        ),
        Structure::Laminar(groups) | Structure::Cover(groups) => exact(of_maxima(groups)),
        Structure::ContiguousRange => exact(expected_range(f.n_features())),
        Structure::Scaled(scale, f) => scaled(scale, symmetric(f, simulation, look)?),
        Structure::Cut(_) | Structure::General => simulate(f, simulation, lovasz::norm, look)?,
    })
}

/// E f(b), the width of B(F): closed for modular functions (B(F) is a point) and cuts (sum_ij w_ij E|b_i - b_j|, each
/// 2/sqrt(pi)).
pub(super) fn base(
    f: &dyn SetFunction,
    simulation: Simulation,
    look: &mut Look<'_>,
) -> Result<Estimate> {
    Ok(match f.structure() {
        Structure::Modular(_) => exact(0.0),
        Structure::Cut(graph) => {
            exact(2.0 / std::f64::consts::PI.sqrt() * graph.weights().iter().sum::<f64>())
        }
        Structure::Scaled(scale, f) => scaled(scale, base(f, simulation, look)?),
        _ => simulate(f, simulation, lovasz::extension, look)?,
    })
}

fn scaled(scale: f64, estimate: Estimate) -> Estimate {
    Estimate {
        value: scale * estimate.value,
        stderr: scale * estimate.stderr,
        ..estimate
    }
}

fn of_maxima(groups: &Groups) -> f64 {
    let mut weight_of_size = std::collections::BTreeMap::new();
    for g in 0..groups.len() {
        *weight_of_size.entry(groups.members(g).len()).or_insert(0.0) += groups.weights()[g];
    }
    weight_of_size
        .into_iter()
        .map(|(size, weight)| weight * expected_maximum(size))
        .sum()
}

/// The mean of `support` over draws of b. Every draw has a stream of its own, and the sums run in the order of the
/// draws, so that nothing depends on how many are drawn between two looks.
fn simulate(
    f: &dyn SetFunction,
    Simulation { n_samples, seed }: Simulation,
    support: fn(&dyn SetFunction, &[f64]) -> Result<f64>,
    look: &mut Look<'_>,
) -> Result<Estimate> {
    if n_samples < 2 {
        return Err(Error::invalid("n_samples", "must be at least 2"));
    }
    let mut draws: Vec<f64> = Vec::new();
    let mut batch = rayon::current_num_threads();
    while draws.len() < n_samples {
        let start = Instant::now();
        let next = draws.len()..n_samples.min(draws.len() + batch);
        let more: Vec<f64> = next
            .into_par_iter()
            .map_init(
                || vec![0.0; f.n_features()],
                |b, k| {
                    fill_normal(b, seed, k as u64);
                    support(f, b)
                },
            )
            .collect::<Result<_>>()?;
        draws.extend(more);
        look(draws.len(), n_samples)?;
        if start.elapsed() < PAUSE {
            batch *= 2;
        }
    }
    let n = n_samples as f64;
    let value = draws.iter().sum::<f64>() / n;
    let squares: f64 = draws.iter().map(|draw| (draw - value).powi(2)).sum();
    Ok(Estimate {
        value,
        stderr: (squares / (n - 1.0) / n).sqrt(),
        exact: false,
    })
}

/// Standard normal numbers (Box & Muller 1958) from stream k of a generator that is for simulation, not for privacy.
fn fill_normal(b: &mut [f64], seed: u64, k: u64) {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(k);
    let mut uniform = || ((generator.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    for pair in b.chunks_mut(2) {
        let radius = (-2.0 * libm::log(uniform())).sqrt();
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * uniform());
        pair[0] = radius * cos;
        if let Some(second) = pair.get_mut(1) {
            *second = radius * sin;
        }
    }
}
