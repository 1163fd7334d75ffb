"""Values that JSON has a form for, and why others have none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpsparse._validation import is_real, is_whole

__all__ = ["OWN_FUNCTION", "Omitted", "plain", "scalar"]

#: Why the most common ones have none.
OWN_FUNCTION = "a function of the user's own, which JSON has no form for; predictions do not need it"


class Omitted(Exception):
    """Why a parameter is left out."""


def plain(value: Any) -> Any:
    """Return a plain value as Python's own type.

    Raises
    ------
    Omitted
        For anything else.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if is_whole(value):
        return int(value)
    if is_real(value) and math.isfinite(value):
        return float(value)
    raise Omitted(f"a {type(value).__name__}, which JSON has no form for")


def scalar(value: Any) -> Any:
    """Return what was read as a plain value, and refuse lists and objects."""
    if isinstance(value, list | dict):
        raise TypeError("not a plain value")
    return value
