"""What is measured on records that no fit saw: the score, and for classifications log loss and AUC.

The score is the accuracy, R^2, or the share of the Poisson deviance explained. The log loss is natural, of the
probabilities that a model states, or of its margins as they are, by the logistic function; AUC is that of the margins,
or of one class against the rest where there are several.
"""

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.metrics import log_loss, roc_auc_score

#: What a row of a regression has beside its score.
NEITHER: dict[str, float | None] = {"log_loss": None, "auc": None}


def of_margins(y_test: np.ndarray, margins: np.ndarray) -> dict[str, float | None]:
    """Return log loss and AUC of margins that favour the label 1 against -1."""
    margins = np.asarray(margins, dtype=float)
    probabilities = np.column_stack([expit(-margins), expit(margins)])
    return {
        "log_loss": float(log_loss(y_test, probabilities, labels=(-1, 1))),
        "auc": float(roc_auc_score(y_test, margins)),
    }


def of_model(model: Any, X_test: Any, y_test: np.ndarray, classes: tuple[int, ...] | None) -> dict[str, float | None]:
    """Return the score of a fitted model, and log loss and AUC where it knows classes."""
    found: dict[str, float | None] = {"score": float(model.score(X_test, y_test))}
    if classes is None:
        return found | NEITHER
    two = len(classes) == 2
    if not hasattr(model, "predict_proba"):
        return found | (of_margins(y_test, model.decision_function(X_test)) if two else NEITHER)
    probabilities = model.predict_proba(X_test)
    # Probabilities near 0 and 1 tie where margins do not.
    ranked = model.decision_function(X_test) if two else probabilities
    return found | {
        "log_loss": float(log_loss(y_test, probabilities, labels=classes)),
        "auc": float(roc_auc_score(y_test, ranked, multi_class="ovr", labels=classes)),
    }


def scores(regression: bool, margins: np.ndarray, y_test: np.ndarray) -> np.ndarray:
    """Return accuracy, or R^2 of targets in [-1, 1] with predictions clipped to them, of each column of margins."""
    if regression:
        return 1 - np.mean((np.clip(margins, -1, 1) - y_test[:, None]) ** 2, axis=0) / np.var(y_test)
    return np.mean((margins > 0) == (y_test[:, None] > 0), axis=0)
