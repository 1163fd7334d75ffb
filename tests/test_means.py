"""Means of features: indicators are around their means before they are noised, where rows are shorter."""

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import PrivateSparseClassifier, PrivateSparsePoissonRegressor, PrivateSparseRegressor, blocks
from dpsparse.privacy import GaussianEvent

N = 4_000
LEVELS = (2, 3, 5, 2, 4, 2, 6, 2)
P = sum(LEVELS) + 1
BOUNDS = (np.zeros(P), np.r_[np.ones(P - 1), 50.0])
#: Rows are shortened to .15 of the lattice, which ends at 16383.
ROW = 0.15 * 16383


def drawn(n, seed=0):
    """One-hot attributes whose first level most records have, and one number."""
    rng = np.random.default_rng(seed)
    blocks = [np.eye(k)[(rng.random(n) ** 3 * k).astype(int)] for k in LEVELS]
    number = rng.uniform(10, 20, n)
    X = np.column_stack([*blocks, number])
    effects = np.random.default_rng(1).normal(size=P - 1)
    return X, X[:, :-1] @ effects + 0.1 * (number - 15) + rng.normal(size=n)


def regressor(seed=0, **changes):
    fixed = {"epsilon": 0.5, "delta": 1e-6, "bounds": BOUNDS, "y_bounds": (-30, 30), "random_state": seed}
    return PrivateSparseRegressor(**(fixed | changes))


def sensitivities(certificate):
    return [(event.sensitivity, count) for event, count in certificate.events if isinstance(event, GaussianEvent)]


@pytest.mark.parametrize(
    ("facts", "moved"), [({}, np.sqrt(2) * ROW), ({"adjacency": "add-remove", "n_public": N}, ROW)]
)
def test_one_event_pays_for_all_means(facts, moved):
    X, y = drawn(N)
    certificate = regressor(**facts).fit(X, y).certificate_
    assert f"means of {P - 1} features" in certificate.mechanism
    found = [once for once in sensitivities(certificate) if once[0] == pytest.approx(moved, rel=1e-3)]
    assert [count for _, count in found] == [1]


def test_means_come_where_they_help():
    X, y = drawn(N)
    few = regressor(epsilon=0.02).fit(X, y).certificate_.mechanism
    assert "means" not in few
    # Features whose bounds are on both sides of zero, or far from it, have no sums of sizes.
    moved = regressor(bounds=(BOUNDS[0] - 0.5, BOUNDS[1] + 0.5)).fit(X, y).certificate_.mechanism
    assert "means" not in moved
    # Sparse counts are scaled, and stay where they are.
    short = regressor(row_norm=0.1, fit_intercept=False).fit(X, y).certificate_.mechanism
    assert "means" not in short


def test_a_row_norm_is_no_reason_to_stay_where_features_are():
    """More public knowledge must not hurt: the norm of one-hot rows says less than their means do."""
    X, y = drawn(N)
    attributes, label = X[:, :-1], y > np.median(y)
    norm = np.sqrt(len(LEVELS))
    for estimator, fixed, target in (
        (PrivateSparseRegressor, {"y_bounds": (-30, 30)}, y),
        (PrivateSparseClassifier, {"classes": (False, True)}, label),
    ):
        for epsilon in (0.2, 1.0):
            without, given = (
                estimator(epsilon=epsilon, delta=1e-6, bounds=(0, 1), random_state=0, **fixed, **known).fit(
                    attributes, target
                )
                for known in ({}, {"row_norm": norm})
            )
            assert f"means of {P - 1} features" in given.certificate_.mechanism
            np.testing.assert_array_equal(given.coef_, without.coef_)
            assert given.intercept_ == without.intercept_


def test_fits_are_better_around_means():
    X, y = drawn(N)
    tested = drawn(5_000, seed=2)
    around = [regressor(seed).fit(X, y).score(*tested) for seed in range(20)]
    # The same numbers, whose bounds say nothing of zero.
    bounds = (BOUNDS[0] - 1e-3, BOUNDS[1])
    without = [regressor(seed, bounds=bounds).fit(X, y).score(*tested) for seed in range(20)]
    assert np.mean(around) > np.mean(without) + 0.02


@pytest.mark.parametrize("bounds", [(0, 1), (-1, 1)])
def test_rows_may_be_zero_as_a_rule(bounds):
    """Three quarters of the rows are zero: a typical norm is one of the others, and no indicator is clipped by it."""

    def flags(n, seed):
        rng = np.random.default_rng(seed)
        X = (rng.random((n, 20)) < 0.015).astype(float)
        return X, X @ (3 * np.random.default_rng(1).normal(size=20)) + 0.7 * rng.normal(size=n)

    X, y = flags(6_000, 0)
    tested = flags(6_000, 2)
    for epsilon in (1.0, 4.0, 16.0):
        models = [
            regressor(seed, epsilon=epsilon, bounds=bounds).fit(sp.csr_array(X) if seed % 2 else X, y)
            for seed in range(6)
        ]
        # Exact fits have .63. Where images were clipped, and predictions not, they had -9 in bounds (-1, 1).
        assert min(model.score(*tested) for model in models) > 0.5


def test_models_are_the_same_in_every_storage():
    X, y = drawn(N)
    one = regressor().fit(X, y)
    for records in (sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X), blocks.from_arrays(X, rows=300)):
        other = regressor().fit(records, y)
        np.testing.assert_array_equal(one.coef_, other.coef_)
        assert one.intercept_ == other.intercept_


def test_negative_features_have_means_too():
    """Bounds that end at zero say as much as those that begin there, where there are too few records for ranges."""
    X, y = drawn(N)
    tested, labels = drawn(2_000, seed=2)
    middle = np.median(y)
    scores = []
    for sign, bounds in ((1, BOUNDS), (-1, (-BOUNDS[1], -BOUNDS[0]))):
        models = [
            PrivateSparseClassifier(epsilon=0.2, delta=1e-6, bounds=bounds, classes=(False, True), random_state=seed)
            for seed in range(10)
        ]
        for model in models:
            model.fit(sign * X, y > middle)
        assert "means of" in models[0].certificate_.mechanism
        scores.append(np.mean([model.score(sign * tested, labels > middle) for model in models]))
    assert scores[1] == pytest.approx(scores[0], abs=0.04)


def test_classes_and_counts_have_means():
    X, y = drawn(N)
    certificates = [
        PrivateSparseClassifier(epsilon=0.5, delta=1e-6, bounds=BOUNDS, classes=(0, 1), random_state=0)
        .fit(X, (y > np.median(y)).astype(int))
        .certificate_,
        PrivateSparseClassifier(epsilon=0.5, delta=1e-6, bounds=BOUNDS, classes=(0, 1, 2), random_state=0)
        .fit(X, np.digitize(y, np.quantile(y, [0.3, 0.6])))
        .certificate_,
        PrivateSparsePoissonRegressor(epsilon=0.5, delta=1e-6, bounds=BOUNDS, y_bounds=(0, 50), random_state=0)
        .fit(X, np.random.default_rng(0).poisson(np.exp(np.clip(0.3 * y, -2, 2))))
        .certificate_,
    ]
    for certificate in certificates:
        assert "means of" in certificate.mechanism
        moved = [once for once, _ in sensitivities(certificate)]
        assert sum(once == pytest.approx(np.sqrt(2) * ROW, rel=1e-3) for once in moved) == 1


def test_large_budgets_find_the_fit_without_noise():
    X, y = drawn(N)
    tested = drawn(5_000, seed=2)
    design = np.column_stack([X, np.ones(N)])
    exact = np.linalg.lstsq(design, y, rcond=None)[0]
    residuals = tested[1] - np.column_stack([tested[0], np.ones(5_000)]) @ exact
    best = 1 - residuals.var() / tested[1].var()
    assert regressor(epsilon=1000.0).fit(X, y).score(*tested) > best - 0.01
