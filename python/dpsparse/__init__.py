"""Differentially private sparse linear models."""

from dpsparse._core import (
    BudgetExceededError, Certificate, DpsparseError, InvalidArgumentError, InvalidDataError, Plan, RandomnessError,
    UnsoundMechanismError, UserLossError,
)
from dpsparse.estimators.private import PrivateSparseClassifier, PrivateSparseRegressor
from dpsparse.losses import CustomLoss, Hinge, Huber, Logistic, Squared
from dpsparse.mechanisms import FrankWolfe, PenalisedFrankWolfe
from dpsparse.polytopes import DisjointGroups, Vertices
