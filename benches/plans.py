"""Seconds until a plan stands: in a fresh process, and again in the same one.

No peer: other packages do not plan before they read data. Claims: cold below 50 ms, warm below 5 ms.
Cold is the first call of a process that has only imported the package; imports are not counted. Warm is the same call
again. Beside the wall clock, which other work on the machine lengthens, stands the least processor time of a cold call.

Run: ``python benches/plans.py [--quick] [part of a situation's name]``.
"""

import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from dpsparse import FrankWolfe, PrivateScaler, PrivateSearchCV, PrivateSparseClassifier, PrivateSparseRegressor

RUNS = 7
COLD, WARM = 50.0, 5.0  # claimed, in milliseconds

Situations = Iterator[tuple[str, Callable[[], Any], tuple[int, int]]]

SIZES = [(1_000, 5), (1_000, 200), (20_000, 20), (20_000, 1_000), (1_000_000, 100), (5_000, 100_000)]
NAMED = [
    "frank-wolfe",
    "noisy-gradient-frank-wolfe",
    "noisy-proximal-gradient",
    "noisy-newton",
    "output-perturbation",
    "objective-perturbation",
    "sgd-output",
    "select-refit",
]
GRID = {"mechanism": ["noisy-proximal-gradient", "objective-perturbation", "output-perturbation", "frank-wolfe"]}


def classifier(**options: Any) -> PrivateSparseClassifier:
    return PrivateSparseClassifier(**{"bounds": (0, 1), "classes": (-1, 1), **options})


def regressor(**options: Any) -> PrivateSparseRegressor:
    return PrivateSparseRegressor(**{"bounds": (-3, 3), "y_bounds": (-1, 1), **options})


def situations() -> Situations:
    """Name, estimator, and the sizes that it plans for."""
    for n, p in SIZES:
        yield f"auto, classes, {n} x {p}", classifier, (n, p)
        yield f"auto, classes, wide bounds, {n} x {p}", lambda: classifier(bounds=(-5, 9)), (n, p)
        yield f"auto, regression, {n} x {p}", regressor, (n, p)
    for epsilon in (0.1, 8.0):
        for n, p in ((1_000, 5), (20_000, 1_000)):
            yield f"auto, classes, {n} x {p}, epsilon {epsilon}", lambda e=epsilon: classifier(epsilon=e), (n, p)
            yield f"auto, regression, {n} x {p}, epsilon {epsilon}", lambda e=epsilon: regressor(epsilon=e), (n, p)
    sparse = {"row_norm": 2.0}
    yield "auto, classes, sparse rows, 20000 x 5000", lambda: classifier(**sparse), (20_000, 5_000)
    yield "auto, regression, sparse rows, 20000 x 5000", lambda: regressor(**sparse), (20_000, 5_000)
    for name in NAMED:
        yield f"{name}, 20000 x 100", lambda m=name: classifier(mechanism=m), (20_000, 100)
        wide = {"mechanism": name, "bounds": (-5, 9), "scale": "private"}
        yield f"{name}, private scale, 20000 x 100", lambda w=wide: classifier(**w), (20_000, 100)
    yield (
        "frank-wolfe, 200 choices, 20000 x 100",
        lambda: classifier(mechanism=FrankWolfe(n_iter=200)),
        (20_000, 100),
    )
    for name in ("penalised-frank-wolfe", "dual-frank-wolfe"):
        yield f"{name}, 20000 x 100", lambda m=name: classifier(mechanism=m, alpha=0.01), (20_000, 100)
    yield "scaler, 20000 x 100", lambda: PrivateScaler(bounds=(-5, 9)), (20_000, 100)
    yield "search, mechanisms", lambda: PrivateSearchCV(classifier(), GRID), (20_000, 100)
    ridges = {"ridge": [0.3, 0.4, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0]}
    alone = {"mechanism": "objective-perturbation"}
    yield "search, 8 ridges", lambda: PrivateSearchCV(classifier(**alone), ridges), (20_000, 100)
    scales = {"mechanism": ["frank-wolfe", "objective-perturbation"], "scale": [None, "private"]}
    yield "search, private scales", lambda: PrivateSearchCV(classifier(bounds=(-5, 9)), scales), (20_000, 20)


def measured(name: str) -> dict[str, float]:
    """Milliseconds of the first call in this process and of the next ones."""
    make, sizes = next((make, sizes) for known, make, sizes in situations() if known == name)
    estimator = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        processor, start = time.process_time(), time.perf_counter()
        estimator.plan(*sizes)
        cold, processor = time.perf_counter() - start, time.process_time() - processor
        warm = []
        for _ in range(5):
            start = time.perf_counter()
            make().plan(*sizes)
            warm.append(time.perf_counter() - start)
    return {"cold": 1e3 * cold, "processor": 1e3 * processor, "warm": 1e3 * min(warm)}


def main() -> None:
    from _timing import QUICK, headline

    headline("Plans, in milliseconds: a first call in a fresh process, and a repeated one")
    wanted = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    late = []
    print(f"  {'':52s} {'cold min':>9s} {'median':>8s} {'cpu':>8s} {'warm min':>9s} {'median':>8s}")
    for name, _, _ in situations():
        if not all(part in name for part in wanted):
            continue
        command = [sys.executable, __file__, "--in-this-process", name]
        runs = []
        for _ in range(2 if QUICK else RUNS):
            result = subprocess.run(command, capture_output=True, text=True, check=True)
            runs.append(json.loads(result.stdout))
        cold, processor, warm = ([run[key] for run in runs] for key in ("cold", "processor", "warm"))
        middle = statistics.median
        figures = f"{min(cold):9.2f} {middle(cold):8.2f} {min(processor):8.2f} {min(warm):9.2f} {middle(warm):8.2f}"
        if min(cold) > COLD or min(warm) > WARM:
            late.append(name)
        print(f"  {name:52s} {figures}", flush=True)
    print(f"  claimed {COLD:g} ms cold and {WARM:g} ms warm: {'holds' if not late else f'does not hold: {late}'}")


if __name__ == "__main__":
    if "--in-this-process" in sys.argv:
        print(json.dumps(measured(sys.argv[-1])))
    else:
        main()
