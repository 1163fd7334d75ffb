"""What events cost together, from the mathematics and not from the compiled accountant. Needs mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mpmath import exp, inf, mpf, sqrt

from dpsparse.testing import _reference_curves as curves
from dpsparse.testing import _reference_laws as laws

__all__ = ["Spent", "costs_at_most"]

Number: TypeAlias = Any
#: Kind and parameters of an event as certificates have them, and how often it happened.
Spent: TypeAlias = tuple[dict[str, Any], int]

_STEPS = 48  # of golden sections: 1e-10 of the span
_LEAST_LOG_ORDER, _MOST_LOG_ORDER = -14, 30  # of order - 1
_FARTHEST = 700.0  # losses beyond it would overflow
_SMALLEST_DELTA = 1e-230  # of the laws in double precision
_LEAST = 1e-6  # range or epsilon, below which doubles lose the steps of a grid
_MOST = 5000  # events of a kind and parameter for which a law is made
_TAIL = 24.0  # -ln of the share of delta that cut tails may take, at least
_DEPTHS = 16.0  # depths of tails are multiples of it, so that laws are made once for many deltas


@dataclass
class _Sorted:
    """Events by how they add up. Sums are exact up to the digits of mpmath."""

    squares: Number = field(default_factory=lambda: mpf(0))  # of the ratios of Gaussian noise
    failures: Number = field(default_factory=lambda: mpf(0))
    rho: Number = field(default_factory=lambda: mpf(0))  # of what has zCDP and nothing more
    pure: dict[float, int] = field(default_factory=dict)
    choices: dict[float, int] = field(default_factory=dict)
    objectives: list[tuple[tuple[Any, ...], int]] = field(default_factory=list)

    def add(self, event: dict[str, Any], count: int) -> None:
        match event["kind"]:
            case "gaussian":
                self.squares += count * (mpf(event["sensitivity"]) / mpf(event["sigma"])) ** 2
            case "discrete-gaussian":
                self.rho += count * (mpf(event["sensitivity"]) / mpf(event["sigma"])) ** 2 / 2
            case "zero-concentrated":
                self.rho += count * mpf(event["rho"])
            case "exponential":
                self.choices[event["epsilon0"]] = self.choices.get(event["epsilon0"], 0) + count
            case "pure":
                self.pure[event["epsilon"]] = self.pure.get(event["epsilon"], 0) + count
            case "laplace":
                epsilon = mpf(event["sensitivity"]) / mpf(event["scale"])
                self.pure[epsilon] = self.pure.get(epsilon, 0) + count
            case "failure":
                self.failures += count * mpf(event["delta"])
            case "objective-perturbation":
                names = ("lipschitz_norm", "sigma", "curvature_log", "adjacency")
                self.objectives.append((tuple(event[name] for name in names), count))
            case kind:
                raise ValueError(f"unknown kind of event: {kind}")

    @property
    def pure_sum(self) -> Number:
        """Basic composition of what is pure, choices included."""
        return sum((count * mpf(e) for part in (self.pure, self.choices) for e, count in part.items()), mpf(0))

    @property
    def plain(self) -> bool:
        """Whether nothing but objective perturbations and failures is there."""
        return not (self.squares or self.rho or self.pure or self.choices)

    def renyi(self, order: Number, objectives: bool) -> Number:
        """Renyi divergences of one order add up (Mironov 2017)."""
        total = (self.squares / 2 + self.rho) * order
        total += sum(count * curves.pure(e, order) for e, count in self.pure.items())
        total += sum(count * curves.bounded_range(e, order) for e, count in self.choices.items())
        if objectives:
            total += sum(n * curves.objective_renyi_bound(order, *one) for one, n in self.objectives)
        return total


def costs_at_most(events: Sequence[Spent], epsilon: float, delta: Number) -> bool:
    """Tell whether one of the bounds that hold for these events keeps (epsilon, delta).

    The bounds, after the probability of failures is taken from delta:

    - Gaussian noise alone: its curve at the root of the summed squares of sensitivity/sigma (Dong, Roth & Su 2022);
    - pure epsilons add up, by the curve of randomised response, or beside the curve of Gaussian noise;
    - choices, pure events and Gaussian noise: the law of independent losses that are worst for each kind;
    - Renyi divergences of one order add up, and are converted at the best order (Canonne, Kamath & Steinke 2020);
    - objective perturbations: epsilons and deltas of their own curves add up, with those of all else.
    """
    parts = _Sorted()
    for event, count in events:
        parts.add(event, count)
    left = mpf(delta) - parts.failures
    if left < 0:
        return False
    bounds = _with_objectives if parts.objectives else _plain_bounds
    return any(bound() <= left for bound in bounds(parts, mpf(epsilon), left))


def _plain_bounds(parts: _Sorted, epsilon: Number, target: Number) -> Iterator[Callable[[], Number]]:
    """Bounds on delta without the objective perturbations, cheap ones first; `target` says which tails matter."""
    if parts.plain:
        yield lambda: mpf(0)
        return
    ratio, pure = sqrt(parts.squares), parts.pure_sum
    if not parts.rho:
        if not parts.squares:
            yield lambda: curves.pure_delta(epsilon, pure)
        elif pure <= epsilon:
            yield lambda: curves.gaussian_delta(epsilon - pure, ratio)
        if pure and target > _SMALLEST_DELTA:
            yield lambda: _exact(parts, float(epsilon), float(target))
    if pure or parts.rho:
        yield lambda: _converted(lambda order: parts.renyi(order, False), epsilon)


def _with_objectives(parts: _Sorted, epsilon: Number, target: Number) -> Iterator[Callable[[], Number]]:
    yield lambda: _converted(lambda order: parts.renyi(order, True), epsilon)
    yield lambda: _split(parts, epsilon, target)


def _converted(renyi: Callable[[Number], Number], epsilon: Number) -> Number:
    """The least delta over orders a: its logarithm is convex in a, as (a - 1) R(a) is, so golden section finds it."""
    at = lambda x: curves.converted_delta(renyi, epsilon, 1 + exp(x))  # noqa: E731
    return curves.golden_section(at, mpf(_LEAST_LOG_ORDER), mpf(_MOST_LOG_ORDER), _STEPS)


def _exact(parts: _Sorted, epsilon: float, target: float) -> Number:
    """Delta of the law of independent losses; infinite where it is beyond double precision."""
    ratio = float(sqrt(parts.squares))
    kinds = [(float(e), n, True) for e, n in parts.choices.items()] + [
        (float(e), n, False) for e, n in parts.pure.items()
    ]
    depth = _DEPTHS * math.ceil((_TAIL - math.log(target)) / _DEPTHS)
    farthest = max(e * (1 + laws.reach(e, n, depth)) if choice else 0.0 for e, n, choice in kinds)
    if max(n for _, n, _ in kinds) > _MOST or farthest > _FARTHEST or min(e for e, _, _ in kinds) < _LEAST:
        return inf
    made = [laws.choices(e, n, depth) if choice else [laws.responses(e, n)] for e, n, choice in kinds]
    return mpf(laws.composed(made).delta(epsilon, ratio))


def _split(parts: _Sorted, epsilon: Number, target: Number) -> Number:
    """Basic composition: the perturbations share a number tau of standard deviations, the rest has what is left.

    epsilon_i = the constant part of the loss + M tau (Dwork & Roth 2014, theorem B.1, which holds at negative epsilons
    too); the sum of deltas is convex in tau.
    """
    perturbations = []
    for one, count in parts.objectives:
        m, constant = curves.shift_and_constant(one[0], one[1], one[3])
        perturbations.append((one, count, m, constant + mpf(one[2])))
    left = epsilon - sum(count * constant for _, count, _, constant in perturbations)
    slope = sum(count * m for _, count, m, _ in perturbations)
    highest = left / slope
    # Replace-one claims nothing below 2 sqrt(3) deviations.
    lowest = 2 * sqrt(mpf(3)) if parts.objectives[0][0][3] == "replace-one" else min(mpf(0), highest)
    if highest < lowest:
        return inf

    def at(tau: Number) -> Number:
        own = sum(count * curves.objective_delta(constant + m * tau, *one) for one, count, m, constant in perturbations)
        return own + min(mpf(1), *(bound() for bound in _plain_bounds(parts, max(left - slope * tau, mpf(0)), target)))

    if parts.plain:
        return at(highest)
    return curves.golden_section(at, lowest, highest, _STEPS)
