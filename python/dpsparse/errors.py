"""Errors and warnings that Python adds to those of the core: types that Python tells apart and Rust does not."""

from __future__ import annotations

from dpsparse._core import DpsparseError, InvalidDataError

__all__ = [
    "DefaultBoundsWarning",
    "InvalidTypeError",
    "LedgerError",
    "MissingFileError",
    "MissingPackageError",
    "ModelFormatError",
    "SecretStateError",
    "UnknownLevelError",
]


class InvalidTypeError(InvalidDataError, TypeError):
    """The records are of an unusable type: dates, text, categories, objects. No message holds a value.

    Both an ``InvalidDataError`` and a ``TypeError``, which scikit-learn's conventions ask for.

    Examples
    --------
    >>> from dpsparse import InvalidTypeError
    >>> from dpsparse.tables import Number, Schema
    >>> try:
    ...     Schema({"age": Number(0, 120)}).encode({"age": ["young"]})
    ... except InvalidTypeError as error:
    ...     print("young" in str(error))
    False
    """


class UnknownLevelError(InvalidDataError):
    """A column of categories holds a value that the schema does not list, and has no ``other`` for it.

    The message names the column, never the value.

    Examples
    --------
    >>> from dpsparse import UnknownLevelError
    >>> from dpsparse.tables import Category, Schema
    >>> try:
    ...     Schema({"sex": Category(["f", "m"])}).encode({"sex": ["x"]})
    ... except UnknownLevelError as error:
    ...     print("x" in str(error).split())
    False
    """


class SecretStateError(DpsparseError, TypeError):
    """An object that holds private data would leave by a pickle or a copy, where nobody expects any.

    Also a ``TypeError``, as :mod:`pickle` and :mod:`copy` raise for what they cannot take.

    Examples
    --------
    >>> import pickle
    >>> from dpsparse import PrivateOnlineSimplex, SecretStateError
    >>> leader = PrivateOnlineSimplex(1.0, 1e-6, horizon=10, n_features=3, bound=1.0)
    >>> try:
    ...     pickle.dumps(leader)
    ... except SecretStateError:
    ...     print("refused")
    refused
    """


class LedgerError(DpsparseError):
    """A ledger's file cannot be used: damaged, edited, locked, not writable, or the disk failed. Nothing was released.

    Examples
    --------
    >>> import tempfile
    >>> from dpsparse import LedgerError
    >>> from dpsparse.privacy import Ledger
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"no database, " * 100)
    ...     file.flush()
    ...     try:
    ...         Ledger(file.name, 1.0, 1e-6)
    ...     except LedgerError:
    ...         print("refused")
    refused
    """


class MissingPackageError(DpsparseError, ImportError):
    """A package that this task needs, and the others do not, is not installed. The message says what to install.

    Also an ``ImportError``.

    Examples
    --------
    >>> from dpsparse import MissingPackageError
    >>> issubclass(MissingPackageError, ImportError)
    True
    """


class MissingFileError(FileNotFoundError, DpsparseError):  # whose layout pickles follow
    """A path names no file that is there.

    Also a ``FileNotFoundError``.

    Examples
    --------
    >>> from dpsparse import MissingFileError
    >>> from dpsparse.tables import Schema
    >>> try:
    ...     Schema.from_json("nowhere/people.json")
    ... except MissingFileError as error:
    ...     print(error)
    'nowhere/people.json' is no JSON of a schema, which begins with a brace, and no path of a file that is there
    """


class ModelFormatError(DpsparseError):
    """A document is no model that this version reads: of another format, of a later version, or in parts that disagree.

    Examples
    --------
    >>> from dpsparse import ModelFormatError, models
    >>> try:
    ...     models.load('{"format": "something else"}')
    ... except ModelFormatError as error:
    ...     print(error)
    the document is no model: its format is not 'dpsparse-model'
    """


class DefaultBoundsWarning(UserWarning):
    """Bounds were not stated: values are taken to lie in [-1, 1], and clipped to it. It looks at no data.

    Examples
    --------
    >>> import warnings
    >>> from dpsparse import DefaultBoundsWarning, PrivateSparseClassifier
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     plan = PrivateSparseClassifier(classes=(0, 1)).plan(10_000, 20)
    >>> [issubclass(warning.category, DefaultBoundsWarning) for warning in caught]
    [True]
    """


for _public in (
    InvalidTypeError,
    LedgerError,
    MissingFileError,
    MissingPackageError,
    ModelFormatError,
    UnknownLevelError,
    SecretStateError,
    DefaultBoundsWarning,
):
    _public.__module__ = "dpsparse"  # where users find them, as they do the core's
