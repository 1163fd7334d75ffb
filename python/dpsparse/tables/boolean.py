"""Truth values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import texts
from dpsparse.tables._column import (
    MISSING,
    Block,
    Column,
    Field,
    Term,
    check_missing,
    check_unit,
    described,
    missing_of,
    register,
    rule_field,
)
from dpsparse.tables._values import Values
from dpsparse.tables.category import level_codes

__all__ = ["Boolean"]

#: Text that Frictionless reads as true and false.
_TRUE = ("true", "True", "TRUE", "1")
_FALSE = ("false", "False", "FALSE", "0")


@register
@dataclass(frozen=True, repr=False)
class Boolean(Column):
    """A column of truth values: one encoded column, 1 where they differ from the reference.

    Cells are truth values, the numbers 0 and 1, or text that ``true_values`` and ``false_values`` name.

    Parameters
    ----------
    unit : str, optional
        What is true, for readers.
    missing : {"error", "flag", "level"}, default "error"
        Missing values raise, or are 1/2 ("flag") or as the reference ("level") with an indicator beside it.
    other : bool, optional
        What anything else counts as. None: it raises an ``UnknownLevelError``.
    reference : bool, default False
        The value that is encoded as 0.
    true_values, false_values : sequence of str
        Text that is true and false.

    Examples
    --------
    >>> from dpsparse.tables import Boolean, Schema
    >>> Schema({"smoker": Boolean()}).encode({"smoker": [True, False, "true"]}).ravel()
    array([1., 0., 1.])
    """

    types: ClassVar[tuple[str, ...]] = ("boolean",)

    _: KW_ONLY
    unit: str | None = None
    missing: str = "error"
    other: bool | None = None
    reference: bool = False
    true_values: Sequence[str] = _TRUE
    false_values: Sequence[str] = _FALSE

    def __post_init__(self) -> None:
        check_missing(self.missing)
        check_unit(self.unit)
        if not isinstance(self.reference, bool) or not (self.other is None or isinstance(self.other, bool)):
            raise InvalidArgumentError("reference must be True or False, other too, or None")
        for name in ("true_values", "false_values"):
            object.__setattr__(self, name, texts(name, getattr(self, name)))
        if set(self.true_values) & set(self.false_values):
            raise InvalidArgumentError("true_values and false_values must have no text in common")

    def terms(self, name: str) -> list[Term]:
        """Describe the value, and the indicator of missing ones."""
        value = Term(name, "False" if self.reference else None, 0.0, 1.0, self.unit, str(self.reference))
        return [value] if self.missing == "error" else [value, Term(name, MISSING, 0.0, 1.0)]

    def encode(self, values: Values) -> Block:
        """Encode cells as 0 and 1."""
        known: dict[Any, int] = {0: 0, 1: 1}  # equal to False and True, and to numbers of any type
        known |= dict.fromkeys(self.false_values, 0) | dict.fromkeys(self.true_values, 1)
        missing = None if self.missing == "error" else 2
        beyond = None if self.other is None else int(self.other)
        codes = level_codes(values, known, missing, beyond)
        at_zero, at_one = (1.0, 0.0) if self.reference else (0.0, 1.0)
        rows = np.array([[at_zero, 0.0], [at_one, 0.0], [0.5 if self.missing == "flag" else 0.0, 1.0]])
        return np.asarray(rows[codes, : 1 if missing is None else 2])

    def squared_norm(self) -> float:
        """1, and 1/4 more where missing values are 1/2 beside their indicator."""
        return 1.25 if self.missing == "flag" else 1.0

    def most_nonzero(self) -> int:
        """1 or 2."""
        return 2 if self.missing == "flag" else 1

    def is_whole(self) -> bool:
        """Yes, but where missing values are 1/2 beside their indicator."""
        return self.missing != "flag"

    def one_hot(self) -> list[tuple[int, int]]:
        """The value, but where missing ones are 1/2; and the indicator of these."""
        if self.missing == "error":
            return [(0, 1)]
        return [(1, 2)] if self.missing == "flag" else [(0, 1), (1, 2)]

    def to_field(self) -> Field:
        """Describe it as a Frictionless boolean."""
        required, field = rule_field(self.missing)
        field |= {"type": "boolean", "constraints": required}
        stated = {"unit": self.unit, "other": self.other}
        field |= {name: value for name, value in stated.items() if value is not None}
        if self.reference:
            field["reference"] = True
        for name, stands, usual in (
            ("trueValues", self.true_values, _TRUE),
            ("falseValues", self.false_values, _FALSE),
        ):
            if stands != usual:
                field[name] = list(stands)
        return field

    @classmethod
    def from_field(cls, field: Field) -> Self:
        """Read a Frictionless boolean."""
        field = described(field)
        return cls(
            unit=field.get("unit"),
            missing=missing_of(field, "flag"),
            other=field.get("other"),
            reference=field.get("reference", False),
            true_values=field.get("trueValues", _TRUE),
            false_values=field.get("falseValues", _FALSE),
        )
