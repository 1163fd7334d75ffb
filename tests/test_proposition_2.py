"""Kumar & Deisenroth 2019, Proposition 2: objective perturbation is the dual over K + b/n."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dpsparse.set_functions import Cardinality, ConcaveCardinality, GroupCover, Tree

N, P, ALPHA, RIDGE = 40, 4, 0.05, 0.1
NORMS = {
    "l1": Cardinality(P),
    "sorted l1": ConcaveCardinality([1.0, 1.6, 2.0, 2.2]),
    "overlapping groups": GroupCover([[0, 1], [1, 2, 3]], n_features=P),
    "tree": Tree([[0, 1, 2, 3], [0, 1], [2], [3]], n_features=P),
}
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (N, P))
Y = np.where(X @ [2.0, -1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=N) > 0, 1.0, -1.0)
B = 4.0 * RNG.normal(size=P)


def risk(theta):
    """Mean logistic loss + (RIDGE/2)|theta|^2 and its gradient."""
    margins = Y * (X @ theta)
    slopes = -Y / (1 + np.exp(margins)) / N
    return np.logaddexp(0, -margins).mean() + RIDGE / 2 * theta @ theta, X.T @ slopes + RIDGE * theta


def theta_of(s):
    """argmin of the risk + <s, theta>, which equation (13) recovers from s, and the dual objective there."""

    def tilted(theta):
        value, gradient = risk(theta)
        return value + s @ theta, gradient + s

    found = minimize(tilted, np.zeros(P), jac=True, method="BFGS", options={"gtol": 1e-11})
    return found.x, found.fun


def perturbed_minimiser(F, b):
    """Proximal gradient descent on the risk + ALPHA Omega + <b, theta>/n, until it stands still."""
    theta = np.zeros(P)
    step = 1 / (RIDGE + 0.25 * np.linalg.norm(X, 2) ** 2 / N)
    for _ in range(20_000):
        old = theta
        theta = F.prox(theta - step * (risk(theta)[1] + b / N), step * ALPHA)
        if np.abs(theta - old).max() < 1e-14:
            break
    return theta


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("b", [np.zeros(P), B], ids=["unperturbed", "perturbed"])
def test_the_dual_over_the_translated_polytope_has_the_same_value_and_gives_theta_back(name, b):
    F = NORMS[name]
    theta = perturbed_minimiser(F, b)
    primal = risk(theta)[0] + ALPHA * F.norm(theta) + b @ theta / N
    s = -risk(theta)[1]
    assert F.contains((s - b / N) / ALPHA, tol=1e-8)
    recovered, dual = theta_of(s)
    assert recovered == pytest.approx(theta, abs=1e-6)
    assert dual == pytest.approx(primal, abs=1e-9)
    # No other point of K + b/n has a larger dual objective: vertices, and points between them and s.
    for direction in np.random.default_rng(1).normal(size=(20, P)):
        vertex = ALPHA * F.support_vertex(direction) + b / N
        for weight in (1.0, 0.3, 0.01):
            assert theta_of(weight * vertex + (1 - weight) * s)[1] <= primal + 1e-9


@pytest.mark.parametrize("name", NORMS)
def test_adding_the_noise_to_the_unperturbed_dual_solution_is_another_mechanism(name):
    """The literal reading: s + b/n with s the dual solution over K is no solution over K + b/n."""
    F = NORMS[name]
    s = -risk(perturbed_minimiser(F, np.zeros(P)))[1]
    theta = perturbed_minimiser(F, B)
    other, dual = theta_of(s + B / N)
    assert np.abs(other - theta).max() > 0.05
    primal = risk(theta)[0] + ALPHA * F.norm(theta) + B @ theta / N
    assert dual < primal - 1e-4
