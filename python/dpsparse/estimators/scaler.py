"""Private scaling of features, before any other step."""

from __future__ import annotations

from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dpsparse import _core
from dpsparse._core import InvalidArgumentError, ScalerPlan
from dpsparse._origin import made_by
from dpsparse._validation import number, optional_number, positive_integer
from dpsparse.estimators._bounds import names_for, warn_of_default_bounds
from dpsparse.estimators._tables import (
    coefficient_names,
    column_count,
    feature_bounds,
    person_assumptions,
    read_again,
    read_encoded,
)
from dpsparse.estimators._validation import checked_ledger, core_arguments, public_count, read, seed
from dpsparse.estimators._whole import whole_or_nothing

__all__ = ["PrivateScaler"]

#: Lower and upper ends of one interval per feature.
_Box: TypeAlias = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def _widened(ranges: npt.NDArray[np.float64], bounds: _Box, margin: float) -> _Box:
    """Ranges widened by their margin within the bounds, or the bounds where a range has no width."""
    low, high = ranges.T
    lower, upper = (np.broadcast_to(side, low.shape) for side in bounds)
    with np.errstate(over="ignore"):  # ends beyond floats are beyond the bounds
        wider = 2.0 * (margin * (high / 2.0 - low / 2.0))
        starts, ends = np.maximum(low - wider, lower), np.minimum(high + wider, upper)
    flat = low == high
    return np.where(flat, lower, starts), np.where(flat, upper, ends)


def _centre(box: _Box) -> _Box:
    """Middles and half widths; the plain sum and difference of two ends could leave the floats."""
    starts, ends = box
    return starts / 2.0 + ends / 2.0, ends / 2.0 - starts / 2.0


class PrivateScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Map features to [-1, 1] by ranges that are found with differential privacy.

    For public bounds that are much wider than the data. ``fit`` spends its budget on two quantiles of every feature by
    the exponential mechanism; everything after uses them as public. ``y`` is not read.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy parameter of all ranges together, positive.
    delta : float, optional
        Privacy parameter in (0, 1). None: ``min(1/n**2, 1e-6)``; must be given under add-remove.
    bounds : pair, array of shape (n_features, 2) or mapping, optional
        Public bounds of the features, in a form that :class:`PrivateSparseClassifier` takes. Values outside are
        clipped, in silence. A feature whose bounds are equal is constant: it costs nothing. None: (-1, 1), with a
        ``DefaultBoundsWarning``.
    schema : Schema, optional
        Public facts about the columns of a table (:mod:`dpsparse.tables`), in place of ``bounds``: X is then a data
        frame, and its encoded columns are scaled.
    level : float, optional
        Quantile at the lower end of a range, in (0, 1/2); the upper end is the quantile 1 - level. None: the lowest
        that the budget finds reliably, by a public rule, between 0.1 and 0.25.
    margin : float, default 0.25
        What ``transform`` widens a range by on each side, in units of its width, never beyond the bounds; not negative.
    adjacency : {"replace-one", "add-remove"}, default "replace-one"
        Neighbouring relation. "add-remove" needs ``n_public`` and ``delta``.
    n_public : int, optional
        Public stand-in for the number of records under add-remove. Quantiles are those of the records themselves.
    records_per_person : int, default 1
        How many rows one person may own; the sensitivity is multiplied by it. Where a schema names persons, rows beyond
        are left out of a fit.
    ledger : Ledger or Accountant, optional
        Where the cost of a fit is written down before any record is read, and what refuses more than its total; a
        :class:`dpsparse.privacy.Ledger` is a file, an :class:`~dpsparse.privacy.Accountant` with a budget is in memory.
    random_state : None, int, RandomState or Generator, default None
        None: randomness from the operating system. Anything else makes the fit reproducible and **not private**.

    Attributes
    ----------
    ranges_ : ndarray of shape (n_features, 2)
        The released quantiles in the user's units, the lower one first, within the bounds; equal bounds as they are.
    level_ : float
        Quantile at the lower end (public).
    certificate_ : Certificate
        What the fit cost and assumed.
    schema_ : Schema
        The schema of the fit, where there was one.
    n_features_in_ : int
        Number of features; with a schema, of its attributes.
    feature_names_in_ : ndarray of str
        Feature names, when X had them; with a schema, its attributes.

    Notes
    -----
    Candidates are the values on a grid of 32767 over the bounds of a feature (fewer for thousands of features). With
    k = round(q n), the score of a value t is max(#{x < t} - k, k - #{x <= t}, 0). Replacing, adding or removing one
    record moves it by at most 1, the records of one person by at most ``records_per_person``: the sensitivity. Weights
    are exp(-epsilon0 score/(2 sensitivity)), drawn exactly; all choices have one epsilon0, the largest with which the
    accountant finds them (epsilon, delta)-differentially private together. Sparse records give what dense ones give;
    they are made dense on the way, 2 bytes an entry.

    With few records or a small budget quantiles are missed: ``plan(n_samples, n_features).reliable`` says so
    beforehand, by public facts alone.

    The cost adds to that of what is fitted next to the same people's records, in one accountant (see the examples).
    ``scale="private"`` inside an estimator divides one budget instead, and knows what its mechanism needs.

    References
    ----------
    Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates". Proofs:
    ``theory_of_privacy::selection`` and ``::noise_and_accounting``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from dpsparse import PrivateScaler, PrivateSparseClassifier
    >>> from dpsparse.privacy import Accountant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(50, 5, (5000, 4))
    >>> y = np.where(X[:, 1] > X[:, 2], "yes", "no")
    >>> scaler = PrivateScaler(epsilon=0.5, delta=1e-6, bounds=(0, 1000), random_state=0)
    >>> model = PrivateSparseClassifier(
    ...     epsilon=0.5, delta=1e-6, bounds=(-1, 1), classes=("no", "yes"), scale=None, random_state=0
    ... )
    >>> pipeline = make_pipeline(scaler, model).fit(X[:4000], y[:4000])
    >>> bool(pipeline.score(X[4000:], y[4000:]) > 0.9), scaler.ranges_.shape
    (True, (4, 2))

    What both cost together, less than the sum of the epsilons:

    >>> accountant = Accountant()
    >>> for event, count in scaler.certificate_.events + model.certificate_.events:
    ...     accountant = accountant.add(event, count)
    >>> bool(0.5 < accountant.epsilon(2e-6) < 1.0)
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        bounds: Any = None,
        schema: Any = None,
        level: float | None = None,
        margin: float = 0.25,
        adjacency: str = "replace-one",
        n_public: int | None = None,
        records_per_person: int = 1,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.schema = schema
        self.level = level
        self.margin = margin
        self.adjacency = adjacency
        self.n_public = n_public
        self.records_per_person = records_per_person
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int, n_features: int | None = None) -> ScalerPlan:
        """Plan a fit without any data: the level, and the events that it will spend.

        Parameters
        ----------
        n_samples : int
            Number of records. Under add-remove ``n_public`` is used instead.
        n_features : int, optional
            Number of features; None with a schema, which says it.

        Returns
        -------
        ScalerPlan
            With ``n_samples``, ``epsilon``, ``delta``, ``level``, ``reliable``, ``mechanism`` and ``events`` (pairs of
            event and count). ``fit`` spends exactly these events.

        Raises
        ------
        InvalidArgumentError
            If a parameter is out of its domain.
        """
        warn_of_default_bounds(self)
        plan = self._plan(n_samples, column_count(self, n_features), feature_bounds(self))
        return made_by(plan, self, n_samples, n_features)

    def _plan(self, n_samples: int, n_features: int, bounds: _Box) -> ScalerPlan:
        if not 0 <= number("margin", self.margin) < np.inf:
            raise InvalidArgumentError("margin must be finite and not negative")
        lower, upper = bounds
        return _core.plan_scaler(
            n_samples=public_count(self.adjacency, self.n_public, positive_integer("n_samples", n_samples)),
            n_features=positive_integer("n_features", n_features),
            lower=lower,
            upper=upper,
            epsilon=number("epsilon", self.epsilon),
            delta=optional_number("delta", self.delta),
            level=optional_number("level", self.level),
            adjacency=self.adjacency,
            records_per_person=positive_integer("records_per_person", self.records_per_person),
            assumptions=person_assumptions(self),
        )

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the ranges privately.

        Parameters
        ----------
        X : array-like or CSR/CSC matrix of shape (n_samples, n_features), or table
            Records; floats, booleans and integers of at most 32 bits are read without a copy. With a schema: a table
            with its columns.
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
        warn_of_default_bounds(self)
        X = read(self, X)
        bounds = feature_bounds(self, names_for(self))
        n_samples, n_features = X.shape
        plan = self._plan(n_samples, n_features, bounds)
        self.ranges_, self.certificate_ = _core.fit_scaler(
            plan, core_arguments(X)[0], seed=seed(self.random_state), ledger=checked_ledger(self.ledger)
        )
        self.level_ = plan.level
        self._box = _widened(self.ranges_, bounds, float(self.margin))
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Clip to the widened ranges and map these to [-1, 1].

        A range of no width is mapped by its public bounds; a constant feature becomes 0.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Entries in [-1, 1], float64 and dense.
        """
        check_is_fitted(self)
        X = read_again(self, X)
        starts, ends = self._box
        middle, half = _centre(self._box)
        constant = starts == ends
        scaled: npt.NDArray[np.float64] = np.clip(X.toarray() if sp.issparse(X) else X, starts, ends)
        scaled -= middle
        scaled /= np.where(constant, 1.0, half)
        np.clip(scaled, -1.0, 1.0, out=scaled)
        scaled[:, constant] = 0.0
        return scaled

    def inverse_transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Map [-1, 1] back to the widened ranges: values that ``transform`` clipped come back as the ends.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Scaled samples; entries beyond [-1, 1] are clipped.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Samples in the user's units, within the bounds.
        """
        check_is_fitted(self)
        X = read_encoded(self, X, len(self.ranges_))
        middle, half = _centre(self._box)
        values: npt.NDArray[np.float64] = np.clip(X, -1.0, 1.0)
        values *= half
        values += middle
        np.clip(values, *self._box, out=values)  # rounding
        return values

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the scaled columns: those of X or, with a schema, of its encoded columns."""
        check_is_fitted(self)
        if hasattr(self, "schema_"):
            return coefficient_names(self, len(self.ranges_))
        try:
            return np.asarray(super().get_feature_names_out(input_features), dtype=object)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"input_features must be None or the names of the columns: {error}") from error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
