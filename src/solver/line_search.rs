use super::regulariser::Omega;
use crate::error::Result;

/// Most derivatives that one search takes beyond those at breakpoints.
const MOST_STEPS: usize = 40;
/// Steps after which levels that meet are looked for.
const FIRST_CROSSING: usize = 2;
/// Share of the first slope that counts as none.
const FLAT: f64 = 1e-6;
/// What counts as next to a kink, as a share of t.
const NEAR: f64 = 1e-9;

/// Minimises phi(t) = slope*t + curvature*t^2/2 + alpha*Omega(from + t*direction) over 0 <= t <= 1 for a convex Omega.
#[derive(Debug, Default)]
pub(super) struct LineSearch {
    /// Where an entry passes 0, increasing.
    breakpoints: Vec<f64>,
    vertex: Vec<f64>,
    at: Vec<f64>,
    order: Vec<usize>,
}

/// The line: entries of `from` and `direction` are those of the features `working`, all others are 0.
pub(super) struct Line<'l> {
    pub working: &'l [usize],
    pub from: &'l [f64],
    pub direction: &'l [f64],
    pub slope: f64,
    pub curvature: f64,
    pub alpha: f64,
}

/// Between low and high, by ratios where those are of different magnitudes.
fn middle(low: f64, high: f64) -> f64 {
    if high > 4.0 * low {
        (low.max(1e-9 * high) * high).sqrt()
    } else {
        0.5 * (low + high)
    }
}

impl Line<'_> {
    fn value(&self, k: usize, t: f64) -> f64 {
        let (from, d) = (self.from[self.working[k]], self.direction[k]);
        // At its breakpoint an entry is exactly 0.
        if -from / d == t { 0.0 } else { from + t * d }
    }
}

impl LineSearch {
    /// Moves to the minimiser, up to a few steps of a root search: [`LineSearch::reached`]. Whether a kink stopped it,
    /// where an entry became 0 or two became equal in size.
    pub fn minimise(&mut self, line: &Line<'_>, omega: &Omega<'_>) -> Result<bool> {
        self.at.clear();
        self.at.resize(line.from.len(), 0.0);
        self.vertex.clear();
        self.vertex.resize(line.from.len(), 0.0);
        let flat = FLAT * self.derivative(line, omega, 0.0)?;
        if self.derivative(line, omega, 1.0)? <= 0.0 {
            return Ok(false);
        }
        let (mut low, mut high) = self.piece(line, omega, flat)?;
        let before = high * (1.0 - NEAR);
        if high < 1.0 && self.derivative(line, omega, before)? < 0.0 {
            // Still falling just before the breakpoint: the kink itself is the minimiser.
            self.move_to(line, high);
            return Ok(true);
        }
        let mut t = middle(low, high);
        for step in 0..MOST_STEPS {
            let derivative = self.derivative(line, omega, t)?;
            if derivative < 0.0 {
                low = t;
            } else {
                high = t;
            }
            let next = t - derivative / line.curvature;
            if (next - t).abs() <= 1e-12 * t {
                break;
            }
            t = if next > low && next < high {
                next
            } else {
                middle(low, high)
            };
            if step >= FIRST_CROSSING
                && let Some(crossing) = self.first_crossing(line, low, high)
            {
                // Two levels meet: the minimiser if phi falls before and rises after.
                let (before, after) = (crossing * (1.0 - NEAR), crossing * (1.0 + NEAR));
                if self.derivative(line, omega, after)? < flat {
                    low = after.min(high);
                } else if self.derivative(line, omega, before)? >= 0.0 {
                    high = before.max(low);
                } else {
                    self.move_to(line, crossing);
                    self.tie(line);
                    return Ok(true);
                }
                t = t.max(low).min(high);
            }
        }
        self.move_to(line, t);
        Ok(false)
    }

    /// The first piece between breakpoints behind whose end phi is flat or rises.
    fn piece(&mut self, line: &Line<'_>, omega: &Omega<'_>, flat: f64) -> Result<(f64, f64)> {
        let breakpoints = (line.direction.iter().enumerate())
            .map(|(k, d)| -line.from[line.working[k]] / d)
            .filter(|t| *t > 0.0 && *t < 1.0);
        self.breakpoints.clear();
        self.breakpoints.extend(breakpoints);
        self.breakpoints.sort_unstable_by(f64::total_cmp);
        self.breakpoints.push(1.0);
        let (mut below, mut above) = (0, self.breakpoints.len() - 1);
        while below < above {
            let middle = (below + above) / 2;
            let (t, next) = (self.breakpoints[middle], self.breakpoints[middle + 1]);
            if self.derivative(line, omega, t + NEAR * (next - t).min(t))? < flat {
                below = middle + 1;
            } else {
                above = middle;
            }
        }
        let start = match below {
            0 => 0.0,
            _ => self.breakpoints[below - 1],
        };
        Ok((start, self.breakpoints[below]))
    }

    /// The first t in (low, high) where the sizes of two entries meet that are neighbours at low.
    fn first_crossing(&mut self, line: &Line<'_>, low: f64, high: f64) -> Option<f64> {
        self.move_to(line, low + NEAR * (high - low).min(low));
        self.sort(line);
        let line_of = |k: usize| {
            let (from, d) = (line.from[line.working[k]], line.direction[k]);
            let sign = (from + low * d).signum();
            (sign * from, sign * d)
        };
        (self.order.windows(2))
            .map(|pair| {
                let ((a, da), (b, db)) = (line_of(pair[0]), line_of(pair[1]));
                (a - b) / (db - da)
            })
            .filter(|t| *t > low && *t < high)
            .min_by(f64::total_cmp)
    }

    /// Positions of the present non-zero entries, by falling size.
    fn sort(&mut self, line: &Line<'_>) {
        let size = |k: &usize| self.at[line.working[*k]].abs();
        self.order.clear();
        (self.order).extend((0..line.working.len()).filter(|k| size(k) > 0.0));
        (self.order).sort_unstable_by(|a, b| size(b).total_cmp(&size(a)).then(a.cmp(b)));
    }

    /// Makes sizes equal that only rounding separates.
    fn tie(&mut self, line: &Line<'_>) {
        self.sort(line);
        let size = |at: &[f64], k: usize| at[line.working[k]].abs();
        for pair in self.order.windows(2) {
            let (larger, smaller) = (size(&self.at, pair[0]), size(&self.at, pair[1]));
            if smaller >= larger * (1.0 - 1e-12) {
                let entry = &mut self.at[line.working[pair[1]]];
                *entry = larger.copysign(*entry);
            }
        }
    }

    /// from + t*direction.
    pub fn reached(&self) -> &[f64] {
        &self.at
    }

    fn move_to(&mut self, line: &Line<'_>, t: f64) {
        for (k, &j) in line.working.iter().enumerate() {
            self.at[j] = line.value(k, t);
        }
    }

    /// A subgradient of phi at t.
    fn derivative(&mut self, line: &Line<'_>, omega: &Omega<'_>, t: f64) -> Result<f64> {
        self.move_to(line, t);
        omega.vertex(&self.at, &mut self.vertex)?;
        let along: f64 = (line.working.iter().zip(line.direction))
            .map(|(&j, d)| self.vertex[j] * d)
            .sum();
        Ok(line.slope + line.curvature * t + line.alpha * along)
    }
}
