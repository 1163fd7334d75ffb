"""Estimators that follow scikit-learn's conventions."""

from dpsparse.estimators.exact import SparseClassifier, SparseRegressor

__all__ = ["SparseClassifier", "SparseRegressor"]
