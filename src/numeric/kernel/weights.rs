//! Weights of columns, in the parts that wide vectors multiply by.

/// What columns are multiplied by, as kernels take it.
pub struct Weights {
    /// Columns with their weights.
    pub(super) terms: Vec<(usize, i64)>,
    /// How many columns there must be.
    pub(super) columns: usize,
    #[cfg(target_arch = "x86_64")]
    pub(super) parts: Vec<Part>,
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
pub(super) struct Part {
    /// Eight by eight: a column with the weight 0 changes nothing.
    pub(super) columns: Vec<usize>,
    pub(super) high: Vec<i32>,
    /// As many as high parts; none where they are all 0.
    pub(super) low: Vec<i32>,
    pub(super) shift: u32,
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
