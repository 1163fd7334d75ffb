//! Columns of few public values, several to a byte of every record: indicators, levels, and one-hot blocks as codes.
//!
//! Which values a column can have follows from its bounds and from the kind of numbers it comes in, both public, so
//! that how records are stored tells nothing of them. A group of columns has a table with a row for each combination of
//! their values, at most 256, and a record has the number of its row. The table holds the integers that dense columns
//! would, so every sum is the same.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::columns::Columns;
use super::groups::{CHUNK, Groups, Part};
use crate::numeric::strips::LINE;

/// Rows of a table: as many as a byte tells apart.
pub(super) const ROWS: usize = 256;

/// Records as groups of columns.
pub(in crate::privacy) struct Packed {
    n_records: usize,
    groups: Vec<Group>,
}

/// Consecutive columns that are stored together.
pub(super) struct Group {
    /// Their columns among those of the records.
    pub columns: Range<usize>,
    pub entries: Entries,
}

pub(super) enum Entries {
    /// Columns of any values, as they stand.
    Wide(Columns),
    Coded(Coded),
}

/// A byte for each record, and what it stands for.
pub(super) struct Coded {
    pub codes: Arc<Vec<u8>>,
    /// The values of each column, one column after the other: an entry for every code.
    pub table: Vec<i16>,
    /// Number of codes, at most [`ROWS`].
    pub rows: usize,
}

impl Coded {
    /// Of each code, the value in a column of the group.
    pub(super) fn values(&self, column: usize) -> &[i16] {
        &self.table[column * self.rows..][..self.rows]
    }

    /// Of the same records, with another table.
    fn with_table(&self, table: Vec<i16>) -> Self {
        Self {
            codes: Arc::clone(&self.codes),
            table,
            rows: self.rows,
        }
    }

    /// How many records have each code.
    fn numbers(&self) -> [i64; ROWS] {
        let mut numbers = [0; ROWS];
        self.codes
            .iter()
            .for_each(|&code| numbers[usize::from(code)] += 1);
        numbers
    }
}

impl Packed {
    /// # Panics
    /// Unless the groups' columns follow one another, in an entry for each record.
    pub(super) fn new(n_records: usize, groups: Vec<Group>) -> Self {
        let mut end = 0;
        for group in &groups {
            assert_eq!(group.columns.start, end);
            end = group.columns.end;
            match &group.entries {
                Entries::Wide(columns) => {
                    let size = (columns.n_records(), columns.n_columns());
                    assert_eq!(size, (n_records, group.columns.len()));
                }
                Entries::Coded(coded) => {
                    assert_eq!(coded.codes.len(), n_records);
                    assert_eq!(coded.table.len(), coded.rows * group.columns.len());
                }
            }
        }
        Self { n_records, groups }
    }

    /// The group of a column, and its place there.
    fn at(&self, column: usize) -> (&Group, usize) {
        let k = self
            .groups
            .partition_point(|group| group.columns.end <= column);
        let group = &self.groups[k];
        (group, column - group.columns.start)
    }

    /// What a column holds from record `start` on.
    pub(super) fn fill(&self, column: usize, start: usize, out: &mut [i16]) {
        let (group, place) = self.at(column);
        match &group.entries {
            Entries::Wide(columns) => columns.fill(place, start, out),
            Entries::Coded(coded) => {
                // Every code has an entry: nothing is checked in the loop.
                let mut values = [0; ROWS];
                values[..coded.rows].copy_from_slice(coded.values(place));
                for (out, &code) in out.iter_mut().zip(&coded.codes[start..]) {
                    *out = values[usize::from(code)];
                }
            }
        }
    }

    /// Tells what every column holds of a record.
    pub(super) fn for_each_entry(&self, record: usize, mut tell: impl FnMut(usize, i16)) {
        for group in &self.groups {
            for (place, column) in group.columns.clone().enumerate() {
                tell(
                    column,
                    match &group.entries {
                        Entries::Wide(columns) => columns.at(record, place),
                        Entries::Coded(coded) => {
                            coded.values(place)[usize::from(coded.codes[record])]
                        }
                    },
                );
            }
        }
    }

    /// Tells every value of a column, with a number of records that have it.
    pub(super) fn for_each_value(&self, column: usize, mut tell: impl FnMut(i16, i64)) {
        let (group, place) = self.at(column);
        match &group.entries {
            Entries::Wide(columns) => {
                columns.for_each_run(&[place as u32], |_, run| {
                    run.iter().for_each(|&x| tell(x, 1))
                });
            }
            Entries::Coded(coded) => {
                let numbers = coded.numbers();
                let values = coded.values(place).iter().zip(numbers);
                values.for_each(|(&x, number)| tell(x, number));
            }
        }
    }

    /// The same columns with every value mapped.
    pub(super) fn map(&self, map: impl Fn(usize, i16) -> i16 + Sync) -> Self {
        let groups = self.groups.iter().map(|group| {
            let first = group.columns.start;
            let entries = match &group.entries {
                Entries::Wide(columns) => Entries::Wide(columns.mapped(|place, line, image| {
                    let pairs = image.iter_mut().zip(line);
                    pairs.for_each(|(image, &x)| *image = map(first + place, x));
                })),
                Entries::Coded(coded) => {
                    let values = (0..).zip(coded.table.iter());
                    let image = values.map(|(k, &x): (usize, _)| map(first + k / coded.rows, x));
                    Entries::Coded(coded.with_table(image.collect()))
                }
            };
            let columns = group.columns.clone();
            Group { columns, entries }
        });
        Self::new(self.n_records, groups.collect())
    }

    /// Some of the records, in this order.
    pub(super) fn rows(&self, positions: &[u32]) -> Self {
        let groups = self.groups.iter().map(|group| {
            let entries = match &group.entries {
                Entries::Wide(columns) => Entries::Wide(columns.rows(positions)),
                Entries::Coded(coded) => Entries::Coded(Coded {
                    codes: Arc::new(positions.iter().map(|&i| coded.codes[i as usize]).collect()),
                    table: coded.table.clone(),
                    rows: coded.rows,
                }),
            };
            let columns = group.columns.clone();
            Group { columns, entries }
        });
        Self::new(positions.len(), groups.collect())
    }

    /// Some of the columns, where they ascend.
    pub(super) fn restricted(&self, columns: &[u32]) -> Option<Self> {
        if columns.windows(2).any(|pair| pair[0] >= pair[1]) {
            return None;
        }
        let (mut groups, mut rest, mut start) = (Vec::new(), columns, 0);
        for group in &self.groups {
            let (here, later) =
                rest.split_at(rest.partition_point(|&j| (j as usize) < group.columns.end));
            rest = later;
            if here.is_empty() {
                continue;
            }
            let places: Vec<u32> = here
                .iter()
                .map(|&j| j - group.columns.start as u32)
                .collect();
            let entries = match &group.entries {
                Entries::Wide(columns) => Entries::Wide(columns.picked(&places)),
                Entries::Coded(coded) => {
                    let kept = places
                        .iter()
                        .flat_map(|&place| coded.values(place as usize));
                    Entries::Coded(coded.with_table(kept.copied().collect()))
                }
            };
            let columns = start..start + here.len();
            start = columns.end;
            groups.push(Group { columns, entries });
        }
        Some(Self::new(self.n_records, groups))
    }

    /// For each record the sum of a function of its entries. Sums must be exact, whatever the order.
    pub(super) fn sums<S>(&self, of: impl Fn(usize, i16) -> S + Sync) -> Vec<S>
    where
        S: Copy + Default + std::ops::AddAssign + Send + Sync,
    {
        let of_codes: Vec<Vec<S>> = (self.groups.iter())
            .map(|group| match &group.entries {
                Entries::Wide(_) => Vec::new(),
                Entries::Coded(coded) => {
                    let mut sums = vec![S::default(); coded.rows];
                    for (place, column) in group.columns.clone().enumerate() {
                        let values = sums.iter_mut().zip(coded.values(place));
                        values.for_each(|(sum, &x)| *sum += of(column, x));
                    }
                    sums
                }
            })
            .collect();
        let mut sums = vec![S::default(); self.n_records];
        (sums.par_chunks_mut(CHUNK).enumerate()).for_each(|(k, sums)| {
            let start = k * CHUNK;
            for (group, of_codes) in self.groups.iter().zip(&of_codes) {
                match &group.entries {
                    Entries::Wide(columns) => {
                        let strips = columns.strips().from_record(start);
                        for (sums, strip) in sums.chunks_mut(LINE).zip(strips.iter()) {
                            for (line, column) in strip.iter().zip(group.columns.clone()) {
                                let pairs = sums.iter_mut().zip(line);
                                pairs.for_each(|(sum, &x)| *sum += of(column, x));
                            }
                        }
                    }
                    Entries::Coded(coded) => {
                        let pairs = sums.iter_mut().zip(&coded.codes[start..]);
                        pairs.for_each(|(sum, &code)| *sum += of_codes[usize::from(code)]);
                    }
                }
            }
        });
        sums
    }

    /// The groups, to be read chunk by chunk.
    pub(super) fn groups(&self) -> Groups<'_> {
        let groups = self.groups.iter().map(|group| {
            let part = match &group.entries {
                Entries::Wide(columns) => Part::Wide(columns.strips()),
                Entries::Coded(coded) => Part::Coded(coded),
            };
            (group.columns.clone(), part)
        });
        Groups::new(self.n_records, groups.collect())
    }
}
