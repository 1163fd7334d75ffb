"""Levels in an order, as public scores or as nested intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError
from dpsparse._inputs import float_list
from dpsparse.tables._column import (
    Block,
    Column,
    Field,
    Term,
    check_missing,
    check_unit,
    described,
    missing_of,
    numeric_terms,
    register,
    rule_field,
)
from dpsparse.tables._tree import Nodes, interval_pairs, nodes
from dpsparse.tables._values import Values
from dpsparse.tables.category import enum_of, is_one_of, level_codes, public_levels

__all__ = ["Ordinal"]

#: How levels in an order become columns.
_CODINGS = ("scores", "intervals")


@register
@dataclass(frozen=True, repr=False)
class Ordinal(Column):
    """A column of public levels in an order: one encoded column of scores, or nested intervals of levels.

    Where steps between levels may differ in effect, ``coding="intervals"`` lets levels have effects of their own, near
    those of their neighbours where records do not tell; :class:`Category` has a column for each level, in no order.

    Parameters
    ----------
    levels : sequence of str or of int
        The levels, the lowest first; known without looking at the data. None: to be filled in.
    unit : str, optional
        Unit of the scores.
    missing : {"error", "flag", "level"}, default "error"
        Missing values raise, or count as the middle of the scores ("flag") or as the ``reference`` ("level"), with an
        indicator beside it, whose coefficient compares them with that.
    other : str or int, optional
        The one of the levels that values outside them count as. None: they raise an ``UnknownLevelError``.
    reference : str or int, optional
        The level that missing values are compared with, and whose score is 0 where there are no ``scores``. None: the
        lowest.
    scores : sequence of float, optional
        Public scores, increasing, one for each level. None: whole numbers in steps of 1.
    coding : {"scores", "intervals"}, default "scores"
        "scores": one column, so that an effect is a straight line. "intervals": an indicator for each level, and for
        each interval of 4, 16, ... levels: for effects along a chain, such as a time, a position or an age, that no
        line describes. ``scores`` and ``reference`` have no meaning then; missing values have an indicator, and nothing
        else, whether ``missing`` is "flag" or "level".

    Notes
    -----
    The total variation of effects along a chain is the l1 norm of coefficients of indicators of "this level or higher".
    But a cell is 1 in as many of those columns as there are levels, and noise is in proportion to the root of that.
    Nested intervals describe effects with few steps too, and a cell is 1 in one column for each size of intervals (Hay,
    Rastogi, Miklau & Suciu 2010; with wavelets Xiao, Wang & Gehrke 2011). ``benches/STRUCTURE.md`` compares them.

    Examples
    --------
    >>> from dpsparse.tables import Ordinal, Schema
    >>> schema = Schema({"pain": Ordinal(["none", "some", "much"])})
    >>> schema.encode({"pain": ["much", "none"]}).ravel()
    array([2., 0.])
    >>> schema = Schema({"hour": Ordinal(range(6), coding="intervals")})
    >>> schema.get_feature_names_out().tolist()
    ['hour=0', 'hour=1', 'hour=2', 'hour=3', 'hour=4', 'hour=5', 'hour=0..3', 'hour=4..5']
    >>> schema.encode({"hour": [2, 5]})
    array([[0., 0., 1., 0., 0., 0., 1., 0.],
           [0., 0., 0., 0., 0., 1., 0., 1.]])
    """

    types: ClassVar[tuple[str, ...]] = ()

    levels: Sequence[Any] | None = None
    _: KW_ONLY
    unit: str | None = None
    missing: str = "error"
    other: Any = None
    reference: Any = None
    scores: Sequence[float] | None = None
    coding: str = "scores"

    def __post_init__(self) -> None:
        check_missing(self.missing)
        check_unit(self.unit)
        if not isinstance(self.coding, str) or self.coding not in _CODINGS:
            raise InvalidArgumentError(f"coding must be one of {', '.join(map(repr, _CODINGS))}")
        if self.coding == "intervals" and (self.scores is not None or self.reference is not None):
            raise InvalidArgumentError(
                "coding='intervals' gives every level a column: it takes no scores, no reference"
            )
        if self.levels is None:
            return
        levels = public_levels(self.levels)
        object.__setattr__(self, "levels", levels)
        if len(levels) < 2:
            raise InvalidArgumentError("an attribute needs at least two levels: with one it is the same for everybody")
        for name in ("other", "reference"):
            given = getattr(self, name)
            if given is not None and not is_one_of(given, levels):
                raise InvalidArgumentError(f"{name} must be one of the levels")
        if self.scores is not None:
            scores = [score + 0.0 for score in float_list("scores", self.scores)]
            object.__setattr__(self, "scores", tuple(scores))
            if len(scores) != len(levels) or not np.all(np.isfinite(scores)) or not np.all(np.diff(scores) > 0.0):
                raise InvalidArgumentError("scores must be finite and increasing, one for each level")
        self._nodes  # noqa: B018  # checks the names of intervals

    @cached_property
    def _nodes(self) -> Nodes | None:
        """The columns of levels and intervals; None for scores."""
        if self.coding == "scores":
            return None
        assert self.levels is not None
        labels = list(map(str, self.levels))
        return nodes(labels, interval_pairs(labels), missing=self.missing != "error")

    @cached_property
    def _scores(self) -> npt.NDArray[np.float64]:
        assert self.levels is not None
        if self.scores is not None:
            return np.array(self.scores)
        return np.arange(len(self.levels), dtype=np.float64) - self._reference

    @property
    def _reference(self) -> int:
        assert self.levels is not None
        return 0 if self.reference is None else self.levels.index(self.reference)

    @property
    def _filled(self) -> float:
        """What a missing value counts as, beside its indicator."""
        ends = self._scores[[0, -1]]
        return float((ends / 2.0).sum() if self.missing == "flag" else self._scores[self._reference])

    def terms(self, name: str) -> list[Term]:
        """Describe the score, or the levels and intervals, and the indicator of missing values."""
        if self._nodes is not None:
            return self._nodes.terms(name)
        low, high = self._scores[[0, -1]].tolist()
        return numeric_terms(name, low, high, self.unit, self.missing)

    def encode(self, values: Values) -> Block:
        """Encode cells as scores, or as indicators of levels and intervals."""
        assert self.levels is not None
        known = {level: k for k, level in enumerate(self.levels)}
        flagged = self.missing != "error"
        beyond = None if self.other is None else known[self.other]
        codes = level_codes(values, known, len(known) if flagged else None, beyond)
        if self._nodes is not None:
            return self._nodes.encode(codes)
        scores = np.append(self._scores, self._filled)[codes]
        return np.column_stack([scores, codes == len(known)]) if flagged else scores.reshape(-1, 1)

    def squared_norm(self) -> float:
        """1; with indicators more: the square of the scaled value beside them, the most intervals of a level."""
        if self._nodes is not None:
            return self._nodes.squared_norm()
        largest = float(np.abs(self._scores).max())
        return 1.0 if self.missing == "error" else 1.0 + (self._filled / largest) ** 2

    def most_nonzero(self) -> int:
        """1 or 2; with intervals the most that a level has."""
        if self._nodes is not None:
            return self._nodes.most_nonzero()
        return 1 if self.missing == "error" else 2

    def is_whole(self) -> bool:
        """Yes for levels and intervals."""
        return self._nodes is not None

    def one_hot(self) -> list[tuple[int, int]]:
        """The indicator of missing values beside a score."""
        return [(1, 2)] if self._nodes is None and self.missing != "error" else []

    def unfilled(self) -> str | None:
        """Say that levels are to be stated."""
        return "its levels" if self.levels is None else None

    def to_field(self) -> Field:
        """Describe the levels as the constraint ``enum``, and as categories in an order."""
        required, field = rule_field(self.missing)
        field |= {"type": "string", "constraints": required, "categoriesOrdered": True}
        if self.levels is not None:
            field["type"] = "string" if isinstance(self.levels[0], str) else "integer"
            field["constraints"] = required | {"enum": list(self.levels)}
            field["categories"] = list(self.levels)
        stated = {"unit": self.unit, "other": self.other, "reference": self.reference}
        field |= {name: value for name, value in stated.items() if value is not None}
        if self.coding != "scores":
            field["coding"] = self.coding
        return field if self.scores is None else field | {"scores": list(self.scores)}

    @classmethod
    def reads(cls, field: Field) -> bool:
        """Whether it has categories in an order."""
        field = described(field)
        return field.get("type", "string") in ("string", "integer") and field.get("categoriesOrdered") is True

    @classmethod
    def from_field(cls, field: Field) -> Self:
        """Read categories in an order."""
        field = described(field)
        return cls(
            enum_of(field),
            unit=field.get("unit"),
            missing=missing_of(field, "flag"),
            other=field.get("other"),
            reference=field.get("reference"),
            scores=field.get("scores"),
            coding=field.get("coding", "scores"),
        )
