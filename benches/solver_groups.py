"""Exact fits with groups, positive coefficients and elastic nets beside skglm, celer, scikit-learn and spams.

Each side is timed until its relative duality gap is at most 1e-4, 1e-6 and 1e-8: ours by the gap that it certifies,
peers by one that is computed here from the coefficients, the dual norm of the sparse group lasso by bisection. Seconds
are the least of those of a falling sequence of tolerances whose solution attains the gap; peers are compiled before.
Seconds of the processor, so that a busy machine moves them little. Claim: no installed peer is faster to 1e-6.

Run: ``python benches/solver_groups.py [--quick] [part of a problem's name ...]``; one thread unless RAYON_NUM_THREADS
is set. No data beside what it draws.
"""

import os
import sys
import time
import warnings

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", os.environ["RAYON_NUM_THREADS"])

import numpy as np
from sklearn.linear_model import ElasticNet, Lasso

from _timing import QUICK, headline, row
from dpsparse import SparseClassifier, SparseRegressor
from dpsparse.norms import GroupLasso

TOLERANCES = 10.0 ** -np.arange(2.0, 13.0)
GAPS = (1e-4, 1e-6, 1e-8)
SIZE = 10


def drawn(n, p, correlation=0.6, seed=0):
    """Features with an autoregressive correlation; three groups in a hundred matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    theta = np.zeros(p)
    for g in rng.choice(p // SIZE, max(p // SIZE // 33, 1), replace=False):
        theta[g * SIZE : (g + 1) * SIZE] = rng.normal(size=SIZE)
    z = X @ theta
    return np.asfortranarray(X), z + 0.3 * z.std() * rng.normal(size=n)


class Problem:
    """min mean loss + alpha (sum_g w |theta_g|_2 + l1 |theta|_1) + (ridge/2)|theta|^2, theta >= 0 where positive."""

    def __init__(self, shape, divisor, *, group=1.0, l1=0.0, ratio=1.0, positive=False, logistic=False):
        self.X, self.y = drawn(*shape)
        if logistic:
            self.y = np.where(self.y > 0, 1.0, -1.0)
        self.group, self.l1, self.positive, self.logistic = group, l1, positive, logistic
        n, p = self.X.shape
        self.groups = [list(range(j, j + SIZE)) for j in range(0, p, SIZE)]
        slope = -self.y / 2 if logistic else -self.y
        largest = self.level(-self.X.T @ slope / n)
        self.alpha, self.ratio = largest / divisor / ratio, ratio
        self.ridge = self.alpha * (1 - ratio)

    def level(self, s):
        """The dual norm, to the last digits by bisection."""
        s = np.maximum(s, 0.0) if self.positive else np.abs(s)
        if self.group == 0.0:
            return s.max() / self.l1
        parts = s.reshape(-1, SIZE)
        low, high = np.zeros(len(parts)), np.linalg.norm(parts, axis=1) / self.group
        for _ in range(60 if self.l1 > 0 else 0):
            middle = (low + high) / 2
            above = np.linalg.norm(np.maximum(parts - self.l1 * middle[:, None], 0.0), axis=1) > self.group * middle
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return high.max()

    def gap(self, theta):
        """The duality gap over the objective at 0."""
        n, z = len(self.y), self.X @ theta
        alpha = self.alpha * self.ratio
        omega = self.group * np.linalg.norm(theta.reshape(-1, SIZE), axis=1).sum() + self.l1 * np.abs(theta).sum()
        if self.positive and theta.min() < 0.0:
            return np.inf
        if self.logistic:
            risk, slope, start = np.logaddexp(0.0, -self.y * z).mean(), -self.y / (1 + np.exp(self.y * z)), np.log(2)
        else:
            risk, slope, start = ((z - self.y) ** 2).mean() / 2, z - self.y, (self.y**2).mean() / 2
        v = -self.X.T @ slope / n
        if self.ridge > 0.0:  # a Lasso here
            penalty, scale = (np.maximum(np.abs(v) - alpha, 0.0) ** 2).sum() / (2 * self.ridge), 1.0
        else:
            penalty, scale = 0.0, min(1.0, alpha / self.level(v))
        a = scale * slope
        if self.logistic:
            m = np.clip(-self.y * a, 1e-300, 1 - 1e-16)
            conjugate = (m * np.log(m) + (1 - m) * np.log1p(-m)).mean()
        else:
            conjugate = (a * a / 2 + a * self.y).mean()
        primal = risk + alpha * omega + 0.5 * self.ridge * theta @ theta
        return (primal + conjugate + penalty) / start

    def ours(self, tol):
        Model = SparseClassifier if self.logistic else SparseRegressor
        norm = "l1" if self.group == 0.0 else GroupLasso(self.groups, np.full(len(self.groups), self.group), self.l1)
        options = {"positive": True} if self.positive else {}
        options["l1_ratio"] = None if self.ratio == 1.0 else self.ratio
        model = Model(norm=norm, alpha=self.alpha, fit_intercept=False, tol=tol, **options).fit(self.X, self.y)
        self.certified = model.duality_gap_ / (np.log(2) if self.logistic else (self.y**2).mean() / 2)
        return np.ravel(model.coef_)

    def peers(self):
        X, y, alpha, n = self.X, self.y, self.alpha, len(self.y)
        plain = {"fit_intercept": False, "positive": self.positive}
        if self.group == 0.0 and self.ratio == 1.0:
            yield "scikit-learn", lambda tol: Lasso(alpha=alpha, tol=tol, max_iter=100_000, **plain).fit(X, y).coef_
        if self.group == 0.0 and self.ratio < 1.0:
            options = {"alpha": alpha, "l1_ratio": self.ratio, "fit_intercept": False}
            yield "scikit-learn", lambda tol: ElasticNet(tol=tol, max_iter=100_000, **options).fit(X, y).coef_
        try:
            import celer

            if self.group == 0.0 and self.ratio == 1.0:
                yield "celer", lambda tol: celer.Lasso(alpha=alpha, tol=tol, **plain).fit(X, y).coef_
            elif self.group == 0.0:
                yield "celer", lambda tol: celer.ElasticNet(tol=tol, **options).fit(X, y).coef_
            elif self.l1 == 0.0 and not self.positive and not self.logistic:
                groups = {"groups": SIZE, "alpha": alpha, "fit_intercept": False}
                yield "celer", lambda tol: celer.GroupLasso(tol=tol, **groups).fit(X, y).coef_
        except ImportError:
            pass
        try:
            import skglm
            from skglm.datafits import LogisticGroup, QuadraticGroup
            from skglm.penalties import WeightedGroupL2, WeightedL1GroupL2
            from skglm.solvers import GroupBCD, GroupProxNewton
            from skglm.utils.data import grp_converter

            if self.group == 0.0 and self.ratio == 1.0:
                yield "skglm", lambda tol: skglm.Lasso(alpha=alpha, tol=tol, **plain).fit(X, y).coef_
            elif self.group == 0.0:
                yield "skglm", lambda tol: skglm.ElasticNet(tol=tol, **options).fit(X, y).coef_
            else:
                indices, ends = grp_converter(SIZE, X.shape[1])
                weights = np.full(len(self.groups), self.group)
                if self.l1 > 0.0:
                    penalty = WeightedL1GroupL2(alpha, weights, np.full(X.shape[1], self.l1), ends, indices)
                else:
                    penalty = WeightedGroupL2(alpha, weights, ends, indices, positive=self.positive)
                options = {"fit_intercept": False, "max_iter": 200}
                if self.logistic:
                    datafit, solver = LogisticGroup(ends, indices), GroupProxNewton
                else:
                    datafit, solver = QuadraticGroup(ends, indices), GroupBCD
                    options["ws_strategy"] = "fixpoint" if self.l1 > 0.0 else "subdiff"

                def fit(tol):
                    model = skglm.GeneralizedLinearEstimator(datafit, penalty, solver(tol=tol, **options))
                    return np.ravel(model.fit(X, y).coef_)

                yield "skglm", fit
        except ImportError:
            pass
        try:
            import spams

            if self.group > 0.0 and not self.logistic:
                start, target = np.zeros((X.shape[1], 1), order="F"), np.asfortranarray(y[:, None])
                kind = "sparse-group-lasso-l2" if self.l1 > 0.0 else "group-lasso-l2"
                groups = {"loss": "square", "regul": kind, "lambda1": n * alpha * self.group, "size_group": SIZE}
                groups |= {"lambda2": n * alpha * self.l1, "pos": self.positive}
                yield (
                    "spams",
                    lambda tol: spams.fistaFlat(
                        target, X, start, False, numThreads=1, tol=tol, it0=2, max_it=10_000, **groups
                    ).ravel(),
                )
        except ImportError:
            pass


SMALL = (200, 500)
WIDE, TALL = (SMALL, SMALL) if QUICK else ((500, 5000), (5000, 500))
PROBLEMS = {
    "group_wide_l10": lambda: Problem(WIDE, 10),
    "group_wide_l100": lambda: Problem(WIDE, 100),
    "group_tall_l100": lambda: Problem(TALL, 100),
    "sparse_group_wide_l10": lambda: Problem(WIDE, 10, group=1.0, l1=0.5),
    "sparse_group_tall_l100": lambda: Problem(TALL, 100, group=1.0, l1=0.5),
    "positive_group_wide_l10": lambda: Problem(WIDE, 10, positive=True),
    "logistic_group_wide_l10": lambda: Problem(WIDE, 10, logistic=True),
    "positive_lasso_wide_l10": lambda: Problem(WIDE, 10, group=0.0, l1=1.0, positive=True),
    "positive_lasso_tall_l100": lambda: Problem(TALL, 100, group=0.0, l1=1.0, positive=True),
    "elastic_net_wide_l10": lambda: Problem(WIDE, 10, group=0.0, l1=1.0, ratio=0.5),
}


def seconds_to_gaps(problem, fit, certified=False):
    """Least seconds of a run whose solution attains each gap; ours by what it certifies."""
    reached = dict.fromkeys(GAPS, np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for tol in TOLERANCES:
            for _ in range(1 if QUICK else 2):
                start = time.process_time()
                theta = fit(tol)
                taken = time.process_time() - start
                gap = problem.gap(theta)
                if gap < -1e-13:
                    raise AssertionError(f"a gap of {gap}: no bound")
                for target in GAPS:
                    if (problem.certified if certified else gap) <= target:
                        reached[target] = min(reached[target], taken)
            if reached[GAPS[-1]] < np.inf or taken > 5.0:
                break
    return reached


if __name__ == "__main__":
    headline("Exact fits of groups, positive coefficients and elastic nets to a relative duality gap")
    chosen = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    for name, make in PROBLEMS.items():
        if chosen and not any(part in name for part in chosen):
            continue
        problem = make()
        mine = seconds_to_gaps(problem, problem.ours, certified=True)
        print(
            f"  {name}: certified {problem.certified:.1e}, computed {problem.gap(problem.ours(1e-8)):.1e} at tol 1e-8"
        )
        theirs = {}
        for peer, fit in problem.peers():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit(1e-1)  # compiles
            theirs[peer] = seconds_to_gaps(problem, fit)
        for gap in GAPS:
            known = {peer: taken[gap] for peer, taken in theirs.items() if taken[gap] < np.inf}
            others = ", ".join(f"{peer} {taken:.3f}" for peer, taken in sorted(known.items()))
            if not known:
                print(f"  {name:26s} {gap:.0e} ours {mine[gap]:.3f} s, no peer")
                continue
            fastest = min(known, key=known.get)
            row(f"{name} {gap:.0e} ({fastest})", mine[gap], known[fastest], 1.0 if gap == 1e-6 else None)
            if len(known) > 1:
                print(f"    seconds: {others}")
