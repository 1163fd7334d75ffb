"""Differentially private empirical risk minimisation with sparsity-inducing norms."""

from dpsparse._core import DpsparseError, InvalidArgumentError, InvalidDataError
from dpsparse.estimators import SparseClassifier, SparseRegressor

__all__ = ["DpsparseError", "InvalidArgumentError", "InvalidDataError", "SparseClassifier", "SparseRegressor"]
