"""What privacy costs in time: `auto` with its defaults beside scikit-learn's own fit of the same records.

Claim: no route of `auto` takes more than 3 times as long. It does not hold for small tables, whose fits take
milliseconds: a plan, private ranges, 40 steps and a certificate take longer than `Ridge()` of some thousand records.

The peer is what a user would take for the same records: `LogisticRegression()` for classes, `Ridge()` for reals, as
they stand, solvers and tolerances their own. Both sides get the same arrays, the same threads, and turns right after an
untimed run of their own (``fit.py`` says why).

Processor seconds stand beside the wall clock, which other work on the machine lengthens.

Run: ``python benches/price.py [--quick] [part of a case's name ...]``; RAYON_NUM_THREADS sets both sides' threads. With
``--tables`` the records are those of the tables of ``accuracy_plain.py`` at epsilon 0.1, 1 and 8: it says how many fits
hold the claim.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import normalize

from _timing import QUICK, headline
from dpsparse import PrivateSparseClassifier, PrivateSparseRegressor

MOST = 3.0
ROUNDS = 2 if QUICK else 4


def targets(X: Any, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Classes and reals in [-1, 1] that follow a tenth of the features, with noise."""
    theta = np.zeros(X.shape[1])
    theta[::10] = generator.normal(size=theta[::10].size)
    z = X @ theta
    z = (z - z.mean()) / z.std()
    noise = generator.normal(size=z.size)
    return np.where(z + 0.5 * noise > 0, 1.0, -1.0), np.clip((z + 0.5 * noise) / 4, -1, 1)


def dense(n: int, p: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, p))


def indicators(n: int, p: int, ones: int) -> sp.csr_matrix:
    """About `ones` ones a row, frequent columns first, as encoded categories have it."""
    generator = np.random.default_rng(0)
    columns = (p * generator.uniform(size=(n, ones)) ** 2).astype(np.int64)
    rows = np.repeat(np.arange(n), ones)
    X = sp.csr_matrix((np.ones(n * ones), (rows, columns.ravel())), shape=(n, p))
    X.data[:] = 1.0
    return X


def reals(n: int, p: int, stored: int) -> sp.csr_matrix:
    """Normal values where indicators have ones."""
    X = indicators(n, p, stored)
    X.data[:] = np.random.default_rng(2).normal(size=X.nnz)
    return X


def words() -> sp.csr_matrix:
    """Rows as texts have them."""
    return normalize(indicators(20_000, 50_000, 100))


def cases() -> Iterator[tuple[str, Callable[[], Any], dict[str, Any]]]:
    """Name, features and the public facts of them."""
    wide, unit, within = {"bounds": (-5, 5)}, {"bounds": (0, 1)}, {"bounds": (-1, 1)}
    yield "dense 2000 x 20", lambda: dense(2_000, 20), wide
    yield "dense 20000 x 20", lambda: dense(20_000, 20), wide
    yield "dense 20000 x 20, unit bounds", lambda: np.clip(dense(20_000, 20) / 3, -1, 1), within
    yield "dense 1000000 x 100", lambda: dense(1_000_000, 100), wide
    yield "dense 1000000 x 100, unit bounds", lambda: np.clip(dense(1_000_000, 100) / 3, -1, 1), within
    yield "dense 100000 x 100", lambda: dense(100_000, 100), wide
    yield "dense 100000 x 100, unit bounds", lambda: np.clip(dense(100_000, 100) / 3, -1, 1), within
    yield "sparse 0/1 37000 x 300", lambda: indicators(37_000, 300, 20), unit
    yield "sparse 0/1 37000 x 1825", lambda: indicators(37_000, 1_825, 20), unit
    yield "sparse 0/1 300000 x 60", lambda: indicators(300_000, 60, 8), unit
    yield "sparse 0/1 200000 x 3000", lambda: indicators(200_000, 3_000, 20), unit
    yield "sparse 300000 x 200", lambda: reals(300_000, 200, 10), wide
    yield "dense 6000 x 1825", lambda: dense(6_000, 1_825), wide
    yield "dense 6000 x 1825, unit bounds", lambda: np.clip(dense(6_000, 1_825) / 3, -1, 1), within
    yield "sparse 0/1 5000 x 5000", lambda: indicators(5_000, 5_000, 30), unit
    yield "sparse 0/1 5000 x 5000, row norm", lambda: indicators(5_000, 5_000, 30), unit | {"row_norm": 30**0.5}
    yield "rows of norm 1, sparse 20000 x 50000", words, unit | {"row_norm": 1.0}


def timed(model: Any, X: Any, y: np.ndarray) -> tuple[float, float]:
    """Seconds by the wall and of the processor, of the second of two fits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        wall, processor = time.perf_counter(), time.process_time()
        model.fit(X, y)
        return time.perf_counter() - wall, time.process_time() - processor


def fits_of_tables() -> None:
    """Print how many fits of real tables take more than so many times the peer's."""
    import accuracy_plain

    # What memory is asked for again and again stays with the process, as in one that has read a table.
    np.ones(3_900_000)
    times: dict[str, list[tuple[float, str]]] = {"two classes": [], "reals": []}
    for name in [name for classes, reals in accuracy_plain.GROUPS.values() for name in [*classes, *reals]]:
        table = accuracy_plain.problem(name)
        for epsilon in (0.1, 1.0, 8.0):
            facts = {"epsilon": epsilon, "delta": table.delta, "bounds": table.bounds}
            if table.regression:
                ours: Any = PrivateSparseRegressor(**facts, y_bounds=table.y_bounds)
                peer: Any = Ridge()
            else:
                ours, peer = PrivateSparseClassifier(**facts, classes=table.classes), LogisticRegression()
            taken = [[timed(model, table.X, table.y)[0] for model in (ours, peer)] for _ in range(ROUNDS)]
            own, others = np.min(taken, axis=0)
            what = f"{name} {table.shape} at {epsilon:g}, {1000 * own:.1f} ms beside {1000 * others:.1f}"
            times["reals" if table.regression else "two classes"].append((own / others, what))
    for task, fits in times.items():
        late = sum(ratio > MOST for ratio, _ in fits)
        middle, (most, what) = np.median([ratio for ratio, _ in fits]), max(fits)
        print(f"  {task}: {late} of {len(fits)} above {MOST:g} times, median {middle:.2f}, most {most:.1f} ({what})")


def main() -> None:
    headline("auto beside scikit-learn, in seconds")
    if "--tables" in sys.argv:
        fits_of_tables()
        return
    wanted = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    late = []
    print(f"  {'':48s} {'ours':>8s} {'(cpu)':>8s} {'peer':>8s} {'(cpu)':>8s} {'times':>6s}")
    for name, make, facts in cases():
        pairs = {
            "classes": (PrivateSparseClassifier(**facts, classes=(-1, 1), random_state=0), LogisticRegression()),
            "reals": (PrivateSparseRegressor(**facts, y_bounds=(-1, 1), random_state=0), Ridge()),
        }
        pairs = {f"{name}, {kind}": pair for kind, pair in pairs.items()}
        pairs = {name: pair for name, pair in pairs.items() if all(part in name for part in wanted)}
        if not pairs:
            continue
        X = make()
        classes, reals = targets(X, np.random.default_rng(1))
        for name, (ours, peer) in pairs.items():
            y = classes if name.endswith("classes") else reals
            taken = [(*timed(ours, X, y), *timed(peer, X, y)) for _ in range(ROUNDS)]
            wall, processor, peers_wall, peers_processor = np.min(taken, axis=0)
            times = wall / peers_wall
            if times > MOST:
                late.append(name)
            figures = f"{wall:8.3f} {processor:8.3f} {peers_wall:8.3f} {peers_processor:8.3f} {times:6.2f}"
            print(f"  {name:48s} {figures}  {ours.plan(*X.shape).mechanism}"[:240], flush=True)
    print(f"  claimed {MOST:g} times: {'holds' if not late else f'does not hold: {late}'}")


if __name__ == "__main__":
    main()
