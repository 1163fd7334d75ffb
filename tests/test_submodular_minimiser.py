"""Private submodular minimisation and minimum-norm points beside brute force over all sets, certificates, edges."""

import itertools
import os
import signal
import threading
import warnings

import numpy as np
import pytest

from dpsparse import BudgetExceededError, InvalidArgumentError
from dpsparse.combinatorial import PrivateMinimumNormPoint, PrivateSubmodularMinimizer
from dpsparse.privacy import Accountant
from dpsparse.set_functions import FromOracle, GraphCut, Modular
from reference.certificates import keeps_its_claim

P = 6


def summand(rng):
    """A cut of one reported edge of a path, and a wish for or against three elements: none of it monotone."""
    edge = int(rng.integers(P - 1))
    wish = np.where(np.arange(P) < 3, -0.6, 0.6) * (rng.uniform(size=P) < 0.8)
    weight = 0.4

    def value(A):
        inside = set(A)
        return weight * ((edge in inside) != (edge + 1 in inside)) + sum(wish[j] for j in inside)

    return FromOracle(value, P)


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    return [summand(rng) for _ in range(n)]


def total(summands, A):
    return sum(F(list(A)) for F in summands)


def best(summands, penalty=0.0):
    subsets = itertools.chain.from_iterable(itertools.combinations(range(P), k) for k in range(P + 1))
    return min(total(summands, A) + penalty * len(A) for A in subsets)


def test_little_noise_finds_the_minimum():
    summands = people(60)
    model = PrivateSubmodularMinimizer(1e4, 0.1, n_iter=60, norm=2.0, random_state=0).fit(summands)
    found = total(summands, model.minimizer_)
    assert found - best(summands) <= 0.02 * abs(best(summands))
    assert model.lovasz_point_.shape == (P,)
    assert ((model.lovasz_point_ >= 0) & (model.lovasz_point_ <= 1)).all()
    assert model.n_iter_ == 60


def test_its_certificate_is_that_of_the_plan():
    summands = people(40)
    model = PrivateSubmodularMinimizer(2.0, 1e-6, n_iter=5, norm=2.0).fit(summands)
    plan = model.plan(40, P)
    assert model.certificate_.verify()
    assert model.certificate_.secure
    assert model.certificate_.events == plan.events
    assert [count for _, count in plan.events] == [5, 1]
    assert keeps_its_claim(model.certificate_)
    # Twice the norm under replace-one, in the accountant's own terms.
    (event, _), _ = plan.events
    assert event.sigma / event.sensitivity == pytest.approx(plan.noise_scales[0] / (2 * 2.0), rel=1e-3)
    seeded = PrivateSubmodularMinimizer(2.0, 1e-6, n_iter=5, norm=2.0, random_state=0).fit(summands)
    assert not seeded.certificate_.verify()


def test_add_remove_has_half_the_noise():
    with_all = PrivateSubmodularMinimizer(1.0, 1e-6, n_iter=10).plan(100, P)
    around = PrivateSubmodularMinimizer(1.0, 1e-6, n_iter=10, adjacency="add-remove", n_public=100).plan(90, P)
    assert around.n_samples == 100
    np.testing.assert_allclose(around.noise_scales, np.array(with_all.noise_scales) / 2, rtol=1e-6)


def test_one_person_moves_a_sum_by_no_more_than_the_norm(monkeypatch):
    """The sums of a seeded run and of its neighbour differ by what the sensitivity says, however wild a summand is."""
    from dpsparse import _core

    real, seen = _core.RunningSums, []

    class Watched:
        def __init__(self, *args, **named):
            self.inner = real(*args, **named)

        def sum(self, vectors):
            seen.append(self.inner.sum(vectors))
            return seen[-1]

        @property
        def certificate(self):
            return self.inner.certificate

    monkeypatch.setattr(_core, "RunningSums", Watched)
    summands = people(30)
    wild = [*summands[:-1], FromOracle(lambda A: 1e6 * (3 in A) - 1e6 * (0 in A), P)]
    for data in (summands, wild):
        PrivateSubmodularMinimizer(1.0, 1e-6, n_iter=1, norm=1.5, random_state=3).fit(data)
    first, _, other, _ = seen  # both start at the same public point
    assert 0 < np.linalg.norm(first - other) <= 2 * 1.5 * (1 + 1e-4)


def test_many_people_find_the_set_with_little_budget():
    summands = people(300)
    model = PrivateSubmodularMinimizer(10.0, 1e-6, n_iter=12, norm=2.0, random_state=0).fit(summands)
    assert total(summands, model.minimizer_) <= 0.9 * best(summands)  # both are negative


@pytest.mark.parametrize("seed", [0, 1])
def test_a_minimum_norm_point_has_the_minimisers_of_every_price(seed):
    summands = people(50, seed)
    model = PrivateMinimumNormPoint(1e5, 0.1, n_iter=200, norm=2.0, random_state=0).fit(summands)
    sets = []
    for price in np.linspace(-0.8, 0.8, 17):
        chosen = model.minimizer(price)
        value = total(summands, chosen) / 50 + price * len(chosen)
        assert value - best(summands, 50 * price) / 50 <= 0.01
        sets.append(set(chosen.tolist()))
    assert all(later <= sooner for sooner, later in itertools.pairwise(sets))
    assert sets[0] == set(range(P))
    assert sets[-1] == set()


def test_a_minimum_norm_point_is_the_closest_to_zero():
    """Of all points of the base polytope, which are the means of greedy vertices along any orders."""
    summands = people(40)
    model = PrivateMinimumNormPoint(1e5, 0.1, n_iter=200, norm=2.0, random_state=1).fit(summands)
    orders = np.random.default_rng(0).normal(size=(300, P))
    vertices = [sum(one.base_vertex(order) for one in summands) / 40 for order in orders]
    # <x, s - x> >= 0 for all s: no vertex is on the near side.
    assert min(model.point_ @ (vertex - model.point_) for vertex in vertices) >= -0.01
    assert model.point_.sum() == pytest.approx(total(summands, range(P)) / 40, abs=0.01)


def test_the_certificate_of_a_minimum_norm_point():
    summands = people(30)
    model = PrivateMinimumNormPoint(1.0, 1e-6, n_iter=4, norm=2.0).fit(summands)
    plan = model.plan(30, P)
    assert model.certificate_.verify()
    assert model.certificate_.events == plan.events
    ((event, count),) = plan.events
    assert (count, plan.step, len(plan.noise_scales)) == (4, None, 1)
    assert event.sigma / event.sensitivity == pytest.approx(plan.noise_scales[0] / (2 * 2.0), rel=1e-3)
    assert keeps_its_claim(model.certificate_)
    # All of the budget is in the steps: less noise than where a last sum has its share.
    assert plan.noise_scales[0] < PrivateSubmodularMinimizer(1.0, 1e-6, n_iter=4, norm=2.0).plan(30, P).noise_scales[0]


@pytest.mark.parametrize("penalty", [np.nan, np.inf, "1", None])
def test_prices_that_are_none(penalty):
    model = PrivateMinimumNormPoint(1.0, 1e-6, n_iter=2, random_state=0).fit(people(4))
    with pytest.raises(InvalidArgumentError, match="penalty"):
        model.minimizer(penalty)


ESTIMATORS = [PrivateSubmodularMinimizer, PrivateMinimumNormPoint]


class Stop(BaseException):
    """What is no Exception, as cancellations are."""


class Wild(Modular):
    """A summand whose vertex is what it is told to be."""

    def __init__(self, answer):
        super().__init__([0.1] * P)
        self.answer = answer

    def base_vertex(self, w):
        return self.answer() if callable(self.answer) else self.answer


def raising(error):
    def answer():
        raise error

    return answer


def late(value):
    """An oracle that keeps its promises while it is looked at."""
    made = []
    summand = FromOracle(lambda A: value() if made else 0.1 * len(A), P)
    made.append(True)
    return summand


FAILING = {
    "raises": lambda: late(raising(ValueError("income 7654321"))),
    "stops": lambda: late(raising(Stop("income 7654321"))),
    "is no number": lambda: late(lambda: "much"),
    "nan": lambda: late(lambda: float("nan")),
    "inf": lambda: late(lambda: float("inf")),
    "vertex of nan": lambda: Wild(np.full(P, np.nan)),
    "vertex with inf": lambda: Wild(np.array([np.inf] + [0.0] * (P - 1))),
    "short vertex": lambda: Wild(np.ones(P - 1)),
    "vertex of text": lambda: Wild(["a"] * P),
    "no vertex": lambda: Wild(None),
}


@pytest.mark.parametrize("failing", FAILING)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_summands_that_fail_count_as_zeros(estimator, failing):
    """They fail after the budget is spent: an error would be a person's."""
    fits = []
    for last in (FAILING[failing](), Modular([0.0] * P)):
        with Accountant(10.0, 1e-5) as accountant:
            model = estimator(1.0, 1e-6, n_iter=3, random_state=0, ledger=accountant)
            fits.append(model.fit([*people(5), last]))
    released = [vars(fit) for fit in fits]
    for name in {"lovasz_point_", "point_", "minimizer_"} & released[0].keys():
        np.testing.assert_array_equal(released[0][name], released[1][name])
    assert fits[0].certificate_.events == fits[1].certificate_.events


def warning():
    warnings.warn("income 7654321", stacklevel=2)
    return 0.5


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_warning_of_a_summand_is_shown(estimator):
    """Their own, those of numpy within them, and those about what they return: each would be a person's."""
    last = [late(warning), late(lambda: float(np.exp(np.float64(1000.0)))), late(lambda: np.complex128(1j))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator(1.0, 1e-6, n_iter=3).fit([*people(5), *last])
        assert not caught
        warnings.warn("what comes later is shown", stacklevel=1)
    assert len(caught) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
def test_a_child_that_is_forked_amid_a_fit_of_another_thread_fits():
    """What keeps warnings back is held by a thread that is not there."""
    began, ends = threading.Event(), threading.Event()

    def waits():
        began.set()
        ends.wait(60)
        return 0.5

    fit = PrivateSubmodularMinimizer(1.0, 1e-6, n_iter=1).fit
    thread = threading.Thread(target=fit, args=([*people(5), late(waits)],))
    thread.start()
    began.wait(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        fit(people(5))
        os._exit(7)
    ends.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


class Writes(Modular):
    """A summand that writes into what it is given."""

    def base_vertex(self, w):
        vertex = super().base_vertex(w)
        w[:] = 1000.0 * np.arange(P)
        return vertex


class Shared(Modular):
    """Summands that answer in one array, which each of them fills anew."""

    def __init__(self, weights, where):
        super().__init__(weights)
        self.where = where

    def base_vertex(self, w):
        self.where[:] = super().base_vertex(w)
        return self.where


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_summands_answer_for_themselves(estimator):
    """What one of them does to arrays reaches no other one, and not what is released."""
    weights, where = np.linspace(0.0, 1.0, 2 * P).reshape(2, P), np.zeros(P)
    fits = []
    for ends in (
        [Modular(weights[0]), Modular(weights[1])],
        [Writes(weights[0]), Modular(weights[1])],
        [Shared(weights[0], where), Shared(weights[1], where)],
    ):
        fits.append(estimator(50.0, 1e-6, n_iter=3, random_state=0).fit([ends[0], *people(5), ends[1]]))
    for fit in fits[1:]:
        for name in {"lovasz_point_", "point_", "minimizer_"} & vars(fit).keys():
            np.testing.assert_array_equal(vars(fit)[name], vars(fits[0])[name])


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_who_stops_a_fit_stops_it(error):
    with pytest.raises(error):
        PrivateSubmodularMinimizer(1.0, 1e-6, n_iter=3).fit([*people(5), late(raising(error()))])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_budgets_refuse(estimator):
    with Accountant(1.0, 1e-5) as accountant:
        estimator(0.8, 1e-6, n_iter=2, ledger=accountant).fit(people(5))
        with pytest.raises(BudgetExceededError):
            estimator(0.8, 1e-6, n_iter=2, ledger=accountant).fit(people(5))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"n_iter": 0}, "n_iter"),
        ({"norm": 0.0}, "norm"),
        ({"norm": float("inf")}, "norm"),
        ({"adjacency": "add-remove"}, "n_public"),
        ({"adjacency": "neither"}, "adjacency"),
        ({"ledger": 3}, "ledger"),
    ],
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_arguments_out_of_their_domains(options, name, estimator):
    model = estimator(**({"delta": 1e-6} | options))
    with pytest.raises(InvalidArgumentError, match=name):
        model.fit(people(4))


@pytest.mark.parametrize(
    "summands", [[], [1.0], [lambda A: 0.0], [GraphCut([(0, 1)], n_features=2), GraphCut([(0, 1)], n_features=3)]]
)
def test_what_are_no_summands(summands):
    with pytest.raises(InvalidArgumentError, match="summands"):
        PrivateSubmodularMinimizer(1.0, 1e-6).fit(summands)
