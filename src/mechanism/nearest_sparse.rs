//! Sparse models of a curvature: the nearest one of a weighted l1 ball, or with a penalty. Post-processing of what is
//! released.

use std::ops::Range;

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::sparsity::Sparsity;
use crate::error::{Error, Result};
use crate::loss::Squared;
use crate::solver::{CscDesign, Form, Method, Problem, Solution, Start, Stopping, minimise};

/// Duality gap of a move, in units of the squared distance from 0, that is about what double precision allows.
pub(super) const LAST_GAP: f64 = 1e-13;

/// H, positive definite.
#[derive(Debug)]
pub(super) enum Curvature {
    Matrix(DMatrix<f64>),
    /// Of a diagonal one.
    Diagonal(Vec<f64>),
}

/// Moves models theta to the minimiser x of sum_k (x_k - theta_k)' H (x_k - theta_k)/2, over the scores k, over a ball
/// or with a penalty.
///
/// Where theta minimises a loss of curvature H, that is the minimiser of its quadratic model; where theta is one Newton
/// step by H from a point, of the quadratic model there. A last column without a weight, the intercept's, takes up what
/// the others lose on average.
#[derive(Debug)]
pub(super) struct Nearest {
    sparsity: Sparsity,
    /// Coefficients of one score.
    columns: usize,
    factor: Factor,
    free: Free,
    /// Of scores that are looked for together: all, where they share the ball of an l1 norm.
    parts: Vec<Part>,
}

/// Some scores.
#[derive(Debug)]
struct Part {
    /// L', once a score, in units of the weights.
    design: CscDesign,
    /// Where the next one starts.
    last: Option<Solution>,
}

/// L of H = L L', for the columns with weights.
#[derive(Debug)]
enum Factor {
    Lower(DMatrix<f64>),
    Diagonal(Vec<f64>),
}

impl Factor {
    /// Row j of L, which is column j of L', from its first entry that is not zero up to the diagonal.
    fn row(&self, j: usize) -> (usize, Vec<f64>) {
        match self {
            Self::Lower(lower) => (0, (0..=j).map(|i| lower[(j, i)]).collect()),
            Self::Diagonal(roots) => (j, vec![roots[j]]),
        }
    }

    /// L' theta.
    fn targets(&self, theta: &[f64]) -> Vec<f64> {
        match self {
            Self::Lower(lower) => {
                let theta = DVector::from_column_slice(theta);
                lower.tr_mul(&theta).as_slice().to_vec()
            }
            Self::Diagonal(roots) => theta
                .iter()
                .zip(roots)
                .map(|(theta, root)| root * theta)
                .collect(),
        }
    }
}

impl Nearest {
    /// For so many `outputs`, scores of a record, of so many `columns`.
    ///
    /// # Errors
    /// [`Error::InvalidData`] for an H that is not positive definite, or weights that leave the range of floats.
    pub fn new(
        sparsity: Sparsity,
        outputs: usize,
        columns: usize,
        curvature: &Curvature,
    ) -> Result<Self> {
        let weights = &sparsity.weights;
        let (free, factor) = match *curvature {
            Curvature::Matrix(ref hessian) => {
                let free = Free::of(hessian, weights.len())?;
                let lower = factor_of(free.complement(hessian, weights.len()))?.l();
                (free, Factor::Lower(lower))
            }
            Curvature::Diagonal(ref values) => {
                let roots = values.iter().map(|value| value.sqrt()).collect();
                (Free(Vec::new()), Factor::Diagonal(roots))
            }
        };
        let together = match sparsity.norm() {
            Some(_) => 1,
            None => outputs,
        };
        let parts = (0..outputs).step_by(together).map(|first| {
            let design = design(&factor, &sparsity, first..first + together)?;
            Ok(Part { design, last: None })
        });
        Ok(Self {
            parts: parts.collect::<Result<_>>()?,
            sparsity,
            columns,
            factor,
            free,
        })
    }

    /// From here on with another radius or penalty.
    pub fn set_form(&mut self, form: Form) {
        self.sparsity.form = form;
    }

    /// Moves `theta` there, up to a duality gap of `tol` times the objective at 0; in a ball it stays where it is.
    /// Whether it moved.
    ///
    /// # Errors
    /// [`Error::InvalidData`] for coefficients whose squares leave the range of floats.
    pub fn move_to(&mut self, theta: &mut [f64], tol: f64) -> Result<bool> {
        let free = !self.sparsity.has_zeros();
        if let (Form::Ball(radius), true) = (self.sparsity.form, free)
            && self.sparsity.has_signs(theta, self.columns)
            && self.sparsity.value(theta, self.columns)? <= radius
        {
            return Ok(false);
        }
        let p = self.sparsity.weights.len();
        let of_part = theta.len() / self.parts.len();
        for (part, theta) in self.parts.iter_mut().zip(theta.chunks_mut(of_part)) {
            let scores = theta.chunks(self.columns);
            let targets: Vec<f64> = scores
                .flat_map(|theta| self.factor.targets(&theta[..p]))
                .collect();
            let nearest = part.nearest(&targets, &self.sparsity, tol)?;
            for (theta, nearest) in theta.chunks_mut(self.columns).zip(nearest.chunks(p)) {
                let (features, last) = theta.split_at_mut(p);
                let mut gained = 0.0;
                for (j, theta) in features.iter_mut().enumerate() {
                    let found = nearest[j] / self.sparsity.weights[j];
                    gained += self.free.share(j) * (found - *theta);
                    *theta = found;
                }
                last.iter_mut().for_each(|last| *last -= gained);
            }
        }
        if let Form::Ball(radius) = self.sparsity.form {
            // Division by weights rounds.
            let outside = self.sparsity.value(theta, self.columns)? / radius;
            if outside > 1.0 {
                for theta in theta.chunks_mut(self.columns) {
                    theta[..p].iter_mut().for_each(|theta| *theta /= outside);
                }
            }
        }
        Ok(true)
    }
}

impl Part {
    /// The weighted coefficients whose products with the design are nearest to `targets`.
    fn nearest(&mut self, targets: &[f64], sparsity: &Sparsity, tol: f64) -> Result<&[f64]> {
        let regulariser = sparsity.regulariser();
        let problem = Problem::new(&self.design, targets, None, &Squared, 0.0, false)?;
        let stopping = Stopping {
            tol,
            max_iter: Method::Auto.default_max_iter(regulariser),
        };
        let start = self.last.as_ref().map(|last| Start {
            coefficients: &last.coefficients,
            intercept: 0.0,
            dual: Some(&last.dual),
        });
        let found = minimise(
            &problem,
            regulariser,
            // The solver's loss is a mean.
            (sparsity.clone().of_loss(1.0 / targets.len() as f64)).form,
            Method::Auto,
            stopping,
            start,
            &mut |_, _| Ok(()),
        )?;
        Ok(&self.last.insert(found).coefficients)
    }
}

/// The row of H of the column that has no weight, over its own entry; empty without one.
#[derive(Debug)]
struct Free(Vec<f64>);

impl Free {
    fn of(hessian: &DMatrix<f64>, p: usize) -> Result<Self> {
        if p == hessian.nrows() {
            return Ok(Self(Vec::new()));
        }
        let own = hessian[(p, p)];
        if own <= 0.0 {
            return Err(indefinite());
        }
        Ok(Self((0..p).map(|j| hessian[(p, j)] / own).collect()))
    }

    /// What the free coefficient loses for one unit of coefficient j.
    fn share(&self, j: usize) -> f64 {
        self.0.get(j).copied().unwrap_or(0.0)
    }

    /// H of the other coefficients, where the free one is always at its best.
    fn complement(&self, hessian: &DMatrix<f64>, p: usize) -> DMatrix<f64> {
        let taken = |i: usize, j: usize| match self.0.get(i) {
            Some(share) => share * hessian[(p, j)],
            None => 0.0,
        };
        DMatrix::from_fn(p, p, |i, j| hessian[(i, j)] - taken(i, j))
    }
}

/// L' along the diagonal, once a score, with column j divided by its weight; nothing where coefficients must be zero.
fn design(factor: &Factor, sparsity: &Sparsity, scores: Range<usize>) -> Result<CscDesign> {
    let p = sparsity.weights.len();
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    let (first_score, outputs) = (scores.start, scores.len());
    for k in scores {
        for (j, weight) in sparsity.weights.iter().enumerate() {
            if !sparsity.is_zero(k, j) {
                let (first, column) = factor.row(j);
                rows.extend((first..=j).map(|i| (k - first_score) * p + i));
                values.extend(column.iter().map(|value| value / weight));
            }
            starts.push(rows.len());
        }
    }
    CscDesign::new(outputs * p, starts, rows, values)
}

/// The factor of a matrix that is positive definite but for rounding: as little is added to its diagonal as makes it
/// so.
///
/// # Errors
/// [`Error::InvalidData`] for another one.
pub(super) fn factor_of(mut matrix: DMatrix<f64>) -> Result<Cholesky<f64, Dyn>> {
    let unit = matrix.diagonal().amax() * f64::EPSILON;
    let mut added = 0.0;
    for more in [0.0, 1e1, 1e3, 1e5, 1e7].map(|times| times * unit) {
        for j in 0..matrix.nrows() {
            matrix[(j, j)] += more - added;
        }
        added = more;
        if let Some(factor) = Cholesky::new(matrix.clone()) {
            return Ok(factor);
        }
    }
    Err(indefinite())
}

fn indefinite() -> Error {
    Error::InvalidData("a curvature of released moments must be positive definite".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::norm::{GroupLasso, Norm, SetFunctionNorm};
    use crate::prox::{project_l1_ball, soft_threshold};
    use crate::set_function::{ConcaveCardinality, GroupCover, SetFunction};
    use proptest::prelude::*;
    use std::sync::Arc;

    /// H = A A' + 0.1 of `d` columns.
    fn matrix(entries: &[f64], d: usize) -> DMatrix<f64> {
        let a = DMatrix::from_column_slice(d, d, &entries[..d * d]);
        &a * a.transpose() + DMatrix::identity(d, d) * 0.1
    }

    fn excess(hessian: &DMatrix<f64>, columns: usize, x: &[f64], theta: &[f64]) -> f64 {
        let scores = x.chunks(columns).zip(theta.chunks(columns));
        scores
            .map(|(x, theta)| {
                let off = DVector::from_iterator(columns, x.iter().zip(theta).map(|(x, t)| x - t));
                (hessian * &off).dot(&off)
            })
            .sum()
    }

    proptest! {
        /// No vertex of the ball is a direction of descent, for one score and for two, and the free column is at its
        /// best.
        #[test]
        fn is_optimal(
            entries in prop::collection::vec(-1.0..1.0f64, 16),
            theta in prop::collection::vec(-3.0..3.0f64, 8),
            weights in prop::collection::vec(0.01..3.0f64, 3),
            radius in 0.01..6.0f64,
            outputs in 1..=2usize,
        ) {
            let hessian = matrix(&entries, 4);
            let theta = &theta[..4 * outputs];
            let mut x = theta.to_vec();
            let ball = Sparsity::new(weights.clone(), Form::Ball(radius));
            let mut nearest = Nearest::new(ball.clone(), outputs, 4, &Curvature::Matrix(hessian.clone())).unwrap();
            let moved = nearest.move_to(&mut x, 1e-13).unwrap();
            prop_assert_eq!(moved, ball.value(theta, 4).unwrap() > radius);
            prop_assert!(ball.value(&x, 4).unwrap() <= radius * (1.0 + 1e-12));
            if ball.value(theta, 4).unwrap() <= radius {
                prop_assert_eq!(&x[..], theta);
                return Ok(());
            }
            let (mut along, mut largest) = (0.0, 0.0f64);
            for (x, theta) in x.chunks(4).zip(theta.chunks(4)) {
                let off = DVector::from_iterator(4, x.iter().zip(theta).map(|(x, t)| x - t));
                let gradient = &hessian * off;
                prop_assert!(gradient[3].abs() < 1e-9);
                for j in 0..3 {
                    along += gradient[j] * x[j];
                    largest = largest.max(gradient[j].abs() / weights[j]);
                }
            }
            let origin = excess(&hessian, 4, &vec![0.0; x.len()], theta);
            prop_assert!(along + radius * largest < 1e-5 * (1.0 + origin), "{along} {largest}");
        }

        /// A penalty's gradient is that of the quadratic, no larger where a coefficient is zero; of the identity it is
        /// a soft threshold.
        #[test]
        fn is_stationary_with_a_penalty(
            entries in prop::collection::vec(-1.0..1.0f64, 16),
            theta in prop::collection::vec(-3.0..3.0f64, 8),
            weights in prop::collection::vec(0.01..3.0f64, 3),
            alpha in 0.01..3.0f64,
        ) {
            let hessian = matrix(&entries, 4);
            let penalty = Sparsity::new(weights.clone(), Form::Penalty(alpha));
            let mut x = theta.clone();
            let mut nearest = Nearest::new(penalty.clone(), 2, 4, &Curvature::Matrix(hessian.clone())).unwrap();
            prop_assert!(nearest.move_to(&mut x, 1e-13).unwrap());
            for (x, theta) in x.chunks(4).zip(theta.chunks(4)) {
                let off = DVector::from_iterator(4, x.iter().zip(theta).map(|(x, t)| x - t));
                let gradient = &hessian * off;
                prop_assert!(gradient[3].abs() < 1e-9);
                for j in 0..3 {
                    let level = alpha * weights[j];
                    prop_assert!(gradient[j].abs() < level + 1e-4);
                    if x[j].abs() > 1e-4 {
                        prop_assert!((gradient[j] + level * x[j].signum()).abs() < 1e-4);
                    }
                }
            }
            let mut alone = theta.clone();
            let mut nearest = Nearest::new(penalty, 2, 4, &Curvature::Diagonal(vec![2.0; 4])).unwrap();
            nearest.move_to(&mut alone, 1e-13).unwrap();
            for k in 0..2 {
                for j in 0..3 {
                    let expected = soft_threshold(theta[4 * k + j], alpha * weights[j] / 2.0);
                    prop_assert!((alone[4 * k + j] - expected).abs() < 1e-5);
                }
                prop_assert_eq!(alone[4 * k + 3], theta[4 * k + 3]);
            }
        }

        /// Norms with structure, two scores with a penalty and one in a ball: gradients are within the dual ball, and
        /// at its end in the direction of the model.
        #[test]
        fn is_optimal_for_norms_with_structure(
            entries in prop::collection::vec(-1.0..1.0f64, 16),
            theta in prop::collection::vec(-3.0..3.0f64, 8),
            weights in prop::collection::vec(0.1..3.0f64, 3),
            size in 0.05..2.0f64,
            root in any::<bool>(),
        ) {
            let hessian = matrix(&entries, 4);
            let function: Arc<dyn SetFunction> = match root {
                true => Arc::new(ConcaveCardinality::new(vec![1.0, 1.5, 1.8]).unwrap()),
                false => Arc::new(GroupCover::new(&[vec![0, 1], vec![2]], None, 3).unwrap()),
            };
            let norm = Arc::new(SetFunctionNorm::new(function).unwrap());
            for (form, outputs) in [(Form::Penalty(size), 2), (Form::Ball(size), 1)] {
                let sparsity = Sparsity::of_norm(norm.clone(), form).with(weights.clone(), form);
                let mut x = theta[..4 * outputs].to_vec();
                let mut nearest =
                    Nearest::new(sparsity.clone(), outputs, 4, &Curvature::Matrix(hessian.clone())).unwrap();
                let moved = nearest.move_to(&mut x, 1e-13).unwrap();
                prop_assert_eq!(moved, outputs == 2 || sparsity.value(&theta[..4], 4).unwrap() > size);
                for (x, theta) in x.chunks(4).zip(theta.chunks(4)) {
                    let off = DVector::from_iterator(4, x.iter().zip(theta).map(|(x, t)| x - t));
                    let gradient = &hessian * off;
                    prop_assert!(gradient[3].abs() < 1e-9);
                    let slopes: Vec<f64> = (0..3).map(|j| gradient[j] / weights[j]).collect();
                    let dual = norm.dual(&slopes).unwrap();
                    let product: f64 = (0..3).map(|j| gradient[j] * x[j]).sum();
                    let value = sparsity.value(x, 4).unwrap();
                    match form {
                        Form::Penalty(alpha) => prop_assert!(dual < alpha + 1e-4),
                        Form::Ball(radius) => prop_assert!(value <= radius * (1.0 + 1e-12)),
                    }
                    let level = if outputs == 2 { size } else { dual };
                    prop_assert!((product + level * value).abs() < 1e-3 * (1.0 + level));
                }
            }
        }

        /// No coefficient is negative, and only a larger multiplier or a coefficient of 0 holds what would gain.
        #[test]
        fn is_optimal_where_none_may_be_negative(
            entries in prop::collection::vec(-1.0..1.0f64, 16),
            theta in prop::collection::vec(-3.0..3.0f64, 4),
            size in prop_oneof![0.05..2.0f64, Just(50.0)],
            ball: bool,
        ) {
            let hessian = matrix(&entries, 4);
            let norm = GroupLasso::new(&[vec![0], vec![1], vec![2]], None, 0.0).unwrap().on_positive();
            let form = if ball { Form::Ball(size) } else { Form::Penalty(size) };
            let sparsity = Sparsity::of_norm(Arc::new(norm), form);
            let mut x = theta.clone();
            let mut nearest = Nearest::new(sparsity, 1, 4, &Curvature::Matrix(hessian.clone())).unwrap();
            nearest.move_to(&mut x, 1e-13).unwrap();
            prop_assert!(x[..3].iter().all(|x| *x >= 0.0));
            let gradient = &hessian * DVector::from_fn(4, |j, _| x[j] - theta[j]);
            prop_assert!(gradient[3].abs() < 1e-9);
            let total: f64 = x[..3].iter().sum();
            let level = match ball {
                true => (0..3).map(|j| -gradient[j]).fold(0.0, f64::max),
                false => size,
            };
            for j in 0..3 {
                prop_assert!(gradient[j] + level > -1e-4);
                prop_assert!(x[j] < 1e-4 || (gradient[j] + level).abs() < 1e-3);
            }
            if ball {
                prop_assert!(total <= size * (1.0 + 1e-12) && (level < 1e-3 || total > size - 1e-3));
            }
        }

        /// Coefficients that must be zero are, and the others are at their best without them.
        #[test]
        fn is_optimal_where_some_must_be_zero(
            entries in prop::collection::vec(-1.0..1.0f64, 16),
            theta in prop::collection::vec(-3.0..3.0f64, 8),
            zero in prop::collection::vec(any::<bool>(), 6),
            alpha in 0.01..1.0f64,
        ) {
            let hessian = matrix(&entries, 4);
            let pattern = |k: usize, j: usize| f64::from(u8::from(!zero[3 * k + j]));
            let pattern: Vec<f64> = (0..8).map(|i| if i % 4 < 3 { pattern(i / 4, i % 4) } else { 9.0 }).collect();
            let penalty = Sparsity::new(vec![1.0; 3], Form::Penalty(alpha)).where_not_zero(&pattern, 4);
            let mut x = theta.clone();
            let mut nearest = Nearest::new(penalty, 2, 4, &Curvature::Matrix(hessian.clone())).unwrap();
            nearest.move_to(&mut x, 1e-13).unwrap();
            for k in 0..2 {
                let off = DVector::from_iterator(4, (0..4).map(|j| x[4 * k + j] - theta[4 * k + j]));
                let gradient = &hessian * off;
                prop_assert!(gradient[3].abs() < 1e-9);
                for j in 0..3 {
                    let x = x[4 * k + j];
                    if zero[3 * k + j] {
                        prop_assert_eq!(x, 0.0);
                    } else {
                        prop_assert!(gradient[j].abs() < alpha + 1e-4);
                        prop_assert!(x.abs() < 1e-4 || (gradient[j] + alpha * x.signum()).abs() < 1e-4);
                    }
                }
            }
            // A ball moves what is in it too, where something must be zero.
            let ball = Sparsity::new(vec![1.0; 3], Form::Ball(1e3)).where_not_zero(&pattern, 4);
            let mut x = theta.clone();
            let mut nearest = Nearest::new(ball, 2, 4, &Curvature::Diagonal(vec![1.0; 4])).unwrap();
            nearest.move_to(&mut x, 1e-13).unwrap();
            for (i, x) in x.iter().enumerate() {
                let expected = if pattern[i] == 0.0 { 0.0 } else { theta[i] };
                prop_assert!((x - expected).abs() < 1e-4);
            }
        }

        /// A multiple of a model without negative coefficients is none of them where its own size would be negative.
        #[test]
        fn multiples_have_the_signs_of_the_norm(size in 0.1..2.0f64, multiple in -3.0..3.0f64, ball: bool) {
            let norm = GroupLasso::new(&[vec![0], vec![1]], None, 0.0).unwrap().on_positive();
            let form = if ball { Form::Ball(100.0) } else { Form::Penalty(1e-9) };
            let sparsity = Sparsity::of_norm(Arc::new(norm), form);
            let multiples = sparsity.of_multiples(&[size, 0.0, -7.0], 1.0).unwrap().unwrap();
            let mut line = vec![multiple, 1.0];
            let mut nearest = Nearest::new(multiples, 1, 2, &Curvature::Diagonal(vec![1.0; 2])).unwrap();
            nearest.move_to(&mut line, 1e-13).unwrap();
            prop_assert!((line[0] - multiple.max(0.0)).abs() < 1e-6 && line[0] >= 0.0);
        }

        /// Where the last one was, the next one starts; it ends where any other does.
        #[test]
        fn starts_change_nothing(
            entries in prop::collection::vec(-1.0..1.0f64, 16),
            theta in prop::collection::vec(-3.0..3.0f64, 8),
            radius in 0.01..6.0f64,
        ) {
            let hessian = matrix(&entries, 4);
            let ball = Sparsity::new(vec![1.0, 0.3, 2.0], Form::Ball(radius));
            let nearest = || Nearest::new(ball.clone(), 1, 4, &Curvature::Matrix(hessian.clone())).unwrap();
            let mut warm = nearest();
            for theta in theta.chunks(4) {
                let (mut x, mut alone) = (theta.to_vec(), theta.to_vec());
                warm.move_to(&mut x, 1e-13).unwrap();
                nearest().move_to(&mut alone, 1e-13).unwrap();
                for (x, alone) in x.iter().zip(&alone) {
                    prop_assert!((x - alone).abs() < 1e-4 * (1.0 + alone.abs()));
                }
            }
        }

        /// Without a curvature it is the Euclidean projection of all scores at once.
        #[test]
        fn is_the_projection_where_all_directions_are_alike(
            theta in prop::collection::vec(-3.0..3.0f64, 6),
            radius in 0.01..6.0f64,
        ) {
            let mut x = theta.clone();
            let ball = Sparsity::new(vec![1.0; 2], Form::Ball(radius));
            let mut nearest = Nearest::new(ball, 2, 3, &Curvature::Diagonal(vec![0.7; 3])).unwrap();
            nearest.move_to(&mut x, 1e-13).unwrap();
            let features = [theta[0], theta[1], theta[3], theta[4]];
            let mut projected = features;
            project_l1_ball(&mut projected, radius);
            for (x, projected) in [x[0], x[1], x[3], x[4]].iter().zip(projected) {
                prop_assert!((x - projected).abs() < 1e-4 * (1.0 + projected.abs()));
            }
            prop_assert_eq!([x[2], x[5]], [theta[2], theta[5]]);
        }
    }

    /// Columns that are the same, and what rounding makes of them.
    #[test]
    fn a_singular_curvature_is_none_for_rounding_alone() {
        let ones = DMatrix::from_element(40, 40, 1.0 / 3.0);
        let lower = factor_of(ones.clone()).unwrap().l();
        assert!((&lower * lower.transpose() - ones).amax() < 1e-8);
        let mut x = vec![2.0; 40];
        let ball = Sparsity::new(vec![1.0; 40], Form::Ball(8.0));
        let curvature = Curvature::Matrix(DMatrix::from_element(40, 40, 1.0));
        let mut nearest = Nearest::new(ball, 1, 40, &curvature).unwrap();
        assert!(nearest.move_to(&mut x, LAST_GAP).unwrap());
        assert!((x.iter().sum::<f64>() - 8.0).abs() < 1e-3);
    }

    #[test]
    fn a_curvature_that_is_none_is_refused() {
        let flat = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 2.0, 1.0]);
        for weights in [vec![1.0; 2], vec![1.0]] {
            let ball = Sparsity::new(weights, Form::Ball(1.0));
            assert!(Nearest::new(ball, 1, 2, &Curvature::Matrix(flat.clone())).is_err());
        }
    }
}
