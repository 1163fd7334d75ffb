//! Products of sparse records: of rows with weights, and of columns with slopes.

use std::ops::Range;

use rayon::prelude::*;

use super::lines::Lines;

/// Records per piece of work.
const CHUNK: usize = 512;

/// Entries whose running sums are kept: they stay in the nearest cache.
const RUN: usize = 1024;

/// Records whose slopes stay in a near cache.
const PANEL: usize = 1 << 15;

/// Columns that one thread reads together.
const TOGETHER: usize = 16;

/// Entries that a column should have for a panel of records, if columns are to be read panel by panel.
const LEAST_OF_PANEL: usize = 64;

/// margins_i += constant + <weights, row i>, by all threads; what wraps was proved not to. `columns` are the same
/// records.
pub(super) fn add_rows(
    margins: &mut [i64],
    (rows, columns): (&Lines, &Lines),
    mut weights: Vec<i64>,
    constant: i64,
) {
    // Values that depend on the column alone, as those of indicators do, are multiplied once and not read.
    let constants: Option<Vec<i16>> = columns.constants().iter().copied().collect();
    if let Some(constants) = &constants {
        for (weight, &value) in weights.iter_mut().zip(constants) {
            *weight = weight.wrapping_mul(i64::from(value));
        }
    }
    match constants {
        Some(_) => add_terms(margins, rows, constant, |j, _| weights[j]),
        None => add_terms(margins, rows, constant, |j, value| {
            weights[j].wrapping_mul(value.into())
        }),
    }
}

/// margins_i += constant + the sum over row i of a term of the column and the stored value, by all threads; what wraps
/// was proved not to.
pub(super) fn add_terms(
    margins: &mut [i64],
    rows: &Lines,
    constant: i64,
    term: impl Fn(usize, i16) -> i64 + Sync,
) {
    (margins.par_chunks_mut(CHUNK).enumerate()).for_each(|(k, margins)| {
        let ends = &rows.starts[k * CHUNK..][..=margins.len()];
        add_runs(margins, ends, constant, |entries| {
            let values = &rows.values[entries.clone()];
            let pairs = rows.indices[entries].iter().zip(values);
            pairs.map(|(&j, &value)| term(j as usize, value))
        });
    });
}

/// margins_i += constant + the sum of the terms of row i, whose entries are `starts[i]..starts[i + 1]`.
///
/// Rows are short, and of any length: a loop for each would end where no processor expects it. One runs through all of
/// them, and a row is what the running sum has grown by.
#[inline(always)]
fn add_runs<T: Iterator<Item = i64>>(
    margins: &mut [i64],
    starts: &[usize],
    constant: i64,
    terms: impl Fn(Range<usize>) -> T,
) {
    // One behind every entry of a run, and one before: only rows that end before the first entry take that.
    let mut sums = [0i64; RUN + 1];
    let (mut sum, mut before) = (0i64, 0i64);
    let (mut start, end) = (starts[0], starts[margins.len()]);
    let mut rows = margins.iter_mut().zip(&starts[1..]).peekable();
    while rows.peek().is_some() {
        let stop = end.min(start + RUN);
        for (at, term) in sums[1..].iter_mut().zip(terms(start..stop)) {
            sum = sum.wrapping_add(term);
            *at = sum;
        }
        while let Some((margin, end)) = rows.next_if(|(_, end)| **end <= stop) {
            let at = sums[end - start];
            let own = at.wrapping_sub(before).wrapping_add(constant);
            *margin = margin.wrapping_add(own);
            before = at;
        }
        start = stop;
    }
}

/// The inner products of every column with each of these planes, column by column, by all threads. That none wraps is
/// the caller's proof: fewer than 2^31 values below 2^15 times entries of at most 2^14 stay below 2^60.
pub(super) fn column_products<const K: usize>(
    columns: &Lines,
    planes: [&[i16]; K],
) -> Vec<[i64; K]> {
    let n = planes.first().map_or(0, |plane| plane.len());
    let cuts = columns.cuts(n, PANEL, LEAST_OF_PANEL);
    let constants = columns.constants();
    let mut products = vec![[0i64; K]; columns.len()];
    (products.par_chunks_mut(TOGETHER).enumerate()).for_each(|(run, products)| {
        let run = (run * TOGETHER..).zip(products);
        match cuts {
            None => {
                for (j, products) in run {
                    *products = products_of(columns, columns.entries_of(j), constants[j], planes);
                }
            }
            // What is left of the slopes in a near cache by one column is there for the next.
            Some(cuts) => {
                let mut run: Vec<_> = run.collect();
                for (starts, ends) in cuts.iter().zip(&cuts[1..]) {
                    for (j, products) in &mut run {
                        let own = products_of(columns, starts[*j]..ends[*j], constants[*j], planes);
                        let pairs = products.iter_mut().zip(own);
                        pairs.for_each(|(sum, own)| *sum = sum.wrapping_add(own));
                    }
                }
            }
        }
    });
    products
}

/// Where some columns are and what values they have: beside each other, where columns themselves are far apart.
pub(super) struct Spans(Vec<(Range<usize>, Option<i16>)>);

impl Spans {
    /// Of these columns, in their order.
    pub(super) fn of(columns: &Lines, some: &[u32]) -> Self {
        let constants = columns.constants();
        let span = |&j: &u32| (columns.entries_of(j as usize), constants[j as usize]);
        Self(some.iter().map(span).collect())
    }

    /// How many entries they have.
    pub(super) fn stored(&self) -> usize {
        self.0.iter().map(|(entries, _)| entries.len()).sum()
    }

    /// The inner product of each with a plane, as in [`column_products`]; `columns` are those that it was made of.
    pub(super) fn products(&self, columns: &Lines, plane: &[i16]) -> Vec<i64> {
        let product = |(entries, constant): &(Range<usize>, Option<i16>)| {
            let [product] = products_of(columns, entries.clone(), *constant, [plane]);
            product
        };
        let spans = self.0.par_iter().with_min_len(TOGETHER);
        spans.map(product).collect()
    }
}

/// The inner products of some entries of a column, which may have one value alone.
#[inline(always)]
fn products_of<const K: usize>(
    columns: &Lines,
    entries: Range<usize>,
    constant: Option<i16>,
    planes: [&[i16]; K],
) -> [i64; K] {
    let indices = &columns.indices[entries.clone()];
    // Multiplied once.
    if let Some(value) = constant {
        return planes.map(|plane| sum_at(indices, plane).wrapping_mul(i64::from(value)));
    }
    let mut sums = [0i64; K];
    for (&i, &value) in indices.iter().zip(&columns.values[entries]) {
        for (sum, plane) in sums.iter_mut().zip(planes) {
            let product = i64::from(plane[i as usize]).wrapping_mul(i64::from(value));
            *sum = sum.wrapping_add(product);
        }
    }
    sums
}

/// The sum of the entries of a plane at fewer than 2^31 indices, in four sums that need not wait for each other.
#[inline(always)]
fn sum_at(indices: &[u32], plane: &[i16]) -> i64 {
    let entry = |&i: &u32| i64::from(plane[i as usize]);
    let (fours, rest) = indices.as_chunks::<4>();
    let mut sums = [0i64; 4];
    for four in fours {
        for (sum, i) in sums.iter_mut().zip(four) {
            *sum = sum.wrapping_add(entry(i));
        }
    }
    (sums.into_iter().chain(rest.iter().map(entry))).fold(0, i64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rows of any lengths, also none and more than a run, that store one value, one of each column, or any.
    fn entries() -> impl Strategy<Value = (usize, Vec<Vec<(u32, i16)>>)> {
        let any = || -32_766i16..=32_766;
        (1usize..40, any(), prop::collection::vec(any(), 40), 0..3).prop_flat_map(
            move |(p, one, by_column, kind)| {
                let row = prop::collection::btree_map(0..p as u32, any(), 0..=p);
                let value = move |(j, value): (u32, i16)| match kind {
                    0 => (j, one),
                    1 => (j, by_column[j as usize]),
                    _ => (j, value),
                };
                let row = row.prop_map(move |row| row.into_iter().map(&value).collect());
                (Just(p), prop::collection::vec(row, 1..1200))
            },
        )
    }

    fn lines_of(rows: &[Vec<(u32, i16)>]) -> Lines {
        let ends = rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        });
        let starts = [0].into_iter().chain(ends).collect();
        let entries = || rows.iter().flatten();
        let indices = entries().map(|entry| entry.0).collect();
        Lines::new(starts, indices, entries().map(|entry| entry.1).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Of rows with weights, and of columns with planes, as each entry has it.
        #[test]
        fn products_are_those_of_the_entries((p, rows) in entries(), seed in any::<u64>(), constant in -9i64..9) {
            let mut state = seed | 1;
            let mut next = move |bound: i64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 33) as i64).rem_euclid(2 * bound + 1) - bound
            };
            let by_rows = lines_of(&rows);
            let columns = by_rows.transposed(p);
            let weights: Vec<i64> = (0..p).map(|_| next(1 << 31)).collect();
            let mut margins = vec![11; rows.len()];
            add_rows(&mut margins, (&by_rows, &columns), weights.clone(), constant);
            for (row, margin) in rows.iter().zip(margins) {
                let own: i64 = row.iter().map(|&(j, value)| weights[j as usize] * i64::from(value)).sum();
                prop_assert_eq!(margin, 11 + constant + own);
            }
            let planes = [0, 1].map(|_| (0..rows.len()).map(|_| next(1 << 14) as i16).collect::<Vec<i16>>());
            let found = column_products(&columns, planes.each_ref().map(Vec::as_slice));
            let mut expected = vec![[0i64; 2]; p];
            for (i, row) in rows.iter().enumerate() {
                for &(j, value) in row {
                    let pairs = expected[j as usize].iter_mut().zip(&planes);
                    pairs.for_each(|(sum, plane)| *sum += i64::from(plane[i]) * i64::from(value));
                }
            }
            prop_assert_eq!(found, expected);
        }
    }

    /// Rows longer than a run, and runs that end with a row.
    #[test]
    fn rows_may_be_longer_than_a_run() {
        let lengths = [0, RUN - 1, 1, 0, 2 * RUN + 3, RUN, 0, 5, 3 * RUN, 0];
        let starts: Vec<usize> = [0]
            .into_iter()
            .chain(lengths)
            .scan(7, |at, length| {
                *at += length;
                Some(*at)
            })
            .collect();
        let mut margins = vec![1; lengths.len()];
        add_runs(&mut margins, &starts, 2, |entries| {
            entries.map(|k| (k * k) as i64)
        });
        for (margin, ends) in margins.iter().zip(starts.windows(2)) {
            assert_eq!(
                *margin,
                3 + (ends[0]..ends[1]).map(|k| (k * k) as i64).sum::<i64>()
            );
        }
    }

    /// Columns that are read panel by panel, some of whose panels are empty.
    #[test]
    fn columns_are_the_sums_of_their_panels() {
        let n = 3 * PANEL + 5;
        let kept = |i: usize, j: usize| (i + j).is_multiple_of(1 + 2 * j) && (j != 2 || i > PANEL);
        let row = |i: usize| {
            (0..4)
                .filter(move |&j| kept(i, j))
                .map(move |j| (j as u32, (i % (3 * j + 1)) as i16 + 1))
        };
        let rows: Vec<Vec<(u32, i16)>> = (0..n).map(|i| row(i).collect()).collect();
        let columns = lines_of(&rows).transposed(4);
        assert_eq!(
            columns.cuts(n, PANEL, LEAST_OF_PANEL).map(<[_]>::len),
            Some(5)
        );
        let plane: Vec<i16> = (0..n).map(|i| (i % 32_001) as i16 - 16_000).collect();
        for (j, found) in column_products(&columns, [&plane]).into_iter().enumerate() {
            let own = |(i, value): (usize, i64)| i64::from(plane[i]) * value;
            assert_eq!(found, [columns.line(j).map(own).sum::<i64>()]);
        }
    }
}
