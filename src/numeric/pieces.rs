//! Pieces of work, by all threads where there is enough to do.

use rayon::iter::plumbing::{Producer, ProducerCallback};
use rayon::prelude::*;

/// So many entries are read in less time than another thread takes to wake and to answer.
const FEW_ENTRIES: usize = 1 << 18;

/// Whether the calling thread does the work by itself: there is little to do, or no other thread that would do it
/// beside another.
fn by_one_thread(entries: usize) -> bool {
    entries <= FEW_ENTRIES || rayon::current_num_threads() == 1
}

/// Does the work of pieces that read or write so many `entries` together.
pub(crate) fn for_each_piece<I: IndexedParallelIterator>(
    entries: usize,
    pieces: I,
    work: impl Fn(I::Item) + Sync + Send,
) {
    match by_one_thread(entries) {
        true => pieces.with_producer(Here(work)),
        false => pieces.for_each(work),
    }
}

/// All pieces, one after the other.
struct Here<Work>(Work);

impl<Item, Work: Fn(Item)> ProducerCallback<Item> for Here<Work> {
    type Output = ();

    fn callback<P: Producer<Item = Item>>(self, pieces: P) {
        pieces.into_iter().for_each(self.0);
    }
}

/// Folds numbered pieces, which read so many `entries` together: `add` adds one to what `start` makes, of which `sums`
/// is kept, and `join` adds up the sums of threads. Results must not depend on which pieces a thread has.
pub(crate) fn fold_pieces<P: Send, State, Sums: Send>(
    pieces: Vec<P>,
    entries: usize,
    start: impl Fn() -> State + Sync + Send,
    add: impl Fn(State, (usize, P)) -> State + Sync + Send,
    sums: impl Fn(State) -> Sums + Sync + Send,
    join: impl Fn(Sums, Sums) -> Sums + Sync + Send,
) -> Sums
where
    State: Send,
{
    let none = || sums(start());
    if by_one_thread(entries) {
        return sums(pieces.into_iter().enumerate().fold(start(), add));
    }
    let by_threads = pieces.into_par_iter().enumerate().fold(&start, add);
    by_threads.map(&sums).reduce(none, join)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each piece once with its number, by one thread and by several.
    #[test]
    fn pieces_are_added_up_once() {
        for entries in [0, FEW_ENTRIES, FEW_ENTRIES + 1] {
            let pieces: Vec<u64> = (0..1000).collect();
            let add = |sum: u64, (k, piece): (usize, u64)| sum + k as u64 * piece;
            let sum = fold_pieces(pieces, entries, || 0, add, |sum| sum, |a, b| a + b);
            assert_eq!(sum, (0..1000).map(|k| k * k).sum::<u64>());
            let mut pieces = vec![0; 1000];
            for_each_piece(
                entries,
                pieces.par_chunks_mut(7).enumerate(),
                |(k, piece)| {
                    piece.iter_mut().for_each(|one| *one += k + 1);
                },
            );
            assert!((0..1000).all(|at| pieces[at] == at / 7 + 1));
            let none = fold_pieces(Vec::new(), entries, || 0, add, |sum| sum + 7, |a, _| a);
            assert_eq!(none, 7);
        }
    }
}
