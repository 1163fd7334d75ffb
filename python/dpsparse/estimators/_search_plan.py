"""Plans of hyper-parameter searches: what candidates, choice and refit cost together, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from dpsparse._core import InvalidArgumentError, Plan, UnsoundMechanismError
from dpsparse.privacy import (
    Accountant,
    ExponentialEvent,
    ObjectivePerturbationEvent,
    ZeroConcentratedEvent,
    epsilon_from_rho,
    rho_from_epsilon,
)

__all__ = [
    "LEAST_RECORDS",
    "Events",
    "SearchPlan",
    "Shares",
    "accountant_of",
    "dominating",
    "plan_search",
    "without_empty_parts",
]

#: Under add-remove; see note 4 of PrivateSearchCV.
LEAST_RECORDS = 100
_EMPTY_PART = 1e-12
# A choice of larger range is as good as certain.
_MOST_CHOICE = 64.0
# Steps of the search for a budget, and the share of it that is used at least where they do.
_LEAST_STEPS, _MOST_STEPS, _CLOSE = 6, 20, 0.98

Planned = TypeVar("Planned")
Events: TypeAlias = list[tuple[Any, int]]


@dataclass(frozen=True)
class SearchPlan:
    """What a search will do and cost, from public facts alone.

    Parameters
    ----------
    candidates : tuple of dict
        The parameters that are tried.
    fits : tuple of Plan
        How each candidate is fitted, on the training part.
    refits : tuple of Plan
        How each candidate would be fitted on all records if chosen; empty without a refit.
    n_train, n_held_out : int
        Sizes of the two parts (under add-remove: the expected ones, from ``n_public``).
    selection_epsilon : float
        Bounded range of the exponential mechanism that chooses.
    events : tuple of (event, count)
        Everything that the search spends: all fits, the choice, and events that dominate every possible refit.
    epsilon, delta : float
        The budget, which ``events`` keep.
    """

    candidates: tuple[dict[str, Any], ...]
    fits: tuple[Plan, ...]
    refits: tuple[Plan, ...]
    n_train: int
    n_held_out: int
    selection_epsilon: float
    events: tuple[tuple[Any, int], ...]
    epsilon: float
    delta: float

    @property
    def mechanism(self) -> str:
        """The search in words."""
        last = "a refit of the winner on all records" if self.refits else "no refit"
        return (
            f"search among {len(self.candidates)} candidates, chosen by held-out loss (exponential mechanism), {last}; "
            f"candidates: {'; '.join(sorted({plan.mechanism for plan in self.fits}))}"
        )


class Shares(NamedTuple):
    """Shares of the zCDP budget, of sum 1."""

    fits: float
    selection: float
    refit: float


def plan_search(
    settings: list[dict[str, Any]],
    plan_of: Callable[[dict[str, Any], int, float], Plan],
    *,
    n_train: int,
    n_held_out: int,
    shares: Shares,
    epsilon: float,
    delta: float,
    target: float,
) -> SearchPlan:
    """Divide a budget over the fits, the choice and the refit.

    Parameters
    ----------
    settings : list of dict
        The candidates.
    plan_of : callable
        Plans a setting for a number of records and an epsilon.
    n_train, n_held_out : int
        Sizes of the two parts.
    shares : Shares
        Shares of the zCDP budget.
    epsilon, delta : float
        What the search claims.
    target : float
        The delta that its events must keep, at most ``delta``.

    Returns
    -------
    SearchPlan

    Raises
    ------
    InvalidArgumentError
        If the budget is too small for so many candidates.
    UnsoundMechanismError
        If a candidate has no proved guarantee.
    """
    rho = rho_from_epsilon(epsilon, target)
    choice = min(math.sqrt(8.0 * shares.selection * rho), _MOST_CHOICE)
    # Candidates get equal shares of the Renyi divergence at the order at which such a zCDP budget is converted; a rule
    # only: what holds is the accountant's word on all events together.
    order = 1.0 + math.sqrt(-math.log(delta) / rho)
    levels: dict[tuple[int, int], float] = {}

    def tuned(k: int, n: int, budget: float) -> Plan:
        """Plan candidate k so that it costs its budget."""
        start = levels.get((k, n), epsilon_from_rho(budget, delta) / math.sqrt(budget)) * math.sqrt(budget)
        plan = _tuned(
            lambda level: plan_of(settings[k], n, level),
            lambda plan: sum(count * event.renyi(order) for event, count in plan.events) / order,
            start,
            budget,
            power=0.5,
        )
        levels[k, n] = plan.epsilon / math.sqrt(budget)  # where the next scale starts
        return plan

    def plans(scale: float) -> tuple[list[Plan], list[Plan]]:
        each, last = scale * shares.fits * rho / len(settings), scale * shares.refit * rho
        fits = [tuned(k, n_train, each) for k in range(len(settings))]
        return fits, [tuned(k, n_train + n_held_out, last) for k in range(len(settings))] if last > 0.0 else []

    def events(fits: list[Plan], refits: list[Plan]) -> Events:
        spent = [spent for plan in fits for spent in plan.events]
        return [*spent, (ExponentialEvent(choice), 1), *dominating([plan.events for plan in refits])]

    def cost(both: tuple[list[Plan], list[Plan]]) -> float:
        accountant = accountant_of(events(*both))
        least = accountant.epsilon(target)
        return least if accountant.delta(epsilon) <= target else max(least, 1.02 * epsilon)

    fits, refits = _tuned(plans, cost, 1.0, epsilon, power=2.0)
    if not all(plan.certified for plan in fits):
        raise UnsoundMechanismError("a search takes proved mechanisms only: leave out calibration='paper'")
    return SearchPlan(
        candidates=tuple(settings),
        fits=tuple(fits),
        refits=tuple(refits),
        n_train=n_train,
        n_held_out=n_held_out,
        selection_epsilon=choice,
        events=tuple(accountant_of(events(fits, refits)).events),
        epsilon=epsilon,
        delta=delta,
    )


def accountant_of(events: Sequence[tuple[Any, int]]) -> Accountant:
    accountant = Accountant()
    for event, count in events:
        accountant.add(event, count)
    return accountant


def dominating(options: Sequence[Events]) -> Events:
    """Events whose curves lie above those of each option, for a choice between them that depends on the data.

    The same events whatever is chosen are themselves. Else the largest summed zCDP parameter stands for all events that
    have one, and the largest ratio and curvature for an objective perturbation: its Renyi curve, kl + 2 a M**2 + ln(2
    Phi(2 (a - 1) M))/(a - 1) or its half under add-remove, rises in both, and so does its tail curve, 2 H(epsilon - kl)
    with H a Gaussian curve, where it claims anything; the region where it does shrinks in both (MECHANISMS M8).
    """
    if all(option == options[0] for option in options):
        return list(options[0]) if options else []
    rho, ratio, curvature, count = 0.0, 0.0, 0.0, 0
    adjacency: Literal["replace-one", "add-remove"] = "replace-one"
    for option in options:
        objectives = [(e, n) for e, n in option if isinstance(e, ObjectivePerturbationEvent)]
        others = accountant_of([(e, n) for e, n in option if not isinstance(e, ObjectivePerturbationEvent)])
        rho = max(rho, others.rho() or 0.0)  # None only for objective perturbations
        count = max(count, sum(n for _, n in objectives))
        for event, _ in objectives:
            ratio = max(ratio, math.nextafter(event.lipschitz_norm / event.sigma, math.inf))
            curvature = max(curvature, event.curvature_log)
            adjacency = event.adjacency
    events: Events = [(ZeroConcentratedEvent(rho), 1)] if rho > 0.0 else []
    if count:
        events.append((ObjectivePerturbationEvent(ratio, 1.0, curvature, adjacency), count))
    return events


def without_empty_parts(epsilon: float, delta: float, share: float) -> float:
    """Return what is left of delta under add-remove, where a training part may be empty: see note 4."""
    left = delta * (1.0 - _EMPTY_PART)
    if delta - left < share ** (LEAST_RECORDS - 1) * (1.0 + math.exp(min(epsilon, 700.0))):
        raise InvalidArgumentError("delta is too small for a search under add-remove: take 1e-15 or more")
    return left


def _tuned(
    plan_of: Callable[[float], Planned], cost: Callable[[Planned], float], level: float, budget: float, power: float
) -> Planned:
    """Return a plan that costs about the budget, and not above it, where cost**power is about linear in the level."""
    best: tuple[float, Planned] | None = None
    over = math.inf  # least level seen to cost too much
    for step in range(_MOST_STEPS):
        planned = plan_of(level)
        spent = cost(planned)
        if spent > budget:
            over = min(over, level)
        elif best is None or level > best[0]:
            best = level, planned
        if best is not None and (step >= _LEAST_STEPS or _CLOSE * budget <= spent <= budget):
            return best[1]
        level *= ((1.0 + _CLOSE) / 2.0 * budget / spent) ** power
        if best is not None and not best[0] < level < over:
            level = math.sqrt(best[0] * over)
    raise InvalidArgumentError("epsilon is too small for so many candidates: search fewer, or spend more")
