"""Tables of coefficients, in the user's units and against reference levels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError, UnsoundMechanismError
from dpsparse._validation import flag, number
from dpsparse.errors import MissingPackageError
from dpsparse.losses import Logistic
from dpsparse.words import html

__all__ = ["INTERCEPT", "Summary", "summarise"]

#: The attribute of the row of an intercept.
INTERCEPT = "(intercept)"
_MOST_ROWS = 200
_LARGEST_EXPONENT = 709.0


@dataclass(frozen=True, repr=False)
class Summary:
    """A table of coefficients that prints, shows in notebooks, and becomes a data frame.

    Parameters
    ----------
    title : str
        What it is about.
    columns : tuple of str
        Names of the columns: "class" (three or more classes), "attribute", "level", "reference", "unit", "coefficient",
        "odds_ratio" or "rate_ratio", where there are intervals "lower" and "upper" and the same of the ratio (for the
        population after noisy Newton steps also "estimate", their middle, and "sampling_width", the width that they
        would have by sampling alone), and where ranges were released "range_lower" and "range_upper".
    rows : tuple of mapping
        One row a coefficient, by the names of the columns; None where there is nothing to say. The row of a reference
        level, whose ``level`` is its ``reference``, has the coefficient 0 by definition. Levels, nodes and intervals
        with nodes above them have the sum of their own coefficient and those of the nodes: what they do in all.
    notes : tuple of str
        What ratios and intervals mean, in sentences.

    Examples
    --------
    >>> from dpsparse.words import Summary
    >>> print(Summary("a model", ("attribute", "coefficient"), ({"attribute": "age", "coefficient": 0.25},)))
    a model
    attribute  coefficient
    age               0.25
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns, as lists by name."""
        return {name: [row[name] for row in self.rows] for name in self.columns}

    def to_frame(self, library: str | None = None) -> Any:
        """Return the table as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            None: pandas where it is installed, else polars.

        Raises
        ------
        InvalidArgumentError
            For another name.
        MissingPackageError
            Where the library is not installed, or neither is.
        """
        if not (library is None or (isinstance(library, str) and library in ("pandas", "polars"))):
            raise InvalidArgumentError("library must be 'pandas', 'polars' or None")
        if library != "polars":
            try:
                import pandas as pd

                return pd.DataFrame(self.to_dict(), columns=list(self.columns))
            except ImportError as error:
                if library == "pandas":
                    raise MissingPackageError("library='pandas' needs pandas: pip install pandas") from error
        try:
            import polars as pl
        except ImportError as error:
            raise MissingPackageError("to_frame needs pandas or polars; to_dict needs neither") from error
        return pl.DataFrame(self.to_dict(), strict=False)

    def __repr__(self) -> str:
        cells = [[html.cell(row[name]) for name in self.columns] for row in self.rows[:_MOST_ROWS]]
        widths = [max(len(name), *(len(line[j]) for line in cells), 0) for j, name in enumerate(self.columns)]
        numeric = [
            all(row[name] is None or isinstance(row[name], float) for row in self.rows)
            and any(row[name] is not None for row in self.rows)
            for name in self.columns
        ]
        lines = [
            "  ".join(
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(line, widths, numeric, strict=True)
            ).rstrip()
            for line in [list(self.columns), *cells]
        ]
        return "\n".join([self.title, *lines, *self._left(), *self.notes])

    def _repr_html_(self) -> str:
        shown = ([row[name] for name in self.columns] for row in self.rows[:_MOST_ROWS])
        return html.block(
            self.title, html.table(self.columns, shown), html.paragraphs(self._left()), html.paragraphs(self.notes)
        )

    def _left(self) -> list[str]:
        left = len(self.rows) - _MOST_ROWS
        return [f"... and {left} rows more (to_dict, to_frame)"] if left > 0 else []


class _Column(NamedTuple):
    """What a coefficient stands for."""

    attribute: str
    level: str | None
    reference: str | None
    unit: str | None
    # Whether one unit of the encoded column is a change that a record can make by itself.
    has_ratio: bool
    # The encoded columns whose coefficients add up to what it does: those of a node and of all above it.
    path: tuple[int, ...]


class _Ends(NamedTuple):
    """Intervals of the coefficients and of the intercept."""

    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    intercept: tuple[float, float]
    # The middles, and widths by sampling alone, the intercept's last, of intervals for the population.
    estimates: npt.NDArray[np.float64] | None = None
    sampling: npt.NDArray[np.float64] | None = None

    def around(self, j: int) -> dict[str, float]:
        """Return what stands beside the ends of interval j."""
        if self.estimates is None or self.sampling is None:
            return {}
        return {"estimate": float(self.estimates[j]), "sampling_width": float(self.sampling[j])}


def summarise(model: Any, *, confidence: float = 0.95, only_support: bool = False) -> Summary:
    """Return the table of a fitted linear model's coefficients; see :meth:`dpsparse.PrivateSparseClassifier.summary`.

    Parameters
    ----------
    model : estimator
        Fitted, with ``coef_`` and ``intercept_``.
    confidence : float, default 0.95
        Of the intervals, strictly between 0 and 1.
    only_support : bool, default False
        Leave out features whose coefficients are all 0.

    Returns
    -------
    Summary

    Raises
    ------
    InvalidArgumentError
        If an argument is out of its domain.
    sklearn.exceptions.NotFittedError
        Before a fit.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseRegressor
    >>> from dpsparse.words import summarise
    >>> model = SparseRegressor(alpha=0.1).fit(np.array([[0.0], [1.0], [2.0]]), [0.0, 1.0, 2.0])
    >>> summarise(model).to_dict()["attribute"]
    ['(intercept)', 'x0']
    """
    from sklearn.utils.validation import check_is_fitted  # the package is imported without estimators

    if isinstance(model, type) or not hasattr(model, "fit"):
        given = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise InvalidArgumentError(f"model must be a fitted linear model; got {given}")
    check_is_fitted(model, "coef_")
    only_support = flag("only_support", only_support)
    level = number("confidence", confidence)
    if not 0.0 < level < 1.0:
        raise InvalidArgumentError("confidence must lie strictly between 0 and 1")
    ratio = _ratio(model)
    ends, why_not = _intervals(model, level)
    coefficients = np.atleast_2d(model.coef_)
    classes = model.classes_.tolist() if len(coefficients) > 1 else None
    ranges = getattr(model, "feature_ranges_", None)
    shown = set(model.support_.tolist()) if only_support else set(range(coefficients.shape[1]))
    described = [(j, column) for j, column in enumerate(_columns(model)) if not shown.isdisjoint(column.path)]
    names = _names(classes is not None, ratio, ends, ranges is not None)
    rows: list[dict[str, Any]] = []
    for k, row in enumerate(coefficients):
        of_class = {} if classes is None else {"class": str(classes[k])}
        # The odds of softmax models are those of a class against the first one.
        base = coefficients[0] if classes is not None else np.zeros_like(row)
        first = {"attribute": INTERCEPT, "coefficient": float(np.ravel(model.intercept_)[k])}
        if ends is not None:
            first |= {"lower": ends.intercept[0], "upper": ends.intercept[1], **ends.around(-1)}
        rows += [of_class | entry for entry in (first, *_entries(described, row, base, ratio, ends, ranges))]
    sums = any(len(column.path) > 1 for _, column in described)
    complete = tuple({name: row.get(name) for name in names} for row in rows)
    return Summary(
        type(model).__name__, tuple(names), complete, tuple(_notes(model, ratio, level, ends, why_not, sums))
    )


def _names(several: bool, ratio: str | None, ends: _Ends | None, ranged: bool) -> list[str]:
    """Return the names of the columns."""
    names = ["class"] if several else []
    names += ["attribute", "level", "reference", "unit", "coefficient"]
    names += [ratio] if ratio else []
    if ends is not None:
        names += [] if ends.estimates is None else ["estimate"]
        names += ["lower", "upper", *([f"{ratio}_lower", f"{ratio}_upper"] if ratio else [])]
        names += [] if ends.sampling is None else ["sampling_width"]
    return names + (["range_lower", "range_upper"] if ranged else [])


def _entries(
    described: Sequence[tuple[int, _Column]],
    row: npt.NDArray[np.float64],
    base: npt.NDArray[np.float64],
    ratio: str | None,
    ends: _Ends | None,
    ranges: Any,
) -> Iterator[dict[str, Any]]:
    """Hand out the rows of one class's coefficients, whose ratios are against those of ``base``."""
    compared: set[tuple[str, str]] = set()
    for j, column in described:
        if column.reference is not None and (column.attribute, column.reference) not in compared:
            compared.add((column.attribute, column.reference))
            named = {"attribute": column.attribute, "level": column.reference, "reference": column.reference}
            yield {**named, "coefficient": 0.0} | ({ratio: 1.0} if ratio else {})
        path = list(column.path)
        entry = {**column._asdict(), "coefficient": float(row[path].sum())}
        if ratio and column.has_ratio:
            entry[ratio] = _exp(float((row[path] - base[path]).sum()))
        if ends is not None and len(path) == 1:
            low, high = float(ends.lower[j]), float(ends.upper[j])
            entry |= {"lower": low, "upper": high, **ends.around(j)}
            if ratio and column.has_ratio:
                entry |= {f"{ratio}_lower": _exp(low), f"{ratio}_upper": _exp(high)}
        if ranges is not None:
            entry |= {"range_lower": float(ranges[j, 0]), "range_upper": float(ranges[j, 1])}
        yield entry


def _ratio(model: Any) -> str | None:
    """Return the name of what exp(coefficient) is; None where it is nothing."""
    loss = getattr(model, "loss", None)
    if isinstance(loss, str) and loss == "poisson":
        return "rate_ratio"
    logistic = isinstance(loss, Logistic) or (isinstance(loss, str) and loss == "logistic")
    return "odds_ratio" if logistic and hasattr(model, "classes_") else None


def _columns(model: Any) -> list[_Column]:
    """Describe the coefficients, by the schema where there is one."""
    schema = getattr(model, "schema_", None)
    if schema is None:
        return [_Column(str(name), None, None, None, True, (j,)) for j, name in enumerate(model.coef_names_)]
    described: list[_Column] = []
    places = {(term.attribute, term.level): j for j, term in enumerate(schema.terms)}
    parents = {j: places[term.attribute, term.parent] for j, term in enumerate(schema.terms) if term.parent is not None}
    for j, term in enumerate(schema.terms):
        # A truth value's own column has no level: it is that of its reference's opposite.
        level = "True" if term.level is None and term.reference is not None else term.level
        # Parts of a spline change together.
        spline = getattr(schema[term.attribute], "knots", None) is not None and level != "missing"
        path = [j]
        while path[-1] in parents:
            path.append(parents[path[-1]])
        described.append(_Column(term.attribute, level, term.reference, term.unit, not spline, tuple(path)))
    return described


#: What the model is, of classes and of regressions.
_ASSUMED = (
    ", with independent records",
    ", with independent errors of one law; the one for the intercept takes it to be symmetric, and with skewed errors "
    "holds only where clamps are wide",
)


def _intervals(model: Any, confidence: float) -> tuple[_Ends | None, str | None]:
    """Return the ends of the intervals, or why there are none (None for models without noise)."""
    if not hasattr(model, "coef_interval"):
        return None, None
    try:
        lower, upper = model.coef_interval(confidence)
        intercept = model.intercept_interval(confidence)
    except (UnsoundMechanismError, InvalidArgumentError) as error:
        kept = getattr(model, "_population", None)
        # The reason by itself: the note says already that there are none.
        return None, kept if isinstance(kept, str) else str(error)
    ends = _Ends(np.ravel(lower), np.ravel(upper), intercept)
    if getattr(model, "_population", None) is None:
        return ends, None
    from scipy.special import ndtri  # tables without intervals need no scipy

    found = model.population_estimates()
    width = 2.0 * float(ndtri(0.5 + 0.5 * confidence)) * found.sampling_error
    return ends._replace(estimates=found.estimate, sampling=width), None


def _notes(
    model: Any, ratio: str | None, confidence: float, ends: _Ends | None, why_not: str | None, sums: bool
) -> list[str]:
    said = []
    classes: Sequence[Any] = getattr(model, "classes_", ())
    if len(classes) == 2:
        said.append(f"A positive coefficient favours {classes[1]!s} over {classes[0]!s}.")
    if ratio == "odds_ratio":
        of = f"{classes[1]!s} against {classes[0]!s}" if len(classes) == 2 else f"the class against {classes[0]!s}"
        said.append(f"odds_ratio: by the model, the factor of the odds of {of}, per unit or against the reference.")
    if ratio == "rate_ratio":
        said.append("rate_ratio: by the model, the factor of the expected count, per unit or against the reference.")
    if sums:
        said.append(
            "Of levels with nodes above them, coefficient is the sum of a level's own and those of the nodes above it, "
            "compared with no level." + (" Sums have no interval." if ends is not None else "")
        )
    if getattr(model, "feature_ranges_", None) is not None:
        clips = getattr(model, "_clips_features", True)
        said.append(
            "Features count only within range_lower and range_upper, which were released privately."
            if clips
            else "range_lower and range_upper were released privately, as units of the fit; nothing is clipped to them."
        )
    if ends is not None and ends.estimates is not None:
        said.append(
            f"lower and upper are asymptotic intervals, each of confidence {confidence:g}, for the coefficient of the "
            f"population, if the model holds for it{_ASSUMED[ratio is None]}. They lie around estimate, which is not "
            "shrunk as coefficient is; "
            "sampling_width is the width by sampling alone, without the noise of privacy."
        )
    elif ends is not None:
        said.append(
            f"lower and upper cover, each with probability {confidence:g} at least, the coefficient of the same fit "
            "without its noise. They say nothing about other samples."
        )
    if why_not is not None:
        said.append(f"No intervals: {why_not}.")
    return said


def _exp(x: float) -> float:
    return math.exp(x) if x < _LARGEST_EXPONENT else math.inf
