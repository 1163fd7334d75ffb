"""Dates with a public range, as days and as parts of the calendar."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import flag, texts
from dpsparse.tables._column import (
    MISSING,
    Block,
    Column,
    Field,
    Term,
    check_missing,
    constraints,
    described,
    missing_of,
    register,
    rule_field,
)
from dpsparse.tables._levels import Contrasts, check_coding
from dpsparse.tables._values import Values

__all__ = ["Date"]

_Days: TypeAlias = npt.NDArray[np.datetime64]
_Codes: TypeAlias = npt.NDArray[np.intp]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _years(days: _Days) -> _Codes:
    return days.astype("datetime64[Y]").astype(np.intp) + 1970


def _months(days: _Days) -> _Codes:
    months: _Codes = days.astype("datetime64[M]").astype(np.intp) % 12
    return months


def _days_of_month(days: _Days) -> _Codes:
    first = days.astype("datetime64[M]").astype("datetime64[D]")
    since: _Codes = (days - first).astype(np.intp)
    return since


#: Numbers of the parts that a day has, and how a number is called.
_PARTS: dict[str, tuple[Any, Any]] = {
    "year": (_years, str),
    "quarter": (lambda days: _months(days) // 3, lambda k: f"Q{k + 1}"),
    "month": (_months, lambda k: _MONTHS[k]),
    "day": (_days_of_month, lambda k: str(k + 1)),
    "weekday": (lambda days: (days.astype(np.intp) + 3) % 7, lambda k: _WEEKDAYS[k]),  # 1 January 1970 was a Thursday
}
_HOUR = "hour"
_NAMES = (*_PARTS, _HOUR)


@register
@dataclass(frozen=True, repr=False)
class Date(Column):
    """A column of dates within a public range; dates beyond it are clipped to it, in silence, before anything else.

    Cells are dates, times (of the clock on the wall: time zones are left out) or text in ISO 8601.

    Parameters
    ----------
    low, high : date or str
        First and last day of the public range. None: to be filled in.
    parts : sequence of {"year", "quarter", "month", "day", "weekday", "hour"}, default ()
        Parts that become categories, whose levels are those of the days in the range, the first one the reference.
    trend : bool, default True
        Whether the number of days since ``low`` is a column.
    missing : {"error", "flag", "level"}, default "error"
        Missing dates raise; or they count as the middle of the range and no level of any part ("flag"), or as the
        ``reference`` ("level"), with one indicator, whose coefficient compares them with that.
    reference : date or str, optional
        A day of the range that missing dates are compared with. None: ``low``.
    coding : {"reference", "sum", "one-hot"}, default "reference"
        How parts become columns, as for :class:`Category`.

    Examples
    --------
    >>> from dpsparse.tables import Date, Schema
    >>> schema = Schema({"visit": Date("2024-01-01", "2024-03-31", parts=("month",))})
    >>> schema.encode({"visit": ["2024-01-15", "2024-03-01", "2031-12-24"]})
    array([[14.,  0.,  0.],
           [60.,  0.,  1.],
           [90.,  0.,  1.]])
    >>> schema.get_feature_names_out().tolist()
    ['visit', 'visit=month Feb', 'visit=month Mar']
    """

    types: ClassVar[tuple[str, ...]] = ("date", "datetime")

    low: datetime.date | str | None = None
    high: datetime.date | str | None = None
    _: KW_ONLY
    parts: Sequence[str] = ()
    trend: bool = True
    missing: str = "error"
    reference: datetime.date | str | None = None
    coding: str = "reference"

    def __post_init__(self) -> None:
        check_missing(self.missing)
        check_coding(self.coding, None)
        object.__setattr__(self, "trend", flag("trend", self.trend))
        parts = (self.parts,) if isinstance(self.parts, str) else texts("parts", self.parts)
        object.__setattr__(self, "parts", parts)
        if len(set(parts)) < len(parts) or not set(parts) <= set(_NAMES):
            raise InvalidArgumentError(f"parts must be different ones of {', '.join(map(repr, _NAMES))}")
        if not parts and not self.trend:
            raise InvalidArgumentError("trend=False leaves nothing of a date without parts")
        if self.low is None and self.high is None:
            return
        for name in ("low", "high"):
            object.__setattr__(self, name, _day(name, getattr(self, name)))
        if self._range[0] >= self._range[1]:
            raise InvalidArgumentError("low must be a day before high")
        if self.reference is not None:
            object.__setattr__(self, "reference", _day("reference", self.reference))
            if not self._range[0] <= self._reference <= self._range[1]:
                raise InvalidArgumentError("reference must be a day of the range")
        if any(len(levels) < 2 for levels, _ in self._levels):
            raise InvalidArgumentError("a part has one level in the range: it is the same for everybody")

    @cached_property
    def _range(self) -> tuple[np.datetime64, np.datetime64]:
        assert self.low is not None
        assert self.high is not None
        return np.datetime64(self.low, "D"), np.datetime64(self.high, "D")

    @property
    def _reference(self) -> np.datetime64:
        return self._range[0] if self.reference is None else np.datetime64(self.reference, "D")

    @property
    def _width(self) -> float:
        low, high = self._range
        return float((high - low).astype(np.int64))

    @cached_property
    def _levels(self) -> list[tuple[npt.NDArray[np.intp], Contrasts]]:
        """Numbers and contrasts of the levels of each part: those of the days in the range."""
        low, high = self._range
        days = np.arange(low, high + 1)
        listed = []
        for part in self.parts:
            numbers: _Codes = np.arange(24) if part == _HOUR else np.unique(_PARTS[part][0](days))
            name = str if part == _HOUR else _PARTS[part][1]
            listed.append((numbers, Contrasts(tuple(map(name, numbers.tolist())), self.coding)))
        return listed

    def terms(self, name: str) -> list[Term]:
        """Describe the number of days, the parts, and the indicator of missing dates."""
        listed = [Term(name, None, 0.0, self._width, "days")] if self.trend else []
        for part, (_, levels) in zip(self.parts, self._levels, strict=True):
            listed += levels.terms(name, f"{part} ")
        return listed if self.missing == "error" else [*listed, Term(name, MISSING, 0.0, 1.0)]

    def encode(self, values: Values) -> Block:
        """Clip, and encode as days and parts."""
        times = values.times()
        absent = np.isnat(times)
        if self.missing == "error" and absent.any():
            raise values.refuse_missing()
        low, high = self._range
        times = np.where(absent, self._reference, times)
        # In integers: numpy's own conversion of the first times that there are wraps around.
        seconds = times.astype("datetime64[s]").astype(np.int64)
        hours = seconds % 86_400 // 3600
        days = np.clip((seconds // 86_400).astype("datetime64[D]"), low, high)
        blocks: list[npt.NDArray[Any]] = []
        if self.trend:
            blocks.append((days - low).astype(np.float64).reshape(-1, 1))
        for part, (numbers, levels) in zip(self.parts, self._levels, strict=True):
            codes = hours if part == _HOUR else _PARTS[part][0](days)
            blocks.append(levels.encode(np.searchsorted(numbers, codes)).toarray())
        encoded = np.column_stack(blocks)
        if self.missing == "error":
            return encoded
        if self.missing == "flag":
            encoded[absent] = 0.0
            encoded[absent, : int(self.trend)] = 0.5 * self._width
        return np.column_stack([encoded, absent])

    def squared_norm(self) -> float:
        """1 for the days and what each part has; missing dates have 1 beside what they count as."""
        longest = float(self.trend) + sum(levels.squared_norm() for _, levels in self._levels)
        if self.missing == "flag":
            return max(longest, 1.0 + 0.25 * self.trend)
        return longest + (self.missing == "level")

    def most_nonzero(self) -> int:
        """One for the days, one or more for each part; missing dates have one beside what they count as."""
        most = int(self.trend) + sum(levels.most_nonzero() for _, levels in self._levels)
        return max(most, 1 + self.trend) if self.missing == "flag" else most + (self.missing == "level")

    def one_hot(self) -> list[tuple[int, int]]:
        """The levels of each part, and the indicator of missing dates."""
        blocks, start = [], int(self.trend)
        for _, levels in self._levels:
            blocks += levels.one_hot(start)
            start += len(levels.kept)
        return blocks if self.missing == "error" else [*blocks, (start, start + 1)]

    def unfilled(self) -> str | None:
        """Say that the range is to be stated."""
        return "its range" if self.low is None else None

    def to_field(self) -> Field:
        """Describe the range as the constraints ``minimum`` and ``maximum``."""
        required, field = rule_field(self.missing)
        if isinstance(self.low, datetime.date) and isinstance(self.high, datetime.date):
            required |= {"minimum": self.low.isoformat(), "maximum": self.high.isoformat()}
        field |= {"type": "datetime" if _HOUR in self.parts else "date", "constraints": required}
        if isinstance(self.reference, datetime.date):
            field["reference"] = self.reference.isoformat()
        if self.parts:
            field["parts"] = list(self.parts)
        if not self.trend:
            field["trend"] = False
        return field if self.coding == "reference" else field | {"coding": self.coding}

    @classmethod
    def from_field(cls, field: Field) -> Self:
        """Read a date or a datetime with ``minimum`` and ``maximum``."""
        field = described(field)
        stated = constraints(field)
        return cls(
            stated.get("minimum"),
            stated.get("maximum"),
            parts=field.get("parts", ()),
            trend=field.get("trend", True),
            missing=missing_of(field, "flag"),
            reference=field.get("reference"),
            coding=field.get("coding", "reference"),
        )


def _day(name: str, day: Any) -> datetime.date:
    if isinstance(day, np.datetime64):
        day = day.astype("datetime64[D]").item()
    if isinstance(day, str):
        try:
            day = datetime.datetime.fromisoformat(day)
        except ValueError as error:
            raise InvalidArgumentError(f"{name} must be a date such as 2024-01-31") from error
    known = day == day  # what pandas has for no date is a datetime too
    if isinstance(day, datetime.datetime) and known:
        return day.date()
    if isinstance(day, datetime.date) and known:
        return day
    raise InvalidArgumentError(f"{name} must be a date such as 2024-01-31")
