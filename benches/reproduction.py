"""The papers' experiments and rates, with the mended mechanisms.

1. Jain & Thakurta 2014, section 6, on cod_rna: accuracy against epsilon, and against a dimension bloated with zeros, of
   output and objective perturbation with Gamma and with Gaussian noise. Claims: Gaussian noise is flat in the
   dimension, Gamma noise falls.
2. Talwar, Thakurta & Zhang 2015, Corollary 2.7: the excess risk of private Frank-Wolfe falls at least like n^(-2/3).
   Claim: a log-log slope of at most -0.55.

Run: ``python benches/reproduction.py [--quick]``. Figures (reproduction_*.png) go to the working directory where
matplotlib is installed.
"""

import math
import sys

import numpy as np
import scipy.sparse as sp

from _timing import QUICK, headline, shared
from dpsparse import ObjectivePerturbation, OutputPerturbation, PrivateSparseClassifier, PrivateSparseRegressor

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

DELTA = 1e-3
#: |x| of a scaled row: |energy| <= 1, |length| <= 1, and the frequencies of one sequence sum to at most 1.
ROW_NORM = 2.0


def methods(ridge: float):
    """Return the paper's four methods by its names."""
    return {
        "Output": OutputPerturbation(noise="gamma", ridge=ridge),
        "Objective": ObjectivePerturbation(noise="gamma", ridge=ridge),
        "Output-Gauss": OutputPerturbation(noise="gaussian", ridge=ridge),
        "Objective-Gauss": ObjectivePerturbation(noise="gaussian", ridge=ridge),
    }


def perturbation() -> None:
    headline("Jain & Thakurta 2014, section 6: perturbation on cod_rna, smoothed hinge loss, delta 1e-3")
    folder = shared("data")
    if folder is None:
        return
    sys.path.insert(0, str(folder))
    from load import load

    data = load("cod_rna")
    runs = 3 if QUICK else 20
    epsilons = (0.5, 2.0, 10.0) if QUICK else (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    table = {
        name: [accuracies(data, method, epsilon, runs=runs) for epsilon in epsilons]
        for name, method in methods(1e-3).items()
    }
    show(f"accuracy with ridge 1e-3, 70/30 splits, {runs} runs (standard error)", "epsilon", epsilons, table)
    figure("reproduction_epsilon.png", "epsilon", epsilons, table)
    # A ridge that needs epsilon > 1 lets the features speak.
    dimensions = (8, 8192) if QUICK else (8, 512, 8192, 65536)
    runs = 2 if QUICK else 3
    table = {
        name: [accuracies(data, method, 5.0, runs=runs, dimension=p) for p in dimensions]
        for name, method in methods(1e-4).items()
    }
    show(f"accuracy at epsilon 5 with ridge 1e-4 and zeros up to p features, {runs} runs", "p", dimensions, table)
    figure("reproduction_dimension.png", "p", dimensions, table)
    for name, rows in table.items():
        first, last = np.mean(rows[0]), np.mean(rows[-1])
        print(f"  {name}: {first:.3f} at p = {dimensions[0]}, {last:.3f} at p = {dimensions[-1]}")
    flat = all(abs(np.mean(table[name][-1]) - np.mean(table[name][0])) < 0.05 for name in table if "Gauss" in name)
    falls = all(np.mean(table[name][-1]) < np.mean(table[name][0]) - 0.05 for name in table if "Gauss" not in name)
    print(f"  Gaussian flat: {verdict(flat)}; Gamma falls: {verdict(falls)}")
    sampling(data, dimensions, runs)


def sampling(data, dimensions, runs: int) -> None:
    """Section 5.1: the least-squares fit on the simplex, released by sampling, epsilon 10."""
    try:
        from dpsparse import PrivateSimplexRegressor
    except ImportError:
        print("  Sampling: skipped, this build has no PrivateSimplexRegressor")
        return

    def model(epsilon, p, seed):
        lower, upper = (np.concatenate([side, np.zeros(p - 8)]) for side in data.bounds)
        return PrivateSimplexRegressor(
            epsilon=epsilon, delta=DELTA, bounds=(lower, upper), y_bounds=(-1, 1), random_state=seed
        )

    table = {"Sampling": [accuracies(data, model, 10.0, runs=runs, dimension=p) for p in dimensions]}
    show(f"accuracy at epsilon 10, signs of a least-squares fit, {runs} runs", "p", dimensions, table)


def accuracies(data, method, epsilon: float, *, runs: int, dimension: int = 8) -> list[float]:
    """Test accuracies over fresh 70/30 splits of the records, features padded with zeros."""
    n = len(data.y)
    X = sp.csr_matrix((data.X.ravel(), np.tile(np.arange(8), n), np.arange(0, 8 * n + 1, 8)), shape=(n, dimension))
    X = data.X if dimension == 8 else X
    lower, upper = (np.concatenate([side, np.zeros(dimension - 8)]) for side in data.bounds)
    scores = []
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(n)
        train, test = order[: int(0.7 * n)], order[int(0.7 * n) :]
        if callable(method):
            model = method(epsilon, dimension, seed).fit(X[train], data.y[train].astype(float))
        else:
            model = PrivateSparseClassifier(
                epsilon=epsilon,
                delta=DELTA,
                loss="hinge",
                mechanism=method,
                bounds=(lower, upper),
                row_norm=ROW_NORM,
                random_state=seed,
            ).fit(X[train], data.y[train])
        scores.append(float(np.mean(np.where(model.predict(X[test]) > 0, 1, -1) == data.y[test])))
    return scores


def rate() -> None:
    headline(
        "Talwar, Thakurta & Zhang 2015, Corollary 2.7: excess risk of frank-wolfe, epsilon 1, delta 1e-6, radius 1"
    )
    print("  X uniform in {-1, 1}^p, y = <x, theta>, |theta|_1 = 1 on k features: the least risk over the ball is 0")
    largest = 5 if QUICK else 6
    fixed = [(10**e, 40, 10) for e in range(3, largest + 1)]
    sizes = [10**3, 10**4, 10**5] if QUICK else [10**3, 10**4, 10**5, 3 * 10**5]
    growing = [(n, *[math.ceil(n ** (2 / 3) / 10)] * 2) for n in sizes]
    curves = {}
    for name, family in (("p = 40, k = 10", fixed), ("p = k = n^(2/3)/10", growing)):
        print(f"  {name}")
        curves[name] = [excess(*member) for member in family]
        ns = [member[0] for member in family]
        slope = float(np.polyfit(np.log(ns), np.log(curves[name]), 1)[0])
        print(f"    slope {slope:.3f}, bound -0.667, at most -0.55: {verdict(slope <= -0.55)}")
        figure(f"reproduction_rate_{len(curves)}.png", "n", ns, {name: [[value] for value in curves[name]]}, log=True)


def excess(n: int, p: int, k: int) -> float:
    """Mean excess of the training risk over the ball; prints a line."""
    values, seeds = [], (2 if n >= 10**6 else 3 if n >= 10**5 else 10)
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        X = 2 * generator.integers(0, 2, (n, p), dtype=np.int8).astype(np.float32) - 1
        theta = np.zeros(p)
        theta[:k] = generator.choice([-1, 1], k) / k
        y = X @ theta
        model = PrivateSparseRegressor(
            delta=1e-6,
            mechanism="frank-wolfe",
            radius=1.0,
            bounds=(-1, 1),
            y_bounds=(-1, 1),
            fit_intercept=False,
            random_state=seed,
        ).fit(X, y)
        values.append(0.5 * np.mean((X @ model.coef_ - y) ** 2))
    mean = float(np.mean(values))
    facts = f"n {n:8d}  p {p:4d}  T {model.n_iter_:4d}  excess {mean:.3e}  (theta = 0: {0.5 / k:.3e})  {seeds} runs"
    print(f"    {facts}", flush=True)
    return mean


def show(title: str, axis: str, points, table) -> None:
    print(f"  {title}")
    print(f"    {axis:>16s}" + "".join(f"{point:>15g}" for point in points))
    for name, rows in table.items():
        cells = [f"{np.mean(row):.3f} ({np.std(row, ddof=1) / math.sqrt(len(row)):.3f})" for row in rows]
        print(f"    {name:>16s}" + "".join(f"{cell:>15s}" for cell in cells), flush=True)


def figure(path: str, axis: str, points, table, log: bool = False) -> None:
    if pyplot is None:
        print(f"  {path}: skipped, matplotlib is not installed")
        return
    figure, axes = pyplot.subplots()
    for name, rows in table.items():
        axes.plot(points, [np.mean(row) for row in rows], marker="o", label=name)
    axes.set(xlabel=axis, ylabel="excess risk" if log else "accuracy", xscale="log", yscale="log" if log else "linear")
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)


def verdict(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"


def main() -> None:
    perturbation()
    rate()


if __name__ == "__main__":
    main()
