"""Records on several machines, as estimators see them: shapes and names, and how to reach them."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from dpsparse import _core
from dpsparse._core import InvalidArgumentError
from dpsparse.distributed._recipe import Recipe

if TYPE_CHECKING:
    from dpsparse.tables import Schema

__all__ = ["Column", "Engine", "Session", "Shards"]


class Session(Protocol):
    """One release's way to the workers."""

    @property
    def n_shards(self) -> int:
        """Number of shards, at least one."""

    def ask(self, script: _core.Script) -> list[bytes]:
        """Return the replies of all shards to the newest request of a script."""

    def close(self) -> None:
        """Let the workers forget."""


class Engine(Protocol):
    """Where the raw parts are."""

    #: Most that is said about them, in ``repr``.
    kind: str

    def session(self, key: str, recipe: Recipe, y: Any, weights: Any) -> Session:
        """Start a session, for parts with a recipe, and targets and weights beside them where they are no columns."""

    def beside(self, values: Any, what: str) -> Any:
        """Check values that stand beside the records, part by part; return them as :meth:`session` takes them."""


class Column:
    """Targets or weights on the workers: of a name, or beside the records. Nothing here holds a value.

    Parameters
    ----------
    what : str
        "y" or "sample_weight".
    name : str, optional
        Column of the table.
    beside : object, optional
        What the engine says of values beside the records.
    """

    def __init__(self, what: str, name: str | None = None, beside: Any = None) -> None:
        self.what = what
        self.name = name
        self.beside = beside
        #: The public labels of a classifier.
        self.labels: npt.NDArray[Any] | None = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Refuse to become an array: the values stay on the workers."""
        raise InvalidArgumentError(
            f"{self.what} is on other machines, and this estimator goes through all records at once, which must be in "
            "memory of one machine"
        )


class Shards:
    """Records whose parts stay on the workers of a cluster, which answer integer sums.

    Made by :func:`from_dask` and :func:`from_spark`.

    Parameters
    ----------
    engine : Engine
        Where the parts are.
    n_samples, n_features : int
        Rows of all parts, columns of each.
    names : sequence of str, optional
        Names of the columns. None: they have none.

    Attributes
    ----------
    shape : tuple (n_samples, n_features)
        Of all parts together.
    names : tuple of str or None
        Names of the columns.

    Examples
    --------
    >>> import dask.array as da
    >>> from dpsparse.distributed import from_dask
    >>> from_dask(da.zeros((6, 2), chunks=(3, 2)))
    Shards(6 records, 2 features, on dask workers)
    """

    def __init__(self, engine: Engine, n_samples: int, n_features: int, names: tuple[str, ...] | None = None) -> None:
        self.shape = (int(n_samples), int(n_features))
        self.names = names
        self._engine = engine
        self._recipe = Recipe(int(n_features), names)

    def __repr__(self) -> str:
        return f"Shards({self.shape[0]} records, {self.shape[1]} features, on {self._engine.kind} workers)"

    def with_column(self, what: str, values: Any) -> tuple[Shards, Column]:
        """Take targets or weights: a column of the table by its name, or values that stand beside the records.

        Returns
        -------
        tuple (shards, column)
            The records without the column, and the column.

        Raises
        ------
        InvalidArgumentError
            Where there is no column of the name, or values are not on the workers, part by part as the records are.
        """
        if not isinstance(values, str):
            return self, Column(what, beside=self._engine.beside(values, what))
        if self.names is None or values not in self.names:
            raise InvalidArgumentError(f"{what} names the column {values!r:.60}, which the records do not have")
        left = tuple(name for name in self.names if name != values)
        return Shards(self._engine, self.shape[0], len(left), left), Column(what, name=values)

    def encoded(self, schema: Schema) -> Shards:
        """Encode tables part by part by a public schema, on the workers."""
        names = tuple(str(name) for name in schema.get_feature_names_out())
        made = Shards(self._engine, self.shape[0], len(names), names)
        made._recipe = replace(made._recipe, schema=schema)
        return made

    def records(self, y: Any = None, weights: Any = None) -> tuple[str, tuple[int, int], Session]:
        """Return what the core takes: records with their targets and weights, and a session that asks for them."""
        recipe = replace(
            self._recipe,
            target=None if y is None else y.name,
            labels=None if y is None else y.labels,
            weight=None if weights is None else weights.name,
        )
        sides = [None if column is None else column.beside for column in (y, weights)]
        return "shards", self.shape, self._engine.session(uuid.uuid4().hex, recipe, *sides)
