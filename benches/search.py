"""A search that is paid for, beside each of its candidates alone at the whole budget.

Peers: the candidates themselves, which no private user can pick between for nothing; their best is an upper line.
Claims: cod_rna at epsilon 1, where candidates differ much (private scale or not), the search is above the default
(frank-wolfe) by 0.1; a9a, where they differ little, is reported either way.

Run: ``python benches/search.py [--quick]``.
"""

import sys
import time

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from _timing import QUICK, headline, shared
from dpsparse import PrivateSearchCV, PrivateSparseClassifier

SEEDS = 2 if QUICK else 4
CASES = {
    ("cod_rna", 1.0): ({}, {"mechanism": ["frank-wolfe", "objective-perturbation"], "scale": [None, "private"]}),
    # The attributes are 14 one-hot blocks: at most 14 ones a row.
    ("a9a", 0.1): ({"row_norm": 14**0.5}, None),
    ("a9a", 1.0): ({"row_norm": 14**0.5}, None),
}
ALIKE = {"mechanism": ["noisy-proximal-gradient", "objective-perturbation", "output-perturbation", "sgd-output"]}


def main() -> None:
    headline(f"Accuracy of a search against its candidates alone, {SEEDS} seeds")
    folder = shared("data")
    if folder is None:
        return
    sys.path.insert(0, str(folder))
    from load import load

    for (name, epsilon), (facts, grid) in CASES.items():
        data = load(name)
        X, X_test = (part.toarray() if issparse(part) else part for part in (data.X, data.X_test))
        model = PrivateSparseClassifier(bounds=data.bounds, classes=(-1, 1), **facts)
        alone = []
        for params in ParameterGrid(grid or ALIKE):
            fits = [
                clone(model).set_params(epsilon=epsilon, random_state=seed, **params).fit(X, data.y)
                for seed in range(SEEDS)
            ]
            alone.append(np.mean([fit.score(X_test, data.y_test) for fit in fits]))
            print(f"  {name}, epsilon {epsilon:g}, {params}: {alone[-1]:.4f}", flush=True)
        for share in (0.0, 0.5):
            start = time.perf_counter()
            searches = [
                PrivateSearchCV(model, grid or ALIKE, epsilon=epsilon, refit_share=share, random_state=seed)
                for seed in range(SEEDS)
            ]
            scores = [search.fit(X, data.y).score(X_test, data.y_test) for search in searches]
            spread = np.std(scores, ddof=1) / np.sqrt(SEEDS)
            verdict = ""
            if name == "cod_rna":
                verdict = " PASS" if np.mean(scores) > alone[0] + 0.1 else " FAIL"
            print(
                f"  {name}, epsilon {epsilon:g}, searched, refit_share {share}: {np.mean(scores):.4f} +- {spread:.4f}, "
                f"winners {[search.best_index_ for search in searches]}, "
                f"{(time.perf_counter() - start) / SEEDS:.1f} s a search{verdict}",
                flush=True,
            )


if __name__ == "__main__":
    main()
