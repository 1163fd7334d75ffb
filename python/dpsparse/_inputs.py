"""Checks of counts, index lists and arrays, which the Rust core takes by their types: errors that name the entry."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import is_whole

__all__ = ["count", "float_array", "float_list", "index_list", "index_lists", "index_pairs"]

#: Features and groups are numbered in 32 bits.
LARGEST_COUNT = 2**32 - 2


def count(name: str, value: Any) -> int:
    """Return a count of at least 1."""
    if not is_whole(value):
        raise InvalidArgumentError(f"{name} must be an integer, got {type(value).__name__}")
    if not 1 <= value <= LARGEST_COUNT:
        raise InvalidArgumentError(f"{name} must lie between 1 and 2**32 - 2, got {value}")
    return int(value)


def _array(name: str, values: Any, kind: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise InvalidArgumentError(f"{name} must be {kind}") from error


def float_array(name: str, values: Any, ndim: int = 1) -> npt.NDArray[np.float64]:
    """Return numbers as a contiguous float64 array of ``ndim`` dimensions; the core checks that they are finite."""
    kind = f"a {ndim}-dimensional array of numbers"
    array = _array(name, values, kind)
    if array.ndim != ndim:
        raise InvalidArgumentError(f"{name} must be {kind}; it has {array.ndim} dimensions")
    if array.dtype.kind not in "iuf":
        raise InvalidArgumentError(f"{name} must be {kind}, got {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def float_list(name: str, values: Any) -> list[float]:
    """Return numbers as a list of floats."""
    listed: list[float] = float_array(name, values).tolist()
    return listed


def index_list(name: str, entries: Any, *, mask_length: int | None = None) -> list[int]:
    """Return a sequence of non-negative integers as a list; the core checks them against the number of features.

    With ``mask_length``, a boolean sequence of that length means the indices where it is true.
    """
    kind = "a sequence of integers" + ("" if mask_length is None else " or a boolean array")
    array = _array(name, entries, kind)
    if array.ndim != 1:
        raise InvalidArgumentError(f"{name} must be {kind}, got {type(entries).__name__}")
    listed: list[int]
    if array.dtype.kind == "b":
        if mask_length is None:
            raise InvalidArgumentError(f"{name} must be {kind}, got booleans")
        if array.size != mask_length:
            raise InvalidArgumentError(
                f"{name}, a boolean array, must have {mask_length} entries, one per feature; got {array.size}"
            )
        listed = np.flatnonzero(array).tolist()
        return listed
    if array.size == 0:
        return []
    if array.dtype.kind not in "iu" or not isinstance(entries, np.ndarray):
        # numpy would take [True, 2] for integers
        for k, entry in enumerate(array if isinstance(entries, np.ndarray) else entries):
            if not is_whole(entry):
                raise InvalidArgumentError(f"{name} must be {kind}; entry {k} is of type {type(entry).__name__}")
            if entry > LARGEST_COUNT:
                raise InvalidArgumentError(f"{name} must hold integers below 2**32 - 1; entry {k} is {entry}")
    negative = np.flatnonzero(array < 0)
    if negative.size:
        k = int(negative[0])
        raise InvalidArgumentError(f"{name} must hold non-negative integers; entry {k} is {array[k]}")
    listed = array.tolist()
    return listed


def index_lists(name: str, lists: Any, of_what: str) -> list[list[int]]:
    """Return lists of indices; errors name the number of the list, called ``of_what``."""
    if isinstance(lists, str | bytes | set | frozenset | dict):
        raise InvalidArgumentError(f"{name} must be a sequence of lists of integers, got {type(lists).__name__}")
    try:
        entries = list(lists)
    except TypeError as error:
        raise InvalidArgumentError(f"{name} must be a sequence of lists of integers") from error
    return [index_list(f"{name}: {of_what} {k}", entry) for k, entry in enumerate(entries)]


def index_pairs(name: str, pairs: Any, of_what: str, problem: str, entries: str) -> npt.NDArray[np.int64]:
    """Return pairs of indices as an array of shape (n_pairs, 2); errors are those of :func:`index_lists`.

    A pair of another length has a ``problem``: its number of ``entries``.
    """
    listed = pairs if isinstance(pairs, np.ndarray | list | tuple) else index_lists(name, pairs, of_what)
    fast = _integer_pairs(listed)
    if fast is not None:
        return fast
    # One entry after the other, to name the first that is wrong.
    lists = index_lists(name, listed, of_what)
    for k, pair in enumerate(lists):
        if len(pair) != 2:
            raise InvalidArgumentError(f"{name} {problem}; {of_what} {k} has {len(pair)} {entries}")
    return np.array(lists, dtype=np.int64).reshape(-1, 2)


def _integer_pairs(pairs: npt.NDArray[Any] | list[Any] | tuple[Any, ...]) -> npt.NDArray[np.int64] | None:
    """Return a copy of what is certainly an array or a list of pairs of indices, else None."""
    if isinstance(pairs, np.ndarray):
        if pairs.dtype.kind not in "iu" or pairs.ndim != 2 or pairs.shape[1] != 2:
            return None
        array = pairs
    else:
        kinds = set(map(type, pairs))
        if not kinds <= {list, tuple} or set(map(len, pairs)) != {2}:
            return None
        if set(map(type, chain.from_iterable(pairs))) != {int}:
            return None
        try:
            array = np.fromiter(chain.from_iterable(pairs), np.int64, 2 * len(pairs)).reshape(-1, 2)
        except OverflowError:
            return None
    if array.size and (array.min() < 0 or array.max() > LARGEST_COUNT):
        return None
    return np.array(array, dtype=np.int64, order="C")
