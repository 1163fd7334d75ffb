"""A worker's side: the shards that this process holds, by the session that asks them and their number."""

from __future__ import annotations

import collections
import threading
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from dpsparse import _core
from dpsparse._core import InvalidDataError, WorkersError

__all__ = ["Unchanged", "answer_held", "answer_whole", "forget", "forget_others", "half", "split_held"]

#: What a source returns: features, targets, and weights or None.
Source = Callable[[], tuple[Any, Any, Any]]

_SHARDS: dict[tuple[str, int], _core.Shard] = {}
#: With the number of the turn that they were made in.
_HALVES: dict[str, tuple[int, tuple[bytes, bytes]]] = {}
#: Sessions that ended lately: a task of theirs may still stand in a queue, and would keep its shard for good.
_ENDED: collections.deque[str] = collections.deque(maxlen=1_000)
_LOCK = threading.Lock()


def _shard(session: str, number: int) -> _core.Shard:
    with _LOCK:
        shard = _SHARDS.get((session, number))
        if shard is None:
            if session in _ENDED:
                raise WorkersError("the workers that hold the records were asked for a fit that has ended")
            shard = _SHARDS[session, number] = _core.Shard(number)
        return shard


def answer_held(session: str, numbers: Sequence[int], request: bytes) -> tuple[bytes | None, list[int]]:
    """Answer a request for shards that should be here.

    Parameters
    ----------
    session : str
        Who asks.
    numbers : sequence of int
        Which shards.
    request : bytes
        The newest request of a script.

    Returns
    -------
    tuple (reply, missing)
        The reply of all of them, None where some are missing, and which are: these need the whole script.
    """
    answers = {number: _shard(session, number).answer(request) for number in numbers}
    missing = [number for number, answer in answers.items() if answer is None]
    if missing:
        return None, missing
    return _core.merged_replies([answer for answer in answers.values() if answer is not None]), []


def answer_whole(session: str, number: int, script: bytes, source: Source) -> tuple[bytes, int | None]:
    """Answer for one shard, which reads its records anew where it is not here.

    Parameters
    ----------
    session : str
        Who asks.
    number : int
        Which shard.
    script : bytes
        All requests that matter, the newest last.
    source : callable
        Returns features, targets, and weights or None.

    Returns
    -------
    tuple (reply, checksum)
        The reply, and a checksum of what was read, of the last time where it was read twice; None where it was not.

    Raises
    ------
    DpsparseError
        For unusable records.
    """
    checksum = None

    def read() -> tuple[Any, Any, Any]:
        nonlocal checksum
        made, checksum = source(), 0
        for array in made:
            if array is not None:
                checksum = zlib.crc32(array.data, checksum)
        return made

    answer = _shard(session, number).answer(script, read)
    assert answer is not None  # a whole script leaves nothing out
    return answer, checksum


class Unchanged:
    """The shards of a session, which reads them again and again: what is no longer what it was at first is refused.

    As of :class:`dpsparse.blocks.Unchanged`: records that a source has put into another order since stand beside the
    targets of others, and a person behind more records than the fit protects.
    """

    def __init__(self) -> None:
        self._first: dict[int, int] = {}

    def check(self, number: int, checksum: int | None) -> None:
        """Take a checksum of a shard.

        Raises
        ------
        InvalidDataError
            Where it was another one before.
        """
        if checksum is not None and self._first.setdefault(number, checksum) != checksum:
            raise InvalidDataError(
                "the workers hold other records than they did when this fit first read them, or hold them in another "
                "order: parts must be the same ones whenever they are computed"
            )


def split_held(session: str, numbers: Sequence[int], request: bytes, turn: int) -> list[int]:
    """Answer as :func:`answer_held`, and keep a half for each of two aggregators; return which shards are missing.

    Halves of a turn are made once, and none of an earlier turn takes their place: what one aggregator has fetched goes
    with what the other will fetch, also where a turn that was given up ends late.
    """
    reply, missing = answer_held(session, numbers, request)
    if reply is not None:
        halves = _core.split_reply(reply)
        with _LOCK:
            if session not in _HALVES or _HALVES[session][0] < turn:
                _HALVES[session] = turn, halves
    return missing


def half(session: str, side: int, turn: int) -> bytes | None:
    """Hand over one half of a turn's answer; None where there is none, as in a process that was started anew."""
    with _LOCK:
        made, halves = _HALVES.get(session, (None, None))
        return halves[side] if halves is not None and made == turn else None


def forget(session: str) -> None:
    """Drop the shards that a session asked, and make none for it any more."""
    with _LOCK:
        _ENDED.append(session)
    _drop(lambda of: of == session)


def forget_others(session: str) -> None:
    """Drop the shards that other sessions asked."""
    _drop(lambda of: of != session)


def _drop(which: Callable[[str], bool]) -> None:
    with _LOCK:
        for key in [key for key in _SHARDS if which(key[0])]:
            del _SHARDS[key]
        for session in [session for session in _HALVES if which(session)]:
            del _HALVES[session]
