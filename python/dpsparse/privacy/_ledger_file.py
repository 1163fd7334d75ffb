"""The file of a ledger: one name, no contents beside it once a commit returns, and reasons where it cannot be used."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpsparse.errors import LedgerError

if sys.platform == "linux":
    import fcntl

__all__ = ["alone", "begin", "refuse_unusable", "refused", "taken"]

#: Of a database: one page of the smallest size.
_LEAST_BYTES = 512
#: What is locked of a file: a byte far beyond those that SQLite locks.
_BYTE = 2**62


class _Depth(threading.local):
    """How many ledgers a thread is amid the use of."""

    value = 0


_amid = _Depth()


@dataclass
class _Here:
    """Who of this process has a file: one thread at a time opens and closes it, or others would lose SQLite's locks."""

    lock: Any = field(default_factory=threading.RLock)
    depth: int = 0


#: Of every file that was used.
_here: dict[str, _Here] = {}


def refuse_unusable(path: Path, known: bool) -> None:
    """Refuse, before SQLite sees it, a file that it would take for another one.

    Parameters
    ----------
    path : Path
        The file, or where it is to be.
    known : bool
        Whether it was there before.

    Raises
    ------
    LedgerError
        For what is no file, and for a file that is gone, is cut off in its first page, of which SQLite makes a new one,
        or has several names: journals stand beside a name, so that processes under different names miss what one of
        them has left there.
    OSError
        Where it cannot be looked at.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        if known:
            raise LedgerError(f"{_UNUSABLE}its file is gone; put it back, with all that was in it") from error
        return
    if not stat.S_ISREG(found.st_mode):
        kind = OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        raise LedgerError(f"{_UNUSABLE}its path names a folder, a pipe or a device, and no file") from kind
    if 0 < found.st_size < _LEAST_BYTES:
        raise refused(sqlite3.DatabaseError("malformed"), 0.0)
    if found.st_nlink > 1:
        names = OSError(errno.EMLINK, os.strerror(errno.EMLINK))
        raise LedgerError(
            f"{_UNUSABLE}the file has several names (hard links), and who uses another one would not be seen: "
            "remove all but one; copies that are files of their own do no harm"
        ) from names


@contextmanager
def taken(lock: Any, timeout: float) -> Iterator[None]:
    """Hold the lock of a ledger; a thread that is amid the use of another one waits for no longer than that.

    Two threads that are each amid the use of one ledger, and whose finalisers or handlers of signals ask for the one of
    the other, would wait for each other for ever. Whoever has none can wait: it keeps nobody up.

    Raises
    ------
    LedgerError
        Where another thread has it for longer.
    """
    longest = min(timeout, threading.TIMEOUT_MAX) if _amid.value else -1
    if not lock.acquire(timeout=longest):
        raise refused(sqlite3.OperationalError("locked"), timeout)
    outside = _amid.value
    try:
        _amid.value = outside + 1
        yield
    finally:
        _amid.value = outside
        lock.release()


@contextmanager
def alone(path: Path, timeout: float, known: bool) -> Iterator[None]:
    """Keep all others that commit to the file out, whatever this process does with it meanwhile.

    POSIX has it that the locks of a process on a file go as soon as any of its threads closes the file: who copied a
    ledger amid a commit of another thread let a second process commit between the look at the total and the entry,
    which took the place of the other one. A lock of an open file description goes with that alone. Elsewhere than on
    Linux, and where the file or its system takes none, SQLite's are all there are. A file that is to be new is made
    empty for it: the first commit, which says what the total is, has others to keep out as well.

    Parameters
    ----------
    path : Path
        The file, or where it is to be.
    timeout : float
        Seconds to wait for others.
    known : bool
        Whether it was there before: one that is gone is not made anew.

    Raises
    ------
    LedgerError
        Where others have it for longer.
    """
    end = time.monotonic() + timeout
    here = _here.setdefault(os.path.realpath(path), _Here())
    if not here.lock.acquire(timeout=min(timeout, threading.TIMEOUT_MAX)):
        raise refused(sqlite3.OperationalError("locked"), timeout)
    # Within another one of this thread it would wait for itself, and on its end take SQLite's locks away.
    descriptor = None if here.depth else _opened(path, known)
    here.depth += 1
    try:
        while descriptor is not None and not _locked(descriptor, take=True):
            if time.monotonic() > end:
                raise refused(sqlite3.OperationalError("locked"), timeout)
            time.sleep(0.002)
        yield
    finally:
        here.depth -= 1
        if descriptor is not None:
            _locked(descriptor, take=False)  # children that were made amid it have the description too
            os.close(descriptor)
        here.lock.release()


def _opened(path: Path, known: bool) -> int | None:
    """Open the file for a lock, or make it; None where that is not to be had."""
    try:
        makes = not (known or path.exists())
        if sys.platform != "linux" or not (makes or path.is_file()):
            return None
        # The permissions are those that SQLite gives a new file.
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if makes else 0), 0o644)
    except OSError:
        return None


def _locked(descriptor: int, *, take: bool) -> bool:
    """Take or leave the lock: whether nobody else has it, or there are no such locks."""
    if sys.platform == "linux":
        kind = fcntl.F_WRLCK if take else fcntl.F_UNLCK
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi0q", kind, os.SEEK_SET, _BYTE, 1, 0))
        except OSError as error:
            return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


def begin(connection: sqlite3.Connection, timeout: float) -> None:
    """Begin an exclusive transaction that is in the file itself, and on the disk, once it is committed.

    A write-ahead log, which ledgers of earlier versions have, holds what was committed as long as any other process has
    the file open, and after that one was killed: whoever copies or moves the file alone would leave entries behind.

    Raises
    ------
    sqlite3.Error
        Where the file is locked for longer, damaged, or cannot be written to.
    """
    end = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:  # SQLite does not wait for those who have a write-ahead log open
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            break
    # The folder too: a journal that came back after a power cut would take the entry away.
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("BEGIN IMMEDIATE")


def refused(error: Exception, timeout: float) -> LedgerError:
    """Say what is wrong and what to do; the words of SQLite and of systems name no data."""
    text = error.strerror or "" if isinstance(error, OSError) else str(error)
    if text.startswith("Could not decode"):  # Python's words quote the whole entry
        text = "malformed text"
    if "locked" in text or "busy" in text:
        advice = f"another process or thread holds it for more than {timeout} seconds"
    elif isinstance(error, OSError) or "readonly" in text or "unable to open" in text:
        advice = "the file or its directory cannot be written to"
    elif "full" in text:
        advice = "the disk is full"
    elif any(words in text for words in _DAMAGED):
        advice = "it is damaged; put a sound copy in its place"
    else:
        advice = "the disk failed"
    return LedgerError(f"{_UNUSABLE}{advice} ({text})")


#: What SQLite says of a file that it cannot read as it was written.
_DAMAGED = ("malformed", "not a database", "unsupported file format", "no such column", "no such table")
_UNUSABLE = "the ledger cannot be used, so nothing is released: "
