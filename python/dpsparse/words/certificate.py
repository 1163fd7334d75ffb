"""Certificates in plain sentences, one for each kind of event that was spent."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from dpsparse._core import Certificate
from dpsparse.errors import InvalidTypeError
from dpsparse.privacy import (
    DiscreteGaussianEvent,
    ExponentialEvent,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
    PureEvent,
    ZeroConcentratedEvent,
)

__all__ = ["event_sentences", "explain", "guarantee", "sentences"]

_DIGITS = 3
_MOST_BOUNDS = 20
_NEIGHBOURS = {
    "replace-one": "any other within the bounds may stand in the place of what is there",
    "add-remove": "added or taken out",
}


def explain(model_or_certificate: Any) -> str:
    """Say in plain sentences what a release tells about one person at most, and what that rests on.

    Post-processing of a certificate: it costs no privacy. Numbers are rounded against the guarantee: what one person
    can change upwards, noise downwards.

    Parameters
    ----------
    model_or_certificate : fitted private estimator or Certificate
        With an estimator, bounds go by the names of its coefficients.

    Returns
    -------
    str
        One sentence a line.

    Raises
    ------
    InvalidTypeError
        For what is no certificate and has none.
    sklearn.exceptions.NotFittedError
        For an estimator before its fit.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import PrivateSparseClassifier
    >>> from dpsparse.words import explain
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 3))
    >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=(False, True), n_iter=50).fit(X, X[:, 0] > 0)
    >>> print(explain(model).splitlines()[3])
    Each of 50 choices may shift the odds of any answer by at most 6.04 %.
    """
    return "\n".join(sentences(model_or_certificate))


def sentences(model_or_certificate: Any) -> list[str]:
    """Return the sentences of :func:`explain`."""
    certificate, names = _read(model_or_certificate)
    adjacency = certificate.adjacency
    return [
        guarantee(certificate),
        f"Neighbouring records ({adjacency}) differ in {certificate.unit}: {_NEIGHBOURS[adjacency]}.",
        f"It was made by {certificate.mechanism}.",
        *event_sentences(certificate.events),
        _records(certificate),
        *_bounds(certificate, names),
        *(f"It rests on this: {assumption}." for assumption in certificate.assumptions),
    ]


def guarantee(certificate: Certificate) -> str:
    """Say what the claimed epsilon and delta mean for one neighbour, or why there is no guarantee."""
    epsilon, delta = certificate.claim
    first = str(certificate).splitlines()[0]
    if not certificate.verify():
        # The core says why, in its first line.
        return f"{first}."
    return (
        f"Whatever is concluded from this release is at most {_up(math.exp(min(epsilon, 700.0)))} times as probable"
        + (f", plus {_up(delta)}," if delta > 0.0 else "")
        + f" as it would be from neighbouring records (epsilon = {_up(epsilon)}, delta = {_up(delta)})."
    )


def event_sentences(events: Any) -> list[str]:
    """Return one sentence for each kind of event and its numbers."""
    counts: Counter[str] = Counter()
    templates: dict[str, Callable[[int], str]] = {}
    for event, count in events:
        template = _event(event)
        counts[template(1)] += count
        templates[template(1)] = template
    return [templates[key](count) for key, count in counts.items()]


def _event(event: Any) -> Callable[[int], str]:
    """Return what says, for a number of such events, what each may tell."""
    if isinstance(event, ExponentialEvent):
        # Losses of range r change the odds of any set of answers by a factor between exp(-r) and exp(r).
        shift = _percent(event.epsilon0)
        return lambda n: f"{_each(n, 'choice')} may shift the odds of any answer by at most {shift}."
    if isinstance(event, PureEvent):
        shift = _percent(event.epsilon)
        return lambda n: f"{_each(n, 'answer')} may change in probability by at most {shift}."
    if isinstance(event, LaplaceEvent):
        shift = _percent(event.sensitivity / event.scale)
        return lambda n: f"{_each(n, 'answer')} has Laplace noise, and may change in probability by at most {shift}."
    if isinstance(event, GaussianEvent | DiscreteGaussianEvent):
        noise = "discrete Gaussian noise" if isinstance(event, DiscreteGaussianEvent) else "Gaussian noise"
        times = _down(event.sigma / event.sensitivity) if event.sensitivity > 0.0 else None
        reach = "and nobody can change it" if times is None else f"{times} times what one neighbour can change in it"
        deviation = "" if times is None else " of standard deviation"
        joint = ", " if times is None else " "
        return lambda n: f"{_each(n, 'answer')} has {noise}{deviation}{joint}{reach}."
    if isinstance(event, ZeroConcentratedEvent):
        # 1/sqrt(2 rho) is the noise of the Gaussian answer that costs as much.
        rho, like = _up(event.rho), _down(1.0 / math.sqrt(2.0 * event.rho)) if event.rho > 0.0 else "any number of"
        return lambda n: (
            f"{_each(n, 'answer')} has at most the Renyi divergences of one with Gaussian noise of standard deviation "
            f"{like} times what one neighbour can change in it (rho = {rho})."
        )
    if isinstance(event, ObjectivePerturbationEvent):
        times = _down(event.sigma / event.lipschitz_norm) if event.lipschitz_norm > 0.0 else "any number of"
        return lambda n: (
            f"{_each(n, 'fit')} minimises a randomly tilted objective: the tilt has standard deviation {times} times "
            "the largest gradient of one record."
        )
    if isinstance(event, FailureEvent):
        chance = _up(event.delta)
        return lambda n: f"{_each(n, 'step')} may fail to protect, with probability at most {chance}."
    text = str(event.describe())
    return lambda n: text if n == 1 else f"{n} times: {text}"


def _read(source: Any) -> tuple[Certificate, Any]:
    """Return a certificate, and the names of coefficients where there are some."""
    if isinstance(source, Certificate):
        return source, None
    if hasattr(source, "get_params") and not isinstance(source, type):
        # Imported here: certificates have words in a process without estimators, too.
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(source)
    certificate = getattr(source, "certificate_", None)
    if not isinstance(certificate, Certificate):
        raise InvalidTypeError(f"a certificate, or a private estimator, is needed, got {type(source).__name__}")
    return certificate, getattr(source, "coef_names_", None)


def _records(certificate: Certificate) -> str:
    public = ", a public stand-in," if certificate.adjacency == "add-remove" else ", which is public,"
    return f"The records had a number n = {certificate.n_samples}{public} and p = {certificate.n_features} features."


def _bounds(certificate: Certificate, names: Any) -> list[str]:
    lower, upper = (side.tolist() for side in certificate.bounds)
    said = []
    if len(lower) == 1:
        said.append(f"All features were clipped to [{lower[0]:g}, {upper[0]:g}].")
    elif lower:
        known = names is not None and len(names) == len(lower)
        labels = [str(name) for name in names] if known else [f"feature {j}" for j in range(len(lower))]
        pairs = [f"{label} to [{a:g}, {b:g}]" for label, a, b in zip(labels[:_MOST_BOUNDS], lower, upper, strict=False)]
        left = len(lower) - len(pairs)
        said.append(f"Features were clipped: {', '.join(pairs)}{f', and {left} more' if left else ''}.")
    if certificate.row_norm is not None:
        said.append(f"Rows were shortened to the norm {certificate.row_norm:g}, in scaled units.")
    if certificate.y_bounds is not None:
        low, high = certificate.y_bounds
        said.append(f"Targets (y_bounds) were clipped to [{low:g}, {high:g}].")
    return said


def _each(count: int, what: str) -> str:
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"Each of {count} {plural}" if count > 1 else f"One {what}"


def _percent(exponent: float) -> str:
    """Return exp(exponent) - 1 in per cent, rounded up; as a factor where it is large."""
    if exponent > math.log(3.0):
        return f"a factor of {_up(math.exp(min(exponent, 700.0)))}"
    return f"{_up(100.0 * math.expm1(exponent))} %"


def _up(value: float) -> str:
    return _rounded(value, ROUND_CEILING)


def _down(value: float) -> str:
    return _rounded(value, ROUND_FLOOR)


def _rounded(value: float, rounding: str) -> str:
    """Return a number of at least 0 in three digits, rounded one way from its first twelve.

    What follows them is the error of floating point: 1/10 is shown as 0.1.
    """
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(f"{value:.12g}")
    step = Decimal(1).scaleb(exact.adjusted() - _DIGITS + 1)
    return f"{float(exact.quantize(step, rounding=rounding)):g}"
