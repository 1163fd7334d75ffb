"""Levels as columns: codes that pick rows of one public matrix of contrasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsparse._core import InvalidArgumentError
from dpsparse.tables._column import MISSING, Term

__all__ = ["CODINGS", "Contrasts", "check_coding"]

#: How levels become columns: "reference" drops one level, "sum" makes effects that sum to zero, "one-hot" keeps all.
CODINGS = ("reference", "sum", "one-hot")


@dataclass(frozen=True)
class Contrasts:
    """The public map of levels to encoded columns.

    Parameters
    ----------
    labels : tuple of str
        Names of the levels.
    coding : {"reference", "sum", "one-hot"}
        "reference": an indicator for each level but one, whose cells are zeros. "sum": the same, but its cells are -1
        in every column: its effect is minus the sum of the other effects, so that all of them sum to zero. "one-hot":
        an indicator for each level.
    reference : int
        The level without a column; not used by "one-hot".
    flag : bool
        Whether one code more, after those of the levels, stands for a missing value: zeros, and an indicator of its
        own.
    """

    labels: tuple[str, ...]
    coding: str = "reference"
    reference: int = 0
    flag: bool = False

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """The levels that have a column."""
        every = range(len(self.labels))
        return tuple(k for k in every if self.coding == "one-hot" or k != self.reference)

    @cached_property
    def matrix(self) -> sp.csr_array:
        """One row for each code, of shape (n_codes, n_columns)."""
        n, columns = len(self.labels), {level: j for j, level in enumerate(self.kept)}
        rows: list[npt.NDArray[np.intp]] = [np.array(self.kept, dtype=np.intp)]
        cols: list[npt.NDArray[np.intp]] = [np.arange(len(columns))]
        values: list[npt.NDArray[np.float64]] = [np.ones(len(columns))]
        if self.coding == "sum":
            rows.append(np.full(len(columns), self.reference))
            cols.append(np.arange(len(columns)))
            values.append(np.full(len(columns), -1.0))
        if self.flag:
            rows.append(np.array([n]))
            cols.append(np.array([len(columns)]))
            values.append(np.ones(1))
        triples = np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))
        return sp.csr_array(triples, shape=(n + self.flag, len(columns) + self.flag))

    def encode(self, codes: npt.NDArray[np.intp]) -> sp.csr_array:
        """Return the rows of the codes, of shape (n_rows, n_columns)."""
        return self.matrix[codes]

    def terms(self, name: str, prefix: str = "") -> list[Term]:
        """Describe the columns of an attribute."""
        lower = -1.0 if self.coding == "sum" else 0.0
        reference = prefix + self.labels[self.reference] if self.coding == "reference" else None
        listed = [Term(name, prefix + self.labels[k], lower, 1.0, None, reference) for k in self.kept]
        if self.flag:
            listed.append(Term(name, prefix + MISSING, 0.0, 1.0))
        return listed

    def one_hot(self, start: int = 0) -> list[tuple[int, int]]:
        """List the block of all columns, from `start` on, where at most one of them is 1 and the others are 0."""
        return [] if self.coding == "sum" else [(start, start + self.matrix.shape[1])]

    def squared_norm(self) -> float:
        """Largest squared Euclidean norm of a row: all bounds are [0, 1] or [-1, 1]."""
        return float((self.matrix * self.matrix).sum(axis=1).max())

    def most_nonzero(self) -> int:
        """Largest number of entries of a row that are not zero."""
        return int(np.diff(self.matrix.indptr).max())


def check_coding(coding: Any, reference: Any) -> str:
    """Return a coding, checked with the reference that was asked for."""
    if not isinstance(coding, str) or coding not in CODINGS:
        raise InvalidArgumentError(f"coding must be one of {', '.join(map(repr, CODINGS))}")
    if coding == "one-hot" and reference is not None:
        raise InvalidArgumentError("coding='one-hot' keeps all levels: it takes no reference")
    return coding


def contrasts(labels: Sequence[str], *, coding: str, reference: int, missing: str) -> Contrasts:
    """Return the contrasts of an attribute, with "missing" as a level or a flag where the rule says so.

    Raises
    ------
    InvalidArgumentError
        For labels that are not different, and for fewer than two.
    """
    every = (*labels, MISSING) if missing == "level" else tuple(labels)
    if len(set(every)) < len(every) or (missing == "flag" and MISSING in every):
        raise InvalidArgumentError(
            f"levels must be different, and none be {MISSING!r} where missing={missing!r} makes that one"
        )
    if len(every) + (missing == "flag") < 2:
        raise InvalidArgumentError("an attribute needs at least two levels: with one it is the same for everybody")
    return Contrasts(every, coding, reference, missing == "flag")
