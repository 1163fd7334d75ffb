//! Margins and sums of slopes chunk by chunk, of dense and of packed records: a chunk is fetched from memory once for
//! all that is made of it.

use std::ops::Range;

use rayon::prelude::*;

use super::bounded_data::{BoundedData, Features, chunk_of};
use super::packed::{Coded, ROWS};
use super::planes::Step;
use crate::numeric::kernel::{
    AHEAD, Fetched, InnerProducts, Weights, add_products, for_wide_vectors,
};
use crate::numeric::strips::LINE;
use crate::numeric::strips::Strips;

/// Records per piece of work, at most: sums of so many slopes of at most 2^14 fit 32 bits.
pub(super) const CHUNK: usize = 4096;

/// Consecutive columns that are stored together.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    /// Columns as they stand.
    Wide(Strips<'a>),
    Coded(&'a Coded),
}

/// The columns of records, group by group.
pub(super) struct Groups<'a> {
    n_records: usize,
    groups: Vec<(Range<usize>, Part<'a>)>,
    /// Whether there are codes at all.
    coded: bool,
}

/// What steps add to the margins of some planes.
pub(super) struct Addends<'g> {
    /// Of each group of wide columns, what their entries are multiplied by.
    wide: Vec<(Strips<'g>, Weights)>,
    /// Of each plane, codes of the records and what each of them adds.
    coded: Vec<Vec<ByCode<'g>>>,
    /// Of each plane, what is added to all margins.
    constants: Vec<i64>,
}

/// Codes of the records, and what each of them adds.
type ByCode<'g> = (&'g [u8], Box<[i64; ROWS]>);

/// Sums of slopes, group by group, of some planes of slopes.
pub(super) struct SlopeSums {
    sums: Vec<PartSums>,
    /// Slopes of a chunk of records in some planes, side by side.
    beside: Vec<[i16; LANES]>,
}

/// Sums of slopes of one group.
enum PartSums {
    /// Times each of the wide columns.
    Wide(InnerProducts),
    /// Of a single plane, by code.
    ByCode(Box<[i64; ROWS]>),
    /// Of several, by code, [`LANES`] planes side by side, then the next.
    Beside(Vec<[i64; LANES]>),
}

/// Planes whose slopes are added at once.
const LANES: usize = 4;

impl BoundedData {
    /// The features, where they are not sparse.
    pub(super) fn groups(&self) -> Option<Groups<'_>> {
        match &self.features {
            Features::Dense(columns) => {
                let all = (0..self.schema.n_features(), Part::Wide(columns.strips()));
                Some(Groups::new(self.n_records(), vec![all]))
            }
            Features::Packed(packed) => Some(packed.groups()),
            Features::Sparse { .. } => None,
        }
    }
}

impl<'a> Groups<'a> {
    pub(super) fn new(n_records: usize, groups: Vec<(Range<usize>, Part<'a>)>) -> Self {
        let coded = (groups.iter()).any(|(_, part)| matches!(part, Part::Coded(_)));
        Self {
            n_records,
            groups,
            coded,
        }
    }

    /// Number of columns that stand as they are.
    pub(super) fn wide_columns(&self) -> usize {
        let wide = |(columns, part): &(Range<usize>, Part<'_>)| match part {
            Part::Wide(_) => columns.len(),
            Part::Coded(_) => 0,
        };
        self.groups.iter().map(wide).sum()
    }

    /// Records of a chunk: what is read of them stays in a near cache.
    pub(super) fn chunk(&self) -> usize {
        chunk_of(self.wide_columns() + self.groups.len())
    }

    /// Records of a piece of a chunk, of columns as they stand: what is read of them stays in the nearest cache, and
    /// the next piece arrives from memory while slopes and sums of this one are taken.
    pub(super) fn piece(&self) -> usize {
        match self.coded {
            true => self.chunk(),
            false => (AHEAD / self.wide_columns().max(1)).max(1) * LINE,
        }
    }

    /// Records of a chunk that is read but once: longer ones have fewer sums to add up, as long as each thread has some
    /// of them.
    pub(super) fn long_chunk(&self) -> usize {
        let share = self.n_records / (8 * rayon::current_num_threads());
        CHUNK.min(share.next_multiple_of(LINE)).max(self.chunk())
    }

    /// What steps add to the margins of so many planes, each to that of its output.
    pub(super) fn addends(&self, steps: &[Step], planes: usize) -> Addends<'_> {
        // Of each group, and of each plane.
        let mut terms = vec![vec![Vec::new(); planes]; self.groups.len()];
        let mut constants = vec![0; planes];
        for step in steps {
            constants[step.output()] += step.constant();
            for &(j, weight) in step.terms() {
                let k = (self.groups).partition_point(|(columns, _)| columns.end <= j);
                terms[k][step.output()].push((j - self.groups[k].0.start, weight));
            }
        }
        let (mut wide, mut coded) = (Vec::new(), vec![Vec::new(); planes]);
        for ((_, part), terms) in self.groups.iter().zip(terms) {
            match part {
                Part::Wide(strips) => wide.push((*strips, Weights::new(terms, strips.columns()))),
                Part::Coded(codes) => {
                    for (coded, terms) in coded.iter_mut().zip(terms) {
                        coded.extend(codes.addends(&terms));
                    }
                }
            }
        }
        Addends {
            wide,
            coded,
            constants,
        }
    }

    /// All columns and what each is multiplied by, where all stand as they are and some of them move.
    pub(super) fn only<'s>(&self, addends: &'s Addends<'a>) -> Option<(Strips<'a>, &'s Weights)> {
        let ([(_, Part::Wide(_))], [(strips, weights)]) = (&self.groups[..], &addends.wide[..])
        else {
            return None;
        };
        (weights.terms() > 0).then_some((*strips, weights))
    }

    /// No sums yet, of so many planes.
    pub(super) fn no_sums(&self, planes: usize) -> SlopeSums {
        self.none(planes, InnerProducts::zeros)
    }

    /// The same of planes of limbs, of at most 2^13 each.
    pub(super) fn no_sums_of_limbs(&self, planes: usize) -> SlopeSums {
        self.none(planes, InnerProducts::of_limbs)
    }

    fn none(&self, planes: usize, wide: fn(usize, usize) -> InnerProducts) -> SlopeSums {
        let none = |(columns, part): &(Range<usize>, Part<'_>)| match part {
            Part::Wide(_) => PartSums::Wide(wide(columns.len(), planes)),
            Part::Coded(_) if planes == 1 => PartSums::ByCode(Box::new([0; ROWS])),
            Part::Coded(_) => PartSums::Beside(vec![[0; LANES]; planes.div_ceil(LANES) * ROWS]),
        };
        let sums = self.groups.iter().map(none);
        SlopeSums {
            sums: sums.collect(),
            beside: Vec::new(),
        }
    }

    /// Adds the slopes of at most [`CHUNK`] `records` of some planes, which begin with record `start`; with the first
    /// of the records a strip begins. Their margins were `fetched` as is said.
    pub(super) fn add_slopes<D: AsRef<[i16]>>(
        &self,
        start: usize,
        planes: &[D],
        (records, fetched): (Range<usize>, Fetched),
        sums: &mut SlopeSums,
    ) {
        let SlopeSums { sums, beside } = sums;
        for ((_, part), sums) in self.groups.iter().zip(&mut *sums) {
            match (part, sums) {
                (Part::Wide(strips), PartSums::Wide(sums)) => {
                    let strips = strips.from_record(start + records.start);
                    sums.add(strips, planes, records.clone(), fetched);
                }
                (Part::Coded(coded), PartSums::ByCode(sums)) => {
                    let codes = coded.codes_of(start, &records);
                    add_by_code(codes, &planes[0].as_ref()[records.clone()], sums);
                }
                _ => {}
            }
        }
        if !self.coded || planes.len() == 1 {
            return;
        }
        for (block, several) in planes.chunks(LANES).enumerate() {
            put_side_by_side(several, records.clone(), beside);
            for ((_, part), sums) in self.groups.iter().zip(&mut *sums) {
                if let (Part::Coded(coded), PartSums::Beside(sums)) = (part, sums) {
                    let codes = coded.codes_of(start, &records);
                    add_several_by_code(codes, beside, &mut sums[block * ROWS..]);
                }
            }
        }
    }

    /// The slopes of all records, plane by plane, by all threads.
    pub(super) fn sums_of(&self, planes: &[&[i16]]) -> SlopeSums {
        let none = || self.no_sums(planes.len());
        let chunk = self.long_chunk();
        (0..self.n_records.div_ceil(chunk))
            .into_par_iter()
            .fold(none, |mut sums, k| {
                let here = k * chunk..self.n_records.min((k + 1) * chunk);
                self.add_slopes(0, planes, (here, Fetched::ByMargins), &mut sums);
                sums
            })
            .reduce(none, SlopeSums::plus)
    }

    /// sum_i d_i x_ij for every column, of the slopes of a plane that were added.
    ///
    /// No overflow: with n < 2^31 slopes of at most 2^14, the sizes of the sums by code add up to less than 2^45, and
    /// the values of the table are below 2^14.
    pub(super) fn inner_products(&self, plane: usize, sums: &SlopeSums, out: &mut [i64]) {
        for ((columns, part), sums) in self.groups.iter().zip(&sums.sums) {
            let out = &mut out[columns.clone()];
            match (part, sums) {
                (Part::Wide(_), PartSums::Wide(sums)) => sums.of_plane(plane, out),
                (Part::Coded(coded), PartSums::ByCode(sums)) => {
                    coded.inner_products(sums.iter().copied(), out);
                }
                (Part::Coded(coded), PartSums::Beside(sums)) => {
                    let sums = &sums[plane / LANES * ROWS..];
                    coded.inner_products(sums.iter().map(|sums| sums[plane % LANES]), out);
                }
                _ => unreachable!("sums are made group by group"),
            }
        }
    }
}

impl Addends<'_> {
    /// Of each plane, what is added to all margins.
    pub(super) fn constants(&self) -> &[i64] {
        &self.constants
    }

    /// Adds to the margins of the records from `start` on, with which a strip begins, plane by plane.
    pub(super) fn add(&self, margins: &mut [&mut [i64]], start: usize) {
        self.add_products(margins, start, Fetched::ByMargins);
        for (margins, &constant) in margins.iter_mut().zip(&self.constants) {
            if constant != 0 {
                (margins.iter_mut()).for_each(|margin| *margin = margin.wrapping_add(constant));
            }
        }
    }

    /// The same but for the constants.
    pub(super) fn add_products(&self, margins: &mut [&mut [i64]], start: usize, fetched: Fetched) {
        for (strips, weights) in &self.wide {
            add_products(margins, strips.from_record(start), weights, fetched);
        }
        for (margins, coded) in margins.iter_mut().zip(&self.coded) {
            add_by_codes(margins, coded, start);
        }
    }
}

/// Adds what the codes of the records from `start` on add to their margins.
fn add_by_codes(margins: &mut [i64], coded: &[ByCode<'_>], start: usize) {
    let m = margins.len();
    let (fours, rest) = coded.as_chunks::<4>();
    for four in fours {
        let codes = four.each_ref().map(|(codes, _)| &codes[start..][..m]);
        for (i, margin) in margins.iter_mut().enumerate() {
            let addends = |k: usize| four[k].1[usize::from(codes[k][i])];
            let sum = (addends(0).wrapping_add(addends(1)))
                .wrapping_add(addends(2).wrapping_add(addends(3)));
            *margin = margin.wrapping_add(sum);
        }
    }
    for (codes, addends) in rest {
        for (margin, &code) in margins.iter_mut().zip(&codes[start..]) {
            *margin = margin.wrapping_add(addends[usize::from(code)]);
        }
    }
}

impl Coded {
    /// Codes of some records of a chunk that begins with record `start`.
    fn codes_of(&self, start: usize, records: &Range<usize>) -> &[u8] {
        &self.codes[start + records.start..][..records.len()]
    }

    /// sum_i d_i x_ij for every column, of sums of d by code.
    fn inner_products(&self, sums: impl Iterator<Item = i64> + Clone, out: &mut [i64]) {
        for (place, out) in out.iter_mut().enumerate() {
            let values = self.values(place).iter().zip(sums.clone());
            *out = values.map(|(&x, sum)| i64::from(x) * sum).sum();
        }
    }

    /// Codes of all records and what each of them adds, where any of these columns are multiplied.
    fn addends(&self, terms: &[(usize, i64)]) -> Option<ByCode<'_>> {
        let mut addends = Box::new([0; ROWS]);
        for &(place, weight) in terms {
            let values = addends.iter_mut().zip(self.values(place));
            values.for_each(|(sum, &x)| *sum += weight * i64::from(x));
        }
        (!terms.is_empty()).then_some((&self.codes[..], addends))
    }
}

impl SlopeSums {
    /// The sums of both.
    pub(super) fn plus(mut self, more: Self) -> Self {
        for (sums, more) in self.sums.iter_mut().zip(more.sums) {
            match (sums, more) {
                (PartSums::Wide(sums), PartSums::Wide(more)) => *sums = sums.plus(&more),
                (PartSums::ByCode(sums), PartSums::ByCode(more)) => {
                    add_all(&mut sums[..], &more[..])
                }
                (PartSums::Beside(sums), PartSums::Beside(more)) => {
                    add_all(sums.as_flattened_mut(), more.as_flattened());
                }
                _ => unreachable!("sums are made group by group"),
            }
        }
        self
    }
}

fn add_all(sums: &mut [i64], more: &[i64]) {
    (sums.iter_mut().zip(more)).for_each(|(sum, more)| *sum += more);
}

/// The slopes of each of these records in some planes.
fn put_side_by_side<D: AsRef<[i16]>>(
    planes: &[D],
    records: Range<usize>,
    beside: &mut Vec<[i16; LANES]>,
) {
    beside.clear();
    beside.resize(records.len(), [0; LANES]);
    for (lane, slopes) in planes.iter().enumerate() {
        let pairs = beside.iter_mut().zip(&slopes.as_ref()[records.clone()]);
        pairs.for_each(|(beside, &slope)| beside[lane] = slope);
    }
}

/// sums[c] += the slopes of the records with code c, plane by plane.
fn add_several_by_code(codes: &[u8], slopes: &[[i16; LANES]], sums: &mut [[i64; LANES]]) {
    let Some(sums) = sums.first_chunk_mut::<ROWS>() else {
        unreachable!("sums of every code")
    };
    for_wide_vectors(
        #[inline(always)]
        || {
            for (&code, slopes) in codes.iter().zip(slopes) {
                let sums = &mut sums[usize::from(code)];
                for (sum, &slope) in sums.iter_mut().zip(slopes) {
                    *sum = sum.wrapping_add(i64::from(slope));
                }
            }
        },
    );
}

/// The same of one plane of at most [`CHUNK`] slopes. Four records go to four tables: the next one need not wait for
/// the sum that the last one was added to.
fn add_by_code(codes: &[u8], slopes: &[i16], sums: &mut [i64; ROWS]) {
    debug_assert!(codes.len() <= CHUNK);
    let mut tables = [[0i32; ROWS]; 4];
    let (fours, rest) = codes.as_chunks::<4>();
    let (slopes_of_fours, slopes_of_rest) = slopes.as_chunks::<4>();
    for (codes, slopes) in fours.iter().zip(slopes_of_fours) {
        for k in 0..4 {
            let sum = &mut tables[k][usize::from(codes[k])];
            *sum = sum.wrapping_add(i32::from(slopes[k]));
        }
    }
    for (&code, &slope) in rest.iter().zip(slopes_of_rest) {
        tables[0][usize::from(code)] += i32::from(slope);
    }
    for table in &tables {
        for (sum, &more) in sums.iter_mut().zip(table) {
            *sum = sum.wrapping_add(i64::from(more));
        }
    }
}
