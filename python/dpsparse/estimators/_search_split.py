"""The split of a hyper-parameter search, and the keys of its random parts."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpsparse import _core

__all__ = ["Randomness"]


class Randomness:
    """Keys for all random parts: None for the operating system's, or derived from a seed."""

    def __init__(self, key: int | None) -> None:
        self._draws = None if key is None else np.random.default_rng(key)

    def next(self) -> int | None:
        return None if self._draws is None else int(self._draws.integers(2**31 - 1))

    def split(
        self, n: int, n_held_out: int, share: float, adjacency: str
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return positions for training and held out; see the notes of PrivateSearchCV for why this is private."""
        if adjacency == "add-remove":
            held = _core.bernoulli_exp(-math.log(share), n, self.next()).astype(bool)
        else:
            held = np.zeros(n, dtype=bool)
            held[np.random.default_rng(self.next()).choice(n, n_held_out, replace=False)] = True
        return np.flatnonzero(~held), np.flatnonzero(held)
