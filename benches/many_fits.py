"""A search of twenty candidates beside one fit: they share one reading of the records.

Records are 10^6 x 100, a memory map of float32. Each case runs in a process of its own, in rounds in which all take
turns; the least time and the least peak count. Memory is what a process holds besides the map, above what it held
before (Linux: ``RssAnon``, looked at every 5 ms). "Reading" is a fit of one step.

Claims: the search costs at most twenty fits and one reading, and 1.2 times the memory of one fit.

Run: ``python benches/many_fits.py [--quick]``.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from _timing import QUICK, headline

N, P = (100_000, 100) if QUICK else (1_000_000, 100)
CANDIDATES, STEPS = 20, 20
ROUNDS = 2
CASES = ("reading", "fit", "search", "search and refit")

CHILD = """
import re, sys, threading, time
import numpy as np
from dpsparse import FrankWolfe, PrivateSearchCV, PrivateSparseClassifier
case, path, n, p, steps, candidates = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
def held():
    return 1024 * int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read()).group(1))
X = np.memmap(path, dtype=np.float32, mode="r", shape=(n, p))
y = np.where(np.asarray(X[:, 0]) > 0, 1.0, -1.0)
def model(n_iter):
    return PrivateSparseClassifier(mechanism=FrankWolfe(n_iter=n_iter), bounds=(-1, 1), classes=(-1, 1))
def search(share):
    grid = {"radius": np.linspace(1.0, 10.0, candidates).tolist()}
    return PrivateSearchCV(model(steps), grid, epsilon=5.0, refit_share=share)
made = {"reading": lambda: model(1), "fit": lambda: model(steps), "search": lambda: search(0.0),
        "search and refit": lambda: search(0.5)}[case]()
model(1).fit(X[:1000], y[:1000])  # threads and modules are there
float(X.sum())  # and so is the map
before, peak, done = held(), 0, threading.Event()
def watch():
    global peak
    while not done.is_set():
        peak = max(peak, held())
        time.sleep(0.005)
watcher = threading.Thread(target=watch)
watcher.start()
start = time.perf_counter()
made.fit(X, y)
seconds = time.perf_counter() - start
done.set()
watcher.join()
print(seconds, peak - before)
"""


def main() -> None:
    headline(f"A search of {CANDIDATES} fits of {STEPS} steps beside one, {N} x {P}")
    if not sys.platform.startswith("linux"):
        print("  skipped: memory is read from /proc")
        return
    least = {case: (float("inf"), float("inf")) for case in CASES}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.float32"
        generator = np.random.default_rng(0)
        X = np.memmap(path, dtype=np.float32, mode="w+", shape=(N, P))
        for start in range(0, N, 10_000):
            X[start : start + 10_000] = generator.uniform(-1, 1, (10_000, P))
        X.flush()
        del X
        for _ in range(ROUNDS):
            for case in CASES:
                numbers = [str(number) for number in (N, P, STEPS, CANDIDATES)]
                command = [sys.executable, "-c", CHILD, case, str(path), *numbers]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                measured = map(float, output.split())
                least[case] = tuple(min(pair) for pair in zip(least[case], measured, strict=True))
    reading, fit = least["reading"], least["fit"]
    for case, (seconds, peak) in least.items():
        print(f"  {case:18s} {seconds:8.2f} s  {peak / 1e6:8.1f} MB")
    step = (fit[0] - reading[0]) / (STEPS - 1)
    print(f"  reading alone, by difference {reading[0] - step:.2f} s; a step {step:.4f} s")
    for case, fits in (("search", CANDIDATES), ("search and refit", CANDIDATES + 1)):
        seconds, peak = least[case]
        bound = fits * STEPS * step + (reading[0] - step)
        holds = seconds <= fits * fit[0] + reading[0] and peak <= 1.2 * fit[1]
        print(
            f"  {case}: {seconds / (fits * fit[0] + reading[0]):.2f} of {fits} fits and one reading "
            f"({seconds / bound:.2f} where fits read nothing), {peak / fit[1]:.2f} times the memory of a fit, "
            f"claimed 1 and 1.2: {'holds' if holds else 'DOES NOT HOLD'}"
        )


if __name__ == "__main__":
    main()
