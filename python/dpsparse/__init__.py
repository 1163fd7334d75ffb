"""Differentially private empirical risk minimisation with sparsity-inducing norms.

Private estimators: :class:`PrivateSparseClassifier`, :class:`PrivateSparseRegressor`, and for counts
:class:`PrivateSparsePoissonRegressor`; over the probability simplex :class:`PrivateSimplexClassifier`,
:class:`PrivateSimplexRegressor` and, online, :class:`PrivateOnlineSimplex`. Exact ones, without privacy:
:class:`SparseClassifier`, :class:`SparseRegressor`, :class:`SparsePoissonRegressor`, :func:`path`. Hyper-parameter
search that is paid for: :class:`PrivateSearchCV`. Ranges of features: :class:`PrivateScaler`. Structured norms:
:mod:`dpsparse.set_functions`. Accounting and noise: :mod:`dpsparse.privacy`. Predictions: :mod:`dpsparse.theory`.
Public schemas of data frames: :mod:`dpsparse.tables`. Checks for your own parts: :mod:`dpsparse.testing`. Data:
:mod:`dpsparse.datasets`. Results in words and drawn: :mod:`dpsparse.words`, :mod:`dpsparse.displays`. Models as files,
signed where that matters: :mod:`dpsparse.models`.
"""

from typing import TYPE_CHECKING

from dpsparse.words.attach import attach as _attach

if TYPE_CHECKING:
    from dpsparse._public import *
    from dpsparse._public import __all__ as __all__

    # Type checkers take names on from one module at a time.
    from dpsparse.losses import *
    from dpsparse.mechanisms import *
else:
    # Names come at their first use: `dpsparse --help` need not wait for scikit-learn.

    def __getattr__(name):
        from importlib import import_module
        from importlib.util import find_spec

        if name != "__all__":
            if name.startswith("_"):
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            if find_spec(f"{__name__}.{name}") is not None:
                return import_module(f"{__name__}.{name}")
        public = import_module(f"{__name__}._public")
        if name != "__all__" and name not in public.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals().update({each: getattr(public, each) for each in public.__all__}, __all__=public.__all__)
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *__getattr__("__all__")})


_attach()
