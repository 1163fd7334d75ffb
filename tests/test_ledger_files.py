"""Files of ledgers that cannot be trusted or used: damaged, edited, copied, locked, or on a disk that fails."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess

import pytest

import dpsparse
from dpsparse import LedgerError
from dpsparse.privacy import Ledger
from ledgers import X, Y, classifier, finished, script


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "l.db"
    ledger = Ledger(path, 4.0, 1e-6)
    for _ in range(3):
        classifier(ledger=ledger).fit(X, Y)
    return path


EDITS = {
    "content": "UPDATE entries SET content = replace(content, '0.5', '0.4') WHERE number = 2",
    "total": "UPDATE entries SET content = replace(content, '4.0', '8.0') WHERE number = 0",
    "data set": "UPDATE entries SET dataset = 'other' WHERE number = 3",
    "kind": "UPDATE entries SET kind = 'note' WHERE number = 1",
    "lost entry": "DELETE FROM entries WHERE number = 1",
    "lost last entry": "DELETE FROM entries WHERE number = 3",
    "order": "UPDATE entries SET number = number + 10 WHERE number = 2",
    "hash": "UPDATE entries SET hash = 'x' WHERE number = 3",
    "head": "UPDATE head SET entries = 3",
    "no head": "DELETE FROM head",
    "format": "UPDATE head SET format = 'dpsparse-ledger-0'",
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edited_files_are_refused(edit, written):
    with contextlib.closing(sqlite3.connect(written)) as connection, connection:
        assert connection.execute(edit).rowcount > 0
    with pytest.raises(LedgerError):
        Ledger(written)
    with pytest.raises(LedgerError):
        Ledger(written, 4.0, 1e-6)


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1, 1e-4])  # of one byte too: SQLite takes it for a new file
def test_truncated_files_are_refused(share, written):
    content = written.read_bytes()
    written.write_bytes(content[: int(share * len(content))])
    with pytest.raises(LedgerError):
        Ledger(written)


def test_files_that_lost_their_tables_are_refused(written):
    """A few bits of the first page say which tables there are; with none, a new total must not begin."""
    content = bytearray(written.read_bytes())
    content[103:105] = b"\0\0"  # how many, in the format of SQLite
    written.write_bytes(content)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(written)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(written, 4.0, 1e-6)


@pytest.mark.parametrize("column", ["dataset", "kind", "content", "hash"])
def test_bytes_in_the_place_of_text_are_refused(written, column):
    with contextlib.closing(sqlite3.connect(written)) as connection, connection:
        connection.execute(f"UPDATE entries SET {column} = CAST({column} AS BLOB)")
    with pytest.raises(LedgerError, match="entry 0"):
        Ledger(written)


def test_text_that_is_damaged_is_said_to_be_and_is_not_quoted(written):
    """Python's words had the whole entry, and the advice was that the disk had failed."""
    content = written.read_bytes()
    written.write_bytes(content.replace(b'"certificate"', b'"certific\xe1te"'))
    with pytest.raises(LedgerError, match=r"it is damaged; .*\(malformed text\)$"):
        Ledger(written)
    for column in ("hash", "content"):
        written.write_bytes(
            content.replace(f"{column} TEXT NOT NULL".encode(), f"{column.upper()[:-1]}_ TEXT NOT NULL".encode())
        )
        with pytest.raises(LedgerError, match="it is damaged"):
            Ledger(written)


def test_tables_whose_names_are_no_text_are_refused(written):
    content = written.read_bytes()
    assert content.count(b"CREATE TABLE entries") == 1
    written.write_bytes(content.replace(b"CREATE TABLE entries", b"CREATE TABL\xcc entries"))
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(written)


def chained(path, rows):
    """A file of entries whose chain is right, whatever they are."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM entries")
        found = dpsparse.privacy.ledger._START
        for number, (kind, content) in enumerate(rows):
            found = dpsparse.privacy.ledger._hash(found, number, "default", kind, content)
            connection.execute("INSERT INTO entries VALUES (?, 'default', ?, ?, ?)", (number, kind, content, found))
        connection.execute("UPDATE head SET entries = ?, hash = ?", (len(rows), found))


ODD = ["", "{", "[]", "null", "{}", "[" * 100_000, "9" * 10_000, '"epsilon"']


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("number", [0, 1])
def test_entries_of_another_version_are_refused(number, odd, written):
    """Their chain is right; errors were of Python's kinds, whose texts named nothing that a user has."""
    with contextlib.closing(sqlite3.connect(written)) as connection:
        rows = connection.execute("SELECT kind, content FROM entries ORDER BY number").fetchall()
    chained(written, rows)
    assert len(Ledger(written).entries()) == 3
    chained(written, [(kind, odd if k == number else content) for k, (kind, content) in enumerate(rows)])
    for terms in ((), (4.0, 1e-6)):
        with pytest.raises(LedgerError, match=rf"entry {number} of the ledger cannot be counted: it is not as"):
            Ledger(written, *terms)


def test_entries_that_are_not_understood_are_not_passed_over(written):
    """A second total began the data set anew, and what was of another kind was counted, or shown nowhere."""
    with contextlib.closing(sqlite3.connect(written)) as connection:
        total, *releases = connection.execute("SELECT kind, content FROM entries ORDER BY number").fetchall()
    first = json.loads(releases[0][1])
    for rows, problem in [
        ([total, *releases, (total[0], total[1].replace("4.0", "400.0"))], "entry 4 .* has a total already"),
        ([releases[0], total], "entry 0 .* has no total yet"),
        ([total, ("note", releases[0][1])], "entry 1 .* does not know"),
        ([(total[0], total[1].replace("4.0", "-4.0"))], "entry 0 .* epsilon must be positive"),
        ([total, ("release", json.dumps(first | {"certificate": "{}"}))], "entry 1 .* must have the format"),
        ([total, ("release", json.dumps(first | {"records_per_person": -1}))], "entry 1 .* not as this version"),
    ]:
        chained(written, rows)
        with pytest.raises(LedgerError, match=problem):
            Ledger(written)


def test_a_file_that_was_refused_is_nobodys(written):
    """Whoever kept the error, as notebooks do, kept a lock on the file: a sound copy in its place was of no use."""
    sound = written.read_bytes()
    with contextlib.closing(sqlite3.connect(written)) as connection, connection:
        connection.execute("UPDATE entries SET kind = 'note' WHERE number = 1")
    with pytest.raises(LedgerError, match="entry 1") as kept:
        Ledger(written)
    written.write_bytes(sound)
    ledger = Ledger(written, timeout=0.1)
    classifier(ledger=ledger).fit(X, Y)
    assert len(ledger.entries()) == 4
    assert kept.value is not None


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x"
    path.write_text("a,b\n1,2\n" * 100)
    with pytest.raises(LedgerError):
        Ledger(path, 1.0, 1e-6)
    other = tmp_path / "y.db"
    with contextlib.closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    with pytest.raises(LedgerError, match="something else"):
        Ledger(other, 1.0, 1e-6)


def test_an_older_copy_is_told_by_the_head(written, tmp_path):
    older = tmp_path / "older.db"
    shutil.copy(written, older)
    before = Ledger(written).head
    classifier(ledger=Ledger(written)).fit(X, Y)
    head = Ledger(written).head
    assert head != before
    assert Ledger(written, head=head).head == Ledger(written, head=before).head == head
    with pytest.raises(LedgerError, match="older copy"):
        Ledger(older, head=head)


@pytest.mark.parametrize("before", ["", "PRAGMA journal_mode = WAL"], ids=["new", "of an earlier version"])
def test_a_file_that_is_copied_alone_holds_all_entries_whoever_has_it_open(before, written, tmp_path):
    with contextlib.closing(sqlite3.connect(written)) as connection:
        connection.execute(before)
    ledger = Ledger(written)
    with contextlib.closing(sqlite3.connect(written)) as another:
        assert another.execute("SELECT count(*) FROM entries").fetchone() == (4,)
        classifier(ledger=ledger).fit(X, Y)
        assert [path.name for path in written.parent.iterdir()] == ["l.db"]
        shutil.copy(written, tmp_path / "copy.db")
    assert Ledger(tmp_path / "copy.db").head == ledger.head


def test_a_write_ahead_log_that_others_use_is_told(written):
    """Nothing is committed to it; and all that it holds is counted when they have gone."""
    with contextlib.closing(sqlite3.connect(written, isolation_level=None)) as another:
        another.execute("PRAGMA journal_mode = WAL")
        another.execute("SELECT count(*) FROM entries").fetchone()
        with pytest.raises(LedgerError, match="another process"):
            Ledger(written, timeout=0.1)
    assert len(Ledger(written).entries()) == 3


def test_what_is_no_file_is_said_to_be_none(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # which SQLite would wait for
    for path in (tmp_path, tmp_path / "pipe", "/dev/null"):
        with pytest.raises(LedgerError, match="a folder, a pipe or a device"):
            Ledger(path, 1.0, 1e-6)


def test_a_file_of_several_names_is_refused(written):
    """Processes that use different names would not see each other's journals: 240 models had 125 entries."""
    other = written.with_name("other.db")
    os.link(written, other)
    for path in (written, other):
        with pytest.raises(LedgerError, match="hard links"):
            Ledger(path)
    other.unlink()
    assert len(Ledger(written).entries()) == 3


def test_what_a_ledger_has_seen_must_stay_in_its_file(written):
    older, newer = written.with_name("older.db"), written.with_name("newer.db")
    shutil.copy(written, older)
    ledger = Ledger(written)
    classifier(ledger=ledger).fit(X, Y)
    shutil.copy(written, newer)
    os.replace(older, written)
    for _ in range(3):
        with pytest.raises(LedgerError, match="does not"):
            classifier(ledger=ledger).fit(X, Y)
    written.unlink()
    for _ in range(3):
        with pytest.raises(LedgerError, match="gone"):
            classifier(ledger=ledger).fit(X, Y)
    assert not written.exists()
    os.replace(newer, written)
    assert len(ledger.entries()) == 4


@pytest.mark.parametrize("name", ["l.db/below", "n" * 300], ids=["below a file", "too long"])
def test_names_that_no_file_can_have_are_told(name, written):
    with pytest.raises(LedgerError, match="cannot be written to"):
        Ledger(written.parent / name, 1.0, 1e-6)


def test_a_locked_file_is_told(written):
    ledger = Ledger(written, timeout=0.2)
    holder = sqlite3.connect(written, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    model = classifier(ledger=ledger)
    with pytest.raises(LedgerError, match="another process"):
        model.fit(X, Y)
    holder.execute("ROLLBACK")
    holder.close()
    assert not hasattr(model, "coef_")
    assert len(ledger.entries()) == 3


REFUSED = """
    ledger = Ledger(path)
    {before}
    model = PrivateSparseClassifier(0.1, 1e-8, bounds=(-1, 1), classes=(0, 1), ledger=ledger)
    try:
        for _ in range(2000):
            model.fit(X, Y)
            del model.coef_
    except LedgerError as error:
        print(hasattr(model, "coef_"), type(error).__name__, str(error).startswith("the ledger cannot be used"))
"""


def test_a_full_disk_is_told(written):
    before = """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) + 20_000, resource.RLIM_INFINITY))
    """.replace("\n    ", "\n    ").strip()
    assert finished(script(written, REFUSED.format(before=before))) == "False LedgerError True"
    entries = len(Ledger(written).entries())
    assert entries >= 3
    classifier(0.1, 1e-8, ledger=Ledger(written)).fit(X, Y)  # sound again where there is room


def test_a_file_that_cannot_be_written_is_told(written):
    if os.geteuid() == 0:
        before = "os.setgid(65534); os.setuid(65534)"
        written.parent.chmod(0o555)
        for folder in written.parents[:3]:
            folder.chmod(folder.stat().st_mode | 0o055)
    else:
        before = "os.chmod(path, 0o444); os.chmod(os.path.dirname(path), 0o555)"
    body = REFUSED.format(before=before)
    try:
        assert finished(script(written, body)) == "False LedgerError True"
    finally:
        written.parent.chmod(0o755)
        written.chmod(0o644)
    assert len(Ledger(written).entries()) == 3


def test_a_failing_fsync_is_told(written, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: no fsync that fails")
    source, library = tmp_path / "fail.c", tmp_path / "fail.so"
    source.write_text(
        "#include <errno.h>\n#include <stdlib.h>\n"
        'int fsync(int f) { if (getenv("FAIL_FSYNC")) { errno = EIO; return -1; } return 0; }\n'
        "int fdatasync(int f) { return fsync(f); }\n"
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    body = REFUSED.format(before="os.environ['FAIL_FSYNC'] = '1'")
    assert finished(script(written, body, LD_PRELOAD=str(library))) == "False LedgerError True"
    assert len(Ledger(written).entries()) >= 3
