//! One candidate after the other among integer scores of which few change in between.

use super::inverse_temperature::{FAR, InverseTemperature};
use super::levels::{Levels, MOST};
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;
use crate::numeric::kernel::on_large_pages;

/// Classes that are proposed one by one; what is further from the best is proposed together.
const NEAR: usize = FAR as usize;

/// More than one in so many candidates that change their level at once are sorted with all others, but for so few.
const MOVES: usize = 16;
const FEW: usize = 64;

/// Levels between the anchor and the least score when candidates are sorted: so far it may fall before they are again.
const ROOM: u64 = MOST as u64 / 4;

/// The exponential mechanism of [`ExponentialMechanism`](super::ExponentialMechanism), kept up to date: a changed score
/// costs O(1), a draw O(64), whatever the number of candidates.
///
/// Scores are counted from an *anchor* below them, d = q - anchor, not from the least of them, so that a change moves
/// one candidate alone. With exp(-eta d) = 2^-x, candidate k lies in level c_k <= x, an integer
/// (`Levels::of`), in a list of which it knows its place. Let c be the lowest level that has members.
///
/// **Law.** A ticket is uniform below sum over near levels (c to c + 63) of (members) 2^(64 - level + c), plus the
/// number N of all candidates. It falls on each near member with a share of 2^(64 - c_k + c), and on each candidate,
/// near or not, with a share of 1 beside. A near member is kept with probability 2^(c_k - x); a candidate of the last
/// share is refused if it is near, else kept with probability 2^(c + 64 - x). So a round keeps k with probability
/// proportional to 2^(64 + c) 2^-x, near or not; the factor is common to all, and after a refusal everything is drawn
/// anew.
///
/// **Rounds:** fewer than 5 are expected, whatever the scores are. c_k > x - 2, so that proposals of near members
/// exceed their weights by less than a factor of 4; the lowest level has one, so that the weights sum to W >= 2^-(c +
/// 2), and the last shares to N 2^-(64 + c) < 2^-(32 + c).
///
/// **Sorting.** When a score falls below the anchor, or the lowest level comes near to `MOST`, all are sorted anew: so
/// the weight of the least score has changed by a factor of 2^1000 or more. So they are when many change their levels
/// at once. When it happens depends on scores, as running time may; the law does not.
///
/// What is drawn follows from the seed and from the sequence of changes of scores and of draws
/// ([`IncrementalSelection::settle`] in their place serves as well), in their order.
///
/// ```
/// use dpsparse::exact::noise::source::Source;
/// use dpsparse::exact::selection::{IncrementalSelection, InverseTemperature};
/// let eta = InverseTemperature::new(1.0, 2).unwrap();
/// let mut selection = IncrementalSelection::new(vec![1_000_000, 3, 3], eta).unwrap();
/// let mut source = Source::secure().unwrap();
/// assert!(selection.draw(&mut source) > 0);
/// selection.update([(0, -1_000_000)].into_iter());
/// assert_eq!(selection.draw(&mut source), 0);
/// ```
pub struct IncrementalSelection {
    scores: Vec<i64>,
    temperature: InverseTemperature,
    levels: Levels,
    anchor: i64,
    /// Candidates level by level.
    members: Vec<Vec<u32>>,
    /// Level of each candidate, and its place in the list of that level.
    level_of: Vec<u16>,
    place: Vec<u32>,
    /// No list below has members.
    lowest: usize,
    /// Scores are noted, but not in their lists yet.
    unsorted: bool,
}

impl IncrementalSelection {
    /// Candidates with these scores; they are sorted at the first draw.
    ///
    /// # Errors
    /// No score at all, or 2^32 and more of them.
    pub fn new(scores: Vec<i64>, temperature: InverseTemperature) -> Result<Self> {
        if scores.is_empty() {
            return Err(Error::invalid("scores", "must not be empty"));
        }
        if u32::try_from(scores.len()).is_err() {
            return Err(Error::invalid(
                "scores",
                "must have fewer than 2^32 entries",
            ));
        }
        Ok(Self {
            levels: temperature.levels(),
            temperature,
            anchor: 0,
            members: vec![Vec::new(); MOST + 1],
            level_of: on_large_pages(vec![0; scores.len()]),
            place: on_large_pages(vec![0; scores.len()]),
            lowest: 0,
            unsorted: true,
            scores,
        })
    }

    /// Gives some candidates other scores: O(1) a change.
    ///
    /// # Panics
    /// If there is no candidate of a number.
    pub fn update(&mut self, changes: impl Iterator<Item = (usize, i64)>) {
        let mut moves = Vec::new();
        for (k, score) in changes {
            self.scores[k] = score;
            if self.unsorted || score < self.anchor {
                self.unsorted = true;
                continue;
            }
            if self.level(k) != self.level_of[k] {
                moves.push(k);
            }
        }
        // Sorting all goes through memory in order, and takes less time than so many moves.
        self.unsorted |= moves.len() > FEW.max(self.scores.len() / MOVES);
        if !self.unsorted {
            moves.into_iter().for_each(|k| self.shift(k));
        }
    }

    /// The level that a score belongs to: it is not below the anchor.
    fn level(&self, k: usize) -> u16 {
        self.levels.of(self.scores[k].abs_diff(self.anchor))
    }

    /// Takes `k` from its list to that of the level of its score.
    fn shift(&mut self, k: usize) {
        let level = self.level(k);
        if level == self.level_of[k] {
            return; // it was changed there and back
        }
        let (list, place) = (
            &mut self.members[usize::from(self.level_of[k])],
            self.place[k],
        );
        list.swap_remove(place as usize);
        if let Some(&moved) = list.get(place as usize) {
            self.place[moved as usize] = place;
        }
        self.enter(k, level);
        self.lowest = self.lowest.min(usize::from(level));
    }

    /// Index of the chosen candidate.
    pub fn draw(&mut self, source: &mut Source) -> usize {
        #[cfg(test)]
        crate::exact::tap::see(|| {
            crate::exact::tap::Seen::Scores(self.scores.clone(), self.temperature.per_unit())
        });
        self.choose(source)
    }

    /// The same, of which no test is told.
    pub(super) fn choose(&mut self, source: &mut Source) -> usize {
        self.settle();
        let total = self.tickets();
        loop {
            let ticket = source.below(total);
            if let Some((candidate, level)) = self.holder(ticket) {
                let distance = self.scores[candidate].abs_diff(self.anchor);
                // Level <= x.
                if (self.temperature).accepts(distance.into(), level as u64, source) {
                    return candidate;
                }
            }
        }
    }

    /// Scores of the candidates.
    pub(super) fn scores(&self) -> &[i64] {
        &self.scores
    }

    /// Appends `k` to the list of a level.
    fn enter(&mut self, k: usize, level: u16) {
        let list = &mut self.members[usize::from(level)];
        self.level_of[k] = level;
        self.place[k] = list.len() as u32;
        list.push(k as u32);
    }

    /// Finds the lowest level, and sorts all candidates where that is due: all that a draw does to the candidates.
    pub fn settle(&mut self) {
        while !self.unsorted && self.members[self.lowest].is_empty() {
            self.lowest += 1;
        }
        // Weights beyond MOST may lie in level MOST - 1 and must be far.
        if self.unsorted || self.lowest + NEAR >= MOST {
            self.sort();
        }
    }

    fn sort(&mut self) {
        let least = self.scores.iter().copied().min().unwrap_or(0);
        let room = i64::try_from(self.temperature.least_above(ROOM)).unwrap_or(i64::MAX);
        self.anchor = least.saturating_sub(room);
        let mut counts = vec![0usize; self.members.len()];
        for k in 0..self.scores.len() {
            self.level_of[k] = self.level(k);
            counts[usize::from(self.level_of[k])] += 1;
        }
        for (list, count) in self.members.iter_mut().zip(counts) {
            list.clear();
            if list.capacity() < count {
                *list = on_large_pages(Vec::with_capacity(count));
            }
        }
        for k in 0..self.scores.len() {
            self.enter(k, self.level_of[k]);
        }
        self.lowest = usize::from(self.levels.of(least.abs_diff(self.anchor)));
        self.unsorted = false;
    }

    /// How many tickets there are: fewer than 2^98.
    fn tickets(&self) -> u128 {
        let near = self.members[self.lowest..].iter().take(NEAR).enumerate();
        let near: u128 = near
            .map(|(c, list)| (list.len() as u128) << (NEAR - c))
            .sum();
        near + self.scores.len() as u128
    }

    /// Whom a ticket falls on, and at which level it is proposed; None: on one of the last shares that is refused.
    fn holder(&self, mut ticket: u128) -> Option<(usize, usize)> {
        let near = self.members[self.lowest..].iter().take(NEAR);
        for (c, list) in near.enumerate() {
            let tickets = (list.len() as u128) << (NEAR - c);
            if ticket < tickets {
                let rank = (ticket >> (NEAR - c)) as usize;
                return Some((list[rank] as usize, self.lowest + c));
            }
            ticket -= tickets;
        }
        let (candidate, far) = (ticket as usize, self.lowest + NEAR);
        (usize::from(self.level_of[candidate]) >= far).then_some((candidate, far))
    }
}

#[cfg(test)]
mod tests {
    use super::super::ExponentialMechanism;
    use super::*;
    use crate::numeric::enclosure::EXPONENT_BITS;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    fn selection(scores: Vec<i64>, epsilon: f64, sensitivity: u64) -> IncrementalSelection {
        let eta = InverseTemperature::new(epsilon, sensitivity).unwrap();
        IncrementalSelection::new(scores, eta).unwrap()
    }

    fn set(selection: &mut IncrementalSelection, k: usize, score: i64) {
        selection.update(std::iter::once((k, score)));
    }

    /// The structure as it should be: every candidate in one list, that of its level, at its place.
    fn is_consistent(selection: &IncrementalSelection) -> bool {
        let counts: usize = selection.members.iter().map(Vec::len).sum();
        let below = selection.members[..selection.lowest]
            .iter()
            .all(Vec::is_empty);
        let placed = (0..selection.scores.len()).all(|k| {
            let level = selection.level(k);
            let list = &selection.members[usize::from(level)];
            selection.level_of[k] == level && list[selection.place[k] as usize] == k as u32
        });
        let above = selection.scores.iter().all(|&q| q >= selection.anchor);
        counts == selection.scores.len() && below && placed && above
    }

    /// How many tickets fall on each candidate at each level, found by halving: tickets of one holder are neighbours.
    fn shares(selection: &IncrementalSelection) -> Vec<(Option<(usize, usize)>, u128)> {
        let (total, mut from, mut shares) = (selection.tickets(), 0, Vec::new());
        while from < total {
            let holder = selection.holder(from);
            // Shares are powers of two, 2^64 at most.
            let mut size = 1u128;
            while size < 1 << 64
                && from + 2 * size <= total
                && selection.holder(from + 2 * size - 1) == holder
                && holder.is_some_and(|(_, level)| level < selection.lowest + NEAR)
            {
                size *= 2;
            }
            shares.push((holder, size));
            from += size;
        }
        shares
    }

    /// The law, enumerated: tickets times the enclosure of what is kept are exp(-eta q), of every candidate and with
    /// one factor for all; the same as the classes of the mechanism from scratch.
    #[test]
    fn tickets_and_coins_make_the_law() {
        let cases: [(Vec<i64>, f64, u64); 5] = [
            ((0..40).collect(), 1.0, 1),
            (vec![5; 9], 2.0, 3),
            (vec![0, 7, -3, 100, 44, 45, 46, 1000, 1 << 60], 2.0, 1),
            (vec![i64::MIN, i64::MAX, i64::MIN + 4, 0], 2f64.powi(-60), 1),
            (vec![3, -(1 << 40), -(1 << 40) + 2, 9], 1024.0, 1),
        ];
        for (scores, epsilon, sensitivity) in cases {
            let mut selection = selection(scores.clone(), epsilon, sensitivity);
            selection.settle();
            assert!(is_consistent(&selection));
            let mut proposed = vec![0; scores.len()];
            for (holder, tickets) in shares(&selection) {
                let Some((k, level)) = holder else {
                    assert_eq!(tickets, 1);
                    continue;
                };
                // One level a candidate, with 2^(64 + lowest - level) tickets.
                assert_eq!(tickets, 1 << (selection.lowest + NEAR - level));
                assert_eq!(proposed[k], 0);
                proposed[k] = tickets;
                // Kept with probability 2^level exp(-eta d): at most 1, and not cut off there.
                let d = u128::from(scores[k].abs_diff(selection.anchor));
                let (bits, shift) = (200, level as u64);
                let (lo, hi) = selection.temperature.weight(d, shift, bits);
                let [below, _] = selection.temperature.wide_exponent(d);
                assert!(u128::from(shift) << EXPONENT_BITS <= below);
                assert!(&hi - &lo <= BigUint::from(4u8) && hi <= BigUint::from(1u8) << bits);
                // Above 1/4 where near.
                let near = level < selection.lowest + NEAR;
                assert!(!near || lo >= BigUint::from(1u8) << (bits - 2));
            }
            assert!(proposed.iter().all(|&tickets| tickets > 0));
        }
    }

    /// Pearson's statistic of `n` draws against exp(-eta q).
    fn chi_square(selection: &mut IncrementalSelection, eta: f64, n: usize, seed: u64) -> f64 {
        let mut source = Source::seeded(seed);
        let mut counts = vec![0f64; selection.scores.len()];
        (0..n).for_each(|_| counts[selection.draw(&mut source)] += 1.0);
        let least = *selection.scores.iter().min().unwrap();
        let weight = |&q: &i64| (-eta * (q - least) as f64).exp();
        let total: f64 = selection.scores.iter().map(weight).sum();
        let expected = selection
            .scores
            .iter()
            .map(|q| weight(q) / total * n as f64);
        expected
            .zip(counts)
            .map(|(e, count)| (count - e) * (count - e) / e)
            .sum()
    }

    /// After changes too, whether they sort all candidates anew or not.
    #[test]
    fn frequencies_follow_the_law() {
        // 7 degrees of freedom: 1 - 1e-6 quantile 42.7.
        let mut some = selection(vec![0, 1, 2, 3, 4, 5, 6, 7], 1.0, 1);
        assert!(chi_square(&mut some, 0.5, 200_000, 1) < 42.7);
        for (k, score) in [(0, 9), (7, 2), (3, 10), (4, 4), (1, 3)] {
            set(&mut some, k, score);
        }
        assert!(chi_square(&mut some, 0.5, 200_000, 2) < 42.7);
        some.update((0..8).map(|k| (k, -100_000 - (k as i64 % 3))));
        assert!(chi_square(&mut some, 0.5, 200_000, 3) < 42.7);
        // All of them rise far, one by one.
        (0..8).for_each(|k| set(&mut some, k, 1_000_000 + 2 * k as i64));
        assert!(chi_square(&mut some, 0.5, 200_000, 4) < 42.7);
        let mut steep = selection(vec![0, 0, 0, 10, 10, 20, 30, 40], 0.1, 1);
        assert!(chi_square(&mut steep, 0.05, 200_000, 5) < 42.7);
    }

    /// Far candidates are proposed by a share of their own: were it too large, so many would win, or take many rounds.
    #[test]
    fn the_best_wins_at_low_temperatures() {
        let mut scores = vec![1000i64; 100_000];
        scores[77] = 0;
        let mut selection = selection(scores, 1.0, 1);
        // 5 rounds of 5 words at most are expected.
        let mut source = Source::limited(3, 25_000);
        assert!((0..1000).all(|_| selection.draw(&mut source) == 77));
    }

    /// Scores that only rise at the largest epsilon, where each unit of a score is 738 levels.
    #[test]
    fn units_may_be_many_levels() {
        let mut selection = selection(vec![0, 1, 2], 1024.0, 1);
        for round in 0..50i64 {
            let best = (round % 3) as usize;
            selection.update((0..3).map(|k| (k, round * 10 + i64::from(k != best) * 100)));
            assert_eq!(selection.draw(&mut Source::seeded(round as u64)), best);
            assert!(is_consistent(&selection));
        }
    }

    /// Many changes at once are sorted, few are moved, and some are of one candidate; the law is that of the last
    /// scores.
    #[test]
    fn many_changes_and_few_leave_one_structure() {
        let n = 3000;
        let mut selection = selection((0..n).map(|k| k % 50).collect(), 1.0, 1);
        let mut source = Source::seeded(8);
        for (round, size) in [(1, 10), (2, 64), (3, 188), (4, 3000)] {
            let score = |k: i64| (k * 7 + round) % 45;
            let changes: Vec<(usize, i64)> = (0..size).map(|k| (k as usize, score(k))).collect();
            selection.draw(&mut source);
            selection.update(changes.iter().copied());
            selection.update([(5, 900), (5, score(5)), (6, 900), (6, 20), (6, 900)].into_iter());
            selection.settle();
            assert!(is_consistent(&selection));
            assert!(
                changes
                    .iter()
                    .all(|&(k, score)| k == 6 || selection.scores[k] == score)
            );
        }
    }

    #[test]
    fn unusable_scores_are_refused() {
        let eta = InverseTemperature::new(1.0, 1).unwrap();
        assert!(IncrementalSelection::new(Vec::new(), eta).is_err());
    }

    proptest! {
        /// After any changes the lists are those of candidates sorted anew, and few words are drawn: each 3 end a draw
        /// with a probability above 1/10, so that more than 1000 have a probability below 0.9^333 = 6e-16.
        #[test]
        fn changes_leave_what_sorting_makes(
            scores in prop::collection::vec((any::<i64>(), 0u32..64), 1..60),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<i64>(), 0u32..64, any::<bool>()), 0..200),
            epsilon_log in -63.0..9.9f64,
            seed: u64,
        ) {
            let scores: Vec<i64> = scores.into_iter().map(|(score, drop)| score >> drop).collect();
            let mut selection = selection(scores, epsilon_log.exp2(), 1);
            let mut source = Source::seeded(seed);
            for (at, score, drop, draws) in changes {
                let k = at.index(selection.scores.len());
                set(&mut selection, k, score >> drop);
                if draws {
                    selection.draw(&mut source);
                    prop_assert!(is_consistent(&selection));
                    let list = &selection.members[selection.lowest];
                    prop_assert!(!list.is_empty() && selection.lowest + NEAR < MOST);
                }
            }
            let choice = selection.draw(&mut Source::limited(seed, 1000));
            prop_assert!(choice < selection.scores.len());
            // Counted from the anchor, the near classes hold what the mechanism from scratch has in its classes.
            let mechanism = ExponentialMechanism::new(&selection.scores, &selection.temperature, Vec::new());
            prop_assert!(mechanism.is_ok());
            let mut sorted = self::selection(selection.scores.clone(), epsilon_log.exp2(), 1);
            sorted.anchor = selection.anchor;
            for k in 0..sorted.scores.len() {
                let level = sorted.levels.of(sorted.scores[k].abs_diff(sorted.anchor));
                sorted.enter(k, level);
            }
            for (one, other) in selection.members.iter().zip(&sorted.members) {
                let (mut one, mut other) = (one.clone(), other.clone());
                one.sort_unstable();
                other.sort_unstable();
                prop_assert_eq!(one, other);
            }
        }
    }
}
