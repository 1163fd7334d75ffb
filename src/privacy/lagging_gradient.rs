//! Gradients at slopes that may lag behind: only what changes is added up.

use super::block::{Block, shortened};
use super::bounded_data::{BoundedData, Features};
use super::changing_sums::{Changed, ChangingSums};
use super::lagging_scores::{LaggingScores, Moved};
use super::records::{LaggingPass, Move, States};
use super::row_norm::RowNorm;

/// What a lagging pass leaves beside margins and slopes.
pub(in crate::privacy) struct Lagging {
    scores: LaggingScores,
    sums: ChangingSums,
    /// Whether unstored entries of sparse records are 0: then a column moves the margins of the rows that store it, and
    /// a row the sums of the columns that it stores.
    zeros_stay: bool,
}

impl Lagging {
    fn new(data: &BoundedData) -> Self {
        let zeros_stay = match &data.features {
            Features::Sparse { base, .. } => base.iter().all(|&base| base == 0),
            Features::Dense(_) | Features::Packed(_) => false,
        };
        Self {
            scores: LaggingScores::new(data.n_records()),
            sums: ChangingSums::new(data.n_columns()),
            zeros_stay,
        }
    }
}

impl Block<'_> {
    /// The gradient at the slopes of [`LaggingScores`]: bit for bit what a pass over all records gives for them, in every
    /// storage.
    pub(in crate::privacy) fn lagging_gradient(
        &self,
        pass: &LaggingPass<'_>,
        states: &mut States,
    ) -> Changed {
        let (data, n) = (self.0, self.n());
        states.margins.resize_with(1, || vec![0; n]);
        states.slopes.resize_with(1, || vec![0; n]);
        let mut lagging = (states.lagging.take()).unwrap_or_else(|| Lagging::new(data));
        let touched = move_margins(data, lagging.zeros_stay, pass.moves, &mut states.margins);
        let moved = touched.as_deref().map_or(Moved::All, Moved::Rows);
        let (scores, margins) = (&mut lagging.scores, &states.margins[0]);
        let rows = scores.take_due(margins, pass.unit, pass.tolerance, moved);
        let taken = self.slopes_of(&rows, pass, states);
        let slopes = &mut states.slopes[0];
        self.change_slopes(slopes, &rows, &taken, &mut lagging);
        let changed = lagging.sums.take_changed();
        states.lagging = Some(lagging);
        changed
    }

    fn n(&self) -> usize {
        self.0.n_records()
    }

    /// Slopes of some rows at their margins, weighed and shortened as those of all of them are.
    fn slopes_of(&self, rows: &[u32], pass: &LaggingPass<'_>, states: &mut States) -> Vec<i16> {
        let data = self.0;
        let margins: Vec<i64> = (rows.iter())
            .map(|&i| states.margins[0][i as usize])
            .collect();
        let targets: Vec<f64> = rows.iter().map(|&i| data.targets[i as usize]).collect();
        let mut planes = [vec![0; rows.len()]];
        (pass.model).slopes(&[margins], pass.unit, &targets, &mut planes);
        let [mut slopes] = planes;
        let weights = (states.weights).get_or_insert_with(|| RowNorm::gradient_weights(data));
        if let Some(weights) = weights {
            for (slope, &i) in slopes.iter_mut().zip(rows) {
                *slope = shortened(*slope, weights[i as usize]);
            }
        }
        if let Some(weights) = &data.weights {
            weights.picked(rows).weigh_slopes(0, &mut slopes);
        }
        slopes
    }

    /// Gives rows their new slopes, and columns the sums that follow.
    ///
    /// No overflow: in between, sums are those of some rows at old and the others at new slopes, both within their bound.
    fn change_slopes(
        &self,
        slopes: &mut [i16],
        rows: &[u32],
        taken: &[i16],
        lagging: &mut Lagging,
    ) {
        let data = self.0;
        let changes: Vec<(usize, i64)> = (rows.iter().zip(taken))
            .map(|(&i, &new)| {
                let old = std::mem::replace(&mut slopes[i as usize], new);
                (i as usize, i64::from(new) - i64::from(old))
            })
            .filter(|&(_, change)| change != 0)
            .collect();
        if changes.is_empty() {
            return;
        }
        match &data.features {
            Features::Sparse { rows, .. }
                if lagging.zeros_stay
                    && is_cheap(&changes, |i| rows.stored(i), rows.values.len()) =>
            {
                for &(i, change) in &changes {
                    for (j, value) in rows.line(i) {
                        lagging.sums.add(j, change * value);
                    }
                }
                if data.schema.has_intercept() {
                    let total: i64 = changes.iter().map(|change| change.1).sum();
                    let own = i64::from(data.schema.lattice_intercept());
                    lagging.sums.add(data.schema.n_features(), own * total);
                }
            }
            _ => {
                let mut sums = vec![0; data.n_columns()];
                data.gradient(slopes, &mut sums);
                lagging.sums.replace(&sums);
            }
        }
    }
}

/// Whether the rows that change store less than a fifth of all entries: adding to sums here and there takes several times
/// as long an entry as a walk of all threads through all columns.
fn is_cheap(changes: &[(usize, i64)], stored: impl Fn(usize) -> usize, all: usize) -> bool {
    changes.iter().map(|&(i, _)| stored(i)).sum::<usize>() < all / 5
}

/// Moves margins, and says of which rows; None: maybe of all.
fn move_margins(
    data: &BoundedData,
    zeros_stay: bool,
    moves: &[Move<'_>],
    margins: &mut [Vec<i64>],
) -> Option<Vec<u32>> {
    let p = data.schema.n_features();
    let mut directions = moves.iter().flat_map(|step| step.direction);
    let features_alone = directions.all(|&(j, _)| (j as usize) < p);
    let (Features::Sparse { columns, .. }, true) = (&data.features, zeros_stay && features_alone)
    else {
        data.move_planes(margins, moves, false);
        return None;
    };
    let mut touched = Vec::new();
    for step in moves {
        for &(j, entry) in step.direction {
            let weight = step.weight * entry;
            for (i, value) in columns.line(j as usize) {
                margins[step.output][i] += weight * value;
                touched.push(i as u32);
            }
        }
    }
    Some(touched)
}
