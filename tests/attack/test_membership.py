"""Membership inference on released models: no attack guesses better than the certificate allows.

An attacker who knows all other records, and whether the person is in under either of two records, guesses by a score of
the release. Its advantage, the difference of its true and false positive rates, is at most the total variation distance
of the two laws, delta(0) of the certificate. Rates are bounded with confidence 1 - 1e-6 each way.
"""

import numpy as np
import pytest
from audits import LEVEL, Curve, scores
from catalogue import CATALOGUE, records, targets_of

from dpsparse.testing._audit import clopper_pearson, released

pytestmark = pytest.mark.attack

RUNS = 600
N = 12
EPSILONS = (0.5, 3.0)
NAMES = [
    name
    for name in CATALOGUE
    if name not in {"scaler", "search"} and not name.startswith(("three classes", "regressor"))
]


def members(kind):
    """Records of which one, far from the others, is in or is not."""
    X, y = records(kind, n=N)
    other, labels = X.copy(), y.copy()
    X[0], y[0] = 1.0, targets_of(kind, np.array([9.0]))[0]
    other[0], labels[0] = -1.0, targets_of(kind, np.array([9.0]))[0]
    return (X, y), (other, labels)


def advantage(outputs):
    """Lower bound, and estimate, of the best advantage among thresholds that the first half of the runs chooses."""
    half = len(outputs[0]) // 2
    values = scores(outputs, half)
    best, where = -1.0, None
    for k, score in enumerate(values):
        for threshold in np.quantile(score[:, :half], np.linspace(0.02, 0.98, 25)):
            rates = (score[:, :half] >= threshold).mean(axis=1)
            if rates[0] - rates[1] > best:
                best, where = rates[0] - rates[1], (k, threshold)
    k, threshold = where
    held_out = values[k][:, half:]
    hits, false_alarms = (held_out >= threshold).sum(axis=1)
    n = held_out.shape[1]
    low, high = clopper_pearson(hits, n, LEVEL / 2)[0], clopper_pearson(false_alarms, n, LEVEL / 2)[1]
    return float(low - high), float((hits - false_alarms) / n)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", NAMES)
def test_advantages_are_below_the_bound(name, epsilon, record_property):
    entry = CATALOGUE[name]
    pair = members(entry.targets)
    make = lambda seed: entry.make(epsilon=epsilon, random_state=seed)  # noqa: E731
    bound = Curve(make(0).fit(*pair[0]).certificate_).deltas[0]
    outputs = [
        [np.ravel(released(make(seed).fit(*data))) for seed in range(side * RUNS, (side + 1) * RUNS)]
        for side, data in enumerate(pair)
    ]
    low, estimate = advantage(outputs)
    record_property("advantage", estimate)
    record_property("bound", bound)
    print(f"{name}, epsilon {epsilon:g}: advantage {estimate:.3f} (at least {low:.3f}), bound {bound:.3f}")
    assert low <= bound


def test_attacks_would_be_seen():
    """A model that spends an epsilon of 200 and claims 0.5 is guessed beyond what it claims."""
    entry = CATALOGUE["classifier: output, gaussian"]
    pair = members(entry.targets)
    bound = Curve(entry.make(epsilon=0.5).fit(*pair[0]).certificate_).deltas[0]
    outputs = [
        [np.ravel(released(entry.make(epsilon=200.0, random_state=seed).fit(*data))) for seed in range(RUNS)]
        for data in pair
    ]
    low, _ = advantage(outputs)
    assert low > bound
