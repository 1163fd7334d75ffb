"""Audits of every mechanism by many runs, and planted mistakes that they have to see.

Every audit is wrong with probability below 1e-6; seeds are fixed. `test_one_run` has audits by a single run.
"""

import numpy as np
import pytest
from audits import Curve, excess
from catalogue import CATALOGUE, MECHANISMS, PAIRS, P, targets_of

from dpsparse import (
    DualFrankWolfe,
    FrankWolfe,
    MirrorDescent,
    NoisyGradientFrankWolfe,
    NoisyNewton,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PenalisedFrankWolfe,
    PrivateSparseClassifier,
    SelectRefit,
    SgdOutput,
)
from dpsparse.testing._audit import released

pytestmark = pytest.mark.attack

RUNS = 400
# Few records, so that one of them is a large share of all; where a proof wants more of them, a few more.
SIZES = {"search": 8, "regressor: objective, gaussian": 40, "regressor: objective, gamma": 40}


def corner(kind, signs, p=P):
    """Records in one corner whose targets are as far apart as their signs."""
    return np.ones((len(signs), p)), targets_of(kind, 9.0 * np.asarray(signs, dtype=float))


def output(model):
    if hasattr(model, "ranges_"):
        return model.ranges_
    if hasattr(model, "best_estimator_"):
        return np.append(released(model.best_estimator_), model.best_index_)
    return released(model)


def audited(make, before, after, n_runs, **cheat):
    """Excess over the curve that an honest fit states, of fits that may cheat."""
    curve = Curve(make().fit(*before).certificate_)

    def release(data, seed):
        return output(make(random_state=seed, **cheat).fit(*data))

    return excess(release, (before, after), curve, n_runs)


@pytest.mark.parametrize("name", CATALOGUE)
def test_no_mechanism_breaks_its_curve(name):
    entry = CATALOGUE[name]
    n = SIZES.get(name, 2)
    before = corner(entry.targets, [1] * n)
    after = corner(entry.targets, [1] * (n - 1) + [-1])
    assert audited(entry.make, before, after, RUNS) <= 0


# --- planted mistakes ---

# With a hinge, whose slopes are at their bound, one step and a large ridge, one person's record moves what is released
# by nearly all that the event states. Audits of a Gaussian release see then what a factor of 2 changes.
TIGHT = {
    "noisy-gradient-frank-wolfe": NoisyGradientFrankWolfe(n_iter=1, average_gradients=False),
    "noisy-proximal-gradient": NoisyProximalGradient(n_iter=1),
    "dual by noisy iterates": DualFrankWolfe("noisy-iterates", n_iter=1, alpha=0.05, ridge=20.0),
    "output, gaussian": OutputPerturbation(ridge=20.0),
    "early stopping, gaussian": OutputPerturbation(mode="early-stopping", n_iter=1),
}
# The others show a part of what they may: second moments that do not change, choices between many candidates, noise in
# several directions, bounds that no data attain. There it takes the noise of `ENOUGH` times the budget.
LOOSE = {
    "frank-wolfe": FrankWolfe(n_iter=1),
    "penalised-frank-wolfe": PenalisedFrankWolfe(alpha=0.01, n_iter=1),
    "mirror-descent": MirrorDescent(n_iter=1),
    "noisy-newton": NoisyNewton(n_iter=1),
    "dual by selection": DualFrankWolfe("selection", n_iter=1, alpha=0.05, ridge=20.0),
    **{f"output, {noise}": OutputPerturbation(ridge=20.0, noise=noise) for noise in ("gamma", "laplace")},
    **{
        f"early stopping, {noise}": OutputPerturbation(mode="early-stopping", n_iter=1, noise=noise)
        for noise in ("gamma", "laplace")
    },
    **{f"objective, {noise}": ObjectivePerturbation(ridge=20.0, noise=noise) for noise in ("gaussian", "gamma")},
    **{f"sgd, {noise}": SgdOutput(n_passes=1, noise=noise) for noise in ("gaussian", "gamma", "laplace")},
    "select-refit": SelectRefit(n_selected=1),
    "select-refit by Newton steps": SelectRefit(n_selected=1, refit="noisy-newton"),
}
ENOUGH = 24.0


def subject(mechanism, epsilon):
    """A maker of classifiers under a hinge that claim this epsilon."""
    norm = PAIRS if isinstance(mechanism, DualFrankWolfe) else {}
    facts = {"mechanism": mechanism, "loss": "hinge", "epsilon": epsilon, "delta": 1e-6, **norm}
    return lambda **cheat: PrivateSparseClassifier(**{**facts, "classes": (-1, 1), "bounds": (-1, 1), **cheat})


def pair_of(signs):
    return corner("classes", [1] * len(signs)), corner("classes", signs)


def epsilon_of_less_noise(make, factor):
    """The budget whose plan has `factor` times less noise."""
    claimed = make().epsilon
    scale = lambda epsilon: max(make(epsilon=epsilon).plan(2, P).noise_scales)  # noqa: E731
    wanted, low, high = scale(claimed) / factor, claimed, 30.0
    assert scale(high) < wanted
    for _ in range(30):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if scale(middle) > wanted else (low, middle)
    return float(high)


def test_every_mechanism_has_planted_mistakes():
    # By noise and events.
    same = {
        "lagging frank-wolfe": "frank-wolfe",
        "frank-wolfe, constant time": "frank-wolfe",
        "auto": "noisy-newton",
    }
    assert {same.get(name, name) for name in MECHANISMS} == {*TIGHT, *LOOSE}


@pytest.mark.parametrize("name", TIGHT)
def test_half_of_the_noise_is_seen(name):
    make = subject(TIGHT[name], 4.0)
    assert audited(make, *pair_of([1, -1]), 2400, epsilon=epsilon_of_less_noise(make, 2.0)) > 0


@pytest.mark.parametrize("name", [*TIGHT, "frank-wolfe"])
def test_twice_the_sensitivity_is_seen(name):
    """A person who owns two records, where one is claimed."""
    make = subject((TIGHT | LOOSE)[name], 4.0)
    assert audited(make, *pair_of([-1, -1]), 2400) > 0


@pytest.mark.parametrize("name", LOOSE)
def test_hardly_any_noise_is_seen(name):
    make = subject(LOOSE[name], 1.0)
    assert audited(make, *pair_of([1, -1]), 1200, epsilon=ENOUGH) > 0
