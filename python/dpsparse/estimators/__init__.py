"""Estimators that follow scikit-learn's conventions."""

from dpsparse.estimators.exact import SparseClassifier, SparseRegressor, path
from dpsparse.estimators.private import PrivateSparseClassifier, PrivateSparseRegressor

__all__ = ["PrivateSparseClassifier", "PrivateSparseRegressor", "SparseClassifier", "SparseRegressor", "path"]
