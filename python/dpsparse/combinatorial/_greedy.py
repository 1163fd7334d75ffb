"""What the private greedy estimators share: budget, plan, fit."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dpsparse import _core
from dpsparse._core import GreedyPlan, InvalidArgumentError, InvalidDataError
from dpsparse._origin import made_by
from dpsparse._validation import number, optional_number, positive_integer
from dpsparse.blocks import Blocks
from dpsparse.distributed import Shards
from dpsparse.distributed._dask import is_dask
from dpsparse.estimators._columns import check_columns
from dpsparse.estimators._sklearn_checks import without_values
from dpsparse.estimators._validation import checked_ledger, core_arguments, public_count, read, seed
from dpsparse.estimators._whole import whole_or_nothing


class PrivateGreedy(BaseEstimator):
    """Choose ``n_selected`` columns, one after the other, by how much each adds for the people who are rows."""

    n_selected: Any
    epsilon: Any
    delta: Any
    adjacency: Any
    n_public: Any
    records_per_person: Any
    ledger: Any
    random_state: Any

    def plan(self, n_samples: int, n_features: int) -> GreedyPlan:
        """Plan a fit without any data: the events that it will spend.

        Parameters
        ----------
        n_samples : int
            Number of people. Under add-remove ``n_public`` is used instead.
        n_features : int
            Number of elements to choose from.

        Returns
        -------
        GreedyPlan
            With ``n_samples``, ``n_selected``, ``epsilon``, ``delta``, ``mechanism``, ``events`` (pairs of event and
            count) and ``shortfall(beta)``: by how much a choice may fall short of the best one, in people.

        Raises
        ------
        InvalidArgumentError
            If a parameter is out of its domain.
        """
        self._check_elements(positive_integer("n_features", n_features))
        plan = _core.plan_greedy(
            n_samples=public_count(self.adjacency, self.n_public, positive_integer("n_samples", n_samples)),
            n_features=n_features,
            n_selected=positive_integer("n_selected", self.n_selected),
            epsilon=number("epsilon", self.epsilon),
            delta=optional_number("delta", self.delta),
            adjacency=self.adjacency,
            records_per_person=positive_integer("records_per_person", self.records_per_person),
            assumptions=[],
        )
        return made_by(plan, self, n_samples, n_features)

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the elements privately.

        Parameters
        ----------
        X : array-like or CSR/CSC matrix of shape (n_people, n_elements), or data frame
            What each element is worth to each person.
        y : object, optional
            Not read.

        Returns
        -------
        self

        Raises
        ------
        DpsparseError
            Before any budget is spent: a parameter out of its domain (``InvalidArgumentError``) or unusable records
            (``InvalidDataError``).
        """
        if isinstance(X, Blocks | Shards) or is_dask(X):
            raise InvalidArgumentError("X must be in memory: values are made of its entries there")
        X = well_formed(read(self, X))
        plan = self.plan(*X.shape)
        self.ranking_, self.certificate_ = self._chosen(plan, X)
        self.support_ = np.sort(self.ranking_)
        return self

    def _chosen(self, plan: GreedyPlan, X: Any) -> tuple[npt.NDArray[np.intp], Any]:
        values = core_arguments(self._values(X))[0]
        chosen, certificate = _core.fit_greedy(
            plan, values, seed=seed(self.random_state), ledger=checked_ledger(self.ledger)
        )
        return np.array(chosen, dtype=np.intp), certificate

    def value(self, X: Any) -> float:
        """Return the mean over people of the best value of a chosen element: exact, so **not private** for them.

        Parameters
        ----------
        X : array-like or CSR/CSC matrix of shape (n_people, n_elements), or data frame
            People, those of the fit or others.

        Returns
        -------
        float
            ``F(support_) / n``, between 0 and the largest worth of an element.

        Raises
        ------
        InvalidDataError
            For unusable records; messages hold no entry of them.
        """
        check_is_fitted(self)
        X = check_columns(X)
        X = without_values(lambda: validate_data(self, X, accept_sparse=["csr", "csc"], dtype=np.float64, reset=False))
        values = self._values(well_formed(X))[:, self.support_]
        values = values.toarray() if hasattr(values, "toarray") else values
        best = np.clip(np.max(values, axis=1), 0.0, 1.0)
        return float(np.mean(best)) * self._unit()

    def _check_elements(self, n_features: int) -> None:
        """Refuse what is said of elements that does not fit their number."""

    def _unit(self) -> float:
        """Return what a value of 1 is worth."""
        return 1.0

    @abstractmethod
    def _values(self, X: Any) -> Any:
        """Return what each element is worth to each person, in [0, 1] as far as it counts."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def well_formed(X: Any) -> Any:
    """Return X; a sparse matrix as one of its own whose entries are each in a place of their own.

    Raises
    ------
    InvalidDataError
        For a sparse matrix whose index arrays contradict each other; the text holds no value.
    """
    if not sp.issparse(X):
        return X
    # Operators of scipy sum duplicates in the matrix that they are given, and read where its indices point to.
    try:
        own = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
        own.check_format(full_check=True)
        if (own.indptr[1:] < own.indptr[:-1]).any():  # scipy looks only where the last pointer is positive
            raise ValueError("indptr")
    except (ValueError, TypeError, IndexError):
        problem = "X is no well-formed sparse matrix: its indices and indptr contradict each other or its shape"
        raise InvalidDataError(problem) from None
    if not own.has_canonical_format:
        own = own.copy()
        own.sum_duplicates()
    return own


def refuse_missing(X: Any) -> None:
    """Refuse entries that are no numbers, before they are made ones.

    Raises
    ------
    InvalidDataError
        For NaN or infinity; the text holds no value.
    """
    entries = X.data if hasattr(X, "indptr") else X
    if entries.dtype.kind == "f" and not np.isfinite(entries).all():
        raise InvalidDataError("X contains NaN or infinity; impute or drop such entries first")
