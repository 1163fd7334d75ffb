use crate::exact::noise::source::Source;

use super::inverse_temperature::FAR;

pub(super) const CLASSES: usize = FAR as usize + 1;
const BLOCK: usize = 4096;

/// How many candidates each class c = 0..=64 has; one of it is drawn with probability proportional to 2^-c.
#[derive(Debug)]
pub(super) struct Tickets {
    counts: [u64; CLASSES],
    total: u128,
}

impl Tickets {
    /// Of at least one candidate and fewer than 2^32.
    pub(super) fn new(counts: [u64; CLASSES]) -> Self {
        // The sum is below 2^32 2^65 < 2^128.
        let total = (0..CLASSES).map(|class| weight(&counts, class)).sum();
        Self { counts, total }
    }

    /// A class, with probability proportional to count 2^-class, and the rank of a uniform member of it.
    pub(super) fn draw(&self, source: &mut Source) -> (u8, usize) {
        let mut ticket = source.below(self.total);
        for class in 0..CLASSES {
            let weight = weight(&self.counts, class);
            if ticket < weight {
                // The ticket is uniform below count 2^k: its upper part is a uniform member, for free.
                return (class as u8, (ticket >> (CLASSES - 1 - class)) as usize);
            }
            ticket -= weight;
        }
        unreachable!("a ticket below the total falls into a class")
    }
}

fn weight(counts: &[u64; CLASSES], class: usize) -> u128 {
    u128::from(counts[class]) << (CLASSES - 1 - class)
}

/// Candidates sorted into classes c = 0..=64; a candidate is proposed with probability proportional to 2^-c.
///
/// An exact sampler proposes from here and accepts with probability weight 2^c (times a common constant),
/// **starting again from the class after a rejection** ([`crate::theory_of_privacy::selection`]). The last class holds
/// all smaller weights too: proposing them with 2^-64 is exact, since their acceptance probability is smaller in
/// proportion. Classes from enclosures of weights may overlap: exactness needs weight 2^class <= 1 alone, and the
/// number of rounds is the ratio of proposals to weights, which each sampler bounds.
#[derive(Debug)]
pub(super) struct DyadicClasses {
    class_of: Vec<u8>,
    tickets: Tickets,
    /// Members class after class, and where each class begins; made only for repeated draws.
    members: Option<(Vec<u32>, [usize; CLASSES])>,
}

impl DyadicClasses {
    /// Reuses `storage`; `class_of` must yield at least one and at most 2^32 - 1 classes, each at most 64.
    pub(super) fn new(mut storage: Vec<u8>, class_of: impl Iterator<Item = u8>) -> Self {
        storage.clear();
        storage.extend(class_of);
        // Four histograms: consecutive candidates are mostly of one class, and one counter would wait on
        // itself.
        let mut counts = [[0u32; CLASSES]; 4];
        let mut quads = storage.chunks_exact(4);
        for quad in &mut quads {
            for (count, &class) in counts.iter_mut().zip(quad) {
                count[usize::from(class)] += 1;
            }
        }
        for &class in quads.remainder() {
            counts[0][usize::from(class)] += 1;
        }
        let all = |class: usize| counts.iter().map(|count| u64::from(count[class])).sum();
        Self {
            class_of: storage,
            tickets: Tickets::new(std::array::from_fn(all)),
            members: None,
        }
    }

    /// Prepares for many draws: afterwards each costs O(1).
    pub(super) fn index_members(&mut self) {
        let mut starts = [0usize; CLASSES];
        for class in 1..CLASSES {
            starts[class] = starts[class - 1] + self.tickets.counts[class - 1] as usize;
        }
        let mut next = starts;
        let mut members = vec![0u32; self.class_of.len()];
        for (candidate, &class) in self.class_of.iter().enumerate() {
            members[next[usize::from(class)]] = candidate as u32;
            next[usize::from(class)] += 1;
        }
        self.members = Some((members, starts));
    }

    /// A class with probability proportional to count 2^-class, then a uniform member of it.
    pub(super) fn propose(&self, source: &mut Source) -> (usize, u8) {
        let (class, rank) = self.tickets.draw(source);
        (self.member(class, rank), class)
    }

    fn member(&self, class: u8, rank: usize) -> usize {
        if let Some((members, starts)) = &self.members {
            return members[starts[usize::from(class)] + rank] as usize;
        }
        let mut left = rank;
        for (block, classes) in self.class_of.chunks(BLOCK).enumerate() {
            let here = classes.iter().filter(|&&other| other == class).count();
            if left < here {
                let inside = classes
                    .iter()
                    .enumerate()
                    .filter(|&(_, &other)| other == class)
                    .nth(left);
                return block * BLOCK + inside.map_or(0, |(position, _)| position);
            }
            left -= here;
        }
        unreachable!("a rank below the count of its class is found")
    }

    /// Gives the storage back for reuse.
    pub(super) fn into_storage(self) -> Vec<u8> {
        self.class_of
    }
}
