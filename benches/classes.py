"""Private fits of ten classes beside binary fits of the same records and mechanism.

Claim: dense 100 000 x 100, K = 10: at most 12 times the binary fit. Processor seconds, so that other work on the
machine counts little; both fits take turns, and each ratio is one of medians.

Run: ``python benches/classes.py [--quick]``; RAYON_NUM_THREADS sets the threads of both.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from _timing import QUICK, headline, samples
from dpsparse import PrivateSparseClassifier
from dpsparse.mechanisms import FrankWolfe, NoisyProximalGradient

CLASSES, MOST = 10, 12.0


def processor_seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    n, p = (20_000, 20) if QUICK else (100_000, 100)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, p))
    y = (X @ rng.normal(scale=0.3, size=(p, CLASSES)) + rng.gumbel(size=(n, CLASSES))).argmax(axis=1)
    halves = (y >= CLASSES // 2).astype(int)
    headline(f"Fits of {CLASSES} classes, dense {n} x {p}, in binary fits: at most {MOST:g}")

    def fit(mechanism: Any, labels: Any, classes: range) -> Callable[[], float]:
        model = PrivateSparseClassifier(bounds=(-1, 1), classes=classes, mechanism=mechanism, random_state=0)
        return lambda: processor_seconds(lambda: model.fit(X, labels))

    for name, mechanism in {
        "noisy-proximal-gradient": NoisyProximalGradient(n_iter=30),
        "frank-wolfe": FrankWolfe(n_iter=30),
        "auto": "auto",
    }.items():
        both = {"two": fit(mechanism, halves, range(2)), "all": fit(mechanism, y, range(CLASSES))}
        two, all_ = (statistics.median(taken) for taken in samples(both, 7).values())
        claimed = "holds" if all_ <= MOST * two else "DOES NOT HOLD"
        print(f"  {name:24s} two {two * 1e3:8.1f} ms  all {all_ * 1e3:8.1f} ms  ratio {all_ / two:5.1f}  {claimed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
