"""Fits of records that need not fit into memory: time, memory of their own, bytes read and written.

A regression on n x p numbers of single precision in a file (``numpy.memmap``), read by blocks, integers in nameless
files. Beside it, in the same run: one plain read of the file, and one pass of ``SGDRegressor.partial_fit`` over
the same blocks. Memory is what the process has of its own (RssAnon); pages of files belong to the system, which keeps
as many as it likes. On a small part the model is compared with that of records in memory.

    python benches/blocks.py [--records 10000000] [--features 200] [--directory DIR]

The file takes 4 n p bytes, integers twice 2 n p.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.linear_model import SGDRegressor

from dpsparse import PrivateSparseRegressor, blocks

BOUNDS, Y_BOUNDS = (-20.0, 20.0), (-30.0, 30.0)


def status(key: str) -> int:
    """A figure of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(key + ":")).split()[1])


def moved() -> tuple[int, int]:
    """Bytes that this process had read from and written to disk so far."""
    figures = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(figures["read_bytes"]), int(figures["write_bytes"])


@contextmanager
def watched(what: str) -> Iterator[Callable[[], float]]:
    """Print how long a part took, the most memory of its own, and what it moved."""
    done, most = threading.Event(), [before := status("RssAnon")]

    def watch() -> None:
        while not done.wait(0.02):
            most[0] = max(most[0], status("RssAnon"))

    thread = threading.Thread(target=watch)
    thread.start()
    (read, written), start = moved(), time.perf_counter()
    yield lambda: time.perf_counter() - start
    seconds = time.perf_counter() - start
    done.set()
    thread.join()
    now = moved()
    print(
        f"  {what}: {seconds:.1f} s, {(most[0] - before) / 2**20:.0f} MB of its own, "
        f"{(now[0] - read) / 2**30:.2f} GB read from disk, {(now[1] - written) / 2**30:.2f} GB written",
        flush=True,
    )


def generate(path: Path, n: int, p: int) -> np.ndarray:
    """The file, and the targets."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, p))
    theta = np.where(np.arange(p) < 10, 1.0, 0.0).astype(np.float32)
    y = np.empty(n)
    for start in range(0, n, 100_000):
        block = rng.standard_normal((min(100_000, n - start), p), dtype=np.float32)
        X[start : start + len(block)] = block
        y[start : start + len(block)] = block @ theta + rng.standard_normal(len(block))
    X.flush()
    return y


def main() -> None:
    """Generate, read, fit, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--directory", type=Path, help="for the file and the integers; default: a temporary one")
    chosen = parser.parse_args()
    n, p = chosen.records, chosen.features
    with tempfile.TemporaryDirectory(dir=chosen.directory) as folder:
        path = Path(folder, "records.npy")
        y = generate(path, n, p)
        X = np.load(path, mmap_mode="r")
        rows = 2**23 // p
        print(
            f"{n} x {p}, single precision: {X.nbytes / 2**30:.1f} GB; blocks of {rows} rows, "
            f"{rows * p * 4 / 2**20:.0f} MB"
        )
        with watched("one plain read") as elapsed:
            total = sum(float(X[start : start + rows].sum(dtype=np.float64)) for start in range(0, n, rows))
            read = elapsed()
        assert np.isfinite(total)
        with watched("one pass of SGDRegressor.partial_fit") as elapsed:
            peer = SGDRegressor()
            for start in range(0, n, rows):
                peer.partial_fit(X[start : start + rows], y[start : start + rows])
            passed = elapsed()
        facts = {"epsilon": 1.0, "bounds": BOUNDS, "y_bounds": Y_BOUNDS, "random_state": 0}
        source = blocks.from_arrays(X, directory=folder)
        with watched("PrivateSparseRegressor, integers in files") as elapsed:
            model = PrivateSparseRegressor(**facts).fit(source, y)
            fitted = elapsed()
        print(
            f"  a fit of {model.n_iter_} steps: {fitted / read:.1f} plain reads, "
            f"{fitted / passed:.2f} passes of the peer"
        )
        part = slice(0, min(n, 200_000))
        error = np.mean((model.predict(X[part]) - y[part]) ** 2) / np.var(y[part])
        print(f"  R^2 {1 - error:.4f}; records of their own beside features: {8 * n / 2**20:.0f} MB of targets")
        few = blocks.from_arrays(X[part], rows=30_000, directory=folder)
        same = (
            PrivateSparseRegressor(**facts).fit(few, y[part]).coef_
            == PrivateSparseRegressor(**facts).fit(X[part], y[part]).coef_
        )
        print(f"  the same model as in memory on {part.stop} records: {bool(np.all(same))}")


if __name__ == "__main__":
    main()
