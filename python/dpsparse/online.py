"""Private online learning over the probability simplex."""

from __future__ import annotations

from typing import Any, NoReturn, Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from dpsparse import _core
from dpsparse._core import Certificate, InvalidArgumentError, InvalidDataError
from dpsparse._validation import ADJACENCIES, choice, number, positive_integer
from dpsparse.errors import SecretStateError
from dpsparse.estimators._sklearn_checks import without_values
from dpsparse.estimators._validation import checked_ledger, seed

__all__ = ["PrivateOnlineSimplex"]

_LARGEST = np.finfo(np.float64).max


class PrivateOnlineSimplex:
    """Follow the regularised leader over the simplex, with differential privacy for every round's costs.

    Each round: play :attr:`weights`, see a vector of costs, call :meth:`update`. The next weights are a vertex of the
    simplex, drawn with probability proportional to exp(-(summed costs)/lambda), exactly. Costs are minimised.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of all rounds together, positive.
    delta : float
        Privacy parameter of all rounds together, in (0, 1).
    horizon : int
        Number of updates that the budget holds (public). One more raises ``BudgetExceededError``.
    n_features : int
        Number of features.
    bound : float
        Public bound on the absolute value of a cost. Larger costs are clipped, silently: an error would tell.
    adjacency : {"replace-one", "add-remove"}, default "replace-one"
        What is protected: the costs of one round against any others, or (at half the noise) against zeros.
    ledger : Ledger or Accountant, optional
        Where the cost of all rounds is written down before any record is read, and what refuses more than its total; a
        :class:`dpsparse.privacy.Ledger` is a file, an :class:`~dpsparse.privacy.Accountant` with a budget is in memory.
    random_state : None, int, RandomState or Generator, default None
        None: randomness from the operating system. Anything else makes the stream reproducible and **not private**.

    Raises
    ------
    InvalidArgumentError
        If a parameter is out of its domain.

    Notes
    -----
    Every draw has a privacy loss of range 4 bound/lambda (2 bound/lambda under add-remove); lambda is the least for
    which the accountant admits ``horizon`` of them. Costs are rounded to 2**-30 of the bound, so that sums are exact.

    **Copies.** The running sum of the costs is private data. It leaves by :meth:`to_secret_json` alone, which says so:
    pickles and copies raise, as results that are saved, sent or cached would carry it where nobody expects it.
    scikit-learn's ``clone`` gives a new learner of the same parameters. Restored states go on with the rounds counted
    so far, and :attr:`certificate_` of each is that of one run of the horizon: continue one. Rounds that two of them
    see cost twice. In a process that was forked ``update`` refuses: go on in one process.

    References
    ----------
    Jain & Thakurta (2014), section 5.2; ``theory_of_privacy::softmax``.

    Examples
    --------
    >>> from dpsparse import PrivateOnlineSimplex
    >>> learner = PrivateOnlineSimplex(2.0, 1e-6, horizon=500, n_features=3, bound=1.0, random_state=0)
    >>> for _ in range(500):
    ...     learner.update([0.9, -0.9, 0.5])
    >>> learner.weights.tolist(), learner.round, learner.certificate_.secure, learner.certificate_.verify()
    ([0.0, 1.0, 0.0], 500, False, False)
    """

    # What the constructor was given; None for a restored learner.
    _parameters: dict[str, Any] | None

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        horizon: int,
        n_features: int,
        bound: float,
        adjacency: str = "replace-one",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        choice("adjacency", adjacency, ADJACENCIES)
        self._parameters = {
            "epsilon": epsilon,
            "delta": delta,
            "horizon": horizon,
            "n_features": n_features,
            "bound": bound,
            "adjacency": adjacency,
            "ledger": ledger,
            "random_state": random_state,
        }
        self._stream = _core.OnlineSimplex(
            number("epsilon", epsilon),
            number("delta", delta),
            horizon=positive_integer("horizon", horizon),
            n_features=positive_integer("n_features", n_features),
            bound=number("bound", bound),
            adjacency=adjacency,
            seed=seed(random_state),
            ledger=checked_ledger(ledger),
        )

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """The current vertex, an array of shape (n_features,) with a single 1; unchanged until the next update."""
        weights = np.zeros(self._stream.n_features)
        weights[self._stream.vertex] = 1.0
        return weights

    @property
    def round(self) -> int:
        """Updates so far."""
        return self._stream.round

    @property
    def horizon(self) -> int:
        """Updates that the budget holds."""
        return self._stream.horizon

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._stream.n_features

    @property
    def regularisation(self) -> float:
        """Temperature lambda of the softmax, in the units of the costs."""
        return self._stream.regularisation

    @property
    def certificate_(self) -> Certificate:
        """What all rounds of the horizon cost and assumed, at any time: what the ledger was charged.

        Released weights may decide when a stream ends. An epsilon for the rounds so far would hold for a number of
        rounds that was fixed beforehand, and not for one that they chose; that of the horizon holds whenever it ends.
        """
        return self._stream.certificate

    def update(self, cost_vector: npt.ArrayLike) -> None:
        """Take the costs of one round, and draw the weights of the next.

        Parameters
        ----------
        cost_vector : array-like of shape (n_features,)
            Costs of the round; entries beyond ``bound`` are clipped.

        Raises
        ------
        BudgetExceededError
            Past the horizon. Nothing changes.
        InvalidDataError
            For a vector of another shape, or entries that are not finite numbers. Nothing is spent.
        """
        if np.ma.is_masked(cost_vector):  # numpy would take what is behind the mask
            raise InvalidDataError("cost_vector has masked entries: fill them by a public rule")
        try:
            costs = without_values(lambda: np.asarray(cost_vector))
        except InvalidDataError:
            costs = np.empty((0, 0))
        if costs.ndim != 1 or costs.dtype.kind not in "fiu":  # outside the except clause: nothing is chained
            raise InvalidDataError("cost_vector must be a one-dimensional array of real numbers")
        if costs.dtype == np.longdouble:
            # What no double is near is a cost to be clipped, and no infinity to be refused.
            costs = np.where(np.isfinite(costs), np.clip(costs, -_LARGEST, _LARGEST), costs)
        self._stream.update(np.ascontiguousarray(costs, dtype=np.float64))

    def regret_bound(self) -> float:
        """Bound the expected regret of the whole horizon, before any cost.

        Returns
        -------
        float
            lambda ln(n_features) + horizon bound**2/(2 lambda), and horizon bound/2**29 for the rounding of costs:
            bound (12) of the paper with its constants. It holds for costs that do not see the current weights
            beforehand, counted as clipped.
        """
        return self._stream.regret_bound()

    def to_secret_json(self) -> str:
        """Save the whole state, private data included: **not a release**, never publish it.

        Returns
        -------
        str
            JSON for :meth:`from_secret_json`. It holds the running sum of the costs.
        """
        return self._stream.to_secret_json()

    @classmethod
    def from_secret_json(cls, text: str) -> Self:
        """Go on from a saved state, its rounds counted.

        Parameters
        ----------
        text : str
            What :meth:`to_secret_json` returned.

        Returns
        -------
        PrivateOnlineSimplex
            A learner whose certificate records that it was restored. A seeded one goes on as the original would.

        Raises
        ------
        InvalidArgumentError
            For anything else.
        """
        if not isinstance(text, str):
            raise InvalidArgumentError("text must be what to_secret_json returned")
        learner = cls.__new__(cls)
        learner._stream = _core.OnlineSimplex.from_secret_json(text)
        learner._parameters = None
        return learner

    def __sklearn_clone__(self) -> Self:
        if self._parameters is None:
            raise SecretStateError("a restored PrivateOnlineSimplex goes on with what was spent: it has no clone")
        return type(self)(**self._parameters)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise SecretStateError(
            "a PrivateOnlineSimplex holds private sums of costs, which a pickle or a copy would carry on: save its "
            "state with to_secret_json, and keep that as you keep the costs; sklearn.base.clone makes a new learner"
        )

    def __repr__(self) -> str:
        return f"PrivateOnlineSimplex(round {self.round} of {self.horizon}, {self.n_features} features)"
