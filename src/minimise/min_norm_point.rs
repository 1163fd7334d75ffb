//! The point of a base polytope nearest to a target (Wolfe 1976; Fujishige & Isotani 2011; Bach 2013, section 9.2).
//!
//! It solves everything here for a submodular function about which nothing else is known: with x = v - s for the
//! nearest point s of step*B(F), x is the prox of step*f at v, and the level sets of x minimise F. Only greedy vertices
//! are asked for.

use super::Minimum;
use crate::error::{Error, Result};
use crate::lovasz::{base_vertex, descending_order};
use crate::set_function::SetFunction;

/// The relative gap at which the search ends; rounding does not allow much less.
const TOLERANCE: f64 = 1e-14;

/// Weights of a convex combination below this are 0: their vertex is dropped.
const NO_WEIGHT: f64 = 1e-12;

/// A point s of step*B(F) near a target.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// s, a convex combination of vertices.
    pub point: Vec<f64>,
    /// max over q in step*B(F) of <q - s, target - s>: |s - target|^2/2 exceeds its minimum by at most this.
    pub gap: f64,
}

/// argmin over s in step*B(F) of |s - target|^2.
///
/// The vertices in use number at most p, and a round costs a greedy vertex and O(p * vertices) operations; this is
/// meant for p up to some thousands.
///
/// ```
/// use dpsparse::set_function::Modular;
/// // The base polytope of a modular function is one point.
/// let f = Modular::new(vec![1.0, 2.0])?;
/// let nearest = dpsparse::minimise::min_norm_point::nearest(&f, &[5.0, 0.0], 2.0)?;
/// assert_eq!((nearest.point, nearest.gap), (vec![2.0, 4.0], 0.0));
/// # Ok::<(), dpsparse::Error>(())
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for vertices so far from the target that squares overflow; else only where a user's
/// oracle fails.
pub fn nearest(f: &dyn SetFunction, target: &[f64], step: f64) -> Result<Nearest> {
    let p = target.len();
    if p == 0 {
        return Ok(Nearest {
            point: Vec::new(),
            gap: 0.0,
        });
    }
    // All of B(F) has one sum, so that the nearest point is the same of targets that differ by a constant. Without
    // their mean entries that are large and alike leave what tells them apart to floats.
    let middle = target.iter().map(|t| t / p as f64).sum::<f64>();
    let target: Vec<f64> = target.iter().map(|t| t - middle).collect();
    // Everything is relative to the target: the search is for the point of least norm among q - target.
    let vertex = |x: &[f64], q: &mut [f64]| -> Result<()> {
        let direction: Vec<f64> = x.iter().map(|x| -x).collect();
        base_vertex(f, &direction, q)?;
        q.iter_mut()
            .zip(&target)
            .for_each(|(q, t)| *q = step * *q - t);
        // Every product below is then finite: |<q, q'>| <= max |q|^2.
        if dot(q, q) <= f64::MAX / 4.0 {
            return Ok(());
        }
        let problem = "must have values whose squares are within the range of floats";
        Err(Error::invalid("function", problem))
    };
    let mut q = vec![0.0; p];
    vertex(
        target.iter().map(|t| -t).collect::<Vec<_>>().as_slice(),
        &mut q,
    )?;
    let mut hull = Hull::new(q.clone());
    let mut point = q.clone();
    let (mut best, mut best_gap) = (point.clone(), f64::INFINITY);
    let (mut least, mut stalled) = (f64::INFINITY, 0);
    for _ in 0..100 * p + 1000 {
        vertex(&point, &mut q)?;
        let square = dot(&point, &point);
        let gap = square - dot(&point, &q);
        if gap < best_gap {
            best_gap = gap;
            best.clone_from(&point);
        }
        // The norm falls from round to round until rounding is all that is left; the gap may rise for many.
        if square < least {
            (least, stalled) = (square, 0);
        } else {
            stalled += 1;
        }
        let scale = dot(&q, &q).max(hull.largest);
        if gap <= TOLERANCE * scale || stalled > 20 {
            break;
        }
        if !hull.add(&q) {
            // Too near to the others' hull for their factor: as far towards it as the norm falls, and on from there.
            towards(&mut point, &q, gap);
            hull = Hull::new(point.clone());
            continue;
        }
        if !hull.improve(&mut point) {
            break;
        }
    }
    let mut point = best;
    point.iter_mut().zip(&target).for_each(|(s, t)| *s += t);
    Ok(Nearest {
        point,
        gap: best_gap.max(0.0),
    })
}

/// argmin over A of F(A) - s(A), among the level sets of the nearest point. The gap is that of Edmonds' theorem:
/// min F - s >= sum_j min(0, q_j - s_j) for every q in B(F).
pub(super) fn minimise(f: &dyn SetFunction, s: &[f64]) -> Result<Minimum> {
    let nearest = nearest(f, s, 1.0)?;
    let x: Vec<f64> = s.iter().zip(&nearest.point).map(|(s, q)| s - q).collect();
    let mut order = Vec::new();
    descending_order(&x, &mut order);
    let mut gains = vec![0.0; s.len()];
    f.gains(&order, &mut gains)?;
    let (mut value, mut best, mut size) = (0.0, 0.0, 0);
    for (k, (&j, gain)) in order.iter().zip(&gains).enumerate() {
        value += gain - s[j];
        if value < best {
            (best, size) = (value, k + 1);
        }
    }
    let bound: f64 = x.iter().map(|x| x.max(0.0)).sum();
    let mut set = order;
    set.truncate(size);
    set.sort_unstable();
    Ok(Minimum {
        set,
        value: best,
        gap: (best + bound).max(0.0),
    })
}

/// Moves the point to that of least norm between itself and q, <point, point - q> being `gap`.
fn towards(point: &mut [f64], q: &[f64], gap: f64) {
    let square: f64 = point.iter().zip(q).map(|(x, q)| (q - x).powi(2)).sum();
    // 1 for a square of 0: no number is less.
    let step = (gap / square).min(1.0);
    point
        .iter_mut()
        .zip(q)
        .for_each(|(x, q)| *x += step * (q - *x));
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Affinely independent vertices q_i, the weights of a convex combination, and the lower triangular factor L of
/// 1 + <q_i, q_j>, the matrix of Wolfe's section 6: it is positive definite for affinely independent points.
struct Hull {
    vertices: Vec<Vec<f64>>,
    weights: Vec<f64>,
    factor: Vec<Vec<f64>>,
    /// Largest |q_i|^2.
    largest: f64,
    /// The constant in place of 1, of the size of the points.
    unit: f64,
}

impl Hull {
    fn new(vertex: Vec<f64>) -> Self {
        let largest = dot(&vertex, &vertex);
        let unit = if largest > 0.0 { largest } else { 1.0 };
        Self {
            factor: vec![vec![(unit + largest).sqrt()]],
            vertices: vec![vertex],
            weights: vec![1.0],
            largest,
            unit,
        }
    }

    /// Takes one more vertex with weight 0; false where it depends on the others, which ends the search.
    fn add(&mut self, vertex: &[f64]) -> bool {
        let mut row = Vec::with_capacity(self.vertices.len() + 1);
        for (q, l) in self.vertices.iter().zip(&self.factor) {
            let rest = self.unit + dot(q, vertex) - dot(&row, &l[..row.len()]);
            row.push(rest / l[row.len()]);
        }
        let square = self.unit + dot(vertex, vertex);
        let rest = square - dot(&row, &row);
        if rest <= 1e-14 * square {
            return false;
        }
        row.push(rest.sqrt());
        self.factor.push(row);
        self.vertices.push(vertex.to_vec());
        self.weights.push(0.0);
        self.largest = self.largest.max(dot(vertex, vertex));
        true
    }

    /// Moves the combination to the point of least norm of the hull of some of the vertices, and drops the others
    /// (Wolfe's minor cycles; each drops a vertex, so there are at most as many as vertices). False where vertices
    /// differ too little for floats, or too much, to tell: the point stays as it is.
    fn improve(&mut self, point: &mut [f64]) -> bool {
        loop {
            let affine = self.affine_weights();
            if !affine.iter().all(|a| a.is_finite()) {
                return false;
            }
            if affine.iter().all(|&a| a > NO_WEIGHT) {
                self.weights = affine;
                break;
            }
            // As far towards the affine minimiser as weights stay non-negative.
            let ratio = self
                .weights
                .iter()
                .zip(&affine)
                .filter(|&(_, &a)| a <= NO_WEIGHT)
                .map(|(w, a)| w / (w - a))
                .filter(|ratio| ratio.is_finite())
                .fold(1.0, f64::min);
            let mut dropped = usize::MAX;
            let mut least = f64::INFINITY;
            for (i, (w, a)) in self.weights.iter_mut().zip(&affine).enumerate() {
                *w = ((1.0 - ratio) * *w + ratio * a).max(0.0);
                if *a <= NO_WEIGHT && *w < least {
                    (dropped, least) = (i, *w);
                }
            }
            self.drop(dropped);
            if self.vertices.len() == 1 {
                self.weights[0] = 1.0;
                break;
            }
        }
        let total: f64 = self.weights.iter().sum();
        point.fill(0.0);
        for (q, w) in self.vertices.iter().zip(&self.weights) {
            point
                .iter_mut()
                .zip(q)
                .for_each(|(x, q)| *x += w / total * q);
        }
        true
    }

    /// Weights, summing to 1, of the point of least norm of the affine hull: proportional to (LL')^-1 1.
    fn affine_weights(&self) -> Vec<f64> {
        let k = self.vertices.len();
        let mut x: Vec<f64> = Vec::with_capacity(k);
        for row in &self.factor {
            let rest = 1.0 - dot(&x, &row[..x.len()]);
            x.push(rest / row[x.len()]);
        }
        for i in (0..k).rev() {
            x[i] /= self.factor[i][i];
            let value = x[i];
            for (x, l) in x.iter_mut().zip(&self.factor[i][..i]) {
                *x -= l * value;
            }
        }
        let total: f64 = x.iter().sum();
        x.iter_mut().for_each(|x| *x /= total);
        x
    }

    /// Removes vertex i; the factor is mended by Givens rotations.
    fn drop(&mut self, i: usize) {
        self.vertices.remove(i);
        self.weights.remove(i);
        self.factor.remove(i);
        for k in i..self.factor.len() {
            // Row k has an entry k + 1 too many: rotate columns k and k + 1.
            let (a, b) = (self.factor[k][k], self.factor[k][k + 1]);
            let length = a.hypot(b);
            let (c, s) = (a / length, b / length);
            for row in &mut self.factor[k..] {
                let (x, y) = (row[k], row[k + 1]);
                row[k] = c * x + s * y;
                row[k + 1] = c * y - s * x;
            }
            self.factor[k].truncate(k + 1);
        }
    }
}
