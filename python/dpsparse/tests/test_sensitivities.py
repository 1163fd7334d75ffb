"""What neighbours can change, as plans state it, against the formulas, and against records at their extremes."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpsparse import (
    DualFrankWolfe,
    FrankWolfe,
    NoisyNewton,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    Plan,
    PrivateSparseClassifier,
    SelectRefit,
    SgdOutput,
    _core,
)
from dpsparse.mechanisms import resolve, specification
from dpsparse.privacy import ExponentialEvent, GaussianEvent, LaplaceEvent, ObjectivePerturbationEvent

N, P, RIDGE = 10_000, 20, 0.01
#: Euclidean length of a row between bounds of -1 and 1, with the intercept's column.
LONGEST = math.sqrt(P + 1)
#: Largest stored entry of a feature, and largest derivative, as integers.
ENTRY, SLOPE = 16_383, 2**14


def planned(mechanism: Any, **facts: Any) -> Plan:
    """Plan a mechanism for N records of P features."""
    model = PrivateSparseClassifier(
        mechanism=mechanism, **{"bounds": (-1, 1), "classes": (0, 1), "scale": None, "delta": 1e-8, **facts}
    )
    return model.plan(N, P)


def test_choices_are_calibrated_to_the_largest_move_of_a_score() -> None:
    """``2 L radius/n`` of the mean loss, twice over the range of one choice."""
    plan = planned(FrankWolfe(n_iter=40, radius=10.0))
    ((event, count),) = plan.events
    assert isinstance(event, ExponentialEvent)
    assert count == 40
    assert plan.noise_scales[0] == pytest.approx(2 * (2 * 10 / N) / event.epsilon0, rel=1e-3)
    assert plan.noise_scales[0] >= 2 * (2 * 10 / N) / event.epsilon0


@pytest.mark.parametrize(("facts", "factor"), [({}, 2), ({"adjacency": "add-remove", "n_public": N}, 1)])
@pytest.mark.parametrize("persons_records", [1, 3])
def test_gradients(facts: dict[str, Any], factor: int, persons_records: int) -> None:
    """A difference of two contributions, or one, for each record of a person."""
    ((event, _),) = planned(NoisyProximalGradient(n_iter=5), records_per_person=persons_records, **facts).events
    assert isinstance(event, GaussianEvent)
    exact = factor * persons_records * SLOPE * math.ceil(ENTRY * LONGEST)  # rows are held to an integer length
    assert exact <= event.sensitivity <= exact * (1 + 1e-12)


def test_second_moments() -> None:
    """Frobenius sensitivity sqrt(2) R2**2 and sqrt(2) times the noise on the diagonal: R2**2 in all."""
    (event, count), _ = planned(NoisyNewton(n_iter=5)).events
    assert isinstance(event, GaussianEvent)
    assert count == 1
    exact = (P + 1) * ENTRY**2
    assert exact <= event.sensitivity <= exact * (1 + 1e-6)


@pytest.mark.parametrize(
    "mechanism",
    [OutputPerturbation(ridge=RIDGE), SgdOutput(ridge=RIDGE), DualFrankWolfe(alpha=0.01, ridge=RIDGE, n_iter=3)],
)
def test_minimisers(mechanism: Any) -> None:
    """``2 L R2/(n ridge)`` on its lattice, and a proved rest for rounding and for what the solver leaves."""
    plan = planned(mechanism)
    ((event, _),) = plan.events
    assert isinstance(event, GaussianEvent)
    units = 2 * LONGEST / (N * RIDGE) / (plan.noise_scales[0] / event.sigma) + LONGEST
    assert units <= event.sensitivity * (1 + 1e-12)
    assert event.sensitivity <= units * 1.001


def test_laplace_noise_pays_for_every_coordinate() -> None:
    """An l1 sensitivity is sqrt(p) times the Euclidean one."""
    gaussian, laplace = (
        planned(OutputPerturbation(ridge=RIDGE, noise=noise)).events[0][0] for noise in ("gaussian", "laplace")
    )
    assert isinstance(gaussian, GaussianEvent)
    assert isinstance(laplace, LaplaceEvent)
    assert laplace.sensitivity >= gaussian.sensitivity * LONGEST * (1 - 1e-9)


def test_tilted_objectives() -> None:
    """``L R2`` and ``ln(1 + beta R2**2/(n ridge))``; a refit of k columns has those of k columns."""
    for mechanism, columns in ((ObjectivePerturbation(ridge=RIDGE), P), (SelectRefit(n_selected=4, ridge=RIDGE), 4)):
        event = next(e for e, _ in planned(mechanism).events if isinstance(e, ObjectivePerturbationEvent))
        assert event.lipschitz_norm == pytest.approx(math.sqrt(columns + 1), rel=1e-9)
        assert event.curvature_log == pytest.approx(math.log1p(0.25 * (columns + 1) / (N * RIDGE)), rel=1e-6)


def test_neighbours_at_the_corners() -> None:
    """No pair of records moves an integer gradient further than planned, and some pair moves it four fifths as far."""
    model = PrivateSparseClassifier(
        mechanism=NoisyProximalGradient(n_iter=1), bounds=(-1, 1), classes=(0, 1), scale=None
    )
    name, options = specification(resolve(model.mechanism, model), model)
    statement = model._statement(2, 2)
    ((event, _),) = model.plan(2, 2).events
    assert isinstance(event, GaussianEvent)
    bound = event.sensitivity

    def gradient(record: tuple[float, float, float]) -> npt.NDArray[np.int64]:
        X, y = np.array([[0.5, -0.5], record[:2]]), np.array([1.0, record[2]])
        return _core.non_private_gradient(statement, name, options, X, y, [0, 0, 2**40], 1e-6)[0]

    corners = list(itertools.product((-1e300, -1.0, 1.0, 1e300), (-1.0, 1.0), (-1.0, 1.0)))
    moves = [float(np.linalg.norm(gradient(a) - gradient(b))) for a, b in itertools.combinations(corners, 2)]
    assert 0.8 * bound < max(moves) <= bound
