"""Checks of scalar parameters: typed errors that name the argument."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from dpsparse._core import InvalidArgumentError

#: Neighbour relations.
ADJACENCIES = ("replace-one", "add-remove")
#: Least and largest row norm; features beyond sqrt(n_features) are never that long.
ROW_NORMS = (1e-6, 1e8)


def is_real(value: Any) -> bool:
    """Whether it is a number, not a truth value, and not a span of time, which numpy counts among its integers."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def is_whole(value: Any) -> bool:
    """Whether it is of a type of integers, not a truth value, and not a span of time."""
    return isinstance(value, numbers.Integral) and is_real(value)


def number(name: str, value: Any) -> float:
    if is_real(value):
        try:
            return float(value)
        except OverflowError as error:
            raise InvalidArgumentError(f"{name} must be finite") from error
    raise InvalidArgumentError(f"{name} must be a number, got {type(value).__name__}")


def optional_number(name: str, value: Any) -> float | None:
    return None if value is None else number(name, value)


def optional_positive(name: str, value: Any) -> float | None:
    if value is not None and not 0.0 < number(name, value) < math.inf:
        raise InvalidArgumentError(f"{name} must be positive and finite")
    return optional_number(name, value)


def row_bound(value: Any) -> float | None:
    """Return the bound on the norm of a scaled row: a scale on which noise is drawn exactly whatever else is asked."""
    row_norm = optional_number("row_norm", value)
    low, high = ROW_NORMS
    if row_norm is not None and math.isfinite(row_norm) and row_norm > 0.0 and not low <= row_norm <= high:
        raise InvalidArgumentError(
            f"row_norm must lie between {low:g} and {high:g}: it bounds rows of features that are scaled to [-1, 1]"
        )
    return row_norm


def optional_finite(name: str, value: Any) -> float | None:
    if value is not None and not math.isfinite(number(name, value)):
        raise InvalidArgumentError(f"{name} must be finite")
    return optional_number(name, value)


def positive_integer(name: str, value: Any) -> int:
    if not is_whole(value) or int(value) < 1:
        raise InvalidArgumentError(f"{name} must be a positive integer")
    if int(value) >= 2**62:
        raise InvalidArgumentError(f"{name} is too large: it must be below 2**62")
    return int(value)


def flag(name: str, value: Any) -> bool:
    if (isinstance(value, bool | np.bool_) or is_whole(value)) and value in (0, 1):
        return bool(value)
    raise InvalidArgumentError(f"{name} must be True or False")


def choice(name: str, value: Any, options: Sequence[str]) -> str:
    if isinstance(value, str) and value in options:
        return value
    *others, last = map(repr, options)
    raise InvalidArgumentError(f"{name} must be {', '.join(others)} or {last}")


def verbosity(value: Any) -> int:
    """Return how much a fit is to tell."""
    if (isinstance(value, bool | np.bool_) or is_whole(value)) and int(value) >= 0:
        return int(value)
    raise InvalidArgumentError("verbose must be True, False or an integer that is not negative")


def random_generator(random_state: Any) -> np.random.Generator:
    """Return the source of random points of a check: of an integer, or the generator itself."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            "random_state must be an integer that is not negative, or a numpy.random.Generator"
        ) from error


def pair(name: str, value: Any) -> tuple[float, float]:
    problem = f"{name} must be a pair (lower, upper) of numbers"
    if isinstance(value, str | bytes | Set | Mapping):  # text is no numbers, and sets have no first entry
        raise InvalidArgumentError(f"{problem}, got {type(value).__name__}")
    try:
        low, high = value
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(problem) from error
    return number(name, low), number(name, high)


def texts(name: str, values: Any, wanted: str = "a sequence of text") -> tuple[str, ...]:
    """Return texts as a tuple; one text is not taken for its letters."""
    listed = tuple(values) if np.iterable(values) and not isinstance(values, str | bytes) else (None,)
    if not all(isinstance(text, str) for text in listed):
        raise InvalidArgumentError(f"{name} must be {wanted}")
    return listed
