"""What a worker makes of its part of the raw records: features, targets and weights, each row by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import column_or_1d

from dpsparse._core import InvalidDataError
from dpsparse.blocks import Blocks

if TYPE_CHECKING:
    from dpsparse.tables import Schema

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """How a part becomes what the core reads; public, and pickled to the workers.

    Parameters
    ----------
    n_features : int
        Columns of the features.
    names : tuple of str, optional
        Names of their columns in a table. None: parts are arrays.
    schema : Schema, optional
        Encodes tables.
    target, weight : str, optional
        Columns of the table that hold them. None: they come beside it, or not at all.
    labels : ndarray, optional
        The public labels of a classifier, sorted. None: targets are numbers.
    """

    n_features: int
    names: tuple[str, ...] | None = None
    schema: Schema | None = None
    target: str | None = None
    weight: str | None = None
    labels: npt.NDArray[Any] | None = None

    def __call__(self, part: Any, y: Any = None, weights: Any = None) -> tuple[Any, Any, Any]:
        """Return features of shape (rows, n_features), targets and weights or None, both of shape (rows,).

        Raises
        ------
        InvalidDataError
            For rows, targets or weights that are unusable, as where they are in memory.
        """
        y = _column(part, self.target) if self.target is not None else y
        weights = _column(part, self.weight) if self.weight is not None else weights
        features = self._features(part)
        rows = len(features)
        return features, np.ones(rows) if y is None else self._targets(y, rows), _weights(weights, rows)

    def _features(self, part: Any) -> npt.NDArray[Any]:
        names = self.names
        if self.schema is not None:
            part, names = self.schema.encode(part, sparse=False), None
        # Of sparse parts too, which blocks refuse.
        rows = part.shape[0] if hasattr(part, "shape") else len(part)
        blocks = Blocks(lambda: [part], rows, self.n_features, names=names)
        features: npt.NDArray[Any] = next(blocks.arrays())
        return features

    def _targets(self, y: Any, rows: int) -> npt.NDArray[np.float64]:
        # Estimators import this package.
        from dpsparse.estimators._columns import check_target
        from dpsparse.estimators._linear import encode_many_labels
        from dpsparse.estimators._sklearn_checks import without_values

        checked = check_target(y, numbers=self.labels is None)
        array = without_values(lambda: column_or_1d(checked, warn=False))
        if len(array) != rows:
            raise InvalidDataError("blocks and y must hold as many records")
        if self.labels is None:
            numbers: npt.NDArray[np.float64] = without_values(lambda: np.asarray(array, dtype=np.float64))
            return np.ascontiguousarray(numbers)
        return np.ascontiguousarray(encode_many_labels(array, self.labels)[1])


def _weights(weights: Any, rows: int) -> npt.NDArray[np.float64] | None:
    if weights is None:
        return None
    from dpsparse.estimators._weights import checked_weights  # as above

    return np.ascontiguousarray(checked_weights(weights, rows))


def _column(part: Any, name: str) -> Any:
    """The values of a column of a table of pandas or arrow.

    Raises
    ------
    InvalidDataError
        Where the part does not have it.
    """
    if name not in list(part.column_names if hasattr(part, "column_names") else part.columns):
        raise InvalidDataError(f"a part of the records has no column {name!r:.60}")
    from dpsparse.estimators._sklearn_checks import without_values  # as above

    return without_values(lambda: part.column(name).to_numpy()) if hasattr(part, "column_names") else part[name]
