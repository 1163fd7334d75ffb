"""Differentially private empirical risk minimisation with sparsity-inducing norms.

Private estimators: :class:`PrivateSparseClassifier`, :class:`PrivateSparseRegressor`, and for counts
:class:`PrivateSparsePoissonRegressor`; over the probability simplex :class:`PrivateSimplexClassifier`,
:class:`PrivateSimplexRegressor` and, online, :class:`PrivateOnlineSimplex`. Exact ones, without privacy:
:class:`SparseClassifier`, :class:`SparseRegressor`, :class:`SparsePoissonRegressor`, :func:`path`. Hyper-parameter
search that is paid for: :class:`PrivateSearchCV`. Ranges of features: :class:`PrivateScaler`. Structured norms:
:mod:`dpsparse.set_functions`. Accounting and noise: :mod:`dpsparse.privacy`. Predictions: :mod:`dpsparse.theory`.
Public schemas of data frames: :mod:`dpsparse.tables`. Records in blocks: :mod:`dpsparse.blocks`, and on several
machines: :mod:`dpsparse.distributed`. Checks for your own parts: :mod:`dpsparse.testing`. Data:
:mod:`dpsparse.datasets`. Results in words and drawn: :mod:`dpsparse.words`, :mod:`dpsparse.displays`.

What needs scikit-learn, scipy or narwhals is imported when it is first asked for, so that ``import dpsparse`` is quick.
"""

from importlib import import_module
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
from dpsparse.errors import DefaultBoundsWarning, InvalidTypeError, LedgerError, SecretStateError, UnknownLevelError
from dpsparse.losses import *
from dpsparse.mechanisms import *
from dpsparse.words.attach import attach as _attach

if TYPE_CHECKING:  # what _LAZY and _LAZY_MODULES import at run time
    from dpsparse import (
        blocks,
        datasets,
        displays,
        distributed,
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
    "tables",
    "testing",
    "theory",
    "words",
]
__all__ += losses.__all__
__all__ += mechanisms.__all__

__version__ = "0.1.0"

#: Modules that hold the names which are imported when they are first asked for.
_LAZY = {
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
}
#: Modules that are attributes of the package without an import of their own.
_LAZY_MODULES = {
    "blocks",
    "datasets",
    "displays",
    "distributed",
    "estimators",
    "online",
    "polytopes",
    "privacy",
    "set_functions",
    "tables",
    "testing",
    "theory",
}

if not TYPE_CHECKING:  # type checkers would take any name for one of the package

    def __getattr__(name):
        if name in _LAZY_MODULES:
            return import_module(f"{__name__}.{name}")
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_LAZY[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_MODULES})


_attach()
