"""Certificates verify, say what the accountant says, travel, and do not survive an edit."""

import json
from contextlib import suppress

import numpy as np
import pytest

from dpsparse import BudgetExceededError, Certificate, DpsparseError, ObjectivePerturbation, PrivateSparseClassifier
from dpsparse.privacy import Accountant, ExponentialEvent, GaussianEvent, PureEvent, calibrate


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    """Return that of a fit with epsilon 1 and delta 1e-6."""
    X = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    model = PrivateSparseClassifier(
        epsilon=1.0, delta=1e-6, mechanism=ObjectivePerturbation(ridge=0.05), bounds=(-1, 1), classes=(0, 1), scale=None
    )
    fitted: Certificate = model.fit(X, X[:, 0] > 0).certificate_
    return fitted


def test_it_verifies_and_travels(certificate: Certificate) -> None:
    """Through JSON, with the same claim."""
    again = Certificate.from_json(certificate.to_json())
    assert certificate.verify()
    assert again.verify()
    assert again == certificate
    assert again.claim == (1.0, 1e-6)


def test_it_says_what_the_accountant_says(certificate: Certificate) -> None:
    """Of the same events, at several deltas."""
    accountant = Accountant()
    for event, count in certificate.events:
        accountant.add(event, count)
    for delta in (1e-8, 1e-6, 1e-3):
        assert accountant.epsilon(delta) == certificate.epsilon(delta)
    assert certificate.epsilon(1e-6) <= 1.0
    assert certificate.delta(1.0) <= 1e-6


def test_an_edited_one_does_not_verify(certificate: Certificate) -> None:
    """Whatever number of the document is halved: it is refused when it is read, or does not verify."""
    document = json.loads(certificate.to_json())

    def halves(node: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        if isinstance(node, dict):
            return [p for key, value in node.items() for p in halves(value, (*path, key))]
        if isinstance(node, list):
            return [p for i, value in enumerate(node) for p in halves(value, (*path, i))]
        return [path] if isinstance(node, float) and node != 0 else []

    paths = halves(document)
    assert len(paths) >= 4
    for path in paths:
        edited = json.loads(certificate.to_json())
        node = edited
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = node[path[-1]] / 2
        with suppress(DpsparseError):
            assert not Certificate.from_json(json.dumps(edited)).verify(), path


def test_a_seeded_run_has_no_guarantee() -> None:
    """And says so first."""
    X = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), random_state=0).fit(X, X[:, 0] > 0)
    assert not model.certificate_.secure
    assert not model.certificate_.verify()
    assert str(model.certificate_).startswith("NO GUARANTEE")


def test_budgets_hold(certificate: Certificate) -> None:
    """Of an accountant that refuses what would break its total."""
    accountant = Accountant(1.1, 2e-6)
    accountant.add(certificate)
    with pytest.raises(BudgetExceededError):
        accountant.add(certificate)


def test_costs_rise_and_calibration_keeps_its_budget() -> None:
    """One more event never costs less; calibrated noise is answered from the private side."""
    accountant, before = Accountant(), 0.0
    for event in (GaussianEvent(1.0, 20.0), ExponentialEvent(0.1), PureEvent(0.05), GaussianEvent(1.0, 30.0)):
        after = accountant.add(event, 2).epsilon(1e-6)
        assert after > before
        before = after
    sigma = calibrate(lambda s: GaussianEvent(1.0, s), 10, 1.0, 1e-6, bracket=(0.1, 1_000.0))
    assert Accountant().add(GaussianEvent(1.0, sigma), 10).epsilon(1e-6) <= 1.0
    assert Accountant().add(GaussianEvent(1.0, sigma * 0.999), 10).epsilon(1e-6) > 1.0
