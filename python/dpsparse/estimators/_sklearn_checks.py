"""scikit-learn's checks of records, with errors of ours that hold no data value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError

from dpsparse._core import DpsparseError, InvalidDataError
from dpsparse.errors import InvalidTypeError

__all__ = ["scored", "without_values"]

Checked = TypeVar("Checked")

# scikit-learn's texts that state shapes and types only. Others show entries of X or y.
_WITHOUT_VALUES = (
    "Found array with",
    "Found input variables",
    "y should be a 1d array",
    "Sparse data was passed",
    "Input y contains",
    "Unknown label type",
    "float() argument must be",
    "Feature names are only",
    "Input X contains",
    "X has ",
)
#: The same, which begins with the name of the estimator's class: a user's own, of any name, may derive from ours.
_OF_CLASS = re.compile(r"This \w+ (estimator requires y to be passed|instance is not fitted)")
#: The same, of several lines: names of columns.
_NAMES = "The feature names should match"
#: Our own errors hold no entry, as of records on other machines; warnings are errors where users have it so.
_PASSED_ON = (DpsparseError, MemoryError, Warning)


def scored(score: Callable[[], float]) -> float:
    """Return one of scikit-learn's scores; its errors come out as ours, without the entries that some show.

    Raises
    ------
    InvalidDataError
        For targets or weights that the score does not take, with nothing chained to it.
    """
    try:
        return float(score())
    except (*_PASSED_ON, NotFittedError):
        raise
    except Exception:  # whatever libraries raise: arrow's errors show a cell, and are of its own kinds
        pass
    raise InvalidDataError(
        "y must hold one target per record of X, of the kind that the model predicts, and sample_weight be None or one "
        "number per record, not all of them 0"
    )


def without_values(check: Callable[[], Checked]) -> Checked:
    """Run a check or conversion of a library; its errors come out as ours, without the entries that some show.

    Raises
    ------
    InvalidDataError
        Where the check raised, with nothing chained to it, as the original may show entries.
    """
    try:
        with np.errstate(all="ignore"):
            return check()
    except _PASSED_ON:
        raise
    except Exception as error:  # whatever libraries raise: arrow's errors show a cell, and are of its own kinds
        text = str(error).partition("\n")[0]
        if text.startswith(_NAMES):
            text = str(error).rstrip()
        kind = InvalidTypeError if isinstance(error, TypeError) else InvalidDataError
    if text.startswith("Complex data"):
        text = "Complex data not supported: X and y must be real"
    elif text.startswith("Expected 2D array"):
        text = "X must be two-dimensional. Reshape your data: X.reshape(-1, 1) for one feature, (1, -1) for one record"
    elif not (text.startswith((*_WITHOUT_VALUES, _NAMES)) or _OF_CLASS.match(text)):
        text = "X must be a two-dimensional array of numbers, and y must hold one target per record"
    raise kind(text)  # outside the except clause: the original, which may show entries, is not chained
