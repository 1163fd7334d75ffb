"""The open data sets as private problems: public facts, splits, scores and the features that the rivals get."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from _timing import shared

#: Public bounds on the Euclidean norm of a row in [0, 1]: at most one 1 in each of so many one-hot attributes.
ROW_NORMS = {"a9a": 14**0.5, "dna_splice": 60**0.5}
EPSILONS = (0.1, 0.5, 1.0, 4.0)


@dataclass(frozen=True)
class Problem:
    """One set with what is public about it; regression is split anew, 75/25, for every seed."""

    name: str
    regression: bool
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    bounds: tuple[Any, Any]
    row_norm: float | None
    y_bounds: tuple[float, float] | None
    groups: np.ndarray | None
    fit_intercept: bool

    @property
    def text(self) -> bool:
        return sp.issparse(self.X) and not self.fit_intercept

    @property
    def shape(self) -> tuple[int, int]:
        """Records and features that a fit gets."""
        n_test = self._n_test() if self.regression else 0
        return self.X.shape[0] - n_test, self.X.shape[1]

    @property
    def delta(self) -> float:
        return 1e-5 if self.regression else float(self.shape[0]) ** -2

    def split(self, seed: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        """Return X, y, X_test, y_test."""
        if not self.regression:
            return self.X, self.y, self.X_test, self.y_test
        order = np.random.default_rng(seed).permutation(len(self.y))
        test, train = order[: self._n_test()], order[self._n_test() :]
        return self.X[train], self.y[train], self.X[test], self.y[test]

    def _n_test(self) -> int:
        return len(self.y) // 4


def problems(names: Iterable[str] | None) -> Iterator[Problem]:
    """Load the sets, all of the shared folder where None; say why one is left out."""
    folder = shared("data")
    if folder is None:
        return
    sys.path.insert(0, str(folder))
    import load

    for name in load.names() if names is None else names:
        try:
            data = load.load(name)
        except (ValueError, OSError) as reason:
            print(f"  skipped: {name}: {reason}")
            continue
        yield _problem(data)


def _problem(data: Any) -> Problem:
    regression = data.task == "regression"
    X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
    bounds, row_norm = data.bounds, ROW_NORMS.get(data.name)
    text = sp.issparse(X) and data.groups is None
    if text:
        X, X_test, bounds, row_norm = _unit_rows(X), _unit_rows(X_test), (0.0, 1.0), 1.0
    if regression:
        X, y = np.vstack([X, X_test]), np.concatenate([y, y_test])
    return Problem(
        data.name,
        regression,
        X,
        y,
        X_test,
        y_test,
        bounds,
        row_norm,
        data.y_bounds,
        data.groups,
        fit_intercept=not text,
    )


def _unit_rows(X: sp.csr_matrix) -> sp.csr_matrix:
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1 / np.where(norms > 0, norms, 1)) @ X)


def scores(problem: Problem, margins: np.ndarray, y_test: np.ndarray) -> np.ndarray:
    """Return accuracy, or R^2, of each column of margins."""
    if problem.regression:
        return 1 - np.mean((margins - y_test[:, None]) ** 2, axis=0) / np.var(y_test)
    return np.mean((margins > 0) == (y_test[:, None] > 0), axis=0)


def features(problem: Problem, X: Any, scaling: str, *, train: Any = None, intercept: bool = True) -> Any:
    """Return X in scaled units, float32, with a column of ones where the problem has an intercept.

    "centred": the bounds become [-1, 1]. "uncentred": x / max(|lower|, |upper|). "quantiles": the 2 % and 98 %
    quantiles of ``train`` become [-1, 1] and what is outside is clipped, which nobody has paid for. Text stays as is.
    """
    if problem.text:
        return sp.csr_matrix(X, dtype=np.float32)
    lower, upper = (np.asarray(bound, dtype=float) for bound in problem.bounds)
    if scaling == "quantiles":
        low, high = np.quantile(train, [0.02, 0.98], axis=0)
        middle, half = (low + high) / 2, np.maximum(high - low, 0.02 * (upper - lower)) / 2
        lower, upper = middle - half, middle + half
    X = np.clip(X.toarray() if sp.issparse(X) else X, lower, upper)
    if scaling == "uncentred":
        X = X / np.maximum(np.maximum(abs(lower), abs(upper)), 1e-12)
    else:
        X = (2 * X - lower - upper) / np.where(upper > lower, upper - lower, 1)
    X = np.column_stack([X, np.ones(len(X))]) if intercept else X
    return np.ascontiguousarray(X, dtype=np.float32)


def row_bound(problem: Problem, scaling: str, *, intercept: bool = True) -> float:
    """Return a bound on the Euclidean norm of a row of ``features``."""
    known = problem.row_norm if scaling == "uncentred" else None
    norm = known if known is not None else problem.shape[1] ** 0.5
    return float(np.hypot(norm, 1.0 if intercept and problem.fit_intercept else 0.0))


def targets(problem: Problem, y: np.ndarray) -> np.ndarray:
    """Return labels, or y with its bounds mapped to [-1, 1]."""
    if problem.y_bounds is None:
        return y.astype(np.float32)
    lower, upper = problem.y_bounds
    return ((2 * np.clip(y, lower, upper) - lower - upper) / (upper - lower)).astype(np.float32)
