"""Weak duality at every point, and no gap at the optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError, evaluate_loss
from dpsparse._inputs import float_array
from dpsparse._validation import flag, number, positive_integer, random_generator
from dpsparse.losses import catalogued
from dpsparse.norms import GroupLasso
from dpsparse.set_functions import Cardinality, SetFunction

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PenalisedProblem:
    """The problem ``min sum_i w_i l(z_i; y_i) + alpha Omega(theta) + (ridge/2) |theta|^2``, ``z = X theta + b``.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,)
        Targets; -1 and +1 for the losses of two classes.
    norm : SetFunction or GroupLasso
        Defines Omega: ``f(|theta|)`` where a set function is monotone, f(theta) otherwise; or a group lasso of
        disjoint groups.
    alpha : float
        Positive penalty.
    loss : str or loss object, default="squared"
        A catalogued loss.
    ridge : float, default=0.0
        Not negative.
    fit_intercept : bool, default=False
        Whether b is free; otherwise it is 0.
    sample_weight : array of shape (n_samples,) or None, default=None
        Weights, normalised to sum 1; None means equal ones.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.set_functions import Cardinality
    >>> from dpsparse.testing import PenalisedProblem
    >>> X, y = np.array([[1.0], [2.0]]), np.array([1.0, 2.0])
    >>> problem = PenalisedProblem(X, y, Cardinality(1), alpha=0.5)
    >>> problem.alpha, problem.norm.n_features
    (0.5, 1)
    """

    X: Vector
    y: Vector
    norm: SetFunction | GroupLasso
    alpha: float
    loss: Any = "squared"
    ridge: float = 0.0
    fit_intercept: bool = False
    sample_weight: Vector | None = None


def check_duality(
    problem: PenalisedProblem, *, tol: float = 1e-8, n_trials: int = 30, random_state: int | np.random.Generator = 0
) -> None:
    """Check weak duality at random points and a zero gap at the exact estimators' solution.

    With ``G(theta) = alpha Omega(theta) + (ridge/2) |theta|^2`` the dual function of a is
    ``-sum_i w_i l*(a_i; y_i) - G*(-X' (w a))``, where ``sum_i w_i a_i = 0`` if the intercept is free. G* is 0 on
    ``alpha K`` and infinite outside it, or, with a ridge, ``|prox(v)|^2 / (2 ridge)`` by Moreau's identity. The dual
    points are slopes of the loss at random scores, shrunk into the domain where there is no ridge. Then the problem is
    solved by :class:`~dpsparse.SparseClassifier` or :class:`~dpsparse.SparseRegressor`, and its objective must lie
    within ``duality_gap_`` of every dual value, of every other primal point, and of the dual value made from itself.

    Parameters
    ----------
    problem : PenalisedProblem
        What is checked.
    tol : float, default=1e-8
        Relative tolerance that the solver is asked for.
    n_trials : int, default=30
        Number of random primal and of random dual points.
    random_state : int or numpy.random.Generator, default=0
        Source of the random points.

    Raises
    ------
    AssertionError
        A property fails; the text says which one.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.set_functions import Cardinality
    >>> from dpsparse.testing import PenalisedProblem, check_duality
    >>> generator = np.random.default_rng(0)
    >>> X, y = generator.standard_normal((20, 3)), generator.standard_normal(20)
    >>> check_duality(PenalisedProblem(X, y, Cardinality(3), alpha=0.1))
    """
    generator = random_generator(random_state)
    n_trials = positive_integer("n_trials", n_trials)
    problem = _checked(problem)
    primal, dual = _functions(problem)
    p = problem.X.shape[1]
    thetas = [np.zeros(p), *(generator.standard_normal((n_trials, p)) * generator.uniform(0, 2, (n_trials, 1)))]
    intercepts = generator.standard_normal(len(thetas)) if problem.fit_intercept else np.zeros(len(thetas))
    values = [primal(theta, float(b)) for theta, b in zip(thetas, intercepts, strict=True)]
    bounds = [dual(problem.X @ theta + b) for theta, b in zip(thetas, intercepts, strict=True)]
    slack = 1e-10 * (1.0 + min(values))
    assert max(bounds) <= min(values) + slack, f"weak duality fails: {max(bounds)} above {min(values)}"

    model = _fit(problem, tol)
    theta, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    optimum, gap = primal(theta, b), float(model.duality_gap_)
    assert gap >= 0.0, f"duality_gap_ is {gap}"
    slack += 1e-10 * optimum
    least = min(*values, *(primal(theta + 0.01 * t, b) for t in thetas))
    assert optimum - gap <= least + slack, f"objective {optimum} less its gap {gap} is above {least} at another point"
    assert max(bounds) <= optimum + slack, f"a dual value {max(bounds)} is above the objective {optimum}"
    own = dual(problem.X @ theta + b)
    assert own <= optimum + slack, f"the dual value {own} of the solution is above its objective {optimum}"
    reference = primal(np.zeros(p), 0.0)
    assert gap <= 2.0 * tol * reference + slack, f"duality_gap_ is {gap}, not 0"
    # A seminorm leaves directions free, in which float slopes never balance to the last digit: no dual point then.
    assert not np.isfinite(own) or optimum - own <= 100.0 * tol * max(reference, optimum) + gap + slack, (
        f"the gap at the solution is {optimum - own}, not 0"
    )


def _checked(problem: Any) -> PenalisedProblem:
    """Return the problem with arrays and numbers as the checks take them."""
    if not isinstance(problem, PenalisedProblem):
        raise InvalidArgumentError(f"problem must be a PenalisedProblem, got {type(problem).__name__}")
    if not isinstance(problem.norm, SetFunction | GroupLasso):
        raise InvalidArgumentError(f"norm must be a set function or a GroupLasso, got {type(problem.norm).__name__}")
    X, y = float_array("X", problem.X, ndim=2), float_array("y", problem.y)
    weights = None if problem.sample_weight is None else float_array("sample_weight", problem.sample_weight)
    if len(y) != len(X) or (weights is not None and len(weights) != len(X)):
        raise InvalidArgumentError("X, y and sample_weight must hold as many records")
    alpha, ridge = number("alpha", problem.alpha), number("ridge", problem.ridge)
    if not 0.0 < alpha < np.inf:
        raise InvalidArgumentError("alpha must be positive and finite")
    if not 0.0 <= ridge < np.inf:
        raise InvalidArgumentError("ridge must be finite and not negative")
    fit_intercept = flag("fit_intercept", problem.fit_intercept)
    return replace(problem, X=X, y=y, sample_weight=weights, alpha=alpha, ridge=ridge, fit_intercept=fit_intercept)


def _functions(problem: PenalisedProblem) -> tuple[Callable[[Vector, float], float], Callable[[Vector], float]]:
    """Return the primal function of (theta, b) and the dual value made from scores z."""
    X, y, F, alpha, ridge = problem.X, problem.y, problem.norm, problem.alpha, problem.ridge
    spec = catalogued(problem.loss)
    weights = np.ones(len(y)) if problem.sample_weight is None else problem.sample_weight
    weights = weights / weights.sum()

    def primal(theta: Vector, b: float) -> float:
        value, *_ = evaluate_loss(spec, X @ theta + b, y)
        omega = F.lovasz(theta) if isinstance(F, SetFunction) and not F.is_monotone else F.norm(theta)
        return float(weights @ value + alpha * omega + 0.5 * ridge * theta @ theta)

    def dual(z: Vector) -> float:
        _, slope, _, _, _ = evaluate_loss(spec, z, y)
        if problem.fit_intercept:
            # Slopes shrink towards 0, which keeps them in the domain of the conjugate.
            up, down = weights @ np.maximum(slope, 0.0), weights @ np.maximum(-slope, 0.0)
            lighter = min(up, down)
            slope = slope * np.where(slope > 0.0, lighter / max(up, 1e-300), lighter / max(down, 1e-300))
        v = -X.T @ (weights * slope)
        if ridge > 0.0:
            x = F.prox(v, alpha)
            penalty = float(x @ x) / (2.0 * ridge)
        else:
            size = _gauge(F, v) if isinstance(F, SetFunction) and not F.is_monotone else F.dual_norm(v)
            if not np.isfinite(size):
                return -np.inf
            slope, penalty = slope * min(1.0, alpha / max(size, 1e-300) * (1.0 - 1e-12)), 0.0
        return -float(weights @ _conjugate(problem.loss, spec, slope, y)) - penalty

    return primal, dual


def _gauge(F: SetFunction, s: Vector) -> float:
    """Least t with s in t B(F), by enumeration; infinite where s(V) is not 0."""
    p = F.n_features
    if abs(s.sum()) > 1e-12 * np.abs(s).sum():
        return np.inf
    size = 0.0
    for code in range(1, 2**p - 1):
        A = [j for j in range(p) if code >> j & 1]
        total, value = s[A].sum(), F(A)
        if value > 0.0:
            size = max(size, total / value)
        elif total > 1e-12 * np.abs(s).sum():
            return np.inf
    return float(size)


def _conjugate(loss: Any, spec: tuple[str, list[float]], a: Vector, y: Vector) -> Vector:
    """l*(a; y) from the formulas of the losses, not from the code that is checked."""
    name, parameters = spec
    if name == "squared":
        return 0.5 * a * a + a * y
    if name in {"huber", "absolute"}:
        return 0.5 * a * a + a * y
    if name == "pinball":
        level, width = parameters or (0.5, 0.1)
        return a * y + 0.5 * width * ((a + level - 0.5) ** 2 - 0.25)
    margin = -a * y  # in [0, 1] for the losses of two classes
    if name == "logistic":
        entropy = np.zeros_like(margin)
        for part in (margin, 1.0 - margin):
            inside = part > 0.0
            entropy[inside] += part[inside] * np.log(part[inside])
        return entropy
    if name == "hinge":
        width = parameters[0] if parameters else 0.5
        return 0.5 * width * margin * margin - margin
    raise InvalidArgumentError(f"loss must be a catalogued one; {loss!r} has no conjugate here")


def _fit(problem: PenalisedProblem, tol: float) -> Any:
    from dpsparse import SparseClassifier, SparseRegressor  # other checks need no estimators

    classification = catalogued(problem.loss)[0] in {"logistic", "hinge"}
    estimator = SparseClassifier if classification else SparseRegressor
    model = estimator(
        loss=problem.loss,
        norm="l1" if isinstance(problem.norm, Cardinality) else problem.norm,
        alpha=problem.alpha,
        ridge=problem.ridge,
        fit_intercept=problem.fit_intercept,
        tol=tol,
    )
    return model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
