//! Dense columns in strips ([`crate::numeric::strips`]), in memory or in files: the only place that knows how they lie.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::numeric::kernel::prefetch;
use crate::numeric::mapped::Mapped;
use crate::numeric::pieces::for_each_piece;
use crate::numeric::strips::{LINE, Line, LineVec, Strips};

/// Lines per piece of work, about.
const LINES: usize = 1 << 14;

/// Records of columns that are told at a time: their lines are fetched from memory together.
const RUN: usize = 4096;

/// Strips between one whose lines are read and the one whose lines memory is asked for meanwhile, where few columns are
/// read.
const LATER: usize = 16;

/// Columns of lattice integers, an entry for each record.
pub(in crate::privacy) struct Columns {
    n_records: usize,
    n_columns: usize,
    lines: Stored,
}

enum Stored {
    Memory(LineVec),
    File(Mapped),
}

impl Columns {
    /// Made strip by strip, by all threads: `fill(start, lines)` sets the lines, which are zeros, of the records from
    /// `start` on, strip by strip; of the last strip it need not leave what is beyond the last record.
    pub(in crate::privacy) fn new(
        n_records: usize,
        n_columns: usize,
        fill: impl Fn(usize, &mut [Line]) + Sync,
    ) -> Self {
        let mut columns = Self::zeros(n_records, n_columns);
        columns.change_strips(fill);
        columns
    }

    /// So many columns of zeros.
    pub(in crate::privacy) fn zeros(n_records: usize, n_columns: usize) -> Self {
        Self {
            n_records,
            n_columns,
            lines: Stored::Memory(LineVec::zeros(n_records.div_ceil(LINE) * n_columns)),
        }
    }

    /// Columns of which `fill(j, start, out)` writes what column j holds from record `start` on.
    pub(in crate::privacy) fn of_columns(
        n_records: usize,
        n_columns: usize,
        fill: impl Fn(usize, usize, &mut [i16]) + Sync,
    ) -> Self {
        Self::new(n_records, n_columns, |start, lines| {
            let records = n_records.min(start + lines.len() / n_columns * LINE) - start;
            let mut column = vec![0; records];
            for j in 0..n_columns {
                fill(j, start, &mut column);
                let pieces = lines[j..].iter_mut().step_by(n_columns);
                for (line, piece) in pieces.zip(column.chunks(LINE)) {
                    line[..piece.len()].copy_from_slice(piece);
                }
            }
        })
    }

    /// Lets a function change the lines of the records from `start` on, strip by strip; what is beyond the last record
    /// stays 0.
    pub(in crate::privacy) fn change_strips(&mut self, change: impl Fn(usize, &mut [Line]) + Sync) {
        let p = self.n_columns.max(1);
        let rest = self.n_records % LINE;
        let lines = self.lines_mut();
        // Few records of many columns are shared among threads too.
        let strips = (lines.len() / p).div_ceil(4 * rayon::current_num_threads());
        let strips = strips.clamp(1, (LINES / p).max(1));
        let (entries, pieces) = (LINE * lines.len(), lines.par_chunks_mut(strips * p));
        for_each_piece(entries, pieces.enumerate(), |(k, lines)| {
            change(k * strips * LINE, lines);
        });
        if rest > 0 {
            let last = lines.len() - lines.len().min(p);
            (lines[last..].iter_mut()).for_each(|line| line[rest..].fill(0));
        }
    }

    /// The same lines in memory, to be changed.
    fn lines_mut(&mut self) -> &mut [Line] {
        if let Stored::File(mapped) = &self.lines {
            let mut lines = LineVec::zeros(mapped.len() / LINE);
            lines.as_flattened_mut().copy_from_slice(mapped);
            self.lines = Stored::Memory(lines);
        }
        match &mut self.lines {
            Stored::Memory(lines) => lines,
            Stored::File(_) => unreachable!("lines were copied"),
        }
    }

    fn lines(&self) -> &[Line] {
        match &self.lines {
            Stored::Memory(lines) => lines,
            Stored::File(mapped) => mapped.as_chunks().0,
        }
    }

    /// The same in a nameless file of a directory.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(in crate::privacy) fn in_file(self, directory: &Path) -> Result<Self> {
        // A file of nothing cannot be mapped.
        if self.lines().is_empty() {
            return Ok(self);
        }
        let mapped = Mapped::write(self.lines().as_flattened(), directory);
        let lines = mapped.map(Stored::File).map_err(|_| Error::Storage)?;
        Ok(Self { lines, ..self })
    }

    pub(in crate::privacy) fn n_records(&self) -> usize {
        self.n_records
    }

    pub(in crate::privacy) fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// The strips, for kernels and for whoever reads all columns of some records.
    pub(in crate::privacy) fn strips(&self) -> Strips<'_> {
        Strips::new(self.lines(), self.n_columns)
    }

    /// The strips of some records, from the first one of a strip on.
    pub(in crate::privacy) fn strips_of(&self, records: Range<usize>) -> Strips<'_> {
        self.strips().of_records(records)
    }

    /// What a column holds of a record.
    pub(in crate::privacy) fn at(&self, record: usize, column: usize) -> i16 {
        self.lines()[record / LINE * self.n_columns + column][record % LINE]
    }

    /// What a column holds from record `start` on.
    pub(in crate::privacy) fn fill(&self, column: usize, start: usize, out: &mut [i16]) {
        let lines =
            &self.lines()[(start / LINE * self.n_columns + column).min(self.lines().len())..];
        let mut pieces = lines.iter().step_by(self.n_columns);
        let (first, out) = out.split_at_mut(out.len().min((LINE - start % LINE) % LINE));
        if !first.is_empty()
            && let Some(line) = pieces.next()
        {
            first.copy_from_slice(&line[start % LINE..][..first.len()]);
        }
        let (whole, last) = out.as_chunks_mut::<LINE>();
        for (out, line) in whole.iter_mut().zip(&mut pieces) {
            *out = *line;
        }
        if let Some(line) = pieces.next() {
            last.copy_from_slice(&line[..last.len()]);
        }
    }

    /// Tells what some columns hold of all records, run by run: `tell(k, run)` of column number k among them.
    pub(in crate::privacy) fn for_each_run(
        &self,
        columns: &[u32],
        mut tell: impl FnMut(usize, &[i16]),
    ) {
        let mut runs = vec![vec![[0; LINE]; RUN.min(self.n_records).div_ceil(LINE)]; columns.len()];
        for start in (0..self.n_records).step_by(RUN) {
            let records = RUN.min(self.n_records - start);
            let strips = self.strips_of(start..start + records);
            for (at, strip) in strips.iter().enumerate() {
                let later = (at + LATER) * self.n_columns;
                for (run, &j) in runs.iter_mut().zip(columns) {
                    if let Some(line) = strips.lines().get(later + j as usize) {
                        prefetch(line, LINE);
                    }
                    run[at] = strip[j as usize];
                }
            }
            for (k, run) in runs.iter().enumerate() {
                tell(k, &run.as_flattened()[..records]);
            }
        }
    }

    /// The same with every entry mapped, line by line: `map(j, line, image)` writes the image of a line of column j.
    pub(in crate::privacy) fn mapped(&self, map: impl Fn(usize, &Line, &mut Line) + Sync) -> Self {
        Self::new(self.n_records, self.n_columns, |start, images| {
            let strips = self.strips().from_record(start).iter();
            for (images, strip) in images.chunks_exact_mut(self.n_columns.max(1)).zip(strips) {
                for (j, (image, line)) in images.iter_mut().zip(strip).enumerate() {
                    map(j, line, image);
                }
            }
        })
    }

    /// Some of the columns, in this order.
    pub(in crate::privacy) fn picked(&self, columns: &[u32]) -> Self {
        Self::new(self.n_records, columns.len(), |start, lines| {
            let strips = self.strips().from_record(start).iter();
            for (lines, strip) in lines.chunks_exact_mut(columns.len()).zip(strips) {
                for (line, &j) in lines.iter_mut().zip(columns) {
                    *line = strip[j as usize];
                }
            }
        })
    }

    /// Some of the records, in this order.
    pub(in crate::privacy) fn rows(&self, positions: &[u32]) -> Self {
        let p = self.n_columns;
        Self::new(positions.len(), p, |start, lines| {
            let pieces = positions[start..].chunks(LINE);
            for (lines, positions) in lines.chunks_exact_mut(p).zip(pieces) {
                for (at, &i) in positions.iter().enumerate() {
                    let (strip, within) = (i as usize / LINE, i as usize % LINE);
                    let from = &self.lines()[strip * p..][..p];
                    for (line, from) in lines.iter_mut().zip(from) {
                        line[at] = from[within];
                    }
                }
            }
        })
    }

    /// The records at ascending positions, where the rest is of no more use: those in memory move up within it, so that
    /// there never is more than all of them.
    pub(in crate::privacy) fn into_rows(mut self, positions: &[u32]) -> Self {
        let p = self.n_columns;
        let Stored::Memory(lines) = &mut self.lines else {
            return self.rows(positions);
        };
        for (at, &i) in positions.iter().enumerate() {
            // Positions ascend: what is read is never behind what was written.
            let (to, from) = (at / LINE * p, i as usize / LINE * p);
            for j in 0..p {
                lines[to + j][at % LINE] = lines[from + j][i as usize % LINE];
            }
        }
        lines.truncate(positions.len().div_ceil(LINE) * p);
        lines.shrink();
        let rest = positions.len() % LINE;
        if rest > 0 {
            let last = lines.len() - p;
            (lines[last..].iter_mut()).for_each(|line| line[rest..].fill(0));
        }
        self.n_records = positions.len();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(i: usize, j: usize) -> i16 {
        ((i * 7919 + j * 104_729 + 1) % 32_767) as i16 - 16_383
    }

    fn made(n: usize, p: usize) -> Columns {
        Columns::of_columns(n, p, |j, start, out| {
            (start..).zip(out).for_each(|(i, out)| *out = entry(i, j));
        })
    }

    /// Entries as they should be, zeros behind the last record, and a line of every column in each strip.
    fn check(columns: &Columns, (n, p): (usize, usize), expected: impl Fn(usize, usize) -> i16) {
        assert_eq!((columns.n_records(), columns.n_columns()), (n, p));
        let strips = columns.strips();
        assert_eq!(strips.lines().len(), n.div_ceil(LINE) * p);
        for (k, strip) in strips.iter().enumerate() {
            for (i, j) in (0..LINE).flat_map(|i| (0..p).map(move |j| (k * LINE + i, j))) {
                let here = if i < n { expected(i, j) } else { 0 };
                assert_eq!(strip[j][i % LINE], here, "record {i}, column {j}");
                assert!(i >= n || columns.at(i, j) == here);
            }
        }
    }

    proptest! {
        /// Also where threads share few records of many columns, and where pieces of several strips end.
        #[test]
        fn columns_hold_what_was_put_in(
            (n, p) in prop_oneof![(1usize..140, 0usize..6), (1usize..70, 1000usize..1003), (25_000usize..25_003, 5usize..7)],
            start in any::<prop::sample::Index>(),
            seed in any::<u32>(),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let columns = made(n, p);
            check(&columns, (n, p), entry);
            let columns = columns.in_file(directory.path()).unwrap();
            check(&columns, (n, p), entry);
            let start = start.index(n);
            for j in 0..p.min(5) {
                for end in [start, n.min(start + 1), n.min(start + 33), n] {
                    let mut out = vec![7; end - start];
                    columns.fill(j, start, &mut out);
                    prop_assert!((start..).zip(&out).all(|(i, &x)| x == entry(i, j)));
                }
            }
            let some: Vec<u32> = (0..p.min(4) as u32).rev().collect();
            let mut told = vec![Vec::new(); some.len()];
            columns.for_each_run(&some, |k, run| told[k].extend_from_slice(run));
            for (told, &j) in told.iter().zip(&some) {
                prop_assert!(told.len() == n && told.iter().enumerate().all(|(i, &x)| x == entry(i, j as usize)));
            }
            check(&columns.picked(&some), (n, some.len()), |i, k| entry(i, some[k] as usize));
            let image = columns.mapped(|j, line, image| {
                image.iter_mut().zip(line).for_each(|(image, &x)| *image = x / 2 + j as i16);
            });
            check(&image, (n, p), |i, j| entry(i, j) / 2 + j as i16);
            let kept = |i: &u32| (i ^ seed).wrapping_mul(0x9e37_79b9) >> 30 == 0;
            let positions: Vec<u32> = (0..n as u32).filter(kept).collect();
            let picked = |i: usize, j: usize| entry(positions[i] as usize, j);
            check(&columns.rows(&positions), (positions.len(), p), picked);
            check(&columns.into_rows(&positions), (positions.len(), p), picked);
            check(&made(n, p).into_rows(&positions), (positions.len(), p), picked);
        }
    }

    /// Those in a file are copied before they are changed.
    #[test]
    fn pieces_may_be_changed_and_what_is_beyond_stays_zero() {
        let (n, p, directory) = (77, 3, tempfile::tempdir().unwrap());
        for mut columns in [made(n, p), made(n, p).in_file(directory.path()).unwrap()] {
            columns.change_strips(|start, lines| {
                assert!(start.is_multiple_of(LINE) && lines.len().is_multiple_of(p));
                lines
                    .as_flattened_mut()
                    .iter_mut()
                    .for_each(|x| *x = x.wrapping_add(9));
            });
            check(&columns, (n, p), |i, j| entry(i, j).wrapping_add(9));
        }
    }
}
