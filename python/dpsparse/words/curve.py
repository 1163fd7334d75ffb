"""What plans predict for several epsilons, to choose one before any data are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError, Plan
from dpsparse._origin import origin_of
from dpsparse._validation import number
from dpsparse.words.summary import Summary

__all__ = ["EPSILONS", "PlanCurve", "checked_epsilons", "curve_of", "plan_curve", "plan_numbers"]

#: The budgets that are compared where none are given.
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, repr=False, eq=False)
class PlanCurve:
    """Plans of one estimator for several epsilons; made by ``estimator.plan_curve`` or ``plan.curve``.

    Parameters
    ----------
    epsilons : ndarray of shape (n_epsilons,)
        Increasing.
    noise_scale : ndarray of shape (n_epsilons,)
        Largest of each plan's ``noise_scales``.
    predicted_excess_risk : ndarray of shape (n_epsilons,)
        What each plan predicts, in units of the mean loss.
    coef_std : ndarray of shape (n_epsilons, n_features) or None
        Standard deviations of the noise on ``coef_``, in the user's units, where its law is known.
    plans : tuple of Plan
        The plans themselves.

    Examples
    --------
    >>> from dpsparse import PrivateSparseClassifier
    >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), n_iter=10)
    >>> curve = model.plan_curve(10_000, 20, epsilons=(1, 2))
    >>> [plan.n_iter for plan in curve.plans], curve.coef_std
    ([10, 10], None)
    """

    epsilons: npt.NDArray[np.float64]
    noise_scale: npt.NDArray[np.float64]
    predicted_excess_risk: npt.NDArray[np.float64]
    coef_std: npt.NDArray[np.float64] | None
    plans: tuple[Plan, ...]

    def table(self) -> Summary:
        """Return the numbers as a table; of ``coef_std`` the largest of each plan."""
        numbers = {
            "epsilon": self.epsilons,
            "noise_scale": self.noise_scale,
            "predicted_excess_risk": self.predicted_excess_risk,
        }
        notes = ["noise_scale is as in the plans; predicted_excess_risk is in units of the mean loss."]
        if self.coef_std is not None:
            numbers["largest_coef_std"] = self.coef_std.max(axis=1)
            notes.append("largest_coef_std is the standard deviation of the noise on a coefficient, in its unit.")
        columns = {name: values.tolist() for name, values in numbers.items()}
        rows = tuple(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return Summary("Plans by epsilon", tuple(columns), rows, tuple(notes))

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def curve_of(plans: Sequence[Plan], coef_std: npt.NDArray[np.float64] | None = None) -> PlanCurve:
    """Return the curve of plans whose epsilons increase."""
    return PlanCurve(
        np.array([plan.epsilon for plan in plans]),
        plan_numbers(plans, "noise_scale"),
        plan_numbers(plans, "predicted_excess_risk"),
        coef_std,
        tuple(plans),
    )


def plan_numbers(plans: Sequence[Plan], quantity: str) -> npt.NDArray[np.float64]:
    """Return the largest noise scale, or the predicted excess risk, of each plan."""
    if quantity == "noise_scale":
        return np.array([max(plan.noise_scales, default=0.0) for plan in plans], dtype=np.float64)
    return np.array([plan.predicted_excess_risk for plan in plans], dtype=np.float64)


def checked_epsilons(epsilons: Any) -> list[float]:
    """Return epsilons, checked: one or more positive numbers that increase."""
    try:
        listed = [number("epsilons", epsilon) for epsilon in epsilons]
    except TypeError as error:
        raise InvalidArgumentError("epsilons must be a sequence of numbers") from error
    if not listed or not all(a < b for a, b in zip([0.0, *listed], listed, strict=False)):
        raise InvalidArgumentError("epsilons must be one or more positive numbers that increase")
    return listed


def plan_curve(self: Plan, *, epsilons: Sequence[float] = EPSILONS) -> PlanCurve:
    """Plan the same fit for several epsilons, as ``plan_curve`` of the estimator does.

    Parameters
    ----------
    epsilons : sequence of float
        Budgets to compare, positive and increasing.

    Returns
    -------
    PlanCurve
        Noise, predicted excess risk and, where the law of the noise is known, standard deviations of the coefficients
        for each epsilon, for the parameters that the estimator had when it made this plan.

    Raises
    ------
    InvalidArgumentError
        For epsilons out of their domain, or a plan that no estimator's ``plan`` made, such as one of a search.
    DpsparseError
        For an epsilon that no plan exists for.
    """
    origin = origin_of(self)
    if origin is None or not hasattr(origin.kind, "plan_curve"):
        raise InvalidArgumentError("plan must be made by the method plan of an estimator to have a curve")
    estimator = origin.kind(**origin.parameters)
    curve: PlanCurve = estimator.plan_curve(origin.n_samples, origin.n_features, epsilons=epsilons)
    return curve
