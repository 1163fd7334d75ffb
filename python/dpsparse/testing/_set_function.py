"""What a set function, its norm and its polyhedra must satisfy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import number, positive_integer, random_generator
from dpsparse.set_functions import SetFunction

Vector = npt.NDArray[np.float64]

_EXHAUSTIVE = 8


def check_set_function(
    F: SetFunction, *, n_trials: int = 30, tol: float = 1e-8, random_state: int | np.random.Generator = 0
) -> None:
    """Check everything that the package relies on for a set function.

    Up to 8 features, sets are enumerated; beyond, random ones are tried. The definitions are those of Bach (2013):

    - ``F([]) = 0``, submodularity, and ``is_monotone`` agrees with the values;
    - ``gains(order)`` sums to the values along the order, whole or partial;
    - the Lovasz extension is positively homogeneous, convex, equal to F on indicators, and is the support function of
      the base polytope, attained at ``base_vertex``, which lies in it;
    - for a monotone F: ``norm`` is a norm where every ``F([j]) > 0``, ``support_vertex`` lies in ``|P|(F)`` and attains
      it, ``|<s, theta>| <= dual_norm(s) norm(theta)``, ``dual_norm`` is ``max |s|(A) / F(A)``, ``norm_ball_vertex``
      attains it, ``contains`` agrees;
    - ``prox``: ``(v - x) / step`` is a subgradient of Omega at ``x``. It is ``f(|theta|)`` for a monotone F and
      f(theta) for one with ``F(V) = 0``; for others the prox is not checked.

    Parameters
    ----------
    F : SetFunction
        What is checked.
    n_trials : int, default=30
        Random points per property.
    tol : float, default=1e-8
        Allowed error, relative to the size of the values of F.
    random_state : int or numpy.random.Generator, default=0
        Source of the random points.

    Raises
    ------
    AssertionError
        A property fails; the text says which one and where.

    Examples
    --------
    >>> from dpsparse.set_functions import Cardinality
    >>> from dpsparse.testing import check_set_function
    >>> check_set_function(Cardinality(4))
    """
    if not isinstance(F, SetFunction):
        raise InvalidArgumentError(f"F must be a set function of dpsparse.set_functions, got {type(F).__name__}")
    if not 0.0 < number("tol", tol) < np.inf:
        raise InvalidArgumentError("tol must be positive and finite")
    generator = random_generator(random_state)
    _Checker(F, positive_integer("n_trials", n_trials), float(tol), generator).run()


class _Checker:
    def __init__(self, F: SetFunction, n_trials: int, tol: float, generator: np.random.Generator) -> None:
        self.F = F
        self.p = F.n_features
        self.n_trials = n_trials
        self.generator = generator
        self.sets = self._some_sets()
        self.values = {A: float(F(list(A))) for A in self.sets}
        self.scale = max(1.0, *(abs(value) for value in self.values.values()))
        self.tol = tol * self.scale

    def run(self) -> None:
        self.check_values()
        self.check_gains()
        self.check_extension()
        V = tuple(range(self.p))
        if self.F.is_monotone:
            if all(self.value((j,)) > 0.0 for j in range(self.p)):
                self.check_norm()
                self.check_dual()
                self.check_prox()
        elif abs(self.value(V)) <= self.tol:
            self.check_prox()

    def _some_sets(self) -> list[tuple[int, ...]]:
        """All sets where there are few, otherwise random ones with the empty and the whole one."""
        everything = range(self.p)
        if self.p <= _EXHAUSTIVE:
            return [A for size in range(self.p + 1) for A in combinations(everything, size)]
        found = {(), tuple(everything)}
        for _ in range(20 * self.n_trials):
            size = int(self.generator.integers(1, self.p))
            found.add(tuple(sorted(self.generator.choice(self.p, size, replace=False).tolist())))
        return sorted(found)

    def value(self, A: tuple[int, ...]) -> float:
        A = tuple(sorted(A))
        if A not in self.values:
            self.values[A] = float(self.F(list(A)))
        return self.values[A]

    def close(self, a: float, b: float, what: str) -> None:
        assert abs(a - b) <= self.tol * max(1.0, abs(a) / self.scale), f"{what}: {a!r} against {b!r}"

    def points(self) -> list[Vector]:
        """Random points, some with ties and zeros."""
        points = []
        for k in range(self.n_trials):
            w = self.generator.standard_normal(self.p)
            if k % 3 == 1:
                w = np.round(w)
            if k % 3 == 2:
                w[self.generator.random(self.p) < 0.5] = 0.0
            points.append(w)
        return points

    def check_values(self) -> None:
        F = self.F
        assert F([]) == 0.0, f"F of the empty set is {F([])!r}, not 0"
        mask = np.zeros(self.p, dtype=bool)
        mask[[0]] = True
        self.close(F(mask), self.value((0,)), "a mask and the indices that it stands for")
        lowest = 0.0
        for A in self.sets:
            outside = [j for j in range(self.p) if j not in A]
            if self.p > _EXHAUSTIVE and len(outside) > 2:
                outside = self.generator.choice(outside, 2, replace=False).tolist()
            for i in outside:
                lowest = min(lowest, self.value((*A, i)) - self.value(A))
            for i, j in combinations(outside, 2):
                alone, later = (
                    self.value((*A, i)) - self.value(A),
                    self.value((*A, i, j)) - self.value((*A, j)),
                )
                assert later <= alone + self.tol, (
                    f"not submodular: adding {i} gains {alone} at {list(A)} and {later} once {j} is in too"
                )
        if F.is_monotone:
            assert lowest >= -self.tol, f"is_monotone, but a gain is {lowest}"
        elif self.p <= _EXHAUSTIVE:
            assert lowest < 0.0, "not is_monotone, but no gain is negative"

    def check_gains(self) -> None:
        for k in range(self.n_trials):
            order = self.generator.permutation(self.p).tolist()
            order = order if k % 2 else order[: max(1, self.p // 2)]
            gains = self.F.gains(order)
            assert len(gains) == len(order), "one gain for each entry of the order"
            total = 0.0
            for size, gain in enumerate(gains, start=1):
                total += gain
                self.close(total, self.value(tuple(order[:size])), f"gains along {order[:size]} do not sum to F")

    def in_base(self, s: Vector) -> None:
        for A in self.sets:
            assert s[list(A)].sum() <= self.value(A) + self.tol, f"{s} is not in the base polytope: violated at {A}"
        self.close(float(s.sum()), self.value(tuple(range(self.p))), "s(V) of a base vertex is not F(V)")

    def check_extension(self) -> None:
        F, points = self.F, self.points()
        for A in self.sets[: 20 * self.n_trials]:
            indicator = np.zeros(self.p)
            indicator[list(A)] = 1.0
            self.close(F.lovasz(indicator), self.value(A), f"f at the indicator of {A} is not F")
        for w, other in zip(points, reversed(points), strict=True):
            size = 1.0 + float(np.abs(w).sum() + np.abs(other).sum())
            f, g = F.lovasz(w), F.lovasz(other)
            assert abs(F.lovasz(3.0 * w) - 3.0 * f) <= self.tol * size, f"f is not positively homogeneous at {w}"
            assert F.lovasz(w + other) <= f + g + self.tol * size, f"f is not convex between {w} and {other}"
            s = F.base_vertex(w)
            self.in_base(s)
            assert abs(w @ s - f) <= self.tol * size, f"base_vertex does not attain f at {w}"
            assert other @ s <= g + self.tol * size, f"f is not the support function of the base polytope at {other}"

    def check_norm(self) -> None:
        F, points = self.F, self.points()
        for theta, other in zip(points, reversed(points), strict=True):
            size = 1.0 + float(np.abs(theta).sum() + np.abs(other).sum())
            norm = F.norm(theta)
            assert abs(norm - F.lovasz(np.abs(theta))) <= self.tol * size, f"norm is not f(|theta|) at {theta}"
            assert (norm > 0.0) == bool(theta.any()), f"norm is {norm} at {theta}"
            assert abs(F.norm(-2.0 * theta) - 2.0 * norm) <= self.tol * size, f"norm is not homogeneous at {theta}"
            assert F.norm(theta + other) <= norm + F.norm(other) + self.tol * size, (
                f"the triangle inequality fails at {theta}, {other}"
            )
            s = F.support_vertex(theta)
            assert abs(theta @ s - norm) <= self.tol * size, f"support_vertex does not attain the norm at {theta}"
            for A in self.sets:
                assert np.abs(s[list(A)]).sum() <= self.value(A) + self.tol, f"{s} is not in |P|(F): violated at {A}"
            assert F.contains(s, tol=1e-6), f"contains refuses the vertex {s}"

    def check_dual(self) -> None:
        F, points = self.F, self.points()
        for s, theta in zip(points, reversed(points), strict=True):
            dual, size = F.dual_norm(s), 1.0 + float(np.abs(s).sum())
            ratios = [np.abs(s[list(A)]).sum() / self.value(A) for A in self.sets if A]
            if self.p <= _EXHAUSTIVE:
                assert abs(dual - max(ratios)) <= self.tol * size, f"dual_norm of {s} is {dual}, not {max(ratios)}"
            assert dual >= max(ratios) - self.tol * size, f"dual_norm of {s} is {dual}, below {max(ratios)}"
            norm = F.norm(theta)
            assert abs(s @ theta) <= dual * norm + self.tol * size * (1.0 + norm), f"<s, theta> at {s}, {theta}"
            if not s.any():
                continue
            x = F.norm_ball_vertex(s)
            assert F.norm(x) <= 1.0 + self.tol, f"norm_ball_vertex({s}) has norm {F.norm(x)}"
            assert abs(s @ x + dual) <= self.tol * size, f"norm_ball_vertex({s}) does not attain the dual norm"
            assert F.contains(s / dual, tol=1e-6), "contains refuses a point of the boundary"
            assert not F.contains(1.01 * s / dual, tol=1e-6), "contains accepts a point outside"

    def check_prox(self) -> None:
        F = self.F
        for k, v in enumerate(self.points()):
            step = float(10.0 ** self.generator.uniform(-2, 1)) / self.scale
            x = F.prox(v, step)
            u, size = (v - x) / step, 1.0 + float(np.abs(v).sum()) / step
            tol = 10.0 * self.tol * size
            if F.is_monotone:
                dual, omega = F.dual_norm(u), F.norm(x)
                assert dual <= 1.0 + tol, f"prox of {v}, step {step}: (v - x)/step has dual norm {dual}"
            else:
                for A in self.sets:
                    assert u[list(A)].sum() <= self.value(A) + tol, (
                        f"prox of {v}, step {step}: (v - x)/step is outside the base polytope at {A}"
                    )
                assert abs(u.sum()) <= tol, f"prox of {v}, step {step}: (v - x)/step does not sum to 0"
                omega = F.lovasz(x)
            assert abs(u @ x - omega) <= tol * (1.0 + float(np.abs(x).max())), (
                f"prox of {v}, step {step}: (v - x)/step is no subgradient at {x} (trial {k})"
            )
