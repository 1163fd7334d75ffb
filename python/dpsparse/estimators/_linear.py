"""What all linear estimators share: labels, decisions, predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from dpsparse._core import InvalidArgumentError, InvalidDataError

Checked = TypeVar("Checked")


class _InvalidTypeError(InvalidDataError, TypeError):
    """Unusable records of a wrong type."""


# scikit-learn's texts that state shapes and types only. Others show entries of X or y.
_WITHOUT_VALUES = (
    "Found array with",
    "Found input variables",
    "y should be a 1d array",
    "This Private",
    "Sparse data was passed",
    "Input y contains",
    "Unknown label type",
    "float() argument must be",
    "Feature names are only",
)


def without_values(check: Callable[[], Checked]) -> Checked:
    """Run one of scikit-learn's checks; its errors come out as ours, without the entries of X or y that some show.

    Raises
    ------
    InvalidDataError
        Where the check raised, with nothing chained to it (MECHANISMS M13).
    """
    try:
        with np.errstate(all="ignore"):
            return check()
    except (TypeError, ValueError, OverflowError) as error:
        text = str(error).partition("\n")[0]
        kind = _InvalidTypeError if isinstance(error, TypeError) else InvalidDataError
    if text.startswith("Complex data"):
        text = "Complex data not supported: X and y must be real"
    elif text.startswith("Expected 2D array"):
        text = "X must be two-dimensional. Reshape your data: X.reshape(-1, 1) for one feature, (1, -1) for one record"
    elif not text.startswith(_WITHOUT_VALUES):
        text = "X must be a two-dimensional array of numbers, and y must hold one target per record"
    raise kind(text)  # outside the except clause: the original, which may show entries, is not chained


def encode_labels(y: Any, classes: Any = None) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Return the two labels and y as -1.0 (first label) and +1.0 (second)."""
    if classes is None:
        without_values(lambda: check_classification_targets(y))
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        labels = np.unique(y)
        if len(labels) > 2:
            raise InvalidDataError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(labels) < 2:
            raise InvalidDataError("y must hold two classes, got one class only; declare both with classes=(a, b)")
    else:
        # No look at y beyond the public labels: scikit-learn warns about targets that do not look like classes.
        problem = "classes must be two different labels"
        try:
            labels = np.asarray(classes)
        except ValueError as error:
            raise InvalidArgumentError(problem) from error
        if labels.shape != (2,) or labels[0] == labels[1]:
            raise InvalidArgumentError(problem)
        if not np.isin(y, labels).all():
            raise InvalidDataError("y holds a label that is not among classes")
    return labels, np.where(np.asarray(y) == labels[1], 1.0, -1.0)


def _linear(estimator: Any, X: Any) -> npt.NDArray[np.float64]:
    check_is_fitted(estimator)
    X = validate_data(estimator, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=False)
    scores: npt.NDArray[np.float64] = np.ravel(safe_sparse_dot(X, estimator.coef_.T, dense_output=True))
    return scores + estimator.intercept_


class LinearClassifierMixin(ClassifierMixin):
    """Binary linear classifier."""

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        return _linear(self, X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        positive = self.decision_function(X) > 0  # first: it raises NotFittedError
        return self.classes_[positive.astype(int)]

    @available_if(lambda self: getattr(self.loss, "name", self.loss) == "logistic")
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        p = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.column_stack([1 - p, p])


class LinearRegressorMixin(RegressorMixin):
    """Linear regressor."""

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        return _linear(self, X)
