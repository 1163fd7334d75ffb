"""Population coefficients by one last Newton step that is not shrunk, with standard errors, from what was released."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit, ndtr

__all__ = ["PopulationEstimates", "population_estimates"]

Array: TypeAlias = npt.NDArray[np.float64]

#: Least eigenvalue of the moments in standard deviations of the noise on it. With 5, 13 of 80 fits of a table of binary
#: columns passed, those whose noise was large and upwards, and covered in .85 of cases, not .95.
_LEAST_EIGENVALUE = 7.0
#: Standard deviations of the noise that are taken off the curvature in errors: what passes is too large as a rule.
_LESS = 1.5
#: Least mean curvature of a logistic model: that of shares of 2 % where scores do not vary.
_LEAST_CURVATURE = 0.02
#: Relative error that is allowed for in the curvature, which is known up to how unlike normal scores and long rows are.
_MISFIT = 0.12
#: Largest share of the signal, in squared scores, that steps may have left to the last one.
_MOST_LEFT = 0.25
#: Least mean size of residuals, in standard deviations of the noise on it.
_LEAST_RESIDUAL = 3.0
#: Steps before this share of them may be far from the minimiser.
_FIRST = 4
#: Squares of residuals by the mean of |r|, m, and of what is beyond 1.5 m, t: m (a m + b t) for normal and Laplace
#: laws.
_SQUARE_BY_MEAN, _SQUARE_BY_TAIL = 0.827, 5.256
#: Largest relative error of that by the noise of a release.
_NOISE_OF_TAIL = 0.25
#: Clamps beyond so many standard deviations hardly ever bind.
_WIDE = 3.0
#: Largest distance, in standard errors, to which the minimiser is found.
_FOUND = 0.01
_NO_MINIMISER = "the noise hides where the minimiser is: more records, a larger epsilon or fewer features would help"
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


class PopulationEstimates(NamedTuple):
    """Coefficients without shrinkage, the intercept last, in the user's units: arrays of shape (n_features + 1,).

    ``error`` is the standard error by sampling and noise, ``sampling_error`` the part of it that a fit without privacy
    has too, and ``clipping`` a bound on what clipping features to released ranges changes, where they are normal.
    """

    estimate: Array
    error: Array
    sampling_error: Array
    clipping: Array


class _Refusal(Exception):
    """Why there are no intervals, and what would give some."""


class _Steps(NamedTuple):
    """Released quantities of the steps, of d columns, in scaled units."""

    # The mean of w_i^2 x_i x_i', and the noise on an entry off the diagonal.
    moments: Array
    moment_noise: float
    # Coefficients, and mean gradients there, of the steps that count.
    points: Array
    gradients: Array
    # Standard deviation of the noise on an entry of the mean of these gradients.
    noise: float
    n_samples: int
    clamp: float
    # About the weight of a record.
    weight: float
    intercept: float

    def second_moments(self) -> Array:
        """Of records that all count once, if long rows lie in no direction of their own."""
        moments = self.moments / self.weight**2
        moments[-1, -1] = self.intercept**2
        return moments


class _Step(NamedTuple):
    """The minimiser without shrinkage, the Hessian there, and the covariance of one gradient."""

    minimiser: Array
    hessian: Array
    gradient: Array
    # What the gradients' mean is beside the gradient at the mean of the points.
    wandered: Array


def population_estimates(
    trace: Mapping[str, Any] | None, statement: Mapping[str, Any], ranges: Array | None
) -> PopulationEstimates | str:
    """Return what the released trace of noisy Newton steps tells of the population, or why it tells nothing.

    Parameters
    ----------
    trace : mapping, optional
        As of ``_core.fit_private``.
    statement : mapping
        The public statement of the fit.
    ranges : ndarray of shape (n_features, 2), optional
        Released ranges that features were clipped to.

    Returns
    -------
    PopulationEstimates or str

    Notes
    -----
    With g the mean of the released gradients, taken at coefficients of mean theta, and J the mean Hessian between
    these and the minimiser, theta - J^-1 g is the minimiser, and the noise of g has passed through J^-1 alone: damping
    and shrinkage are gone. J is made of the released moments M, which weigh long rows w^2 times and not w times: they
    are divided by w, the root of the mean of w^2, which the intercept's column tells. Of the squared loss J is M/(n w)
    times the share of residuals within the clamp; of the logistic loss the mean of sigma'(x'theta) x x' for normal x
    with the moments M, and the minimiser the point where the mean of sigma(x'theta) x is less than that of the points,
    each by itself, by g: many steps are moved far by their noise, and the gradient at their mean is another one.
    Residuals are taken to be normal where the clamp binds; how large they are the probes of the line tell.

    The covariance is L (N + G/n + E + F) L: N the noise of the gradients, G the mean of squared slopes times w^2 x x',
    which is M itself times a number, E the noise of M times theta - minimiser, F a relative error of 0.12 that is
    allowed for in J and in what points that noise moved add, and L the inverse of J less 1.5 standard deviations of
    the noise on M.
    """
    # A fit is paid for: whatever the noise made of it, this does not raise.
    try:
        with np.errstate(all="ignore"):
            found = _population(trace, statement, ranges)
    except _Refusal as refusal:
        return str(refusal)
    except np.linalg.LinAlgError:
        return _NO_MINIMISER
    return found if all(np.all(np.isfinite(values)) for values in found) else _NO_MINIMISER


def _population(
    trace: Mapping[str, Any] | None, statement: Mapping[str, Any], ranges: Array | None
) -> PopulationEstimates:
    loss, classes = statement["loss"][0], statement["n_classes"]
    if loss not in ("squared", "logistic") or (loss == "squared") != (classes is None):
        raise _Refusal("they are for the squared loss of regressions and the logistic loss")
    if statement["adjacency"] != "replace-one" or statement["records_per_person"] != 1:
        raise _Refusal("they take independent records of a known number: adjacency='replace-one', one a person")
    if statement["max_weight"] is not None:
        raise _Refusal("they take records that all count alike: max_weight=None")
    if trace is None:
        raise _Refusal(
            "they take two classes or a regression, and noisy Newton steps with second moments (at most 512 columns, "
            "or a positive share) and without a threshold, an alpha or a radius, as mechanism='noisy-newton' has; "
            "a constant, which mechanism='auto' is where records are few, has none"
        )
    if trace["intercept"] == 0.0:
        raise _Refusal("they take fit_intercept=True")
    if loss == "logistic" and trace["clamp"] < 1.0:
        raise _Refusal(
            "the slopes of the logistic loss were clamped, which moves its minimiser; mechanism='noisy-newton' with "
            "scale='private' clamps none"
        )
    if loss == "squared" and trace.get("line_probes", 0) == 0:
        raise _Refusal(
            "nothing that was released tells how large residuals are; mechanism='auto', or NoisyNewton(line=0.06), "
            "releases it"
        )
    steps = _steps_of(trace)
    step = _least_squares(steps, trace) if loss == "squared" else _logistic(steps)
    left = step.minimiser - steps.points.mean(axis=0)
    signal = step.minimiser.copy()
    signal[-1] = 0.0
    if left @ step.hessian @ left > _MOST_LEFT * (signal @ step.hessian @ signal) + 4.0 * np.trace(
        np.linalg.solve(step.hessian, _noise(steps, left, step.hessian))
    ):
        raise _Refusal("the steps ended far from the minimiser: more of them (n_iter) or less damping would help")
    return _in_user_units(trace, steps, step, left, ranges)


def _steps_of(trace: Mapping[str, Any]) -> _Steps:
    n, first = int(trace["n_samples"]), len(trace["points"]) // _FIRST
    moments, noise = trace["moments"] / n, trace["moment_noise"] / n
    # Noise of a quadratic form: sqrt(2) times that of an entry off the diagonal.
    if not trace["least_eigenvalue"] / n > _LEAST_EIGENVALUE * math.sqrt(2.0) * noise:
        raise _Refusal(
            "the noise on the second moments hides a direction of the features: more records, a larger epsilon, fewer "
            "or less correlated features, or more budget for moments (NoisyNewton(share=0.3, line=0.06)) would help"
        )
    weight = math.sqrt(min(1.0, moments[-1, -1] / trace["intercept"] ** 2)) if trace["weighs"] else 1.0
    return _Steps(
        moments,
        noise,
        trace["points"][first:],
        trace["gradients"][first:],
        trace["gradient_noise"] / math.sqrt(len(trace["points"]) - first),
        n,
        trace["clamp"],
        weight,
        trace["intercept"],
    )


def _least_squares(steps: _Steps, trace: Mapping[str, Any]) -> _Step:
    deviation, square = _residuals(trace)
    spread = steps.second_moments()
    minimiser = steps.points.mean(axis=0)
    hessian = steps.moments / steps.weight
    step = np.linalg.solve(hessian, steps.gradients.mean(axis=0))
    for _ in range(10):
        # A residual at theta is one at the minimiser plus <x, theta - minimiser>; both are normal.
        moved = steps.points - minimiser
        squares = np.maximum(np.einsum("ti,ij,tj->t", moved, spread, moved), 0.0)
        within = _within(steps.clamp, np.sqrt(deviation**2 + squares))
        hessian = within.mean() * steps.moments / steps.weight
        centre = within @ steps.points / within.sum()
        minimiser = centre - step / within.mean()
    # Slopes are no larger than residuals, nor than the clamp.
    wide = steps.clamp > _WIDE * deviation
    slopes = square if wide else _clamped_square(steps.clamp, deviation)
    return _Step(minimiser, hessian, slopes * steps.moments, np.zeros_like(minimiser))


def _logistic(steps: _Steps) -> _Step:
    spread = steps.second_moments()
    centre, gradient = steps.points.mean(axis=0), steps.gradients.mean(axis=0) / steps.weight
    # Noise moves the points: the mean of expectations there is not that at their mean.
    wandered = _expected(steps.points, spread, steps.intercept).mean(axis=0)
    minimiser = moved = centre
    for _ in range(50):
        there = _expected(minimiser[None], spread, steps.intercept)[0]
        hessian = _curvature(minimiser, spread, steps.intercept)
        moved = 0.5 * np.linalg.solve(hessian, wandered - gradient - there)
        minimiser = minimiser + moved
    # The mean gradient at a fixed point moves with the minimiser by the Hessian there.
    hessian = steps.weight * _curvature(minimiser, spread, steps.intercept)
    wandered = steps.weight * (wandered - _expected(centre[None], spread, steps.intercept)[0])
    if not steps.n_samples * (moved @ hessian @ moved) < _FOUND**2:
        raise _Refusal(_NO_MINIMISER)
    if not hessian[-1, -1] > _LEAST_CURVATURE * steps.weight * steps.intercept**2:
        raise _Refusal("nearly all records are of one class, or seem so by the noise")
    return _Step(minimiser, hessian, steps.weight * hessian, wandered)


def _expected(points: Array, spread: Array, intercept: float) -> Array:
    """The mean of sigma(<x, theta>) x for normal x with these second moments, at every one of the points."""
    mean = spread[-1] / intercept
    along = points @ (spread - np.outer(mean, mean))
    variances = np.maximum(np.sum(along * points, axis=1), 1e-12)
    likely = expit((points @ mean)[:, None] + np.sqrt(variances)[:, None] * _NODES)
    weights = _WEIGHTS / _WEIGHTS.sum()
    # E f(s) (x - its mean) = cov(x, s) E f'(s) for normal x (Stein 1981).
    return np.asarray((likely @ weights)[:, None] * mean + ((likely * (1.0 - likely)) @ weights)[:, None] * along)


def _curvature(theta: Array, spread: Array, intercept: float) -> Array:
    """The mean of sigma'(<x, theta>) x x' for normal x with these second moments, the intercept's column last."""
    mean = spread[-1] / intercept
    covariance = spread - np.outer(mean, mean)
    along = covariance @ theta
    variance = max(float(theta @ along), 1e-12)
    scores = float(mean @ theta) + math.sqrt(variance) * _NODES
    likely = expit(scores)
    slopes = _WEIGHTS * likely * (1.0 - likely) / _WEIGHTS.sum()
    # x = mean + along/variance (score - its mean) + what does not depend on the score.
    unit = along / math.sqrt(variance)
    zeroth, first, second = slopes.sum(), slopes @ _NODES, slopes @ _NODES**2
    return np.asarray(
        zeroth * (covariance - np.outer(unit, unit) + np.outer(mean, mean))
        + first * (np.outer(mean, unit) + np.outer(unit, mean))
        + second * np.outer(unit, unit)
    )


def _residuals(trace: Mapping[str, Any]) -> tuple[float, float]:
    """Standard deviation of residuals if they were normal, and their mean square by their tails where those are known.

    A probe with the constant off by t says the mean of what residuals are beyond t - clamp on one side, up to twice the
    clamp.
    """
    probes, clamp = int(trace["line_probes"]), float(trace["line_clamp"])
    slopes = trace["line_gradients"][-probes:, 1]
    noise = math.sqrt(2.0) * trace["line_noise"]
    size, tail = 2.0 * clamp + slopes[0::2] - slopes[1::2]
    if not size > _LEAST_RESIDUAL * noise:
        raise _Refusal(
            "the noise hides how large residuals are: more records, a larger epsilon, or more budget for the line "
            "(NoisyNewton(line=0.3)) would help"
        )

    def expected(deviation: float) -> float:
        return 2.0 * (_beyond(0.0, deviation) - _beyond(2.0 * clamp, deviation))

    # The mean square of the noise is part of what is seen: neither too little is likely.
    seen = min(max(math.hypot(size, noise), expected(1e-8 * clamp)), expected(20.0 * clamp))
    deviation = float(brentq(lambda scale: expected(scale) - seen, 1e-9 * clamp, 21.0 * clamp))
    clear = clamp > _WIDE * deviation and _SQUARE_BY_TAIL * seen * noise < _NOISE_OF_TAIL * deviation**2
    square = seen * (_SQUARE_BY_MEAN * seen + _SQUARE_BY_TAIL * max(tail, 0.0)) if clear else deviation**2
    return deviation, square


def _beyond(threshold: float, deviation: float) -> float:
    """The mean of (r - threshold)_+ for a normal r."""
    at = threshold / deviation
    return deviation * (math.exp(-0.5 * at * at) / math.sqrt(2.0 * math.pi) - at * float(ndtr(-at)))


def _within(clamp: float, deviation: Array) -> Array:
    """The share of normal residuals within the clamp."""
    share: Array = 2.0 * ndtr(clamp / deviation) - 1.0
    return share


def _clamped_square(clamp: float, deviation: float) -> float:
    """The mean square of normal residuals that are clamped."""
    at = clamp / deviation
    density = math.exp(-0.5 * at * at) / math.sqrt(2.0 * math.pi)
    return deviation**2 * (2.0 * float(ndtr(at)) - 1.0 - 2.0 * at * density) + 2.0 * clamp**2 * float(ndtr(-at))


def _noise(steps: _Steps, left: Array, hessian: Array) -> Array:
    """The covariance that noise on gradients and moments has in the gradient at the minimiser."""
    d = len(left)
    per_moment = float(np.trace(hessian) / np.trace(steps.moments))
    of_moments = (per_moment * steps.moment_noise) ** 2 * (left @ left * np.eye(d) + np.outer(left, left))
    return np.asarray(steps.noise**2 * np.eye(d) + of_moments)


def _in_user_units(
    trace: Mapping[str, Any], steps: _Steps, step: _Step, left: Array, ranges: Array | None
) -> PopulationEstimates:
    hessian = step.hessian
    per_moment = float(np.trace(hessian) / np.trace(steps.moments))
    less = _LESS * per_moment * math.sqrt(2.0) * steps.moment_noise
    low = np.linalg.inv(hessian - less * np.eye(len(left)))
    pulled = hessian @ left
    misfit = _MISFIT**2 * (left @ pulled * hessian + np.outer(pulled, pulled) + np.outer(step.wandered, step.wandered))
    sampled = step.gradient / steps.n_samples
    covariance = low @ (_noise(steps, left, hessian) + sampled + misfit) @ low
    inverse = np.linalg.inv(hessian)
    base = trace["images"][0]
    images = (trace["images"][1:] - base).T

    def deviations(of: Array) -> Array:
        variances: Array = np.sum((images @ of) * images, axis=1)
        return np.sqrt(np.maximum(variances, 0.0))

    error = deviations(covariance)
    # Weights are unlike along the intercept and the features; by no more than this, since none exceeds 1.
    error[-1] /= steps.weight
    estimate = base + images @ step.minimiser
    clipping = _clipping(trace["clipped_at"], estimate, ranges)
    return PopulationEstimates(estimate, error, deviations(inverse @ sampled @ inverse), clipping)


def _clipping(at: float | None, estimate: Array, ranges: Array | None) -> Array:
    """How far clipping normal features at so many standard deviations moves coefficients, at most.

    cov(x, clip(x))/var(clip(x)) - 1 of a coefficient; the intercept moves by that times the middle of the range.
    """
    moved = np.zeros_like(estimate)
    if at is None or ranges is None:
        return moved
    density, beyond = math.exp(-0.5 * at * at) / math.sqrt(2.0 * math.pi), float(ndtr(-at))
    variance = 1.0 - 2.0 * (at * density + beyond - at * at * beyond)
    moved[:-1] = ((1.0 - 2.0 * beyond) / variance - 1.0) * np.abs(estimate[:-1])
    moved[-1] = moved[:-1] @ np.abs(ranges.mean(axis=1))
    return moved
