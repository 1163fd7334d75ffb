"""Estimators that follow scikit-learn's conventions."""

from dpsparse.estimators.exact import SparseClassifier, SparseRegressor, path
from dpsparse.estimators.private import PrivateSparseClassifier, PrivateSparseRegressor
from dpsparse.estimators.simplex import PrivateSimplexClassifier, PrivateSimplexRegressor

__all__ = [
    "PrivateSimplexClassifier",
    "PrivateSimplexRegressor",
    "PrivateSparseClassifier",
    "PrivateSparseRegressor",
    "SparseClassifier",
    "SparseRegressor",
    "path",
]
