"""Private minimum-norm points of base polytopes."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import number
from dpsparse.combinatorial._summands import NoisyVertices, PrivateSummands

__all__ = ["PrivateMinimumNormPoint"]


class PrivateMinimumNormPoint(PrivateSummands):
    """Find the point of least norm of the base polytope of a sum of submodular functions, with differential privacy.

    F(A) is the mean of F_i(A) over people. The point of least Euclidean norm of its base polytope tells the sets that
    minimise ``F(A) + penalty * |A|`` for every penalty at once (Fujishige 2005; Bach 2013): so one release answers
    which elements are worth having at which price.

    Parameters
    ----------
    epsilon : float
        Privacy parameter of the whole fit, positive.
    delta : float, optional
        Privacy parameter in (0, 1). None: ``min(1/n**2, 1e-6)``; must be given under add-remove.
    n_iter : int, optional
        Number of steps. None: a public rule, 20 to 200.
    norm : float, default 1.0
        Public bound on the Euclidean norm of a greedy vertex of one summand: its marginal gains along any order. Longer
        ones are shortened, in silence.
    adjacency : {"replace-one", "add-remove"}, default "replace-one"
        Neighbouring relation. "add-remove" needs ``n_public`` and ``delta``, and has half the noise.
    n_public : int, optional
        Public stand-in for the number of people under add-remove.
    ledger : Ledger or Accountant, optional
        Where the cost of a fit is written down before anything is drawn, and what refuses more than its total.
    random_state : None, int, RandomState or Generator, default None
        None: randomness from the operating system. Anything else makes the fit reproducible and **not private**.

    Attributes
    ----------
    point_ : ndarray of shape (n_elements,)
        The released point, in values of the mean summand.
    n_iter_ : int
        Steps made (public).
    certificate_ : Certificate
        What the fit cost and assumed.

    Notes
    -----
    The sums are those of :class:`PrivateSubmodularMinimizer`, with the same sensitivity, along orders that rise with
    the last point: each pulls the point by a share of 2/(t + 2). A summand that raises, or whose vertex is not finite,
    counts as zeros there. Proof and error: ``mechanism::SubmodularMinimisation``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.combinatorial import PrivateMinimumNormPoint
    >>> from dpsparse.set_functions import FromOracle
    >>> rng = np.random.default_rng(0)
    >>> wishes = rng.uniform(size=(500, 4)) < [0.9, 0.8, 0.2, 0.1]  # who wants what
    >>> prices = np.where(wishes, -0.5, 0.5)
    >>> summands = [FromOracle(lambda A, price=price: float(price[A].sum()), 4) for price in prices]
    >>> model = PrivateMinimumNormPoint(4.0, 1e-6, n_iter=20, random_state=0).fit(summands)
    >>> model.minimizer().tolist(), model.minimizer(penalty=1.0).tolist()
    ([0, 1], [])
    """

    _minimum_norm_point: ClassVar[bool] = True

    def _follow(self, vertices: NoisyVertices) -> None:
        plan = vertices.plan
        point = np.zeros(vertices.n_features)
        for t in range(plan.n_iter):
            point += 2.0 / (t + 2.0) * (vertices.along(-point) / plan.n_samples - point)
        self.point_ = point

    def minimizer(self, penalty: float = 0.0) -> npt.NDArray[np.intp]:
        """Return the set that minimises ``F(A) + penalty * |A|`` by the released point: where it is below ``-penalty``.

        Parameters
        ----------
        penalty : float, default 0.0
            Price of an element, in values of the mean summand. No further release: any number of prices may be asked.

        Returns
        -------
        ndarray of int
            Elements, increasing. Sets of larger prices lie in those of smaller ones.

        Raises
        ------
        InvalidArgumentError
            For a penalty that is no finite number.
        """
        check_is_fitted(self, "point_")
        price = number("penalty", penalty)
        if not math.isfinite(price):
            raise InvalidArgumentError("penalty must be finite")
        return np.flatnonzero(self.point_ < -price)
