//! The nearest model of a weighted l1 ball: post-processing of coefficients and curvature that are released.

use nalgebra::{Cholesky, DMatrix, DVector};

use crate::error::{Error, Result};
use crate::loss::Squared;
use crate::question::Units;
use crate::solver::{
    CscDesign, Form, Method, Problem, Regulariser, Solution, Start, Stopping, minimise,
};

/// {sum_kj weights_j |theta_kj| <= radius}, over the features j of all scores k.
#[derive(Debug, Clone)]
pub(super) struct Ball {
    /// Positive.
    pub weights: Vec<f64>,
    pub radius: f64,
}

impl Ball {
    /// The same of coefficients of images whose units these are, if they are images.
    pub fn of_images(&self, units: Option<&Units>) -> Self {
        let unit = |j: usize| units.map_or(1.0, |units| units.coefficients[j]);
        let weights = self.weights.iter().enumerate();
        Self {
            weights: weights.map(|(j, weight)| weight * unit(j)).collect(),
            ..*self
        }
    }

    /// This many times as large.
    pub fn times(self, factor: f64) -> Self {
        Self {
            radius: factor * self.radius,
            ..self
        }
    }

    /// The t of all models t/`unit` times `theta`, one row of coefficients, in the ball; None where all are.
    pub fn of_multiples(&self, theta: &[f64], unit: f64) -> Option<Self> {
        let norm = self.norm(theta, theta.len());
        (norm > 0.0).then(|| Self {
            weights: vec![norm / unit],
            ..*self
        })
    }

    /// The norm of rows of `columns` coefficients: those that have no weight, of the intercept, are free.
    fn norm(&self, theta: &[f64], columns: usize) -> f64 {
        let rows = theta.chunks(columns);
        let entries = rows.flat_map(|theta| theta.iter().zip(&self.weights));
        entries.map(|(theta, weight)| weight * theta.abs()).sum()
    }
}

/// The model of a ball that is nearest by a curvature H: the minimiser of the sum over the scores k of
/// (x_k - theta_k)' H (x_k - theta_k).
///
/// Where `theta` minimises a loss of curvature H, that is the minimiser of its quadratic model over the ball; where `theta` is one
/// Newton step by H from a point of the ball, of the quadratic model there. A last column without a weight, the intercept's, takes up
/// what the others lose on average.
#[derive(Debug)]
pub(super) struct Nearest {
    ball: Ball,
    /// Coefficients of one score.
    columns: usize,
    /// L of H = L L', for the columns with weights; None: H is the identity.
    lower: Option<DMatrix<f64>>,
    free: Free,
    /// L', once a score, in units of the weights.
    design: CscDesign,
    /// Where the next one starts.
    last: Option<Solution>,
}

impl Nearest {
    /// For so many `outputs`, scores of a record, of so many `columns`; H is positive definite, and the identity where there is
    /// none.
    ///
    /// # Errors
    /// [`Error::InvalidData`] for an H that is not positive definite, or weights that leave the range of floats.
    pub fn new(
        ball: Ball,
        outputs: usize,
        columns: usize,
        hessian: Option<&DMatrix<f64>>,
    ) -> Result<Self> {
        let p = ball.weights.len();
        let (free, lower) = match hessian {
            Some(hessian) => {
                let free = Free::of(hessian, p)?;
                let factor = Cholesky::new(free.complement(hessian, p)).ok_or_else(indefinite)?;
                (free, Some(factor.l()))
            }
            None => (Free(Vec::new()), None),
        };
        let design = match &lower {
            Some(lower) => upper_triangles(lower, &ball.weights, outputs)?,
            None => diagonals(&ball.weights, outputs)?,
        };
        Ok(Self {
            ball,
            columns,
            lower,
            free,
            design,
            last: None,
        })
    }

    /// Moves `theta` there, up to a duality gap of `tol` times the squared distance from 0; it stays where it is in the ball.
    ///
    /// # Errors
    /// [`Error::InvalidData`] for coefficients whose squares leave the range of floats.
    pub fn move_into(&mut self, theta: &mut [f64], tol: f64) -> Result<()> {
        if self.ball.norm(theta, self.columns) <= self.ball.radius {
            return Ok(());
        }
        let p = self.ball.weights.len();
        // |L' (x - theta)|^2
        let targets = theta.chunks(self.columns).flat_map(|theta| {
            let theta = DVector::from_column_slice(&theta[..p]);
            match &self.lower {
                Some(lower) => lower.tr_mul(&theta).as_slice().to_vec(),
                None => theta.as_slice().to_vec(),
            }
        });
        let targets: Vec<f64> = targets.collect();
        let problem = Problem::new(&self.design, &targets, None, &Squared, 0.0, false)?;
        let stopping = Stopping {
            tol,
            max_iter: Method::Auto.default_max_iter(Regulariser::L1),
        };
        let start = self.last.as_ref().map(|last| Start {
            coefficients: &last.coefficients,
            intercept: 0.0,
            dual: Some(&last.dual),
        });
        let form = Form::Ball(self.ball.radius);
        let found = minimise(
            &problem,
            Regulariser::L1,
            form,
            Method::Auto,
            stopping,
            start,
            &mut |_, _| Ok(()),
        )?;
        let nearest = found.coefficients.chunks(p);
        for (theta, nearest) in theta.chunks_mut(self.columns).zip(nearest) {
            let (features, last) = theta.split_at_mut(p);
            let mut gained = 0.0;
            for (j, theta) in features.iter_mut().enumerate() {
                let found = nearest[j] / self.ball.weights[j];
                gained += self.free.share(j) * (found - *theta);
                *theta = found;
            }
            last.iter_mut().for_each(|last| *last -= gained);
        }
        self.last = Some(found);
        // Division by weights rounds.
        let outside = self.ball.norm(theta, self.columns) / self.ball.radius;
        if outside > 1.0 {
            for theta in theta.chunks_mut(self.columns) {
                theta[..p].iter_mut().for_each(|theta| *theta /= outside);
            }
        }
        Ok(())
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

/// L' along the diagonal, once a score, with column j divided by its weight.
fn upper_triangles(lower: &DMatrix<f64>, weights: &[f64], outputs: usize) -> Result<CscDesign> {
    let p = weights.len();
    let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for first in (0..outputs).map(|k| k * p) {
        for (j, weight) in weights.iter().enumerate() {
            // Row j of L is column j of L'.
            rows.extend((0..=j).map(|i| first + i));
            values.extend((0..=j).map(|i| lower[(j, i)] / weight));
            starts.push(rows.len());
        }
    }
    CscDesign::new(outputs * p, starts, rows, values)
}

/// The same of the identity.
fn diagonals(weights: &[f64], outputs: usize) -> Result<CscDesign> {
    let entries = outputs * weights.len();
    let values = weights.iter().map(|weight| 1.0 / weight);
    let values = values.cycle().take(entries).collect();
    CscDesign::new(
        entries,
        (0..=entries).collect(),
        (0..entries).collect(),
        values,
    )
}

fn indefinite() -> Error {
    Error::InvalidData("a curvature of released moments must be positive definite".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prox::project_l1_ball;
    use proptest::prelude::*;

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
        /// No vertex of the ball is a direction of descent, for one score and for two, and the free column is at its best.
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
            let ball = Ball { weights: weights.clone(), radius };
            let mut nearest = Nearest::new(ball.clone(), outputs, 4, Some(&hessian)).unwrap();
            nearest.move_into(&mut x, 1e-13).unwrap();
            prop_assert!(ball.norm(&x, 4) <= radius * (1.0 + 1e-12));
            if ball.norm(theta, 4) <= radius {
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

        /// Where the last one was, the next one starts; it ends where any other does.
        #[test]
        fn starts_change_nothing(
            entries in prop::collection::vec(-1.0..1.0f64, 16),
            theta in prop::collection::vec(-3.0..3.0f64, 8),
            radius in 0.01..6.0f64,
        ) {
            let hessian = matrix(&entries, 4);
            let ball = Ball { weights: vec![1.0, 0.3, 2.0], radius };
            let nearest = || Nearest::new(ball.clone(), 1, 4, Some(&hessian)).unwrap();
            let mut warm = nearest();
            for theta in theta.chunks(4) {
                let (mut x, mut alone) = (theta.to_vec(), theta.to_vec());
                warm.move_into(&mut x, 1e-13).unwrap();
                nearest().move_into(&mut alone, 1e-13).unwrap();
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
            let ball = Ball { weights: vec![1.0; 2], radius };
            Nearest::new(ball, 2, 3, None).unwrap().move_into(&mut x, 1e-13).unwrap();
            let features = [theta[0], theta[1], theta[3], theta[4]];
            let mut projected = features;
            project_l1_ball(&mut projected, radius);
            for (x, projected) in [x[0], x[1], x[3], x[4]].iter().zip(projected) {
                prop_assert!((x - projected).abs() < 1e-4 * (1.0 + projected.abs()));
            }
            prop_assert_eq!([x[2], x[5]], [theta[2], theta[5]]);
        }
    }

    #[test]
    fn a_curvature_that_is_none_is_refused() {
        let flat = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 2.0, 1.0]);
        for weights in [vec![1.0; 2], vec![1.0]] {
            let ball = Ball {
                weights,
                radius: 1.0,
            };
            assert!(Nearest::new(ball, 1, 2, Some(&flat)).is_err());
        }
    }
}
