"""Certificates verified by two programs: the compiled one, and pure Python over the JSON alone.

What the compiled one accepts the other one must; what the other one accepts must be accepted with 1 % more epsilon.
"""

import copy
import json
import math
import sys

import numpy as np
import pytest

from dpsparse import (
    Certificate,
    DpsparseError,
    FrankWolfe,
    InvalidArgumentError,
    OutputPerturbation,
    PrivateScaler,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
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
from dpsparse.testing import verify_certificate
from dpsparse.testing._reference_cost import costs_at_most
from dpsparse.testing._reference_document import checksum
from dpsparse.testing._reference_laws import choices, composed, gaussian_curve, responses
from reference import accounting as reference

BAND = 1.01


def compiled(text):
    try:
        return Certificate.from_json(text).verify()
    except DpsparseError:
        return False


def sealed(document):
    return json.dumps(document | {"checksum": checksum(document)})


def agreed(text):
    """The verdict of both; where they differ, the claim is within the band."""
    ours, theirs = compiled(text), verify_certificate(text)
    assert bool(theirs) == (not theirs.reasons)
    if ours != bool(theirs):
        assert theirs, (theirs, text)  # the compiled one rounds up
        document = json.loads(text)
        document["claimed_epsilon"] *= BAND
        assert compiled(sealed(document)), text
    return ours


# --- documents: real certificates, edited ones, and compositions ---


def a_real_one(rng):
    n, p = int(rng.integers(20, 200)), int(rng.integers(1, 6))
    epsilon, delta = math.exp(rng.uniform(-2, 2)), math.exp(rng.uniform(-25, -5))
    X = rng.uniform(-1, 1, (n, p))
    y = rng.integers(0, 2, n)
    bounds = (-1.0, float(rng.uniform(1, 3))) if rng.random() < 0.5 else (np.full(p, -1.0), rng.uniform(0, 4, p))
    facts = {"epsilon": epsilon, "delta": delta, "bounds": bounds}
    if rng.random() < 0.2:
        facts |= {"adjacency": "add-remove", "n_public": n + int(rng.integers(0, 9))}
    names = [
        "frank-wolfe",
        "noisy-newton",
        "noisy-proximal-gradient",
        "objective-perturbation",
        "noisy-gradient-frank-wolfe",
    ]
    match rng.integers(6):
        case 0:
            model = PrivateSparseRegressor(y_bounds=(-1, 2), **facts).fit(X, y)
        case 1:
            model = PrivateSparsePoissonRegressor(y_bounds=(0, 5), mechanism="frank-wolfe", **facts).fit(X, y)
        case 2:
            model = PrivateScaler(**(facts | {"epsilon": epsilon})).fit(X)
        case 3:
            noise = str(rng.choice(["gaussian", "gamma", "laplace"]))
            facts = {"epsilon": epsilon, "delta": delta, "bounds": bounds}
            model = PrivateSparseClassifier(mechanism=OutputPerturbation(noise=noise), classes=(0, 1), **facts).fit(
                X, y
            )
        case 4:
            box = {"bounds": (-1, 1), "y_bounds": (-1, 1)}
            model = PrivateSimplexRegressor(epsilon=epsilon, delta=delta, **box).fit(X, X[:, 0])
        case _:
            name = str(rng.choice(names))
            loss = "squared" if name == "noisy-newton" else "logistic"
            kind = {"loss": loss, "mechanism": name}
            if loss == "squared":
                model = PrivateSparseRegressor(y_bounds=(-1, 2), **kind, **facts).fit(X, y)
            else:
                model = PrivateSparseClassifier(classes=(0, 1), **kind, **facts).fit(X, y)
    return json.loads(model.certificate_.to_json())


def an_event(rng, adjacency):
    size = math.exp(rng.uniform(-5, 0.5))
    match rng.integers(9):
        case 0 | 1:
            return GaussianEvent(1.5, 1.5 / size), {"kind": "gaussian", "sensitivity": 1.5, "sigma": 1.5 / size}
        case 2:
            return DiscreteGaussianEvent(1.0, 1 / size), {
                "kind": "discrete-gaussian",
                "sensitivity": 1,
                "sigma": 1 / size,
            }
        case 3 | 4:
            return ExponentialEvent(size), {"kind": "exponential", "epsilon0": size}
        case 5:
            return PureEvent(size), {"kind": "pure", "epsilon": size}
        case 6:
            return LaplaceEvent(2.0, 2 / size), {"kind": "laplace", "sensitivity": 2.0, "scale": 2 / size}
        case 7:
            return ZeroConcentratedEvent(size**2), {"kind": "zero-concentrated", "rho": size**2}
        case _:
            fields = {"lipschitz_norm": 1.0, "sigma": 1 / size, "curvature_log": size / 4, "adjacency": adjacency}
            return ObjectivePerturbationEvent(**fields), {"kind": "objective-perturbation", **fields}


def a_composition(rng, frame):
    """Any events under a claim below, at or above what they cost."""
    adjacency = str(rng.choice(["replace-one", "add-remove"]))
    delta = math.exp(rng.uniform(-28, -4))
    accountant, spent = Accountant(), []
    for _ in range(rng.integers(1, 4)):
        event, fields = an_event(rng, adjacency)
        count = int(rng.choice([1, 2, 7, 30]))
        accountant.add(event, count)
        spent.append({"event": fields, "count": count})
    if rng.random() < 0.2:
        failure = delta * rng.uniform(0.01, 0.6)
        accountant.add(FailureEvent(failure))
        spent.append({"event": {"kind": "failure", "delta": failure}, "count": 1})
    factor = float(rng.choice([0.5, 0.9, 0.98, 1.0, 1.0, 1.001, 1.02, 1.5]))
    claim = factor * accountant.epsilon(delta)
    return frame | {
        "adjacency": adjacency,
        "events": spent,
        "claimed_epsilon": claim if claim > 0 else 1e-3,
        "claimed_delta": delta,
    }


def places(tree, at=()):
    """Paths of all values below a tree."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for name, value in inside:
        yield (*at, name)
        yield from places(value, (*at, name))


def edited(rng, document):
    """One value changed: a number, a flag, a word, a list, or a field removed or added."""
    document = copy.deepcopy(document)
    paths = list(places(document))
    important = [path for path in paths if path[0] in {"claimed_epsilon", "claimed_delta", "events"}]
    pool = important if rng.random() < 0.6 else paths
    path = pool[rng.integers(len(pool))]
    parent = document
    for name in path[:-1]:
        parent = parent[name]
    value = parent[path[-1]]
    others = {"replace-one": "add-remove", "add-remove": "replace-one"}
    match value:
        case bool():
            change = not value
        case int():
            change = [0, -value, value + 1, 2 * value, value + 0.5, float(value), True, 2**64][rng.integers(8)]
        case float():
            factor = [0.0, -1.0, 0.5, 0.99, 1.0 + 1e-12, 1.02, 2.0, 1e3][rng.integers(8)]
            change = value * factor
        case str():
            change = [others.get(value, value + "!"), "", " ", value, None][rng.integers(5)]
        case list():
            change = [value[:-1], value + value, [], value][rng.integers(4)]
        case dict():
            change = [value | {"extra": 1}, {}, list(value.values()), None][rng.integers(4)]
        case _:
            change = [1.0, "classes", 0, -1.5][rng.integers(4)]
    if rng.random() < 0.05 and isinstance(parent, dict):
        del parent[path[-1]]
    else:
        parent[path[-1]] = change
    return document


def assert_the_two_agree(seed, count, real_ones):
    """Every document of `count`; with a checksum of its own four times in five."""
    rng = np.random.default_rng(seed)
    reals = [a_real_one(rng) for _ in range(real_ones)]
    for document in reals:
        assert agreed(json.dumps(document))
    verdicts = []
    for _ in range(count - real_ones):
        document = reals[rng.integers(real_ones)]
        document = a_composition(rng, document) if rng.random() < 0.5 else document
        if rng.random() < 0.5:
            document = edited(rng, document)
        known = document.get("checksum")
        verdicts.append(agreed(sealed(document) if rng.random() < 0.8 or known is None else json.dumps(document)))
    assert 0.15 * len(verdicts) < sum(verdicts) < 0.85 * len(verdicts)


def test_the_two_agree_on_certificates():
    assert_the_two_agree(0, 200, 20)


@pytest.mark.slow
def test_the_two_agree_on_ten_thousand_certificates():
    assert_the_two_agree(1, 10_000, 1000)


# --- what the second one says ---


@pytest.fixture(scope="module")
def document():
    return a_real_one(np.random.default_rng(3))


def reasons(document):
    return " ".join(verify_certificate(sealed(document)).reasons)


def test_certificates_and_their_text_are_taken(document):
    text = json.dumps(document)
    certificate = Certificate.from_json(text)
    assert verify_certificate(certificate) == verify_certificate(text)
    assert verify_certificate(text)
    for bad in (None, 1, document, text.encode()):
        with pytest.raises(InvalidArgumentError, match="certificate"):
            verify_certificate(bad)


def test_what_has_no_guarantee_is_refused_with_the_reason(document):
    assert "seeded" in reasons(document | {"secure": False})
    assert "not proved" in reasons(document | {"certified": False})
    assert "cost more" in reasons(document | {"claimed_epsilon": document["claimed_epsilon"] / 2})
    assert "cost more" in reasons(document | {"events": document["events"] * 3})
    assert verify_certificate(json.dumps(document | {"version": "9"})).reasons == (
        "the checksum is not that of the contents",
    )


def test_fits_that_are_not_private_are_refused():
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    seeded = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), random_state=0).fit(X, X[:, 0] > 0)
    assert "seeded" in " ".join(verify_certificate(seeded.certificate_).reasons)
    paper = FrankWolfe(n_iter=2, calibration="paper", allow_uncertified=True)
    model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1), mechanism=paper).fit(X, X[:, 0] > 0)
    assert "not proved" in " ".join(verify_certificate(model.certificate_).reasons)


@pytest.mark.parametrize(
    "change",
    [
        {"adjacency": "any"},
        {"claimed_epsilon": 0.0},
        {"claimed_epsilon": "1"},
        {"claimed_epsilon": True},
        {"claimed_delta": 1.0},
        {"claimed_delta": -1e-9},
        {"n_samples": 0},
        {"n_samples": 10.0},
        {"n_features": 0},
        {"unit": " "},
        {"mechanism": ""},
        {"row_norm": -1.0},
        {"bounds": {"lower": [2.0], "upper": [1.0]}},
        {"bounds": {"lower": [], "upper": [1.0]}},
        {"bounds": [[-1.0], [1.0]]},
        {"target": {"interval": {"low": 2.0, "high": 2.0}}},
        {"target": {"counts": {"low": -1.0, "high": 2.0, "unit": 1.0}}},
        {"target": "counts"},
        {"target": "classes", "events": []},
        {"events": [{"event": {"kind": "gaussian", "sensitivity": 1.0, "sigma": -1.0}, "count": 1}]},
        {"events": [{"event": {"kind": "unheard-of"}, "count": 1}]},
        {"events": [{"event": {"kind": "pure", "epsilon": 1e-9}, "count": 0}]},
        {"events": [{"event": {"kind": "failure", "delta": 1.0}, "count": 1}]},
        {"extra": 1},
        {"format": "dpsparse-certificate-1"},
        {"assumptions": [1]},
    ],
    ids=repr,
)
def test_contradictions_are_refused_by_both(document, change):
    text = sealed(document | change)
    assert not compiled(text)
    verdict = verify_certificate(text)
    assert not verdict
    assert not any("cost" in reason or "checksum" in reason for reason in verdict.reasons)


def test_events_of_another_adjacency_are_refused_by_both(document):
    fields = {"lipschitz_norm": 1.0, "sigma": 1e6, "curvature_log": 0.0, "adjacency": "add-remove"}
    event = {"event": {"kind": "objective-perturbation", **fields}, "count": 1}
    text = sealed(document | {"adjacency": "replace-one", "events": [event]})
    assert not compiled(text)
    assert "adjacency" in " ".join(verify_certificate(text).reasons)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "{", '{"format": NaN}', '{"a": 1, "a": 1}', '"\\ud800"', '{"format": "\\ud800"}', "[" * 9999],
)
def test_other_texts_are_refused_by_both(text):
    assert not compiled(text)
    assert not verify_certificate(text)


def test_mpmath_is_asked_for_by_name(document, monkeypatch):
    monkeypatch.setitem(sys.modules, "mpmath", None)
    with pytest.raises(InvalidArgumentError, match="pip install mpmath"):
        verify_certificate(json.dumps(document))


# --- its laws of losses ---


@pytest.mark.parametrize(("count", "epsilon0"), [(1, 0.5), (3, 0.4), (10, 0.15), (50, 0.07)])
def test_choices_lie_just_above_the_adaptive_optimum(count, epsilon0):
    accountant = Accountant().add(ExponentialEvent(epsilon0), count)
    for delta in (1e-6, 1e-2):
        epsilon = accountant.epsilon(delta)
        (law,) = choices(epsilon0, count, 48.0)
        bound = law.delta(epsilon, 0.0)
        optimum = reference.adaptive_choices_delta(epsilon, count, epsilon0, 24, float)
        assert bound >= optimum * (1 - 1e-9)
        assert bound <= delta * (1 + 1e-9) or epsilon > 0.9 * count * epsilon0  # where other bounds are nearer
        assert costs_at_most([({"kind": "exponential", "epsilon0": epsilon0}, count)], epsilon, delta * (1 + 1e-9))
        for t in np.linspace(0.05, 0.95, 7) * epsilon0:
            assert bound >= reference.fixed_choices_delta(epsilon, count, epsilon0, t) * (1 - 1e-9)


def test_responses_and_noise_have_their_exact_law():
    law = composed([[responses(0.3, 4)], [responses(0.1, 6)]])
    alone = responses(0.2, 30)
    for epsilon in (0.0, 0.3, 0.9):
        truth = float(reference.responses_delta(epsilon, [(0.2, 30)]))
        assert alone.delta(epsilon, 0.0) == pytest.approx(truth, rel=1e-11)
        truth = float(reference.responses_delta(epsilon, [(0.3, 4), (0.1, 6)]))
        assert truth * (1 - 1e-11) <= law.delta(epsilon, 0.0) <= 1.01 * truth
    for ratio in (0.01, 1.0, 60.0):
        epsilons = np.array([-3.0, -0.1, 0.0, 0.1, 1.0, 5.0]) * ratio
        truth = [float(reference.gaussian_delta(e, ratio)) for e in epsilons]
        np.testing.assert_allclose(gaussian_curve(epsilons, ratio), truth, rtol=1e-9, atol=1e-300)
