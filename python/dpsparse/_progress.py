"""Progress of long fits: public iteration counts only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Report: TypeAlias = Callable[[int, int], None]


@contextmanager
def progress(description: str, verbose: int) -> Iterator[Report | None]:
    """Yield a callback ``report(done, total)`` that shows progress on stderr, or None when ``verbose`` is 0.

    tqdm draws the bar where it is installed (extra ``progress``), else a plain line is rewritten.
    """
    if not verbose:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield lambda done, total: print(
            f"\r{description}: {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True
        )
        return
    with tqdm(desc=description, unit="step") as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report
