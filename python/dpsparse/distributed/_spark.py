"""Shards in the Python processes of Spark's executors, reached by ``mapInArrow``.

Spark may run a partition in any process, so a shard that a process does not hold is read there anew, with all public
requests so far: each request is a pass of Spark over the partitions, and a second one for those that were not found.
Processes hold shards of the session that asked last. ``spark.python.worker.reuse`` (Spark's default) keeps processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dpsparse import _core
from dpsparse._core import DpsparseError, InvalidArgumentError, InvalidDataError, WorkersError
from dpsparse.distributed import _held
from dpsparse.distributed._failures import computed
from dpsparse.distributed._recipe import Recipe
from dpsparse.distributed._shards import Shards

__all__ = ["from_spark"]

_ANSWERS = "partition long, failed string, answer binary"


def from_spark(frame: Any) -> Shards:
    """Records of a data frame of Spark, each partition a shard on an executor.

    ``fit`` then takes y, and ``sample_weight``, as names of columns. Classifiers need ``classes``: labels are not read.
    The model is the one of the records in memory, in the order of the partitions, bit for bit for a seed.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Records. Partitions must hold the same rows in the same order whenever they are computed, or they are refused:
        read files, or ``persist()`` what was shuffled. Rows are counted once.

    Returns
    -------
    Shards

    Raises
    ------
    InvalidArgumentError
        For what is no data frame of Spark.
    InvalidDataError
        For columns of one name, and where Spark cannot compute a partition.

    Examples
    --------
    >>> from dpsparse.distributed import from_spark
    >>> from_spark([[1.0, 2.0]])
    Traceback (most recent call last):
    ...
    dpsparse.InvalidArgumentError: frame must be a data frame of pyspark
    """
    if not (type(frame).__module__.startswith("pyspark.") and hasattr(frame, "mapInArrow")):
        raise InvalidArgumentError("frame must be a data frame of pyspark")
    if len(set(frame.columns)) < len(frame.columns):
        raise InvalidDataError("frame has several columns of one name: names must differ")
    engine = _Spark(frame)
    return Shards(engine, sum(engine.counts.values()), len(frame.columns), tuple(frame.columns))


def _each(frame: Any, answer: Callable[[int, Callable[[], Any]], bytes | None]) -> dict[int, bytes]:
    """What a function answers of each partition, on its executor; it gets its number, and its rows where it asks.

    An error of the package comes back as the same error: Spark would show its traceback alone.
    """

    def answers(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        rows = list(batches)  # a process that leaves rows unread is ended by Spark, with all that it holds
        schema = pa.schema([("partition", pa.int64()), ("failed", pa.string()), ("answer", pa.binary())])
        failed = None
        try:
            found = answer(number, lambda: pa.Table.from_batches(rows) if rows else None)
        except DpsparseError as error:
            failed, found = type(error).__name__, str(error).encode()
        if found is not None:
            yield pa.RecordBatch.from_arrays(
                [pa.array([number]), pa.array([failed], pa.string()), [found]], schema=schema
            )

    found = {}
    for row in computed(lambda: frame.mapInArrow(answers, _ANSWERS).collect(), (), "collect() of the frame"):
        if row.failed is not None:
            import dpsparse

            raise getattr(dpsparse, row.failed, DpsparseError)(bytes(row.answer).decode())
        found[row.partition] = bytes(row.answer)
    return found


class _Spark:
    """The partitions of a data frame."""

    kind = "spark"

    def __init__(self, frame: Any) -> None:
        self._frame = frame

        def count(_: int, rows: Callable[[], Any]) -> bytes | None:
            table = rows()
            return None if table is None else str(table.num_rows).encode()

        #: Rows of each partition that has some.
        self.counts = {number: int(rows) for number, rows in sorted(_each(frame, count).items())}

    def beside(self, values: Any, what: str) -> Any:
        raise InvalidArgumentError(f"{what} must be the name of a column of the data frame")

    def session(self, key: str, recipe: Recipe, y: Any, weights: Any) -> _Session:
        return _Session(self._frame, key, recipe, {number: k for k, number in enumerate(self.counts)})


class _Session:
    """One release's way to the shards."""

    def __init__(self, frame: Any, key: str, recipe: Recipe, numbers: dict[int, int]) -> None:
        self._frame = frame
        self._key = key
        self._recipe = recipe
        #: Numbers of shards, by those of their partitions.
        self._numbers = numbers
        self._unchanged = _held.Unchanged()

    @property
    def n_shards(self) -> int:
        return max(1, len(self._numbers))

    def ask(self, script: _core.Script) -> list[bytes]:
        """Return all replies; shards that are not found are read anew where Spark looked for them."""
        found: dict[int, bytes] = {}
        if not script.reads_records:
            key, numbers, request = self._key, self._numbers, script.newest()

            def held(partition: int, rows: Callable[[], Any]) -> bytes | None:
                if partition not in numbers:
                    return None
                return _held.answer_held(key, [numbers[partition]], request)[0]

            found = _each(self._frame, held)
        missing = [number for number in self._numbers if number not in found]
        if missing:
            found.update(self._read(script, missing))
        if len(found) < len(self._numbers):
            raise WorkersError("the workers that hold the records have other partitions than before")
        return list(found.values())

    def _read(self, script: _core.Script, missing: Iterable[int]) -> dict[int, bytes]:
        key, numbers, recipe = self._key, self._numbers, self._recipe
        scripts = {partition: script.whole(numbers[partition]) for partition in missing}

        def read(partition: int, rows: Callable[[], Any]) -> bytes | None:
            if partition not in scripts:
                return None
            _held.forget_others(key)
            script = scripts[partition]
            reply, checksum = _held.answer_whole(key, numbers[partition], script, lambda: recipe(rows()))
            return (-1 if checksum is None else checksum).to_bytes(8, signed=True) + reply

        found = {}
        for partition, answer in _each(self._frame, read).items():
            checksum = int.from_bytes(answer[:8], signed=True)
            self._unchanged.check(numbers[partition], None if checksum < 0 else checksum)
            found[partition] = answer[8:]
        return found

    def close(self) -> None:
        """Nothing: processes forget when the next session asks them, or with Spark's end."""
