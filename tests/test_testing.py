"""The checkers of dpsparse.testing: they pass on all that we ship and fail on planted faults."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse import _core, losses, set_functions
from dpsparse.testing import (
    PenalisedProblem,
    check_duality,
    check_loss,
    check_set_function,
    neighbouring_datasets,
)
from dpsparse.testing import (
    set_functions as any_set_function,
)

LOSSES = (
    *("logistic", "hinge", "squared", "huber", "absolute", "pinball"),
    *(losses.Hinge(0.1), losses.Huber(2.5), losses.Pinball(0.9, 0.3)),
)
LARGE = [
    set_functions.Cardinality(40),
    set_functions.ConcaveCardinality(np.sqrt(np.arange(1, 41))),
    set_functions.GroupCover([range(k, k + 10) for k in range(0, 31, 5)], n_features=40),
    set_functions.Tree([range(40), range(20), range(20, 40), range(5), range(30, 33)], n_features=40)
    + set_functions.Modular(np.linspace(0.1, 1.0, 40)),
    set_functions.GraphCut([(j, j + 1) for j in range(39)], n_features=40),
    set_functions.GraphCut([(j, (j * j + 1) % 40) for j in range(40) if j != (j * j + 1) % 40], n_features=40),
    set_functions.ContiguousRange(40),
    set_functions.PartitionRank([range(0, 40, 2), range(1, 40, 2)], [3, 30]),
    set_functions.LogDet(np.exp(-np.abs(np.subtract.outer(np.arange(40.0), np.arange(40.0)))), 0.5),
    0.5 * set_functions.FromOracle(lambda A: float(len(A)) ** 0.7, 40),
]


@settings(max_examples=150, deadline=None)
@given(any_set_function(max_features=6), st.integers(0, 2**32 - 1))
def test_every_family_holds_by_brute_force(F, seed):
    check_set_function(F, n_trials=9, random_state=seed)


@pytest.mark.parametrize("F", LARGE, ids=lambda F: type(F).__name__)
def test_every_family_holds_on_many_features(F):
    check_set_function(F, n_trials=6)


@pytest.mark.parametrize("loss", sorted({*LOSSES, *_core.loss_names()}, key=str), ids=str)
def test_every_loss_holds(loss):
    check_loss(loss)


def test_a_users_loss_is_checked():
    check_loss(losses.CustomLoss(lambda z, y: np.tanh(z - y)))
    for derivative, fault in [
        (lambda z, y: -np.tanh(z - y), "convexity"),
        (lambda z, y: 2.0 * np.tanh(z - y), "Lipschitz"),
        (lambda z, y: np.tanh(z - z.mean()), "independence"),
        (lambda z, y: np.where(z > 1.0, np.nan, 0.0), "finite"),
    ]:
        with pytest.raises(AssertionError, match=fault):
            check_loss(losses.CustomLoss(derivative))


class Wrong(set_functions.Cardinality):
    """A set function with one method that lies."""

    def __init__(self, p, method, lie):
        self.method, self.lie = method, lie
        super().__init__(p)

    def __getattribute__(self, name):
        honest = super().__getattribute__(name)
        if name not in {"method", "lie"} and name == self.method:
            return (lambda *a, **k: self.lie(honest(*a, **k))) if callable(honest) else self.lie(honest)
        return honest


@pytest.mark.parametrize(
    ("method", "lie"),
    [
        ("gains", lambda gains: 1.1 * np.asarray(gains)),
        ("lovasz", lambda value: value + 0.01),
        ("base_vertex", lambda s: s[::-1] + np.eye(len(s))[0]),
        ("norm", lambda value: 1.01 * value),
        ("support_vertex", lambda s: 1.01 * s),
        ("dual_norm", lambda value: 1.01 * value),
        ("contains", lambda inside: not inside),
        ("norm_ball_vertex", lambda x: 1.01 * x),
        ("prox", lambda x: 1.01 * x),
        ("is_monotone", lambda flag: not flag),
    ],
)
def test_a_planted_fault_is_found(method, lie):
    with pytest.raises(AssertionError):
        check_set_function(Wrong(5, method, lie))


@settings(max_examples=60, deadline=None)
@given(
    F=any_set_function(max_features=5),
    loss=st.sampled_from(LOSSES),
    alpha=st.sampled_from([0.01, 0.1]),
    ridge=st.sampled_from([0.0, 0.1]),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_duality_for_every_norm_and_loss(F, loss, alpha, ridge, fit_intercept, weighted, seed):
    generator = np.random.default_rng(seed)
    n, p = 25, F.n_features
    X = generator.standard_normal((n, p))
    y = X[:, 0] - X[:, -1] + 0.5 * generator.standard_normal(n)
    if loss in ("logistic", "hinge") or isinstance(loss, losses.Hinge):
        y = np.where(y > 0, 1.0, -1.0)
        y[:2] = [1.0, -1.0]
    weights = generator.uniform(0.5, 2.0, n) if weighted else None
    check_duality(PenalisedProblem(X, y, F, alpha, loss, ridge, fit_intercept, weights), n_trials=10, random_state=seed)


@settings(max_examples=50, deadline=None)
@given(neighbouring_datasets(max_samples=7, max_features=3, classification=True))
def test_neighbours_differ_in_one_record(pair):
    (X, y), (other_X, other_y) = pair
    assert X.shape == other_X.shape
    assert y.shape == other_y.shape == (len(X),)
    assert sum((other_X != X).any(axis=1) | (y != other_y)) <= 1
    assert np.abs(X).max() <= 1.0
    assert {-1.0, 1.0} == set(y) == set(other_y)
