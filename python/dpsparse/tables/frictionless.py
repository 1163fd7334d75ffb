"""Schemas as Frictionless Table Schema, both ways.

``constraints`` hold what that standard knows: minimum, maximum, enum, required. Further facts (unit, missing, other,
reference, bins, knots, ...) are properties of a field that other readers ignore, as the standard allows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import is_whole
from dpsparse.errors import MissingFileError
from dpsparse.tables._column import Column, field_kind

if TYPE_CHECKING:
    from dpsparse.tables.schema import Schema

__all__ = ["dump", "load"]

#: Spaces of a step.
_MOST_INDENT = 64
#: What the standard takes for missing values where a schema does not say.
_USUAL_MISSING = [""]


def dump(schema: Schema, indent: int | None) -> str:
    """Return a schema as JSON."""
    if indent is not None and not (is_whole(indent) and 0 <= indent <= _MOST_INDENT):
        raise InvalidArgumentError(f"indent must be None or an integer from 0 to {_MOST_INDENT}")
    fields = [{"name": name, **column.to_field()} for name, column in schema.columns.items()]
    document: dict[str, Any] = {"fields": fields, "missingValues": list(schema.missing_values)}
    if schema.person is not None:
        document["person"] = schema.person
    return json.dumps(document, indent=indent, ensure_ascii=False)


def load(source: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a schema that a JSON document states."""
    document = _document(source)
    fields = document.get("fields")
    if not isinstance(fields, list) or not all(isinstance(field, Mapping) for field in fields):
        raise InvalidArgumentError("a Table Schema must have a list of fields")
    person = document.get("person")
    missing = _texts(document.get("missingValues", _USUAL_MISSING))
    columns: dict[str, Column] = {}
    for field in fields:
        name = field.get("name")
        if not isinstance(name, str) or name in columns:
            raise InvalidArgumentError("fields of a Table Schema must have different names")
        missing += [text for text in _texts(field.get("missingValues", [])) if text not in missing]
        if name != person:
            columns[name] = _column(name, dict(field))
    return {"columns": columns, "person": person, "missing_values": tuple(missing)}


def _document(source: Any) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str) and source.lstrip().startswith("{"):
        text = source
    elif isinstance(source, str | os.PathLike) and os.fspath(source):
        text = _file(source)
    else:
        raise InvalidArgumentError("a schema is read from JSON text, a path or a mapping")
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidArgumentError(f"not JSON: {error}") from error
    except RecursionError:
        raise InvalidArgumentError("not JSON that can be read: nesting beyond all limits") from None
    if not isinstance(document, Mapping):
        raise InvalidArgumentError("a Table Schema must be a JSON object")
    return document


def _file(path: str | os.PathLike[str]) -> str:
    shown = f"{os.fspath(path)!r:.100}"
    try:
        is_there = Path(path).exists()
    except (OSError, ValueError):  # too long for a path, or with characters that none has
        is_there = False
    if not is_there:
        raise MissingFileError(
            f"{shown} is no JSON of a schema, which begins with a brace, and no path of a file that is there"
        )
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidArgumentError(f"{shown} is no text in UTF-8") from None


def _column(name: str, field: dict[str, Any]) -> Column:
    kind = field_kind(field)
    if kind is None:
        raise InvalidArgumentError(f"field {name!r}: type {field.get('type')!r} is none that a schema encodes")
    try:
        return kind.from_field(field)
    except (InvalidArgumentError, TypeError) as error:
        raise InvalidArgumentError(f"field {name!r}: {error}") from error


def _texts(values: Any) -> list[str]:
    """Return texts that stand for missing values, with labels or without."""
    listed = values if isinstance(values, list | tuple) else [values]
    texts: list[Any] = [value.get("value") if isinstance(value, Mapping) else value for value in listed]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidArgumentError("missingValues must be a list of text")
    return texts
