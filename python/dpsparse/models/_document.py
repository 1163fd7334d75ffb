"""JSON documents, read strictly: one value a name, finite numbers, a known version."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from dpsparse._core import InvalidArgumentError
from dpsparse.errors import MissingFileError, ModelFormatError

__all__ = ["FORMAT", "VERSION", "Document", "Source", "parsed", "read", "text_of"]

FORMAT = "dpsparse-model"
#: Of the layout. It changes with the layout, and readers of a version read all earlier ones.
VERSION = 1
#: Of text that goes into a message.
_LONGEST_SHOWN = 60

Document: TypeAlias = dict[str, Any]
Source: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]


def read(source: Source) -> Document:
    """Return the document of a model that a text, a file or a mapping holds, its format and version checked.

    Parameters
    ----------
    source : str, path or mapping
        JSON text (it begins with a brace), the path of a file, or what JSON was parsed to.

    Raises
    ------
    ModelFormatError
        For what is no JSON, no model, or a model of a later version, and for text that is neither JSON nor the path of
        a file that is there.
    MissingFileError
        For a ``Path``, or text that ends in ".json", of a file that is not there.
    OSError
        Where the file cannot be read.
    """
    document = parsed(_text(source))
    if document.get("format") != FORMAT:
        raise ModelFormatError(f"the document is no model: its format is not {FORMAT!r}")
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise ModelFormatError("the document must state its version, a positive integer")
    if version > VERSION:
        raise ModelFormatError(
            f"the document has version {version} of the format; this package reads versions up to {VERSION}: install a "
            "later one"
        )
    return document


def text_of(document: Mapping[str, Any]) -> str:
    """Return a document as JSON text, in ASCII; floats are written so that they are read back exactly."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def parsed(text: str) -> Document:
    """Return a JSON object, each of whose names comes once and whose numbers are all finite.

    Raises
    ------
    ModelFormatError
        For anything else.
    """
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_float=_finite, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ModelFormatError(f"not JSON: line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError) as error:  # integers and nesting beyond Python's limits
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError("not JSON that can be read: numbers or nesting beyond all limits") from None
    if not isinstance(document, dict):
        raise ModelFormatError("the document must be a JSON object")
    return document


def _text(source: Source) -> str:
    if isinstance(source, Mapping):
        try:
            return json.dumps(source, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise ModelFormatError("the document holds values that JSON has no form for") from None
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    if not isinstance(source, str | os.PathLike) or not os.fspath(source):
        raise InvalidArgumentError("a model is read from JSON text, a path or a mapping")
    try:
        if isinstance(source, str) and not (source.endswith(".json") or _is_there(source)):
            raise ModelFormatError(
                f"{_shown(source)} is no JSON of a model, which begins with a brace, and no path of a file that is "
                "there"
            )
        return Path(source).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise MissingFileError(f"{_shown(os.fspath(source))} names no file that is there") from None
    except UnicodeDecodeError:
        raise ModelFormatError("the file is no text in UTF-8") from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long for a path, or with characters that none has
        return False


def _object(pairs: list[tuple[str, Any]]) -> Document:
    """Readers differ in which of two values of one name they take: a signature would not say which."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFormatError("a JSON object holds two values of one name")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ModelFormatError("a number is beyond the range of floats")
    return value


def _no_number(_: str) -> NoReturn:
    raise ModelFormatError("not JSON: NaN and infinities are none of its numbers")
