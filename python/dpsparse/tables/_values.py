"""Tables of any library as plain values: one path for pandas, polars, pyarrow, mappings and structured arrays.

No message holds a value, and none is chained to an error that may.
"""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from dpsparse._arrow import as_table
from dpsparse._core import InvalidDataError
from dpsparse.errors import InvalidTypeError

__all__ = ["NUMBERS", "Labels", "Table", "Values"]

_Result = TypeVar("_Result")

_NOT_A_TABLE = (
    "X must be a data frame of pandas or polars, a table of pyarrow, a mapping of column names to sequences, or a "
    "structured array of numpy, since the schema finds columns by their names"
)
#: Types of numbers, truth values among them.
NUMBERS = (bool, np.bool_, numbers.Real, np.number, Decimal)
_MISSING_TYPES = ("NAType", "NaTType")
#: How many of a unit of time a second has.
_FINER = {"ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}
#: More than any zone is ahead of another one, and years whose times all libraries know.
_DAYS, _YEAR_2, _YEAR_9998 = np.timedelta64(2, "D"), np.datetime64("0002", "s"), np.datetime64("9998", "s")
#: Years from 1970 that no public range reaches, and whose seconds an integer of 64 bits holds.
_FAR = 10**9


class Table:
    """The columns of a table by name.

    Parameters
    ----------
    frame : data frame, pyarrow table, mapping or structured array
        The table.
    missing_values : sequence of str
        Text that stands for a missing value.

    Raises
    ------
    InvalidTypeError
        For anything else, lazy frames above all.
    InvalidDataError
        For columns of several lengths, or of one name.
    """

    def __init__(self, frame: Any, missing_values: Sequence[str] = ()) -> None:
        self._missing = frozenset(missing_values)
        self._get: Callable[[str], Any]
        if isinstance(frame, Mapping):
            self.names: list[Any] = list(frame)
            read = {name: _sequence(name, column) for name, column in frame.items()}
            self._get = read.__getitem__
            lengths = {len(column) for column in read.values()}
            if len(lengths) > 1:
                raise InvalidDataError("the columns of X have several lengths")
            self.n_rows = lengths.pop() if lengths else 0
            return
        if isinstance(frame, np.ndarray):
            if frame.dtype.names is None or frame.ndim != 1 or isinstance(frame, np.ma.MaskedArray):
                raise InvalidTypeError(_NOT_A_TABLE)
            self.names, self.n_rows = list(frame.dtype.names), len(frame)
            self._get = lambda name: frame[name]
            return
        if hasattr(frame, "collect") and not hasattr(frame, "shape"):
            raise InvalidTypeError("X is a lazy frame, which holds no records yet: call its collect() first")
        frame = as_table(frame)
        native = getattr(frame, "columns", None)
        if native is not None and hasattr(frame, "iloc") and len(set(native)) < len(native):
            raise InvalidDataError("X has several columns of one name: names must differ")
        table = _quietly(lambda: nw.from_native(frame, eager_only=True))
        if table is None:
            raise InvalidTypeError(_NOT_A_TABLE)
        self.names, self.n_rows = list(table.columns), len(table)
        self._get = lambda name: table[name]

    def __getitem__(self, name: str) -> Values:
        if name not in self.names:
            raise InvalidDataError(f"X has no column {name!r}, which the schema names")
        return Values(name, self._get(name), self._missing)


class Labels(NamedTuple):
    """The different cells of a column, None where they are missing, and which of them each cell is."""

    different: list[Any]
    which: npt.NDArray[np.intp]


class Values:
    """The cells of one column."""

    def __init__(self, name: str, data: Any, missing: frozenset[str] = frozenset()) -> None:
        self.name = name
        self._data = data
        self._missing = missing

    def rows(self, start: int, stop: int) -> Values:
        """Return the cells of some rows."""
        return Values(self.name, self._data[start:stop], self._missing)

    def wrong(self, wanted: str) -> InvalidTypeError:
        """Return the error for a column of another type."""
        return InvalidTypeError(f"column {self.name!r} of X must hold {wanted}")

    def refuse_missing(self) -> InvalidDataError:
        """Return the error for missing values that the schema does not allow."""
        return InvalidDataError(
            f"column {self.name!r} of X has missing values, and the schema says missing='error': state 'flag' or "
            "'level' there, or leave out their records by a public rule"
        )

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the cells as floats, NaN where they are missing.

        Raises
        ------
        InvalidTypeError
            For text, dates and objects.
        """
        array = self._array()
        if array is not None and array.dtype.kind in "iufb":
            with np.errstate(all="ignore"):  # numpy warns of a long double that no double is near
                return array.astype(np.float64)
        floats = [_float(entry) for entry in self._entries()]
        if any(value is None for value in floats):
            raise self.wrong("numbers")
        return np.array(floats, dtype=np.float64)

    def labels(self, kinds: tuple[type, ...] | None, wanted: str, never: tuple[type, ...] = ()) -> Labels:
        """Return the different cells, and which one each cell is.

        Parameters
        ----------
        kinds : tuple of type, optional
            Types of cells that are not missing. None: any that hash.
        wanted : str
            What these are called in an error.
        never : tuple of type
            Types that are refused although they derive from some of the others, as truth values do from integers.

        Raises
        ------
        InvalidTypeError
            For cells of another type.
        """
        entries = self._entries()
        numbers: dict[Any, int] = {}
        which = _numbered(entries, numbers)
        if which is None:  # decimals that signal are missing, but have no hash: one of them would refuse all cells
            entries = [None if _absent(entry) else entry for entry in entries]
            numbers.clear()
            which = _numbered(entries, numbers)
        if which is None:
            raise self.wrong(wanted)
        different = [None if self._is_missing(entry) else entry for entry in numbers]
        if kinds is not None:
            # Of every cell: one of another type may be equal to one that came before it, as 2.0 is to 2.
            others = {kind for kind in set(map(type, entries)) if not _is_kind(kind, kinds) or issubclass(kind, never)}
            if others and any(type(entry) in others and not self._is_missing(entry) for entry in entries):
                raise self.wrong(wanted)
        return Labels(different, which)

    def times(self) -> npt.NDArray[np.datetime64]:
        """Return the cells as times of the clock on the wall, in seconds, NaT where they are missing.

        Text is read as ISO 8601. Time zones are left out: an hour is that of the column's own zone.

        Raises
        ------
        InvalidTypeError
            For numbers and objects.
        InvalidDataError
            For text that is no date.
        """
        array = self._array()
        if array is not None and array.dtype.kind == "M":
            return _seconds(array)
        return np.array([self._time(entry) for entry in self._entries()], dtype="datetime64[s]")

    def _array(self) -> npt.NDArray[Any] | None:
        """Return the cells as a numpy array without a copy of each; None where that takes a look at objects."""
        if isinstance(self._data, np.ndarray):
            return self._data
        if isinstance(self._data, nw.Series):
            series = self._data
            native = nw.to_native(series)
            # Of pandas, where narwhals knows some zones alone.
            if getattr(getattr(native, "dtype", None), "tz", None) is not None:
                return _quietly(lambda: _on_the_wall(native.dt.tz_convert("UTC").dt.tz_localize(None), native))
            if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None:
                utc = _quietly(lambda: series.dt.convert_time_zone("UTC").dt.replace_time_zone(None))
                return _quietly(lambda: _on_the_wall(utc, series))
            if series.dtype == nw.Date:  # which pandas has as objects, for years up to 9999
                return _quietly(lambda: np.asarray(series.cast(nw.Datetime("ms")).to_numpy()))
            if series.dtype.is_numeric() or series.dtype in (nw.Boolean, nw.Datetime):
                return _quietly(lambda: np.asarray(series.to_numpy()))
            if series.dtype == nw.Unknown:  # as dates of arrow that count milliseconds
                array = _quietly(lambda: np.asarray(series.to_numpy()))
                return array if array is not None and array.dtype.kind == "M" else None
        return None

    def _entries(self) -> list[Any]:
        source = self._data
        if isinstance(source, np.ndarray):
            # tolist would make whole numbers of times in nanoseconds.
            listed: list[Any] = list(source) if source.dtype.kind in "mM" else source.tolist()
            return listed
        entries: list[Any] | None = _quietly(source.to_list) if isinstance(source, nw.Series) else source
        if entries is None:
            raise self.wrong("numbers, text, truth values or dates")
        return entries

    def _is_missing(self, entry: Any) -> bool:
        return _absent(entry) or (isinstance(entry, str) and entry in self._missing)

    def _time(self, entry: Any) -> np.datetime64:
        if self._is_missing(entry):
            return np.datetime64("NaT")
        if isinstance(entry, str):
            parsed = _quietly(lambda: datetime.datetime.fromisoformat(entry))
            if parsed is None:
                raise InvalidDataError(f"column {self.name!r} of X holds text that is no date of the form 2024-01-31")
            entry = parsed
        if isinstance(entry, datetime.datetime):
            return np.datetime64(entry.replace(tzinfo=None), "s")
        if isinstance(entry, np.datetime64):
            seconds: np.datetime64 = _seconds(np.array([entry]))[0]
            return seconds
        if isinstance(entry, datetime.date):
            return np.datetime64(entry, "s")
        raise self.wrong("dates")


def _quietly(read: Callable[[], _Result]) -> _Result | None:
    """Return None where a library raises: its message may hold a value."""
    try:
        return read()
    except Exception:
        return None


def _numbered(entries: Sequence[Any], numbers: dict[Any, int]) -> npt.NDArray[np.intp] | None:
    """Number entries in the order of their first cells, and note which is which; None where one has no hash.

    There is one dictionary: a second one would be as large again.
    """
    numbered = (numbers.setdefault(entry, len(numbers)) for entry in entries)
    return _quietly(lambda: np.fromiter(numbered, dtype=np.intp, count=len(entries)))


def _sequence(name: Any, values: Any) -> Any:
    """Return a column of a mapping as an array or a list."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or isinstance(values, np.ma.MaskedArray):
            raise InvalidTypeError(f"column {name!r} of X must be a plain one-dimensional array")
        return values
    series = _quietly(lambda: nw.from_native(values, series_only=True))
    if series is not None:
        return series
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise InvalidTypeError(f"column {name!r} of X must be a sequence")
    return list(values)


def _absent(entry: Any) -> bool:
    if entry is None or type(entry).__name__ in _MISSING_TYPES:
        return True
    if isinstance(entry, float | np.floating):
        return bool(entry != entry)
    if isinstance(entry, Decimal):
        return entry.is_nan()
    return isinstance(entry, np.datetime64) and bool(np.isnat(entry))


def _seconds(times: npt.NDArray[Any]) -> npt.NDArray[np.datetime64]:
    """Return times in whole seconds, rounded down; those that are a thousand million years away or more are about that.

    numpy's own conversion wraps around near the ends of a type: of ``pandas.Timestamp.min`` it makes a late time.
    """
    unit, _ = np.datetime_data(times.dtype)
    if unit in _FINER:
        ticks = times.astype(f"datetime64[{unit}]").astype(np.int64)
        return np.where(np.isnat(times), np.datetime64("NaT"), (ticks // _FINER[unit]).astype("datetime64[s]"))
    if unit != "s":
        earliest, latest = (np.datetime64(year, "Y").astype(times.dtype) for year in (-_FAR, _FAR))
        times = np.where(np.isnat(times), times, np.clip(times, earliest, latest))
    return times.astype("datetime64[s]")


def _on_the_wall(utc: Any, zoned: Any) -> npt.NDArray[np.datetime64]:
    """Return times in a zone, a series with another one of them in UTC, as those of the zone's clocks.

    Libraries do not move times near the ends of their types by the hours of a zone, and then move none of a column: one
    record would decide what hour it is in all others. Those far from any public range stay in UTC.
    """
    array = utc.to_numpy()
    unit, _ = np.datetime_data(array.dtype)
    ends = (bound // _FINER.get(unit, 1) for bound in (1 - 2**63, 2**63 - 1))
    earliest, latest = (np.datetime64(end, "s") for end in ends)
    times = _seconds(array)
    near = (times > max(earliest + _DAYS, _YEAR_2)) & (times < min(latest - _DAYS, _YEAR_9998))
    if near.any():
        if isinstance(zoned, nw.Series):
            local = zoned.filter(near.tolist()).dt.replace_time_zone(None)
        else:
            local = zoned[near].dt.tz_localize(None)
        times[near] = _seconds(local.to_numpy())
    return times


def _is_kind(kind: type, kinds: tuple[type, ...]) -> bool:
    """Whether a type is one of some; spans of time are no integers, as numpy has it."""
    return issubclass(kind, kinds) and not issubclass(kind, np.timedelta64)


def _is_of(entry: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a cell is of one of some types."""
    return _is_kind(type(entry), kinds)


def _float(entry: Any) -> float | None:
    """Return NaN for a missing entry, None for one that is no number, infinity for one beyond floats."""
    if _absent(entry):
        return math.nan
    if not _is_of(entry, NUMBERS) or isinstance(entry, complex | np.complexfloating):
        return None
    value: Any = entry
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
