"""Plans of hyper-parameter searches: what candidates, choice and refit cost together, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from dpsparse import _core
from dpsparse._core import InvalidArgumentError, Plan
from dpsparse._origin import reduced
from dpsparse.privacy import epsilon_from_rho, rho_from_epsilon

__all__ = ["SearchPlan", "Shares", "plan_search"]

# A choice of larger range is as good as certain.
_MOST_CHOICE = 64.0
# Steps of the search for a budget, and the share of it that is used at least where they do.
_LEAST_STEPS, _MOST_STEPS, _CLOSE = 6, 20, 0.98
# How far from its share the cost of a candidate may be.
_ALIKE = 0.05
# The scale of the shares that is tried first: what dominates every refit costs more than each of them.
_FIRST = 0.6
_TOO_SMALL = "epsilon is too small for so many candidates: search fewer, or spend more"

Planned = TypeVar("Planned")


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
    epsilon, delta : float
        The budget, which ``events`` keep.
    search : Search
        Fits, choice and refits as the core releases them.

    Examples
    --------
    >>> from dpsparse import PrivateSearchCV, PrivateSparseClassifier
    >>> model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), n_iter=10)
    >>> plan = PrivateSearchCV(model, {"radius": [1.0, 5.0]}, epsilon=2.0).plan(10_000, 20)
    >>> len(plan.fits), plan.epsilon, plan.n_train + plan.n_held_out
    (2, 2.0, 10000)
    """

    candidates: tuple[dict[str, Any], ...]
    fits: tuple[Plan, ...]
    refits: tuple[Plan, ...]
    n_train: int
    n_held_out: int
    selection_epsilon: float
    epsilon: float
    delta: float
    search: _core.Search = field(repr=False)

    __reduce__ = reduced

    @property
    def events(self) -> tuple[tuple[Any, int], ...]:
        """Everything that the search spends: all fits, the choice, and events that dominate every possible refit."""
        return tuple(self.search.events)

    @property
    def mechanism(self) -> str:
        """The search in words."""
        return self.search.mechanism

    def _repr_html_(self) -> str:
        from dpsparse.words.notebook import plan_html

        return plan_html(self)


class Shares(NamedTuple):
    """Shares of the zCDP budget, of sum 1."""

    fits: float
    selection: float
    refit: float


class _Point(NamedTuple):
    """An epsilon, what a plan for it costs, and the power of the one that the other grows with."""

    level: float
    cost: float
    power: float = 2.0

    def level_of(self, budget: float) -> float:
        return self.level * float((budget / self.cost) ** (1.0 / self.power))

    def next(self, level: float, cost: float) -> _Point:
        far = abs(math.log(level / self.level)) > 1e-3
        power = math.log(cost / self.cost) / math.log(level / self.level) if far else self.power
        return _Point(level, cost, min(max(power, 1.0), 3.0))


def plan_search(
    settings: list[dict[str, Any]],
    plan_of: Callable[[int, int, float], Plan],
    facts: _core.SearchFacts,
    *,
    n_train: int,
    n_held_out: int,
    shares: Shares,
    epsilon: float,
    delta: float,
) -> SearchPlan:
    """Divide a budget over the fits, the choice and the refit.

    Parameters
    ----------
    settings : list of dict
        The candidates.
    plan_of : callable
        Plans the setting of an index for a number of records and an epsilon.
    facts : SearchFacts
        Public facts of the search.
    n_train, n_held_out : int
        Sizes of the two parts.
    shares : Shares
        Shares of the zCDP budget.
    epsilon, delta : float
        What the search claims.

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
    rho = rho_from_epsilon(epsilon, delta)
    choice = min(math.sqrt(8.0 * shares.selection * rho), _MOST_CHOICE)
    # Candidates get equal shares of the Renyi divergence at the order at which such a zCDP budget is converted; a rule
    # only: what holds is the accountant's word on all events together.
    order = 1.0 + math.sqrt(-math.log(delta) / rho)
    each = shares.fits * rho / len(settings)
    known: dict[tuple[int, int], _Point] = {}
    last = _Point(epsilon_from_rho(each, delta), each)

    def tuned(k: int, n: int, budget: float) -> Plan:
        """Plan candidate k so that it costs about its budget; the search as a whole is what must keep to its own."""
        nonlocal last
        own = known.get((k, n)) or known.get((k, n_train))
        point = own or last
        for step in range(_MOST_STEPS):
            level = point.level_of(budget)
            plan = plan_of(k, n, level)
            spent = sum(count * event.renyi(order) for event, count in plan.events) / order
            last = point = point.next(level, spent) if own or step else _Point(level, spent)
            if spent <= (1.0 + _ALIKE) * budget and (spent >= (1.0 - _ALIKE) * budget or step >= _LEAST_STEPS):
                known[k, n] = point
                return plan
        raise InvalidArgumentError(_TOO_SMALL)

    def plans(scale: float) -> tuple[list[Plan], list[Plan]]:
        refit = scale * shares.refit * rho
        fits = [tuned(k, n_train, scale * each) for k in range(len(settings))]
        return fits, [tuned(k, n_train + n_held_out, refit) for k in range(len(settings))] if refit > 0.0 else []

    def searched(scale: float) -> tuple[list[Plan], list[Plan], _core.Search]:
        fits, refits = plans(scale)
        return fits, refits, _core.Search(facts, fits, refits, choice)

    def cost(planned: tuple[list[Plan], list[Plan], _core.Search]) -> float:
        spent, failing = planned[2].cost(epsilon, delta)
        return spent if failing <= delta else max(spent, 1.02 * epsilon)

    fits, refits, search = _tuned(searched, cost, epsilon)
    return SearchPlan(
        candidates=tuple(settings),
        fits=tuple(fits),
        refits=tuple(refits),
        n_train=n_train,
        n_held_out=n_held_out,
        selection_epsilon=choice,
        epsilon=epsilon,
        delta=delta,
        search=search,
    )


def _tuned(plan_of: Callable[[float], Planned], cost: Callable[[Planned], float], budget: float) -> Planned:
    """Return a plan that costs about the budget, and not above it, where cost**2 is about linear in the level."""
    level = _FIRST
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
        level *= ((1.0 + _CLOSE) / 2.0 * budget / spent) ** 2.0
        if best is not None and not best[0] < level < over:
            level = math.sqrt(best[0] * over)
    raise InvalidArgumentError(_TOO_SMALL)
