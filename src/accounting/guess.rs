//! Where searches of the accountant start: closed forms and single orders, which cost next to nothing. Only time
//! depends on them.

use super::event::Event;
use crate::error::Error;

/// Halvings of a bracket on the way to a guess: from twelve orders of magnitude to a per cent.
const GUESSING: usize = 11;

/// What Renyi divergences state of epsilon, usually, in units of what exact composition does.
const LOST: f64 = 1.065;

/// About the parameter that a budget buys: where the Renyi divergence is what the conversion allows at the order that
/// is best for zCDP. An order costs far less than a search over orders, and only time depends on it.
pub(super) fn usual_parameter<E: From<Error>>(
    make_events: impl Fn(f64) -> std::result::Result<Vec<(Event, u64)>, E>,
    epsilon: f64,
    delta: f64,
    (low, high): (f64, f64),
) -> std::result::Result<f64, E> {
    let epsilon = LOST * epsilon;
    let excess = (-delta.ln() / usual_rho(epsilon, delta)).sqrt();
    let order = 1.0 + excess;
    let allowed = epsilon - (excess / order).ln() + (delta.ln() + order.ln()) / excess;
    if !(low > 0.0 && allowed > 0.0 && order.is_finite()) {
        return Ok(low.max(0.0).sqrt() * high.max(0.0).sqrt());
    }
    let log_share = |t: f64| -> std::result::Result<f64, E> {
        let events = make_events(t.exp().clamp(low, high))?;
        let parts = events
            .iter()
            .map(|(event, count)| *count as f64 * event.renyi(order));
        Ok((parts.sum::<f64>() / allowed).ln())
    };
    let (mut a, mut b) = (low.ln(), high.ln());
    let rising = log_share(b)? > log_share(a)?;
    for _ in 0..GUESSING {
        let middle = 0.5 * (a + b);
        if (log_share(middle)? > 0.0) == rising {
            b = middle;
        } else {
            a = middle;
        }
    }
    Ok((0.5 * (a + b)).exp())
}

/// The zCDP that the plain conversion rho + 2 sqrt(rho ln(1/delta)) = epsilon allows (Bun & Steinke 2016): a little
/// less than the tight one does.
pub(super) fn usual_rho(epsilon: f64, delta: f64) -> f64 {
    let log = -delta.ln();
    let root = epsilon / ((epsilon + log).sqrt() + log.sqrt());
    root * root
}

/// What the exact curve wants, usually, of the noise that zCDP wants.
pub(super) const EXACT: f64 = 0.9;

/// The noise that zCDP wants, or the sensitivity where that is beyond the floats.
pub(super) fn zcdp_sigma(sensitivity: f64, epsilon: f64, delta: f64) -> f64 {
    let sigma = sensitivity / (2.0 * usual_rho(epsilon, delta)).sqrt();
    if sigma > 0.0 && sigma.is_finite() {
        sigma
    } else {
        sensitivity
    }
}
