"""Schemas to fill in, from the names and types of columns alone. No value is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from dpsparse._arrow import as_table
from dpsparse.errors import InvalidTypeError
from dpsparse.tables._column import Column
from dpsparse.tables._values import Table
from dpsparse.tables.boolean import Boolean
from dpsparse.tables.category import Category
from dpsparse.tables.date import Date
from dpsparse.tables.number import Number

__all__ = ["columns_of"]


def columns_of(frame: Any) -> dict[str, Column]:
    """Return a column to fill in for each column of a table.

    Raises
    ------
    InvalidTypeError
        For what is no table, for names that are no text, and for types that no kind of column takes.
    """
    Table(frame)  # refuses what is no table
    columns = {}
    for name, kind in _kinds(frame).items():
        if not isinstance(name, str) or kind is None:
            raise InvalidTypeError(f"column {name!r} of X is of a type that no column of a schema takes")
        columns[name] = kind()
    return columns


def _kinds(frame: Any) -> dict[Any, type[Column] | None]:
    if isinstance(frame, Mapping):
        return {name: _of_dtype(getattr(column, "dtype", None)) for name, column in frame.items()}
    if isinstance(frame, np.ndarray):
        return {name: _of_dtype(frame.dtype[name]) for name in frame.dtype.names or ()}
    if hasattr(frame, "iloc"):
        # narwhals would look at objects to tell what they are.
        objects = {name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if dtype == np.dtype(object)}
    else:
        objects = set()
    table = nw.from_native(as_table(frame), eager_only=True)
    return {name: Category if name in objects else _of_narwhals(table[name].dtype) for name in table.columns}


def _of_narwhals(dtype: Any) -> type[Column] | None:
    if dtype.is_numeric():
        return Number
    if dtype == nw.Boolean:
        return Boolean
    if dtype in (nw.Date, nw.Datetime):
        return Date
    return Category if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown) else None


def _of_dtype(dtype: Any) -> type[Column] | None:
    """Return the kind of an array's column; lists have no type and are taken for text."""
    if not isinstance(dtype, np.dtype):
        return Category
    letters: tuple[tuple[str, type[Column]], ...] = (("iuf", Number), ("b", Boolean), ("M", Date), ("UTO", Category))
    return next((kind for kinds, kind in letters if dtype.kind in kinds), None)
