"""Audits by a single run (Steinke, Nasr & Jagielski 2023): many fair secrets, guessed from one release.

Each record has a feature of its own and a label that a fair coin decides: one of two records under replace-one,
independent of all others. Who sees the model guesses the labels that it shows most clearly. If the release is (epsilon,
delta)-DP, so many right guesses have a p-value of at most that of theorem 5.2, and an epsilon is contradicted below
1e-6.
"""

import numpy as np
import pytest
from audits import LEVEL, one_run_bound, one_run_p_value
from catalogue import CATALOGUE, MECHANISMS

from dpsparse import NoisyNewton, NoisyProximalGradient, OutputPerturbation, SgdOutput

pytestmark = pytest.mark.attack

CANARIES = 400
GUESSES = 80
DELTA = 1e-12  # 1e-6 for each of 400 canaries would use up what is allowed to chance
CLASSIFIERS = [
    f"classifier: {name}" for name in MECHANISMS if not name.startswith("dual")
]  # whose norm is of 3 features
# Mechanisms whose released vector shows each feature by itself.
SHOWN = {
    "one noisy gradient step": NoisyProximalGradient(n_iter=1, alpha=0.0, ridge=0.01),
    "one noisy Newton step": NoisyNewton(n_iter=1),
    "output": OutputPerturbation(ridge=0.5),
    "sgd": SgdOutput(n_passes=1),
}


def guesses(seed, **arguments):
    """How many of the clearest guesses there are, and are right; the claimed epsilon and delta."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], CANARIES)
    name = arguments.pop("name", "classifier: output, gaussian")
    facts = {"random_state": seed, "fit_intercept": False, "delta": DELTA} | arguments
    model = CATALOGUE[name].make(**facts).fit(np.eye(CANARIES), y)
    coefficients = np.ravel(model.coef_)
    clearest = np.argsort(-np.abs(coefficients))[:GUESSES]
    clearest = clearest[coefficients[clearest] != 0]
    return len(clearest), int((np.sign(coefficients[clearest]) == y[clearest]).sum())


def test_p_values_are_those_of_fair_guesses():
    """Against randomised response itself, which attains epsilon: the p-value is below 1e-3 no more often than that."""
    epsilon, delta = 1.0, 0.0
    rng = np.random.default_rng(0)
    right = rng.binomial(GUESSES, 1 / (1 + np.exp(-epsilon)), 20_000)
    values = {v: one_run_p_value(CANARIES, GUESSES, v, epsilon, delta) for v in set(right.tolist())}
    p = np.array([values[v] for v in right.tolist()])
    for level in (1e-3, 1e-2, 0.1):
        assert (p <= level).mean() <= level + 5 * np.sqrt(level / len(p))
    assert one_run_p_value(CANARIES, GUESSES, GUESSES, epsilon, 1e-6) < 1e-3
    assert one_run_p_value(CANARIES, GUESSES, 0, epsilon, delta) == 1.0
    # Deltas add, in proportion to the number of canaries.
    assert one_run_p_value(CANARIES, GUESSES, GUESSES, 0.1, 1e-5) > one_run_p_value(CANARIES, GUESSES, GUESSES, 0.1, 0)


def test_bounds_are_where_p_values_are_the_level():
    bound = one_run_bound(CANARIES, GUESSES, GUESSES, 1e-9)
    assert bound > 1
    assert one_run_p_value(CANARIES, GUESSES, GUESSES, bound * 1.001, 1e-9) >= LEVEL
    assert one_run_p_value(CANARIES, GUESSES, GUESSES, bound * 0.999, 1e-9) < LEVEL
    assert one_run_bound(CANARIES, GUESSES, GUESSES // 2, 1e-9) == 0.0


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_no_run_contradicts_its_claim(name):
    for seed in range(2):
        made, right = guesses(seed, name=name, row_norm=None)
        assert one_run_bound(CANARIES, made, right, DELTA) <= 1.0


@pytest.mark.parametrize("name", SHOWN)
def test_honest_runs_of_what_is_shown(name):
    made, right = guesses(0, mechanism=SHOWN[name], row_norm=1.0)
    assert made == GUESSES
    assert one_run_bound(CANARIES, made, right, DELTA) <= 1.0


@pytest.mark.parametrize("name", SHOWN)
def test_a_run_with_hardly_any_noise_is_seen(name):
    """Spends an epsilon of 100, and claims 1."""
    made, right = guesses(0, mechanism=SHOWN[name], row_norm=1.0, epsilon=100.0)
    assert one_run_bound(CANARIES, made, right, DELTA) > 1.0
