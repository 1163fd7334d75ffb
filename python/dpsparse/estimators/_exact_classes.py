"""Exact fits of three or more classes: one softmax model, what it takes and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse._core import InvalidArgumentError, fit_classes, path_classes

__all__ = ["check", "is_taken", "request", "solve", "solve_path"]

_NORMS = ("l1", "l21")
_SOLVERS = ("auto", "coordinate-descent")
#: What else there is for three or more classes.
_SPLIT = (
    "sklearn.multiclass.OneVsRestClassifier and OneVsOneClassifier fit several models of two classes, with any loss, "
    "norm and solver"
)


def is_taken(loss: str, norm: Any, solver: str, weights: Any = None) -> bool:
    """Whether there is a fit of three or more classes."""
    named = isinstance(norm, str) and norm in _NORMS
    return loss == "logistic" and named and solver in _SOLVERS and weights is None


def check(options: dict[str, Any], norm: Any, weights: Any, n_classes: int) -> None:
    """Refuse a loss, solver, norm or weights of features that take two classes only.

    Raises
    ------
    InvalidArgumentError
        Its first words are those that scikit-learn's checks look for.
    """
    loss, solver = options["loss"][0], options["solver"]
    if is_taken(loss, norm, solver, weights):
        return
    if loss != "logistic":
        wrong, right = "loss", "'logistic'"
    elif solver not in _SOLVERS:
        wrong, right = "solver", " or ".join(map(repr, _SOLVERS))
    elif weights is not None:
        wrong, right = "feature_weights", "None"
    else:
        wrong, right = "norm", " or ".join(map(repr, _NORMS))
    raise InvalidArgumentError(
        f"Only binary classification is supported by this {wrong}: y has {n_classes} classes, and one softmax model of "
        f"three or more needs {wrong}={right}; {_SPLIT}"
    )


def request(options: dict[str, Any], norm: Any, n_classes: int, data: dict[str, Any]) -> dict[str, Any]:
    """Return what the core takes for ``n_classes`` classes besides alpha, radius and start."""
    taken = ("ridge", "fit_intercept", "tol", "max_iter", "progress")
    return {name: options[name] for name in taken} | data | {"norm": norm, "n_classes": n_classes}


def solve(
    asked: Any, options: dict[str, Any], start: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[float, float, int, bool, NDArray[np.float64]]]:
    """Return coefficients of shape (n_classes, n_features), intercepts, and what came of the fit."""
    fitted = fit_classes(asked, alpha=options["alpha"], radius=options["radius"], start=start)
    return _rows(*fitted[:2]), fitted[1], fitted[2:]


def solve_path(
    asked: Any, alphas: list[float] | None, n_alphas: int, ratio: float
) -> tuple[list[float], list[tuple[Any, ...]]]:
    """Return penalties and fits, each with coefficients of shape (n_classes, n_features) and intercepts first."""
    used, fits = path_classes(asked, alphas=alphas, n_alphas=n_alphas, ratio=ratio)
    return used, [(_rows(fit[0], fit[1]), *fit[1:]) for fit in fits]


def _rows(coefficients: NDArray[np.float64], intercepts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a row a class; the core has one after another the coefficients of a feature."""
    return np.ascontiguousarray(coefficients.reshape(-1, intercepts.size).T)
