"""What every kind of column is: public facts that map one cell to a few bounded numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsparse._core import InvalidArgumentError
from dpsparse.tables._values import Values

__all__ = ["KINDS", "MISSING", "Block", "Column", "Field", "Term", "field_kind", "numeric_terms", "register"]

#: Encoded columns of one attribute: an array or a CSR matrix of shape (n_rows, n_columns).
Block: TypeAlias = npt.NDArray[np.float64] | sp.csr_array
#: A field descriptor of Frictionless Table Schema.
Field: TypeAlias = dict[str, Any]

#: Level of the column that says that a value is missing.
MISSING = "missing"

_CHOICES = ("error", "flag", "level")
_LONGEST = 6


@dataclass(frozen=True)
class Term:
    """One encoded column: a coefficient of a model.

    Attributes
    ----------
    attribute : str
        Name of the column of the table.
    level : str or None
        What the encoded column says about it: a level, a bin, a part of a spline; None for its value.
    lower, upper : float
        Public bounds of the encoded column.
    unit : str or None
        Unit of a value; None for indicators.
    reference : str or None
        The level that the coefficient of an indicator compares with; None where there is none.
    parent : str or None
        Of a node in a tree of levels, the node above it: what a level does is the sum of the coefficients of its node
        and of all above it. None at the top, and elsewhere.

    Examples
    --------
    >>> from dpsparse.tables import Number, Schema
    >>> (term,) = Schema({"age": Number(18, 90, unit="years")}).terms
    >>> term.name, term.upper, term.unit
    ('age', 90.0, 'years')
    """

    attribute: str
    level: str | None
    lower: float
    upper: float
    unit: str | None = None
    reference: str | None = None
    parent: str | None = None

    @property
    def name(self) -> str:
        """Name of the encoded column: the attribute, or ``"attribute=level"``."""
        return self.attribute if self.level is None else f"{self.attribute}={self.level}"


class Column(ABC):
    """A column of a table, known by public facts alone. Instances compare by value, hash, copy and pickle."""

    #: Field types of Frictionless Table Schema that are read as this kind.
    types: ClassVar[tuple[str, ...]] = ()

    missing: str

    @abstractmethod
    def terms(self, name: str) -> list[Term]:
        """Describe the encoded columns, for a column of a name."""

    @abstractmethod
    def encode(self, values: Values) -> Block:
        """Encode the cells of a column, each by itself.

        Raises
        ------
        InvalidDataError
            For values that are missing, unknown or of another type. The message names the column and no value.
        """

    @abstractmethod
    def squared_norm(self) -> float:
        """Bound the squared Euclidean norm of an encoded cell, every column in units of its largest absolute bound."""

    @abstractmethod
    def most_nonzero(self) -> int:
        """Bound the number of entries of an encoded cell that are not zero."""

    def is_whole(self) -> bool:
        """Say whether encoded cells are whole numbers that a byte holds, whatever the values are."""
        return False

    def one_hot(self) -> list[tuple[int, int]]:
        """List the blocks of encoded columns of which at most one is 1 and the others are 0, whatever the values are.

        First column and last + 1 of each, within the column's own, in order.
        """
        return []

    def unfilled(self) -> str | None:
        """Say what is still to be stated before anything can be encoded; None for nothing."""
        return None

    @abstractmethod
    def to_field(self) -> Field:
        """Describe the column as a Frictionless field, without its name."""

    @classmethod
    @abstractmethod
    def from_field(cls, field: Field) -> Self:
        """Read a Frictionless field of one of the kind's types."""

    @classmethod
    def reads(cls, field: Field) -> bool:
        """Whether a Frictionless field is of this kind."""
        return described(field).get("type", "string") in cls.types

    def __repr__(self) -> str:
        shown = []
        for field in fields(self):  # type: ignore[arg-type]  # every kind is a dataclass
            value = getattr(self, field.name)
            if value != field.default or type(value) is not type(field.default):
                shown.append(f"{field.name}={_shown(value)}" if field.kw_only else _shown(value))
        return f"{type(self).__name__}({', '.join(shown)})"


#: Kinds of columns, in the order in which a Frictionless field is offered to them.
KINDS: list[type[Column]] = []


def register(kind: type[Column]) -> type[Column]:
    """Make a kind of column known: the one line that a new kind takes."""
    KINDS.append(kind)
    return kind


def field_kind(field: Field) -> type[Column] | None:
    """Return the kind of column that reads a Frictionless field."""
    return next((kind for kind in KINDS if kind.reads(field)), None)


def numeric_terms(name: str, low: float, high: float, unit: str | None, missing: str) -> list[Term]:
    """Describe a value and, unless missing ones are errors, their indicator."""
    value = Term(name, None, low, high, unit)
    return [value] if missing == "error" else [value, Term(name, MISSING, 0.0, 1.0)]


def check_missing(missing: Any) -> str:
    """Return a rule for missing values, checked."""
    if not isinstance(missing, str) or missing not in _CHOICES:
        raise InvalidArgumentError(f"missing must be one of {', '.join(map(repr, _CHOICES))}")
    return missing


def check_unit(unit: Any) -> str | None:
    """Return a unit, checked."""
    if unit is not None and not isinstance(unit, str):
        raise InvalidArgumentError("unit must be text or None")
    return unit


def described(field: Any) -> Field:
    """Return a Frictionless field, checked to be a mapping."""
    if not isinstance(field, Mapping):
        raise InvalidArgumentError(f"field must be a mapping, as JSON objects are; got {type(field).__name__}")
    return dict(field)


def constraints(field: Field) -> Mapping[str, Any]:
    """Return the constraints of a Frictionless field."""
    stated = field.get("constraints") or {}
    if not isinstance(stated, Mapping):
        raise InvalidArgumentError("constraints of a field must be a JSON object")
    return stated


def missing_of(field: Field, default: str) -> str:
    """Return the rule for missing values of a Frictionless field: its own, "error" where it is required."""
    stated = field.get("missing", "error" if constraints(field).get("required") else default)
    return check_missing(stated)


def rule_field(missing: str) -> tuple[dict[str, Any], Field]:
    """Return the constraint and the property that state a rule for missing values."""
    required = missing == "error"
    return {"required": required}, {} if required else {"missing": missing}


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        if len(value) > _LONGEST:
            shown = ", ".join(map(repr, value[: _LONGEST - 1]))
            return f"[{shown}, ... {len(value)} in all]"
        return repr(list(value))
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)
