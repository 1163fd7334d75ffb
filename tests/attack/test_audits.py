"""Audits of every mechanism by many runs and by one, and planted mistakes that they have to see.

Every audit is wrong with probability below 1e-6; seeds are fixed.
"""

import numpy as np
import pytest
from audits import Curve, excess
from catalogue import CATALOGUE, P, targets_of

from dpsparse.testing._audit import released

pytestmark = pytest.mark.attack

RUNS = 600
TWO = 2  # records: one of them is half of everything


def corner(kind, signs, p=P):
    """Records in one corner whose targets are as far apart as their signs."""
    return np.ones((len(signs), p)), targets_of(kind, 9.0 * np.asarray(signs, dtype=float))


def output(model):
    if hasattr(model, "ranges_"):
        return model.ranges_
    if hasattr(model, "best_estimator_"):
        return np.append(released(model.best_estimator_), model.best_index_)
    return released(model)


def audited(entry, before, after, n_runs, **cheat):
    """Excess over the curve that an honest fit states, of fits that may cheat."""
    honest = entry.make().fit(*before).certificate_

    def release(data, seed):
        return output(entry.make(random_state=seed, **cheat).fit(*data))

    return excess(release, (before, after), Curve(honest), n_runs)


@pytest.mark.parametrize("name", CATALOGUE)
def test_no_mechanism_breaks_its_curve(name):
    entry = CATALOGUE[name]
    n = 8 if name == "search" else TWO
    before = corner(entry.targets, [1] * n)
    after = corner(entry.targets, [1] * (n - 1) + [-1])
    assert audited(entry, before, after, RUNS) <= 0


def epsilon_of_less_noise(entry, factor):
    """The budget whose plan has `factor` times less noise."""
    scale = lambda epsilon: max(entry.make(epsilon=epsilon).plan(TWO, P).noise_scales)  # noqa: E731
    wanted, low, high = scale(1.0) / factor, 1.0, 1e4
    for _ in range(40):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if scale(middle) > wanted else (low, middle)
    return float(high)
