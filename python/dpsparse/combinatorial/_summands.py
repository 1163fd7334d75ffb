"""What the private fits of sums of set functions share: parameters, plan, and what they take for summands."""

from __future__ import annotations

import os
import threading
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from dpsparse import _core
from dpsparse._core import Certificate, InvalidArgumentError, SubmodularPlan
from dpsparse._origin import made_by
from dpsparse._validation import number, positive_integer
from dpsparse.estimators._validation import checked_ledger, public_count, seed
from dpsparse.estimators._whole import whole_or_nothing
from dpsparse.set_functions import SetFunction

__all__ = ["NoisyVertices", "PrivateSummands"]

_WARNINGS = threading.RLock()


class PrivateSummands(BaseEstimator):
    """A fit of F = sum_i F_i, one submodular F_i of each person, by noisy sums of their greedy vertices."""

    _minimum_norm_point: ClassVar[bool]

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        n_iter: int | None = None,
        norm: float = 1.0,
        adjacency: str = "replace-one",
        n_public: int | None = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_iter = n_iter
        self.norm = norm
        self.adjacency = adjacency
        self.n_public = n_public
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int, n_features: int) -> SubmodularPlan:
        """Plan a fit without any data.

        Parameters
        ----------
        n_samples : int
            Number of people. Under add-remove ``n_public`` is used instead.
        n_features : int
            Size of the ground set.

        Returns
        -------
        SubmodularPlan
            With ``n_samples``, ``n_iter``, ``step``, ``epsilon``, ``delta``, ``noise_scales``, ``mechanism`` and
            ``events``.

        Raises
        ------
        InvalidArgumentError
            If a parameter is out of its domain.
        """
        plan = _core.plan_submodular(
            n_samples=public_count(self.adjacency, self.n_public, positive_integer("n_samples", n_samples)),
            n_features=positive_integer("n_features", n_features),
            norm=number("norm", self.norm),
            n_iter=None if self.n_iter is None else positive_integer("n_iter", self.n_iter),
            epsilon=number("epsilon", self.epsilon),
            delta=None if self.delta is None else number("delta", self.delta),
            adjacency=self.adjacency,
            minimum_norm_point=self._minimum_norm_point,
        )
        return made_by(plan, self, n_samples, n_features)

    @whole_or_nothing
    def fit(self, summands: Sequence[SetFunction], y: Any = None) -> Self:
        """Fit privately.

        Parameters
        ----------
        summands : sequence of SetFunction
            One a person, all on the same ground set.
        y : object, optional
            Not read.

        Returns
        -------
        self

        Raises
        ------
        DpsparseError
            Before any budget is spent: a parameter out of its domain, no summands, or such of different ground sets
            (``InvalidArgumentError``). A summand that fails later counts as zeros.
        """
        vertices = self._noisy_vertices(summands)
        self._follow(vertices)
        self.n_iter_ = vertices.plan.n_iter
        self.certificate_ = vertices.certificate
        return self

    @abstractmethod
    def _follow(self, vertices: NoisyVertices) -> None:
        """Set what is released, a function of the noisy sums of all rounds."""

    def _noisy_vertices(self, summands: Sequence[SetFunction]) -> NoisyVertices:
        people = list(summands) if np.iterable(summands) else []
        if not people or not all(isinstance(one, SetFunction) for one in people):
            raise InvalidArgumentError("summands must be set functions of dpsparse.set_functions, one a person")
        sizes = {one.n_features for one in people}
        if len(sizes) > 1:
            raise InvalidArgumentError("summands must be set functions on the same ground set")
        (n_features,) = sizes
        plan = self.plan(len(people), n_features)
        sums = _core.RunningSums(plan, seed=seed(self.random_state), ledger=checked_ledger(self.ledger))
        return NoisyVertices(plan, people, n_features, sums)


class NoisyVertices:
    """Noisy sums of the greedy vertices of all summands, one a round of the plan."""

    def __init__(
        self, plan: SubmodularPlan, people: list[SetFunction], n_features: int, sums: _core.RunningSums
    ) -> None:
        self.plan = plan
        self.n_features = n_features
        self._people = people
        self._sums = sums

    def along(self, point: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the noisy sum of the vertices that maximise the inner product with a released point."""
        with _in_silence():
            vertices = np.array([_vertex(one, point) for one in self._people])
        return self._sums.sum(vertices)

    @property
    def certificate(self) -> Certificate:
        """What all rounds cost."""
        return self._sums.certificate


def _renew() -> None:
    global _WARNINGS
    _WARNINGS = threading.RLock()


if hasattr(os, "register_at_fork"):
    # A thread that had the lock is not in the child, and would have it there for ever.
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def _in_silence() -> Iterator[None]:
    """Keep warnings of summands back: one that is shown tells that somebody's data causes it, with a text of theirs.

    What warnings do belongs to the whole process: of two threads that changed it at once, one would leave it so.
    """
    with _WARNINGS, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _vertex(summand: SetFunction, point: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a greedy vertex; zeros where the summand raises, or returns what is no vector of finite numbers."""
    # The budget is spent by now: an error would be one that a person causes, with a text that a person writes. Copies:
    # one that writes into its argument would answer for all who come later, and in the released point itself.
    try:
        vertex = np.array(summand.base_vertex(point.copy()), dtype=np.float64)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return np.zeros_like(point)
    return vertex if vertex.shape == point.shape and np.isfinite(vertex).all() else np.zeros_like(point)
