//! Weights of columns, in the parts that wide vectors multiply by.

#[cfg(target_arch = "x86_64")]
use super::memory::x86::Ahead;
#[cfg(target_arch = "x86_64")]
use super::width::{Width, width};

/// What columns are multiplied by, for the margins of one plane or of several, as kernels take it.
pub struct Weights {
    /// Of each plane, columns with their weights.
    pub(super) planes: Vec<Vec<(usize, i64)>>,
    /// How many columns there must be.
    pub(super) columns: usize,
    /// Whether no weight is beyond 2^29, so that its parts fit 16 bits.
    pub(super) small: bool,
    #[cfg(target_arch = "x86_64")]
    pub(super) batches: Vec<Batch>,
}

impl Weights {
    /// Of some of so many columns for each plane; what is said of one twice counts twice.
    ///
    /// # Panics
    /// Where there is no such column.
    pub fn new(planes: Vec<Vec<(usize, i64)>>, columns: usize) -> Self {
        assert!(planes.iter().flatten().all(|term| term.0 < columns));
        Self {
            #[cfg(target_arch = "x86_64")]
            batches: Batch::all(&planes, columns),
            columns,
            small: (planes.iter().flatten()).all(|term| term.1.unsigned_abs() <= 1 << 29),
            planes,
        }
    }

    /// The same of all columns, those without a weight multiplied by 0, where whole strips are read faster than lines
    /// of a few columns in margins and of all in sums.
    pub fn of_whole_strips(&self) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if width() == Width::Avx512 && self.columns > Ahead::with_pauses().whole && self.are_few() {
            let whole = |terms: &Vec<(usize, i64)>| {
                let rest = (0..self.columns).map(|column| (column, 0));
                terms.iter().copied().chain(rest).collect()
            };
            let planes = self.planes.iter().map(whole).collect();
            return Some(Self::new(planes, self.columns));
        }
        None
    }

    /// Whether most columns have no weight.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn are_few(&self) -> bool {
        FEW * self.terms() < self.columns * self.planes.len()
    }

    /// How many columns are multiplied, of all planes together.
    pub fn terms(&self) -> usize {
        self.planes.iter().map(Vec::len).sum()
    }
}

/// Margins that take less than one column in so many leave most lines to those who read them next.
#[cfg(target_arch = "x86_64")]
const FEW: usize = 4;

/// Planes that are taken together, at most: their sums, and what those widen to, fill the registers of the widest
/// vectors.
#[cfg(target_arch = "x86_64")]
const TOGETHER: usize = 2;

/// Weights of the same columns for margins of different planes, which are made at once, two columns in 32 bits, as the
/// widest kernel multiplies them.
#[cfg(target_arch = "x86_64")]
pub(super) struct Batch {
    /// A column with the weight 0 changes nothing.
    pub(super) columns: Vec<[usize; 8]>,
    /// One or two.
    pub(super) planes: Vec<Plane>,
    /// Pair by pair of columns, and for each plane: what they are multiplied by, the high part before the low one.
    pub(super) weights: Vec<i32>,
    /// Whether there are low parts.
    pub(super) low: bool,
}

/// What margins of one plane are made of.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub(super) plane: usize,
    /// All is multiplied by 2^shift.
    pub(super) shift: u32,
}

/// Bits of a low part: weight = high 2^15 + low, |high| <= 2^14, -2^14 <= low < 2^14.
pub(super) const LOW_BITS: u32 = 15;

#[cfg(target_arch = "x86_64")]
impl Batch {
    /// Batches that add up to the weights of each plane.
    fn all(planes: &[Vec<(usize, i64)>], columns: usize) -> Vec<Self> {
        let moved = (0..planes.len()).filter(|&plane| !planes[plane].is_empty());
        let moved: Vec<usize> = moved.collect();
        let terms: usize = planes.iter().map(Vec::len).sum();
        let all = columns_of(planes, &moved);
        // Columns that some planes do not have are multiplied by 0 for them, where those are few.
        match all.len() * moved.len() <= terms + terms / 4 {
            true => Self::of_planes(planes, &moved, &with_rest(all, columns)),
            false => (moved.chunks(1))
                .flat_map(|plane| {
                    let own = with_rest(columns_of(planes, plane), columns);
                    Self::of_planes(planes, plane, &own)
                })
                .collect(),
        }
    }

    /// Those of these planes, with all their columns, in order and each once.
    fn of_planes(planes: &[Vec<(usize, i64)>], these: &[usize], own: &[usize]) -> Vec<Self> {
        let Some(&first) = own.first() else {
            return Vec::new();
        };
        let mut columns = own.to_vec();
        columns.resize(own.len().next_multiple_of(8), first);
        let parts = these.iter().flat_map(|&plane| {
            let mut weights = vec![0; columns.len()];
            for &(column, weight) in &planes[plane] {
                weights[own.partition_point(|&other| other < column)] += weight;
            }
            Part::all(plane, weights)
        });
        let mut rounds: Vec<Vec<Part>> = Vec::new();
        for part in parts {
            // Parts of one plane one after the other.
            let fits = |round: &&mut Vec<Part>| {
                (round.iter())
                    .all(|other| other.plane.plane != part.plane.plane && other.low() == part.low())
            };
            match rounds.iter_mut().find(fits) {
                Some(round) => round.push(part),
                None => rounds.push(vec![part]),
            }
        }
        (rounds.iter())
            .flat_map(|round| round.chunks(TOGETHER))
            .map(|parts| Self::new(&columns, parts))
            .collect()
    }

    /// Of parts that are alike.
    fn new(columns: &[usize], parts: &[Part]) -> Self {
        let mut weights = Vec::with_capacity(columns.len() * parts.len());
        for pair in 0..columns.len() / 2 {
            for part in parts {
                weights.push(part.high_pairs[pair]);
                weights.extend(part.low_pairs.get(pair));
            }
        }
        Self {
            columns: columns.as_chunks().0.to_vec(),
            planes: parts.iter().map(|part| part.plane).collect(),
            weights,
            low: parts[0].low(),
        }
    }
}

/// The columns of these planes, each once.
#[cfg(target_arch = "x86_64")]
fn columns_of(planes: &[Vec<(usize, i64)>], these: &[usize]) -> Vec<usize> {
    let columns = these.iter().flat_map(|&plane| &planes[plane]);
    let mut columns: Vec<usize> = columns.map(|term| term.0).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// All of so many columns in the place of these, if they are not [`FEW`]: margins ask memory for the lines that they
/// are made of, so that sums would wait for every other line.
#[cfg(target_arch = "x86_64")]
fn with_rest(own: Vec<usize>, columns: usize) -> Vec<usize> {
    match FEW * own.len() < columns {
        true => own,
        false => (0..columns).collect(),
    }
}

/// Parts of the weights of a plane.
#[cfg(target_arch = "x86_64")]
struct Part {
    plane: Plane,
    /// Two in 32 bits.
    high_pairs: Vec<i32>,
    /// As many; or none, and weights are their high parts.
    low_pairs: Vec<i32>,
}

#[cfg(target_arch = "x86_64")]
impl Part {
    /// Those that add up to the weights of a plane.
    fn all(plane: usize, mut weights: Vec<i64>) -> Vec<Self> {
        let mut parts = Vec::new();
        // Weights beyond 2^29 part by part, from the lowest 30 bits on.
        let mut shift = 0;
        loop {
            let beyond = weights.iter().any(|weight| weight.unsigned_abs() > 1 << 29);
            let mut part = weights.clone();
            for (part, weight) in part.iter_mut().zip(&mut weights) {
                if beyond {
                    *part = balanced(*part, 30);
                }
                *weight = weight.wrapping_sub(*part) >> 30;
            }
            parts.push(Self::new(&part, Plane { plane, shift }));
            if !beyond {
                return parts;
            }
            shift += 30;
        }
    }

    /// Weights of at most 2^29 each.
    fn new(weights: &[i64], plane: Plane) -> Self {
        let low = (weights.iter()).any(|weight| weight.unsigned_abs() > 1 << (LOW_BITS - 1));
        let packed = |of: &dyn Fn(i64) -> i64| -> Vec<i32> {
            let (pairs, _) = weights.as_chunks::<2>();
            let pack = |&[first, second]: &[i64; 2]| {
                ((of(second) as u32) << 16 | u32::from(of(first) as u16)) as i32
            };
            pairs.iter().map(pack).collect()
        };
        let (high_pairs, low_pairs) = match low {
            false => (packed(&|weight| weight), Vec::new()),
            true => (
                packed(&|weight| i64::from(parts(weight)[0])),
                packed(&|weight| i64::from(parts(weight)[1])),
            ),
        };
        Self {
            plane,
            high_pairs,
            low_pairs,
        }
    }

    fn low(&self) -> bool {
        !self.low_pairs.is_empty()
    }
}

/// The parts of a weight of at most 2^29, the high one first.
#[inline(always)]
pub(super) fn parts(weight: i64) -> [i16; 2] {
    let low = balanced(weight, LOW_BITS);
    [((weight - low) >> LOW_BITS) as i16, low as i16]
}

/// The residue of a weight modulo 2^bits that lies in [-2^(bits - 1), 2^(bits - 1)).
fn balanced(weight: i64, bits: u32) -> i64 {
    weight << (64 - bits) >> (64 - bits)
}
