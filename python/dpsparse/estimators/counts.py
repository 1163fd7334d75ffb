"""Private sparse models of counts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from dpsparse._validation import optional_number
from dpsparse.estimators._bounds import count_bounds, warn_of_default_bounds
from dpsparse.estimators._checkpoint import Checkpoint, kept_until_fitted
from dpsparse.estimators._linear import LogLinkRegressorMixin
from dpsparse.estimators._validation import read_weighted, real_targets
from dpsparse.estimators._weights import takes_weights
from dpsparse.estimators.private import _PrivateSparse

__all__ = ["PrivateSparsePoissonRegressor"]


class PrivateSparsePoissonRegressor(LogLinkRegressorMixin, RegressorMixin, _PrivateSparse):
    """Sparse Poisson regression of counts with differential privacy for the records it is fitted on.

    The logarithm of the rate is linear, ``log m = x coef_ + intercept_``: ``exp(coef_[j])`` is a rate ratio, the factor
    of the expected count per unit of feature j. Minimises the mean of half the Poisson deviance over sparse models,
    privately. Counts are clipped to ``y_bounds``, and the derivative ``m - y`` of the loss is clamped. Everything else
    is as in :class:`PrivateSparseClassifier`.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy parameter, positive.
    delta : float, optional
        Privacy parameter in (0, 1). None: ``min(1/n**2, 1e-6)``; must be given under add-remove.
    norm : {"l1", "linf", "simplex"}, DisjointGroups, Vertices, SetFunction or GroupLasso, default "l1"
        Shape of the set of models, or of the penalty; not every mechanism takes every norm. Mechanisms that can do
        without leave it out where neither ``alpha`` nor ``radius`` nor ``threshold`` is set.
    radius : float, optional
        Its size, in scaled units (features mapped to [-1, 1] by their bounds). None: no bound, or where the mechanism
        takes one 4.
    alpha : float, optional
        Penalty per unit of the norm, in scaled units, for the penalised form. None: no penalty.
    l1_ratio : float, optional
        In (0, 1]: the elastic net, ``alpha * l1_ratio * Omega(theta) + alpha * (1 - l1_ratio) / 2 * |theta|_2^2`` in
        scaled units; excludes ``ridge``. For mechanisms that take ``alpha`` and a ridge. None: ``ridge`` as it is.
    feature_weights : array-like of shape (n_features,), optional
        For ``norm="l1"``: the norm is the sum of ``feature_weights * |theta|``, public, one weight for each (encoded)
        column; a feature of weight 0 is not penalised, which needs ``alpha``. None: all are 1.
    positive : bool, default False
        Whether no coefficient may be negative, for ``norm="l1"`` and ``GroupLasso``. Taken by "auto" (noisy proximal
        gradients without ``alpha`` and ``radius``), "noisy-newton" with one of these, "noisy-proximal-gradient",
        "mirror-descent", "noisy-gradient-frank-wolfe", "output-perturbation" and "objective-perturbation".
    mechanism : str or mechanism object, default "auto"
        As of :class:`PrivateSparseRegressor`; all of them take counts but "simplex-sampling", since the clamp bounds
        the slope of the loss.
    bounds : pair, array of shape (n_features, 2) or mapping, optional
        Public bounds of the features, as in :class:`PrivateSparseClassifier`.
    y_bounds : pair (lower, upper), optional
        Public bounds of the counts, in their own unit, ``0 <= lower < upper``. Values outside are clipped, in silence;
        they need not be integers. None: (0, 1), with a ``DefaultBoundsWarning``.
    residual_bound : float, optional
        Clamp of the difference of rate and count, in units of the spread of counts where that is released, else of
        ``y_bounds[1] / 8`` (without an intercept: in units of the counts). None: 1, and more as noise gets small
        where the spread is released.
    schema : Schema, optional
        Public facts about the columns of a table, as in :class:`PrivateSparseClassifier`.
    row_norm : float, optional
        Public bound on the Euclidean norm of a scaled row, for mechanisms that use it ("linf", groups).
    scale : {"auto", "private", None}, default "auto"
        Private scales of the features, see :class:`PrivateSparseClassifier`, and of the counts: their median and a
        quantile of the distances from it, two choices by the exponential mechanism, in models with an intercept.
    fit_intercept : bool, default True
        The intercept is private too, and part of the ball.
    n_iter : int, optional
        Iterations. None: a public rule. Under "auto" a number means a mechanism that takes public bounds as they are,
        Frank-Wolfe where nothing else is asked for: a named one and ``scale="private"`` are better where they are wide.
    ridge : float, optional
        Factor of the squared Euclidean norm of the coefficients, halved, in scaled units, for mechanisms that use it.
        Under "auto" it costs no privacy, and leaves the intercept alone. None: none, or the mechanism's own rule.
    adjacency : {"replace-one", "add-remove"}, default "replace-one"
        Neighbouring relation. "add-remove" needs ``n_public`` and ``delta``.
    n_public : int, optional
        Public stand-in for the number of records under add-remove. Half of them costs "auto" little; with too many it
        takes few records for enough.
    records_per_person : int, default 1
        How many rows one person may own; sensitivities are multiplied by it. Where a schema names persons, rows beyond
        are left out of a fit.
    max_weight : float, optional
        Public largest weight of a record, positive, chosen without looking at the weights. It lets ``fit`` take
        ``sample_weight``; larger weights are clipped to it. See the Notes of :class:`PrivateSparseClassifier`. None: no
        weights.
    ledger : Ledger or Accountant, optional
        Where the cost of a fit is written down before any record is read, and what refuses more than its total; a
        :class:`dpsparse.privacy.Ledger` is a file, an :class:`~dpsparse.privacy.Accountant` with a budget is in memory.
    random_state : None, int, RandomState or Generator, default None
        None: randomness from the operating system. Anything else makes the fit reproducible and **not private**.
    verbose : bool or int, default 0
        Where not 0, progress is shown on stderr.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Logarithms of rate ratios per unit of the features.
    intercept_ : float
        Logarithm of the rate where all features are 0.
    feature_ranges_ : ndarray of shape (n_features, 2) or None
        Released ranges that features are clipped to before ``coef_`` and ``intercept_`` apply, in fits and in
        predictions alike; None where there are none.
    support_ : ndarray of int
        Indices of the non-zero coefficients.
    target_bounds_ : tuple of float
        ``y_bounds``, which predictions are clipped to, as counts were in the fit.
    certificate_ : Certificate
        What the fit cost and assumed.
    n_iter_ : int
        Iterations made (public).
    coef_names_ : ndarray of str
        Names of the coefficients: with a schema those of its encoded columns, such as "education=degree".
    schema_ : Schema
        The schema of the fit, where there was one.
    n_features_in_ : int
        Number of features; with a schema, of its attributes.
    feature_names_in_ : ndarray of str
        Feature names, when X had them; with a schema, its attributes.

    Notes
    -----
    "auto" chooses as for :class:`PrivateSparseRegressor`; where n and epsilon are too small for any model, one rate
    near the mean of the counts, by one choice of the exponential mechanism. A clamp biases the rates of a skewed law
    downwards, and what noise shrinks is too small: in "auto" with noisy Newton steps a last line through the released
    log rates, from two coefficients and with a wide clamp, moves the constant and multiplies all coefficients, so that
    rates are right on average and ``exp(coef_)`` are rate ratios. Other mechanisms have no such line.

    References
    ----------
    McCullagh & Nelder (1989), chapter 6. Proofs: as of :class:`PrivateSparseClassifier`; the bounds of the loss stand
    in ``src/loss/poisson.rs``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparsePoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20_000, 5))
    >>> y = rng.poisson(2 * np.exp(X[:, 0]))
    >>> model = PrivateSparsePoissonRegressor(epsilon=1.0, bounds=(-1, 1), y_bounds=(0, 50), random_state=0).fit(X, y)
    >>> np.round(np.exp(model.coef_[:2]), 1), float(round(np.exp(model.intercept_)))
    (array([2.7, 1. ]), 2.0)
    """

    #: Its name in the catalogue; not a parameter.
    loss = "poisson"
    _default_targets = "[0, 1]"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        norm: Any = "l1",
        radius: float | None = None,
        alpha: float | None = None,
        l1_ratio: float | None = None,
        feature_weights: Any = None,
        positive: bool = False,
        mechanism: Any = "auto",
        bounds: Any = None,
        y_bounds: Any = None,
        residual_bound: float | None = None,
        schema: Any = None,
        row_norm: float | None = None,
        scale: str | None = "auto",
        fit_intercept: bool = True,
        n_iter: int | None = None,
        ridge: float | None = None,
        adjacency: str = "replace-one",
        n_public: int | None = None,
        records_per_person: int = 1,
        max_weight: float | None = None,
        ledger: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.norm = norm
        self.radius = radius
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.feature_weights = feature_weights
        self.positive = positive
        self.mechanism = mechanism
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.residual_bound = residual_bound
        self.schema = schema
        self.row_norm = row_norm
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.n_iter = n_iter
        self.ridge = ridge
        self.adjacency = adjacency
        self.n_public = n_public
        self.records_per_person = records_per_person
        self.max_weight = max_weight
        self.ledger = ledger
        self.random_state = random_state
        self.verbose = verbose

    def _target_statement(self) -> dict[str, Any]:
        residual_bound = optional_number("residual_bound", self.residual_bound)
        y_bounds = count_bounds(self.y_bounds)
        return {
            "y_bounds": y_bounds,
            "n_classes": None,
            "counts": True,
            "residual_bound": residual_bound,
            "assumptions": [],
        }

    def _keep_ranges(self, released: tuple[npt.NDArray[np.float64], bool] | None) -> None:
        super()._keep_ranges(released)
        self.target_bounds_ = count_bounds(self.y_bounds)

    @takes_weights
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: Checkpoint = None) -> Self:
        """Fit privately.

        What other releases from the same records cost adds to ``certificate_``. Cross-validation, bagging and
        scikit-learn's searches fit many times, each fit with the whole budget, and choose or report by scores that
        no certificate covers; :class:`PrivateSearchCV` pays for all of it.

        Parameters
        ----------
        X : array-like or CSR/CSC matrix of shape (n_samples, n_features), or table
            Records; floats, booleans and integers of at most 32 bits are read without a copy. With a schema: a table
            with its columns.
        y : array-like of shape (n_samples,)
            Counts. Negative ones are clipped to ``y_bounds[0]``, in silence: an error would tell that there are any.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the records, not negative, private as the records are; needs ``max_weight``. None: all records
            count alike, and fully.
        checkpoint : path, optional
            A file that keeps the answers of the fit, all of them released: where a fit was stopped, the next one with
            the same path, parameters and records goes on from there and costs nothing more. It is removed once the
            model is there. None: no file. See the Notes of :class:`PrivateSparseClassifier`.

        Returns
        -------
        self

        Raises
        ------
        DpsparseError
            Before any budget is spent, as in :meth:`PrivateSparseClassifier.fit`.
        """
        warn_of_default_bounds(self, self._default_targets)
        X, y, weights = read_weighted(self, X, y, sample_weight)
        targets = real_targets(y)
        with kept_until_fitted(checkpoint) as kept:
            coefficients, intercepts = self._fit(X, targets, weights, kept)
            self.coef_, self.intercept_ = coefficients[0], float(intercepts[0])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.target_tags.positive_only = False
        return tags
