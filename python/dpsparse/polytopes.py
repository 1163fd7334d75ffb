"""Constraint sets that need more than a name: disjoint groups and explicit vertices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import positive_integer
from dpsparse._weighted_l1 import check_options, weighted_l1
from dpsparse.norms import GroupLasso
from dpsparse.set_functions import SetFunction

__all__ = ["DisjointGroups", "Vertices"]


def _entries(values: Any) -> Any:
    """Return nested sequences and arrays as tuples, which compare and hash by value."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return values
    return tuple(map(_entries, values.tolist() if isinstance(values, np.ndarray) else values))


class _ByValue:
    """Equal where all fields hold equal numbers, in arrays or in lists."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _entries(vars(self).values()) == _entries(vars(other).values())

    def __hash__(self) -> int:
        return hash(_entries(vars(self).values()))


@dataclass(frozen=True, eq=False)
class DisjointGroups(_ByValue):
    """The ball ``{sum over groups of max |theta_j| <= radius}``: whole groups are selected together.

    Parameters
    ----------
    groups : sequence of int or of sequences of int
        One integer label per feature, or a list of index lists. The groups must be disjoint and cover every feature.

    Raises
    ------
    InvalidArgumentError
        Where index lists name a feature twice.

    Examples
    --------
    >>> DisjointGroups([0, 0, 1]).index_lists()
    [[0, 1], [2]]
    >>> DisjointGroups([[0, 1], [2]]).index_lists()
    [[0, 1], [2]]
    """

    groups: Sequence[int] | Sequence[Sequence[int]] | npt.NDArray[np.integer[Any]]

    def __post_init__(self) -> None:
        if isinstance(self.groups, np.ndarray) and self.groups.ndim == 1 and self.groups.dtype.kind != "O":
            return  # a label a feature, of which there may be millions: none is named twice
        try:
            named = [j for group in self.groups if np.ndim(group) == 1 for j in np.asarray(group).tolist()]
            twice = len(set(named)) < len(named)
        except (TypeError, ValueError):
            return  # what is no list of groups is told by index_lists
        if twice:
            raise InvalidArgumentError(
                "groups must be disjoint, each feature in one of them and once: set_functions.GroupCover takes groups "
                "that overlap"
            )

    def index_lists(self) -> list[list[int]]:
        """Return the groups as lists of feature indices.

        Raises
        ------
        InvalidArgumentError
            If an entry is not an integer or a sequence of integers.
        """
        try:
            entries = list(self.groups)
            if all(np.ndim(entry) == 0 for entry in entries):
                labels = np.asarray(entries)
                if labels.dtype.kind not in "iu":
                    raise TypeError("labels")
                return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
            lists = [np.asarray(entry) for entry in entries]
            if any(one.ndim != 1 or (one.size and one.dtype.kind not in "iu") or (one < 0).any() for one in lists):
                raise TypeError("indices")
            return [one.tolist() for one in lists]
        except TypeError as error:
            raise InvalidArgumentError(
                "groups must be one integer label per feature, or lists of non-negative feature indices"
            ) from error


@dataclass(frozen=True, eq=False)
class Vertices(_ByValue):
    """The convex hull of explicit vertices, in scaled units.

    Parameters
    ----------
    vertices : array-like of shape (n_vertices, n_features)
        Public. Entries are rounded to 2**-20 of the largest one. With an intercept, the hull also takes
        plus and minus the largest entry on the intercept.

    Examples
    --------
    >>> from dpsparse import PrivateSparseRegressor, Vertices
    >>> norm = Vertices([[1, 0], [0, 1], [-1, -1]])
    >>> model = PrivateSparseRegressor(norm=norm, bounds=(-1, 1), y_bounds=(0, 10), fit_intercept=False)
    >>> model.plan(10_000, 2).mechanism
    'frank-wolfe over the convex hull of explicit vertices, 98 iterations (auto: a ball with few vertices)'
    """

    vertices: npt.ArrayLike

    def rows(self, n_features: int | None = None) -> list[list[float]]:
        """Return the vertices as lists of floats.

        Parameters
        ----------
        n_features : int, optional
            Number of features that they must have. None: any.

        Raises
        ------
        InvalidArgumentError
            If they are not a two-dimensional array of numbers, or have another number of features.
        """
        try:
            array = np.asarray(self.vertices, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgumentError("vertices must be numbers") from error
        if n_features is not None:
            n_features = positive_integer("n_features", n_features)
        if array.ndim != 2 or n_features not in (None, array.shape[1]):
            wanted = "n_features" if n_features is None else f"n_features={n_features}"
            raise InvalidArgumentError(f"vertices must have shape (n_vertices, {wanted}), got {array.shape}")
        rows: list[list[float]] = array.tolist()
        return rows


def specification(norm: Any, n_features: int, *, weights: Any = None, positive: Any = False) -> dict[str, Any]:
    """Return what the Rust core takes for a ``norm`` argument and a number of features.

    Raises
    ------
    InvalidArgumentError
        For what is no norm, and for ``feature_weights`` or ``positive`` with a norm that takes none.
    """
    check_options(
        weights,
        positive,
        l1=isinstance(norm, str) and norm == "l1",
        group_lasso=isinstance(norm, GroupLasso),
        instead='; coefficients under norm="simplex" are not negative anyway',
    )
    given: dict[str, Any] = {"name": norm, "groups": None, "vertices": None, "function": None}
    if isinstance(norm, DisjointGroups):
        return given | {"name": "groups", "groups": norm.index_lists()}
    if isinstance(norm, Vertices):
        return given | {"name": "vertices", "vertices": norm.rows(n_features)}
    if isinstance(norm, SetFunction):
        return given | {"name": "set-function", "function": norm._core}
    if isinstance(norm, GroupLasso):
        return given | {"name": "group-lasso", "function": norm._core_with(positive=bool(positive))}
    if isinstance(norm, str):
        return given | {"function": weighted_l1(weights, bool(positive), n_features)}
    raise InvalidArgumentError(
        "norm must be 'l1', 'linf', 'simplex', DisjointGroups(...), Vertices(...), a set function or GroupLasso(...), "
        f"got {type(norm).__name__}"
    )
