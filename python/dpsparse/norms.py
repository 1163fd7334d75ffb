"""Norms that no set function gives: Euclidean norms of groups.

The norms of :mod:`dpsparse.set_functions` are polyhedral: l-infinity inside groups, ties between coefficients. The
group lasso has Euclidean norms instead, so that a group enters as a whole and no two of its coefficients are tied.

>>> from dpsparse.norms import GroupLasso
>>> norm = GroupLasso([[0, 1], [2]])
>>> norm.norm([3.0, -4.0, 2.0]), round(norm.dual_norm([0.0, 0.0, 1.5]), 12)
(7.0, 1.5)
>>> norm.prox([3.0, -4.0, 2.0], step=2.5)
array([ 1.5, -2. ,  0. ])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpsparse._core import CoreGroupLasso
from dpsparse._inputs import float_array, float_list, index_lists
from dpsparse._repr import shortened
from dpsparse._validation import number

__all__ = ["GroupLasso"]

Vector: TypeAlias = npt.NDArray[np.float64]


class GroupLasso:
    """The (sparse) group lasso: ``sum_g weights[g] |theta_g|_2 + l1 |theta|_1``.

    For ``norm=`` of :class:`~dpsparse.SparseClassifier` (two classes), :class:`~dpsparse.SparseRegressor`,
    :class:`~dpsparse.SparsePoissonRegressor` and the private estimators. A group of weight 0 is not penalised where
    ``l1=0`` (a seminorm: ``alpha``, not ``radius``). Exact fits take every such norm and come with ``duality_gap_``.

    **Overlapping groups** are copies of their features: the norm of theta is the least
    ``sum_g weights[g] |u_g|_2 + l1 |u_g|_1`` over vectors u_g, each zero outside its group, that add up to theta (the
    latent group lasso of Jacob, Obozinski & Vert 2009). The support is a union of groups. It is not the sum of the
    norms of the overlapping parts of theta itself, which removes groups from the support (Jenatton, Audibert & Bach
    2011, as :class:`~dpsparse.set_functions.GroupCover` does with l-infinity). Exact fits copy columns, one copy a
    group, and add the coefficients up; they take no ``ridge`` then, which is not a sum over copies.

    **Private mechanisms.** Those that see the norm after the noise alone take disjoint groups:
    "noisy-proximal-gradient", "noisy-newton", "mirror-descent", and "dual-frank-wolfe" by noisy iterates;
    "noisy-gradient-frank-wolfe" takes overlapping groups too, since it only minimises over the ball, the convex hull
    of Euclidean balls of the groups. "output-perturbation" and "objective-perturbation" rest on a prox that does not
    expand and whose float error is proved, which holds for disjoint groups. "frank-wolfe", "select-refit" and the
    selection variant of "dual-frank-wolfe" choose among finitely many vertices, which no Euclidean ball has, and raise
    ``UnsoundMechanismError``, as do those that need a prox where groups overlap. "sgd-output" knows no norm.

    Parameters
    ----------
    groups : sequence of sequences of int
        Indices of the features of each group. Every feature is in one or more; one that costs nothing is in a group of
        weight 0. ``DisjointGroups(labels).index_lists()`` makes them from labels.
    weights : array-like of shape (n_groups,) or None, default=None
        Non-negative; None means 1 each. The square roots of the sizes are the usual choice (Yuan & Lin 2006).
    l1 : float, default=0.0
        Factor of the l1 norm, not negative (Simon, Friedman, Hastie & Tibshirani 2013).

    Raises
    ------
    InvalidArgumentError
        Groups that are empty, repeat a feature or leave one out; weights that are not one per group; weights or ``l1``
        that are negative or not finite, or all of them 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseRegressor
    >>> from dpsparse.norms import GroupLasso
    >>> X = np.random.default_rng(0).normal(size=(50, 6))
    >>> y = X[:, 2] - X[:, 3]
    >>> SparseRegressor(norm=GroupLasso([[0, 1], [2, 3], [4, 5]]), alpha=0.5).fit(X, y).support_
    array([2, 3])
    """

    _core: CoreGroupLasso

    def __init__(self, groups: Sequence[Sequence[int]], weights: npt.ArrayLike | None = None, l1: float = 0.0) -> None:
        lists = index_lists("groups", groups, "group")
        listed = None if weights is None else float_list("weights", weights)
        self._arguments: dict[str, Any] = {"groups": lists, "weights": listed, "l1": number("l1", l1)}
        self._core = self._core_with(positive=False)

    def _core_with(self, *, positive: bool) -> CoreGroupLasso:
        """Return the norm as the core has it, with ``theta >= 0`` where asked for."""
        return CoreGroupLasso(self._arguments["groups"], self._arguments["weights"], self._arguments["l1"], positive)

    def _on_copies(self, *, positive: bool) -> tuple[CoreGroupLasso, npt.NDArray[np.intp]]:
        """Return the norm of the copies of features, one copy a group, and the feature of each copy."""
        copies = np.concatenate([np.asarray(group, dtype=np.intp) for group in self._arguments["groups"]])
        ends = np.cumsum([len(group) for group in self._arguments["groups"]])
        groups = [part.tolist() for part in np.split(np.arange(copies.size), ends[:-1])]
        return CoreGroupLasso(groups, self._arguments["weights"], self._arguments["l1"], positive), copies

    @property
    def groups(self) -> list[list[int]]:
        """The groups, a copy."""
        return [list(group) for group in self._arguments["groups"]]

    @property
    def weights(self) -> Vector:
        """The weight of each group, of shape (n_groups,)."""
        given = self._arguments["weights"]
        return np.ones(len(self._arguments["groups"])) if given is None else np.array(given)

    @property
    def l1(self) -> float:
        """Factor of the l1 norm."""
        return float(self._arguments["l1"])

    @property
    def n_features(self) -> int:
        """Number of features p."""
        return self._core.n_features

    @property
    def overlaps(self) -> bool:
        """Whether some feature is in two groups."""
        return self._core.overlaps

    def norm(self, theta: npt.ArrayLike) -> float:
        """Return the norm of ``theta``.

        Parameters
        ----------
        theta : array-like of shape (n_features,)
            Finite numbers.

        Returns
        -------
        float
            ``sum_g weights[g] |theta_g|_2 + l1 |theta|_1``.

        Raises
        ------
        InvalidArgumentError
            If groups overlap, where it has no closed form, or ``theta`` has another shape or is not finite.
        """
        return self._core.norm(float_array("theta", theta))

    def dual_norm(self, s: npt.ArrayLike) -> float:
        """Return the dual norm of ``s``, rounded up.

        Parameters
        ----------
        s : array-like of shape (n_features,)
            Finite numbers.

        Returns
        -------
        float
            The largest over the groups of the t with ``|S(s_g, l1 t)|_2 = weights[g] t``, S the soft threshold; for
            overlapping groups too. Infinite where ``s`` is not 0 on a feature that costs nothing.

        Raises
        ------
        InvalidArgumentError
            If ``s`` has another shape or is not finite.
        """
        return self._core.dual_norm(float_array("s", s))

    def prox(self, v: npt.ArrayLike, step: float = 1.0) -> Vector:
        """Return ``argmin_x |x - v|^2 / 2 + step * norm(x)``.

        Parameters
        ----------
        v : array-like of shape (n_features,)
            Finite numbers.
        step : float, default=1.0
            Not negative.

        Returns
        -------
        ndarray of shape (n_features,)
            The soft threshold of ``v`` by ``step * l1``, each group of it then shortened by ``step * weights[g]``.

        Raises
        ------
        InvalidArgumentError
            If groups overlap, where it has no closed form, ``v`` has another shape or is not finite, or ``step`` is
            negative.
        """
        return self._core.prox(float_array("v", v), number("step", step))

    def norm_ball_vertex(self, g: npt.ArrayLike) -> Vector:
        """Return ``argmin <g, x>`` over the ball ``norm(x) <= 1``, on a single group.

        Parameters
        ----------
        g : array-like of shape (n_features,)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_features,)
            0 where ``g`` is 0.

        Raises
        ------
        InvalidArgumentError
            If a feature costs nothing, so that the ball is unbounded, or ``g`` has another shape or is not finite.
        """
        return self._core.norm_ball_vertex(float_array("g", g))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._arguments,)

    def __eq__(self, other: object) -> bool:
        return self._arguments == other._arguments if isinstance(other, GroupLasso) else NotImplemented

    def __hash__(self) -> int:
        weights = self._arguments["weights"]
        groups = tuple(map(tuple, self._arguments["groups"]))
        return hash((groups, None if weights is None else tuple(weights), self.l1))

    def __repr__(self) -> str:
        given = [(name, value) for name, value in self._arguments.items() if not (value is None or value == 0.0)]
        shown = [shortened(value) if name == "groups" else f"{name}={shortened(value)}" for name, value in given]
        return f"GroupLasso({', '.join(shown)})"


def _rebuild(arguments: dict[str, Any]) -> GroupLasso:
    return GroupLasso(**arguments)
