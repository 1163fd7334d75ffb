"""A data set as a private problem: its public facts, its splits and the features that the rivals get."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Epsilons of the table.
EPSILONS = (0.1, 0.5, 1.0, 4.0)
OPEN, PEOPLE = "open", "people"
#: A sparse matrix with more columns stays sparse.
DENSE = 1_000


@dataclass(frozen=True)
class Problem:
    """One set with what is public about it.

    ``task`` is "binary", "regression", "multiclass" or "count"; classifications have ``classes``. ``offers`` are public
    facts beyond bounds that an estimator gets where its mechanism uses them. ``row_norm`` bounds the Euclidean norm of
    a row in the scaling that rivals try first. With ``resplit`` every seed has its own split, 75/25. ``adjacency``
    decides delta, too.
    """

    name: str
    collection: str
    task: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    bounds: tuple[Any, Any]
    classes: tuple[int, ...] | None = None
    y_bounds: tuple[float, float] | None = None
    groups: np.ndarray | None = None
    row_norm: float | None = None
    offers: dict[str, Any] = field(default_factory=dict)
    fit_intercept: bool = True
    resplit: bool = False
    adjacency: str = "replace-one"

    @property
    def regression(self) -> bool:
        return self.task == "regression"

    @property
    def wide(self) -> bool:
        return sp.issparse(self.X) and self.X.shape[1] > DENSE

    @property
    def text(self) -> bool:
        return self.wide and not self.fit_intercept

    @property
    def scalings(self) -> tuple[str, ...]:
        """What rivals try."""
        if self.wide:
            return ("uncentred",)
        return ("mixed",) if self.collection == PEOPLE else ("uncentred", "centred")

    @property
    def moved(self) -> int:
        """How many records' gradients tell neighbours apart."""
        return 1 if self.adjacency == "add-remove" else 2

    @property
    def shape(self) -> tuple[int, int]:
        """Records and features that a fit gets."""
        n_test = self._n_test() if self.resplit else 0
        return self.X.shape[0] - n_test, self.X.shape[1]

    @property
    def delta(self) -> float:
        return 1e-5 if self.adjacency == "add-remove" else float(self.shape[0]) ** -2

    def split(self, seed: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        """Return X, y, X_test, y_test."""
        if not self.resplit:
            return self.X, self.y, self.X_test, self.y_test
        order = np.random.default_rng(seed).permutation(len(self.y))
        test, train = order[: self._n_test()], order[self._n_test() :]
        return self.X[train], self.y[train], self.X[test], self.y[test]

    def _n_test(self) -> int:
        return len(self.y) // 4


def features(problem: Problem, X: Any, scaling: str, *, train: Any = None, intercept: bool = True) -> Any:
    """Return X in scaled units, float32, with a column of ones where the problem has an intercept.

    "centred": the bounds become [-1, 1]. "uncentred": x / max(|lower|, |upper|). "mixed": 0/1 columns stay, the others
    are centred. "quantiles": the 2 % and 98 % quantiles of ``train`` become [-1, 1] and what is outside is clipped,
    which nobody has paid for. Text stays as is, other wide matrices are never centred.
    """
    if problem.text:
        return sp.csr_matrix(X, dtype=np.float32)
    lower, upper = (np.asarray(bound, dtype=float) for bound in problem.bounds)
    largest = np.maximum(np.maximum(abs(lower), abs(upper)), 1e-12)
    if problem.wide:
        X = sp.csr_matrix(X @ sp.diags(1 / largest), dtype=np.float32)
        X.data = np.clip(X.data, -1, 1)
        ones = np.ones((X.shape[0], 1), dtype=np.float32)
        return sp.csr_matrix(sp.hstack([X, ones])) if intercept else X
    if scaling == "quantiles":
        low, high = np.quantile(train, [0.02, 0.98], axis=0)
        middle, half = (low + high) / 2, np.maximum(high - low, 0.02 * (upper - lower)) / 2
        lower, upper = middle - half, middle + half
    X = np.clip(X.toarray() if sp.issparse(X) else X, lower, upper)
    if scaling == "uncentred":
        X = X / largest
    else:
        centred = (2 * X - lower - upper) / np.where(upper > lower, upper - lower, 1)
        X = np.where((lower == 0) & (upper == 1), X, centred) if scaling == "mixed" else centred
    X = np.column_stack([X, np.ones(len(X))]) if intercept else X
    return np.ascontiguousarray(X, dtype=np.float32)


def row_bound(problem: Problem, scaling: str, *, intercept: bool = True) -> float:
    """Return a bound on the Euclidean norm of a row of ``features``."""
    known = problem.row_norm if scaling == problem.scalings[0] else None
    norm = known if known is not None else problem.shape[1] ** 0.5
    return float(np.hypot(norm, 1.0 if intercept and problem.fit_intercept else 0.0))


def targets(problem: Problem, y: np.ndarray) -> np.ndarray:
    """Return labels, or y with its bounds mapped to [-1, 1]."""
    if problem.y_bounds is None:
        return y.astype(np.float32)
    lower, upper = problem.y_bounds
    return ((2 * np.clip(y, lower, upper) - lower - upper) / (upper - lower)).astype(np.float32)
