"""Fits of records on the workers of dask: seconds and bytes a pass, beside the same records in one memory.

Then what the measured constants say of many more records, columns and machines: a model on paper, not a measurement.

    python benches/shards.py [--records 200000] [--features 200] [--workers 2]
"""

import argparse
import os
import time
import warnings
from typing import ClassVar

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from dpsparse import PrivateSparseRegressor
from dpsparse.distributed import _dask, from_dask

#: What the model on paper is for.
RECORDS, FEATURES, WORKERS, CORES = 10**9, 10**6, 100, 16
#: Bytes a second of each network card.
NETWORK = 10e9 / 8


class Counted(_dask._Session):
    """A session whose passes are timed and whose bytes are counted."""

    passes: ClassVar[list[tuple[float, int, int]]] = []

    def ask(self, script):
        start = time.perf_counter()
        replies = super().ask(script)
        seconds = time.perf_counter() - start
        if not script.reads_records:
            self.passes.append((seconds, len(script.newest()), sum(map(len, replies))))
        return replies


def estimator(n_iter: int) -> PrivateSparseRegressor:
    options = {"mechanism": "noisy-proximal-gradient", "n_iter": n_iter, "scale": None, "random_state": 0}
    return PrivateSparseRegressor(bounds=(-4, 4), y_bounds=(-20, 20), **options)


def in_memory(X, y) -> float:
    """Seconds a pass: what many steps take more than few of them, each the least of three fits in turns."""
    few, many = 10, 410
    least = {few: np.inf, many: np.inf}
    for _ in range(3):
        for n_iter in least:
            start = time.perf_counter()
            estimator(n_iter).fit(X, y)
            least[n_iter] = min(least[n_iter], time.perf_counter() - start)
    return (least[many] - least[few]) / (many - few)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    n, p, workers = arguments.records, arguments.features, arguments.workers
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = X[:, :10].sum(axis=1) + rng.normal(size=n)
    whole = in_memory(X, y)
    _dask._Session = Counted
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        rows = -(-n // (2 * workers))
        parts = da.from_array(X, chunks=(rows, p)), da.from_array(y, chunks=rows)
        parts = client.persist(parts)
        model = estimator(40).fit(from_dask(parts[0]), parts[1])
        assert np.array_equal(model.coef_, estimator(40).fit(X, y).coef_)
    seconds, there, back = (np.median(figures) for figures in zip(*Counted.passes, strict=True))
    columns = p + 1
    print(f"{n} records, {p} features, {2 * workers} shards on {workers} workers of this machine")
    print(f"  a pass: {1e3 * seconds:.1f} ms; in one memory, all threads, {1e3 * whole:.1f} ms")
    print(f"  bytes a pass and worker: {there:.0f} there ({there / columns:.1f} a column), {back / workers:.0f} back")
    entry = whole * (len(os.sched_getaffinity(0))) / (n * columns)
    print(f"  {1e9 * entry:.3f} core-nanoseconds an entry in one memory")
    paper(entry, there / columns, back / workers / columns)


def paper(entry: float, there: float, back: float) -> None:
    """What these constants say of dense records on many machines."""
    held = 2 * RECORDS * FEATURES / WORKERS
    work = entry * RECORDS * FEATURES / WORKERS / CORES
    out, answers = there * FEATURES * WORKERS, back * FEATURES * WORKERS
    print(
        f"\n{RECORDS:.0e} records, {FEATURES:.0e} features, {WORKERS} workers of {CORES} cores, {8 * NETWORK:.0e} bit/s"
    )
    print(f"  integers of a worker, dense: {held / 1e12:.0f} TB")
    print(f"  a pass: {work:.0f} s of work; {out / 1e9:.1f} GB from the scheduler, {answers / 1e9:.1f} GB to it,")
    print(f"  which take {(out + answers) / NETWORK:.1f} s through one network card")
    for name, passes in [("noisy-proximal-gradient, 50 steps", 50), ("frank-wolfe, 300 steps", 300)]:
        sent = out if "gradient" in name else 40 * WORKERS  # a step of Frank-Wolfe moves along one column
        total = passes * (work + (sent + answers) / NETWORK)
        print(f"  {name}: {passes} passes, {passes * (sent + answers) / 1e12:.2f} TB, {total / 3600:.1f} h")


if __name__ == "__main__":
    main()
