"""A schema as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin

from dpsparse._core import InvalidArgumentError
from dpsparse.tables.schema import Schema

__all__ = ["SchemaEncoder"]


class SchemaEncoder(TransformerMixin, BaseEstimator):
    """Encode tables by a public schema: a transformer that learns nothing, for pipelines and ``ColumnTransformer``.

    What follows needs the bounds of the encoded columns: give it ``encoder.bounds``. ``schema=`` of a private estimator
    does that by itself, and hands more over.

    Parameters
    ----------
    schema : Schema
        The public facts. Its ``person`` is not looked at: no rows are left out.
    sparse_output : bool or "auto", default "auto"
        Whether to return a CSR matrix. "auto": ``schema.is_sparse``.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from dpsparse import PrivateSparseClassifier
    >>> from dpsparse.tables import Category, Number, Schema
    >>> encoder = Schema({"age": Number(17, 90), "sector": Category(["public", "private"])}).encoder()
    >>> model = make_pipeline(encoder, PrivateSparseClassifier(bounds=encoder.bounds, classes=("no", "yes")))
    >>> encoder.transform({"age": [40], "sector": ["private"]})
    array([[40.,  1.]])
    """

    def __init__(self, schema: Schema, *, sparse_output: bool | str = "auto") -> None:
        self.schema = schema
        self.sparse_output = sparse_output

    @property
    def bounds(self) -> npt.NDArray[np.float64]:
        """Public bounds of the encoded columns, of shape (n_columns, 2)."""
        return self._schema.bounds

    @property
    def groups(self) -> list[list[int]]:
        """Indices of the encoded columns of each attribute."""
        return self._schema.groups

    @property
    def row_norm(self) -> float:
        """Public bound on the Euclidean norm of an encoded row in scaled units, as of :class:`Schema`."""
        return self._schema.row_norm

    @property
    def n_features_in_(self) -> int:
        """Number of attributes: columns of a table beyond them are ignored."""
        return len(self._schema)

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Names of the attributes."""
        return np.array(self._schema.attributes, dtype=object)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing but check the parameters: X and y are not read."""
        self._options()
        return self

    def transform(self, X: Any) -> Any:
        """Encode the rows of a table.

        Parameters
        ----------
        X : data frame, pyarrow table, mapping or structured array
            With the columns of the schema.

        Returns
        -------
        ndarray or csr_array of shape (n_rows, n_columns)
            As :meth:`Schema.encode`.

        Raises
        ------
        DpsparseError
            As :meth:`Schema.encode`.
        """
        schema, sparse = self._options()
        return schema.encode(X, sparse=sparse)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the encoded columns; ``input_features`` is not used."""
        return self._schema.get_feature_names_out()

    @property
    def _schema(self) -> Schema:
        if not isinstance(self.schema, Schema):
            raise InvalidArgumentError(f"schema must be a Schema, got {type(self.schema).__name__}")
        return self.schema

    def _options(self) -> tuple[Schema, bool | None]:
        given = self.sparse_output
        if isinstance(given, bool):
            return self._schema, given
        if not isinstance(given, str) or given != "auto":
            raise InvalidArgumentError("sparse_output must be True, False or 'auto'")
        return self._schema, None

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags
