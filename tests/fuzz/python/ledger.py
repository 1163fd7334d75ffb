"""Ledger files from outside: one that was damaged is refused as LedgerError, or still holds all that was written, as it
was written. Bytes are flipped, overwritten and cut off, and rows are edited as SQL edits them."""

import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import numpy as np

from dpsparse import LedgerError, PrivateSparseClassifier
from dpsparse.privacy import Ledger

from .choices import Choices

#: In memory where there is such a place: every commit waits for the disk.
_MEMORY = Path("/dev/shm")
_TERMS = (3.0, 1e-5)


def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None)


@cache
def original() -> tuple[bytes, str, float]:
    """Return the file of a ledger with two releases, its history, and what remains."""
    x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    with _folder() as folder:
        path = Path(folder) / "ledger"
        with Ledger(path, *_TERMS) as ledger:
            for _ in range(2):
                fit = PrivateSparseClassifier(1.0, 1e-6, bounds=(-1, 1), classes=(0, 1), n_iter=2, ledger=ledger)
                fit.fit(x, x[:, 0] > 0)
            history, remaining = ledger.export_json(), ledger.remaining()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.read_bytes(), history, remaining


def run(data: bytes) -> None:
    choices = Choices(data)
    content, history, remaining = original()
    with _folder() as folder:
        path = Path(folder) / "ledger"
        if choices.below(4) == 0:
            path.write_bytes(content)
            _edit_rows(path, choices)
        else:
            damaged = _damaged(bytearray(content), choices)
            if not damaged:
                return  # an empty file is a new ledger, as one that was deleted is
            path.write_bytes(damaged)
        terms = _TERMS if choices.byte() & 1 else ()
        try:
            with Ledger(path, *terms, timeout=0) as ledger:
                assert ledger.export_json() == history
                assert ledger.remaining() == remaining
                assert len(ledger.entries()) == 2
        except LedgerError:
            return


def _damaged(content: bytearray, choices: Choices) -> bytes:
    for _ in range(1 + choices.below(4)):
        kind = choices.below(8)
        # The header and the roots of the tables are where little changes much.
        at = choices.below(max(1, min(len(content), choices.pick((128, 4096, 65_536)))))
        if not content:
            break
        if kind < 3:
            content[at] ^= 1 << choices.below(8)
        elif kind < 5:
            content[at] = choices.byte()
        elif kind == 5:
            del content[at:]
        elif kind == 6:
            content[at : at + 1] = choices.rest()[:16]
        else:
            page = 4096
            source, target = choices.below(8) * page, choices.below(8) * page
            content[target : target + page] = content[source : source + page]
    return bytes(content)


def _edit_rows(path: Path, choices: Choices) -> None:
    value = choices.pick((None, 0, 1, 2, -1, 2**62, 0.5, "", "x", "{}", b"\x00", b"\xff\xfe", "default", "release"))
    column = choices.pick(("number", "dataset", "kind", "content", "hash"))
    row = choices.below(3)
    statement, values = choices.pick(
        (
            (f"UPDATE entries SET {column} = ? WHERE number = {row}", (value,)),
            (f"UPDATE entries SET {column} = CAST({column} AS BLOB) WHERE number = {row}", ()),
            (f"UPDATE entries SET content = content || ? WHERE number = {row}", (value,)),
            (f"DELETE FROM entries WHERE number >= {row}", ()),
            (f"UPDATE head SET {choices.pick(('format', 'entries', 'hash'))} = ?", (value,)),
            ("DELETE FROM head", ()),
            ("INSERT INTO head SELECT * FROM head", ()),
            (f"DROP TABLE {choices.pick(('head', 'entries'))}", ()),
            (f"ALTER TABLE entries RENAME {column} TO another", ()),
            ("CREATE VIEW another AS SELECT * FROM entries", ()),
        )
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        try:
            connection.execute(statement, values)
        except sqlite3.Error:
            return
