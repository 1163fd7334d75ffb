"""Public bounds of features and targets, in the forms that users write them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import pair
from dpsparse.errors import DefaultBoundsWarning

__all__ = ["bound_arrays", "count_bounds", "names_for", "target_bounds", "warn_of_default_bounds"]

#: What ``bounds=None`` and ``y_bounds=None`` mean.
_DEFAULT = (-1.0, 1.0)
_FORMS = (
    "bounds must be a pair (lower, upper) of numbers or of arrays with one entry per feature, an array or a data frame "
    "of shape (n_features, 2), or a mapping or a series of column names to pairs"
)
_EITHER = (
    "bounds of shape (2, 2) as nested sequences could be (lowers, uppers) or one pair per feature: write "
    "np.array([[low, high], [low, high]]) for one row per feature, or (np.array(lowers), np.array(uppers))"
)

_Sides = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def bound_arrays(bounds: Any, names: Sequence[str] | None = None) -> _Sides:
    """Return the lower and the upper bounds of the features.

    Parameters
    ----------
    bounds : None, pair, array, mapping, series or data frame
        None: (-1, 1). A pair of numbers or of arrays with one entry per feature, an array of shape (n_features, 2), or
        a mapping of column names to pairs, which pandas objects with a named index are too: see :func:`named`.
    names : sequence of str, optional
        Names of the columns, in their order, for a mapping. None: the mapping's own order, for plans.

    Returns
    -------
    lower, upper : ndarray
        One entry per feature, or one for all.

    Raises
    ------
    InvalidArgumentError
        For anything else, for names that are not the mapping's, and where two readings are possible: a nested sequence
        of shape (2, 2). The core checks lengths, order and finiteness.
    """
    bounds = _DEFAULT if bounds is None else named(bounds)
    if isinstance(bounds, Mapping):
        return _by_names(bounds, names)
    if isinstance(bounds, str | bytes | set | frozenset):
        raise InvalidArgumentError(_FORMS)
    try:
        if isinstance(bounds, np.ndarray):
            rows_are_features = bounds.ndim == 2 and bounds.shape[1] == 2
        else:
            bounds = list(bounds)
            shape: tuple[int, ...] = () if _uneven(bounds) else np.shape(bounds)
            if shape == (2, 2) and not all(hasattr(side, "__array__") for side in bounds):
                raise InvalidArgumentError(_EITHER)
            rows_are_features = len(shape) == 2 and shape[1] == 2 and shape[0] != 2
        lower, upper = _floats(bounds).T if rows_are_features else (np.atleast_1d(_floats(side)) for side in bounds)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(_FORMS) from error
    if lower.ndim != 1 or upper.ndim != 1:
        raise InvalidArgumentError(_FORMS)
    return np.ascontiguousarray(lower), np.ascontiguousarray(upper)


def named(bounds: Any) -> Any:
    """Return bounds that pandas objects name by their index as a mapping, unnamed ones as arrays, others as they are.

    A series of pairs, a data frame of two columns with one row per feature, and a pair of series.
    """
    if _is_frame(bounds):
        if bounds.shape[1] != 2:
            raise InvalidArgumentError(_FORMS)
        pairs, index = bounds.to_numpy(), bounds.index
    elif _is_series(bounds):
        pairs, index = bounds.tolist(), bounds.index
    elif isinstance(bounds, list | tuple) and len(bounds) == 2 and all(map(_is_series, bounds)):
        lower, upper = bounds
        if not lower.index.equals(upper.index):
            raise InvalidArgumentError("bounds as two series must have one index: the names of the columns")
        pairs, index = list(zip(lower, upper, strict=True)), lower.index
    else:
        return bounds
    if index.inferred_type == "integer":
        return np.asarray(pairs)
    if not index.is_unique:
        raise InvalidArgumentError("bounds must name every column once")
    return dict(zip(index, map(tuple, pairs), strict=True))


def _is_series(value: Any) -> bool:
    return hasattr(value, "index") and hasattr(value, "iloc") and not hasattr(value, "columns")


def _is_frame(value: Any) -> bool:
    return hasattr(value, "index") and hasattr(value, "iloc") and hasattr(value, "columns")


def _uneven(bounds: list[Any]) -> bool:
    """Whether the entries differ in shape, as of a number for all features and an array."""
    return len({np.shape(side) for side in bounds}) > 1


def _floats(values: Any) -> npt.NDArray[np.float64]:
    array = np.asarray(values)
    if array.dtype.kind not in "iufO":
        raise TypeError("not numbers")
    return array.astype(np.float64)


def _by_names(bounds: Mapping[Any, Any], names: Sequence[str] | None) -> _Sides:
    order = list(bounds) if names is None else list(names)
    missing = [name for name in order if name not in bounds]
    unknown = [name for name in bounds if name not in set(order)]
    if missing or unknown:
        which = f"misses column {missing[0]!r}" if missing else f"names {unknown[0]!r}, which is no column of X"
        raise InvalidArgumentError(f"bounds must name every column of X and nothing else; it {which}")
    pairs = np.array([pair(f"bounds[{name!r}]", bounds[name]) for name in order], dtype=np.float64).reshape(-1, 2)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def names_for(estimator: Any) -> Sequence[str] | None:
    """Return the names that ``bounds`` go by in a fit: those of the columns where it is a mapping, else None.

    Raises
    ------
    InvalidArgumentError
        Where it is a mapping and the columns have no names.
    """
    if not isinstance(named(estimator.bounds), Mapping):
        return None
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise InvalidArgumentError(
            "bounds by column names need column names that are text: fit on a data frame that has such (of pandas: "
            "X.rename(columns=str)), or give arrays"
        )
    listed: list[str] = list(names)
    return listed


def target_bounds(y_bounds: Any) -> tuple[float, float]:
    """Return the bounds of the target; None means (-1, 1)."""
    return pair("y_bounds", _DEFAULT if y_bounds is None else y_bounds)


def count_bounds(y_bounds: Any) -> tuple[float, float]:
    """Return the bounds of counts; None means (0, 1). The core checks that they are not negative."""
    return pair("y_bounds", (0.0, 1.0) if y_bounds is None else y_bounds)


def warn_of_default_bounds(estimator: Any, targets: str = "[-1, 1]") -> None:
    """Warn where ``bounds`` or ``y_bounds`` is None, whatever the data are: nothing may tell later what was clipped.

    The warning points to the first caller outside this package.
    """
    for name, what, default in (("bounds", "features", "[-1, 1]"), ("y_bounds", "targets", targets)):
        stated_by_schema = name == "bounds" and getattr(estimator, "schema", None) is not None
        if getattr(estimator, name, "") is None and not stated_by_schema:
            warnings.warn(
                f"{name} is None: {what} are taken to lie in {default}, and clipped to it in silence; state their "
                f"public bounds, {name}=({default[1:-1]}) if these are they",
                DefaultBoundsWarning,
                stacklevel=_level_outside(),
            )


def _level_outside() -> int:
    """Return the ``stacklevel`` with which the caller of this warns at the first line outside this package."""
    # The caller itself is level 1, and one frame up from here.
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "dpsparse":
        frame, level = frame.f_back, level + 1
    return level
