"""Rounding and the order of summation cannot move a score or a released model (Casacuberta et al. 2022).

Sums of floats have no sensitivity: order, blocks, threads and cancellation move them. Records are integers before
anything is summed, so for one seed every model is the same bit for bit, whatever the order, and floats of any size
count as what they are clipped to. Minimisers (output and objective perturbation, dual steps, refits) are floats within
a proved error, and round to a lattice: their noise covers a point of it, and with these seeds there is none to cover.
"""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from catalogue import CATALOGUE, records

from dpsparse import blocks
from dpsparse.testing._audit import released
from reference import cases
from test_sensitivity import LOSSES, REGRESSION, assert_within_the_bound, gradient

pytestmark = pytest.mark.attack

N_RECORDS = 300
# The order of records is a part of these: batches of descent, and the records that a search holds out.
IN_ORDER = {name for name, entry in CATALOGUE.items() if entry.mechanism.startswith("sgd")} | {"search"}
EXTREME = [1e308, -1e308, 1.7976931348623157e308, 5e-324, -5e-324, 2.2250738585072014e-308, -0.0, 0.0]
EXTREME += [2.0**53, 2.0**53 + 2, -(2.0**53), 1e16, 1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), 0.1, 1 / 3]


def model(name, X, y, seed=0, **arguments):
    fitted = CATALOGUE[name].make(random_state=seed, **arguments).fit(X, y)
    if hasattr(fitted, "ranges_"):
        return fitted.ranges_.tobytes()
    return released(getattr(fitted, "best_estimator_", fitted)).tobytes()


def extreme_records(kind, seed=0, n=N_RECORDS):
    """Half of the entries are floats that sums lose, or that overflow them."""
    X, y = records(kind, seed, n)
    rng = np.random.default_rng(seed)
    return np.where(rng.uniform(size=X.shape) < 0.5, rng.choice(EXTREME, X.shape), X), y


@pytest.mark.parametrize("make", [records, extreme_records], ids=["ordinary", "extreme"])
@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in IN_ORDER])
def test_the_order_of_records_moves_nothing(name, make):
    X, y = make(CATALOGUE[name].targets, n=N_RECORDS)
    expected = model(name, X, y)
    rng = np.random.default_rng(1)
    for order in (np.arange(len(X))[::-1], np.argsort(X[:, 0]), *(rng.permutation(len(X)) for _ in range(5))):
        assert model(name, X[order], y[order]) == expected


def test_orders_that_count_are_named_truly():
    for name in IN_ORDER:
        X, y = records(CATALOGUE[name].targets, n=N_RECORDS)
        order = np.random.default_rng(1).permutation(len(X))
        assert any(model(name, X, y, seed) != model(name, X[order], y[order], seed) for seed in range(5))


@pytest.mark.parametrize("name", CATALOGUE)
def test_blocks_move_nothing(name):
    X, y = extreme_records(CATALOGUE[name].targets)
    expected = model(name, X, y)
    for rows in (1, 7, 128, len(X)):
        assert model(name, blocks.from_arrays(X, rows=rows), y) == expected


@pytest.mark.parametrize("name", CATALOGUE)
def test_floats_of_any_size_count_as_what_they_are_clipped_to(name):
    """1e308 counts as the bound, and what is below half of the lattice as 0, of either sign."""
    X, y = extreme_records(CATALOGUE[name].targets)
    clipped = np.clip(X, -1.0, 1.0)
    clipped[np.abs(clipped) < 1e-300] = 0.0
    assert model(name, X, y) == model(name, clipped, y)


@pytest.mark.parametrize("name", ["regressor: noisy-newton", "classifier: frank-wolfe", "regressor: output, gaussian"])
def test_catastrophic_sums_within_wide_bounds(name):
    """Floats whose running sums depend on the order: 2^53, 1 and -2^53 by turns."""
    rng = np.random.default_rng(0)
    X = rng.choice([2.0**53, 1.0, -(2.0**53), 3.0], (N_RECORDS, 3))
    sums = {float(np.cumsum(X[rng.permutation(len(X)), 0])[-1]) for _ in range(20)}
    assert len(sums) > 1  # of floats
    _, y = records(CATALOGUE[name].targets, n=N_RECORDS)
    models = set()
    for _ in range(10):
        order = rng.permutation(len(X))
        models.add(model(name, X[order], y[order], bounds=(-(2.0**53), 2.0**53)))
    assert len(models) == 1


THREADS = """
    import hashlib, json, sys
    sys.path[:0] = json.loads(sys.argv[1])
    from test_rounding import CATALOGUE, extreme_records, model
    for name in CATALOGUE:
        X, y = extreme_records(CATALOGUE[name].targets, n=5003)
        print(name, hashlib.sha256(model(name, X, y)).hexdigest())
"""


def test_threads_move_nothing():
    """The whole catalogue, on more records than one thread takes."""
    outputs = set()
    for threads in ("1", "2", "5"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(THREADS), json.dumps(sys.path)],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            env=os.environ | {"RAYON_NUM_THREADS": threads},
        )
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == len(CATALOGUE)


# --- sensitivities on adversarial floats ---


@pytest.mark.parametrize("domain", cases.DOMAINS)
@pytest.mark.parametrize("loss", LOSSES)
def test_sensitivities_hold_on_adversarial_floats(domain, loss):
    """Every pair of records of the worst floats, at points whose scores they overflow: the integer bound holds."""
    rng = np.random.default_rng([len(domain), len(loss)])
    values = [*EXTREME, -1.0, 3.0, 1e300, np.nextafter(3.0, 4.0)]
    for trial in range(60):
        p = int(rng.integers(1, 4))
        facts = {"lower": (-1.0,) * p, "upper": (3.0,) * p, "loss": loss, "intercept": bool(rng.integers(2))}
        facts |= {"y_bounds": (-1.0, 1.0) if loss in REGRESSION and rng.integers(2) else None}
        facts |= {"adjacency": "replace-one" if trial % 2 else "add-remove"}
        problem = cases.problem(domain, p, **facts)
        signs = values if problem.y_bounds else [-1.0, 1.0]
        record = lambda: (*rng.choice(values, p), float(rng.choice(signs)))  # noqa: E731, B023
        common = [record() for _ in range(4)]
        others = [record()] if problem.adjacency == "replace-one" else []
        one, other = [*common, record()], [*common, *others]
        theta = [int(t) for t in rng.integers(-(2**42), 2**42, problem.n_columns)]
        for unit in (0.0, 1e-9, 1e300):
            both = [gradient(problem, *cases.split(data), theta, unit)[0] for data in (one, other)]
            assert_within_the_bound(problem, *both)
            shuffled = [one[k] for k in rng.permutation(len(one))]
            assert (gradient(problem, *cases.split(shuffled), theta, unit)[0] == both[0]).all()
