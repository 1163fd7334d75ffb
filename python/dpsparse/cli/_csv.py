"""CSV files, read by the schema and never by their contents: columns of numbers as floats, all others as text.

No type is guessed and no word is taken for a missing value but those that the schema lists: a row means the same
whatever the other rows are, and whatever packages are installed. No message holds a value.
"""

from __future__ import annotations

import csv
import errno
import io
import math
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidDataError
from dpsparse.errors import InvalidTypeError

__all__ = ["STDIN", "check_columns", "guessed_types", "read_csv", "read_names"]

#: The path that means the standard input.
STDIN = "-"
#: Rows that are held as text at a time.
_ROWS = 20_000
#: Rows that types are guessed by.
_LOOKED_AT = 1000
_TRUTH = frozenset(("true", "false"))


def read_names(path: str) -> list[str]:
    """Return the names of the columns: the first line."""
    with _rows(path) as (names, _):
        return names


def read_csv(path: str, numbers: Mapping[str, bool], missing: Collection[str]) -> dict[str, Any]:
    """Read columns of a file.

    Parameters
    ----------
    path : str
        The file; "-" is the standard input.
    numbers : mapping of str to bool
        The columns to read, and whether each is one of numbers; it is one of text otherwise.
    missing : collection of str
        Text that stands for a missing number.

    Returns
    -------
    dict
        float64 arrays, NaN where a number is missing, and lists of text.

    Raises
    ------
    InvalidDataError
        For what is no CSV with these columns; ``InvalidTypeError`` for text in a column of numbers.
    OSError
        Where the file cannot be read.
    """
    with _rows(path) as (names, rows):
        check_columns(names, numbers)
        places = {name: names.index(name) for name in numbers}
        arrays: dict[str, list[npt.NDArray[np.float64]]] = {
            name: [] for name, is_number in numbers.items() if is_number
        }
        texts: dict[str, list[str]] = {name: [] for name, is_number in numbers.items() if not is_number}
        once: dict[str, str] = {}  # equal cells are one object
        while block := list(islice(rows, _ROWS)):
            for name, parts in arrays.items():
                parts.append(_floats(name, [row[places[name]] for row in block], missing))
            for name, cells in texts.items():
                cells.extend(once.setdefault(row[places[name]], row[places[name]]) for row in block)
    read: dict[str, Any] = {name: np.concatenate([np.zeros(0), *parts]) for name, parts in arrays.items()}
    return {name: (read | texts)[name] for name in numbers}


def check_columns(names: Collection[str], wanted: Collection[str]) -> None:
    """Refuse a table without some of the columns that are to be read.

    Raises
    ------
    InvalidDataError
        Which names the first one; not those that are there, as the first line of a table without names is a record.
    """
    absent = [name for name in wanted if name not in names]
    if absent:
        raise InvalidDataError(
            f"the table has no column {absent[0]!r}, which the schema, the model or --target names: its first line "
            "must name the columns, spelled alike, and of CSV with commas between them"
        )


def guessed_types(path: str) -> dict[str, npt.NDArray[Any]]:
    """Return an empty array of the type that each column seems to have, by the first thousand rows."""
    with _rows(path) as (names, rows):
        columns = list(zip(*islice(rows, _LOOKED_AT), strict=True)) or [()] * len(names)
    return {name: np.empty(0, dtype=_guess(set(cells) - {""})) for name, cells in zip(names, columns, strict=True)}


@contextmanager
def _rows(path: str) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """Yield the names of the columns and the rows below them; errors of reading come out as ours."""
    try:
        with _opened(path) as stream:
            rows = csv.reader(stream, strict=True)
            names = next(rows, None)
            if not names:
                raise InvalidDataError("the table is empty: its first line must name the columns")
            if len(set(names)) < len(names):
                raise InvalidDataError("the table has several columns of one name")
            yield names, _whole(rows, len(names))
    except UnicodeDecodeError:
        # the original shows a byte
        raise InvalidDataError("the table is no text in UTF-8: save it as such, spreadsheets as CSV UTF-8") from None
    except csv.Error:
        problem = "the table is no CSV: commas between cells, double quotes around those that hold commas"
        raise InvalidDataError(problem) from None


@contextmanager
def _opened(path: str) -> Iterator[TextIO]:
    if path == STDIN:
        if sys.stdin is None:
            raise OSError(errno.EBADF, "the standard input is closed")
        stream = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
        try:
            yield stream
        finally:
            stream.detach()
        return
    with open(path, encoding="utf-8-sig", newline="") as stream:
        yield stream


def _whole(rows: Iterator[list[str]], width: int) -> Iterator[list[str]]:
    """Yield the rows that are no empty lines, each of as many cells as there are names."""
    for row in rows:
        if len(row) == width:
            yield row
        elif row:
            raise InvalidDataError(
                "a row of the table has another number of cells than its first line: commas stand between cells, and "
                "double quotes around those that hold one"
            )


def _floats(name: str, cells: list[str], missing: Collection[str]) -> npt.NDArray[np.float64]:
    try:
        return np.array([math.nan if cell in missing else float(cell) for cell in cells], dtype=np.float64)
    except ValueError:
        pass
    raise InvalidTypeError(
        f"column {name!r} of the table must hold numbers, by what the schema or the options say of it"
    )  # not chained: the original shows the cell


def _guess(cells: set[str]) -> str:
    """Return the code of numpy's type for numbers, truth values, dates or text."""
    if cells and {cell.lower() for cell in cells} <= _TRUTH:
        return "?"
    for code, read in (("f8", float), ("M8[s]", datetime.fromisoformat)):
        if cells and _all_read(read, cells):
            return code
    return "U1"


def _all_read(read: Any, cells: set[str]) -> bool:
    try:
        for cell in cells:
            read(cell)
    except ValueError:
        return False
    return True
