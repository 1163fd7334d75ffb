"""What every catalogued loss and every domain must keep. A new loss is picked up by its name."""

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.base import clone

from dpsparse import (
    Certificate,
    DisjointGroups,
    FrankWolfe,
    InvalidArgumentError,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SparseClassifier,
    Vertices,
    _core,
)
from reference.certificates import keeps_its_claim

N, P = 90, 5
LOWER, UPPER = np.array([-1.0, 0.0, -2.0, 1.0, -1.0]), np.array([1.0, 4.0, 1.0, 1.0, 3.0])  # the fourth is constant
Y_BOUNDS = (-1.0, 3.0)
COUNT_BOUNDS = (0.0, 4.0)
RADIUS = 1.5
GROUPS = [[0, 3], [1], [4, 2]]
HULL = [[1.0, 0.0, 0.0, 0.0, -0.5], [0.0, -2.0, 0.3, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4, 0.5], [-1.0, 1.0, 0.0, 0.0, 0.0]]
DOMAINS = {
    "l1": "l1",
    "simplex": "simplex",
    "linf": "linf",
    "groups": DisjointGroups(GROUPS),
    "vertices": Vertices(HULL),
}


def own_derivative(z, y):
    return np.tanh(z - y)


LOSSES = [*_core.loss_names(), own_derivative]


def kinds_of(loss):
    """What the loss is for; estimators refuse it for anything else, before they see data."""
    if loss == "poisson":
        return ["counts"]
    try:
        PrivateSparseRegressor(loss=loss, bounds=(-1, 1), y_bounds=(-1, 1)).plan(10, 1)
    except InvalidArgumentError as error:
        if "two classes" in str(error):
            return ["classifier"]
        raise
    return ["classifier", "regressor"]


KINDS = [
    pytest.param(kind, loss, domain, id=f"{kind}-{getattr(loss, '__name__', loss)}-{domain}")
    for loss in LOSSES
    for kind in kinds_of(loss)
    for domain in DOMAINS
] + [
    pytest.param("multiclass", loss, domain, id=f"multiclass-{loss}-{domain}")
    for loss in ("logistic", "clipped-logistic")
    for domain in ("l1", "linf", "groups")
]
every_kind = pytest.mark.parametrize(("kind", "loss", "domain"), KINDS)


def make(kind, loss, domain, **arguments):
    arguments = {
        "epsilon": 2.0,
        "loss": loss,
        "norm": DOMAINS[domain],
        "radius": None if domain == "vertices" else RADIUS,
        "bounds": (LOWER, UPPER),
        "n_iter": 6,
        "random_state": 3,
    } | arguments
    if kind == "classifier":
        return PrivateSparseClassifier(classes=("no", "yes"), **arguments)
    if kind == "counts":
        del arguments["loss"]
        return PrivateSparsePoissonRegressor(y_bounds=COUNT_BOUNDS, **arguments)
    if kind == "multiclass":
        return PrivateSparseClassifier(classes=("no", "perhaps", "yes"), **arguments)
    return PrivateSparseRegressor(y_bounds=Y_BOUNDS, **arguments)


def records(kind, seed=0):
    """Values with few binary digits, so that float32 holds them, a third of them zero, some outside the bounds."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(N, P)) < 0.33, 0, rng.integers(-160, 320, (N, P)) / 64)
    signal = X[:, 0] - 0.4 * X[:, 1] + rng.normal(0, 0.3, N)
    if kind == "counts":
        return X, np.floor(np.exp(signal))
    if kind == "multiclass":
        return X, np.select([signal > 0.5, signal < -0.5], ["yes", "no"], "perhaps")
    return X, np.where(signal > 0, "yes", "no") if kind == "classifier" else np.round(2 * signal) / 2


def model(estimator):
    return (*np.ravel(estimator.coef_).tolist(), *np.ravel(estimator.intercept_).tolist())


def scaled_model(estimator, kind, domain):
    """Coefficients, a row a score, and intercepts in the units of the ball: scaled ones."""
    constant = LOWER == UPPER
    if domain == "linf" or not estimator.fit_intercept:
        half, middle = np.maximum(np.abs(LOWER), np.abs(UPPER)), np.zeros(P)
    else:
        half, middle = (UPPER - LOWER) / 2, (UPPER + LOWER) / 2
    half, middle = np.where(constant, 1, half), np.where(constant, 0, middle)
    coefficients, intercepts = np.atleast_2d(estimator.coef_).astype(float), np.ravel(estimator.intercept_)
    if kind == "regressor":
        low, high = Y_BOUNDS
        y_half, y_middle = ((high - low) / 2, (high + low) / 2) if estimator.fit_intercept else (max(-low, high), 0.0)
        coefficients, intercepts = coefficients / y_half, (intercepts - y_middle) / y_half
    if kind == "counts" and estimator.fit_intercept:
        intercepts = intercepts - np.log(COUNT_BOUNDS[1] / 8)
    theta = coefficients * half
    return theta, intercepts + theta @ (middle / half)


def distance_from_hull(point, vertices):
    """Least largest deviation of a coordinate from a convex combination."""
    v = np.array(vertices, dtype=float)
    slack = np.ones((v.shape[1], 1))
    result = linprog(
        [0.0] * len(v) + [1.0],
        A_ub=np.block([[v.T, -slack], [-v.T, -slack]]),
        b_ub=[*point, *(-p for p in point)],
        A_eq=[[1.0] * len(v) + [0.0]],
        b_eq=[1.0],
        method="highs",
    )
    assert result.status == 0
    return result.fun


@every_kind
def test_certificate_is_the_plan_and_verifies(kind, loss, domain):
    estimator = make(kind, loss, domain)
    plan = estimator.plan(N, P)
    estimator.fit(*records(kind))
    certificate = estimator.certificate_
    assert certificate.events == plan.events
    assert sum(number for _, number in certificate.events) == plan.n_iter == estimator.n_iter_ == 6
    assert certificate.claim == (plan.epsilon, plan.delta) == (2.0, 1e-6)
    assert certificate.mechanism == plan.mechanism
    assert certificate.certified
    assert plan.certified
    assert keeps_its_claim(certificate)
    assert not certificate.secure
    assert 0.99 * plan.epsilon < certificate.epsilon(plan.delta) <= plan.epsilon
    assert certificate.delta(plan.epsilon) <= plan.delta
    assert certificate.delta(0.5) >= certificate.delta(1.0) > 0
    assert plan.noise_scales[0] > 0
    again = Certificate.from_json(certificate.to_json())
    assert again == certificate
    assert keeps_its_claim(again)
    tampered = json.loads(certificate.to_json())
    tampered["claimed_epsilon"] /= 2
    assert np.isinf(Certificate.from_json(json.dumps(tampered)).epsilon(plan.delta))


@every_kind
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_models_lie_in_the_ball(kind, loss, domain, fit_intercept):
    estimator = make(kind, loss, domain, fit_intercept=fit_intercept, epsilon=50.0).fit(*records(kind))
    theta, intercepts = scaled_model(estimator, kind, domain)
    if not fit_intercept:
        assert not np.ravel(estimator.intercept_).any()
    assert not np.atleast_2d(estimator.coef_)[:, 3].any()  # bounds say that the feature is constant
    # Its weight is dropped on the way to the user's units, so the norms below are lower bounds of those inside.
    tolerance = 1e-9
    size = {
        "l1": lambda: np.abs(theta).sum() + np.abs(intercepts).sum(),
        "linf": lambda: max(np.abs(theta).max(), np.abs(intercepts).max()),
        "groups": lambda: sum(np.abs(theta[:, group]).max() for group in GROUPS) + np.abs(intercepts).max(),
        "simplex": lambda: theta.sum() + abs(intercepts[0]),
    }
    if domain != "vertices":
        assert size[domain]() <= RADIUS + tolerance
        assert size[domain]() > 0
        assert domain != "simplex" or theta.min() >= -tolerance
        return
    l1 = max(sum(map(abs, row)) for row in HULL)
    hull = [[*row, 0.0] for row in HULL]
    hull += [[0.0] * P + [l1], [0.0] * P + [-l1]] if fit_intercept else []
    # Entries are rounded to 2^-20 of the largest one. The constant feature is not seen from outside.
    keep = [0, 1, 2, 4, 5]
    assert distance_from_hull(np.array([*theta[0], *intercepts])[keep], np.array(hull)[:, keep]) <= 2 * 2.0**-20


@every_kind
def test_storage_does_not_matter(kind, loss, domain):
    X, y = records(kind)
    strided = np.zeros((2 * N, 3 * P))
    strided[::2, 1::3] = X
    duplicated = sp.coo_matrix(
        (np.concatenate([X[X != 0] / 2] * 2), tuple(np.concatenate([i] * 2) for i in np.nonzero(X))), X.shape
    )
    rows = sp.csr_matrix(X)
    summed_late = sp.csr_matrix(
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr), shape=X.shape
    )
    long = rows.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    stored = {
        "Fortran order": np.asfortranarray(X),
        "float32": X.astype(np.float32),
        "float32 in Fortran order": np.asfortranarray(X.astype(np.float32)),
        "strided": strided[::2, 1::3],
        "backwards": X[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": X.copy(),
        "list": X.tolist(),
        "CSR": rows,
        "CSR array": sp.csr_array(X),
        "CSR with duplicates": summed_late,
        "CSR with long indices": long,
        "CSC": sp.csc_matrix(X),
        "CSC float32": sp.csc_matrix(X.astype(np.float32)),
        "COO with duplicates": duplicated,
        "sparse with stored zeros": sp.csr_matrix(
            (X.ravel(), np.tile(np.arange(P), N), np.arange(0, N * P + 1, P)), shape=X.shape
        ),
    }
    stored["read-only"].flags.writeable = False
    expected = model(make(kind, loss, domain).fit(X, y))
    different = [name for name, data in stored.items() if model(make(kind, loss, domain).fit(data, y)) != expected]
    assert different == []


@every_kind
def test_seeds_and_copies(kind, loss, domain):
    X, y = records(kind)
    estimator = make(kind, loss, domain).fit(X, y)
    assert model(clone(estimator).fit(X, y)) == model(estimator)
    assert model(make(kind, loss, domain, random_state=np.random.RandomState(3)).fit(X, y)) == model(estimator)
    generated = [make(kind, loss, domain, random_state=np.random.default_rng(8)).fit(X, y) for _ in range(2)]
    assert model(generated[0]) == model(generated[1])
    others = {model(make(kind, loss, domain, random_state=seed).fit(X, y)) for seed in range(12)}
    assert len(others) > 1
    # The commonest model of the most concentrated law (absolute loss, simplex) has a probability of about 0.7. Up to
    # 0.86, a hundred equal ones in a row are less likely than 1e-6.
    secure = (model(make(kind, loss, domain, random_state=None).fit(X, y)) for _ in range(100))
    first = next(secure)
    assert any(other != first for other in secure)
    assert make(kind, loss, domain, random_state=None).fit(X, y).certificate_.secure

    back = pickle.loads(pickle.dumps(estimator))
    assert model(back) == model(estimator)
    assert back.certificate_ == estimator.certificate_
    assert (back.predict(X) == estimator.predict(X)).all()


@every_kind
def test_predictions(kind, loss, domain):
    X, y = records(kind)
    estimator = make(kind, loss, domain).fit(X, y)
    predicted = estimator.predict(X)
    if kind == "multiclass":
        scores = X @ estimator.coef_.T + estimator.intercept_
        assert estimator.coef_.shape == (3, P)
        assert estimator.classes_.tolist() == ["no", "perhaps", "yes"]
        assert np.allclose(estimator.decision_function(X), scores)
        assert np.allclose(estimator.decision_function(sp.csr_matrix(X)), scores)
        assert predicted.tolist() == estimator.classes_[estimator.decision_function(X).argmax(axis=1)].tolist()
        assert hasattr(estimator, "predict_proba") == (loss == "logistic")
        assert hasattr(estimator, "predict_log_proba") == (loss == "logistic")
        return
    linear = X @ np.ravel(estimator.coef_) + np.ravel(estimator.intercept_)
    assert estimator.support_.tolist() == np.flatnonzero(np.ravel(estimator.coef_)).tolist()
    if kind == "classifier":
        assert estimator.coef_.shape == (1, P)
        assert estimator.intercept_.shape == (1,)
        assert estimator.classes_.tolist() == ["no", "yes"]
        assert np.allclose(estimator.decision_function(X), linear)
        assert np.allclose(estimator.decision_function(sp.csr_matrix(X)), linear)
        assert predicted.tolist() == np.where(estimator.decision_function(X) > 0, "yes", "no").tolist()
        assert hasattr(estimator, "predict_proba") == (loss == "logistic")
        assert hasattr(estimator, "predict_log_proba") == (loss == "logistic")
        if loss == "logistic":
            assert np.allclose(estimator.predict_proba(X), 1 / (1 + np.exp(np.outer(linear, [1, -1]))))
    else:
        assert estimator.coef_.shape == (P,)
        assert np.ndim(estimator.intercept_) == 0
        clipped = np.clip(np.exp(linear) if kind == "counts" else linear, *estimator.target_bounds_)
        assert np.isfinite(predicted).all()
        assert np.allclose(predicted, clipped)
        assert np.allclose(estimator.predict(sp.csr_matrix(X)), clipped)


@every_kind
def test_the_scale_follows_the_neighbours(kind, loss, domain):
    def scale(**arguments):
        (one,) = make(kind, loss, domain, delta=1e-6, **arguments).plan(N, P).noise_scales
        return one

    replace = scale()
    # Scores of explicit vertices are floored to coarser integers: the bound is rounded up.
    assert scale(adjacency="add-remove", n_public=N) == pytest.approx(replace / 2, rel=1e-6)
    assert scale(records_per_person=3) == pytest.approx(3 * replace, rel=1e-6)
    assert scale(epsilon=4.0) < replace < scale(epsilon=1.0)
    assert scale(n_iter=24) > 1.5 * replace
    (fewer,) = make(kind, loss, domain, delta=1e-6).plan(N // 2, P).noise_scales
    assert fewer == pytest.approx(2 * replace, rel=1e-6)


@every_kind
def test_add_remove_fits_carry_the_public_count_only(kind, loss, domain):
    X, y = records(kind)
    one, other = (
        make(kind, loss, domain, adjacency="add-remove", n_public=100, delta=1e-6).fit(X[:n], y[:n]) for n in (N, N - 1)
    )
    assert one.certificate_ == other.certificate_
    assert one.certificate_.adjacency == "add-remove"
    assert keeps_its_claim(one.certificate_)
    assert json.loads(one.certificate_.to_json())["n_samples"] == 100


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_calibrations(domain, calibration):
    mechanism = FrankWolfe(n_iter=4, calibration=calibration, allow_uncertified=True)
    estimator = make("classifier", "logistic", domain, mechanism=mechanism, n_iter=None)
    if calibration == "paper" and domain in ("linf", "groups"):
        with pytest.raises(InvalidArgumentError, match="calibration"):
            estimator.fit(*records("classifier"))
        return
    certificate = estimator.fit(*records("classifier")).certificate_
    certified = calibration == "tight"
    assert certificate.certified == keeps_its_claim(certificate) == certified
    assert np.isinf(certificate.epsilon(1e-6)) == (not certified)
    assert (certificate.delta(1.0) == 1.0) == (not certified)


@pytest.mark.parametrize("norm", ["linf", "groups"])
def test_row_norm_reduces_the_noise(norm):
    scales = [
        make("classifier", "logistic", norm, row_norm=row_norm).plan(N, P).noise_scales[0]
        for row_norm in (0.5, 1.0, None)
    ]
    assert scales[0] <= scales[1] <= scales[2]
    assert scales[0] < scales[2]
    estimator = make("classifier", "logistic", norm, row_norm=0.5).fit(*records("classifier"))
    assert json.loads(estimator.certificate_.to_json())["row_norm"] == 0.5


def test_counts_have_their_own_estimator_and_loss():
    for estimator in (
        PrivateSparseClassifier(loss="poisson", bounds=(-1, 1), classes=(0, 1)),
        PrivateSparseRegressor(loss="poisson", bounds=(-1, 1), y_bounds=(0, 1)),
    ):
        with pytest.raises(InvalidArgumentError, match="PrivateSparsePoissonRegressor"):
            estimator.plan(10, 1)


@pytest.mark.parametrize("norm", ["l1", "l21", "linf"])
@pytest.mark.parametrize("loss", [name for name in _core.loss_names() if name != "poisson"])
def test_exact_fits_of_three_classes_are_certified_or_refused(loss, norm):
    X, y = records("multiclass")
    exact = SparseClassifier(loss=loss, norm=norm, alpha=0.03)
    if loss != "logistic" or norm == "linf":
        needed = "loss='logistic'" if loss != "logistic" else "norm='l1' or 'l21'"
        with pytest.raises(InvalidArgumentError, match=f"has 3 classes, .* needs {needed}; .*OneVsRestClassifier"):
            exact.fit(X, y)
        assert not hasattr(exact, "coef_")
        return
    exact.fit(X, y)
    assert exact.coef_.shape == (3, P)
    assert len(exact.support_) > 0
    assert 0.0 <= exact.duality_gap_ <= 1e-6 * np.log(3)
    assert np.allclose(exact.predict_proba(X).sum(axis=1), 1.0)
    assert exact.score(X, y) > np.unique(y, return_counts=True)[1].max() / N


def test_every_catalogued_loss_is_in_the_suite():
    """An unknown name lists the catalogue: the names above are all of them."""
    with pytest.raises(InvalidArgumentError, match="must be one of") as caught:
        PrivateSparseClassifier(loss="no such loss", bounds=(-1, 1)).plan(10, 1)
    listed = str(caught.value).split("one of ")[1].split(";")[0].split(", ")
    assert listed == _core.loss_names()
    assert len(listed) >= 5
