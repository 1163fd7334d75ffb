"""Labels of classes as JSON: text, truth values, integers and floats, with their type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse.errors import InvalidTypeError, ModelFormatError

__all__ = ["read_labels", "write_labels"]

_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_FLOATS = ("float16", "float32", "float64")
#: What labels of each type are in JSON.
_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "str": (str,),
    "object": (str, bool, int, float),
    **dict.fromkeys(_INTEGERS, (int,)),
    **dict.fromkeys(_FLOATS, (float, int)),
}


def write_labels(labels: Any) -> dict[str, Any]:
    """Return labels as JSON has them, in their order.

    Raises
    ------
    InvalidTypeError
        For labels of another type, such as dates.
    """
    array = np.asarray(labels)
    name = "str" if array.dtype.kind == "U" else array.dtype.name
    values = array.tolist()
    if array.ndim != 1 or name not in _KINDS or not all(type(value) in _KINDS[name] for value in values):
        raise InvalidTypeError("classes must be text, truth values or numbers to be written as JSON")
    return {"dtype": name, "values": values}


def read_labels(written: Any) -> npt.NDArray[Any]:
    """Return the labels that :func:`write_labels` wrote.

    Raises
    ------
    ModelFormatError
        For anything else.
    """
    problem = "classes must be an object with dtype and values"
    if not isinstance(written, dict) or set(written) != {"dtype", "values"} or not isinstance(written["values"], list):
        raise ModelFormatError(problem)
    name, values = written["dtype"], written["values"]
    kinds = _KINDS.get(name) if isinstance(name, str) else None
    if kinds is None or not all(type(value) in kinds for value in values):
        raise ModelFormatError(f"{problem}, which agree")
    try:
        return np.array(values, dtype=name)
    except OverflowError:
        raise ModelFormatError(f"{problem}, which agree") from None
