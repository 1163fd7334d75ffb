"""Audits of a release against the whole privacy curve that its certificate states.

A release is (epsilon, delta(epsilon))-DP for every epsilon at once: P(E) <= e^epsilon Q(E) + delta(epsilon). Against
one delta of 1e-6 an audit needs events of that size; against the curve it sees in a thousand runs what Gaussian noise
lacks.
"""

import numpy as np
from scipy.stats import binom

from dpsparse.testing._audit import _key, _likelihood_ratio, clopper_pearson

LEVEL = 1e-6
QUANTILES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)


class Curve:
    """The curve delta(epsilon) of a certificate, or of what is claimed in its place."""

    def __init__(self, certificate, n_points=40):
        epsilon, _ = certificate.claim
        self.epsilons = np.linspace(0.0, 1.2 * epsilon, n_points)
        self.deltas = np.array([certificate.delta(e) for e in self.epsilons])
        assert self.deltas[0] < 1

    def excess(self, p, q):
        """How far P(E) = p and Q(E) = q break the curve, at most; negative where they keep it."""
        p, q = np.asarray(p)[..., None], np.asarray(q)[..., None]
        return (p - np.exp(self.epsilons) * q - self.deltas).max(axis=-1)


def scores(outputs, half):
    """Scores (score, data set, run) by the first half of the runs: a linear one, and the likelihood of repeats."""
    vectors = np.array(outputs, dtype=np.float64)
    vectors = vectors.reshape(*vectors.shape[:2], -1)
    first = vectors[:, :half]
    means = first.mean(axis=1)
    spread = np.atleast_2d(np.cov((first - means[:, None]).reshape(-1, first.shape[2]), rowvar=False))
    linear = vectors @ (np.linalg.pinv(spread, rcond=1e-9) @ (means[0] - means[1]))
    repeats = _likelihood_ratio([[_key(output) for output in group] for group in outputs], half)
    signed = np.concatenate([linear[None], repeats])
    return np.concatenate([signed, -signed])


def excess(release, pair, curve, n_runs, seed=0):
    """How far releases of two neighbours break a curve: above 0 with probability below 1e-6 if it holds.

    The first quarter of the runs makes the scores, the second one chooses an event and an order of the two laws, and
    the others test it: each of its two probabilities is bounded at 1e-6/2.
    """
    rng = np.random.default_rng(seed)
    outputs = [[np.ravel(release(data, int(s))) for s in rng.integers(2**32, size=n_runs)] for data in pair]
    quarter = n_runs // 4
    values = scores(outputs, quarter)[:, :, quarter:]
    chosen_on, rest = values[:, :, :quarter], values[:, :, quarter:]
    thresholds = np.quantile(chosen_on.reshape(len(values), -1), QUANTILES, axis=1).T  # (score, threshold)
    rates = (chosen_on[:, None] >= thresholds[:, :, None, None]).mean(axis=-1)  # (score, threshold, data set)
    orders = np.stack([rates, rates[..., ::-1]], axis=-2)  # (score, threshold, order, data set)
    seen = curve.excess(orders[..., 0], orders[..., 1])
    score, threshold, order = np.unravel_index(np.argmax(seen), seen.shape)
    hits, misses = (rest[score] >= thresholds[score, threshold]).sum(axis=-1)[:: -1 if order else 1]
    n = rest.shape[2]
    return float(curve.excess(clopper_pearson(hits, n, LEVEL / 2)[0], clopper_pearson(misses, n, LEVEL / 2)[1]))


# --- one run (Steinke, Nasr & Jagielski 2023) ---


def one_run_p_value(n_canaries, n_guesses, n_right, epsilon, delta):
    """Of so many right guesses about independent fair choices, if the release is (epsilon, delta)-DP (theorem 5.2)."""
    assert 0 <= n_right <= n_guesses <= n_canaries
    right = 1 / (1 + np.exp(-epsilon))
    beta = binom.sf(n_right - 1, n_guesses, right)
    below = np.cumsum(binom.pmf(n_right - np.arange(1, n_right + 1), n_guesses, right))
    alpha = (below / np.arange(1, n_right + 1)).max(initial=0.0)
    return min(beta + alpha * delta * 2 * n_canaries, 1.0)


def one_run_bound(n_canaries, n_guesses, n_right, delta, level=LEVEL):
    """The largest epsilon that so many right guesses contradict, with confidence 1 - level; 0 for none."""
    if one_run_p_value(n_canaries, n_guesses, n_right, 0.0, delta) >= level:
        return 0.0
    low, high = 0.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        if one_run_p_value(n_canaries, n_guesses, n_right, middle, delta) < level:
            low = middle
        else:
            high = middle
    return low
