//! Answers of the accountant, remembered by their question.
//!
//! An answer depends on events and on numbers alone, all of them public, so it may be kept for the whole process: a
//! plan that is made again, or a calibration that meets the same events, costs look-ups. The key holds every bit of the
//! question, so a remembered answer is the computed one.

use super::event::Event;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Answers that are kept; beyond, all are forgotten. About 4 MB.
const MOST: usize = 1 << 14;

/// What is asked.
#[derive(Clone, Copy)]
pub(super) enum Question {
    /// delta of events at an epsilon.
    Delta,
    /// epsilon of events at a delta.
    Epsilon,
    /// The zCDP parameter of an epsilon and a delta.
    Rho,
    /// Standard deviation of Gaussian noise for a sensitivity, an epsilon and a delta.
    Sigma,
    /// About that.
    AboutSigma,
}

/// The answer that is remembered, or that of `compute`; an error is not remembered.
pub(super) fn remembered<E>(
    question: Question,
    events: &[(Event, u64)],
    numbers: &[f64],
    compute: impl FnOnce() -> Result<f64, E>,
) -> Result<f64, E> {
    static MEMORY: LazyLock<Memory<f64>> = LazyLock::new(|| Memory::of(MOST));
    MEMORY.answer(key(question, events, numbers), compute)
}

/// At most `most` answers; one more makes it forget all.
pub(super) struct Memory<T> {
    answers: Mutex<HashMap<Box<[u64]>, T>>,
    most: usize,
}

impl<T: Clone> Memory<T> {
    pub(super) fn of(most: usize) -> Self {
        Self {
            answers: Mutex::default(),
            most,
        }
    }

    pub(super) fn answer<E>(
        &self,
        key: Box<[u64]>,
        compute: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        // A holder of the lock that panicked left the map whole, and nobody holds it while an answer is computed.
        let answers = || self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = answers().get(&key) {
            return Ok(answer.clone());
        }
        let answer = compute()?;
        let mut answers = answers();
        if answers.len() >= self.most {
            answers.clear();
        }
        answers.insert(key, answer.clone());
        Ok(answer)
    }
}

/// The bits of a question. Injective: a question decides how many numbers it has, and each event takes five words.
fn key(question: Question, events: &[(Event, u64)], numbers: &[f64]) -> Box<[u64]> {
    let mut key = vec![question as u64];
    key.extend(numbers.iter().map(|number| number.to_bits()));
    for &(event, count) in events {
        let (kind, parameters) = event.words();
        key.extend([kind, count]);
        key.extend(parameters.map(f64::to_bits));
    }
    key.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::event::Adjacency;

    #[test]
    fn an_answer_is_computed_once_and_belongs_to_its_question() {
        let memory = Memory::of(MOST);
        let ask = |question, event: Event, count, number: f64, answer: f64| {
            let compute = || Ok::<_, ()>(answer);
            memory.answer(key(question, &[(event, count)], &[number]), compute)
        };
        let event = Event::pure(0.5).unwrap();
        let other = Event::exponential(0.5).unwrap();
        assert_eq!(ask(Question::Delta, event, 3, 0.7, 1.0), Ok(1.0));
        assert_eq!(ask(Question::Delta, event, 3, 0.7, 2.0), Ok(1.0));
        assert_eq!(ask(Question::Epsilon, event, 3, 0.7, 3.0), Ok(3.0));
        assert_eq!(ask(Question::Delta, other, 3, 0.7, 4.0), Ok(4.0));
        assert_eq!(ask(Question::Delta, event, 4, 0.7, 5.0), Ok(5.0));
        assert_eq!(ask(Question::Delta, event, 3, 0.8, 6.0), Ok(6.0));
        let failing = memory.answer(key(Question::Rho, &[], &[]), || Err("no"));
        assert_eq!(failing, Err("no"));
        assert_eq!(memory.answers.lock().unwrap().len(), 5);
    }

    #[test]
    fn every_part_of_a_question_is_in_its_key() {
        let events = |a: f64, b: f64, c: f64| {
            let objective = |adjacency| Event::objective_perturbation(a, b, c, adjacency);
            [
                Event::gaussian(a, b),
                Event::discrete_gaussian(a, b),
                Event::exponential(a),
                Event::pure(a),
                Event::laplace(a, b),
                Event::zero_concentrated(a),
                Event::failure(a),
                objective(Adjacency::ReplaceOne),
                objective(Adjacency::AddRemove),
            ]
            .map(Result::unwrap)
        };
        let parameters = [
            (0.5, 0.5, 0.5),
            (0.25, 0.5, 0.5),
            (0.5, 0.25, 0.5),
            (0.5, 0.5, 0.25),
        ];
        let mut different: Vec<Event> = Vec::new();
        for (a, b, c) in parameters {
            let new = events(a, b, c).into_iter();
            let new: Vec<Event> = new.filter(|event| !different.contains(event)).collect();
            different.extend(new);
        }
        let mut keys = Vec::new();
        let questions = [
            Question::Delta,
            Question::Epsilon,
            Question::Rho,
            Question::Sigma,
        ];
        for question in questions {
            for number in [0.5, 0.25] {
                keys.push(key(question, &[], &[number]));
                for &event in &different {
                    for count in [1, 2] {
                        keys.push(key(question, &[(event, count)], &[number]));
                    }
                    keys.push(key(question, &[(event, 1), (different[0], 1)], &[number]));
                }
            }
        }
        let n = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), n);
    }

    #[test]
    fn it_is_bounded() {
        let memory = Memory::of(MOST);
        for i in 0..=2 * MOST as u64 {
            let number = [i as f64];
            let _ = memory.answer(key(Question::Rho, &[], &number), || Ok::<_, ()>(0.0));
        }
        assert!(memory.answers.lock().unwrap().len() <= MOST);
    }
}
