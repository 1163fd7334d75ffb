"""Traps with no other test: what looks like a detail of the arithmetic and breaks a proof (`theory_of_privacy`)."""

import math

import numpy as np
import pytest

from dpsparse import DualFrankWolfe, OutputPerturbation, PrivateSparseClassifier, _core

DIGITS = 14  # of derivatives at public points


def staircase(z):
    """The derivative of the logistic loss at y = 1, rounded to DIGITS binary digits."""
    return np.round(-(2.0**DIGITS) / (1 + math.exp(z))) / 2.0**DIGITS


def two_steps(plus, minus, step):
    """Two steps of descent on records x = 1 with rounded derivatives, `plus` of label 1 and `minus` of label -1."""
    theta = 0.0
    for _ in range(2):
        theta -= step * (plus * staircase(theta) - minus * staircase(-theta)) / (plus + minus)
    return theta


def test_rounded_derivatives_break_the_bound_of_a_descent():
    """Where theta depends on unreleased records, a hair's breadth in theta moves all n rounded derivatives.

    Neighbours whose first step ends on either side of a stair are 2^-14 of a step apart after the second one, at every
    n; the bound is 4 L R2 eta / n. The room's own descent, with fine derivatives, keeps it on the same records.
    """
    n, step = 1_000_000, 8.0
    # The first step ends at step (2 plus - n)/(2 n): just above a stair of the derivative.
    stair = -math.log(2.0**DIGITS / (0.25 * 2**DIGITS + 0.5) - 1)
    plus = math.ceil(n * (0.5 + abs(stair) / step))
    bound = 4 * step / n
    moved = abs(two_steps(plus, n - plus, step) - two_steps(plus - 1, n - plus + 1, step))
    assert moved > 10 * bound

    mechanism = OutputPerturbation(mode="early-stopping", n_iter=2, alpha=0.0, ridge=0.0)
    model = PrivateSparseClassifier(
        mechanism=mechanism, classes=(-1, 1), fit_intercept=False, delta=1e-9, bounds=(-1, 1)
    )
    plan = model.plan(n, 1)
    X = np.ones((n, 1))
    answers = [
        _core.non_private_release(plan, X, np.where(np.arange(n) < labels, 1.0, -1.0), seed=0)
        for labels in (plus, plus - 1)
    ]
    (one, stated), (other, _) = answers
    assert 0 < np.linalg.norm(one - other) <= stated
    assert 0.99 * bound < stated < 1.01 * bound


@pytest.mark.parametrize(
    "mechanism",
    [
        OutputPerturbation(ridge=0.1),
        OutputPerturbation(mode="early-stopping", n_iter=3, ridge=0.0),
        DualFrankWolfe(n_iter=4, alpha=0.01, ridge=0.1),
        DualFrankWolfe("selection", n_iter=4, alpha=0.01, ridge=0.1),
    ],
    ids=str,
)
def test_rounding_to_a_lattice_is_paid_for(mechanism):
    """Rounding expands, by sqrt(p) units at worst, and the events say so.

    Two points that are as near as you like may be a whole unit apart in every entry.
    """
    n, p = 1000, 16
    near = np.full(p, 0.5)
    assert np.linalg.norm(np.floor(near + 0.5) - np.floor(near - 1e-12 + 0.5)) == math.sqrt(p)
    model = PrivateSparseClassifier(
        mechanism=mechanism, classes=(-1, 1), fit_intercept=False, delta=1e-6, bounds=(-1, 1)
    )
    plan = model.plan(n, p)
    event = plan.events[-1][0]
    lattice = plan.noise_scales[-1] / event.sigma
    assert math.log2(lattice).is_integer()
    sensitivity = 2 * math.sqrt(p) / (n * 0.1)
    if getattr(mechanism, "mode", "ridge") == "early-stopping":
        sensitivity = 2 * math.sqrt(p) * 3 * (8 / p) / n  # steps of 2/(beta R2^2)
    assert event.sensitivity >= (1 - 1e-6) * sensitivity / lattice + math.sqrt(p)
    assert event.sensitivity <= 1.01 * sensitivity / lattice
