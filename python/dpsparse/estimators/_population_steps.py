"""What noisy Newton steps released, as estimates of the population read it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Refusal", "Steps", "steps_of", "unit"]

Array: TypeAlias = npt.NDArray[np.float64]

#: Least eigenvalue of the moments in standard deviations of the noise on it. With 5, 13 of 80 fits of a table of binary
#: columns passed, those whose noise was large and upwards, and covered in .85 of cases, not .95.
_LEAST_EIGENVALUE = 7.0
#: One step in so many, the first ones, may be far from the minimiser.
_FIRST = 4


class Refusal(Exception):
    """Why there are no intervals, and what would give some."""


class Steps(NamedTuple):
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


def steps_of(trace: Mapping[str, Any]) -> Steps:
    """Return the steps that count, where the noise hides no direction of the features."""
    n, first = int(trace["n_samples"]), len(trace["points"]) // _FIRST
    moments, noise = trace["moments"] / n, trace["moment_noise"] / n
    # Noise of a quadratic form: sqrt(2) times that of an entry off the diagonal.
    if not trace["least_eigenvalue"] / n > _LEAST_EIGENVALUE * math.sqrt(2.0) * noise:
        raise Refusal(
            "the noise on the second moments hides a direction of the features: more records, a larger epsilon, fewer "
            "or less correlated features, or more budget for moments (NoisyNewton(share=0.3, line=0.06)) would help"
        )
    weight = math.sqrt(min(1.0, moments[-1, -1] / trace["intercept"] ** 2)) if trace["weighs"] else 1.0
    return Steps(
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


def unit(trace: Mapping[str, Any]) -> float:
    """What scores are times scaled ones: half of the width that targets are mapped from, 1 of classes."""
    return float((trace["images"][-1] - trace["images"][0])[-1]) / float(trace["intercept"])
