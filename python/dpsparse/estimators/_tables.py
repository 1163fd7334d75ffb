"""What a schema of a table tells a private estimator, and the records that it makes of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array, validate_data

from dpsparse._core import InvalidArgumentError, InvalidDataError, UnsoundMechanismError
from dpsparse._validation import positive_integer
from dpsparse.blocks import Blocks
from dpsparse.errors import InvalidTypeError
from dpsparse.estimators._bounds import bound_arrays
from dpsparse.estimators._columns import check_columns
from dpsparse.estimators._sklearn_checks import without_values
from dpsparse.losses import CustomLoss
from dpsparse.mechanisms import FrankWolfe, PenalisedFrankWolfe, SelectRefit, resolve
from dpsparse.polytopes import DisjointGroups

if TYPE_CHECKING:
    from dpsparse.tables import Schema

__all__ = [
    "coefficient_names",
    "column_count",
    "encoded",
    "feature_bounds",
    "keep_table",
    "kept",
    "person_assumptions",
    "read_again",
    "read_encoded",
    "schema_of",
    "table_norm",
    "table_row_norm",
]

#: The room rounds features to 1/16383 and would shorten a row at its bound: this is more than rounding can add.
_ROUNDING = 1.0 + 1e-4
#: Groups of a norm that are the attributes of the schema.
_GROUPS = "groups"


def schema_of(estimator: Any) -> Schema | None:
    """Return the schema of an estimator, checked with its other parameters; None where it has none.

    Raises
    ------
    InvalidArgumentError
        For what is no schema, for a skeleton, and where ``bounds`` are stated too.
    UnsoundMechanismError
        For a schema with ``person`` under replace-one.
    """
    schema = getattr(estimator, "schema", None)
    if schema is None:
        return None
    from dpsparse.tables import Schema

    if not isinstance(schema, Schema):
        raise InvalidArgumentError(f"schema must be a Schema of dpsparse.tables, got {type(schema).__name__}")
    if estimator.bounds is not None:
        raise InvalidArgumentError("bounds must be None with a schema, which states them")
    schema.terms  # noqa: B018  # raises for skeletons
    if schema.person is not None and estimator.adjacency != "add-remove":
        raise UnsoundMechanismError(
            "a schema with person= leaves out rows, as many as people own beyond records_per_person: under replace-one "
            "the number of records would be public, and it tells of people. Use adjacency='add-remove' with n_public "
            "and delta; or leave person out, where nobody owns more than records_per_person rows"
        )
    return schema


def feature_bounds(estimator: Any, names: Sequence[str] | None = None) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return lower and upper bounds of the columns of records: the schema's, or those of ``bounds``."""
    schema = schema_of(estimator)
    if schema is None:
        return bound_arrays(estimator.bounds, names)
    lower, upper = schema.bounds.T
    return np.ascontiguousarray(lower), np.ascontiguousarray(upper)


def column_count(estimator: Any, n_features: Any) -> int:
    """Return the number of columns of records: the schema's, or ``n_features``.

    Raises
    ------
    InvalidArgumentError
        Where neither says, or both and differ.
    """
    schema = schema_of(estimator)
    if schema is None:
        if n_features is None:
            raise InvalidArgumentError("n_features must be given: no schema says how many features there are")
        return positive_integer("n_features", n_features)
    if n_features is not None and positive_integer("n_features", n_features) != schema.n_columns:
        raise InvalidArgumentError(f"n_features must be None with a schema: it has {schema.n_columns} encoded columns")
    return schema.n_columns


def table_norm(estimator: Any) -> Any:
    """Return the norm; ``"groups"`` means a group for each attribute of the schema.

    Raises
    ------
    InvalidArgumentError
        For ``"groups"`` without a schema.
    """
    if not isinstance(estimator.norm, str) or estimator.norm != _GROUPS:
        return estimator.norm
    schema = schema_of(estimator)
    if schema is None:
        raise InvalidArgumentError("norm='groups' means the attributes of a schema: state one, or DisjointGroups(...)")
    return DisjointGroups(schema.groups)


def table_row_norm(estimator: Any) -> Any:
    """Return the estimator's ``row_norm``, else the schema's where it is right and of use; None elsewhere.

    The schema's bounds a row of features that are divided by their largest absolute bounds, as mechanisms with
    Euclidean noise scale them. Frank-Wolfe over most norms and "select-refit" centre features, and private ranges move
    them: it says nothing there. "auto" drops it where it centres or moves them, but not for all losses and norms.
    Whether it holds is a matter of use, not of privacy: longer rows would be shortened.
    """
    schema = schema_of(estimator)
    if schema is None or estimator.row_norm is not None:
        return estimator.row_norm
    named = type(resolve(estimator.mechanism, estimator))
    euclidean = isinstance(estimator.norm, str) and estimator.norm == "linf"
    grouped = isinstance(table_norm(estimator), DisjointGroups)
    own_loss = isinstance(estimator.loss, CustomLoss) or callable(estimator.loss)
    l1 = isinstance(estimator.norm, str) and estimator.norm == "l1"
    if named in (FrankWolfe, PenalisedFrankWolfe):
        used = euclidean or grouped
    elif named is SelectRefit:
        used = False
    elif isinstance(estimator.mechanism, str) and estimator.mechanism == "auto":
        used = euclidean or (l1 and not own_loss)
    else:
        used = estimator.scale != "private"
    if not used or (schema.is_sparse and _excludes_zero(schema)):
        # Rows of a sparse matrix whose zeros lie outside the bounds are not shortened.
        return None
    return schema.row_norm * _ROUNDING


def _excludes_zero(schema: Schema) -> bool:
    return any(not term.lower <= 0.0 <= term.upper for term in schema.terms)


def person_assumptions(estimator: Any) -> list[str]:
    """Return what a certificate rests on where the schema says whose a row is."""
    schema = schema_of(estimator)
    if schema is None or schema.person is None:
        return []
    return [
        f"rows of one person have one value in the column {schema.person!r}, by which they were capped, and rows of "
        "different persons have different ones"
    ]


def kept(estimator: Any, schema: Schema, X: Any, arrays: Any, seed: int | None) -> Any:
    """Return checked arrays without rows beyond ``records_per_person`` of a person."""
    from dpsparse.tables.person import kept_rows

    most = positive_integer("records_per_person", estimator.records_per_person)
    rows = kept_rows(schema, X, most, seed)
    return tuple(array[rows] for array in arrays)


def encoded(schema: Schema, X: Any) -> Any:
    """Return the rows of a table as fits read them: bytes, where all of the schema's columns are whole numbers."""
    from dpsparse.tables.schema import encode_narrow

    return encode_narrow(schema, X)


def keep_table(estimator: Any, schema: Schema | None) -> None:
    """Keep the schema with a fitted estimator; features are its attributes."""
    vars(estimator).pop("schema_", None)
    if schema is not None:
        estimator.schema_ = schema
        estimator.n_features_in_ = len(schema)
        estimator.feature_names_in_ = np.array(schema.attributes, dtype=object)


def read_again(estimator: Any, X: Any) -> Any:
    """Return X for a fitted estimator, as ``validate_data`` has it: float64, dense, CSR or CSC; a table encoded."""
    if isinstance(X, Blocks):
        raise InvalidTypeError("X is blocks: fits take them, predictions take one table in memory after the other")
    schema = getattr(estimator, "schema_", None)
    if schema is not None:
        return schema.encode(X)
    X = check_columns(X)
    options = {"accept_sparse": ["csr", "csc"], "dtype": np.float64, "reset": False}
    return without_values(lambda: validate_data(estimator, X, **options))


def read_encoded(estimator: Any, X: Any, n_columns: int) -> Any:
    """Return X, whose columns are encoded already where the estimator was fitted with a schema."""
    X = check_columns(X)
    if not hasattr(estimator, "schema_"):
        return without_values(lambda: validate_data(estimator, X, dtype=np.float64, reset=False))
    X = without_values(lambda: check_array(X, dtype=np.float64))
    if X.shape[1] != n_columns:
        raise InvalidDataError(f"X has {X.shape[1]} columns; the schema encodes {n_columns}")
    return X


def coefficient_names(estimator: Any, n_columns: int) -> npt.NDArray[np.object_]:
    """Return the names of encoded columns, else those of the features, else x0, x1, ..., as scikit-learn has them."""
    schema = getattr(estimator, "schema_", None)
    if schema is not None:
        return np.asarray(schema.get_feature_names_out())
    names = getattr(estimator, "feature_names_in_", None)
    return np.array([f"x{j}" for j in range(n_columns)], dtype=object) if names is None else np.asarray(names)
