"""Differentially private empirical risk minimisation with sparsity-inducing norms.

Private estimators: :class:`PrivateSparseClassifier`, :class:`PrivateSparseRegressor`, and for counts
:class:`PrivateSparsePoissonRegressor`; over the probability simplex :class:`PrivateSimplexClassifier`,
:class:`PrivateSimplexRegressor` and, online, :class:`PrivateOnlineSimplex`. Exact ones, without privacy:
:class:`SparseClassifier`, :class:`SparseRegressor`, :class:`SparsePoissonRegressor`, :func:`path`. Hyper-parameter
search that is paid for: :class:`PrivateSearchCV`. Ranges of features: :class:`PrivateScaler`. Structured norms:
:mod:`dpsparse.set_functions`. Accounting and noise: :mod:`dpsparse.privacy`. Predictions: :mod:`dpsparse.theory`.
Public schemas of data frames: :mod:`dpsparse.tables`. Checks for your own parts: :mod:`dpsparse.testing`. Data:
:mod:`dpsparse.datasets`. Results in words and drawn: :mod:`dpsparse.words`, :mod:`dpsparse.displays`.
"""

from dpsparse import (
    blocks,
    datasets,
    displays,
    distributed,
    losses,
    mechanisms,
    polytopes,
    privacy,
    set_functions,
    theory,
    words,
)
from dpsparse._core import (
    BudgetExceededError,
    Certificate,
    CheckpointError,
    DpsparseError,
    InvalidArgumentError,
    InvalidDataError,
    NotSubmodularError,
    Plan,
    RandomnessError,
    ScalerPlan,
    StorageError,
    TooLargeError,
    UnsoundMechanismError,
    UserLossError,
    WorkersError,
)
from dpsparse.errors import DefaultBoundsWarning, InvalidTypeError, LedgerError, SecretStateError, UnknownLevelError
from dpsparse.estimators import (
    PrivateScaler,
    PrivateSearchCV,
    PrivateSimplexClassifier,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SearchPlan,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
    path,
)
from dpsparse.losses import *
from dpsparse.mechanisms import *
from dpsparse.online import PrivateOnlineSimplex
from dpsparse.polytopes import DisjointGroups, Vertices
from dpsparse.words.attach import attach as _attach

__all__ = [
    "BudgetExceededError",
    "Certificate",
    "CheckpointError",
    "DefaultBoundsWarning",
    "DisjointGroups",
    "DpsparseError",
    "InvalidArgumentError",
    "InvalidDataError",
    "InvalidTypeError",
    "LedgerError",
    "NotSubmodularError",
    "Plan",
    "PrivateOnlineSimplex",
    "PrivateScaler",
    "PrivateSearchCV",
    "PrivateSimplexClassifier",
    "PrivateSimplexRegressor",
    "PrivateSparseClassifier",
    "PrivateSparsePoissonRegressor",
    "PrivateSparseRegressor",
    "RandomnessError",
    "ScalerPlan",
    "SearchPlan",
    "SecretStateError",
    "SparseClassifier",
    "SparsePoissonRegressor",
    "SparseRegressor",
    "StorageError",
    "TooLargeError",
    "UnknownLevelError",
    "UnsoundMechanismError",
    "UserLossError",
    "Vertices",
    "WorkersError",
    "blocks",
    "datasets",
    "displays",
    "distributed",
    "losses",
    "mechanisms",
    "path",
    "polytopes",
    "privacy",
    "set_functions",
    "theory",
    "words",
]
__all__ += losses.__all__
__all__ += mechanisms.__all__

_attach()
