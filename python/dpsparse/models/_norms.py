"""Norms as JSON: by name, by groups or vertices, as the set function behind them, or as a group lasso."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpsparse import set_functions
from dpsparse.models._plain import OWN_FUNCTION, Omitted, plain, scalar
from dpsparse.norms import GroupLasso
from dpsparse.polytopes import DisjointGroups, Vertices
from dpsparse.set_functions import SetFunction

__all__ = ["read_norm", "write_norm"]

_FAMILIES: dict[str, type[SetFunction]] = {
    name: getattr(set_functions, name)
    for name in set_functions.__all__
    if name not in ("SetFunction", "Estimate", "FromOracle")
}


def write_norm(norm: Any) -> Any:
    """Return a norm as JSON has it.

    Raises
    ------
    Omitted
        For set functions that are, or hold, a function of the user's own.
    """
    if isinstance(norm, DisjointGroups):
        return {"groups": norm.index_lists()}
    if isinstance(norm, Vertices):
        return {"vertices": norm.rows()}
    if isinstance(norm, GroupLasso):
        return {"group_lasso": dict(norm._arguments)}
    return _write_function(norm) if isinstance(norm, SetFunction) else plain(norm)


def _write_function(function: SetFunction) -> dict[str, Any]:
    family = type(function).__name__
    if _FAMILIES.get(family) is not type(function):
        raise Omitted(OWN_FUNCTION)
    return {"family": family, "arguments": {name: _argument(value) for name, value in function._arguments.items()}}


def _argument(value: Any) -> Any:
    if isinstance(value, SetFunction):
        return _write_function(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, list) else plain(value)


def read_norm(written: Any) -> Any:
    """Return the norm that :func:`write_norm` wrote; other forms raise errors of all kinds."""
    if not isinstance(written, dict):
        return scalar(written)
    if "groups" in written:
        groups = DisjointGroups(written["groups"])
        groups.index_lists()
        return groups
    if "vertices" in written:
        vertices = Vertices(written["vertices"])
        vertices.rows()
        return vertices
    if "group_lasso" in written:
        return GroupLasso(**written["group_lasso"])
    return _read_function(written)


def _read_function(written: Any) -> SetFunction:
    arguments = {
        name: _read_function(value) if isinstance(value, dict) else value
        for name, value in written["arguments"].items()
    }
    return _FAMILIES[written["family"]](**arguments)
