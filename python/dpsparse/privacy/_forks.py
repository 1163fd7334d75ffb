"""Forks wait for work that a child could not go on with: SQLite's, whose locks would stay held in it for ever."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["not_forked"]

_changed = threading.Condition()
#: How deep each thread is in such work.
_working: Counter[int] = Counter()
#: Threads that wait until they may fork: nothing begins meanwhile, or there might always be something.
_forking: set[int] = set()


@contextmanager
def not_forked() -> Iterator[None]:
    """Let no other thread fork the process during the block, as long as that may take."""
    here = threading.get_ident()
    if here in _forking:  # who begins work forks no more: Ctrl-C came before what follows a fork
        _after()
    with _changed:
        _changed.wait_for(lambda: here in _working or not _forking)
        _working[here] += 1
    try:
        yield
    finally:
        with _changed:
            _working[here] -= 1
            if not _working[here]:
                del _working[here]
            _changed.notify_all()


def _before() -> None:
    """Wait, and hold everything until the process has been forked."""
    here = threading.get_ident()
    _changed.acquire()
    _forking.add(here)
    _changed.wait_for(lambda: not _working.keys() - {here})


def _after() -> None:
    _forking.discard(threading.get_ident())
    _changed.notify_all()
    _changed.release()


def _after_in_child() -> None:
    # Other threads are not here: what they waited for is nobody's.
    _forking.clear()
    _changed.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
