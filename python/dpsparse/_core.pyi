"""Compiled core of dpsparse."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["DpsparseError", "InvalidArgumentError", "InvalidDataError", "fit_exact"]

class DpsparseError(ValueError): ...
class InvalidArgumentError(DpsparseError): ...
class InvalidDataError(DpsparseError): ...

def fit_exact(
    x: NDArray[np.float64] | tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    y: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    *,
    loss: str,
    alpha: float | None,
    radius: float | None,
    ridge: float,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    start: tuple[NDArray[np.float64], float] | None,
    progress: Callable[[int, float], object] | None,
) -> tuple[NDArray[np.float64], float, float, float, int, bool]:
    """Fit a linear model exactly.

    ``x`` is dense (any memory order) or ``(n_rows, indptr, indices, data)`` of sorted compressed columns;
    ``progress`` is called with the number of passes and the duality gap. Returns coefficients, intercept, objective,
    duality gap, number of passes, and whether the gap reached the tolerance.
    """
