"""What exact fits make of their norm: weights of features, positive coefficients, copies of columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsparse._core import CoreGroupLasso, CoreSetFunction, InvalidArgumentError
from dpsparse._weighted_l1 import check_options, checked_weights, weighted_l1
from dpsparse.norms import GroupLasso
from dpsparse.set_functions import SetFunction

__all__ = ["ExactNorm", "check_norm", "exact_norm"]

_NORMS = ("l1", "l21", "linf")


class ExactNorm(NamedTuple):
    """The norm of a fit as the core takes it."""

    #: None is the l1 norm.
    core: CoreSetFunction | CoreGroupLasso | None
    #: The feature of each column that the core sees; None: the columns of X as they are.
    copies: NDArray[np.intp] | None = None

    def columns(self, X: Any) -> Any:
        """Return the columns that the core fits."""
        return X if self.copies is None else X[:, self.copies]

    def shares(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return coefficients of the columns that add up to those of the features."""
        if self.copies is None:
            return theta
        return np.asarray((theta / np.bincount(self.copies, minlength=theta.size))[self.copies])

    def merged(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients of the features from those of the columns."""
        return theta if self.copies is None else np.asarray(np.bincount(self.copies, weights=theta), dtype=np.float64)


def check_norm(norm: Any, weights: Any, positive: Any, ridge: float) -> None:
    """Refuse, before any data, what is no norm of an exact fit or does not go with the other parameters.

    Raises
    ------
    InvalidArgumentError
        Which names the parameter.
    """
    named = isinstance(norm, str) and norm in _NORMS
    if not (named or isinstance(norm, SetFunction | GroupLasso)):
        raise InvalidArgumentError(
            f"norm must be one of {', '.join(_NORMS)}, a set function or GroupLasso(...); got {norm!r}"
        )
    check_options(weights, positive, l1=named and norm != "linf", group_lasso=isinstance(norm, GroupLasso))
    if weights is not None:
        checked_weights(weights)
    if isinstance(norm, GroupLasso) and norm.overlaps and ridge > 0.0:
        raise InvalidArgumentError(
            "ridge must be 0 where the groups of a GroupLasso overlap: exact fits copy the features of each group, and "
            "the squared norm of a sum of copies is no sum over the copies"
        )


def exact_norm(norm: Any, weights: Any, positive: bool, n_features: int) -> ExactNorm:
    """Return what the core takes for checked parameters and a number of features.

    Raises
    ------
    InvalidArgumentError
        For weights of another number of features.
    """
    if isinstance(norm, GroupLasso):
        if norm.n_features != n_features:
            raise InvalidArgumentError(f"norm is on {norm.n_features} features, but X has {n_features}")
        if norm.overlaps:
            return ExactNorm(*norm._on_copies(positive=positive))
        return ExactNorm(norm._core_with(positive=positive))
    if isinstance(norm, SetFunction):
        return ExactNorm(norm._core)
    if norm == "linf":
        return ExactNorm(CoreSetFunction("group_cover", [list(range(n_features))], None, n_features))
    # "l1", and "l21", which is the same for one coefficient a feature.
    return ExactNorm(weighted_l1(weights, positive, n_features))
