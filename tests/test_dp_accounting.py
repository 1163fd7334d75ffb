"""Certificates and accountants as events of dp-accounting: what its accountants say of them is never below ours.

dp-accounting 0.6.0: its accountant of privacy loss distributions where it takes the event, else that of Renyi
divergences, both as they are by default.
"""

import json
import math
import sys

import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri

from dpsparse import (
    Certificate,
    FrankWolfe,
    InvalidArgumentError,
    PrivateScaler,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    UnsoundMechanismError,
)
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
)

dp = pytest.importorskip("dp_accounting")
from dp_accounting import pld, rdp  # noqa: E402 (after what may be absent)

BELOW = 1e-6
DELTAS = (1e-9, 1e-5, 1e-2)
KINDS = {
    "gaussian": lambda noise: GaussianEvent(2.0, 2.0 * noise),
    "discrete gaussian": lambda noise: DiscreteGaussianEvent(1.0, noise),
    "choice": lambda noise: ExponentialEvent(1 / noise),
    "pure": lambda noise: PureEvent(1 / noise),
    "laplace": lambda noise: LaplaceEvent(3.0, 3.0 * noise),
    "zcdp": lambda noise: ZeroConcentratedEvent(0.5 / noise**2),
    "objective": lambda noise: ObjectivePerturbationEvent(1.0, noise, 0.3 / noise),
    "objective, add-remove": lambda noise: ObjectivePerturbationEvent(1.0, noise, 0.0, "add-remove"),
}
PLD_KINDS = ("gaussian", "choice", "pure", "laplace")


def of(*events):
    accountant = Accountant()
    for event, count in events:
        accountant.add(event, count)
    return accountant


def theirs(event, delta):
    accountant = pld.PLDAccountant()
    if not accountant.supports(event):
        accountant = rdp.RdpAccountant()
    return accountant.compose(event).get_epsilon(delta)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("noise", "count"), [(0.7, 1), (3.0, 4), (40.0, 60)])
def test_no_kind_of_event_costs_less_there(kind, noise, count):
    ours = of((KINDS[kind](noise), count))
    event = ours.to_dp_accounting()
    for delta in DELTAS:
        assert theirs(event, delta) >= ours.epsilon(delta) - BELOW


def random_events(rng, kinds):
    return [
        (KINDS[kind](math.exp(rng.uniform(0, 4))), int(rng.integers(1, 40)))
        for kind in rng.choice(kinds, size=rng.integers(1, 5))
    ]


# One adjacency in a budget.
REPLACE_ONE = [kind for kind in KINDS if "add-remove" not in kind]
ADD_REMOVE = [kind for kind in KINDS if kind != "objective"]


def assert_compositions_cost_no_less(seed, repetitions):
    rng = np.random.default_rng(seed)
    for _ in range(repetitions):
        ours = of(*random_events(rng, REPLACE_ONE if rng.random() < 0.5 else ADD_REMOVE))
        delta = math.exp(rng.uniform(-30, -3))
        assert theirs(ours.to_dp_accounting(), delta) >= ours.epsilon(delta) - BELOW, ours


def test_no_composition_costs_less_there():
    assert_compositions_cost_no_less(0, 40)


@pytest.mark.slow
def test_no_composition_costs_less_there_at_length():
    assert_compositions_cost_no_less(1, 3000)


def test_both_forms_dominate():
    """Whichever accountant the event is for. Mixtures have no closed form there: ours may be 1 % above the optimum."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        one, other = rng.choice(PLD_KINDS, 2)
        ours = of((KINDS[one](20.0), 3), (KINDS[other](30.0), 3))
        for delta in (1e-8, 1e-4):
            for name, accountant in (("pld", pld.PLDAccountant()), ("rdp", rdp.RdpAccountant())):
                event = ours.to_dp_accounting(accountant=name)
                assert accountant.supports(event)
                assert accountant.compose(event).get_epsilon(delta) >= 0.99 * ours.epsilon(delta) - BELOW


def test_exact_forms_are_exact():
    for ours in (of((GaussianEvent(1.0, 3.0), 5), (GaussianEvent(1.0, 7.0), 2)), of((PureEvent(0.25), 8))):
        for delta in DELTAS:
            assert theirs(ours.to_dp_accounting(), delta) <= 1.01 * ours.epsilon(delta)
    assert theirs(of((LaplaceEvent(1.0, 2.0), 3)).to_dp_accounting(), 0.0) == pytest.approx(1.5, abs=1e-3)


def test_choices_cost_little_more_as_zcdp_and_a_quarter_more_as_noise():
    ours = of((ExponentialEvent(0.1), 50))
    truth = ours.epsilon(1e-6)
    assert theirs(ours.to_dp_accounting(), 1e-6) < 1.1 * truth
    assert truth < theirs(ours.to_dp_accounting(accountant="pld"), 1e-6) < 1.3 * truth


@pytest.mark.parametrize("epsilon0", [1e-3, 0.1, 1.0, 5.0, 30.0])
def test_the_trade_off_of_the_noise_is_below_every_kink_of_a_choice(epsilon0):
    (part,) = of((ExponentialEvent(epsilon0), 1)).to_dp_accounting(accountant="pld").events
    ratio = 1 / part.event.noise_multiplier
    # Under P and Q the loss t has the log odds l and l - epsilon0.
    log_odds = np.linspace(-20, 20 + epsilon0, 4001)
    first, second = expit(log_odds), expit(log_odds - epsilon0)
    type_two = ndtr(-ndtri(second) - ratio)  # of the Gaussian test at the same type one error
    assert (type_two <= expit(-log_odds) * (1 + 1e-9)).all()
    # And no larger than it has to be.
    assert ratio <= (ndtri(first) - ndtri(second)).max() * (1 + 1e-4)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 5.0, 40.0, 900.0])
def test_the_trade_off_of_laplace_noise_is_below_the_kink_of_a_response(epsilon):
    (part,) = of((PureEvent(epsilon), 1)).to_dp_accounting(accountant="rdp").events
    ratio = 1 / part.event.noise_multiplier
    # Its point (x, x) is at x = exp(-ratio/2)/2, that of the response at 1/(1 + e^epsilon).
    assert -ratio / 2 - math.log(2) <= -epsilon - math.log1p(math.exp(-epsilon))
    assert ratio <= 2 * epsilon * (1 + 1e-9)
    assert ratio >= epsilon


def test_a_response_is_a_discrete_laplace_event_of_sensitivity_one():
    (part,) = of((PureEvent(0.8), 3)).to_dp_accounting().events
    law = pld.privacy_loss_distribution.from_discrete_laplace_mechanism(
        part.event.noise_parameter, part.event.sensitivity
    )
    for epsilon in (0.0, 0.3, 0.7):
        truth = (math.exp(0.8) - math.exp(epsilon)) / (1 + math.exp(0.8))
        assert law.get_delta_for_epsilon(epsilon) == pytest.approx(truth, rel=1e-3)
        assert law.get_delta_for_epsilon(epsilon) >= truth * (1 - 1e-12)


def test_the_renyi_curve_of_an_objective_perturbation_is_below_its_line():
    for adjacency in ("replace-one", "add-remove"):
        for sigma in (0.5, 3.0, 50.0):
            event = ObjectivePerturbationEvent(1.0, sigma, 0.2, adjacency)
            (part,) = of((event, 1)).to_dp_accounting().events
            for order in 1 + np.exp(np.linspace(-12, 12, 200)):
                assert part.event.xi + part.event.rho * order >= event.renyi(order) * (1 - 1e-12)


# What has no event there


def test_failures_are_refused_or_left_to_the_caller():
    ours = of((GaussianEvent(1.0, 2.0), 3), (FailureEvent(1e-7), 2), (FailureEvent(1e-8), 1))
    with pytest.raises(UnsoundMechanismError, match=r"2\.1e-07.*leave_out_failures"):
        ours.to_dp_accounting()
    event = ours.to_dp_accounting(leave_out_failures=True)
    for delta in (1e-6, 1e-3):
        assert theirs(event, delta - 2.1e-7) >= ours.epsilon(delta) - BELOW
    only = of((FailureEvent(1e-7), 1)).to_dp_accounting(leave_out_failures=True)
    assert isinstance(only, dp.NoOpDpEvent)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in PLD_KINDS])
def test_what_has_no_loss_distribution_is_refused(kind):
    with pytest.raises(UnsoundMechanismError, match="rdp"):
        of((KINDS[kind](2.0), 1)).to_dp_accounting(accountant="pld")


def test_bad_arguments_are_named():
    for bad in ("PLD", None, 1):
        with pytest.raises(InvalidArgumentError, match="accountant"):
            Accountant().to_dp_accounting(accountant=bad)
    assert isinstance(Accountant().to_dp_accounting(), dp.NoOpDpEvent)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(InvalidArgumentError, match=r"pip install 'dp-accounting>=0.6'"):
        Accountant().to_dp_accounting()


# Certificates

X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
LABELS, TARGETS = X[:, 0] > 0, X[:, 0] - X[:, 1]
FITS = {
    name: lambda name=name: PrivateSparseClassifier(mechanism=name, bounds=(-1, 1), classes=(0, 1)).fit(X, LABELS)
    for name in ("auto", "frank-wolfe", "noisy-newton", "objective-perturbation", "output-perturbation", "select-refit")
}
FITS["regressor"] = lambda: PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-2, 2)).fit(X, TARGETS)
FITS["scaler"] = lambda: PrivateScaler(epsilon=1.0, bounds=(-1, 1)).fit(X)


@pytest.mark.parametrize("name", FITS)
def test_certificates_of_fits_cost_no_less_there(name):
    certificate = FITS[name]().certificate_
    _, delta = certificate.claim
    delta = delta or 1e-9
    failures = sum(count * event.delta for event, count in certificate.events if isinstance(event, FailureEvent))
    event = certificate.to_dp_accounting(leave_out_failures=True)
    assert theirs(event, delta - failures) >= certificate.epsilon(delta) - BELOW
    assert event.events == (Accountant().add(certificate)).to_dp_accounting(leave_out_failures=True).events


def test_certificates_without_a_guarantee_are_refused():
    paper = FrankWolfe(n_iter=2, calibration="paper", allow_uncertified=True)
    model = PrivateSparseClassifier(mechanism=paper, bounds=(-1, 1), classes=(0, 1)).fit(X, LABELS)
    with pytest.raises(UnsoundMechanismError, match="does not hold"):
        model.certificate_.to_dp_accounting()
    honest = FITS["frank-wolfe"]().certificate_
    edited = Certificate.from_json(json.dumps(json.loads(honest.to_json()) | {"claimed_epsilon": 9.0}))
    with pytest.raises(UnsoundMechanismError, match="changed"):
        edited.to_dp_accounting()
