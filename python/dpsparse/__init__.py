"""Differentially private empirical risk minimisation with sparsity-inducing norms.

Private estimators: :class:`PrivateSparseClassifier`, :class:`PrivateSparseRegressor`; over the probability simplex
:class:`PrivateSimplexClassifier`, :class:`PrivateSimplexRegressor` and, online, :class:`PrivateOnlineSimplex`. Exact
ones, without privacy: :class:`SparseClassifier`, :class:`SparseRegressor`. Accounting and noise:
:mod:`dpsparse.privacy`. Data: :mod:`dpsparse.datasets`.
"""

from dpsparse import datasets, losses, mechanisms, polytopes, privacy
from dpsparse._core import (
    BudgetExceededError,
    Certificate,
    DpsparseError,
    InvalidArgumentError,
    InvalidDataError,
    Plan,
    RandomnessError,
    UnsoundMechanismError,
    UserLossError,
)
from dpsparse.estimators import (
    PrivateSimplexClassifier,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    SparseClassifier,
    SparseRegressor,
)
from dpsparse.losses import CustomLoss, Hinge, Huber, Logistic, Squared
from dpsparse.mechanisms import FrankWolfe, PenalisedFrankWolfe
from dpsparse.online import PrivateOnlineSimplex
from dpsparse.polytopes import DisjointGroups, Vertices

__all__ = [
    "BudgetExceededError",
    "Certificate",
    "CustomLoss",
    "DisjointGroups",
    "DpsparseError",
    "FrankWolfe",
    "Hinge",
    "Huber",
    "InvalidArgumentError",
    "InvalidDataError",
    "Logistic",
    "PenalisedFrankWolfe",
    "Plan",
    "PrivateOnlineSimplex",
    "PrivateSimplexClassifier",
    "PrivateSimplexRegressor",
    "PrivateSparseClassifier",
    "PrivateSparseRegressor",
    "RandomnessError",
    "SparseClassifier",
    "SparseRegressor",
    "Squared",
    "UnsoundMechanismError",
    "UserLossError",
    "Vertices",
    "datasets",
    "losses",
    "mechanisms",
    "polytopes",
    "privacy",
]
