"""PrivateScaler: released ranges against their definition, what they cost, and scikit-learn's conventions."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import (
    Certificate,
    DpsparseError,
    InvalidArgumentError,
    InvalidDataError,
    PrivateScaler,
    PrivateSparseClassifier,
    ScalerPlan,
)
from dpsparse.privacy import Accountant, ExponentialEvent
from dpsparse.testing import audit
from reference.certificates import keeps_its_claim
from reference.statistics import LEVEL, p_value

EXAMPLES = settings(deadline=None, derandomize=True, max_examples=100, database=None)
UNIT = 16383
FEWEST, MOST = 5, 15  # bits of the number of thresholds


def make(**arguments):
    return PrivateScaler(**({"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), "random_state": 0} | arguments))


@parametrize_with_checks([PrivateScaler(bounds=(-1, 1))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# The law of a release


def thresholds_of(n, p, level, epsilon0, sensitivity=1):
    """As many thresholds as quantiles of p features are sure to be found among, in lattice units; beyond 2^10 of them
    nats are first to make them surer by 3."""
    nats = level * n * epsilon0 / (2 * sensitivity)
    bits, surer = (int(np.clip((nats - sure - np.log(2 * p)) / np.log(2), FEWEST, MOST)) for sure in (0.0, 3.0))
    bits = max(min(bits, 10), surer)
    stride = 2 ** (MOST - bits)
    ends = -(-UNIT // stride) * stride
    return np.arange(-ends, ends + 1, stride)


def log_laws(values, thresholds, level, epsilon0, sensitivity=1):
    """ln P of every threshold for both choices, for one feature with bounds (-1, 1), by the definition."""
    values = np.sort(np.rint(np.clip(values, -1, 1) * UNIT))
    up_to = np.searchsorted(values, thresholds, side="right")
    below = np.concatenate([[0], up_to[:-1]])
    laws = []
    for q in (level, 1 - level):
        k = np.floor(q * len(values) + 0.5)
        score = np.maximum(np.maximum(below - k, k - up_to), 0)
        logits = -epsilon0 * score / (2 * sensitivity)
        logits -= logits.max()
        laws.append(logits - np.log(np.exp(logits).sum()))
    return laws


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"level": 0.2},
        {"records_per_person": 3},
        {"adjacency": "add-remove", "n_public": 55},
    ],
    ids=["defaults", "level", "person", "add-remove"],
)
def test_ranges_follow_the_law(arguments):
    """Many equal features: as many independent draws of one law."""
    p = 1500
    values = np.random.default_rng(0).normal(0, 0.2, 60)
    estimator = make(epsilon=2000.0, **arguments)
    plan = estimator.plan(60, p)
    ((event, _),) = plan.events
    person = arguments.get("records_per_person", 1)
    thresholds = thresholds_of(plan.n_samples, p, plan.level, event.epsilon0, person)
    laws = log_laws(values, thresholds, plan.level, event.epsilon0, person)
    ranges = estimator.fit(np.repeat(values[:, None], p, axis=1)).ranges_

    # What is released is the middle of the values that a threshold counts.
    stride = thresholds[1] - thresholds[0]
    middles = (np.clip(thresholds - stride + 1, -UNIT, UNIT) + np.clip(thresholds, -UNIT, UNIT)) / 2

    def tests(laws):
        first, second = (np.cumsum(np.exp(law)) for law in laws)
        for drawn, up_to in (ranges[:, 0], 1 - (1 - first) * (1 - second)), (ranges[:, 1], first * second):
            # About equally likely stretches of thresholds, whatever the law.
            ends = np.unique(np.searchsorted(up_to, np.linspace(0, 1, 16)[1:-1]))
            indices = np.abs(middles - drawn[:, None] * UNIT).argmin(axis=1)
            places = np.searchsorted(ends, indices)
            counts = np.bincount(places, minlength=len(ends) + 1)
            yield p_value(counts, np.diff(np.concatenate([[0.0], up_to[ends], [1.0]])))

    assert len(np.unique(ranges)) > 10
    assert min(tests(laws)) > LEVEL
    wrong = log_laws(values, thresholds, plan.level, event.epsilon0 / 2, person)
    assert min(tests(wrong)) < LEVEL  # the test can tell another law


entries = st.integers(-8, 8).map(lambda k: k / 8)


@EXAMPLES
@given(data=st.data())
def test_neighbours_stay_within_the_events(data):
    """Exact enumeration: each choice within its range, both together within what the accountant says."""
    n, person = data.draw(st.integers(2, 12)), data.draw(st.integers(1, 2))
    X = np.array(data.draw(st.lists(entries, min_size=n, max_size=n)))
    epsilon = data.draw(st.sampled_from([0.3, 1.0, 8.0]))
    level = data.draw(st.sampled_from([None, 0.05, 0.4]))
    if data.draw(st.booleans()):
        adjacency, n_public = "add-remove", data.draw(st.integers(2, 12))
        X2 = X[min(person, n - 1) :]
    else:
        adjacency, n_public = "replace-one", None
        X2 = X.copy()
        X2[: min(person, n)] = data.draw(entries)
    estimator = make(
        epsilon=epsilon, delta=1e-3, level=level, adjacency=adjacency, n_public=n_public, records_per_person=person
    )
    plan = estimator.plan(n, 1)
    ((event, count),) = plan.events
    assert (count, plan.n_samples) == (2, n_public or n)
    facts = (plan.level, event.epsilon0, person)
    thresholds = thresholds_of(plan.n_samples, 1, *facts)
    pairs = [log_laws(values, thresholds, *facts) for values in (X, X2)]  # (data set, choice)
    accountant = Accountant().add(event, 2)
    assert accountant.delta(epsilon) <= 1e-3
    losses = []
    for one, other in zip(*pairs, strict=True):
        assert np.ptp(one - other) <= event.epsilon0 * (1 + 1e-9)
        # Thresholds of equal loss are one outcome.
        values, place = np.unique(np.round(one - other, 12), return_inverse=True)
        losses.append((values, np.bincount(place, np.exp(one)), np.bincount(place, np.exp(other))))
    (a, p_a, q_a), (b, p_b, q_b) = losses
    assert len(a) * len(b) < 1000
    for level in (epsilon, epsilon / 2, 0.0):
        for p, q in ((np.outer(p_a, p_b), np.outer(q_a, q_b)), (np.outer(q_a, q_b), np.outer(p_a, p_b))):
            assert np.maximum(p - np.exp(level) * q, 0).sum() <= accountant.delta(level) + 1e-12


def test_the_audit_finds_no_violation_and_can_find_one():
    """The tightest pair: both ends are undecided between many equal values and the empty stretch beside them."""
    ones, moved = 84, 20
    X = np.repeat([-1.0, 1.0], ones)[:, None]
    other = X.copy()
    other[ones - moved : ones] = 1.0

    def bound(**arguments):
        def release(records, key):
            return make(level=0.25, **arguments | {"random_state": key}).fit(records).ranges_

        return audit(release, X, other, 700, 1e-6)

    assert bound() > 1.0  # twenty people at once: beyond the claim
    assert bound(records_per_person=moved) <= 1.0


# Plans, costs and certificates


def test_the_plan_is_what_a_fit_spends():
    X = np.random.default_rng(0).normal(0, 5, (3000, 4))
    for arguments in (
        {},
        {"level": 0.02},
        {"delta": None},
        {"adjacency": "add-remove", "n_public": 2500},
        {"records_per_person": 4},
        {"bounds": ([-9, 0, -9, 2], [9, 0, 9, 2])},
    ):
        estimator = make(**({"bounds": (-100, 100)} | arguments))
        plan = estimator.plan(*X.shape)
        assert isinstance(plan, ScalerPlan)
        scaler = estimator.fit(X)
        certificate = scaler.certificate_
        ((event, count),) = plan.events
        assert isinstance(event, ExponentialEvent)
        assert count == (4 if "bounds" in arguments else 8)
        assert certificate.events == plan.events
        assert certificate.claim == (plan.epsilon, plan.delta)
        assert keeps_its_claim(certificate)
        # As much as the budget holds, and no more.
        assert 0.999 < certificate.epsilon(plan.delta) <= 1.0
        assert plan.delta == (1 / 9e6 if "delta" in arguments else 1e-6)
        assert scaler.level_ == plan.level
        assert Certificate.from_json(certificate.to_json()) == certificate
        assert certificate.adjacency == arguments.get("adjacency", "replace-one")
        assert not certificate.secure
        assert ("at most 4 records" in certificate.unit) == ("records_per_person" in arguments)
        assert plan.mechanism in repr(plan)
    assert make(random_state=None, bounds=(-100, 100)).fit(X).certificate_.secure


def test_constant_features_cost_nothing():
    X = np.random.default_rng(0).normal(size=(50, 2))
    scaler = make(bounds=(np.array([0, 3]), np.array([0, 3]))).fit(X)
    assert scaler.certificate_.events == []
    assert keeps_its_claim(scaler.certificate_)
    assert scaler.certificate_.epsilon(1e-6) == 0
    np.testing.assert_array_equal(scaler.ranges_, [[0, 0], [3, 3]])
    np.testing.assert_array_equal(scaler.transform(X), np.zeros((50, 2)))
    np.testing.assert_array_equal(scaler.inverse_transform(X), np.tile([0.0, 3.0], (50, 1)))


def test_the_public_rule_of_the_level():
    """level n epsilon0/2 is m ln(2^15 * 2 p), within 0.1 and 0.25; plans say where it is below m (ln(2^6 p) - 2)."""
    least, most = FEWEST * np.log(2) + np.log(20) - 2, MOST * np.log(2) + np.log(20)
    for n, epsilon, person in [(100_000, 1.0, 1), (3000, 0.3, 1), (3000, 1.0, 5), (200, 0.5, 1)]:
        plan = make(epsilon=epsilon, records_per_person=person).plan(n, 10)
        ((event, _),) = plan.events
        unit = 2 * person / (n * event.epsilon0)
        assert plan.level == pytest.approx(np.clip(most * unit, 0.1, 0.25), rel=1e-12)
        assert plan.reliable == (least * unit <= 0.25)
    assert make(level=0.01).plan(100_000, 2).reliable
    assert not make(level=0.01).plan(1000, 2).reliable
    assert make(level=0.01).plan(1000, 2).level == 0.01


def test_costs_add_up_in_one_accountant():
    rng = np.random.default_rng(0)
    X = rng.normal(50, 5, (4000, 3))
    y = np.where(X[:, 0] > X[:, 1], 1, 0)
    scaler = make(bounds=(0, 1000))
    model = PrivateSparseClassifier(1.0, 1e-6, classes=(0, 1), bounds=(-1, 1), scale=None, random_state=0)
    pipeline = make_pipeline(scaler, model).fit(X, y)
    assert pipeline.score(X, y) > 0.85
    accountant = Accountant()
    for event, count in scaler.certificate_.events + model.certificate_.events:
        accountant = accountant.add(event, count)
    assert 1.0 < accountant.epsilon(2e-6) < 2.0
    # The same model without a scaler sees a box that is hardly used.
    alone = clone(model).set_params(bounds=(0, 1000)).fit(X, y)
    assert alone.score(X, y) < pipeline.score(X, y)


# Ranges and maps


def test_ranges_are_quantiles_where_the_budget_is_large():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(3, 1, 5000), rng.exponential(2, 5000), rng.uniform(-7, 2, 5000)])
    bounds = ([-10, 0, -10], [10, 100, 10])
    for level in (0.02, 0.1, 0.4):
        scaler = make(epsilon=300.0, bounds=bounds, level=level).fit(X)
        exact = np.quantile(X, [level, 1 - level], axis=0).T
        step = (np.array(bounds[1]) - bounds[0])[:, None] / (2 * UNIT)
        spacing = 0.01  # of the order statistics beside a quantile
        assert np.all(np.abs(scaler.ranges_ - exact) <= 2 * step + spacing)


def test_values_map_as_documented():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(20, 2, 4000), np.full(4000, 7.0), rng.uniform(0, 100, 4000), np.full(4000, 5.0)])
    bounds = (np.array([0, 0, 0, 5]), np.array([100, 10, 100, 5]))
    for margin in (0.0, 0.25, 3):
        scaler = make(epsilon=10.0, bounds=bounds, margin=margin).fit(X)
        (low, high), flat = scaler.ranges_[0], scaler.ranges_[1]
        assert flat[0] == flat[1]  # a range of no width: mapped by its bounds
        wide = (np.maximum(low - margin * (high - low), 0), np.minimum(high + margin * (high - low), 100))
        probes = np.array([-50.0, wide[0], (wide[0] + wide[1]) / 2, wide[1], 500.0])
        Z = scaler.transform(np.column_stack([probes, [-1, 0, 5, 10, 11], probes, probes]))
        np.testing.assert_allclose(Z[:, 0], [-1, -1, 0, 1, 1], atol=1e-12)
        np.testing.assert_allclose(Z[:, 1], [-1, -1, 0, 1, 1], atol=1e-12)
        np.testing.assert_array_equal(Z[:, 3], 0)
        back = scaler.inverse_transform(Z)
        np.testing.assert_allclose(back[:, 0], np.clip(probes, *wide), rtol=1e-12)
        np.testing.assert_allclose(back[:, 1], [0, 0, 5, 10, 10], atol=1e-12)
        np.testing.assert_array_equal(back[:, 3], 5)
        assert np.all(scaler.inverse_transform(np.full((1, 4), 9.0)) <= bounds[1])
        Z = scaler.transform(X)
        assert Z.dtype == np.float64
        assert np.abs(Z).max() <= 1
    # What is fitted stays, whatever is set afterwards.
    before = scaler.transform(X)
    np.testing.assert_array_equal(scaler.set_params(margin=0.0, bounds=(-1, 1)).transform(X), before)


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")  # scikit-learn's sum of all entries
@pytest.mark.parametrize(
    "bounds", [(-1e308, 1e308), (1e300, 1.7e308), (-1e-300, 1e-300), (1e15, 1e15 + 8), (0, 1e-290)]
)
def test_extreme_bounds_stay_finite(bounds):
    low, high = bounds
    X = np.sort(low * (1 - np.linspace(0, 1, 400)) + high * np.linspace(0, 1, 400))[:, None]
    for margin in (0.0, 0.25, 1e308):
        scaler = make(epsilon=5.0, bounds=bounds, margin=margin).fit(X)
        Z = scaler.transform(X)
        back = scaler.inverse_transform(Z)
        ((a, b),) = scaler.ranges_
        assert low <= a <= b <= high
        assert np.all(np.abs(Z) <= 1)
        assert np.all(np.diff(Z[:, 0]) >= 0)
        assert np.all((low <= back) & (back <= high))
        if margin == 1e308:
            np.testing.assert_allclose(back, X, rtol=1e-12, atol=1e-12 * (high - low if high < 1e300 else high))


def test_storage_does_not_matter():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(500, 6)), 3) * (rng.uniform(size=(500, 6)) < 0.4)
    X = X.astype(np.float32)
    expected = make(bounds=(-2, 3)).fit(X)
    assert np.any(np.diff(expected.ranges_) > 0)
    kinds = [X.astype(float), np.asfortranarray(X), X.tolist(), pd.DataFrame(X), pl.DataFrame(X)]
    for kind in kinds + [fmt(X.astype(dtype)) for fmt in (sp.csr_matrix, sp.csc_array) for dtype in (float, "f4")]:
        scaler = make(bounds=(-2, 3)).fit(kind)
        np.testing.assert_array_equal(scaler.ranges_, expected.ranges_)
        assert scaler.certificate_ == expected.certificate_
        Z = scaler.transform(kind)
        assert type(Z) is np.ndarray
        np.testing.assert_array_equal(Z, expected.transform(X))


def test_seeds_decide_and_threads_do_not_matter_to_them():
    X = np.random.default_rng(0).normal(size=(300, 3))
    one, two = make(bounds=(-9, 9)).fit(X), make(bounds=(-9, 9)).fit(X)
    np.testing.assert_array_equal(one.ranges_, two.ranges_)
    assert np.any(make(bounds=(-9, 9), random_state=1).fit(X).ranges_ != one.ranges_)
    free = [make(bounds=(-9, 9), random_state=None).fit(X).ranges_ for _ in range(2)]
    assert np.any(free[0] != free[1])


def test_y_is_not_read():
    class Untouchable:
        def __getattribute__(self, name):
            if name == "__class__":
                return object.__getattribute__(self, name)
            raise AssertionError(f"y was asked for {name}")

    X = np.random.default_rng(0).normal(size=(300, 3))
    expected = make().fit(X)
    for y in (Untouchable(), "abc", np.full(7, np.nan)):
        scaler = make().fit(X, y)
        np.testing.assert_array_equal(scaler.ranges_, expected.ranges_)
        assert scaler.certificate_ == expected.certificate_


def test_names_pickles_and_clones():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 2)), columns=["age", "pay"])
    scaler = make(bounds=(-5, 5)).fit(X)
    assert list(scaler.feature_names_in_) == list(scaler.get_feature_names_out()) == ["age", "pay"]
    assert scaler.n_features_in_ == 2
    for again in (pickle.loads(pickle.dumps(scaler)), clone(scaler).fit(X)):
        np.testing.assert_array_equal(again.transform(X), scaler.transform(X))
        assert again.certificate_ == scaler.certificate_
    framed = clone(scaler).set_output(transform="pandas").fit_transform(X)
    assert list(framed.columns) == ["age", "pay"]
    np.testing.assert_array_equal(framed, scaler.transform(X))


def test_nothing_else_is_kept():
    """Fitted attributes: the ranges and what follows from them and from public facts."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    scaler = make(bounds=(-50, 50), adjacency="add-remove", n_public=256).fit(X)
    fitted = {name for name in vars(scaler) if name not in scaler.get_params()}
    assert fitted == {"ranges_", "certificate_", "level_", "n_features_in_", "_box"}
    text = scaler.certificate_.to_json()
    assert "300" not in text  # the true number of records is private under add-remove
    assert '"n_samples": 256' in text


# Errors

BAD = {
    "epsilon": [0, -1, np.nan, np.inf, "1", True, None],
    "delta": [0, 1, -1, np.nan, "1", True],
    "level": [0, 0.0, 0.5, 1, -0.1, np.nan, np.inf, "0.1", True, [0.1]],
    "margin": [-0.1, np.nan, np.inf, "1", None, True, 10**400],
    "adjacency": ["x", None, 5, ["add-remove"]],
    "n_public": [5, "a"],
    "records_per_person": [0, -1, 1.5, "1", None, True, 2**62],
    "random_state": ["x", -1, 1.5],
    "bounds": [
        5,
        (1, -1),
        ("a", "b"),
        (np.nan, 1),
        (0, np.inf),
        ([0, 0], [1, 1]),
        ([0, 0, 2], [1] * 3),
        (0, 1e-310),
    ],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused_by_name(name):
    X = np.random.default_rng(0).normal(size=(300, 3))
    for value in BAD[name]:
        scaler = make(**{name: value})
        with pytest.raises(InvalidArgumentError, match=rf"\b{name}\b") as raised:
            scaler.fit(X)
        assert isinstance(raised.value, DpsparseError)
        assert not hasattr(scaler, "certificate_")
    for arguments, missing in (({"n_public": 300, "delta": None}, "delta"), ({}, "n_public")):
        with pytest.raises(InvalidArgumentError, match=missing):
            make(adjacency="add-remove", **arguments).fit(X)
    with pytest.raises(InvalidArgumentError, match="epsilon is too small"):
        make(epsilon=1e-15, delta=1e-300).fit(X)
    with pytest.raises(InvalidArgumentError, match="n_samples"):
        make().plan(0, 3)
    with pytest.raises(InvalidArgumentError, match="n_features"):
        make().plan(10, 0)


def test_unusable_records_are_refused_without_showing_them():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[5, 1] = 0.7654321234
    holed, infinite = X.copy(), X.copy()
    holed[3, 1], infinite[3, 1] = np.nan, -np.inf
    words = X.astype(object)
    words[3, 1] = "confidential"
    broken = sp.csr_matrix(X)
    broken.indices = broken.indices.copy()
    broken.indices[2] = 77
    unusable = [holed, infinite, sp.csr_matrix(holed), pd.DataFrame(holed), words, pd.DataFrame(words), X + 1j, X[:, 1]]
    unusable += [X[None], X[:0], X[:, :0], broken, X.astype("M8[s]"), 0.7654321234, None, [[1.0], [2.0, 3.0]]]
    for records in unusable:
        scaler = make()
        with pytest.raises(InvalidDataError) as raised:
            scaler.fit(records)
        assert raised.value.__cause__ is None
        assert "765432" not in str(raised.value)
        assert "confidential" not in str(raised.value)
        assert not hasattr(scaler, "certificate_")
    with pytest.raises(InvalidArgumentError, match="n_samples=1"):
        make().fit(X[:1])


def test_huge_public_numbers_are_planned():
    plan = make(records_per_person=2**40).plan(1000, 3)
    assert (plan.level, plan.reliable) == (0.25, False)
    assert make().plan(10**9, 100_000).events[0][1] == 200_000
    ranges = make(records_per_person=2**61, bounds=(2, 3)).fit(np.full((10, 2), 2.5)).ranges_
    assert np.all((ranges >= 2) & (ranges <= 3))
