"""The public facts about a table, and the bounded numbers that its rows become."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsparse._core import InvalidArgumentError, InvalidDataError
from dpsparse._validation import flag, texts
from dpsparse.tables import frictionless
from dpsparse.tables._column import Column, Term
from dpsparse.tables._values import Table, Values
from dpsparse.tables.skeleton import columns_of

if TYPE_CHECKING:
    from dpsparse.tables.encoder import SchemaEncoder

__all__ = ["Schema", "encode_narrow"]

#: More columns than this become a CSR matrix where at most one entry in _SPARSE_SHARE can differ from zero.
_DENSE_COLUMNS = 1000
#: Rows that are encoded at once.
_PIECE = 2**16
_SPARSE_SHARE = 8


class Schema:
    """Public facts about the columns of a table; see :mod:`dpsparse.tables`.

    Stateless: a row is encoded by itself, whatever the other rows are. Columns of a table that the schema does not name
    are ignored. Tables are data frames of pandas and polars, tables of pyarrow, mappings of names to sequences, and
    structured arrays of numpy. Schemas compare by value, hash, copy and pickle.

    Parameters
    ----------
    columns : mapping of str to Number, Category, Boolean, Ordinal or Date
        The attributes, in the order in which they are encoded.
    person : str, optional
        A further column, of text or of integers, that says whose a row is. Fits then keep at most
        ``records_per_person`` rows of each person, as the Notes say; it is not encoded, and predictions do not need it.
    missing_values : sequence of str, default ("",)
        Text that stands for a missing value in every column.

    Notes
    -----
    **Types of columns are public.** The type (dtype) of every column of a table is taken as a public fact that does not
    follow from the records. Libraries that infer it from cells break that: ``np.array([1, 2, "x"])`` makes text of all
    cells, and one missing cell makes a column of integers floats, so that one record changes how others are encoded.
    State types where tables are made; the command line reads text by the schema.

    **Rows of one person.** With ``person`` a fit keeps the first ``records_per_person`` rows of each person in an order
    of independent random keys, one for each row, drawn without a look at the data. Which rows of a person are kept
    depends on that person's rows and keys alone. Take two tables that differ by one person's rows, however many, and
    give the rows that they share the same keys: what is kept differs by at most ``records_per_person`` rows. So what is
    (epsilon, delta)-private for so many rows under add-remove is so for all rows of a person, as long as no two persons
    share a value: certificates say so. The number of rows kept depends on who owns how many: it is private, and stays
    so under ``adjacency="add-remove"`` with ``n_public``. Under replace-one it would be taken as public, and fits
    refuse.

    Examples
    --------
    >>> from dpsparse.tables import Boolean, Category, Number, Schema
    >>> schema = Schema({
    ...     "age": Number(17, 90, unit="years"),
    ...     "education": Category(["none", "school", "degree"], other="other", reference="none"),
    ...     "insured": Boolean(),
    ...     "visits": Number(0, 100, missing="flag"),
    ... })
    >>> table = {"age": [30, 99], "education": ["degree", "none"], "insured": [True, False], "visits": [3, None]}
    >>> schema.encode(table)
    array([[30.,  0.,  1.,  0.,  1.,  3.,  0.],
           [90.,  0.,  0.,  0.,  0., 50.,  1.]])
    >>> schema.get_feature_names_out()[1:4].tolist()
    ['education=school', 'education=degree', 'education=other']
    >>> schema.groups
    [[0], [1, 2, 3], [4], [5, 6]]
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    def __init__(
        self, columns: Mapping[str, Column], *, person: str | None = None, missing_values: Any = ("",)
    ) -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise InvalidArgumentError("columns must be a mapping of column names to their kinds, with one or more")
        for name, column in columns.items():
            if not isinstance(name, str) or not name:
                raise InvalidArgumentError("names of columns must be text")
            if not isinstance(column, Column):
                raise InvalidArgumentError(
                    f"column {name!r} must be a Number, Category, Boolean, Ordinal or Date, got {type(column).__name__}"
                )
        if person is not None and (not isinstance(person, str) or person in columns):
            raise InvalidArgumentError("person must name a column that is not one of the attributes")
        stands = texts("missing_values", missing_values)
        self._columns = dict(columns)
        self._person = person
        self._missing_values = stands
        for name, column in columns.items():
            levels = getattr(column, "levels", None)
            if levels and set(levels) & set(stands):
                raise InvalidArgumentError(f"column {name!r}: missing_values holds one of its levels")
        if not self.unfilled:
            names = [term.name for term in self.terms]
            if len(set(names)) < len(names):
                raise InvalidArgumentError("names of columns and levels make two encoded columns of one name")

    # --- what it says ---

    @property
    def columns(self) -> Mapping[str, Column]:
        """The attributes and their kinds, in order; read only."""
        return MappingProxyType(self._columns)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes, in order."""
        return tuple(self._columns)

    @property
    def person(self) -> str | None:
        """The column that says whose a row is; None where there is none."""
        return self._person

    @property
    def missing_values(self) -> tuple[str, ...]:
        """Text that stands for a missing value."""
        return self._missing_values

    @cached_property
    def unfilled(self) -> dict[str, str]:
        """What is still to be stated, by the name of the column, as after :meth:`skeleton`."""
        left = {name: column.unfilled() for name, column in self._columns.items()}
        return {name: what for name, what in left.items() if what is not None}

    def without(self, *names: str) -> Self:
        """Return the schema without some of its columns, such as a target."""
        for name in names:
            if not isinstance(name, str) or name not in self._columns:
                raise InvalidArgumentError(f"the schema has no column {name!r}")
        left = {name: column for name, column in self._columns.items() if name not in names}
        return type(self)(left, person=self._person, missing_values=self._missing_values)

    # --- what it tells mechanisms ---

    @cached_property
    def _terms(self) -> tuple[tuple[Term, ...], ...]:
        if self.unfilled:
            left = "; ".join(f"column {name!r}: {what}" for name, what in self.unfilled.items())
            raise InvalidArgumentError(f"the schema is a skeleton, still to be stated: {left}")
        return tuple(tuple(column.terms(name)) for name, column in self._columns.items())

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The encoded columns: attribute, level, bounds, unit and reference of each."""
        return tuple(term for block in self._terms for term in block)

    @property
    def n_columns(self) -> int:
        """Number of encoded columns."""
        return len(self.terms)

    @property
    def bounds(self) -> npt.NDArray[np.float64]:
        """Public bounds of the encoded columns, of shape (n_columns, 2), in the units of the table."""
        return np.array([(term.lower, term.upper) for term in self.terms], dtype=np.float64)

    @property
    def groups(self) -> list[list[int]]:
        """Indices of the encoded columns of each attribute, in order."""
        ends = np.cumsum([0, *map(len, self._terms)]).tolist()
        return [list(range(start, stop)) for start, stop in pairwise(ends)]

    @cached_property
    def row_norm(self) -> float:
        """Public bound on the Euclidean norm of an encoded row, each column divided by its largest absolute bound.

        These are the scaled units of mechanisms that use the norm of a row (``row_norm=`` of an estimator): one for
        each attribute at most, and little more with flags. It says nothing about features that are centred.
        """
        self.terms  # noqa: B018  # raises for skeletons
        return float(np.sqrt(sum(column.squared_norm() for column in self._columns.values())))

    @cached_property
    def one_hot(self) -> list[tuple[int, int]]:
        """Blocks of encoded columns of which at most one is 1 and the others are 0, whatever the values are.

        First column and last + 1 of each, in order: fits keep such a block as one code a row.
        """
        starts = [indices[0] for indices in self.groups]
        columns = zip(starts, self._columns.values(), strict=True)
        return [(start + first, start + last) for start, column in columns for first, last in column.one_hot()]

    @cached_property
    def is_sparse(self) -> bool:
        """Whether rows become a CSR matrix: more than 1000 columns, of which at most one in eight can be non-zero."""
        most = sum(column.most_nonzero() for column in self._columns.values()) if self.terms else 0
        return self.n_columns > _DENSE_COLUMNS and _SPARSE_SHARE * most <= self.n_columns

    # --- what it does ---

    def encode(self, frame: Any, *, sparse: bool | None = None) -> npt.NDArray[np.float64] | sp.csr_array:
        """Encode the rows of a table.

        Parameters
        ----------
        frame : data frame, pyarrow table, mapping or structured array
            With the columns of the schema, and any others.
        sparse : bool, optional
            Whether to return a CSR matrix. None: ``is_sparse``.

        Returns
        -------
        ndarray or csr_array of shape (n_rows, n_columns)
            float64, within ``bounds``.

        Raises
        ------
        InvalidTypeError
            For what is no table, and for columns of another type than the schema says.
        InvalidDataError
            For columns that are not there, and for values that are missing where they must not be;
            ``UnknownLevelError`` for levels outside the schema. Messages name the column and no value.
        """
        return self._encode(frame, self.is_sparse if sparse is None else flag("sparse", sparse), np.float64)

    def _encode(self, frame: Any, sparse: bool, dtype: npt.DTypeLike) -> Any:
        self.terms  # noqa: B018  # raises for skeletons
        table = Table(frame, self._missing_values)
        columns = [(table[name], column) for name, column in self._columns.items()]
        if sparse:
            blocks = []
            for values, column in columns:
                rows = [sp.csr_array(block) for _, block in _pieces(column, values, table.n_rows)]
                blocks.append(rows[0] if len(rows) == 1 else sp.vstack(rows, format="csr"))
            return sp.hstack(blocks, format="csr")
        encoded = np.empty((table.n_rows, self.n_columns), dtype=dtype)
        for (values, column), indices in zip(columns, self.groups, strict=True):
            own = encoded[:, indices[0] : indices[-1] + 1]
            for start, block in _pieces(column, values, table.n_rows):
                own[start : start + block.shape[0]] = block.toarray() if sp.issparse(block) else block
        return encoded

    def encoder(self, *, sparse_output: bool | str = "auto") -> SchemaEncoder:
        """Return a stateless scikit-learn transformer that encodes tables; see :class:`SchemaEncoder`."""
        from dpsparse.tables.encoder import SchemaEncoder  # encoders import schemas, and scikit-learn

        return SchemaEncoder(self, sparse_output=sparse_output)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the encoded columns: attributes, and ``"attribute=level"``."""
        return np.array([term.name for term in self.terms], dtype=object)

    # --- as JSON, and from a table's names and types ---

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the schema as a Frictionless Table Schema.

        Bounds, levels and whether values are required are constraints; what else there is are properties that other
        readers ignore.
        """
        return frictionless.dump(self, indent)

    @classmethod
    def from_json(cls, source: str | Path | Mapping[str, Any]) -> Self:
        """Read a Frictionless Table Schema.

        Fields without bounds or levels are left to be filled in (``unfilled``).

        Parameters
        ----------
        source : str, Path or mapping
            JSON text, the path of a file, or what JSON was parsed to.

        Raises
        ------
        InvalidArgumentError
            For what is no Table Schema, and for types of fields that no kind of column reads.
        MissingFileError
            For text that is neither JSON of a schema nor the path of a file that is there.
        """
        return cls(**frictionless.load(source))

    @classmethod
    def skeleton(cls, frame: Any) -> Self:
        """Return a schema to fill in, from the names and types of a table's columns alone.

        No value is read. Numbers have no bounds yet, text and categories no levels, dates no range: ``unfilled`` lists
        them, and nothing is encoded before they are stated. Categories that a column's type lists are left out: as a
        rule they were read from the data. Objects, whose type nothing tells, are taken for text.

        Raises
        ------
        InvalidTypeError
            For what is no table, and for types that no kind of column takes.
        """
        return cls(columns_of(frame))

    # --- a value ---

    def _parts(self) -> tuple[Any, ...]:
        return tuple(self._columns.items()), self._person, self._missing_values

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, Schema) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._columns, self._person, self._missing_values)

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __repr__(self) -> str:
        lines = "".join(f"    {name!r}: {column!r},\n" for name, column in self._columns.items())
        more = "" if self._person is None else f", person={self._person!r}"
        if self._missing_values != ("",):
            more += f", missing_values={list(self._missing_values)!r}"
        return f"Schema({{\n{lines}}}{more})"


def _pieces(column: Column, values: Values, n_rows: int) -> Iterator[tuple[int, Any]]:
    """Encode some rows of a column after the others, with the first row of each piece.

    What is made of cells on the way, lists and dictionaries of them above all, takes many times the room of what they
    become: it is that of a piece.
    """
    for start in range(0, max(n_rows, 1), _PIECE):
        try:
            block = column.encode(values.rows(start, start + _PIECE))
        except InvalidDataError:
            break
        yield start, block
    else:
        return
    # Of several things that are wrong with a column the one that is told must not depend on where a piece ends.
    yield 0, column.encode(values)


def encode_narrow(schema: Schema, frame: Any) -> Any:
    """Encode the rows of a table as :meth:`Schema.encode` does, as bytes where public facts say that these hold all.

    One-hot tables take an eighth of the memory of doubles then; the core reads bytes as they are.
    """
    whole = all(column.is_whole() for column in schema.columns.values())
    return schema._encode(frame, schema.is_sparse if schema.terms else False, np.int8 if whole else np.float64)


def _restored(kind: type[Schema], columns: Any, person: str | None, missing_values: tuple[str, ...]) -> Schema:
    return kind(columns, person=person, missing_values=missing_values)
