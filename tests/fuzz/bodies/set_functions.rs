//! Every catalogued set function of any arguments: built or refused, and what is built answers without a panic. Where
//! its numbers are of a usual size it is one: F(empty) = 0, f(1_A) = F(A), gains that sum to F, minima that no tried
//! set is below, and proxes that no tried point is better than.

use std::sync::Arc;

use dpsparse::lovasz::{base_vertex, extension};
use dpsparse::minimise::minimise;
use dpsparse::ndarray::Array2;
use dpsparse::norm::{Norm, ReviewedNorm, SetFunctionNorm};
use dpsparse::prox::Scratch;
use dpsparse::set_function::{
    Cardinality, ConcaveCardinality, ContiguousRange, GraphCut, GroupCover, LogDet, Modular,
    Oracle, PartitionRank, SetFunction, Tree, check_monotone, check_norm, restricted, scaled, sum,
};
use dpsparse::{Error, Result};

use super::choices::Choices;

type F = Arc<dyn SetFunction>;

pub fn run(data: &[u8]) {
    let mut choices = Choices::new(data);
    let p = choices.below(9);
    let mut well_posed = true;
    if let Some(f) = checked(combined(&mut choices, p, &mut well_posed)) {
        asked(&f, well_posed, &mut choices);
    }
}

/// The value, or None for an error of the kinds that are promised.
fn checked<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(
            Error::InvalidArgument { .. } | Error::NotSubmodular { .. } | Error::TooLarge { .. },
        ) => None,
        Err(other) => panic!("another kind of error: {other:?}"),
    }
}

/// `well_posed` turns false where rounding decides what the values are.
fn combined(choices: &mut Choices<'_>, p: usize, well_posed: &mut bool) -> Result<F> {
    let f = basic(choices, p, well_posed)?;
    match choices.below(8) {
        0 => scaled(choices.float(), f),
        1 => {
            let other = choices.below(9).max(p);
            sum(f, basic(choices, other, well_posed)?)
        }
        2 if f.is_monotone() => {
            let kept: Vec<u32> = (0..f.n_features() as u32)
                .filter(|_| choices.flag())
                .collect();
            if kept.is_empty() {
                return Ok(f);
            }
            Ok(restricted(Arc::clone(&f), &kept)?.unwrap_or(f))
        }
        _ => Ok(f),
    }
}

fn basic(choices: &mut Choices<'_>, p: usize, well_posed: &mut bool) -> Result<F> {
    let arc = |f: Result<_>| f.map(|f| Arc::new(f) as F);
    Ok(match choices.below(10) {
        0 => Arc::new(Cardinality::new(p)?),
        1 => Arc::new(ContiguousRange::new(p)?),
        2 => Arc::new(Modular::new(choices.floats(p))?),
        3 => {
            // Falling gains, sorted as a rule: most other values are refused.
            let mut gains = choices.floats(p);
            if choices.below(8) > 0 {
                gains.sort_by(|a, b| b.total_cmp(a));
            }
            let mut h = 0.0;
            let values = gains.iter().map(|gain| {
                h += gain;
                h
            });
            Arc::new(ConcaveCardinality::new(values.collect())?)
        }
        4 => {
            let edges: Vec<_> = (0..choices.below(12))
                .map(|_| (choices.below(p + 1), choices.below(p + 1)))
                .collect();
            let weights = weights(choices, edges.len());
            Arc::new(GraphCut::new(&edges, weights, p)?)
        }
        5 => {
            let groups = groups(choices, p);
            let weights = weights(choices, groups.len());
            Arc::new(GroupCover::new(&groups, weights, p)?)
        }
        6 => {
            let groups = groups(choices, p);
            let weights = weights(choices, groups.len());
            Arc::new(Tree::new(&groups, weights, p)?)
        }
        7 => {
            let groups = groups(choices, p);
            let capacities: Vec<_> = groups.iter().map(|_| choices.below(6)).collect();
            Arc::new(PartitionRank::new(&groups, &capacities, p)?)
        }
        8 => {
            let columns = choices.below(p + 1);
            let b = Array2::from_shape_vec((p, columns), choices.floats(p * columns))
                .expect("as many as asked for");
            let mut kernel = b.dot(&b.t());
            if choices.below(8) == 0 && p > 0 {
                kernel[[choices.below(p), choices.below(p)]] = choices.float();
            }
            let noise = choices.float();
            // Errors of the kernel's last digits, in units of the noise.
            let largest = kernel
                .iter()
                .fold(0.0_f64, |size, entry| size.max(entry.abs()));
            *well_posed &= largest < 1e5 * noise && noise > 1e-3;
            Arc::new(LogDet::new(kernel.view(), noise)?)
        }
        _ => {
            let inner = basic_without_oracle(choices, p)?;
            let monotone = *choices.pick(&[None, Some(true), Some(false)]);
            return arc(Oracle::new(p, move |set| inner.value(set), monotone));
        }
    })
}

/// What an oracle answers; any values at all now and then.
fn basic_without_oracle(choices: &mut Choices<'_>, p: usize) -> Result<F> {
    if choices.below(4) == 0 {
        let values: Vec<f64> = choices.floats(1 << p);
        let of = move |set: &[usize]| Ok(values[set.iter().fold(0, |mask, j| mask | 1 << j)]);
        return Ok(Arc::new(Oracle::new(p, of, None)?));
    }
    Ok(Arc::new(GroupCover::new(&groups(choices, p), None, p)?))
}

fn groups(choices: &mut Choices<'_>, p: usize) -> Vec<Vec<usize>> {
    (0..choices.below(6))
        .map(|_| choices.indices(p, p.max(1)))
        .collect()
}

/// Weights that are not negative as a rule, or none.
fn weights(choices: &mut Choices<'_>, n: usize) -> Option<Vec<f64>> {
    match choices.below(4) {
        0 => None,
        1 => Some(choices.floats(n)),
        _ => Some((0..n).map(|_| choices.tame().abs()).collect()),
    }
}

fn asked(f: &F, well_posed: bool, choices: &mut Choices<'_>) {
    let p = f.n_features();
    assert_eq!(f.value(&[]).unwrap(), 0.0);
    let members: Vec<usize> = (0..p).filter(|_| choices.flag()).collect();
    let all: Vec<usize> = (0..p).collect();
    // Sizes of all values below: sums of gains, so that those of a tree or of a falling function count too, in both
    // orders, so that a huge value that one of them passes by does.
    let gains = |order: &[usize]| {
        let mut gains = vec![0.0; order.len()];
        f.gains(order, &mut gains).map(|()| gains)
    };
    let back: Vec<usize> = all.iter().rev().copied().collect();
    let (Some(along), Some(back)) = (checked(gains(&all)), checked(gains(&back))) else {
        return;
    };
    let sizes = |gains: &[f64]| gains.iter().map(|gain| gain.abs()).sum::<f64>();
    let size = sizes(&along).max(sizes(&back));
    let usual = well_posed && (1e-30..1e30).contains(&size);
    let close = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-7 * scale;

    let Some(value) = checked(f.value(&members)) else {
        return;
    };
    let indicator: Vec<f64> = (0..p)
        .map(|j| f64::from(u8::from(members.contains(&j))))
        .collect();
    let extended = checked(extension(f.as_ref(), &indicator));
    let backwards: Vec<usize> = members.iter().rev().copied().collect();
    let summed = checked(gains(&backwards)).map(|gains| gains.iter().sum::<f64>());
    if usual {
        assert!(
            close(extended.unwrap(), value, size),
            "f(1_A) = {extended:?}, F(A) = {value}"
        );
        assert!(
            close(summed.unwrap(), value, size),
            "gains sum to {summed:?}, F(A) = {value}"
        );
    }

    let point = choices.floats(p);
    let mut s = vec![0.0; p];
    checked(base_vertex(f.as_ref(), &point, &mut s));
    if let Some(minimum) = checked(minimise(f.as_ref(), &point)) {
        let largest = point.iter().fold(size, |size, entry| size.max(entry.abs()));
        if usual && largest < 1e30 {
            let tried = value - members.iter().map(|&j| point[j]).sum::<f64>();
            assert!(
                minimum.value - minimum.gap <= tried + 1e-7 * largest,
                "{minimum:?}, but {tried} at {members:?}"
            );
            assert!(minimum.value <= 1e-7 * largest && minimum.gap >= 0.0);
        }
    }
    checked(check_monotone(f.as_ref(), "norm"));
    checked(check_norm(f.as_ref(), "norm"));
    if let Some(norm) = checked(SetFunctionNorm::new(Arc::clone(f))) {
        asked_as_a_norm(norm, usual.then_some(size), &point, choices);
    }
}

fn asked_as_a_norm(
    norm: SetFunctionNorm,
    usual: Option<f64>,
    v: &[f64],
    choices: &mut Choices<'_>,
) {
    let (p, norm) = (norm.n_features(), Arc::new(norm));
    let theta = choices.floats(p);
    let value = checked(norm.value(&theta));
    let dual = checked(norm.dual(v));
    checked(norm.ball_vertex(v, &mut vec![0.0; p]));
    let step = choices.float();
    let largest = v
        .iter()
        .chain(&theta)
        .chain([&step])
        .fold(0.0_f64, |a, b| a.max(b.abs()));
    // Points that are not finite have no value to compare; infinity is above every bound.
    let moderate =
        usual.filter(|size| *size < 1e6 && largest < 1e6 && !theta.iter().any(|t| t.is_nan()));
    if let (Some(size), Some(value), Some(dual)) = (moderate, value, dual)
        && dual < 1e12
    {
        let product: f64 = theta.iter().zip(v).map(|(t, v)| t * v).sum();
        let slack = 1e-6 * (1.0 + largest) * (1.0 + largest + size + dual);
        assert!(
            product <= value * dual + slack,
            "<theta, v> = {product} > {value} * {dual}"
        );
    }
    let mut out = vec![0.0; p];
    let scratch = &mut Scratch::default();
    let reviewed = ReviewedNorm::new(Arc::clone(&norm)).is_some();
    for proved in [false, true] {
        if proved && !reviewed {
            continue;
        }
        let excess = match proved {
            false => checked(norm.prox(v, step, &mut out, scratch)),
            true => checked(norm.proved_prox(v, step, &mut out, scratch)),
        };
        let (Some(excess), Some(size)) = (excess, moderate) else {
            continue;
        };
        assert!(
            out.iter().all(|entry| entry.is_finite()) && excess >= 0.0,
            "{out:?}, {excess}"
        );
        let objective = |x: &[f64]| {
            let distance: f64 = x.iter().zip(v).map(|(x, v)| (x - v) * (x - v)).sum();
            distance / 2.0 + step * norm.value(x).unwrap()
        };
        let (own, zero) = (objective(&out), vec![0.0; p]);
        let slack = 1e-6 * (1.0 + largest) * (1.0 + largest) * (1.0 + size);
        let halfway: Vec<f64> = out
            .iter()
            .zip(&theta)
            .map(|(x, t)| x + (t - x) / 64.0)
            .collect();
        for other in [&zero[..], v, &theta, &halfway] {
            let other = objective(other);
            assert!(
                own <= other + excess + slack,
                "{own} at {out:?}, and {other} elsewhere"
            );
        }
    }
}
