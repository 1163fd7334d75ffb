//! Columns of 16-bit integers in strips: of 32 consecutive records a strip holds one line of every column, side by
//! side.
//!
//! A line is a cache line, so that whoever reads some records reads memory in the order in which it lies, whatever the
//! number of records and of columns is. The last strip is padded with zeros.

use std::ops::{Deref, DerefMut, Range};

use super::kernel::on_large_pages;

/// Records of a strip.
pub const LINE: usize = 32;

/// What a column holds of the records of a strip.
pub type Line = [i16; LINE];

/// Bytes of a cache line.
const CACHE_LINE: usize = 64;

/// Strips one after the other: each has a line of every column.
#[derive(Debug, Clone, Copy)]
pub struct Strips<'a> {
    lines: &'a [Line],
    columns: usize,
}

impl<'a> Strips<'a> {
    /// # Panics
    /// Unless the lines are those of whole strips.
    pub fn new(lines: &'a [Line], columns: usize) -> Self {
        assert!(lines.len().is_multiple_of(columns.max(1)));
        Self { lines, columns }
    }

    /// Number of columns.
    pub fn columns(self) -> usize {
        self.columns
    }

    /// Number of strips, without columns none.
    pub fn len(self) -> usize {
        self.lines.len() / self.columns.max(1)
    }

    /// Whether there is no entry.
    pub fn is_empty(self) -> bool {
        self.lines.is_empty()
    }

    /// Strips from the one on that begins with this record.
    ///
    /// # Panics
    /// Where none begins with it.
    #[must_use]
    pub fn from_record(self, record: usize) -> Self {
        assert!(record.is_multiple_of(LINE));
        Self {
            lines: &self.lines[record / LINE * self.columns..],
            columns: self.columns,
        }
    }

    /// The strips of these records, of which the first begins one.
    ///
    /// # Panics
    /// Where none begins with it, or where there are fewer records.
    #[must_use]
    pub fn of_records(self, records: Range<usize>) -> Self {
        let strips = self.from_record(records.start);
        Self {
            lines: &strips.lines[..records.len().div_ceil(LINE) * self.columns],
            columns: self.columns,
        }
    }

    /// Strip by strip the lines of all columns.
    pub fn iter(self) -> std::slice::ChunksExact<'a, Line> {
        self.lines.chunks_exact(self.columns.max(1))
    }

    /// All lines, strip by strip.
    pub fn lines(self) -> &'a [Line] {
        self.lines
    }
}

/// Lines in memory, on large pages where the system has them; each of them is a cache line.
#[derive(Default)]
pub struct LineVec {
    entries: Vec<i16>,
    /// Entries before the first cache line.
    skipped: usize,
}

impl LineVec {
    /// So many lines of zeros. Pages that are not written are not touched.
    pub fn zeros(len: usize) -> Self {
        // A cache line more, for large allocations begin a few bytes after one.
        let entries = on_large_pages(vec![0; len * LINE + CACHE_LINE / size_of::<i16>()]);
        let skipped = entries.as_ptr().align_offset(CACHE_LINE);
        // An offset may not be known; then lines begin where they may.
        let skipped = if skipped < LINE { skipped } else { 0 };
        let mut lines = Self { entries, skipped };
        lines.truncate(len);
        lines
    }

    /// Forgets all lines but so many, whose place in memory stays.
    pub fn truncate(&mut self, len: usize) {
        self.entries.truncate(self.skipped + len * LINE);
    }

    /// Gives memory back that no line takes.
    pub fn shrink(&mut self) {
        self.entries.shrink_to_fit();
    }
}

impl Deref for LineVec {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        self.entries[self.skipped..].as_chunks().0
    }
}

impl DerefMut for LineVec {
    fn deref_mut(&mut self) -> &mut [Line] {
        self.entries[self.skipped..].as_chunks_mut().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cache_lines() {
        for len in [0, 1, 2, 77, 100_000] {
            let mut lines = LineVec::zeros(len);
            assert!(lines.len() == len && lines.iter().all(|line| *line == [0; LINE]));
            assert!(lines.as_ptr().cast::<i16>().align_offset(CACHE_LINE) == 0);
            for (k, line) in lines.iter_mut().enumerate() {
                line.fill(k as i16);
            }
            lines.truncate(len / 2);
            lines.shrink();
            assert_eq!(lines.len(), len / 2);
            assert!(
                (0..)
                    .zip(lines.iter())
                    .all(|(k, line)| *line == [k as i16; LINE])
            );
        }
    }

    #[test]
    fn strips_have_a_line_of_every_column() {
        let lines: Vec<Line> = (0..15).map(|k| [k; LINE]).collect();
        let strips = Strips::new(&lines, 5);
        assert_eq!((strips.columns(), strips.len()), (5, 3));
        let firsts: Vec<i16> = strips.iter().map(|strip| strip[0][0]).collect();
        assert_eq!(firsts, [0, 5, 10]);
        let rest = strips.from_record(LINE);
        assert_eq!((rest.len(), rest.lines()[0][7]), (2, 5));
        assert!(strips.from_record(3 * LINE).is_empty());
        let middle = strips.of_records(LINE..LINE + 1);
        assert_eq!((middle.len(), middle.lines()[4][0]), (1, 9));
        let nothing = Strips::new(&[], 0);
        assert!(nothing.is_empty() && nothing.iter().next().is_none());
    }
}
