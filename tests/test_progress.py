"""Lines of progress: public counts, their rate, and the time that is left."""

import builtins
import contextlib
import io
import sys
import time

import numpy as np
import pytest

from dpsparse import PrivateSearchCV, PrivateSparseClassifier
from dpsparse._progress import Pace, _duration, progress
from dpsparse.privacy import Accountant


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_rates_and_times_follow_from_counts_and_the_clock():
    clock = Clock()
    pace = Pace(clock)
    assert pace.text(0, 100) == "0/100 steps"
    clock.now += 2
    assert pace.text(8, 100) == "8/100 steps, 4 steps/s, 23 s left"
    clock.now += 38
    # The window begins at the second report by now.
    assert pace.text(9, 100) == "9/100 steps, 38 s/step, 57 min 38 s left"
    clock.now += 1
    assert pace.text(100, 100).startswith("100/100 steps, ")
    assert "left" not in pace.text(100, 100)


def test_the_next_phase_has_a_rate_of_its_own():
    clock = Clock()
    pace = Pace(clock)
    pace.text(0, 10)
    clock.now += 1
    pace.text(10, 10)
    clock.now += 50
    for total in (10, 20):  # fewer steps than before; another total
        assert pace.text(1, total) == f"1/{total} steps"
        clock.now += 2
        assert pace.text(2, total) == f"2/{total} steps, 2 s/step, {2 * (total - 2)} s left"


def test_steps_that_took_no_time_fade():
    """A resumed fit takes the first ones from its checkpoint."""
    clock = Clock()
    pace = Pace(clock)
    pace.text(0, 1000)
    clock.now += 0.1
    pace.text(500, 1000)
    for done in range(501, 600):
        clock.now += 1
        text = pace.text(done, 1000)
    assert ", 1 steps/s, 6 min 41 s left" in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3725, "1 h 02 min"), (1e6, "277 h 46 min")],
)
def test_times_are_written_as_people_write_them(seconds, text):
    assert _duration(seconds) == text


@pytest.fixture
def plain(monkeypatch):
    """No tqdm, and a text that may stand in for stderr."""
    imports = builtins.__import__

    def without(name, *rest):
        if name.startswith("tqdm"):
            raise ImportError(name)
        return imports(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    return io.StringIO()


def test_a_file_gets_few_lines_and_the_last_one(plain, monkeypatch):
    monkeypatch.setattr(sys, "stderr", plain)
    with progress("a fit", 1) as report:
        for done in range(1001):
            report(done, 1000)
        report(1000, 1000)
    lines = plain.getvalue().splitlines()
    assert 2 <= len(lines) <= 4
    assert lines[0] == "a fit: 0/1000 steps"
    assert lines[-1].startswith("a fit: 1000/1000 steps")


@pytest.mark.parametrize("terminal", [False, True])
def test_passes_after_the_last_step_are_not_counted(terminal, plain, monkeypatch):
    """Minimisers make as many as the records need, each with a report: lines of their own would tell how many."""
    clock = Clock()
    monkeypatch.setattr("dpsparse._progress.time.monotonic", clock)
    monkeypatch.setattr(plain, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", plain)
    shown = set()
    for passes in (1, 7):
        clock.now = 100.0
        with progress("a search", 1) as report:
            for total in (10, 10, 20):
                for done in (1, total, *[total] * passes):
                    clock.now += 1 if done < total or passes == 1 else 0.1
                    report(done, total)
        shown.add(len(plain.getvalue().splitlines()))
        plain.seek(0)
        plain.truncate()
    assert len(shown) == 1


def test_callbacks_hear_of_passes_after_the_last_step_by_the_clock(monkeypatch):
    """Whoever counts calls would count the passes of minimisers, which follow from the records."""
    heard = []

    @contextlib.contextmanager
    def recorded(_description, _verbose):
        yield lambda done, total: heard.append(done == total)

    monkeypatch.setattr("dpsparse.estimators.search.progress", recorded)
    X = np.random.default_rng(0).uniform(-1, 1, (400, 4))
    model = PrivateSparseClassifier(mechanism="output-perturbation", bounds=(-1, 1), classes=(0, 1))
    began = time.monotonic()
    PrivateSearchCV(model, {"ridge": [0.01, 0.02, 0.03]}, epsilon=3.0, delta=1e-5).fit(X, X[:, 0] > 0)
    phases = 5  # three fits, a choice, a refit
    assert 1 <= sum(heard) <= phases + (time.monotonic() - began) / 0.05


def test_a_terminal_has_one_line_which_an_error_ends(plain, monkeypatch):
    monkeypatch.setattr(plain, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", plain)

    def stopped():
        with progress("a fit", 1) as report:
            report(1, 10)
            report(2, 10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    text = plain.getvalue()
    assert text.startswith("\ra fit: 1/10 steps")
    assert text.count("\n") == 1
    assert text.endswith("\n")


def test_silence_takes_no_callback():
    with progress("a fit", 0) as report:
        assert report is None


class Full(io.StringIO):
    """A stream on a disk that is full, from its so many-th line on."""

    def __init__(self, lines):
        super().__init__()
        self.lines = lines

    def write(self, text):
        self.lines -= 1
        if self.lines < 0:
            raise OSError(28, "No space left on device")
        return len(text)


@pytest.mark.parametrize("lines", [0, 2])
@pytest.mark.parametrize("bars", [True, False])
@pytest.mark.parametrize("kind", [None, "closed", Full])
def test_a_stream_that_is_gone_takes_no_model_with_it(kind, bars, lines, request, monkeypatch):
    """The release was paid for, and its model lost."""
    if bars:
        pytest.importorskip("tqdm", reason="tqdm is not installed")
    else:
        request.getfixturevalue("plain")
    stream = kind(lines) if kind is Full else None if kind is None else io.StringIO()
    if kind == "closed":
        stream.close()
    X = np.random.default_rng(0).uniform(0, 1, (500, 5))
    account = Accountant(2.0, 1e-5)
    model = PrivateSparseClassifier(1.0, 1e-8, bounds=(0, 1), classes=(False, True), verbose=1, ledger=account)
    monkeypatch.setattr(sys, "stderr", stream)
    model.fit(X, X[:, 0] > 0.5)
    monkeypatch.undo()
    assert model.coef_.shape == (1, 5)
    assert account.remaining(1e-5) < 2.0
