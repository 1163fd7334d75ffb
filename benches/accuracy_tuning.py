"""Tuning on the test set, which no private method may do: it flatters the rivals that ``auto`` is compared with."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from accuracy_sets import Problem

#: Settings that are fitted again, so that one lucky fit does not decide.
SHORTLIST = 5
#: Test scores of settings, all with the same scaling of the features, number of steps and seed.
Fit = Callable[[Problem, str, int, Sequence[Any], int], np.ndarray]


def tuned(
    problem: Problem, system: str, fit: Fit, variants: Iterable[tuple[str, int]], settings: Sequence[Any], seeds: int
) -> list[dict[str, Any]]:
    """Return a row for each epsilon and seed, of the setting with the best mean test score.

    One fit of each setting makes a short list at each epsilon; ``seeds`` further fits of those on it decide.
    ``settings`` are named tuples with an ``epsilon``; ``variants`` are pairs of scaling and number of steps.
    """
    tried: dict[float, list[tuple[float, str, int, Any]]] = {}
    for scaling, steps in variants:
        for setting, score in zip(settings, fit(problem, scaling, steps, settings, 0), strict=True):
            tried.setdefault(setting.epsilon, []).append((float(score), scaling, steps, setting))
    rows = []
    for epsilon, scored in tried.items():
        shortlist = sorted(scored, key=lambda each: -each[0])[:SHORTLIST]
        fitted = [(_again(problem, fit, *each[1:], seeds), each) for each in shortlist]
        found, (_, scaling, steps, setting) = max(fitted, key=lambda each: float(np.mean(each[0])))
        options = [f"{name} {value:g}" for name, value in setting._asdict().items() if name != "epsilon"]
        text = ", ".join([scaling, f"T {steps}", *options])
        rows += [
            {"system": system, "epsilon": epsilon, "seed": seed, "score": float(score), "setting": text}
            for seed, score in enumerate(found)
        ]
    return rows


def _again(problem: Problem, fit: Fit, scaling: str, steps: int, setting: Any, seeds: int) -> np.ndarray:
    if problem.regression:  # every seed has its own split
        return np.array([fit(problem, scaling, steps, [setting], seed)[0] for seed in range(1, seeds + 1)])
    return fit(problem, scaling, steps, [setting] * seeds, 1)
