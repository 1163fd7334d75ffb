"""Privacy accounting: events, their composition, and calibration of noise to a budget.

An event is a frozen fact about one private release. An :class:`Accountant` adds events up and answers, rounded
against itself, which (epsilon, delta) they amount to; :func:`calibrate` turns the question round and finds the
least noise for a budget. A :class:`Ledger` is a file that remembers what was released of a data set, and keeps a total.

>>> from dpsparse.privacy import Accountant, GaussianEvent, calibrate
>>> round(Accountant().add(GaussianEvent(sensitivity=1.0, sigma=10.0), 100).epsilon(1e-6), 2)
4.89
>>> sigma = calibrate(lambda s: GaussianEvent(1.0, s), 1, 1.0, 1e-6, bracket=(0.1, 100.0))
>>> round(sigma, 3)
4.225
"""

from dpsparse._core import (
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
from dpsparse.privacy import noise
from dpsparse.privacy.ledger import Ledger

__all__ = [
    "Accountant",
    "DiscreteGaussianEvent",
    "ExponentialEvent",
    "FailureEvent",
    "GaussianEvent",
    "LaplaceEvent",
    "Ledger",
    "ObjectivePerturbationEvent",
    "PureEvent",
    "ZeroConcentratedEvent",
    "calibrate",
    "epsilon_from_rho",
    "gaussian_sigma",
    "noise",
    "rho_from_epsilon",
]
