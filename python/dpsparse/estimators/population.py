"""Population coefficients by one last Newton step that is not shrunk, with standard errors, from what was released."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from dpsparse.estimators import _population_law as laws
from dpsparse.estimators import _population_residuals as sizes
from dpsparse.estimators._population_steps import Array, Refusal, Steps, steps_of, unit

__all__ = ["PopulationEstimates", "population_estimates"]

#: Standard deviations of the noise that are taken off the curvature in errors: what passes is too large as a rule.
_LESS = 1.5
#: Least mean curvature of a logistic model: that of shares of 2 % where scores do not vary.
_LEAST_CURVATURE = 0.02
#: Relative error that is allowed for in the curvature, which is known up to how unlike normal scores and long rows are.
_MISFIT = 0.12
#: Least and most that gradients may change with a column's own coefficient, in units of what they do under the law, and
#: standard deviations of the noise before that counts. Along rare levels that are taken to be normal it is .2 to .65,
#: or 1.6 to 3.
_LESS_BENT, _MORE_BENT, _BENT_FOR_SURE = 0.75, 1.8, 3.0
#: Standard deviations from the mean of targets of a level to where they may be clipped: 2 % are beyond.
_TO_END = 2.0
#: Largest distance, in clamps of residuals, of the scores of a level from those of the minimiser: beyond it, most are
#: clamped.
_MOST_CLAMPED = 0.5
#: Released spread of targets, in half the width of their bounds, that only says that most are alike: the finest step of
#: the grid of their median (``TargetQuantile::FINEST``).
_LEAST_SPREAD = 2.0**-17
#: Largest mean of what residuals are beyond 1.5 of their mean size, in these, and largest size, in released spreads of
#: targets, where the range of targets holds nearly all: .14 and 1.0 for normal errors, .22 and 1.0 for Laplace errors,
#: .25 and 1.3 for log-normal ones, .36 and 3 where nine targets of ten are alike.
_MOST_TAIL, _MOST_SPREAD = 0.3, 1.4
#: Least mean size of residuals, in halves of the range, where a share that counts may be clipped.
_ENDS_TOLD = 0.03
#: Released maps of targets leave room for so many standard deviations, and for the widest clamp of residuals
#: (``TARGET_REACH`` in ``src/plan/defaults/targets.rs``).
_ROOM = 3.0
#: Largest share of the signal, in squared scores, that steps may have left to the last one.
_MOST_LEFT = 0.25
#: Largest distance, in standard errors, to which the minimiser is found.
_FOUND = 0.01
_NO_MINIMISER = "the noise hides where the minimiser is: more records, a larger epsilon or fewer features would help"


class PopulationEstimates(NamedTuple):
    """Coefficients without shrinkage, the intercept last, in the user's units: arrays of shape (n_features + 1,).

    ``error`` is the standard error by sampling and noise, ``sampling_error`` the part of it that a fit without privacy
    has too, and ``clipping`` a bound on what clipping features to released ranges changes, where they are normal.
    """

    estimate: Array
    error: Array
    sampling_error: Array
    clipping: Array


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
    With g the mean of the released gradients, taken at coefficients of mean theta, and J the mean Hessian between these
    and the minimiser, theta - J^-1 g is the minimiser, and the noise of g has passed through J^-1 alone: damping and
    shrinkage are gone. J is made of the released moments M, which weigh long rows w^2 times and not w times: they are
    divided by w, the root of the mean of w^2, which the intercept's column tells. Of the squared loss J is M/(n w)
    times the share of residuals within the clamp; of the logistic loss the mean of sigma'(x'theta) x x' for x with the
    moments M, and the minimiser the point where the mean of sigma(x'theta) x is less than that of the points, each by
    itself, by g: many steps are moved far by their noise, and the gradient at their mean is another one. There x is
    normal, but for features whose mean and variance say that they have two values: to what normal x gives is added, for
    each of these, what two normal laws give more, one given each value. Points wander farthest along rare levels, where
    a normal law would miss: with effects of 1.5 to 3 log odds on levels of 2 to 10 % it covered in .02 to .8 of cases,
    and now in .95 to 1. Residuals are taken to be normal where the clamp binds; how large they are the probes of the
    line tell.

    The covariance is L (N + G/n + E + F) L: N the noise of the gradients, G the mean of squared slopes times w^2 x x',
    which is M itself times a number, E the noise of M times theta - minimiser, F a relative error of 0.12 that is
    allowed for in J and in what points that noise moved add, and L the inverse of J less 1.5 standard deviations of
    the noise on M.
    """
    # A fit is paid for: whatever the noise made of it, this does not raise.
    try:
        with np.errstate(all="ignore"):
            found = _population(trace, statement, ranges)
    except Refusal as refusal:
        return str(refusal)
    except np.linalg.LinAlgError:
        return _NO_MINIMISER
    return found if all(np.all(np.isfinite(values)) for values in found) else _NO_MINIMISER


def _population(
    trace: Mapping[str, Any] | None, statement: Mapping[str, Any], ranges: Array | None
) -> PopulationEstimates:
    loss, classes = statement["loss"][0], statement["n_classes"]
    if loss not in ("squared", "logistic") or (loss == "squared") != (classes is None):
        raise Refusal("they are for the squared loss of regressions and the logistic loss")
    if statement["adjacency"] != "replace-one" or statement["records_per_person"] != 1:
        raise Refusal("they take independent records of a known number: adjacency='replace-one', one a person")
    if statement["max_weight"] is not None:
        raise Refusal("they take records that all count alike: max_weight=None")
    if trace is None:
        raise Refusal(
            "they take two classes or a regression, and noisy Newton steps with second moments (at most 512 columns, "
            "or a positive share) and without a threshold, an alpha or a radius, as mechanism='noisy-newton' has; "
            "a constant, which mechanism='auto' is where records are few, has none"
        )
    if trace["intercept"] == 0.0:
        raise Refusal("they take fit_intercept=True")
    if loss == "logistic" and trace["clamp"] < 1.0:
        raise Refusal(
            "the slopes of the logistic loss were clamped, which moves its minimiser; mechanism='noisy-newton' with "
            "scale='private' clamps none"
        )
    if loss == "squared" and trace.get("line_probes", 0) == 0:
        raise Refusal(
            "nothing that was released tells how large residuals are; mechanism='auto', or NoisyNewton(line=0.06), "
            "releases it"
        )
    if trace["bends"]:
        raise Refusal(
            "features say less far out than a linear model has it: a fit that clips them to feature_ranges_, which are "
            "nearer than those of its steps, predicts better. Their logarithms or square roots, or narrower bounds, "
            "would help"
        )
    steps = steps_of(trace)
    ends = _ends(statement, ranges, trace["images"].shape[1] - 1)
    spread = steps.second_moments()
    shares, forms = laws.two_valued(trace, steps, spread, ends)
    law = laws.law_of(spread, steps.intercept, shares, forms)
    step = _least_squares(steps, law, trace, statement) if loss == "squared" else _logistic(steps, law, forms)
    left = step.minimiser - steps.points.mean(axis=0)
    signal = step.minimiser.copy()
    signal[-1] = 0.0
    if left @ step.hessian @ left > _MOST_LEFT * (signal @ step.hessian @ signal) + 4.0 * np.trace(
        np.linalg.solve(step.hessian, _noise(steps, left, step.hessian))
    ):
        raise Refusal("the steps ended far from the minimiser: more of them (n_iter) or less damping would help")
    return _in_user_units(trace, steps, step, left, ranges)


def _ends(statement: Mapping[str, Any], ranges: Array | None, n_features: int) -> Array:
    """Where features end: at public bounds, or where they were clipped to released ranges."""
    bounds = [np.broadcast_to(statement[side], n_features) for side in ("lower", "upper")]
    return np.column_stack(bounds) if ranges is None else np.asarray(ranges, dtype=np.float64)


def _least_squares(steps: Steps, law: laws.Law, trace: Mapping[str, Any], statement: Mapping[str, Any]) -> _Step:
    below, above = _room(steps, trace, statement)
    deviation, square = sizes.residuals(trace)
    spread = steps.second_moments()
    minimiser = steps.points.mean(axis=0)
    curvature = steps.moments / steps.weight
    step = np.linalg.solve(curvature, steps.gradients.mean(axis=0))
    share = 1.0
    for _ in range(10):
        # A residual at theta is one at the minimiser plus <x, theta - minimiser>; both are normal.
        moved = steps.points - minimiser
        squares = np.maximum(np.sum((moved @ spread) * moved, axis=1), 0.0)
        within = sizes.within(steps.clamp, np.sqrt(deviation**2 + squares))
        share = within.mean()
        minimiser = within @ steps.points / within.sum() - step / share
    hessian = share * curvature
    # Of features of two values, the records of either by themselves: few may be all clipped, and nothing else shows it.
    levels = law.means[1:]
    pulled = law.pulls[1:] @ minimiser
    beside = np.maximum(minimiser @ law.covariance @ minimiser - pulled**2, 0.0)
    middle, reach = levels @ minimiser, _TO_END * np.sqrt(deviation**2 + beside)
    if np.any(middle + reach > above) or np.any(middle - reach < below):
        raise Refusal(
            "the targets of some level of a feature lie at the end of the released range that targets are clipped to: "
            "scale=None clips them to y_bounds alone, and more records or a larger epsilon widen the range"
        )
    off = np.sqrt(np.mean(((steps.points - minimiser) @ levels.T) ** 2, axis=0))
    if np.any(off > _MOST_CLAMPED * steps.clamp):
        raise Refusal(
            "residuals of some level of a feature are clamped: more steps (n_iter) or a larger epsilon would help"
        )
    # Slopes are no larger than residuals, nor than the clamp.
    wide = steps.clamp > sizes.WIDE * deviation
    slopes = square if wide else sizes.clamped_square(steps.clamp, deviation)
    return _Step(minimiser, hessian, slopes * steps.moments, np.zeros_like(minimiser))


def _room(steps: Steps, trace: Mapping[str, Any], statement: Mapping[str, Any]) -> tuple[float, float]:
    """Where targets are clipped below and above, in scaled units; nowhere where public bounds do not do so before."""
    middle, half = float(trace["images"][0][-1]), unit(trace)
    low, high = statement["y_bounds"]
    rounding = 1e-9 * (high - low)
    below = -1.0 if middle - half > low + rounding else -math.inf
    above = 1.0 if middle + half < high - rounding else math.inf
    if math.isinf(below) and math.isinf(above):
        return below, above
    spread = (1.0 - max(steps.clamp, float(trace["line_clamp"]))) / _ROOM
    size, tail, noise = sizes.probed(trace)
    _, square = sizes.residuals(trace)
    heavy = tail > _MOST_TAIL * size + noise or square > (_MOST_SPREAD * spread) ** 2
    # Of a share q at the end of the range the size is 2 q (1 - q).
    if half * spread < _LEAST_SPREAD * 0.5 * (high - low) or (heavy and size > _ENDS_TOLD):
        raise Refusal(
            "most targets are alike, so that the released range may clip the others: scale=None clips them to y_bounds "
            "alone"
        )
    return below, above


def _logistic(steps: Steps, law: laws.Law, two: Array) -> _Step:
    centre, gradient = steps.points.mean(axis=0), steps.gradients.mean(axis=0) / steps.weight
    # Noise moves the points: the mean of expectations there is not that at their mean.
    expected = laws.expected(steps.points, law)
    _check_law(steps, law, expected, two)
    wandered = expected.mean(axis=0)
    minimiser = moved = centre
    for _ in range(50):
        there = laws.expected(minimiser[None], law)[0]
        hessian = laws.curvature(minimiser, law)
        moved = 0.5 * np.linalg.solve(hessian, wandered - gradient - there)
        minimiser = minimiser + moved
    # The mean gradient at a fixed point moves with the minimiser by the Hessian there.
    hessian = steps.weight * laws.curvature(minimiser, law)
    wandered = steps.weight * (wandered - laws.expected(centre[None], law)[0])
    if not steps.n_samples * (moved @ hessian @ moved) < _FOUND**2:
        raise Refusal(_NO_MINIMISER)
    if not hessian[-1, -1] > _LEAST_CURVATURE * steps.weight * steps.intercept**2:
        raise Refusal("nearly all records are of one class, or seem so by the noise")
    return _Step(minimiser, hessian, steps.weight * hessian, wandered)


def _check_law(steps: Steps, law: laws.Law, expected: Array, two: Array) -> None:
    """Refuse where gradients do not change with the points as they do under the law.

    Where few records have what others lack, and bounds do not tell, gradients bend where points wander.
    """
    middle = law.means[0][:-1] / steps.intercept
    seen, told = (of[:, :-1] - of[:, -1:] * middle for of in (steps.gradients / steps.weight, expected))
    moved = steps.points - steps.points.mean(axis=0)
    if len(moved) < 2 * moved.shape[1]:
        return  # too few steps to tell columns apart
    # By least squares, since columns move together; the noise of a step is not that of its point.
    solved = np.linalg.pinv(moved)[:-1]
    usual, change = (np.sum(solved * of.T, axis=1) for of in (told, seen))
    noise = steps.noise * math.sqrt(len(moved)) / steps.weight * np.sqrt(1.0 + middle**2)
    sure = np.abs(change - usual) > _BENT_FOR_SURE * noise * np.sqrt(np.sum(solved**2, axis=1))
    change = change / usual
    # Laws of two values are of first order: far out gradients change more, which widens intervals.
    normal = np.all(np.abs(two[:, :-1]) <= 1e-6 * np.abs(two).max(axis=1, keepdims=True), axis=0)
    if np.any(sure & ((change < _LESS_BENT) | (normal & (change > _MORE_BENT)))):
        raise Refusal(
            "gradients do not change from step to step as those of normal or two-valued features do; bounds that are "
            "the values of rare levels, (0, 1) for truth values, would help, and so would less skewed features"
        )


def _noise(steps: Steps, left: Array, hessian: Array) -> Array:
    """The covariance that noise on gradients and moments has in the gradient at the minimiser."""
    d = len(left)
    per_moment = float(np.trace(hessian) / np.trace(steps.moments))
    of_moments = (per_moment * steps.moment_noise) ** 2 * (left @ left * np.eye(d) + np.outer(left, left))
    return np.asarray(steps.noise**2 * np.eye(d) + of_moments)


def _in_user_units(
    trace: Mapping[str, Any], steps: Steps, step: _Step, left: Array, ranges: Array | None
) -> PopulationEstimates:
    hessian = step.hessian
    per_moment = float(np.trace(hessian) / np.trace(steps.moments))
    less = _LESS * per_moment * math.sqrt(2.0) * steps.moment_noise
    lessened = hessian - less * np.eye(len(left))
    # Laws whose weights are not all positive may have no curvature somewhere: this raises.
    np.linalg.cholesky(lessened)
    low = np.linalg.inv(lessened)
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
