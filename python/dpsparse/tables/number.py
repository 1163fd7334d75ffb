"""Numbers with public bounds, as they are, in public bins, or on splines with public knots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from dpsparse._core import InvalidArgumentError
from dpsparse._inputs import float_list
from dpsparse._validation import is_whole, number
from dpsparse.tables._column import (
    MISSING,
    Block,
    Column,
    Field,
    Term,
    check_missing,
    check_unit,
    constraints,
    described,
    missing_of,
    numeric_terms,
    register,
    rule_field,
)
from dpsparse.tables._levels import Contrasts, check_coding, contrasts
from dpsparse.tables._splines import Splines
from dpsparse.tables._values import Values
from dpsparse.tables.category import enum_of

__all__ = ["Number"]

_MOST_DEGREE = 5


@register
@dataclass(frozen=True, repr=False)
class Number(Column):
    """A column of numbers with public bounds: values beyond them are clipped, in silence.

    Parameters
    ----------
    low, high : float
        Public bounds, in the column's own unit, finite; known without looking at the data. None: to be filled in.
    unit : str, optional
        Unit, for readers.
    missing : {"error", "flag", "level"}, default "error"
        Missing values (None, NaN, null) raise; or count as the middle of the bounds ("flag") or as the ``reference``
        ("level"), with an indicator beside it, whose coefficient compares them with that. With ``bins``: as for
        :class:`Category`.
    reference : float, optional
        A value within the bounds that missing ones are compared with; the bin that holds it is the one without a
        column. None: ``low``.
    bins : sequence of float, optional
        Public ends inside the bounds, increasing: the column becomes intervals [end, next end), the last one closed.
    knots : sequence of float, optional
        Public knots strictly inside the bounds, increasing; may be empty: the column becomes B-splines, all but the
        first.
    degree : int, default 3
        Degree of the splines, from 1 to 5.
    coding : {"reference", "sum", "one-hot"}, default "reference"
        With ``bins``: as for :class:`Category`.

    Examples
    --------
    >>> from dpsparse.tables import Number, Schema
    >>> schema = Schema({"age": Number(0, 100, unit="years", missing="flag"), "pay": Number(0, 90, bins=[30, 60])})
    >>> schema.encode({"age": [20, None], "pay": [30, 1000]})
    array([[20.,  0.,  1.,  0.],
           [50.,  1.,  0.,  1.]])
    >>> schema.get_feature_names_out().tolist()
    ['age', 'age=missing', 'pay=[30, 60)', 'pay=[60, 90]']
    """

    types: ClassVar[tuple[str, ...]] = ("number", "integer", "year")

    low: float | None = None
    high: float | None = None
    _: KW_ONLY
    unit: str | None = None
    missing: str = "error"
    reference: float | None = None
    bins: Sequence[float] | None = None
    knots: Sequence[float] | None = None
    degree: int = 3
    coding: str = "reference"

    def __post_init__(self) -> None:
        binned = self.bins is not None
        check_missing(self.missing)
        check_unit(self.unit)
        check_coding(self.coding, self.reference)
        if binned and self.knots is not None:
            raise InvalidArgumentError("bins and knots are two ways to encode a number: state one of them")
        if not binned and self.coding != "reference":
            raise InvalidArgumentError("coding is for bins, which are levels")
        degree = int(self.degree) if is_whole(self.degree) else self.degree
        object.__setattr__(self, "degree", degree)
        if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= _MOST_DEGREE:
            raise InvalidArgumentError(f"degree must be an integer from 1 to {_MOST_DEGREE}")
        if self.knots is None and degree != 3:
            raise InvalidArgumentError("degree is that of splines: state knots, or knots=()")
        for name in ("bins", "knots"):
            if getattr(self, name) is not None:
                # Adding 0.0 turns -0.0 into 0.0, which JSON and people write.
                object.__setattr__(self, name, tuple(end + 0.0 for end in float_list(name, getattr(self, name))))
        if self.low is None and self.high is None:
            return
        low, high = (number(name, getattr(self, name)) + 0.0 for name in ("low", "high"))
        if not (np.isfinite(low) and np.isfinite(high) and np.isfinite(high - low) and low <= high):
            raise InvalidArgumentError("low and high must be finite, the lower one first")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        for name in ("bins", "knots"):
            inside = getattr(self, name)
            if inside is not None and not np.all(np.diff([low, *inside, high]) > 0.0):
                raise InvalidArgumentError(f"{name} must increase, strictly between low and high")
        if self.reference is not None:
            reference = number("reference", self.reference) + 0.0
            if not low <= reference <= high:
                raise InvalidArgumentError("reference must lie between low and high")
            object.__setattr__(self, "reference", reference)
        if binned:
            self._contrasts  # noqa: B018  # checks that there are two levels

    @property
    def _bounds(self) -> tuple[float, float]:
        assert self.low is not None
        assert self.high is not None
        return self.low, self.high

    @property
    def _reference(self) -> float:
        return self._bounds[0] if self.reference is None else self.reference

    @property
    def _filled(self) -> float:
        """What a missing value counts as, beside its indicator."""
        low, high = self._bounds
        return low / 2.0 + high / 2.0 if self.missing == "flag" else self._reference

    @cached_property
    def _contrasts(self) -> Contrasts:
        assert self.bins is not None
        low, high = self._bounds
        ends = [low, *self.bins, high]
        labels = [f"[{_text(a)}, {_text(b)})" for a, b in pairwise(ends)]
        labels[-1] = labels[-1][:-1] + "]"
        reference = int(np.digitize(self._reference, self.bins))
        return contrasts(labels, coding=self.coding, reference=reference, missing=self.missing)

    @cached_property
    def _splines(self) -> Splines:
        assert self.knots is not None
        return Splines(*self._bounds, tuple(self.knots), self.degree)

    def terms(self, name: str) -> list[Term]:
        """Describe the value, the bins or the splines, and the indicator of missing values."""
        if self.bins is not None:
            return self._contrasts.terms(name)
        if self.knots is not None:
            listed = [Term(name, f"spline {k + 1}", 0.0, 1.0) for k in range(self._splines.n_columns)]
            return listed if self.missing == "error" else [*listed, Term(name, MISSING, 0.0, 1.0)]
        return numeric_terms(name, *self._bounds, self.unit, self.missing)

    def encode(self, values: Values) -> Block:
        """Clip, and encode as a value, a bin or splines."""
        x = values.numbers()
        absent = np.isnan(x)
        if self.missing == "error" and absent.any():
            raise values.refuse_missing()
        x = np.where(absent, self._filled, np.clip(x, *self._bounds))
        if self.bins is not None:
            codes = np.digitize(x, self.bins)
            return self._contrasts.encode(np.where(absent, len(self.bins) + 1, codes))
        block = x.reshape(-1, 1) if self.knots is None else self._splines.encode(x)
        return block if self.missing == "error" else np.column_stack([block, absent])

    def squared_norm(self) -> float:
        """1; with indicators more: the square of the scaled value that is beside them."""
        if self.bins is not None:
            return self._contrasts.squared_norm()
        flagged = self.missing != "error"
        if self.knots is not None:
            return 1.0 + flagged * float(np.square(self._splines.encode(np.array([self._filled]))).sum())
        low, high = self._bounds
        if low == high:  # constant, 0 in scaled units
            return float(flagged)
        return 1.0 + flagged * (self._filled / max(abs(low), abs(high))) ** 2

    def most_nonzero(self) -> int:
        """1 for a value or a bin, degree + 1 for splines, 1 more with an indicator."""
        if self.bins is not None:
            return self._contrasts.most_nonzero()
        return (1 if self.knots is None else self.degree + 1) + (self.missing != "error")

    def is_whole(self) -> bool:
        """Yes for bins."""
        return self.bins is not None

    def one_hot(self) -> list[tuple[int, int]]:
        """The bins; else the indicator of missing values."""
        if self.bins is not None:
            return self._contrasts.one_hot()
        width = 1 if self.knots is None else self._splines.n_columns
        return [] if self.missing == "error" else [(width, width + 1)]

    def unfilled(self) -> str | None:
        """Say that bounds are to be stated."""
        return "its bounds" if self.low is None else None

    def to_field(self) -> Field:
        """Describe the bounds as the constraints ``minimum`` and ``maximum``."""
        required, field = rule_field(self.missing)
        if self.low is not None:
            required |= {name: _whole(end) for name, end in zip(("minimum", "maximum"), self._bounds, strict=True)}
        field |= {"type": "number", "constraints": required}
        stated: dict[str, Any] = {"unit": self.unit}
        stated["reference"] = None if self.reference is None else _whole(self.reference)
        stated |= {
            name: None if ends is None else list(map(_whole, ends))
            for name, ends in (("bins", self.bins), ("knots", self.knots))
        }
        field |= {name: value for name, value in stated.items() if value is not None}
        if self.degree != 3:
            field["degree"] = self.degree
        return field if self.coding == "reference" else field | {"coding": self.coding}

    @classmethod
    def reads(cls, field: Field) -> bool:
        """Whether it is a number and no list of levels."""
        field = described(field)
        return super().reads(field) and enum_of(field) is None and field.get("categoriesOrdered") is not True

    @classmethod
    def from_field(cls, field: Field) -> Self:
        """Read a number, an integer or a year with ``minimum`` and ``maximum``."""
        field = described(field)
        stated = constraints(field)
        return cls(
            _parsed("minimum", stated.get("minimum")),
            _parsed("maximum", stated.get("maximum")),
            unit=field.get("unit"),
            missing=missing_of(field, "flag"),
            reference=field.get("reference"),
            bins=field.get("bins"),
            knots=field.get("knots"),
            degree=field.get("degree", 3),
            coding=field.get("coding", "reference"),
        )


def _text(value: float) -> str:
    return repr(_whole(value))


def _whole(value: float) -> float | int:
    """Return whole numbers as integers, as people write them."""
    return int(value) if value.is_integer() and abs(value) < 2.0**53 else value


def _parsed(name: str, bound: Any) -> Any:
    """Return a bound that may be written as text, as Frictionless allows."""
    if not isinstance(bound, str):
        return bound
    try:
        return float(bound)
    except ValueError as error:
        raise InvalidArgumentError(f"{name} must be a number") from error
