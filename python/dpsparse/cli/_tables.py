"""Tables that commands read: CSV by the standard library, Parquet by pyarrow or polars."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from dpsparse._core import InvalidDataError
from dpsparse.cli import _csv
from dpsparse.errors import MissingPackageError
from dpsparse.tables import Number, Schema
from dpsparse.tables._column import Column

__all__ = [
    "is_number",
    "is_parquet",
    "numbers_of",
    "parquet_library",
    "read_names",
    "read_schema",
    "read_skeleton",
    "read_table",
]

_PARQUET = (".parquet", ".pq")


class ParquetLibrary(Protocol):
    """What reads and writes Parquet."""

    def empty(self, path: str) -> Any:
        """Return a file's columns without any row."""

    def read(self, path: str, names: list[str]) -> Any:
        """Return some of the columns."""

    def write(self, columns: Mapping[str, Any], stream: Any) -> None:
        """Write columns."""


class _Pyarrow:
    def __init__(self) -> None:
        import pyarrow
        import pyarrow.parquet

        self._arrow, self._parquet = pyarrow, pyarrow.parquet

    def empty(self, path: str) -> Any:
        return self._parquet.read_schema(path).empty_table()

    def read(self, path: str, names: list[str]) -> Any:
        return self._parquet.read_table(path, columns=names)

    def write(self, columns: Mapping[str, Any], stream: Any) -> None:
        self._parquet.write_table(self._arrow.table(dict(columns)), stream)


class _Polars:
    def __init__(self) -> None:
        import polars

        self._polars = polars

    def empty(self, path: str) -> Any:
        return self._polars.DataFrame(schema=self._polars.read_parquet_schema(path))

    def read(self, path: str, names: list[str]) -> Any:
        return self._polars.read_parquet(path, columns=names)

    def write(self, columns: Mapping[str, Any], stream: Any) -> None:
        self._polars.DataFrame(dict(columns)).write_parquet(stream)


def parquet_library() -> ParquetLibrary:
    """Return pyarrow, or polars where that is installed alone.

    Raises
    ------
    MissingPackageError
        Where neither is.
    """
    for library in (_Pyarrow, _Polars):
        try:
            return library()
        except ImportError:
            continue
    raise MissingPackageError("Parquet needs pyarrow or polars: pip install pyarrow")


def is_parquet(path: str) -> bool:
    """Whether a path is that of a Parquet file."""
    return Path(path).suffix.lower() in _PARQUET


def read_table(path: str, numbers: Mapping[str, bool], missing: Collection[str] = ()) -> Any:
    """Read columns of a table.

    Parameters
    ----------
    path : str
        The file; "-" is CSV on the standard input.
    numbers : mapping of str to bool
        The columns, and whether a CSV file holds numbers there.
    missing : collection of str
        Text that stands for a missing number in CSV.

    Returns
    -------
    mapping or data frame
        As schemas encode it.

    Raises
    ------
    InvalidDataError
        For what is no such table. No message holds a value.
    MissingPackageError
        For Parquet without a package that reads it.
    """
    if not is_parquet(path):
        return _csv.read_csv(path, numbers, missing)
    _csv.check_columns(read_names(path), numbers)
    return _from_parquet("read", path, list(numbers))


def read_names(path: str) -> list[str]:
    """Return the names of a table's columns."""
    if not is_parquet(path):
        return _csv.read_names(path)
    empty = _from_parquet("empty", path)
    return list(getattr(empty, "column_names", None) or empty.columns)


def read_skeleton(path: str) -> Schema:
    """Return a schema to fill in: of Parquet by its types, of CSV by what the first rows seem to hold."""
    return Schema.skeleton(_from_parquet("empty", path) if is_parquet(path) else _csv.guessed_types(path))


def read_schema(path: str) -> Schema:
    """Read a schema from a file; text is no schema here, so that a wrong path is an error about a path."""
    return Schema.from_json(Path(path))


def is_number(column: Column) -> bool:
    """Whether cells of a column are numbers: by its kind, or by levels that are integers."""
    levels = getattr(column, "levels", None)
    return isinstance(column, Number) or bool(levels and not isinstance(levels[0], str))


def numbers_of(schema: Schema) -> dict[str, bool]:
    """Return the columns that a schema reads, and whether each is one of numbers."""
    return {name: is_number(column) for name, column in schema.columns.items()}


def _from_parquet(task: str, *arguments: Any) -> Any:
    """Ask the library; its errors come out as ours, as their text may hold a value."""
    library = parquet_library()
    try:
        return getattr(library, task)(*arguments)
    except OSError:
        raise
    except Exception:
        pass
    raise InvalidDataError("the table is no Parquet that can be read")
