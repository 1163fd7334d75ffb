"""Drawings of models and plans with matplotlib (extra ``plot``), by scikit-learn's conventions for displays.

They draw what was released, or public facts: no display reads a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError, Plan
from dpsparse._repr import shortened
from dpsparse._validation import flag, positive_integer
from dpsparse.errors import MissingPackageError
from dpsparse.words.curve import EPSILONS, plan_numbers
from dpsparse.words.summary import INTERCEPT, Summary

__all__ = ["CoefficientDisplay", "EpsilonDisplay"]

_QUANTITIES = {
    "predicted_excess_risk": "predicted excess risk (mean loss)",
    "noise_scale": "largest noise scale of the plan",
    "coef_std": "largest standard deviation of a coefficient",
}


def _axes(ax: Any) -> Any:
    """Return axes to draw on: those given, or new ones."""
    if ax is not None:
        if isinstance(ax, type) or not callable(getattr(ax, "errorbar", None)):
            raise InvalidArgumentError(f"ax must be axes of matplotlib, one pair of them; got {_kind(ax)}")
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise MissingPackageError("displays need matplotlib: install dpsparse[plot]") from error
    return plt.subplots()[1]


class CoefficientDisplay:
    """Coefficients of a linear model, with their intervals where there are some.

    Where a summary has "estimate", the middle of intervals for the population, points are those and not the
    coefficients.

    Parameters
    ----------
    summary : Summary
        The table that is drawn.
    ratio : bool, default False
        Draw odds or rate ratios, on a logarithmic axis, in place of coefficients.
    max_coefficients : int, default 30
        Draw no more than that many for each class: those of the largest absolute values.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes that were drawn on last.
    figure_ : matplotlib Figure
        Their figure.

    Raises
    ------
    InvalidArgumentError
        For what is no summary of a model, a ``ratio`` that is neither True nor False, and a ``max_coefficients`` below
        1.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from dpsparse import SparseRegressor
    >>> from dpsparse.displays import CoefficientDisplay
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> model = SparseRegressor(alpha=0.1).fit(X, [0.0, 1.0, 2.0, 3.0])
    >>> display = CoefficientDisplay.from_estimator(model, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'coefficient'
    """

    ax_: Any
    figure_: Any

    def __init__(self, summary: Summary, *, ratio: bool = False, max_coefficients: int = 30) -> None:
        if not isinstance(summary, Summary):
            raise InvalidArgumentError(f"summary must be that of a model, model.summary(); got {_kind(summary)}")
        self.summary = summary
        self.ratio = flag("ratio", ratio)
        self.max_coefficients = positive_integer("max_coefficients", max_coefficients)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        ax: Any = None,
        ratio: bool = False,
        confidence: float = 0.95,
        max_coefficients: int = 30,
        **kwargs: Any,
    ) -> Self:
        """Draw the non-zero coefficients of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``summary()``.
        ax : matplotlib Axes, optional
            Axes to draw on. None: new ones.
        ratio : bool, default False
            Draw odds or rate ratios.
        confidence : float, default 0.95
            Of the intervals.
        max_coefficients : int, default 30
            Draw no more than that many for each class.
        **kwargs
            For matplotlib's ``Axes.errorbar``.

        Returns
        -------
        CoefficientDisplay

        Raises
        ------
        InvalidArgumentError
            If an argument is out of its domain, the estimator is no linear model, or ratios are asked of a model that
            has none.
        sklearn.exceptions.NotFittedError
            If it is not fitted.
        MissingPackageError
            Where matplotlib is not installed.
        """
        if isinstance(estimator, type) or not callable(getattr(estimator, "summary", None)):
            best = " (of a search, its best_estimator_)" if hasattr(estimator, "param_grid") else ""
            raise InvalidArgumentError(
                f"estimator must be a fitted sparse linear model, with summary(){best}; got {_kind(estimator)}"
            )
        table = estimator.summary(confidence=confidence, only_support=True)
        return cls(table, ratio=ratio, max_coefficients=max_coefficients).plot(ax=ax, **kwargs)

    def __repr__(self) -> str:
        shown = f"{len(self.summary)} rows of {self.summary.title}"
        return f"CoefficientDisplay({shown}, ratio={self.ratio}, max_coefficients={self.max_coefficients})"

    def plot(self, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: new ones.
        **kwargs
            For matplotlib's ``Axes.errorbar``.

        Returns
        -------
        self
        """
        table, most = self.summary, self.max_coefficients
        ratio = next((name for name in table.columns if name in ("odds_ratio", "rate_ratio")), None)
        if self.ratio and ratio is None:
            raise InvalidArgumentError("ratio=True needs a logistic classifier or a model of counts")
        value = ratio if self.ratio and ratio is not None else "coefficient"
        low, high = ("lower", "upper") if value == "coefficient" else (f"{value}_lower", f"{value}_upper")
        rows = [
            row
            for row in table.rows
            if row["attribute"] != INTERCEPT
            and row[value] is not None
            and (row["reference"] is None or row["level"] != row["reference"])
        ]
        largest: dict[str, float] = {}
        for row in rows:
            name = _name(row)
            largest[name] = max(abs(row["coefficient"]), largest.get(name, 0.0))
        chosen = set(sorted(largest, key=lambda name: -largest[name])[:most])
        # From top to bottom in the order of the table.
        places = {name: -k for k, name in enumerate(name for name in largest if name in chosen)}
        ax = _axes(ax)
        for label in dict.fromkeys(row.get("class") for row in rows):
            drawn = [row for row in rows if row.get("class") == label and _name(row) in chosen]
            centres = np.array([row[value] for row in drawn])
            ends = None
            if low in table.columns:
                # NaN where a row is a sum, which has no interval.
                bounds = np.array([[row[low], row[high]] for row in drawn], dtype=np.float64).reshape(-1, 2)
                if "estimate" in table.columns:
                    # Intervals for the population do not lie around what is released to predict with.
                    estimates = np.array([row["estimate"] for row in drawn], dtype=np.float64)
                    estimates = estimates if value == "coefficient" else np.exp(estimates)
                    centres = np.where(np.isnan(estimates), centres, estimates)
                ends = np.abs(bounds.T - centres)
            options = {"fmt": "o", "capsize": 3, "label": label, **kwargs}
            ax.errorbar(centres, [places[_name(row)] for row in drawn], xerr=ends, **options)
        ax.axvline(0.0 if value == "coefficient" else 1.0, color="0.6", linewidth=1.0, zorder=0)
        ax.set_yticks(list(places.values()), list(places))
        ax.set_xlabel(value.replace("_", " "))
        if value != "coefficient":
            ax.set_xscale("log")
        if "class" in table.columns and rows:
            ax.legend(title="class")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _kind(given: Any) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__


def _numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(f"{name} must be an array of numbers") from error


def _name(row: Any) -> str:
    name = row["attribute"] if row["level"] is None else f"{row['attribute']}={row['level']}"
    # A dollar sign would begin mathematics.
    return str(name).replace("$", r"\$")


class EpsilonDisplay:
    """A number against epsilon: planned before any data, or measured on fitted models, with error bars.

    Parameters
    ----------
    epsilons : array-like of shape (n_epsilons,)
        Budgets.
    values : array-like of shape (n_epsilons,)
        The number that is drawn.
    spread : array-like of shape (n_epsilons,), optional
        Half lengths of error bars.
    name : str, default "value"
        Label of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes that were drawn on last.
    figure_ : matplotlib Figure
        Their figure.

    Raises
    ------
    InvalidArgumentError
        For what is no array of numbers, arrays of different lengths or of none, epsilons that are not positive, and a
        name that is no text.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from dpsparse import PrivateSparseClassifier
    >>> from dpsparse.displays import EpsilonDisplay
    >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1))
    >>> display = EpsilonDisplay.from_estimator(model, n_samples=10_000, n_features=20, ax=Figure().subplots())
    >>> bool(display.values[0] > display.values[-1])  # more budget, less error
    True
    """

    ax_: Any
    figure_: Any

    def __init__(self, epsilons: Any, values: Any, *, spread: Any = None, name: str = "value") -> None:
        self.epsilons = _numbers("epsilons", epsilons)
        self.values = _numbers("values", values)
        self.spread = None if spread is None else _numbers("spread", spread)
        if not isinstance(name, str):
            raise InvalidArgumentError("name must be text, the label of an axis")
        self.name = name
        if self.epsilons.ndim != 1 or self.values.shape != self.epsilons.shape or self.epsilons.size == 0:
            raise InvalidArgumentError("epsilons and values must have one equal number of entries, one or more")
        if self.spread is not None and self.spread.shape != self.epsilons.shape:
            raise InvalidArgumentError("spread must have as many entries as epsilons")
        if not np.all(self.epsilons > 0.0):
            raise InvalidArgumentError("epsilons must be positive")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        n_samples: int,
        n_features: int | None = None,
        epsilons: Sequence[float] = EPSILONS,
        quantity: str = "predicted_excess_risk",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what an estimator would plan for several epsilons; no data and no budget are needed.

        Parameters
        ----------
        estimator : private estimator
            With ``plan_curve``; it need not be fitted, and is not changed.
        n_samples : int
            Number of records.
        n_features : int, optional
            Number of features; None with a schema.
        epsilons : sequence of float
            Budgets to compare, increasing.
        quantity : {"predicted_excess_risk", "noise_scale", "coef_std"}, default "predicted_excess_risk"
            What to draw; "coef_std" (the largest one) where the law of the noise is known.
        ax : matplotlib Axes, optional
            Axes to draw on. None: new ones.
        **kwargs
            For matplotlib's ``Axes.errorbar``.

        Returns
        -------
        EpsilonDisplay

        Raises
        ------
        InvalidArgumentError
            If an argument is out of its domain.
        MissingPackageError
            Where matplotlib is not installed.
        """
        _check_quantity(quantity)
        if isinstance(estimator, type) or not callable(getattr(estimator, "plan_curve", None)):
            raise InvalidArgumentError(
                f"estimator must be a private linear model, with plan_curve(); got {_kind(estimator)}"
            )
        curve = estimator.plan_curve(n_samples, n_features, epsilons=epsilons)
        values = getattr(curve, quantity)
        if values is None:
            raise InvalidArgumentError("quantity='coef_std' needs a mechanism whose noise has a known law")
        values = values.max(axis=1) if values.ndim > 1 else values
        return cls(curve.epsilons, values, name=_QUANTITIES[quantity]).plot(ax=ax, **kwargs)

    @classmethod
    def from_plans(
        cls, plans: Sequence[Plan], *, quantity: str = "predicted_excess_risk", ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw plans against their epsilons; parameters as of :meth:`from_estimator`, without "coef_std"."""
        _check_quantity(quantity)
        if quantity == "coef_std":
            raise InvalidArgumentError("quantity='coef_std' needs an estimator: use from_estimator")
        listed = list(plans) if np.iterable(plans) else [plans]
        if not all(isinstance(plan, Plan) for plan in listed):
            raise InvalidArgumentError("plans must be a sequence of what plan() returns")
        ordered = sorted(listed, key=lambda plan: plan.epsilon)
        epsilons, values = [plan.epsilon for plan in ordered], plan_numbers(ordered, quantity)
        return cls(epsilons, values, name=_QUANTITIES[quantity]).plot(ax=ax, **kwargs)

    @classmethod
    def from_scores(cls, epsilons: Any, scores: Any, *, name: str = "score", ax: Any = None, **kwargs: Any) -> Self:
        """Draw scores of fitted models: means, and standard deviations over repetitions as error bars.

        Scores on private records are releases that no certificate covers; take public or synthetic ones.

        Parameters
        ----------
        epsilons : array-like of shape (n_epsilons,)
            Budgets.
        scores : array-like of shape (n_epsilons, n_repeats)
            Scores of repeated fits, at least one for each epsilon. With one there are no error bars.
        name : str, default "score"
            Label of the vertical axis.
        ax : matplotlib Axes, optional
            Axes to draw on. None: new ones.
        **kwargs
            For matplotlib's ``Axes.errorbar``.

        Returns
        -------
        EpsilonDisplay

        Raises
        ------
        InvalidArgumentError
            For arrays of other shapes, and epsilons that are not positive.
        MissingPackageError
            Where matplotlib is not installed.
        """
        table = _numbers("scores", scores)
        if table.ndim != 2 or table.shape[1] == 0:
            raise InvalidArgumentError("scores must have the shape (n_epsilons, n_repeats)")
        spread = table.std(axis=1, ddof=1) if table.shape[1] > 1 else None
        return cls(epsilons, table.mean(axis=1), spread=spread, name=name).plot(ax=ax, **kwargs)

    def __repr__(self) -> str:
        return (
            f"EpsilonDisplay(epsilons={shortened(self.epsilons)}, values={shortened(self.values)}, name={self.name!r})"
        )

    def plot(self, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. None: new ones.
        **kwargs
            For matplotlib's ``Axes.errorbar``.

        Returns
        -------
        self
        """
        ax = _axes(ax)
        ax.errorbar(self.epsilons, self.values, yerr=self.spread, **{"marker": "o", "capsize": 3, **kwargs})
        ax.set_xscale("log")
        ax.set_xlabel("epsilon")
        ax.set_ylabel(self.name)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _check_quantity(quantity: Any) -> None:
    if not isinstance(quantity, str) or quantity not in _QUANTITIES:
        raise InvalidArgumentError(f"quantity must be one of {', '.join(map(repr, _QUANTITIES))}")
