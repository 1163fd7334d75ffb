"""Privacy curves at 50 digits, written from the definitions and not from the Rust code.

Those that certificates are verified by stand in the package, and are this module's too.
"""

import math

import numpy as np
from mpmath import exp, expm1, inf, log, mp, mpf, quad, sqrt

from dpsparse.testing._reference_curves import (
    bounded_range,
    bounded_range_at,
    converted_delta,
    gaussian_delta,
    least_over_orders,
    objective_delta,
    objective_renyi_bound,
    pure,
    shift_and_constant,
)

__all__ = ["bounded_range", "bounded_range_at", "objective_delta", "pure"]  # of the package, for tests

mp.dps = 50


def bisect(decreasing, target, low, high, steps=170):
    """The point where a decreasing function meets the target."""
    low, high = mpf(low), mpf(high)
    for _ in range(steps):
        middle = (low + high) / 2
        if decreasing(middle) > target:
            low = middle
        else:
            high = middle
    return high


def gaussian_epsilon(delta, ratio):
    ratio = mpf(ratio)
    if gaussian_delta(0, ratio) <= delta:
        return mpf(0)
    high = ratio**2 / 2 + ratio * sqrt(2 * log(1 / mpf(delta)))
    return bisect(lambda e: gaussian_delta(e, ratio), mpf(delta), 0, high, 90)


def objective_delta_by_integration(epsilon, lipschitz_norm, sigma, curvature_log, adjacency):
    """E (1 - exp(epsilon - loss))+ with the bound on the loss at |g1| = |g2| = |g| (add-remove: one g)."""
    m, constant = shift_and_constant(lipschitz_norm, sigma, adjacency)
    if adjacency == "replace-one":
        m = 2 * m
    gap = mpf(epsilon) - mpf(curvature_log) - constant
    start = max(gap / m, mpf(0))
    density = lambda g: 2 * exp(-(g**2) / 2) / sqrt(2 * mp.pi) * -expm1(gap - m * g)  # noqa: E731
    return quad(density, [start, start + 1, start + 4, start + 12, inf])


def objective_renyi(order, lipschitz_norm, sigma, curvature_log, adjacency):
    """Moment of the same bound on the loss, by integration."""
    m, constant = shift_and_constant(lipschitz_norm, sigma, adjacency)
    if adjacency == "replace-one":
        m = 2 * m
    b = mpf(order) - 1
    top = b * m
    moment = quad(lambda g: 2 * exp(-(g**2) / 2 + b * m * g) / sqrt(2 * mp.pi), [0, top, top + 3, top + 12, top + 60])
    return mpf(curvature_log) + constant + log(moment) / b


def objective_renyi_delta(epsilon, lipschitz_norm, sigma, curvature_log, adjacency):
    """What the Renyi curve of an objective perturbation proves, by its closed form."""
    curve = lambda a: objective_renyi_bound(a, lipschitz_norm, sigma, curvature_log, adjacency)  # noqa: E731
    return least_over_orders(lambda a: converted_delta(curve, epsilon, a), steps=40)


def objective_kl(lipschitz_norm, sigma, curvature_log, adjacency):
    """Mean of the loss bound of M8."""
    m, constant = shift_and_constant(lipschitz_norm, sigma, adjacency)
    r = 2 * m if adjacency == "replace-one" else m
    return mpf(curvature_log) + constant + r * sqrt(2 / mp.pi)


def fixed_choices_delta(epsilon, count, epsilon0, t, ratio=0):
    """`count` choices with losses t and t - epsilon0 whatever happens, then Gaussian noise of `ratio`: a binomial sum.

    Some composition of bounded-range events attains it, so no bound may be less (Dong, Durfee & Rogers 2020).
    """
    epsilon, e0, t = mpf(epsilon), mpf(epsilon0), mpf(t)
    p = -expm1(t - e0) / -expm1(-e0)
    rest = (lambda e: gaussian_delta(e, ratio)) if ratio else (lambda e: max(-expm1(e), mpf(0)))
    mass, total = p**count, mpf(0)
    for fallen in range(count + 1):
        total += mass * rest(epsilon - count * t + fallen * e0)
        mass *= (1 - p) / p * (count - fallen) / (fallen + 1)
    return total


def adaptive_choices_delta(epsilon, count, epsilon0, parts, number=mpf):
    """The best adaptive choice of t among multiples of epsilon0/parts: no bound may be less, and the optimum is near.

    From the last choice to the first, on all losses that `epsilon` leaves; with floats for `number` to about 1e-12.
    """
    e0 = number(epsilon0)
    losses = [number(epsilon) + i * e0 / parts for i in range(-count * parts, count * parts + 1)]
    minus = expm1 if number is mpf else math.expm1
    delta = [max(-minus(loss), number(0)) if loss < 0 else number(0) for loss in losses]
    first = [minus(j * e0 / parts - e0) / minus(-e0) for j in range(parts + 1)]
    if number is float:
        delta, first = np.array(delta), np.array(first)
    while len(delta) > 1:
        inner = range(parts, len(delta) - parts)
        if number is float:
            terms = [p * delta[parts - j : len(delta) - parts - j] for j, p in enumerate(first)]
            others = [(1 - p) * delta[2 * parts - j : len(delta) - j] for j, p in enumerate(first)]
            delta = np.max([a + b for a, b in zip(terms, others, strict=True)], axis=0)
        else:
            delta = [max(p * delta[i - j] + (1 - p) * delta[i - j + parts] for j, p in enumerate(first)) for i in inner]
    return delta[0]


def responses_delta(epsilon, events):
    """Independent randomised responses of (epsilon, count) each: the sum over all ways in which they fall."""
    losses = {mpf(0): mpf(1)}
    for e, count in events:
        p = 1 / (1 + exp(-mpf(e)))
        for _ in range(count):
            fallen = {}
            for loss, mass in losses.items():
                for way, share in ((loss + mpf(e), p), (loss - mpf(e), 1 - p)):
                    fallen[way] = fallen.get(way, mpf(0)) + mass * share
            losses = fallen
    return sum(mass * max(-expm1(mpf(epsilon) - loss), mpf(0)) for loss, mass in losses.items())


def randomised_response_kl(epsilon):
    p = 1 / (1 + exp(-mpf(epsilon)))
    return (2 * p - 1) * mpf(epsilon)


def bounded_range_kl(epsilon0):
    """The largest divergence of a two-point pair with losses t and t - epsilon0, over t: minus their mean under Q."""
    e0 = mpf(epsilon0)
    mean = lambda t: t - e0 * (1 - (exp(-t) - exp(-e0)) / (1 - exp(-e0)))  # noqa: E731
    return -mean(log(e0 / (1 - exp(-e0))))


def converted_epsilon(renyi, delta, order):
    a = mpf(order)
    return renyi(a) + log(1 - 1 / a) - (log(mpf(delta)) + log(a)) / (a - 1)


def zcdp_epsilon(rho, delta):
    return least_over_orders(lambda a: converted_epsilon(lambda b: mpf(rho) * b, delta, a))


def zcdp_delta(rho, epsilon):
    return least_over_orders(lambda a: converted_delta(lambda b: mpf(rho) * b, epsilon, a))


def discrete_gaussian_delta(epsilon, sigma, sensitivity=1):
    """The true delta of the discrete Gaussian on the integers, summed over its support."""
    sigma, reach = mpf(sigma), int(40 * sigma) + 10
    weight = [exp(-(mpf(k) ** 2) / (2 * sigma**2)) for k in range(-reach, reach + 1)]
    total = sum(weight)
    shifted = [exp(-(mpf(k - sensitivity) ** 2) / (2 * sigma**2)) for k in range(-reach, reach + 1)]
    factor = exp(mpf(epsilon))
    return sum(max(w - factor * v, mpf(0)) for w, v in zip(weight, shifted, strict=True)) / total


def continuous_laplace_renyi(epsilon, order):
    """Mironov 2017: the continuous Laplace mechanism of sensitivity/scale = epsilon."""
    e, a = mpf(epsilon), mpf(order)
    return log(a / (2 * a - 1) * exp((a - 1) * e) + (a - 1) / (2 * a - 1) * exp(-a * e)) / (a - 1)


def gaussian_sigma(sensitivity, epsilon, delta):
    """The exact sigma, by a root of the curve in log sigma."""
    guess = mpf(sensitivity) * sqrt(2 * log(1 / mpf(delta))) / max(mpf(epsilon), mpf("0.1"))
    low, high = log(guess / 1000), log(guess * 1000)
    value = bisect(lambda s: gaussian_delta(epsilon, sensitivity / exp(s)), mpf(delta), low, high, 110)
    return exp(value)
