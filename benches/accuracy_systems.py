"""What the table runs of dpsparse: ``auto``, every mechanism by its name, and group selection."""

import math
import time
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import accuracy_measures
import dpsparse
from accuracy_problem import Problem
from dpsparse import DisjointGroups, DpsparseError, PrivateSparseClassifier
from dpsparse.mechanisms import MECHANISMS

AUTO = "auto"
COORDINATES, GROUPS = "select-refit", "select-refit, groups"
#: Once a cell has taken so many seconds it gets no third seed, or further one; ``auto`` always gets all of them.
PATIENCE = 20.0
#: Takes minutes for one fit of a wide matrix: every step minimises over all p coordinates.
TOO_SLOW_IF_WIDE = "dual-frank-wolfe"
#: Looked up by name, for not every version of the package has it.
POISSON = "PrivateSparsePoissonRegressor"
#: How the reason begins why a whole set is left out until the package has an estimator for it.
UNSERVED = "not served yet"


def systems(problem: Problem) -> dict[str, dict[str, Any]]:
    """Return each system's options beyond the problem's public facts; ``auto`` alone where no estimator serves it."""
    if unserved(problem.task) is not None:
        return {AUTO: {}}
    found: dict[str, dict[str, Any]] = {name: {"mechanism": name} for name in (AUTO, *MECHANISMS)}
    if problem.groups is not None:
        found[GROUPS] = {"mechanism": "select-refit", "norm": DisjointGroups(problem.groups)}
    return found


@cache
def unserved(task: str) -> str | None:
    """Return what the package lacks for a task, None where it lacks nothing."""
    if task == "count" and not hasattr(dpsparse, POISSON):
        return f"{UNSERVED}: no Poisson regressor in this version"
    if task == "multiclass":
        three = np.arange(60) % 3
        try:
            PrivateSparseClassifier(bounds=(0, 2), classes=(0, 1, 2), delta=1e-6).fit(three[:, None], three)
        except DpsparseError:
            return f"{UNSERVED}: no multi-class classifier in this version"
    return None


def run(problem: Problem, system: str, epsilons: tuple[float, ...], seeds: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each epsilon and seed, or one with the reason why the system does not take the problem.

    Some plans are refused at some epsilons alone; then the row with the reason has the epsilon.
    """
    reason = unserved(problem.task)
    if reason is not None:
        yield {"system": system, "setting": reason}
        return
    if problem.wide and system == TOO_SLOW_IF_WIDE:
        yield {"system": system, "setting": f"skipped: minutes a fit at p = {problem.shape[1]}"}
        return
    try:
        options, setting = _accepted(problem, systems(problem)[system])
    except DpsparseError as refusal:
        yield {"system": system, "setting": f"refused: {refusal}"}
        return
    for epsilon in epsilons:
        start = time.perf_counter()
        for seed in range(seeds):
            if system != AUTO and seed >= 2 and time.perf_counter() - start > PATIENCE:
                break
            X, y, X_test, y_test = problem.split(seed)
            begin = time.perf_counter()
            try:
                model = estimator(problem, {**options, "epsilon": epsilon, "random_state": seed}).fit(X, y)
            except DpsparseError as refusal:
                yield {"system": system, "epsilon": epsilon, "setting": f"refused: {refusal}"}
                break
            seconds = time.perf_counter() - begin
            row = {"system": system, "epsilon": epsilon, "seed": seed, "setting": setting, "seconds": seconds}
            yield row | accuracy_measures.of_model(model, X_test, y_test, problem.classes)


def estimator(problem: Problem, options: dict[str, Any]) -> Any:
    facts: dict[str, Any] = {"bounds": problem.bounds, "delta": problem.delta, "fit_intercept": problem.fit_intercept}
    if problem.adjacency == "add-remove":
        facts |= {"adjacency": "add-remove", "n_public": problem.shape[0]}
    if problem.classes is not None:
        return PrivateSparseClassifier(classes=problem.classes, **facts, **options)
    name = "PrivateSparseRegressor" if problem.regression else POISSON
    return getattr(dpsparse, name)(y_bounds=problem.y_bounds, **facts, **options)


def _accepted(problem: Problem, options: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the options with the first additions that ``plan()`` takes, and these in words.

    A mechanism refuses what it does not use: the row norm. One that needs a penalty gets the lasso's rate
    sqrt(log(p) / n), a public rule, and one that refuses the squared loss gets Huber's.
    """
    n, p = problem.shape
    losses: list[dict[str, Any]] = [{}, {"loss": "huber"}] if problem.regression else [{}]
    alphas: list[dict[str, Any]] = [{}, {"alpha": math.sqrt(math.log(p) / n)}]
    offers: list[dict[str, Any]] = [problem.offers] if problem.offers else []
    refusals = []
    for loss, alpha, norm in product(losses, alphas, [*offers, {}]):
        additions = loss | alpha | norm
        try:
            estimator(problem, options | additions).plan(n, p)
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
