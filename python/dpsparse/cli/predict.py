"""``dpsparse predict``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dpsparse._core import InvalidArgumentError
from dpsparse.cli._command import Commands, command

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "predict",
        run,
        help="predict with a model, for the rows of a table",
        description="""Predict labels, numbers or rates for the rows of a table, in their order. Predictions for other
        records cost no privacy; they tell of the rows that they are made for.""",
        examples=[
            "dpsparse predict model.json new.csv -o predictions.csv",
            "dpsparse predict model.json new.parquet --proba -o predictions.parquet",
            "zcat new.csv.gz | dpsparse predict model.json - | head",
        ],
    )
    parser.add_argument("model", metavar="MODEL", help="a model that fit wrote")
    parser.add_argument(
        "table", metavar="TABLE", help="CSV with a first line of names, or Parquet; - is CSV from stdin"
    )
    parser.add_argument("--proba", action="store_true", help="a column of probabilities for each class instead")
    parser.add_argument(
        "-o", "--output", default="-", metavar="OUT", help="CSV, or Parquet (.parquet); default: CSV on stdout"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write predictions."""
    from dpsparse import models
    from dpsparse.cli._output import check_writable, write_columns

    check_writable(arguments.output)
    model = models.load(Path(arguments.model))  # text is no model here: a wrong path is an error about a path
    if arguments.proba and not hasattr(model, "predict_proba"):
        raise InvalidArgumentError("--proba needs a classifier with the logistic loss")
    records = _records(model, arguments.table)
    if arguments.proba:
        probabilities = model.predict_proba(records).T
        columns = {f"probability_{label}": row for label, row in zip(model.classes_, probabilities, strict=True)}
    else:
        columns = {"prediction": model.predict(records)}
    write_columns(arguments.output, columns)
    return 0


def _records(model: Any, path: str) -> Any:
    """Return the rows of a table as the model takes them: by its schema, by names, or all columns in their order."""
    import numpy as np

    from dpsparse.cli._tables import numbers_of, read_names, read_table
    from dpsparse.tables._values import Table

    schema = getattr(model, "schema_", None)
    if schema is not None:
        return read_table(path, numbers_of(schema), schema.missing_values)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        if path == "-":
            raise InvalidArgumentError("the model knows no names of features: its table must be a file")
        names = read_names(path)
        if len(names) != model.n_features_in_:
            raise InvalidArgumentError(f"the model takes {model.n_features_in_} features; the table has {len(names)}")
    else:
        del model.feature_names_in_  # the array below has its columns, and no names
    table = Table(read_table(path, dict.fromkeys(names, True)))
    return np.column_stack([table[name].numbers() for name in names])
