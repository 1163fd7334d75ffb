//! Sparse records as they are stored: compressed rows (CSR) or compressed columns (CSC) of 16-bit integers.

use rayon::prelude::*;

use crate::numeric::kernel::on_large_pages;

/// Compressed lines, which are rows or columns: line k holds the entries `starts[k]..starts[k + 1]`, indices
/// ascending.
pub(in crate::privacy) struct Lines {
    pub(in crate::privacy) starts: Vec<usize>,
    pub(in crate::privacy) indices: Vec<u32>,
    pub(in crate::privacy) values: Vec<i16>,
}

impl Lines {
    /// Number of lines.
    pub(in crate::privacy) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The same pattern with other values, one per stored entry.
    pub(in crate::privacy) fn with_values(&self, values: Vec<i16>) -> Lines {
        debug_assert_eq!(values.len(), self.values.len());
        Lines {
            starts: self.starts.clone(),
            indices: self.indices.clone(),
            values,
        }
    }

    /// These lines alone, in this order.
    pub(in crate::privacy) fn picked(&self, lines: &[u32]) -> Lines {
        let stored = lines.iter().map(|&k| self.stored(k as usize)).sum();
        let mut starts = Vec::with_capacity(lines.len() + 1);
        let (mut indices, mut values) = (Vec::with_capacity(stored), Vec::with_capacity(stored));
        starts.push(0);
        for &k in lines {
            let line = self.starts[k as usize]..self.starts[k as usize + 1];
            indices.extend_from_slice(&self.indices[line.clone()]);
            values.extend_from_slice(&self.values[line]);
            starts.push(values.len());
        }
        Lines {
            starts,
            indices,
            values,
        }
    }

    /// Stored entries of line `k`.
    pub(in crate::privacy) fn stored(&self, k: usize) -> usize {
        self.starts[k + 1] - self.starts[k]
    }

    /// Index and value of the entries of line `k`.
    #[inline(always)]
    pub(in crate::privacy) fn line(&self, k: usize) -> impl Iterator<Item = (usize, i64)> {
        let range = self.starts[k]..self.starts[k + 1];
        let entries = self.indices[range.clone()].iter().zip(&self.values[range]);
        entries.map(|(&index, &value)| (index as usize, i64::from(value)))
    }

    /// The inner products of line `k` with each of these planes, in one walk. That none wraps is the caller's proof: fewer
    /// than 2^31 values below 2^15 times entries of at most 2^14 stay below 2^60.
    #[inline(always)]
    pub(in crate::privacy) fn inner_products<const K: usize>(
        &self,
        k: usize,
        planes: [&[i16]; K],
    ) -> [i64; K] {
        let range = self.starts[k]..self.starts[k + 1];
        if let [first, rest @ ..] = &self.values[range.clone()]
            && *rest == self.values[range.start..][..rest.len()]
        {
            // One value all along, as indicators have it, is multiplied once.
            let indices = &self.indices[range];
            return planes.map(|plane| sum_at(indices, plane).wrapping_mul(i64::from(*first)));
        }
        let mut sums = [0i64; K];
        for (i, value) in self.line(k) {
            for (sum, plane) in sums.iter_mut().zip(planes) {
                *sum = sum.wrapping_add(i64::from(plane[i]).wrapping_mul(value));
            }
        }
        sums
    }

    /// The values of every line, to be changed in place.
    pub(in crate::privacy) fn values_mut(&mut self) -> impl Iterator<Item = &mut [i16]> {
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
        for &index in &self.indices {
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
                let line = self.starts[k]..self.starts[k + 1];
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
        Lines {
            starts,
            indices,
            values,
        }
    }
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

    proptest! {
        #[test]
        fn transposition_moves_every_entry_and_back(
            matrix in (0usize..30).prop_flat_map(|width| prop::collection::vec(prop::collection::vec(-2i16..3, width), 0..30)),
            threads in 1usize..5,
        ) {
            let width = matrix.first().map_or(0, Vec::len);
            let mut rows = Lines { starts: vec![0], indices: vec![], values: vec![] };
            for row in &matrix {
                for (j, &value) in row.iter().enumerate().filter(|entry| *entry.1 != 0) {
                    rows.indices.push(j as u32);
                    rows.values.push(value);
                }
                rows.starts.push(rows.values.len());
            }
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

        /// Of lines with one value and with several, at any indices.
        #[test]
        fn inner_products_are_those_of_the_entries(
            entries in prop::collection::btree_map(0u32..90, -32_766i16..=32_766, 0..90),
            planes in prop::collection::vec([-16_384i16..=16_384, -16_384i16..=16_384], 90),
            one in prop::option::of(-32_766i16..=32_766),
        ) {
            let values: Vec<i16> = entries.values().map(|&value| one.unwrap_or(value)).collect();
            // A line before and one behind, of other values.
            let starts = vec![0, 1, 1 + values.len(), 2 + values.len()];
            let indices = [7].into_iter().chain(entries.into_keys()).chain([8]).collect();
            let values = [5].into_iter().chain(values).chain([9]).collect();
            let lines = Lines { starts, indices, values };
            let planes = [0, 1].map(|k| planes.iter().map(|plane| plane[k]).collect::<Vec<i16>>());
            let expected = planes.each_ref().map(|plane| {
                lines.line(1).map(|(i, value)| i64::from(plane[i]) * value).sum::<i64>()
            });
            prop_assert_eq!(lines.inner_products(1, planes.each_ref().map(Vec::as_slice)), expected);
        }
    }
}
