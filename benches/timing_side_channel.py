"""Whether the time of a release tells neighbours apart: fits, choices and draws, timed on two neighbours in turns.

For each case: the medians of both sides, and Welch's t of times below the 90th percentile of all (Reparaz, Balasch &
Verbauwhede 2017, "dudect"), which is beyond 4.5 in either direction with probability 1e-5 where the laws of the times
are equal. Time is no part of any guarantee; the table says how much of it shows on this machine. The control fits half
of the records on one side, and has to show. What shows of choices: the number of rounds is bounded whatever the scores
are, and depends on them within this bound (``theory_of_privacy::selection``), so that scores which are all equal take
less time than others; ``constant_time=True`` does the same work for all. Who can time single choices to microseconds is
outside of what is claimed.

Run: ``python benches/timing_side_channel.py [--quick]`` on a machine with nothing else to do, one thread:
``RAYON_NUM_THREADS=1 OMP_NUM_THREADS=1``.
"""

from collections.abc import Callable, Iterator

import numpy as np

from _timing import QUICK, headline, seconds
from dpsparse import (
    FrankWolfe,
    NoisyNewton,
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateSimplexClassifier,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    SgdOutput,
)
from dpsparse.privacy.noise import discrete_gaussian, discrete_laplace, exponential_mechanism, rounded_gaussian

ROUNDS = 20 if QUICK else 2000
FAR = 4.5
Case = tuple[Callable[[], object], Callable[[], object]]


def welch(one: np.ndarray, other: np.ndarray) -> float:
    """Welch's t of the times that are no interruptions."""
    most = np.quantile(np.concatenate([one, other]), 0.9)
    one, other = one[one <= most], other[other <= most]
    spread = one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other)
    return float((one.mean() - other.mean()) / np.sqrt(spread))


def neighbours(n: int = 5000, p: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Records and labels, and the same with the last record replaced by one far outside of the bounds."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, p))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(0, 0.3, n) > 0, 1, -1)
    other, labels = X.copy(), y.copy()
    other[-1], labels[-1] = 1e300, -y[-1]
    return X, y, other, labels


def fits() -> Iterator[tuple[str, Case]]:
    """Fits of private estimators on neighbours."""
    X, y, other, labels = neighbours()
    box = {"bounds": (-1.0, 1.0)}
    models = {
        "frank-wolfe": PrivateSparseClassifier(mechanism=FrankWolfe(n_iter=10), classes=(-1, 1), **box),
        "noisy-newton": PrivateSparseRegressor(mechanism=NoisyNewton(n_iter=5), y_bounds=(-1, 1), **box),
        "output-perturbation": PrivateSparseClassifier(mechanism=OutputPerturbation(ridge=0.1), classes=(-1, 1), **box),
        "objective-perturbation": PrivateSparseClassifier(
            mechanism=ObjectivePerturbation(ridge=0.1), classes=(-1, 1), **box
        ),
        "sgd-output": PrivateSparseClassifier(mechanism=SgdOutput(n_passes=1), classes=(-1, 1), **box),
        "simplex sampling": PrivateSimplexClassifier(classes=(-1, 1), **box),
    }
    for name, model in models.items():
        yield f"fit: {name}", (lambda m=model: m.fit(X, y), lambda m=model: m.fit(other, labels))
    control = models["frank-wolfe"]
    yield "control: half of the records", (lambda: control.fit(X, y), lambda: control.fit(X[::2], y[::2]))


def choices() -> Iterator[tuple[str, Case]]:
    """Choices among scores, each of which a record has moved by the whole sensitivity: more than any one record can."""
    rng = np.random.default_rng(1)
    for spread in (1, 1000, 10**9):
        scores = rng.integers(0, spread, 1000)
        moved = scores + rng.choice([-100, 100], 1000)
        for constant, size in ((False, 100), (True, 10)):
            yield (
                f"choice in [0, {spread:.0e}]{', constant time' if constant else ''}",
                (
                    lambda q=scores, c=constant, k=size: exponential_mechanism(q, 100, 0.5, size=k, constant_time=c),
                    lambda q=moved, c=constant, k=size: exponential_mechanism(q, 100, 0.5, size=k, constant_time=c),
                ),
            )


def noise() -> Iterator[tuple[str, Case]]:
    """Draws, which see no records: both sides are the same work, and show what the machine itself does."""
    for law in (rounded_gaussian, discrete_gaussian, discrete_laplace):
        draw = lambda law=law: law(1e4, 1000)  # noqa: E731
        yield f"null: {law.__name__}", (draw, draw)


def main() -> None:
    headline("Times of releases on two neighbours, in turns; |t| above 4.5 tells them apart")
    print(f"  {'case':42s} {'median':>10s} {'neighbour':>10s} {'ratio':>7s} {'t':>8s}")
    order = np.random.default_rng(2)
    for part in (fits(), choices(), noise()):
        for name, case in part:
            taken: tuple[list[float], list[float]] = ([], [])
            for _ in range(ROUNDS):
                for side in order.permutation(2):
                    taken[side].append(seconds(case[side]))
            one, other = (np.array(times) for times in taken)
            t = welch(one, other)
            medians = np.median(one), np.median(other)
            shown = "shows" if abs(t) > FAR else ""
            print(
                f"  {name:42s} {medians[0] * 1e6:8.1f} us {medians[1] * 1e6:7.1f} us {medians[1] / medians[0]:7.4f} "
                f"{t:8.2f} {shown}"
            )


if __name__ == "__main__":
    main()
