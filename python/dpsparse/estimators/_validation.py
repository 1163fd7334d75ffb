"""Checks of records and bounds, shared by the estimators: typed errors that hold no data value."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d, validate_data

from dpsparse._core import InvalidArgumentError, InvalidDataError
from dpsparse._validation import ADJACENCIES, choice, positive_integer
from dpsparse.blocks import Blocks
from dpsparse.distributed import Shards, from_dask
from dpsparse.distributed._dask import is_dask
from dpsparse.distributed._shards import Column
from dpsparse.estimators._bounds import bound_arrays as bound_arrays
from dpsparse.estimators._columns import check_columns, check_target
from dpsparse.estimators._sklearn_checks import without_values
from dpsparse.estimators._tables import encoded, keep_table, kept, schema_of
from dpsparse.estimators._weights import checked_weights

#: Beside floats, types of dense records that the core reads as they are: doubles hold all of their values.
_NARROW = [np.dtype(kind) for kind in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32")]


def public_count(adjacency: Any, n_public: Any, n_samples: int) -> int:
    """Return the number of records that may be used as public: ``n_public`` under add-remove, else the true one."""
    if choice("adjacency", adjacency, ADJACENCIES) == "add-remove":
        if n_public is None:
            raise InvalidArgumentError("n_public must be given under add-remove, where the true count is private")
        return positive_integer("n_public", n_public)
    if n_public is not None:
        raise InvalidArgumentError("n_public is used under adjacency='add-remove' only; leave it at None")
    return n_samples


def seed(random_state: Any) -> int | None:
    """Return None for fresh randomness from the operating system, else a seed: reproducible and not private."""
    if random_state is None:
        return None
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    try:
        state = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            "random_state must be None, an integer in [0, 2**32), a RandomState or a Generator"
        ) from error
    return int(state.randint(2**31 - 1))


def checked_ledger(ledger: Any) -> Any:
    """Return what commits the cost of a release, or None where nobody keeps it."""
    if ledger is None or all(callable(getattr(ledger, name, None)) for name in ("admits", "commit")):
        return ledger
    raise InvalidArgumentError("ledger must be a dpsparse.privacy.Ledger or an Accountant with a budget")


def records(X: Any, schema: Any = None) -> Any:
    """Return what the Rust core takes: an array, or the parts of a compressed matrix.

    A schema tells which columns of an array it encoded are one-hot blocks.
    """
    if isinstance(X, Blocks):
        return "blocks", X.shape, X.arrays, X.directory
    if not sp.issparse(X):
        # As bytes: those of a boolean array may be other than 0 and 1.
        X = X.view(np.uint8) if X.dtype == np.bool_ else X
        blocks = [] if schema is None else schema.one_hot
        return ("one-hot", X, blocks) if blocks else X
    indptr, indices = X.indptr, X.indices
    if indptr.dtype != indices.dtype or indptr.dtype not in (np.int32, np.int64):
        indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
    # scikit-learn hands back sparse frames of truth values and integers as they are.
    data = X.data if X.dtype in (np.float64, np.float32) else X.data.astype(np.float64)
    return X.format, X.shape, indptr, indices, data


def core_arguments(X: Any, targets: Any = None, weights: Any = None, schema: Any = None) -> tuple[Any, Any, Any]:
    """Return records, targets and weights as the Rust core takes them: on other machines they come together."""
    if isinstance(X, Shards):
        return X.records(targets, weights), np.zeros(0), None
    return records(X, schema), targets, weights


def real_targets(y: Any) -> Any:
    """Return the targets of a regression as doubles; those on other machines become it there."""
    return y if isinstance(y, Column) else without_values(lambda: np.asarray(y, dtype=np.float64))


def _dtypes(X: Any) -> list[Any]:
    """Types that X is read as it is in: doubles first, which others are converted to.

    The core reads narrow integers without a copy where all of X is of one type of numpy's, in the machine's byte order.
    """
    if sp.issparse(X):
        return [np.float64, np.float32]
    kinds = set(X.dtypes) if hasattr(X, "iloc") else {getattr(X, "dtype", None)}
    kind = kinds.pop() if len(kinds) == 1 else None
    if isinstance(kind, np.dtype) and kind in _NARROW:
        return [kind]
    return [np.float64, np.float32]


def read(estimator: Any, X: Any, *y: Any) -> Any:
    """Return X, or X and y, as scikit-learn's ``validate_data`` has them: dense, CSR or CSC, of float64 or float32.

    Dense ones of booleans or of integers of at most 32 bits stay what they are.

    Finiteness is checked in the pass that clips; scikit-learn would read the data a second time. With a schema X is a
    table, and comes back encoded, without the rows beyond ``records_per_person`` where the schema names persons.
    """
    return _read(estimator, X, y, None)[0]


def read_weighted(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Return X, y and the weights of the records, or None for these: as :func:`read` has them."""
    (X, y), weights = _read(estimator, X, (y,), sample_weight)
    return X, y, weights


def _read(estimator: Any, X: Any, y: tuple[Any, ...], sample_weight: Any) -> tuple[Any, Any]:
    schema = schema_of(estimator)
    if is_dask(X):
        X = from_dask(X)
    if isinstance(X, Shards):
        return _read_shards(estimator, X, y, sample_weight, schema)
    if isinstance(X, Blocks):
        return _read_blocks(estimator, X, y, sample_weight, schema)
    table, X = X, X if schema is None else encoded(schema, X)
    X = check_columns(X)
    y = tuple(check_target(target, numbers=is_regressor(estimator)) for target in y)
    options = {"accept_sparse": ["csr", "csc"], "dtype": _dtypes(X), "ensure_all_finite": False}
    arrays = without_values(lambda: validate_data(estimator, X, *y, **options))
    weights = None if sample_weight is None else checked_weights(sample_weight, arrays[0].shape[0])
    keep_table(estimator, schema)
    if schema is None or schema.person is None:
        return arrays, weights
    all_of = arrays if y else (arrays,)
    if weights is not None:
        all_of = (*all_of, weights)
    left = kept(estimator, schema, table, all_of, seed(estimator.random_state))
    if weights is not None:
        *left, weights = left
    return left if y else left[0], weights


def _read_blocks(estimator: Any, X: Blocks, y: tuple[Any, ...], sample_weight: Any, schema: Any) -> tuple[Any, Any]:
    """Read blocks as :func:`_read` has records in memory; a target may be the name of a column of theirs."""
    _refuse_persons(schema)
    _refuse_empty(X)
    targets = []
    for target in y:
        values = target
        if isinstance(target, str):
            X, values = X.with_target(target)
        targets.append(_target(estimator, values, X.shape[0]))
    if schema is not None:
        X = X.encoded(schema)
    weights = None if sample_weight is None else checked_weights(sample_weight, X.shape[0])
    _keep_features(estimator, X)
    keep_table(estimator, schema)
    return ((X, *targets) if targets else X), weights


def _read_shards(estimator: Any, X: Shards, y: tuple[Any, ...], sample_weight: Any, schema: Any) -> tuple[Any, Any]:
    """Take records on other machines as :func:`_read_blocks` reads blocks: targets and weights stay beside them."""
    _refuse_persons(schema)
    _refuse_empty(X)
    targets = []
    for target in y:
        X, column = X.with_column("y", target)
        targets.append(column)
    weights = None
    if sample_weight is not None:
        X, weights = X.with_column("sample_weight", sample_weight)
    if schema is not None:
        X = X.encoded(schema)
    _keep_features(estimator, X)
    keep_table(estimator, schema)
    return ((X, *targets) if targets else X), weights


def _refuse_persons(schema: Any) -> None:
    if schema is not None and schema.person is not None:
        raise InvalidArgumentError(
            "a schema with a person column takes tables in memory: the rows of a person are chosen among all records"
        )


def _refuse_empty(X: Blocks | Shards) -> None:
    """Nobody can be asked about no records: what comes later speaks of parameters, or of workers without replies."""
    if X.shape[0] == 0:
        raise InvalidDataError("X must have at least one record")


def _keep_features(estimator: Any, X: Blocks | Shards) -> None:
    """scikit-learn's check of the features alone, of no record; what is wrong with these is said as they are read."""
    names = None if X.names is None else np.array(X.names, dtype=object)
    estimator.n_features_in_ = X.shape[1]
    if names is not None:
        estimator.feature_names_in_ = names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _target(estimator: Any, y: Any, n_samples: int) -> npt.NDArray[Any]:
    checked = check_target(y, numbers=is_regressor(estimator))
    array: npt.NDArray[Any] = without_values(lambda: column_or_1d(checked, warn=True))
    if len(array) != n_samples:
        raise InvalidDataError("blocks and y must hold as many records")
    return array
