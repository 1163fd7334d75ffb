//! Newton's step of the quadratic model on the cone of the present ties, signs and zeros, where Omega is linear: with
//! one variable for every level of |theta| the model is a small linear system.

use super::accelerated_gradient::centre;
use super::{Design, cholesky};
use crate::numeric::vectors::{dot, dot4};

/// Levels up to which memory is no concern.
const FREE_LEVELS: usize = 64;

/// The system of one step; the vectors are allocated once a run.
#[derive(Debug, Default)]
pub(super) struct ClusterStep {
    /// Positions in the working set of the non-zeros, by falling |theta|.
    positions: Vec<usize>,
    /// Their signs.
    signs: Vec<f64>,
    /// Where each cluster starts in `positions`, and the end.
    starts: Vec<usize>,
    /// sqrt(h) times the centred column of every cluster, one after another.
    images: Vec<f64>,
    roots: Vec<f64>,
    /// Lower triangle, row by row in a square.
    gram: Vec<f64>,
    /// The change of the levels.
    levels: Vec<f64>,
    columns: Vec<usize>,
    /// The change of theta, by position in the working set.
    pub direction: Vec<f64>,
}

impl ClusterStep {
    /// The levels of |theta| on the working set, exact ties together.
    pub fn find_clusters(&mut self, theta: &[f64], working: &[usize]) {
        let size = |k: &usize| theta[working[*k]].abs();
        self.positions.clear();
        (self.positions).extend((0..working.len()).filter(|k| size(k) != 0.0));
        (self.positions).sort_unstable_by(|a, b| size(b).total_cmp(&size(a)).then(a.cmp(b)));
        self.signs.clear();
        (self.signs).extend(self.positions.iter().map(|&k| theta[working[k]].signum()));
        self.starts.clear();
        for (at, k) in self.positions.iter().enumerate() {
            if at == 0 || size(k) != size(&self.positions[at - 1]) {
                self.starts.push(at);
            }
        }
        self.starts.push(self.positions.len());
    }

    /// Multiplications of one step, roughly; 0 where all of theta is 0, infinite where the step would need more memory
    /// than [`Design::most_scratch`].
    pub fn cost<D: Design + ?Sized>(&self, design: &D) -> f64 {
        let size = self.starts.len() - 1;
        let most = FREE_LEVELS * design.n_rows().max(FREE_LEVELS) + design.most_scratch();
        if size * size.max(design.n_rows()) > most {
            return f64::INFINITY;
        }
        let (size, n) = (size as f64, design.n_rows() as f64);
        n * self.positions.len() as f64 + size * size * (0.5 * n + size / 6.0)
    }

    /// Computes `direction` for the gradient of model plus penalty (by position) and h with its sum; returns the slope
    /// along it, or nothing where rounding makes the system indefinite.
    pub fn direction<D: Design + ?Sized>(
        &mut self,
        design: &D,
        working: &[usize],
        gradient: &[f64],
        (h, total): (&[f64], f64),
        ridge: f64,
    ) -> Option<f64> {
        let n = h.len();
        let size = self.starts.len() - 1;
        self.roots.clear();
        self.roots.extend(h.iter().map(|h| h.sqrt()));
        self.images.clear();
        self.images.resize(size * n, 0.0);
        self.levels.clear();
        for (ends, image) in self.starts.windows(2).zip(self.images.chunks_exact_mut(n)) {
            let (members, signs) = (
                &self.positions[ends[0]..ends[1]],
                &self.signs[ends[0]..ends[1]],
            );
            self.columns.clear();
            self.columns.extend(members.iter().map(|&k| working[k]));
            design.add_columns(&self.columns, signs, image);
            centre(image, h, total);
            image.iter_mut().zip(&self.roots).for_each(|(x, r)| *x *= r);
            let along: f64 = members
                .iter()
                .zip(signs)
                .map(|(&k, s)| s * gradient[k])
                .sum();
            self.levels.push(-along);
        }
        let slopes = self.levels.clone();
        self.gram.clear();
        self.gram.resize(size * size, 0.0);
        for a in 0..size {
            let row = &mut self.gram[a * size..a * size + a + 1];
            let (before, image) = self.images[..(a + 1) * n].split_at(a * n);
            let mut fours = before.chunks_exact(4 * n);
            let mut b = 0;
            for four in &mut fours {
                let (x, y) = four.split_at(2 * n);
                let ((x0, x1), (y0, y1)) = (x.split_at(n), y.split_at(n));
                row[b..b + 4].copy_from_slice(&dot4([x0, x1, y0, y1], image));
                b += 4;
            }
            for other in fours.remainder().chunks_exact(n) {
                row[b] = dot(other, image);
                b += 1;
            }
            row[a] = dot(image, image) + ridge * (self.starts[a + 1] - self.starts[a]) as f64;
        }
        if !cholesky::solve(&mut self.gram, &mut self.levels) {
            return None;
        }
        self.direction.clear();
        self.direction.resize(working.len(), 0.0);
        for (ends, level) in self.starts.windows(2).zip(&self.levels) {
            for at in ends[0]..ends[1] {
                self.direction[self.positions[at]] = self.signs[at] * level;
            }
        }
        let slope: f64 = -slopes
            .iter()
            .zip(&self.levels)
            .map(|(a, b)| a * b)
            .sum::<f64>();
        (slope.is_finite() && slope < 0.0).then_some(slope)
    }
}
