"""Frank-Wolfe on the dual: which variant is better where, against output perturbation and noisy proximal gradients.

Prints the table of ``dpsparse.DualFrankWolfe``: per problem, norm, p and T, the mean over seeds of the excess of the
penalised objective over its minimum, and of test accuracy. Problems: a9a (l1 and one group per attribute), a synthetic
tree, a synthetic chain. The minimum is that of a fit with next to no noise. A star marks a public rule's T.

Run: ``python benches/dual_frank_wolfe.py [--quick]``.
"""

import sys
import warnings
from dataclasses import replace

import numpy as np

from _timing import QUICK, shared
from dpsparse import DualFrankWolfe, NoisyProximalGradient, OutputPerturbation, PrivateSparseClassifier
from dpsparse import set_functions as sf

SEEDS = 2 if QUICK else 5
STEPS = (None, 10, 100)


def labels(X, theta, generator):
    return np.where(generator.uniform(size=len(X)) < 1 / (1 + np.exp(-X @ theta)), 1, -1)


def tree():
    """A binary tree of depth 7 over p = 64 leaves; two subtrees of eight leaves matter."""
    p, n = 64, 20_000
    nodes = [list(range(k * size, (k + 1) * size)) for size in (64, 32, 16, 8, 4, 2, 1) for k in range(64 // size)]
    theta = np.zeros(p)
    theta[8:16], theta[40:48] = 1.0, -1.0
    generator = np.random.default_rng(0)
    X = generator.uniform(-1, 1, (2 * n, p))
    y = labels(X, theta, generator)
    return sf.Tree(nodes, n_features=p), X[:n], y[:n], X[n:], y[n:], {"bounds": (-1, 1)}


def chain():
    """Three plateaus over p = 64 coefficients."""
    p, n = 64, 20_000
    theta = np.repeat([0.0, 1.0, -0.5], [20, 24, 20])
    generator = np.random.default_rng(1)
    X = generator.uniform(-1, 1, (2 * n, p))
    y = labels(X, theta, generator)
    norm = sf.GraphCut([(j, j + 1) for j in range(p - 1)], n_features=p)
    return norm, X[:n], y[:n], X[n:], y[n:], {"bounds": (-1, 1)}


def a9a(kind):
    folder = shared("data")
    if folder is None:
        return None
    sys.path.insert(0, str(folder))
    from load import load

    data = load("a9a")
    groups = [np.flatnonzero(data.groups == g).tolist() for g in np.unique(data.groups)]
    norm = sf.Cardinality(123) if kind == "l1" else sf.GroupCover(groups, n_features=123)
    facts = {"bounds": (0, 1), "row_norm": 14**0.5}  # one level of each of 14 attributes
    return norm, data.X, data.y, data.X_test, data.y_test, facts


def main():
    problems = [
        ("a9a, l1", lambda: a9a("l1"), 0.003, 0.02),
        ("a9a, groups", lambda: a9a("groups"), 0.01, 0.02),
        ("tree", tree, 0.003, 0.05),
        ("chain cut", chain, 0.01, 0.05),
    ]
    print("problem p epsilon mechanism T excess accuracy")
    for name, make, alpha, ridge in problems:
        problem = make()
        if problem is None:
            continue
        norm, X, y, X_test, y_test, facts = problem
        value = norm.norm if norm.is_monotone else norm.lovasz
        fixed = {"norm": norm, "delta": 1e-6, "classes": (-1, 1), **facts}

        def objective(model, X=X, y=y, value=value, alpha=alpha, ridge=ridge):
            theta, b = model.coef_.ravel(), model.intercept_[0]
            loss = np.logaddexp(0, -y * (X @ theta + b)).mean()
            return loss + alpha * value(theta) + 0.5 * ridge * (theta @ theta + b * b)

        def fit(mechanism, epsilon, seed, X=X, y=y, fixed=fixed):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return PrivateSparseClassifier(epsilon=epsilon, mechanism=mechanism, random_state=seed, **fixed).fit(
                    X, y
                )

        penalties = {"alpha": alpha, "ridge": ridge}
        best = objective(fit(OutputPerturbation(**penalties), 1e9, 0))
        dual = DualFrankWolfe(**penalties)
        mechanisms = [replace(dual, variant=v, n_iter=t) for v in ("noisy-iterates", "selection") for t in STEPS]
        mechanisms += [OutputPerturbation(**penalties), NoisyProximalGradient(**penalties)]
        for epsilon in (1.0,) if QUICK else (1.0, 4.0):
            for mechanism in mechanisms:
                models = [fit(mechanism, epsilon, seed) for seed in range(SEEDS)]
                excess = np.mean([objective(model) for model in models]) - best
                accuracy = np.mean([model.score(X_test, y_test) for model in models])
                label = getattr(mechanism, "variant", mechanism.name)
                rule = "*" if getattr(mechanism, "n_iter", None) is None else ""
                row = (name, norm.n_features, epsilon, label, f"{models[0].n_iter_}{rule}")
                print(*row, f"{excess:.4f} {accuracy:.4f}", sep=" | ", flush=True)


if __name__ == "__main__":
    main()
