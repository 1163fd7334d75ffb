"""The l1 norm with a weight for each feature, and with coefficients that are not negative, as the core takes it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsparse._core import CoreGroupLasso, CoreSetFunction, InvalidArgumentError
from dpsparse._inputs import float_array

__all__ = ["check_options", "checked_weights", "weighted_l1"]


def check_options(weights: Any, positive: Any, *, l1: bool, group_lasso: bool, instead: str = "") -> None:
    """Refuse ``positive`` that is neither True nor False, and options that do not go with the norm.

    ``l1`` and ``group_lasso`` say which norm it is, ``instead`` what has no need of ``positive``.
    """
    if not isinstance(positive, bool | np.bool_):
        raise InvalidArgumentError(f"positive must be True or False; got {positive!r}")
    if positive and not (l1 or group_lasso):
        raise InvalidArgumentError(
            f'positive=True is for norm="l1" and GroupLasso(...), whose prox keeps signs apart{instead}'
        )
    if weights is not None and not l1:
        raise InvalidArgumentError(
            'feature_weights is for norm="l1"; a GroupLasso has weights of its own, and so have set functions'
        )


def checked_weights(weights: Any) -> NDArray[np.float64]:
    """Return weights of features that are finite and not negative, some of them positive.

    Raises
    ------
    InvalidArgumentError
        For others.
    """
    numbers = float_array("feature_weights", weights)
    if not (np.isfinite(numbers).all() and (numbers >= 0.0).all() and (numbers > 0.0).any()):
        raise InvalidArgumentError("feature_weights must be finite and not negative, and not all 0")
    return numbers


def weighted_l1(weights: Any, positive: bool, n_features: int) -> CoreSetFunction | CoreGroupLasso | None:
    """Return the norm; None: the l1 norm as it is. Weights of None are 1 each.

    Raises
    ------
    InvalidArgumentError
        For weights that are not one per feature, and those that :func:`checked_weights` refuses.
    """
    if weights is None and not positive:
        return None
    numbers = np.ones(n_features) if weights is None else checked_weights(weights)
    if numbers.size != n_features:
        raise InvalidArgumentError(
            f"feature_weights must hold {n_features} numbers, one per feature; got {numbers.size}"
        )
    if not positive and (numbers > 0.0).all():
        return CoreSetFunction("modular", numbers.tolist())
    return CoreGroupLasso([[j] for j in range(n_features)], numbers.tolist(), 0.0, bool(positive))
