"""Laws of privacy losses, for the exact cost of choices, pure events and Gaussian noise together.

Of a release with laws P and Q between neighbours, r = P/Q, the curve is delta(epsilon) = E_Q (r - x)+, x = e^epsilon:
convex in x, 1 at x = 0. Conversely every such curve is that of a law of r, its second derivative.

- A release before others of curve h makes E_Q r h(x/r), and r h(x/r) is convex in r: of two laws of r with mean 1 under
  Q the more spread one costs more. So an atom may be moved to the two ends of a cell of a grid that holds it if the
  mass under Q and the mean of r stay: an upper bound. In the curve it is the chord, in x, between two points.
- A choice of bounded range e has at worst two losses t and t - e, t in [0, e] chosen by the adversary, heeding all that
  came before (Dong, Durfee & Rogers 2020): `choices` iterates the supremum over t.
- Independent losses, each of the worst law of its kind, cover every order of the events, adaptive ones included
  (``theory_of_privacy::noise_and_accounting``).

Sums of positive doubles throughout: what they round stays below 1e-10 of a delta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx
from scipy.stats import binom

__all__ = ["Law", "choices", "composed", "gaussian_curve", "reach", "responses"]

Floats: TypeAlias = npt.NDArray[np.float64]

_FEW = 32
_PARTS = (32, 18)  # half of the grid steps in a range, for few choices and for many: chords cost 0.1 % of epsilon
_TOGETHER = 256  # choices in a group: the time of a curve grows as the power 1.5 of their number
_FINE = 40.0  # grid points in a standard deviation of the loss, times the root of the number of laws
_LOW = 24.0  # -ln of what is cut off at low losses, where curves are nearly straight


@dataclass(frozen=True)
class Law:
    """Masses under P at the losses ``first * width``, ``(first + 1) * width``, ... and `lost` at infinity."""

    first: int
    width: float
    masses: Floats
    lost: float = 0.0

    @property
    def losses(self) -> Floats:
        """Where the masses stand."""
        return self.width * np.arange(self.first, self.first + len(self.masses), dtype=np.float64)

    @property
    def deviation(self) -> float:
        """Standard deviation of the loss."""
        mean = self.masses @ self.losses / self.masses.sum()
        return float(np.sqrt(self.masses @ (self.losses - mean) ** 2 / self.masses.sum()))

    def delta(self, epsilon: float, ratio: float) -> float:
        """Delta together with Gaussian noise of sensitivity/sigma = `ratio`, or with none at 0."""
        left = epsilon - self.losses
        rest = gaussian_curve(left, ratio) if ratio > 0 else -np.expm1(np.minimum(left, 0.0))
        return float(self.masses @ rest + self.lost)

    def on(self, width: float) -> Law:
        """A law on another grid that costs no less: each atom goes to both ends of its cell."""
        cell = np.floor(self.losses / width).astype(int)
        inside = np.clip(self.losses - cell * width, 0.0, width)
        lower = self.masses * np.expm1(width - inside) / math.expm1(width)
        masses = np.zeros(cell[-1] - cell[0] + 2)
        np.add.at(masses, cell - cell[0], lower)
        np.add.at(masses, cell - cell[0] + 1, self.masses - lower)
        return Law(int(cell[0]), width, masses, self.lost)

    def plus(self, other: Law) -> Law:
        """The sum of two independent losses on one grid."""
        masses = np.convolve(self.masses, other.masses)
        return Law(self.first + other.first, self.width, masses, self.lost + other.lost)


def gaussian_curve(epsilon: Floats, ratio: float) -> Floats:
    """Delta of Gaussian noise at any sign of epsilon (Balle & Wang 2018), keeping the digits of small deltas."""
    size = np.abs(epsilon)
    near, far = size / ratio - ratio / 2, size / ratio + ratio / 2
    # Phi(-near) - e^size Phi(-far); both tails have the factor exp(-near^2/2).
    scaled = np.exp(-(near**2) / 2) * erfcx(np.maximum(near, -25.0) / math.sqrt(2)) / 2
    tail = np.exp(-(near**2) / 2) * erfcx(far / math.sqrt(2)) / 2
    positive = np.where(near > -25.0, scaled, 1.0) - tail
    delta: Floats = np.where(epsilon >= 0, positive, 1 - np.exp(-size) * (1 - positive))
    return delta


def responses(epsilon: float, count: int) -> Law:
    """The law of `count` pure events: randomised responses, of loss epsilon or -epsilon."""
    masses = np.zeros(2 * count + 1)
    masses[::2] = binom.pmf(np.arange(count + 1), count, 1 / (1 + math.exp(-epsilon)))
    return Law(-count, epsilon, masses)


def composed(parts: Sequence[Sequence[Law]]) -> Law:
    """The law of a sum of independent losses; the laws of one part are on one grid."""
    sums = []
    for part in parts:
        law = part[0]
        for other in part[1:]:
            law = law.plus(other)
        sums.append(law)
    if len(sums) == 1:
        return sums[0]
    spread = math.sqrt(sum(law.deviation**2 for law in sums))
    width = spread / (_FINE * math.sqrt(len(sums)))
    total, *others = (law.on(width) for law in sums)
    for law in others:
        total = total.plus(law)
    return total


def choices(epsilon0: float, count: int, depth: float) -> list[Law]:
    """Laws of groups of choices, whose sum is at worst that of all, on one grid.

    Losses that are exceeded with a probability of about e^-depth count as infinite.
    """
    groups = -(-count // _TOGETHER)
    parts = 2 * max(_PARTS[0] if count <= _FEW else _PARTS[1], math.ceil(epsilon0))
    longer = count % groups
    sizes = [count // groups + (k < longer) for k in range(groups)]
    return [_law_of_choices(epsilon0, size, parts, depth) for size in sizes]


def reach(epsilon0: float, count: int, depth: float) -> int:
    """How many ranges the loss is from 0 at most, but for a probability of e^-depth (Hoeffding 1963)."""
    return min(count, math.ceil(count * epsilon0 / 8 + math.sqrt(count * depth / 2)))


@lru_cache(maxsize=256)
def _law_of_choices(epsilon0: float, count: int, parts: int, depth: float) -> Law:
    first, last = -parts * reach(epsilon0, count, _LOW), parts * reach(epsilon0, count, depth)
    width = epsilon0 / parts
    losses = width * np.arange(first, last + 1, dtype=np.float64)
    curve = np.maximum(-np.expm1(losses), 0.0)
    for _ in range(count):
        curve = _one_more(curve, losses, width, parts)
    # The slope changes at each point by the mass under Q; x times it is that under P: falls of slope times x, before
    # and after each point, from (0, 1) to a constant.
    after = np.append(-np.diff(curve) / math.expm1(width), 0.0)
    before = np.append(1 - curve[0], after[:-1] * math.exp(width))
    return Law(first, width, np.maximum(before - after, 0.0), float(curve[-1]))


def _one_more(curve: Floats, losses: Floats, width: float, parts: int) -> Floats:
    """The supremum over t of P f(x/z) + (1 - P) f(x/(c z)), z = e^t, c = e^-epsilon0, of chords of f.

    P = (1 - c z)/(1 - c). Within a cell of the grid of t both x/z and x/(c z) run through one cell of x each, where f
    is a chord A + s x. So 1 - c times the mean is alpha - b z - g/z, b = c (A_1 - A_2) and g = x (s_2 - s_1) not
    negative as f is convex: greatest at an end of the cell or at z = sqrt(g/b), by (sqrt(b z) - sqrt(g/z))^2 above its
    value at the lower end z. Nothing that is added cancels, however small epsilon0 is.
    """
    n, epsilon0 = len(losses), parts * width
    c, span = math.exp(-epsilon0), -math.expm1(-epsilon0)
    # Beyond the window: the chord to (0, 1) below, constant above.
    steps = width * np.arange(parts, 0, -1)
    below = -np.expm1(-steps) + np.exp(-steps) * curve[0]
    f = np.concatenate([below, curve, np.full(parts, curve[-1])])
    x = np.exp(np.concatenate([losses[0] - steps, losses, losses[-1] + steps[::-1]]))
    slope = np.diff(f) / (x[:-1] * math.expm1(width))
    intercept = f[1:] - slope * x[1:]
    points = x[parts : parts + n]
    best = np.zeros(n)
    for j in range(parts + 1):
        low = math.exp(j * width)
        share, rest = math.expm1(j * width - epsilon0) / -span, c * math.expm1(j * width) / span
        end = share * f[parts - j :][:n] + rest * f[2 * parts - j :][:n]
        best = np.maximum(best, end)
        if j == parts:
            break
        near, far = slice(parts - j - 1, parts - j - 1 + n), slice(2 * parts - j - 1, 2 * parts - j - 1 + n)
        b = c * np.maximum(intercept[near] - intercept[far], 0.0)
        g = np.maximum(slope[far] - slope[near], 0.0) * points
        inside = (g > b * low**2) & (g < b * (low * math.exp(width)) ** 2)
        rise = (np.sqrt(b * low) - np.sqrt(g / low)) ** 2 / span
        best = np.where(inside, np.maximum(best, end + rise), best)
    return best
