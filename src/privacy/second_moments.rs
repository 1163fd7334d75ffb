//! Second moments of bounded records, exactly.

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features};
use super::lines::Lines;
use super::record_weights::{RecordWeights, part};
use super::records::Watch;
use super::row_weight::RowWeight;
use crate::error::Result;
use crate::numeric::kernel::{RUN, add_gram, for_wide_vectors};
use crate::numeric::pieces::for_each_piece;
use crate::numeric::strips::{LINE, Line, LineVec};

/// Records per tile: the columns of a hundred features stay in a second-level cache.
const TILE: usize = 11 * WHOLE;

/// Records of a run of lines.
const WHOLE: usize = RUN * LINE;

/// Products that a thread takes before somebody may stop it: they take longer than to wake it up.
const PRODUCTS: usize = 1 << 28;

/// Inner products of columns multiply so many entries in the time in which records take one product of two stored ones.
const WIDTH: usize = 16;

/// sum_i x_ij x_il for every j <= l, row by row; the intercept is the last column. Rows that count less in gradients
/// are shortened, and those of records with weights are multiplied by the roots of their shares.
///
/// No overflow: an entry is below n 2^28 < 2^59.
pub(super) fn above(
    data: &BoundedData,
    weights: Option<&[RowWeight]>,
    watch: Watch<'_>,
) -> Result<Vec<i64>> {
    let (n, d) = (data.n_records(), data.n_columns());
    let roots = (data.weights.as_ref()).map(RecordWeights::roots);
    let columns = Columns {
        data,
        weights,
        roots: roots.as_deref(),
    };
    // One run of records a thread: sums of integers do not depend on where runs end.
    let threads = rayon::current_num_threads().min(n.div_ceil(TILE)).max(1);
    let run = n.div_ceil(threads).next_multiple_of(TILE);
    let mut partial: Vec<Partial> = (0..threads).map(|_| Partial::new(d)).collect();
    let several = (PRODUCTS / (TILE * d * d)).max(1) * TILE;
    for first in (0..run).step_by(several) {
        watch()?;
        for_each_piece(
            n * d * d,
            partial.par_iter_mut().enumerate(),
            |(k, partial)| {
                let last = n.min((k + 1) * run).min(k * run + first + several);
                for start in (k * run + first..last).step_by(TILE) {
                    columns.add(start, last.min(start + TILE), partial);
                }
            },
        );
    }
    let mut partial = partial.into_iter().map(|partial| partial.sums);
    let mut sums = partial.next().unwrap_or_default();
    for other in partial {
        sums.iter_mut()
            .zip(other)
            .for_each(|(sum, other)| *sum += other);
    }
    Ok(sums)
}

/// The sums over some of the records.
struct Partial {
    sums: Vec<i64>,
    /// Columns of a tile, each padded with zeros to whole runs of lines.
    tile: LineVec,
    /// One row.
    row: Vec<(usize, i64)>,
}

impl Partial {
    fn new(d: usize) -> Self {
        Self {
            sums: vec![0; d * (d + 1) / 2],
            tile: LineVec::default(),
            row: Vec::new(),
        }
    }
}

/// The bounded columns, the intercept's last: truncation moves towards zero, so |trunc(w x)| <= w |x| <= r; and what is
/// then multiplied by a root in [0, 1] and rounded is no longer in any entry.
struct Columns<'a> {
    data: &'a BoundedData,
    weights: Option<&'a [RowWeight]>,
    roots: Option<&'a [f64]>,
}

impl Columns<'_> {
    fn add(&self, start: usize, end: usize, partial: &mut Partial) {
        match &self.data.features {
            Features::Sparse { rows, base, .. } if self.few_products(rows, base) => {
                self.add_rows(rows, start, end, partial);
            }
            _ => self.add_tile(start, end, partial),
        }
    }

    /// Whether unstored entries are 0, and products of stored ones so few that records one by one are faster.
    fn few_products(&self, rows: &Lines, base: &[i16]) -> bool {
        let (n, d) = (self.data.n_records(), self.data.n_columns());
        let stored = rows.values.len() / n + 2;
        WIDTH * stored * stored < d * d && base.iter().all(|&base| base == 0)
    }

    /// Entry `value` of record i.
    fn shortened(&self, i: usize, value: i16) -> i64 {
        let shortened = match self.weights {
            Some(weights) => weights[i].of(value),
            None => value,
        };
        let shortened = i64::from(shortened);
        match self.roots {
            Some(roots) => part(shortened, roots[i]),
            None => shortened,
        }
    }

    /// Products of stored entries, record by record.
    fn add_rows(&self, rows: &Lines, start: usize, end: usize, partial: &mut Partial) {
        let (schema, d) = (&self.data.schema, self.data.n_columns());
        let Partial { sums, row, .. } = partial;
        for i in start..end {
            row.clear();
            // An entry of 16 bits each.
            let entries = rows.line(i);
            row.extend(entries.map(|(j, value)| (j, self.shortened(i, value as i16))));
            if schema.has_intercept() {
                let intercept = schema.lattice_intercept();
                row.push((d - 1, self.shortened(i, intercept)));
            }
            let mut rest = row.as_slice();
            while let [(j, left), ..] = *rest {
                // Row j of the triangle, from where entry (j, l) is number l.
                let sums = &mut sums[j * d - j * (j + 1) / 2..];
                for &(l, right) in rest {
                    // What wraps was proved not to: checks would take as long as the product.
                    sums[l] = sums[l].wrapping_add(left.wrapping_mul(right));
                }
                rest = &rest[1..];
            }
        }
    }

    /// Products of the columns of a tile.
    fn add_tile(&self, start: usize, end: usize, partial: &mut Partial) {
        let (d, lines) = (self.data.n_columns(), (end - start).div_ceil(WHOLE) * RUN);
        if partial.tile.len() != d * lines {
            partial.tile = LineVec::zeros(d * lines);
        }
        self.fill(start, end, &mut partial.tile);
        add_gram(&partial.tile, lines, &mut partial.sums);
    }

    /// The columns one after the other, of these records.
    fn fill(&self, start: usize, end: usize, tile: &mut [Line]) {
        let (schema, m) = (&self.data.schema, end - start);
        let p = schema.n_features();
        let mut columns: Vec<&mut [i16]> = (tile.as_flattened_mut())
            .chunks_exact_mut(m.next_multiple_of(WHOLE))
            .map(|column| {
                let (column, padding) = column.split_at_mut(m);
                padding.fill(0);
                column
            })
            .collect();
        match &self.data.features {
            Features::Dense(_) | Features::Packed(_) => {
                self.data.fetch(start..end);
                for (j, column) in columns[..p].iter_mut().enumerate() {
                    self.data.fill_column(j, start, column);
                }
            }
            Features::Sparse { rows, base, .. } => {
                for (column, &base) in columns.iter_mut().zip(base) {
                    column.fill(base);
                }
                for i in start..end {
                    for (j, value) in rows.line(i) {
                        // base + value is the lattice value, in [-16383, 16383].
                        columns[j][i - start] = (i64::from(base[j]) + value) as i16;
                    }
                }
            }
        }
        if schema.has_intercept() {
            columns[p].fill(schema.lattice_intercept());
        }
        if let Some(weights) = self.weights {
            change(&mut columns, &weights[start..end], |value, weight| {
                weight.of(value)
            });
        }
        if let Some(roots) = self.roots {
            change(&mut columns, &roots[start..end], |value, root| {
                part(i64::from(value), root) as i16
            });
        }
    }
}

/// Changes every entry by what its record counts for.
fn change<B: Copy>(columns: &mut [&mut [i16]], by: &[B], of: impl Fn(i16, B) -> i16) {
    for column in columns {
        for_wide_vectors(
            #[inline(always)]
            || {
                for (value, &by) in column.iter_mut().zip(by) {
                    *value = of(*value, by);
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::bounded_data::tests::all_kinds;
    use crate::privacy::row_norm::RowNorm;
    use crate::schema::{Bounds, Geometry, Schema, Target};
    use ndarray::Array2;

    /// Every storage, on any number of threads, gives the products of the bounded entries, across the ends of tiles,
    /// with rows that are shortened and without; also where records are taken one by one.
    #[test]
    fn sums_are_those_of_the_bounded_entries() {
        for (n, p, stored, geometry) in [
            (3, 4, 4, Geometry::Centred),
            (TILE + 5, 7, 3, Geometry::Centred),
            (2 * TILE - 77, 6, 3, Geometry::Centred),
            (2 * TILE + 1, 50, 2, Geometry::Uncentred),
            (TILE + 1, 50, 2, Geometry::Centred),
        ] {
            let x = Array2::from_shape_fn((n, p), |(i, j)| {
                let place = (i * 7 + j * 3) % p;
                let value = ((i * 31 + j * 17) % 13) as f64 / 6.0 - 1.0;
                if place < stored { value } else { 0.0 }
            });
            let bounds = Bounds {
                lower: vec![-1.0],
                upper: vec![1.5],
            };
            let schema = Schema::new(p, bounds, geometry, Target::Classes, true, None).unwrap();
            let short = schema.clone().with_gradient_norm(0.7).unwrap();
            let own: Vec<f64> = (0..n).map(|i| (i * 5 % 9) as f64 / 4.0).collect();
            for schema in [
                schema.clone(),
                short.clone(),
                schema.with_max_weight(2.0).unwrap(),
                short.with_max_weight(2.0).unwrap(),
            ] {
                let own = schema.max_weight().map(|_| own.as_slice());
                let kinds = all_kinds(&x, &schema).map(|data| data.weighed(own).unwrap());
                let weights = RowNorm::gradient_weights(&kinds[0]);
                let entry = |i: usize, j: usize| {
                    let value = if j < p {
                        f64::from(schema.lattice_value(x[[i, j]], j))
                    } else {
                        f64::from(schema.lattice_intercept())
                    };
                    let row = (value * weights.as_ref().map_or(1.0, |weights| weights[i].number()))
                        .trunc();
                    let root = own.map_or(1.0, |own| (own[i].min(2.0) / 2.0).sqrt());
                    (row * root).round() as i64
                };
                let pairs = (0..=p).flat_map(|j| (j..=p).map(move |l| (j, l)));
                let expected: Vec<i64> = pairs
                    .map(|(j, l)| (0..n).map(|i| entry(i, j) * entry(i, l)).sum())
                    .collect();
                for (data, threads) in kinds.iter().flat_map(|data| [(data, 1), (data, 3)]) {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    let sums = pool
                        .unwrap()
                        .install(|| above(data, weights.as_deref(), &mut || Ok(())).unwrap());
                    assert!(sums == expected, "{n} x {p} on {threads} threads");
                }
            }
        }
    }
}
