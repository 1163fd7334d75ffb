"""B-splines with public knots."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

__all__ = ["Splines"]


@dataclass(frozen=True)
class Splines:
    """The B-splines of one degree over [low, high] with public inner knots, but for the first.

    They are not negative and add up to 1, so the first is what an intercept and the others say already, and the squared
    norm of a row is at most 1.

    Parameters
    ----------
    low, high : float
        Ends of the interval.
    knots : tuple of float
        Inner knots, increasing, strictly between the ends.
    degree : int
        1: lines between knots; 3: cubic.
    """

    low: float
    high: float
    knots: tuple[float, ...]
    degree: int

    @property
    def n_columns(self) -> int:
        """Number of B-splines without the first."""
        return len(self.knots) + self.degree

    @cached_property
    def _all_knots(self) -> npt.NDArray[np.float64]:
        ends = self.degree + 1
        return np.array([*[self.low] * ends, *self.knots, *[self.high] * ends])

    def encode(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the B-splines at points of the interval, each by itself; of shape (n_rows, n_columns)."""
        if not len(x):
            return np.empty((0, self.n_columns))
        # Most schemas have no splines, and it takes longer to import than all else of them.
        from scipy.interpolate import BSpline

        basis = BSpline.design_matrix(x, self._all_knots, self.degree).toarray()
        values: npt.NDArray[np.float64] = np.clip(basis[:, 1:], 0.0, 1.0)
        return values
