"""The papers' experiments and rates, with the mended mechanisms.

1. Jain & Thakurta 2014, section 6, on cod_rna: accuracy against epsilon, and against a dimension bloated with zeros, of
   output and objective perturbation with Gamma and with Gaussian noise. Claims: Gaussian noise is flat in the
   dimension, Gamma noise falls.
2. Talwar, Thakurta & Zhang 2015, Corollary 2.7: the excess risk of private Frank-Wolfe falls at least like n^(-2/3).
   Claim: a log-log slope of at most -0.55.
3. Kumar & Deisenroth 2019, section 5: error against n, p, epsilon and the Gaussian width of balls.

What goes beyond the papers is asked for by name, as it takes long: each part is a script of its own beside this one.

Run: ``python benches/reproduction.py [--quick] [epsilon] [dimension] [sampling] [rate] [width]``; without a part, all
of these. Or ``[mirror-descent] [combinatorial] [structure] [signs] [norms]``.
Figures (reproduction_*.png) go to the folder for temporary files where matplotlib is installed.
"""

import math
import runpy
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from _timing import QUICK, headline, shared
from dpsparse import (
    InvalidArgumentError,
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
)
from reproduction_width import width

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

DELTA = 1e-3
#: |x| of a scaled row: |energy| <= 1, |length| <= 1, and the frequencies of one sequence sum to at most 1.
ROW_NORM = 2.0


def methods(output_ridge: float | None = None, objective_ridge: float | None = None):
    """Return the paper's four methods by its names."""
    return {
        "Output": OutputPerturbation(noise="gamma", ridge=output_ridge),
        "Objective": ObjectivePerturbation(noise="gamma", ridge=objective_ridge),
        "Output-Gauss": OutputPerturbation(noise="gaussian", ridge=output_ridge),
        "Objective-Gauss": ObjectivePerturbation(noise="gaussian", ridge=objective_ridge),
    }


def cod_rna():
    """Return the records, or None where they are not at hand."""
    folder = shared("data")
    if folder is None:
        return None
    sys.path.insert(0, str(folder))
    from load import load

    return load("cod_rna")


def against_epsilon() -> None:
    headline("Jain & Thakurta 2014, section 6: perturbation on cod_rna, smoothed hinge loss, delta 1e-3")
    data = cod_rna()
    if data is None:
        return
    runs = 3 if QUICK else 20
    epsilons = (0.5, 2.0, 10.0) if QUICK else (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    table = {
        name: [accuracies(data, method, epsilon, runs=runs) for epsilon in epsilons]
        for name, method in methods().items()
    }
    show(f"accuracy, default ridges, 70/30 splits, {runs} runs (standard error)", "epsilon", epsilons, table)
    figure("reproduction_epsilon.png", "epsilon", epsilons, table)


def against_dimension() -> None:
    headline("Jain & Thakurta 2014, section 6: cod_rna with features of zeros, epsilon 5, delta 1e-3")
    data = cod_rna()
    if data is None:
        return
    # One ridge at every p, as the default one grows with the noise; output perturbation needs more of it.
    dimensions, runs = bloated_dimensions(), 2 if QUICK else 3
    table = {
        name: [accuracies(data, method, 5.0, runs=runs, dimension=p) for p in dimensions]
        for name, method in methods(1e-3, 1e-4).items()
    }
    ridges = "ridge 1e-3 (output), 1e-4 (objective)"
    show(f"accuracy at epsilon 5, {ridges}, zeros up to p features, {runs} runs", "p", dimensions, table)
    figure("reproduction_dimension.png", "p", dimensions, table)
    for name, rows in table.items():
        first, last = np.mean(rows[0]), np.mean(rows[-1])
        print(f"  {name}: {first:.3f} at p = {dimensions[0]}, {last:.3f} at p = {dimensions[-1]}")
    flat = all(abs(np.mean(table[name][-1]) - np.mean(table[name][0])) < 0.05 for name in table if "Gauss" in name)
    falls = all(np.mean(table[name][-1]) < np.mean(table[name][0]) - 0.05 for name in table if "Gauss" not in name)
    print(f"  Gaussian flat: {verdict(flat)}; Gamma falls: {verdict(falls)}")


def bloated_dimensions() -> tuple[int, ...]:
    return (8, 8192) if QUICK else (8, 512, 8192, 65536)


def sampling() -> None:
    """Section 5.1: an entropy-regularised least-squares fit on the simplex, released by sampling, epsilon 10.

    Coefficients of both signs need the features x and -x; all are centred by their public bounds. The paper thresholds
    the predictions and does not say where: the best threshold of the training records is taken, which is not private.
    """
    headline("Jain & Thakurta 2014, section 5.1: Sampling on cod_rna, delta 1e-3")
    data = cod_rna()
    if data is None:
        return
    lower, upper = data.bounds
    centred = np.hstack([(2 * data.X - lower - upper) / (upper - lower), np.ones((len(data.y), 1))])
    X = sp.csr_matrix(np.hstack([centred, -centred]))
    dimensions, runs = [18, *bloated_dimensions()[1:]], 2 if QUICK else 3
    rows = []
    for p in dimensions:
        bloated = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], p))
        scores = []
        for seed in range(runs):
            train, test = split(len(data.y), seed)
            model = PrivateSimplexRegressor(
                epsilon=10.0, delta=DELTA, bounds=(-1, 1), random_state=seed, y_bounds=(-1, 1)
            )
            model.fit(bloated[train], data.y[train].astype(float))
            fitted = model.predict(bloated[train])
            levels = np.quantile(fitted, np.linspace(0, 1, 101))
            best = max(levels, key=lambda level: np.mean((fitted > level) == (data.y[train] > 0)))
            scores.append(float(np.mean((model.predict(bloated[test]) > best) == (data.y[test] > 0))))
        rows.append(scores)
    show(f"accuracy at epsilon 10, best threshold (not private), {runs} runs", "p", dimensions, {"Sampling": rows})


def split(n: int, seed: int):
    """Return 70 % of the records to train on and the rest to test on."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: int(0.7 * n)], order[int(0.7 * n) :]


def accuracies(data, method, epsilon: float, *, runs: int, dimension: int = 8) -> list[float]:
    """Test accuracies over fresh 70/30 splits of the records, features padded with zeros."""
    n = len(data.y)
    X = sp.csr_matrix((data.X.ravel(), np.tile(np.arange(8), n), np.arange(0, 8 * n + 1, 8)), shape=(n, dimension))
    X = data.X if dimension == 8 else X
    lower, upper = (np.concatenate([side, np.zeros(dimension - 8)]) for side in data.bounds)
    scores = []
    for seed in range(runs):
        train, test = split(n, seed)
        model = PrivateSparseClassifier(
            epsilon=epsilon,
            delta=DELTA,
            loss="hinge",
            mechanism=method,
            bounds=(lower, upper),
            row_norm=ROW_NORM,
            random_state=seed,
        )
        try:
            model.fit(X[train], data.y[train])
        except InvalidArgumentError as refusal:
            print(f"  epsilon {epsilon:g}, {method.name}: {refusal}")
            return []
        scores.append(model.score(X[test], data.y[test]))
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
        cells = [
            f"{np.mean(row):.3f} ({np.std(row, ddof=1) / math.sqrt(len(row)):.3f})" if row else "refused"
            for row in rows
        ]
        print(f"    {name:>16s}" + "".join(f"{cell:>15s}" for cell in cells), flush=True)


def figure(path: str, axis: str, points, table, log: bool = False) -> None:
    if pyplot is None:
        print(f"  {path}: skipped, matplotlib is not installed")
        return
    figure, axes = pyplot.subplots()
    for name, rows in table.items():
        axes.plot(points, [np.mean(row) if row else math.nan for row in rows], marker="o", label=name)
    axes.set(xlabel=axis, ylabel="excess risk" if log else "accuracy", xscale="log", yscale="log" if log else "linear")
    axes.legend()
    saved = Path(tempfile.gettempdir()) / path
    figure.savefig(saved)
    print(f"  figure: {saved}")
    pyplot.close(figure)


def verdict(holds: bool) -> str:
    return "holds" if holds else "DOES NOT HOLD"


PARTS = {
    "epsilon": against_epsilon,
    "dimension": against_dimension,
    "sampling": sampling,
    "rate": rate,
    "width": width,
}


#: Beyond the papers, a script each: mirror descent on open sets, combinatorial problems, declared structure, what signs
#: and free features are worth, and the exact fits of their norms beside peers' solvers.
BEYOND = {
    "mirror-descent": "mirror_descent",
    "combinatorial": "combinatorial",
    "structure": "structure",
    "signs": "signs",
    "norms": "solver_groups",
}


def beyond(part: str) -> None:
    """Run the script of a part with all its own parts."""
    sys.argv[1:] = ["--quick"] * QUICK
    runpy.run_path(str(Path(__file__).with_name(f"{BEYOND[part]}.py")), run_name="__main__")


def main() -> None:
    wanted = [name for name in sys.argv[1:] if name in PARTS or name in BEYOND]
    for part in wanted or PARTS:
        beyond(part) if part in BEYOND else PARTS[part]()


if __name__ == "__main__":
    main()
