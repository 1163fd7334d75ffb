"""Weights of records: who takes them, and what they may be."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import MethodType
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError, InvalidDataError
from dpsparse._validation import is_real
from dpsparse.errors import InvalidTypeError
from dpsparse.estimators._columns import check_weights
from dpsparse.estimators._whole import whole_or_nothing

__all__ = ["checked_weights", "takes_weights"]

Fit = TypeVar("Fit", bound=Callable[..., Any])

_UNDECLARED = (
    "sample_weight needs a public largest weight: declare it as max_weight, without looking at the weights. Larger "
    "ones are clipped to it, and noise grows with it"
)


def takes_weights(fit: Fit) -> Fit:
    """Let a method ``fit`` take ``sample_weight`` where its estimator's ``max_weight`` is declared.

    The signature of the method of an instance says whether it does, which is where scikit-learn looks
    (``has_fit_parameter``): without a largest weight there is no bound on what a record adds. The class has the whole
    signature, from which metadata routing is made.
    """
    return cast(Fit, _WeightedFit(fit))


class _WeightedFit:
    """Two functions of one name: bound to an instance they are methods like others, which pickle."""

    def __init__(self, fit: Callable[..., Any]) -> None:
        fit = whole_or_nothing(fit)

        @wraps(fit)
        def without_weights(self: Any, X: Any, y: Any, sample_weight: Any = None, **others: Any) -> Any:
            if sample_weight is not None:
                raise InvalidArgumentError(_UNDECLARED)
            return fit(self, X, y, **others)

        whole = signature(fit)
        fewer = [one for name, one in whole.parameters.items() if name != "sample_weight"]
        without_weights.__signature__ = whole.replace(parameters=fewer)  # type: ignore[attr-defined]
        self._weighted, self._without_weights = fit, without_weights
        self.__doc__ = fit.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., Any]:
        if instance is None:
            return self._weighted
        fit = self._weighted if instance._takes_weights() else self._without_weights
        return MethodType(fit, instance)


def checked_weights(sample_weight: Any, n_samples: int) -> npt.NDArray[np.float64]:
    """Return weights of records as an array of shape (n_samples,); one number is the weight of all of them.

    Signs and finiteness are checked where records are read.

    Raises
    ------
    InvalidDataError
        For another shape.
    InvalidTypeError
        For what is no number.
    """
    if is_real(sample_weight):
        return np.full(n_samples, float(sample_weight))
    weights = check_weights(sample_weight)
    try:
        with np.errstate(all="ignore"):  # as of X and y: numpy warns of a long double that no double is near
            array = None if np.asarray(weights).dtype.kind == "c" else np.asarray(weights, dtype=np.float64)
    except MemoryError:
        raise
    except Exception:  # whatever libraries raise
        array = None
    if array is None:  # outside the except clause: the original, which may show entries, is not chained
        raise InvalidTypeError("sample_weight must hold one number per record")
    if array.shape != (n_samples,):
        raise InvalidDataError("sample_weight must be one-dimensional, with one entry per record")
    return array
