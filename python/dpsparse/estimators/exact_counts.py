"""Exact, non-private models of counts."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from dpsparse._core import InvalidDataError
from dpsparse.estimators._columns import check_columns, check_target
from dpsparse.estimators._linear import LogLinkRegressorMixin
from dpsparse.estimators._sklearn_checks import without_values
from dpsparse.estimators._whole import whole_or_nothing
from dpsparse.estimators.exact import _ExactLinearModel
from dpsparse.norms import GroupLasso
from dpsparse.set_functions import SetFunction

__all__ = ["SparsePoissonRegressor"]


class SparsePoissonRegressor(LogLinkRegressorMixin, RegressorMixin, _ExactLinearModel):
    """Poisson regression with a sparsity-inducing norm as penalty or constraint, fitted exactly and without privacy.

    With z = X theta + b, counts y and weights w it minimises half the mean Poisson deviance with a norm::

        sum_i w_i (exp(z_i) - y_i z_i + y_i ln y_i - y_i) / sum_i w_i + (ridge/2) |theta|_2^2 + alpha Omega(theta)

    or, with ``radius``, the first two terms over ``Omega(theta) <= radius``. The intercept b is neither penalised nor
    constrained. Data are never clipped or scaled; ``exp(coef_)`` are rate ratios.

    Parameters
    ----------
    norm : {"l1", "linf"}, set function or GroupLasso, default="l1"
        The norm Omega, as of :class:`SparseRegressor`.
    alpha : float or None, default=None
        Penalty; 0 only together with a positive ``ridge``. Excludes ``radius``. ``alpha=0`` with ``ridge`` is
        scikit-learn's ``PoissonRegressor(alpha=ridge)``.
    radius : float or None, default=None
        Bound on the norm. With neither ``alpha`` nor ``radius`` it is 10.
    ridge : float, default=0.0
        Factor of the squared Euclidean norm, halved.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is 0.
    tol : float, default=1e-6
        The fit stops once the duality gap is at most ``tol`` times the objective at theta = 0 with its best intercept.
        Not negative and below 1; 0 asks for all that floats can tell, in ``max_iter`` passes at most.
    max_iter : int or None, default=None
        Most passes, as of :class:`SparseRegressor`.
    solver : {"auto", "coordinate-descent", "proximal-gradient", "dual-frank-wolfe"}, default="auto"
        As of :class:`SparseRegressor`.
    warm_start : bool, default=False
        Start from ``coef_`` and, where it is there, ``intercept_``, where the number of coefficients fits.
    verbose : bool or int, default=0
        Where not 0, print the number of passes and the gap from time to time.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        theta.
    intercept_ : float
        b.
    support_ : ndarray of shape (n_nonzero,)
        Indices of the non-zero coefficients.
    n_iter_ : int
        Passes that the fit took.
    duality_gap_ : float
        Upper bound on objective minus minimum, in the units of the objective.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparsePoissonRegressor
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> SparsePoissonRegressor(alpha=0.1).fit(X, [1, 2, 4, 9]).support_
    array([0])
    """

    #: Its name in the catalogue; not a parameter.
    loss = "poisson"
    _task = "counts"

    def __init__(
        self,
        *,
        norm: str | SetFunction | GroupLasso = "l1",
        alpha: float | None = None,
        radius: float | None = None,
        ridge: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        solver: str = "auto",
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.norm = norm
        self.alpha = alpha
        self.radius = radius
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.positive_only = True
        return tags

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples, finite.
        y : array-like of shape (n_samples,)
            Counts, finite and not negative; they need not be integers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Non-negative weights; only their ratios matter, and a record of weight 0 is absent. None means equal
            weights.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        InvalidArgumentError
            A parameter is outside its domain, or both ``alpha`` and ``radius`` are set.
        InvalidDataError
            Counts that are negative or, with an intercept, all 0; weights that are negative, all 0 or not one per
            record; numbers so large that the fit leaves the range of double precision.
        ValueError
            X or y fails scikit-learn's own validation (shape, NaN, infinity); the errors above derive from it.
        """
        options = self._options()
        X, targets = self._validated(X, y)
        self.coef_, self.intercept_ = self._solve(options, X, targets, sample_weight)
        return self

    def _validated(self, X: Any, y: Any) -> tuple[Any, NDArray[np.float64]]:
        X, y = check_columns(X), check_target(y, numbers=True)
        options: dict[str, Any] = {"accept_sparse": ["csr", "csc"], "dtype": np.float64, "y_numeric": True}
        X, y = without_values(lambda: validate_data(self, X, y, **options))
        counts = np.asarray(y, dtype=np.float64)
        if (counts < 0.0).any():
            raise InvalidDataError("y must hold counts, which are not negative")
        return X, counts
