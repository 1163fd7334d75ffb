"""The exact exponential mechanism from Python, randomness across forks, and threads that change no bit."""

import ast
import time

import numpy as np
import pytest
from sklearn.base import clone

from dpsparse import (
    DisjointGroups,
    DpsparseError,
    FrankWolfe,
    InvalidArgumentError,
    PrivateSparseClassifier,
    Vertices,
)
from dpsparse.privacy.noise import exponential_mechanism
from processes import needs_fork, run, run_forked
from reference.statistics import LEVEL, p_value


def law(scores, sensitivity, epsilon):
    scores = [int(q) for q in scores]
    gaps = np.array([float(q - min(scores)) for q in scores])
    weights = np.exp(-epsilon / (2 * sensitivity) * gaps)
    return weights / weights.sum()


CASES = [
    ([0, 1, 2, 3, 4], 1, 1.0),
    ([0, 0, 0, 10, 10, 20, 30, 40], 1, 0.1),
    ([5, 5], 3, 2.0),
    ([-(2**40), -(2**40) + 2**39, 0, 2**40], 2**40, 3.0),
    (list(range(200)), 7, 1.0),
    ([0, 10**15, 1, 10**15 + 1], 1, 0.5),
    ([0, 2, 4, 6], 1, float(np.log(2))),  # weights that are powers of two, nearly: classes and their edges
    ([0, 1000, 1000, 1000, 1000], 2**50, 1024.0),
    ([-(2**63), 2**63 - 1, -(2**63) + 5], 2, 1.0),
    ([3], 1, 1.0),
]


@pytest.mark.parametrize(("scores", "sensitivity", "epsilon"), CASES)
@pytest.mark.parametrize("options", [{"seed": 1}, {"seed": 2}, {"seed": 1, "constant_time": True}])
def test_choices_follow_the_law(scores, sensitivity, epsilon, options):
    draws = exponential_mechanism(np.array(scores, dtype=np.int64), sensitivity, epsilon, size=200_000, **options)
    assert draws.dtype == np.int64
    counts = np.bincount(draws, minlength=len(scores))
    assert len(counts) == len(scores)
    expected = law(scores, sensitivity, epsilon)
    if (expected > 0).sum() == 1:
        assert counts.max() == 200_000
        return
    assert p_value(counts, expected) > LEVEL
    assert (counts[expected < 1e-30] == 0).all()


def test_the_check_would_see_a_wrong_temperature():
    scores, sensitivity, epsilon = CASES[0]
    draws = exponential_mechanism(scores, sensitivity, epsilon, size=200_000, seed=1)
    counts = np.bincount(draws, minlength=len(scores))
    assert p_value(counts, law(scores, sensitivity, 1.1 * epsilon)) < LEVEL
    assert p_value(counts, law(scores, sensitivity, epsilon / 2)) < LEVEL


def test_single_draws_follow_the_law_too():
    scores, sensitivity, epsilon = [0, 1, 3, 7], 1, 1.0
    draws = [exponential_mechanism(scores, sensitivity, epsilon, seed=seed)[0] for seed in range(20_000)]
    assert p_value(np.bincount(draws, minlength=4), law(scores, sensitivity, epsilon)) > LEVEL
    secure = exponential_mechanism(scores, sensitivity, epsilon, size=100_000)
    assert p_value(np.bincount(secure, minlength=4), law(scores, sensitivity, epsilon)) > 1e-9


def test_gaps_of_1e15_and_a_million_ties():
    assert exponential_mechanism([10**15, 0, 2 * 10**15], 1, 1.0, size=1000).tolist() == [1] * 1000
    # The gap is in units of the sensitivity: with a large one the choice is nearly free.
    free = exponential_mechanism([10**15, 0], 2**62, 1.0, size=10_000, seed=0)
    assert 4500 < free.sum() < 5500
    start = time.perf_counter()
    ties = np.full(1_000_000, 7)
    draws = exponential_mechanism(ties, 1, 1.0, size=100_000, seed=5)
    cells = np.bincount(draws // 10_000, minlength=100)
    assert p_value(cells, np.full(100, 0.01)) > LEVEL
    assert time.perf_counter() - start < 10
    # One good candidate among a million bad ones that weigh as much together.
    gap = int(2 * np.log(1e6))
    scores = np.full(1_000_001, gap)
    scores[17] = 0
    draws = exponential_mechanism(scores, 1, 1.0, size=20_000, seed=6)
    hit = np.count_nonzero(draws == 17)
    share = 1 / (1 + 1e6 * np.exp(-gap / 2))
    assert p_value([hit, 20_000 - hit], [share, 1 - share]) > LEVEL


def test_scores_of_every_kind_of_integer():
    expected = exponential_mechanism([0, 5, 9], 2, 1.0, size=50, seed=1).tolist()
    buffer = np.zeros(3 * 8 + 1, dtype=np.uint8)[1:].view(np.int64)
    buffer[:] = [0, 5, 9]
    for scores in (
        np.array([0, 5, 9], dtype=np.int8),
        np.array([0, 5, 9], dtype=np.uint64),
        np.array([0, 5, 9], dtype=">i8"),
        np.array([0, 1, 5, 1, 9])[::2],
        buffer,
        (0, 5, 9),
    ):
        assert exponential_mechanism(scores, 2, 1.0, size=50, seed=1).tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"scores": []}, "scores"),
        ({"scores": [0.5, 1.0]}, "scores"),
        ({"scores": [np.nan, 1.0]}, "scores"),
        ({"scores": [[1, 2]]}, "scores"),
        ({"scores": 5}, "scores"),
        ({"scores": ["a"]}, "scores"),
        ({"scores": [True, False]}, "scores"),
        ({"scores": None}, "scores"),
        ({"scores": [[1, 2], [3]]}, "scores"),
        ({"scores": [2**63]}, "scores"),
        ({"scores": [10**30]}, "scores"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"sensitivity": -1}, "sensitivity"),
        ({"sensitivity": 1.5}, "sensitivity"),
        ({"sensitivity": True}, "sensitivity"),
        ({"sensitivity": None}, "sensitivity"),
        ({"sensitivity": 2**63}, "sensitivity"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": np.nan}, "epsilon"),
        ({"epsilon": np.inf}, "epsilon"),
        ({"epsilon": 1025.0}, "epsilon"),
        ({"epsilon": 1e-30}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": 10**400}, "epsilon"),
        ({"size": 0}, "size"),
        ({"size": -3}, "size"),
        ({"size": 2.0}, "size"),
        ({"size": 2**62}, "size"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"seed": "x"}, "seed"),
        ({"constant_time": 1}, "constant_time"),
    ],
)
def test_bad_input(arguments, name):
    good = {"scores": [1, 2, 3], "sensitivity": 1, "epsilon": 1.0, "size": 1, "seed": 0}
    with pytest.raises(InvalidArgumentError, match=f"^{name}") as caught:
        exponential_mechanism(**(good | arguments))
    assert isinstance(caught.value, DpsparseError)


def test_seeds_reproduce_and_the_system_does_not():
    scores = np.zeros(1000, dtype=int)
    seeded = [exponential_mechanism(scores, 1, 1.0, size=20, seed=9).tolist() for _ in range(2)]
    assert seeded[0] == seeded[1]
    assert exponential_mechanism(scores, 1, 1.0, size=20, seed=10).tolist() != seeded[0]
    free = [exponential_mechanism(scores, 1, 1.0, size=20).tolist() for _ in range(2)]
    assert free[0] != free[1]


@pytest.mark.parametrize("norm", ["l1", "simplex", Vertices([[1.0, 0.5, 0.0], [-1.0, 0.0, 0.25], [0.0, -0.5, -1.0]])])
def test_fits_choose_in_constant_time_too(norm):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 3))
    y = np.where(X[:, 0] + 0.2 * rng.normal(size=4000) > 0, 1, -1)
    options = {"norm": norm, "epsilon": 2.0, "bounds": (-1, 1), "classes": (-1, 1), "fit_intercept": False}
    plain, even = (
        PrivateSparseClassifier(mechanism=FrankWolfe(n_iter=12, constant_time=constant), **options)
        for constant in (False, True)
    )
    assert even.plan(4000, 3).events == plain.plan(4000, 3).events
    assert even.fit(X, y).score(X, y) > 0.85
    assert even.certificate_.verify()
    seeded = [clone(even).set_params(random_state=4).fit(X, y).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*seeded)


@pytest.mark.parametrize(
    ("mechanism", "norm"),
    [
        (FrankWolfe(constant_time=True), "linf"),
        (FrankWolfe(constant_time=True), DisjointGroups([0, 0, 1])),
        (FrankWolfe(constant_time=True, refresh="lagging"), "l1"),
        (FrankWolfe(constant_time=True, calibration="paper", allow_uncertified=True), "l1"),
    ],
)
def test_where_choices_have_no_constant_time(mechanism, norm):
    model = PrivateSparseClassifier(mechanism=mechanism, norm=norm, bounds=(-1, 1), classes=(-1, 1))
    with pytest.raises(InvalidArgumentError, match="constant_time"):
        model.plan(1000, 3)


# --- choices that once ran on ---


def test_a_strong_group_beside_a_large_noisy_one():
    """The strong group of 30 is far ahead of the product of 400 features: as quick as any other choice."""
    script = """
        import numpy as np
        from dpsparse import DisjointGroups, FrankWolfe, PrivateSparseClassifier
        rng = np.random.default_rng(0)
        y = rng.choice([-1, 1], 20_000)
        X = rng.uniform(-1, 1, (20_000, 430))
        X[:, :30] = 0.6 * y[:, None] + 0.4 * X[:, :30]
        groups = DisjointGroups(np.r_[np.zeros(30, dtype=int), np.ones(400, dtype=int)])
        arguments = {"classes": (-1, 1), "epsilon": 2.0, "random_state": 0, "bounds": (-1.0, 1.0)}
        model = PrivateSparseClassifier(mechanism=FrankWolfe(n_iter=3), norm=groups, **arguments).fit(X, y)
        print(np.isfinite(model.coef_).all(), model.n_iter_)
    """
    assert run(script).split() == ["True", "3"]


def test_subsets_of_small_gains():
    """Gains 0.5^k of 100 features: summands of weights down to rounding are chosen with few rounds all the same."""
    script = """
        import numpy as np
        from dpsparse import DualFrankWolfe, PrivateSparseClassifier
        from dpsparse.set_functions import ConcaveCardinality
        rng = np.random.default_rng(0)
        X, y = rng.uniform(-1, 1, (500, 100)), rng.choice([-1, 1], 500)
        norm = ConcaveCardinality(np.cumsum(0.5 ** np.arange(1, 101)))
        mechanism = DualFrankWolfe("selection", n_iter=1, alpha=0.05, ridge=0.2)
        arguments = {"classes": (-1, 1), "epsilon": 1.0, "delta": 1e-6, "random_state": 0, "fit_intercept": False}
        model = PrivateSparseClassifier(mechanism=mechanism, norm=norm, **arguments).fit(X, y)
        print(np.isfinite(model.coef_).all(), model.n_iter_)
    """
    assert run(script).split() == ["True", "1"]


# --- other processes ---


SEEDED_FITS = """
    import numpy as np, scipy.sparse as sp
    from dpsparse import DisjointGroups, PrivateSparseClassifier, PrivateSparseRegressor, Vertices
    rng = np.random.default_rng(0)
    n, p = 7001, 40
    X = np.where(rng.uniform(size=(n, p)) < 0.5, 0.0, rng.uniform(-1, 1, (n, p)))
    y = rng.choice([-1, 1], n)
    hull = Vertices(rng.uniform(-1, 1, (5, p)))
    for norm in ("l1", "simplex", "linf", DisjointGroups(np.arange(p) % 9), hull):
        for loss in ("logistic", "huber", lambda z, y: np.tanh(z - y)):
            for data in (X, np.asfortranarray(X), sp.csr_matrix(X), sp.csc_matrix(X)):
                arguments = {"norm": norm, "loss": loss, "n_iter": 7, "random_state": 5, "epsilon": 20.0}
                model = PrivateSparseClassifier(classes=(-1, 1), **arguments).fit(data, y)
                print(model.coef_.tobytes().hex(), model.intercept_.tobytes().hex())
    model = PrivateSparseRegressor(n_iter=7, random_state=5).fit(X, X[:, 0] + y)
    print(model.coef_.tobytes().hex(), model.intercept_.hex())
"""


def test_threads_change_no_bit():
    outputs = {run(SEEDED_FITS, RAYON_NUM_THREADS=str(threads)) for threads in (1, 2, 3)}
    assert len(outputs) == 1
    lines = outputs.pop().split("\n")
    assert len(lines) == 5 * 3 * 4 + 2
    assert len(set(lines)) > 10  # the fits are not all alike


FORK = """
    import numpy as np
    from dpsparse import PrivateSparseClassifier
    from dpsparse.privacy.noise import exponential_mechanism
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6000, 40))
    y = rng.choice([-1, 1], 6000)

    def fit(seed=None):
        model = PrivateSparseClassifier(classes=(-1, 1), n_iter=30, epsilon=0.1, random_state=seed)
        return model.fit(X, y).coef_.tobytes().hex()

    def draw():
        return exponential_mechanism(np.zeros(10**4, dtype=int), 1, 1.0, size=30).tolist()

    def work():
        return fit(), draw(), fit(1)

    if {warm}:
        work()
"""


@needs_fork
@pytest.mark.parametrize("warm", [True, False])
def test_forked_children_work_and_draw_their_own_randomness(warm):
    found = run_forked(FORK.replace("{warm}", str(warm)), ["child(work, 2)", "child(work)", "here(work)"])
    results = [ast.literal_eval(text) for text in found]
    assert len(results) == 4  # a child, its own child, a second child, the parent
    models, draws, seeded = zip(*results, strict=True)
    assert len(set(models)) == 4
    assert len({tuple(draw) for draw in draws}) == 4
    assert len(set(seeded)) == 1
