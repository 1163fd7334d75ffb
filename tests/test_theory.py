"""Predictions against their definitions, by brute force, and against what plans report."""

import math

import numpy as np
import pytest

from dpsparse import (
    InvalidArgumentError,
    NoisyGradientFrankWolfe,
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    theory,
)
from dpsparse.privacy import gaussian_sigma, rho_from_epsilon
from dpsparse.set_functions import Cardinality, ConcaveCardinality, GroupCover


def test_widths():
    assert theory.gaussian_width(Cardinality(7)).value == pytest.approx(7 * math.sqrt(2 / math.pi))
    draws = np.abs(np.random.default_rng(0).normal(size=(40_000, 50)))
    maximum = theory.gaussian_width(ConcaveCardinality([1.0] * 50))
    assert maximum.value == pytest.approx(draws.max(axis=1).mean(), rel=0.01)
    groups = [[0, 1, 2], [2, 3], [4]]
    cover = theory.gaussian_width(GroupCover(groups, n_features=5), n_samples=40_000)
    expected = sum(draws[:, group].max(axis=1).mean() for group in groups)
    assert cover.value == pytest.approx(expected, rel=0.02)


def test_suggested_alpha_is_kumar_and_deisenroths_lambda_over_n():
    n, p = 10_000, 20
    width = p * math.sqrt(2 / math.pi)
    lam = 0.5 * 3.0 * math.sqrt(n) / width
    alpha = theory.suggested_alpha(Cardinality(p), n_samples=n, row_norm=3.0, lipschitz=0.5)
    assert alpha == pytest.approx(lam / n)
    assert theory.suggested_alpha(width, n_samples=n, row_norm=3.0, lipschitz=0.5) == pytest.approx(alpha)


def test_printed_iterations_balance_the_two_terms_of_their_bounds():
    curvature, scale, n, epsilon = 3.0, 0.7, 12_345, 0.4
    steps = theory.polytope_iterations(curvature, scale, n_samples=n, epsilon=epsilon)
    assert curvature / steps == pytest.approx(scale * math.sqrt(steps) / (n * epsilon))
    assert theory.width_iterations(curvature, scale, n_samples=n, epsilon=epsilon) == steps
    diameter = math.sqrt(curvature)
    dual = theory.theorem_4_iterations(n, epsilon, lipschitz=1.0, diameter=diameter, width=scale)
    assert dual == round(steps)


def test_the_least_excess_falls_like_n_to_the_two_thirds():
    def least(n):
        steps = np.unique(np.geomspace(1, 1e6, 4000).astype(int))
        return min(theory.selection_excess_risk(1.0, int(t), math.log(200), 2 / n, 0.02) for t in steps)

    slope = math.log(least(10**7) / least(10**5)) / math.log(100)
    assert slope == pytest.approx(-2 / 3, abs=0.02)


def test_frank_wolfe_plans_report_the_theorems_with_their_constants():
    n, p, radius = 5000, 30, 10.0
    plan = PrivateSparseClassifier(epsilon=1.0, delta=1e-6, radius=radius, fit_intercept=False, bounds=(-1, 1)).plan(
        n, p
    )
    rho = rho_from_epsilon(1.0, 1e-6)

    def excess(steps):
        # Sensitivity 2 L radius/n with L = 1; curvature 0.022 radius^2, tuned on the open sets.
        return theory.selection_excess_risk(0.022 * radius**2, steps, math.log(2 * p), 2 * radius / n, rho)

    assert plan.predicted_excess_risk == pytest.approx(excess(plan.n_iter), rel=1e-3)
    around = range(max(1, plan.n_iter - 3), plan.n_iter + 4)
    assert min(around, key=excess) == plan.n_iter


def test_noisy_gradient_frank_wolfe_plans_by_the_width_of_the_ball():
    mechanism = NoisyGradientFrankWolfe(n_iter=25, average_gradients=False)
    model = PrivateSparseClassifier(delta=1e-6, radius=4.0, mechanism=mechanism, fit_intercept=False, bounds=(-1, 1))
    plan = model.plan(5000, 40)
    noise = plan.noise_scales[0]
    # The l1 ball's width: radius E max |b_i|; the plan takes it from 16 public draws.
    width = 4.0 * theory.gaussian_width(ConcaveCardinality([1.0] * 40)).value
    expected = theory.noisy_gradient_excess_risk(0.022 * 16, 25, width, noise)
    assert plan.predicted_excess_risk == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("mechanism", [OutputPerturbation, ObjectivePerturbation])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_default_ridges_are_where_the_prediction_is_least(mechanism, epsilon):
    def predicted(ridge):
        model = PrivateSparseClassifier(epsilon=epsilon, delta=1e-6, mechanism=mechanism(ridge=ridge), bounds=(-1, 1))
        return model.plan(20_000, 50).predicted_excess_risk

    plan = PrivateSparseClassifier(epsilon=epsilon, delta=1e-6, mechanism=mechanism(), bounds=(-1, 1)).plan(20_000, 50)
    ridge = float(plan.mechanism.split("ridge ")[1].split()[0].rstrip(","))
    assert plan.predicted_excess_risk <= 1.02 * min(predicted(ridge * factor) for factor in (0.6, 0.8, 1.25, 1.7))


def test_output_perturbation_reports_the_ridge_prediction():
    n, p, ridge = 20_000, 50, 0.01
    model = PrivateSparseClassifier(
        delta=1e-6, mechanism=OutputPerturbation(ridge=ridge), fit_intercept=False, row_norm=2.0, bounds=(-1, 1)
    )
    output = gaussian_sigma(2 * 2.0 / (n * ridge), 1.0, 1e-6)
    expected = theory.ridge_excess_risk(n_columns=p, distance=2.9, ridge=ridge, trace=0.088 * 0.25 * 4.0, output=output)
    assert model.plan(n, p).predicted_excess_risk == pytest.approx(expected, rel=0.01)


def test_the_squared_loss_gets_a_ridge_that_bounds_its_residuals():
    plan = PrivateSparseRegressor(delta=1e-6, mechanism=OutputPerturbation(), y_bounds=(0, 1), bounds=(-1, 1)).plan(
        20_000, 20
    )
    ridge = float(plan.mechanism.split("ridge ")[1].split()[0].rstrip(","))
    assert 0.01 < ridge < 10
    assert plan.predicted_excess_risk < 2


def test_ridge_excess_is_that_of_a_quadratic():
    rng = np.random.default_rng(3)
    p, ridge, tilt, output, curvature = 6, 0.3, 0.2, 0.1, 0.7
    target = rng.normal(size=p)
    # Mean loss (curvature/2)|theta - target|^2 + a ridge, noise on its gradient and on the released point.
    noise = tilt * rng.normal(size=(200_000, p))
    released = (curvature * target - noise) / (curvature + ridge) + output * rng.normal(size=(200_000, p))
    penalised = 0.5 * curvature * ((released - target) ** 2).sum(1) + 0.5 * ridge * (released**2).sum(1)
    predicted = theory.ridge_excess_risk(
        n_columns=p,
        distance=float(np.linalg.norm(target)),
        ridge=ridge,
        trace=p * curvature,
        floor=curvature,
        tilt=tilt,
        output=output,
    )
    best = curvature * target / (curvature + ridge)
    least = 0.5 * curvature * ((best - target) ** 2).sum() + 0.5 * ridge * (best**2).sum()
    bias = 0.5 * ridge * (target**2).sum()
    assert penalised.mean() - least == pytest.approx(predicted - bias, rel=0.02)
    assert least <= bias


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: theory.suggested_alpha(0.0, n_samples=10, row_norm=1.0), "width"),
        (lambda: theory.suggested_alpha(1.0, n_samples=0, row_norm=1.0), "n_samples"),
        (lambda: theory.suggested_alpha(1.0, n_samples=10, row_norm=-1.0), "row_norm"),
        (lambda: theory.polytope_iterations(math.nan, 1.0, n_samples=10, epsilon=1.0), "curvature"),
        (lambda: theory.width_iterations(1.0, math.inf, n_samples=10, epsilon=1.0), "scale"),
        (lambda: theory.polytope_iterations("1", 1.0, n_samples=10, epsilon=1.0), "curvature"),
        (lambda: theory.selection_excess_risk(1.0, 1, -1.0, 1.0, 1.0), "log_candidates"),
        (lambda: theory.noisy_gradient_excess_risk(1.0, 2.5, 1.0, 1.0), "n_iter"),
        (lambda: theory.ridge_excess_risk(n_columns=1, trace=1.0, distance=1.0, ridge=0.0), "ridge"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(InvalidArgumentError, match=f"^{name} "):
        call()
