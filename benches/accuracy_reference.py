"""What a private fit is between: scikit-learn's fits of the same losses without privacy, and the constant model."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge, RidgeCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import accuracy_measures
from accuracy_problem import OPEN, Problem, features

NON_PRIVATE, TRIVIAL = "not private", "trivial"


def run(problem: Problem, seeds: int) -> Iterator[dict[str, Any]]:
    """Yield rows without privacy at epsilon infinity, one seed where the split is fixed."""
    for seed in range(seeds if problem.resplit else 1):
        X, y, X_test, y_test = problem.split(seed)
        scaling = problem.scalings[-1]
        Z, Z_test = (features(problem, each, scaling, intercept=False).astype(float) for each in (X, X_test))
        model, setting = _model(problem)
        measures = accuracy_measures.of_model(model.fit(Z, y), Z_test, y_test, problem.classes)
        row = {"epsilon": math.inf, "seed": seed}
        yield row | {"system": NON_PRIVATE, "setting": f"scikit-learn, {setting}"} | measures
        yield row | {"system": TRIVIAL} | _constant(problem.classes, y, y_test)


def _constant(classes: tuple[int, ...] | None, y: np.ndarray, y_test: np.ndarray) -> dict[str, float | None]:
    """Measure the mean, or the majority class with the shares of the classes among the records of a fit."""
    if classes is None:
        return {"score": 0.0, **accuracy_measures.NEITHER}
    shares = np.tile([np.mean(y == each) for each in classes], (len(y_test), 1))
    majority = max(float(np.mean(y_test == each)) for each in classes)
    return {"score": majority, "log_loss": float(log_loss(y_test, shares, labels=classes)), "auc": 0.5}


def _model(problem: Problem) -> tuple[Any, str]:
    if problem.collection == OPEN:
        if problem.regression:
            return LinearRegression(), "least squares"
        C = 10.0 if problem.text else 1.0
        return LogisticRegression(C=C, max_iter=2_000, fit_intercept=problem.fit_intercept), f"C {C:g}"
    model, setting = _of_table(problem)
    if problem.wide:
        return model, setting
    # Public bounds of tables about people say little about the spread of a column.
    return make_pipeline(StandardScaler(), model), f"{setting}, standardised"


def _of_table(problem: Problem) -> tuple[Any, str]:
    if problem.classes is not None:
        C = 0.3 if problem.wide else 1.0
        return LogisticRegression(C=C, max_iter=2_000), f"C {C:g}"
    if problem.task == "count":
        return PoissonRegressor(alpha=1e-3, max_iter=2_000), "Poisson, alpha 0.001"
    return (Ridge(5.0), "ridge 5") if problem.wide else (RidgeCV(), "ridge by cross-validation")
