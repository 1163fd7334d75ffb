"""Differentially private empirical risk minimisation with sparsity-inducing norms.

Private estimators: :class:`PrivateSparseClassifier`, :class:`PrivateSparseRegressor`, and for counts
:class:`PrivateSparsePoissonRegressor`; over the probability simplex :class:`PrivateSimplexClassifier`,
:class:`PrivateSimplexRegressor` and, online, :class:`PrivateOnlineSimplex`. Exact ones, without privacy:
:class:`SparseClassifier`, :class:`SparseRegressor`, :class:`SparsePoissonRegressor`, :func:`path`. Hyper-parameter
search that is paid for: :class:`PrivateSearchCV`. Ranges of features: :class:`PrivateScaler`. Structured norms:
:mod:`dpsparse.set_functions`. Accounting and noise: :mod:`dpsparse.privacy`. Predictions: :mod:`dpsparse.theory`.
Public schemas of data frames: :mod:`dpsparse.tables`. Records in blocks: :mod:`dpsparse.blocks`, and on several
machines: :mod:`dpsparse.distributed`. Checks for your own parts: :mod:`dpsparse.testing`. Data:
:mod:`dpsparse.datasets`. Results in words and drawn: :mod:`dpsparse.words`, :mod:`dpsparse.displays`. Models as files:
:mod:`dpsparse.models`. Sets that serve many people: :mod:`dpsparse.combinatorial`.

What needs scikit-learn, scipy or narwhals is imported when it is first asked for, so that ``import dpsparse`` is quick.
"""

from typing import TYPE_CHECKING

from dpsparse import losses, mechanisms
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
from dpsparse._lazy import late_names
from dpsparse.errors import (
    DefaultBoundsWarning,
    InvalidTypeError,
    LedgerError,
    MissingFileError,
    MissingPackageError,
    ModelFormatError,
    SecretStateError,
    UnknownLevelError,
)
from dpsparse.losses import *
from dpsparse.mechanisms import *
from dpsparse.words.attach import attach as _attach

if TYPE_CHECKING:
    from dpsparse import (
        blocks,
        combinatorial,
        datasets,
        displays,
        distributed,
        models,
        norms,
        polytopes,
        privacy,
        set_functions,
        tables,
        testing,
        theory,
        words,
    )
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
    from dpsparse.online import PrivateOnlineSimplex
    from dpsparse.polytopes import DisjointGroups, Vertices
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "DisjointGroups": "dpsparse.polytopes",
            "PrivateOnlineSimplex": "dpsparse.online",
            "PrivateScaler": "dpsparse.estimators",
            "PrivateSearchCV": "dpsparse.estimators",
            "PrivateSimplexClassifier": "dpsparse.estimators",
            "PrivateSimplexRegressor": "dpsparse.estimators",
            "PrivateSparseClassifier": "dpsparse.estimators",
            "PrivateSparsePoissonRegressor": "dpsparse.estimators",
            "PrivateSparseRegressor": "dpsparse.estimators",
            "SearchPlan": "dpsparse.estimators",
            "SparseClassifier": "dpsparse.estimators",
            "SparsePoissonRegressor": "dpsparse.estimators",
            "SparseRegressor": "dpsparse.estimators",
            "Vertices": "dpsparse.polytopes",
            "path": "dpsparse.estimators",
        },
        submodules={
            "blocks",
            "combinatorial",
            "datasets",
            "displays",
            "distributed",
            "estimators",
            "models",
            "norms",
            "online",
            "polytopes",
            "privacy",
            "set_functions",
            "tables",
            "testing",
            "theory",
        },
    )

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
    "MissingFileError",
    "MissingPackageError",
    "ModelFormatError",
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
    "combinatorial",
    "datasets",
    "displays",
    "distributed",
    "losses",
    "mechanisms",
    "models",
    "norms",
    "path",
    "polytopes",
    "privacy",
    "set_functions",
    "tables",
    "testing",
    "theory",
    "words",
]
__all__ += losses.__all__
__all__ += mechanisms.__all__

__version__ = "0.1.0"

_attach()
