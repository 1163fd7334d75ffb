"""Proxes and fits against identities and small problems whose answer an independent method knows."""

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.set_functions import (
    Cardinality,
    ConcaveCardinality,
    ContiguousRange,
    FromOracle,
    GraphCut,
    GroupCover,
    LogDet,
    Modular,
    PartitionRank,
    Tree,
)

P = 4
FAMILIES = {
    "cardinality": Cardinality(P),
    "modular": Modular([0.5, 2.0, 1.0, 0.25]),
    "sorted": ConcaveCardinality([2.0, 3.5, 4.5, 5.0]),
    "linf": ConcaveCardinality([1.0] * P),
    "groups": GroupCover([[0, 1, 2], [2, 3]], [1.0, 2.0]),
    "tree": Tree([[0, 1, 2, 3], [1, 2], [3]], [0.5, 1.0, 2.0], n_features=P),
    "rank": PartitionRank([[0, 1, 2], [3]], [2, 1]),
    "range": ContiguousRange(P),
    "log det": LogDet(np.eye(P) + 0.5, 1.0),
    "oracle": FromOracle(lambda A: float(np.sqrt(len(A))), P),
    "sum": ConcaveCardinality([1.0] * P) + ContiguousRange(P),
    "multiple": 2.5 * GroupCover([[0, 1], [1, 2], [2, 3]], n_features=P),
    "chain": GraphCut([(0, 1), (1, 2), (2, 3)], n_features=P),
    "cycle": GraphCut([(0, 1), (1, 2), (2, 3), (3, 0)], [1.0, 0.5, 2.0, 0.0], n_features=P),
}
SUBSETS = [list(A) for k in range(1, P + 1) for A in itertools.combinations(range(P), k)]
VECTORS = st.lists(st.floats(-5.0, 5.0), min_size=P, max_size=P).map(np.array)


def omega(F, x):
    return F.norm(x) if F.is_monotone else F.lovasz(x)


def least_distance(G, h):
    """The x of least norm with G x >= h, by non-negative least squares (Lawson & Hanson 1974, chapter 23).

    scipy's answers are infeasible or too long now and then: the shortest feasible one of several orders of the
    inequalities, moved by next to nothing, is taken.
    """
    f = np.append(np.zeros(G.shape[1]), 1.0)
    feasible = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(h))
        moved = h[order] - 1e-8 * seed * rng.random(len(h))
        E = np.vstack([G[order].T, moved])
        r = E @ scipy.optimize.nnls(E, f, maxiter=100_000)[0] - f
        x = -r[:-1] / r[-1]
        if np.all(G @ x >= h - 1e-6 * (1.0 + np.abs(h).max())):
            feasible.append(x)
    assert feasible, "the reference finds no feasible point"
    return min(feasible, key=np.linalg.norm)


def projection(F, v, step):
    """The projection of v onto step*K from the inequalities of K: |s|(A) <= F(A), or s(A) <= F(A) and s(V) = 0."""
    rows = np.array([[float(j in A) for j in range(P)] for A in SUBSETS])
    bounds = step * np.array([F(A) for A in SUBSETS])
    target, signs = (np.abs(v), np.where(v < 0, -1.0, 1.0)) if F.is_monotone else (v, np.ones(P))
    # s >= 0 for sizes, s(V) >= 0 for a base, whose other side is among the subsets.
    G = np.vstack([-rows, np.eye(P) if F.is_monotone else np.ones((1, P))])
    h = np.concatenate([-bounds, np.zeros(len(G) - len(rows))])
    return signs * (target + least_distance(G, h - G @ target))


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=25, deadline=None)
@given(v=VECTORS, step=st.floats(0.01, 3.0))
def test_moreau_splits_every_vector(family, v, step):
    """v = prox of step*Omega + prox of its conjugate, which is the projection onto step*K (Moreau 1965)."""
    F = FAMILIES[family]
    np.testing.assert_allclose(F.prox(v, step) + projection(F, v, step), v, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=50, deadline=None)
@given(v=VECTORS, w=VECTORS, z=VECTORS, step=st.floats(0.01, 3.0))
def test_every_prox_obeys_the_three_point_inequality(family, v, w, z, step):
    F = FAMILIES[family]
    x, y = F.prox(v, step), F.prox(w, step)
    assert (
        step * omega(F, x) + (x - v) @ (x - v) / 2 + (z - x) @ (z - x) / 2
        <= step * omega(F, z) + (z - v) @ (z - v) / 2 + 1e-5
    )
    assert (x - y) @ (x - y) <= (x - y) @ (v - w) + 1e-5


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), p=st.integers(2, 40), step=st.sampled_from([0.0, 0.1, 1.0, 30.0]))
def test_total_variation_against_its_dual(seed, p, step):
    """x is the point of least norm whose running sums stay within the weights of those of v, and end with them."""
    rng = np.random.default_rng(seed)
    v = np.cumsum(rng.standard_normal(p)) if seed % 2 else rng.integers(-3, 4, p).astype(float)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], p - 1)
    sums, bounds = np.tril(np.ones((p, p))), np.append(step * weights, 0.0)
    x = least_distance(np.vstack([sums, -sums]), np.append(sums @ v - bounds, -sums @ v - bounds))
    F = GraphCut([(j, j + 1) for j in range(p - 1)], weights, n_features=p)
    np.testing.assert_allclose(F.prox(v, step), x, atol=1e-5)


def records(seed=0, n=120, p=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 1.0
    z = X[:, 0] - X[:, 1] + 0.5 + rng.logistic(size=n)
    return X, z, rng.uniform(0.0, 2.0, n)


@pytest.mark.parametrize("form", [{"alpha": 0.02}, {"radius": 1.0}, {"alpha": 0.02, "ridge": 0.1}])
@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_balance_targets(form, norm, weighted):
    """With a free intercept the mean prediction of a generalised linear model is the mean target, at any penalty."""
    X, z, w = records()
    w = w if weighted else None
    model = SparseRegressor(norm=norm, **form).fit(X, z, w)
    assert np.average(model.predict(X), weights=w) == pytest.approx(np.average(z, weights=w), abs=1e-10)
    model = SparseClassifier(norm=norm, **form).fit(X, z > 0, w)
    share = np.average(model.predict_proba(X)[:, 1], weights=w)
    assert share == pytest.approx(np.average(z > 0, weights=w), abs=1e-10)
    assert 0.2 < share < 0.8


def test_predictions_of_robust_losses_balance_the_signs():
    """The derivative of the loss sums to 0: residuals clipped to the threshold do."""
    X, z, w = records()
    for loss, threshold in (("huber", 1.0), ("absolute", 0.1)):
        residuals = SparseRegressor(loss=loss, alpha=0.02).fit(X, z, w).predict(X) - z
        clipped = np.clip(residuals, -threshold, threshold)
        assert abs(np.average(clipped, weights=w)) <= 1e-10 * threshold
        assert np.abs(clipped).mean() > 0.05 * threshold
