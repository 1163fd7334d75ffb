"""Shared by the benchmarks: interleaved minima, machine facts, one table."""

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

# Both sides get the same threads: RAYON_NUM_THREADS decides for numpy too.
THREADS = int(os.environ.get("RAYON_NUM_THREADS") or os.cpu_count() or 1)
os.environ["RAYON_NUM_THREADS"] = str(THREADS)
threadpool_limits(THREADS)

QUICK = "--quick" in sys.argv


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def samples(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contender in rounds in which all take turns; a contender returns its own seconds."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(2 if QUICK else rounds):
        for name, measure in contenders.items():
            taken[name].append(measure())
    return taken


def minima(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Least seconds of each contender over rounds in which all take turns."""
    return {name: min(taken) for name, taken in samples(contenders, rounds).items()}


def headline(claim: str) -> None:
    """Print the claim and the facts that it was measured under."""
    print(f"\n{claim}")
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"  {machine()} each{load}, numpy {np.__version__}")


def machine() -> str:
    """Return the processor and how much of it a measurement gets."""
    return f"{_processor()}, {os.cpu_count()} CPUs, {THREADS} threads"


def row(what: str, ours: float, peer: float, target: float | None = None) -> None:
    """Print one line: our seconds, the peer's, their ratio and the ratio claimed."""
    ratio = peer / ours
    claimed = "" if target is None else f"  claimed {target:g}: {'holds' if ratio >= target else 'DOES NOT HOLD'}"
    print(f"  {what:46s} ours {_time(ours)}  peer {_time(peer)}  ratio {ratio:6.2f}{claimed}")


def shared(*parts: str) -> Path | None:
    """Return a file of the shared folder, or print why this part is skipped."""
    path = Path(os.environ.get("DPSPARSE_SHARED", "../shared")).joinpath(*parts)
    if path.exists():
        return path
    print(f"  skipped: {path} is absent (set DPSPARSE_SHARED to the folder with the open data sets)")
    return None


def _time(value: float) -> str:
    return f"{value * 1e3:9.2f} ms"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        facts = dict(line.split(":", 1) for line in lines if ":" in line)
        facts = {key.strip(): value.strip() for key, value in facts.items()}
        return f"{facts['model name']} (family {facts['cpu family']} model {facts['model']})"
    except (OSError, KeyError):
        return platform.processor() or platform.machine()
