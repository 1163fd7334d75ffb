"""Proxes and exact fits against other packages' solvers (extra `peers`), each skipped where it is not installed."""

import numpy as np
import pytest

from dpsparse import SparseClassifier, SparseRegressor, set_functions


def problem(n=60, p=20, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, p))
    theta = np.zeros(p)
    theta[:6] = [2.0, 2.0, -2.0, 1.0, -1.0, 0.5]
    return X, X @ theta + 0.5 * generator.standard_normal(n)


def windows(p, size=6, stride=3):
    return [list(range(k, min(k + size, p))) for k in range(0, p - stride, stride)]


def tree(p):
    return [list(range(p)), *([*range(k, min(k + 5, p))] for k in range(0, p, 5)), *([j] for j in range(p))]


FAMILIES = {
    "l1": lambda p: set_functions.Cardinality(p),
    "linf": lambda p: set_functions.ConcaveCardinality(np.ones(p)),
    "slope": lambda p: set_functions.ConcaveCardinality(np.cumsum(np.linspace(2.0, 0.5, p))),
    "groups": lambda p: set_functions.GroupCover([list(range(k, k + 4)) for k in range(0, p, 4)], n_features=p),
    "windows": lambda p: set_functions.GroupCover(windows(p), np.linspace(1.0, 2.0, len(windows(p))), n_features=p),
    "tree": lambda p: set_functions.Tree(tree(p), np.linspace(0.2, 1.0, len(tree(p))), n_features=p),
    "chain": lambda p: set_functions.GraphCut([(j, j + 1) for j in range(p - 1)], n_features=p),
    "graph": lambda p: set_functions.GraphCut(
        [(j, (j + k) % p) for j in range(p) for k in (1, 5)], np.linspace(0.5, 1.5, 2 * p), n_features=p
    ),
    "partition": lambda p: set_functions.PartitionRank([list(range(p // 2)), list(range(p // 2, p))], [2, 5]),
    "range": lambda p: set_functions.ContiguousRange(p),
}


def omega(cp, name, theta, p):
    """Omega as a cvxpy expression, from its definition."""
    if name == "l1":
        return cp.norm1(theta)
    if name == "linf":
        return cp.norm_inf(theta)
    if name == "slope":
        gains = np.linspace(2.0, 0.5, p)
        steps = np.append(-np.diff(gains), gains[-1])
        return sum(step * cp.sum_largest(cp.abs(theta), k + 1) for k, step in enumerate(steps))
    if name == "groups":
        return sum(cp.norm_inf(theta[k : k + 4]) for k in range(0, p, 4))
    if name in {"windows", "tree"}:
        groups = windows(p) if name == "windows" else tree(p)
        weights = np.linspace(*((1.0, 2.0) if name == "windows" else (0.2, 1.0)), len(groups))
        return sum(w * cp.norm_inf(theta[group]) for w, group in zip(weights, groups, strict=True))
    if name == "chain":
        return cp.norm1(cp.diff(theta))
    if name == "graph":
        pairs = [(j, (j + k) % p) for j in range(p) for k in (1, 5)]
        return sum(
            w * cp.abs(theta[i] - theta[j]) for w, (i, j) in zip(np.linspace(0.5, 1.5, 2 * p), pairs, strict=True)
        )
    if name == "partition":
        half = p // 2
        return cp.sum_largest(cp.abs(theta[:half]), 2) + cp.sum_largest(cp.abs(theta[half:]), 5)
    prefixes = sum(cp.norm_inf(theta[: k + 1]) for k in range(p))
    return prefixes + sum(cp.norm_inf(theta[k:]) for k in range(1, p))


@pytest.mark.parametrize("name", FAMILIES)
def test_prox_against_clarabel(name):
    cp = pytest.importorskip("cvxpy")
    p = 20
    v = 2.0 * np.random.default_rng(1).standard_normal(p)
    theta = cp.Variable(p)
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(theta - v) + 0.3 * omega(cp, name, theta, p))).solve(
        solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
    )
    np.testing.assert_allclose(FAMILIES[name](p).prox(v, 0.3), theta.value, atol=2e-5)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_regression_against_clarabel(name, ridge):
    cp = pytest.importorskip("cvxpy")
    X, y = problem()
    n, p = X.shape
    theta, b = cp.Variable(p), cp.Variable()
    objective = cp.sum_squares(X @ theta + b - y) / (2 * n) + 0.1 * omega(cp, name, theta, p)
    value = cp.Problem(cp.Minimize(objective + 0.5 * ridge * cp.sum_squares(theta))).solve(solver="CLARABEL")
    model = SparseRegressor(norm=FAMILIES[name](p), alpha=0.1, ridge=ridge, tol=1e-9).fit(X, y)
    norm = FAMILIES[name](p).lovasz(model.coef_ if name in {"chain", "graph"} else np.abs(model.coef_))
    ours = np.mean((model.predict(X) - y) ** 2) / 2 + 0.1 * norm + 0.5 * ridge * model.coef_ @ model.coef_
    assert abs(ours - value) <= 1e-6 * abs(value)


@pytest.mark.parametrize("name", ["slope", "groups", "tree", "chain"])
def test_logistic_regression_against_clarabel(name):
    cp = pytest.importorskip("cvxpy")
    X, y = problem()
    y = np.where(y > 0, 1.0, -1.0)
    n, p = X.shape
    theta, b = cp.Variable(p), cp.Variable()
    risk = cp.sum(cp.logistic(-cp.multiply(y, X @ theta + b))) / n
    value = cp.Problem(cp.Minimize(risk + 0.02 * omega(cp, name, theta, p))).solve(solver="CLARABEL")
    model = SparseClassifier(norm=FAMILIES[name](p), alpha=0.02, tol=1e-9).fit(X, y)
    coef = model.coef_.ravel()
    norm = FAMILIES[name](p).lovasz(coef if name == "chain" else np.abs(coef))
    ours = np.logaddexp(0, -y * model.decision_function(X)).mean() + 0.02 * norm
    assert abs(ours - value) <= 1e-6 * abs(value)


@pytest.mark.parametrize("name", ["linf", "slope", "groups", "windows", "tree"])
def test_constrained_regression_against_clarabel(name):
    cp = pytest.importorskip("cvxpy")
    X, y = problem()
    n, p = X.shape
    theta, b = cp.Variable(p), cp.Variable()
    value = cp.Problem(
        cp.Minimize(cp.sum_squares(X @ theta + b - y) / (2 * n)), [omega(cp, name, theta, p) <= 4.0]
    ).solve(solver="CLARABEL")
    model = SparseRegressor(norm=FAMILIES[name](p), radius=4.0, tol=1e-9).fit(X, y)
    assert FAMILIES[name](p).norm(model.coef_) <= 4.0 * (1 + 1e-9)
    assert abs(np.mean((model.predict(X) - y) ** 2) / 2 - value) <= 1e-5 * value


def test_slope_against_skglm():
    skglm = pytest.importorskip("skglm")
    penalties, solvers = pytest.importorskip("skglm.penalties"), pytest.importorskip("skglm.solvers")
    datafits = pytest.importorskip("skglm.datafits")
    X, y = problem()
    alphas = np.linspace(0.3, 0.05, X.shape[1])
    fista = solvers.FISTA(max_iter=100_000, tol=1e-10, opt_strategy="fixpoint")
    peer = skglm.GeneralizedLinearEstimator(datafits.Quadratic(), penalties.SLOPE(alphas), fista)
    peer.fit(np.asfortranarray(X), y)
    F = set_functions.ConcaveCardinality(np.cumsum(alphas))
    model = SparseRegressor(norm=F, alpha=1.0, fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.ravel(peer.coef_), atol=1e-4)


def test_tree_and_graph_proxes_against_spams():
    spams = pytest.importorskip("spams")
    p = 12
    v = np.random.default_rng(2).standard_normal(p)
    groups = windows(p)
    cover = np.zeros((p, len(groups)), dtype=bool)
    for g, group in enumerate(groups):
        cover[group, g] = True
    from scipy.sparse import csc_matrix

    graph = {
        "eta_g": np.ones(len(groups)),
        "groups": csc_matrix((len(groups), len(groups)), dtype=bool),
        "groups_var": csc_matrix(cover),
    }
    peer = spams.proximalGraph(np.asfortranarray(v[:, None]), graph, False, lambda1=0.3, regul="graph", numThreads=1)
    ours = set_functions.GroupCover(groups, n_features=p).prox(v, 0.3)
    np.testing.assert_allclose(ours, np.ravel(peer), atol=1e-6)
