"""Failures of what others compute, whose texts may hold an entry of a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dpsparse._core import DpsparseError, InvalidDataError

__all__ = ["computed"]

Result = TypeVar("Result")


def computed(step: Callable[[], Result], passed: tuple[type[Exception], ...], shows: str) -> Result:
    """Let an engine compute parts of the records; what a user's own steps raise there comes out without its text.

    A conversion of text to numbers, for one, quotes the cell that it cannot read.

    Parameters
    ----------
    step : callable
        Computes.
    passed : tuple of exception types
        What the engine raises of itself.
    shows : str
        What the user may call to see the text.

    Raises
    ------
    InvalidDataError
        Where the step raised what is neither ours, nor the engine's, nor the system's; nothing is chained to it.
    """
    ours: tuple[type[Exception], ...] = (DpsparseError, MemoryError, *passed)
    try:
        return step()
    except ours:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's: it names a file
            raise
        kind = type(error).__name__
    raise InvalidDataError(
        f"a part of the records cannot be computed: {kind}, whose text may hold data and is not shown here; {shows} "
        "shows it"
    )
