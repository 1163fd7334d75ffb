"""Private linear models with coefficients on the probability simplex, by softmax sampling."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from dpsparse import _core
from dpsparse._core import InvalidArgumentError, Plan
from dpsparse._origin import made_by
from dpsparse._validation import number, optional_number, positive_integer
from dpsparse.estimators._bounds import bound_arrays, names_for, target_bounds, warn_of_default_bounds
from dpsparse.estimators._files import WrittenModel
from dpsparse.estimators._linear import LinearClassifierMixin, LinearRegressorMixin, encode_labels
from dpsparse.estimators._sklearn_checks import without_values
from dpsparse.estimators._validation import checked_ledger, read, records, seed
from dpsparse.estimators._whole import whole_or_nothing

__all__ = ["PrivateSimplexClassifier", "PrivateSimplexRegressor"]

_LABELS_FROM_Y = "the two labels, read from y, are public"


class _PrivateSimplex(WrittenModel, BaseEstimator):
    """What the classifier and the regressor share."""

    _loss: ClassVar[str]

    @abstractmethod
    def _target_statement(self) -> dict[str, Any]:
        """Public facts about y."""

    def _options(self) -> str:
        regularisation = self.regularisation
        if regularisation is not None:
            regularisation = number("regularisation", regularisation)
            if not 0 < regularisation < np.inf:
                raise InvalidArgumentError("regularisation must be positive and finite")
        n_draws = None if self.n_draws is None else positive_integer("n_draws", self.n_draws)
        return json.dumps({"regularisation": regularisation, "n_draws": n_draws})

    def _statement(self, n_samples: int, n_features: int) -> dict[str, Any]:
        lower, upper = bound_arrays(self.bounds)
        return {
            "n_samples": n_samples,
            "n_features": n_features,
            "lower": lower,
            "upper": upper,
            "row_norm": None,
            "fit_intercept": False,
            "loss": (self._loss, []),
            "residual_bound": None,
            "counts": False,
            "epsilon": number("epsilon", self.epsilon),
            "delta": optional_number("delta", self.delta),
            "adjacency": "replace-one",
            "records_per_person": 1,
            "max_weight": None,
            "norm": {"name": "simplex", "groups": None, "vertices": None, "function": None},
            **self._target_statement(),
        }

    def plan(self, n_samples: int, n_features: int) -> Plan:
        """Plan a fit without any data: regularisation, draws, and the events that they will spend.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_features : int
            Number of features.

        Returns
        -------
        Plan
            With ``n_iter`` (draws), ``parameters`` (``regularisation``, ``n_draws``, ``kkt_residual``), ``events``,
            ``epsilon``, ``delta`` and ``predicted_excess_risk``. ``fit`` spends exactly these events.

        Raises
        ------
        InvalidArgumentError
            If a parameter is out of its domain, or ``regularisation`` and ``n_draws`` cost more than ``epsilon`` and
            ``delta`` allow.
        """
        warn_of_default_bounds(self)
        return made_by(self._plan(n_samples, n_features), self, n_samples, n_features)

    def _plan(self, n_samples: int, n_features: int, names: Sequence[str] | None = None) -> Plan:
        statement = self._statement(
            positive_integer("n_samples", n_samples), positive_integer("n_features", n_features)
        )
        if names is not None:
            statement["lower"], statement["upper"] = bound_arrays(self.bounds, names)
        return _core.plan_private(statement, "simplex-sampling", self._options())

    def _fit(self, X: Any, targets: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        n_samples, n_features = X.shape
        plan = self._plan(n_samples, n_features, names_for(self))
        coefficients, _, n_draws, certificate, *_ = _core.fit_private(
            plan, records(X), targets, seed=seed(self.random_state), progress=None, ledger=checked_ledger(self.ledger)
        )
        self.n_draws_ = n_draws
        self.regularisation_ = plan.parameters["regularisation"]
        self.certificate_ = certificate
        return coefficients

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PrivateSimplexRegressor(LinearRegressorMixin, RegressorMixin, _PrivateSimplex):
    """Least squares over the probability simplex with differential privacy: a private average of features.

    With ``theta`` the minimiser of mean loss + (lambda/n) sum theta ln theta over the simplex, ``coef_`` is the mean of
    ``n_draws`` unit vectors drawn from ``theta``: non-negative, of sum 1, with at most ``n_draws`` non-zeros. There is
    no intercept. ``coef_`` is in the user's units whatever the bounds, so predictions are averages of features.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy parameter, positive.
    delta : float, optional
        Privacy parameter in (0, 1). None: ``min(1/n**2, 1e-6)``.
    regularisation : float, optional
        lambda, in units of the summed loss of targets scaled by their largest absolute bound. None: a public rule.
    n_draws : int, optional
        Number of draws. None: a public rule. With both None, the two minimise lambda ln(p)/n + R**2/(2 n_draws): the
        bias of the regularisation and the variance of the draws, at what the accountant allows. With one given the
        other is the best that the accountant allows.
    bounds : pair, array of shape (n_features, 2) or mapping, optional
        Public bounds of the features, symmetric, in a form that :class:`PrivateSparseClassifier` takes. Values outside
        are clipped, in silence. None: (-1, 1), with a ``DefaultBoundsWarning``.
    y_bounds : pair (lower, upper), optional
        Public bounds of the target. Values outside are clipped, in silence. None: (-1, 1), with a
        ``DefaultBoundsWarning``.
    ledger : Ledger or Accountant, optional
        Where the cost of a fit is written down before any record is read, and what refuses more than its total; a
        :class:`dpsparse.privacy.Ledger` is a file, an :class:`~dpsparse.privacy.Accountant` with a budget is in memory.
    random_state : None, int, RandomState or Generator, default None
        None: randomness from the operating system. Anything else makes the fit reproducible and **not private**.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients, on the simplex: multiples of 1/n_draws.
    intercept_ : float
        0.0.
    n_draws_ : int
        Draws made (public).
    regularisation_ : float
        lambda (public).
    support_ : ndarray of int
        Indices of the non-zero coefficients.
    certificate_ : Certificate
        What the fit cost and assumed.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Feature names, when X had them.

    Notes
    -----
    Each draw has a privacy loss of range (4 L R/lambda)(1 + phi(c)) with R the largest bound, c = n R**2/lambda,
    phi(c) = c/(1 + c) up to 1 and sqrt(c)/2 beyond (scaled units, replace-one neighbours). Residuals are bounded by
    L = 1 + R: on the simplex predictions stay within the bounds of the features. The minimiser is found to a certified
    residual of its optimality conditions, which enters the range. How long that takes depends on the records: running
    time is outside the guarantee.

    References
    ----------
    Jain & Thakurta (2014), section 5.1, Theorems 3 and 4, whose constants do not hold as printed; proofs:
    ``theory_of_privacy::softmax``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSimplexRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20000, 6))
    >>> model = PrivateSimplexRegressor(epsilon=2.0, bounds=(-1, 1), y_bounds=(-1, 1), random_state=0)
    >>> model = model.fit(X, X[:, 1] / 2 + X[:, 4] / 2)
    >>> round(float(model.coef_.sum()), 9), int(np.argmax(model.coef_)) in (1, 4), model.certificate_.verify()
    (1.0, True, False)
    """

    _loss = "squared"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        regularisation: float | None = None,
        n_draws: int | None = None,
        bounds: Any = None,
        y_bounds: Any = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.regularisation = regularisation
        self.n_draws = n_draws
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.ledger = ledger
        self.random_state = random_state

    def _target_statement(self) -> dict[str, Any]:
        return {"y_bounds": target_bounds(self.y_bounds), "n_classes": None, "assumptions": []}

    @whole_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Fit privately; further fits of the same records, and scores of them, are releases of their own.

        Parameters
        ----------
        X : array-like or CSR/CSC matrix of shape (n_samples, n_features)
            Records; float64 and float32 are read without a copy.
        y : array-like of shape (n_samples,)
            Targets.

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
        X, y = read(self, X, y)
        targets = without_values(lambda: np.asarray(y, dtype=np.float64))
        self.coef_, self.intercept_ = self._fit(X, targets), 0.0
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class PrivateSimplexClassifier(LinearClassifierMixin, ClassifierMixin, _PrivateSimplex):
    """Logistic regression over the probability simplex with differential privacy: a private average of features.

    A positive average of features favours ``classes_[1]``; there is no intercept. Draws, public rules and guarantee are
    those of :class:`PrivateSimplexRegressor`, with L = 1 and c = n R**2/(4 lambda).

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy parameter, positive.
    delta : float, optional
        Privacy parameter in (0, 1). None: ``min(1/n**2, 1e-6)``.
    regularisation : float, optional
        lambda, in units of the summed loss. None: a public rule.
    n_draws : int, optional
        Number of draws. None: a public rule.
    bounds : pair, array of shape (n_features, 2) or mapping, optional
        Public bounds of the features, symmetric, in a form that :class:`PrivateSparseClassifier` takes. Values outside
        are clipped, in silence; margins cannot exceed the largest bound. None: (-1, 1), with a warning.
    classes : pair of labels, optional
        The two public labels, in any order: ``classes_`` is sorted. None: read from y, recorded as an assumption.
    ledger : Ledger or Accountant, optional
        Where the cost of a fit is written down before any record is read, and what refuses more than its total; a
        :class:`dpsparse.privacy.Ledger` is a file, an :class:`~dpsparse.privacy.Accountant` with a budget is in memory.
    random_state : None, int, RandomState or Generator, default None
        None: randomness from the operating system. Anything else makes the fit reproducible and **not private**.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients, on the simplex: multiples of 1/n_draws.
    intercept_ : ndarray of shape (1,)
        0.0.
    classes_ : ndarray of shape (2,)
        Labels, sorted; a positive coefficient favours ``classes_[1]``.
    n_draws_ : int
        Draws made (public).
    regularisation_ : float
        lambda (public).
    support_ : ndarray of int
        Indices of the non-zero coefficients.
    certificate_ : Certificate
        What the fit cost and assumed.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Feature names, when X had them.

    References
    ----------
    Jain & Thakurta (2014), section 5.1, Theorems 3 and 4, whose constants do not hold as printed; proofs:
    ``theory_of_privacy::softmax``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSimplexClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20000, 6))
    >>> y = np.where(X[:, 1] + X[:, 4] > 0, "yes", "no")
    >>> model = PrivateSimplexClassifier(epsilon=2.0, bounds=(-1, 1), classes=("no", "yes"), random_state=0)
    >>> model = model.fit(X[:15000], y[:15000])
    >>> bool(model.score(X[15000:], y[15000:]) > 0.7), model.certificate_.secure, model.certificate_.verify()
    (True, False, False)
    """

    _loss = "logistic"
    # What the mixin reads: probabilities are modelled.
    loss: ClassVar[str] = "logistic"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        regularisation: float | None = None,
        n_draws: int | None = None,
        bounds: Any = None,
        classes: Any = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.regularisation = regularisation
        self.n_draws = n_draws
        self.bounds = bounds
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def _target_statement(self) -> dict[str, Any]:
        return {"y_bounds": None, "n_classes": 2, "assumptions": [] if self.classes is not None else [_LABELS_FROM_Y]}

    @whole_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Fit privately; further fits of the same records, and scores of them, are releases of their own.

        Parameters
        ----------
        X : array-like or CSR/CSC matrix of shape (n_samples, n_features)
            Records; float64 and float32 are read without a copy.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self

        Raises
        ------
        DpsparseError
            Before any budget is spent, as in :meth:`PrivateSimplexRegressor.fit`.
        """
        warn_of_default_bounds(self)
        X, y = read(self, X, y)
        labels, targets = encode_labels(y, self.classes)
        coefficients = self._fit(X, targets)
        self.classes_ = labels
        self.coef_, self.intercept_ = coefficients.reshape(1, -1), np.zeros(1)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.classifier_tags.multi_class = False
        return tags
