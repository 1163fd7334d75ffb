//! Integer sums of many columns, of which a pass changes few.

use crate::numeric::kernel::on_large_pages;

/// Sums, and which of them have been touched since they were last told.
#[derive(Debug)]
pub(in crate::privacy) struct ChangingSums {
    sums: Vec<i64>,
    /// One bit a column, and one a word of these: touched columns are found in order without a look at all of them.
    touched: Vec<u64>,
    words: Vec<u64>,
}

/// Columns in ascending order, with their sums: those of all columns that changed, and maybe of some that did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed(pub Vec<(u32, i64)>);

impl ChangingSums {
    /// Sums of `n` columns, all 0.
    pub(in crate::privacy) fn new(n: usize) -> Self {
        let words = n.div_ceil(64);
        Self {
            sums: on_large_pages(vec![0; n]),
            touched: vec![0; words],
            words: vec![0; words.div_ceil(64)],
        }
    }

    /// Adds to one sum.
    #[inline(always)]
    pub(in crate::privacy) fn add(&mut self, column: usize, change: i64) {
        self.sums[column] += change;
        self.touch(column);
    }

    /// Replaces one sum.
    #[inline(always)]
    pub(in crate::privacy) fn set(&mut self, column: usize, sum: i64) {
        if self.sums[column] != sum {
            self.sums[column] = sum;
            self.touch(column);
        }
    }

    #[inline(always)]
    fn touch(&mut self, column: usize) {
        let word = column / 64;
        if self.touched[word] == 0 {
            self.words[word / 64] |= 1 << (word % 64);
        }
        self.touched[word] |= 1 << (column % 64);
    }

    /// What was touched since the last time, in order.
    pub(in crate::privacy) fn take_changed(&mut self) -> Changed {
        let mut changed = Vec::new();
        for (k, words) in self.words.iter_mut().enumerate() {
            for word in bits(std::mem::take(words)) {
                let word = 64 * k + word;
                for bit in bits(std::mem::take(&mut self.touched[word])) {
                    let column = 64 * word + bit;
                    changed.push((column as u32, self.sums[column]));
                }
            }
        }
        Changed(changed)
    }
}

/// Places of the bits of a word, ascending.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then_some(word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        bit
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn touched_columns_are_told_once_and_in_order(
            n in 1usize..9000,
            rounds in prop::collection::vec(prop::collection::vec((any::<prop::sample::Index>(), -9i64..9), 0..40), 1..6),
        ) {
            let (mut sums, mut expected) = (ChangingSums::new(n), vec![0i64; n]);
            for round in rounds {
                let mut columns = std::collections::BTreeSet::new();
                for (column, change) in round {
                    let column = column.index(n);
                    sums.add(column, change);
                    expected[column] += change;
                    columns.insert(column as u32);
                }
                let told = columns.into_iter().map(|j| (j, expected[j as usize])).collect();
                prop_assert_eq!(sums.take_changed(), Changed(told));
                prop_assert_eq!(sums.take_changed(), Changed(Vec::new()));
            }
            let mut other = expected.clone();
            (other[0], other[n - 1]) = (100, 1000);
            (other.iter().enumerate()).for_each(|(j, &sum)| sums.set(j, sum));
            let ends = if n == 1 { vec![(0, 1000)] } else { vec![(0, 100), (n as u32 - 1, 1000)] };
            prop_assert_eq!(sums.take_changed(), Changed(ends));
        }
    }
}
