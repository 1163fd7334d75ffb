"""Exact, non-private estimators: a norm as penalty or as constraint, with a certificate of optimality."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight, validate_data

from dpsparse._core import InvalidArgumentError, InvalidDataError, fit_exact, path_exact
from dpsparse._inputs import float_list
from dpsparse._validation import choice, flag, is_real, positive_integer, verbosity
from dpsparse.estimators import _exact_classes
from dpsparse.estimators._columns import check_columns, check_target, check_weights
from dpsparse.estimators._exact_norms import ExactNorm, check_norm, exact_norm
from dpsparse.estimators._linear import LinearRegressorMixin, MulticlassMixin, encode_many_labels
from dpsparse.estimators._sklearn_checks import without_values
from dpsparse.estimators._whole import whole_or_nothing
from dpsparse.losses import catalogued
from dpsparse.norms import GroupLasso
from dpsparse.set_functions import SetFunction

__all__ = ["SparseClassifier", "SparseRegressor", "path"]

_DEFAULT_RADIUS = 10.0
#: Penalties of a path.
_MOST_ALPHAS = 1_000_000
_ABOUT_WEIGHTS = ("Sample weights", "sample_weight.shape", "Input sample_weight", "Negative values")
_SOLVERS = ("auto", "coordinate-descent", "proximal-gradient", "dual-frank-wolfe")


def _number(name: str, value: Any, *, positive: bool = False) -> float:
    """Return a finite number that is not negative (or positive) as a float, or raise InvalidArgumentError."""
    if is_real(value):
        try:
            number = float(value)
        except OverflowError:  # an integer beyond every float
            number = np.inf
        if np.isfinite(number) and (number > 0.0 or (number == 0.0 and not positive)):
            return number
    kind = "positive" if positive else "non-negative"
    raise InvalidArgumentError(f"{name} must be a {kind}, finite number; got {value!r}")


def _tolerance(tol: Any) -> float:
    """Return a relative tolerance; the gap at theta = 0 is at most 1, so 1 would take any model for the best one."""
    number = _number("tol", tol)
    if number >= 1.0:
        raise InvalidArgumentError(f"tol must be below 1, as it is relative to the objective at 0; got {tol!r}")
    return number


class _ExactLinearModel(BaseEstimator):
    """Parameters and fit that the classifier and the regressor share."""

    #: What y holds.
    _task: str
    #: Parameters that not every estimator has.
    positive: bool = False
    feature_weights: Any = None
    l1_ratio: float | None = None
    loss: Any
    coef_: NDArray[np.float64]
    intercept_: Any
    n_iter_: int
    duality_gap_: float
    _dual: NDArray[np.float64] | None

    def __init__(
        self,
        *,
        loss: str,
        norm: str | SetFunction | GroupLasso,
        alpha: float | None,
        radius: float | None,
        ridge: float,
        fit_intercept: bool,
        tol: float,
        max_iter: int | None,
        solver: str,
        warm_start: bool,
        verbose: int,
    ) -> None:
        self.loss = loss
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

    def _options(self) -> dict[str, Any]:
        """Check the parameters before any data is read, and return the core's."""
        choice("solver", self.solver, _SOLVERS)
        if self.alpha is not None and self.radius is not None:
            raise InvalidArgumentError("alpha and radius exclude each other: set one of them to None")
        if self.max_iter is not None:
            positive_integer("max_iter", self.max_iter)
        flag("warm_start", self.warm_start)
        ridge = _number("ridge", self.ridge)
        ratio = self._ratio(ridge)
        check_norm(self.norm, self.feature_weights, self.positive, ridge + 1.0 - ratio)
        alpha = radius = None
        if self.alpha is None:
            given = _DEFAULT_RADIUS if self.radius is None else self.radius
            radius = _number("radius", given, positive=True)
        else:
            alpha = _number("alpha", self.alpha)
            alpha, ridge = alpha * ratio, ridge + alpha * (1.0 - ratio)
            if alpha == 0.0 and ridge == 0.0:
                raise InvalidArgumentError(
                    "alpha must be positive, or come with a positive ridge: without either nothing certifies optimality"
                )
        return {
            "alpha": alpha,
            "radius": radius,
            "loss": catalogued(self.loss),
            "task": self._task,
            "solver": self.solver,
            "ridge": ridge,
            "fit_intercept": flag("fit_intercept", self.fit_intercept),
            "tol": _tolerance(self.tol),
            "max_iter": None if self.max_iter is None else int(self.max_iter),
            "progress": _print_progress if verbosity(self.verbose) else None,
        }

    def _ratio(self, ridge: float) -> float:
        """Return the share of alpha that penalises Omega, 1 without an ``l1_ratio``."""
        if self.l1_ratio is None:
            return 1.0
        ratio = _number("l1_ratio", self.l1_ratio, positive=True)
        if ratio > 1.0:
            raise InvalidArgumentError(f"l1_ratio must be at most 1; got {self.l1_ratio!r}")
        if self.alpha is None or ridge > 0.0:
            raise InvalidArgumentError("l1_ratio needs alpha, which it shares out, and excludes radius and ridge")
        return ratio

    def _request(
        self, options: dict[str, Any], norm: ExactNorm, X: Any, y: NDArray[np.float64], sample_weight: Any
    ) -> Any:
        """Return what the core takes besides alpha and radius, from validated data."""
        request = {name: value for name, value in options.items() if name not in ("alpha", "radius")}
        data = self._data(norm.columns(X), y, sample_weight)
        return {**request, **data, "norm": norm.core}

    def _exact_norm(self, n_features: int) -> ExactNorm:
        """Return the norm as the core takes it."""
        return exact_norm(self.norm, self.feature_weights, bool(self.positive), n_features)

    def _data(self, X: Any, y: NDArray[np.float64], sample_weight: Any) -> dict[str, Any]:
        """Return validated data as the core takes them."""
        weights = None
        if sample_weight is not None:
            weights = _sample_weights(sample_weight, X)
            kept = weights != 0.0
            if kept.any() and not kept.all():
                # A record of weight 0 is absent, whatever its entries are.
                X, y, weights = X[kept], y[kept], weights[kept]
        return {"x": _core_matrix(X), "y": y, "sample_weight": weights}

    @abstractmethod
    def _validated(self, X: Any, y: Any) -> tuple[Any, NDArray[np.float64]]:
        """Check the data and set what describes them; returns X and the targets of the loss."""

    def _solve(
        self, options: dict[str, Any], X: Any, y: NDArray[np.float64], sample_weight: Any
    ) -> tuple[NDArray[np.float64], float]:
        """Fit on validated data; sets n_iter_ and duality_gap_, returns coefficients and intercept."""
        norm = self._exact_norm(X.shape[1])
        request = self._request(options, norm, X, y, sample_weight)
        start = self._start(X.shape[1], request["y"].size) if self.warm_start else None
        if start is not None:
            start = (norm.shares(start[0]), *start[1:])
        fitted = fit_exact(request, alpha=options["alpha"], radius=options["radius"], start=start)
        self._keep(*fitted[2:])
        return norm.merged(fitted[0]), fitted[1]

    def _keep(self, objective: float, gap: float, n_iter: int, converged: bool, dual: NDArray[np.float64]) -> None:
        """Keep, and say, what came of a fit."""
        self._dual = dual if self.warm_start else None
        self.n_iter_ = n_iter
        self.duality_gap_ = gap
        if self.verbose:
            print(f"[dpsparse] end: {n_iter} passes, objective {objective:.9g}, duality gap {gap:.3g}")
        if not converged:
            warnings.warn(
                f"the duality gap {gap:.3g} is above the tolerance after {n_iter} passes (objective {objective:.6g}): "
                "raise max_iter or tol, or scale the features",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _start(
        self, n_features: int, n_samples: int
    ) -> tuple[NDArray[np.float64], float, NDArray[np.float64] | None] | None:
        """Return the last coefficients, intercept and dual point as far as there are any and their numbers fit."""
        coefficients = np.array(getattr(self, "coef_", ()), dtype=np.float64).ravel()
        if coefficients.size != n_features:
            return None
        intercept = np.ravel(getattr(self, "intercept_", 0.0))
        dual = getattr(self, "_dual", None)
        fits = dual is not None and dual.size == n_samples
        return coefficients, float(intercept[0]) if intercept.size == 1 else 0.0, dual if fits else None


def _sample_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    """Check weights with scikit-learn; what it raises comes out as an InvalidDataError that shows no weight."""
    sample_weight = check_weights(sample_weight)
    try:
        return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
    except MemoryError:
        raise
    except Exception as error:  # whatever libraries raise
        text = str(error)
    # scikit-learn's texts about all weights together are kept; what numpy cannot convert, it quotes.
    shown = f": {text}" if text.startswith(_ABOUT_WEIGHTS) else ""
    raise InvalidDataError(f"sample_weight must be None, or one finite number per record{shown}")


def _core_matrix(X: Any) -> Any:
    """Hand over a dense array as it is, and a sparse one as sorted compressed columns of its own."""
    if not scipy.sparse.issparse(X):
        return X
    columns = scipy.sparse.csc_array(X, copy=True)
    columns.sum_duplicates()
    return (
        columns.shape[0],
        columns.indptr.astype(np.int64, copy=False),
        columns.indices.astype(np.int64, copy=False),
        columns.data.astype(np.float64, copy=False),
    )


class Path(NamedTuple):
    """Solutions for a sequence of penalties."""

    alphas: NDArray[np.float64]
    """The penalties, of shape (n_alphas,)."""
    coefs: NDArray[np.float64]
    """theta, of shape (n_alphas, n_features); of three or more classes (n_alphas, n_classes, n_features)."""
    intercepts: NDArray[np.float64]
    """b, of shape (n_alphas,); of three or more classes (n_alphas, n_classes)."""
    gaps: NDArray[np.float64]
    """Upper bounds on objective minus minimum, of shape (n_alphas,)."""


def path(
    X: Any,
    y: Any,
    alphas: Sequence[float] | NDArray[np.float64] | None = None,
    *,
    n_alphas: int = 100,
    ratio: float = 1e-3,
    estimator: "SparseClassifier | SparseRegressor | None" = None,
    sample_weight: Any = None,
) -> Path:
    """Fit a sequence of penalties, each from the last solution.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        Samples, finite.
    y : array-like of shape (n_samples,)
        Targets or labels.
    alphas : sequence of float or None, default=None
        Penalties; falling ones are the fast order, and none at all make an empty path. None means ``n_alphas`` of them,
        equally spaced in logarithm, from the least one at which theta = 0 is a solution (the dual norm of the gradient
        there) down to ``ratio`` times it.
    n_alphas : int, default=100
        Number of penalties where ``alphas`` is None.
    ratio : float, default=1e-3
        Last penalty over the first where ``alphas`` is None.
    estimator : SparseClassifier or SparseRegressor or None, default=None
        Loss, norm, ridge, intercept, tolerance and solver; its ``alpha`` and ``radius`` do not matter, and it is not
        changed. None means ``SparseRegressor()``.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Non-negative weights; None means equal weights.

    Returns
    -------
    Path
        Named tuple ``(alphas, coefs, intercepts, gaps)``.

    Raises
    ------
    InvalidArgumentError
        A parameter is outside its domain, or ``alphas`` is None for a seminorm, whose kernel no penalty makes zero.
    InvalidDataError
        Data that the estimator's ``fit`` refuses.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import path
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> alphas, coefs, intercepts, gaps = path(X, [0.0, 1.0, 2.0, 3.0], n_alphas=3, ratio=0.01)
    >>> alphas, coefs.shape
    (array([1.25  , 0.125 , 0.0125]), (3, 2))
    """
    if estimator is not None and not isinstance(estimator, _ExactLinearModel):
        given = f"the class {estimator.__name__}" if isinstance(estimator, type) else type(estimator).__name__
        raise InvalidArgumentError(f"estimator must be a SparseClassifier or a SparseRegressor; got {given}")
    model: SparseClassifier | SparseRegressor = clone(SparseRegressor() if estimator is None else estimator)
    options = model.set_params(alpha=1.0, radius=None)._options()
    share = model._ratio(0.0)
    if positive_integer("n_alphas", n_alphas) > _MOST_ALPHAS:
        raise InvalidArgumentError(f"n_alphas must be at most {_MOST_ALPHAS}: each has a model of its own")
    if _number("ratio", ratio, positive=True) >= 1.0:
        raise InvalidArgumentError(f"ratio must be below 1; got {ratio!r}")
    given = None if alphas is None else [_number("alphas", alpha) for alpha in float_list("alphas", alphas)]
    X, targets = model._validated(X, y)
    fits: list[Any]
    if isinstance(model, SparseClassifier) and len(model.classes_) > 2:
        asked = model._class_request(options, X, targets, sample_weight)

        def solve(asked: Any, alphas: list[float] | None, n_alphas: int) -> tuple[list[float], list[Any]]:
            return _exact_classes.solve_path(asked, alphas, n_alphas, float(ratio))
    else:
        norm = model._exact_norm(X.shape[1])
        asked = model._request(options, norm, X, targets, sample_weight)

        def solve(asked: Any, alphas: list[float] | None, n_alphas: int) -> tuple[list[float], list[Any]]:
            used, fits = path_exact(asked, alphas=alphas, n_alphas=n_alphas, ratio=float(ratio))
            return used, [(norm.merged(fit[0]), *fit[1:]) for fit in fits]

    if share < 1.0:
        used, fits = _elastic_path(solve, asked, share, given, int(n_alphas), float(ratio))
    else:
        used, fits = solve(asked, given, int(n_alphas))
    missed = sum(not fit[5] for fit in fits)
    if missed:
        warnings.warn(
            f"{missed} of {len(fits)} duality gaps are above the tolerance: "
            "raise max_iter or tol, or scale the features",
            ConvergenceWarning,
            stacklevel=2,
        )
    coefficients, intercepts, gaps = (np.array([fit[k] for fit in fits], dtype=np.float64) for k in (0, 1, 3))
    if not fits:
        coefficients = coefficients.reshape(0, X.shape[1])
    return Path(np.array(used), coefficients, intercepts, gaps)


def _elastic_path(
    solve: Callable[[Any, list[float] | None, int], tuple[list[float], list[Any]]],
    asked: Any,
    share: float,
    alphas: list[float] | None,
    n_alphas: int,
    ratio: float,
) -> tuple[list[float], list[Any]]:
    """Return the penalties and their fits where the ridge is (1 - share) times the penalty, each fit by itself."""
    if alphas is None:
        # At theta = 0 the ridge has no slope: its factor does not move the first penalty.
        (largest,), _ = solve(asked | {"ridge": 0.0}, None, 1)
        alphas = [float(alpha) for alpha in np.geomspace(largest / share, ratio * largest / share, n_alphas)]
    fits = [solve(asked | {"ridge": alpha * (1.0 - share)}, [alpha * share], 1)[1][0] for alpha in alphas]
    return alphas, fits


def _print_progress(iteration: int, gap: float) -> None:
    print(f"[dpsparse] {iteration} passes, duality gap {gap:.3g}")


class SparseClassifier(MulticlassMixin, ClassifierMixin, _ExactLinearModel):
    """Linear classifier with a sparsity-inducing norm as penalty or constraint, fitted exactly and without privacy.

    For two classes, with z = X theta + b, labels y in {-1, +1} and weights w it minimises::

        sum_i w_i l(z_i; y_i) / sum_i w_i + (ridge/2) |theta|_2^2 + alpha Omega(theta)

    or, with ``radius``, the first two terms over ``Omega(theta) <= radius``. The intercept b is neither penalised nor
    constrained. Data are never clipped or scaled.

    Three or more classes are one softmax model: theta is a matrix with a row a class, b a vector, z a row of scores a
    record, and the loss ``l(z; y) = ln(sum_k exp(z_k)) - z_y``. It takes ``loss="logistic"`` and the norms "l1" and
    "l21".

    Parameters
    ----------
    loss : str or loss object, default="logistic"
        "logistic", ln(1 + exp(-y z)); "hinge", smoothed quadratically over a width of 0.5 below its kink; "squared",
        "huber", "absolute" of z - y; or an object of :mod:`dpsparse.losses`. Logistic with ``alpha`` is
        scikit-learn's ``LogisticRegression`` with an l1 penalty and ``C = 1 / (n_samples * alpha)``, whatever the
        number of classes. Others take two classes only.
    norm : {"l1", "l21", "linf"}, set function or GroupLasso, default="l1"
        The norm Omega that is penalised or bounded: "l1" is the sum of all ``|theta|``; "l21" the sum over the features
        of the Euclidean norm of their coefficients, which selects a feature for all classes or for none, and is "l1"
        for two classes. For two classes also "linf", or an object of :mod:`dpsparse.set_functions`, which means
        ``f(|theta|)``, with its Lovasz extension f. One that is not monotone but gives all features together 0, as a
        graph cut does, means the seminorm f(theta), which can be penalised but not bounded. For two classes also
        :class:`dpsparse.norms.GroupLasso`: Euclidean norms of groups.
    alpha : float or None, default=None
        Penalty; 0 only together with a positive ``ridge``. Excludes ``radius``.
    radius : float or None, default=None
        Bound on the norm. With neither ``alpha`` nor ``radius`` it is 10.
    ridge : float, default=0.0
        Factor of the squared Euclidean norm, halved.
    l1_ratio : float or None, default=None
        In (0, 1]: the elastic net, ``alpha * l1_ratio * Omega(theta) + alpha * (1 - l1_ratio) / 2 * |theta|_2^2``: the
        ridge follows ``alpha``. With norm "l1" it is the penalty of scikit-learn's ``ElasticNet``. Needs ``alpha`` and
        excludes ``ridge``. None: ``ridge`` as it is.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is 0.
    tol : float, default=1e-6
        The fit stops once the duality gap is at most ``tol`` times the objective at theta = 0 with its best intercepts.
        Not negative and below 1; 0 asks for all that floats can tell, in ``max_iter`` passes at most.
    max_iter : int or None, default=None
        Most passes; beyond it a ``ConvergenceWarning`` tells the gap. A pass of coordinate descent updates every
        coordinate of the working set once; one of proximal gradients is a gradient step on it, and one of
        dual-frank-wolfe takes a greedy vertex. None means 100,000 for proximal gradients, whose steps bring less,
        and for three or more classes, and 10,000 for the others.
    solver : {"auto", "coordinate-descent", "proximal-gradient", "dual-frank-wolfe"}, default="auto"
        What minimises the quadratic models of a proximal Newton method on a working set: coordinate descent, for l1
        norms (weighted ones, ``Modular``, too) and, group by group, ``GroupLasso`` of groups of at most 128; or
        accelerated proximal gradients, for every norm, with Newton steps on ties and zeros but for ``GroupLasso``.
        "auto" takes the first where it can. "dual-frank-wolfe" maximises the dual over the
        polytope of the norm by pairwise Frank-Wolfe steps and needs ``alpha``, not ``radius``, and a positive
        ``ridge``: to reproduce Algorithm 1 of Kumar & Deisenroth (2019), or for at most some hundred features and a set
        function whose prox is slow to compute (its steps need greedy vertices only, its certificate still a prox now
        and then). Three or more classes take "auto" and "coordinate-descent", which moves all coefficients of a
        feature together.
    warm_start : bool, default=False
        Start from ``coef_`` and, where it is there, ``intercept_``, where the number of coefficients fits. The fit also
        keeps its dual point, one number per record (and class), so that a refit from a solution finds its
        certificate at once.
    class_weight : dict, "balanced" or None, default=None
        Weights of the labels, which multiply those of their records; a label that a dict leaves out has 1. "balanced":
        ``n_samples / (n_classes * number of records with the label)``, a record counted by its weight. None: all are 1.
    feature_weights : array-like of shape (n_features,) or None, default=None
        For norm "l1": Omega is the sum of ``feature_weights * |theta|``. A feature of weight 0 is not penalised; with
        one, ``alpha`` must be given, and for a path ``alphas``. None: all are 1. For
        two classes only.
    verbose : bool or int, default=0
        Where not 0, print the number of passes and the gap from time to time.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        theta; of two classes, a positive coefficient favours ``classes_[1]``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b; of three or more classes the entries add up to 0.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    support_ : ndarray of shape (n_nonzero,)
        Indices of the features with a non-zero coefficient.
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
    >>> from dpsparse import SparseClassifier
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> SparseClassifier(alpha=0.1).fit(X, ["no", "no", "yes", "yes"]).support_
    array([0])
    >>> model = SparseClassifier(alpha=0.01, norm="l21").fit(X, ["no", "perhaps", "perhaps", "yes"])
    >>> model.coef_.shape, model.predict(X).tolist()
    ((3, 2), ['no', 'perhaps', 'perhaps', 'yes'])
    """

    _task = "classification"

    def __init__(
        self,
        *,
        loss: str = "logistic",
        norm: str | SetFunction | GroupLasso = "l1",
        alpha: float | None = None,
        radius: float | None = None,
        ridge: float = 0.0,
        l1_ratio: float | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        solver: str = "auto",
        warm_start: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        feature_weights: ArrayLike | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            loss=loss,
            norm=norm,
            alpha=alpha,
            radius=radius,
            ridge=ridge,
            fit_intercept=fit_intercept,
            tol=tol,
            max_iter=max_iter,
            solver=solver,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.class_weight = class_weight
        self.feature_weights = feature_weights
        self.l1_ratio = l1_ratio

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        loss = self.loss if isinstance(self.loss, str) else getattr(self.loss, "name", "")
        tags.classifier_tags.multi_class = _exact_classes.is_taken(loss, self.norm, self.solver, self.feature_weights)
        return tags

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples, finite.
        y : array-like of shape (n_samples,)
            Labels, two different ones or more.
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
            A parameter is outside its domain, or both ``alpha`` and ``radius`` are set; three or more classes with a
            loss, norm or solver for two.
        InvalidDataError
            One class only, weights that are negative, all 0, not one per record or, with an intercept, all 0 in some
            class, or numbers so large that the fit leaves the range of double precision.
        ValueError
            X or y fails scikit-learn's own validation (shape, NaN, infinity); the errors above derive from it.
        """
        options = self._options()
        X, targets = self._validated(X, y)
        if len(self.classes_) > 2:
            self.coef_, self.intercept_ = self._solve_classes(options, X, targets, sample_weight)
            return self
        coefficients, intercept = self._solve(options, X, targets, sample_weight)
        self.coef_ = coefficients.reshape(1, -1)
        self.intercept_ = np.array([intercept])
        return self

    def _data(self, X: Any, y: NDArray[np.float64], sample_weight: Any) -> dict[str, Any]:
        if self.class_weight is not None:
            own = np.ones(X.shape[0]) if sample_weight is None else _sample_weights(sample_weight, X)
            sample_weight = own * self._class_weights(y, own)
        return super()._data(X, y, sample_weight)

    def _class_weights(self, y: NDArray[np.float64], own: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of each record's label; y as the core takes it, `own` the weights of the records."""
        n_classes = len(self.classes_)
        codes = y.astype(np.intp) if n_classes > 2 else (y > 0).astype(np.intp)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            # A record of weight 2 is two records.
            of_classes = np.bincount(codes, own, n_classes)
            return np.asarray((own.sum() / (n_classes * np.where(of_classes > 0, of_classes, 1.0)))[codes])
        try:
            weights = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                'class_weight must be None, "balanced" or a dict of labels and weights'
            ) from error
        weights = np.asarray(weights, dtype=np.float64)
        if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
            raise InvalidArgumentError("class_weight must hold finite numbers that are not negative")
        return np.asarray(weights[codes])

    def _solve_classes(
        self, options: dict[str, Any], X: Any, y: NDArray[np.float64], sample_weight: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Fit three or more classes on validated data, as :meth:`_solve` does two."""
        asked = self._class_request(options, X, y, sample_weight)
        start = self._class_start(X.shape[1], asked["y"].size) if self.warm_start else None
        coefficients, intercepts, outcome = _exact_classes.solve(asked, options, start)
        self._keep(*outcome)
        return coefficients, intercepts

    def _class_request(self, options: dict[str, Any], X: Any, y: NDArray[np.float64], sample_weight: Any) -> Any:
        """Return what the core takes for three or more classes besides alpha and radius, from validated data."""
        _exact_classes.check(options, self.norm, self.feature_weights, len(self.classes_))
        return _exact_classes.request(options, self.norm, len(self.classes_), self._data(X, y, sample_weight))

    def _class_start(self, n_features: int, n_samples: int) -> tuple[Any, Any, NDArray[np.float64] | None] | None:
        """Return the last coefficients, feature by feature, intercepts and dual point, as :meth:`_start` does."""
        n_classes = len(self.classes_)
        coefficients = np.array(getattr(self, "coef_", ()), dtype=np.float64)
        if coefficients.shape != (n_classes, n_features):
            return None
        intercepts = np.array(getattr(self, "intercept_", 0.0), dtype=np.float64).ravel()
        if intercepts.size != n_classes:
            intercepts = np.zeros(n_classes)
        dual = getattr(self, "_dual", None)
        fits = dual is not None and dual.size == n_classes * n_samples
        return coefficients.T.ravel(), intercepts, dual if fits else None

    def _validated(self, X: Any, y: Any) -> tuple[Any, NDArray[np.float64]]:
        X, y = check_columns(X), check_target(y, numbers=False)
        options: dict[str, Any] = {"accept_sparse": ["csr", "csc"], "dtype": np.float64}
        X, y = without_values(lambda: validate_data(self, X, y, **options))
        self.classes_, targets = encode_many_labels(y)
        return X, targets


class SparseRegressor(LinearRegressorMixin, RegressorMixin, _ExactLinearModel):
    """Linear regression with a sparsity-inducing norm as penalty or constraint, fitted exactly
    and without privacy.

    With z = X theta + b and weights w it minimises::

        sum_i w_i l(z_i; y_i) / sum_i w_i + (ridge/2) |theta|_2^2 + alpha Omega(theta)

    or, with ``radius``, the first two terms over ``Omega(theta) <= radius``. The intercept b is neither penalised nor
    constrained. Data are never clipped or scaled.

    Parameters
    ----------
    loss : str or loss object, default="squared"
        "squared", (z - y)^2 / 2; "huber" of threshold 1; "absolute", huber of threshold 0.1; "pinball", the median; or
        an object of :mod:`dpsparse.losses`, such as ``Pinball(level=0.9)`` for a quantile. Squared with ``alpha``
        is scikit-learn's ``Lasso(alpha=alpha)``.
    norm : {"l1", "linf"}, set function or GroupLasso, default="l1"
        The norm Omega that is penalised or bounded: an object of :mod:`dpsparse.set_functions` means ``f(|theta|)``,
        with its Lovasz extension f. One that is not monotone but gives all features together 0, as a graph cut
        does, means the seminorm f(theta), which can be penalised but not bounded. :class:`dpsparse.norms.GroupLasso`
        means Euclidean norms of groups.
    alpha : float or None, default=None
        Penalty; 0 only together with a positive ``ridge``. Excludes ``radius``.
    radius : float or None, default=None
        Bound on the norm. With neither ``alpha`` nor ``radius`` it is 10.
    ridge : float, default=0.0
        Factor of the squared Euclidean norm, halved.
    l1_ratio : float or None, default=None
        In (0, 1]: the elastic net, ``alpha * l1_ratio * Omega(theta) + alpha * (1 - l1_ratio) / 2 * |theta|_2^2``: the
        ridge follows ``alpha``. With norm "l1" and squared loss it is scikit-learn's
        ``ElasticNet(alpha, l1_ratio=l1_ratio)``. Needs ``alpha`` and excludes ``ridge``. None: ``ridge`` as it is.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is 0.
    tol : float, default=1e-6
        The fit stops once the duality gap is at most ``tol`` times the objective at theta = 0 with its best intercept.
        Not negative and below 1; 0 asks for all that floats can tell, in ``max_iter`` passes at most.
    max_iter : int or None, default=None
        Most passes; beyond it a ``ConvergenceWarning`` tells the gap. A pass of coordinate descent updates every
        coordinate of the working set once; one of proximal gradients is a gradient step on it, and one of
        dual-frank-wolfe takes a greedy vertex. None means 100,000 for proximal gradients, whose steps bring less,
        and 10,000 for the others.
    solver : {"auto", "coordinate-descent", "proximal-gradient", "dual-frank-wolfe"}, default="auto"
        What minimises the quadratic models of a proximal Newton method on a working set: coordinate descent, for l1
        norms (weighted ones, ``Modular``, too) and, group by group, ``GroupLasso`` of groups of at most 128; or
        accelerated proximal gradients, for every norm, with Newton steps on ties and zeros but for ``GroupLasso``.
        "auto" takes the first where it can. "dual-frank-wolfe" maximises the dual over the
        polytope of the norm by pairwise Frank-Wolfe steps and needs ``alpha``, not ``radius``, and a positive
        ``ridge``: to reproduce Algorithm 1 of Kumar & Deisenroth (2019), or for at most some hundred features and a set
        function whose prox is slow to compute (its steps need greedy vertices only, its certificate still a prox now
        and then).
    warm_start : bool, default=False
        Start from ``coef_`` and, where it is there, ``intercept_``, where the number of coefficients fits. The fit also
        keeps its dual point, one number per record, so that a refit from a solution finds its certificate at once.
    positive : bool, default=False
        Whether coefficients must not be negative; for norm "l1" and ``GroupLasso``. The certificate is that of the
        problem with the constraint. With features that cost nothing it needs a positive ``ridge``, or an ``l1_ratio``
        below 1.
    feature_weights : array-like of shape (n_features,) or None, default=None
        For norm "l1": Omega is the sum of ``feature_weights * |theta|``. A feature of weight 0 is not penalised; with
        one, ``alpha`` must be given, and for a path ``alphas``. None: all are 1.
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
    >>> from dpsparse import SparseRegressor
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> SparseRegressor(alpha=0.1).fit(X, [0.0, 1.0, 2.0, 3.0]).support_
    array([0])
    """

    _task = "regression"

    def __init__(
        self,
        *,
        loss: str = "squared",
        norm: str | SetFunction | GroupLasso = "l1",
        alpha: float | None = None,
        radius: float | None = None,
        ridge: float = 0.0,
        l1_ratio: float | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        solver: str = "auto",
        warm_start: bool = False,
        positive: bool = False,
        feature_weights: ArrayLike | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            loss=loss,
            norm=norm,
            alpha=alpha,
            radius=radius,
            ridge=ridge,
            fit_intercept=fit_intercept,
            tol=tol,
            max_iter=max_iter,
            solver=solver,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.positive = positive
        self.feature_weights = feature_weights
        self.l1_ratio = l1_ratio

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples, finite.
        y : array-like of shape (n_samples,)
            Targets, finite.
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
            Weights that are negative, all 0 or not one per record, or numbers so large that the fit leaves the range of
            double precision.
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
        return X, np.asarray(y, dtype=np.float64)
