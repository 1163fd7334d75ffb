"""Rival: diffprivlib 0.6.6, untuned (C = 1) and tuned on the test set.

diffprivlib needs scikit-learn 1.7, hence an environment of its own. ``accuracy.py`` runs this file by the interpreter
that DPSPARSE_DIFFPRIVLIB_PYTHON names:
``python rivals_diffprivlib.py arrays.npz '{"regression": false, "epsilons": [1.0], ...}'``. It prints one JSON row for
each system, epsilon and seed. Pure epsilon; nothing of dpsparse is imported.
"""

import json
import sys
import warnings
from itertools import product

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression

from accuracy_measures import NEITHER, of_margins

UNTUNED = "diffprivlib, C = 1"
TUNED = "diffprivlib, tuned on the test set"
SHORTLIST = 3


def classify(arrays, task):
    """Yield rows of logistic regression; a setting is (features, data norm, C)."""
    y, y_test = arrays["y"], arrays["y_test"]

    def measures(setting, epsilon, seed):
        scaling, norm, C = setting
        model = LogisticRegression(epsilon=epsilon, data_norm=norm, C=C, random_state=seed)
        margins = model.fit(arrays[f"X_{scaling}"], y).decision_function(arrays[f"X_test_{scaling}"])
        return {"score": float(np.mean((margins > 0) == (y_test > 0))), **of_margins(y_test, margins)}

    norms = task["norms"]
    Cs = (1e-3, 1e-1) if task["quick"] else (1e-4, 1e-3, 1e-2, 0.1, 1.0)
    grid = [(scaling, norms[scaling] * share, C) for scaling, share, C in product(norms, (1.0, 0.4), Cs)]
    untuned = ("uncentred", norms["uncentred"], 1.0)
    for epsilon in task["epsilons"]:
        # One fit of each setting makes a short list; further fits of those on it decide.
        shortlist = sorted(grid, key=lambda setting: -measures(setting, epsilon, 1_000)["score"])[:SHORTLIST]
        seeds = range(task["seeds"])
        fitted = {each: [measures(each, epsilon, seed) for seed in seeds] for each in [untuned, *shortlist]}
        best = max(fitted, key=lambda setting: sum(found["score"] for found in fitted[setting]))
        for system, setting in ((UNTUNED, untuned), (TUNED, best)):
            text = f"{setting[0]}, norm {setting[1]:.3g}, C {setting[2]:g}"
            for seed, found in enumerate(fitted[setting]):
                yield system, epsilon, seed, found, text


def regress(arrays, task):
    """Yield rows of linear regression, one split per seed; it has nothing to tune."""
    for epsilon, seed in product(task["epsilons"], range(task["seeds"])):
        X, X_test = arrays[f"X_{seed}"], arrays[f"X_test_{seed}"]
        bounds = (arrays["lower"], arrays["upper"])
        model = LinearRegression(epsilon=epsilon, bounds_X=bounds, bounds_y=tuple(task["y_bounds"]), random_state=seed)
        model.fit(X, arrays[f"y_{seed}"])
        score = float(model.score(X_test, arrays[f"y_test_{seed}"]))
        yield "diffprivlib", epsilon, seed, {"score": score, **NEITHER}, "public bounds"


def main() -> None:
    warnings.simplefilter("ignore")
    task = json.loads(sys.argv[2])
    with np.load(sys.argv[1]) as arrays:
        stored = dict(arrays)
    for system, epsilon, seed, found, text in (regress if task["regression"] else classify)(stored, task):
        row = {"system": system, "epsilon": epsilon, "seed": seed, **found, "setting": text}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
