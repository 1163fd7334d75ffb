"""How large residuals are, by what the probes of a line released."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from scipy.optimize import brentq
from scipy.special import ndtr

from dpsparse.estimators._population_steps import Array, Refusal

__all__ = ["WIDE", "clamped_square", "probed", "residuals", "within"]

#: Least mean size of residuals, in standard deviations of the noise on it.
_LEAST_RESIDUAL = 3.0
#: Squares of residuals by the mean of |r|, m, and of what is beyond 1.5 m, t: m (a m + b t) for normal and Laplace
#: laws.
_SQUARE_BY_MEAN, _SQUARE_BY_TAIL = 0.827, 5.256
#: Largest relative error of that by the noise of a release.
_NOISE_OF_TAIL = 0.25
#: Clamps beyond so many standard deviations hardly ever bind.
WIDE = 3.0


def probed(trace: Mapping[str, Any]) -> tuple[float, float, float]:
    """The mean of |r|, of what it is beyond 1.5 times that, and the standard deviation of the noise on either.

    A probe with the constant off by t says the mean of what residuals are beyond t - clamp on one side, up to twice the
    clamp; the second pair is so far off as ``PROBED_TAIL`` in ``src/plan/defaults/line.rs`` says.
    """
    probes, clamp = int(trace["line_probes"]), float(trace["line_clamp"])
    slopes = trace["line_gradients"][-probes:, 1]
    size, tail = 2.0 * clamp + slopes[0::2] - slopes[1::2]
    return float(size), float(tail), math.sqrt(2.0) * float(trace["line_noise"])


def residuals(trace: Mapping[str, Any]) -> tuple[float, float]:
    """Standard deviation of residuals if they were normal, and mean square by their tails where those are known."""
    clamp, (size, tail, noise) = float(trace["line_clamp"]), probed(trace)
    if not size > _LEAST_RESIDUAL * noise:
        raise Refusal(
            "the noise hides how large residuals are: more records, a larger epsilon, or more budget for the line "
            "(NoisyNewton(line=0.3)) would help"
        )

    def expected(deviation: float) -> float:
        return 2.0 * (_beyond(0.0, deviation) - _beyond(2.0 * clamp, deviation))

    # The mean square of the noise is part of what is seen: neither too little is likely.
    seen = min(max(math.hypot(size, noise), expected(1e-8 * clamp)), expected(20.0 * clamp))
    deviation = float(brentq(lambda scale: expected(scale) - seen, 1e-9 * clamp, 21.0 * clamp))
    clear = clamp > WIDE * deviation and _SQUARE_BY_TAIL * seen * noise < _NOISE_OF_TAIL * deviation**2
    square = seen * (_SQUARE_BY_MEAN * seen + _SQUARE_BY_TAIL * max(tail, 0.0)) if clear else deviation**2
    return deviation, square


def _beyond(threshold: float, deviation: float) -> float:
    """The mean of (r - threshold)_+ for a normal r."""
    at = threshold / deviation
    return deviation * (math.exp(-0.5 * at * at) / math.sqrt(2.0 * math.pi) - at * float(ndtr(-at)))


def within(clamp: float, deviation: Array) -> Array:
    """The share of normal residuals within the clamp."""
    share: Array = 2.0 * ndtr(clamp / deviation) - 1.0
    return share


def clamped_square(clamp: float, deviation: float) -> float:
    """The mean square of normal residuals that are clamped."""
    at = clamp / deviation
    density = math.exp(-0.5 * at * at) / math.sqrt(2.0 * math.pi)
    return deviation**2 * (2.0 * float(ndtr(at)) - 1.0 - 2.0 * at * density) + 2.0 * clamp**2 * float(ndtr(-at))
