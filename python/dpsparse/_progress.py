"""Progress of long fits: counts of public steps, and the clock."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

Report: TypeAlias = Callable[[int, int], None]

#: Seconds of reports that a rate is taken of: steps that a checkpoint holds take no time.
_WINDOW = 30.0
#: Seconds between two lines where each takes a line of its own.
_PAUSE = 5.0
#: What a stream raises that is full, closed or gone.
_GONE = (OSError, ValueError)


class Pace:
    """Steps a second and the time that is left, from public counts and the clock alone.

    A smaller count or another total begins a phase of its own, such as the next fit of a search.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total = 0
        self._reports: deque[tuple[float, int]] = deque()

    def text(self, done: int, total: int) -> str:
        """Return "done/total steps", and behind it the rate and the seconds left once there is a rate."""
        now = self._clock()
        if total != self._total or (self._reports and done < self._reports[-1][1]):
            self._reports.clear()
        self._total = total
        self._reports.append((now, done))
        while self._reports[0][0] < now - _WINDOW and len(self._reports) > 2:
            self._reports.popleft()
        start, first = self._reports[0]
        counts = f"{done}/{total} steps"
        if done == first or now <= start:
            return counts
        rate = (done - first) / (now - start)
        speed = f"{rate:.3g} steps/s" if rate >= 1 else f"{1 / rate:.3g} s/step"
        left = "" if done >= total else f", {_duration((total - done) / rate)} left"
        return f"{counts}, {speed}{left}"


def _duration(seconds: float) -> str:
    """Return a time as people write it: "12 s", "3 min 05 s", "2 h 07 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@contextmanager
def progress(description: str, verbose: int) -> Iterator[Report | None]:
    """Yield a callback ``report(done, total)`` that shows progress on stderr, or None when ``verbose`` is 0.

    tqdm draws the bar where it is installed (extra ``progress``). Else a terminal has one line that is rewritten; a
    file has a line every five seconds. Both tell steps, rate and the time that is left. Where stderr is gone, or
    nothing can be written to it any more, nothing is shown: a release that is paid for does not fail by it.
    """
    shown = None
    if verbose and sys.stderr is not None:
        with suppress(*_GONE):
            shown = _shown(description)
    if shown is None:
        yield None
        return
    report, close = shown
    try:
        yield _while_it_can(report)
    finally:
        with suppress(*_GONE):
            close()


def _while_it_can(report: Report) -> Report:
    """The same report, until it cannot be shown."""
    gone = False

    def shown(done: int, total: int) -> None:
        nonlocal gone
        if gone:
            return
        try:
            report(done, total)
        except _GONE:
            gone = True

    return shown


def _shown(description: str) -> tuple[Report, Callable[[], None]]:
    """How reports are shown, and what ends that."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _lines(description)
    bar = tqdm(desc=description, unit="step")

    def report(done: int, total: int) -> None:
        if done == bar.n and total == bar.total:
            return
        if bar.n > done:  # the next phase
            bar.reset(total)
        bar.total = total
        bar.update(done - bar.n)

    return report, bar.close


def _lines(description: str) -> tuple[Report, Callable[[], None]]:
    """Plain text; an unfinished line is ended, so that what follows, such as an error, has a line of its own."""
    pace, rewrites = Pace(), sys.stderr.isatty()
    shown, width, last, ended = "", 0, float("-inf"), -1

    def report(done: int, total: int) -> None:
        nonlocal shown, width, last, ended
        # After the last step there are passes over the records, each with a report. How many they are, records decide:
        # no line may be told of each, with a rate of its own.
        if done >= total == ended:
            return
        ended = total if done >= total else -1
        line = f"{description}: {pace.text(done, total)}"
        ends = done >= total
        if not rewrites and not ends and time.monotonic() - last < _PAUSE:
            return
        if line == shown:
            return
        shown, last = line, time.monotonic()
        if rewrites:
            print(f"\r{line:<{width}}", end="\n" if ends else "", file=sys.stderr, flush=True)
            width = 0 if ends else max(width, len(line))
        else:
            print(line, file=sys.stderr, flush=True)

    def close() -> None:
        if rewrites and width:
            print(file=sys.stderr, flush=True)

    return report, close
