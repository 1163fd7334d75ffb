"""Private facility location."""

from __future__ import annotations

from typing import Any

from dpsparse.combinatorial._greedy import PrivateGreedy

__all__ = ["PrivateFacilityLocation"]


class PrivateFacilityLocation(PrivateGreedy):
    """Choose elements so that the best of them is worth much to each person, with differential privacy.

    X holds what each element is worth to each person, in [0, 1]; F(A) adds up the best value of each person in A. As
    :class:`PrivateCoverage`, which is the case of 0 and 1.

    Parameters
    ----------
    n_selected : int
        How many elements to choose, at least 1 and fewer than there are.
    epsilon : float, default 1.0
        Privacy parameter of all choices together, positive.
    delta : float, optional
        Privacy parameter in (0, 1). None: ``min(1/n**2, 1e-6)``; must be given under add-remove.
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
    Values outside [0, 1] are clipped, in silence (a count would leak), and rounded to a grid of 1/16383; the sum over
    people moves by at most the largest value where one person is replaced, added or removed.

    References
    ----------
    Mitrovic, Bun, Krause & Karbasi (2017), "Differentially private submodular maximization: data summarization in
    disguise". Proof: ``question::Gains``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.combinatorial import PrivateFacilityLocation
    >>> rng = np.random.default_rng(0)
    >>> home = rng.uniform(0, 1, size=4000)
    >>> places = np.linspace(0, 1, 11)
    >>> X = 1 - np.abs(home[:, None] - places)  # near is worth more
    >>> model = PrivateFacilityLocation(n_selected=1, epsilon=1.0, random_state=0).fit(X)
    >>> bool(abs(places[model.support_[0]] - 0.5) <= 0.2)
    True
    """

    def __init__(
        self,
        n_selected: int,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        adjacency: str = "replace-one",
        n_public: int | None = None,
        records_per_person: int = 1,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_selected = n_selected
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.n_public = n_public
        self.records_per_person = records_per_person
        self.ledger = ledger
        self.random_state = random_state

    def _values(self, X: Any) -> Any:
        return X
