"""Hyper-parameter search that is paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dpsparse import _core
from dpsparse._core import InvalidArgumentError
from dpsparse._origin import made_by, parts_of
from dpsparse._progress import progress
from dpsparse._validation import number, optional_number, optional_positive, positive_integer
from dpsparse.blocks import Blocks, Unchanged
from dpsparse.estimators._bounds import names_for, warn_of_default_bounds
from dpsparse.estimators._checkpoint import Checkpoint, kept_until_fitted
from dpsparse.estimators._linear import encode_many_labels
from dpsparse.estimators._search_plan import SearchPlan, Shares, plan_search
from dpsparse.estimators._tables import column_count, feature_bounds, person_assumptions, schema_of
from dpsparse.estimators._validation import (
    checked_ledger,
    core_arguments,
    public_count,
    read_weighted,
    real_targets,
    records,
    seed,
)
from dpsparse.estimators._weights import takes_weights
from dpsparse.estimators.counts import PrivateSparsePoissonRegressor
from dpsparse.estimators.intervals import Facts, keep_facts
from dpsparse.estimators.private import PrivateSparseClassifier, PrivateSparseRegressor, planned

__all__ = ["PrivateSearchCV", "SearchPlan"]

# Set by the search, or facts about the data that all candidates share.
_NOT_SEARCHED = {
    "epsilon": "the search divides its own",
    "delta": "the search sets it",
    "ledger": "the search has its own",
    "random_state": "the search has its own",
    "verbose": "it changes no model",
    "bounds": "candidates are compared on records with the same bounds",
    "schema": "candidates are compared on records with the same bounds",
    "y_bounds": "candidates are compared on records with the same bounds",
    "classes": "the labels are public facts",
    "adjacency": "a budget has one neighbouring relation",
    "n_public": "it is a public fact",
    "records_per_person": "it is a public fact",
    "max_weight": "it is a public fact",
}


def _best_has(name: str) -> Callable[[Any], bool]:
    """Whether the winner, or before a fit the estimator, has a method."""

    def check(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)  # its own AttributeError says why not
        return True

    return check


class PrivateSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Hyper-parameter search whose whole cost is paid for: every fit, the choice, and the refit.

    Trying k settings and keeping the best is k releases and a look at the data, not one release. Here the records are
    split once; every candidate is fitted on the training part; one of them is chosen by the exponential mechanism over
    its losses on the held-out part; the winner is fitted again on all records. ``certificate_`` holds the sum. Scores,
    ranks and losing models stay inside: they are not paid for separately.

    It is worth its price where candidates differ by more than the noise that the price adds: few candidates (two to
    four) that differ much, such as ``scale``, many records, epsilon not far below 1. The public rules behind ``None``
    cost nothing.

    Parameters
    ----------
    estimator : PrivateSparseClassifier, PrivateSparseRegressor or PrivateSparsePoissonRegressor
        Its ``epsilon``, ``delta`` and ``verbose`` are replaced: each fit gets a share of the search's. Its
        ``random_state`` is not used, since a search has one of its own, and its ``ledger`` must be None. Bounds,
        labels, neighbours and all other parameters are used. Subclasses and pipelines are refused: what else they do
        with the records is not accounted for.
    param_grid : dict or list of dict
        Lists of values by parameter name, as for scikit-learn's ``GridSearchCV``; public, so chosen without looking at
        the data. With ``n_candidates``, values may also be distributions with a method ``rvs``.
    epsilon : float, default 1.0
        Privacy of everything together, positive.
    delta : float, optional
        In (0, 1). None: ``min(1/n**2, 1e-6)``; must be given under add-remove.
    n_candidates : int, optional
        How many settings to draw from ``param_grid``, without looking at the data and the same at each fit. None: the
        whole grid.
    held_out : float, default 0.2
        Share of the records that are held out, between 0.05 and 0.45.
    selection_share : float, default 0.1
        Share of the zero-concentrated budget for the choice, strictly between 0 and 1.
    refit_share : float, default 0.5
        Share for the refit on all records, less than 1 together with ``selection_share``; what is left pays for the
        candidates. 0: the winner is kept as it was fitted.
    ledger : Ledger or Accountant, optional
        Where the cost of a search is written down before any record is read, and what refuses more than its total; a
        :class:`dpsparse.privacy.Ledger` is a file, an :class:`~dpsparse.privacy.Accountant` with a budget is in memory.
    random_state : None, int, RandomState or Generator, default None
        None: randomness from the operating system. Anything else makes the search reproducible and **not private**.
    verbose : bool or int, default 0
        Where not 0, stderr shows the progress of each fit.

    Attributes
    ----------
    best_estimator_ : estimator
        The winner, in the user's units, with ``certificate_`` of the whole search.
    best_params_ : dict
        The winning setting.
    best_index_ : int
        Its place among ``candidates_``.
    candidates_ : list of dict
        All settings tried (public).
    certificate_ : Certificate
        What everything cost and assumed.
    classes_ : ndarray of shape (n_classes,)
        Labels, for classifiers.
    schema_ : Schema
        The estimator's schema, where it has one.
    n_features_in_ : int
        Number of features; with a schema, of its attributes.
    feature_names_in_ : ndarray of str
        Feature names, when X had them; with a schema, its attributes.

    Notes
    -----
    **Score.** Classifiers, of two classes or more: number of held-out errors. Regressors: sum of min(residual**2, 1) in
    integer steps of 2**-16, with targets scaled to [-1, 1] by ``y_bounds``; of counts, squared differences of the roots
    of prediction and count over their upper bound. Each of them counts by the weight of its record over ``max_weight``,
    where records have weights. Features are clipped to ``bounds`` first, as in fits; where a model clips, to its own
    ``feature_ranges_`` too, and predictions then to ``y_bounds``, as in ``predict``.

    **Why it is private.** Neighbours are those of the estimator.

    1. *The split is one for both neighbours.* Replace-one: it is a random set of positions of a fixed size, drawn
       without the data; a person's records stand at the same positions in both data sets. Add-remove: a split by
       position would shift every later record, so each record gets an independent coin; give the records that both
       data sets share the same coins. Either way, given the split, the training parts (the held-out parts) of
       neighbours are neighbours or equal. Renyi and (epsilon, delta) bounds that hold for every split hold for the
       mixture, since the split has the same law on both sides. A part may be empty under add-remove: sums over it
       are 0.
    2. *Fits, choice and refit are composed one after the other*, the held-out part counted as if it were the training
       part, which holds for any split and for people with records in both parts. The fits' parameters are fixed in
       advance. Given their models, a score is a sum over held-out records of integers in [0, 2**16] that depend on the
       model and one record alone, so the choice has bounded range ``selection_epsilon`` (proof beside the code,
       ``held_out.rs``).
    3. *The refit's parameters depend on the choice*, so its events may not be added as they are. Bounds are used
       through their curves alone, and the certificate holds events whose curves lie above those of every candidate's
       refit (proof beside the code, ``dominating.rs``). Given any choice the refit keeps these, so composition with
       them is adaptive.

    No parallel composition of the two parts is used: it would save the choice's share only, and fail for people with
    records in both.

    References
    ----------
    Chaudhuri, Monteleoni & Sarwate (2011), section 6, for validation by the exponential mechanism; Liu & Talwar (2019)
    and Papernot & Steinke (2022) for the leak of unpaid searches.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSearchCV, PrivateSparseClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 20))
    >>> y = np.where(X[:, 3] > X[:, 7], "yes", "no")
    >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=("no", "yes"))
    >>> search = PrivateSearchCV(model, {"radius": [0.01, 10.0]}, epsilon=2.0, random_state=0).fit(X, y)
    >>> search.best_params_, bool(search.score(X, y) > 0.8)
    ({'radius': 10.0}, True)
    >>> search.certificate_.secure, search.certificate_.verify()
    (False, False)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        n_candidates: int | None = None,
        held_out: float = 0.2,
        selection_share: float = 0.1,
        refit_share: float = 0.5,
        ledger: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.n_candidates = n_candidates
        self.held_out = held_out
        self.selection_share = selection_share
        self.refit_share = refit_share
        self.ledger = ledger
        self.random_state = random_state
        self.verbose = verbose

    def plan(self, n_samples: int, n_features: int | None = None) -> SearchPlan:
        """Plan a search without any data.

        Parameters
        ----------
        n_samples : int
            Number of records. Under add-remove the estimator's ``n_public`` is used instead.
        n_features : int, optional
            Number of features; None where the estimator has a schema, which says it.

        Returns
        -------
        SearchPlan
            ``fit`` spends at most its ``events``.

        Raises
        ------
        InvalidArgumentError
            If a parameter is out of its domain, or the budget is too small for so many candidates.
        UnsoundMechanismError
            If a candidate has no proved guarantee.
        """
        settings = self._candidates()
        n_samples, n_features = positive_integer("n_samples", n_samples), column_count(self.estimator, n_features)
        if self.estimator.adjacency == "add-remove":
            n_samples = positive_integer("n_public", self.estimator.n_public)
        warn_of_default_bounds(self.estimator, self.estimator._default_targets)
        plan = self._planned(settings, n_samples, n_features, None, {}, self._max_weight())
        made_by(plan, self, n_samples, n_features)
        parts_of(plan, "fits", "refits")
        return plan

    def _planned(
        self,
        settings: list[dict[str, Any]],
        n_samples: int,
        n_features: int,
        names: Sequence[str] | None,
        about_targets: dict[str, Any],
        max_weight: float | None,
    ) -> SearchPlan:
        """Plan with what was read of the targets in the place of what is known without them."""
        share, shares = self._held_out_share(), self._shares()
        n_held_out = max(1, round(share * n_samples))
        n_train = n_samples - n_held_out
        if n_train < 2:
            raise InvalidArgumentError(f"X has n_samples={n_samples}: a search needs at least 3 records")
        epsilon, delta = number("epsilon", self.epsilon), self._delta(n_samples)
        lower, upper = feature_bounds(self.estimator, names)
        target = self.estimator._target_statement() | about_targets
        facts = _core.SearchFacts(
            n_samples=n_samples,
            n_features=n_features,
            n_held_out=n_held_out,
            share=share,
            lower=lower,
            upper=upper,
            y_bounds=target["y_bounds"],
            n_classes=target["n_classes"],
            counts=target["counts"],
            adjacency=self.estimator.adjacency,
            records_per_person=positive_integer("records_per_person", self.estimator.records_per_person),
            max_weight=max_weight,
        )

        public: dict[tuple[int, int], Facts] = {}

        def plan_of(k: int, n: int, level: float) -> _core.Plan:
            if (k, n) not in public:
                public[k, n] = self._candidate(settings[k], n, level, delta)._facts(n, n_features, names)
            statement, mechanism, options, scale = public[k, n]
            statement = {**statement, **about_targets, "epsilon": level}
            return planned((statement, mechanism, options, scale), facts)

        return plan_search(
            settings,
            plan_of,
            facts,
            n_train=n_train,
            n_held_out=n_held_out,
            shares=shares,
            epsilon=epsilon,
            delta=delta,
        )

    @takes_weights
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: Checkpoint = None) -> Self:
        """Search, choose and refit privately.

        Parameters
        ----------
        X : array-like or CSR/CSC matrix of shape (n_samples, n_features), or table
            Records; where the estimator has a schema, a table with its columns.
        y : array-like of shape (n_samples,)
            Labels or targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the records, in fits and in held-out losses; needs the estimator's ``max_weight``. None: all
            records count alike, and fully.
        checkpoint : path, optional
            A file that keeps the answers of the search, as of :meth:`PrivateSparseClassifier.fit`: one that was
            stopped goes on from there, whichever fit it was at. None: no file. Refused under add-remove: the file
            would hold the split of the records, which tells how many there are.

        Returns
        -------
        self

        Raises
        ------
        DpsparseError
            Before any budget is spent, as the estimator's ``fit``.
        """
        with kept_until_fitted(checkpoint) as kept:
            self._search(X, y, sample_weight, kept)
        return self

    def _search(self, X: Any, y: Any, sample_weight: Any, checkpoint: Path | None) -> None:
        self._check_estimator()
        reader = clone(self.estimator).set_params(random_state=self.random_state)
        X, y, weights = read_weighted(reader, X, y, sample_weight)
        max_weight = None if weights is None else self._max_weight()
        n_samples, n_features = X.shape
        settings = self._candidates()
        n_public = public_count(reader.adjacency, reader.n_public, n_samples)
        names = names_for(reader)
        labels, about_targets = None, dict[str, Any]()
        if isinstance(reader, PrivateSparseClassifier):
            labels, targets = encode_many_labels(y, reader.classes)
            about_targets = reader._about_labels(labels)
        else:
            targets = real_targets(y)
        plan = self._planned(settings, n_public, n_features, names, about_targets, max_weight)
        _check_storage(plan, reader, X, weights is not None)
        ledger = checked_ledger(self.ledger)
        X = Unchanged(X) if isinstance(X, Blocks) else X  # parts are read anew, beside targets that were read once
        x, y, sample_weight = core_arguments(X, targets, weights, schema_of(self.estimator))
        with progress(plan.mechanism.split(",")[0], self.verbose) as report:
            best, coefficients, intercepts, n_iter, released, certificate = plan.search.release(
                x,
                y,
                sample_weight=sample_weight,
                epsilon=plan.epsilon,
                delta=plan.delta,
                assumptions=[
                    "the candidates of the search were chosen without looking at the data",
                    *person_assumptions(reader),
                ],
                seed=seed(self.random_state),
                progress=report,
                ledger=ledger,
                checkpoint=checkpoint,
            )
        params, fitted = plan.candidates[best], (plan.refits or plan.fits)[best]
        # The plan's number of records is the public one, whatever the records are.
        winner = self._candidate(params, fitted.n_samples, fitted.epsilon, fitted.delta)
        facts = winner._facts(fitted.n_samples, n_features, names)
        facts[0].update(about_targets)
        facts[0]["max_weight"] = max_weight
        keep_facts(winner, facts)
        winner.set_params(random_state=self.estimator.random_state)
        winner.n_iter_ = n_iter
        winner._keep_ranges(released)
        self.certificate_ = winner.certificate_ = certificate
        if labels is None:
            winner.coef_, winner.intercept_ = coefficients, float(intercepts[0])
        else:
            winner.classes_ = self.classes_ = labels
            winner.coef_, winner.intercept_ = coefficients.reshape(len(intercepts), n_features), intercepts
        for name in ("n_features_in_", "feature_names_in_", "schema_"):
            if hasattr(reader, name):
                setattr(winner, name, getattr(reader, name))
                setattr(self, name, getattr(reader, name))
        self.best_estimator_ = winner
        self.best_index_, self.best_params_ = best, dict(params)
        self.candidates_ = [dict(params) for params in plan.candidates]

    # --- public facts ---

    def _takes_weights(self) -> bool:
        return getattr(self.estimator, "max_weight", None) is not None

    def _max_weight(self) -> float | None:
        return optional_positive("max_weight", getattr(self.estimator, "max_weight", None))

    def _check_estimator(self) -> None:
        if type(self.estimator) not in (PrivateSparseClassifier, PrivateSparseRegressor, PrivateSparsePoissonRegressor):
            raise InvalidArgumentError(
                "estimator must be a PrivateSparseClassifier, a PrivateSparseRegressor or a "
                "PrivateSparsePoissonRegressor; what subclasses, pipelines and other estimators do with the records is "
                "not accounted for"
            )
        if self.estimator.ledger is not None:
            raise InvalidArgumentError("ledger is the search's own: leave the estimator's at None")
        if self.estimator.adjacency not in ("replace-one", "add-remove"):
            raise InvalidArgumentError("adjacency must be 'replace-one' or 'add-remove'")

    def _candidates(self) -> list[dict[str, Any]]:
        self._check_estimator()
        grids = [self.param_grid] if isinstance(self.param_grid, dict) and self.param_grid else self.param_grid
        problem = "param_grid must be a dict of lists, or a list of them"
        if not isinstance(grids, list | tuple) or not all(isinstance(grid, dict) for grid in grids):
            raise InvalidArgumentError(problem)
        known = self.estimator.get_params(deep=False)
        for name in [name for grid in grids for name in grid]:
            if name not in known:
                raise InvalidArgumentError(f"param_grid: {name!r} is not a parameter of the estimator")
            if name in _NOT_SEARCHED:
                raise InvalidArgumentError(f"param_grid must not hold {name!r}: {_NOT_SEARCHED[name]}")
        try:
            if self.n_candidates is None:
                candidates = list(ParameterGrid(list(grids)))
            else:
                count = positive_integer("n_candidates", self.n_candidates)
                whole = not any(hasattr(v, "rvs") for grid in grids for v in grid.values())
                if whole and count > len(ParameterGrid(list(grids))):
                    raise InvalidArgumentError("n_candidates is larger than the grid")
                # A public draw: its seed must not change between a plan and its fit.
                candidates = list(ParameterSampler(list(grids), count, random_state=0))
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidArgumentError):
                raise
            raise InvalidArgumentError(problem) from error
        if not candidates:
            raise InvalidArgumentError("param_grid holds no candidate")
        return candidates

    def _held_out_share(self) -> float:
        share = number("held_out", self.held_out)
        if not 0.05 <= share <= 0.45:
            raise InvalidArgumentError("held_out must lie between 0.05 and 0.45")
        return share

    def _shares(self) -> Shares:
        selection, refit = number("selection_share", self.selection_share), number("refit_share", self.refit_share)
        if not 0.0 < selection < 1.0:
            raise InvalidArgumentError("selection_share must lie strictly between 0 and 1")
        if not (0.0 <= refit < 1.0 and selection + refit < 1.0):
            raise InvalidArgumentError("refit_share must be at least 0, and less than 1 together with selection_share")
        return Shares(1.0 - selection - refit, selection, refit)

    def _delta(self, n_samples: int) -> float:
        delta = optional_number("delta", self.delta)
        if delta is None:
            if self.estimator.adjacency == "add-remove":
                raise InvalidArgumentError(
                    "delta must be given under add-remove, where the number of records is private"
                )
            return min(float(n_samples) ** -2, 1e-6)
        return delta

    def _candidate(self, params: dict[str, Any], n: int, epsilon: float, delta: float) -> Any:
        candidate = clone(self.estimator).set_params(**params)
        candidate.set_params(epsilon=epsilon, delta=delta, random_state=None, verbose=self.verbose)
        if candidate.adjacency == "add-remove":
            candidate.set_params(n_public=n)
        return candidate

    # --- what the winner does ---

    @property
    def n_iter_(self) -> int:
        """Iterations of the winner (public)."""
        check_is_fitted(self, "best_estimator_")
        return int(self.best_estimator_.n_iter_)

    @available_if(_best_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict with the winner.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels or targets.
        """
        return self._best.predict(X)  # type: ignore[no-any-return]

    @available_if(_best_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the margins of the winner, for classifiers.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive where ``classes_[1]`` is predicted.
        """
        return self._best.decision_function(X)  # type: ignore[no-any-return]

    @available_if(_best_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict probabilities with the winner, where its loss is logistic.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Rows sum to 1.
        """
        return self._best.predict_proba(X)  # type: ignore[no-any-return]

    @available_if(_best_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict logarithms of probabilities with the winner, where its loss is logistic.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Natural logarithms of :meth:`predict_proba`.
        """
        return self._best.predict_log_proba(X)  # type: ignore[no-any-return]

    @available_if(_best_has("score"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score the winner on other records: accuracy, or R^2.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels or targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples. None: all count alike.

        Returns
        -------
        float
            Not private where the records are: the score of private records is a release of its own.
        """
        return float(self._best.score(X, y, sample_weight))

    def to_json(self) -> str:
        """Return the winner as JSON text, with the certificate of the whole search.

        Returns
        -------
        str
            As of :func:`dpsparse.models.dumps`; the winner's class, or :func:`dpsparse.models.load`, reads it.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before a fit.
        """
        from dpsparse.models import dumps

        return dumps(self)

    @property
    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        theirs = get_tags(self.estimator)
        tags.estimator_type = theirs.estimator_type
        tags.classifier_tags, tags.regressor_tags = theirs.classifier_tags, theirs.regressor_tags
        tags.input_tags.sparse = theirs.input_tags.sparse
        tags.target_tags.required = theirs.target_tags.required
        return tags


def _check_storage(plan: SearchPlan, reader: Any, X: Any, weighted: bool) -> None:
    """Refuse what a later candidate would refuse, before the first one spends: it depends on how X is stored alone."""
    if not sp.issparse(X):
        return
    empty = records(type(X)((1, X.shape[1]), dtype=X.dtype))
    target = np.array([1.0 if isinstance(reader, PrivateSparseClassifier) else 0.0])
    for fitted in plan.fits:
        _core.check_storage(fitted, empty, target, sample_weight=np.ones(1) if weighted else None)
