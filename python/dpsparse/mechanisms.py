"""Mechanisms as configured objects, and their names."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import flag, optional_finite, positive_integer

__all__ = ["FrankWolfe", "PenalisedFrankWolfe"]


@dataclass(frozen=True)
class FrankWolfe:
    """Private Frank-Wolfe over a polytope (Talwar, Thakurta & Zhang 2015, Algorithm 2; MECHANISMS M3).

    Each of T steps moves towards one vertex, chosen by the exact exponential mechanism over integer scores.
    Neighbours: replace-one or add-remove. Sensitivity of a score (mean loss, replace-one, l1 ball): ``2 L radius /
    n`` in scaled units.

    Parameters
    ----------
    n_iter : int, optional
        Number of steps T. None: a public rule that balances curvature and noise.
    radius : float, optional
        Size of the polytope in scaled units. None: the estimator's, or the public default.
    calibration : {"tight", "paper"}, default "tight"
        "tight": the accountant gives exactly the privacy asked for. "paper": the scale that the paper prints, for which
        no guarantee is proved; for reproduction only.
    allow_uncertified : bool, default False
        Must be True for ``calibration="paper"``; the certificate then says ``certified=False``.
    """

    n_iter: int | None = None
    radius: float | None = None
    calibration: str = "tight"
    allow_uncertified: bool = False
    name: ClassVar[str] = "frank-wolfe"


@dataclass(frozen=True)
class PenalisedFrankWolfe:
    """Private Frank-Wolfe on ``mean loss + alpha * norm(theta)`` (generalised conditional gradient).

    As :class:`FrankWolfe`, with the origin as one more candidate: it costs nothing, every vertex costs ``alpha *
    radius``, a public constant. The intercept is penalised like a coefficient.

    Parameters
    ----------
    alpha : float, optional
        Penalty per unit of the norm, in scaled units. None: the estimator's. One of the two must be set.
    n_iter : int, optional
        Number of steps T. None: the public rule of :class:`FrankWolfe`.
    radius : float, optional
        Size of the ball that is searched, in scaled units. None: the estimator's, or the public default.
    """

    alpha: float | None = None
    n_iter: int | None = None
    radius: float | None = None
    name: ClassVar[str] = "penalised-frank-wolfe"


Mechanism: TypeAlias = FrankWolfe | PenalisedFrankWolfe

MECHANISMS: dict[str, type[Mechanism]] = {each.name: each for each in (FrankWolfe, PenalisedFrankWolfe)}

# What an estimator and a mechanism may both set.
_SHARED = ("n_iter", "radius", "alpha", "ridge")


def resolve(mechanism: Any, alpha: Any) -> Mechanism:
    """Return the configured mechanism for a ``mechanism`` argument.

    "auto" means Frank-Wolfe for now: penalised where the user set ``alpha``, constrained elsewhere.

    Raises
    ------
    InvalidArgumentError
        If it is neither a known name nor a mechanism object.
    """
    if isinstance(mechanism, Mechanism):
        return mechanism
    if isinstance(mechanism, str):
        if mechanism == "auto":
            return FrankWolfe() if alpha is None else PenalisedFrankWolfe()
        if mechanism in MECHANISMS:
            return MECHANISMS[mechanism]()
    known = ", ".join(repr(name) for name in ("auto", *MECHANISMS))
    raise InvalidArgumentError(f"mechanism must be one of {known} or a configured object such as FrankWolfe(n_iter=40)")


def specification(mechanism: Mechanism, estimator: Any) -> tuple[str, str]:
    """Return the name and the options (a JSON object) that the Rust core takes.

    A field of the mechanism wins over the same parameter of the estimator.

    Raises
    ------
    InvalidArgumentError
        If both are set and differ, if the estimator sets one that the mechanism does not use, or if an option is not of
        its kind.
    """
    options = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    for name in _SHARED:
        given = getattr(estimator, name)
        if given is None:
            continue
        if name not in options:
            instead = "radius" if name == "alpha" and "radius" in options else None
            hint = f", which takes {instead}" if instead else ""
            raise InvalidArgumentError(f"{name} is not used by {mechanism.name}{hint}; leave it at None")
        if options[name] is not None and options[name] != given:
            raise InvalidArgumentError(f"{name} is set on the mechanism and on the estimator, to different values")
        options[name] = given
    return mechanism.name, json.dumps({name: _option(name, value) for name, value in options.items()})


def _option(name: str, value: Any) -> Any:
    """Check an option by its kind, so that the error names it."""
    if name == "n_iter":
        return None if value is None else positive_integer(name, value)
    if name in {"radius", "alpha", "ridge"}:
        return optional_finite(name, value)
    if isinstance(value, str) or value is None:
        return value
    return flag(name, value)
