//! What noisy gradients and moments tell of the minimiser, whose noise is known
//! ([`crate::theory_of_privacy::noisy_gradients`]).

use std::f64::consts::SQRT_2;

use nalgebra::{DMatrix, DVector, Dyn, SymmetricEigen};

use super::odds_line::{ScoreLaw, curvature_along, deviation_of_difference};

/// Standard deviations of noise that a change of gradients must exceed to be one.
const SURE: f64 = 4.0;

/// The moment of a constant is more than noise if it is so many of its standard deviations: what is divided by less may
/// be anything.
const TOLD: f64 = 2.0;

/// The Hessian of the mean loss, as it was released, and gradients near the minimiser.
#[derive(Debug)]
pub(super) struct Evidence {
    /// Of the sums of squares.
    pub moments: SymmetricEigen<f64, Dyn>,
    /// Of the mean loss, per unit of the sums of squares.
    pub scale: f64,
    /// The mean of coefficients, score by score, and of the gradients there.
    pub theta: DVector<f64>,
    pub gradient: DVector<f64>,
    /// Variance of the noise on an entry of the mean gradient.
    pub variance: f64,
    /// What two gradients showed, if it is more than moments say.
    pub secant: Option<Secant>,
}

/// A move, and how gradients changed over it.
#[derive(Debug, Clone)]
pub(super) struct Secant {
    moved: DVector<f64>,
    change: DVector<f64>,
    /// The product of both, less all that noise may be.
    sure: f64,
}

impl Secant {
    /// With noise of the standard deviation `noise` on every entry of both gradients.
    pub fn new(moved: DVector<f64>, change: DVector<f64>, noise: f64) -> Self {
        let sure = moved.dot(&change) - SURE * SQRT_2 * noise * moved.norm();
        Self {
            moved,
            change,
            sure,
        }
    }

    /// The least that noise leaves of the curvature along the move, in units of a square of it.
    pub fn steepness(&self, square: f64) -> f64 {
        self.sure / square
    }

    /// How far what it shows is beyond noise.
    fn clarity(&self) -> f64 {
        self.sure / self.moved.norm()
    }

    /// The one that noise hides less.
    pub fn clearer(self, other: Option<Secant>) -> Self {
        match other {
            Some(other) if other.clarity() >= self.clarity() => other,
            _ => self,
        }
    }

    /// A Hessian that changes gradients as they did, where that is beyond noise more than `hessian` says: the update of
    /// Broyden, Fletcher, Goldfarb and Shanno, which leaves all else as it is and no eigenvalue negative.
    fn update(&self, hessian: DMatrix<f64>) -> DMatrix<f64> {
        let image = &hessian * &self.moved;
        let square = self.moved.dot(&image);
        if self.sure <= square.max(0.0) {
            return hessian;
        }
        let seen = &self.change * self.change.transpose() / self.moved.dot(&self.change);
        let expected = match square > 0.0 {
            true => &image * image.transpose() / square,
            false => 0.0 * &hessian,
        };
        hessian - expected + seen
    }
}

/// The matrix of the same eigenvectors whose eigenvalues are those of `map`.
pub(super) fn with_eigenvalues(
    moments: &SymmetricEigen<f64, Dyn>,
    map: impl Fn(f64) -> f64,
) -> DMatrix<f64> {
    let mut scaled = moments.eigenvectors.clone();
    for (mut column, &value) in scaled.column_iter_mut().zip(&moments.eigenvalues) {
        column *= map(value);
    }
    scaled * moments.eigenvectors.transpose()
}

/// The sum of the squared scores of `theta`.
fn squares(moments: &SymmetricEigen<f64, Dyn>, theta: &DVector<f64>) -> f64 {
    let parts = moments.eigenvectors.tr_mul(theta);
    products(moments, &parts, &parts)
}

/// The sum of the products of two scores whose coefficients have these parts along the eigenvectors.
fn products(moments: &SymmetricEigen<f64, Dyn>, a: &DVector<f64>, b: &DVector<f64>) -> f64 {
    let parts = moments.eigenvalues.iter().zip(a.iter().zip(b));
    parts.map(|(value, (a, b))| value.max(0.0) * a * b).sum()
}

/// The mean and the standard deviation of scores of `theta`, with the weights of the moments, of so much a record, if
/// the last column is a constant of this value that moments tell of: its own moment, which the mean is divided by, is
/// [`TOLD`] times `noise`, the standard deviation of that on a moment.
pub(super) fn law_of_scores(
    moments: &SymmetricEigen<f64, Dyn>,
    noise: f64,
    theta: &DVector<f64>,
    value: f64,
    per_record: f64,
) -> Option<ScoreLaw> {
    let vectors = &moments.eigenvectors;
    let values = moments.eigenvalues.iter().map(|value| value.max(0.0));
    let last = vectors.row(vectors.nrows() - 1).transpose();
    let parts = vectors.tr_mul(theta);
    let terms = values.zip(&last).zip(&parts);
    let (total, of_last) = terms.fold((0.0, 0.0), |(total, squares), ((value, at), x)| {
        (total + value * at * x, squares + value * at * at)
    });
    let mean = (of_last > TOLD * noise).then(|| total / of_last)?;
    let mut centred = theta.clone();
    centred[theta.len() - 1] -= mean;
    Some(ScoreLaw {
        mean: value * mean,
        deviation: (squares(moments, &centred) * per_record).sqrt(),
    })
}

impl Evidence {
    /// H, without negative eigenvalues, and as gradients show it where they show more: as many multiplications as the
    /// cube of its columns, which lines have two of.
    fn hessian(&self) -> DMatrix<f64> {
        let hessian = with_eigenvalues(&self.moments, |value| (self.scale * value).max(0.0));
        match &self.secant {
            Some(secant) => secant.update(hessian),
            None => hessian,
        }
    }

    /// The sum of the squared scores of `theta`.
    pub fn squares(&self, theta: &DVector<f64>) -> f64 {
        squares(&self.moments, theta)
    }

    /// How many times as large scores should be around their means for the loss to be least, to first order: those of
    /// the coefficients `theta`, a row a score, whose laws these are; `along` is the sum of the products of the noise
    /// on these coefficients and on the gradients that is expected.
    ///
    /// With x the coefficients of what is around a mean, the slope of the loss along x is x'g, g moved from where
    /// gradients were taken to `theta` by H, but for the noise of g along x, which x has followed: that is a negative
    /// product, and noise alone asks for no more of itself. Scores that reach far are surer of their classes than H
    /// counts on, and the loss curves less along them: what they lack is divided by as much.
    pub fn slope(&self, theta: &[f64], laws: &[ScoreLaw], value: f64, along: f64) -> Option<f64> {
        let columns = theta.len() / laws.len();
        let vectors = &self.moments.eigenvectors;
        let (mut product, mut square) = (0.0, 0.0);
        for (k, (theta, law)) in theta.chunks(columns).zip(laws).enumerate() {
            let theta = DVector::from_column_slice(theta);
            let mut around = theta.clone();
            around[columns - 1] -= law.mean / value;
            product += around.dot(&self.gradient.rows(k * columns, columns));
            let moved = vectors.tr_mul(&(theta - self.theta.rows(k * columns, columns)));
            let around = vectors.tr_mul(&around);
            product += self.scale * products(&self.moments, &around, &moved);
            square += products(&self.moments, &around, &around);
        }
        let asked = (along - product) / (self.scale * square);
        let more = match asked > 0.0 {
            true => asked / curvature_along(deviation_of_difference(laws)),
            false => asked,
        };
        Some(1.0 + more).filter(|slope| slope.is_finite())
    }

    /// The minimiser that is expected, if before it was normal around `start` with these standard deviations.
    ///
    /// With g the mean gradient at theta, b = H (theta - start) - g is H (minimiser - start) and the noise, where the
    /// loss is quadratic: every gradient counts, wherever it was taken. So the expected minimiser is
    /// start + (H^2/v + P)^-1 H b/v, P the inverse of the variances.
    pub fn expected(
        &self,
        start: &DVector<f64>,
        deviations: &DVector<f64>,
    ) -> Option<DVector<f64>> {
        let hessian = self.hessian();
        let b = &hessian * (&self.theta - start) - &self.gradient;
        let precision = DMatrix::from_diagonal(&deviations.map(|deviation| deviation.powi(-2)));
        let matrix = &hessian * &hessian / self.variance + precision;
        let found = matrix.cholesky()?.solve(&(hessian * b / self.variance));
        Some(start + found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gradients of a quadratic loss tell its minimiser; a narrow start stays, and between the two precisions add up.
    #[test]
    fn precise_gradients_decide_and_precise_starts_stay() {
        let matrix = DMatrix::from_row_slice(2, 2, &[2.0, 0.5, 0.5, 1.0]);
        let minimiser = DVector::from_vec(vec![0.7, -0.2]);
        let start = DVector::from_vec(vec![0.1, 0.4]);
        let theta = DVector::from_vec(vec![-3.0, 5.0]);
        let mut evidence = Evidence {
            moments: SymmetricEigen::new(2.0 * &matrix),
            scale: 0.5,
            gradient: &matrix * (&theta - &minimiser),
            theta,
            variance: 1e-12,
            secant: None,
        };
        let of = |evidence: &Evidence, deviation: f64| {
            (evidence.expected(&start, &DVector::from_element(2, deviation))).unwrap()
        };
        assert!((of(&evidence, 1.0) - &minimiser).norm() < 1e-9);
        evidence.variance = 1.0;
        assert!((of(&evidence, 1e-6) - &start).norm() < 1e-9);
        let one = Evidence {
            moments: SymmetricEigen::new(DMatrix::from_element(1, 1, 4.0)),
            scale: 0.5,
            theta: DVector::zeros(1),
            gradient: DVector::from_element(1, -6.0),
            variance: 4.0,
            secant: None,
        };
        let mean = (one.expected(&DVector::zeros(1), &DVector::from_element(1, 1.0))).unwrap();
        // 3 from the gradient with variance 1, 0 from the start with variance 1.
        assert!((mean[0] - 1.5).abs() < 1e-12);
        assert!((one.squares(&mean) - 9.0).abs() < 1e-12);
    }

    /// A curvature six times as large along one direction as moments say: the change of gradients over a move along it
    /// tells the minimiser, what lies across stays, and noise that may be all of it tells nothing.
    #[test]
    fn what_gradients_show_of_the_curvature_counts() {
        let told = DMatrix::from_row_slice(2, 2, &[0.5, 0.0, 0.0, 3.0]);
        let steep = DMatrix::from_row_slice(2, 2, &[3.0, 0.0, 0.0, 3.0]);
        let minimiser = DVector::from_vec(vec![0.7, -0.2]);
        let theta = DVector::from_vec(vec![0.9, -0.3]);
        let moved = DVector::from_vec(vec![0.4, 0.05]);
        let change = &steep * &moved;
        let mut evidence = Evidence {
            moments: SymmetricEigen::new(told.clone()),
            scale: 1.0,
            gradient: &steep * (&theta - &minimiser),
            theta,
            variance: 1e-12,
            secant: Some(Secant::new(moved.clone(), change.clone(), 0.0)),
        };
        let start = DVector::zeros(2);
        let expected = |evidence: &Evidence| {
            (evidence.expected(&start, &DVector::from_element(2, 1.0))).unwrap()
        };
        let updated = evidence.secant.as_ref().unwrap().update(told.clone());
        assert!((&updated * &moved - &change).norm() < 1e-12);
        assert!(SymmetricEigen::new(updated).eigenvalues.min() > 0.0);
        assert!((expected(&evidence) - &minimiser).norm() < 0.03);
        evidence.secant = Some(Secant::new(moved.clone(), change.clone(), 1.0));
        let noisy = expected(&evidence);
        evidence.secant = None;
        assert_eq!(noisy, expected(&evidence));
        assert!((noisy - &minimiser).norm() > 0.5);
        // Of two changes the one that noise hides less.
        let clear = Secant::new(moved.clone(), change.clone(), 0.01);
        let hidden = Secant::new(moved, change, 1.0);
        assert!(hidden.clone().clearer(Some(clear.clone())).sure > 0.0);
        assert!(clear.clearer(Some(hidden)).sure > 0.0);
    }

    /// Of records (1, v), (3, v) with a constant of v, scores 2 x + 5 v.
    #[test]
    fn moments_tell_the_law_of_scores() {
        let v = 0.4;
        let moments = DMatrix::from_row_slice(2, 2, &[10.0, 4.0 * v, 4.0 * v, 2.0 * v * v]);
        let moments = SymmetricEigen::new(moments);
        let theta = DVector::from_vec(vec![2.0, 5.0]);
        let scores = |noise: f64| law_of_scores(&moments, noise, &theta, v, 0.5);
        // The moment of the constant is .32.
        assert!(scores(0.17).is_none());
        let scores = scores(0.15).unwrap();
        assert!((scores.mean - (4.0 + 5.0 * v)).abs() < 1e-12);
        assert!((scores.deviation - 2.0).abs() < 1e-12);
        let nothing = SymmetricEigen::new(DMatrix::zeros(2, 2));
        assert!(law_of_scores(&nothing, 0.0, &DVector::zeros(2), v, 0.5).is_none());
    }

    /// Coefficients half as large as the minimiser's should be twice as large, whatever the constant, and with those of
    /// the minimiser and noise on top, which the gradient does not know of, the least loss along them is told, too.
    #[test]
    fn gradients_tell_how_large_scores_should_be() {
        let value = 0.5;
        // Two features that are about a mean of 0, and a constant: x is around the mean of scores as it is.
        let matrix = DMatrix::from_row_slice(3, 3, &[2.0, 0.5, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.25]);
        let minimiser = DVector::from_vec(vec![0.7, -0.2, 3.0]);
        let of = |theta: &DVector<f64>, noise: &DVector<f64>, along: f64| {
            let evidence = Evidence {
                moments: SymmetricEigen::new(2.0 * &matrix),
                scale: 0.5,
                theta: theta.clone(),
                gradient: &matrix * (theta - &minimiser) + noise,
                variance: 0.0,
                secant: None,
            };
            let law = ScoreLaw {
                mean: value * theta[2],
                // Scores that are hardly apart are as curved as H counts on.
                deviation: 1e-9,
            };
            evidence
                .slope(theta.as_slice(), &[law], value, along)
                .unwrap()
        };
        let nothing = DVector::zeros(3);
        for constant in [-1.0, 0.0, 40.0] {
            let mut half = 0.5 * &minimiser;
            half[2] = constant;
            assert!((of(&half, &nothing, 0.0) - 2.0).abs() < 1e-12);
        }
        // Steps that end where noisy gradients are zero: the minimiser less H^-1 noise.
        let noise = DVector::from_vec(vec![0.3, -0.4, 0.0]);
        let moved = matrix.clone().cholesky().unwrap().solve(&noise);
        let reached = &minimiser - &moved;
        let along = -moved.dot(&noise);
        let around = DVector::from_vec(vec![reached[0], reached[1], 0.0]);
        let best = 1.0 + around.dot(&noise) / around.dot(&(&matrix * &around));
        let told = of(&reached, &noise, around.dot(&noise));
        assert!((told - best).abs() < 1e-12, "{told} {best}");
        // Its expectation is known, and less than 1.
        assert!(of(&reached, &noise, along) < 1.0);
        assert!(
            (Evidence {
                moments: SymmetricEigen::new(matrix),
                scale: 0.5,
                theta: nothing.clone(),
                gradient: nothing.clone(),
                variance: 0.0,
                secant: None,
            })
            .slope(
                nothing.as_slice(),
                &[ScoreLaw {
                    mean: 0.0,
                    deviation: 0.0
                }],
                value,
                0.0
            )
            .is_none()
        );
    }

    /// Of several scores the slope is that of them together, each around its own mean; and what those that reach far
    /// lack is more by as much as their loss curves less, where what they have too much is not.
    #[test]
    fn scores_are_stretched_together_and_further_where_they_are_sure() {
        let value = 0.5;
        let matrix = DMatrix::from_row_slice(2, 2, &[2.0, 0.0, 0.0, 0.25]);
        let minimisers: [f64; 3] = [0.7, -0.2, 0.4];
        let of_moved = |sizes: [f64; 3], deviation: f64, moved: f64| {
            let law = |mean| ScoreLaw { mean, deviation };
            let parts = minimisers.iter().zip(sizes).zip([4.0, -7.0, 0.3]);
            let theta: Vec<f64> = (parts.clone())
                .flat_map(|((at, size), mean)| [size * at, mean / value])
                .collect();
            let at: Vec<f64> = theta.iter().map(|theta| theta + moved).collect();
            let gradient = (parts.clone())
                .flat_map(|((at, size), _)| [2.0 * ((size - 1.0) * at + moved), 9.0]);
            let laws: Vec<ScoreLaw> = parts.map(|(_, mean)| law(mean)).collect();
            let evidence = Evidence {
                moments: SymmetricEigen::new(4.0 * &matrix),
                scale: 0.25,
                theta: DVector::from_vec(at),
                gradient: DVector::from_iterator(6, gradient),
                variance: 0.0,
                secant: None,
            };
            evidence.slope(&theta, &laws, value, 0.0).unwrap()
        };
        let of = |sizes, deviation| of_moved(sizes, deviation, 0.0);
        assert!((of([0.5; 3], 0.0) - 2.0).abs() < 1e-12);
        assert!((of([2.0; 3], 0.0) - 0.5).abs() < 1e-12);
        // Wherever gradients were taken.
        assert!((of_moved([0.5; 3], 0.0, -0.3) - 2.0).abs() < 1e-12);
        // The sum of the products over that of the squares.
        let sizes: [f64; 3] = [0.5, 1.5, 0.8];
        let sum = |power: i32| -> f64 {
            let parts = minimisers.iter().zip(sizes);
            parts.map(|(at, size)| at * at * size.powi(power)).sum()
        };
        assert!((of(sizes, 0.0) - sum(1) / sum(2)).abs() < 1e-12);
        // Three scores of deviation d differ by d sqrt(3).
        let curvature = crate::mechanism::odds_line::curvature_along(2.0 * 3f64.sqrt());
        assert!((of([0.5; 3], 2.0) - 1.0 - 1.0 / curvature).abs() < 1e-9);
        assert!((of([2.0; 3], 2.0) - 0.5).abs() < 1e-12);
    }
}
