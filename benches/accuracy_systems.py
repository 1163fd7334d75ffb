"""What the table runs of dpsparse: ``auto``, every mechanism by its name, and group selection."""

import math
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

from accuracy_sets import Problem
from dpsparse import DisjointGroups, DpsparseError, PrivateSparseClassifier, PrivateSparseRegressor
from dpsparse.mechanisms import MECHANISMS

AUTO = "auto"
COORDINATES, GROUPS = "select-refit", "select-refit, groups"
#: Once a cell has taken so many seconds it gets no third seed, or further one; ``auto`` always gets all of them.
PATIENCE = 20.0
#: Takes minutes for one fit of text: every step minimises over all p coordinates.
TOO_SLOW_FOR_TEXT = "dual-frank-wolfe"


def systems(problem: Problem) -> dict[str, dict[str, Any]]:
    """Return each system's options beyond the problem's public facts."""
    found: dict[str, dict[str, Any]] = {name: {"mechanism": name} for name in (AUTO, *MECHANISMS)}
    if problem.groups is not None:
        found[GROUPS] = {"mechanism": "select-refit", "norm": DisjointGroups(problem.groups)}
    return found


def run(problem: Problem, system: str, epsilons: tuple[float, ...], seeds: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each epsilon and seed, or one with the reason why the system does not take the problem."""
    if problem.text and system == TOO_SLOW_FOR_TEXT:
        yield {"system": system, "setting": f"skipped: minutes a fit at p = {problem.shape[1]}"}
        return
    try:
        options, setting = _accepted(problem, systems(problem)[system])
    except DpsparseError as reason:
        yield {"system": system, "setting": f"refused: {reason}"}
        return
    for epsilon in epsilons:
        start = time.perf_counter()
        for seed in range(seeds):
            if system != AUTO and seed >= 2 and time.perf_counter() - start > PATIENCE:
                break
            X, y, X_test, y_test = problem.split(seed)
            begin = time.perf_counter()
            model = _estimator(problem, {**options, "epsilon": epsilon, "random_state": seed}).fit(X, y)
            seconds = time.perf_counter() - begin
            score = model.score(X_test, y_test)
            row = {"system": system, "epsilon": epsilon, "seed": seed, "score": score, "setting": setting}
            yield row | {"seconds": seconds}


def _estimator(problem: Problem, options: dict[str, Any]) -> Any:
    facts = {"bounds": problem.bounds, "delta": problem.delta, "fit_intercept": problem.fit_intercept}
    if problem.regression:
        facts |= {"y_bounds": problem.y_bounds, "adjacency": "add-remove", "n_public": problem.shape[0]}
        return PrivateSparseRegressor(**facts, **options)
    return PrivateSparseClassifier(classes=(-1, 1), **facts, **options)


def _accepted(problem: Problem, options: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the options with the first additions that ``plan()`` takes, and these in words.

    A mechanism refuses what it does not use: the row norm. One that needs a penalty gets the lasso's rate
    sqrt(log(p) / n), a public rule, and one that refuses the squared loss gets Huber's.
    """
    n, p = problem.shape
    losses: list[dict[str, Any]] = [{}, {"loss": "huber"}] if problem.regression else [{}]
    alphas: list[dict[str, Any]] = [{}, {"alpha": math.sqrt(math.log(p) / n)}]
    norms: list[dict[str, Any]] = [{"row_norm": problem.row_norm}] if problem.row_norm is not None else []
    refusals = []
    for loss, alpha, norm in product(losses, alphas, [*norms, {}]):
        additions = loss | alpha | norm
        try:
            _estimator(problem, options | additions).plan(n, p)
        except DpsparseError as refusal:
            refusals.append(refusal)
            continue
        words = [
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in additions.items()
        ]
        return options | additions, ", ".join(words)
    # The first is what a user with all the public facts would see.
    raise refusals[0]
