"""Errors and warnings that Python adds to those of the core: types that Python tells apart and Rust does not."""

from __future__ import annotations

from dpsparse._core import DpsparseError, InvalidDataError

__all__ = ["DefaultBoundsWarning", "InvalidTypeError", "SecretStateError", "UnknownLevelError"]


class InvalidTypeError(InvalidDataError, TypeError):
    """The records are of an unusable type: dates, text, categories, objects. No message holds a value.

    Both an ``InvalidDataError`` and a ``TypeError``, which scikit-learn's conventions ask for.
    """


class UnknownLevelError(InvalidDataError):
    """A column of categories holds a value that the schema does not list, and has no ``other`` for it.

    The message names the column, never the value.
    """


class SecretStateError(DpsparseError, TypeError):
    """An object that holds private data would leave by a pickle or a copy, where nobody expects any.

    Also a ``TypeError``, as :mod:`pickle` and :mod:`copy` raise for what they cannot take.
    """


class DefaultBoundsWarning(UserWarning):
    """Bounds were not stated: values are taken to lie in [-1, 1], and clipped to it. It looks at no data."""


for _public in (InvalidTypeError, UnknownLevelError, SecretStateError, DefaultBoundsWarning):
    _public.__module__ = "dpsparse"  # where users find them, as they do the core's
