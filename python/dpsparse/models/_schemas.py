"""JSON Schemas of what the package writes, for readers in other languages."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

__all__ = ["certificate_schema", "model_schema"]


def certificate_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of certificates, as ``Certificate.to_json`` writes them.

    A document that it takes has the right form. Whether the guarantee holds, ``Certificate.verify`` says.

    Returns
    -------
    dict
        The version of the format is the last part of its ``$id``.

    Examples
    --------
    >>> from dpsparse import models
    >>> models.certificate_schema()["$id"]
    'urn:dpsparse:schema:certificate:2'
    """
    return _read("certificate")


def model_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of models, as :func:`save` writes them, that of certificates within.

    A document that it takes has the right form. :func:`load` also checks that its parts agree.

    Returns
    -------
    dict
        The version of the format is the last part of its ``$id``.

    Examples
    --------
    >>> from dpsparse import models
    >>> models.model_schema()["$id"]
    'urn:dpsparse:schema:model:1'
    """
    model = _read("model")
    model["$defs"]["certificate"] = certificate_schema()
    return model


def _read(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((files("dpsparse") / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    return schema
