//! Gradients at slopes that may lag behind: only what changes is added up.

use super::block::Block;
use super::bounded_data::{BoundedData, Features};
use super::changing_sums::{Changed, ChangingSums};
use super::lagging_scores::{LaggingScores, Moved};
use super::rare_columns::RareColumns;
use super::records::{LaggingPass, Move, States};
use super::row_norm::RowNorm;
use super::sparse_products::Spans;

/// What a lagging pass leaves beside margins and slopes.
pub(in crate::privacy) struct Lagging {
    scores: LaggingScores,
    /// Of all columns, or of those that are not rare, by their numbers.
    sums: ChangingSums,
    /// Whether unstored entries of sparse records are 0: then a column moves the margins of the rows that store it, and
    /// a row the sums of the columns that it stores.
    zeros_stay: bool,
    /// Stored entries of the columns whose sums are kept.
    stored: usize,
    /// The sum of all slopes.
    total: i64,
    rare: Option<Rare>,
}

/// What passes keep where sums of rare columns wait until somebody asks.
struct Rare {
    columns: RareColumns,
    /// The features that are not rare of sparse records, and their values at 0.
    others: Option<(Spans, Vec<i16>)>,
}

impl Rare {
    fn new(data: &BoundedData, most: i64) -> Self {
        let columns = RareColumns::new(data, most);
        let others = match &data.features {
            Features::Sparse {
                columns: all, base, ..
            } => {
                let p = data.schema.n_features();
                let features = columns.columns().filter(|&j| (j as usize) < p);
                let features: Vec<u32> = features.collect();
                let base = features.iter().map(|&j| base[j as usize]);
                Some((Spans::of(all, &features), base.collect()))
            }
            Features::Dense(_) | Features::Packed(_) => None,
        };
        Self { columns, others }
    }
}

impl Lagging {
    fn new(data: &BoundedData, rare: Option<i64>) -> Self {
        let rare = rare.map(|most| Rare::new(data, most));
        let (zeros_stay, all) = match &data.features {
            Features::Sparse { base, rows, .. } => {
                (base.iter().all(|&base| base == 0), rows.values.len())
            }
            Features::Dense(_) | Features::Packed(_) => (false, 0),
        };
        let spans = rare.as_ref().and_then(|rare| rare.others.as_ref());
        let others = rare.as_ref().map(|rare| rare.columns.others());
        Self {
            scores: LaggingScores::new(data.n_records()),
            sums: ChangingSums::new(others.unwrap_or(data.n_columns())),
            zeros_stay,
            stored: spans.map_or(all, |(spans, _)| spans.stored()),
            total: 0,
            rare,
        }
    }

    /// None: no column is one.
    pub(in crate::privacy) fn rare(&self) -> Option<&RareColumns> {
        self.rare.as_ref().map(|rare| &rare.columns)
    }

    pub(in crate::privacy) fn total(&self) -> i64 {
        self.total
    }
}

impl Block<'_> {
    /// The gradient at the slopes of [`LaggingScores`]: bit for bit what a pass over all records gives for them, in
    /// every storage.
    pub(in crate::privacy) fn lagging_gradient(
        &self,
        pass: &LaggingPass<'_>,
        states: &mut States,
    ) -> Changed {
        let (data, n) = (self.0, self.n());
        states.margins.resize_with(1, || vec![0; n]);
        states.slopes.resize_with(1, || vec![0; n]);
        let mut lagging = (states.lagging.take()).unwrap_or_else(|| Lagging::new(data, pass.rare));
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

    /// The sum of one feature at the slopes of the last such pass.
    pub(in crate::privacy) fn lagging_sum(&self, j: usize, states: &States) -> i64 {
        let (data, slopes) = (self.0, &states.slopes[0]);
        match &data.features {
            Features::Sparse { columns, base, .. } => {
                let total = states.lagging.as_ref().map_or(0, Lagging::total);
                let terms = (columns.line(j)).map(|(i, value)| i64::from(slopes[i]) * value);
                terms.sum::<i64>() + i64::from(base[j]) * total
            }
            Features::Dense(_) | Features::Packed(_) => {
                let mut values = vec![0; slopes.len()];
                data.fill_column(j, 0, &mut values);
                let pairs = values.into_iter().zip(slopes);
                pairs
                    .map(|(x, &slope)| i64::from(x) * i64::from(slope))
                    .sum()
            }
        }
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
                *slope = weights[i as usize].of(*slope);
            }
        }
        if let Some(weights) = &data.weights {
            weights.picked(rows).weigh_slopes(0, &mut slopes);
        }
        slopes
    }

    /// Gives rows their new slopes, and columns the sums that follow.
    fn change_slopes(
        &self,
        slopes: &mut [i16],
        rows: &[u32],
        taken: &[i16],
        lagging: &mut Lagging,
    ) {
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
        let total: i64 = changes.iter().map(|change| change.1).sum();
        lagging.total += total;
        lagging.change_sums(self.0, slopes, (&changes, total));
    }
}

impl Lagging {
    /// The sums at these slopes, by what has changed of them, in all `total`, where that is less work.
    ///
    /// No overflow: in between, sums are those of some rows at old and the others at new slopes, both within their
    /// bound.
    fn change_sums(
        &mut self,
        data: &BoundedData,
        slopes: &[i16],
        (changes, total): (&[(usize, i64)], i64),
    ) {
        let schema = &data.schema;
        let rare = self.rare.as_ref();
        let number_of = |j: usize| rare.map_or(Some(j), |rare| rare.columns.number_of(j));
        let intercept = (schema.has_intercept())
            .then_some(schema.n_features())
            .and_then(number_of);
        let own = i64::from(schema.lattice_intercept());
        match (&data.features, rare) {
            (Features::Sparse { rows, .. }, _)
                if self.zeros_stay && is_cheap(changes, |i| rows.stored(i), self.stored) =>
            {
                for &(i, change) in changes {
                    for (j, value) in rows.line(i) {
                        if let Some(number) = number_of(j) {
                            self.sums.add(number, change * value);
                        }
                    }
                }
                if let Some(intercept) = intercept {
                    self.sums.add(intercept, own * total);
                }
            }
            (
                Features::Sparse { columns, .. },
                Some(Rare {
                    others: Some((spans, base)),
                    ..
                }),
            ) => {
                let products = spans.products(columns, slopes);
                for (number, (product, &base)) in products.iter().zip(base).enumerate() {
                    (self.sums).set(number, product + i64::from(base) * self.total);
                }
                if let Some(intercept) = intercept {
                    self.sums.set(intercept, own * self.total);
                }
            }
            _ => {
                let mut all = vec![0; data.n_columns()];
                data.gradient(slopes, &mut all);
                for (j, &sum) in all.iter().enumerate() {
                    if let Some(number) = number_of(j) {
                        self.sums.set(number, sum);
                    }
                }
            }
        }
    }
}

/// Whether the rows that change store less than a fifth of `all`: adding to sums here and there takes several times as
/// long an entry as a walk of all threads through the columns whose sums are kept.
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
