"""Laws of noise and of choices: frequencies against probabilities, at a false positive rate far below 1e-6."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from dpsparse.privacy import noise

DRAWS = 200_000
#: Deviations of a frequency, in standard errors: beyond 6.5 with probability 1e-10.
FURTHEST = 6.5


def _rounded_gaussian(k: int, sigma: float) -> float:
    return 0.5 * (math.erf((k + 0.5) / (sigma * math.sqrt(2))) - math.erf((k - 0.5) / (sigma * math.sqrt(2))))


def _discrete_gaussian(k: int, sigma: float) -> float:
    total = sum(math.exp(-(j**2) / (2 * sigma**2)) for j in range(-100, 101))
    return math.exp(-(k**2) / (2 * sigma**2)) / total


def _discrete_laplace(k: int, scale: float) -> float:
    return math.tanh(1 / (2 * scale)) * math.exp(-abs(k) / scale)


LAWS: dict[str, Callable[[int, float], float]] = {
    "rounded_gaussian": _rounded_gaussian,
    "discrete_gaussian": _discrete_gaussian,
    "discrete_laplace": _discrete_laplace,
}


def furthest(drawn: npt.NDArray[np.int64], law: dict[int, float]) -> float:
    """Return the largest deviation of a frequency from its probability, in standard errors."""
    return max(abs(int((drawn == k).sum()) - DRAWS * p) / math.sqrt(DRAWS * p * (1 - p)) for k, p in law.items())


@pytest.mark.parametrize("scale", [0.5, 2.0])
@pytest.mark.parametrize("name", LAWS)
def test_draws_follow_the_law(name: str, scale: float) -> None:
    """Of integer noise; and the check would see a scale that is a tenth too small."""
    drawn = getattr(noise, name)(scale, DRAWS, seed=1)
    ks = [k for k in range(-8, 9) if LAWS[name](k, scale) > 1e-4]
    assert furthest(drawn, {k: LAWS[name](k, scale) for k in ks}) < FURTHEST
    assert furthest(drawn, {k: LAWS[name](k, 0.9 * scale) for k in ks}) > FURTHEST


def test_choices_follow_the_exponential_mechanism() -> None:
    """With probability proportional to exp(-epsilon score/(2 sensitivity))."""
    scores = np.array([0, 3, 5, 5, 40])
    weights = np.exp(-0.8 * scores / 4)
    drawn = noise.exponential_mechanism(scores, sensitivity=2, epsilon=0.8, size=DRAWS, seed=2)
    assert furthest(drawn, dict(enumerate(weights / weights.sum()))) < FURTHEST


def test_coins() -> None:
    """Bernoulli(exp(-gamma))."""
    drawn = noise.bernoulli_exp(0.7, DRAWS, seed=3)
    assert furthest(drawn, {1: math.exp(-0.7)}) < FURTHEST


def test_seeds_reproduce_and_the_system_does_not() -> None:
    """Without a seed two vectors differ, but with probability below 1e-100."""
    assert np.array_equal(noise.rounded_gaussian(5.0, 1_000, seed=0), noise.rounded_gaussian(5.0, 1_000, seed=0))
    assert not np.array_equal(noise.rounded_gaussian(5.0, 1_000), noise.rounded_gaussian(5.0, 1_000))
