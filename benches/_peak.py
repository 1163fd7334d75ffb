"""The high-water mark of a process's resident memory, around one piece of work (Linux)."""

import gc
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")


def measured(work: Callable[[], Result]) -> tuple[Result, int]:
    """What ``work()`` returns, and the most bytes that the process holds meanwhile beside those of before."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts again
    before = _status("VmRSS")
    result = work()
    return result, _status("VmHWM") - before


def _status(key: str) -> int:
    found = re.search(key + r":\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found.group(1))
