use super::{Growth, Loss, Task};
use crate::error::{Error, Result, positive};

/// Public grid of targets on which a user's loss is tabulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum TargetGrid {
    /// The two classes -1 and +1.
    Classes,
    /// 129 equally spaced targets over [-1, 1] (targets are mapped to it by their public bounds).
    Interval,
}

impl TargetGrid {
    fn len(self) -> usize {
        match self {
            TargetGrid::Classes => 2,
            TargetGrid::Interval => 129,
        }
    }
}

/// Number of grid points for z: even spacing, symmetric about zero, zero among them.
const POINTS: usize = 4097;

/// A user's own loss, known by a table of its derivative made **before any record is read**
/// ([`crate::theory_of_privacy::records`]).
///
/// The user's function is called on a public grid and never sees data: it cannot couple records, raise, loop
/// or log on them. NaN becomes 0 and every entry is clamped to +-`lipschitz`, so the sensitivity holds
/// whatever the function does. Between grid points the table is interpolated linearly, beyond
/// +-`margin_bound` it is continued flat.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Data")]
pub struct Tabulated {
    table: Vec<f64>,
    grid: TargetGrid,
    margin_bound: f64,
    lipschitz: f64,
}

/// The table as data, which is checked as it is read.
#[derive(serde::Deserialize)]
struct Data {
    table: Vec<f64>,
    grid: TargetGrid,
    margin_bound: f64,
    lipschitz: f64,
}

impl TryFrom<Data> for Tabulated {
    type Error = Error;

    fn try_from(data: Data) -> Result<Self> {
        Self::from_values(&data.table, data.grid, data.margin_bound, data.lipschitz)
    }
}

impl Tabulated {
    /// Tabulates `derivative(z, y)` over z in [-margin_bound, margin_bound] and the targets of `grid`.
    ///
    /// # Errors
    /// `lipschitz` or `margin_bound` not positive and finite, or the error that `derivative` returns.
    ///
    /// ```
    /// use dpsparse::loss::{Loss, Tabulated, TargetGrid};
    /// let wild = |z: f64, y: f64| Ok(if z > 1.0 { f64::NAN } else { 1e300 * (z - y) });
    /// let loss = Tabulated::new(wild, TargetGrid::Classes, 10.0, 1.0).unwrap();
    /// assert_eq!(loss.derivative(0.0, 1.0), -1.0);
    /// assert_eq!(loss.derivative(5.0, 1.0), 0.0);
    /// ```
    pub fn new(
        mut derivative: impl FnMut(f64, f64) -> Result<f64>,
        grid: TargetGrid,
        margin_bound: f64,
        lipschitz: f64,
    ) -> Result<Self> {
        let mut values = Vec::with_capacity(POINTS * grid.len());
        for (z, y) in Self::points(grid, margin_bound)? {
            values.push(derivative(z, y)?);
        }
        Self::from_values(&values, grid, margin_bound, lipschitz)
    }

    /// The public grid in the order of the table: all z for the first target, then all z for the second, ...
    ///
    /// # Errors
    /// `margin_bound` not positive and finite.
    pub fn points(grid: TargetGrid, margin_bound: f64) -> Result<impl Iterator<Item = (f64, f64)>> {
        positive("margin_bound", margin_bound)?;
        let half = (POINTS - 1) as f64 / 2.0;
        let targets = grid.len();
        Ok((0..targets).flat_map(move |row| {
            let y = 2.0 * row as f64 / (targets - 1) as f64 - 1.0;
            (0..POINTS).map(move |k| ((k as f64 - half) / half * margin_bound, y))
        }))
    }

    /// The same from values already computed at [`Tabulated::points`].
    ///
    /// # Errors
    /// A wrong number of values, or `lipschitz` or `margin_bound` not positive and finite.
    pub fn from_values(
        values: &[f64],
        grid: TargetGrid,
        margin_bound: f64,
        lipschitz: f64,
    ) -> Result<Self> {
        positive("lipschitz", lipschitz)?;
        positive("margin_bound", margin_bound)?;
        if values.len() != POINTS * grid.len() {
            return Err(Error::UserLoss(format!(
                "the loss must return one derivative per grid point ({}), got {}",
                POINTS * grid.len(),
                values.len()
            )));
        }
        let bounded = |v: &f64| {
            if v.is_nan() {
                0.0
            } else {
                v.clamp(-lipschitz, lipschitz)
            }
        };
        Ok(Self {
            table: values.iter().map(bounded).collect(),
            grid,
            margin_bound,
            lipschitz,
        })
    }

    fn along_margin(&self, row: usize, position: f64) -> f64 {
        let row = &self.table[row * POINTS..(row + 1) * POINTS];
        let left = (position as usize).min(POINTS - 2);
        let weight = position - left as f64;
        row[left] * (1.0 - weight) + row[left + 1] * weight
    }
}

impl Loss for Tabulated {
    fn name(&self) -> &'static str {
        "user"
    }

    fn task(&self) -> Task {
        match self.grid {
            TargetGrid::Classes => Task::Classification,
            TargetGrid::Interval => Task::Regression,
        }
    }

    /// A table of derivatives has no value: NaN.
    fn value(&self, _z: f64, _y: f64) -> f64 {
        f64::NAN
    }

    fn derivative(&self, z: f64, y: f64) -> f64 {
        let scaled = (z / self.margin_bound).clamp(-1.0, 1.0);
        let position = (scaled + 1.0) * ((POINTS - 1) as f64 / 2.0);
        let last = self.grid.len() - 1;
        let target = (y.clamp(-1.0, 1.0) + 1.0) * 0.5 * last as f64;
        let below = (target as usize).min(last - 1);
        let weight = target - below as f64;
        self.along_margin(below, position) * (1.0 - weight)
            + self.along_margin(below + 1, position) * weight
    }

    fn curvature(&self, _z: f64, _y: f64) -> f64 {
        f64::NAN
    }

    fn growth(&self) -> Growth {
        Growth::scalar(self.lipschitz)
    }

    /// Unknown for a table: infinite, so that no proof which needs smoothness can use it.
    fn smoothness(&self) -> f64 {
        f64::INFINITY
    }

    fn conjugate(&self, _a: f64, _y: f64) -> f64 {
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the function returns, and wherever it is asked: slopes are numbers within the bound.
        #[test]
        fn slopes_are_bounded_whatever_the_function_does(
            returned in prop_oneof![
                Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(1e300), -3.0..3.0f64
            ],
            steep in prop_oneof![-0.5..0.5f64, -1e6..1e6f64],
            z in prop_oneof![-2.0..2.0f64, -1e300..1e300f64],
            y in prop_oneof![-1.0..1.0f64, -1e300..1e300f64],
            interval: bool,
        ) {
            let grid = if interval { TargetGrid::Interval } else { TargetGrid::Classes };
            // Flat nowhere but by the clamp: a line would go on beyond the grid.
            let wild = |z: f64, y: f64| Ok(if z.abs() < 0.2 { returned } else { steep * (z + 0.3 * y) });
            let loss = Tabulated::new(wild, grid, 1.0, 0.7).unwrap();
            prop_assert!(loss.derivative(z, y).abs() <= 0.7 * (1.0 + 1e-12), "{}", loss.derivative(z, y));
            prop_assert_eq!(loss.growth(), Growth::scalar(0.7));
        }
    }
}
