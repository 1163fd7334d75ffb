"""Submodular set functions, which describe what sparsity means: their Lovasz extensions are the structured norms.

A set function ``F`` gives every set of features a number, with ``F([]) == 0`` and gains that fall as sets grow. Where
it is monotone, ``F.norm(theta) = f(abs(theta))`` is a norm that charges the support of ``theta`` by ``F``; here ``f``
is the Lovasz extension ``F.lovasz``.

>>> from dpsparse.set_functions import Cardinality, GroupCover
>>> F = GroupCover([[0, 1], [1, 2]], weights=[1.0, 3.0])
>>> F([1]), F([0]), F([])
(4.0, 1.0, 0.0)
>>> F.norm([2.0, 0.0, -1.0])
5.0
>>> G = F + 0.5 * Cardinality(3)
>>> G([True, False, True])
5.0
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dpsparse._core import CoreSetFunction, InvalidArgumentError
from dpsparse._inputs import count, float_array, float_list, index_list, index_lists, index_pairs
from dpsparse._repr import shortened
from dpsparse._validation import is_whole, number

__all__ = [
    "Cardinality",
    "ConcaveCardinality",
    "ContiguousRange",
    "Estimate",
    "FromOracle",
    "GraphCut",
    "GroupCover",
    "LogDet",
    "Modular",
    "PartitionRank",
    "Scaled",
    "SetFunction",
    "Sum",
    "Tree",
]

Indices: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]
Mask: TypeAlias = Sequence[bool] | npt.NDArray[np.bool_]
Vector: TypeAlias = npt.NDArray[np.float64]


class Estimate(NamedTuple):
    """A number with its standard error.

    Examples
    --------
    >>> from dpsparse.set_functions import Cardinality
    >>> Cardinality(4).gaussian_width().exact
    True
    """

    value: float
    stderr: float
    exact: bool


class SetFunction(ABC):
    """A normalised submodular set function; its subclasses are the families.

    Set functions never change. They add up (``F + G``) and have positive multiples (``2.5 * F``); they can be pickled
    and copied where a user's callable inside can.

    Examples
    --------
    >>> from dpsparse.set_functions import Cardinality, SetFunction
    >>> F = 2.5 * Cardinality(3)
    >>> isinstance(F, SetFunction), F([0, 2])
    (True, 5.0)
    """

    _core: CoreSetFunction
    _arguments: dict[str, Any]

    # numpy scalars leave the product with a set function to `__rmul__`
    __array_ufunc__ = None

    @abstractmethod
    def __init__(self) -> None: ...

    def _define(self, core: CoreSetFunction, **arguments: Any) -> None:
        """Keep the function and the arguments that made it, the first one being positional in the repr."""
        self._core = core
        self._arguments = arguments

    @property
    def n_features(self) -> int:
        """Number of features p."""
        return self._core.n_features

    @property
    def is_monotone(self) -> bool:
        """Whether sets never lose value by growing: then ``f(abs(theta))`` is defined."""
        return self._core.is_monotone

    def __call__(self, A: Indices | Mask) -> float:
        """Return F(A).

        Parameters
        ----------
        A : sequence of int, or boolean array of shape (n_features,)
            Distinct indices in any order, or a mask; ``[]`` is the empty set.

        Returns
        -------
        float
            The value.

        Raises
        ------
        InvalidArgumentError
            If an entry is not an index of a feature, or comes twice. The message names it.
        """
        return self._core.value(index_list("A", A, mask_length=self.n_features))

    def gains(self, order: Indices) -> Vector:
        """Return what each feature adds when features come in this order.

        Parameters
        ----------
        order : sequence of int
            Distinct indices; features may be left out at the end.

        Returns
        -------
        ndarray of shape (len(order),)
            ``F(order[:k + 1]) - F(order[:k])`` for every k.

        Raises
        ------
        InvalidArgumentError
            If an entry is not an index of a feature, or comes twice.

        Examples
        --------
        >>> ContiguousRange(5).gains([1, 3, 2])
        array([5., 2., 0.])
        """
        return self._core.gains(index_list("order", order))

    def lovasz(self, w: npt.ArrayLike) -> float:
        """Return the Lovasz extension f(w), the largest ``<w, s>`` over the base polytope B(F).

        Parameters
        ----------
        w : array-like of shape (n_features,)
            Any finite numbers.

        Returns
        -------
        float
            ``f(w)``; on the indicator of a set, the value of the set.

        Raises
        ------
        InvalidArgumentError
            If ``w`` has another shape or an entry that is not finite.
        """
        return self._core.lovasz(float_array("w", w))

    def base_vertex(self, w: npt.ArrayLike) -> Vector:
        """Return a vertex of the base polytope ``{s: s(A) <= F(A), s(V) = F(V)}`` that maximises ``<w, s>``.

        Parameters
        ----------
        w : array-like of shape (n_features,)
            Any finite numbers; ties go to the smaller index first.

        Returns
        -------
        ndarray of shape (n_features,)
            The vertex of the greedy algorithm (Edmonds 1970).

        Raises
        ------
        InvalidArgumentError
            If ``w`` has another shape or an entry that is not finite.
        """
        return self._core.base_vertex(float_array("w", w))

    def support_vertex(self, theta: npt.ArrayLike) -> Vector:
        """Return an s with ``<theta, s> = norm(theta)`` in the dual ball ``{s: abs(s)(A) <= F(A) for all A}``.

        Parameters
        ----------
        theta : array-like of shape (n_features,)
            Any finite numbers.

        Returns
        -------
        ndarray of shape (n_features,)
            Zero where ``theta`` is zero.

        Raises
        ------
        InvalidArgumentError
            If F is not monotone, or ``theta`` has another shape or an entry that is not finite.

        Examples
        --------
        >>> ConcaveCardinality([3.0, 5.0, 6.0]).support_vertex([1.0, 0.0, -2.0])
        array([ 2.,  0., -3.])
        """
        return self._core.support_vertex(float_array("theta", theta))

    def norm(self, theta: npt.ArrayLike) -> float:
        """Return ``f(abs(theta))``, for a monotone F.

        Parameters
        ----------
        theta : array-like of shape (n_features,)
            Any finite numbers.

        Returns
        -------
        float
            A norm of ``theta`` where every ``F([j])`` is positive.

        Raises
        ------
        InvalidArgumentError
            If F is not monotone (its regulariser is ``F.lovasz``), or ``theta`` has another shape or an entry that is
            not finite.
        """
        return self._core.norm(float_array("theta", theta))

    def dual_norm(self, s: npt.ArrayLike) -> float:
        """Return the norm dual to :meth:`norm`: the largest ``abs(s)(A) / F(A)``, the least t with s in ``t |P|(F)``.

        Closed forms where F has one; else Dinkelbach's method on minimum cuts or the minimum-norm point.

        Parameters
        ----------
        s : array-like of shape (n_features,)
            Any finite numbers.

        Returns
        -------
        float
            The dual norm.

        Raises
        ------
        InvalidArgumentError
            If F is not monotone, or ``s`` has another shape or an entry that is not finite.

        Examples
        --------
        >>> ConcaveCardinality([1.0, 1.0, 1.0]).dual_norm([1.0, -2.0, 0.5])
        3.5
        """
        return self._core.dual_norm(float_array("s", s))

    def contains(self, s: npt.ArrayLike, tol: float = 1e-9) -> bool:
        """Return whether ``s`` lies in the symmetric polyhedron ``|P|(F)``: no ``abs(s)(A)`` above ``F(A)``.

        Parameters
        ----------
        s : array-like of shape (n_features,)
            Any finite numbers.
        tol : float, default=1e-9
            Violation that is allowed, in units of ``1 + F(V)``.

        Returns
        -------
        bool
            Whether it does.

        Raises
        ------
        InvalidArgumentError
            If F is not monotone, ``s`` has another shape or an entry that is not finite, or ``tol`` is negative.
        """
        if not number("tol", tol) >= 0.0:
            raise InvalidArgumentError("tol must not be negative")
        return self._core.contains(float_array("s", s), float(tol))

    def prox(self, v: npt.ArrayLike, step: float) -> Vector:
        """Return the x that minimises ``|x - v|^2 / 2 + step * Omega(x)``.

        Omega is ``f(abs(x))`` for a monotone F and ``f(x)`` otherwise. The algorithms are exact for every family but
        ``LogDet``, sums and users' functions, whose minimum-norm point is found to about 1e-14 of its squared distance
        from v less its mean. Entries that Omega ties together come out equal, those that it sets to zero are zero.

        Parameters
        ----------
        v : array-like of shape (n_features,)
            Any finite numbers.
        step : float
            Not negative.

        Returns
        -------
        ndarray of shape (n_features,)
            The minimiser.

        Raises
        ------
        InvalidArgumentError
            If ``step`` is negative or not finite, or ``v`` has another shape or an entry that is not finite.

        Examples
        --------
        >>> Cardinality(3).prox([3.0, -0.5, -2.0], 1.0)
        array([ 2.,  0., -1.])
        """
        return self._core.prox(float_array("v", v), number("step", step))

    def norm_ball_vertex(self, g: npt.ArrayLike) -> Vector:
        """Return a vertex of the ball ``norm(x) <= 1`` that minimises ``<g, x>``.

        The ball is the polar of ``|P|(F)``, another polytope than the one of :meth:`support_vertex`: its vertices are
        ``sign(x) = -sign(g)`` on one set A, of size ``1 / F(A)``.

        Parameters
        ----------
        g : array-like of shape (n_features,)
            Any finite numbers.

        Returns
        -------
        ndarray of shape (n_features,)
            The vertex; ``<g, x>`` is minus the dual norm of ``g``.

        Raises
        ------
        InvalidArgumentError
            If F is not monotone, or ``g`` has another shape or an entry that is not finite.

        Examples
        --------
        >>> Cardinality(3).norm_ball_vertex([0.5, -2.0, 1.0])
        array([0., 1., 0.])
        """
        return self._core.norm_ball_vertex(float_array("g", g))

    def gaussian_width(self, n_samples: int = 10_000, random_state: int | None = None) -> Estimate:
        """Return ``E max <b, s>`` for standard normal b, over ``|P|(F)`` for a monotone F and over B(F) otherwise.

        Parameters
        ----------
        n_samples : int, default=10000
            Draws of b, where no formula is known.
        random_state : int or None, default=None
            Seed of the draws; the result does not depend on the number of threads. None means 0.

        Returns
        -------
        Estimate
            ``value``, ``stderr`` (0 where exact) and ``exact``.

        Raises
        ------
        InvalidArgumentError
            If ``n_samples`` is below 2 where draws are needed, or ``random_state`` is no seed.

        Examples
        --------
        >>> width = Cardinality(2).gaussian_width()
        >>> round(width.value, 6), width.stderr, width.exact
        (1.595769, 0.0, True)
        """
        seed = 0 if random_state is None else random_state
        if not is_whole(seed) or not 0 <= seed < 2**64:
            raise InvalidArgumentError("random_state must be None or an integer between 0 and 2**64 - 1")
        return Estimate(*self._core.gaussian_width(count("n_samples", n_samples), int(seed)))

    def radius(self, ord: float) -> float:
        """Return the largest l1, l2 or l-infinity norm of a point of ``|P|(F)``.

        Parameters
        ----------
        ord : {1, 2, numpy.inf}
            Which norm.

        Returns
        -------
        float
            Exact for 1 and infinity, and for 2 where F is modular, of cardinality, a partition rank, a tree, or has at
            most 16 features. Otherwise a proved upper bound.

        Raises
        ------
        InvalidArgumentError
            If F is not monotone, or ``ord`` is another number.

        Examples
        --------
        >>> Cardinality(4).radius(2)
        2.0
        """
        return self._core.radius(number("ord", ord))[0]

    def __add__(self, other: SetFunction) -> SetFunction:
        return Sum(self, other) if isinstance(other, SetFunction) else NotImplemented

    def __mul__(self, factor: float) -> SetFunction:
        return Scaled(factor, self)

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._arguments)

    def __repr__(self) -> str:
        given = [(name, value) for name, value in self._arguments.items() if value is not None]
        shown = [shortened(value) if k == 0 else f"{name}={shortened(value)}" for k, (name, value) in enumerate(given)]
        return f"{type(self).__name__}({', '.join(shown)})"


def _rebuild(family: type[SetFunction], arguments: dict[str, Any]) -> SetFunction:
    return family(**arguments)


def _weights(weights: Any) -> list[float] | None:
    return None if weights is None else float_list("weights", weights)


def _n_features(n_features: Any, groups: list[list[int]]) -> int:
    """Return the given number, or one more than the largest index."""
    if n_features is not None:
        return count("n_features", n_features)
    return 1 + max((max(group) for group in groups if group), default=0)


class Cardinality(SetFunction):
    """``F(A) = len(A)``: the norm is l1.

    Parameters
    ----------
    p : int
        Number of features.

    Examples
    --------
    >>> Cardinality(3).norm([1.0, -2.0, 0.0])
    3.0
    """

    def __init__(self, p: int) -> None:
        p = count("p", p)
        self._define(CoreSetFunction("cardinality", p), p=p)


class ConcaveCardinality(SetFunction):
    """``F(A) = h(len(A))`` with h concave and ``h(0) = 0``: where h does not fall, the norm is a sorted l1 norm (OWL).

    Parameters
    ----------
    values : array-like of shape (n_features,)
        ``values[k] = h(k + 1)``. Dents of relative size 1e-10 are taken for rounding and filled.

    Examples
    --------
    >>> ConcaveCardinality([3.0, 5.0, 6.0]).norm([1.0, 0.0, -2.0])
    8.0
    """

    def __init__(self, values: npt.ArrayLike) -> None:
        listed = float_list("values", values)
        self._define(CoreSetFunction("concave_cardinality", listed), values=listed)


class Modular(SetFunction):
    """``F(A) = sum of weights[j] over j in A``: the norm is a weighted l1 norm.

    Parameters
    ----------
    weights : array-like of shape (n_features,)
        Non-negative.

    Examples
    --------
    >>> Modular([1.0, 3.0])([1])
    3.0
    """

    def __init__(self, weights: npt.ArrayLike) -> None:
        listed = float_list("weights", weights)
        self._define(CoreSetFunction("modular", listed), weights=listed)


class GroupCover(SetFunction):
    """``F(A) = sum of the weights of the groups that A meets``: the norm sums ``max(abs(theta[group]))``, weighted.

    Parameters
    ----------
    groups : sequence of sequences of int
        Indices of features; groups may overlap.
    weights : array-like of shape (n_groups,), optional
        Non-negative; 1 each by default.
    n_features : int, optional
        One more than the largest index by default.

    Examples
    --------
    >>> GroupCover([[0, 1], [1, 2]]).norm([1.0, 2.0, 0.0])
    4.0
    """

    def __init__(
        self,
        groups: Sequence[Indices],
        weights: npt.ArrayLike | None = None,
        n_features: int | None = None,
    ) -> None:
        lists, w = index_lists("groups", groups, "group"), _weights(weights)
        core = CoreSetFunction("group_cover", lists, w, _n_features(n_features, lists))
        self._define(core, groups=lists, weights=w, n_features=None if n_features is None else core.n_features)


class Tree(SetFunction):
    """A :class:`GroupCover` of nested groups: any two are disjoint or one holds the other (Jenatton et al. 2011).

    Parameters
    ----------
    groups : sequence of sequences of int
        Indices of features. Groups that cross, and a group that comes twice, are refused by name.
    weights : array-like of shape (n_groups,), optional
        Non-negative; 1 each by default.
    n_features : int
        Number of features.

    Examples
    --------
    >>> Tree([[0, 1, 2], [1, 2], [2]], n_features=3)([2])
    3.0
    """

    def __init__(
        self,
        groups: Sequence[Indices],
        weights: npt.ArrayLike | None = None,
        *,
        n_features: int,
    ) -> None:
        lists, w, p = index_lists("groups", groups, "group"), _weights(weights), count("n_features", n_features)
        self._define(CoreSetFunction("tree", lists, w, p), groups=lists, weights=w, n_features=p)


class GraphCut(SetFunction):
    """``F(A) = sum of the weights of the edges with one end in A``; its Lovasz extension is total variation.

    Not monotone: ``F.lovasz(theta) = sum of weight * abs(theta[i] - theta[j])`` is the regulariser, a seminorm.

    Parameters
    ----------
    edges : sequence of pairs of int, or array of shape (n_edges, 2)
        Edges between different features; parallel ones add up.
    weights : array-like of shape (n_edges,), optional
        Non-negative; 1 each by default.
    n_features : int
        Number of features.

    Examples
    --------
    >>> GraphCut([(0, 1), (1, 2)], n_features=3).lovasz([0.0, 3.0, 5.0])
    5.0
    """

    def __init__(
        self,
        edges: Sequence[tuple[int, int]] | npt.NDArray[np.integer[Any]],
        weights: npt.ArrayLike | None = None,
        *,
        n_features: int,
    ) -> None:
        pairs = index_pairs("edges", edges, "edge", "must join two features", "ends")
        w, p = _weights(weights), count("n_features", n_features)
        self._define(CoreSetFunction("graph_cut", pairs, w, p), edges=pairs, weights=w, n_features=p)


class ContiguousRange(SetFunction):
    """``F(A) = p - 1 + max(A) - min(A) + 1`` for A not empty: favours contiguous ranges of features (Bach 2010).

    Parameters
    ----------
    p : int
        Number of features, in their order.

    Examples
    --------
    >>> ContiguousRange(5)([1, 3])
    7.0
    """

    def __init__(self, p: int) -> None:
        p = count("p", p)
        self._define(CoreSetFunction("contiguous_range", p), p=p)


class PartitionRank(SetFunction):
    """``F(A) = sum over groups of min(capacity, number of features of A in the group)``.

    Parameters
    ----------
    groups : sequence of sequences of int
        Disjoint groups of features. A feature in no group counts for nothing.
    capacities : sequence of int
        One positive integer per group; it may exceed the size of the group.
    n_features : int, optional
        One more than the largest index by default.

    Examples
    --------
    >>> PartitionRank([[0, 1, 2], [3]], [2, 1])([0, 1, 2, 3])
    3.0
    """

    def __init__(
        self,
        groups: Sequence[Indices],
        capacities: Indices,
        n_features: int | None = None,
    ) -> None:
        lists, listed = index_lists("groups", groups, "group"), index_list("capacities", capacities)
        core = CoreSetFunction("partition_rank", lists, listed, _n_features(n_features, lists))
        given = None if n_features is None else core.n_features
        self._define(core, groups=lists, capacities=listed, n_features=given)


class LogDet(SetFunction):
    """``F(A) = log det(I + kernel[A, A] / noise)``, natural logarithm: favours features that differ from each other.

    Parameters
    ----------
    kernel : array-like of shape (n_features, n_features)
        Symmetric and positive semidefinite.
    noise : float
        Positive; a variance.

    Examples
    --------
    >>> F = LogDet([[1.0, 0.5], [0.5, 1.0]], noise=1.0)
    >>> round(F([0, 1]), 6) == round(float(np.log(3.75)), 6)
    True
    """

    def __init__(self, kernel: npt.ArrayLike, noise: float) -> None:
        array, noise = float_array("kernel", kernel, ndim=2).copy(), number("noise", noise)
        self._define(CoreSetFunction("log_det", array, noise), kernel=array, noise=noise)


class FromOracle(SetFunction):
    """A set function from a callable of your own.

    Construction checks ``F([]) == 0`` and submodularity: on every set and pair of features up to 6 features, on 128
    random ones beyond. Gains take one call per feature: a family of this module with the same values is much faster.

    Parameters
    ----------
    callable : callable
        Takes a list of distinct indices in rising order, returns a number. What it raises goes through as it is,
        except from private fits of sums (:mod:`dpsparse.combinatorial`), where it counts as zeros.
    p : int
        Number of features.
    monotone : bool, optional
        Whether F is monotone; found by p + 1 more calls by default, which True is held against.

    Raises
    ------
    NotSubmodularError
        If a set A and features i, j have ``F(A+i) + F(A+j) < F(A+i+j) + F(A)``; the message shows them.
    InvalidArgumentError
        If a value is not a finite number or ``F([])`` is not 0.

    Examples
    --------
    >>> FromOracle(lambda A: len(A) ** 0.5, 4)([0, 1, 2, 3])
    2.0
    """

    def __init__(self, callable: Callable[[list[int]], float], p: int, *, monotone: bool | None = None) -> None:
        if not builtins.callable(callable):
            raise InvalidArgumentError(f"callable must take a list of indices, got {type(callable).__name__}")
        if monotone is not None and not isinstance(monotone, bool | np.bool_):
            raise InvalidArgumentError(f"monotone must be a bool or None, got {type(monotone).__name__}")
        p, monotone = count("p", p), None if monotone is None else bool(monotone)
        core = CoreSetFunction("oracle", callable, p, monotone)
        self._define(core, callable=callable, p=p, monotone=monotone)


class Sum(SetFunction):
    """``F + G``, as the operator makes it.

    Parameters
    ----------
    first, second : SetFunction
        On the same features.

    Examples
    --------
    >>> Cardinality(2) + ContiguousRange(2)
    Cardinality(2) + ContiguousRange(2)
    """

    def __init__(self, first: SetFunction, second: SetFunction) -> None:
        for name, side in (("first", first), ("second", second)):
            if not isinstance(side, SetFunction):
                raise InvalidArgumentError(f"{name} must be a set function, got {type(side).__name__}")
        self._define(first._core.plus(second._core), first=first, second=second)

    def __repr__(self) -> str:
        first, second = self._arguments["first"], self._arguments["second"]
        return f"{first!r} + ({second!r})" if isinstance(second, Sum) else f"{first!r} + {second!r}"


class Scaled(SetFunction):
    """``factor * F``, as the operator makes it.

    Parameters
    ----------
    factor : float
        Positive.
    function : SetFunction
        What is multiplied.

    Examples
    --------
    >>> 2.5 * Cardinality(2)
    2.5 * Cardinality(2)
    """

    def __init__(self, factor: float, function: SetFunction) -> None:
        if not isinstance(function, SetFunction):
            raise InvalidArgumentError(f"function must be a set function, got {type(function).__name__}")
        factor = number("factor", factor)
        self._define(function._core.times(factor), factor=factor, function=function)

    def __repr__(self) -> str:
        factor, function = self._arguments["factor"], self._arguments["function"]
        inner = f"({function!r})" if isinstance(function, Sum | Scaled) else repr(function)
        return f"{factor!r} * {inner}"
