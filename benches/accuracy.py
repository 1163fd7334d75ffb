"""Accuracy floors of private fits with default settings.

Claims: logistic, X uniform in [-1, 1], n = 20 000, p = 1000, ten true coefficients of +-2, radius 10, delta 1e-6: mean
test accuracy at least 0.84 at epsilon 1 and 0.80 at epsilon 0.5; a9a at epsilon 1: at least 0.830. The peer is the best
possible prediction (the true coefficients) and, on a9a, scikit-learn without privacy.

Run: ``python benches/accuracy.py [--quick]``.
"""

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression

from _timing import QUICK, headline, shared
from dpsparse import PrivateSparseClassifier

SEEDS = 2 if QUICK else 10


def synthetic(seed):
    generator = np.random.default_rng(seed)
    n, p = 20_000, 1_000
    theta = np.zeros(p)
    theta[generator.choice(p, 10, replace=False)] = 2 * generator.choice([-1, 1], 10)
    X = generator.uniform(-1, 1, (2 * n, p))
    y = np.where(generator.uniform(size=2 * n) < 1 / (1 + np.exp(-X @ theta)), 1, -1)
    best = np.mean(np.sign(X[n:] @ theta) == y[n:])
    return X[:n], y[:n], X[n:], y[n:], best


def verdict(scores, floor):
    mean = np.mean(scores)
    spread = np.std(scores, ddof=1) / np.sqrt(len(scores))
    word = "PASS" if mean >= floor else "FAIL"
    return f"mean {mean:.4f} +- {spread:.4f} (least {min(scores):.4f}) floor {floor:.3f} {word}"


def main() -> None:
    headline(f"Accuracy of private logistic fits, defaults, {SEEDS} seeds (fresh data and fresh noise)")
    floors = {1.0: 0.84, 0.5: 0.80}
    scores, best = {epsilon: [] for epsilon in floors}, []
    n_iter = {}
    for seed in range(SEEDS):
        X, y, X_test, y_test, limit = synthetic(seed)
        best.append(limit)
        for epsilon in floors:
            model = PrivateSparseClassifier(epsilon=epsilon, delta=1e-6, radius=10.0, random_state=seed).fit(X, y)
            scores[epsilon].append(model.score(X_test, y_test))
            n_iter[epsilon] = model.n_iter_
    for epsilon, floor in floors.items():
        print(f"  synthetic, epsilon {epsilon:g}, T = {n_iter[epsilon]}: {verdict(scores[epsilon], floor)}")
    print(f"  synthetic, the true coefficients: mean {np.mean(best):.4f}")
    folder = shared("data")
    if folder is None:
        return
    sys.path.insert(0, str(folder))
    from load import load

    data = load("a9a")
    runs = []
    for seed in range(SEEDS):
        model = PrivateSparseClassifier(epsilon=1.0, bounds=data.bounds, random_state=seed).fit(data.X, data.y)
        runs.append(model.score(data.X_test, data.y_test))
    print(f"  a9a, epsilon 1, T = {model.n_iter_}: {verdict(runs, 0.830)}")
    peer = LogisticRegression(max_iter=1000).fit(data.X, data.y).score(data.X_test, data.y_test)
    print(f"  a9a, scikit-learn without privacy: {peer:.4f}")


if __name__ == "__main__":
    main()
