"""The open data sets as private problems, and the choice among all sets by name."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import accuracy_people
from _timing import shared
from accuracy_problem import OPEN, PEOPLE, Problem

#: Public bounds on the Euclidean norm of a row in [0, 1]: at most one 1 in each of so many one-hot attributes.
ROW_NORMS = {"a9a": 14**0.5, "dna_splice": 60**0.5}


def problems(names: Iterable[str] | None) -> Iterator[Problem]:
    """Load sets by the names of sets or collections, all of the shared folder where None; say why one is left out."""
    folder = shared("data")
    if folder is None:
        return
    sys.path.insert(0, str(folder))
    import load

    collections = {OPEN: load.names(), PEOPLE: accuracy_people.names()}
    wanted = [each for name in names or collections for each in collections.get(name, [name])]
    for name in dict.fromkeys(wanted):
        try:
            people = name in collections[PEOPLE]
            problem = accuracy_people.problem(name) if people else _problem(load.load(name))
        except (ValueError, OSError, ImportError) as reason:
            print(f"  skipped: {name}: {reason}")
            continue
        yield problem


def _problem(data: Any) -> Problem:
    regression = data.task == "regression"
    X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
    bounds, row_norm = data.bounds, ROW_NORMS.get(data.name)
    text = sp.issparse(X) and data.groups is None
    if text:
        X, X_test, bounds, row_norm = _unit_rows(X), _unit_rows(X_test), (0.0, 1.0), 1.0
    if regression:
        X, y = np.vstack([X, X_test]), np.concatenate([y, y_test])
    return Problem(
        data.name,
        OPEN,
        data.task,
        X,
        y,
        X_test,
        y_test,
        bounds,
        None if regression else (-1, 1),
        data.y_bounds,
        data.groups,
        row_norm,
        offers={} if row_norm is None else {"row_norm": row_norm},
        fit_intercept=not text,
        resplit=regression,
        adjacency="add-remove" if regression else "replace-one",
    )


def _unit_rows(X: sp.csr_matrix) -> sp.csr_matrix:
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1 / np.where(norms > 0, norms, 1)) @ X)
