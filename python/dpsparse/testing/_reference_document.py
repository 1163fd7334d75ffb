"""A certificate's JSON read again: its form, whether its facts agree, and its checksum."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["checksum", "contradictions", "read"]

_FORMAT = "dpsparse-certificate-2"
_ADJACENCIES = ("replace-one", "add-remove")
_LARGEST_EXACT = 2**53
_WORD = 2**64


class _Unreadable(ValueError):
    """The text is no certificate; the message says why."""


def read(text: str) -> dict[str, Any] | str:
    """The document, or what keeps the text from being one."""
    try:
        document = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
        json.dumps(document, ensure_ascii=False).encode()  # no halves of surrogate pairs
    except (_Unreadable, ValueError, RecursionError) as error:
        return f"the text is not JSON: {error}"
    return document if isinstance(document, dict) else "the text is not a JSON object"


def _no_constant(name: str) -> Any:
    raise _Unreadable(f"{name} is no number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _Unreadable("a field is there twice")
    return fields


# --- the checksum ---


def checksum(document: dict[str, Any]) -> str:
    """FNV-1a of 64 bits over the kinds, lengths and values of a tree without its checksum, fields sorted by name."""
    state = 0xCBF29CE484222325
    for byte in b"".join(_words({name: value for name, value in document.items() if name != "checksum"})):
        state = (state ^ byte) * 0x100000001B3 % _WORD
    return f"{state:016x}"


def _words(tree: Any) -> Iterator[bytes]:
    match tree:
        case None:
            yield b"n"
        case bool():
            yield b"b" + struct.pack("<Q", tree)
        case int() if _LARGEST_EXACT < tree < _WORD:
            yield b"i" + struct.pack("<Q", tree)
        case int() | float():
            yield b"f" + struct.pack("<d", tree)  # 2 and 2.0 are one number
        case str():
            yield from _text(tree)
        case list():
            yield b"a" + struct.pack("<Q", len(tree))
            for value in tree:
                yield from _words(value)
        case dict():
            yield b"o" + struct.pack("<Q", len(tree))
            for name in sorted(tree, key=lambda name: name.encode()):
                yield from _text(name)
                yield from _words(tree[name])


def _text(text: str) -> Iterator[bytes]:
    data = text.encode()
    yield b"s" + struct.pack("<Q", len(data)) + data


# --- the facts ---


def contradictions(document: dict[str, Any]) -> list[str]:
    """What keeps the facts from being those of a certificate; empty where they agree with each other."""
    if document.get("format") != _FORMAT:
        return [f"the format is not {_FORMAT}"]
    if set(document) != set(_FIELDS):
        return ["fields are missing or unknown"]
    wrong = [name for name, holds in _FIELDS.items() if not holds(document[name])]
    if wrong:
        return [f"the field {name} is outside its domain" for name in wrong]
    return [reason for holds, reason in _AGREEMENTS if not holds(document)]


def _number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # Integers between 2^53 and 2^64 are read as integers, which a double would not be written as.
    if isinstance(value, int) and _LARGEST_EXACT < value < _WORD:
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _positive(value: Any) -> bool:
    return _number(value) and value > 0


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _WORD


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _words_of_people(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _record(fields: dict[str, Callable[[Any], bool]]) -> Callable[[Any], bool]:
    def holds(value: Any) -> bool:
        if not isinstance(value, dict) or set(value) != set(fields):
            return False
        return all(check(value[name]) for name, check in fields.items())

    return holds


def _list(entry: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(entry(one) for one in value)


def _one_of(*allowed: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in allowed


_EVENTS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "gaussian": {"sensitivity": _positive, "sigma": _positive},
    "discrete-gaussian": {"sensitivity": _positive, "sigma": _positive},
    "exponential": {"epsilon0": _positive},
    "pure": {"epsilon": _positive},
    "laplace": {"sensitivity": _positive, "scale": _positive},
    "zero-concentrated": {"rho": _positive},
    "failure": {"delta": lambda value: _positive(value) and value < 1},
    "objective-perturbation": {
        "lipschitz_norm": _positive,
        "sigma": _positive,
        # Zero has one sign in what is written.
        "curvature_log": lambda value: _number(value) and (value > 0 or (value == 0 and math.copysign(1, value) > 0)),
        "adjacency": _one_of(*_ADJACENCIES),
    },
}


def _event(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str) or value["kind"] not in _EVENTS:
        return False
    return _record({"kind": _one_of(value["kind"]), **_EVENTS[value["kind"]]})(value)


def _target(value: Any) -> bool:
    """No target, classes, or bounds of a real or of a count."""
    if value is None or value == "classes":
        return True
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, facts),) = value.items()
    match kind:
        case "multiclass":
            return _record({"classes": lambda k: isinstance(k, int) and not isinstance(k, bool) and 0 <= k < 2**32})(
                facts
            )
        case "interval":
            return _record({"low": _number, "high": _number})(facts) and facts["low"] < facts["high"]
        case "counts":
            numbers = _record({"low": _number, "high": _number, "unit": _positive})(facts)
            return numbers and 0 <= facts["low"] < facts["high"]
    return False


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "format": _one_of(_FORMAT),
    "version": _words_of_people,
    "mechanism": _words_of_people,
    "claimed_epsilon": _positive,
    "claimed_delta": lambda value: _number(value) and 0 <= value < 1,
    "events": _list(_record({"event": _event, "count": _count})),
    "adjacency": _one_of(*_ADJACENCIES),
    "unit": _words_of_people,
    "n_samples": _count,
    "n_features": _count,
    "bounds": _record({"lower": _list(_number), "upper": _list(_number)}),
    "row_norm": lambda value: value is None or _positive(value),
    "target": _target,
    "assumptions": _list(lambda value: isinstance(value, str)),
    "secure": _truth,
    "certified": _truth,
    "checksum": lambda value: isinstance(value, str),
}


def _bounds_fit(document: dict[str, Any]) -> bool:
    return all(len(side) in (1, document["n_features"]) for side in document["bounds"].values())


def _bounds_are_sorted(document: dict[str, Any]) -> bool:
    lower, upper = document["bounds"]["lower"], document["bounds"]["upper"]
    if not lower or not upper:
        return False
    pairs = max(len(lower), len(upper))
    lower, upper = (side * pairs if len(side) == 1 else side for side in (lower, upper))
    return all(low <= high for low, high in zip(lower, upper, strict=False))


def _events_share_the_adjacency(document: dict[str, Any]) -> bool:
    adjacencies = {spent["event"].get("adjacency", document["adjacency"]) for spent in document["events"]}
    return adjacencies <= {document["adjacency"]}


def _counts_add_up(document: dict[str, Any]) -> bool:
    return bool(sum(spent["count"] for spent in document["events"]) < _WORD)


_AGREEMENTS: list[tuple[Callable[[dict[str, Any]], bool], str]] = [
    (_bounds_fit, "bounds are neither one pair nor one for each feature"),
    (_bounds_are_sorted, "a lower bound is above its upper one"),
    (lambda document: document["target"] is None or document["events"] != [], "a fit spends something"),
    (_events_share_the_adjacency, "an event is of another adjacency than the certificate"),
    (_counts_add_up, "counts of events are beyond 64 bits"),
]
