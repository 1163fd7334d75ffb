"""Consistency: with growing epsilon ``auto`` becomes the fit of the same loss without privacy.

Claims: at epsilon 1000 the score of ``auto`` with its defaults is at most .01 under that of scikit-learn's fit of the
same loss (``accuracy_reference.py``) on every open set and table about people; and no score falls as epsilon grows from
0.1 to 1000, beyond two standard errors and .001. Scores are those of ``accuracy.py``, means over seeds on records that
no fit saw. Errors of differences are those of paired seeds where every seed has its own split. A fall is sought between
all pairs of epsilons, so that a few in a hundred go beyond two standard errors by chance.

Run: ``python benches/consistency.py [--quick] [--sets open,people,a9a]``.
"""

import argparse
import math
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np

import accuracy_reference
import accuracy_systems
from _timing import QUICK, headline
from accuracy_cells import error, number
from accuracy_problem import Problem
from accuracy_sets import problems
from accuracy_systems import AUTO, unserved

SEEDS = 2 if QUICK else 5
LARGEST = 1000.0
EPSILONS = (0.1, 1.0, LARGEST) if QUICK else (0.1, 0.5, 1.0, 4.0, 10.0, 100.0, LARGEST)
#: Under the fit without privacy by no more than this is consistent.
CLOSE = 0.01
#: A fall by less than this is not looked at.
LEAST = 0.001


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two seeds, three epsilons")
    parser.add_argument("--sets", metavar="A,B", help="only these sets or collections (open, people)")
    names = parser.parse_args().sets
    headline(f"auto at epsilon {LARGEST:g} beside the fit without privacy, and falls on the way, {SEEDS} seeds")
    columns = "".join(f"{epsilon:>8g}" for epsilon in EPSILONS)
    print(f"  {'set':18s}{columns}{'not private':>13s}{'difference':>12s}  falls beyond two standard errors")
    close = falling = count = 0
    for problem in problems(names.split(",") if names else None):
        reason = unserved(problem.task)
        if reason is not None:
            print(f"  {problem.name:18s}{reason}")
            continue
        scores, free = _scores(problem)
        difference = float(np.mean(scores[LARGEST]) - np.mean(free)) if LARGEST in scores else -math.inf
        fallen = falls(scores, paired=problem.resplit)
        near = difference >= -CLOSE
        close, falling, count = close + near, falling + bool(fallen), count + 1
        means = "".join(f"{_mean(scores.get(epsilon)):>8s}" for epsilon in EPSILONS)
        judged = "within .01" if abs(difference) <= CLOSE else "above" if near else "BELOW"
        line = f"  {problem.name:18s}{means}{_mean(free):>13s}{difference:+12.3f}  {judged:10s}  "
        print(line + (f"{len(fallen)}, the largest {fallen[0]}" if fallen else "none"), flush=True)
    print(f"\n  at most .01 under the fit without privacy: {close} of {count}; with a fall: {falling} of {count}")


def _scores(problem: Problem) -> tuple[dict[float, list[float]], list[float]]:
    """Return the scores of ``auto`` by epsilon, but for those where it is refused, and those without privacy."""
    scores: dict[float, list[float]] = {}
    for row in accuracy_systems.run(problem, AUTO, EPSILONS, SEEDS):
        if row.get("score") is not None:
            scores.setdefault(row["epsilon"], []).append(row["score"])
    reference: Iterable[dict[str, Any]] = accuracy_reference.run(problem, SEEDS)
    return scores, [row["score"] for row in reference if row["system"] == accuracy_reference.NON_PRIVATE]


def _mean(values: list[float] | None) -> str:
    return "refused" if values is None else number(float(np.mean(values)))


def falls(scores: dict[float, list[float]], *, paired: bool) -> list[str]:
    """Say between which epsilons the mean score falls by more than ``LEAST`` and two standard errors, worst first."""
    found = []
    for (small, before), (large, after) in combinations(sorted(scores.items()), 2):
        differences = np.subtract(after, before)
        spread = error(list(differences)) if paired else math.hypot(error(before), error(after))
        fall = -float(np.mean(differences))
        if fall > max(LEAST, 2 * spread):
            found.append((fall, f"{small:g} to {large:g}, {number(fall)} +- {number(spread)}"))
    return [text for _, text in sorted(found, reverse=True)]


if __name__ == "__main__":
    main()
