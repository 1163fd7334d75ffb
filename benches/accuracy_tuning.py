"""Tuning on the test set, which no private method may do: it flatters the rivals that ``auto`` is compared with."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import accuracy_measures
from accuracy_problem import Problem, targets

#: Settings that are fitted again, so that one lucky fit does not decide.
SHORTLIST = 5
#: Margins on the test set in blocks, a column per setting, all with the same scaling, number of steps and seed.
Fit = Callable[[Problem, str, int, Sequence[Any], int], Iterator[np.ndarray]]


def tuned(
    problem: Problem, system: str, fit: Fit, variants: Iterable[tuple[str, int]], settings: Sequence[Any], seeds: int
) -> list[dict[str, Any]]:
    """Return a row for each epsilon and seed, of the setting with the best mean test score.

    One fit of each setting makes a short list at each epsilon; ``seeds`` further fits of those on it decide.
    ``settings`` are named tuples with an ``epsilon``; ``variants`` are pairs of scaling and number of steps.
    """
    tried: dict[float, list[tuple[float, str, int, Any]]] = {}
    for scaling, steps in variants:
        blocks = _measured(problem, fit, scaling, steps, settings, 0, probabilities=False)
        for setting, measures in zip(settings, blocks, strict=True):
            tried.setdefault(setting.epsilon, []).append((measures["score"], scaling, steps, setting))
    rows = []
    for epsilon, scored in tried.items():
        shortlist = sorted(scored, key=lambda each: -each[0])[:SHORTLIST]
        fitted = [(_again(problem, fit, *each[1:], seeds), each) for each in shortlist]
        found, (_, scaling, steps, setting) = max(fitted, key=lambda each: sum(row["score"] for row in each[0]))
        options = [f"{name} {value:g}" for name, value in setting._asdict().items() if name != "epsilon"]
        facts = {"system": system, "epsilon": epsilon, "setting": ", ".join([scaling, f"T {steps}", *options])}
        rows += [{**facts, "seed": seed, **measures} for seed, measures in enumerate(found)]
    return rows


def _again(problem: Problem, fit: Fit, scaling: str, steps: int, setting: Any, seeds: int) -> list[dict[str, Any]]:
    if problem.resplit:
        each = (_measured(problem, fit, scaling, steps, [setting], seed) for seed in range(1, seeds + 1))
        return [measures for found in each for measures in found]
    return _measured(problem, fit, scaling, steps, [setting] * seeds, 1)


def _measured(
    problem: Problem,
    fit: Fit,
    scaling: str,
    steps: int,
    settings: Sequence[Any],
    seed: int,
    *,
    probabilities: bool = True,
) -> list[dict[str, Any]]:
    """Return what is measured of each setting; log loss and AUC, which take a sort each, only where asked for."""
    y_test = targets(problem, problem.split(seed)[3])
    found: list[dict[str, Any]] = []
    for margins in fit(problem, scaling, steps, settings, seed):
        for score, column in zip(accuracy_measures.scores(problem.regression, margins, y_test), margins.T, strict=True):
            states = probabilities and problem.classes is not None
            of_margins = accuracy_measures.of_margins(y_test, column) if states else accuracy_measures.NEITHER
            found.append({"score": float(score), **of_margins})
    return found
