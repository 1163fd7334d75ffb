//! Weights of columns, in the parts that wide vectors multiply by.

/// What columns are multiplied by, for the margins of one plane or of several, as kernels take it.
pub struct Weights {
    /// Of each plane, columns with their weights.
    pub(super) planes: Vec<Vec<(usize, i64)>>,
    /// How many columns there must be.
    pub(super) columns: usize,
    #[cfg(target_arch = "x86_64")]
    pub(super) batches: Vec<Batch>,
}

impl Weights {
    /// Of these columns of each plane; what is said of one twice counts twice.
    pub fn new(planes: Vec<Vec<(usize, i64)>>) -> Self {
        let columns = planes.iter().flatten().map(|term| term.0 + 1).max();
        Self {
            #[cfg(target_arch = "x86_64")]
            batches: Batch::all(&planes),
            columns: columns.unwrap_or(0),
            planes,
        }
    }

    /// How many columns are multiplied, of all planes together.
    pub fn terms(&self) -> usize {
        self.planes.iter().map(Vec::len).sum()
    }
}

/// Planes that are taken together, at most: their sums fill the registers of the widest vectors.
pub(super) const TOGETHER: usize = 3;

/// Weights of the same columns for margins of different planes, which are made at once, two columns in 32 bits, as the
/// widest kernel multiplies them.
#[cfg(target_arch = "x86_64")]
pub(super) struct Batch {
    /// A column with the weight 0 changes nothing.
    pub(super) columns: Vec<[usize; 8]>,
    /// At most [`TOGETHER`].
    pub(super) planes: Vec<Plane>,
    /// Pair by pair of columns, and for each plane: what they are multiplied by, the high part before the low one.
    pub(super) weights: Vec<i32>,
    pub(super) low: Low,
}

/// What margins of one plane are made of.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub(super) plane: usize,
    /// All is multiplied by 2^shift.
    pub(super) shift: u32,
}

/// weight = high 2^bits + low, |high| <= 2^14, -2^(bits - 1) <= low < 2^(bits - 1); or weight = high alone.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Low {
    None,
    /// Of 15 bits: products of four pairs of columns by them fit 32 bits.
    Narrow,
    /// Of 16 bits: those of two pairs do.
    Wide,
}

#[cfg(target_arch = "x86_64")]
impl Batch {
    /// Batches that add up to the weights of each plane.
    fn all(planes: &[Vec<(usize, i64)>]) -> Vec<Self> {
        let moved = (0..planes.len()).filter(|&plane| !planes[plane].is_empty());
        let moved: Vec<usize> = moved.collect();
        let terms: usize = planes.iter().map(Vec::len).sum();
        let all = columns_of(planes, &moved);
        // Columns that some planes do not have are multiplied by 0 for them, where those are few.
        match all.len() * moved.len() <= terms + terms / 4 {
            true => Self::of_planes(planes, &moved, &all),
            false => (moved.chunks(1))
                .flat_map(|plane| Self::of_planes(planes, plane, &columns_of(planes, plane)))
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
                    .all(|other| other.plane.plane != part.plane.plane && other.low == part.low)
            };
            match rounds.iter_mut().find(fits) {
                Some(round) => round.push(part),
                None => rounds.push(vec![part]),
            }
        }
        (rounds.iter())
            .flat_map(|round| round.chunks(together(round.len())))
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
            low: parts[0].low,
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

/// How many of so many planes are taken together: at most [`TOGETHER`], and not many less the last time.
pub(super) fn together(planes: usize) -> usize {
    planes.div_ceil(planes.div_ceil(TOGETHER).max(1)).max(1)
}

/// Parts of the weights of a plane, as [`Low`] says.
#[cfg(target_arch = "x86_64")]
struct Part {
    plane: Plane,
    /// Two in 32 bits.
    high_pairs: Vec<i32>,
    /// As many, or none.
    low_pairs: Vec<i32>,
    low: Low,
}

#[cfg(target_arch = "x86_64")]
impl Part {
    /// Those that add up to the weights of a plane.
    fn all(plane: usize, mut weights: Vec<i64>) -> Vec<Self> {
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
            parts.push(Self::new(&part, Plane { plane, shift }));
            if !beyond {
                return parts;
            }
            shift += 30;
        }
    }

    /// Weights of at most 2^30 each.
    fn new(weights: &[i64], plane: Plane) -> Self {
        let largest = weights.iter().map(|weight| weight.unsigned_abs()).max();
        let low = match largest {
            Some(largest) if largest > 1 << 29 => Low::Wide,
            Some(largest) if largest > 1 << 14 => Low::Narrow,
            _ => Low::None,
        };
        let packed = |of: &dyn Fn(i64) -> i64| -> Vec<i32> {
            let (pairs, _) = weights.as_chunks::<2>();
            let pack = |&[first, second]: &[i64; 2]| {
                ((of(second) as u32) << 16 | u32::from(of(first) as u16)) as i32
            };
            pairs.iter().map(pack).collect()
        };
        let (high_pairs, low_pairs) = match low.bits() {
            0 => (packed(&|weight| weight), Vec::new()),
            bits => (
                packed(&|weight| (weight - balanced(weight, bits)) >> bits),
                packed(&|weight| balanced(weight, bits)),
            ),
        };
        Self {
            plane,
            high_pairs,
            low_pairs,
            low,
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Low {
    /// Of each low part.
    pub(super) fn bits(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Narrow => 15,
            Self::Wide => 16,
        }
    }
}

/// The residue of a weight modulo 2^bits that lies in [-2^(bits - 1), 2^(bits - 1)).
#[cfg(target_arch = "x86_64")]
fn balanced(weight: i64, bits: u32) -> i64 {
    weight << (64 - bits) >> (64 - bits)
}
