//! Float sums in blocks of blocks, and how often a term of one is added to.

/// Terms of an inner block; its square is the length of an outer one.
pub(crate) const BLOCK: usize = 256;
/// Columns that one block of margins sums.
pub(crate) const COLUMNS: usize = 64;
/// D of margins in floats and of [`blocked_sum`] over `p` terms: at most 64 + p/64 + 2 additions for dense
/// columns, 256 + 256 + p/65536 + 2 for [`blocked_sum`].
pub(crate) fn additions_over_columns(p: usize) -> f64 {
    520.0 + p as f64 / COLUMNS as f64
}

/// D of gradients in floats over `n` records.
pub(crate) fn additions_over_records(n: usize) -> f64 {
    520.0 + n as f64 / (BLOCK * BLOCK) as f64
}

/// The sum of all terms, by blocks of blocks.
pub(crate) fn blocked_sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut outer, mut inner, mut count) = (0.0, 0.0, 0.0, 0usize);
    for term in terms {
        inner += term;
        count += 1;
        if count.is_multiple_of(BLOCK) {
            outer += inner;
            inner = 0.0;
            if count.is_multiple_of(BLOCK * BLOCK) {
                total += outer;
                outer = 0.0;
            }
        }
    }
    total + outer + inner
}
