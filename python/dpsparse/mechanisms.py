"""Mechanisms as configured objects, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpsparse._core import InvalidArgumentError

__all__ = ["FrankWolfe"]


@dataclass(frozen=True)
class FrankWolfe:
    """Private Frank-Wolfe over a polytope (Talwar, Thakurta & Zhang 2015, Algorithm 2; MECHANISMS M3).

    Each of T steps moves towards one vertex, chosen by the exact exponential mechanism over integer scores. Neighbours: replace-one
    or add-remove. Sensitivity of a score (mean loss, replace-one, l1 ball): ``2 L radius / n`` in scaled units.

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


MECHANISMS: dict[str, type[FrankWolfe]] = {FrankWolfe.name: FrankWolfe}


def resolve(mechanism: Any) -> FrankWolfe:
    """Return the configured mechanism for a ``mechanism`` argument; "auto" means Frank-Wolfe for now.

    Raises
    ------
    InvalidArgumentError
        If it is neither a known name nor a mechanism object.
    """
    if isinstance(mechanism, FrankWolfe):
        return mechanism
    if isinstance(mechanism, str):
        if mechanism == "auto":
            return FrankWolfe()
        if mechanism in MECHANISMS:
            return MECHANISMS[mechanism]()
    known = ", ".join(repr(name) for name in ("auto", *MECHANISMS))
    raise InvalidArgumentError(f"mechanism must be one of {known} or a configured object such as FrankWolfe(n_iter=40)")


def own_field_wins(argument: str, mechanism_value: Any, estimator_value: Any) -> Any:
    """Return the mechanism's own value, else the estimator's.

    Raises
    ------
    InvalidArgumentError
        If both are set and differ.
    """
    if mechanism_value is None:
        return estimator_value
    if estimator_value is not None and estimator_value != mechanism_value:
        raise InvalidArgumentError(f"{argument} is set on the mechanism and on the estimator, to different values")
    return mechanism_value
