"""Ledgers in races and crashes: what is admitted fits, and no model is without its entry."""

import contextlib
import os
import shutil
import signal
import stat
import sys
import threading
import time

import numpy as np
import pytest

from dpsparse import BudgetExceededError, LedgerError, PrivateScaler
from dpsparse.privacy import Accountant, Ledger
from ledgers import X, Y, classifier, finished, script
from processes import needs_fork


def admitted(epsilon):
    """How many scalers of this epsilon fit a total of 1, one after the other."""
    budget = Accountant(1.0, 1e-6)
    with contextlib.suppress(BudgetExceededError):
        for _ in range(1000):
            PrivateScaler(epsilon, 1e-9, bounds=(-1, 1), ledger=budget).fit(X)
    return len(budget.entries())


def test_racing_processes_admit_exactly_what_fits(tmp_path):
    path = tmp_path / "l.db"
    body = """
        ledger = Ledger(path, 1.0, 1e-6)
        done = 0
        for _ in range(6):
            try:
                PrivateScaler(0.2, 1e-9, bounds=(-1, 1), ledger=ledger).fit(X)
                done += 1
            except BudgetExceededError:
                pass
        print(done)
    """
    processes = [script(path, body) for _ in range(8)]
    done = [int(finished(process)) for process in processes]
    fits = admitted(0.2)
    assert 1 < fits < 48
    assert sum(done) == len(Ledger(path).entries()) == fits


def test_what_is_left_is_looked_at_and_written_in_one_transaction(tmp_path):
    path = tmp_path / "l.db"
    ledger = Ledger(path, 1.0, 1e-6)
    with ledger._transaction(), pytest.raises(LedgerError, match="another process"):
        Ledger(path, timeout=0.0)
    assert Ledger(path, timeout=0.0).remaining() > 0


@pytest.mark.skipif(sys.platform != "linux", reason="locks of open file descriptions")
def test_who_copies_the_file_in_a_process_that_commits_lets_no_other_one_in(tmp_path, monkeypatch):
    """POSIX drops all locks of a process on a file that it closes: the second entry took the place of the first."""
    path = tmp_path / "l.db"
    ledger = Ledger(path, 1.0, 1e-6)
    certificate = classifier().fit(X, Y).certificate_
    body = """
        try:
            PrivateScaler(0.5, 1e-9, bounds=(-1, 1), ledger=Ledger(path, timeout=0.3)).fit(X)
            print("released")
        except LedgerError as error:
            print(error)
    """
    append, told = ledger._append, []

    def copied_meanwhile(*entry):
        shutil.copy(path, tmp_path / "copy.db")
        told.append(finished(script(path, body)))
        append(*entry)

    monkeypatch.setattr(ledger, "_append", copied_meanwhile)
    ledger.commit(certificate)
    assert len(Ledger(path).entries()) == 1
    assert "another process" in told[0]


@pytest.mark.skipif(sys.platform != "linux", reason="locks of open file descriptions")
def test_who_copies_a_new_file_amid_its_first_commit_lets_no_other_one_in(tmp_path, monkeypatch):
    """A file that was not there yet had SQLite's locks alone: the new total took the place of the other's releases."""
    path = tmp_path / "l.db"
    body = """
        try:
            PrivateScaler(0.5, 1e-9, bounds=(-1, 1), ledger=Ledger(path, 1.0, 1e-6, timeout=0.3)).fit(X)
            print("released")
        except LedgerError as error:
            print(error)
    """
    append, told = Ledger._append, []

    def copied_meanwhile(ledger, *entry):
        shutil.copy(path, tmp_path / "copy.db")
        told.append(finished(script(path, body)))
        append(ledger, *entry)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_append", copied_meanwhile)
        Ledger(path, 1.0, 1e-6)
    assert Ledger(path).entries() == []
    assert "another process" in told[0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_look_amid_a_commit_of_its_own_is_refused_at_once(tmp_path, monkeypatch):
    """As a handler of a signal or a finaliser may have one: it waited for itself, and the file was lost."""
    ledger = Ledger(tmp_path / "l.db", 1.0, 1e-6, timeout=1.0)
    certificate = classifier().fit(X, Y).certificate_
    append = ledger._append

    def looked_at_meanwhile(*entry):
        append(*entry)
        with pytest.raises(LedgerError, match="amid"):
            ledger.remaining()

    monkeypatch.setattr(ledger, "_append", looked_at_meanwhile)
    ledger.commit(certificate)
    assert len(ledger.entries()) == len(Ledger(tmp_path / "l.db").entries()) == 1


@pytest.mark.parametrize("one_file", [False, True])
def test_threads_amid_ledgers_that_look_at_each_others_do_not_wait_for_ever(one_file, tmp_path, monkeypatch):
    """As finalisers may: each held what the other one waited for."""
    paths = [tmp_path / ("l.db" if one_file else f"{k}.db") for k in range(2)]
    ledgers = [Ledger(path, 1.0, 1e-6, timeout=0.5) for path in paths]
    certificate = classifier(epsilon=0.1).fit(X, Y).certificate_
    both = threading.Barrier(2)
    told, waits = [], not one_file  # with one file the second thread is not amid a commit before the first is done

    def amid(k):
        append = ledgers[k]._append

        def looked_at_meanwhile(*entry):
            append(*entry)
            if waits:
                both.wait(timeout=30)
            try:
                ledgers[1 - k].remaining()
            except LedgerError as error:
                told.append(str(error))

        monkeypatch.setattr(ledgers[k], "_append", looked_at_meanwhile)

    def commit(k):
        try:
            ledgers[k].commit(certificate)
        except LedgerError as error:
            told.append(str(error))

    for k in range(2):
        amid(k)
    threads = [threading.Thread(target=commit, args=(k,), daemon=True) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert told
    assert all("0.5 seconds" in text for text in told)
    if not one_file:
        assert [len(Ledger(path).entries()) for path in paths] == [1, 1]


def test_racing_threads_share_one_object(tmp_path):
    ledger = Ledger(tmp_path / "l.db", 1.0, 1e-6)
    done = []

    def work():
        for _ in range(4):
            try:
                PrivateScaler(0.3, 1e-9, bounds=(-1, 1), ledger=ledger).fit(X)
                done.append(1)
            except BudgetExceededError:
                pass

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == len(ledger.entries()) == admitted(0.3) < 24


def kill_at_random(path, folder, rng, processes):
    """Processes that fit and write models, killed at random moments; the entries and models that they leave."""
    body = f"""
        ledger = Ledger(path)
        print("ready", flush=True)
        for k in range(10**6):
            model = PrivateScaler(1e-3, 1e-9, bounds=(-1, 1), ledger=ledger).fit(X)
            with open({str(folder)!r} + f"/{{os.getpid()}}-{{k}}", "w") as file:
                file.write("model")
    """
    for _ in range(processes):
        with script(path, body) as process:
            assert process.stdout.readline().strip() == "ready", process.stderr.read()
            time.sleep(float(rng.uniform(0.05, 0.3)))
            process.send_signal(signal.SIGKILL)
    return len(Ledger(path).entries()), len(list(folder.iterdir()))


def crashes_never_leave_a_model_without_its_entry(tmp_path, kills):
    path, folder = tmp_path / "l.db", tmp_path / "models"
    folder.mkdir()
    Ledger(path, 1e4, 1e-6)
    entries, models = kill_at_random(path, folder, np.random.default_rng(5), kills)
    # A killed fit may waste an entry, never the other way round.
    assert models <= entries <= models + kills
    assert models > 0


def test_crashes_never_leave_a_model_without_its_entry(tmp_path):
    crashes_never_leave_a_model_without_its_entry(tmp_path, 5)


@pytest.mark.slow
def test_two_hundred_crashes_never_leave_a_model_without_its_entry(tmp_path):
    crashes_never_leave_a_model_without_its_entry(tmp_path, 200)


@needs_fork
@pytest.mark.parametrize("hook", ["_after", "_after_in_child"])
def test_an_interrupt_as_a_fork_ends_leaves_ledgers_usable(hook, tmp_path):
    """What follows a fork was not done, and whoever used a ledger next waited for the end of that fork for ever."""
    body = f"""
        from dpsparse.privacy import _forks
        ledger = Ledger(path, 1.0, 1e-6, timeout=1.0)
        code, armed = _forks.{hook}.__code__, True

        def interrupted(frame, event, argument):
            global armed
            if frame.f_code is code and armed:
                armed = False
                raise KeyboardInterrupt

        sys.setprofile(interrupted)
        child = os.fork()
        sys.setprofile(None)
        signal.alarm(10)
        ledger.remaining()
        if not child:
            os._exit(0)
        print(os.waitpid(child, 0)[1], armed)
    """
    assert finished(script(tmp_path / "l.db", body)) == "0 " + str(hook == "_after_in_child")


@needs_fork
def test_forks_wait_for_transactions_of_other_threads(tmp_path):
    """SQLite's locks, and those of threads that a child does not have, would be held in it for ever."""
    body = """
        import threading
        ledger = Ledger(path, 1.0, 1e-6, timeout=1.0)
        stopped = threading.Event()

        def work():
            while not stopped.is_set():
                ledger.remaining()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        statuses = []
        for _ in range(20):
            child = os.fork()
            if not child:
                signal.alarm(5)
                ledger.remaining()
                os._exit(0)
            statuses.append(os.waitpid(child, 0)[1])
        stopped.set()
        for thread in threads:
            thread.join()
        print(statuses)
    """
    assert finished(script(tmp_path / "l.db", body)) == str([0] * 20)
