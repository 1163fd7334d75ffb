//! One candidate after the other among many, most of whose scores are bounded and not known.

use super::incremental::IncrementalSelection;
use super::inverse_temperature::InverseTemperature;
use crate::error::{Error, Result};
use crate::exact::noise::source::Source;

/// Members of a group are fewer than two to this power.
const MOST_BITS: u64 = 32;

/// The exponential mechanism by rejection: of some candidates scores are known, of the others how near they are to the
/// centre of their group alone. The score of one of these is looked at where it is proposed, so that a change of all
/// scores costs what the known ones and the groups do.
///
/// **Law.** A member k of a group of m has a score q_k that is at most r = [`LazySelection::reach`] away from the
/// centre c. With b the least integer such that m <= 2^b, and M an integer with exp(-eta M) <= 2^-b, the group is one
/// candidate of score g = c - r - M of an [`IncrementalSelection`] that has the known candidates beside. Where that is
/// drawn, a uniform number below 2^b names a member or nobody, and the member is kept with probability 2^b exp(-eta
/// (q_k - g)), which is 1 at most as q_k - g >= M. So a round ends with k with probability proportional to exp(-eta g)
/// 2^-b 2^b exp(-eta (q_k - g)) = exp(-eta q_k), and with a known candidate with its own weight; the factor is common
/// to all, and after a refusal everything is drawn anew.
///
/// **Rounds:** fewer than 17 are expected, whatever the scores are. The number names a member with probability above
/// 1/2, and q_k - g <= 2 r + M. eta r / ln 2 <= 1, and as a unit of a score is no more than a level, eta M / ln 2 <=
/// b + 1, both but for factors of 1 + 2^-62: what is proposed is kept with probability above 2^-3.01.
///
/// Which candidates are in groups decides about the running time, not about the law.
///
/// ```
/// use dpsparse::exact::noise::source::Source;
/// use dpsparse::exact::selection::{Drawn, InverseTemperature, LazySelection};
/// let eta = InverseTemperature::new(1.0, 1 << 20).unwrap();
/// assert!(LazySelection::reach(&eta).unwrap() > 1_000_000);
/// // One known score, and two scores near 0.
/// let mut selection = LazySelection::new(vec![1 << 40], vec![vec![7, 8]], eta).unwrap();
/// let mut source = Source::secure().unwrap();
/// selection.update([].into_iter(), &[0]);
/// let score = |candidate| if candidate == 7 { 900_000 } else { -900_000 };
/// assert!(matches!(selection.draw(score, &mut source), Drawn::Member(7 | 8)));
/// ```
pub struct LazySelection {
    /// Known candidates, then one for each group.
    proposals: IncrementalSelection,
    groups: Vec<Group>,
    temperature: InverseTemperature,
}

struct Group {
    members: Vec<u32>,
    /// A member is named with probability 2^-bits.
    bits: u64,
    /// How far the score of the proposal is below the centre: r + M.
    below: i64,
}

/// What was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// The known candidate of this number.
    Known(usize),
    /// This member of a group.
    Member(u32),
}

impl LazySelection {
    /// How far the score of a member may be from the centre of its group; None where units of scores are so coarse, or
    /// so fine, that there must be no groups.
    pub fn reach(temperature: &InverseTemperature) -> Option<u64> {
        let level = temperature.least_above(1);
        let sums_fit = temperature.least_above(MOST_BITS + 2) < 1 << 60;
        (level > 1 && sums_fit).then(|| level - 1)
    }

    /// Candidates with known scores, and groups of others, whose centres are 0. Scores and centres stay within 2^62 in
    /// size.
    ///
    /// # Errors
    /// No candidate at all, or 2^32 and more; groups where there must be none; an empty one.
    pub fn new(
        known: Vec<i64>,
        groups: Vec<Vec<u32>>,
        temperature: InverseTemperature,
    ) -> Result<Self> {
        let reach = Self::reach(&temperature);
        let group = |members: Vec<u32>| {
            let (false, Some(reach)) = (members.is_empty(), reach) else {
                return Err(Error::invalid("groups", "must have members of fine scores"));
            };
            let bits = u64::from(members.len().next_power_of_two().trailing_zeros());
            let below = (reach + temperature.least_above(bits)) as i64;
            Ok(Group {
                members,
                bits,
                below,
            })
        };
        let groups = (groups.into_iter().map(group)).collect::<Result<Vec<Group>>>()?;
        let mut scores = known;
        scores.extend(groups.iter().map(|group| -group.below));
        Ok(Self {
            proposals: IncrementalSelection::new(scores, temperature.clone())?,
            groups,
            temperature,
        })
    }

    /// Gives some known candidates other scores, and all groups their centres.
    ///
    /// # Panics
    /// If there is no known candidate of a number.
    pub fn update(&mut self, changes: impl Iterator<Item = (usize, i64)>, centres: &[i64]) {
        let first = self.proposals.scores().len() - self.groups.len();
        let groups = self.groups.iter().zip(centres).enumerate();
        let groups = groups.map(|(g, (group, centre))| (first + g, centre - group.below));
        self.proposals.update(changes.chain(groups));
    }

    /// What is chosen, where `score` tells the score of a member.
    ///
    /// # Panics
    /// If a member that is proposed is further below the centre of its group than [`LazySelection::reach`]: its
    /// probability would be above 1, and the law another.
    pub fn draw(&mut self, score: impl Fn(u32) -> i64, source: &mut Source) -> Drawn {
        loop {
            let choice = self.proposals.choose(source);
            let scores = self.proposals.scores();
            let Some(group) = (choice + self.groups.len()).checked_sub(scores.len()) else {
                return Drawn::Known(choice);
            };
            let group = &self.groups[group];
            let named = source.below(1 << group.bits) as usize;
            let Some(&member) = group.members.get(named) else {
                continue;
            };
            let distance = i128::from(score(member)) - i128::from(scores[choice]);
            let least = self.temperature.least_above(group.bits);
            assert!(distance >= least.into(), "members are within their reach");
            if (self.temperature).accepts(distance.unsigned_abs(), group.bits, source) {
                return Drawn::Member(member);
            }
        }
    }

    /// All that a draw does to the candidates.
    pub fn settle(&mut self) {
        self.proposals.settle();
    }

    /// Known scores.
    #[cfg(test)]
    pub(crate) fn known(&self) -> &[i64] {
        let scores = self.proposals.scores();
        &scores[..scores.len() - self.groups.len()]
    }

    /// eta, nearly.
    #[cfg(test)]
    pub(crate) fn eta(&self) -> f64 {
        self.temperature.per_unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether draws follow exp(-eta q): Pearson's statistic over all candidates, the known ones first.
    fn chi_square(
        selection: &mut LazySelection,
        (known, members): (&[i64], &[i64]),
        (n, seed): (usize, u64),
    ) -> f64 {
        let mut source = Source::seeded(seed);
        let mut counts = vec![0f64; known.len() + members.len()];
        for _ in 0..n {
            let score = |k: u32| members[k as usize];
            counts[match selection.draw(score, &mut source) {
                Drawn::Known(k) => k,
                Drawn::Member(k) => known.len() + k as usize,
            }] += 1.0;
        }
        let eta = selection.eta();
        let weight = |&q: &i64| (-eta * q as f64).exp();
        let weights: Vec<f64> = known.iter().chain(members).map(weight).collect();
        let total: f64 = weights.iter().sum();
        let expected = weights.iter().map(|weight| weight / total * n as f64);
        let cells = expected.zip(counts);
        cells.map(|(e, count)| (count - e) * (count - e) / e).sum()
    }

    /// Known candidates, two groups around centres of their own with members from one end to the other, and their
    /// moves.
    #[test]
    fn frequencies_follow_the_law() {
        let eta = InverseTemperature::new(1.0, 1 << 16).unwrap();
        let reach = LazySelection::reach(&eta).unwrap() as i64;
        let groups = vec![vec![0, 1, 2, 3, 4], vec![5, 6, 7]];
        let mut selection = LazySelection::new(vec![0; 3], groups, eta).unwrap();
        for (round, centres) in [[0, 0], [reach * 2, -reach], [-3 * reach, 5]]
            .into_iter()
            .enumerate()
        {
            let round = round as i64;
            let known = [round * 1000, -reach, reach / (1 + round)];
            let members = [
                centres[0] - reach,
                centres[0] + reach,
                centres[0],
                centres[0] + reach / 3,
                centres[0] - reach / 2,
                centres[1] + reach,
                centres[1] - reach,
                centres[1] + 7,
            ];
            selection.update(known.into_iter().enumerate(), &centres);
            // 10 degrees of freedom: 1 - 1e-6 quantile 48.6.
            let statistic = chi_square(
                &mut selection,
                (&known, &members),
                (200_000, 9 + round as u64),
            );
            assert!(statistic < 48.6, "{statistic}");
        }
    }

    /// A member beyond its reach would be drawn too seldom.
    #[test]
    #[should_panic(expected = "members are within their reach")]
    fn members_beyond_their_reach_are_refused() {
        let eta = InverseTemperature::new(1.0, 1 << 20).unwrap();
        let beyond = -4 * LazySelection::reach(&eta).unwrap() as i64;
        let mut selection = LazySelection::new(vec![1 << 40], vec![vec![1, 2]], eta).unwrap();
        selection.update([].into_iter(), &[0]);
        selection.draw(|_| beyond, &mut Source::seeded(1));
    }

    proptest! {
        /// Wherever members are in their reach, what is kept of a proposal has a probability of 1 at most, and few
        /// words are drawn: a round takes 11 at most on average and ends with a probability above 1/17, so that 40 000
        /// words are more than twenty times what 10 draws take on average.
        #[test]
        fn no_member_is_beyond_its_proposal(
            epsilon_log in -20.0..9.9f64,
            sensitivity_log in 24u32..33,
            centres in prop::collection::vec(-(1i64 << 58)..1 << 58, 1..4),
            parts in prop::collection::vec(-1.0..=1.0f64, 1..40),
            seed: u64,
        ) {
            let eta = InverseTemperature::new(epsilon_log.exp2(), 1 << sensitivity_log).unwrap();
            let reach = LazySelection::reach(&eta).unwrap();
            // One level and no more.
            let one = 1u128 << crate::numeric::enclosure::EXPONENT_BITS;
            prop_assert!(eta.wide_exponent(reach.into())[0] <= one);
            for levels in 0..=MOST_BITS {
                let [lo, hi] = eta.wide_exponent(eta.least_above(levels).into());
                // A level is reached, and passed by one unit at most.
                prop_assert!(hi >= one * u128::from(levels));
                prop_assert!(lo <= one * u128::from(levels) + eta.wide_exponent(1)[1] + 1);
            }
            let many = centres.len();
            let group = |g: usize| (0..parts.len() as u32).filter(|k| *k as usize % many == g).collect::<Vec<_>>();
            let groups: Vec<_> = (0..many).map(group).filter(|group| !group.is_empty()).collect();
            let mut selection = LazySelection::new(vec![0], groups, eta).unwrap();
            selection.update([].into_iter(), &centres);
            let score = |k: u32| centres[k as usize % many] + (parts[k as usize] * reach as f64) as i64;
            let mut source = Source::limited(seed, 40_000);
            for _ in 0..10 {
                selection.draw(score, &mut source);
            }
        }
    }

    /// Units of several levels, and those of which 2^60 are none, leave no room for groups.
    #[test]
    fn groups_need_fine_scores() {
        let coarse = InverseTemperature::new(1024.0, 1).unwrap();
        let none = InverseTemperature::new(2f64.powi(-64), 1 << 40).unwrap();
        for eta in [coarse, none] {
            assert_eq!(LazySelection::reach(&eta), None);
            assert!(LazySelection::new(vec![0], vec![vec![1]], eta.clone()).is_err());
            assert!(LazySelection::new(vec![0], Vec::new(), eta).is_ok());
        }
        let eta = InverseTemperature::new(1.0, 1 << 20).unwrap();
        assert!(LazySelection::new(vec![0], vec![Vec::new()], eta.clone()).is_err());
        assert!(LazySelection::new(Vec::new(), Vec::new(), eta).is_err());
    }
}
