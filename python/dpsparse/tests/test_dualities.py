"""Norms of set functions against their definitions, and exact fits against their duals."""

import numpy as np
import pytest

from dpsparse import SparseRegressor
from dpsparse.norms import GroupLasso
from dpsparse.set_functions import (
    Cardinality,
    ConcaveCardinality,
    ContiguousRange,
    FromOracle,
    GraphCut,
    GroupCover,
    LogDet,
    Modular,
    PartitionRank,
    SetFunction,
    Tree,
)
from dpsparse.testing import PenalisedProblem, check_duality, check_loss, check_set_function

FAMILIES: dict[str, SetFunction] = {
    "cardinality": Cardinality(4),
    "modular": Modular([1.0, 2.0, 0.5]),
    "concave cardinality": ConcaveCardinality([1.0, 1.5, 1.75]),
    "group cover": GroupCover([[0, 1], [1, 2], [3]], weights=[1.0, 2.0, 0.5]),
    "tree": Tree([[0, 1, 2, 3], [0, 1], [2, 3]], n_features=4),
    "graph cut": GraphCut([(0, 1), (1, 2), (2, 3)], n_features=4),
    "contiguous range": ContiguousRange(4),
    "partition rank": PartitionRank([[0, 1], [2, 3]], [1, 2]),
    "log det": LogDet(np.eye(3) + 0.2, 0.5),
    "sum": Cardinality(4) + 0.5 * ContiguousRange(4),
    "oracle": FromOracle(lambda members: min(len(members), 2), 4),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_set_functions_by_brute_force(name: str) -> None:
    """Submodularity, vertices, dual norms and proxes, against all subsets."""
    check_set_function(FAMILIES[name])


@pytest.mark.parametrize("name", ["cardinality", "group cover", "tree", "contiguous range", "graph cut"])
def test_exact_fits_have_no_gap(name: str) -> None:
    """A solution lies within its certified gap of every dual value."""
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((30, 4)), generator.standard_normal(30)
    check_duality(PenalisedProblem(X, y, FAMILIES[name], alpha=0.1), n_trials=10)


@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_exact_fits_of_groups_have_no_gap(l1: float) -> None:
    """The same of Euclidean norms of groups."""
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((30, 4)), generator.standard_normal(30)
    norm = GroupLasso([[0, 2], [1, 3]], weights=[1.0, 0.5], l1=l1)
    check_duality(PenalisedProblem(X, y, norm, alpha=0.1), n_trials=10)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared", "huber", "absolute", "pinball"])
def test_losses_keep_their_constants(loss: str) -> None:
    """Derivatives, convexity, Lipschitz constants and smoothness."""
    check_loss(loss, n_trials=200)


def test_a_gap_is_certified() -> None:
    """The gap of a fit is what its objective can still fall by at most: a longer run falls by no more."""
    generator = np.random.default_rng(1)
    X = generator.standard_normal((50, 8))
    y = X[:, 0] - X[:, 1] + generator.standard_normal(50)
    objective = []
    for tol in (1e-3, 1e-10):
        model = SparseRegressor(alpha=0.05, tol=tol).fit(X, y)
        residual = X @ model.coef_ + model.intercept_ - y
        objective.append(float(residual @ residual) / 100 + 0.05 * float(np.abs(model.coef_).sum()))
        if tol == 1e-3:
            gap = model.duality_gap_
    assert objective[1] <= objective[0] + 1e-12
    assert objective[0] - objective[1] <= gap + 1e-12
