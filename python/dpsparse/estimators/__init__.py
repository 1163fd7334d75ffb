"""Estimators that follow scikit-learn's conventions."""

from dpsparse.estimators.counts import PrivateSparsePoissonRegressor
from dpsparse.estimators.exact import SparseClassifier, SparseRegressor, path
from dpsparse.estimators.exact_counts import SparsePoissonRegressor
from dpsparse.estimators.private import PrivateSparseClassifier, PrivateSparseRegressor
from dpsparse.estimators.scaler import PrivateScaler
from dpsparse.estimators.search import PrivateSearchCV, SearchPlan
from dpsparse.estimators.simplex import PrivateSimplexClassifier, PrivateSimplexRegressor

__all__ = [
    "PrivateScaler",
    "PrivateSearchCV",
    "PrivateSimplexClassifier",
    "PrivateSimplexRegressor",
    "PrivateSparseClassifier",
    "PrivateSparsePoissonRegressor",
    "PrivateSparseRegressor",
    "SearchPlan",
    "SparseClassifier",
    "SparsePoissonRegressor",
    "SparseRegressor",
    "path",
]
