"""Private maximum coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsparse._core import InvalidArgumentError
from dpsparse.combinatorial._greedy import PrivateGreedy, refuse_missing

__all__ = ["PrivateCoverage"]


class PrivateCoverage(PrivateGreedy):
    """Choose elements that cover as many people as possible, with differential privacy.

    Row i of X says which elements cover person i: clinics within reach, outlets that a household reads, tests that
    would find a case. The greedy algorithm chooses ``n_selected`` of them, each by the exact exponential mechanism over
    how many people it would newly cover (Gupta, Ligett, McSherry, Roth & Talwar 2010). The elements are public, the
    rows private.

    Parameters
    ----------
    n_selected : int
        How many elements to choose, at least 1 and fewer than there are.
    epsilon : float, default 1.0
        Privacy parameter of all choices together, positive.
    delta : float, optional
        Privacy parameter in (0, 1). None: ``min(1/n**2, 1e-6)``; must be given under add-remove.
    weights : array-like of shape (n_elements,), optional
        Public worth of being covered by each element, finite and not negative; a person counts with the largest weight
        of a chosen element that covers it. None: all are 1.
    adjacency : {"replace-one", "add-remove"}, default "replace-one"
        Neighbouring relation. "add-remove" needs ``n_public`` and ``delta``; choices then cost half.
    n_public : int, optional
        Public stand-in for the number of people under add-remove.
    records_per_person : int, default 1
        How many rows one person may own; the sensitivity is multiplied by it.
    ledger : Ledger or Accountant, optional
        Where the cost of a fit is written down before any record is read, and what refuses more than its total.
    random_state : None, int, RandomState or Generator, default None
        None: randomness from the operating system. Anything else makes the fit reproducible and **not private**.

    Attributes
    ----------
    support_ : ndarray of shape (n_selected,)
        Indices of the chosen elements, increasing.
    ranking_ : ndarray of shape (n_selected,)
        The same in the order of their choice.
    certificate_ : Certificate
        What the fit cost and assumed.
    n_features_in_ : int
        Number of elements.
    feature_names_in_ : ndarray of str
        Names of the elements, when X had them.

    Notes
    -----
    The number of people that an element newly covers moves by at most one where one person is replaced, added or
    removed. With probability 1 - beta each choice falls short of the best by no more than ``plan(...).shortfall(beta)``
    people, so that the set covers at least (1 - 1/e) of what the best set does, less ``n_selected`` times as many.

    References
    ----------
    Gupta, Ligett, McSherry, Roth & Talwar (2010), "Differentially private combinatorial optimization". Proof:
    ``question::Gains``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.combinatorial import PrivateCoverage
    >>> rng = np.random.default_rng(0)
    >>> near = rng.integers(0, 10, size=5000)  # the district of each person
    >>> X = near[:, None] == np.arange(10)  # a clinic a district
    >>> X[:, 3] |= X[:, 4] | X[:, 5]  # one that serves three
    >>> model = PrivateCoverage(n_selected=2, epsilon=1.0, random_state=0).fit(X)
    >>> bool(3 in model.support_)
    True
    """

    def __init__(
        self,
        n_selected: int,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        weights: Any = None,
        adjacency: str = "replace-one",
        n_public: int | None = None,
        records_per_person: int = 1,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_selected = n_selected
        self.epsilon = epsilon
        self.delta = delta
        self.weights = weights
        self.adjacency = adjacency
        self.n_public = n_public
        self.records_per_person = records_per_person
        self.ledger = ledger
        self.random_state = random_state

    def _weights(self, n_features: int) -> npt.NDArray[np.float64] | None:
        """Return public weights of the elements, the largest one 1; None where all are 1."""
        if self.weights is None:
            return None
        try:
            weights = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgumentError("weights must be one number per element") from error
        if weights.shape != (n_features,):
            raise InvalidArgumentError(f"weights must be one number per element ({n_features})")
        if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.max() > 0.0):
            raise InvalidArgumentError("weights must be finite and not negative, one of them positive")
        scaled: npt.NDArray[np.float64] = weights / weights.max()
        return scaled

    def _check_elements(self, n_features: int) -> None:
        self._weights(n_features)

    def _unit(self) -> float:
        return 1.0 if self.weights is None else float(np.max(np.asarray(self.weights, dtype=np.float64)))

    def _values(self, X: Any) -> Any:
        refuse_missing(X)
        weights = self._weights(X.shape[1])
        covers = X != 0
        if weights is None:
            return covers.astype(np.float32) if sp.issparse(covers) else covers
        if sp.issparse(covers):
            return (covers @ sp.diags_array(weights)).asformat(X.format)
        return covers * weights
