"""Private submodular minimisation."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dpsparse.combinatorial._summands import NoisyVertices, PrivateSummands

__all__ = ["PrivateSubmodularMinimizer"]


class PrivateSubmodularMinimizer(PrivateSummands):
    """Find a set that minimises a sum of submodular functions, one of each person, with differential privacy.

    F(A) is the sum of F_i(A) over people, such as cuts of the edges that each reported plus what belonging costs. Noisy
    subgradients of the Lovasz extension of F move a point of the cube, and the best of its level sets is released.

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
        ones are shortened, in silence. A cut of one edge of weight 1 has sqrt(2).
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
    minimizer_ : ndarray of int
        The elements of the released set, increasing.
    lovasz_point_ : ndarray of shape (n_elements,)
        The released point of the cube [0, 1]: the mean of the steps.
    n_iter_ : int
        Steps made (public).
    certificate_ : Certificate
        What the fit cost and assumed.

    Notes
    -----
    A person's greedy vertex follows from that person's summand and from released points alone, and is shortened to
    ``norm``: replacing a summand moves their sum by at most twice that. The guarantee does not rest on summands being
    submodular, or on ``norm`` being large enough; the set's quality does. Summands are called in this process, as often
    as there are steps: one that raises, or whose vertex is not finite, counts as zeros there, in silence, and warnings
    are not shown; one that takes long or prints tells of itself to who watches the process.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse.combinatorial import PrivateSubmodularMinimizer
    >>> from dpsparse.set_functions import FromOracle
    >>> rng = np.random.default_rng(0)
    >>> wishes = rng.uniform(size=(500, 4)) < [0.9, 0.8, 0.2, 0.1]  # who wants what
    >>> prices = np.where(wishes, -0.5, 0.5)
    >>> summands = [FromOracle(lambda A, price=price: float(price[A].sum()), 4) for price in prices]
    >>> model = PrivateSubmodularMinimizer(4.0, 1e-6, n_iter=20, random_state=0).fit(summands)
    >>> model.minimizer_.tolist()
    [0, 1]
    """

    _minimum_norm_point: ClassVar[bool] = False

    def _follow(self, vertices: NoisyVertices) -> None:
        plan = vertices.plan
        assert plan.step is not None
        point = np.full(vertices.n_features, 0.5)
        mean = np.zeros(vertices.n_features)
        for t in range(plan.n_iter):
            mean += (point - mean) / (t + 1)
            point = np.clip(point - plan.step * (vertices.along(point) / plan.n_samples), 0.0, 1.0)
        # Values of the level sets of the mean, up to noise: sums of the gains along its order.
        gains = vertices.along(mean)
        order = np.argsort(-mean, kind="stable")
        values = np.concatenate([[0.0], np.cumsum(gains[order])])
        self.minimizer_ = np.sort(order[: int(np.argmin(values))])
        self.lovasz_point_ = mean
