"""A ledger on disk: what was released of which data set, and a total that no further release may break."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from dpsparse import _core
from dpsparse._core import Accountant, Certificate, DpsparseError, InvalidArgumentError
from dpsparse._validation import ADJACENCIES, choice, number, optional_number, positive_integer
from dpsparse.errors import LedgerError
from dpsparse.privacy._forks import not_forked
from dpsparse.privacy._ledger_file import alone, begin, refuse_unusable, refused, taken

__all__ = ["Ledger"]

_FORMAT = "dpsparse-ledger-1"
_SCHEMA = """
CREATE TABLE head (format TEXT NOT NULL, entries INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL, hash TEXT NOT NULL
);
"""
_START = hashlib.sha256(_FORMAT.encode()).hexdigest()


def _hash(before: str, number: int, dataset: str, kind: str, content: str) -> str:
    text = json.dumps([before, number, dataset, kind, content])
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class _Read:
    """What was read of a file so far, every link of its chain checked."""

    entries: int = 0
    hash: str = _START
    total: _core.Total | None = None
    terms: tuple[float, float, str | None, int] | None = None
    accountant: Accountant | None = None
    #: Numbers of the releases of the data set that may go on after a stop, by their marks, certificates and persons.
    resumable: dict[tuple[str, str, int], int] = field(default_factory=dict)


class Ledger:
    """A file that remembers what was released of a data set, and refuses what would break a total.

    The events of a fit are committed to the file before noise is drawn, and checked before records are read: a crash
    may waste budget, and never overspends it. Any number of processes and threads may share the file. The total holds
    however releases are chosen after earlier ones: a privacy filter decides.

    Parameters
    ----------
    path : str or path
        The file; made where there is none. On a local disk: locks of network file systems are not to be relied on. It
        is all there is between calls, so that it may be copied and moved alone. Amid a commit its journal stands beside
        it, for the next one to undo what a crash has left in half: share the folder with a container, not the file. On
        macOS copy it in a process that commits to none: POSIX drops the locks of a process on a file that it closes.
    epsilon, delta : float, optional
        The total for all releases of the data set together; ``delta`` may be 0, for releases of pure epsilon. A data
        set keeps the total that it was opened with first; None where it is known to the file.
    dataset : str, default "default"
        Name of the data set; each has its own total.
    adjacency : {"replace-one", "add-remove"}, optional
        The neighbour relation of all its releases. None: that of the first.
    records_per_person : int, default 1
        The total is for people with up to so many records; releases must protect as many.
    head : str, optional
        A :attr:`head` that was written down elsewhere. The file must contain it: an older copy of the file, put in the
        place of a newer one, does not.
    timeout : float, default 60.0
        Seconds to wait for other processes that are committing.

    Raises
    ------
    LedgerError
        If the file cannot be used: damaged, edited, truncated, read-only, locked, or under several names (hard
        links); gone, or older than what this object has seen of it; or the disk is full.
    InvalidArgumentError
        If an argument is out of its domain, or the data set is known under another total.

    Notes
    -----
    **The total.** A release passes where after it the pure epsilons of all add up to at most epsilon, or their Renyi
    divergences of one order, fixed at the start, to at most what implies (epsilon, delta/2); failure probabilities use
    the other half of delta. The first release passes too where it keeps (epsilon, delta) by its own tight curve. The
    proof is in the crate's ``accounting::filter``.

    **The chain.** Every entry carries a SHA-256 hash of itself and of the entry before, and the file states the last
    one. Edited, lost and reordered entries are found. Whoever may write the file can write another one: keep
    :attr:`head` elsewhere where that matters.

    **Seeds.** A fit with a ``random_state`` costs as much as one without, and its certificate says that it has no
    guarantee: nor have the entries together then (:attr:`secure`).

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from dpsparse import BudgetExceededError, PrivateSparseClassifier
    >>> from dpsparse.privacy import Ledger
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1000, 3))
    >>> with tempfile.TemporaryDirectory() as folder, Ledger(folder + "/budget.db", 1.0, 1e-6) as ledger:
    ...     model = PrivateSparseClassifier(0.8, 1e-6, bounds=(-1, 1), classes=(0, 1), ledger=ledger)
    ...     model = model.fit(X, X[:, 0] > 0)
    ...     try:
    ...         model = model.fit(X, X[:, 1] > 0)
    ...     except BudgetExceededError:
    ...         print("refused;", len(ledger.entries()), "release")
    refused; 1 release
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        dataset: str = "default",
        adjacency: str | None = None,
        records_per_person: int = 1,
        head: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        if not isinstance(path, str | os.PathLike) or not _is_name(os.fspath(path)):
            raise InvalidArgumentError("path must name a file")
        if not _is_name(dataset):
            raise InvalidArgumentError("dataset must be a name")
        if adjacency is not None:
            choice("adjacency", adjacency, ADJACENCIES)
        if (epsilon is None) != (delta is None):
            raise InvalidArgumentError("epsilon and delta must be given together, or neither where the file knows them")
        if not (head is None or isinstance(head, str)):
            raise InvalidArgumentError("head must be a hash that a ledger showed, as text")
        self._path = Path(path).absolute()
        self._dataset = dataset
        self._timeout = number("timeout", timeout)
        if not self._timeout >= 0:
            raise InvalidArgumentError("timeout must not be negative")
        self._awaited = head
        self._read = _Read()
        #: Hash of the last entry that was found on the disk.
        self._seen: str | None = None
        self._lock = threading.RLock()
        self._within = False
        asked = None
        if epsilon is not None and delta is not None:
            asked = (
                number("epsilon", epsilon),
                number("delta", delta),
                adjacency,
                positive_integer("records_per_person", records_per_person),
            )
            _core.Total(asked[0], asked[1], adjacency=asked[2], records_per_person=asked[3])  # checks them
        self._open(asked)

    def _open(self, asked: tuple[float, float, str | None, int] | None) -> None:
        if asked is None and not os.path.exists(self._path):
            raise InvalidArgumentError("path names no file; a new ledger needs epsilon and delta")
        with self._transaction() as connection:
            if self._read.terms is None:
                if asked is None:
                    names = connection.execute("SELECT DISTINCT dataset FROM entries ORDER BY dataset").fetchall()
                    raise InvalidArgumentError(
                        "dataset is not in this ledger, which holds "
                        f"{', '.join(repr(name) for (name,) in names) or 'none'}; a new one needs epsilon and delta"
                    )
                terms = dict(zip(("epsilon", "delta", "adjacency", "records_per_person"), asked, strict=True))
                self._append(connection, "data set", terms)
        known = self._read.terms
        if asked is not None and known is not None and not self._same(asked, known):
            epsilon, delta, adjacency, persons = known
            raise InvalidArgumentError(
                f"epsilon and delta must be those that the data set was opened with: {epsilon} and {delta}, with "
                f"adjacency {adjacency} and records_per_person {persons}"
            )

    @staticmethod
    def _same(asked: tuple[float, float, str | None, int], known: tuple[float, float, str | None, int]) -> bool:
        return (*asked[:2], asked[3]) == (*known[:2], known[3]) and asked[2] in (None, known[2])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One exclusive transaction on a file whose whole chain was read and is sound."""
        with not_forked(), taken(self._lock, self._timeout):
            if self._within:
                raise LedgerError(
                    "the ledger cannot be used amid a look or a commit of its own, which the handler of a signal or a "
                    "finaliser has broken into: try again after it"
                )
            self._within = True
            try:
                known = self._seen is not None
                with alone(self._path, self._timeout, known), self._locked(known) as connection:
                    yield connection
            finally:
                self._within = False

    @contextmanager
    def _locked(self, known: bool) -> Iterator[sqlite3.Connection]:
        connection = None
        try:
            refuse_unusable(self._path, known)
            # of its own for every transaction: safe for threads and after forks
            connection = sqlite3.connect(self._path, timeout=self._timeout, isolation_level=None)
            begin(connection, self._timeout)
            known = connection.execute("SELECT name FROM sqlite_master WHERE name = 'head'").fetchone()
            if known is None:
                self._create(connection)
            self._catch_up(connection)
            before = (self._read.entries, self._read.hash)
            yield connection
            if (self._read.entries, self._read.hash) != before:
                connection.execute("UPDATE head SET entries = ?, hash = ?", (self._read.entries, self._read.hash))
            connection.execute("COMMIT")
            self._seen = self._read.hash
        except BaseException as error:
            self._forget()
            if connection is not None and connection.in_transaction:
                connection.rollback()
            if isinstance(error, sqlite3.Error | OSError):
                raise refused(error, self._timeout) from error
            if isinstance(error, UnicodeDecodeError):  # SQLite's words about a damaged schema quote it
                raise refused(sqlite3.DatabaseError("malformed"), self._timeout) from error
            raise
        finally:
            if connection is not None:
                connection.close()

    def _forget(self) -> None:
        """Read the file anew next time; it must still hold what was found in it."""
        self._read = _Read()
        self._awaited = self._awaited or self._seen

    def _create(self, connection: sqlite3.Connection) -> None:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0:
            raise LedgerError("the file is a database of something else")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        if connection.execute("PRAGMA page_count").fetchone()[0] > 1 or self._path.stat().st_size > size:
            # a few bits of the first page say which tables there are; a new file is that page at most
            raise LedgerError("the file is damaged, or a database of something else: it has contents, and no tables")
        for statement in _SCHEMA.split(";\n")[:-1]:
            connection.execute(statement)
        connection.execute("INSERT INTO head VALUES (?, 0, ?)", (_FORMAT, _START))

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Read what was added since the last look, and check it."""
        head = connection.execute("SELECT format, entries, hash FROM head").fetchall()
        if len(head) != 1 or head[0][0] != _FORMAT:
            raise LedgerError("the file is not a ledger of this version")
        entries = connection.execute(
            "SELECT number, dataset, kind, content, hash FROM entries WHERE number >= ? ORDER BY number",
            (self._read.entries,),
        )
        # Left open, as an error that is kept leaves it, it would hold SQLite's lock after the connection was closed.
        with closing(entries) as rows:
            for row, dataset, kind, content, found in rows:
                fields = (self._read.entries, dataset, kind, content)
                # bytes in the place of text have no hash
                texts = all(isinstance(text, str) for text in (dataset, kind, content, found))
                if row != self._read.entries or not texts or found != _hash(self._read.hash, *fields):
                    raise LedgerError(f"entry {self._read.entries} of the ledger is not the one that was written")
                self._take(dataset, kind, content, found)
        if (self._read.entries, self._read.hash) != head[0][1:]:
            raise LedgerError("the ledger does not hold all the entries that were written")
        if self._awaited is not None:
            raise LedgerError("the ledger does not contain the head: it is an older copy, or another one")

    def _take(self, dataset: str, kind: str, content: str, found: str) -> None:
        """One more sound entry."""
        self._read.entries += 1
        self._read.hash = found
        if found == self._awaited:
            self._awaited = None
        if dataset != self._dataset:
            return
        try:
            self._count(kind, json.loads(content))
        except (DpsparseError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            # Another version may have written it: what is not understood is never passed over.
            reason = error if isinstance(error, DpsparseError) else "it is not as this version writes entries"
            raise LedgerError(f"entry {self._read.entries - 1} of the ledger cannot be counted: {reason}") from error

    def _count(self, kind: str, fields: dict[str, Any]) -> None:
        if kind == "data set":
            if self._read.total is not None:
                raise LedgerError("its data set has a total already")
            terms = (fields["epsilon"], fields["delta"], fields["adjacency"], fields["records_per_person"])
            self._read.total = _core.Total(*terms[:2], adjacency=terms[2], records_per_person=terms[3])
            self._read.terms = terms
            self._read.accountant = Accountant()
            return
        if kind != "release":
            raise LedgerError("it is of a kind that this version does not know")
        if self._read.total is None or self._read.accountant is None:
            raise LedgerError("its data set has no total yet")
        certificate = Certificate.from_json(fields["certificate"])
        self._read.total.add(certificate, fields["records_per_person"])
        for event, count in certificate.events:
            self._read.accountant.add(event, count)
        if "release" in fields:
            held = (fields["release"], fields["certificate"], fields["records_per_person"])
            self._read.resumable[held] = self._read.entries - 1

    def _append(self, connection: sqlite3.Connection, kind: str, fields: dict[str, Any]) -> None:
        content = json.dumps({**fields, "time": datetime.now(UTC).isoformat(timespec="seconds")}, sort_keys=True)
        row = self._read.entries
        found = _hash(self._read.hash, row, self._dataset, kind, content)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (row, self._dataset, kind, content, found))
        self._take(self._dataset, kind, content, found)

    def admits(self, certificate: Certificate, records_per_person: int = 1) -> None:
        """Raise where a release would be refused now; it changes nothing and promises nothing.

        Parameters
        ----------
        certificate : Certificate
            What the release will cost.
        records_per_person : int, default 1
            How many records of one person it protects.

        Raises
        ------
        BudgetExceededError
            If it does not fit what is left.
        UnsoundMechanismError
            If nothing is proved of it.
        InvalidArgumentError
            If it is for another neighbour relation, or for fewer records a person.
        LedgerError
            If the file cannot be used.
        """
        records_per_person = _checked_release(certificate, records_per_person)
        with self._transaction():
            self._total().copy().add(certificate, records_per_person)

    def commit(self, certificate: Certificate, records_per_person: int = 1, release: str | None = None) -> int:
        """Write a release down before it is made; fits call it. On return the entry is on the disk.

        Parameters
        ----------
        certificate : Certificate
            What the release will cost.
        records_per_person : int, default 1
            How many records of one person it protects.
        release : str, optional
            A mark that no other release has, of one that may go on after a stop: fits with a checkpoint have one. Where
            the data set holds that very release nothing is written, and nothing more is spent.

        Returns
        -------
        int
            Number of the entry in the file.

        Raises
        ------
        DpsparseError
            As :meth:`admits`; nothing is spent then.
        """
        records_per_person = _checked_release(certificate, records_per_person)
        if release is not None and not _is_name(release):
            raise InvalidArgumentError("release must be None or text, a mark that no other release has")
        with self._transaction() as connection:
            fields: dict[str, Any] = {"certificate": certificate.to_json(), "records_per_person": records_per_person}
            if release is not None:
                held = self._read.resumable.get((release, fields["certificate"], records_per_person))
                if held is not None:
                    return held
                fields["release"] = release
            self._total().copy().add(certificate, records_per_person)
            self._append(connection, "release", fields)
            return self._read.entries - 1

    def _total(self) -> _core.Total:
        if self._read.total is None:
            raise LedgerError("the ledger does not hold the data set")
        return self._read.total

    @property
    def epsilon(self) -> float:
        """Epsilon of the total."""
        return self._terms()[0]

    @property
    def delta(self) -> float:
        """Delta of the total."""
        return self._terms()[1]

    def _terms(self) -> tuple[float, float, str | None, int]:
        if self._read.terms is None:
            with self._transaction():
                pass
        if self._read.terms is None:
            raise LedgerError("the ledger does not hold the data set")
        return self._read.terms

    @property
    def secure(self) -> bool:
        """Whether all releases drew their noise from the operating system; without that there is no guarantee."""
        return all(certificate.secure for certificate in self.entries())

    @property
    def head(self) -> str:
        """Hash of the last entry of the file: written down elsewhere, it later tells an older copy of the file."""
        with self._transaction():
            return self._read.hash

    def remaining(self, delta: float | None = None) -> float:
        """Return the largest epsilon for which a next release would pass.

        Parameters
        ----------
        delta : float, optional
            Delta of that release; None: that of the total.

        Returns
        -------
        float
            For pure releases at ``delta`` 0, else for Gaussian noise; 0 where none would pass.
        """
        with self._transaction():
            at = optional_number("delta", delta)
            return self._total().remaining(self._terms()[1] if at is None else at)

    def spent(self, delta: float | None = None) -> float:
        """Return the epsilon that all entries cost together, by the tight accountant.

        Parameters
        ----------
        delta : float, optional
            None: that of the total.

        Returns
        -------
        float
            It holds as it stands for releases that were all chosen in advance; for others the total holds.
        """
        with self._transaction():
            at = optional_number("delta", delta)
            accountant = self._read.accountant
            return 0.0 if accountant is None else accountant.epsilon(self._terms()[1] if at is None else at)

    def _content(self) -> list[tuple[int, str, dict[str, Any]]]:
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT number, kind, content FROM entries WHERE dataset = ? ORDER BY number", (self._dataset,)
            ).fetchall()
        return [(row, kind, json.loads(content)) for row, kind, content in rows]

    def entries(self) -> list[Certificate]:
        """Return the certificates of what was committed for the data set, in order; of fits that crashed too."""
        return [
            Certificate.from_json(fields["certificate"]) for _, kind, fields in self._content() if kind == "release"
        ]

    def export_json(self) -> str:
        """Return the history of the data set as JSON text: its total, and every release with time and certificate."""
        history = [
            {
                "number": row,
                "kind": kind,
                **{k: json.loads(v) if k == "certificate" else v for k, v in fields.items()},
            }
            for row, kind, fields in self._content()
        ]
        exported = {"format": _FORMAT, "dataset": self._dataset, "head": self.head, "entries": history}
        return json.dumps(exported, indent=2)

    def close(self) -> None:
        """Do nothing: no file is open between calls. For use beside files that are."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (str(self._path), self._dataset, self._timeout)

    def __repr__(self) -> str:
        epsilon, delta, _, _ = self._terms()
        return f"Ledger({str(self._path)!r}, {epsilon!r}, {delta!r}, dataset={self._dataset!r})"

    def __str__(self) -> str:
        """Return the history as lines of text."""
        epsilon, delta, adjacency, persons = self._terms()
        lines = [
            f"Data set {self._dataset!r}: in all epsilon {epsilon} at delta {delta}, {adjacency or 'any'} neighbours, "
            f"people with up to {persons} records"
        ]
        for row, kind, fields in self._content():
            if kind == "release":
                certificate = Certificate.from_json(fields["certificate"])
                spent, at = certificate.claim
                lines.append(f"{row:4d}  {fields['time']}  epsilon {spent} at delta {at}: {certificate.mechanism}")
        if not self.secure:
            lines.insert(0, "NO GUARANTEE: some releases drew their noise from a seed.")
        lines.append(f"Spent: epsilon {self.spent():.4g}. A next release may have epsilon {self.remaining():.4g}.")
        return "\n".join(lines)


def _checked_release(certificate: Any, records_per_person: Any) -> int:
    if not isinstance(certificate, Certificate):
        raise InvalidArgumentError(f"certificate must be a Certificate, got {type(certificate).__name__}")
    return positive_integer("records_per_person", records_per_person)


def _is_name(value: Any) -> bool:
    """Whether it is text that a file may hold: SQLite takes neither halves of characters nor zeros."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        return bool(value.encode())
    except UnicodeEncodeError:
        return False


def _reopened(path: str, dataset: str, timeout: float) -> Ledger:
    return Ledger(path, dataset=dataset, timeout=timeout)


Ledger.__module__ = "dpsparse.privacy"
