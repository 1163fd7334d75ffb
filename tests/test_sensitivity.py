"""Integer sensitivity: at any public theta the gradient moves by at most the stated bound.

The bounds are those of `theory_of_privacy::records` and `theory_of_privacy::frank_wolfe`.
"""

from itertools import count

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpsparse import CustomLoss, UserLossError, _core
from dpsparse.mechanisms import resolve, specification
from reference import cases
from reference import frank_wolfe as reference

EXAMPLES = settings(deadline=None, derandomize=True, max_examples=150, database=None)
BOUNDS = ((-1.0, 1.0), (0.0, 2.0), (-1.0, 3.0), (1.0, 2.0), (-0.3, 0.1), (1.5, 1.5), (-1e-9, 1e12))
FINITE = st.floats(-1e300, 1e300)
STORAGES = ("dense", "fortran", "csr", "csc", "duplicates")


def statement(problem, loss=None):
    estimator = cases.estimator(problem, **({} if loss is None else {"loss": loss}))
    name, options = specification(resolve(estimator.mechanism, estimator), estimator)
    return estimator._statement(10, problem.n_features), name, options


def stored(X, how):
    """What the core takes, for one way to store the same records."""
    X = np.array(X, dtype=np.float64)
    if how == "dense":
        return X
    if how == "fortran":
        return np.asfortranarray(X)
    matrix = sp.csc_matrix(X) if how == "csc" else sp.csr_matrix(X)
    if how == "duplicates":
        # Every entry in two parts that add up exactly, the second ones later and in another order, and a few zeros.
        half = X / 2
        rows = [
            [*zip(range(X.shape[1]), row, strict=True), *[(j, row[j]) for j in reversed(range(X.shape[1]))], (0, 0.0)]
            for row in half
        ]
        indices = np.array([j for row in rows for j, _ in row], dtype=np.int32)
        values = np.array([v for row in rows for _, v in row])
        starts = np.cumsum([0] + [len(row) for row in rows]).astype(np.int32)
        return "csr", X.shape, starts, indices, values
    return matrix.format, matrix.shape, matrix.indptr, matrix.indices, matrix.data


def gradient(problem, X, y, theta, unit, *, how="dense", loss=None):
    return _core.non_private_gradient(
        *statement(problem, loss), stored(X, how), np.array(y, dtype=np.float64), [int(t) for t in theta], unit
    )


@st.composite
def settings_of_a_fit(draw, domains=cases.DOMAINS):
    domain = draw(st.sampled_from(domains))
    p = draw(st.integers(1, 3))
    bounds = [draw(st.sampled_from(BOUNDS)) for _ in range(p)]
    classes = draw(st.booleans())
    facts = {
        "lower": tuple(lo for lo, _ in bounds),
        "upper": tuple(hi for _, hi in bounds),
        "intercept": draw(st.booleans()),
        "loss": draw(st.sampled_from(LOSSES if classes else [name for name in LOSSES if name in REGRESSION])),
        "y_bounds": None if classes else draw(st.sampled_from([(-1.0, 1.0), (0.0, 3.0)])),
        "adjacency": draw(st.sampled_from(["replace-one", "add-remove"])),
        "records_per_person": draw(st.sampled_from([1, 2])),
    }
    if facts["loss"] == "squared" and not classes:
        facts["residual_bound"] = draw(st.sampled_from([None, 0.3, 1e6]))
    if domain in ("linf", "groups"):
        facts["row_norm"] = draw(st.sampled_from([None, 0.8, 1e-3]))
    return cases.problem(domain, p, **facts)


LOSSES = ("logistic", "hinge", "squared", "huber", "absolute")
REGRESSION = ("squared", "huber", "absolute")


@st.composite
def neighbours(draw, problem):
    """Common records, and one person's records before and after; values may lie anywhere."""
    corner = st.sampled_from([*problem.lower, *problem.upper, 0.0])
    target = st.sampled_from([-1.0, 1.0])
    target = target if problem.y_bounds is None else st.one_of(target, FINITE)
    record = st.tuples(*[st.one_of(corner, FINITE)] * problem.n_features, target)
    m = problem.records_per_person
    common = draw(st.lists(record, min_size=1, max_size=4))
    person = draw(st.lists(record, min_size=m, max_size=m))
    other = [] if problem.adjacency == "add-remove" else draw(st.lists(record, min_size=m, max_size=m))
    at = draw(st.integers(0, len(common)))
    return [common[:at] + mine + common[at:] for mine in (person, other)]


UNITS = st.one_of(st.sampled_from([0.0, 1.0, 1e-4, -1e-4, 1e-9, 1e300, float("inf"), float("nan")]), st.floats(0, 1))


@st.composite
def public_point(draw, problem):
    entry = st.one_of(st.integers(-3, 3), st.integers(-(2**42), 2**42))
    return [draw(entry) for _ in range(problem.n_columns)], draw(UNITS)


def assert_within_the_bound(problem, one, other):
    """Every score of every vertex moves by at most D; for linf the gradient moves by at most D in Euclidean norm."""
    bound = reference.sensitivity(problem)
    moved = [int(a) - int(b) for a, b in zip(one, other, strict=True)]
    if problem.domain == "linf":
        assert sum(v * v for v in moved) <= bound**2
        return
    choices, _ = reference.vertices(problem)
    divisor = 2 ** reference.score_shift(problem)
    for vertex in choices.tolist():
        before, after = (sum(v * int(g) for v, g in zip(vertex, gradient, strict=True)) for gradient in (one, other))
        assert abs(before // divisor - after // divisor) <= bound
    # the integers of a single coordinate, whatever the domain
    _, d_max = reference.derivative_lattice(problem)
    assert max(map(abs, moved)) <= reference.contributions(problem) * d_max * reference.UNIT


def representable(problem, data):
    """Sparse storage with row_norm needs bounds that contain zero, and duplicates need entries that halve exactly."""
    contains_zero = all(lo <= 0 <= hi or lo == hi for lo, hi in zip(problem.lower, problem.upper, strict=True))
    halves = all(v == 0 or abs(v) > 1e-300 for record in data for v in record[:-1])
    return (problem.row_norm is None or contains_zero) and halves


@EXAMPLES
@given(st.data(), st.sampled_from(STORAGES))
def test_scores_move_by_at_most_the_stated_sensitivity(data, how):
    problem = data.draw(settings_of_a_fit())
    one, other = data.draw(neighbours(problem))
    assume(how in ("dense", "fortran") or representable(problem, one + other))
    theta, unit = data.draw(public_point(problem))
    before, d_max, scale = gradient(problem, *cases.split(one), theta, unit, how=how)
    after, *_ = gradient(problem, *cases.split(other), theta, unit, how=how)
    assert (scale, d_max) == reference.derivative_lattice(problem)
    assert_within_the_bound(problem, before, after)


@EXAMPLES
@given(st.data())
def test_every_storage_gives_the_same_integers(data):
    problem = data.draw(settings_of_a_fit())
    one, _ = data.draw(neighbours(problem))
    assume(representable(problem, one))
    theta, unit = data.draw(public_point(problem))
    gradients = [gradient(problem, *cases.split(one), theta, unit, how=how)[0].tolist() for how in STORAGES]
    assert all(other == gradients[0] for other in gradients)


@pytest.mark.parametrize("domain", cases.DOMAINS)
@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_bound_is_attained_and_no_smaller_one_is(domain, p, m, adjacency, intercept):
    """The sharpness of D: records at a corner of the box move some score by exactly D (rounded up)."""
    facts = {"intercept": intercept, "adjacency": adjacency, "records_per_person": m, "loss": "hinge"}
    problem = cases.problem(domain, p, **facts)
    choices, _ = reference.vertices(problem)
    divisor = 2 ** reference.score_shift(problem)
    largest = 0
    for signs in np.ndindex(*(2,) * p):
        corner = [2.0 * s - 1 for s in signs]
        person = [(*corner, 1.0)] * m
        replaced = [] if adjacency == "add-remove" else [(*corner, -1.0)] * m
        common = [(*[0.0] * p, 1.0)]
        zero = [0] * problem.n_columns
        one, other = (gradient(problem, *cases.split(common + mine), zero, 0.0)[0] for mine in (person, replaced))
        moved = one - other
        if domain == "linf":
            largest = max(largest, reference.ceil_sqrt(int((moved.astype(object) ** 2).sum())))
        else:
            largest = max(largest, *(abs(int(v)) for v in choices.astype(object) @ moved.astype(object)))
    bound = reference.sensitivity(problem)
    if domain == "linf":  # the root is rounded up before it is multiplied
        assert (1 - 1e-4) * bound <= largest <= bound
    else:
        assert -(-largest // divisor) == bound


@EXAMPLES
@given(st.data())
def test_the_gradient_is_that_of_the_definition(data):
    problem = data.draw(settings_of_a_fit())
    one, _ = data.draw(neighbours(problem))
    theta = [data.draw(st.integers(-3, 3)) for _ in range(problem.n_columns)]
    unit = data.draw(st.sampled_from([0.0, 1e-4, 1e-5]))
    ours, *_ = gradient(problem, *cases.split(one), theta, unit)
    theirs = reference.integer_gradient(problem, *cases.split(one), theta, unit)
    # A feature or a derivative that lies on a tie, to within float precision, may be rounded the other way.
    assert np.abs(ours - theirs).max() <= len(one) * 2 * reference.CLAMP


def recovered_features(problem, X, how="dense"):
    """The stored integers: at theta = 0 the hinge has d = -y d_max, so that a single record shows its features."""
    rows = []
    for x in X:
        g, d_max, _ = gradient(problem, [x], [-1.0], [0] * problem.n_columns, 0.0, how=how)
        assert (g % d_max == 0).all()
        rows.append((g // d_max).tolist())
    return rows


@EXAMPLES
@given(st.data(), st.sampled_from(["dense", "csr", "duplicates"]))
def test_features_are_rounded_to_the_nearest_lattice_point(data, how):
    domain = data.draw(st.sampled_from(cases.DOMAINS))
    lo, hi = data.draw(st.sampled_from(BOUNDS))
    problem = cases.problem(domain, 1, lower=(lo,), upper=(hi,), loss="hinge", intercept=data.draw(st.booleans()))
    x = data.draw(st.one_of(st.floats(lo, hi), FINITE, st.integers(0, 64).map(lambda k: lo + (hi - lo) * k / 64)))
    assume(x == 0 or abs(x) > 1e-300)
    ((value, *rest),) = recovered_features(problem, [(x,)], how)
    exact = float(reference.exact_lattice_value(problem, 0, x))
    assert abs(value - exact) <= 0.5 + 1e-6
    assert abs(value) <= reference.UNIT
    assert rest == [reference.UNIT] * problem.intercept


@EXAMPLES
@given(
    st.sampled_from(["linf", "groups"]),
    st.lists(st.tuples(*[st.floats(-3, 3)] * 3), min_size=1, max_size=3),
    st.sampled_from([1e-5, 1e-3, 0.5, 1.0, 1.4, 10.0]),
)
def test_rows_are_shortened_to_the_norm(domain, X, norm):
    problem = cases.problem(domain, 3, loss="hinge", row_norm=norm)
    free = cases.problem(domain, 3, loss="hinge", row_norm=10.0)
    limit = int(norm * reference.UNIT)
    for row, full in zip(recovered_features(problem, X), recovered_features(free, X), strict=True):
        row, full = row[:3], full[:3]
        length, whole = (sum(v * v for v in values) for values in (row, full))
        assert length <= limit**2
        if whole <= limit**2:
            assert row == full
        else:
            factor = limit / whole**0.5
            assert all(abs(a - b * factor) <= 1 for a, b in zip(row, full, strict=True))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [1, 31, 32, 33, 95, 96, 97, 200, 1025])
@pytest.mark.parametrize("how", ["dense", "fortran", "csr"])
def test_records_do_not_couple(loss, n, how):
    """The gradient is the sum over records of what each gives alone, in vector tails too: the basis of the bound."""
    rng = np.random.default_rng(n)
    p = 6
    problem = reference.Problem("l1", (-1.0,) * p, (2.0,) * p, loss=loss)
    X = np.where(rng.uniform(size=(n, p)) < 0.3, 0.0, rng.uniform(-2, 3, (n, p)))
    y = rng.choice([-1.0, 1.0], n)
    theta, unit = rng.integers(-(10**6), 10**6, p + 1), 1e-10
    theta[0] = 10**9
    whole, *_ = gradient(problem, X, y, theta, unit, how=how)
    some = rng.permutation(n)[:40]
    alone = np.array([gradient(problem, X[[i]], y[[i]], theta, unit)[0] for i in some])
    rest = np.setdiff1d(np.arange(n), some)
    others = gradient(problem, X[rest], y[rest], theta, unit, how=how)[0] if len(rest) else 0
    assert (whole == alone.sum(axis=0) + others).all()
    order = rng.permutation(n)
    assert (gradient(problem, X[order], y[order], theta, unit, how=how)[0] == whole).all()


def test_a_packed_view_reads_its_own_records_only():
    """A field of a packed record array: strides that are no multiple of the item size."""
    rng = np.random.default_rng(0)
    records = np.zeros(50, dtype=[("x", "f8", (3,)), ("flag", "i1"), ("y", "f8")])
    records["x"], records["y"] = rng.uniform(-1, 1, (50, 3)), rng.uniform(-1, 1, 50)
    shifted = np.zeros(50 * 3 * 8 + 1, dtype=np.uint8)[1:].view(np.float64).reshape(50, 3)
    shifted[...] = records["x"]
    problem = reference.Problem("l1", (-1.0,) * 3, (1.0,) * 3, loss="squared", y_bounds=(-1.0, 1.0))
    facts = statement(problem)
    theta = [5, 3, 2, 1]
    expected = _core.non_private_gradient(*facts, records["x"].copy(), records["y"].copy(), theta, 1e-5)[0]
    for x in (records["x"], shifted):
        assert (_core.non_private_gradient(*facts, x, records["y"], theta, 1e-5)[0] == expected).all()


# --- a user's own loss ---


class Resetting:
    """A loss with a state that changes from entry to entry and would change from call to call."""

    def __init__(self, body):
        self.body = body

    def __call__(self, z, y):
        return self.body(z, y, np.random.default_rng(0))


def alternating(z, y, _):
    return np.fromiter((1e300 if k % 2 else -1e300 for k in count()), float, count=z.size)


WILD = {
    "NaN": lambda z, y, _: np.full_like(z, np.nan),
    "NaN here and there": lambda z, y, rng: np.where(rng.uniform(size=z.size) < 0.5, np.nan, z - y),
    "1e300": lambda z, y, _: np.where(y > 0, -1e300, 1e300),
    "infinite": lambda z, y, _: np.where(z > 0, np.inf, -np.inf),
    "a state kept between entries": alternating,
    "random": lambda z, y, rng: 10 * rng.standard_normal(z.size),
    "writes into its arguments": lambda z, y, _: np.copyto(z, 0.3 * y) or z,
    "a list": lambda z, y, _: (0.5 * z).tolist(),
    "integers": lambda z, y, _: np.sign(z - y).astype(int),
}


@pytest.mark.parametrize("name", WILD)
@pytest.mark.parametrize("y_bounds", [None, (0.0, 3.0)])
@pytest.mark.parametrize("lipschitz", [1.0, 0.37])
@settings(EXAMPLES, max_examples=4)
@given(st.data())
def test_whatever_a_users_loss_does_the_bound_holds(name, y_bounds, lipschitz, data):
    domain = data.draw(st.sampled_from(cases.DOMAINS))
    adjacency = data.draw(st.sampled_from(["replace-one", "add-remove"]))
    # The reference takes L from here: any catalogued loss with that constant has the same D.
    problem = cases.problem(domain, 2, loss="huber", parameter=lipschitz, y_bounds=y_bounds, adjacency=adjacency)
    one, other = data.draw(neighbours(problem))
    theta, unit = data.draw(public_point(problem))
    loss = CustomLoss(Resetting(WILD[name]), lipschitz)
    before, d_max, scale = gradient(problem, *cases.split(one), theta, unit, loss=loss)
    after, *_ = gradient(problem, *cases.split(other), theta, unit, loss=loss)
    assert (scale, d_max) == reference.derivative_lattice(problem)
    assert_within_the_bound(problem, before, after)


def test_a_users_loss_is_called_once_before_the_records_and_sees_the_same_grid():
    seen = []

    def spy(z, y):
        seen.append((z.copy(), y.copy()))
        return np.clip(z - y, -1, 1)

    rng = np.random.default_rng(1)
    problem = reference.Problem("l1", (-1.0,) * 2, (1.0,) * 2)
    for n in (40, 40):
        X, y = rng.uniform(-1, 1, (n, 2)), rng.choice([-1, 1], n)
        cases.estimator(problem, loss=spy, n_iter=5, random_state=0).fit(X, y)
    assert len(seen) == 2
    for one, other in zip(*seen, strict=True):
        assert (one == other).all()
    assert set(seen[0][1]) == {-1.0, 1.0}
    plan = cases.estimator(problem, loss=spy, n_iter=5).plan(40, 2)
    for seed in range(3):
        _core.fit_private(plan, X, y.astype(float), seed=seed, progress=None)
    assert len(seen) == 3


def test_a_state_kept_between_calls_never_meets_the_records():
    """Each plan has one table: fits under it are those of a loss without a state."""
    calls = count(1)

    def changing(z, y):
        return np.clip(z - y, -1, 1) / next(calls)

    rng = np.random.default_rng(2)
    X, y = rng.uniform(-1, 1, (30, 2)), rng.choice([-1.0, 1.0], 30)
    problem = reference.Problem("l1", (-1.0,) * 2, (1.0,) * 2)
    plan = cases.estimator(problem, loss=changing, n_iter=5, epsilon=100.0).plan(30, 2)
    steady = cases.estimator(problem, loss=lambda z, y: np.clip(z - y, -1, 1), n_iter=5, epsilon=100.0).plan(30, 2)
    for seed in range(5):
        one, other = (_core.fit_private(p, X, y, seed=seed, progress=None)[0] for p in (plan, steady))
        assert (one == other).all()
    assert next(calls) == 2


@pytest.mark.parametrize(
    "loss",
    [
        lambda z, y: 1 / 0,
        lambda z, y: z[:3],
        lambda z, y: "text",
        lambda z, y: None,
        lambda z: z,
        lambda z, y: z.reshape(2, -1),
        lambda z, y: 1.0,
    ],
)
def test_a_loss_that_fails_fails_before_the_records(loss):
    estimator = cases.estimator(reference.Problem("l1", (-1.0,), (1.0,)), loss=loss, n_iter=2)
    with pytest.raises(UserLossError, match="loss"):
        estimator.plan(10, 1)
    with pytest.raises(UserLossError, match="loss"):
        estimator.fit(np.zeros((10, 1)), [1, -1] * 5)
    assert not hasattr(estimator, "certificate_")


def test_an_interrupt_inside_a_users_loss_is_not_swallowed():
    def interrupted(z, y):
        raise KeyboardInterrupt

    problem = reference.Problem("l1", (-1.0,), (1.0,))
    with pytest.raises(KeyboardInterrupt):
        cases.estimator(problem, loss=interrupted).plan(10, 1)
