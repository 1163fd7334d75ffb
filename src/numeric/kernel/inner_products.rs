//! Inner products of all columns of strips with planes of integers, piece by piece of the records.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use super::gram::RUN;
#[cfg(target_arch = "x86_64")]
use super::half_lines;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Lanes, no_lanes};
use super::memory::Fetched;
#[cfg(target_arch = "x86_64")]
use super::width::{Width, adds_products, width};
use crate::numeric::strips::{LINE, Line, Strips};

#[cfg(target_arch = "x86_64")]
pub(super) mod x86;

/// Inner products of all columns with each of several planes of d, which add up piece by piece of the records.
///
/// Products are at most 16383 2^14; sums stay below 2^59, as those of fewer than 2^31 products do.
#[derive(Clone)]
pub struct InnerProducts {
    pub(super) columns: usize,
    pub(super) planes: usize,
    /// Those of the first plane, then those of the next.
    sums: Vec<i64>,
    /// Lines whose products with several planes add up in 32 bits.
    #[cfg(target_arch = "x86_64")]
    run: usize,
    /// What the widest kernel has yet to add to the sums of a single plane.
    #[cfg(target_arch = "x86_64")]
    lanes: Vec<Lanes>,
    /// What the one for half lines has yet to add to those of each plane.
    #[cfg(target_arch = "x86_64")]
    half_lanes: Vec<half_lines::Lanes>,
    /// Strips that are in the lanes.
    #[cfg(target_arch = "x86_64")]
    pub(super) strips: usize,
}

impl InnerProducts {
    /// Of nothing yet.
    pub fn zeros(columns: usize, planes: usize) -> Self {
        Self {
            columns,
            planes,
            sums: vec![0; planes * columns],
            #[cfg(target_arch = "x86_64")]
            run: RUN,
            #[cfg(target_arch = "x86_64")]
            lanes: Vec::new(),
            #[cfg(target_arch = "x86_64")]
            half_lanes: Vec::new(),
            #[cfg(target_arch = "x86_64")]
            strips: 0,
        }
    }

    /// The same of planes of limbs, of at most [`MAX_LIMB`] each: products of twice as many lines fit 32 bits.
    ///
    /// [`MAX_LIMB`]: super::MAX_LIMB
    pub fn of_limbs(columns: usize, planes: usize) -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            run: 2 * RUN,
            ..Self::zeros(columns, planes)
        }
    }

    /// Adds those with `records` of the planes, of which the first is the first of the strips; margins of these records
    /// were `fetched` as is said.
    ///
    /// # Panics
    /// Where there are other columns or planes than these, or fewer records.
    pub fn add<D: AsRef<[i16]>>(
        &mut self,
        strips: Strips<'_>,
        planes: &[D],
        records: Range<usize>,
        fetched: Fetched,
    ) {
        assert!(planes.len() == self.planes && strips.columns() == self.columns);
        if self.columns == 0 {
            return;
        }
        let (mut first, mut at) = (0, (&records, fetched));
        while let rest @ [_, ..] = &planes[first..] {
            match &rest[..together(rest.len())] {
                [a] => self.add_planes(first, strips, [a], at),
                [a, b] => self.add_planes(first, strips, [a, b], at),
                [a, b, c] => self.add_planes(first, strips, [a, b, c], at),
                _ => unreachable!("at most three planes at once"),
            }
            first += together(rest.len());
            // Others read what is near by then.
            at.1 = Fetched::ByMargins;
        }
    }

    fn add_planes<D: AsRef<[i16]>, const P: usize>(
        &mut self,
        first: usize,
        strips: Strips<'_>,
        planes: [&D; P],
        (records, fetched): (&Range<usize>, Fetched),
    ) {
        let (m, d) = (records.len(), planes.map(|d| &d.as_ref()[records.clone()]));
        let (whole, rest) = strips.lines().split_at(m / LINE * self.columns);
        self.add_strips(first, whole, d.map(|d| d.as_chunks().0), fetched);
        if !m.is_multiple_of(LINE) {
            // Beyond the last record d is 0.
            let last = d.map(|d| {
                let (mut last, d) = ([0; LINE], d.as_chunks::<LINE>().1);
                last[..d.len()].copy_from_slice(d);
                [last]
            });
            let last = last.each_ref().map(|last| &last[..]);
            self.add_strips(first, rest, last, Fetched::ByMargins);
        }
    }

    /// The same of whole strips, of the planes from the first on.
    fn add_strips<const P: usize>(
        &mut self,
        first: usize,
        lines: &[Line],
        d: [&[Line]; P],
        fetched: Fetched,
    ) {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = fetched;
        let p = self.columns;
        assert!(d.iter().all(|d| d.len() * p <= lines.len()));
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx512 {
            if let ([d], 1) = (&d[..], self.planes) {
                self.strips += d.len();
                // SAFETY: the features were detected.
                unsafe { x86::add_strips_avx512::<false>(d, lines, p, self.lanes()) };
            } else {
                let mut sums = self.sums[first * p..].chunks_exact_mut(p);
                let sums = d.map(|_| sums.next().unwrap_or_default());
                let how = (self.run, fetched);
                // SAFETY: the features were detected.
                unsafe {
                    match adds_products() {
                        true => x86::add_runs_avx512::<true, P>(d, lines, sums, how),
                        false => x86::add_runs_avx512::<false, P>(d, lines, sums, how),
                    }
                };
            }
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx2 {
            // All planes have as many.
            self.strips += if first == 0 { d[0].len() } else { 0 };
            let mut lanes =
                self.half_lanes()[first * p.div_ceil(2)..].chunks_exact_mut(p.div_ceil(2));
            let mut lanes = d.map(|_| lanes.next().unwrap_or_default());
            // SAFETY: the feature was detected.
            return unsafe { half_lines::add_strips::<false>(&d, lines, p, &mut lanes) };
        }
        let sums = self.sums[first * p..].chunks_exact_mut(p);
        for (d, sums) in d.into_iter().zip(sums) {
            for (d, strip) in d.iter().zip(lines.chunks_exact(p)) {
                for (sum, line) in sums.iter_mut().zip(strip) {
                    *sum = sum.wrapping_add(dot_portable(line, d));
                }
            }
        }
    }

    /// The lanes of a single plane, of four columns after four.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn lanes(&mut self) -> &mut [Lanes] {
        if self.lanes.is_empty() {
            // SAFETY: there are lanes where the features were detected.
            self.lanes = unsafe { no_lanes(self.columns.div_ceil(4)) };
        }
        &mut self.lanes
    }

    /// The same of two columns after two, of the first plane, then of the next.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn half_lanes(&mut self) -> &mut [half_lines::Lanes] {
        if self.half_lanes.is_empty() {
            let len = self.planes * self.columns.div_ceil(2);
            // SAFETY: there are lanes where the feature was detected.
            self.half_lanes = unsafe { half_lines::no_lanes(len) };
        }
        &mut self.half_lanes
    }

    /// Those with a plane.
    pub fn of_plane(&self, plane: usize, out: &mut [i64]) {
        let p = self.columns;
        out.copy_from_slice(&self.sums[plane * p..][..p]);
        #[cfg(target_arch = "x86_64")]
        if self.strips > 0 {
            // SAFETY: there are lanes where the features were detected.
            unsafe {
                match self.half_lanes.is_empty() {
                    true => x86::add_lanes(&self.lanes, self.strips, out),
                    false => {
                        let lanes = &self.half_lanes[plane * p.div_ceil(2)..];
                        half_lines::add_lanes(lanes, self.strips, out);
                    }
                }
            };
        }
    }

    /// The sums of both.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        let mut all = Self::zeros(self.columns, self.planes);
        let mut others = vec![0; self.columns];
        for (plane, sums) in all.sums.chunks_exact_mut(self.columns.max(1)).enumerate() {
            self.of_plane(plane, sums);
            more.of_plane(plane, &mut others);
            (sums.iter_mut().zip(&others)).for_each(|(sum, other)| *sum += other);
        }
        all
    }
}

/// How many of so many planes are taken together: at most three, whose sums fill the registers of the widest vectors,
/// and not many less the last time.
fn together(planes: usize) -> usize {
    planes.div_ceil(planes.div_ceil(3).max(1)).max(1)
}

/// Inner product of one column with d, in plain Rust. Nothing wraps, for products below 2^29 of fewer than 2^31
/// records: checks would keep the loop from wide instructions.
pub fn dot_portable(column: &[i16], d: &[i16]) -> i64 {
    let products = (column.iter().zip(d)).map(|(&x, &d)| i32::from(x).wrapping_mul(i32::from(d)));
    products.fold(0i64, |sum, product| sum.wrapping_add(i64::from(product)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numeric::kernel::tests::{EXTREMES, RECORDS, at_every_width, entries, in_strips};
    use crate::numeric::kernel::{MAX_DERIVATIVE, MAX_FEATURE, MAX_LIMB};

    fn none_of(limbs: bool) -> fn(usize, usize) -> InnerProducts {
        if limbs {
            InnerProducts::of_limbs
        } else {
            InnerProducts::zeros
        }
    }

    fn all_planes(products: &InnerProducts) -> Vec<i64> {
        let mut sums = vec![-1; products.sums.len()];
        let planes = sums.chunks_mut(products.columns.max(1)).enumerate();
        planes.for_each(|(plane, out)| products.of_plane(plane, out));
        sums
    }

    proptest! {
        /// Several planes, up to panels of columns and beyond whole runs of records, at the ends of what entries may
        /// be.
        #[test]
        fn inner_products_match_a_wide_reference(
            n in 1usize..700,
            p in prop_oneof![0usize..12, 250usize..262],
            planes in 1usize..6,
            piece in 1usize..9,
            bound in prop_oneof![Just(1), Just(MAX_DERIVATIVE)],
            limbs in any::<bool>(),
            seed in any::<u32>(),
        ) {
            let most = if limbs { MAX_LIMB } else { MAX_DERIVATIVE };
            let (entry, slope) = (entries(seed, MAX_FEATURE), entries(!seed, most));
            let lines = in_strips(n, p, &entry);
            let d = |i: usize, k: usize| if bound == 1 { slope(i, k).signum() * most } else { slope(i, k) };
            let slopes: Vec<Vec<i16>> = (0..planes).map(|k| (0..n).map(|i| d(i, k)).collect()).collect();
            let slopes: Vec<&[i16]> = slopes.iter().map(Vec::as_slice).collect();
            let product = |j: usize, k: usize| (0..n).map(|i| i64::from(entry(i, j)) * i64::from(d(i, k))).sum::<i64>();
            let expected: Vec<i64> = (0..planes * p).map(|at| 2 * product(at % p, at / p)).collect();
            let summed = || {
                let (mut sums, strips) = (none_of(limbs)(p, planes), Strips::new(&lines, p));
                for start in (0..n).step_by(piece * LINE) {
                    let records = start..n.min(start + piece * LINE);
                    sums.add(strips.from_record(start), &slopes, records, Fetched::ByBoth);
                }
                all_planes(&sums.plus(&sums))
            };
            for sums in at_every_width(summed) {
                prop_assert_eq!(&sums, &expected);
            }
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for n in RECORDS {
            for (x, d, limbs) in EXTREMES
                .into_iter()
                .flat_map(|(x, d)| [(x, d, false), (x, d / 2, true)])
            {
                let (lines, d) = (vec![[x; LINE]; n.div_ceil(LINE) * 3], vec![d; n]);
                let summed = || {
                    let mut sums = none_of(limbs)(3, 4);
                    sums.add(
                        Strips::new(&lines, 3),
                        &[&d[..]; 4],
                        0..n,
                        Fetched::ByMargins,
                    );
                    all_planes(&sums)
                };
                let expected = i64::from(x) * i64::from(d[0]) * n as i64;
                for sums in at_every_width(summed) {
                    assert_eq!(sums, [expected; 12]);
                }
            }
        }
    }
}
