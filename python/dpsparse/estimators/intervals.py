"""Intervals for coefficients: by the public law of the noise on them, or by what noisy Newton steps released."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from dpsparse import _core
from dpsparse._core import Certificate, InvalidArgumentError, Plan, UnsoundMechanismError
from dpsparse._validation import choice, number
from dpsparse.estimators._bounds import names_for
from dpsparse.estimators._tables import schema_of
from dpsparse.estimators.population import PopulationEstimates, population_estimates
from dpsparse.mechanisms import NoisyNewton, OutputPerturbation, SgdOutput, resolve
from dpsparse.privacy import GaussianEvent, LaplaceEvent

__all__ = ["Facts", "ReleasedNoiseMixin", "keep_facts", "keep_population", "planned_deviations", "restated_facts"]

_HAVE_A_LAW = (
    "intervals need a release whose noise has a known law: mechanism='output-perturbation' or 'sgd-output' with "
    "noise='gaussian' or 'laplace', scale=None and no threshold"
)
_WHY_NOT = {
    "auto": "none of those that it chooses has one; target='population' may be had",
    "objective-perturbation": "its noise passes through the curvature of the private loss",
    "select-refit": "its refit perturbs the objective, so its noise passes through the curvature of the private loss, "
    "and the selection is random too",
    "frank-wolfe": "its vertices are chosen, not perturbed",
    "penalised-frank-wolfe": "its vertices are chosen, not perturbed",
    "noisy-gradient-frank-wolfe": "its noise passes through later steps, which depend on private gradients",
    "mirror-descent": "its noise passes through later steps, which depend on private gradients",
    "noisy-newton": "its noise passes through later steps, which depend on private gradients; target='population' "
    "may be had",
    "noisy-proximal-gradient": "its noise passes through later steps, which depend on private gradients",
    "dual-frank-wolfe": "it averages releases of different points, each chosen by the noise before it",
}

_SHORTENED = (
    "rows that are longer than row_norm were shortened, which moves the minimiser, and how many cannot be told; "
    "row_norm=None shortens none"
)

#: The statement, the mechanism's name and options, and whether private scales come first.
Facts: TypeAlias = tuple[dict[str, Any], str, str, bool | None]
Interval: TypeAlias = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


class _Law(NamedTuple):
    """The noise on each entry of the released point, in scaled units, and the map to the user's."""

    lattice: float
    gaussian: bool
    # Standard deviation (Gaussian) or scale (discrete Laplace), in lattice units.
    size: float
    # L2 sensitivity in lattice units.
    sensitivity: float
    # Scaled units to the user's: one per coefficient, and for the intercept.
    factors: npt.NDArray[np.float64]
    intercept_factor: float

    def deviation(self) -> float:
        if self.gaussian:
            return self.lattice * self.size
        # Variance of exp(-|k|/s): 2 q/(1 - q)^2 = 1/(2 sinh(1/2s)^2), q = exp(-1/s).
        return self.lattice / (math.sqrt(2.0) * math.sinh(0.5 / self.size))

    def reach(self, confidence: float) -> float:
        """Half width of an interval for one entry, in scaled units."""
        if self.gaussian:
            return self.lattice * (float(ndtri(0.5 + 0.5 * confidence)) * self.size + 1.0)
        # P(|k| > r) = 2 q^(r+1)/(1 + q) is at most 1 - confidence from this r + 1 on; rounding adds half a unit.
        ratio = 0.5 * (1.0 - confidence) * (1.0 + math.exp(-1.0 / self.size))
        return self.lattice * (math.ceil(-self.size * math.log(ratio)) - 0.5)


class ReleasedNoiseMixin:
    """Standard deviations and intervals for the coefficients of a private model.

    **Which models.** For ``target="fit"``, ``output-perturbation`` (both modes) and ``sgd-output`` with Gaussian or
    Laplace noise, without a private scale and without a threshold after the release, of at most two classes: they add
    noise of a public law to one point. For ``target="population"``, output perturbation, and noisy Newton steps, which
    ``"auto"`` takes as a rule. Elsewhere the noise passes through private choices: those raise, and say so. Everything
    here is post-processing of what was released by public numbers: it costs no privacy, and works on unpickled models.

    **What ``target="fit"`` covers, exactly.** The coefficient that the same fit would have released without noise, the
    regularised minimiser (last iterate) on the same records as the mechanism sees them: clipped, rounded, with its
    ridge, up to the solver's error that the sensitivity counts (far below the noise). With h the public lattice, the
    released entry is ``h * (round(theta/h) + round(G))``, G Gaussian with standard deviation ``s``, so it is within
    ``h * (|G| + 1)`` of theta: an interval of half width ``h * (z * s + 1)`` covers theta with at least the given
    probability, at any sample size, and with hardly more, as s is above 500 where epsilon is below 10 (Laplace noise is
    an integer: ``h * (r + 1/2)``, r its quantile). One coefficient at a time; divide ``1 - confidence`` by their number
    for all at once.

    **It says nothing about sampling**: not about the coefficient of another sample, nor of the population.

    **What ``target="population"`` covers after noisy Newton steps.** The coefficients of the model that the records
    come from: a linear model with independent errors of one law, or a logistic model. The intercept's also takes a law
    that is symmetric: clamps move the mean of skewed errors, so that none for the intercept is valid with these unless
    clamps are wide (n epsilon large). They are not centred on ``coef_``, which is shrunk, but on
    :meth:`population_estimates`: where the released gradients and second moments say that the minimiser is, with a
    standard error for sampling, the noise on both, and a tenth of error in the curvature. It is asymptotic: the law of
    the estimate is taken to be normal, scores and, where a clamp binds, residuals too. Coverage was measured, not
    proved (``tests/test_population_intervals.py``). Where ``feature_ranges_`` clip features the coefficients are those
    of the model for clipped features; intervals are wider by what clipping changes for normal features, one or two per
    cent of a coefficient. Raised are errors, which say what would help, where the noise on the moments hides a
    direction of the features; for a clamped logistic loss, whose minimiser is another (``"auto"`` clamps where noise is
    large; ``mechanism="noisy-newton"`` does not); for regressions without a line (``NoisyNewton(line=...)``, part of
    ``"auto"``), since nothing else tells how large residuals are; where the targets of a level lie at the end of the
    released range that targets are clipped to, or most targets are alike, so that others may lie beyond it; where a
    ``row_norm`` shortens rows; for other losses, three or more classes, several records a person and add-remove.

    Rare levels: steps of a logistic model wander by several log odds along a column that few records have. What
    gradients are there is known for features of two values that are their bounds, truth values and the levels of a
    schema among them, by the released means and variances; others are taken to be normal. Where gradients change from
    step to step as neither's do, as with wider bounds for truth values, that is an error; noise may hide it: state the
    two values as bounds.

    The model must hold: after private scales long rows count less in the steps, and where effects bend that is the line
    of other records than those of a fit without privacy.

    **What ``target="population"`` covers otherwise.** For ``output-perturbation`` in mode "ridge" under replace-one
    with one record a person: the minimiser of the *expected* regularised loss, for independent records of one law, at
    any sample size, all coefficients at once. By strong convexity ``|theta - theta_pop| <= |g|/ridge``, g the mean of n
    independent vectors, the gradients at theta_pop less their mean, of which the loss parts are at most L R2 long.
    ``E|g| <= L R2/sqrt(n)``, and ``|g|`` exceeds its mean by ``L R2 sqrt(2 ln(1/a)/n)`` with probability at most a
    (McDiarmid: one record moves it by 2 L R2/n). With the public sensitivity ``D2 >= 2 L R2/(n ridge)``:
    ``|theta - theta_pop| <= (D2/2) sqrt(n) (1 + sqrt(2 ln(1/a)))``. Half of ``1 - confidence`` goes to this, half,
    divided by the number of coefficients, to the noise. No asymptotics and no look at the data; the price is width: it
    takes the ridge for the curvature, the worst case. An interval from the private Hessian would have to be paid for.

    References
    ----------
    Chaudhuri, Monteleoni & Sarwate (2011), Lemma 7, for the strong convexity argument; McDiarmid (1989).
    The sensitivity is proved in ``theory_of_privacy::output_perturbation``.
    """

    coef_: npt.NDArray[np.float64]
    intercept_: Any
    certificate_: Certificate
    # Public facts of the fit; only where its noise has a law.
    _facts_of_fit: tuple[Any, ...]
    # The fields of PopulationEstimates, or why there are none; only after a fit that may take noisy Newton steps.
    _population: tuple[npt.NDArray[np.float64], ...] | str

    def coef_std(self) -> npt.NDArray[np.float64]:
        """Return the standard deviations of the noise on ``coef_``.

        What has such a law: :class:`~dpsparse.estimators.intervals.ReleasedNoiseMixin`.

        Returns
        -------
        ndarray
            Shaped like ``coef_``, in the user's units.

        Raises
        ------
        DpsparseError
            As :meth:`coef_interval`.
        """
        law, _ = self._released_law()
        deviations: npt.NDArray[np.float64] = (law.factors * law.deviation()).reshape(self.coef_.shape)
        return deviations

    def intercept_std(self) -> float:
        """Return the standard deviation of the noise on the intercept.

        Returns
        -------
        float
            In the user's units; 0 without an intercept.

        Raises
        ------
        DpsparseError
            As :meth:`coef_interval`.
        """
        law, _ = self._released_law()
        return law.intercept_factor * law.deviation()

    def population_estimates(self) -> PopulationEstimates:
        """Return estimates of the population's coefficients after noisy Newton steps, with their standard errors.

        Without the shrinkage of ``coef_``: better to infer with, worse to predict with. What they rest on:
        :class:`~dpsparse.estimators.intervals.ReleasedNoiseMixin`.

        Returns
        -------
        PopulationEstimates
            Arrays of shape (n_features + 1,), the intercept last, in the user's units: ``estimate``, ``error``
            (standard error by sampling and noise), ``sampling_error`` (what a fit without privacy has too) and
            ``clipping`` (what clipping features to released ranges changes, at most, where they are normal).

        Raises
        ------
        UnsoundMechanismError
            Where no interval is known to cover; it says why, and what would help.

        Examples
        --------
        >>> import numpy as np
        >>> from dpsparse import PrivateSparseRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, (20_000, 3))
        >>> y = X @ [1.0, -0.5, 0.0] + rng.normal(0, 0.5, 20_000)
        >>> model = PrivateSparseRegressor(epsilon=2.0, bounds=(-1, 1), y_bounds=(-5, 5), random_state=0).fit(X, y)
        >>> estimates = model.population_estimates()
        >>> bool(np.all(np.abs(estimates.estimate - [1.0, -0.5, 0.0, 0.0]) < 4 * estimates.error + estimates.clipping))
        True
        >>> bool(np.all(estimates.error > estimates.sampling_error))  # privacy has its price
        True
        """
        check_is_fitted(self, "coef_")
        kept = getattr(self, "_population", None)
        if kept is None:
            name = resolve(self.mechanism, self).name  # type: ignore[attr-defined]
            raise UnsoundMechanismError(
                "population estimates need noisy Newton steps of this fit (mechanism='auto' or 'noisy-newton'), not "
                f"{name}, and no search"
            )
        if isinstance(kept, str):
            raise UnsoundMechanismError(f"no interval is known to cover the population's coefficients: {kept}")
        return PopulationEstimates(*kept)

    def _population_ends(self, confidence: float, target: str) -> tuple[npt.NDArray[np.float64], ...] | None:
        """Return lower and upper ends of population intervals after Newton steps; None where others are asked for."""
        level = _checked(confidence, target)
        if target == "fit" or getattr(self, "_population", None) is None:
            return None
        estimates = self.population_estimates()
        half = float(ndtri(0.5 + 0.5 * level)) * estimates.error + estimates.clipping
        return estimates.estimate - half, estimates.estimate + half

    def coef_interval(self, confidence: float = 0.95, target: str = "auto") -> Interval:
        """Return intervals for the coefficients.

        What they cover: :class:`~dpsparse.estimators.intervals.ReleasedNoiseMixin`.

        Parameters
        ----------
        confidence : float, default 0.95
            Least probability with which an interval covers its target, strictly between 0 and 1.
        target : {"auto", "fit", "population"}, default "auto"
            "fit": the same fit without its noise, each coefficient by itself. "population": after noisy Newton steps
            the coefficient of the model that the records come from, each by itself and not centred on ``coef_``; after
            output perturbation the minimiser of the expected regularised loss, all coefficients and the intercept at
            once (wide). "auto": "population" after noisy Newton steps, else "fit".

        Returns
        -------
        lower, upper : ndarray
            Shaped like ``coef_``, in the user's units.

        Raises
        ------
        UnsoundMechanismError
            If the law of the noise is not known, or intervals for the target are not known to cover; it says why.
        InvalidArgumentError
            If an argument is out of its domain, or parameters have changed since the fit.

        Examples
        --------
        >>> import numpy as np
        >>> from dpsparse import PrivateSparseClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, (5000, 3))
        >>> y = (X[:, 0] > 0).astype(int)
        >>> model = PrivateSparseClassifier(
        ...     mechanism="output-perturbation", bounds=(-1, 1), classes=(0, 1), random_state=0
        ... ).fit(X, y)
        >>> lower, upper = model.coef_interval(0.99)
        >>> bool(lower[0, 0] > 0)  # the same fit without noise has a positive coefficient there
        True
        """
        ends = self._population_ends(confidence, target)
        if ends is not None:
            lower, upper = (end[:-1].reshape(self.coef_.shape) for end in ends)
            return lower, upper
        law, reach = self._released_law(confidence, target)
        half = (law.factors * reach).reshape(self.coef_.shape)
        return self.coef_ - half, self.coef_ + half

    def intercept_interval(self, confidence: float = 0.95, target: str = "auto") -> tuple[float, float]:
        """Return an interval for the intercept, as :meth:`coef_interval` does for coefficients.

        Parameters
        ----------
        confidence : float, default 0.95
            Least probability with which the interval covers its target.
        target : {"auto", "fit", "population"}, default "auto"
            As for :meth:`coef_interval`.

        Returns
        -------
        lower, upper : float
            In the user's units; equal without an intercept.
        """
        ends = self._population_ends(confidence, target)
        if ends is not None:
            return float(ends[0][-1]), float(ends[1][-1])
        law, reach = self._released_law(confidence, target)
        intercept = float(np.ravel(self.intercept_)[0])
        return intercept - law.intercept_factor * reach, intercept + law.intercept_factor * reach

    def _released_law(self, confidence: float = 0.95, target: str = "auto") -> tuple[_Law, float]:
        """Return the law, and the half width of an interval in scaled units."""
        check_is_fitted(self, "coef_")
        level = _checked(confidence, target)
        mechanism = _with_a_law(self)
        if self.coef_.ndim == 2 and len(self.coef_) > 1:
            raise UnsoundMechanismError(
                "intervals are for two classes: of three or more scores tell differences between classes alone, so a "
                "coefficient by itself says nothing of the records"
            )
        n_samples, columns = self.certificate_.n_samples, self.coef_.size
        law = _law(_plan_of_fit(self))
        if target != "population":
            return law, law.reach(level)
        _check_population(self, mechanism)
        missed = 0.5 * (1.0 - level)
        sampling = 0.5 * law.lattice * law.sensitivity * math.sqrt(n_samples) * (1 + math.sqrt(-2 * math.log(missed)))
        return law, sampling + law.reach(1.0 - missed / (columns + 1))


def keep_facts(estimator: Any, facts: Facts) -> None:
    """Keep the public facts of a fit with the model, where intervals need them."""
    vars(estimator).pop("_facts_of_fit", None)
    if facts[1] in (OutputPerturbation.name, SgdOutput.name):
        estimator._facts_of_fit = _comparable(estimator, facts)


def keep_population(
    estimator: Any, facts: Facts, trace: dict[str, Any] | None, ranges: npt.NDArray[np.float64] | None
) -> None:
    """Keep what noisy Newton steps tell of the population, or why they tell nothing."""
    vars(estimator).pop("_population", None)
    statement, mechanism, *_ = facts
    if mechanism in ("auto", NoisyNewton.name):
        kept = _SHORTENED if _shortens(estimator) else population_estimates(trace, statement, ranges)
        # A plain tuple: pickles of it need no class.
        estimator._population = kept if isinstance(kept, str) else tuple(kept)


def _shortens(estimator: Any) -> bool:
    """Whether public facts allow for rows that are longer than ``row_norm``."""
    if estimator.row_norm is None:
        return False
    schema = schema_of(estimator)
    # Features are within [-1, 1] in scaled units.
    return bool(estimator.row_norm < (math.sqrt(estimator.n_features_in_) if schema is None else schema.row_norm))


def _checked(confidence: float, target: str) -> float:
    level = number("confidence", confidence)
    if not 0.0 < level < 1.0:
        raise InvalidArgumentError("confidence must lie strictly between 0 and 1")
    choice("target", target, ("auto", "fit", "population"))
    return level


def planned_deviations(estimator: Any, plan: Plan) -> npt.NDArray[np.float64] | None:
    """Return the standard deviations of the noise on ``coef_`` that a plan leads to, of shape (n_features,).

    In the user's units; None where the noise has no known law.
    """
    try:
        _with_a_law(estimator)
        law = _law(plan)
    except UnsoundMechanismError:
        return None
    return np.asarray(law.factors * law.deviation(), dtype=np.float64)


def _comparable(estimator: Any, facts: Facts) -> tuple[Any, ...]:
    """Public facts in a form that compares by value and pickles.

    The parameters stand for what the core has of a set function or a group lasso: copies of a model copy it once, for
    the parameter and for the facts.
    """
    statement, *mechanism = facts
    values = {name: tuple(v.tolist()) if isinstance(v, np.ndarray) else v for name, v in statement.items()}
    if statement["norm"]["function"] is not None:
        weights = estimator.feature_weights
        listed = None if weights is None else tuple(np.asarray(weights, dtype=np.float64).tolist())
        values["norm"] = estimator.norm, listed, estimator.positive
    return values, *mechanism


def restated_facts(estimator: Any) -> Facts | None:
    """Return the public facts of a fit as the parameters state them now; None where none were kept, or they differ."""
    kept = getattr(estimator, "_facts_of_fit", None)
    if kept is None:
        return None
    facts: Facts = estimator._facts(estimator.certificate_.n_samples, estimator.coef_.size, names_for(estimator))
    if kept[0]["max_weight"] is None:
        facts[0]["max_weight"] = None  # declared, but no weights were given
    return facts if _comparable(estimator, facts) == kept else None


def _plan_of_fit(estimator: Any) -> Plan:
    facts = restated_facts(estimator)
    if facts is not None:
        plan = _core.plan_private(*facts)
        if plan.events == estimator.certificate_.events:
            return plan
    raise InvalidArgumentError(
        "parameters must be those of the fit: they have changed since, or the model came out of a search, whose "
        "certificate covers more than one release"
    )


def _check_population(estimator: Any, mechanism: OutputPerturbation | SgdOutput) -> None:
    simple = estimator.adjacency == "replace-one" and estimator.records_per_person == 1
    if not (isinstance(mechanism, OutputPerturbation) and mechanism.mode == "ridge" and simple):
        raise UnsoundMechanismError(
            "intervals for the population are proved for output-perturbation in mode 'ridge', under replace-one with "
            "one record per person; use target='fit'"
        )


def _with_a_law(estimator: Any) -> OutputPerturbation | SgdOutput:
    mechanism = resolve(estimator.mechanism, estimator)
    if not isinstance(mechanism, OutputPerturbation | SgdOutput):
        raise UnsoundMechanismError(f"{_HAVE_A_LAW}; {mechanism.name}: {_WHY_NOT[mechanism.name]}")
    if mechanism.noise not in ("gaussian", "laplace"):
        raise UnsoundMechanismError(f"{_HAVE_A_LAW}; the entries of spherical noise have no law in closed form")
    if estimator.scale == "private":
        raise UnsoundMechanismError(f"{_HAVE_A_LAW}; private ranges are not kept with the model")
    if getattr(mechanism, "threshold", None):
        raise UnsoundMechanismError(f"{_HAVE_A_LAW}; a threshold hides what was released")
    if estimator.positive:
        raise UnsoundMechanismError(f"{_HAVE_A_LAW}; positive=True hides what was released below 0")
    return mechanism


def _law(plan: Plan) -> _Law:
    units = _core.unit_factors(plan)
    ((event, _),) = plan.events
    if units is None:
        raise UnsoundMechanismError(f"{_HAVE_A_LAW}; features that are moved mix the noise of the coefficients")
    factors, intercept = units
    # The plan states the deviation in scaled units, sqrt(2) scales for Laplace noise; the lattice is a power of two.
    scale = plan.noise_scales[0]
    if isinstance(event, GaussianEvent):
        return _Law(_power_of_two(scale / event.sigma), True, event.sigma, event.sensitivity, factors, intercept)
    assert isinstance(event, LaplaceEvent)
    # The event's L1 sensitivity is sqrt(p) times D2, and what rounding adds.
    sensitivity = event.sensitivity / math.sqrt(factors.size + (intercept != 0.0))
    return _Law(
        _power_of_two(scale / event.scale / math.sqrt(2.0)), False, event.scale, sensitivity, factors, intercept
    )


def _power_of_two(x: float) -> float:
    return float(2.0 ** round(math.log2(x)))
