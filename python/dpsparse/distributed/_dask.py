"""Shards on the workers of a dask cluster.

Raw parts are read by tasks, wherever dask puts these; a clipped shard stays in the process of the worker that read it,
and is asked there, past the task graph. Where a worker is lost, tasks read its parts on another one, with all public
requests so far: dask makes the raw parts anew as it makes any task's arguments anew.
"""

from __future__ import annotations

import asyncio
import functools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from dpsparse import _core
from dpsparse._core import DpsparseError, InvalidArgumentError, InvalidDataError, WorkersError
from dpsparse.distributed import _held
from dpsparse.distributed._failures import computed
from dpsparse.distributed._recipe import Recipe
from dpsparse.distributed._shards import Shards
from dpsparse.errors import InvalidTypeError

__all__ = ["from_dask", "is_dask"]

#: How often shards are looked for anew before workers count as lost for good.
_ROUNDS = 10
#: What aggregators ask workers for.
_HALF = "dpsparse_half"
_COLLECTION = "X must be a two-dimensional array or a data frame of dask"


def is_dask(values: Any) -> bool:
    """Whether these are an array, a data frame or a series of dask; it does not import dask."""
    return any(base.__module__.partition(".")[0] in ("dask", "dask_expr") for base in type(values).__mro__[:-1])


def from_dask(X: Any, *, client: Any = None, aggregators: Sequence[str] | None = None) -> Shards:
    """Records of a dask array or data frame, each part of them a shard on a worker of ``dask.distributed``.

    ``fit`` takes dask arrays and data frames as they are, and calls this. y and ``sample_weight`` are then columns of
    the data frame by their names, or dask arrays or series with the parts of X. Classifiers need ``classes``: labels
    are not read. The model is the one of the records in memory, bit for bit for a seed.

    Parameters
    ----------
    X : dask array of shape (n_samples, n_features), or dask data frame
        Records. Parts must be the same ones whenever they are computed: others are refused, but where there are
        aggregators. Sizes of parts that are not known are counted once.
    client : dask.distributed.Client, optional
        The cluster. None: the client of this process.
    aggregators : pair of str, optional
        Addresses of two workers that add the sums of the others up, each from one of two additive shares modulo 2**64:
        then the curator learns the totals alone, and neither aggregator anything, as long as the two do not meet. None:
        the curator gets the sums of each worker.

    Returns
    -------
    Shards

    Raises
    ------
    InvalidArgumentError
        Without a client, or for aggregators that are not two different workers of it.
    InvalidDataError
        For an array that is not two-dimensional.

    Examples
    --------
    >>> import dask.array as da
    >>> from dpsparse.distributed import from_dask
    >>> from_dask(da.zeros((6, 2), chunks=(3, 2)))
    Shards(6 records, 2 features, on dask workers)
    """
    # What is delayed has every attribute that it is asked for, and is delayed all the way.
    if not isinstance(getattr(X, "ndim", None), int):
        raise InvalidDataError(_COLLECTION)
    names, width = None, None
    if hasattr(X, "npartitions") and hasattr(X, "columns"):
        names, width = _names(X.columns), len(X.columns)
    elif X.ndim != 2 or not hasattr(X, "to_delayed"):
        raise InvalidDataError(_COLLECTION)
    else:
        X = X.rechunk({1: -1})
        width = X.shape[1]
    engine = _Dask(X, client, aggregators)
    return Shards(engine, sum(engine.lengths), width, names)


def _names(columns: Iterable[Any]) -> tuple[str, ...] | None:
    """Names of columns; None where they are all something else than text, as numbers are, as in memory."""
    names = tuple(columns)
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        raise InvalidTypeError("names of columns must all be text, or none of them")
    return names if all(texts) else None


class _Dask:
    """The parts of a collection."""

    kind = "dask"

    def __init__(self, X: Any, client: Any, aggregators: Sequence[str] | None) -> None:
        self._client = client
        self._aggregators = None if aggregators is None else tuple(aggregators)
        self.parts = _parts(X)
        self.lengths = self._lengths(X)

    @property
    def client(self) -> Any:
        """The client, found where it is needed: one that was closed since is not held on to."""
        if self._client is not None:
            return self._client
        from distributed import get_client

        try:
            return get_client()
        except ValueError as error:
            problem = "records of dask need a client of dask.distributed: dask.distributed.Client()"
            raise InvalidArgumentError(problem) from error

    def _lengths(self, X: Any) -> list[int]:
        chunks = getattr(X, "chunks", None)
        if chunks is not None and all(isinstance(size, int) for size in chunks[0]):
            return list(chunks[0])
        return list(_computed(self.client, [(len, part) for part in self.parts]))

    def beside(self, values: Any, what: str) -> Any:
        if not is_dask(values) or not hasattr(values, "to_delayed"):
            raise InvalidArgumentError(f"{what} must be a dask array or series, as X is, or the name of a column")
        if getattr(values, "ndim", 1) == 2 and values.shape[1] == 1:
            values = values[values.columns[0]] if hasattr(values, "columns") else values[:, 0]
        chunks = getattr(values, "chunks", None)
        if chunks is not None and list(chunks[0]) != self.lengths and sum(chunks[0]) == sum(self.lengths):
            values = values.rechunk((tuple(self.lengths),))
        parts = _parts(values)
        if len(parts) != len(self.parts):
            raise InvalidDataError(f"X and {what} must have the same parts, of as many records")
        return parts

    def session(self, key: str, recipe: Recipe, y: Any, weights: Any) -> _Session:
        client = self.client
        missing = [None] * len(self.parts)
        rows = list(zip(self.parts, y or missing, weights or missing, strict=True))
        if self._aggregators is None:
            return _Session(client, key, recipe, rows)
        return _Aggregated(client, key, recipe, rows, self._aggregators)


def _there(client: Any) -> Any:
    """Addresses of the workers that are there."""
    if client.status in ("closing", "closed"):
        raise WorkersError("the client of dask, which reaches the workers that hold the records, was closed")
    with _scheduled():
        return client.nthreads()


def _parts(collection: Any) -> list[Any]:
    delayed = collection.to_delayed()
    return list(delayed.ravel()) if hasattr(delayed, "ravel") else list(delayed)


def _computed(client: Any, calls: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Results of calls, on the workers that hold or make their arguments."""
    import dask

    tasks = [dask.delayed(call[0], pure=False)(*call[1:]) for call in calls]
    with warnings.catch_warnings():
        # Scripts with all that is public about very many features may be long.
        warnings.filterwarnings("ignore", message="Sending large graph")
        futures = client.compute(tasks)
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError
    from distributed.scheduler import NoValidWorkerError, NoWorkerError

    lost = (KilledWorker, CancelledError, NoWorkerError, NoValidWorkerError)
    passed = (*lost, CommClosedError)
    try:
        with _scheduled():
            return list(computed(lambda: client.gather(futures), passed, "compute() of the collection"))
    except lost as error:
        raise WorkersError(
            f"the workers that read the records are lost, or were lost again and again: {type(error).__name__}"
        ) from None
    finally:
        if client.status == "running":
            client.cancel(futures)


@contextmanager
def _scheduled() -> Iterator[None]:
    """Reach the scheduler, or say that it cannot be."""
    from distributed.comm import CommClosedError

    try:
        yield
    except CommClosedError:
        raise WorkersError("dask's scheduler, through which workers are reached, cannot be reached itself") from None


def _read(
    session: str, number: int, script: bytes, recipe: Recipe, keep: bool, told: bool, *part: Any
) -> tuple[bytes, str, int | None]:
    """Answer a whole script on this worker; return the reply if it is to be kept, which worker this is, and, where it
    may be told, the checksum of what was read.

    What brings a lost shard back answers the newest request too. That reply stays here: it is asked for anew, and may
    be a sum that travels in two shares alone.
    """
    from distributed import get_worker

    reply, checksum = _held.answer_whole(session, number, script, lambda: recipe(*part))
    return reply if keep else b"", get_worker().address, checksum if told else None


async def _asked(session: str, plan: dict[str, list[int]], request: bytes, dask_worker: Any) -> Any:
    """Answer for the shards that a worker should hold, beside its event loop."""
    numbers = plan[dask_worker.address]
    return await asyncio.to_thread(_held.answer_held, session, numbers, request)


def _checked(answer: Any, numbers: list[int]) -> list[int]:
    """Which shards are missing by the answer of a worker: all that it should hold, where it cannot be reached."""
    if isinstance(answer, DpsparseError | MemoryError):
        raise answer
    if isinstance(answer, Exception) and not isinstance(answer, OSError | asyncio.TimeoutError):
        raise WorkersError(f"the workers that hold the records failed: {type(answer).__name__}")
    missing = answer if isinstance(answer, list) else numbers
    if not all(number in numbers for number in missing):
        raise _other()
    return missing


def _replied(answer: Any, numbers: list[int]) -> tuple[bytes | None, list[int]]:
    """The reply of a worker for the shards that it should hold, and which are missing."""
    match answer:
        case (bytes() | None as reply, list() as missing):
            return reply, _checked(missing, numbers)
        case tuple():
            raise _other()
    return None, _checked(answer, numbers)


def _was_read(result: Any) -> tuple[bytes, str, int | None]:
    """What :func:`_read` returned on a worker."""
    match result:
        case (bytes() as reply, str() as address, int() | None as checksum):
            return reply, address, checksum
    raise _other()


def _other() -> WorkersError:
    """The error of answers of another shape, as other versions have: budget is spent, so Python's would tell little."""
    return WorkersError("the workers that hold the records answered something else than they were asked for")


class _Session:
    """One release's way to the shards."""

    #: Whether the curator may see checksums of the parts.
    _told = True

    def __init__(self, client: Any, key: str, recipe: Recipe, rows: list[tuple[Any, ...]]) -> None:
        self._client = client
        self._key = key
        self._recipe = recipe
        self._rows = rows
        #: Where each shard is, as far as is known.
        self._where: dict[int, str] = {}
        self._unchanged = _held.Unchanged()

    @property
    def n_shards(self) -> int:
        return len(self._rows)

    def ask(self, script: _core.Script) -> list[bytes]:
        """Return all replies; shards that are lost are made anew, wherever dask puts them."""
        if script.reads_records:
            return self._read(script, range(self.n_shards))
        request = script.newest()
        for _ in range(_ROUNDS):
            replies, lost = self._asked(request)
            if not lost:
                return replies
            self._read(script, lost)
        raise WorkersError("the workers that hold the records are lost again and again")

    def _read(self, script: _core.Script, numbers: Iterable[int]) -> list[bytes]:
        numbers = list(numbers)
        keep = script.reads_records
        key, recipe, told = self._key, self._recipe, self._told
        calls = [(_read, key, k, script.whole(k), recipe, keep, told, *self._rows[k]) for k in numbers]
        results = [_was_read(result) for result in _computed(self._client, calls)]
        for k, (_, address, checksum) in zip(numbers, results, strict=True):
            self._where[k] = address
            self._unchanged.check(k, checksum)
        return [reply for reply, _, _ in results]

    def _plan(self) -> tuple[dict[str, list[int]], list[int]]:
        """Shards of each worker that is there, and those without one."""
        there = _there(self._client)
        plan: dict[str, list[int]] = {}
        lost = []
        for number in range(self.n_shards):
            address = self._where.get(number)
            if address is not None and address in there:
                plan.setdefault(address, []).append(number)
            else:
                lost.append(number)
        return plan, lost

    def _asked(self, request: bytes) -> tuple[list[bytes], list[int]]:
        """Replies of the workers, and the shards that are lost."""
        plan, lost = self._plan()
        if lost:
            return [], lost
        with _scheduled():
            answers = self._client.run(_asked, self._key, plan, request, workers=list(plan), on_error="return")
        replies = []
        for address, numbers in plan.items():
            reply, missing = _replied(answers.get(address), numbers)
            replies.append(reply)
            lost.extend(missing)
        for number in lost:
            self._where.pop(number, None)
        return [reply for reply in replies if reply is not None], lost

    def close(self) -> None:
        """Let the workers forget the shards; those that are lost have done so."""
        if self._client.status == "running":
            with suppress(WorkersError), _scheduled():  # which has no workers any more
                self._client.run(_held.forget, self._key, on_error="ignore")


class _Aggregated(_Session):
    """The same, with sums that travel as two shares to two aggregators, from worker to worker."""

    _told = False  # a checksum of few records tells them to whoever tries all

    def __init__(
        self, client: Any, key: str, recipe: Recipe, rows: list[tuple[Any, ...]], aggregators: tuple[str, ...]
    ) -> None:
        super().__init__(client, key, recipe, rows)
        self._aggregators = aggregators
        #: How often the workers were asked for halves.
        self._turn = 0
        if len(set(aggregators)) != 2 or not self._are_there():
            raise InvalidArgumentError("aggregators must be the addresses of two different workers that are there")

    def _are_there(self) -> bool:
        there = _there(self._client)
        return all(address in there for address in self._aggregators)

    def _asked(self, request: bytes) -> tuple[list[bytes], list[int]]:
        plan, lost = self._plan()
        if lost:
            return [], lost
        if not self._are_there():
            raise WorkersError("an aggregator is lost, and no other worker takes its place: fit anew with another one")
        self._turn += 1
        with _scheduled():
            return self._totals(plan, request)

    def _totals(self, plan: dict[str, list[int]], request: bytes) -> tuple[list[bytes], list[int]]:
        """The totals of both aggregators, and the shards that are lost."""
        shared = self._client.run(_shared, self._key, plan, request, self._turn, workers=list(plan), on_error="return")
        lost = []
        for address, numbers in plan.items():
            lost.extend(_checked(shared.get(address), numbers))
        totals = []
        for side, aggregator in enumerate(self._aggregators if not lost else ()):
            collect = functools.partial(self._client.run, _collected, self._key, list(plan), side, self._turn)
            total = collect(workers=[aggregator], on_error="return").get(aggregator)
            if not isinstance(total, bytes):
                # A worker is gone before its half was fetched: who is there is seen next.
                lost = _checked(total, list(range(self.n_shards)))
                break
            totals.append(total)
        for number in lost:
            self._where.pop(number, None)
        return totals, lost


async def _shared(session: str, plan: dict[str, list[int]], request: bytes, turn: int, dask_worker: Any) -> list[int]:
    """Answer for the shards that a worker should hold, in halves for aggregators; return which are missing."""
    dask_worker.handlers.setdefault(_HALF, _held.half)
    numbers = plan[dask_worker.address]
    return await asyncio.to_thread(_held.split_held, session, numbers, request, turn)


async def _collected(session: str, addresses: list[str], side: int, turn: int, dask_worker: Any) -> bytes | None:
    """The total of one aggregator: it fetches its own half from every worker. None where one does not have it.

    A process that was started anew under the address of a worker knows nothing of halves, nor how they are asked for.
    """
    asked = {"session": session, "side": side, "turn": turn}
    fetch = (getattr(dask_worker.rpc(address), _HALF)(**asked) for address in addresses)
    halves = await asyncio.gather(*fetch)
    whole = all(isinstance(half, bytes) for half in halves)
    return _core.merged_replies(halves) if whole else None
