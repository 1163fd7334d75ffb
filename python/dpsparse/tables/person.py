"""At most m rows of each person, in an order that is drawn without data."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidDataError
from dpsparse.tables._values import Table
from dpsparse.tables.schema import Schema

__all__ = ["first_of_each", "kept_rows"]

#: Floats merge integers beyond 2**53, and one cell makes a column floats: one person would merge others.
_IDENTITIES = (
    "text or integers, which name persons, and no floats, which may name several by one number: write text, or, where "
    "missing cells made integers floats, a nullable type of integers"
)


def kept_rows(schema: Schema, frame: Any, most: int, seed: int | None) -> npt.NDArray[np.intp]:
    """Return the positions of the rows to keep, ascending: at most ``most`` of each person.

    Each row gets a random key, drawn without data; a person's rows with the smallest keys are kept. Which these are
    depends on that person's rows and keys alone, so that rows of one person, added or removed, change nothing about
    those of others (see :class:`Schema`). Keys are drawn by position: the guarantee compares tables whose shared rows
    have the same keys, so keys must be random and unknown to whoever sees what is released. A seed makes them known.

    Parameters
    ----------
    schema : Schema
        With a column ``person``.
    frame : table
        The rows.
    most : int
        Rows that each person may keep.
    seed : int, optional
        Of the keys. None: from the operating system.

    Raises
    ------
    InvalidDataError
        Where a row names no person: nobody could say whose rows it counts with.
    InvalidTypeError
        For persons that are neither text nor integers, floats above all, whatever their values are.
    """
    assert schema.person is not None
    persons = Table(frame, schema.missing_values)[schema.person].labels(
        (str, numbers.Integral), _IDENTITIES, never=(bool, np.bool_)
    )
    if None in persons.different:
        raise InvalidDataError(f"column {schema.person!r} of X has missing values: every row must name its person")
    return first_of_each(persons.which, _keys(len(persons.which), seed), most)


def _keys(n: int, seed: int | None) -> npt.NDArray[Any]:
    """So many keys: the operating system's own bits, as noise is of them, or those of a seed."""
    if seed is None:
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
    # A stream apart from that of the noise, which the same seed would begin.
    return np.random.default_rng([seed, 1]).random(n)


def first_of_each(owner: npt.NDArray[np.intp], keys: npt.NDArray[Any], most: int) -> npt.NDArray[np.intp]:
    """Return the positions, ascending, of the ``most`` rows of each owner, a number from 0, that have the least keys.

    Whether a row is among them is a function of the keys of its owner's rows.
    """
    order = np.lexsort((keys, owner))
    starts = np.flatnonzero(np.diff(owner[order], prepend=-1))
    rank = np.arange(len(owner)) - np.repeat(starts, np.diff([*starts, len(owner)]))
    return np.sort(order[rank < most])
