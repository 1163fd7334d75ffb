"""Which estimator a command means, by public facts alone: options, and what the schema says of the target."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError, InvalidDataError
from dpsparse.errors import UnknownLevelError
from dpsparse.tables import Boolean, Category, Number, Schema
from dpsparse.tables._column import Column
from dpsparse.tables._values import Table, Values
from dpsparse.tables.category import level_codes

__all__ = ["Task", "task_of"]

_STATE = (
    "the target is not described{}: state --classes or --y-bounds, describe the column in the schema, or, to read the "
    "labels from the column, which the certificate then assumes to be public, --task classification"
)
#: Options that are parameters of the estimator, under the same name.
_PARAMETERS = (
    "delta",
    "mechanism",
    "loss",
    "norm",
    "radius",
    "alpha",
    "adjacency",
    "n_public",
    "records_per_person",
)
_TRUTH = {"true", "false"}


@dataclass(frozen=True)
class Task:
    """What is to be learnt, and of which columns.

    Attributes
    ----------
    name : {"classification", "regression", "counts"}
        What is learnt.
    features : Schema
        The columns that are learnt from.
    target : Column or None
        What is public about the target; None: labels are read from it.
    parameters : mapping
        Of the estimator.
    said_by : str
        What describes the target: an option, or the schema.
    """

    name: str
    features: Schema
    target: Column | None
    parameters: Mapping[str, Any]
    said_by: str

    def estimator(self, **parameters: Any) -> Any:
        """Return the estimator, with further parameters."""
        import dpsparse

        kinds = {
            "classification": dpsparse.PrivateSparseClassifier,
            "regression": dpsparse.PrivateSparseRegressor,
            "counts": dpsparse.PrivateSparsePoissonRegressor,
        }
        return kinds[self.name](schema=self.features, **self.parameters, **parameters)

    def targets(self, table: Any, name: str) -> npt.NDArray[Any]:
        """Return labels, or numbers, of a column of a table.

        Raises
        ------
        InvalidDataError
            For values that are missing or of another type, and for labels that are not public ones.
        """
        values = Table(table, self.features.missing_values)[name]
        if self.target is None:
            return _as_they_are(values, name)
        if isinstance(self.target, Number):
            numbers = values.numbers()
            if np.isnan(numbers).any():
                raise _missing(name)
            return numbers
        codes = _known(self.target)
        beyond = None if self.target.other is None else codes[self.target.other]  # type: ignore[attr-defined]
        missing = len(codes)  # a number that no label has
        try:
            numbered = level_codes(values, codes, missing, beyond)
        except UnknownLevelError:
            raise InvalidDataError(
                f"column {name!r}, the target, holds labels that {self.said_by} does not list: all of them must stand "
                "there, as they are written in the table"
            ) from None
        if (numbered == missing).any():
            raise _missing(name)
        return np.array(_labels_of(self.target))[numbered]


def task_of(arguments: argparse.Namespace, schema: Schema) -> Task:
    """Return the task that options and schema state; no record is read.

    Raises
    ------
    InvalidArgumentError
        Where they do not say what the target is, or contradict each other.
    """
    named = arguments.target if arguments.target in schema.columns else None
    target = _stated(arguments) or (None if named is None else schema[named])
    if target is not None and target.unfilled() is not None:
        raise InvalidArgumentError(f"column {named!r} of the schema is still to be stated: {target.unfilled()}")
    if target is None and arguments.task != "classification":
        unknown = "" if arguments.target is None else f", and the schema has no column {arguments.target!r}"
        raise InvalidArgumentError(_STATE.format(unknown))
    name = _task_name(arguments.task, target)
    parameters = {name: getattr(arguments, name) for name in _PARAMETERS if getattr(arguments, name) is not None}
    if name == "counts" and "loss" in parameters:
        raise InvalidArgumentError("--loss is not for counts, whose loss is the Poisson deviance")
    if isinstance(target, Number):
        parameters["y_bounds"] = (target.low, target.high)
    elif target is not None:
        parameters["classes"] = _labels_of(target)
    said_by = "the schema" if arguments.classes is None else "--classes"
    return Task(name, schema if named is None else schema.without(named), target, parameters, said_by)


def _stated(arguments: argparse.Namespace) -> Column | None:
    """Return what options say of the target."""
    if arguments.y_bounds is not None:
        return Number(*arguments.y_bounds)
    if arguments.classes is None:
        return None
    if {label.lower() for label in arguments.classes} == _TRUTH:
        return Boolean()
    whole = all(label.lstrip("-").isdecimal() for label in arguments.classes)
    return Category([int(label) for label in arguments.classes] if whole else arguments.classes)


def _task_name(asked: str | None, target: Column | None) -> str:
    if target is None:
        return "classification"
    numbers = isinstance(target, Number)
    if not numbers and not hasattr(target, "other"):
        raise InvalidArgumentError("a target holds numbers, labels or truth values, not dates")
    if asked is None:
        return "regression" if numbers else "classification"
    if numbers == (asked == "classification"):
        raise InvalidArgumentError(f"--task {asked} does not go with what is said of the target")
    return asked


def _labels_of(column: Column) -> list[Any]:
    """Return the public labels of a target, what stands for all others among them."""
    if isinstance(column, Boolean):
        return [False, True]
    labels = list(column.levels)  # type: ignore[attr-defined]
    other = column.other  # type: ignore[attr-defined]
    if other is not None and other not in labels:
        labels.append(other)
    if len({type(label) for label in labels}) > 1:
        raise InvalidArgumentError("levels and other of the target must be all text or all integers")
    return labels


def _known(column: Column) -> dict[Any, int]:
    """Return the number of each label, and of text that stands for it."""
    if isinstance(column, Boolean):
        texts = dict.fromkeys(column.false_values, 0) | dict.fromkeys(column.true_values, 1)
        return {False: 0, True: 1, **texts}
    return {label: code for code, label in enumerate(_labels_of(column))}


def _as_they_are(values: Values, name: str) -> npt.NDArray[Any]:
    """Return labels that nobody declared, as the estimator reads them."""
    labels = values.labels(None, "labels")
    if any(label is None for label in labels.different):
        raise _missing(name)
    return np.array(labels.different)[labels.which]


def _missing(name: str) -> InvalidDataError:
    return InvalidDataError(
        f"column {name!r}, the target, has missing values: leave out their records by a public rule"
    )
