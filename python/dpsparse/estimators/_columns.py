"""Records and targets that are no numbers: dates, text, categories, masks. Errors name a column and hold no value.

scikit-learn would read dates as numbers of nanoseconds and text as the numbers that it spells, and drop masks.
"""

from __future__ import annotations

import datetime
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsparse._arrow import as_table
from dpsparse._core import InvalidDataError
from dpsparse.errors import InvalidTypeError
from dpsparse.estimators._sklearn_checks import without_values

__all__ = ["check_columns", "check_target", "check_weights", "of_objects"]

_DATES = "dates or time spans: turn them into numbers first, such as days since a public date"
_TEXT = "text: turn it into numbers first, and categories into 0/1 columns by public levels"
_CATEGORIES = "categories: turn them into 0/1 columns by public levels first"
_OTHER = "something other than numbers"

_DATE_TYPES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
#: Of a name that goes into a message.
_LONGEST_NAME = 60


def check_columns(X: Any) -> Any:
    """Refuse records that are no numbers, before scikit-learn converts them; what else is wrong is left to it.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame
        Records of a fit or of a prediction.

    Returns
    -------
    array-like, sparse matrix or data frame
        X; a list of lists comes back as an array, a masked array without its mask, where nothing is masked, a batch of
        arrow as a table of it, whose names scikit-learn knows.

    Raises
    ------
    InvalidTypeError
        For columns of dates, time spans, text or categories, for lazy frames, mappings, iterators, matrices and None.
    InvalidDataError
        For masked entries, for columns of one name, for a single column that is no table and for a table of none.
    """
    if sp.issparse(X):
        return X
    if X is None:
        raise InvalidTypeError("X is None: it must be a two-dimensional array of numbers, or a table of them")
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise InvalidTypeError("X is a lazy frame, which holds no records yet: call its collect() first")
    if hasattr(X, "to_frame") and len(getattr(X, "shape", ())) == 1:
        raise InvalidDataError("X is a single column: it must be a table; X.to_frame() is one of one feature")
    if isinstance(X, Mapping):
        raise InvalidTypeError("X is a mapping and no table of real numbers: make a data frame of it")
    if callable(X) or isinstance(X, Iterator):
        raise InvalidTypeError("X is a function or an iterator: dpsparse.blocks takes records block by block")
    X = as_table(X)
    if isinstance(X, np.matrix):
        raise InvalidTypeError("X is a numpy matrix, whose products are others than those of arrays: use np.asarray(X)")
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        _check_frame(X)
        return X
    if type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "column_names"):
        _check_arrow(X)
    X = _plain("X", X)
    # Tables without types of numpy's, such as those of arrow, keep their names: scikit-learn reads these from X.
    array = without_values(lambda: np.asarray(X)) if hasattr(X, "__array__") else X
    if isinstance(array, np.ndarray):
        _refuse("X", _wrong_dtype(array.dtype))
        if array.dtype.kind == "O" and array.ndim == 2:
            for k, column in enumerate(array.T):
                _refuse(f"column {k} of X", _wrong_entries(column))
    return X


def check_target(y: Any, *, numbers: bool) -> Any:
    """Refuse targets that scikit-learn would convert in silence, as :func:`check_columns` does for records.

    Parameters
    ----------
    y : array-like
        Targets or labels.
    numbers : bool
        Whether they must be numbers (regression); labels may be of any type, but not masked.

    Returns
    -------
    array-like
        y; a list comes back as an array where it must be numbers, labels of pandas and arrow as arrays of numpy's own
        types: scikit-learn would make floats of their truth values and integers.

    Raises
    ------
    InvalidTypeError
        For dates, time spans, text or categories in place of numbers.
    InvalidDataError
        For masked entries, and for labels that are missing.
    """
    if not numbers:
        y = _unmasked("y", y)
        column = _only_column(y)
        labels = y if column is None else column
        if _has_missing(labels):
            raise InvalidDataError("y holds missing labels: leave out their records")
        labels = without_values(lambda: _plain_labels(labels))
        if column is None:
            return labels
        return without_values(lambda: np.asarray(labels))[:, None]  # scikit-learn warns of what is no vector
    return _check_numbers("y", "the target y", y)


def check_weights(sample_weight: Any) -> Any:
    """Refuse weights that are no numbers, as :func:`check_target` does for the targets of a regression.

    Parameters
    ----------
    sample_weight : array-like
        Weights of records.

    Returns
    -------
    array-like
        The weights; a list comes back as an array.

    Raises
    ------
    InvalidTypeError
        For dates, time spans, text or categories in place of numbers.
    InvalidDataError
        For masked entries.
    """
    return _check_numbers("sample_weight", "sample_weight", sample_weight)


def of_objects(what: str, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return an array of Python objects, such as decimals, as the numbers that they are.

    Raises
    ------
    InvalidDataError
        For other objects (``InvalidTypeError``), and for numbers that no float is near; the text holds no value.
    """
    _refuse(what, _wrong_entries(values.ravel()))
    try:
        with np.errstate(all="ignore"):  # numpy warns of a long double that no double is near
            return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidTypeError(f"{what} holds {_OTHER}")  # outside the except clause: nothing is chained


def _check_numbers(name: str, what: str, values: Any) -> Any:
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        for k, dtype in enumerate(values.dtypes):
            _refuse(what, _wrong_column(values, k, dtype))
        return values
    values = _plain(name, values)
    for column in _arrow_columns(values):
        _check_numbers(name, what, without_values(functools.partial(np.asarray, column)))
    dtype = getattr(values, "dtype", None)
    if dtype is not None:
        wrong = _wrong_dtype(dtype)
        if wrong is None and _holds_objects(dtype):
            wrong = without_values(lambda: _wrong_entries(np.ravel(values)))
        _refuse(what, wrong)
    return values


def _arrow_columns(values: Any) -> list[Any]:
    """Columns of arrow, which have types of its own and none of numpy's; none of all else."""
    if type(values).__module__.partition(".")[0] != "pyarrow":
        return []
    return list(values.columns) if hasattr(values, "column_names") else [values]


def _check_frame(X: Any) -> None:
    names = list(X.columns)
    if not names:
        raise InvalidDataError("X has no columns")
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InvalidDataError(f"X has several columns of the name {_shown(twice)}: names must differ")
    for k, (name, dtype) in enumerate(zip(names, X.dtypes, strict=True)):
        _refuse(f"column {_shown(name)} of X", _wrong_column(X, k, dtype))


def _check_arrow(X: Any) -> None:
    """Refuse dates beside numbers in a table of arrow, which numpy has no common type for."""
    for k, name in enumerate(X.column_names):
        _refuse(f"column {_shown(name)} of X", _wrong_dtype(np.asarray(X.column(k).slice(0, 0)).dtype))


def _wrong_column(frame: Any, k: int, dtype: Any) -> str | None:
    """What is wrong with column k of a pandas or polars frame."""
    wrong = _wrong_dtype(dtype)
    if wrong is None and _holds_objects(dtype) and hasattr(frame, "iloc"):
        wrong = without_values(lambda: _wrong_entries(frame.iloc[:, k]))
    return wrong


def _wrong_dtype(dtype: Any) -> str | None:
    """What is wrong with a numpy, pandas or polars type; None for numbers, and for objects, which are looked at."""
    name = str(dtype).lower()
    if name.startswith(("category", "categorical", "enum")):
        return _CATEGORIES
    if hasattr(dtype, "is_temporal"):  # polars
        if dtype.is_temporal():
            return _DATES
        if name.startswith("string"):
            return _TEXT
        return None if dtype.is_numeric() or name in ("boolean", "null") else _OTHER
    kind = getattr(dtype, "kind", "O")
    if kind in "mM" or name.startswith("period"):
        return _DATES
    return _TEXT if kind in "UST" or name.startswith("str") else None


def _holds_objects(dtype: Any) -> bool:
    return getattr(dtype, "kind", "") == "O"


def _wrong_entries(entries: Iterable[Any]) -> str | None:
    """What is wrong with a column of Python objects; other objects are left to scikit-learn, which refuses them."""
    kinds = set(map(type, entries))
    if any(issubclass(kind, _DATE_TYPES) for kind in kinds):
        return _DATES
    return _TEXT if any(issubclass(kind, str | bytes) for kind in kinds) else None


def _only_column(y: Any) -> Any:
    """Return the column of a data frame, or of a table of arrow, that has one; None of all else."""
    if len(getattr(y, "shape", ())) != 2 or y.shape[1] != 1:
        return None
    if hasattr(y, "iloc"):
        return y.iloc[:, 0]
    if hasattr(y, "column_names"):
        return y.column(0)
    return y.to_series() if hasattr(y, "to_series") else None


def _plain_labels(y: Any) -> Any:
    """Return labels, none of them missing, as an array of numpy's type for them, where pandas or arrow has its own."""
    dtype = getattr(y, "dtype", None)
    categories: Any = getattr(dtype, "categories", None)
    codes = getattr(getattr(y, "cat", y), "codes", None)
    if codes is not None and hasattr(categories, "to_series"):  # pandas': as what the categories are
        return np.asarray(_plain_labels(categories.to_series()))[np.asarray(codes)]
    numpy_dtype = getattr(dtype, "numpy_dtype", None)
    if isinstance(numpy_dtype, np.dtype) and numpy_dtype.kind in "biuf" and hasattr(y, "to_numpy"):
        return y.to_numpy(dtype=numpy_dtype)
    return y


def _has_missing(labels: Any) -> bool:
    """Whether labels that may be objects hold None, pandas' NA or NaN."""
    if isinstance(getattr(labels, "null_count", None), int):  # arrow's
        return bool(labels.null_count > 0)
    dtype = getattr(labels, "dtype", None)
    if hasattr(labels, "isna") and getattr(dtype, "kind", "f") != "f":  # scikit-learn says that floats hold NaN
        return bool(np.any(without_values(labels.isna)))  # decimals that signal do so here, too
    if not isinstance(labels, Sequence) and getattr(dtype, "kind", "O") != "O":
        return False
    kinds = set(map(type, labels)) if isinstance(labels, Iterable) and not sp.issparse(labels) else set()
    if any(kind.__name__ in ("NoneType", "NAType") for kind in kinds):
        return True
    return float in kinds and any(isinstance(label, float) and math.isnan(label) for label in labels)


def _refuse(what: str, wrong: str | None) -> None:
    if wrong is not None:
        raise InvalidTypeError(f"{what} holds {wrong}")


def _plain(name: str, values: Any) -> Any:
    """Return lists as arrays, and masked arrays as plain ones; ragged lists as they are, for scikit-learn to refuse."""
    values = _unmasked(name, values)
    if not isinstance(values, list | tuple):
        return values
    for row in values:
        _unmasked(name, row)
    try:
        array: npt.NDArray[Any] = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        return values
    return array


def _unmasked(name: str, values: Any) -> Any:
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if np.ma.is_masked(values):
        raise InvalidDataError(f"{name} has masked entries: fill them by a public rule, or leave out their records")
    return values.data


def _shown(name: Any) -> str:
    text = repr(name)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "..."
