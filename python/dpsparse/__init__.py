"""Differentially private empirical risk minimisation with sparsity-inducing norms."""

from dpsparse._core import (
    BudgetExceededError,
    DpsparseError,
    InvalidArgumentError,
    InvalidDataError,
    NotConvergedError,
    RandomnessError,
    UnsoundMechanismError,
    UserLossError,
)

__all__ = [
    "BudgetExceededError",
    "DpsparseError",
    "InvalidArgumentError",
    "InvalidDataError",
    "NotConvergedError",
    "RandomnessError",
    "UnsoundMechanismError",
    "UserLossError",
]
