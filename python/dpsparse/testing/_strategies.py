"""Hypothesis strategies: set functions of every family, and neighbouring data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from dpsparse import set_functions as families
from dpsparse._core import InvalidArgumentError
from dpsparse._validation import flag, number, positive_integer

Vector = npt.NDArray[np.float64]
Records = tuple[Vector, Vector]

_WEIGHTS = st.floats(0.1, 3.0).map(lambda w: round(w, 3))


def _groups(p: int, min_size: int = 1) -> st.SearchStrategy[list[list[int]]]:
    group = st.sets(st.integers(0, p - 1), min_size=1).map(sorted)
    return st.lists(group, min_size=min_size, max_size=p + 1)


@st.composite
def _group_cover(draw: Any, p: int) -> Any:
    groups = draw(_groups(p))
    groups += [[j] for j in range(p) if not any(j in group for group in groups)]
    weights = draw(st.none() | st.lists(_WEIGHTS, min_size=len(groups), max_size=len(groups)))
    return families.GroupCover(groups, weights, n_features=p)


@st.composite
def _tree(draw: Any, p: int) -> Any:
    """Draw nested groups by cutting a random order again and again."""
    order = draw(st.permutations(range(p)))
    groups: list[list[int]] = []

    def cut(low: int, high: int, depth: int) -> None:
        groups.append(sorted(order[low:high]))
        if high - low > 1 and depth < 3:
            middle = draw(st.integers(low + 1, high - 1))
            for part in draw(st.sampled_from([[(low, middle)], [(low, middle), (middle, high)]])):
                cut(part[0], part[1], depth + 1)

    cut(0, p, 0)
    weights = draw(st.lists(_WEIGHTS, min_size=len(groups), max_size=len(groups)))
    return families.Tree(groups, weights, n_features=p)


@st.composite
def _graph_cut(draw: Any, p: int) -> Any:
    pairs = [(i, j) for i in range(p) for j in range(i + 1, p)]
    chain = [(j, j + 1) for j in range(p - 1)]
    edges = draw(st.just(chain) | st.lists(st.sampled_from(pairs), min_size=1, max_size=2 * p))
    weights = draw(st.none() | st.lists(_WEIGHTS, min_size=len(edges), max_size=len(edges)))
    return families.GraphCut(edges, weights, n_features=p)


@st.composite
def _partition_rank(draw: Any, p: int) -> Any:
    labels = draw(st.lists(st.integers(0, 2), min_size=p, max_size=p))
    groups = [[j for j in range(p) if labels[j] == k] for k in sorted(set(labels))]
    return families.PartitionRank(groups, [draw(st.integers(1, p + 1)) for _ in groups])


@st.composite
def _log_det(draw: Any, p: int) -> Any:
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    root = generator.standard_normal((p, draw(st.integers(1, p))))
    kernel = root @ root.T + 0.1 * np.eye(p)
    return families.LogDet((kernel + kernel.T) / 2, draw(st.sampled_from([0.1, 1.0, 10.0])))


@st.composite
def _oracle(draw: Any, p: int) -> Any:
    """Draw a concave function of a modular one, hidden behind a callable."""
    weights = draw(st.lists(_WEIGHTS, min_size=p, max_size=p))
    return families.FromOracle(lambda A: float(np.sqrt(sum(weights[j] for j in A))), p)


@st.composite
def set_functions(draw: Any, max_features: int = 6, monotone: bool | None = None) -> Any:
    """Set functions of every family on 2 to ``max_features`` features.

    Parameters
    ----------
    max_features : int, default=6
        Most features.
    monotone : bool or None, default=None
        True for monotone ones only, False for the others (graph cuts), None for both. Every ``F([j])`` of a
        monotone one is positive, so that ``f(|theta|)`` is a norm.

    Returns
    -------
    hypothesis strategy
        Of :class:`~dpsparse.set_functions.SetFunction`.

    Examples
    --------
    >>> from dpsparse.testing import set_functions
    >>> norms = set_functions(max_features=3, monotone=True)  # for hypothesis.given
    """
    if positive_integer("max_features", max_features) < 2:
        raise InvalidArgumentError("max_features must be at least 2")
    if monotone is not None:
        monotone = flag("monotone", monotone)
    p = draw(st.integers(2, max_features))
    if monotone is False:
        return draw(_graph_cut(p))
    gains = st.lists(_WEIGHTS, min_size=p, max_size=p).map(lambda g: np.cumsum(sorted(g, reverse=True)))
    norms = st.one_of(
        st.just(families.Cardinality(p)),
        st.lists(_WEIGHTS, min_size=p, max_size=p).map(families.Modular),
        gains.map(families.ConcaveCardinality),
        st.just(families.ConcaveCardinality(np.ones(p))),
        _group_cover(p),
        _tree(p),
        st.just(families.ContiguousRange(p)),
        _partition_rank(p),
        _log_det(p),
        _oracle(p),
    )
    combined = st.one_of(
        norms,
        st.tuples(norms, norms).map(lambda pair: pair[0] + pair[1]),
        st.tuples(_WEIGHTS, norms).map(lambda pair: pair[0] * pair[1]),
    )
    return draw(combined if monotone else st.one_of(combined, _graph_cut(p)))


@st.composite
def neighbouring_datasets(
    draw: Any, max_samples: int = 8, max_features: int = 4, classification: bool = True, bound: float = 1.0
) -> tuple[Records, Records]:
    """Pairs of data sets (X, y), (X', y') that differ in one record.

    Parameters
    ----------
    max_samples, max_features : int, default=8, 4
        Largest sizes; there are at least 4 samples and 1 feature.
    classification : bool, default=True
        Labels -1 and +1, both present in both sets; otherwise targets in [-1, 1].
    bound : float, default=1.0
        Positive. Entries of X lie in [-bound, bound], often at its ends.

    Returns
    -------
    hypothesis strategy
        Of ``((X, y), (X', y'))``, float64 arrays.

    Examples
    --------
    >>> from dpsparse.testing import neighbouring_datasets
    >>> pairs = neighbouring_datasets(max_samples=4)  # for hypothesis.given
    """
    if positive_integer("max_samples", max_samples) < 4:
        raise InvalidArgumentError("max_samples must be at least 4")
    positive_integer("max_features", max_features)
    classification = flag("classification", classification)
    if not 0.0 < number("bound", bound) < np.inf:
        raise InvalidArgumentError("bound must be positive and finite")
    bound = float(bound)
    n, p = draw(st.integers(4, max_samples)), draw(st.integers(1, max_features))
    entry = st.one_of(st.sampled_from([-bound, 0.0, bound]), st.floats(-bound, bound))
    row = st.lists(entry, min_size=p, max_size=p)
    target = st.sampled_from([-1.0, 1.0]) if classification else st.floats(-1.0, 1.0)
    X = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=np.float64)
    y = np.array(draw(st.lists(target, min_size=n, max_size=n)), dtype=np.float64)
    if classification:
        y[:4] = [1.0, -1.0, 1.0, -1.0]
    k = draw(st.integers(0, n - 1))
    other_X, other_y = X.copy(), y.copy()
    other_X[k] = draw(row)
    other_y[k] = draw(target)
    return (X, y), (other_X, other_y)
