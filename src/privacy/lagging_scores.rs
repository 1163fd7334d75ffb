//! Which records have their slopes taken anew, where slopes may lag behind scores: a rule for each record by itself
//! ([`crate::theory_of_privacy::frank_wolfe`]).

use std::collections::BinaryHeap;

/// The score of each record at which its slope was last taken.
///
/// **Rule.** A record's slope is taken anew in the first step in which its score z = margin * unit is `tolerance` or
/// more away from the score at which its slope was last taken, and in no other step; in the first step it always is.
///
/// So the score in use is a function of the record and of the public steps alone, and so is its slope: that is what the
/// sensitivity rests on. No other record, no number of records, no position in memory and no time takes part.
///
/// A queue finds the records whose scores have moved with the unit alone: as the unit falls, scores shrink, and a
/// record whose margin stays is due once the unit is below a number of its own. It is a matter of speed: every record
/// in it is looked at by the rule, and the rule holds for all others whether or not they are in it.
#[derive(Debug)]
pub(in crate::privacy) struct LaggingScores {
    taken: Vec<f64>,
    /// Bits of the unit at which the record is to be looked at next if its margin stays; 0: at no unit.
    due: Vec<u64>,
    /// The same with the number of the record, largest first; entries that differ from `due` are of the past.
    queue: BinaryHeap<(u64, u32)>,
    /// The last unit.
    unit: f64,
}

/// Records whose margins may have moved since the last step.
#[derive(Debug, Clone, Copy)]
pub(in crate::privacy) enum Moved<'a> {
    /// All of them.
    All,
    /// These, in any order.
    Rows(&'a [u32]),
}

/// The rule.
fn is_due(score: f64, taken: f64, tolerance: f64) -> bool {
    (score - taken).abs() >= tolerance
}

/// Bits of a unit that is not below the first one, on the way down, at which a record of this margin is due, while it
/// is not due now; 0: it never is.
///
/// On the way down the score moves towards 0, and leaves the tolerance around `taken` only if 0 lies outside of it:
/// there
/// |margin| unit is |taken| - tolerance, but for roundings of 2^-52 of each number; 2^-40 is left for them.
fn next_look(margin: i64, taken: f64, tolerance: f64) -> u64 {
    const SLACK: f64 = 1.0 / (1u64 << 40) as f64;
    let left = taken.abs() - tolerance + SLACK * (taken.abs() + tolerance);
    if margin == 0 || left <= 0.0 {
        return 0;
    }
    // Positive floats are ordered as their bits are.
    (left / margin.unsigned_abs() as f64).to_bits()
}

impl LaggingScores {
    /// For `n` records whose slopes have never been taken.
    pub(in crate::privacy) fn new(n: usize) -> Self {
        Self {
            taken: vec![f64::INFINITY; n],
            due: vec![0; n],
            queue: BinaryHeap::new(),
            unit: f64::NEG_INFINITY,
        }
    }

    /// The records that are due by the rule, each once, in any order: their slopes are to be taken at `margins * unit`.
    ///
    /// `unit` and `tolerance` are public; the first is not negative, the second positive.
    pub(in crate::privacy) fn take_due(
        &mut self,
        margins: &[i64],
        unit: f64,
        tolerance: f64,
        moved: Moved<'_>,
    ) -> Vec<u32> {
        let rising = unit > self.unit;
        self.unit = unit;
        let mut rows = Vec::new();
        let moved = match moved {
            Moved::Rows(moved) if !rising => moved,
            _ => {
                for (i, &margin) in margins.iter().enumerate() {
                    self.look(i, margin, tolerance, &mut rows);
                }
                self.queue_all();
                return rows;
            }
        };
        for &i in moved {
            self.look(i as usize, margins[i as usize], tolerance, &mut rows);
            self.enqueue(i);
        }
        let mut early = Vec::new();
        while let Some(&(bits, i)) = self.queue.peek()
            && bits >= unit.to_bits()
        {
            self.queue.pop();
            if bits != self.due[i as usize] {
                continue;
            }
            match self.look(i as usize, margins[i as usize], tolerance, &mut rows) {
                true => self.enqueue(i),
                false => early.push((bits, i)),
            }
        }
        self.queue.extend(early);
        if self.queue.len() > 2 * margins.len() + 1024 {
            self.queue_all();
        }
        rows
    }

    /// Applies the rule to one record, and says whether it is due.
    fn look(&mut self, i: usize, margin: i64, tolerance: f64, rows: &mut Vec<u32>) -> bool {
        let score = margin as f64 * self.unit;
        let due = is_due(score, self.taken[i], tolerance);
        if due {
            self.taken[i] = score;
            rows.push(i as u32);
        }
        self.due[i] = next_look(margin, self.taken[i], tolerance);
        due
    }

    fn enqueue(&mut self, i: u32) {
        let bits = self.due[i as usize];
        if bits > 0 {
            self.queue.push((bits, i));
        }
    }

    fn queue_all(&mut self) {
        let all = self.due.iter().zip(0u32..);
        let ahead = all.filter(|&(&bits, _)| bits > 0);
        self.queue = ahead.map(|(&bits, i)| (bits, i)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A step: the unit, and how the margins of some records move.
    type Step = (f64, Vec<(usize, i64)>);

    /// Which records are due at which step, by the rule applied to every record at every step.
    fn by_rule(n: usize, steps: &[Step], tolerance: f64) -> Vec<Vec<u32>> {
        let (mut margins, mut taken) = (vec![0i64; n], vec![None::<f64>; n]);
        let step = |(unit, moves): &Step| {
            for &(i, by) in moves {
                margins[i] += by;
            }
            let mut rows = Vec::new();
            for (i, taken) in taken.iter_mut().enumerate() {
                let score = margins[i] as f64 * unit;
                if taken.is_none_or(|taken| (score - taken).abs() >= tolerance) {
                    *taken = Some(score);
                    rows.push(i as u32);
                }
            }
            rows
        };
        steps.iter().map(step).collect()
    }

    fn by_queue(n: usize, steps: &[Step], tolerance: f64, all: bool) -> Vec<Vec<u32>> {
        let (mut margins, mut scores) = (vec![0i64; n], LaggingScores::new(n));
        let step = |(unit, moves): &Step| {
            let mut touched = Vec::new();
            for &(i, by) in moves {
                margins[i] += by;
                touched.push(i as u32);
            }
            let moved = if all {
                Moved::All
            } else {
                Moved::Rows(&touched)
            };
            let mut rows = scores.take_due(&margins, *unit, tolerance, moved);
            rows.sort_unstable();
            rows
        };
        steps.iter().map(step).collect()
    }

    proptest! {
        /// The queue finds the records that the rule names, whatever margins and units do, and no others; so does a
        /// look at all of them.
        #[test]
        fn the_queue_follows_the_rule(
            n in 1usize..30,
            steps in prop::collection::vec(
                (0u32..4, prop::collection::vec((any::<prop::sample::Index>(), -40_000i64..40_000), 0..4)),
                1..120,
            ),
            size in 0usize..3,
            tolerance_log in -9..2i32,
        ) {
            let mut t = 1.0;
            let steps: Vec<Step> = (steps.into_iter())
                .map(|(kind, moves)| {
                    // Mostly falling, as in Frank-Wolfe; sometimes it stays, or rises again, or is 0.
                    t = match kind {
                        0 => (t - 3.0f64).max(1.0),
                        1 => t,
                        _ => t + 1.0,
                    };
                    let unit = if kind == 0 && moves.is_empty() { 0.0 } else { 2.0 / (t * (t + 1.0) * 16_383.0) };
                    let moves = moves.into_iter();
                    let scale = [1, 100, 1 << 40][size];
                    (unit, moves.map(|(i, by)| (i.index(n), by * scale)).collect())
                })
                .collect();
            let tolerance = f64::from(tolerance_log).exp2();
            let expected = by_rule(n, &steps, tolerance);
            prop_assert_eq!(&by_queue(n, &steps, tolerance, false), &expected);
            prop_assert_eq!(&by_queue(n, &steps, tolerance, true), &expected);
        }

        /// What others do is nothing to a record: it is due in the same steps alone, among others, and at any position.
        #[test]
        fn a_record_is_due_for_itself_alone(
            own in prop::collection::vec(-30_000i64..30_000, 1..60),
            others in prop::collection::vec(prop::collection::vec(-1_000_000i64..1_000_000, 5), 60),
            position in 0usize..5,
        ) {
            let unit = |t: usize| 2.0 / ((t + 1) as f64 * (t + 2) as f64 * 16_383.0);
            let weight = |t: usize| t as i64 + 1;
            let alone: Vec<Step> = (own.iter().enumerate())
                .map(|(t, by)| (unit(t), vec![(0, by * weight(t))]))
                .collect();
            let among: Vec<Step> = (own.iter().enumerate())
                .map(|(t, by)| {
                    let moves = (0..5).map(|i| (i, weight(t) * if i == position { *by } else { others[t][i] }));
                    (unit(t), moves.collect())
                })
                .collect();
            let due = |steps: Vec<Vec<u32>>, i: u32| -> Vec<bool> { steps.iter().map(|rows| rows.contains(&i)).collect() };
            let alone = due(by_queue(1, &alone, 0.125, false), 0);
            prop_assert_eq!(alone, due(by_queue(5, &among, 0.125, false), position as u32));
        }
    }

    /// A margin that stays is looked at when it is due, and not before: the queue spares the work.
    #[test]
    fn scores_that_shrink_are_taken_anew_now_and_then() {
        let steps: Vec<Step> = (1..2000)
            .map(|t| {
                let moves = if t == 1 {
                    vec![(0, 16_383), (1, 100)]
                } else {
                    Vec::new()
                };
                (2.0 / (f64::from(t) * f64::from(t + 1) * 16_383.0), moves)
            })
            .collect();
        let rows = by_queue(2, &steps, 0.0625, false);
        // From 1 down to 0 in steps of 1/16 or more; the second, of a score of 0.006, never again.
        let times = rows.iter().filter(|rows| rows.contains(&0)).count();
        assert!((4..=16).contains(&times), "{times}");
        assert_eq!(rows.iter().filter(|rows| rows.contains(&1)).count(), 1);
    }

    /// A score that has moved by the tolerance and hardly more is looked at: what is left for roundings makes the look
    /// early, not late. Units fall to where the rule decides, and by single roundings there.
    #[test]
    fn no_look_comes_too_late() {
        let highest = 1.99f64 / 16_383.0;
        for tolerance in [1e-300, 2f64.powi(-45), 2f64.powi(-20)] {
            for margin in (0..300).map(|i| 1 + 7_919 * i) {
                let crossing = (margin as f64 * highest - tolerance) / margin as f64;
                let near =
                    (-20..20).map(|k| f64::from_bits(crossing.to_bits().wrapping_sub_signed(k)));
                let falling = near.filter(|&unit| unit < highest);
                let first = std::iter::once((highest, vec![(0, margin)]));
                let steps: Vec<Step> = first
                    .chain(falling.map(|unit| (unit, Vec::new())))
                    .collect();
                let expected = by_rule(1, &steps, tolerance);
                assert!(
                    expected[1..].iter().any(|rows| !rows.is_empty()),
                    "{margin}"
                );
                assert_eq!(by_queue(1, &steps, tolerance, false), expected, "{margin}");
            }
        }
    }
}
