"""Estimators that follow scikit-learn's conventions."""

from dpsparse.estimators.exact import SparseClassifier, SparseRegressor
from dpsparse.estimators.private import PrivateSparseClassifier, PrivateSparseRegressor

__all__ = ["PrivateSparseClassifier", "PrivateSparseRegressor", "SparseClassifier", "SparseRegressor"]
