"""What a loss must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse._core import evaluate_loss
from dpsparse._validation import positive_integer, random_generator
from dpsparse.losses import CustomLoss, catalogued

Vector = npt.NDArray[np.float64]


def check_loss(loss: Any, *, n_trials: int = 1000, random_state: int | np.random.Generator = 0) -> None:
    """Check that a loss is convex and smooth, that its constants hold and that its parts belong together.

    A catalogued loss: ``derivative`` agrees with differences of ``value``; it does not decrease in z; it stays within
    the Lipschitz constant and grows no faster than the smoothness allows; Fenchel-Young:
    ``value(z) + conjugate(a) >= a z`` with equality at ``a = derivative(z)``. A user's own loss
    (:class:`~dpsparse.CustomLoss`): its derivative returns one number per record, does not decrease in z, stays within
    its declared Lipschitz constant, and does not depend on the other records of the call.

    Parameters
    ----------
    loss : str or loss object
        What is checked.
    n_trials : int, default=1000
        Number of random pairs (z, y).
    random_state : int or numpy.random.Generator, default=0
        Source of the random pairs.

    Raises
    ------
    AssertionError
        A property fails; the text says which one and where.

    Examples
    --------
    >>> from dpsparse.testing import check_loss
    >>> check_loss("logistic")
    """
    generator = random_generator(random_state)
    n_trials = positive_integer("n_trials", n_trials)
    z = generator.standard_normal(n_trials) * 10.0 ** generator.uniform(-2, 1.5, n_trials)
    if isinstance(loss, CustomLoss):
        _check_custom(loss, z, generator)
    else:
        _check_catalogued(loss, z, generator)


def _check_catalogued(loss: Any, z: Vector, generator: np.random.Generator) -> None:
    spec = catalogued(loss)
    labels = [0.0, 1.0] if spec[0] == "poisson" else [-1.0, 1.0]
    for y in (generator.choice(labels, len(z)), np.full(len(z), 1.0)):
        value, slope, conjugate, lipschitz, smoothness = evaluate_loss(spec, z, y)
        size = 1.0 + np.abs(value) + np.abs(z * slope)
        assert (value >= 0.0).all(), "a loss is negative"
        for step in (1e-4, 0.3):
            right, right_slope, *_ = evaluate_loss(spec, z + step, y)
            mean = (right - value) / step
            _holds((slope <= mean + 1e-9 * size / step) & (mean <= right_slope + 1e-9 * size / step), "convexity", z, y)
            _holds(right_slope - slope <= smoothness * step * (1 + 1e-9) + 1e-12, "smoothness", z, y)
        _holds(np.abs(slope) <= (np.inf if lipschitz is None else lipschitz) * (1 + 1e-12), "Lipschitz constant", z, y)
        _holds(np.abs(value + conjugate - slope * z) <= 1e-9 * size, "equality of Fenchel and Young", z, y)
        other_value, *_ = evaluate_loss(spec, z[::-1].copy(), y)
        _holds(other_value + conjugate >= slope * z[::-1] - 1e-9 * (size + size[::-1]), "Fenchel-Young", z, y)


def _check_custom(loss: CustomLoss, z: Vector, generator: np.random.Generator) -> None:
    for y in (generator.choice([-1.0, 1.0], len(z)), generator.uniform(-1.0, 1.0, len(z))):
        slope = np.asarray(loss.derivative(z, y), dtype=np.float64)
        assert slope.shape == z.shape, f"derivative returns shape {slope.shape} for {z.shape}"
        _holds(np.isfinite(slope), "finite derivative", z, y)
        later = np.asarray(loss.derivative(z + 0.3, y), dtype=np.float64)
        _holds(later >= slope - 1e-12, "convexity (a derivative that does not decrease)", z, y)
        _holds(np.abs(slope) <= loss.lipschitz * (1 + 1e-12), "Lipschitz constant", z, y)
        half = np.asarray(loss.derivative(z[::2].copy(), y[::2].copy()), dtype=np.float64)
        _holds(half == slope[::2], "independence of the other records", z[::2], y[::2])


def _holds(condition: npt.NDArray[np.bool_], what: str, z: Vector, y: Vector) -> None:
    if not condition.all():
        k = int(np.argmin(condition))
        raise AssertionError(f"{what} fails at z = {z[k]}, y = {y[k]}")
