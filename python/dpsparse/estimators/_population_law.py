"""Laws of features by their released means and variances: normal ones, but for features of two values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from dpsparse.estimators._population_steps import Array, Steps, unit

__all__ = ["Law", "curvature", "expected", "law_of", "two_valued"]

#: Least variance of a feature that is taken to have two values, in units of the largest that its mean and ends allow.
_TWO_VALUED = 0.7
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


class Law(NamedTuple):
    """Normal laws of columns, with covariance - pull pull' about each mean; weights add up to 1, some are below 0."""

    weights: Array
    means: Array
    covariance: Array
    pulls: Array


def two_valued(trace: Mapping[str, Any], steps: Steps, spread: Array, ends: Array) -> tuple[Array, Array]:
    """Return shares, and forms of columns: those of the indicators of the rarer values of features of two values.

    A feature within the ends l and h has a variance of (mean - l)(h - mean) where it takes no other values, and less
    elsewhere: a third of it where it is uniform in the middle.
    """
    # Columns are (the images' transpose) times features and 1; a feature without an image is constant.
    images = (trace["images"][1:] - trace["images"][0]).T / unit(trace)
    size = np.abs(images).max(axis=1, keepdims=True)
    size[size == 0.0] = 1.0
    forms = (np.linalg.pinv((images / size).T) / size)[:-1]
    low, width = ends[:, 0], ends[:, 1] - ends[:, 0]
    forms[:, -1] -= low / steps.intercept
    forms = forms[width > 0.0] / width[width > 0.0, None]
    mean = spread[-1] / steps.intercept
    # The rarer value is the one that laws of the others tell least of.
    often = forms @ mean > 0.5
    forms[often] *= -1.0
    forms[often, -1] += 1.0 / steps.intercept
    shares = forms @ mean
    variances = np.sum((forms @ (spread - np.outer(mean, mean))) * forms, axis=1)
    noise = math.sqrt(2.0) * steps.moment_noise / steps.weight**2 * np.sum(forms**2, axis=1)
    two = (shares > 0.0) & (variances > 0.0) & (variances + 2.0 * noise > _TWO_VALUED * shares * (1.0 - shares))
    return shares[two], forms[two]


def law_of(spread: Array, intercept: float, shares: Array, forms: Array) -> Law:
    """Normal columns, but for features of two values: what each of these changes is added up.

    So it does to first order: with independent features cumulants add up.
    """
    mean = spread[-1] / intercept
    covariance = spread - np.outer(mean, mean)
    along = forms @ covariance
    variances = np.sum(along * forms, axis=1, keepdims=True)
    # Given the indicator columns are about what regression on it says, and vary by what it leaves.
    shares = shares[:, None]
    there, elsewhere = mean + (1.0 - shares) / variances * along, mean - shares / variances * along
    pulls = along / np.sqrt(variances)
    return Law(
        np.concatenate([[1.0 - len(shares)], shares[:, 0], 1.0 - shares[:, 0]]),
        np.vstack([mean, there, elsewhere]),
        covariance,
        np.vstack([np.zeros_like(mean), pulls, pulls]),
    )


def expected(points: Array, law: Law) -> Array:
    """The mean of sigma(<x, theta>) x under the law, at every one of the points."""
    whole = points @ law.covariance
    pulled = points @ law.pulls.T
    variances = np.maximum(np.sum(whole * points, axis=1)[:, None] - pulled**2, 1e-12)
    zeroth, first = np.empty_like(pulled), np.empty_like(pulled)
    middles, deviations, weights = points @ law.means.T, np.sqrt(variances), _WEIGHTS / _WEIGHTS.sum()
    for t in range(len(points)):
        likely = expit(middles[t][:, None] + deviations[t][:, None] * _NODES)
        zeroth[t], first[t] = likely @ weights, (likely * (1.0 - likely)) @ weights
    zeroth, first = law.weights * zeroth, law.weights * first
    # E f(s) (x - its mean) = cov(x, s) E f'(s) for normal x (Stein 1981).
    return np.asarray(zeroth @ law.means + first.sum(axis=1)[:, None] * whole - (first * pulled) @ law.pulls)


def curvature(theta: Array, law: Law) -> Array:
    """The mean of sigma'(<x, theta>) x x' under the law."""
    whole = law.covariance @ theta
    pulled = law.pulls @ theta
    deviations = np.sqrt(np.maximum(theta @ whole - pulled**2, 1e-12))[:, None]
    likely = expit((law.means @ theta)[:, None] + deviations * _NODES)
    slopes = law.weights[:, None] * likely * (1.0 - likely) * (_WEIGHTS / _WEIGHTS.sum())
    # x = mean + along/variance (score - its mean) + what does not depend on the score.
    units = (whole - pulled[:, None] * law.pulls) / deviations
    zeroth, first, second = slopes.sum(axis=1), slopes @ _NODES, slopes @ _NODES**2
    crossed = (law.means.T * first) @ units
    return np.asarray(
        zeroth.sum() * law.covariance
        + (law.means.T * zeroth) @ law.means
        - (law.pulls.T * zeroth) @ law.pulls
        + (units.T * (second - zeroth)) @ units
        + crossed
        + crossed.T
    )
