"""Privacy curves from their definitions, in the precision that mpmath is set to. Needs mpmath.

Nothing here is rounded in anyone's favour: the compiled accountant rounds up, so that it is never below these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from mpmath import erfc, exp, expm1, log, mp, mpf, ncdf, sqrt

__all__ = [
    "bounded_range",
    "bounded_range_at",
    "converted_delta",
    "gaussian_delta",
    "golden_section",
    "least_over_orders",
    "objective_delta",
    "objective_renyi_bound",
    "pure",
    "pure_delta",
    "shift_and_constant",
]

#: A number of mpmath, or what it takes for one.
Number: TypeAlias = Any

_COARSE = [x / 2 for x in range(-28, 60)]  # of ln(order - 1)


def gaussian_delta(epsilon: Number, ratio: Number) -> Number:
    """Delta of Gaussian noise (Balle & Wang 2018), ratio = sensitivity / sigma."""
    epsilon, ratio = mpf(epsilon), mpf(ratio)
    # Both tails keep their relative accuracy through erfc; only their difference cancels, by at most (b/ratio)^2.
    with mp.workdps(80):
        return ncdf(ratio / 2 - epsilon / ratio) - exp(epsilon) * ncdf(-ratio / 2 - epsilon / ratio)


def pure_delta(epsilon: Number, pure_epsilon: Number) -> Number:
    """Delta of a pure epsilon: randomised response, which dominates all of them (Kairouz, Oh & Viswanath 2015)."""
    gap = mpf(epsilon) - mpf(pure_epsilon)
    return max(-expm1(gap), mpf(0)) / (1 + exp(-mpf(pure_epsilon)))


def bounded_range_at(t: Number, epsilon0: Number, order: Number) -> Number:
    """Renyi divergence of the two-point pair with losses t and t - epsilon0 (Cesar & Rogers 2021)."""
    t, e0, a = mpf(t), mpf(epsilon0), mpf(order)
    p = (exp(-t) - exp(-e0)) / (1 - exp(-e0))
    return log(p * exp(a * t) + (1 - p) * exp(a * (t - e0))) / (a - 1)


def bounded_range(epsilon0: Number, order: Number) -> Number:
    """The same at the t that maximises it (``theory_of_privacy::selection``)."""
    e0, a = mpf(epsilon0), mpf(order)
    t = log((a - 1) * -expm1(-a * e0) / (a * (exp(-e0) - exp(-a * e0))))
    return bounded_range_at(t, e0, a)


def pure(epsilon: Number, order: Number) -> Number:
    """Renyi divergence of randomised response, from the sum over its two outputs."""
    a, p = mpf(order), 1 / (1 + exp(-mpf(epsilon)))
    q = 1 - p
    return log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)


def shift_and_constant(lipschitz_norm: Number, sigma: Number, adjacency: str) -> tuple[Number, Number]:
    """M = L R2 / s and the constant part of the loss of an objective perturbation, without the curvature."""
    m = mpf(lipschitz_norm) / mpf(sigma)
    return m, m**2 / 2 if adjacency == "add-remove" else 2 * m**2


def objective_delta(
    epsilon: Number, lipschitz_norm: Number, sigma: Number, curvature_log: Number, adjacency: str
) -> Number:
    """The curve of ``theory_of_privacy::objective_perturbation``, written out (add-remove: Redberg et al. 2023)."""
    m, constant = shift_and_constant(lipschitz_norm, sigma, adjacency)
    eps, kl = mpf(epsilon), mpf(curvature_log)
    if adjacency == "replace-one":
        if (eps - kl - constant) / m < 2 * sqrt(mpf(3)):
            return mpf(1)
        return 2 * gaussian_delta(eps - kl, 2 * m)
    if eps > kl + constant:
        return 2 * gaussian_delta(eps - kl, m)
    e = exp(eps - kl - constant)
    return 1 - e + 2 * e * gaussian_delta(m**2 / 2, m)


def objective_renyi_bound(
    order: Number, lipschitz_norm: Number, sigma: Number, curvature_log: Number, adjacency: str
) -> Number:
    """Renyi divergence of the bound on the loss, in its closed form."""
    m, _ = shift_and_constant(lipschitz_norm, sigma, adjacency)
    r = 2 * m if adjacency == "replace-one" else m
    a = mpf(order)
    return mpf(curvature_log) + a * r**2 / 2 + log(erfc(-(a - 1) * r / sqrt(mpf(2)))) / (a - 1)


def converted_delta(renyi: Callable[[Number], Number], epsilon: Number, order: Number) -> Number:
    """Renyi divergence to delta at one order (Canonne, Kamath & Steinke 2020)."""
    a = mpf(order)
    return exp((a - 1) * (renyi(a) - mpf(epsilon)) + a * log(1 - 1 / a)) / (a - 1)


def least_over_orders(value: Callable[[Number], Number], steps: int = 90) -> Number:
    """Minimum over a > 1: a coarse grid in log(a - 1), then golden section."""
    grid = [mpf(x) for x in _COARSE]
    values = [value(1 + exp(x)) for x in grid]
    best = values.index(min(values))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return golden_section(lambda x: value(1 + exp(x)), *ends, steps)


def golden_section(value: Callable[[Number], Number], left: Number, right: Number, steps: int) -> Number:
    """Least value between two points of a function that falls and then rises."""
    golden = (sqrt(mpf(5)) - 1) / 2
    x1, x2 = right - golden * (right - left), left + golden * (right - left)
    y1, y2 = value(x1), value(x2)
    for _ in range(steps):
        if y1 <= y2:
            right, x2, y2 = x2, x1, y1
            x1 = right - golden * (right - left)
            y1 = value(x1)
        else:
            left, x1, y1 = x1, x2, y2
            x2 = left + golden * (right - left)
            y2 = value(x2)
    return min(y1, y2)
