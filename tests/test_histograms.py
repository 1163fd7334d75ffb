"""Histograms of features and targets: regressions with too few records for quantiles know how these are spread."""

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import PrivateSparsePoissonRegressor, PrivateSparseRegressor, blocks
from dpsparse.privacy import GaussianEvent

N = 2_000
MIDDLE = np.array([5.0, 40.0, 1500.0, -20.0, 0.5, 3000.0, 12.0, 7.0])
SPREAD = np.array([1.0, 4.0, 60.0, 2.0, 0.02, 100.0, 0.5, 0.1])
LOWER = np.array([-100.0, 0.0, 0.0, -400.0, 0.0, 0.0, 0.0, -5.0])
UPPER = np.array([100.0, 400.0, 8000.0, 0.0, 3.0, 20000.0, 60.0, 15.0])
P = len(MIDDLE)


def drawn(n, seed=0):
    """Normal features, each a small part of its bounds wide, some of them at zero."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, P))
    X = np.clip(MIDDLE + SPREAD * Z, LOWER, UPPER)
    X[rng.random((n, P)) < 0.02] = 0.0
    return np.clip(X, LOWER, UPPER), np.clip(20 + 3 * Z[:, 0] - 2 * Z[:, 2] + 2 * Z[:, 5] + rng.normal(size=n), 0, 100)


def model(seed=0, **changes):
    fixed = {"epsilon": 0.5, "delta": 1e-6, "bounds": (LOWER, UPPER), "y_bounds": (0, 100), "random_state": seed}
    return PrivateSparseRegressor(**(fixed | changes))


@pytest.mark.parametrize(("facts", "squared"), [({}, 2 * P), ({"adjacency": "add-remove", "n_public": N}, P)])
def test_one_event_pays_for_all_features(facts, squared):
    X, y = drawn(N)
    certificate = model(**facts).fit(X, y).certificate_
    assert f"histograms of {P} features" in certificate.mechanism
    # All other Gaussian noise is on sums of lattice values, which move by thousands.
    moved = [(event.sensitivity, count) for event, count in certificate.events if isinstance(event, GaussianEvent)]
    assert [once for once in moved if once[0] < 100] == [(pytest.approx(np.sqrt(squared), rel=1e-9), 1)]


def test_fits_find_what_public_bounds_hide():
    X, y = drawn(N)
    tested = drawn(5_000, seed=1)
    scores = [model(seed).fit(X, y).score(*tested) for seed in range(9)]
    assert np.median(scores) > 0.3
    assert np.median([model(seed, scale=None).fit(X, y).score(*tested) for seed in range(3)]) < 0.2


def test_ranges_hold_most_values():
    X, y = drawn(N)
    lower, upper = model().fit(X, y).feature_ranges_.T
    assert (np.clip(X, lower, upper) == X).mean(0).min() > 0.9
    assert ((lower >= LOWER) & (upper <= UPPER)).mean() > 0.7
    assert np.median((upper - lower) / (UPPER - LOWER)) < 0.5


def test_models_are_the_same_in_every_storage():
    X, y = drawn(N)
    one = model().fit(X, y)
    others = [
        model().fit(sp.csr_array(X), y),
        model().fit(sp.csc_array(X), y),
        model().fit(np.asfortranarray(X), y),
        model().fit(blocks.from_arrays(X, rows=300), y),
    ]
    for other in others:
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.feature_ranges_, other.feature_ranges_)


def test_units_change_nothing():
    X, y = drawn(N)
    at = drawn(500, seed=2)[0]
    scaled = model(bounds=(4 * LOWER, 4 * UPPER)).fit(4 * X, y)
    np.testing.assert_allclose(model().fit(X, y).predict(at), scaled.predict(4 * at), rtol=1e-9)


def test_mirrored_features_are_found_too():
    X, y = drawn(N)
    at, targets = drawn(5_000, seed=1)
    mirrored = [model(seed, bounds=(-UPPER, -LOWER)).fit(-X, y).score(-at, targets) for seed in range(9)]
    assert np.median(mirrored) > 0.3


def test_counts_have_them_too():
    X, y = drawn(N)
    rates = np.random.default_rng(3).poisson(np.exp((y - 20) / 6))
    fixed = {"epsilon": 0.5, "delta": 1e-6, "bounds": (LOWER, UPPER), "y_bounds": (0, 20), "random_state": 0}
    counts = PrivateSparsePoissonRegressor(**fixed).fit(X, np.minimum(rates, 20))
    assert f"histograms of {P} features" in counts.certificate_.mechanism


def test_values_that_are_all_one_have_public_bounds():
    X, y = drawn(N)
    X[:, 1] = 0.0
    found = model().fit(X, y).feature_ranges_
    np.testing.assert_array_equal(found[1], [LOWER[1], UPPER[1]])


def few(seed, n=1_500):
    """Targets spread over a fortieth of their bounds, which say that they are not negative."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4))
    return X, np.clip(40 + 20 * X[:, 0] + 20 * rng.normal(size=n), 0, 2_000)


def few_records(seed=0):
    fixed = {"epsilon": 0.1, "delta": 1e-6, "bounds": (-1, 1), "y_bounds": (0, 2_000), "random_state": seed}
    return PrivateSparseRegressor(**fixed)


def test_few_records_in_wide_bounds_are_better_than_a_constant():
    """A median of so few was one of sixteen steps, more than all of these targets are spread over."""
    tested = few(99, 5_000)
    scores = [few_records(seed).fit(*few(seed)).score(*tested) for seed in range(20)]
    assert np.mean(np.maximum(scores, -1)) > 0


@pytest.mark.parametrize("made", [sp.csr_array, np.asfortranarray, lambda X: blocks.from_arrays(X, rows=300)])
def test_histograms_of_targets_are_the_same_in_every_storage(made):
    X, y = few(0)
    one, other = few_records().fit(X, y), few_records().fit(made(X), y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.intercept_ == other.intercept_
    gaussian = [
        (event.sensitivity, times) for event, times in one.certificate_.events if isinstance(event, GaussianEvent)
    ]
    assert gaussian[0] == (pytest.approx(2.0, rel=1e-9), 6)


@pytest.mark.parametrize("bound", [10.0, 1_000.0, 30_000.0])
@pytest.mark.parametrize(("n", "epsilon"), [(3_000, 0.1), (5_000, 0.1), (1_000, 0.5)])
def test_targets_may_be_spread_over_far_less_than_their_bounds(bound, n, epsilon):
    """With one window 3000 such targets, spread over 1/2400 of their bounds, had a mean R^2 of -47 at epsilon 0.1."""
    scores = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (n, 4))
        y = np.clip(0.4 * bound + X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n), -bound, bound)
        model = PrivateSparseRegressor(
            epsilon=epsilon, delta=1e-7, bounds=(-1, 1), y_bounds=(-bound, bound), random_state=seed
        )
        scores.append(model.fit(X, y).score(X, y))
    assert np.median(scores) > 0.4
    assert min(scores) > -0.1


def test_counts_of_few_records_have_histograms():
    """With quantiles such fits had a mean D^2 of .62."""
    scores = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (1_800, 4))
        y = np.minimum(rng.poisson(np.exp(2 + X[:, 0] + X[:, 1])), 1_000)
        model = PrivateSparsePoissonRegressor(
            epsilon=0.1, delta=1e-7, bounds=(-1, 1), y_bounds=(0, 1_000), random_state=seed
        )
        scores.append(model.fit(X, y).score(X, y))
    gaussian = [(e.sensitivity, times) for e, times in model.certificate_.events if isinstance(e, GaussianEvent)]
    assert gaussian[0] == (pytest.approx(2.0, rel=1e-9), 6)
    assert np.mean(scores) > 0.4
    assert min(scores) > -0.1
