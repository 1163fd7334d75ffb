"""Certificates and accountants as events of the package dp-accounting (extra ``dp-accounting``).

Each event becomes one that *dominates* it: in any accountant that takes the composition it costs at least as much. By
dp-accounting 0.6.0:

- Its accountant of privacy loss distributions (PLD) takes Gaussian and discrete Laplace events, and knows no zCDP; that
  of Renyi divergences (RDP) takes Gaussian, Laplace and zCDP events, and no discrete Laplace ones. So there are two
  forms.
- Its randomised response needs an accountant of the relation REPLACE_ONE or REPLACE_SPECIAL, and its PLD accountant
  forgets how often it is composed. The discrete Laplace event of sensitivity 1 is the same pair of laws, with neither
  fault.
- It has no event for the exponential mechanism, for objective perturbation or for a probability of failure.

Proofs of what is not the same pair of laws:

*A choice of bounded range e as zCDP*: rho = e^2/8 (Cesar & Rogers 2021).

*A choice of bounded range e as Gaussian noise.* Its loss has at worst two values, t and t - e (Dong, Durfee & Rogers
2020), so a test between neighbours has a trade-off function with one kink (v, 1 - u), where u and v are the
probabilities of the loss t and logit u - logit v = e. Gaussian noise of ratio mu has a convex trade-off function
between the same end points, so it is the lower one where it passes below the kink: mu >= Phi^-1(u) - Phi^-1(v). The
derivative of Phi^-1 by the logit is even and falls away from 0, so the largest difference is that about 0, at logit u =
e/2 = -logit v.

*A pure event as Laplace noise, for RDP.* Randomised response has its kink at (q, q), q = 1/(1 + e^epsilon), and
dominates all pure events (Kairouz, Oh & Viswanath 2015). The trade-off function of Laplace noise of sensitivity/scale m
is convex and passes through (x, x) at x = e^(-m/2)/2: below the kink from m = 2 ln((1 + e^epsilon)/2) on.

*Objective perturbation as (xi, rho)-zCDP.* R(a) <= kl + a r^2/2 + ln(2 Phi((a - 1) r))/(a - 1), and ln(2 Phi(x)) is
concave and 0 at 0, so the last term is at most its limit r sqrt(2/pi) at a = 1
(``theory_of_privacy::objective_perturbation``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

from scipy.special import ndtri

from dpsparse._core import (
    Accountant,
    Certificate,
    DiscreteGaussianEvent,
    ExponentialEvent,
    FailureEvent,
    GaussianEvent,
    InvalidArgumentError,
    LaplaceEvent,
    ObjectivePerturbationEvent,
    PureEvent,
    UnsoundMechanismError,
    ZeroConcentratedEvent,
)

__all__ = ["to_dp_accounting"]

_UP = 1 + 2.0**-40  # above what rounding and special functions leave
_LINEAR_UNTIL = 30.0  # the exponential of a larger epsilon is not needed


def to_dp_accounting(
    self: Certificate | Accountant,
    *,
    accountant: Literal["auto", "pld", "rdp"] = "auto",
    leave_out_failures: bool = False,
) -> Any:
    """Return an event of the package dp-accounting that costs at least what was spent.

    So a release of this package adds up with others that are accounted there. It is for accountants of dp-accounting as
    they are by default: their relation ADD_OR_REMOVE_ONE stands for two outputs one sensitivity apart, whatever the
    neighbours of the certificate are, which go on to be those of the certificate. As of ``epsilon`` of a certificate,
    the answer is for a run with secure randomness.

    Parameters
    ----------
    accountant : {"auto", "pld", "rdp"}, default "auto"
        Which of their accountants the event is for. "pld": Gaussian and pure events as they are, a choice by the
        exponential mechanism as Gaussian noise (a quarter more of epsilon for many choices); other events have no form
        there. "rdp": Gaussian events as they are, pure ones as Laplace noise, all others as zCDP. "auto": "pld" where
        Gaussian events, or pure ones of one epsilon, are alone, else "rdp".
    leave_out_failures : bool, default False
        Leave failure events out, for which dp-accounting has no event. The caller then adds their total probability to
        every delta.

    Returns
    -------
    dp_accounting.DpEvent
        A ``ComposedDpEvent``; ``NoOpDpEvent`` where nothing was spent.

    Raises
    ------
    UnsoundMechanismError
        If no event of dp-accounting dominates: for failures, for what the accountant of privacy loss distributions
        has no form for, and for certificates that are not certified, were changed, or cost more than they claim.
    InvalidArgumentError
        If dp-accounting 0.6 or later is not installed, or `accountant` is none of the three.

    Examples
    --------
    >>> from dpsparse.privacy import Accountant, ExponentialEvent, GaussianEvent
    >>> spent = Accountant().add(GaussianEvent(sensitivity=2.0, sigma=5.0), 10).add(ExponentialEvent(0.5))
    >>> spent.to_dp_accounting().events[1]
    SelfComposedDpEvent(event=ZCDpEvent(rho=0.03125, xi=0.0), count=1)
    """
    forms = _forms(accountant)
    if isinstance(self, Certificate):
        _require_guarantee(self)
    events = [(event, count) for event, count in self.events if not isinstance(event, FailureEvent)]
    failures = math.fsum(count * event.delta for event, count in self.events if isinstance(event, FailureEvent))
    if failures and not leave_out_failures:
        raise UnsoundMechanismError(
            f"failures of a total probability of {failures} are among the events, and dp-accounting has no event for "
            "them: pass leave_out_failures=True and add this probability to every delta that its accountants state"
        )
    form = forms[accountant] if accountant != "auto" else forms["pld" if _has_exact_form(events) else "rdp"]
    dp = _dp_accounting()
    parts = [dp.SelfComposedDpEvent(form(dp, event), count) for event, count in events]
    return dp.ComposedDpEvent(parts) if parts else dp.NoOpDpEvent()


def _forms(accountant: object) -> dict[str, Callable[[Any, Any], Any]]:
    forms: dict[str, Callable[[Any, Any], Any]] = {"pld": _for_pld, "rdp": _for_rdp}
    if not isinstance(accountant, str) or accountant not in {"auto", *forms}:
        raise InvalidArgumentError("accountant must be 'auto', 'pld' or 'rdp'")
    return forms


def _require_guarantee(certificate: Certificate) -> None:
    epsilon, delta = certificate.claim
    if not certificate.delta(epsilon) <= delta:
        raise UnsoundMechanismError(
            "the certificate does not hold: it is not certified, was changed, or claims less than was spent; nothing "
            "that dominates it is known"
        )


def _has_exact_form(events: Iterable[tuple[Any, int]]) -> bool:
    kinds = [event for event, _ in events]
    if all(isinstance(event, GaussianEvent) for event in kinds):
        return True
    pure = all(isinstance(event, PureEvent | LaplaceEvent) for event in kinds)
    return pure and len({event.renyi(math.inf) for event in kinds}) == 1


def _for_pld(dp: Any, event: Any) -> Any:
    match event:
        case GaussianEvent():
            return _gaussian(dp, event)
        case PureEvent() | LaplaceEvent():
            return dp.DiscreteLaplaceDpEvent(event.renyi(math.inf), 1)
        case ExponentialEvent():
            # Of the smaller of the two probabilities, whose digits are kept however large epsilon0 is.
            ratio = -2 * float(ndtri(1 / (1 + math.exp(min(event.epsilon0 / 2, 700.0)))))
            return dp.GaussianDpEvent(1 / (ratio * _UP))
        case _:
            raise UnsoundMechanismError(
                f"{type(event).__name__} bounds Renyi divergences alone, and no privacy loss distribution follows: "
                "accountant='rdp' takes it"
            )


def _for_rdp(dp: Any, event: Any) -> Any:
    match event:
        case GaussianEvent():
            return _gaussian(dp, event)
        case PureEvent() | LaplaceEvent():
            return dp.LaplaceDpEvent(1 / (_laplace_ratio(event.renyi(math.inf)) * _UP))
        case ObjectivePerturbationEvent():
            ratio = event.lipschitz_norm / event.sigma * (2 if event.adjacency == "replace-one" else 1) * _UP
            xi = event.curvature_log + ratio * math.sqrt(2 / math.pi)
            return dp.ZCDpEvent(rho=ratio * ratio / 2, xi=xi * _UP)
        case DiscreteGaussianEvent() | ExponentialEvent() | ZeroConcentratedEvent():
            return dp.ZCDpEvent(rho=Accountant().add(event).rho())
        case _:
            raise UnsoundMechanismError(f"no event of dp-accounting is known to dominate {type(event).__name__}")


def _gaussian(dp: Any, event: GaussianEvent) -> Any:
    return dp.GaussianDpEvent(math.nextafter(event.sigma / event.sensitivity, 0.0))


def _laplace_ratio(epsilon: float) -> float:
    if epsilon < _LINEAR_UNTIL:
        return 2 * math.log1p(math.expm1(epsilon) / 2)
    return 2 * (epsilon + math.log1p(math.exp(-epsilon)) - math.log(2))


def _dp_accounting() -> Any:
    try:
        from dp_accounting import dp_event
        from dp_accounting.dp_event import DiscreteLaplaceDpEvent, ZCDpEvent  # noqa: F401 (older versions lack them)
    except ImportError as error:
        raise InvalidArgumentError(
            "to_dp_accounting needs dp-accounting 0.6: pip install 'dp-accounting>=0.6'"
        ) from error
    return dp_event
