"""What all linear estimators share: labels, decisions, predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from dpsparse._core import InvalidArgumentError, InvalidDataError


def encode_labels(y: Any, classes: Any = None) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Return the two labels and y as -1.0 (first label) and +1.0 (second)."""
    check_classification_targets(y)
    if classes is None:
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        labels = np.unique(y)
        if len(labels) > 2:
            raise InvalidDataError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(labels) < 2:
            raise InvalidDataError("y must hold two classes, got one class only; declare both with classes=(a, b)")
    else:
        labels = np.asarray(classes)
        if labels.shape != (2,) or labels[0] == labels[1]:
            raise InvalidArgumentError("classes must be two different labels")
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
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    @available_if(lambda self: getattr(self.loss, "name", self.loss) == "logistic")
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        p = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.column_stack([1 - p, p])


class LinearRegressorMixin(RegressorMixin):
    """Linear regressor."""

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        return _linear(self, X)
