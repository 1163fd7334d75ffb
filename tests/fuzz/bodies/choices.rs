//! Bytes as a sequence of choices. What is asked for beyond the last byte is zero, so that every input is one.

/// Floats at which code breaks.
const ODD: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    f64::EPSILON,
    1e-160,
    1e160,
    9_007_199_254_740_993.0,
];

pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// One of 0..n, for n from 1 to 256.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    /// Sixteenths from -8 to 7.5 as a rule: exact sums, ties and zeros; now and then an odd float or any bits.
    pub fn float(&mut self) -> f64 {
        match self.byte() {
            0..200 => f64::from(self.byte() as i8) / 16.0,
            200..240 => *self.pick(&ODD),
            _ => f64::from_bits(u64::from_le_bytes(std::array::from_fn(|_| self.byte()))),
        }
    }

    pub fn floats(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.float()).collect()
    }

    /// Sixteenths alone.
    pub fn tame(&mut self) -> f64 {
        f64::from(self.byte() as i8) / 16.0
    }

    /// Up to `most` indices, each below `n` as a rule.
    pub fn indices(&mut self, most: usize, n: usize) -> Vec<usize> {
        (0..self.below(most + 1))
            .map(|_| match self.byte() {
                255 => usize::MAX,
                byte => usize::from(byte) % (n + usize::from(byte > 250)),
            })
            .collect()
    }
}
