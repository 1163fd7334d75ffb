"""Whole private fits, ingestion included.

Claims: dense 100 000 x 1000, T = 50: at least 2 times 50 passes ``X.T @ d`` of numpy over the same array. n = 20 000,
p = 1000, T = 80: at least 5 times a numpy Frank-Wolfe (float64, logistic, selection by Gumbel noise and argmax). The
numpy version comes twice: margins recomputed as ``X @ theta``, and moved along by the one column that was chosen.
Sparse sets beside the same Frank-Wolfe on scipy matrices (one thread: scipy has no more).

Both sides are timed right after an untimed run of their own. Otherwise a fit would also pay for what came before it:
numpy's threads spin for a while, and a virtual machine may hand freed memory back to its host within seconds, which
then has to be fetched again. What a fit after a pause of 3 s pays is printed too.

Run: ``python benches/fit.py [--quick]``; RAYON_NUM_THREADS sets the threads of both sides.
"""

import sys
import time

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


def again(work):
    """Seconds of the second of two runs."""

    def measure():
        work()
        return seconds(work)

    return measure


def fit(X, y, n_iter, bounds=(-1.0, 1.0)):
    model = PrivateSparseClassifier(n_iter=n_iter, radius=10.0, bounds=bounds, classes=(-1, 1))
    return lambda: model.fit(X, y)


def peers(X, y, n_iter):
    def peer(incremental):
        return again(lambda: peer_frank_wolfe(X, y, n_iter, 10.0, 0.02, incremental=incremental))

    return {"recomputed": peer(False), "incremental": peer(True)}


def dense(n, p, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (n, p))
    return X, np.where(X[:, :10].sum(axis=1) > 0, 1.0, -1.0)


def large() -> None:
    n, p, n_iter = 100_000, 1_000, 50
    X, y = dense(n, p)
    F = np.asfortranarray(X)
    arrays = {
        "float64, C order": X,
        "float64, Fortran order": F,
        "float32, C order": X.astype(np.float32),
        "float32, Fortran order": F.astype(np.float32),
    }

    def passes(array):
        d = y.astype(array.dtype)

        def work():
            for _ in range(n_iter):
                array.T @ d

        return work

    def rested():
        time.sleep(3)
        return seconds(fit(F, y, n_iter))

    contenders = {}
    for name, array in arrays.items():
        contenders[name] = again(fit(array, y, n_iter))
        contenders[f"ingestion of {name}"] = again(fit(array, y, 1))
        contenders[f"numpy {name}"] = again(passes(array))
    best = minima(contenders | {"rested": rested}, rounds=4)
    headline(f"Whole fit, dense {n} x {p}, T = {n_iter}, beside {n_iter} numpy passes X.T @ d over the same array")
    for name in arrays:
        row(name, best[name], best[f"numpy {name}"], 2.0)
        print(f"    of which one iteration with ingestion {best[f'ingestion of {name}'] * 1e3:.0f} ms")
    row("float64, Fortran order, after a pause of 3 s", best["rested"], best["numpy float64, Fortran order"])


def medium() -> None:
    n, p, n_iter = 20_000, 1_000, 80
    X, y = dense(n, p)
    best = minima({"ours": again(fit(X, y, n_iter))} | peers(X, y, n_iter), rounds=6)
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
    best = minima({"ours": again(fit(data.X, data.y, 50, bounds))} | peers(data.X, data.y, 50), rounds=6)
    row(f"{n} x {p}, {data.X.nnz} stored: recomputed", best["ours"], best["recomputed"])
    row("    moved along by one column", best["ours"], best["incremental"])


if __name__ == "__main__":
    medium()
    sparse("a9a")
    sparse("imdb")
    large()
