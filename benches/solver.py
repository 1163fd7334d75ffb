"""Exact solvers beside each other, each until its relative duality gap is at most 1e-4, 1e-6 and 1e-8.

The problems and the gap are those of ``rivals/solver_problems.py`` in the shared folder (DPSPARSE_SHARED). Claim: no
installed peer is faster to 1e-6. A peer's seconds are the least of those of a falling sequence of tolerances whose
solution attains the gap; it is compiled before. Peers: skglm, celer, scikit-learn, sortedl1, spams, where importable.

Run: ``python benches/solver.py [--quick] [part of a problem's name ...]``; one thread unless RAYON_NUM_THREADS is set.
"""

import os
import sys
import time
import warnings

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", os.environ["RAYON_NUM_THREADS"])

import numpy as np
from sklearn.linear_model import Lasso, LogisticRegression

from _timing import QUICK, headline, row, shared
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.set_functions import ConcaveCardinality, GroupCover, Tree

TOLERANCES = 10.0 ** -np.arange(2.0, 13.0)
GAPS = (1e-4, 1e-6, 1e-8)
# Minima where no closed-form gap is at hand; ours are certified.
MINIMA = {"tree_linf_l10": 86.9856713676, "windows_linf_l10": 118.508510305}


def norm(d):
    """Return the problem's norm as the estimators take it."""
    kind, p = d["kind"], d["X"].shape[1]
    if kind in ("l1", "logistic"):
        return "l1"
    if kind == "slope":
        return ConcaveCardinality(np.cumsum(d["alphas"]))
    width, stride = d["gs"], d["gs"] // 2 if kind == "windows_linf" else d["gs"]
    groups = [list(range(j, j + width)) for j in range(0, p - width + 1, stride)]
    if kind == "tree_linf":
        return Tree(groups + [list(range(j, j + 100)) for j in range(0, p, 100)], n_features=p)
    return GroupCover(groups, n_features=p)


def ours(d):
    Model = SparseClassifier if d["kind"] == "logistic" else SparseRegressor
    omega = norm(d)

    def fit(tol):
        return np.ravel(Model(norm=omega, alpha=d["lam"], fit_intercept=False, tol=tol).fit(d["X"], d["y"]).coef_)

    return fit


def peers(d):
    """Yield the name and the fit at a tolerance of every peer that knows the problem."""
    X, y, lam, kind = d["X"], d["y"], d["lam"], d["kind"]
    n = len(y)
    if kind == "l1":
        yield (
            "scikit-learn",
            lambda tol: Lasso(alpha=lam, fit_intercept=False, tol=tol, max_iter=100_000).fit(X, y).coef_,
        )
    if kind == "logistic":
        options = {"C": 1 / (n * lam), "fit_intercept": False, "solver": "liblinear", "l1_ratio": 1.0}
        yield "liblinear", lambda tol: np.ravel(LogisticRegression(tol=tol, max_iter=10_000, **options).fit(X, y).coef_)
    try:
        import celer

        if kind == "l1":
            yield "celer", lambda tol: celer.Lasso(alpha=lam, fit_intercept=False, tol=tol).fit(X, y).coef_
        if kind == "logistic":
            options = {"C": 1 / (n * lam), "fit_intercept": False}
            yield "celer", lambda tol: np.ravel(celer.LogisticRegression(tol=tol, **options).fit(X, y).coef_)
    except ImportError:
        pass
    try:
        import skglm

        if kind == "l1":
            yield "skglm", lambda tol: skglm.Lasso(alpha=lam, fit_intercept=False, tol=tol).fit(X, y).coef_
        if kind == "logistic":
            options = {"alpha": lam, "fit_intercept": False}
            yield "skglm", lambda tol: np.ravel(skglm.SparseLogisticRegression(tol=tol, **options).fit(X, y).coef_)
    except ImportError:
        pass
    try:
        import sortedl1

        if kind == "slope":
            options = {"lam": d["alphas"], "alpha": lam, "fit_intercept": False}
            yield "sortedl1", lambda tol: np.ravel(sortedl1.Slope(tol=tol, **options).fit(X, y).coef_)
    except ImportError:
        pass
    try:
        import spams

        if kind == "group_linf":
            start = np.zeros((X.shape[1], 1), order="F")
            target = np.asfortranarray(y[:, None])
            options = {"loss": "square", "regul": "group-lasso-linf", "lambda1": n * lam, "size_group": d["gs"]}
            yield (
                "spams",
                lambda tol: spams.fistaFlat(
                    target, X, start, False, numThreads=1, tol=tol, it0=2, max_it=10_000, **options
                ).ravel(),
            )
    except ImportError:
        pass


def seconds_to_gaps(name, d, fit, relative_gap):
    """Least seconds of a run whose solution attains each gap."""
    reached = dict.fromkeys(GAPS, np.inf)
    at_zero = d["y"] @ d["y"] / (2 * len(d["y"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for tol in TOLERANCES:
            for _ in range(1 if QUICK else 3):
                start = time.perf_counter()
                w = fit(tol)
                taken = time.perf_counter() - start
                gap = relative_gap(d, w)
                if gap is None:
                    residual = d["y"] - d["X"] @ w
                    objective = residual @ residual / (2 * len(residual)) + d["lam"] * OMEGA(d, w)
                    gap = (objective - MINIMA[name]) / at_zero
                for target in GAPS:
                    if gap <= target:
                        reached[target] = min(reached[target], taken)
            if reached[GAPS[-1]] < np.inf or taken > 60.0:
                break
    return reached


if __name__ == "__main__":
    headline("Exact solvers to a relative duality gap")
    folder = shared("rivals")
    if folder is None:
        sys.exit(0)
    sys.path.insert(0, str(folder))
    from solver_problems import PROBLEMS, relative_gap
    from solver_problems import omega as OMEGA

    chosen = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    for name, make in PROBLEMS.items():
        if chosen and not any(part in name for part in chosen):
            continue
        d = make()
        mine = seconds_to_gaps(name, d, ours(d), relative_gap)
        theirs = {}
        for peer, fit in peers(d):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit(1e-1)  # compiles
            theirs[peer] = seconds_to_gaps(name, d, fit, relative_gap)
        for gap in GAPS:
            known = {peer: taken[gap] for peer, taken in theirs.items() if taken[gap] < np.inf}
            if not known:
                print(f"  {name:26s} {gap:.0e} ours {mine[gap]:.3f} s, no peer")
                continue
            fastest = min(known, key=known.get)
            row(f"{name} {gap:.0e} ({fastest})", mine[gap], known[fastest], 1.0 if gap == 1e-6 else None)
