"""Parameters of estimators as JSON: numbers and names as they are, objects by what describes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NoReturn, get_args

import numpy as np

from dpsparse import losses
from dpsparse._core import InvalidArgumentError
from dpsparse._inputs import float_array
from dpsparse._weighted_l1 import checked_weights
from dpsparse.errors import ModelFormatError
from dpsparse.estimators._bounds import bound_arrays, named
from dpsparse.mechanisms import MECHANISMS, Mechanism
from dpsparse.models._labels import read_labels, write_labels
from dpsparse.models._norms import read_norm, write_norm
from dpsparse.models._plain import OWN_FUNCTION, Omitted, plain, scalar
from dpsparse.tables import Schema

__all__ = ["LeftOut", "read_parameters", "schema_object", "write_parameters"]

#: What belongs to the place of a fit, and to no model.
_NEVER = ("random_state", "ledger", "verbose")

_LOSSES: dict[str, type] = {each.name: each for each in get_args(losses.Loss) if each is not losses.CustomLoss}


class LeftOut:
    """Stands for a parameter that a file does not hold, such as a user's own loss.

    Predictions, certificate and summary do without it; a new fit or plan refuses it, as anything that is no loss.

    Parameters
    ----------
    reason : str
        Why the file does not hold it.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import CustomLoss, PrivateSparseRegressor, models
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> loss = CustomLoss(lambda z, y: np.tanh(z - y))
    >>> model = PrivateSparseRegressor(loss=loss, bounds=(-1, 1), y_bounds=(-1, 1)).fit(X, X[:, 0])
    >>> again = models.load(models.dumps(model))
    >>> type(again.loss).__name__, bool(np.all(again.predict(X) == model.predict(X)))
    ('LeftOut', True)
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return f"LeftOut({self.reason!r})"


def write_parameters(estimator: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parameters of an estimator as JSON has them, and why others are left out."""
    written: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in _NEVER:
            continue
        try:
            written[name] = _leave_out(value) if isinstance(value, LeftOut) else _WRITERS.get(name, plain)(value)
        except Omitted as why:
            left_out[name] = str(why)
    return written, left_out


def read_parameters(kind: type, written: Any, left_out: Any) -> dict[str, Any]:
    """Return the arguments of an estimator of a kind; those of a document that says less have their defaults.

    Raises
    ------
    ModelFormatError
        For parameters that the kind does not have, and for values that are none of theirs.
    """
    if not isinstance(written, dict) or not isinstance(left_out, dict):
        raise ModelFormatError("parameters and left_out must be JSON objects")
    known = set(kind._get_param_names()).difference(_NEVER)  # type: ignore[attr-defined]
    if not known.issuperset([*written, *left_out]) or set(written) & set(left_out):
        raise ModelFormatError(f"parameters must be those of a {kind.__name__}, each of them once")
    if not all(isinstance(reason, str) for reason in left_out.values()):
        raise ModelFormatError("left_out must say why, in text")
    arguments: dict[str, Any] = {name: LeftOut(reason) for name, reason in left_out.items()}
    for name, value in written.items():
        try:
            arguments[name] = _READERS.get(name, scalar)(value)
        except (InvalidArgumentError, TypeError, ValueError, KeyError, AttributeError) as error:
            text = str(error) if isinstance(error, InvalidArgumentError) else "it is not of a form that is written"
            raise ModelFormatError(f"the parameter {name}: {text}") from None
    return arguments


def _leave_out(value: LeftOut) -> NoReturn:
    """Leave out again what a file that was read did not hold."""
    raise Omitted(value.reason)


def _write_pair(value: Any) -> Any:
    return None if value is None else [plain(end) for end in value]


def _read_pair(value: Any) -> Any:
    if value is None:
        return None
    low, high = value
    return scalar(low), scalar(high)


def _write_bounds(bounds: Any) -> Any:
    if bounds is None:
        return None
    bounds = named(bounds)
    if isinstance(bounds, Mapping):
        return {"names": [str(name) for name in bounds], "pairs": [_write_pair(pair) for pair in bounds.values()]}
    lower, upper = bound_arrays(bounds)
    return {"lower": lower.tolist(), "upper": upper.tolist()}


def _read_bounds(written: Any) -> Any:
    if written is None:
        return None
    if "names" in written:
        return dict(zip(written["names"], map(_read_pair, written["pairs"]), strict=True))
    sides = [float_array(side, written[side]) for side in ("lower", "upper")]
    if not all(np.all(np.isfinite(side)) for side in sides):
        raise ValueError("bounds that are not finite")
    # One pair for all features is written as people write it.
    bounds = tuple(float(side[0]) if side.shape == (1,) else side for side in sides)
    bound_arrays(bounds)
    return bounds


def _write_options(value: Any) -> dict[str, Any]:
    return {"name": value.name, "options": {field.name: plain(getattr(value, field.name)) for field in fields(value)}}


def _write_loss(loss: Any) -> Any:
    if isinstance(loss, str):
        return loss
    if type(loss) in _LOSSES.values():
        return _write_options(loss)
    raise Omitted(OWN_FUNCTION)


def _write_mechanism(mechanism: Any) -> Any:
    return _write_options(mechanism) if isinstance(mechanism, Mechanism) else plain(mechanism)


def _named(kinds: Mapping[str, type]) -> Callable[[Any], Any]:
    """Return what reads a name, or an object of one of the kinds with its options."""

    def read(written: Any) -> Any:
        if isinstance(written, str):
            return written
        options = {name: scalar(value) for name, value in written["options"].items()}
        return kinds[written["name"]](**options)

    return read


def _write_schema(schema: Any) -> Any:
    return None if schema is None else schema_object(schema)


def _read_schema(written: Any) -> Any:
    return None if written is None else Schema.from_json(_mapping(written))


def schema_object(schema: Schema) -> Any:
    """Return a schema as the object that its JSON is."""
    return json.loads(schema.to_json())


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


_WRITERS: dict[str, Callable[[Any], Any]] = {
    "bounds": _write_bounds,
    "classes": lambda classes: None if classes is None else write_labels(classes),
    "feature_weights": lambda weights: None if weights is None else checked_weights(weights).tolist(),
    "loss": _write_loss,
    "mechanism": _write_mechanism,
    "norm": write_norm,
    "schema": _write_schema,
    "y_bounds": _write_pair,
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "bounds": _read_bounds,
    "classes": lambda classes: None if classes is None else read_labels(classes),
    "feature_weights": lambda written: None if written is None else checked_weights(written),
    "loss": _named(_LOSSES),
    "mechanism": _named(MECHANISMS),
    "norm": read_norm,
    "schema": _read_schema,
    "y_bounds": _read_pair,
}
