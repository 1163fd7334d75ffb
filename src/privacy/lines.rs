//! Sparse records as they are stored: compressed rows (CSR) or compressed columns (CSC) of 16-bit integers.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use crate::numeric::kernel::on_large_pages;

/// Compressed lines, which are rows or columns: line k holds the entries `starts[k]..starts[k + 1]`, indices
/// ascending. Lines with other values at the same places share these.
pub(in crate::privacy) struct Lines {
    pub(in crate::privacy) starts: Arc<Vec<usize>>,
    pub(in crate::privacy) indices: Arc<Vec<u32>>,
    pub(in crate::privacy) values: Vec<i16>,
    /// [`Lines::constants`], once they are asked for.
    constants: OnceLock<Vec<Option<i16>>>,
    /// [`Lines::cuts`], once they are asked for.
    cuts: Arc<OnceLock<Option<Vec<Vec<usize>>>>>,
}

impl Lines {
    pub(in crate::privacy) fn new(starts: Vec<usize>, indices: Vec<u32>, values: Vec<i16>) -> Self {
        Self {
            starts: Arc::new(starts),
            indices: Arc::new(indices),
            values,
            constants: OnceLock::new(),
            cuts: Arc::default(),
        }
    }

    /// Number of lines.
    pub(in crate::privacy) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The same pattern with other values, one per stored entry.
    pub(in crate::privacy) fn with_values(&self, values: Vec<i16>) -> Lines {
        debug_assert_eq!(values.len(), self.values.len());
        Lines {
            starts: Arc::clone(&self.starts),
            indices: Arc::clone(&self.indices),
            values,
            constants: OnceLock::new(),
            cuts: Arc::clone(&self.cuts),
        }
    }

    /// These lines alone, in this order.
    pub(in crate::privacy) fn picked(&self, lines: &[u32]) -> Lines {
        let stored = lines.iter().map(|&k| self.stored(k as usize)).sum();
        let mut starts = Vec::with_capacity(lines.len() + 1);
        let (mut indices, mut values) = (Vec::with_capacity(stored), Vec::with_capacity(stored));
        starts.push(0);
        for &k in lines {
            let line = self.entries_of(k as usize);
            indices.extend_from_slice(&self.indices[line.clone()]);
            values.extend_from_slice(&self.values[line]);
            starts.push(values.len());
        }
        Lines::new(starts, indices, values)
    }

    /// Stored entries of line `k`.
    pub(in crate::privacy) fn stored(&self, k: usize) -> usize {
        self.entries_of(k).len()
    }

    /// Where the entries of line `k` are.
    #[inline(always)]
    pub(in crate::privacy) fn entries_of(&self, k: usize) -> Range<usize> {
        self.starts[k]..self.starts[k + 1]
    }

    /// The value of each line that stores one value alone, as indicators do.
    pub(in crate::privacy) fn constants(&self) -> &[Option<i16>] {
        let of = |k: usize| match &self.values[self.entries_of(k)] {
            line @ [first, rest @ ..] => (*rest == line[..rest.len()]).then_some(*first),
            // Nothing is a multiple of anything.
            [] => Some(1),
        };
        // By one thread: one that waits for others might be given work that waits for this.
        (self.constants).get_or_init(|| (0..self.len()).map(of).collect())
    }

    /// Where every line begins in each panel of so many of the `width` indices that there are, and at last where it
    /// ends; None where a line has fewer than `least` entries in a panel, on average. The arguments are the same for
    /// all calls.
    pub(in crate::privacy) fn cuts(
        &self,
        width: usize,
        panel: usize,
        least: usize,
    ) -> Option<&[Vec<usize>]> {
        let panels = width.div_ceil(panel);
        let worth = panels > 1 && self.values.len() / least / panels >= self.len();
        let places = |index: usize| (0..self.len()).map(|k| self.place_of(k, index)).collect();
        let all = || (0..=panels).map(|k| places(k * panel)).collect();
        self.cuts.get_or_init(|| worth.then(all)).as_deref()
    }

    /// Index and value of the entries of line `k`.
    #[inline(always)]
    pub(in crate::privacy) fn line(&self, k: usize) -> impl Iterator<Item = (usize, i64)> {
        self.entries(self.entries_of(k))
    }

    /// Index and value of the entries of line `k` whose index is one of these.
    pub(in crate::privacy) fn part_of_line(
        &self,
        k: usize,
        of: Range<usize>,
    ) -> impl Iterator<Item = (usize, i64)> {
        self.entries(self.place_of(k, of.start)..self.place_of(k, of.end))
    }

    /// Where the entries of line `k` whose index is `index` or more begin.
    pub(in crate::privacy) fn place_of(&self, k: usize, index: usize) -> usize {
        let indices = &self.indices[self.entries_of(k)];
        self.starts[k] + indices.partition_point(|&at| (at as usize) < index)
    }

    #[inline(always)]
    fn entries(&self, range: Range<usize>) -> impl Iterator<Item = (usize, i64)> {
        let entries = self.indices[range.clone()].iter().zip(&self.values[range]);
        entries.map(|(&index, &value)| (index as usize, i64::from(value)))
    }

    /// The values of every line, to be changed in place.
    pub(in crate::privacy) fn values_mut(&mut self) -> impl Iterator<Item = &mut [i16]> {
        self.constants.take();
        let mut rest = &mut self.values[..];
        self.starts.windows(2).map(move |ends| {
            let (line, after) = std::mem::take(&mut rest).split_at_mut(ends[1] - ends[0]);
            rest = after;
            line
        })
    }

    /// The same matrix compressed the other way, with `len` lines: one task per thread, each of which fills
    /// a run of whole lines and reads its part of every old line.
    pub(in crate::privacy) fn transposed(&self, len: usize) -> Lines {
        let mut starts = on_large_pages(vec![0usize; len + 1]);
        for &index in self.indices.iter() {
            starts[index as usize + 1] += 1;
        }
        for k in 0..len {
            starts[k + 1] += starts[k];
        }
        let stored = self.indices.len();
        let mut indices = on_large_pages(vec![0u32; stored]);
        let mut values = on_large_pages(vec![0i16; stored]);
        let tasks = rayon::current_num_threads();
        let (mut rest, mut first) = ((&mut indices[..], &mut values[..]), 0);
        let mut runs = Vec::with_capacity(tasks);
        for task in 1..=tasks {
            // Whole lines with about as many entries for every task; the last takes what is left.
            let share = stored / tasks * task;
            let end = if task < tasks {
                first + starts[first..len].partition_point(|&start| start < share)
            } else {
                len
            };
            let size = starts[end] - starts[first];
            let (indices, more_indices) = rest.0.split_at_mut(size);
            let (values, more_values) = rest.1.split_at_mut(size);
            rest = (more_indices, more_values);
            runs.push((first..end, indices, values));
            first = end;
        }
        runs.into_par_iter().for_each(|(run, indices, values)| {
            let before = starts[run.start];
            let mut next: Vec<usize> = starts[run.clone()].iter().map(|at| at - before).collect();
            for k in 0..self.len() {
                let line = self.entries_of(k);
                let old = &self.indices[line.clone()];
                let from = old.partition_point(|&index| (index as usize) < run.start);
                for (&index, &value) in old[from..].iter().zip(&self.values[line][from..]) {
                    if index as usize >= run.end {
                        break;
                    }
                    let at = &mut next[index as usize - run.start];
                    indices[*at] = k as u32;
                    values[*at] = value;
                    *at += 1;
                }
            }
        });
        Lines::new(starts, indices, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn transposition_moves_every_entry_and_back(
            matrix in (0usize..30).prop_flat_map(|width| prop::collection::vec(prop::collection::vec(-2i16..3, width), 0..30)),
            threads in 1usize..5,
        ) {
            let width = matrix.first().map_or(0, Vec::len);
            let rows = lines_of(&matrix);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let columns = pool.install(|| rows.transposed(width));
            prop_assert_eq!(columns.len(), width);
            for j in 0..width {
                let column = matrix.iter().enumerate().map(|(i, row)| (i, i64::from(row[j])));
                let expected: Vec<_> = column.filter(|entry| entry.1 != 0).collect();
                prop_assert_eq!(columns.line(j).collect::<Vec<_>>(), expected);
            }
            let back = pool.install(|| columns.transposed(matrix.len()));
            prop_assert_eq!(back.starts, rows.starts);
            prop_assert_eq!(back.indices, rows.indices);
            prop_assert_eq!(back.values, rows.values);
        }

        /// Lines of one value say so, also after their values were changed, and parts of lines are what lies there.
        #[test]
        fn lines_tell_of_one_value_and_of_parts(
            matrix in prop::collection::vec(prop::collection::vec(-1i16..2, 12), 1..6),
            start in 0usize..12,
            len in 0usize..12,
        ) {
            let mut rows = lines_of(&matrix);
            let part = start..start + len;
            for (k, row) in matrix.iter().enumerate() {
                let stored: Vec<i16> = row.iter().copied().filter(|&value| value != 0).collect();
                let alike = stored.windows(2).all(|two| two[0] == two[1]);
                prop_assert_eq!(rows.constants()[k].is_some(), alike);
                if let (Some(constant), [first, ..]) = (rows.constants()[k], &stored[..]) {
                    prop_assert_eq!(constant, *first);
                }
                let there: Vec<_> = rows.line(k).filter(|(index, _)| part.contains(index)).collect();
                prop_assert_eq!(rows.part_of_line(k, part.clone()).collect::<Vec<_>>(), there);
            }
            for line in rows.values_mut() {
                line.fill(7);
            }
            let constants = (0..matrix.len()).map(|k| (rows.stored(k) > 0).then_some(7).or(Some(1)));
            prop_assert!(rows.constants().iter().copied().eq(constants));
        }
    }

    /// What is not 0.
    fn lines_of(matrix: &[Vec<i16>]) -> Lines {
        let (mut starts, mut indices, mut values) = (vec![0], vec![], vec![]);
        for row in matrix {
            for (j, &value) in row.iter().enumerate().filter(|entry| *entry.1 != 0) {
                indices.push(j as u32);
                values.push(value);
            }
            starts.push(values.len());
        }
        Lines::new(starts, indices, values)
    }
}
