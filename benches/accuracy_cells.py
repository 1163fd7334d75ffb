"""Scores by set, system and epsilon: their means, errors and verdicts, and how they are printed."""

import math
from typing import Any

import numpy as np

RIVALS = ("diffprivlib", "gradient descent", "Frank-Wolfe in numpy")

#: Of each set, system and epsilon (infinite without privacy): the scores of the seeds.
Cells = dict[tuple[str, str, float], list[float]]


def cells(rows: list[dict[str, Any]], measure: str = "score") -> Cells:
    """Gather a measure ("score", "log_loss" or "auc") of the rows that have it."""
    found: Cells = {}
    for row in rows:
        if row.get(measure) is not None:
            found.setdefault((row["set"], row["system"], row["epsilon"]), []).append(row[measure])
    return found


def error(values: list[float]) -> float:
    """Return the standard error of the mean; NaN for one value."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def is_rival(system: str) -> bool:
    """Whether a system is a private rival that was run here."""
    return system.startswith(RIVALS)


def verdict(mean: float, spread: float, target: float, slack: float = 0.0) -> str:
    """Judge a mean with its standard error against a rival's figure; it is below by more than ``slack`` only."""
    spread = 0.0 if math.isnan(spread) else spread
    if mean - 2 * spread >= target:
        return "above beyond two standard errors"
    return "at or above" if mean + 2 * spread >= target - slack else "below"


def best_rival(found: Cells, name: str, epsilon: float) -> tuple[float, str] | None:
    """Return the best mean of the rivals run here, and its system."""
    means = [
        (float(np.mean(values)), system)
        for (each, system, at), values in found.items()
        if each == name and at == epsilon and is_rival(system)
    ]
    return max(means, default=None)


def names_of(found: Cells) -> list[str]:
    """Return the sets, in the order of the rows."""
    return list(dict.fromkeys(name for name, _, _ in found))


def epsilons_of(found: Cells, name: str) -> list[float]:
    """Return the epsilons of a set, increasing."""
    return sorted({epsilon for each, _, epsilon in found if each == name and math.isfinite(epsilon)})


def table(head: list[str], lines: list[list[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


def number(value: float) -> str:
    """Return three decimals without a leading zero, or three digits."""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3g}"


def cell_text(values: list[float]) -> str:
    """Return mean, standard error and number of seeds."""
    spread = error(values)
    return number(float(np.mean(values))) + ("" if math.isnan(spread) else f" +- {number(spread)} ({len(values)})")


def probabilities(rows: list[dict[str, Any]]) -> dict[tuple[str, str, float], str]:
    """Return mean log loss / mean AUC of each set, system and epsilon where there are probabilities."""
    losses, areas = cells(rows, "log_loss"), cells(rows, "auc")
    return {key: f"{number(float(np.mean(losses[key])))} / {number(float(np.mean(areas[key])))}" for key in losses}
