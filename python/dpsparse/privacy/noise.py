"""Exact discrete randomness, keyed by the operating system unless a seed is given (for tests only)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse import _core
from dpsparse._core import InvalidArgumentError

__all__ = ["exponential_mechanism"]


def exponential_mechanism(
    scores: npt.ArrayLike,
    sensitivity: int,
    epsilon: float,
    size: int = 1,
    seed: int | None = None,
) -> npt.NDArray[np.int64]:
    """Choose candidates with probability proportional to ``exp(-epsilon * q_k / (2 * sensitivity))``, exactly.

    The choice is ``epsilon``-bounded-range for scores that move by at most ``sensitivity`` between neighbours, hence
    ``epsilon**2 / 8``-zCDP (Cesar & Rogers 2021; MECHANISMS M2).

    Parameters
    ----------
    scores : array-like of int of shape (n_candidates,)
        Integer scores; the smaller the better. Gaps of any size in int64 work.
    sensitivity : int
        Largest change of a score between neighbours, positive.
    epsilon : float
        Cost of one choice, between 2**-64 and 1024.
    size : int, default 1
        Number of independent choices. Each costs ``epsilon``.
    seed : int, optional
        For tests only: a seeded choice is not private.

    Returns
    -------
    ndarray of int64 of shape (size,)
        Indices of the chosen candidates.

    Raises
    ------
    InvalidArgumentError
        If the scores are empty or not integers, or a parameter is out of its domain.

    Examples
    --------
    >>> from dpsparse.privacy.noise import exponential_mechanism
    >>> int(exponential_mechanism([0, 10**15], sensitivity=1, epsilon=1.0)[0])
    0
    """
    try:
        array: npt.NDArray[Any] = np.asarray(scores)
    except ValueError as error:
        raise InvalidArgumentError("scores must be one-dimensional") from error
    if array.ndim != 1:
        raise InvalidArgumentError("scores must be one-dimensional")
    if array.size == 0:
        raise InvalidArgumentError("scores must not be empty")
    if array.dtype.kind not in "iu" or (array.dtype == np.uint64 and bool((array > np.iinfo(np.int64).max).any())):
        raise InvalidArgumentError("scores must be integers that fit int64: floats have no exact sensitivity")
    for name, value in (("sensitivity", sensitivity), ("size", size)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 1 <= value < 2**63:
            raise InvalidArgumentError(f"{name} must be a positive integer")
    if not isinstance(epsilon, int | float | np.floating | np.integer) or isinstance(epsilon, bool):
        raise InvalidArgumentError("epsilon must be a number")
    if not epsilon <= 1024:  # integers beyond every float among them
        raise InvalidArgumentError("epsilon of one selection must lie between 2^-64 and 1024")
    if seed is not None and (not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64):
        raise InvalidArgumentError("seed must be an integer in [0, 2**64)")
    contiguous = np.ascontiguousarray(array, dtype=np.int64)
    return _core.exponential_mechanism(
        contiguous, int(sensitivity), float(epsilon), int(size), None if seed is None else int(seed)
    )
