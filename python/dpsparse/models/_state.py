"""What a fit released, as JSON: checked part by part, and against each other, when it is read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpsparse._core import Certificate, DpsparseError, InvalidArgumentError
from dpsparse.errors import ModelFormatError
from dpsparse.estimators._bounds import names_for
from dpsparse.estimators._tables import keep_table
from dpsparse.estimators.intervals import keep_facts, restated_facts
from dpsparse.estimators.population import PopulationEstimates
from dpsparse.models._labels import read_labels, write_labels
from dpsparse.models._parameters import schema_object
from dpsparse.tables import Schema

__all__ = ["read_state", "write_state"]

_CONTRADICTS = "the state and the certificate are of different fits: {} differs"


class _Kind(NamedTuple):
    """What the state of an estimator holds, beside coefficients and features."""

    classes: bool
    clips_targets: bool
    simplex: bool


def _kind(estimator: Any) -> _Kind:
    has = set(type(estimator)._get_param_names())
    simplex = "n_draws" in has
    return _Kind("classes" in has, "y_bounds" in has and not simplex, simplex)


def write_state(model: Any) -> dict[str, Any]:
    """Return the public state of a fitted model as JSON has it."""
    kind = _kind(model)
    schema = getattr(model, "schema_", None)
    names = getattr(model, "feature_names_in_", None)
    state: dict[str, Any] = {
        "n_features": int(model.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "schema": None if schema is None else schema_object(schema),
        "coef": model.coef_.tolist(),
        "intercept": np.asarray(model.intercept_).tolist(),
    }
    if kind.classes:
        state["classes"] = write_labels(model.classes_)
    if kind.clips_targets:
        state["target_bounds"] = list(model.target_bounds_)
    if kind.simplex:
        return state | {"n_draws": int(model.n_draws_), "regularisation": float(model.regularisation_)}
    ranges = model.feature_ranges_
    state["n_iter"] = int(model.n_iter_)
    state["feature_ranges"] = None if ranges is None else ranges.tolist()
    state["clips_features"] = bool(model._clips_features)
    state["population"] = _write_population(getattr(model, "_population", None))
    state["noise"] = _write_noise(model)
    return state


def read_state(model: Any, state: Any, certificate: Certificate) -> None:
    """Give an estimator, whose parameters are set, the state of a document.

    Raises
    ------
    ModelFormatError
        For states that are incomplete, not finite, of several shapes, or of another fit than the certificate.
    """
    kind = _kind(model)
    reader = _Reader(state)
    reader.expect(_names(kind))
    if kind.classes:
        model.classes_ = reader.classes()
    rows = _rows(kind, model)
    coefficients = reader.array("coef", 2 if kind.classes else 1)
    n_columns = coefficients.shape[-1]
    if kind.classes and len(coefficients) != rows:
        raise ModelFormatError("coef and classes must agree")
    intercepts = reader.array("intercept", 1 if kind.classes else 0)
    if intercepts.size != rows:
        raise ModelFormatError("coef and intercept must agree")
    model.coef_, model.intercept_ = coefficients, intercepts if kind.classes else float(intercepts)
    reader.features(model, n_columns)
    if certificate.n_features != n_columns:
        raise ModelFormatError(_CONTRADICTS.format("the number of features"))
    if kind.clips_targets:
        low, high = reader.array("target_bounds", 1, length=2).tolist()
        if certificate.y_bounds != (low, high):
            raise ModelFormatError(_CONTRADICTS.format("what targets are clipped to"))
        model.target_bounds_ = (low, high)
    elif kind.classes and certificate.y_bounds is not None:
        raise ModelFormatError(_CONTRADICTS.format("what the targets are"))
    model.certificate_ = certificate
    if kind.simplex:
        model.n_draws_, model.regularisation_ = reader.count("n_draws"), float(reader.array("regularisation", 0))
        return
    model.n_iter_ = reader.count("n_iter")
    _read_ranges(model, reader, n_columns)
    _read_intervals(model, reader, certificate, n_columns)


def _names(kind: _Kind) -> set[str]:
    names = {"n_features", "feature_names", "schema", "coef", "intercept"}
    names |= {"classes"} if kind.classes else set()
    names |= {"target_bounds"} if kind.clips_targets else set()
    if kind.simplex:
        return names | {"n_draws", "regularisation"}
    return names | {"n_iter", "feature_ranges", "clips_features", "population", "noise"}


def _rows(kind: _Kind, model: Any) -> int:
    """Return the number of scores: one for two classes and for numbers, one a class for more classes."""
    if not kind.classes or len(model.classes_) == 2:
        return 1
    if kind.simplex:
        raise ModelFormatError("classes must be two")
    return len(model.classes_)


def _read_ranges(model: Any, reader: _Reader, n_columns: int) -> None:
    model._clips_features = reader.flag("clips_features")
    model.feature_ranges_ = None
    if reader.state["feature_ranges"] is not None:
        ranges = reader.array("feature_ranges", 2)
        if ranges.shape != (n_columns, 2) or np.any(ranges[:, 0] > ranges[:, 1]):
            raise ModelFormatError("feature_ranges must be a pair (lower, upper) for each coefficient")
        model.feature_ranges_ = ranges


def _read_intervals(model: Any, reader: _Reader, certificate: Certificate, n_columns: int) -> None:
    """Restore what intervals of coefficients need: the law of the noise, or estimates for the population."""
    population = reader.state["population"]
    if isinstance(population, str):
        model._population = population
    elif population is not None:
        parts = _Reader(population, "population")
        parts.expect(set(PopulationEstimates._fields))
        model._population = tuple(parts.array(name, 1, length=n_columns + 1) for name in PopulationEstimates._fields)
    if reader.state["noise"] is None:
        return
    noise = _Reader(reader.state["noise"], "noise")
    noise.expect({"weighted"})
    weighted = noise.flag("weighted")
    try:
        facts = model._facts(certificate.n_samples, n_columns, names_for(model))
    except DpsparseError as error:
        raise ModelFormatError(f"the parameters are not those of a fit: {error}") from None
    if not weighted:
        facts[0]["max_weight"] = None
    keep_facts(model, facts)


def _write_noise(model: Any) -> dict[str, bool] | None:
    """Return what parameters do not say of the law of the noise on the coefficients; None where it has none."""
    try:
        facts = restated_facts(model)
    except DpsparseError:
        return None  # parameters were changed after the fit
    return None if facts is None else {"weighted": facts[0]["max_weight"] is not None}


def _write_population(kept: Any) -> Any:
    if kept is None or isinstance(kept, str):
        return kept
    return {name: part.tolist() for name, part in zip(PopulationEstimates._fields, kept, strict=True)}


class _Reader:
    """The parts of a JSON object, each checked as it is taken."""

    def __init__(self, state: Any, what: str = "state") -> None:
        if not isinstance(state, dict):
            raise ModelFormatError(f"{what} must be a JSON object")
        self.state = state
        self._what = what

    def expect(self, names: set[str]) -> None:
        if set(self.state) != names:
            raise ModelFormatError(f"{self._what} must hold {', '.join(sorted(names))}, and nothing else")

    def array(self, name: str, ndim: int, *, length: int | None = None) -> npt.NDArray[np.float64]:
        """Return numbers, or lists of them, as floats: as many as rows of one length hold, and finite."""
        listed = self.state[name]
        try:
            array = np.array(listed)
        except ValueError:
            raise ModelFormatError(f"{name} must be rows of one length") from None
        right = array.dtype.kind in "iuf" and array.ndim == ndim and (ndim == 0 or array.size > 0)
        if not right or length not in (None, array.size) or not np.all(np.isfinite(array)):
            raise ModelFormatError(f"{name} must be numbers, finite and of the shape that the model has")
        return array.astype(np.float64)

    def count(self, name: str) -> int:
        value = self.state[name]
        if type(value) is not int or value < 0:
            raise ModelFormatError(f"{name} must be an integer that is not negative")
        return value

    def flag(self, name: str) -> bool:
        value = self.state[name]
        if type(value) is not bool:
            raise ModelFormatError(f"{name} must be true or false")
        return value

    def classes(self) -> npt.NDArray[Any]:
        labels = read_labels(self.state["classes"])
        try:
            sorted_labels = np.unique(labels)
        except TypeError:
            raise ModelFormatError("classes must be labels that sort") from None
        if len(labels) < 2 or not np.array_equal(sorted_labels, labels):
            raise ModelFormatError("classes must be two or more different labels, sorted")
        return labels

    def features(self, model: Any, n_columns: int) -> None:
        """Set the number and the names of the features: with a schema, its attributes."""
        n_features, names = self.count("n_features"), self.state["feature_names"]
        if names is not None:
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ModelFormatError("feature_names must be text")
            model.feature_names_in_ = np.array(names, dtype=object)
        model.n_features_in_ = n_features
        if self.state["schema"] is not None:
            schema = _schema(self.state["schema"])
            if names != list(schema.attributes) or n_features != len(schema) or schema.n_columns != n_columns:
                raise ModelFormatError("schema, feature_names, n_features and coef must agree")
            keep_table(model, schema)
        elif n_features != n_columns or (names is not None and len(names) != n_columns):
            raise ModelFormatError("feature_names, n_features and coef must agree")


def _schema(written: Any) -> Schema:
    if not isinstance(written, dict):
        raise ModelFormatError("schema must be a JSON object")
    try:
        schema = Schema.from_json(written)
        schema.terms  # noqa: B018  # raises for skeletons
    except (InvalidArgumentError, TypeError, ValueError, KeyError, AttributeError) as error:
        text = str(error) if isinstance(error, InvalidArgumentError) else "it is no Table Schema"
        raise ModelFormatError(f"the schema: {text}") from None
    return schema
