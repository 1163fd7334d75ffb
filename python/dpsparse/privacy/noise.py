"""Exact discrete randomness, keyed by the operating system unless a seed is given (for tests only).

Every law is exact given perfect random bits: no float takes part in a draw, and a scale is the exact rational number
that its double is. Vectors are drawn on all threads, without the interpreter lock; a seed gives the same vector on
any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse import _core
from dpsparse._core import InvalidArgumentError
from dpsparse._validation import is_real, is_whole

__all__ = [
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_mechanism",
    "rounded_gaussian",
]


def rounded_gaussian(sigma: float, size: int, seed: int | None = None) -> npt.NDArray[np.int64]:
    """Draw ``round(N(0, sigma**2))``, exactly.

    An integer vector plus such noise is post-processing of the Gaussian mechanism, so the exact Gaussian curve holds:
    account it with :class:`~dpsparse.privacy.GaussianEvent` (``theory_of_privacy::noise_and_accounting``).

    Parameters
    ----------
    sigma : float
        Standard deviation before rounding, between 2**-10 and 2**40.
    size : int
        Number of independent draws.
    seed : int, optional
        For tests only: seeded noise is not private.

    Returns
    -------
    ndarray of int64 of shape (size,)
        Values beyond int64, of probability below ``exp(-2**40)``, would be clamped to it.

    Raises
    ------
    InvalidArgumentError
        If a parameter is out of its domain.

    Examples
    --------
    >>> from dpsparse.privacy.noise import rounded_gaussian
    >>> bool(abs(rounded_gaussian(1e6, 10_000).std() / 1e6 - 1) < 0.05)
    True
    """
    return _core.rounded_gaussian(_number("sigma", sigma), _size(size), _seed(seed))


def discrete_gaussian(sigma: float, size: int, seed: int | None = None) -> npt.NDArray[np.int64]:
    """Draw integers with probability proportional to ``exp(-k**2 / (2 * sigma**2))``, exactly.

    An integer vector of L2 sensitivity D plus such noise is ``D**2 / (2 * sigma**2)``-zCDP (Canonne, Kamath & Steinke
    2020) but does not follow the Gaussian curve: account it with :class:`~dpsparse.privacy.DiscreteGaussianEvent`.

    Parameters
    ----------
    sigma : float
        Parameter of the law, between 2**-10 and 2**40; nearly its standard deviation from 1 on.
    size : int
        Number of independent draws.
    seed : int, optional
        For tests only: seeded noise is not private.

    Returns
    -------
    ndarray of int64 of shape (size,)
        Values beyond int64, of probability below ``exp(-2**40)``, would be clamped to it.

    Raises
    ------
    InvalidArgumentError
        If a parameter is out of its domain.

    Examples
    --------
    >>> from dpsparse.privacy.noise import discrete_gaussian
    >>> discrete_gaussian(0.01, 3).tolist()
    [0, 0, 0]
    """
    return _core.discrete_gaussian(_number("sigma", sigma), _size(size), _seed(seed))


def discrete_laplace(scale: float, size: int, seed: int | None = None) -> npt.NDArray[np.int64]:
    """Draw integers with probability proportional to ``exp(-abs(k) / scale)``, exactly.

    An integer vector of L1 sensitivity D plus such noise is ``D / scale``-private: account it with
    :class:`~dpsparse.privacy.LaplaceEvent`.

    Parameters
    ----------
    scale : float
        Parameter of the law, between 2**-10 and 2**40.
    size : int
        Number of independent draws.
    seed : int, optional
        For tests only: seeded noise is not private.

    Returns
    -------
    ndarray of int64 of shape (size,)
        Values beyond int64, of probability below ``exp(-2**22)``, would be clamped to it.

    Raises
    ------
    InvalidArgumentError
        If a parameter is out of its domain.

    Examples
    --------
    >>> from dpsparse.privacy.noise import discrete_laplace
    >>> discrete_laplace(0.01, 3).tolist()
    [0, 0, 0]
    """
    return _core.discrete_laplace(_number("scale", scale), _size(size), _seed(seed))


def bernoulli_exp(gamma: float, size: int, seed: int | None = None) -> npt.NDArray[np.int64]:
    """Draw ones with probability ``exp(-gamma)`` and zeros otherwise, exactly.

    Parameters
    ----------
    gamma : float
        Finite and not negative.
    size : int
        Number of independent draws.
    seed : int, optional
        For tests only: seeded draws are not private.

    Returns
    -------
    ndarray of int64 of shape (size,)
        Zeros and ones.

    Raises
    ------
    InvalidArgumentError
        If a parameter is out of its domain.

    Examples
    --------
    >>> from dpsparse.privacy.noise import bernoulli_exp
    >>> bernoulli_exp(0.0, 3).tolist()
    [1, 1, 1]
    """
    return _core.bernoulli_exp(_number("gamma", gamma), _size(size), _seed(seed))


def exponential_mechanism(
    scores: npt.ArrayLike,
    sensitivity: int,
    epsilon: float,
    size: int = 1,
    seed: int | None = None,
    constant_time: bool = False,
) -> npt.NDArray[np.int64]:
    """Choose candidates with probability proportional to ``exp(-epsilon * q_k / (2 * sensitivity))``, exactly.

    The choice is ``epsilon``-bounded-range for scores that move by at most ``sensitivity`` between neighbours, hence
    ``epsilon**2 / 8``-zCDP (Cesar & Rogers 2021; ``theory_of_privacy::selection``).

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
    constant_time : bool, default False
        True: each choice does the same work whatever the scores are, some 200 ns a candidate, by the same law
        (``theory_of_privacy::leaks``).

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
    if not _is_integer(sensitivity) or not 1 <= sensitivity < 2**63:
        raise InvalidArgumentError("sensitivity must be a positive integer")
    if _size(size) == 0:
        raise InvalidArgumentError("size must be a positive integer")
    if not _number("epsilon", epsilon) <= 1024:
        raise InvalidArgumentError("epsilon of one selection must lie between 2^-64 and 1024")
    if not isinstance(constant_time, bool):
        raise InvalidArgumentError("constant_time must be a bool")
    contiguous = np.ascontiguousarray(array, dtype=np.int64)
    return _core.exponential_mechanism(
        contiguous, int(sensitivity), float(epsilon), int(size), _seed(seed), constant_time
    )


def _is_integer(value: object) -> bool:
    return is_whole(value)


def _size(size: int) -> int:
    if not _is_integer(size) or not 0 <= size < 2**63:
        raise InvalidArgumentError("size must be an integer, not negative")
    return int(size)


def _seed(seed: int | None) -> int | None:
    if seed is None:
        return None
    if not _is_integer(seed) or not 0 <= seed < 2**64:
        raise InvalidArgumentError("seed must be an integer in [0, 2**64)")
    return int(seed)


def _number(name: str, value: float) -> float:
    if not is_real(value):
        raise InvalidArgumentError(f"{name} must be a number")
    try:
        return float(value)
    except OverflowError:  # an integer beyond every float
        return float("inf")
