"""The accounting against 50-digit references, figures of zCDP, and dp-accounting.

"Round against ourselves": ours is never below the truth, and above it by at most a relative 1e-8.
"""

import copy
import math
import pickle
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import dpsparse
from dpsparse import privacy
from dpsparse.privacy import (
    Accountant,
    DiscreteGaussianEvent,
    ExponentialEvent,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
    PureEvent,
    ZeroConcentratedEvent,
    calibrate,
    epsilon_from_rho,
    gaussian_sigma,
    rho_from_epsilon,
)
from reference import accounting as reference

EVENTS = [
    GaussianEvent(1.0, 2.0),
    DiscreteGaussianEvent(1.0, 2.0),
    ExponentialEvent(0.1),
    PureEvent(0.25),
    LaplaceEvent(1.0, 4.0),
    ZeroConcentratedEvent(0.01),
    ObjectivePerturbationEvent(1.0, 5.0, 0.1),
    ObjectivePerturbationEvent(1.0, 5.0, 0.0, "add-remove"),
    FailureEvent(1e-9),
]

logs = lambda low, high: st.floats(math.log(low), math.log(high)).map(math.exp)  # noqa: E731


def above(ours, truth, slack=1e-8):
    """Never below the truth, hardly above it."""
    assert mpf(ours) >= truth, (ours, truth)
    assert mpf(ours) <= truth * (1 + mpf(slack)), (ours, truth)


def of(*events):
    accountant = Accountant()
    for event in events:
        accountant.add(*event) if isinstance(event, tuple) else accountant.add(event)
    return accountant


# The exact Gaussian curve


@given(epsilon=st.floats(0.0, 20.0), ratio=logs(1e-4, 20.0))
def test_gaussian_delta(epsilon, ratio):
    truth = reference.gaussian_delta(epsilon, mpf(1.0) / mpf(1.0 / ratio))
    ours = of(GaussianEvent(1.0, 1.0 / ratio)).delta(epsilon)
    assert mpf(ours) >= truth
    if truth > 1e-290:
        above(ours, truth)


@given(log_delta=st.floats(-60.0, -0.5), ratio=logs(1e-4, 20.0))
def test_gaussian_epsilon(log_delta, ratio):
    delta = math.exp(log_delta)
    truth = reference.gaussian_epsilon(delta, mpf(1.0) / mpf(1.0 / ratio))
    ours = of(GaussianEvent(1.0, 1.0 / ratio)).epsilon(delta)
    assert mpf(ours) >= truth
    assert mpf(ours) <= truth * (1 + mpf("1e-8")) + mpf(ratio) * mpf("1e-9")


@pytest.mark.parametrize("ratio", [17.0, 26.3137, 29.0, 29.9])
@pytest.mark.parametrize("epsilon", [590.0, 601.0, 642.2, 665.827, 700.0, 709.7, 710.0, 750.0, 1000.0])
def test_noise_beside_a_pure_event_where_exponentials_overflow(ratio, epsilon):
    """e^epsilon is infinite from 709.8 on, and the tail beside it next to the smallest float."""
    ours = of(GaussianEvent(ratio, 1.0), PureEvent(1e-3)).delta(epsilon)
    small = mpf(1e-3)
    likely = 1 / (1 + mp.exp(-small))
    truth = likely * reference.gaussian_delta(mpf(epsilon) - small, mpf(ratio))
    truth += (1 - likely) * reference.gaussian_delta(mpf(epsilon) + small, mpf(ratio))
    assert mpf(ours) >= truth
    if truth > mpf("1e-200"):  # far below, other bounds of the accountant take over
        above(ours, truth, 1e-6)
    assert mpf(of(GaussianEvent(ratio, 1.0), ExponentialEvent(1e-3)).delta(epsilon)) >= reference.gaussian_delta(
        epsilon, mpf(ratio)
    )


def test_gaussian_at_zero():
    above(of(GaussianEvent(1e-9, 1.0)).delta(0.0), reference.gaussian_delta(0, mpf(1e-9)))
    assert of(GaussianEvent(1.0, 1.0)).epsilon(0.5) == 0.0


# Renyi curves


@given(epsilon0=logs(1e-3, 20.0), excess=logs(1e-3, 1e6))
def test_bounded_range_renyi(epsilon0, excess):
    order = 1.0 + excess
    above(ExponentialEvent(epsilon0).renyi(order), reference.bounded_range(epsilon0, order), 1e-9)


@given(epsilon0=logs(1e-12, 1e-3), excess=logs(1e-6, 1e9))
def test_bounded_range_renyi_tiny(epsilon0, excess):
    order = 1.0 + excess
    ours = ExponentialEvent(epsilon0).renyi(order)
    assert mpf(ours) >= reference.bounded_range(epsilon0, order)
    assert ours <= order * epsilon0**2 / 8 * (1 + 1e-14)


@settings(max_examples=15)
@given(epsilon0=logs(1e-2, 20.0), excess=logs(1e-2, 1e3))
def test_no_point_of_a_grid_exceeds_the_maximiser(epsilon0, excess):
    order = 1.0 + excess
    top = reference.bounded_range(epsilon0, order)
    grid = [reference.bounded_range_at(mpf(epsilon0) * i / 500, epsilon0, order) for i in range(1, 500)]
    assert max(grid) <= top
    assert mpf(ExponentialEvent(epsilon0).renyi(order)) >= max(grid)


@given(epsilon=logs(1e-4, 50.0), excess=logs(1e-4, 1e5))
def test_pure_renyi(epsilon, excess):
    order = 1.0 + excess
    truth = reference.pure(epsilon, order)
    above(PureEvent(epsilon).renyi(order), min(truth, mpf(epsilon)), 1e-9)
    assert mpf(PureEvent(epsilon).renyi(order)) <= mpf(of(PureEvent(epsilon)).rho()) * mpf(order) * (1 + mpf("1e-11"))
    assert truth >= reference.continuous_laplace_renyi(epsilon, order)


@settings(max_examples=15)
@given(sigma=logs(0.5, 50.0), kl=st.floats(0.0, 1.0), excess=logs(1e-2, 100.0))
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_objective_perturbation_renyi(adjacency, sigma, kl, excess):
    ours = ObjectivePerturbationEvent(1.0, sigma, kl, adjacency).renyi(1.0 + excess)
    above(ours, reference.objective_renyi(1.0 + excess, 1.0, sigma, kl, adjacency))


@pytest.mark.parametrize(
    ("event", "truth"),
    [
        (GaussianEvent(3.0, 2.0), mpf(9) / 8),
        (DiscreteGaussianEvent(3.0, 2.0), mpf(9) / 8),
        (ZeroConcentratedEvent(0.25), mpf("0.25")),
        (PureEvent(0.7), reference.randomised_response_kl(0.7)),
        (LaplaceEvent(0.7, 1.0), reference.randomised_response_kl(0.7)),
        (ExponentialEvent(0.7), reference.bounded_range_kl(0.7)),
        (ExponentialEvent(30.0), reference.bounded_range_kl(30.0)),
        (ObjectivePerturbationEvent(1.0, 4.0, 0.1), reference.objective_kl(1.0, 4.0, 0.1, "replace-one")),
        (
            ObjectivePerturbationEvent(1.0, 4.0, 0.1, "add-remove"),
            reference.objective_kl(1.0, 4.0, 0.1, "add-remove"),
        ),
        (FailureEvent(0.1), mpf(0)),
    ],
    ids=repr,
)
def test_order_one_is_the_kullback_leibler_divergence(event, truth):
    above(event.renyi(1.0), truth, 1e-11)
    assert event.renyi(1.0 + 1e-9) == pytest.approx(event.renyi(1.0), rel=1e-7)
    assert event.renyi(math.nextafter(1.0, 0.0)) == math.inf


# Conversion and composition


@pytest.mark.parametrize("rho", [1e-12, 1e-6, 1e-3, 0.1, 1.0, 5.0, 8.0, 11.0, 13.0, 14.5, 40.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.1, 1.0, 3.0])
def test_delta_is_rounded_up_everywhere(rho, epsilon):
    """Near delta 1 the best order is near 1, where 1 - 1/order must not lose its digits."""
    ours, truth = of(ZeroConcentratedEvent(rho)).delta(epsilon), min(reference.zcdp_delta(rho, epsilon), mpf(1))
    assert mpf(ours) >= truth
    if truth > mpf("1e-290"):
        assert mpf(ours) <= truth * (1 + mpf("1e-8"))


@settings(max_examples=25)
@given(rho=logs(1e-8, 100.0), log_delta=st.floats(-60.0, -1.0))
def test_zcdp_conversion(rho, log_delta):
    delta = math.exp(log_delta)
    truth = max(reference.zcdp_epsilon(rho, delta), mpf(0))
    ours = epsilon_from_rho(rho, delta)
    assert mpf(ours) >= truth
    assert mpf(ours) <= truth * (1 + mpf("1e-8")) + mpf("1e-13")
    assert ours == of(ZeroConcentratedEvent(rho)).epsilon(delta)
    if ours > 1e-6 * math.sqrt(rho):
        above(of(ZeroConcentratedEvent(rho)).delta(ours), reference.zcdp_delta(rho, ours))


@settings(max_examples=8)
@given(epsilon0=logs(1e-3, 3.0), count=st.integers(2, 300), sigma=logs(1.0, 50.0), log_delta=st.floats(-40.0, -3.0))
def test_composed_renyi_curves(epsilon0, count, sigma, log_delta):
    delta = math.exp(log_delta)
    ours = of((ExponentialEvent(epsilon0), count), (DiscreteGaussianEvent(1.0, sigma), 3))
    curve = lambda a: count * reference.bounded_range(epsilon0, a) + 3 * a / (2 * mpf(sigma) ** 2)  # noqa: E731
    truth = reference.least_over_orders(lambda a: reference.converted_epsilon(curve, delta, a), steps=50)
    above(ours.epsilon(delta), truth)
    epsilon = ours.epsilon(delta)
    above(ours.delta(epsilon), reference.least_over_orders(lambda a: reference.converted_delta(curve, epsilon, a), 50))


def test_discrete_gaussian_is_never_below_its_true_curve():
    for sigma in (0.5, 1.0, 3.0):
        for epsilon in (0.0, 0.5, 1.0, 3.0):
            truth = reference.discrete_gaussian_delta(epsilon, sigma)
            assert mpf(of(DiscreteGaussianEvent(1.0, sigma)).delta(epsilon)) >= truth


def test_pure_composition():
    accountant = of((PureEvent(0.125), 4), (LaplaceEvent(1.0, 4.0), 2))
    assert accountant.delta(1.0) == 0.0
    assert 0.99 < accountant.epsilon(1e-12) <= 1.0
    one = of(PureEvent(1.0))
    for epsilon in (0.0, 0.3, 0.9):
        truth = (reference.exp(1) - reference.exp(mpf(epsilon))) / (1 + reference.exp(1))
        above(one.delta(epsilon), truth)
    above(one.epsilon(0.1), reference.log(reference.exp(1) - mpf(0.1) * (1 + reference.exp(1))))


def test_empty():
    assert Accountant().epsilon(1e-6) == 0.0
    assert Accountant().delta(0.0) == 0.0
    assert Accountant().rho() == 0.0


def test_mixtures_are_between_their_parts_and_basic_composition():
    for event in EVENTS[:6]:
        for other in EVENTS[6:]:
            both = of((event, 3), other)
            alone, beside = of((event, 3)).epsilon(1e-6), of(other).epsilon(1e-6)
            assert max(alone, beside) * (1 - 1e-9) <= both.epsilon(1e-6)
            assert both.epsilon(1e-6) <= (of((event, 3)).epsilon(5e-7) + of(other).epsilon(5e-7)) * (1 + 1e-2)
            epsilon = both.epsilon(1e-6)
            assert both.delta(epsilon) <= 1.05e-6


# Exact composition of choices, pure events and noise

TINY = ZeroConcentratedEvent(1e-13)  # has a Renyi curve alone, and leaves a composition nothing but those


def saved(*events, delta=1e-5):
    """Share of epsilon that exact composition saves of what Renyi curves state."""
    return 1 - of(*events).epsilon(delta) / of(*events, TINY).epsilon(delta)


@pytest.mark.parametrize(("count", "epsilon0"), [(1, 0.5), (2, 0.5), (10, 0.15), (10, 0.6), (20, 0.02), (50, 0.07)])
def test_choices_are_never_below_the_best_that_is_fixed_beforehand(count, epsilon0):
    choices = of((ExponentialEvent(epsilon0), count))
    for delta in (1e-9, 1e-5, 1e-2):
        epsilon = choices.epsilon(delta)
        for i in range(1, 24):
            t = epsilon0 * i / 24
            assert reference.fixed_choices_delta(epsilon, count, epsilon0, t) <= delta
            assert mpf(choices.delta(0.9 * epsilon)) >= reference.fixed_choices_delta(0.9 * epsilon, count, epsilon0, t)


@pytest.mark.parametrize(("count", "epsilon0"), [(3, 0.4), (10, 0.15)])
def test_choices_are_near_the_adaptive_optimum(count, epsilon0):
    """At 50 digits; between the optimum, whose t is on a grid here, and half a per cent of epsilon more."""
    choices = of((ExponentialEvent(epsilon0), count))
    epsilon = choices.epsilon(1e-4)
    assert reference.adaptive_choices_delta(epsilon, count, epsilon0, 24) <= 1e-4
    assert reference.adaptive_choices_delta(0.995 * epsilon, count, epsilon0, 24) > 1e-4


@pytest.mark.parametrize(("count", "epsilon0"), [(50, 0.07), (100, 0.05), (200, 0.035), (200, 0.2)])
def test_many_choices_are_near_the_adaptive_optimum(count, epsilon0):
    choices = of((ExponentialEvent(epsilon0), count))
    for delta in (1e-8, 1e-5):
        epsilon = choices.epsilon(delta)
        assert reference.adaptive_choices_delta(epsilon, count, epsilon0, 16, float) <= delta
        assert reference.adaptive_choices_delta(0.993 * epsilon, count, epsilon0, 16, float) > delta


@pytest.mark.parametrize("share", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("count", [1, 30])
def test_choices_beside_noise(count, share):
    """Never below choices that are fixed beforehand, and near the best of them."""
    epsilon0 = 0.6 / math.sqrt(count)
    ratio = share * 0.3
    both = of((ExponentialEvent(epsilon0), count), GaussianEvent(1.0, 1 / ratio))
    for delta in (1e-8, 1e-4):
        epsilon = both.epsilon(delta)
        ts = [epsilon0 * i / 12 for i in range(1, 12)]
        fixed = lambda e: max(reference.fixed_choices_delta(e, count, epsilon0, t, ratio) for t in ts)  # noqa: B023, E731
        assert fixed(mpf(epsilon)) <= delta
        # One choice has more than one worst t: one for each epsilon.
        assert fixed(mpf(epsilon) * (mpf("0.98") if count > 1 else mpf("0.93"))) > delta


def test_pure_events_are_the_best_responses():
    one_kind = [(0.2, 30)]
    for events, slack in ((one_kind, 1e-8), ([(0.3, 4), (0.1, 6)], 2e-2), ([(0.5, 1), (0.25, 2)], 2e-2)):
        accountant = of(*((PureEvent(e), count) for e, count in events))
        for epsilon in (0.0, 0.3, 0.9):
            truth = reference.responses_delta(epsilon, events)
            above(accountant.delta(epsilon), truth, slack)
    for delta in (1e-9, 1e-4):
        epsilon = of((PureEvent(0.2), 30)).epsilon(delta)
        assert reference.responses_delta(epsilon, one_kind) <= delta
        assert reference.responses_delta(epsilon * (1 - 1e-9), one_kind) > delta


@pytest.mark.parametrize(
    ("events", "least"),
    [
        ([(ExponentialEvent(0.15), 10)], 0.035),
        ([(ExponentialEvent(0.07), 50)], 0.07),
        ([(ExponentialEvent(0.05), 100)], 0.072),
        ([(ExponentialEvent(0.035), 200)], 0.075),
        ([(ExponentialEvent(0.02), 2000)], 0.065),
        ([(ExponentialEvent(0.07), 50), GaussianEvent(1.0, 4.0)], 0.07),
        ([(ExponentialEvent(0.1), 20), GaussianEvent(1.0, 4.0), (ExponentialEvent(0.3), 2)], 0.048),
        ([(PureEvent(0.03), 50), GaussianEvent(1.0, 4.0)], 0.07),
    ],
    ids=repr,
)
def test_what_exact_composition_saves(events, least):
    assert saved(*events) >= least


def test_calibrated_choices_spend_what_exact_composition_saves():
    for count, gain in ((10, 1.03), (50, 1.065), (200, 1.07)):
        epsilon0 = calibrate(ExponentialEvent, count, 1.0, 1e-5, bracket=(1e-6, 10.0))
        events = lambda x: [(ExponentialEvent(x), count), (TINY, 1)]  # noqa: B023, E731
        low, high = 1e-4, 1.0
        for _ in range(40):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if of(*events(middle)).epsilon(1e-5) <= 1.0 else (low, middle)
        assert epsilon0 >= gain * low
        assert of((ExponentialEvent(epsilon0), count)).epsilon(1e-5) <= 1.0


# Objective perturbation


@settings(max_examples=30)
@given(epsilon=st.floats(0.0, 12.0), sigma=logs(0.3, 100.0), kl=st.floats(0.0, 1.0))
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_objective_perturbation_delta(adjacency, epsilon, sigma, kl):
    ours = of(ObjectivePerturbationEvent(1.0, sigma, kl, adjacency)).delta(epsilon)
    truth = min(reference.objective_delta(epsilon, 1.0, sigma, kl, adjacency), mpf(1))
    if truth == 1:  # nothing is claimed by the tail curve: what remains is the Renyi bound
        truth = min(reference.objective_renyi_delta(epsilon, 1.0, sigma, kl, adjacency), mpf(1))
    assert mpf(ours) >= truth
    if truth > 1e-290:
        above(ours, truth)


@settings(max_examples=15)
@given(tau=st.floats(3.47, 8.0), below=st.floats(0.0, 0.99), sigma=logs(0.5, 20.0), kl=st.floats(0.0, 1.0))
def test_objective_perturbation_curve_is_the_integral_of_its_loss(tau, below, sigma, kl):
    m = 1.0 / sigma
    replace = (kl + 2 * m**2 + m * tau, 1.0, sigma, kl, "replace-one")
    above(
        of(ObjectivePerturbationEvent(*replace[1:])).delta(replace[0]),
        reference.objective_delta_by_integration(*replace),
    )
    for epsilon in (kl + m**2 / 2 + m * tau, below * (kl + m**2 / 2)):
        add = (epsilon, 1.0, sigma, kl, "add-remove")
        above(of(ObjectivePerturbationEvent(*add[1:])).delta(epsilon), reference.objective_delta_by_integration(*add))


@settings(max_examples=30)
@given(sigma=logs(0.3, 100.0), kl=st.floats(0.0, 2.0), t=st.floats(0.0, 2 * math.sqrt(3) - 1e-9))
def test_objective_perturbation_claims_the_renyi_bound_alone_below_two_sqrt_three(sigma, kl, t):
    m = 1.0 / sigma
    epsilon = kl + 2 * m**2 + m * t
    truth = min(reference.objective_renyi_delta(epsilon, 1.0, sigma, kl, "replace-one"), mpf(1))
    above(of(ObjectivePerturbationEvent(1.0, sigma, kl)).delta(epsilon), truth)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_objective_perturbation_epsilon(adjacency):
    for sigma in (1.0, 5.0, 40.0):
        event = ObjectivePerturbationEvent(1.0, sigma, 0.05, adjacency)
        for delta in (1e-12, 1e-6, 1e-3):
            epsilon = of(event).epsilon(delta)
            assert reference.objective_delta(epsilon, 1.0, sigma, 0.05, adjacency) <= delta
            assert reference.objective_delta(epsilon * (1 - 1e-7), 1.0, sigma, 0.05, adjacency) > delta


def test_one_budget_holds_one_adjacency():
    accountant = of(EVENTS[6])
    with pytest.raises(dpsparse.InvalidArgumentError, match=r"event .*adjacency"):
        accountant.add(EVENTS[7])
    # Releases beside events too, whichever comes first, with a total and without.
    X = np.linspace(-1.0, 1.0, 40).reshape(20, 2)
    facts = {"delta": 1e-6, "bounds": (-1, 1), "classes": (0, 1), "adjacency": "add-remove", "n_public": 20}
    release = dpsparse.PrivateSparseClassifier(0.1, **facts).fit(X, np.arange(20) % 2).certificate_
    event = ObjectivePerturbationEvent(1.0, 50.0, 0.01, "replace-one")
    for total in ((), (10.0, 1e-5)):
        for one, other in ((release, event), (event, release)):
            accountant = Accountant(*total).add(one)
            spent = accountant.epsilon(1e-6)
            with pytest.raises(dpsparse.InvalidArgumentError, match=r"adjacency|neighbour relation"):
                accountant.add(other)
            assert accountant.epsilon(1e-6) == spent


# Failures


def test_failures_add_to_every_delta():
    plain, failing = of(GaussianEvent(1.0, 2.0)), of(GaussianEvent(1.0, 2.0), (FailureEvent(1e-7), 3))
    for epsilon in (0.0, 1.0, 3.0):
        above(failing.delta(epsilon), mpf(plain.delta(epsilon)) + 3 * mpf(1e-7), 1e-15)
    for delta in (4e-7, 1e-5, 0.1):
        assert failing.epsilon(delta) == pytest.approx(plain.epsilon(delta - 3e-7), rel=1e-12)
        assert failing.epsilon(delta) > plain.epsilon(delta)
    assert failing.epsilon(2.9e-7) == math.inf
    assert failing.epsilon(0.0) == math.inf
    assert failing.rho() == plain.rho()
    assert of((FailureEvent(0.4), 3)).delta(5.0) == 1.0
    lone = of(FailureEvent(1e-9))
    assert (lone.delta(0.0), lone.epsilon(1e-9), lone.epsilon(9e-10)) == (1e-9, 0.0, math.inf)


def test_failures_have_no_curve_of_their_own():
    event = FailureEvent(1e-9)
    assert [event.renyi(order) for order in (1.0, 1.5, 1e9)] == [0.0, 0.0, 0.0]
    assert event.renyi(math.inf) == math.inf


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_a_pure_release_with_a_broken_coupling(epsilon):
    """Randomised response at epsilon that tells the truth with probability eta more, whoever is asked."""
    eta = mpf("1e-9")
    truthful = 1 / (1 + reference.exp(-mpf(epsilon))) + eta
    needed = truthful - reference.exp(mpf(epsilon)) * (1 - truthful)
    stated = of(PureEvent(epsilon), FailureEvent(float(eta * (1 + reference.exp(mpf(epsilon)))))).delta(epsilon)
    assert stated == pytest.approx(float(needed), rel=1e-12)


@settings(max_examples=20)
@given(epsilon=logs(0.1, 10.0), log_delta=st.floats(-40.0, -3.0), share=st.floats(0.01, 0.9))
def test_calibration_leaves_room_for_failures(epsilon, log_delta, share):
    delta = math.exp(log_delta)
    failure = FailureEvent(share * delta)
    sigma = gaussian_sigma(1.0, epsilon, delta * (1 - share) * (1 - 1e-9))
    assert of(GaussianEvent(1.0, sigma), failure).delta(epsilon) <= delta
    assert of(GaussianEvent(1.0, sigma), failure).epsilon(delta) <= epsilon
    assert of(GaussianEvent(1.0, sigma * 0.99), failure).delta(epsilon) > delta


# delta 0


def test_delta_zero_is_pure_privacy():
    pure = of((PureEvent(0.25), 2), ExponentialEvent(0.5), LaplaceEvent(1.0, 4.0))
    assert pure.epsilon(0.0) == 1.25
    assert Accountant().epsilon(0.0) == 0.0
    for event in EVENTS:
        if not isinstance(event, ExponentialEvent | PureEvent | LaplaceEvent):
            assert of(PureEvent(0.25), event).epsilon(0.0) == math.inf


def test_pure_noise_is_calibrated_at_delta_zero():
    assert calibrate(PureEvent, 4, 1.0, 0.0, bracket=(1e-6, 10.0)) == pytest.approx(0.25, rel=1e-12)
    scale = calibrate(lambda x: LaplaceEvent(1.0, x), 2, 1.0, 0.0, bracket=(1e-6, 1e6))
    assert scale == pytest.approx(2.0, rel=1e-12)
    assert of((LaplaceEvent(1.0, scale), 2)).epsilon(0.0) <= 1.0
    assert of((LaplaceEvent(1.0, scale), 2)).delta(1.0) == 0.0
    with pytest.raises(dpsparse.InvalidArgumentError, match=r"^delta must be positive"):
        calibrate(lambda x: GaussianEvent(1.0, x), 1, 1.0, 0.0, bracket=(1e-6, 1e6))


# rho of a budget with delta = 1e-6


@pytest.mark.parametrize(
    ("epsilon", "rho", "digits"),
    [(0.1, 3.21e-4, 5e-7), (0.5, 6.64e-3, 5e-6), (1, 0.0244, 5e-5), (2, 0.0882, 5e-5), (5, 0.463, 5e-4)],
)
def test_figures_of_the_conversion(epsilon, rho, digits):
    assert abs(rho_from_epsilon(epsilon, 1e-6) - rho) <= digits * 1.0001


def test_figure_of_the_exponential_mechanism():
    assert 2.249 < of((ExponentialEvent(0.1), 100)).epsilon(1e-6) <= 2.256


def test_figure_of_the_gaussian():
    assert round(of((GaussianEvent(1.0, 10.0), 100)).epsilon(1e-6), 2) == 4.89


# dp-accounting


@pytest.fixture(scope="module")
def google():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import dp_accounting
        from dp_accounting import pld, rdp
    return dp_accounting, rdp, pld


def test_dp_accounting_pld_agrees(google):
    dp, _, pld = google
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sigma, count in ((1.0, 1), (10.0, 100), (5.0, 10)):
            accountant = pld.PLDAccountant()
            accountant.compose(dp.GaussianDpEvent(sigma), count)
            theirs = accountant.get_epsilon(1e-6)
            ours = of((GaussianEvent(1.0, sigma), count)).epsilon(1e-6)
            assert ours <= theirs * (1 + 1e-9)  # theirs is pessimistic
            assert ours >= theirs * (1 - 1e-2)
        # Laplace: their curve is exact for the continuous law, ours covers every lattice.
        accountant = pld.PLDAccountant()
        accountant.compose(dp.LaplaceDpEvent(10.0), 20)
        assert of((LaplaceEvent(1.0, 10.0), 20)).epsilon(1e-6) >= accountant.get_epsilon(1e-6) * (1 - 1e-3)


def test_dp_accounting_rdp_agrees(google):
    dp, rdp, _ = google
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sigma, count in ((1.0, 1), (10.0, 100), (20.0, 7)):
            accountant = rdp.RdpAccountant(orders=[1 + math.exp(x / 20) for x in range(-60, 200)])
            accountant.compose(dp.GaussianDpEvent(sigma), count)
            theirs = accountant.get_epsilon(1e-6)
            ours = of((DiscreteGaussianEvent(1.0, sigma), count)).epsilon(1e-6)
            assert ours <= theirs * (1 + 1e-9)
            assert ours >= theirs * (1 - 1e-3)
            assert of((GaussianEvent(1.0, sigma), count)).epsilon(1e-6) <= theirs


def test_random_response_pld_is_not_above_ours(google):
    dp, _, pld = google
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accountant = pld.PLDAccountant(dp.NeighboringRelation.REPLACE_ONE)
        # Binary randomised response at epsilon 0.2: their event mixes the truth with a uniform answer.
        noise = 2 / (1 + math.exp(0.2))
        for _ in range(30):  # dp-accounting 0.6.0 answers 0.2 when given count=30
            accountant.compose(dp.RandomizedResponseDpEvent(noise, 2))
        truth = accountant.get_epsilon(1e-6)
    assert truth * (1 - 1e-3) <= of((PureEvent(0.2), 30)).epsilon(1e-6) <= 1.002 * truth


# Calibration

MAKERS = [
    (lambda x: GaussianEvent(1.0, x), -1),
    (lambda x: DiscreteGaussianEvent(1.0, x), -1),
    (ExponentialEvent, 1),
    (PureEvent, 1),
    (lambda x: LaplaceEvent(1.0, x), -1),
    (ZeroConcentratedEvent, 1),
    (lambda x: ObjectivePerturbationEvent(1.0, x, 0.05), -1),
    (lambda x: ObjectivePerturbationEvent(1.0, x, 0.05, "add-remove"), -1),
]


@pytest.mark.parametrize(("make", "direction"), MAKERS)
@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_calibrated_events_are_private_and_hardly_more(make, direction, count, epsilon):
    if count == 40 and isinstance(make(1.0), ObjectivePerturbationEvent):
        epsilon += 40 * 0.05
    x = calibrate(make, count, epsilon, 1e-6, bracket=(1e-5, 1e5))
    assert of((make(x), count)).delta(epsilon) <= 1e-6
    assert of((make(x), count)).epsilon(1e-6) <= epsilon
    assert of((make(x * (1 + direction * 1e-6)), count)).delta(epsilon) > 1e-6


@settings(max_examples=40)
@given(
    maker=st.sampled_from(MAKERS),
    count=st.integers(1, 60),
    epsilon=logs(0.05, 20.0),
    log_delta=st.floats(-690.0, -1.0),
)
def test_a_calibrated_budget_is_kept_by_both_answers(maker, count, epsilon, log_delta):
    delta = math.exp(log_delta)
    try:
        x = calibrate(maker[0], count, epsilon, delta, bracket=(1e-9, 1e9))
    except dpsparse.InvalidArgumentError:  # curvature of so many objective perturbations alone costs more
        assert isinstance(maker[0](1.0), ObjectivePerturbationEvent)
        return
    accountant = of((maker[0](x), count))
    assert accountant.delta(epsilon) <= delta
    assert accountant.epsilon(delta) <= epsilon


@settings(max_examples=25)
@given(epsilon=logs(1e-2, 20.0), log_delta=st.floats(-40.0, -2.0))
def test_gaussian_sigma(epsilon, log_delta):
    delta = math.exp(log_delta)
    sigma = gaussian_sigma(2.0, epsilon, delta)
    above(sigma, reference.gaussian_sigma(2.0, epsilon, delta))
    assert reference.gaussian_delta(epsilon, mpf(2.0) / mpf(sigma)) <= delta
    assert of(GaussianEvent(2.0, sigma)).epsilon(delta) <= epsilon


@settings(max_examples=10)
@given(epsilon=logs(1e-2, 20.0), log_delta=st.floats(-40.0, -2.0))
def test_rho_from_epsilon(epsilon, log_delta):
    delta = math.exp(log_delta)
    rho = rho_from_epsilon(epsilon, delta)
    assert epsilon_from_rho(rho, delta) <= epsilon
    assert reference.zcdp_epsilon(rho, delta) <= epsilon
    assert reference.zcdp_epsilon(rho * (1 + 1e-6), delta) > epsilon


def test_calibration_brackets_and_callbacks():
    assert calibrate(lambda s: GaussianEvent(1.0, s), 1, 1.0, 1e-6, bracket=(10.0, 20.0)) == 10.0
    assert calibrate(ExponentialEvent, 1, 1.0, 1e-6, bracket=(1e-6, 0.5)) == 0.5
    with pytest.raises(dpsparse.InvalidArgumentError, match=r"bracket .*widen"):
        calibrate(lambda s: GaussianEvent(1.0, s), 1, 1.0, 1e-6, bracket=(0.1, 0.2))
    with pytest.raises(TypeError, match="event must be"):
        calibrate(lambda s: s, 1, 1.0, 1e-6, bracket=(0.1, 0.2))
    with pytest.raises(ZeroDivisionError):
        calibrate(lambda s: 1 / 0, 1, 1.0, 1e-6, bracket=(0.1, 0.2))


def test_speed():
    accountant = of((ExponentialEvent(0.1), 100), (DiscreteGaussianEvent(1.0, 10.0), 3), PureEvent(0.01), EVENTS[6])
    start = time.perf_counter()
    for _ in range(50):
        accountant.epsilon(1e-6)
    assert (time.perf_counter() - start) / 50 < 5e-3  # measured far below 1 ms; the margin is for shared machines


# Python behaviour


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_events_are_frozen_values(event):
    namespace = {name: getattr(privacy, name) for name in privacy.__all__}
    assert eval(repr(event), namespace) == event
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(event, protocol)) == event
    assert copy.deepcopy(event) == event
    assert hash(copy.copy(event)) == hash(event)
    assert len({event, copy.copy(event)}) == 1
    assert all(event != other for other in EVENTS if other is not event)
    assert event != 1
    assert event.describe().endswith(".")
    with pytest.raises(AttributeError):
        event.sigma = 3.0


def test_accountant_keeps_events():
    accountant = Accountant()
    assert accountant.add(EVENTS[0], 2).add(EVENTS[2]).add(EVENTS[0]) is accountant
    assert accountant.events == ((EVENTS[0], 3), (EVENTS[2], 1))
    assert eval(repr(accountant), {n: getattr(privacy, n) for n in privacy.__all__}).events == accountant.events
    for event in EVENTS:
        assert of(event).events == ((event, 1),)


def test_getters():
    event = ObjectivePerturbationEvent(1.0, 5.0, curvature_log=0.1, adjacency="add-remove")
    assert (event.lipschitz_norm, event.sigma, event.curvature_log) == (1.0, 5.0, 0.1)
    assert event.adjacency == "add-remove"
    assert (EVENTS[4].sensitivity, EVENTS[4].scale) == (1.0, 4.0)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: GaussianEvent(-1.0, 1.0), "sensitivity"),
        (lambda: GaussianEvent(1.0, 0.0), "sigma"),
        (lambda: DiscreteGaussianEvent(1.0, math.inf), "sigma"),
        (lambda: ExponentialEvent(math.nan), "epsilon0"),
        (lambda: PureEvent(0.0), "epsilon"),
        (lambda: LaplaceEvent(1.0, -2.0), "scale"),
        (lambda: ZeroConcentratedEvent(-0.1), "rho"),
        (lambda: ObjectivePerturbationEvent(0.0, 1.0, 0.1), "lipschitz_norm"),
        (lambda: ObjectivePerturbationEvent(1.0, 1.0, -0.1), "curvature_log"),
        (lambda: ObjectivePerturbationEvent(1.0, 1.0, 0.1, "swap"), "adjacency"),
        (lambda: Accountant().add(EVENTS[0], 0), "count"),
        (lambda: Accountant().add(EVENTS[0], -1), "count"),
        (lambda: Accountant().epsilon(-1e-300), "delta"),
        (lambda: FailureEvent(0.0), "delta"),
        (lambda: FailureEvent(1.0), "delta"),
        (lambda: epsilon_from_rho(1.0, 0.0), "delta"),
        (lambda: gaussian_sigma(1.0, 1.0, 0.0), "delta"),
        (lambda: Accountant().epsilon(1.0), "delta"),
        (lambda: Accountant().epsilon(math.nan), "delta"),
        (lambda: Accountant().delta(-1e-9), "epsilon"),
        (lambda: Accountant().delta(math.inf), "epsilon"),
        (lambda: calibrate(PureEvent, 1, -1.0, 1e-6, bracket=(0.1, 1.0)), "epsilon"),
        (lambda: calibrate(PureEvent, 1, 1.0, 2.0, bracket=(0.1, 1.0)), "delta"),
        (lambda: calibrate(PureEvent, 0, 1.0, 1e-6, bracket=(0.1, 1.0)), "count"),
        (lambda: calibrate(PureEvent, 1, 1.0, 1e-6, bracket=(1.0, 0.1)), "bracket"),
        (lambda: rho_from_epsilon(1.0, 0.0), "delta"),
        (lambda: rho_from_epsilon(-1.0, 0.1), "epsilon"),
        (lambda: epsilon_from_rho(-1.0, 0.1), "rho"),
        (lambda: gaussian_sigma(0.0, 1.0, 1e-6), "sensitivity"),
    ],
)
def test_bad_arguments_are_named(call, argument):
    with pytest.raises(dpsparse.InvalidArgumentError, match=f"^{argument} ") as caught:
        call()
    assert isinstance(caught.value, dpsparse.DpsparseError)


def test_errors_are_value_errors_of_the_package():
    assert issubclass(dpsparse.DpsparseError, ValueError)
    for name in dpsparse.__all__:
        error = getattr(dpsparse, name)
        if isinstance(error, type) and issubclass(error, Exception) and not issubclass(error, Warning):
            assert issubclass(error, dpsparse.DpsparseError)
            assert error.__module__ == "dpsparse"
            assert type(pickle.loads(pickle.dumps(error("text")))) is error


def test_wrong_types_raise_type_error():
    for event in (3, "gaussian", None, [EVENTS[0]], GaussianEvent):
        with pytest.raises(TypeError, match=r"event must be .*such as GaussianEvent\(.*got ") as refused:
            Accountant().add(event)
        assert type(refused.value) is dpsparse.InvalidTypeError
    for count in (1.5, "2", [1]):
        with pytest.raises(dpsparse.InvalidTypeError, match="count must be an integer"):
            Accountant().add(EVENTS[0], count)
    with pytest.raises(dpsparse.InvalidTypeError, match="add up"):
        Accountant() + 3
