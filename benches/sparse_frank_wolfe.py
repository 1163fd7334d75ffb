"""Frank-Wolfe on sparse records with many columns: slopes that lag behind, beside exact ones and scipy.

Claims: 1000 steps on the shape of news20 (20 000 x 1 355 191, over 7 million stored entries) take at most a twentieth
of 1000 plain steps (scipy: margins, gradient, Gumbel noise on all scores); ten times the columns at equal entries cost
at most 1.3 times a step, with rows of unit length and of ones, without an intercept, with one under symmetric bounds,
and with one under [0, 1], where every step moves every score; accuracy on imdb is that of exact slopes.

With an intercept that holds for bounds that are the same for all columns: a step goes through the different ones.

Designs are generated: columns of power-law popularity, rows of unit length, labels by a model of popular columns. All
contenders of a line take turns in one run. Steps are timed by progress reports after the first step: ingestion and the
first pass over all records, which "per fit" has, are not in them.

Run: ``python benches/sparse_frank_wolfe.py [--quick] [news20] [columns] [intercepts] [imdb] [url]``;
RAYON_NUM_THREADS sets our threads, scipy has one. The shape of URL takes 12 GiB and is left out unless named.
"""

import sys
import time
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from _timing import QUICK, headline, minima, row, seconds, shared
from dpsparse import FrankWolfe, PrivateSparseClassifier
from dpsparse.estimators import private

RADIUS, IMDB_RADIUS = 50.0, 5.0
EPSILONS = (1.0, 4.0)


def power_law(n, p, stored, exponent=1.0, seed=0):
    """Rows of unit length whose entries fall on column k with a probability proportional to (k + 10)^-exponent.

    Fewer entries are stored than are drawn, as those that fall on one place are summed.
    """
    generator = np.random.default_rng(seed)
    popularity = np.cumsum((np.arange(p) + 10.0) ** -exponent)
    popularity /= popularity[-1]
    lengths = generator.poisson(stored / n, n)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    parts = []
    for first in range(0, starts[-1], 1 << 24):  # no more at a time, for memory
        size = min(1 << 24, starts[-1] - first)
        parts.append(np.searchsorted(popularity, generator.random(size, dtype=np.float32)).astype(np.int32))
    places = generator.permutation(p).astype(np.int32)  # popular columns stand anywhere
    columns = np.minimum(np.concatenate(parts), p - 1)
    X = sp.csr_matrix((np.ones(len(columns), np.float32), places[columns], starts), shape=(n, p))
    X.sum_duplicates()
    norms = np.sqrt(np.add.reduceat(np.append(X.data**2, 0), X.indptr[:-1]) * (np.diff(X.indptr) > 0))
    X.data /= np.repeat(np.maximum(norms, 1e-9), np.diff(X.indptr)).astype(np.float32)
    weights = np.zeros(p)
    weights[places[:200]] = generator.normal(size=200)
    z = X @ weights
    y = np.where(z - np.median(z) + 0.02 * generator.logistic(size=n) > 0, 1, -1)
    return X, y


def model(refresh, n_iter, epsilon, seed=0, radius=RADIUS, lower=0, intercept=False):
    """Our Frank-Wolfe."""
    return PrivateSparseClassifier(
        mechanism=FrankWolfe(n_iter=n_iter, radius=radius, refresh=refresh),
        epsilon=epsilon,
        bounds=(lower, 1),
        classes=(-1, 1),
        fit_intercept=intercept,
        random_state=seed,
    )


def ours(X, y, refresh, n_iter, epsilon, **options):
    """Seconds a step, measured in a fit that is long beside the 50 ms between reports."""

    def measure():
        reports = []

        @contextmanager
        def clock(description, verbose):
            yield lambda done, total: reports.append((done, time.perf_counter()))

        usual, private.progress = private.progress, clock
        try:
            model(refresh, n_iter, epsilon, **options).fit(X, y)
        finally:
            private.progress = usual
        begun = [report for report in reports if report[0] >= 1]
        (first, start), (last, end) = begun[0], begun[-1]
        return (end - start) / (last - first)

    return measure


def plain(X, y, n_iter, scale):
    """Seconds of `n_iter` plain steps on floats: all margins, the whole gradient, noise on all scores."""
    generator, (n, p) = np.random.default_rng(0), X.shape
    XT, theta = X.T.tocsr(), np.zeros(p)

    def steps():
        theta[:] = 0
        for t in range(n_iter):
            gradient = XT @ (-y * expit(-y * (X @ theta))) / n
            scores = RADIUS * np.concatenate([gradient, -gradient])
            choice = int(np.argmax(generator.gumbel(size=2 * p) - scores / scale))
            mu = 2 / (t + 2)
            theta[:] *= 1 - mu
            theta[choice % p] += mu * RADIUS * (1 if choice < p else -1)

    return lambda: seconds(steps)


def passes(X, y, n_iter):
    """Seconds of `n_iter` bare passes: margins and gradient, no choice."""
    XT, theta = X.T.tocsr(), np.zeros(X.shape[1])

    def work():
        for _ in range(n_iter):
            XT @ (X @ theta - y)

    return lambda: seconds(work)


def table(X, y, epsilon, rounds=2, steps=1000, long=10_000, exact_steps=21, target=None):
    """Print one design at one budget; steps are those of a fit of `long` ones with as much budget a step."""
    scale, few = 2 * RADIUS * np.sqrt(steps) / (len(y) * epsilon), 3
    contenders = {
        "lagging": ours(X, y, "lagging", long, epsilon * np.sqrt(long / steps)),
        "exact": ours(X, y, "exact", exact_steps, epsilon * np.sqrt(exact_steps / steps)),
        "fit": lambda: seconds(lambda: model("lagging", steps, epsilon).fit(X, y)),
        "plain": plain(X, y, few, scale),
        "passes": passes(X, y, few),
    }
    best = minima(contenders, rounds)
    lagging, step, bare = best["lagging"], best["plain"] / few, best["passes"] / few
    print(f"  epsilon {epsilon:g}")
    row("a lagging step, beside a plain step", lagging, step, target)
    row("    beside bare passes X @ theta and X.T @ d", lagging, bare)
    row("    beside our exact step", lagging, best["exact"])
    row(f"a fit of {steps} steps, beside {steps} plain steps", best["fit"], steps * step, target)
    row(f"    beside {steps} bare passes", best["fit"], steps * bare)


def news20() -> None:
    X, y = power_law(20_000, 1_355_191, 9_500_000)
    headline(f"The shape of news20: {X.shape[0]} x {X.shape[1]}, {X.nnz} stored")
    for epsilon in EPSILONS:
        table(X, y, epsilon, target=20)
    print("  a budget that hides nothing: choices fall on the most popular columns, which most rows hold")
    table(X, y, 1000.0, rounds=1, steps=100, long=100)


def columns() -> None:
    """Ten times the columns at equal entries: drawn anew, beside unused columns, each column split in ten."""
    n, p, drawn = 20_000, 135_519, 9_500_000
    X, y = power_law(n, p, drawn)
    generator = np.random.default_rng(1)
    spread = np.sort(generator.permutation(10 * p)[:p]).astype(np.int32)
    ones = generator.integers(0, 10, X.nnz, dtype=np.int32)
    designs = {
        "few": (X, y),
        "drawn anew": power_law(n, 10 * p, drawn),
        "unused columns": (sp.csr_matrix((X.data, spread[X.indices], X.indptr), shape=(n, 10 * p)), y),
        "each split in ten": (sp.csr_matrix((X.data, 10 * X.indices + ones, X.indptr), shape=(n, 10 * p)), y),
    }
    stored = ", ".join(f"{name} {design.nnz}" for name, (design, _) in designs.items())
    headline(f"A thousand steps at p = {10 * p} beside p = {p}; stored entries: {stored}")
    for epsilon in (*EPSILONS, 30.0):
        long = (
            200_000 if epsilon < 10 else 2000
        )  # so long that sorting all columns once, after the first step, is no part of it
        of = {name: ours(*design, "lagging", long, epsilon * np.sqrt(long / 1000)) for name, design in designs.items()}
        best = {name: 1000 * best for name, best in minima(of, rounds=4).items()}
        print(f"  epsilon {epsilon:g}")
        for name in list(designs)[1:]:
            row(name, best[name], best["few"], 1 / 1.3)


def intercepts() -> None:
    """Ten times the columns at equal entries, with an intercept or rows of ones: steps that move many scores or all."""
    n, p, drawn = 20_000, 100_000, 2_500_000
    X, y = power_law(n, p, drawn)
    spread = np.sort(np.random.default_rng(1).permutation(10 * p)[:p]).astype(np.int32)
    designs = {
        "few": (X, y),
        "drawn anew": power_law(n, 10 * p, drawn),
        "unused columns": (sp.csr_matrix((X.data, spread[X.indices], X.indptr), shape=(n, 10 * p)), y),
    }
    stored = ", ".join(f"{name} {design.nnz}" for name, (design, _) in designs.items())
    headline(f"Intercepts and rows of ones at p = {10 * p} beside p = {p}; stored entries: {stored}")
    cases = {"no intercept": (0, False), "symmetric bounds": (-1, True), "bounds [0, 1]": (0, True)}
    for epsilon in (*EPSILONS, 30.0):
        for rows in ("unit length", "ones"):
            for case, (lower, intercept) in cases.items():
                short = rows == "unit length" and epsilon < 10  # steps of some microseconds
                steps = 200 if intercept and lower == 0 else 40_000 if short else 1000
                options = {"lower": lower, "intercept": intercept}
                budget = epsilon * np.sqrt(steps / 1000)
                of = {}
                for name, (design, labels) in designs.items():
                    records = _presence(design) if rows == "ones" else design
                    of[name] = ours(records, labels, "lagging", steps, budget, **options)
                best = {name: 1000 * best for name, best in minima(of, rounds=3).items()}
                print(f"  epsilon {epsilon:g}, rows of {rows}, {case}")
                for name in list(designs)[1:]:
                    row(name, best[name], best["few"], 1 / 1.3)


def url() -> None:
    n, stored = 2_396_130, 115
    X, y = power_law(n, 3_231_961, n * stored, exponent=1.1)
    headline(f"The shape of URL: {X.shape[0]} x {X.shape[1]}, {X.nnz} stored")
    table(X, y, 1.0, rounds=1, steps=200, long=400, exact_steps=4)


def imdb() -> None:
    headline("imdb, which words a review has")
    folder = shared("data")
    if folder is None:
        return
    sys.path.insert(0, str(folder))
    from load import load

    data = load("imdb")
    X, X_test = (_presence(part) for part in (data.X, data.X_test))
    print(f"  {X.shape[0]} x {X.shape[1]}, {X.nnz} stored")
    for epsilon in EPSILONS:
        table(X, data.y, epsilon, steps=300, long=300, exact_steps=101)
    seeds = range(2 if QUICK else 5)
    print("  accuracy on the test split, mean and standard error over seeds:")
    for epsilon in (0.5, *EPSILONS):
        for n_iter in (40, 150):
            scores = {}
            for refresh in ("exact", "lagging"):
                start = time.perf_counter()
                fits = [model(refresh, n_iter, epsilon, seed, IMDB_RADIUS).fit(X, data.y) for seed in seeds]
                took = (time.perf_counter() - start) / len(seeds)
                scores[refresh] = (np.array([fit.score(X_test, data.y_test) for fit in fits]), took)
            told = "  ".join(
                f"{name} {got.mean():.4f} +- {got.std(ddof=1) / np.sqrt(len(got)):.4f} ({took:.2f} s)"
                for name, (got, took) in scores.items()
            )
            print(f"    epsilon {epsilon:g}, T = {n_iter:4d}: {told}")


def _presence(X):
    return sp.csr_matrix((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)


if __name__ == "__main__":
    parts = {"news20": news20, "columns": columns, "intercepts": intercepts, "imdb": imdb, "url": url}
    named = [name for name in sys.argv[1:] if name in parts]
    for name in named or ("news20", "columns", "intercepts", "imdb"):
        parts[name]()
