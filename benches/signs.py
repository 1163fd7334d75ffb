"""What it is worth to say that no coefficient is negative, that some are free, or that features come together.

Linear models with public structure, made up: rows in [-1, 1]^p, reals with noise of a third of the signal. One
mechanism at a time, with and without what is known, at equal epsilon:

1. ``positive``: coefficients that are not negative, a quarter of them positive, the others 0; ``positive=True`` against
   the same fit without it.
2. ``free``: two features that matter and a tail that hardly does; l1 on all of them against ``feature_weights`` of 0 on
   the two.
3. ``net``: features in blocks that are nearly copies of each other; l1 and the square against ``l1_ratio=0.5``.

Penalties, ridges and radii are the best of six on the test records, which favours all alike. Printed: R^2 on held-out
records, means of the seeds; differences from the first column with their standard errors, a star for more than two.
Claims: none but that the tables are printed.

Run: ``python benches/signs.py [--quick] [positive] [free] [net]``. Figures: STRUCTURE.md.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from _timing import QUICK, headline
from dpsparse import PrivateSparseRegressor

SEEDS = 2 if QUICK else 10
EPSILONS = (1.0,) if QUICK else (0.1, 0.5, 1.0, 4.0)
RECORDS, HELD_OUT, FEATURES = 5_000, 10_000, 40
PENALTIES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
RADII = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
#: What each mechanism is tried with.
SIZES: dict[str, list[dict[str, float]]] = {
    "noisy-proximal-gradient": [{"alpha": alpha} for alpha in PENALTIES],
    "output-perturbation": [{"ridge": ridge} for ridge in RIDGES],
    "mirror-descent": [{"radius": radius} for radius in RADII],
    "noisy-gradient-frank-wolfe": [{"radius": radius} for radius in RADII],
}

Data = tuple[np.ndarray, np.ndarray]
Options = Mapping[str, Any]


def targets(X: np.ndarray, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return reals in [-1, 1] whose noise has a third of the standard deviation of their signal."""
    signal = X @ theta
    signal = signal / (4.0 * signal.std())
    return np.clip(signal + rng.normal(0.0, signal.std() / 3.0, len(X)), -1.0, 1.0)


def signed(rng: np.random.Generator) -> Data:
    """Return records whose coefficients are not negative."""
    X = rng.uniform(-1.0, 1.0, (RECORDS + HELD_OUT, FEATURES))
    theta = np.where(np.arange(FEATURES) < FEATURES // 4, rng.uniform(0.5, 1.0, FEATURES), 0.0)
    return X, targets(X, theta, rng)


def led(rng: np.random.Generator) -> Data:
    """Return records of which two features say nearly all."""
    X = rng.uniform(-1.0, 1.0, (RECORDS + HELD_OUT, FEATURES))
    theta = np.concatenate([[1.0, -1.0], rng.normal(0.0, 0.05, FEATURES - 2)])
    return X, targets(X, theta, rng)


def blocked(rng: np.random.Generator) -> Data:
    """Return records of features that come in fours, of which a quarter matter."""
    common = rng.uniform(-0.9, 0.9, (RECORDS + HELD_OUT, FEATURES // 4))
    X = np.repeat(common, 4, axis=1) + rng.uniform(-0.1, 0.1, (RECORDS + HELD_OUT, FEATURES))
    theta = np.repeat(np.where(np.arange(FEATURES // 4) % 4 == 0, 1.0, 0.0), 4)
    return X, targets(X, theta, rng)


def score(data: Callable[[np.random.Generator], Data], options: Options, epsilon: float, seed: int) -> float:
    """Fit one sample and return R^2 on the records that were held out."""
    X, y = data(np.random.default_rng(seed))
    model = PrivateSparseRegressor(
        epsilon=epsilon, bounds=(-1, 1), y_bounds=(-1, 1), scale=None, random_state=seed, **options
    )
    model.fit(X[:RECORDS], y[:RECORDS])
    return float(r2_score(y[RECORDS:], model.predict(X[RECORDS:])))


def best(data: Callable[[np.random.Generator], Data], tried: list[Options], epsilon: float) -> np.ndarray:
    """Return the scores of the seeds under the options whose mean score is highest."""
    scores = [np.array([score(data, options, epsilon, seed) for seed in range(SEEDS)]) for options in tried]
    return max(scores, key=np.mean)


def compare(title: str, data: Callable[[np.random.Generator], Data], columns: Mapping[str, list[Options]]) -> None:
    """Print a table: a row an epsilon, a column a list of options of which the best counts."""
    print(f"\n**{title}**\n")
    print("| epsilon |", " | ".join(columns), "|")
    print("|---" * (len(columns) + 1) + "|")
    for epsilon in EPSILONS:
        scores = {name: best(data, tried, epsilon) for name, tried in columns.items()}
        first = next(iter(scores.values()))
        cells = [f"{first.mean():.3f}"]
        for other in list(scores.values())[1:]:
            gain = other - first
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            star = "*" if abs(gain.mean()) > 2.0 * error else ""
            cells.append(f"{other.mean():.3f} ({gain.mean():+.3f} +- {error:.3f}){star}")
        print(f"| {epsilon:g} |", " | ".join(cells), "|", flush=True)


def penalised(**options: Any) -> list[Options]:
    """Return the options with every penalty."""
    return [{"alpha": alpha, **options} for alpha in PENALTIES]


def positive_part() -> None:
    """Compare fits with and without signs, under each mechanism that takes them."""
    for mechanism, sizes in SIZES.items():
        tried = [{"mechanism": mechanism, **size} for size in sizes]
        columns = {"signs unknown": tried, "`positive=True`": [{**options, "positive": True} for options in tried]}
        compare(f"no negative coefficient, {mechanism}", signed, columns)


def free_part() -> None:
    """Compare l1 on all features with l1 on all but the two that matter."""
    mechanism, free = "noisy-proximal-gradient", [0.0, 0.0] + [1.0] * (FEATURES - 2)
    columns = {
        "l1 on all": penalised(mechanism=mechanism),
        "two features free": penalised(mechanism=mechanism, feature_weights=free),
    }
    compare(f"two features that matter, {mechanism}", led, columns)


def net_part() -> None:
    """Compare l1 and the square with both of them."""
    mechanism = "noisy-proximal-gradient"
    columns = {
        "l1": penalised(mechanism=mechanism),
        "the square": [{"mechanism": mechanism, "ridge": 10.0 * alpha} for alpha in PENALTIES],
        "`l1_ratio=0.5`": penalised(mechanism=mechanism, l1_ratio=0.5),
    }
    compare(f"features that come in fours, {mechanism}", blocked, columns)


PARTS: dict[str, Callable[[], None]] = {"positive": positive_part, "free": free_part, "net": net_part}

if __name__ == "__main__":
    warnings.simplefilter("error")
    headline(f"R^2 of {HELD_OUT} held-out records after fits of {RECORDS}, {FEATURES} features, {SEEDS} seeds")
    for part in [name for name in sys.argv[1:] if name in PARTS] or PARTS:
        PARTS[part]()
