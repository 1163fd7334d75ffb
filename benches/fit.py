"""Whole private fits, ingestion included.

Claims: dense 100 000 x 1000, T = 50: at least 2 times 50 passes ``X.T @ d`` of numpy. n = 20 000, p = 1000, T = 80: at
least 5 times a numpy Frank-Wolfe (float64, logistic, selection by Gumbel noise and argmax). The numpy version comes
twice: margins recomputed as ``X @ theta``, and moved along by the one column that was chosen. Sparse sets beside the
same Frank-Wolfe on scipy matrices (one thread: scipy has no more).

Run: ``python benches/fit.py [--quick]``; RAYON_NUM_THREADS sets the threads of both sides.
"""

import sys

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from _timing import headline, minima, row, seconds, shared
from dpsparse import PrivateSparseClassifier


def peer_frank_wolfe(X, y, n_iter, radius, scale, *, incremental, seed=0):
    """Frank-Wolfe over the l1 ball, logistic loss, one candidate a step by Gumbel noise on float scores."""
    generator = np.random.default_rng(seed)
    n, p = X.shape
    theta, z = np.zeros(p), np.zeros(n)
    XT = X.T.tocsr() if sp.issparse(X) else X.T
    for t in range(n_iter):
        if not incremental:
            z = X @ theta
        gradient = XT @ (-y * expit(-y * z)) / n
        scores = radius * np.concatenate([gradient, -gradient])
        choice = int(np.argmax(generator.gumbel(size=2 * p) - scores / scale))
        j, sign = choice % p, 1.0 if choice < p else -1.0
        mu = 2 / (t + 2)
        theta *= 1 - mu
        theta[j] += mu * sign * radius
        if incremental:
            z *= 1 - mu
            if sp.issparse(X):
                start, end = XT.indptr[j], XT.indptr[j + 1]
                z[XT.indices[start:end]] += mu * sign * radius * XT.data[start:end]
            else:
                z += (mu * sign * radius) * X[:, j]
    return theta


def fit(X, y, n_iter, bounds=(-1.0, 1.0)):
    model = PrivateSparseClassifier(n_iter=n_iter, radius=10.0, bounds=bounds, classes=(-1, 1))
    return lambda: seconds(lambda: model.fit(X, y))


def dense(n, p, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (n, p))
    return X, np.where(X[:, :10].sum(axis=1) > 0, 1.0, -1.0)


def large() -> None:
    n, p, n_iter = 100_000, 1_000, 50
    X, y = dense(n, p)
    F, X32 = np.asfortranarray(X), X.astype(np.float32)

    def passes():
        for _ in range(n_iter):
            X.T @ y

    contenders = {
        "C": fit(X, y, n_iter),
        "numpy": lambda: seconds(passes),
        "F": fit(F, y, n_iter),
        "32": fit(X32, y, n_iter),
    }
    contenders["ingestion"] = fit(X, y, 1)
    best = minima(contenders, rounds=4)
    headline(f"Whole fit, dense {n} x {p}, T = {n_iter}, beside {n_iter} numpy passes X.T @ d (C order)")
    row("float64, C order", best["C"], best["numpy"], 2.0)
    row("float64, Fortran order", best["F"], best["numpy"], 2.0)
    row("float32, C order", best["32"], best["numpy"], 2.0)
    print(f"  of which one iteration with ingestion {best['ingestion'] * 1e3:.0f} ms")


def medium() -> None:
    n, p, n_iter = 20_000, 1_000, 80
    X, y = dense(n, p)
    contenders = {
        "ours": fit(X, y, n_iter),
        "recomputed": lambda: seconds(lambda: peer_frank_wolfe(X, y, n_iter, 10.0, 0.02, incremental=False)),
        "incremental": lambda: seconds(lambda: peer_frank_wolfe(X, y, n_iter, 10.0, 0.02, incremental=True)),
    }
    best = minima(contenders, rounds=6)
    headline(f"Whole fit, dense {n} x {p}, T = {n_iter}, beside a numpy Frank-Wolfe")
    row("margins recomputed, z = X @ theta", best["ours"], best["recomputed"], 5.0)
    row("margins moved along by one column", best["ours"], best["incremental"], 5.0)


def sparse(name: str) -> None:
    headline(f"Whole fit, {name} (CSR), T = 50, beside the same Frank-Wolfe on scipy matrices")
    folder = shared("data")
    if folder is None:
        return
    sys.path.insert(0, str(folder))
    from load import load

    data = load(name)
    bounds = data.bounds or (0.0, 1.0)
    n, p = data.X.shape
    contenders = {
        "ours": fit(data.X, data.y, 50, bounds),
        "recomputed": lambda: seconds(lambda: peer_frank_wolfe(data.X, data.y, 50, 10.0, 0.02, incremental=False)),
        "incremental": lambda: seconds(lambda: peer_frank_wolfe(data.X, data.y, 50, 10.0, 0.02, incremental=True)),
    }
    best = minima(contenders, rounds=6)
    row(f"{n} x {p}, {data.X.nnz} stored: recomputed", best["ours"], best["recomputed"])
    row("    moved along by one column", best["ours"], best["incremental"])


if __name__ == "__main__":
    medium()
    sparse("a9a")
    sparse("imdb")
    large()
