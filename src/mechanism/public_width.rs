//! Sizes of a norm's ball that the public rules for T use: from the norm alone, the same at every call.

use crate::error::Result;
use crate::norm::Norm;
use crate::prox::Scratch;
use crate::solver::Kernel;

/// Normal vectors that the mean is taken over.
const SAMPLES: usize = 16;

/// About E dual(b) for a standard normal b: the noise in the best linear score over the unit ball. For a seminorm b is
/// orthogonal to what is free, which no penalty holds back, whatever noise has there.
pub(super) fn dual_width(norm: &dyn Norm) -> Result<f64> {
    let free = Kernel::find(norm, &mut Scratch::default())?;
    mean(norm.n_features(), |b| {
        free.project_out(b);
        norm.dual(b)
    })
}

/// About E Omega(b): the same over the dual ball.
pub(super) fn width(norm: &dyn Norm) -> Result<f64> {
    mean(norm.n_features(), |b| norm.value(b))
}

fn mean(p: usize, of: impl Fn(&mut [f64]) -> Result<f64>) -> Result<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut uniform = move || {
        // SplitMix64 (Steele, Lea & Flood 2014)
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 + f64::MIN_POSITIVE
    };
    let mut b = vec![0.0; p];
    let mut sum = 0.0;
    for _ in 0..SAMPLES {
        for b in &mut b {
            // Box & Muller (1958)
            let radius = (-2.0 * uniform().ln()).sqrt();
            *b = radius * (std::f64::consts::TAU * uniform()).cos();
        }
        sum += of(&mut b)?;
    }
    Ok(sum / SAMPLES as f64)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::norm::{GroupLasso, SetFunctionNorm};
    use crate::set_function::GraphCut;

    /// What is free takes no part: noise in the direction that a cut does not see, and in a group of no weight, counts
    /// for nothing, where its dual norm is infinite.
    #[test]
    fn the_width_of_a_seminorm_is_that_of_what_it_holds_back() {
        let cut = |weight: f64| {
            let edges = [(0, 1), (1, 2), (3, 4)];
            let cut = GraphCut::new(&edges, Some(vec![weight; 3]), 5).unwrap();
            SetFunctionNorm::new(Arc::new(cut)).unwrap()
        };
        let width = dual_width(&cut(1.0)).unwrap();
        // Of two of an edge half their difference is left, and of three of a path no more than all three.
        assert!((0.5..2.0).contains(&width), "{width}");
        assert!((dual_width(&cut(4.0)).unwrap() - 0.25 * width).abs() < 1e-9 * width);
        let groups = [vec![0, 1], vec![2]];
        let of = |weights: [f64; 2]| {
            dual_width(&GroupLasso::new(&groups, Some(&weights), 0.0).unwrap()).unwrap()
        };
        let [free, firm] = [of([0.0, 1.0]), of([1e9, 1.0])];
        assert!((free - firm).abs() < 1e-6 * firm, "{free} {firm}");
    }
}
