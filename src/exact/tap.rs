//! What the samplers were given, for tests of what is drawn: integers before noise, scores before a choice.

use std::cell::RefCell;

/// One input of a sampler, or one public-coin intermediate of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Seen {
    /// Integers that noise is about to be added to.
    Integers(Vec<i64>),
    /// Scores of listed candidates, and eta: P(k) is proportional to exp(-eta q_k).
    Scores(Vec<i64>, f64),
    /// The gradient at one feature, and eta: P(s) is proportional to exp(-eta s g).
    Sign(i64, f64),
    /// The gradients of the members of groups: a group stands for the scores of all its sign vectors, s_j g_j added up.
    Groups(Vec<Vec<i64>>, f64),
    /// A point, before it is rounded to a lattice.
    Point(Vec<f64>),
    /// The linear term b/n of a perturbed objective.
    Tilt(Vec<f64>),
}

thread_local! {
    static LOG: RefCell<Option<Vec<Seen>>> = const { RefCell::new(None) };
}

/// Notes an input, where somebody watches.
pub(crate) fn see(seen: impl FnOnce() -> Seen) {
    LOG.with_borrow_mut(|log| {
        if let Some(log) = log {
            log.push(seen());
        }
    });
}

/// What `work` returns, and what samplers were given by this thread meanwhile.
pub(crate) fn watched<R>(work: impl FnOnce() -> R) -> (R, Vec<Seen>) {
    LOG.set(Some(Vec::new()));
    let value = work();
    (value, LOG.take().unwrap_or_default())
}
