"""Private sparse linear models as scikit-learn estimators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from dpsparse import _core, losses, polytopes
from dpsparse._core import InvalidArgumentError, Plan
from dpsparse._origin import made_by
from dpsparse._progress import progress
from dpsparse._validation import (
    flag,
    number,
    optional_number,
    optional_positive,
    positive_integer,
    row_bound,
    verbosity,
)
from dpsparse.estimators._bounds import bound_arrays, names_for, target_bounds, warn_of_default_bounds
from dpsparse.estimators._checkpoint import Checkpoint, kept_until_fitted
from dpsparse.estimators._files import WrittenModel
from dpsparse.estimators._linear import LinearRegressorMixin, MulticlassMixin, declared_labels, encode_many_labels
from dpsparse.estimators._tables import (
    column_count,
    feature_bounds,
    person_assumptions,
    schema_of,
    table_norm,
    table_row_norm,
)
from dpsparse.estimators._validation import (
    checked_ledger,
    core_arguments,
    public_count,
    read_weighted,
    real_targets,
    seed,
)
from dpsparse.estimators._weights import takes_weights
from dpsparse.estimators.intervals import (
    Facts,
    ReleasedNoiseMixin,
    keep_facts,
    keep_population,
    planned_deviations,
)
from dpsparse.mechanisms import resolve, short_name, specification
from dpsparse.words.curve import EPSILONS, PlanCurve, checked_epsilons, curve_of

__all__ = ["PrivateSparseClassifier", "PrivateSparseRegressor"]

_LABELS_FROM_Y = "the {} labels, read from y, are public"


# How the core begins errors about sizes of noise, which follow from the user's arguments.
_ABOUT_NOISE = ("sigma must lie", "scale must lie", "bracket holds")
_TOO_SMALL_FOR_GAMMA = "delta must be at least 1e-30"
_TOO_SMALL_FOR_BOTH = "epsilon is too small for a private scale"


def planned(facts: Facts, within: _core.SearchFacts | None = None) -> Plan:
    """Plan from public facts; errors name an argument of the user's, where the core names what follows from it."""
    try:
        return _core.plan_private(*facts, within)
    except InvalidArgumentError as error:
        text = str(error)
        statement = facts[0]
        epsilon, delta, row_norm = statement["epsilon"], statement["delta"], statement["row_norm"]
        if text.startswith(_ABOUT_NOISE):
            far = row_norm is not None and not 1e-3 <= row_norm <= 1e3 and 1e-3 <= epsilon <= 1e3
            name, advice = ("row_norm", "nearer to sqrt(n_features)") if far else ("epsilon", _nearer(epsilon))
            reason = f"{name} leads, with the other arguments, to noise that is not drawn exactly: {text}; use {advice}"
        elif text.startswith(_TOO_SMALL_FOR_GAMMA) and (delta is None or delta > 1e-29):
            reason = f"epsilon is too large for gamma noise with this delta: {text}"
        elif text.startswith(("delta must lie", "delta must be positive")) and delta is not None and 0.0 < delta < 1.0:
            reason = "delta is too small for this mechanism, which divides it; 1e-300 is large enough"
        elif text.startswith(_TOO_SMALL_FOR_BOTH) and delta is not None and delta > 0.1:
            reason = "delta is too large to be divided between a private scale and this mechanism; use scale=None"
        else:
            raise
    raise InvalidArgumentError(reason)


def _nearer(epsilon: float) -> str:
    return "a smaller one" if epsilon > 1.0 else "a larger one, or more records"


#: Losses that become a softmax model for three or more classes.
_LOSSES_OF_CLASSES = ("logistic", "clipped-logistic")
#: Mechanisms whose proofs are for two.
_BINARY_MECHANISMS = ("objective-perturbation", "sgd-output", "dual-frank-wolfe")


class _PrivateSparse(WrittenModel, ReleasedNoiseMixin, BaseEstimator):
    """What private classifiers and regressors share."""

    feature_ranges_: npt.NDArray[np.float64] | None
    _clips_features: bool
    #: Not a parameter of classifiers.
    positive: bool = False
    #: What ``y_bounds=None`` means.
    _default_targets = "[-1, 1]"

    @abstractmethod
    def _target_statement(self) -> dict[str, Any]:
        """Public facts about y that are known without it."""

    def _private_scale(self) -> bool | None:
        choices = {"auto": None, "private": True, None: False}
        if not (self.scale is None or isinstance(self.scale, str)) or self.scale not in choices:
            raise InvalidArgumentError("scale must be 'auto', 'private' or None")
        return choices[self.scale]

    def _takes_weights(self) -> bool:
        return self.max_weight is not None

    def _max_weight(self) -> float | None:
        return optional_positive("max_weight", self.max_weight)

    def _statement(self, n_samples: int, n_features: int) -> dict[str, Any]:
        lower, upper = feature_bounds(self)
        target = self._target_statement()
        verbosity(self.verbose)
        return {
            "n_samples": public_count(self.adjacency, self.n_public, n_samples),
            "n_features": n_features,
            "lower": lower,
            "upper": upper,
            "row_norm": row_bound(table_row_norm(self)),
            "fit_intercept": flag("fit_intercept", self.fit_intercept),
            "loss": losses.specification(self.loss),
            "epsilon": number("epsilon", self.epsilon),
            "delta": optional_number("delta", self.delta),
            "adjacency": self.adjacency,
            "records_per_person": positive_integer("records_per_person", self.records_per_person),
            "max_weight": self._max_weight(),
            "norm": polytopes.specification(
                table_norm(self), n_features, weights=self.feature_weights, positive=self.positive
            ),
            **target,
            "assumptions": [*target["assumptions"], *person_assumptions(self)],
        }

    def plan(self, n_samples: int, n_features: int | None = None) -> Plan:
        """Plan a fit without any data: iterations, noise, and the events that it will spend.

        Parameters
        ----------
        n_samples : int
            Number of records. Under add-remove ``n_public`` is used instead.
        n_features : int, optional
            Number of features; None with a schema, which says it.

        Notes
        -----
        A classifier plans for ``classes``, for two where they are None. With ``max_weight`` the plan is for records
        that have weights.

        Returns
        -------
        Plan
            With ``n_iter``, ``epsilon``, ``delta``, ``events`` (pairs of event and count), ``noise_scales`` (in units
            of the mean loss), ``predicted_excess_risk``, ``memory`` (bytes) and ``certified``. ``fit`` spends exactly
            these events.

        Raises
        ------
        InvalidArgumentError
            If a parameter is out of its domain or is not used by the mechanism.
        UnsoundMechanismError
            If the combination has no proved guarantee.
        """
        warn_of_default_bounds(self, self._default_targets)
        return made_by(planned(self._facts(n_samples, column_count(self, n_features))), self, n_samples, n_features)

    def plan_curve(
        self, n_samples: int, n_features: int | None = None, *, epsilons: Sequence[float] = EPSILONS
    ) -> PlanCurve:
        """Plan for several epsilons, to choose one before any data are read.

        Parameters
        ----------
        n_samples : int
            Number of records, as of :meth:`plan`.
        n_features : int, optional
            Number of features; None with a schema, which says it.
        epsilons : sequence of float
            Budgets to compare, positive and increasing.

        Returns
        -------
        PlanCurve
            Noise, predicted excess risk and, where the law of the noise is known, standard deviations of the
            coefficients for each epsilon; the estimator is not changed.

        Raises
        ------
        DpsparseError
            As :meth:`plan`, for an epsilon that no plan exists for too.

        Examples
        --------
        >>> from dpsparse import PrivateSparseClassifier
        >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=("no", "yes"))
        >>> curve = model.plan_curve(10_000, 20, epsilons=(0.5, 1, 2))
        >>> bool(curve.noise_scale[0] > curve.noise_scale[1] > curve.noise_scale[2])
        True
        """
        plans, deviations = [], []
        for epsilon in checked_epsilons(epsilons):
            tried = clone(self).set_params(epsilon=epsilon)
            plan = tried.plan(n_samples, n_features)
            plans.append(plan)
            deviations.append(planned_deviations(tried, plan))
        known = [deviation for deviation in deviations if deviation is not None]
        return curve_of(plans, np.array(known) if len(known) == len(plans) else None)

    def _facts(self, n_samples: int, n_features: int, names: Sequence[str] | None = None) -> Facts:
        """Everything public that a fit rests on; with the names of the columns where bounds go by names."""
        mechanism, options = specification(resolve(self.mechanism, self), self)
        statement = self._statement(
            positive_integer("n_samples", n_samples), positive_integer("n_features", n_features)
        )
        if names is not None:
            statement["lower"], statement["upper"] = bound_arrays(self.bounds, names)
        return statement, mechanism, options, self._private_scale()

    def _fit(
        self,
        X: Any,
        targets: npt.NDArray[np.float64],
        weights: npt.NDArray[np.float64] | None = None,
        checkpoint: Path | None = None,
        **about_targets: Any,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Fit, with what was read of the targets in the place of what is known without them.

        Returns coefficients, of shape (n_classes, n_features) for three or more classes, and intercepts.
        """
        n_samples, n_features = X.shape
        facts = self._facts(n_samples, n_features, names_for(self))
        facts[0].update(about_targets)
        if weights is None:
            facts[0]["max_weight"] = None
        plan = planned(facts)
        ledger = checked_ledger(self.ledger)
        key = seed(self.random_state)
        x, y, sample_weight = core_arguments(X, targets, weights, schema_of(self))
        with progress(short_name(plan.mechanism), self.verbose) as report:
            coefficients, intercepts, n_iter, certificate, released, trace = _core.fit_private(
                plan,
                x,
                y,
                sample_weight=sample_weight,
                seed=key,
                progress=report,
                ledger=ledger,
                checkpoint=checkpoint,
            )
        self.n_iter_ = n_iter
        self.certificate_ = certificate
        keep_facts(self, facts)
        self._keep_ranges(released)
        keep_population(self, facts, trace, self.feature_ranges_ if self._clips_features else None)
        return coefficients.reshape(len(intercepts), n_features), intercepts

    def _keep_ranges(self, released: tuple[npt.NDArray[np.float64], bool] | None) -> None:
        """Keep the released ranges, whether features are clipped to them, and what goes with them."""
        self.feature_ranges_, self._clips_features = (None, False) if released is None else released

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class PrivateSparseClassifier(MulticlassMixin, ClassifierMixin, _PrivateSparse):
    """Sparse linear classifier with differential privacy for the records it is fitted on.

    Minimises the mean loss over a ball of sparse models, privately. Neighbours, sensitivity and cost of a fit stand in
    ``certificate_``. Bounds, labels, hyper-parameters and the number of records are public; nothing else leaks.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy parameter, positive.
    delta : float, optional
        Privacy parameter in (0, 1). None: ``min(1/n**2, 1e-6)``; must be given under add-remove.
    loss : str, loss object or callable, default "logistic"
        "logistic", "hinge", "squared", "huber", "absolute", an object of :mod:`dpsparse.losses`, or a callable that
        maps arrays ``(z, y)`` to derivatives (clamped to [-1, 1]; see :class:`dpsparse.losses.CustomLoss`).
    norm : {"l1", "linf", "simplex", "groups"}, DisjointGroups, Vertices, SetFunction or GroupLasso, default "l1"
        Shape of the set of models, or of the penalty; not every mechanism takes every norm. Mechanisms that can do
        without leave it out where neither ``alpha`` nor ``radius`` nor ``threshold`` is set.
    radius : float, optional
        Its size, in scaled units (features mapped to [-1, 1] by their bounds), the l1 norm's of all classes together.
        None: no bound, or where the mechanism takes one 10.
    alpha : float, optional
        Penalty per unit of the norm, in scaled units, for the penalised form. None: no penalty.
    l1_ratio : float, optional
        In (0, 1]: the elastic net, ``alpha * l1_ratio * Omega(theta) + alpha * (1 - l1_ratio) / 2 * |theta|_2^2`` in
        scaled units; excludes ``ridge``. For mechanisms that take ``alpha`` and a ridge. None: ``ridge`` as it is.
    feature_weights : array-like of shape (n_features,), optional
        For ``norm="l1"``: the norm is the sum of ``feature_weights * |theta|``, public, one weight for each (encoded)
        column; a feature of weight 0 is not penalised, which needs ``alpha``. None: all are 1.
    mechanism : str or mechanism object, default "auto"
        "auto" (by public facts alone; ``plan()`` and ``certificate_`` say what it chose: see the Notes), "frank-wolfe",
        "penalised-frank-wolfe", "noisy-gradient-frank-wolfe", "noisy-proximal-gradient", "noisy-newton",
        "mirror-descent", "dual-frank-wolfe", "output-perturbation", "objective-perturbation", "sgd-output",
        "select-refit", or an object of :mod:`dpsparse.mechanisms` with its own options, such as
        ``FrankWolfe(n_iter=40)``.
        "dual-frank-wolfe", "objective-perturbation" and "sgd-output" are proved for two classes only and refuse more.
    bounds : pair, array of shape (n_features, 2) or mapping, optional
        Public bounds of the features: two numbers, two arrays ``(lowers, uppers)`` with one entry per feature, an array
        with one row per feature, or a mapping of column names to pairs, for data frames. Values outside are clipped, in
        silence. Equal bounds: a constant feature, of coefficient 0. None: (-1, 1), with a ``DefaultBoundsWarning``.
    schema : Schema, optional
        Public facts about the columns of a table (:mod:`dpsparse.tables`), in place of ``bounds``: X is then a data
        frame, and is encoded by them. It hands over the bounds, ``row_norm`` where it is None and the mechanism uses
        it, and the attributes as groups where ``norm="groups"``.
    row_norm : float, optional
        Public bound on the Euclidean norm of a scaled row, for mechanisms that use it ("linf", groups); longer rows are
        shortened. None: sqrt(n_features), or the schema's.
    scale : {"auto", "private", None}, default "auto"
        "private": part of the budget first finds scales for the features: for public bounds that are much wider than
        the data. These are ranges (two quantiles each by the exponential mechanism) and means of features without one
        (a Gaussian release) or, where ``row_norm`` says that records are sparse counts, weights of columns (another);
        and a typical norm of the rows. "auto": where ``mechanism="auto"`` finds it worth its budget. None: never.
        Afterwards ``radius``, ``alpha`` and ``ridge`` of a mechanism that is named are in units of the scaled features,
        but for noisy Newton steps, and noisy proximal gradients with an l1 norm. Rows longer than the typical one count
        less in noisy gradients of regressions and counts; both perturbations, "sgd-output" and "dual-frank-wolfe"
        shorten them, so that slopes of regressions are too steep: half as steep again has been seen.
    classes : sequence of labels, optional
        The public labels, two or more, in any order: ``classes_`` is sorted. None: read from y, recorded as an
        assumption. Three or more are one softmax model with one budget, for ``loss="logistic"``; a label without
        records keeps its row.
    fit_intercept : bool, default True
        The intercept is private too, and part of the ball. Without it features are scaled but not centred.
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
        ``sample_weight``; larger weights are clipped to it. See the Notes. None: no weights.
    ledger : Ledger or Accountant, optional
        Where the cost of a fit is written down before any record is read, and what refuses more than its total; a
        :class:`dpsparse.privacy.Ledger` is a file, an :class:`~dpsparse.privacy.Accountant` with a budget is in memory.
    random_state : None, int, RandomState or Generator, default None
        None: randomness from the operating system. Anything else makes the fit reproducible and **not private**.
    verbose : bool or int, default 0
        Where not 0, progress is shown on stderr.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients in the user's units; for three or more classes a row a class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts in the user's units.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted; of two, a positive coefficient favours ``classes_[1]``.
    feature_ranges_ : ndarray of shape (n_features, 2) or None
        Ranges of the features that private scales released, in the user's units, the public bounds of features without
        one; None where none were released. With "frank-wolfe" and other mechanisms of bounded features, fits and
        predictions clip features to them. With mechanisms of bounded rows ("auto", "noisy-newton", ...) they are two
        quantiles that gave the fit its units: nothing is clipped to them, and the model is linear everywhere. Only
        where the bounds of a feature are some 400 standard deviations or more from its middle, or most rows are far
        shorter than those of as many normal features are, as of amounts that are mostly next to nothing, do fits and
        predictions clip features, at some twenty standard deviations; then these are the ends, and the public bounds of
        features that do not reach them.
    support_ : ndarray of int
        Indices of the features with a non-zero coefficient.
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
    What "auto" means, by public facts alone. With ``alpha``, ``radius`` or ``ridge``: noisy Newton steps with these
    penalties or in this ball, of any norm with an exact prox, after private scales, in units of the public bounds;
    coefficients that are not worth their noise are zero, in patterns of the norm. Beyond 512 columns the same without
    second moments, noisy proximal gradients for ``alpha`` of the l1 norm and for ``ridge`` alone, and Frank-Wolfe for
    ``radius`` of a set function. With ``n_iter``, or any of them and ``scale=None``, a user's own loss or no intercept:
    Frank-Wolfe, penalised where there is ``alpha``, and noisy proximal gradients for a ``ridge``, a group lasso or
    ``alpha`` of a set function whose ball has no vertices to select among (noisy Frank-Wolfe for its ``radius``).
    Otherwise noisy shares of the classes and no coefficients, where n and epsilon are too small for any model; a user's
    own loss, the simplex or ``Vertices``: Frank-Wolfe; groups: noisy Newton steps whose groups are zero where they are
    not worth their noise, "select-refit" for disjoint ones where records are few (as below) or columns more than 512;
    another norm than l1, or a seminorm of a set function: noisy proximal gradients after private scales, with a penalty
    of the size of the noise. Otherwise, with n records and p features: objective perturbation for sparse counts
    (``row_norm`` far below ``sqrt(p)``); "select-refit" where all bounds are [0, 1] or [-1, 1], and n and epsilon are
    small for p and for the length of rows (``row_norm``, which a schema knows); else noisy Newton steps, beyond 512
    columns without second moments, after private scales, and a line through their scores, which makes ``coef_`` log
    odds and ``predict_proba`` calibrated. Derivatives of the logistic loss are clamped at 1/2, and less as noise gets
    small, which lessens the noise and changes only what records on the wrong side say; in "select-refit" and objective
    perturbation no line follows, and probabilities are too sure. Three or more classes take noisy Newton steps, and
    "select-refit" selects groups for all of them: the Euclidean norm of a record's slopes is clamped at sqrt(1 - 1/K),
    what is noise by the released second moments is shrunk, and one private factor for what features add to all scores
    follows noisy Newton steps, with second moments and without ``alpha``, ``radius`` or ``ridge``. Every constant
    stands in ``src/plan/defaults/``, with where it comes from.

    **Stopping and going on.** Ctrl-C raises ``KeyboardInterrupt`` and leaves the estimator as it was before the fit.
    Once the records are read all that the plan costs counts as spent, whenever it is stopped: count ``plan().events``
    where you keep account. With ``fit(..., checkpoint=path)`` a fit that was stopped, or whose process ended in any
    way, goes on: the answers so far are read, not drawn again, and one certificate covers the whole. The file holds
    noisy answers, which are released as the model is; it holds no record and nothing that tells of the noise. Two
    promises are yours, and stand in the certificate of a resumed fit: that the records are the same, in the same
    order, and that no copy of the file was continued besides. It is ``fit`` that takes the path, and no parameter of
    the estimator, as a file belongs to one fit on one set of records: clones and cross-validation would share it.
    Mechanisms of one answer ("output-perturbation", "objective-perturbation", "sgd-output") begin their work again;
    they save the budget alone.

    **Weights.** ``sample_weight`` holds survey weights, or those that make up for strata of unequal sampling: a stratum
    needs no more than its weight in its records. A record of weight w counts ``min(w, max_weight)/max_weight`` times,
    at most once, so that sensitivities are those of records without weights, and neighbours may differ in a weight too.
    The objective is the mean over n records of ``w/max_weight`` times the loss, n their number: noise in units of the
    weighted mean loss is larger by ``max_weight`` over the mean weight. So declare the least ``max_weight`` that clips
    few weights. ``alpha`` and ``ridge`` stand beside that objective: for those of the exact estimators, which divide by
    the sum of the weights, multiply by the mean weight over ``max_weight``. Private scales count every record once,
    whatever its weight.

    References
    ----------
    Talwar, Thakurta & Zhang (2015), Algorithm 2, Theorems 2.4 and 2.5. Proofs: the crate's pages
    ``theory_of_privacy::selection``, ``::frank_wolfe`` and ``::noise_and_accounting``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 20))
    >>> y = np.where(X[:, 3] > X[:, 7], "yes", "no")
    >>> model = PrivateSparseClassifier(epsilon=1.0, bounds=(-1, 1), classes=("no", "yes"), random_state=0)
    >>> model = model.fit(X[:4000], y[:4000])
    >>> bool(model.score(X[4000:], y[4000:]) > 0.8), model.certificate_.secure, model.certificate_.verify()
    (True, False, False)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        loss: Any = "logistic",
        norm: Any = "l1",
        radius: float | None = None,
        alpha: float | None = None,
        l1_ratio: float | None = None,
        feature_weights: Any = None,
        mechanism: Any = "auto",
        bounds: Any = None,
        schema: Any = None,
        row_norm: float | None = None,
        scale: str | None = "auto",
        classes: Any = None,
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
        self.loss = loss
        self.norm = norm
        self.radius = radius
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.feature_weights = feature_weights
        self.mechanism = mechanism
        self.bounds = bounds
        self.schema = schema
        self.row_norm = row_norm
        self.scale = scale
        self.classes = classes
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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on records that were held out.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            Exact, so **not private** for the people in X and y: on private records, those of the fit above all, it is a
            release that no certificate covers. Score on public or held-out records, or keep the result to yourself.
        """
        return float(super().score(X, y, sample_weight))

    def _target_statement(self) -> dict[str, Any]:
        known = self.classes is not None
        n_classes = len(declared_labels(self.classes, many=True)) if known else 2
        assumptions = [] if known else [_LABELS_FROM_Y.format("two")]
        return {
            "y_bounds": None,
            "n_classes": n_classes,
            "counts": False,
            "residual_bound": None,
            "assumptions": assumptions,
        }

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
            Labels.
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
            Before any budget is spent: a parameter out of its domain or unused (``InvalidArgumentError``), unusable
            records or labels (``InvalidDataError``), a combination without a guarantee (``UnsoundMechanismError``).
        """
        warn_of_default_bounds(self)
        X, y, weights = read_weighted(self, X, y, sample_weight)
        labels, targets = encode_many_labels(y, self.classes)
        with kept_until_fitted(checkpoint) as kept:
            self.coef_, self.intercept_ = self._fit(X, targets, weights, kept, **self._about_labels(labels))
            self.classes_ = labels
        return self

    def _about_labels(self, labels: npt.NDArray[Any]) -> dict[str, Any]:
        """What labels that were read from y change in the public facts: there may be more than two."""
        if self.classes is not None or len(labels) == 2:
            return {}
        assumptions = [_LABELS_FROM_Y.format(len(labels)), *person_assumptions(self)]
        return {"n_classes": len(labels), "assumptions": assumptions}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        loss = getattr(self.loss, "name", self.loss)
        mechanism = getattr(self.mechanism, "name", self.mechanism)
        # Whatever was passed: fits say what is wrong with it.
        several = isinstance(loss, str) and loss in _LOSSES_OF_CLASSES
        binary = isinstance(mechanism, str) and mechanism in _BINARY_MECHANISMS
        tags.classifier_tags.multi_class = several and not binary
        return tags


class PrivateSparseRegressor(LinearRegressorMixin, RegressorMixin, _PrivateSparse):
    """Sparse linear regression with differential privacy for the records it is fitted on.

    Targets are clipped to ``y_bounds`` and mapped to [-1, 1]; the residual of the squared loss is clamped at
    ``residual_bound``. Everything else is as in :class:`PrivateSparseClassifier`.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy parameter, positive.
    delta : float, optional
        Privacy parameter in (0, 1). None: ``min(1/n**2, 1e-6)``; must be given under add-remove.
    loss : str, loss object or callable, default "squared"
        "squared" (always ``(1/2)(z - y)**2``), "huber", "absolute", "pinball" (the median; other quantiles by
        ``Pinball(level=0.9)``), an object of :mod:`dpsparse.losses`, or a callable that maps arrays ``(z, y)`` to
        derivatives. Thresholds are in scaled units of y.
    norm : {"l1", "linf", "simplex", "groups"}, DisjointGroups, Vertices, SetFunction or GroupLasso, default "l1"
        Shape of the set of models, or of the penalty; not every mechanism takes every norm. Mechanisms that can do
        without leave it out where neither ``alpha`` nor ``radius`` nor ``threshold`` is set.
    radius : float, optional
        Its size, in scaled units (features and targets mapped to [-1, 1] by their bounds). None: no bound, or where the
        mechanism takes one 4.
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
        "auto" (by public facts alone; ``plan()`` and ``certificate_`` say what it chose: see the Notes), "frank-wolfe",
        "penalised-frank-wolfe", "noisy-gradient-frank-wolfe", "noisy-proximal-gradient", "noisy-newton",
        "mirror-descent", "dual-frank-wolfe", "output-perturbation", "objective-perturbation", "sgd-output",
        "select-refit", or an object of :mod:`dpsparse.mechanisms` with its own options, such as
        ``FrankWolfe(n_iter=40)``.
    bounds : pair, array of shape (n_features, 2) or mapping, optional
        Public bounds of the features, as in :class:`PrivateSparseClassifier`.
    y_bounds : pair (lower, upper), optional
        Public bounds of the target. Values outside are clipped, in silence. None: (-1, 1), with a
        ``DefaultBoundsWarning``.
    residual_bound : float, optional
        Clamp of the residual of the squared loss, in scaled units. None: 2, but 0.25 after private scales and in
        "select-refit". Other losses take none.
    schema : Schema, optional
        Public facts about the columns of a table, as in :class:`PrivateSparseClassifier`.
    row_norm : float, optional
        Public bound on the Euclidean norm of a scaled row, for mechanisms that use it ("linf", groups).
    scale : {"auto", "private", None}, default "auto"
        Private scales of the features, see :class:`PrivateSparseClassifier`, and of the target: its median and a
        quantile of the distances from it, two choices by the exponential mechanism, for squared and pinball losses and
        an intercept. Long rows then count less instead of being shortened. ``residual_bound``, where given, is in units
        of the scaled target; None: about a third of the released spread, and more as noise gets small.
    fit_intercept : bool, default True
        The intercept is private too, and part of the ball. Without it features and targets are scaled but not centred.
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
        Coefficients in the user's units.
    intercept_ : float
        Intercept in the user's units.
    feature_ranges_ : ndarray of shape (n_features, 2) or None
        Released ranges that features are clipped to before ``coef_`` and ``intercept_`` apply, in fits and in
        predictions alike; None where the model is linear everywhere.
    support_ : ndarray of int
        Indices of the non-zero coefficients.
    target_bounds_ : tuple of float
        ``y_bounds``, which predictions are clipped to, as targets were in the fit.
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
    What "auto" means, by public facts alone. With ``alpha``, ``radius`` or ``ridge``: noisy Newton steps with these
    penalties or in this ball, of any norm with an exact prox, after private scales, in units of the public bounds;
    coefficients that are not worth their noise are zero, in patterns of the norm. Beyond 512 columns the same without
    second moments, noisy proximal gradients for ``alpha`` of the l1 norm and for ``ridge`` alone, and Frank-Wolfe for
    ``radius`` of a set function. With ``n_iter``, or any of them and ``scale=None``, a user's own loss or no intercept:
    Frank-Wolfe, penalised where there is ``alpha``, and noisy proximal gradients for a ``ridge``, a group lasso or
    ``alpha`` of a set function whose ball has no vertices to select among (noisy Frank-Wolfe for its ``radius``).
    Otherwise a constant, the median or the quantile of the loss, where n and epsilon are too small for any model; a
    user's own loss, the simplex or ``Vertices``: Frank-Wolfe; groups: noisy Newton steps whose groups are zero where
    they are not worth their noise, "select-refit" for disjoint ones where records are few (as below) or columns more
    than 512; ``positive`` or another norm than l1, or a seminorm of a set function: noisy proximal gradients after
    private scales, with a penalty of the size of the noise for a norm. Otherwise, with n records and p features:
    "select-refit" with Newton steps where all bounds are [0, 1] or [-1, 1], and n and epsilon are small for p and for
    the length of rows (``row_norm``, which a schema knows); else noisy Newton steps, beyond 512 columns without second
    moments, and a line through their scores. All of these come after private scales, the middle and the spread of the
    target first: its unit, and bounds that are wider than need be, change little. Where bounds other than [0, 1] and
    [-1, 1] say little, features are clipped to private ranges, in the fit and in predictions (``feature_ranges_``): the
    tails of few records, which would decide the errors of a linear model, count no more than the ends of these ranges.
    They come from two quantiles of each feature or, where records are too few for those, from noisy histograms.
    Features without a range whose bounds begin or end at zero, as indicators, are around noisy means, where rows are
    shorter: noise is in proportion to them. Without an intercept the target stays as it is. ``scale=None`` forgoes all
    scales.

    References
    ----------
    Talwar, Thakurta & Zhang (2015), Algorithm 2 and Corollary 2.7. Proofs: as of :class:`PrivateSparseClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20_000, 5))
    >>> y = 30 + 10 * X[:, 2] + rng.normal(size=20_000)
    >>> model = PrivateSparseRegressor(epsilon=1.0, bounds=(-1, 1), y_bounds=(0, 100), random_state=0).fit(X, y)
    >>> int(np.argmax(abs(model.coef_))), round(model.intercept_)
    (2, 30)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        loss: Any = "squared",
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
        self.loss = loss
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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R^2, on records that were held out.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            Exact, so **not private** for the people in X and y, as :meth:`PrivateSparseClassifier.score`.
        """
        return float(super().score(X, y, sample_weight))

    def _target_statement(self) -> dict[str, Any]:
        residual_bound = optional_number("residual_bound", self.residual_bound)
        return {
            "y_bounds": target_bounds(self.y_bounds),
            "n_classes": None,
            "counts": False,
            "residual_bound": residual_bound,
            "assumptions": [],
        }

    def _keep_ranges(self, released: tuple[npt.NDArray[np.float64], bool] | None) -> None:
        super()._keep_ranges(released)
        self.target_bounds_ = target_bounds(self.y_bounds)

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
            Targets.
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
        warn_of_default_bounds(self)
        X, y, weights = read_weighted(self, X, y, sample_weight)
        targets = real_targets(y)
        with kept_until_fitted(checkpoint) as kept:
            coefficients, intercepts = self._fit(X, targets, weights, kept)
            self.coef_, self.intercept_ = coefficients[0], float(intercepts[0])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
