"""Trees of levels as columns: an indicator for every node, so that levels share what their families have in common.

The indicators of a node and of all above it are a public map of one cell. Shrinkage that draws coefficients to zero
draws a level to its family then, and a family to its own: what few records say of a level is filled up by what many say
of the family. Hay, Rastogi, Miklau & Suciu (2010) release counts by such trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import is_whole
from dpsparse.tables._column import MISSING, Term

__all__ = ["BRANCHES", "Nodes", "interval_pairs", "nodes", "tree_pairs"]

#: Intervals of levels in an order are split into so many.
BRANCHES = 4


@dataclass(frozen=True)
class Nodes:
    """The public map of levels to the nodes of a tree.

    A node has a column, which is 1 for its own level and for all levels below it, but for two kinds of nodes: one that
    holds all levels says nothing, and one that holds the same levels as another says nothing new.

    Parameters
    ----------
    labels : tuple of str
        Names of the levels, one for each code.
    inner : tuple of str
        Names of the nodes that are no levels.
    above : mapping of str to str
        The node above a level or a node; none for those at the top.
    missing : bool
        Whether one code more, after those of the levels, stands for a missing value: an indicator of its own.
    """

    labels: tuple[str, ...]
    inner: tuple[str, ...]
    above: Mapping[str, str]
    missing: bool = False

    def _path(self, label: str) -> list[str]:
        """Return a node and those above it, from the bottom."""
        path = [label]
        while path[-1] in self.above:
            path.append(self.above[path[-1]])
        return path

    @cached_property
    def _members(self) -> dict[str, list[int]]:
        """The codes below each node."""
        members: dict[str, list[int]] = {label: [] for label in (*self.labels, *self.inner)}
        for code, label in enumerate(self.labels):
            for node in self._path(label):
                members[node].append(code)
        return members

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The nodes that have a column: levels first."""
        seen: set[tuple[int, ...]] = {tuple(range(len(self.labels)))}
        kept = []
        for node, members in self._members.items():
            if tuple(members) not in seen:
                seen.add(tuple(members))
                kept.append(node)
        return tuple(kept)

    @cached_property
    def matrix(self) -> sp.csr_array:
        """One row for each code, of shape (n_codes, n_columns)."""
        listed = [self._members[node] for node in self.kept] + [[len(self.labels)]] * self.missing
        cols = np.repeat(np.arange(len(listed)), [len(members) for members in listed])
        shape = len(self.labels) + self.missing, len(listed)
        return sp.csr_array((np.ones(len(cols)), (np.concatenate(listed), cols)), shape=shape)

    def encode(self, codes: npt.NDArray[np.intp]) -> sp.csr_array:
        """Return the rows of the codes, of shape (n_rows, n_columns)."""
        return self.matrix[codes]

    def terms(self, name: str) -> list[Term]:
        """Describe the columns of an attribute."""
        kept = set(self.kept)
        listed = []
        for node in self.kept:
            parent = next((up for up in self._path(node)[1:] if up in kept), None)
            listed.append(Term(name, node, 0.0, 1.0, parent=parent))
        return [*listed, *([Term(name, MISSING, 0.0, 1.0)] * self.missing)]

    def squared_norm(self) -> float:
        """Largest number of nodes of a level: they are its ones."""
        return float(self.most_nonzero())

    def most_nonzero(self) -> int:
        """Largest number of entries of a row that are not zero."""
        return int(np.diff(self.matrix.indptr).max())


def nodes(levels: Sequence[Any], pairs: Sequence[tuple[Any, Any]], *, missing: bool) -> Nodes:
    """Return the nodes of an attribute, from the pairs of a tree that was checked.

    Raises
    ------
    InvalidArgumentError
        For names of levels and nodes that are not different, and for fewer than two levels.
    """
    every = list(dict.fromkeys([*levels, *(part for pair in pairs for part in pair)]))
    names = list(map(str, every))
    if len(set(names)) < len(names):
        raise InvalidArgumentError("levels and the nodes of their tree must have different names")
    if missing and MISSING in names:
        raise InvalidArgumentError(f"no level and no node may be {MISSING!r}, which missing values have")
    if len(levels) + missing < 2:
        raise InvalidArgumentError("an attribute needs at least two levels: with one it is the same for everybody")
    above = {str(child): str(parent) for child, parent in pairs}
    return Nodes(tuple(names[: len(levels)]), tuple(names[len(levels) :]), above, missing)


def tree_pairs(tree: Any, levels: Sequence[Any]) -> tuple[tuple[Any, Any], ...]:
    """Return a tree over levels as pairs of a level or node, and the node above it.

    Parameters
    ----------
    tree : mapping or sequence of pairs
        A mapping of levels and nodes to the node above each; or of nodes to what is below each, a sequence of levels or
        again such a mapping; or pairs of a level or node and the one above it.
    levels : sequence
        The levels.

    Raises
    ------
    InvalidArgumentError
        For anything else; for a level or node below two nodes, or below itself; for a node without levels.
    """
    pairs = tuple((_plain(child), _plain(parent)) for child, parent in _listed(tree))
    above = dict(pairs)
    if len(above) < len(pairs):
        raise InvalidArgumentError("tree: a level or node is below two nodes")
    parents = set(above.values())
    for child in above:
        if child not in parents and child not in levels:
            raise InvalidArgumentError(f"tree: {child!r} is no level, and has none below it")
    for start in above:
        node, steps = start, 0
        while node in above:
            node, steps = above[node], steps + 1
            if steps > len(above):
                raise InvalidArgumentError(f"tree: {start!r} is below itself, or below a node that is")
    if not pairs:
        raise InvalidArgumentError("tree must have a level below a node")
    return pairs


def interval_pairs(labels: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the tree of the intervals of 4, 16, ... levels in an order, as :func:`tree_pairs` does.

    Raises
    ------
    InvalidArgumentError
        For a level that has the name of an interval, as "1..4".
    """
    size = 1

    def name(start: int, size: int) -> str:
        last = min(start + size, len(labels)) - 1
        return labels[start] if start == last else f"{labels[start]}..{labels[last]}"

    above: dict[str, str] = {}
    while size < len(labels):
        for start in range(0, len(labels), size):
            child, parent = name(start, size), name(start - start % (BRANCHES * size), BRANCHES * size)
            if child != parent:
                above[child] = parent
        size *= BRANCHES
    if set(above.values()) & set(labels):
        raise InvalidArgumentError("a level has the name of an interval of levels")
    return tuple(above.items())


def _listed(tree: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of a tree, not checked."""
    problem = "tree must map levels and nodes to the node above each, or nodes to the levels or nodes below each"
    if isinstance(tree, Mapping):
        if not any(_is_many(value) for value in tree.values()):
            return list(tree.items())
        pairs: list[tuple[Any, Any]] = []
        for node, below in tree.items():
            if not _is_many(below) or not below:
                raise InvalidArgumentError(problem)
            if isinstance(below, Mapping):
                pairs += [(child, node) for child in below]
                pairs += _listed(below)
            else:
                pairs += [(child, node) for child in below]
        return pairs
    if isinstance(tree, str) or not isinstance(tree, Sequence):
        raise InvalidArgumentError(problem)
    if not all(_is_many(pair) and not isinstance(pair, Mapping) and len(pair) == 2 for pair in tree):
        raise InvalidArgumentError(problem)
    return [(child, parent) for child, parent in tree]


def _is_many(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str | bytes))


def _plain(label: Any) -> Any:
    """Return the name of a level or node, checked: text or an integer."""
    if isinstance(label, str):
        return str(label)
    if is_whole(label):
        return int(label)
    raise InvalidArgumentError("tree: levels and nodes must be text or integers")
