"""The file of a ledger: one name, no contents beside it once a commit returns, and reasons where it cannot be used."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from pathlib import Path

from dpsparse.errors import LedgerError

__all__ = ["begin", "refuse_unusable", "refused"]

#: Of a database: one page of the smallest size.
_LEAST_BYTES = 512


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
        For a file that is gone, is cut off in its first page, of which SQLite makes a new one, or has several names:
        journals stand beside a name, so that processes under different names miss what one of them has left there.
    OSError
        Where it cannot be looked at.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        if known:
            raise LedgerError(f"{_UNUSABLE}its file is gone; put it back, with all that was in it") from error
        return
    if 0 < found.st_size < _LEAST_BYTES:
        raise refused(sqlite3.DatabaseError("malformed"), 0.0)
    if found.st_nlink > 1:
        names = OSError(errno.EMLINK, os.strerror(errno.EMLINK))
        raise LedgerError(
            f"{_UNUSABLE}the file has several names (hard links), and who uses another one would not be seen: "
            "remove all but one; copies that are files of their own do no harm"
        ) from names


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
    if "locked" in text or "busy" in text:
        advice = f"another process holds it for more than {timeout} seconds"
    elif isinstance(error, OSError) or "readonly" in text or "unable to open" in text:
        advice = "the file or its directory cannot be written to"
    elif "full" in text:
        advice = "the disk is full"
    elif "malformed" in text or "not a database" in text:
        advice = "it is damaged; put a sound copy in its place"
    else:
        advice = "the disk failed"
    return LedgerError(f"{_UNUSABLE}{advice} ({text})")


_UNUSABLE = "the ledger cannot be used, so nothing is released: "
