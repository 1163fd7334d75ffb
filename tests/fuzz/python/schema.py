"""Schemas from outside: read or refused as InvalidArgumentError. What is read is written to an equal one, and encodes
tables of odd columns within its bounds or refuses them, by the documented errors, whose words hold no value."""

import json

import numpy as np
import pandas as pd
import polars as pl

from dpsparse import InvalidArgumentError, InvalidDataError
from dpsparse.tables import Schema

from .choices import Choices, edited

#: A value of people that no message may hold.
MARK = "zq9zq"

_REQUIRED = {"required": True}
_FIELDS = [
    {"name": "age", "type": "number", "constraints": {"minimum": 18, "maximum": 90, **_REQUIRED}, "unit": "years"},
    {"name": "visits", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "missing": "flag"},
    {"name": "smoker", "type": "boolean"},
    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}, "reference": "f"},
    {"name": "born", "type": "date", "constraints": {"minimum": "1950-01-01", "maximum": "2010-12-31"}},
]
_ORIGINALS = [
    {"fields": _FIELDS, "missingValues": ["", "NA"]},
    {"fields": [*_FIELDS[:2], {"name": "who", "type": "string"}], "person": "who"},
    {"fields": [{**_FIELDS[0], "bins": [30, 50]}, {**_FIELDS[3], "coding": "one-hot", "missing": "level"}]},
    {"fields": [{**_FIELDS[0], "knots": [30, 40, 60]}, {**_FIELDS[3], "other": "other", "missing": "level"}]},
]
_CELLS = (
    *(None, True, 0, 1, -1, 2.5, 20, 1e300, float("nan"), float("inf"), 10**30, "f", "m", "", "NA", "2000-02-30"),
    *(
        "2000-01-01",
        MARK,
        b"f",
        [MARK],
        {MARK: 1},
        1j,
        np.float32(3),
        np.datetime64("2000-01-01"),
        np.datetime64("NaT"),
    ),
    *(pd.NaT, pd.NA, pd.Timestamp("2001-02-03", tz="UTC"), "\ud800", np.array([MARK]), object),
)


def run(data: bytes) -> None:
    choices = Choices(data)
    if choices.below(4) == 0:
        errors = choices.pick(("replace", "surrogateescape"))
        source = "{" + choices.rest().decode("utf-8", errors=errors)
    else:
        source = edited(choices.pick(_ORIGINALS), choices)
    try:
        schema = Schema.from_json(source)
    except InvalidArgumentError:
        return
    assert Schema.from_json(schema.to_json()) == schema
    if schema.unfilled:
        return
    bounds = schema.bounds
    assert bounds.shape == (schema.n_columns, 2)
    assert np.isfinite(bounds).all()
    assert (bounds[:, 0] <= bounds[:, 1]).all()
    assert schema.row_norm >= 0
    if schema.n_columns > 10_000 or MARK in json.dumps(source):
        return
    try:
        x = schema.encode(_table(schema, choices), sparse=False)
    except (InvalidArgumentError, InvalidDataError) as refused:
        words = str(refused)
    else:
        words = ""
        assert x.shape[1] == schema.n_columns
        assert np.isfinite(x).all()
        assert ((bounds[:, 0] <= x) & (x <= bounds[:, 1])).all()
    assert MARK not in words, words


def _table(schema: Schema, choices: Choices):
    """A table of a few rows, whose columns are of one kind of cell as a rule."""
    names = list(schema.attributes)
    if choices.below(16) == 0:
        names.pop()
    rows = choices.below(4)
    columns = {}
    for name in names:
        cells = [choices.pick(_CELLS)] * rows if choices.byte() & 1 else [choices.pick(_CELLS) for _ in range(rows)]
        kind = choices.below(6)
        if kind == 0:
            columns[name] = cells
            continue
        try:
            made = np.empty(rows, dtype=object)
            made[:] = cells
            columns[name] = made if kind < 3 else made.astype(choices.pick(("f8", "U4", "i4", "?", "M8[D]", "c16")))
        except (TypeError, ValueError, OverflowError):
            columns[name] = cells
    try:
        frame = choices.pick((dict, pd.DataFrame, pl.DataFrame))(columns)
    except Exception:  # what another package makes no frame of
        return columns
    return frame
