"""Records that come in blocks: larger than memory, in files, or handed out piece by piece.

``fit`` of the private estimators takes :class:`Blocks` in the place of X. The model is the one that a fit of the same
records in memory gives, bit for bit for a seed. Blocks are read once, clipped and kept as integers of two bytes an
entry: in memory, or in nameless files of ``directory``, which go when the fit ends, however it ends. Then memory holds
some 60 bytes a record, and what is read and written by blocks: for dense blocks of doubles about three times a block.
Parquet adds a page and a dictionary of each column; datasets of arrow add what arrow reads ahead, a few row groups.
Where private scales come first there are two copies of the integers, one after the map.

A search reads them for every part of the records anew, and refuses blocks that are not the same ones, in the same
order, whenever they are read.

Mechanisms that minimise exactly, sample, or go through records one after the other (output perturbation, objective
perturbation, dual Frank-Wolfe, sgd-output, select-refit for classes) need all integers in memory: they take blocks
without a directory.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError, InvalidDataError
from dpsparse._validation import is_whole, texts
from dpsparse.errors import InvalidTypeError, MissingFileError, MissingPackageError, SecretStateError

if TYPE_CHECKING:
    from pathlib import Path

    from dpsparse.tables import Schema

__all__ = ["Blocks", "from_arrays", "from_arrow", "from_iterables", "from_parquet"]

#: Entries of a block, where nothing else is said: 64 MB of doubles.
_ENTRIES = 2**23
_FACTORY = "factory must be a function that returns an iterable of blocks, anew at each call"
_SPARSE = "X is sparse: hand it to fit as it is, which keeps it so, or blocks of X.toarray()"
_DIRECTORY = "directory must be None or the path of a directory that exists"


class Blocks:
    """Records in blocks of consecutive rows, the same ones in the same order whenever they are asked for.

    Made by :func:`from_arrays`, :func:`from_parquet`, :func:`from_arrow` and :func:`from_iterables`.

    Parameters
    ----------
    factory : callable
        Returns an iterator of blocks: arrays of shape (rows, n_features), or tables with the columns ``names``.
    n_samples, n_features : int
        Rows of all blocks, columns of each.
    names : sequence of str, optional
        Names of the columns, all different. None: they have none.
    column : callable, optional
        Returns the values of the column of a name, for targets that stand beside the features.
    directory : str or path, optional
        Where integers are kept in nameless files. None: in memory.

    Attributes
    ----------
    shape : tuple (n_samples, n_features)
        Of all blocks together.
    names : tuple of str or None
        Names of the columns.
    directory : str or None
        Where integers are kept.

    Raises
    ------
    InvalidArgumentError
        For names that are not one a column and different, numbers of rows or columns that are no integers, or no
        directory.
    InvalidTypeError
        For a factory that is no function.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import blocks
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> halves = blocks.from_arrays(X, rows=3)
    >>> halves.shape, [block.shape for block in halves]
    ((6, 2), [(3, 2), (3, 2)])
    """

    def __init__(
        self,
        factory: Callable[[], Iterable[Any]],
        n_samples: int,
        n_features: int,
        *,
        names: Iterable[str] | None = None,
        column: Callable[[str], npt.NDArray[Any]] | None = None,
        directory: str | Path | None = None,
    ) -> None:
        if not callable(factory):
            raise InvalidTypeError(_FACTORY)
        if column is not None and not callable(column):
            raise InvalidArgumentError("column must be None or a function from a name to an array")
        self.shape = (_not_negative("n_samples", n_samples), _not_negative("n_features", n_features))
        self.names = _checked_names(names, self.shape[1])
        self.directory = _checked_directory(directory)
        self._factory = factory
        self._column = column

    def __copy__(self) -> Blocks:
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def __deepcopy__(self, _memo: object) -> Blocks:
        return self.__copy__()

    def __getstate__(self) -> dict[str, Any]:
        made_here = (self._factory, self._column)  # within a function, as those of from_arrays, for one
        if any("<locals>" in getattr(function, "__qualname__", "") for function in made_here):
            raise SecretStateError(
                "blocks lead to records, which a pickle would lose or carry along: take the path or the array where "
                "they are wanted, and make blocks of it there"
            )
        return vars(self)

    def __iter__(self) -> Iterator[Any]:
        """Hand out the blocks, as the factory makes them."""
        made = self._factory()
        if not isinstance(made, Iterable):
            raise InvalidTypeError(_FACTORY)
        return iter(made)

    def __repr__(self) -> str:
        where = "memory" if self.directory is None else "files"
        return f"Blocks({self.shape[0]} records, {self.shape[1]} features, integers in {where})"

    def arrays(self) -> Iterator[npt.NDArray[Any]]:
        """Hand out the blocks as contiguous arrays of doubles, or of single precision where they come so.

        Raises
        ------
        InvalidDataError
            For blocks of another number of columns, without one of the names, or with entries that are no numbers.
        """
        first = None
        for block in self:
            # Columns mean what they are called, wherever they stand: without names, as in the first table.
            own = _texts_of_columns(block)
            first = own if first is None else first
            if self.names is not None or own is None:
                yield self._array(block, self.names if own is not None else None)
            elif len(own) == len(first or ()):
                yield self._array(block, first)
            else:
                raise self._misshapen()

    def _array(self, block: Any, names: tuple[str, ...] | None) -> npt.NDArray[Any]:
        if hasattr(block, "tocsr"):
            raise InvalidTypeError(_SPARSE)
        from dpsparse.estimators._columns import check_columns  # estimators import blocks

        array = _numbers(check_columns(block) if names is None else _columns(block, names))
        if array.ndim != 2 or array.shape[1] != self.shape[1]:
            raise self._misshapen()
        return array

    def _misshapen(self) -> InvalidDataError:
        return InvalidDataError(f"every block must be of shape (rows, {self.shape[1]})")

    def with_target(self, name: str) -> tuple[Blocks, npt.NDArray[Any]]:
        """Split off a column by its name.

        Returns
        -------
        tuple (blocks, values)
            The blocks without the column, and its values, of shape (n_samples,).

        Raises
        ------
        InvalidArgumentError
            Where blocks have no column of the name.
        """
        if self.names is None or self._column is None or not isinstance(name, str) or name not in self.names:
            raise InvalidArgumentError(f"y names the column {name!r:.60}, which the blocks do not have")
        left = [other for other in self.names if other != name]
        without = Blocks(
            self._factory,
            self.shape[0],
            len(left),
            names=left,
            column=self._column,
            directory=self.directory,
        )
        return without, self._column(name)

    def encoded(self, schema: Schema) -> Blocks:
        """Encode tables block by block by a public schema.

        Raises
        ------
        InvalidArgumentError
            For what is no schema.
        """
        from dpsparse.tables import Schema  # schemas need narwhals, blocks of numbers do not

        if not isinstance(schema, Schema):
            raise InvalidArgumentError(f"schema must be a dpsparse.tables.Schema, got {type(schema).__name__}")

        def factory() -> Iterator[Any]:
            return (schema.encode(block, sparse=False) for block in self._factory())

        names = schema.get_feature_names_out()
        return Blocks(factory, self.shape[0], len(names), names=names, directory=self.directory)


class Unchanged(Blocks):
    """Blocks of a fit that reads them again and again: what is no longer what it was at first is refused.

    A source that hands out other records, or the same ones in another order, puts the rows of a person beside the
    target of another, who would then stand behind more records than the fit protects. Only passes that read all are
    compared, by a checksum, which may miss what somebody made up to be missed: it is for accidents.

    Parameters
    ----------
    blocks : Blocks
        What a fit was given.
    """

    def __init__(self, blocks: Blocks) -> None:
        vars(self).update(vars(blocks))
        self._first: int | None = None

    def arrays(self) -> Iterator[npt.NDArray[Any]]:
        """Hand out the blocks as :meth:`Blocks.arrays`; wherever they are cut, a pass must be what the first one was.

        Raises
        ------
        InvalidDataError
            At the end of a pass that was another one, before anything is made of it.
        """
        checksum = 0
        for array in super().arrays():
            checksum = zlib.crc32(array.data, checksum)
            yield array
        if self._first is None:
            self._first = checksum
        if checksum != self._first:
            raise InvalidDataError(
                "blocks hold other records than they did when this fit first read them, or hold them in another order: "
                "they must be the same ones in the same order whenever they are asked for"
            )


def from_arrays(
    X: Any, *, rows: int | None = None, names: Iterable[str] | None = None, directory: str | Path | None = None
) -> Blocks:
    """Slices of an array that need not fit into memory.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Anything with ``shape`` whose slices of rows are arrays: ``numpy.memmap``, datasets of h5py or zarr.
    rows : int, optional
        Rows of a block. None: about 2**23 entries.
    names : sequence of str, optional
        Names of the columns.
    directory : str or path, optional
        Where integers are kept in nameless files. None: in memory.

    Returns
    -------
    Blocks

    Raises
    ------
    InvalidArgumentError
        For ``rows`` below 1, names that are not one a column and different, or no directory.
    InvalidDataError
        For an array that is not two-dimensional, and for a sparse matrix (``InvalidTypeError``), which ``fit`` takes
        as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseRegressor, blocks
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5_000, 3))
    >>> y = X[:, 0] / 2
    >>> facts = dict(bounds=(-1, 1), y_bounds=(-1, 1), random_state=0)
    >>> model = PrivateSparseRegressor(**facts).fit(blocks.from_arrays(X, rows=1_000), y)
    >>> np.array_equal(model.coef_, PrivateSparseRegressor(**facts).fit(X, y).coef_)
    True
    """
    if hasattr(X, "tocsr"):
        raise InvalidTypeError(_SPARSE)
    shape = getattr(X, "shape", ())
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise InvalidDataError("X must be a two-dimensional array")
    step = _rows(rows, shape[1])

    def factory() -> Iterator[Any]:
        return (X[start : start + step] for start in range(0, shape[0], step))

    return Blocks(factory, shape[0], shape[1], names=names, directory=directory)


def from_parquet(
    path: Any,
    *,
    columns: Iterable[str] | None = None,
    rows: int | None = None,
    directory: str | Path | None = None,
) -> Blocks:
    """Rows of a Parquet file, or of a folder of them; needs pyarrow.

    Memory holds a block, and a page and a dictionary of each column, however large the row groups of a file are.

    Parameters
    ----------
    path : str or path, or sequence of str
        File or folder, or several files.
    columns, rows, directory
        As in :func:`from_arrow`.

    Returns
    -------
    Blocks

    Raises
    ------
    MissingFileError
        Where there is no such file; in a fit, where it is no longer there.
    MissingPackageError
        Without pyarrow.
    InvalidTypeError
        For what is no path.
    InvalidDataError
        For a file that is no Parquet, lacks a column that the first one has, or has another kind of entries in it
        (numbers, text, dates); in a fit, for one that was written anew since or is damaged.
    InvalidArgumentError
        As of :func:`from_arrow`.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from dpsparse import PrivateSparseRegressor, blocks
    >>> table = pa.table({"age": [30.0, 40.0, 50.0] * 500, "dose": [1.0, 2.0, 4.0] * 500})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(table, f"{folder}/people.parquet")
    ...     people = blocks.from_parquet(f"{folder}/people.parquet")
    ...     model = PrivateSparseRegressor(bounds={"age": (18, 90)}, y_bounds=(0, 5)).fit(people, "dose")
    >>> model.feature_names_in_.tolist()
    ['age']
    """
    arrow = _pyarrow()
    import pyarrow as pa

    named = os.fspath(path) if isinstance(path, os.PathLike) else path
    several = isinstance(named, list | tuple) and bool(named) and all(isinstance(one, str) for one in named)
    if not several and (not isinstance(named, str) or not named):
        raise InvalidTypeError(f"path must be text or a path, of a file or of a folder; got {type(path).__name__}")
    # Arrow would keep all of a file that it has read of a column.
    by_parts = arrow.ParquetFileFormat(default_fragment_scan_options=arrow.ParquetFragmentScanOptions(pre_buffer=False))
    try:
        dataset = arrow.dataset(list(named) if several else named, format=by_parts)
    except FileNotFoundError:
        raise MissingFileError(f"path names no file that is there: {named!r:.200}") from None
    except IsADirectoryError:
        raise InvalidArgumentError("path must name one folder, or several files: name each file of a folder") from None
    except (ValueError, pa.ArrowException) as error:  # for damaged files; they tell of bytes, not of records
        raise InvalidDataError(f"path names what cannot be read as Parquet: {named!r:.200}") from error
    return _of_dataset(dataset, _streamed, columns, rows, directory)


def from_arrow(
    dataset: Any,
    *,
    columns: Iterable[str] | None = None,
    rows: int | None = None,
    directory: str | Path | None = None,
) -> Blocks:
    """Rows of a dataset or table of pyarrow.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset or pyarrow.Table
        Records, with the target among the columns or without it: ``fit(blocks, "name")`` takes a column as y.
    columns : sequence of str, optional
        These columns alone. None: all.
    rows : int, optional
        Most rows of a block. None: about 2**23 entries.
    directory : str or path, optional
        Where integers are kept in nameless files. None: in memory.

    Returns
    -------
    Blocks

    Raises
    ------
    InvalidArgumentError
        For ``rows`` below 1, no directory, or columns that are not there or twice.
    InvalidTypeError
        For what is neither a dataset nor a table.
    InvalidDataError
        For a dataset that cannot be read, or a file of it without one of the columns or with another kind of entries in
        one; in a fit, for a file that was written anew since. No message holds a value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dpsparse import blocks
    >>> blocks.from_arrow(pa.table({"age": [30.0, 40.0], "dose": [1.0, 2.0]}))
    Blocks(2 records, 2 features, integers in memory)
    """
    arrow = _pyarrow()
    if hasattr(dataset, "column_names") and not hasattr(dataset, "count_rows"):
        dataset = arrow.InMemoryDataset(dataset)
    if not hasattr(dataset, "count_rows"):
        raise InvalidTypeError("dataset must be a pyarrow dataset or table")
    return _of_dataset(dataset, _scanned, columns, rows, directory)


def _of_dataset(
    dataset: Any,
    batches: Callable[[Any, list[str], int], Iterator[Any]],
    columns: Iterable[str] | None,
    rows: int | None,
    directory: str | Path | None,
) -> Blocks:
    """Rows of a dataset as ``batches`` reads columns of it, so many rows at a time."""
    known = list(dataset.schema.names)
    names = known if columns is None else list(texts("columns", columns))
    missing = [name for name in names if name not in known]
    if missing:
        raise InvalidArgumentError(f"columns names {missing[0]!r:.60}, which the dataset does not have")
    step = _rows(rows, len(names))

    stamps = _read(lambda: _stamps(dataset))

    def factory() -> Iterator[Any]:
        _check_stamps(dataset, stamps)
        read = _read(lambda: batches(dataset, names, step))
        yield from iter(lambda: _read(lambda: next(read, None)), None)
        _check_stamps(dataset, stamps)

    def column(name: str) -> npt.NDArray[Any]:
        _check_stamps(dataset, stamps)
        values: npt.NDArray[Any] = _read(lambda: dataset.to_table(columns=[name]).column(name).to_numpy())
        _check_stamps(dataset, stamps)
        return values

    n_samples = _read(dataset.count_rows)
    _read(lambda: _check_fragments(dataset, names))
    return Blocks(_tables(factory), n_samples, len(names), names=names, column=column, directory=directory)


def from_iterables(
    factory: Callable[[], Iterable[Any]],
    *,
    n_samples: int | None = None,
    n_features: int | None = None,
    names: Iterable[str] | None = None,
    directory: str | Path | None = None,
) -> Blocks:
    """Blocks that a function makes, anew at each call.

    Parameters
    ----------
    factory : callable
        Returns an iterable of arrays of shape (rows, n_features), or of tables for a schema: the same ones at each
        call.
    n_samples, n_features : int, optional
        Rows of all blocks, and columns. None: the blocks are gone through once to count them.
    names : sequence of str, optional
        Names of the columns.
    directory : str or path, optional
        Where integers are kept in nameless files. None: in memory.

    Returns
    -------
    Blocks

    Raises
    ------
    InvalidTypeError
        For a factory that is no function, or returns nothing to go through.
    InvalidDataError
        Where blocks are counted: for none at all, and for what is not two-dimensional.
    InvalidArgumentError
        For numbers of rows or columns that are no integers, names that are not one a column and different, or no
        directory.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import blocks
    >>> blocks.from_iterables(lambda: (np.full((2, 3), k) for k in range(4)))
    Blocks(8 records, 3 features, integers in memory)
    """
    if n_samples is None or n_features is None:
        shapes = [np.shape(block) for block in Blocks(factory, 0, 0)]
        if not shapes or any(len(shape) != 2 for shape in shapes):
            raise InvalidDataError("blocks must be two-dimensional, and at least one")
        n_samples = sum(shape[0] for shape in shapes) if n_samples is None else n_samples
        n_features = shapes[0][1] if n_features is None else n_features
    return Blocks(factory, n_samples, n_features, names=names, directory=directory)


def _scanned(dataset: Any, names: list[str], step: int) -> Iterator[Any]:
    """Record batches of a dataset, of at most so many rows."""
    # Arrow reads ahead by what is asked for, and its threads by up to a gigabyte where blocks are taken slowly.
    ahead = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
    return iter(dataset.to_batches(columns=names, batch_size=step, **ahead))


#: Bytes that are read of a column of Parquet at a time.
_BUFFER = 2**16


def _streamed(dataset: Any, names: list[str], step: int) -> Iterator[Any]:
    """The same of Parquet files: where arrow scans them as datasets, it holds whole row groups, of which one may be a
    whole file, and as many more as its threads read ahead."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    schema = pa.schema([(name, dataset.schema.field(name).type) for name in names])
    for fragment in dataset.get_fragments():
        with fragment.open() as opened:
            file = ParquetFile(opened, pre_buffer=False, buffer_size=_BUFFER)
            if _not_once(names, file.schema_arrow.names):
                raise InvalidDataError("a file of the dataset no longer has each of the columns once")
            for batch in file.iter_batches(step, columns=names, use_threads=False):
                # By name: to arrow one may stand for all parts of a column, and it promises no order.
                yield from pa.Table.from_batches([batch]).select(names).cast(schema).to_batches()


def _tables(factory: Callable[[], Iterator[Any]]) -> Callable[[], Iterator[Any]]:
    """Record batches as tables, which schemas encode."""

    def tables() -> Iterator[Any]:
        import pyarrow as pa

        return (pa.Table.from_batches([batch]) for batch in factory() if batch.num_rows)

    return tables


def _read(step: Callable[[], Any]) -> Any:
    """Take a step of reading a dataset; arrow's errors come out as ours, as some show an entry."""
    from pyarrow import ArrowException

    try:
        return step()
    except FileNotFoundError as error:
        raise MissingFileError("a file of the dataset is no longer there") from error
    except OSError as error:
        if error.errno is not None:  # the system's: it names a file
            raise
    except ArrowException as error:
        if isinstance(error, MemoryError):
            raise
    raise InvalidDataError(
        "the dataset cannot be read: a file is damaged or no Parquet, or a column has another type in a later file "
        "than in the first one"
    )  # outside the except clause: nothing is chained


def _stamps(dataset: Any) -> dict[str, tuple[int | None, int | None]]:
    """Size and time of each file of a dataset that is there; parts in memory are none."""
    files = (fragment for fragment in dataset.get_fragments() if getattr(fragment, "path", None))
    stamps: dict[str, tuple[int | None, int | None]] = {}
    for system, some in groupby(files, key=attrgetter("filesystem")):
        # All at once: a system far away takes as long for one.
        found = system.get_file_info([fragment.path for fragment in some])
        stamps.update((one.path, (one.size, one.mtime_ns)) for one in found if one.is_file)
    return stamps


def _check_stamps(dataset: Any, stamps: dict[str, tuple[int | None, int | None]]) -> None:
    """Refuse files that were written anew since: the target is read apart from the features, and whoever stood behind
    two records would be protected half as well."""
    now = _read(lambda: _stamps(dataset))
    if any(now.get(path, stamp) != stamp for path, stamp in stamps.items()):
        raise InvalidDataError(
            "a file of the dataset has changed since its blocks were made, or is damaged: make the blocks anew"
        )


def _not_once(names: Iterable[str], there: Iterable[str]) -> list[str]:
    """The names that are not there, or more than once."""
    times = Counter(there)
    return [name for name in names if times[name] != 1]


def _check_fragments(dataset: Any, names: Iterable[str]) -> None:
    """Refuse files without one of the columns, for which arrow hands out missing values: nobody has measured those."""
    from pyarrow.dataset import get_partition_keys

    for fragment in dataset.get_fragments():
        schema = fragment.physical_schema
        there = [*schema.names, *get_partition_keys(fragment.partition_expression)]
        path = getattr(fragment, "path", None)
        # Folders may be called after values: "city=Paris".
        shown = path if path is None or "=" not in path else path.rpartition("/")[2]
        where = "a part of the dataset" if shown is None else repr(shown)[-200:]
        wrong = _not_once(names, there)
        if wrong:
            if wrong[0] in there:
                raise InvalidDataError(f"{where} has several columns of the name {wrong[0]!r:.60}: names must differ")
            raise InvalidDataError(
                f"{where} has no column {wrong[0]!r:.60}, which another file has; if it is missing for all of these "
                "rows, write it with missing values"
            )
        # The target may be any other column.
        for name in set(schema.names) & set(dataset.schema.names) - set(_not_once(schema.names, there)):
            own, first = schema.field(name).type, dataset.schema.field(name).type
            if not _alike(own, first):
                raise InvalidDataError(
                    f"{where} has {own} in the column {name!r:.60}, where the first file has {first}: write all files "
                    "with one type"
                )


def _alike(one: Any, other: Any) -> bool:
    """Whether entries of two types mean the same once arrow has made one of the other: numbers of any size, say."""
    kinds = {_kind(one), _kind(other)}
    return len(kinds) == 1 or "null" in kinds


def _kind(of: Any) -> str:
    from pyarrow import types

    if types.is_dictionary(of):
        return _kind(of.value_type)
    if types.is_integer(of) or types.is_floating(of) or types.is_decimal(of):
        return "number"
    if types.is_string(of) or types.is_large_string(of) or types.is_string_view(of):
        return "text"
    if types.is_date(of) or types.is_timestamp(of):
        return "date"
    return str(of)  # "null" where there is nothing in the whole file


def _texts_of_columns(block: Any) -> tuple[str, ...] | None:
    """Names of the columns of a table, where they are text; None of arrays, and of frames with numbers for names."""
    if hasattr(block, "column_names"):  # a table of arrow
        return tuple(block.column_names)
    if not (hasattr(block, "columns") and hasattr(block, "dtypes")):
        return None
    names = tuple(block.columns)
    return names if all(isinstance(name, str) for name in names) else None


def _columns(block: Any, names: tuple[str, ...]) -> Any:
    """The columns of a table with these names, in their order."""
    there = _texts_of_columns(block) or ()
    missing = [name for name in names if name not in there]
    if missing:
        raise InvalidDataError(f"a block has no column {missing[0]!r:.60}")
    from dpsparse.estimators._columns import check_columns  # as above
    from dpsparse.estimators._sklearn_checks import without_values

    if not hasattr(block, "column_names"):
        return check_columns(block[list(names)])
    parts = without_values(lambda: [block.column(name).to_numpy(zero_copy_only=False) for name in names])
    return np.column_stack([_numbers(part) for part in parts]) if parts else block


def _numbers(values: Any) -> npt.NDArray[Any]:
    from dpsparse.estimators._columns import of_objects  # as above
    from dpsparse.estimators._sklearn_checks import without_values

    array = without_values(lambda: np.asarray(values))
    if array.dtype.kind == "O":  # as decimals are, and truth values with missing ones
        array = of_objects("blocks", array)
    if array.dtype.kind not in "biuf":
        raise InvalidTypeError("blocks must hold numbers; categories and text need a schema")
    kind = np.float32 if array.dtype in (np.float32, np.float16) else np.float64
    with np.errstate(all="ignore"):  # numpy warns of a long double that no double is near
        return np.ascontiguousarray(array, dtype=kind)


def _rows(rows: int | None, n_features: int) -> int:
    if rows is None:
        return max(1, _ENTRIES // max(1, n_features))
    if not is_whole(rows) or rows < 1:
        raise InvalidArgumentError("rows must be an integer of at least 1")
    return int(rows)


def _not_negative(name: str, value: Any) -> int:
    if not is_whole(value) or not 0 <= value < 2**62:
        raise InvalidArgumentError(f"{name} must be an integer that is not negative")
    return int(value)


def _checked_names(names: Iterable[str] | None, n_features: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    wanted = f"different texts, one for each of the {n_features} columns"
    every = texts("names", names, wanted)
    if len(every) != n_features or len(set(every)) < len(every):
        raise InvalidArgumentError(f"names must be {wanted}")
    return every


def _checked_directory(directory: str | Path | None) -> str | None:
    if directory is None:
        return None
    if not isinstance(directory, str | os.PathLike) or not os.path.isdir(directory):
        raise InvalidArgumentError(_DIRECTORY)
    return os.fspath(directory)


def _pyarrow() -> Any:
    try:
        from pyarrow import dataset
    except ImportError as error:
        raise MissingPackageError("blocks of Parquet and arrow need pyarrow: pip install pyarrow") from error
    return dataset
