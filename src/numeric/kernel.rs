//! Integer kernels over strips of columns and over plain slices, with run-time dispatch to wider instructions.
//!
//! **The crate's `unsafe`**, but for the map of a file in [`mapped`](super::mapped). Audit: every `unsafe` block is a
//! call of a `target_feature` function where `width` has detected its features, a vector load or store, for which no
//! alignment is needed, within the line or the chunk it touches, a prefetch (which touches nothing), or the advice on pages in
//! [`on_large_pages`]. Integer arithmetic is exact and floats are never contracted or reassociated, so every path
//! returns the same bits.
//!
//! Magnitudes: features |x| <= [`MAX_FEATURE`] = 16383 = 2^14 - 1, derivatives |d| <= [`MAX_DERIVATIVE`] =
//! 2^14.

use std::ops::Range;
use std::sync::OnceLock;

use super::strips::{LINE, Line, Strips};

/// Largest magnitude of a stored feature: two of them differ by at most 32766, so that a sparse entry stored
/// relative to the value of an unstored zero fits an i16 and -32768 never occurs.
pub const MAX_FEATURE: i16 = 16_383;

/// Largest magnitude of a quantised derivative.
pub const MAX_DERIVATIVE: i16 = 1 << 14;

/// Lines between one that margins are made of and the one that is fetched from memory meanwhile: so many that it is there when
/// margins come to it, and that some are on their way while slopes and sums are taken.
pub const AHEAD: usize = 160;

/// The instructions that kernels are compiled for, each a superset of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// What every machine has.
    Portable,
    /// `avx2`.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// `avx2` and `avx512f`, `avx512bw`, `avx512dq`, `avx512vl`.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The widest instructions that this machine has, asked for once: kernels are called for few records at a time.
fn detected() -> Width {
    static DETECTED: OnceLock<Width> = OnceLock::new();
    *DETECTED.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            let wider = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            return if wider { Width::Avx512 } else { Width::Avx2 };
        }
        Width::Portable
    })
}

/// The instructions to use: the widest that were detected. A test may ask for narrower ones, never for wider.
pub(super) fn width() -> Width {
    #[cfg(test)]
    return detected().min(tests::LIMIT.get());
    #[cfg(not(test))]
    detected()
}

/// The same vector, after it has asked the operating system for large pages: fewer page faults on first touch, and entries
/// far apart stay within reach of the translation buffers. It should be new, its memory not touched yet.
pub fn on_large_pages<T>(mut vector: Vec<T>) -> Vec<T> {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 2 << 20;
        let bytes = std::mem::size_of::<T>() * vector.capacity();
        let start = vector.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(PAGE);
        if let Some(whole) = bytes.checked_sub(skip).map(|rest| rest / PAGE * PAGE)
            && whole > 0
        {
            // SAFETY: the range lies inside what the vector has reserved, and the advice changes no contents.
            // Refusal is harmless.
            unsafe { libc::madvise(start.add(skip).cast(), whole, libc::MADV_HUGEPAGE) };
        }
    }
    vector
}

/// out_j = <column j, d> for columns stored one after the other. `columns` must hold out.len() * d.len() entries.
pub fn inner_products(columns: &[i16], d: &[i16], out: &mut [i64]) {
    debug_assert_eq!(columns.len(), out.len() * d.len());
    let n = d.len();
    for (out, block) in out.chunks_mut(4).zip(columns.chunks(4 * n)) {
        // The last column again in the place of those that there are not.
        let last = out.len() - 1;
        let dots = dot4(std::array::from_fn(|k| &block[k.min(last) * n..][..n]), d);
        out.copy_from_slice(&dots[..out.len()]);
    }
}

/// Records that the widest kernel of inner products takes at a time: pieces of whole runs leave no rest.
pub const WHOLE: usize = 128;

/// Inner products of all columns with each of several planes of d, which add up piece by piece of the records.
///
/// Products are at most 16383 2^14; sums stay below 2^59, as those of fewer than 2^31 products do.
#[derive(Clone)]
pub struct InnerProducts {
    columns: usize,
    planes: usize,
    /// Those of the first plane, then those of the next.
    sums: Vec<i64>,
    /// What the widest kernel has yet to add to the sums, [`PLANES`] planes after [`PLANES`].
    #[cfg(target_arch = "x86_64")]
    lanes: Vec<x86::Lanes>,
    /// Strips that are in the lanes.
    #[cfg(target_arch = "x86_64")]
    strips: usize,
}

/// Planes of d that lines are multiplied by at once.
const PLANES: usize = 3;

impl InnerProducts {
    /// Of nothing yet.
    pub fn zeros(columns: usize, planes: usize) -> Self {
        Self {
            columns,
            planes,
            sums: vec![0; planes * columns],
            #[cfg(target_arch = "x86_64")]
            lanes: Vec::new(),
            #[cfg(target_arch = "x86_64")]
            strips: 0,
        }
    }

    /// Adds those with `records` of the planes, of which the first is the first of the strips.
    ///
    /// # Panics
    /// Where there are other columns or planes than these, or fewer records.
    pub fn add<D: AsRef<[i16]>>(
        &mut self,
        strips: Strips<'_>,
        planes: &[D],
        records: Range<usize>,
    ) {
        assert!(planes.len() == self.planes && strips.columns() == self.columns);
        if self.columns == 0 {
            return;
        }
        for (k, planes) in planes.chunks(PLANES).enumerate() {
            let first = k * PLANES;
            match planes {
                [a] => self.add_planes(first, strips, [a], &records),
                [a, b] => self.add_planes(first, strips, [a, b], &records),
                [a, b, c] => self.add_planes(first, strips, [a, b, c], &records),
                _ => unreachable!("at most {PLANES} planes"),
            }
        }
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx512 {
            self.strips += records.len().div_ceil(LINE);
        }
    }

    fn add_planes<D: AsRef<[i16]>, const P: usize>(
        &mut self,
        first: usize,
        strips: Strips<'_>,
        planes: [&D; P],
        records: &Range<usize>,
    ) {
        let (m, d) = (records.len(), planes.map(|d| &d.as_ref()[records.clone()]));
        let (whole, rest) = strips.lines().split_at(m / LINE * self.columns);
        self.add_strips(first, whole, d.map(|d| d.as_chunks().0));
        if !m.is_multiple_of(LINE) {
            // Beyond the last record d is 0.
            let last = d.map(|d| {
                let (mut last, d) = ([0; LINE], d.as_chunks::<LINE>().1);
                last[..d.len()].copy_from_slice(d);
                [last]
            });
            self.add_strips(first, rest, last.each_ref().map(|last| &last[..]));
        }
    }

    /// The same of whole strips, of the planes from the first on.
    fn add_strips<const P: usize>(&mut self, first: usize, lines: &[Line], d: [&[Line]; P]) {
        let p = self.columns;
        assert!(d.iter().all(|d| d.len() * p <= lines.len()));
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx512 {
            let fours = p.div_ceil(4);
            if self.lanes.is_empty() {
                // SAFETY: the features were detected.
                self.lanes = unsafe { x86::no_lanes(self.planes * fours) };
            }
            let lanes = &mut self.lanes[first * fours..][..P * fours];
            // SAFETY: the features were detected.
            unsafe { x86::add_strips_avx512::<P, false>(d, lines, p, lanes.as_chunks_mut().0) };
            return;
        }
        let sums = self.sums[first * p..].chunks_exact_mut(p);
        for (d, sums) in d.into_iter().zip(sums) {
            #[cfg(target_arch = "x86_64")]
            if width() == Width::Avx2 {
                // SAFETY: the feature was detected.
                unsafe { x86::add_strips_avx2(d, lines, sums) };
                continue;
            }
            for (d, strip) in d.iter().zip(lines.chunks_exact(p)) {
                for (sum, line) in sums.iter_mut().zip(strip) {
                    *sum = sum.wrapping_add(dot_portable(line, d));
                }
            }
        }
    }

    /// Those with a plane.
    pub fn of_plane(&self, plane: usize, out: &mut [i64]) {
        let p = self.columns;
        out.copy_from_slice(&self.sums[plane * p..][..p]);
        #[cfg(target_arch = "x86_64")]
        if self.strips > 0 {
            let (first, fours) = (plane / PLANES * PLANES, p.div_ceil(4));
            let beside = PLANES.min(self.planes - first);
            let lanes = self.lanes[first * fours..][..beside * fours].iter();
            let lanes = lanes.skip(plane - first).step_by(beside);
            // SAFETY: there are lanes where the features were detected.
            unsafe { x86::add_lanes(lanes, self.strips, out) };
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

/// Inner products of four columns with d. All five slices must have one length.
///
/// Accumulators: products are at most 16383 2^14, sums of four pairs at most 2^31 - 2^17 (i32); the i64 total of
/// n < 2^31 products is below 2^59.
pub fn dot4(columns: [&[i16]; 4], d: &[i16]) -> [i64; 4] {
    debug_assert!(columns.iter().all(|column| column.len() == d.len()));
    match width() {
        Width::Portable => columns.map(|column| dot_portable(column, d)),
        // SAFETY: the features were detected.
        #[cfg(target_arch = "x86_64")]
        Width::Avx2 => unsafe { x86::dot4_avx2(columns, d) },
        // SAFETY: the features were detected.
        #[cfg(target_arch = "x86_64")]
        Width::Avx512 => unsafe { x86::dot4_avx512(columns, d) },
    }
}

/// Inner product of one column with d, in plain Rust. Nothing wraps, for the reasons given above: checks would keep the
/// loop from wide instructions.
pub fn dot_portable(column: &[i16], d: &[i16]) -> i64 {
    let products = (column.iter().zip(d)).map(|(&x, &d)| i32::from(x).wrapping_mul(i32::from(d)));
    products.fold(0i64, |sum, product| sum.wrapping_add(i64::from(product)))
}

/// Lanes of sums of products of floats.
pub(super) const LANES: usize = 8;

/// Inner products of each a with each b, lane by lane: lane l adds up a_l b_l, a_(8 + l) b_(8 + l), ... in this order.
///
/// # Panics
/// Where one is longer or shorter than another.
pub(super) fn lane_products<const A: usize, const B: usize>(
    a: [&[[f64; LANES]]; A],
    b: [&[[f64; LANES]]; B],
) -> [[[f64; LANES]; B]; A] {
    let len = a.first().map_or(0, |a| a.len());
    assert!(a.iter().all(|a| a.len() == len) && b.iter().all(|b| b.len() == len));
    match width() {
        Width::Portable => a.map(|a| {
            b.map(|b| {
                let mut sums = [0.0; LANES];
                for (a, b) in a.iter().zip(b) {
                    for lane in 0..LANES {
                        sums[lane] += a[lane] * b[lane];
                    }
                }
                sums
            })
        }),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the feature was detected.
        Width::Avx2 => unsafe { x86::lane_products_avx2(a, b) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the features were detected.
        Width::Avx512 => unsafe { x86::lane_products_avx512(a, b) },
    }
}

/// Reads lines one after the other, so that who takes them in another order finds them in a near cache: memory is read
/// fastest in its own order, and by nothing else meanwhile.
pub fn fetch(lines: &[Line]) {
    #[inline(always)]
    fn body(lines: &[Line]) -> Line {
        let mut sums = [0i16; LINE];
        for line in lines {
            for (sum, &x) in sums.iter_mut().zip(line) {
                *sum = sum.wrapping_add(x);
            }
        }
        sums
    }
    fn read(lines: &[Line]) -> Line {
        dispatch!([], body, (lines: &[Line]) -> Line)
    }
    std::hint::black_box(read(lines));
}

/// sums_j += the sizes of all entries of column j, of at most 2^18 strips.
///
/// # Panics
/// Unless there is a sum for each column.
pub fn add_sizes(strips: Strips<'_>, sums: &mut [i64]) {
    #[inline(always)]
    fn body(strips: Strips<'_>, sums: &mut [i64]) {
        let (p, lines) = (sums.len(), strips.lines());
        for (j, sum) in sums.iter_mut().enumerate() {
            // Less than 2^18 2^14 in each.
            let mut lanes = [0u32; LINE];
            for run in lines.chunks(4 * p) {
                // Four sizes below 2^14 fit 16 bits.
                let mut four = [0u16; LINE];
                for line in run[j..].iter().step_by(p) {
                    for (size, x) in four.iter_mut().zip(line) {
                        *size = size.wrapping_add(x.unsigned_abs());
                    }
                }
                for (lane, size) in lanes.iter_mut().zip(four) {
                    *lane = lane.wrapping_add(u32::from(size));
                }
            }
            let all = lanes.iter().map(|&lane| i64::from(lane));
            *sum = all.fold(*sum, i64::wrapping_add);
        }
    }
    assert!(sums.len() == strips.columns() && strips.len() <= 1 << 18);
    if !sums.is_empty() {
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx512 {
            let (ones, p) = (vec![[1; LINE]; strips.len()], sums.len());
            // SAFETY: the features were detected.
            unsafe {
                let mut lanes = x86::no_lanes(p.div_ceil(4));
                let each = lanes.as_chunks_mut().0;
                x86::add_strips_avx512::<1, true>([&ones], strips.lines(), p, each);
                x86::add_lanes(lanes.iter(), strips.len(), sums);
            }
            return;
        }
        dispatch!([], body, (strips: Strips<'_>, sums: &mut [i64]) -> ())
    }
}

/// sums_i += the sum of x_ij^2 over all columns j, for the records from the first of the strips on; nothing is checked, for
/// the caller's proof that it fits.
///
/// # Panics
/// Where there are more sums than records.
pub fn add_squares(strips: Strips<'_>, sums: &mut [i64]) {
    #[inline(always)]
    fn body(strips: Strips<'_>, sums: &mut [i64]) {
        for (sums, strip) in sums.chunks_mut(LINE).zip(strips.iter()) {
            let mut all = [0i64; LINE];
            for four in strip.chunks(4) {
                // Four squares below 2^28.
                let mut squares = [0i32; LINE];
                for line in four {
                    for (square, &x) in squares.iter_mut().zip(line) {
                        let x = i32::from(x);
                        *square = square.wrapping_add(x.wrapping_mul(x));
                    }
                }
                for (sum, square) in all.iter_mut().zip(squares) {
                    *sum = sum.wrapping_add(i64::from(square));
                }
            }
            for (sum, more) in sums.iter_mut().zip(all) {
                *sum = sum.wrapping_add(more);
            }
        }
    }
    if strips.columns() > 0 {
        assert!(sums.len().div_ceil(LINE) <= strips.len());
        dispatch!([], body, (strips: Strips<'_>, sums: &mut [i64]) -> ())
    }
}

/// What columns are multiplied by, as kernels take it.
pub struct Weights {
    /// Columns with their weights.
    terms: Vec<(usize, i64)>,
    /// How many columns there must be.
    columns: usize,
    #[cfg(target_arch = "x86_64")]
    parts: Vec<Part>,
}

impl Weights {
    /// Of these columns; what is said of one twice counts twice.
    pub fn new(terms: Vec<(usize, i64)>) -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            parts: Part::all(&terms),
            columns: terms.iter().map(|term| term.0 + 1).max().unwrap_or(0),
            terms,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// Weights of columns that are multiplied by 2^shift, two columns in 32 bits, as the widest kernel multiplies them:
/// weight = high 2^16 + low, |high| <= 2^14, -2^15 <= low < 2^15; or weight = high alone.
#[cfg(target_arch = "x86_64")]
struct Part {
    /// Eight by eight: a column with the weight 0 changes nothing.
    columns: Vec<usize>,
    high: Vec<i32>,
    /// As many as high parts; none where they are all 0.
    low: Vec<i32>,
    shift: u32,
}

#[cfg(target_arch = "x86_64")]
impl Part {
    /// Parts of weights, which add up to them.
    fn all(terms: &[(usize, i64)]) -> Vec<Self> {
        let Some(&(first, _)) = terms.first() else {
            return Vec::new();
        };
        let count = terms.len().next_multiple_of(8);
        let mut columns = vec![first; count];
        let mut weights = vec![0i64; count];
        for ((column, weight), term) in columns.iter_mut().zip(&mut weights).zip(terms) {
            (*column, *weight) = *term;
        }
        let mut parts = Vec::new();
        // Weights beyond 2^30 part by part, from the lowest 30 bits on.
        let mut shift = 0;
        loop {
            let beyond = weights.iter().any(|weight| weight.unsigned_abs() > 1 << 30);
            let mut part = weights.clone();
            for (part, weight) in part.iter_mut().zip(&mut weights) {
                if beyond {
                    *part = balanced(*part, 30);
                }
                *weight = weight.wrapping_sub(*part) >> 30;
            }
            parts.push(Self::new(columns.clone(), &part, shift));
            if !beyond {
                return parts;
            }
            shift += 30;
        }
    }

    /// Weights of at most 2^30 each.
    fn new(columns: Vec<usize>, weights: &[i64], shift: u32) -> Self {
        let largest = weights.iter().map(|weight| weight.unsigned_abs()).max();
        let packed = |of: &dyn Fn(i64) -> i64| -> Vec<i32> {
            let (pairs, _) = weights.as_chunks::<2>();
            let pack = |&[first, second]: &[i64; 2]| {
                ((of(second) as u32) << 16 | u32::from(of(first) as u16)) as i32
            };
            pairs.iter().map(pack).collect()
        };
        let low = |weight| balanced(weight, 16);
        let (high, low) = if largest <= Some(1 << 14) {
            (packed(&|weight| weight), Vec::new())
        } else {
            (packed(&|weight| (weight - low(weight)) >> 16), packed(&low))
        };
        Self {
            columns,
            high,
            low,
            shift,
        }
    }
}

/// The residue of a weight modulo 2^bits that lies in [-2^(bits - 1), 2^(bits - 1)).
#[cfg(target_arch = "x86_64")]
fn balanced(weight: i64, bits: u32) -> i64 {
    weight << (64 - bits) >> (64 - bits)
}

/// margins += the sum of weight * column, for the records from the first of the strips on. The caller proves that margins
/// cannot overflow, nor any weight * x: nothing is checked here, so that wide instructions are used.
///
/// # Panics
/// Where there are more margins than records, or weights of columns that there are not.
pub fn add_products(margins: &mut [i64], strips: Strips<'_>, weights: &Weights) {
    if weights.is_empty() {
        return;
    }
    assert!(weights.columns <= strips.columns());
    assert!(margins.len().div_ceil(LINE) <= strips.len());
    let (whole, rest) = margins.as_chunks_mut::<LINE>();
    add_to_strips(whole, strips, weights);
    if !rest.is_empty() {
        let mut last = [0; LINE];
        last[..rest.len()].copy_from_slice(rest);
        let strips = strips.from_record(whole.len() * LINE);
        add_to_strips(std::slice::from_mut(&mut last), strips, weights);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// The same of whole strips.
fn add_to_strips(margins: &mut [[i64; LINE]], strips: Strips<'_>, weights: &Weights) {
    match width() {
        #[cfg(target_arch = "x86_64")]
        Width::Avx512 => {
            for part in &weights.parts {
                // SAFETY: the features were detected.
                unsafe {
                    if part.low.is_empty() {
                        x86::add_products_avx512::<false>(margins, strips, part);
                    } else {
                        x86::add_products_avx512::<true>(margins, strips, part);
                    }
                }
            }
        }
        #[cfg(target_arch = "x86_64")]
        Width::Avx2
            if weights
                .terms
                .iter()
                .all(|&(_, weight)| i32::try_from(weight).is_ok()) =>
        {
            // SAFETY: the feature was detected.
            unsafe { x86::add_products_avx2(margins, strips, &weights.terms) }
        }
        _ => {
            for (margins, strip) in margins.iter_mut().zip(strips.iter()) {
                for &(j, weight) in &weights.terms {
                    for (margin, &x) in margins.iter_mut().zip(&strip[j]) {
                        *margin = margin.wrapping_add(weight.wrapping_mul(i64::from(x)));
                    }
                }
            }
        }
    }
}

/// Compiles a generic body again with AVX-512 and with AVX2 and calls the widest copy that the machine has.
macro_rules! dispatch {
    ([$($generics:tt)*], $body:ident, ($($name:ident: $type:ty),*) -> $result:ty) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            fn widest<$($generics)*>($($name: $type),*) -> $result {
                $body($($name),*)
            }
            #[target_feature(enable = "avx2")]
            fn wide<$($generics)*>($($name: $type),*) -> $result {
                $body($($name),*)
            }
            use $crate::numeric::kernel::{Width, width};
            match width() {
                Width::Portable => {}
                // SAFETY: the features were detected.
                Width::Avx2 => return unsafe { wide($($name),*) },
                // SAFETY: the features were detected.
                Width::Avx512 => return unsafe { widest($($name),*) },
            }
        }
        $body($($name),*)
    }};
}

pub(super) use dispatch;

/// out_i = map(a_i, b_i), compiled for wide vectors too; `map` should be `#[inline(always)]` and free of
/// branches.
///
/// # Panics
/// When the lengths differ.
pub fn map_pairs<F: Fn(f64, f64) -> f64>(a: &[f64], b: &[f64], out: &mut [f64], map: F) {
    #[inline(always)]
    fn body<F: Fn(f64, f64) -> f64>(a: &[f64], b: &[f64], out: &mut [f64], map: F) {
        let (a, b) = (&a[..out.len()], &b[..out.len()]);
        for k in 0..out.len() {
            out[k] = map(a[k], b[k]);
        }
    }
    dispatch!([F: Fn(f64, f64) -> f64], body, (a: &[f64], b: &[f64], out: &mut [f64], map: F) -> ())
}

/// out_i = round(scale map(margins_i * unit, b_i)), ties to even and at most 2^14 in size, 0 for NaN; as [`map_pairs`].
///
/// # Panics
/// When there are fewer margins or entries of b than of `out`.
pub fn map_margins<F: Fn(f64, f64) -> f64>(
    (margins, unit): (&[i64], f64),
    b: &[f64],
    scale: f64,
    out: &mut [i16],
    map: F,
) {
    #[inline(always)]
    fn body<F: Fn(f64, f64) -> f64>(
        margins: &[i64],
        unit: f64,
        b: &[f64],
        scale: f64,
        out: &mut [i16],
        map: F,
    ) {
        let (margins, b) = (&margins[..out.len()], &b[..out.len()]);
        for k in 0..out.len() {
            out[k] = rounded(
                map(margins[k] as f64 * unit, b[k]),
                scale,
                MAX_DERIVATIVE.into(),
            );
        }
    }
    dispatch!(
        [F: Fn(f64, f64) -> f64],
        body,
        (margins: &[i64], unit: f64, b: &[f64], scale: f64, out: &mut [i16], map: F) -> ()
    )
}

/// round(clamp(x * scale, -bound, bound)), ties to even; NaN gives 0.
#[inline(always)]
fn rounded(x: f64, scale: f64, bound: f64) -> i16 {
    let integer = quantise(x, scale, 0.0, -bound, bound);
    if x.is_nan() { 0 } else { integer }
}

/// Does `work`, compiled for wide vectors too; it should be `#[inline(always)]`.
pub fn for_wide_vectors<F: FnOnce()>(work: F) {
    #[inline(always)]
    fn body<F: FnOnce()>(work: F) {
        work();
    }
    dispatch!([F: FnOnce()], body, (work: F) -> ())
}

/// out_i = round(clamp(x_i * scale, -bound, bound)), ties to even; NaN gives 0. `bound` is at most 2^14.
pub fn round_clamped(x: &[f64], scale: f64, bound: f64, out: &mut [i16]) {
    #[inline(always)]
    fn body(x: &[f64], scale: f64, bound: f64, out: &mut [i16]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = rounded(x, scale, bound);
        }
    }
    dispatch!([], body, (x: &[f64], scale: f64, bound: f64, out: &mut [i16]) -> ())
}

/// Affine maps of features onto the integer lattice, one array per constant:
/// x -> round(clamp(x * scale + offset, low, high)), with -16383 <= low <= high <= 16383.
#[derive(Debug, Clone, Copy)]
pub struct LatticeMaps<'a> {
    /// Lattice units per unit of x.
    pub scale: &'a [f64],
    /// Lattice value of x = 0 before clipping.
    pub offset: &'a [f64],
    /// Lattice value of the lower bound.
    pub low: &'a [f64],
    /// Lattice value of the upper bound.
    pub high: &'a [f64],
}

/// One value, ties to even. A value that is not finite gives some lattice point: the caller checks
/// finiteness.
#[inline(always)]
pub fn quantise(x: f64, scale: f64, offset: f64, low: f64, high: f64) -> i16 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: adding it rounds to an integer, ties to even
    let clipped = (x * scale + offset).max(low).min(high);
    // The low 16 bits of the shifted float are the integer in two's complement.
    ((clipped + SHIFT).to_bits() as u16) as i16
}

/// A contiguous column under the map number `j`; false when an entry is not finite.
pub fn quantise_column<T: Copy + Into<f64>>(
    column: &[T],
    maps: LatticeMaps,
    j: usize,
    out: &mut [i16],
) -> bool {
    #[inline(always)]
    fn body<T: Copy + Into<f64>>(
        column: &[T],
        maps: LatticeMaps,
        j: usize,
        out: &mut [i16],
    ) -> bool {
        let (scale, offset, low, high) = (maps.scale[j], maps.offset[j], maps.low[j], maps.high[j]);
        let mut finite = true;
        for (out, &x) in out.iter_mut().zip(column) {
            let x: f64 = x.into();
            finite &= x.is_finite();
            *out = quantise(x, scale, offset, low, high);
        }
        finite
    }
    dispatch!([T: Copy + Into<f64>], body, (column: &[T], maps: LatticeMaps, j: usize, out: &mut [i16]) -> bool)
}

/// A contiguous piece of a row, entry k under the map number `first + k`; false when an entry is not finite.
pub fn quantise_row<T: Copy + Into<f64>>(
    row: &[T],
    maps: LatticeMaps,
    first: usize,
    out: &mut [i16],
) -> bool {
    #[inline(always)]
    fn body<T: Copy + Into<f64>>(
        row: &[T],
        maps: LatticeMaps,
        first: usize,
        out: &mut [i16],
    ) -> bool {
        let [scale, offset, low, high] = [maps.scale, maps.offset, maps.low, maps.high]
            .map(|constants| &constants[first..][..out.len()]);
        let row = &row[..out.len()];
        let mut finite = true;
        for k in 0..out.len() {
            let x: f64 = row[k].into();
            finite &= x.is_finite();
            out[k] = quantise(x, scale[k], offset[k], low[k], high[k]);
        }
        finite
    }
    dispatch!([T: Copy + Into<f64>], body,
        (row: &[T], maps: LatticeMaps, first: usize, out: &mut [i16]) -> bool)
}

/// Turns a tile of rows of a strip into lines: entry `row` of line k is entry `row * stride + k` of the tile.
///
/// # Panics
/// Where the tile has more rows than a line, or more lines than the stride.
pub fn transpose(tile: &[i16], stride: usize, lines: &mut [Line]) {
    let rows = tile.len() / stride;
    assert!(lines.len() <= stride && rows <= LINE);
    for (eight, lines) in lines.chunks_mut(8).enumerate() {
        let first = eight * 8;
        let mut row = 0;
        #[cfg(target_arch = "x86_64")]
        if lines.len() == 8 {
            while row + 8 <= rows {
                let pieces = std::array::from_fn(|k| &tile[(row + k) * stride + first..][..8]);
                let columns = x86::transpose8(pieces);
                for (line, column) in lines.iter_mut().zip(columns) {
                    line[row..][..8].copy_from_slice(&column);
                }
                row += 8;
            }
        }
        for row in row..rows {
            for (k, line) in lines.iter_mut().enumerate() {
                line[row] = tile[row * stride + first + k];
            }
        }
    }
}

/// Asks memory for these entries, which are read soon.
pub fn prefetch(entries: &[f64]) {
    for line in entries.chunks(size_of::<Line>() / size_of::<f64>()) {
        #[cfg(target_arch = "x86_64")]
        x86::prefetch(line.as_ptr());
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{AHEAD, LANES, LINE, Line, Strips};

    /// All of the same length.
    #[target_feature(enable = "avx512f")]
    pub(super) fn lane_products_avx512<const A: usize, const B: usize>(
        a: [&[[f64; LANES]]; A],
        b: [&[[f64; LANES]]; B],
    ) -> [[[f64; LANES]; B]; A] {
        // SAFETY: eight f64 are exactly 512 bits.
        let load = |x: &[f64; LANES]| unsafe { _mm512_loadu_pd(x.as_ptr()) };
        let mut sums = [[_mm512_setzero_pd(); B]; A];
        let len = a[0].len();
        let (a, b) = (a.map(|a| &a[..len]), b.map(|b| &b[..len]));
        for at in 0..len {
            let a = a.map(|a| load(&a[at]));
            for (k, b) in b.iter().enumerate() {
                let b = load(&b[at]);
                for (sums, a) in sums.iter_mut().zip(a) {
                    sums[k] = _mm512_add_pd(sums[k], _mm512_mul_pd(a, b));
                }
            }
        }
        sums.map(|sums| {
            sums.map(|sum| {
                let mut lanes = [0.0; LANES];
                // SAFETY: as for the load.
                unsafe { _mm512_storeu_pd(lanes.as_mut_ptr(), sum) };
                lanes
            })
        })
    }

    /// All of the same length: the first four lanes, then the others.
    #[target_feature(enable = "avx2")]
    pub(super) fn lane_products_avx2<const A: usize, const B: usize>(
        a: [&[[f64; LANES]]; A],
        b: [&[[f64; LANES]]; B],
    ) -> [[[f64; LANES]; B]; A] {
        let mut lanes = [[[0.0; LANES]; B]; A];
        let len = a[0].len();
        let (a, b) = (a.map(|a| &a[..len]), b.map(|b| &b[..len]));
        for half in 0..2 {
            // SAFETY: half of eight f64 are exactly 256 bits.
            let load =
                |x: &[f64; LANES]| unsafe { _mm256_loadu_pd(x.as_chunks::<4>().0[half].as_ptr()) };
            let mut sums = [[_mm256_setzero_pd(); B]; A];
            for at in 0..len {
                let a = a.map(|a| load(&a[at]));
                for (k, b) in b.iter().enumerate() {
                    let b = load(&b[at]);
                    for (sums, a) in sums.iter_mut().zip(a) {
                        sums[k] = _mm256_add_pd(sums[k], _mm256_mul_pd(a, b));
                    }
                }
            }
            for (lanes, sums) in lanes.iter_mut().zip(sums) {
                for (lanes, sum) in lanes.iter_mut().zip(sums) {
                    let half = &mut lanes.as_chunks_mut::<4>().0[half];
                    // SAFETY: as for the load.
                    unsafe { _mm256_storeu_pd(half.as_mut_ptr(), sum) };
                }
            }
        }
        lanes
    }

    /// Eight rows of eight entries as columns. SSE2 is part of every x86-64 machine.
    #[inline(always)]
    pub(super) fn transpose8(rows: [&[i16]; 8]) -> [[i16; 8]; 8] {
        // SAFETY: SSE2 is there; the slice index checks that each load has its 128 bits.
        let r = rows.map(|row| unsafe { _mm_loadu_si128(row[..8].as_ptr().cast()) });
        // SAFETY: SSE2 is there.
        let columns = unsafe {
            let (a0, a1) = (
                _mm_unpacklo_epi16(r[0], r[1]),
                _mm_unpackhi_epi16(r[0], r[1]),
            );
            let (a2, a3) = (
                _mm_unpacklo_epi16(r[2], r[3]),
                _mm_unpackhi_epi16(r[2], r[3]),
            );
            let (a4, a5) = (
                _mm_unpacklo_epi16(r[4], r[5]),
                _mm_unpackhi_epi16(r[4], r[5]),
            );
            let (a6, a7) = (
                _mm_unpacklo_epi16(r[6], r[7]),
                _mm_unpackhi_epi16(r[6], r[7]),
            );
            let (b0, b1) = (_mm_unpacklo_epi32(a0, a2), _mm_unpackhi_epi32(a0, a2));
            let (b2, b3) = (_mm_unpacklo_epi32(a1, a3), _mm_unpackhi_epi32(a1, a3));
            let (b4, b5) = (_mm_unpacklo_epi32(a4, a6), _mm_unpackhi_epi32(a4, a6));
            let (b6, b7) = (_mm_unpacklo_epi32(a5, a7), _mm_unpackhi_epi32(a5, a7));
            [
                _mm_unpacklo_epi64(b0, b4),
                _mm_unpackhi_epi64(b0, b4),
                _mm_unpacklo_epi64(b1, b5),
                _mm_unpackhi_epi64(b1, b5),
                _mm_unpacklo_epi64(b2, b6),
                _mm_unpackhi_epi64(b2, b6),
                _mm_unpacklo_epi64(b3, b7),
                _mm_unpackhi_epi64(b3, b7),
            ]
        };
        columns.map(|column| {
            let mut entries = [0i16; 8];
            // SAFETY: eight i16 are exactly 128 bits.
            unsafe { _mm_storeu_si128(entries.as_mut_ptr().cast(), column) };
            entries
        })
    }

    /// Asks memory for the cache line of an address, wherever it points.
    #[inline(always)]
    pub(super) fn prefetch<T>(address: *const T) {
        #[allow(unused_unsafe)] // a safe function in newer compilers
        // SAFETY: a prefetch reads nothing.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(address.cast());
        }
    }

    /// Vectors summed in i32 before widening: four pair sums stay below 2^31.
    const RUN: usize = 4;

    /// Sums of i32 in lanes of 64 bits. An even one starts at 2^31, so that it is never negative and the lane is
    /// `odd 2^32 + even` as it stands: lanes add up, modulo 2^64, while the odd ones are summed apart.
    #[derive(Clone, Copy)]
    pub(super) struct Lanes {
        total: __m512i,
        odd: __m512i,
    }

    impl Lanes {
        /// Where 32-bit sums start.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn start() -> __m512i {
            _mm512_set1_epi64(1 << 31)
        }

        #[inline]
        #[target_feature(enable = "avx512f")]
        fn zero() -> Self {
            Self {
                total: _mm512_setzero_si512(),
                odd: _mm512_setzero_si512(),
            }
        }

        /// Adds 32-bit sums that started at [`Lanes::start`].
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn add(&mut self, sums: __m512i) {
            self.total = _mm512_add_epi64(self.total, sums);
            self.odd = _mm512_add_epi64(self.odd, _mm512_srai_epi64::<32>(sums));
        }

        /// The sums of even and of odd lanes, after so many additions.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn even_and_odd(self, additions: usize) -> (__m512i, __m512i) {
            let starts = _mm512_set1_epi64((additions as i64) << 31);
            let even = _mm512_sub_epi64(self.total, _mm512_slli_epi64::<32>(self.odd));
            (_mm512_sub_epi64(even, starts), self.odd)
        }
    }

    /// Entries between a load and the prefetch beside it: 2 KiB.
    const ENTRIES_AHEAD: usize = 1024;

    #[target_feature(enable = "avx512bw")]
    pub(super) fn dot4_avx512(columns: [&[i16]; 4], d: &[i16]) -> [i64; 4] {
        const LANES: usize = 32;
        let mut lanes = [Lanes::zero(); 4];
        let whole = d.len() / (LANES * RUN) * (LANES * RUN);
        let mut start = 0;
        while start < whole {
            let mut sums = [Lanes::start(); 4];
            for step in 0..RUN {
                let at = start + step * LANES;
                // SAFETY: at + LANES <= whole <= d.len(), and the columns are as long as d (sliced below by
                // the caller).
                let derivative = unsafe { _mm512_loadu_si512(d[at..at + LANES].as_ptr().cast()) };
                for (sum, column) in sums.iter_mut().zip(columns) {
                    // SAFETY: the slice index checks the same bounds on the column.
                    let x = unsafe { _mm512_loadu_si512(column[at..at + LANES].as_ptr().cast()) };
                    prefetch(column.as_ptr().wrapping_add(at + ENTRIES_AHEAD));
                    *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(x, derivative));
                }
            }
            for (lanes, sum) in lanes.iter_mut().zip(sums) {
                lanes.add(sum);
            }
            start += LANES * RUN;
        }
        let mut dots = [0; 4];
        for (k, dot) in dots.iter_mut().enumerate() {
            let (even, odd) = lanes[k].even_and_odd(whole / (LANES * RUN));
            *dot = _mm512_reduce_add_epi64(_mm512_add_epi64(even, odd))
                + super::dot_portable(&columns[k][whole..], &d[whole..]);
        }
        dots
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn dot4_avx2(columns: [&[i16]; 4], d: &[i16]) -> [i64; 4] {
        const LANES: usize = 16;
        let mut totals = [_mm256_setzero_si256(); 4];
        let whole = d.len() / (LANES * RUN) * (LANES * RUN);
        let mut start = 0;
        while start < whole {
            let mut sums = [_mm256_setzero_si256(); 4];
            for step in 0..RUN {
                let at = start + step * LANES;
                // SAFETY: the slice index checks the bounds of the load.
                let derivative = unsafe { _mm256_loadu_si256(d[at..at + LANES].as_ptr().cast()) };
                for (sum, column) in sums.iter_mut().zip(columns) {
                    // SAFETY: the slice index checks the bounds of the load.
                    let x = unsafe { _mm256_loadu_si256(column[at..at + LANES].as_ptr().cast()) };
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(x, derivative));
                }
            }
            for (total, sum) in totals.iter_mut().zip(sums) {
                let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum));
                let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(sum));
                *total = _mm256_add_epi64(*total, _mm256_add_epi64(low, high));
            }
            start += LANES * RUN;
        }
        std::array::from_fn(|k| {
            let mut lanes = [0i64; 4];
            // SAFETY: four i64 are exactly 256 bits.
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), totals[k]) };
            lanes.iter().sum::<i64>() + super::dot_portable(&columns[k][whole..], &d[whole..])
        })
    }

    /// margins += 2^shift times the sum of weight * column, strip by strip; `TWO` says whether weights have low parts.
    ///
    /// Two columns are multiplied at once, in lanes of 32 bits: eight high parts, or four low ones, add up to at most
    /// 2^31 - 2^17.
    #[target_feature(enable = "avx512bw")]
    pub(super) fn add_products_avx512<const TWO: bool>(
        margins: &mut [[i64; LINE]],
        strips: Strips<'_>,
        part: &super::Part,
    ) {
        let shift = _mm_cvtsi32_si128(part.shift as i32);
        let (columns, _) = part.columns.as_chunks::<8>();
        let (high_weights, _) = part.high.as_chunks::<4>();
        let (low_weights, _) = part.low.as_chunks::<4>();
        let groups = columns.len();
        assert!(high_weights.len() == groups && (!TWO || low_weights.len() == groups));
        for (margins, strip) in margins.iter_mut().zip(strips.iter()) {
            // Of the first and of the second four of every eight records.
            let (mut high, mut low) = ([Lanes::zero(); 2], [Lanes::zero(); 2]);
            for group in 0..groups {
                let (columns, weights) = (&columns[group], &high_weights[group]);
                let (mut high_sums, mut low_sums) = ([Lanes::start(); 2], [Lanes::start(); 2]);
                for pair in 0..4 {
                    let [a, b] = [columns[2 * pair], columns[2 * pair + 1]];
                    for line in [&strip[a], &strip[b]] {
                        prefetch(std::ptr::from_ref(line).wrapping_add(AHEAD));
                    }
                    let (a, b) = (load::<false>(&strip[a]), load::<false>(&strip[b]));
                    let halves = [_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)];
                    let weight = _mm512_set1_epi32(weights[pair]);
                    for (sum, half) in high_sums.iter_mut().zip(halves) {
                        *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(half, weight));
                    }
                    if TWO {
                        let weight = _mm512_set1_epi32(low_weights[group][pair]);
                        for ((sum, half), lanes) in low_sums.iter_mut().zip(halves).zip(&mut low) {
                            *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(half, weight));
                            if pair % 2 == 1 {
                                lanes.add(*sum);
                                *sum = Lanes::start();
                            }
                        }
                    }
                }
                for (lanes, sum) in high.iter_mut().zip(high_sums) {
                    lanes.add(sum);
                }
            }
            // Records 0, 1, 8, 9, ... and 2, 3, 10, 11, ... of each half's own order.
            let mut quarters = [_mm512_setzero_si512(); 4];
            for half in 0..2 {
                let (mut even, mut odd) = high[half].even_and_odd(groups);
                if TWO {
                    let (low_even, low_odd) = low[half].even_and_odd(2 * groups);
                    even = _mm512_add_epi64(_mm512_slli_epi64::<16>(even), low_even);
                    odd = _mm512_add_epi64(_mm512_slli_epi64::<16>(odd), low_odd);
                }
                quarters[2 * half] = _mm512_unpacklo_epi64(even, odd);
                quarters[2 * half + 1] = _mm512_unpackhi_epi64(even, odd);
            }
            let [a, b, c, d] = quarters;
            let (ab, cd) = (
                _mm512_shuffle_i64x2::<0x44>(a, b),
                _mm512_shuffle_i64x2::<0x44>(c, d),
            );
            let (later_ab, later_cd) = (
                _mm512_shuffle_i64x2::<0xee>(a, b),
                _mm512_shuffle_i64x2::<0xee>(c, d),
            );
            let sums = [
                _mm512_shuffle_i64x2::<0x88>(ab, cd),
                _mm512_shuffle_i64x2::<0xdd>(ab, cd),
                _mm512_shuffle_i64x2::<0x88>(later_ab, later_cd),
                _mm512_shuffle_i64x2::<0xdd>(later_ab, later_cd),
            ];
            for (sum, margins) in sums.into_iter().zip(margins.chunks_exact_mut(8)) {
                // SAFETY: the chunk has eight i64, which are exactly 512 bits.
                let before = unsafe { _mm512_loadu_si512(margins.as_ptr().cast()) };
                let after = _mm512_add_epi64(before, _mm512_sll_epi64(sum, shift));
                // SAFETY: as for the load.
                unsafe { _mm512_storeu_si512(margins.as_mut_ptr().cast(), after) };
            }
        }
    }

    /// Columns whose sums are taken side by side: memory is read in its own order up to so many, and 256 make passes over 1000 columns
    /// half as fast.
    const PANEL: usize = 1024;

    /// So many lanes that hold nothing.
    #[target_feature(enable = "avx512f")]
    pub(super) fn no_lanes(len: usize) -> Vec<Lanes> {
        vec![Lanes::zero(); len]
    }

    /// Adds the inner products of all `p` columns, or of the `SIZES` of their entries, with each of `P` planes of d to lanes, strip
    /// by strip, so that lines are read in the order of memory.
    ///
    /// Products of a line, pair by pair, are 16 sums below 2^29. Those of four columns become one vector, in which each
    /// column has four sums of four: at most 2^31 - 2^17.
    #[target_feature(enable = "avx512bw")]
    pub(super) fn add_strips_avx512<const P: usize, const SIZES: bool>(
        planes: [&[Line]; P],
        lines: &[Line],
        p: usize,
        lanes: &mut [[Lanes; P]],
    ) {
        let strips = planes[0].len();
        for (first, lanes) in (0..p).step_by(PANEL).zip(lanes.chunks_mut(PANEL / 4)) {
            let width = PANEL.min(p - first);
            for strip in 0..strips {
                let mut d = [_mm512_setzero_si512(); P];
                for (d, plane) in d.iter_mut().zip(planes) {
                    *d = load::<false>(&plane[strip]);
                }
                let (fours, rest) = lines[strip * p + first..][..width].as_chunks::<4>();
                for (four, lanes) in fours.iter().zip(&mut *lanes) {
                    let [a, b, c, e] = four;
                    let four = [
                        load::<SIZES>(a),
                        load::<SIZES>(b),
                        load::<SIZES>(c),
                        load::<SIZES>(e),
                    ];
                    add_four(four, &d, lanes);
                }
                if let ([_, ..], Some(lanes)) = (rest, lanes.last_mut()) {
                    let mut four = [_mm512_setzero_si512(); 4];
                    for (x, line) in four.iter_mut().zip(rest) {
                        *x = load::<SIZES>(line);
                    }
                    add_four(four, &d, lanes);
                }
            }
        }
    }

    /// Adds what so many strips left in lanes to the sums of as many columns, four by four.
    #[target_feature(enable = "avx512f")]
    pub(super) fn add_lanes<'l>(
        lanes: impl Iterator<Item = &'l Lanes>,
        strips: usize,
        sums: &mut [i64],
    ) {
        for (lanes, sums) in lanes.zip(sums.chunks_mut(4)) {
            add_sums_of_four(sums, lanes.even_and_odd(strips));
        }
    }

    /// Adds the sums of even lanes, of columns 0 and 2 in turn, and of odd ones, of 1 and 3, to those of up to four columns.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add_sums_of_four(sums: &mut [i64], (even, odd): (__m512i, __m512i)) {
        let halved = |x: __m512i| {
            let quarters = (_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64::<1>(x));
            let half = _mm256_add_epi64(quarters.0, quarters.1);
            let eighths = (
                _mm256_castsi256_si128(half),
                _mm256_extracti128_si256::<1>(half),
            );
            _mm_add_epi64(eighths.0, eighths.1)
        };
        let first_two = halved(_mm512_unpacklo_epi64(even, odd));
        let last_two = halved(_mm512_unpackhi_epi64(even, odd));
        let mut more = [0i64; 4];
        let all = _mm256_set_m128i(last_two, first_two);
        // SAFETY: four i64 are exactly 256 bits.
        unsafe { _mm256_storeu_si256(more.as_mut_ptr().cast(), all) };
        for (sum, more) in sums.iter_mut().zip(more) {
            *sum = sum.wrapping_add(more);
        }
    }

    /// A line, or the `SIZES` of its entries.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn load<const SIZES: bool>(line: &Line) -> __m512i {
        // SAFETY: a line is exactly 512 bits.
        let entries = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
        if SIZES {
            _mm512_abs_epi16(entries)
        } else {
            entries
        }
    }

    /// Adds the products of a line of each of four columns to lanes: the sums of columns 0 and 2 to even ones, of 1 and 3 to
    /// odd ones.
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn add_four<const P: usize>(x: [__m512i; 4], d: &[__m512i; P], lanes: &mut [Lanes; P]) {
        for (lanes, &d) in lanes.iter_mut().zip(d) {
            let [a, b, c, e] = [
                _mm512_madd_epi16(x[0], d),
                _mm512_madd_epi16(x[1], d),
                _mm512_madd_epi16(x[2], d),
                _mm512_madd_epi16(x[3], d),
            ];
            let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
            let ce = _mm512_add_epi32(_mm512_unpacklo_epi32(c, e), _mm512_unpackhi_epi32(c, e));
            let (low, high) = (_mm512_unpacklo_epi64(ab, ce), _mm512_unpackhi_epi64(ab, ce));
            lanes.add(_mm512_add_epi32(
                _mm512_add_epi32(low, Lanes::start()),
                high,
            ));
        }
    }

    /// sums += the inner products of all columns with a plane of d, two strips at a time.
    #[target_feature(enable = "avx2")]
    pub(super) fn add_strips_avx2(d: &[Line], lines: &[Line], sums: &mut [i64]) {
        let p = sums.len();
        let load = |line: &Line| {
            let halves = line.as_chunks::<16>().0;
            // SAFETY: half a line is exactly 256 bits.
            [0, 1].map(|half: usize| unsafe { _mm256_loadu_si256(halves[half].as_ptr().cast()) })
        };
        for (first, sums) in (0..).step_by(PANEL).zip(sums.chunks_mut(PANEL)) {
            let mut totals = vec![_mm256_setzero_si256(); sums.len()];
            for (run, d) in d.chunks(RUN / 2).enumerate() {
                for (j, total) in totals.iter_mut().enumerate() {
                    let mut sum = _mm256_setzero_si256();
                    for (k, d) in d.iter().enumerate() {
                        let line = &lines[(run * (RUN / 2) + k) * p + first + j];
                        for (x, d) in load(line).into_iter().zip(load(d)) {
                            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x, d));
                        }
                    }
                    let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum));
                    let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(sum));
                    *total = _mm256_add_epi64(*total, _mm256_add_epi64(low, high));
                }
            }
            for (sum, total) in sums.iter_mut().zip(totals) {
                let mut lanes = [0i64; 4];
                // SAFETY: four i64 are exactly 256 bits.
                unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), total) };
                *sum = lanes.iter().fold(*sum, |sum, &lane| sum.wrapping_add(lane));
            }
        }
    }

    /// margins += the sum of weight * column, strip by strip, of weights that fit 32 bits: the low halves of lanes hold all
    /// of a weight and of a feature.
    #[target_feature(enable = "avx2")]
    pub(super) fn add_products_avx2(
        margins: &mut [[i64; LINE]],
        strips: Strips<'_>,
        terms: &[(usize, i64)],
    ) {
        for (margins, strip) in margins.iter_mut().zip(strips.iter()) {
            let (fours, _) = margins.as_chunks_mut::<4>();
            // SAFETY: four i64 are exactly 256 bits.
            let load = |four: usize| unsafe { _mm256_loadu_si256(fours[four].as_ptr().cast()) };
            let mut sums: [__m256i; LINE / 4] = std::array::from_fn(load);
            for &(j, weight) in terms {
                let factor = _mm256_set1_epi64x(weight);
                let (parts, _) = strip[j].as_chunks::<4>();
                for (sum, part) in sums.iter_mut().zip(parts) {
                    // SAFETY: four i16 are exactly 64 bits.
                    let x = unsafe { _mm_loadl_epi64(part.as_ptr().cast()) };
                    let product = _mm256_mul_epi32(_mm256_cvtepi16_epi64(x), factor);
                    *sum = _mm256_add_epi64(*sum, product);
                }
            }
            for (four, sum) in fours.iter_mut().zip(sums) {
                // SAFETY: as for the load.
                unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), sum) };
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    const WIDTHS: &[Width] = &[
        Width::Portable,
        #[cfg(target_arch = "x86_64")]
        Width::Avx2,
        #[cfg(target_arch = "x86_64")]
        Width::Avx512,
    ];

    thread_local! {
        /// The widest instructions that kernels called by this thread may use.
        pub(super) static LIMIT: Cell<Width> = Cell::new(WIDTHS[WIDTHS.len() - 1]);
    }

    /// Results of `work` with every copy of the kernels that this machine can run, the portable one first.
    pub(crate) fn at_every_width<R>(mut work: impl FnMut() -> R) -> Vec<R> {
        let widest = LIMIT.get();
        let results = WIDTHS
            .iter()
            .filter(|width| **width <= detected())
            .map(|&width| {
                LIMIT.set(width);
                assert_eq!(super::width(), width);
                work()
            });
        let results = results.collect();
        LIMIT.set(widest);
        results
    }

    /// Processor seconds of all threads of this process, where the system tells; else of a clock on the wall.
    pub(crate) fn processor_seconds() -> f64 {
        #[cfg(target_os = "linux")]
        {
            let mut now = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            // SAFETY: `now` is a place for what is written.
            unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
            now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
        }
        #[cfg(not(target_os = "linux"))]
        {
            static START: std::sync::LazyLock<std::time::Instant> =
                std::sync::LazyLock::new(std::time::Instant::now);
            START.elapsed().as_secs_f64()
        }
    }

    /// Weights of one size, so that every kernel for small ones is reached, or of several; at the ends of what it takes.
    fn weights() -> impl Strategy<Value = Vec<i64>> {
        let up_to = |most: i64| {
            let one = prop_oneof![8 => -most..=most, 1 => Just(most), 1 => Just(-most)];
            proptest::collection::vec(one, 0..75)
        };
        prop_oneof![
            up_to(1 << 14),
            up_to((1 << 30) - (1 << 15)),
            up_to(1 << 30),
            up_to((1 << 31) - 1),
            up_to(1 << 44),
            proptest::collection::vec(
                prop_oneof![-9i64..9, -(1i64 << 30)..=1 << 30, -(1i64 << 44)..=1 << 44],
                0..75
            ),
        ]
    }

    /// Entries of records and columns in [-bound, bound], at its ends often.
    fn entries(seed: u32, bound: i16) -> impl Fn(usize, usize) -> i16 {
        move |i, j| {
            let mixed = (u64::from(seed) ^ ((i as u64) << 32 | j as u64))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                >> 33;
            let x = mixed as i64 % (3 * i64::from(bound) + 1) - i64::from(bound) * 3 / 2;
            x.clamp(-i64::from(bound), bound.into()) as i16
        }
    }

    /// The strips of `n` records.
    fn in_strips(n: usize, p: usize, entry: impl Fn(usize, usize) -> i16) -> Vec<Line> {
        let mut lines = vec![[0; LINE]; n.div_ceil(LINE) * p];
        for (i, j) in (0..n).flat_map(|i| (0..p).map(move |j| (i, j))) {
            lines[i / LINE * p + j][i % LINE] = entry(i, j);
        }
        lines
    }

    fn reference(column: &[i16], d: &[i16]) -> i128 {
        column
            .iter()
            .zip(d)
            .map(|(&x, &d)| i128::from(x) * i128::from(d))
            .sum()
    }

    fn all_planes(products: &InnerProducts) -> Vec<i64> {
        let mut sums = vec![-1; products.sums.len()];
        let planes = sums.chunks_mut(products.columns.max(1)).enumerate();
        planes.for_each(|(plane, out)| products.of_plane(plane, out));
        sums
    }

    fn check_dot(columns: &[Vec<i16>], d: &[i16]) {
        let slices: [&[i16]; 4] = std::array::from_fn(|k| columns[k].as_slice());
        let expected: Vec<i128> = columns.iter().map(|column| reference(column, d)).collect();
        let as_wide = |dots: [i64; 4]| dots.map(i128::from).to_vec();
        for dots in at_every_width(|| dot4(slices, d)) {
            assert_eq!(as_wide(dots), expected);
        }
    }

    proptest! {
        #[test]
        fn dot_products_match_a_wide_reference(
            rows in proptest::collection::vec(
                (-MAX_FEATURE..=MAX_FEATURE, -MAX_FEATURE..=MAX_FEATURE, -MAX_FEATURE..=MAX_FEATURE,
                 -MAX_FEATURE..=MAX_FEATURE, -MAX_DERIVATIVE..=MAX_DERIVATIVE), 0..400)
        ) {
            let column = |get: fn(&(i16, i16, i16, i16, i16)) -> i16| rows.iter().map(get).collect::<Vec<_>>();
            let columns = [column(|r| r.0), column(|r| r.1), column(|r| r.2), column(|r| r.3)];
            check_dot(&columns, &column(|r| r.4));
        }

        #[test]
        fn sizes_and_squares_match_a_wide_reference(n in 1usize..300, p in prop_oneof![0usize..11, 255usize..259], seed in any::<u32>()) {
            let entry = entries(seed, MAX_FEATURE);
            let lines = in_strips(n, p, &entry);
            let strips = Strips::new(&lines, p);
            let read = || {
                let (mut sizes, mut squares) = (vec![3i64; p], vec![1i64 << 59; n]);
                add_sizes(strips, &mut sizes);
                add_squares(strips, &mut squares);
                (sizes, squares)
            };
            let size = |j: usize| 3 + (0..n).map(|i| i64::from(entry(i, j)).abs()).sum::<i64>();
            let square = |i: usize| (1 << 59) + (0..p).map(|j| i64::from(entry(i, j)).pow(2)).sum::<i64>();
            for (sizes, squares) in at_every_width(read) {
                prop_assert_eq!(sizes, (0..p).map(size).collect::<Vec<_>>());
                prop_assert_eq!(squares, (0..n).map(square).collect::<Vec<_>>());
            }
        }

        #[test]
        fn sums_of_scaled_columns_match_a_wide_reference(
            n in 1usize..200,
            weights in weights(),
            strip in 0usize..3,
            spare in 0usize..3,
            seed in any::<u32>(),
        ) {
            let (start, p) = ((strip * LINE).min(n / LINE * LINE), weights.len() + spare);
            let entry = entries(seed, MAX_FEATURE);
            let lines = in_strips(n, p, &entry);
            // The last column first, so that columns are told apart.
            let terms: Vec<(usize, i64)> = (0..weights.len()).rev().zip(weights.iter().copied()).collect();
            let prepared = Weights::new(terms.clone());
            let moved = || {
                let mut margins = vec![-3i64; n - start];
                add_products(&mut margins, Strips::new(&lines, p).from_record(start), &prepared);
                margins
            };
            for margins in at_every_width(moved) {
                for (i, &margin) in (start..).zip(&margins) {
                    let products = terms.iter().map(|&(j, w)| i128::from(w) * i128::from(entry(i, j)));
                    prop_assert_eq!(i128::from(margin), products.sum::<i128>() - 3);
                }
            }
        }

        #[test]
        fn quantisation_is_rounding_of_the_clipped_map(x in -1e6..1e6f64, scale in -1e3..1e3f64, offset in -1e5..1e5f64) {
            let (low, high) = (-100.0, f64::from(MAX_FEATURE));
            let expected = (x * scale + offset).clamp(low, high).round_ties_even() as i16;
            prop_assert_eq!(quantise(x, scale, offset, low, high), expected);
            let maps = LatticeMaps { scale: &[scale; 22], offset: &[offset; 22], low: &[low; 22], high: &[high; 22] };
            let read = || {
                let (mut column, mut row) = ([0i16; 21], [0i16; 21]);
                assert!(quantise_column(&[x; 21], maps, 3, &mut column));
                assert!(quantise_row(&[x; 21], maps, 1, &mut row));
                [column, row]
            };
            for out in at_every_width(read) {
                prop_assert_eq!(out, [[expected; 21]; 2]);
            }
        }
    }

    proptest! {
        /// Several planes, up to panels of columns and beyond whole runs of records, at the ends of what entries may be.
        #[test]
        fn inner_products_match_a_wide_reference(
            n in 1usize..700,
            p in prop_oneof![0usize..12, 250usize..262],
            planes in 1usize..6,
            piece in 1usize..9,
            bound in prop_oneof![Just(1), Just(MAX_DERIVATIVE)],
            seed in any::<u32>(),
        ) {
            let (entry, slope) = (entries(seed, MAX_FEATURE), entries(!seed, MAX_DERIVATIVE));
            let lines = in_strips(n, p, &entry);
            let d = |i: usize, k: usize| if bound == 1 { slope(i, k).signum() * MAX_DERIVATIVE } else { slope(i, k) };
            let slopes: Vec<Vec<i16>> = (0..planes).map(|k| (0..n).map(|i| d(i, k)).collect()).collect();
            let slopes: Vec<&[i16]> = slopes.iter().map(Vec::as_slice).collect();
            let product = |j: usize, k: usize| (0..n).map(|i| i64::from(entry(i, j)) * i64::from(d(i, k))).sum::<i64>();
            let expected: Vec<i64> = (0..planes * p).map(|at| 2 * product(at % p, at / p)).collect();
            let summed = || {
                let (mut sums, strips) = (InnerProducts::zeros(p, planes), Strips::new(&lines, p));
                for start in (0..n).step_by(piece * LINE) {
                    let records = start..n.min(start + piece * LINE);
                    sums.add(strips.from_record(start), &slopes, records);
                }
                all_planes(&sums.plus(&sums))
            };
            for sums in at_every_width(summed) {
                prop_assert_eq!(&sums, &expected);
            }
        }

        #[test]
        fn columns_one_after_the_other_have_their_inner_products(n in 1usize..300, p in 0usize..10, seed in any::<u32>()) {
            let (entry, slope) = (entries(seed, MAX_FEATURE), entries(!seed, MAX_DERIVATIVE));
            let columns: Vec<i16> = (0..n * p).map(|k| entry(k % n, k / n)).collect();
            let d: Vec<i16> = (0..n).map(|i| slope(i, 0)).collect();
            let products = || {
                let mut out = vec![7i64; p];
                inner_products(&columns, &d, &mut out);
                out
            };
            for out in at_every_width(products) {
                for (out, column) in out.iter().zip(columns.chunks_exact(n)) {
                    prop_assert_eq!(i128::from(*out), reference(column, &d));
                }
            }
        }

        #[test]
        fn transposition_moves_every_entry(rows in 0usize..=LINE, width in 1usize..40, spare in 0usize..9) {
            let stride = width + spare;
            let tile: Vec<i16> = (0..rows * stride).map(|k| k as i16).collect();
            let mut lines = vec![[-1i16; LINE]; width];
            transpose(&tile, stride, &mut lines);
            for (k, line) in lines.iter().enumerate() {
                let moved: Vec<i16> = (0..rows).map(|row| tile[row * stride + k]).collect();
                prop_assert_eq!(&line[..rows], &moved[..]);
                prop_assert!(line[rows..].iter().all(|&entry| entry == -1));
            }
        }

        #[test]
        fn derivatives_are_rounded_and_clamped(x in -1e3..1e3f64, scale in 0.0..1e3f64, place in 0usize..21) {
            let mut input = [f64::NAN; 21];
            input[place] = x;
            let mut expected = [0i16; 21];
            expected[place] = (x * scale).clamp(-8192.0, 8192.0).round_ties_even() as i16;
            let round = || {
                let mut out = [7i16; 21];
                round_clamped(&input, scale, 8192.0, &mut out);
                out
            };
            for out in at_every_width(round) {
                prop_assert_eq!(out, expected);
            }
        }
    }

    #[test]
    fn large_pages_hold_what_they_held() {
        for len in [0, 1, 1 << 20, (3 << 20) + 7] {
            let mut entries = on_large_pages(vec![0i16; len]);
            assert!(entries.len() == len && entries.iter().all(|&entry| entry == 0));
            entries.fill(7);
            assert!(on_large_pages(entries).iter().all(|&entry| entry == 7));
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        for n in [127, 128, 129, 100_003] {
            for (x, d) in [
                (MAX_FEATURE, MAX_DERIVATIVE),
                (-MAX_FEATURE, MAX_DERIVATIVE),
                (MAX_FEATURE, -MAX_DERIVATIVE),
            ] {
                check_dot(&vec![vec![x; n]; 4], &vec![d; n]);
                let (lines, d) = (vec![[x; LINE]; n.div_ceil(LINE) * 3], vec![d; n]);
                let summed = || {
                    let mut sums = InnerProducts::zeros(3, 4);
                    sums.add(Strips::new(&lines, 3), &[&d[..]; 4], 0..n);
                    all_planes(&sums)
                };
                let expected = i64::from(x) * i64::from(d[0]) * n as i64;
                for sums in at_every_width(summed) {
                    assert_eq!(sums, [expected; 12]);
                }
            }
        }
    }

    /// Features and weights as large as they get, all of one sign: sums of 32 bits reach their ends.
    #[test]
    fn extreme_margins_do_not_overflow() {
        let n = 70usize;
        for x in [MAX_FEATURE, -MAX_FEATURE] {
            let lines = vec![[x; LINE]; n.div_ceil(LINE) * 40];
            for weight in [1i64 << 14, 1 << 15, (1 << 30) - (1 << 15), 1 << 30, 1 << 40] {
                for weight in [weight, -weight, -weight - 1, weight - 1] {
                    let terms: Vec<(usize, i64)> = (0..40).map(|j| (j, weight)).collect();
                    let moved = || {
                        let mut margins = vec![3i64; n];
                        add_products(
                            &mut margins,
                            Strips::new(&lines, 40),
                            &Weights::new(terms.clone()),
                        );
                        margins
                    };
                    for margins in at_every_width(moved) {
                        assert!(
                            margins == vec![3 + 40 * weight * i64::from(x); n],
                            "{weight}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn non_finite_entries_are_noticed() {
        let mut out = [0i16; 3];
        let maps = LatticeMaps {
            scale: &[1.0; 3],
            offset: &[0.0; 3],
            low: &[-1.0; 3],
            high: &[1.0; 3],
        };
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            at_every_width(|| {
                assert!(!quantise_column(&[0.0, bad, 0.0], maps, 0, &mut out));
                assert!(!quantise_row(&[0.0f32, 1.0, bad as f32], maps, 0, &mut out));
            });
        }
    }
}
