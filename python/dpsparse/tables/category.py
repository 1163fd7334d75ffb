"""Categories with public levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import is_real, is_whole
from dpsparse.errors import UnknownLevelError
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
    register,
    rule_field,
)
from dpsparse.tables._levels import Contrasts, check_coding, contrasts
from dpsparse.tables._tree import Nodes, nodes, tree_pairs
from dpsparse.tables._values import NUMBERS, Values

__all__ = ["Category", "enum_of", "is_one_of", "level_codes", "public_levels"]

#: From here on floats merge integers.
_MERGED = 2**53


@register
@dataclass(frozen=True, repr=False)
class Category(Column):
    """A column of categories whose levels are public.

    Parameters
    ----------
    levels : sequence of str or of int
        The levels, in the order of the encoded columns; known without looking at the data. Integers between -2**53 and
        2**53, both excluded. None: to be filled in.
    unit : str, optional
        Unit of the levels, for readers.
    missing : {"error", "flag", "level"}, default "error"
        Missing values raise, or have a level "missing" of their own, or a flag: zeros in the columns of the levels, and
        an indicator. "level" and "flag" differ in what "missing" is compared with: with ``coding="reference"`` both
        compare it with the reference; with ``coding="sum"`` a level is one of the effects that sum to zero, a flag is
        none, and its cells are the mean of the others.
    other : str or int, optional
        The level that values outside the levels go to; it is added where it is none of them. None: such values raise an
        ``UnknownLevelError``, and so tell that somebody has one. Declare it for private records.
    reference : str or int, optional
        The level without a column. None: the first one.
    coding : {"reference", "sum", "one-hot"}, default "reference"
        "reference": a coefficient compares a level with the reference. "sum": with the mean of all levels; cells of the
        reference are -1 in every column, so rows are longer (``row_norm``). "one-hot": a column for each level; only
        penalties and noise keep them from drifting together.
    tree : mapping or sequence of pairs, optional
        Public families of levels, as of regions, occupations or diagnoses: a mapping of each level or node to the node
        above it (``{"Oslo": "Norway", "Norway": "Europe"}``), or of nodes to what is below them
        (``{"Europe": {"Norway": ["Oslo"]}}``), or pairs of a level or node and the one above it. Every level and node
        has a column: a cell is 1 in those of its level and of all nodes above it, so levels share what their families
        have in common. A node that holds all levels, or the same as another, has none. A level may stand above others.
        There is no reference then, and no other ``coding``.

    Notes
    -----
    **A tree is worth it** where families differ and noise hides what single levels do, as with few records for a level.
    Rows get longer (``row_norm`` counts the nodes above a level), and noise with them: families that have nothing in
    common cost a little. ``benches/STRUCTURE.md`` has figures.

    Examples
    --------
    >>> from dpsparse.tables import Category, Schema
    >>> schema = Schema({"education": Category(["none", "school", "degree"], other="other")})
    >>> schema.encode({"education": ["degree", "none", "unheard of"]})
    array([[0., 1., 0.],
           [0., 0., 0.],
           [0., 0., 1.]])
    >>> schema.get_feature_names_out().tolist()
    ['education=school', 'education=degree', 'education=other']
    >>> schema = Schema({"town": Category(["Oslo", "Bergen", "Lund"], tree={"Norway": ["Oslo", "Bergen"]})})
    >>> schema.get_feature_names_out().tolist()
    ['town=Oslo', 'town=Bergen', 'town=Lund', 'town=Norway']
    >>> schema.encode({"town": ["Bergen", "Lund"]})
    array([[0., 1., 0., 1.],
           [0., 0., 1., 0.]])
    """

    types: ClassVar[tuple[str, ...]] = ("string",)

    levels: Sequence[Any] | None = None
    _: KW_ONLY
    unit: str | None = None
    missing: str = "error"
    other: Any = None
    reference: Any = None
    coding: str = "reference"
    tree: Any = None

    def __post_init__(self) -> None:
        check_missing(self.missing)
        check_unit(self.unit)
        check_coding(self.coding, self.reference)
        if self.tree is not None and (self.coding != "reference" or self.reference is not None):
            raise InvalidArgumentError("a tree gives every level a column: it takes no coding and no reference")
        if self.levels is None:
            if self.tree is not None:
                raise InvalidArgumentError("a tree needs levels, which it is over")
            return
        object.__setattr__(self, "levels", public_levels(self.levels))
        for name in ("other", "reference"):
            object.__setattr__(self, name, _plain(getattr(self, name)))
        if self.other is not None and not isinstance(self.other, str) and not is_one_of(self.other, self._levels):
            raise InvalidArgumentError("other must be text, or one of the levels")
        if self.tree is not None:
            object.__setattr__(self, "tree", tree_pairs(self.tree, self._every))
        self.contrasts  # noqa: B018  # checks the labels

    @property
    def _levels(self) -> tuple[Any, ...]:
        assert isinstance(self.levels, tuple)
        return self.levels

    @property
    def _every(self) -> list[Any]:
        """The levels, and the one that others go to."""
        added = self.other is not None and self.other not in self._levels
        return [*self._levels, self.other] if added else list(self._levels)

    @cached_property
    def contrasts(self) -> Contrasts | Nodes:
        """The encoded columns of the levels."""
        every = self._every
        if self.tree is not None:
            return nodes(every, self.tree, missing=self.missing != "error")
        candidates = [*every, MISSING] if self.missing == "level" else every
        if self.reference is not None and not is_one_of(self.reference, candidates):
            raise InvalidArgumentError("reference must be one of the levels")
        reference = 0 if self.reference is None else candidates.index(self.reference)
        return contrasts(list(map(str, every)), coding=self.coding, reference=reference, missing=self.missing)

    def terms(self, name: str) -> list[Term]:
        """Describe the encoded columns: one for each level but the reference, or each node, and any flag."""
        return self.contrasts.terms(name)

    def encode(self, values: Values) -> Block:
        """Encode cells as rows of contrasts, or of nodes."""
        known = {level: k for k, level in enumerate(self._levels)}
        beyond = None if self.other is None else known.get(self.other, len(self._levels))
        missing = None if self.missing == "error" else len(self._every)
        return self.contrasts.encode(level_codes(values, known, missing, beyond))

    def squared_norm(self) -> float:
        """1; the number of columns for the reference of ``coding="sum"``; the most nodes that a level of a tree has."""
        return self.contrasts.squared_norm()

    def most_nonzero(self) -> int:
        """1; the number of columns for the reference of ``coding="sum"``; the most nodes that a level of a tree has."""
        return self.contrasts.most_nonzero()

    def is_whole(self) -> bool:
        """Yes: contrasts are 0, 1 and -1, nodes 0 and 1."""
        return True

    def one_hot(self) -> list[tuple[int, int]]:
        """All columns, but of a tree, and of ``coding="sum"``, where cells are -1 in several."""
        return self.contrasts.one_hot() if isinstance(self.contrasts, Contrasts) else []

    def unfilled(self) -> str | None:
        """Say that levels are to be stated."""
        return "its levels" if self.levels is None else None

    def to_field(self) -> Field:
        """Describe the levels as the constraint ``enum``."""
        required, field = rule_field(self.missing)
        whole = self.levels is not None and not isinstance(self.levels[0], str)
        enum = {} if self.levels is None else {"enum": list(self.levels)}
        field |= {"type": "integer" if whole else "string", "constraints": required | enum}
        stated = {"unit": self.unit, "other": self.other, "reference": self.reference}
        field |= {name: value for name, value in stated.items() if value is not None}
        if self.tree is not None:
            field["tree"] = [list(pair) for pair in self.tree]
        return field if self.coding == "reference" else field | {"coding": self.coding}

    @classmethod
    def reads(cls, field: Field) -> bool:
        """Whether it is text, or whole numbers with an ``enum``, in no order."""
        field = described(field)
        if field.get("categoriesOrdered") is True:
            return False
        return super().reads(field) or (field.get("type", "string") == "integer" and enum_of(field) is not None)

    @classmethod
    def from_field(cls, field: Field) -> Self:
        """Read text, or whole numbers, with an ``enum``."""
        field = described(field)
        return cls(
            enum_of(field),
            unit=field.get("unit"),
            missing=missing_of(field, "level"),
            other=field.get("other"),
            reference=field.get("reference"),
            coding=field.get("coding", "reference"),
            tree=field.get("tree"),
        )


def enum_of(field: Field) -> Any:
    """Return the levels that a Frictionless field states, as a constraint or as categories; None where it does not."""
    stated = constraints(field).get("enum", field.get("categories"))
    if not isinstance(stated, list):
        return stated
    return [level.get("value") if isinstance(level, Mapping) else level for level in stated]


def public_levels(levels: Any) -> tuple[Any, ...]:
    """Return levels as a tuple of text or of integers.

    Raises
    ------
    InvalidArgumentError
        For anything else, sets above all, which have no order; for levels that are not different; for integers that
        floats do not tell apart.
    """
    problem = "levels must be a sequence of different levels, all text or all integers"
    if isinstance(levels, str | bytes | set | frozenset | Mapping) or not np.iterable(levels):
        raise InvalidArgumentError(problem)
    every = tuple(map(_plain, levels))
    alike = any(all(isinstance(level, kind) for level in every) for kind in (str, int))
    if not every or not alike or any(isinstance(level, bool) for level in every) or len(set(every)) < len(every):
        raise InvalidArgumentError(problem)
    if any(isinstance(level, int) and abs(level) >= _MERGED for level in every):
        # One missing cell may make a column floats, and others' cells would go to other levels.
        raise InvalidArgumentError("levels that are integers must be below 2**53 in size: state larger ones as text")
    return every


def is_one_of(value: Any, levels: Sequence[Any]) -> bool:
    """Whether a value is text or a number, and equal to a level: comparisons of arrays say neither yes nor no."""
    return (isinstance(value, str | bool | np.bool_) or is_real(value)) and value in levels


def level_codes(values: Values, known: dict[Any, int], missing: int | None, beyond: int | None) -> npt.NDArray[np.intp]:
    """Number the cells of a column.

    Raises
    ------
    InvalidTypeError
        For cells that are neither text nor numbers; and for text where all levels are numbers, or the other way round.
    InvalidDataError
        Where a cell is missing or unknown, and there is no number for that.
    """
    text = {isinstance(level, str) for level in known}
    if len(text) == 2:
        cells = values.labels((str, *NUMBERS), "truth values")
    elif True in text:
        cells = values.labels((str,), "text, as its levels are")
    else:
        cells = values.labels(NUMBERS, "whole numbers, as its levels are")
    codes = [-1 if cell is None else known.get(cell, -2) for cell in cells.different]
    numbered = np.array(codes, dtype=np.intp)
    for code, to in ((-1, missing), (-2, beyond)):
        where = numbered == code
        if to is None and where.any():
            raise (
                values.refuse_missing()
                if code == -1
                else UnknownLevelError(
                    f"column {values.name!r} of X has values outside the levels of the schema: state other= there"
                )
            )
        numbered[where] = 0 if to is None else to
    return numbered[cells.which]


def _plain(level: Any) -> Any:
    """Return numpy's text and integers as Python's."""
    if isinstance(level, str):
        return str(level)
    return int(level) if is_whole(level) else level
