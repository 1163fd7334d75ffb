//! max over A of s(A)/F(A), on which dual norms, gauges and the linear minimisation over a norm ball stand.

use crate::error::Result;
use crate::lovasz::sort_descending;
use crate::minimise::minimise;
use crate::set_function::{Block, Groups, SetFunction, Structure};

/// The largest ratio and a set that attains it; empty with ratio 0 where no s(A) is positive.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ratio {
    pub value: f64,
    pub set: Vec<usize>,
}

impl Ratio {
    fn raise(&mut self, sum: f64, price: f64, set: impl FnOnce() -> Vec<usize>) {
        // Sums of nothing are -0.
        let price = price + 0.0;
        if sum > 0.0 && sum / price > self.value {
            (self.value, self.set) = (sum / price, set());
        }
    }
}

/// For s >= 0 and a monotone F; infinite where F({j}) = 0 and s_j > 0.
pub(super) fn monotone(f: &dyn SetFunction, s: &[f64]) -> Result<Ratio> {
    match f.structure() {
        Structure::Modular(weights) => {
            let mut ratio = nothing();
            for (j, (&s, &weight)) in s.iter().zip(weights).enumerate() {
                ratio.raise(s, weight, || vec![j]);
            }
            Ok(ratio)
        }
        Structure::Blocks(blocks) => Ok(of_blocks(blocks, s)),
        Structure::Laminar(groups) if (0..s.len()).all(|j| groups.of_feature(j).len() <= 1) => {
            Ok(of_disjoint(groups, s))
        }
        Structure::Scaled(scale, f) => {
            let mut ratio = monotone(f, s)?;
            ratio.value /= scale;
            Ok(ratio)
        }
        _ => dinkelbach(f, s, 0.0),
    }
}

fn nothing() -> Ratio {
    Ratio {
        value: 0.0,
        set: Vec::new(),
    }
}

/// A sum over disjoint blocks attains its ratio on one of them, in it on some largest entries.
fn of_blocks(blocks: &[Block], s: &[f64]) -> Ratio {
    let mut ratio = nothing();
    let mut free = vec![true; s.len()];
    for block in blocks {
        let mut order = block.members.clone();
        order.iter().for_each(|&j| free[j] = false);
        if block.gains[1..].iter().all(|&gain| gain == 0.0) {
            let sum = order.iter().map(|&j| s[j]).sum();
            ratio.raise(sum, block.gains[0], || order);
            continue;
        }
        sort_descending(s, &mut order);
        let (mut sum, mut price) = (0.0, 0.0);
        let (mut best, mut size) = (ratio.value, 0);
        for (k, (&j, gain)) in order.iter().zip(&block.gains).enumerate() {
            sum += s[j];
            price += gain;
            if sum > 0.0 && sum / price > best {
                (best, size) = (sum / price, k + 1);
            }
        }
        if size > 0 {
            order.truncate(size);
            ratio = Ratio {
                value: best,
                set: order,
            };
        }
    }
    of_free(ratio, &free, s)
}

/// A sum over disjoint groups attains its ratio on one of them.
fn of_disjoint(groups: &Groups, s: &[f64]) -> Ratio {
    let mut ratio = nothing();
    let mut free = vec![true; s.len()];
    for g in 0..groups.len() {
        let members = groups.members(g);
        let sum = members.iter().map(|&j| s[j as usize]).sum();
        ratio.raise(sum, groups.weights()[g], || {
            members.iter().map(|&j| j as usize).collect()
        });
        members.iter().for_each(|&j| free[j as usize] = false);
    }
    of_free(ratio, &free, s)
}

/// Features that cost nothing make the ratio infinite.
fn of_free(mut ratio: Ratio, free: &[bool], s: &[f64]) -> Ratio {
    for j in (0..s.len()).filter(|&j| free[j]) {
        ratio.raise(s[j], 0.0, || vec![j]);
    }
    ratio
}

/// Dinkelbach's method (1967): A minimises F - s/t for the ratio t so far; a negative minimum means a better ratio. It
/// ends after finitely many rounds, in practice a handful: the ratios grow superlinearly.
///
/// Where the price of a set is 0 the ratio is infinite if s(A) is above `rounding`, and else the set is ignored.
pub(super) fn dinkelbach(f: &dyn SetFunction, s: &[f64], rounding: f64) -> Result<Ratio> {
    let mut ratio = nothing();
    let Some(largest) = (0..s.len()).max_by(|&i, &j| s[i].total_cmp(&s[j])) else {
        return Ok(ratio);
    };
    let all: Vec<usize> = (0..s.len()).collect();
    for set in [vec![largest], all] {
        let sum: f64 = set.iter().map(|&j| s[j]).sum();
        if sum > rounding {
            ratio.raise(sum, price(f, &set)?, || set);
        }
    }
    let mut scaled = vec![0.0; s.len()];
    while ratio.value > 0.0 && ratio.value.is_finite() {
        for (scaled, s) in scaled.iter_mut().zip(s) {
            *scaled = s / ratio.value;
        }
        let set = minimise(f, &scaled)?.set;
        let sum: f64 = set.iter().map(|&j| s[j]).sum();
        let price = price(f, &set)?;
        let before = ratio.value;
        if sum > rounding {
            ratio.raise(sum, price, || set);
        }
        if ratio.value <= before {
            break;
        }
    }
    Ok(ratio)
}

/// F(A), and 0 where it is a difference of gains that rounding does not tell from 0.
fn price(f: &dyn SetFunction, set: &[usize]) -> Result<f64> {
    let mut gains = vec![0.0; set.len()];
    f.gains(set, &mut gains)?;
    let price: f64 = gains.iter().sum();
    let terms: f64 = gains.iter().map(|gain| gain.abs()).sum();
    Ok(if price <= 1e-13 * terms { 0.0 } else { price })
}
