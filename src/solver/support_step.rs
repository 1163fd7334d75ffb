//! Newton's step of the quadratic model on the present support with the present signs: where coordinate
//! descent crawls because columns are nearly dependent, this one linear system replaces thousands of passes.

use super::{Design, cholesky};

/// The system of one step; the vectors are allocated once a run.
///
/// Inner products are kept until [`SupportStep::forget`]: the support changes little from one step to the next.
#[derive(Debug, Default)]
pub(super) struct SupportStep {
    /// Columns whose inner products are known.
    known: Vec<usize>,
    /// Where a column stands in `known`, plus one; 0 for others.
    places: Vec<usize>,
    /// The inner products: row a of the lower triangle starts at a(a + 1)/2.
    products: Vec<f64>,
    /// Lower triangle of the system, row by row in a square.
    pub gram: Vec<f64>,
    scale: Vec<f64>,
    newton: Vec<f64>,
    /// Entries that have stopped since G was factorised.
    fixed: Vec<usize>,
    /// Their columns of G^-1, one after another.
    inverse: Vec<f64>,
    border: Vec<f64>,
    multipliers: Vec<f64>,
    pub direction: Vec<f64>,
    column: Vec<f64>,
    kept: Vec<bool>,
    breakpoints: Vec<(f64, f64)>,
}

/// Where row a of a packed lower triangle starts.
fn row_start(a: usize) -> usize {
    a * (a + 1) / 2
}

impl SupportStep {
    /// How many of `columns` have unknown inner products.
    pub fn n_unknown(&self, columns: impl Iterator<Item = usize>) -> usize {
        columns
            .filter(|&j| self.places.get(j).is_none_or(|&place| place == 0))
            .count()
    }

    /// For another h.
    pub fn forget(&mut self) {
        self.keep_known(|_| false);
    }

    /// Builds the Gram matrix sum_i h_i (x_ia - m_a)(x_ib - m_b) + ridge*[a = b] of the columns `support`;
    /// h is the same as in the last call or follows [`SupportStep::forget`].
    pub fn build<D: Design + ?Sized>(
        &mut self,
        design: &D,
        support: impl ExactSizeIterator<Item = (usize, f64)> + Clone,
        h: &[f64],
        ridge: f64,
    ) {
        let size = support.len();
        self.places.resize(design.n_columns(), 0);
        let unknown = self.n_unknown(support.clone().map(|(j, _)| j));
        if self.known.len() + unknown > size + size / 2 {
            self.kept.clear();
            self.kept.resize(self.known.len(), false);
            for (j, _) in support.clone() {
                if self.places[j] > 0 {
                    self.kept[self.places[j] - 1] = true;
                }
            }
            let kept = std::mem::take(&mut self.kept);
            self.keep_known(|place| kept[place]);
            self.kept = kept;
        }
        self.column.resize(h.len(), 0.0);
        for (column, mean) in support.clone() {
            if self.places[column] > 0 {
                continue;
            }
            self.known.push(column);
            let count = self.known.len();
            self.places[column] = count;
            for (out, h) in self.column.iter_mut().zip(h) {
                *out = -mean * h;
            }
            design.add_scaled(column, 1.0, h, &mut self.column);
            // The entries of h*(x_a - m_a) sum to 0, so the other column needs no centring.
            self.products.resize(row_start(count), 0.0);
            let row = &mut self.products[row_start(count - 1)..];
            design.dot_columns(&self.known, &self.column, row);
        }
        self.gram.clear();
        self.gram.resize(size * size, 0.0);
        for ((a, _), row) in support.clone().zip(self.gram.chunks_exact_mut(size.max(1))) {
            let a = self.places[a] - 1;
            for ((b, _), out) in support.clone().zip(row) {
                let b = self.places[b] - 1;
                *out = self.products[row_start(a.max(b)) + a.min(b)];
                if a == b {
                    *out += ridge;
                    break;
                }
            }
        }
    }

    /// As [`SupportStep::build`] from inner products of centred columns that are known elsewhere.
    pub fn take(&mut self, size: usize, product: impl Fn(usize, usize) -> f64, ridge: f64) {
        self.gram.clear();
        self.gram.resize(size * size, 0.0);
        for a in 0..size {
            for b in 0..=a {
                self.gram[a * size + b] = product(a, b);
            }
            self.gram[a * size + a] += ridge;
        }
    }

    /// Forgets all known columns but those at the places that `keep` names.
    fn keep_known(&mut self, keep: impl Fn(usize) -> bool) {
        let mut rows = 0;
        for a in 0..self.known.len() {
            let column = self.known[a];
            if !keep(a) {
                self.places[column] = 0;
                continue;
            }
            for (to, b) in (row_start(rows)..).zip((0..=a).filter(|&b| keep(b))) {
                self.products[to] = self.products[row_start(a) + b];
            }
            self.known[rows] = column;
            rows += 1;
            self.places[column] = rows;
        }
        self.known.truncate(rows);
        self.products.truncate(row_start(rows));
    }

    /// Newton's step for `gradient`; false where rounding makes G indefinite.
    pub fn solve(&mut self, gradient: &[f64]) -> bool {
        self.fixed.clear();
        self.inverse.clear();
        if !cholesky::factorise(&mut self.gram, gradient.len(), &mut self.scale) {
            return false;
        }
        self.newton.clear();
        self.newton.extend(gradient.iter().map(|g| -g));
        cholesky::substitute(&self.gram, &self.scale, &mut self.newton);
        true
    }

    /// Entry k of the support stays where it is from now on.
    pub fn fix(&mut self, k: usize) {
        let size = self.newton.len();
        let start = self.inverse.len();
        self.inverse.resize(start + size, 0.0);
        let column = &mut self.inverse[start..];
        column[k] = 1.0;
        cholesky::substitute(&self.gram, &self.scale, column);
        self.fixed.push(k);
    }

    pub fn n_fixed(&self) -> usize {
        self.fixed.len()
    }

    /// direction = from the present point, `moved` away from that of the gradient, to the minimiser among the points
    /// with the present fixed entries; false where rounding does not allow it.
    pub fn aim(&mut self, moved: &[f64]) -> bool {
        let size = self.newton.len();
        // The minimiser is the Newton step plus the combination of columns of G^-1 that keeps the fixed entries.
        self.multipliers.clear();
        (self.multipliers).extend(self.fixed.iter().map(|&k| moved[k] - self.newton[k]));
        self.border.clear();
        for column in self.inverse.chunks_exact(size.max(1)) {
            self.border.extend(self.fixed.iter().map(|&k| column[k]));
        }
        if !cholesky::solve(&mut self.border, &mut self.multipliers) {
            return false;
        }
        self.direction.clear();
        (self.direction).extend(self.newton.iter().zip(moved).map(|(to, from)| to - from));
        for (column, multiplier) in (self.inverse.chunks_exact(size.max(1))).zip(&self.multipliers)
        {
            for (d, x) in self.direction.iter_mut().zip(column) {
                *d += multiplier * x;
            }
        }
        for &k in &self.fixed {
            self.direction[k] = 0.0;
        }
        true
    }

    /// Minimises phi(t) = slope*t + curvature*t^2/2 + sum_j level_j (|theta_j + t D_j| - |theta_j| - t D_j sign
    /// theta_j) over t >= 0 for the direction D and the pairs (theta_j, level_j) of `kinks`; returns t and phi(t).
    ///
    /// phi' grows by 2 level_j |D_j| where coordinate j changes its sign, and is linear in between.
    pub fn line_search(
        &mut self,
        kinks: impl Iterator<Item = (f64, f64)>,
        slope: f64,
        curvature: f64,
    ) -> (f64, f64) {
        let mut t = -slope / curvature;
        self.breakpoints.clear();
        for ((theta, level), step) in kinks.zip(&self.direction) {
            let at = -theta / step;
            if at > 0.0 && at < t {
                self.breakpoints.push((at, 2.0 * level * step.abs()));
            }
        }
        (self.breakpoints).sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut jumps, mut paid) = (0.0, 0.0);
        for &(at, jump) in &self.breakpoints {
            if t <= at {
                break;
            }
            jumps += jump;
            paid += jump * at;
            t = (-(slope + jumps) / curvature).max(at);
        }
        let change = slope * t + 0.5 * curvature * t * t + jumps * t - paid;
        (t, change)
    }
}
