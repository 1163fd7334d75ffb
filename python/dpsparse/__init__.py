"""Differentially private empirical risk minimisation with sparsity-inducing norms.

Private estimators: :class:`PrivateSparseClassifier`, :class:`PrivateSparseRegressor`. Exact ones, without privacy:
:class:`SparseClassifier`, :class:`SparseRegressor`. Structured norms: :mod:`dpsparse.set_functions`. Accounting and
noise: :mod:`dpsparse.privacy`. Data: :mod:`dpsparse.datasets`.
"""

from dpsparse import datasets, losses, mechanisms, polytopes, privacy, set_functions
from dpsparse._core import (
    BudgetExceededError,
    Certificate,
    DpsparseError,
    InvalidArgumentError,
    InvalidDataError,
    NotSubmodularError,
    Plan,
    RandomnessError,
    UnsoundMechanismError,
    UserLossError,
)
from dpsparse.estimators import PrivateSparseClassifier, PrivateSparseRegressor, SparseClassifier, SparseRegressor
from dpsparse.losses import CustomLoss, Hinge, Huber, Logistic, Squared
from dpsparse.mechanisms import (
    DualFrankWolfe,
    FrankWolfe,
    NoisyGradientFrankWolfe,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PenalisedFrankWolfe,
    SgdOutput,
)
from dpsparse.polytopes import DisjointGroups, Vertices

__all__ = [
    "BudgetExceededError",
    "Certificate",
    "CustomLoss",
    "DisjointGroups",
    "DpsparseError",
    "DualFrankWolfe",
    "FrankWolfe",
    "Hinge",
    "Huber",
    "InvalidArgumentError",
    "InvalidDataError",
    "Logistic",
    "NoisyGradientFrankWolfe",
    "NoisyProximalGradient",
    "NotSubmodularError",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "PenalisedFrankWolfe",
    "Plan",
    "PrivateSparseClassifier",
    "PrivateSparseRegressor",
    "RandomnessError",
    "SgdOutput",
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
    "set_functions",
]
