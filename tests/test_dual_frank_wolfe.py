"""Frank-Wolfe on the dual: against exact solvers in the limit, its noise and its events against the formulas."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2, norm

from dpsparse import (
    Certificate,
    CustomLoss,
    DisjointGroups,
    DualFrankWolfe,
    Huber,
    InvalidArgumentError,
    InvalidDataError,
    OutputPerturbation,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    SparseClassifier,
    UnsoundMechanismError,
    Vertices,
)
from dpsparse import set_functions as sf
from dpsparse.mechanisms import theorem_4_iterations
from dpsparse.privacy import GaussianEvent, ZeroConcentratedEvent
from reference.certificates import keeps_its_claim
from reference.statistics import LEVEL

VARIANTS = ("noisy-iterates", "selection")
SURE = 1e9  # epsilon at which noise is far below what the tests look at


def data(n=400, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    z = 3 * X[:, 0] - 2 * X[:, 1] + 0.5 * rng.logistic(size=n)
    return X, np.where(z > 0, 1, -1)


def classifier(mechanism, **arguments):
    fixed = {"bounds": (-1, 1), "classes": (-1, 1), "random_state": 0, "delta": 1e-6, "fit_intercept": False}
    return PrivateSparseClassifier(**(fixed | arguments), mechanism=mechanism)


def mean_loss(X, y, theta):
    return np.logaddexp(0, -y * (X @ theta)).mean()


X, Y = data()
TREE = sf.Tree([[0, 1, 2, 3, 4, 5], [0, 1], [2, 3, 4], [3]], weights=[0.5, 1.0, 1.0, 0.7], n_features=6)
CHAIN = sf.GraphCut([(j, j + 1) for j in range(5)], n_features=6)
NORMS = {
    "l1": "l1",
    "linf": "linf",
    "groups": DisjointGroups([[0, 1], [2, 3], [4, 5]]),
    "tree": TREE,
    "overlapping": sf.GroupCover([[0, 1, 2], [2, 3, 4], [4, 5, 0], [1, 3]], n_features=6),
    "range": sf.ContiguousRange(6),
    "sorted": sf.ConcaveCardinality(np.sqrt(np.arange(1, 7))),
    "pairs": sf.PartitionRank([[0, 1, 2], [3, 4, 5]], [2, 2], n_features=6),
    "chain": CHAIN,
    "scaled": 2.0 * sf.Cardinality(6),
}


# --- the limit without noise ---


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_limit_is_the_exact_solution(variant):
    alpha, ridge = 0.05, 0.1
    exact = SparseClassifier(alpha=alpha, ridge=ridge, fit_intercept=False, tol=1e-10).fit(X, Y).coef_.ravel()
    assert 0 < (exact == 0).sum() < 6
    distances = []
    for n_iter in (10, 100, 1000):
        mechanism = DualFrankWolfe(variant, n_iter=n_iter, alpha=alpha, ridge=ridge)
        theta = classifier(mechanism, epsilon=SURE).fit(X, Y).coef_.ravel()
        distances.append(np.linalg.norm(theta - exact))
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 0.01 * np.linalg.norm(exact)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NORMS)
def test_every_norm_reaches_the_minimum(name, variant):
    """The objective of the limit is that of proximal gradient descent, another solver."""
    alpha, ridge = 0.02, 0.05
    value = {"l1": lambda t: np.abs(t).sum(), "linf": lambda t: np.abs(t).max()}.get(name)
    if name == "groups":
        value = sf.GroupCover([[0, 1], [2, 3], [4, 5]], n_features=6).norm
    if value is None:
        value = NORMS[name].lovasz if name == "chain" else NORMS[name].norm

    def objective(theta):
        return mean_loss(X, Y, theta) + alpha * value(theta) + 0.5 * ridge * theta @ theta

    mechanism = DualFrankWolfe(variant, n_iter=2000, alpha=alpha, ridge=ridge)
    reached = objective(classifier(mechanism, epsilon=SURE, norm=NORMS[name]).fit(X, Y).coef_.ravel())
    output = OutputPerturbation(alpha=alpha, ridge=ridge)
    best = objective(classifier(output, epsilon=SURE, norm=NORMS[name]).fit(X, Y).coef_.ravel())
    assert -1e-4 < reached - best < 2e-3 * best  # the references have noise too


def test_the_intercept_is_a_column_under_the_ridge_and_not_in_the_ball():
    y = np.where(X[:, 0] > -0.7, 1, -1)
    alpha, ridge = 0.5, 0.1  # every coefficient is zero, the intercept is not
    mechanism = DualFrankWolfe(n_iter=300, alpha=alpha, ridge=ridge)
    model = classifier(mechanism, epsilon=SURE, fit_intercept=True).fit(X, y)
    assert np.abs(model.coef_).max() < 0.02
    b = model.intercept_[0]
    slope = (-y / (1 + np.exp(y * b))).mean() + ridge * b
    assert abs(slope) < 0.02 * abs(ridge * b)


# --- noise, events, certificate ---


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", NORMS)
def test_plans_are_made_before_data_and_certificates_verify(name, variant):
    mechanism = DualFrankWolfe(variant, n_iter=7, alpha=0.02, ridge=0.05)
    model = classifier(mechanism, epsilon=1.0, norm=NORMS[name], random_state=None)
    plan = model.plan(len(Y), 6)
    counts = [count for _, count in plan.events]
    assert counts == ([7] if variant == "noisy-iterates" else [7, 1])
    assert plan.n_iter == 7
    assert plan.certified
    certificate = model.fit(X, Y).certificate_
    assert certificate.verify()
    assert certificate.secure
    assert 0.98 < certificate.epsilon(1e-6) <= 1.0
    again = Certificate.from_json(certificate.to_json())
    assert again == certificate
    assert "dual-frank-wolfe" in str(certificate)
    # What the events say is what a fit spends: more of them would not verify.
    assert '"count": 7' in certificate.to_json()
    assert not Certificate.from_json(certificate.to_json().replace('"count": 7', '"count": 8')).verify()


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_the_noise_is_the_sensitivity_times_the_gaussian_multiplier(adjacency):
    """2 L R2/(n ridge), half of it under add-remove; float error and lattice add less than one per cent."""
    n, p, ridge, n_iter, epsilon = 1000, 9, 0.05, 12, 1.5
    public = {"n_public": n} if adjacency == "add-remove" else {}
    mechanism = DualFrankWolfe(n_iter=n_iter, alpha=0.01, ridge=ridge)
    plan = classifier(mechanism, epsilon=epsilon, adjacency=adjacency, **public).plan(n, p)
    sensitivity = (2 if adjacency == "replace-one" else 1) * math.sqrt(p) / (n * ridge)
    multiplier = plan.noise_scales[0] / sensitivity / math.sqrt(n_iter)

    def delta(m):  # Balle & Wang 2018, for the T releases together
        return norm.cdf(0.5 / m - epsilon * m) - math.exp(epsilon) * norm.cdf(-0.5 / m - epsilon * m)

    assert delta(multiplier) < 1e-6 < delta(multiplier * 0.98)


def test_the_noise_has_the_planned_size():
    """One step releases theta(0) with its noise and nothing else: chi-square at 1e-6 on both sides."""
    mechanism = DualFrankWolfe(n_iter=1, alpha=0.05, ridge=0.2)
    centre = classifier(mechanism, epsilon=SURE).fit(X, Y).coef_.ravel()
    model = classifier(mechanism, epsilon=1.0)
    scale = model.plan(len(Y), 6).noise_scales[0]
    draws = [model.set_params(random_state=seed).fit(X, Y).coef_.ravel() - centre for seed in range(300)]
    statistic = (np.array(draws) ** 2).sum() / scale**2
    assert chi2.ppf(LEVEL / 2, 1800) < statistic < chi2.ppf(1 - LEVEL / 2, 1800)


def test_the_mean_of_the_iterates_is_free():
    """The weighted mean of T noisy iterates has 4/3 of the variance of one release, about, whatever T."""
    model = classifier(DualFrankWolfe(n_iter=1, alpha=0.05, ridge=0.2), epsilon=1.0)
    one = model.plan(len(Y), 6).noise_scales[0]
    many = classifier(DualFrankWolfe(n_iter=30, alpha=1e-9, ridge=0.2), epsilon=1.0)  # s stays at 0: no bias
    centre = classifier(DualFrankWolfe(n_iter=1, alpha=1e-9, ridge=0.2), epsilon=SURE).fit(X, Y).coef_.ravel()
    draws = [many.set_params(random_state=seed).fit(X, Y).coef_.ravel() - centre for seed in range(100)]
    weights = np.arange(1, 31) / np.arange(1, 31).sum()
    expected = (weights**2).sum() * 30 * one**2
    assert expected < 1.34 * one**2
    statistic = (np.array(draws) ** 2).sum() / expected
    assert chi2.ppf(LEVEL / 2, 600) < statistic < chi2.ppf(1 - LEVEL / 2, 600)


def test_the_selection_pays_for_its_release():
    """Eq. (13) reads the data: the certificate holds a Gaussian event beside those of the choices."""
    plans = {v: classifier(DualFrankWolfe(v, n_iter=5, alpha=0.05, ridge=0.2)).plan(400, 6) for v in VARIANTS}
    kinds = {v: [type(event) for event, _ in plan.events] for v, plan in plans.items()}
    assert kinds["selection"] == [ZeroConcentratedEvent, GaussianEvent]
    assert kinds["noisy-iterates"] == [GaussianEvent]


def test_the_squared_loss_takes_its_bound_from_the_ridge_and_the_ball():
    n, p, ridge, alpha = 1000, 4, 0.1, 0.03
    model = PrivateSparseRegressor(
        mechanism=DualFrankWolfe(n_iter=3, alpha=alpha, ridge=ridge),
        fit_intercept=False,
        delta=1e-6,
        bounds=(-1, 1),
        y_bounds=(-1, 1),
    )
    squared = model.plan(n, p).noise_scales[0]
    huber = model.set_params(loss="huber").plan(n, p).noise_scales[0]
    s, rows = alpha * math.sqrt(p), math.sqrt(p)
    lipschitz = 1 + rows * (s + math.sqrt(s * s + ridge)) / (2 * ridge)
    assert abs(squared / huber * Huber().threshold / lipschitz - 1) < 0.01


def test_the_squared_loss_is_clamped_nowhere_near_the_solution():
    rng = np.random.default_rng(3)
    A = rng.choice([-1.0, 1.0], (3000, 4))
    y = np.sign(A.sum(1) + 0.5)
    mechanism = DualFrankWolfe(n_iter=1, alpha=1e-6, ridge=0.1)
    model = PrivateSparseRegressor(
        epsilon=SURE,
        delta=1e-6,
        mechanism=mechanism,
        fit_intercept=False,
        random_state=0,
        bounds=(-1, 1),
        y_bounds=(-1, 1),
    ).fit(A, y)
    ridge = np.linalg.solve(A.T @ A / 3000 + 0.1 * np.eye(4), A.T @ y / 3000)
    assert np.allclose(model.coef_, ridge, atol=1e-3)


# --- neighbours ---


def test_add_remove_with_more_records_than_the_public_number():
    """The mean is over n_public: with 8 times as many records it is the fit with an eighth of the penalties."""
    exact = SparseClassifier(alpha=0.02 / 8, ridge=0.4 / 8, fit_intercept=False, tol=1e-10).fit(X, Y).coef_.ravel()
    for mechanism in (
        DualFrankWolfe(n_iter=1000, alpha=0.02, ridge=0.4),
        OutputPerturbation(alpha=0.02, ridge=0.4),
    ):
        model = classifier(mechanism, epsilon=SURE, adjacency="add-remove", n_public=50).fit(X, Y)
        assert np.linalg.norm(model.coef_.ravel() - exact) < 0.01 * np.linalg.norm(exact)
        assert any("16 times" in assumption for assumption in model.certificate_.assumptions)
        too_many = classifier(mechanism, adjacency="add-remove", n_public=24)
        with pytest.raises(InvalidDataError, match="n_public"):
            too_many.fit(X, Y)
        assert not hasattr(too_many, "certificate_")


@pytest.mark.parametrize("variant", VARIANTS)
def test_storage_and_threads_change_no_bit(variant):
    model = classifier(DualFrankWolfe(variant, n_iter=5, alpha=0.05, ridge=0.2))
    sparse = np.where(np.abs(X) < 0.5, 0, X)
    dense = model.fit(sparse, Y).coef_.copy()
    assert np.array_equal(model.fit(sp.csr_matrix(sparse), Y).coef_, dense)


# --- norms and oracles ---


def test_any_oracle_is_taken_by_noisy_iterates():
    calls = []

    def spread(A):
        calls.append(len(A))
        return math.sqrt(len(A))

    oracle = sf.FromOracle(spread, 6, monotone=True)
    same = sf.ConcaveCardinality(np.sqrt(np.arange(1, 7)))
    model = classifier(DualFrankWolfe(n_iter=5, alpha=0.05, ridge=0.2), norm=oracle)
    plan = model.plan(400, 6)
    assert calls
    theta = model.fit(X, Y).coef_
    by_name = classifier(DualFrankWolfe(n_iter=5, alpha=0.05, ridge=0.2), norm=same)
    assert np.allclose(theta, by_name.fit(X, Y).coef_)
    assert by_name.plan(400, 6).events == plan.events or plan.certified


def test_an_oracle_that_is_not_submodular_costs_no_privacy():
    rng = np.random.default_rng(0)
    tame = True

    def wild(A):
        return float(len(A)) if tame else rng.uniform(0, 100)

    oracle = sf.FromOracle(wild, 6, monotone=True)
    tame = False
    model = classifier(DualFrankWolfe(n_iter=50, alpha=0.05, ridge=0.2), norm=oracle).fit(X, Y)
    assert keeps_its_claim(model.certificate_)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    "function",
    [
        sf.GroupCover([[0, 1, 2], [2, 3, 4, 5]], n_features=6) + sf.ConcaveCardinality([1.0, 2.0, 2.0, 2.0, 2.0, 2.0]),
        sf.LogDet(np.eye(6), 0.5),
        sf.FromOracle(lambda A: math.sqrt(len(A)), 6, monotone=True),
    ],
)
def test_selection_refuses_what_is_no_sum(function):
    model = classifier(DualFrankWolfe("selection", alpha=0.05, ridge=0.2), norm=function)
    with pytest.raises(InvalidArgumentError, match=r"variant.*noisy-iterates"):
        model.plan(400, 6)
    assert classifier(DualFrankWolfe(alpha=0.05, ridge=0.2), norm=function).plan(400, 6).certified


def test_concave_cardinalities_are_sums():
    """Sorted l1 by signed k-subsets; the noise of the release is that of any other norm."""
    mechanism = DualFrankWolfe("selection", n_iter=5, alpha=0.05, ridge=0.2)
    l1 = classifier(mechanism, norm="l1").plan(400, 6)
    for values in ([1.0] * 6, list(range(1, 7)), [1.0, 2.0, 2.0, 2.0, 2.0, 2.0], np.sqrt(np.arange(1, 7))):
        model = classifier(mechanism, norm=sf.ConcaveCardinality(values))
        assert model.plan(400, 6).noise_scales == pytest.approx(l1.noise_scales, rel=1e-6)
        certificate = model.fit(X, Y).certificate_
        assert keeps_its_claim(certificate)
        assert certificate.events == model.plan(400, 6).events


def test_a_threshold_makes_it_sparse_again():
    mechanism = DualFrankWolfe(n_iter=20, alpha=0.05, ridge=0.2, threshold=0.3)
    model = classifier(mechanism, epsilon=5.0).fit(X, Y)
    plain = classifier(DualFrankWolfe(n_iter=20, alpha=0.05, ridge=0.2), epsilon=5.0).fit(X, Y)
    assert 0 < len(model.support_) < 6
    assert np.allclose(model.coef_, np.sign(plain.coef_) * np.maximum(np.abs(plain.coef_) - 0.3, 0))


# --- arguments ---

BAD = [
    ({"ridge": -1.0}, "ridge"),
    ({"ridge": math.nan}, "ridge"),
    ({"ridge": "a"}, "ridge"),
    ({"ridge": 1e-300}, "alpha|ridge|sigma|bracket"),
    ({"alpha": None}, "alpha"),
    ({"alpha": 0.0}, "alpha"),
    ({"alpha": -1.0}, "alpha"),
    ({"alpha": math.inf}, "alpha"),
    ({"alpha": 1e200}, "alpha"),
    ({"n_iter": 0}, "n_iter"),
    ({"n_iter": 2**40}, "n_iter"),
    ({"n_iter": 1.5}, "n_iter"),
    ({"threshold": -1.0}, "threshold"),
    ({"threshold": math.nan}, "threshold"),
    ({"variant": "other"}, "variant"),
    ({"variant": None}, "variant"),
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("options", "match"), BAD)
def test_bad_options(options, match, variant):
    given = {"variant": variant, "alpha": 0.05, "ridge": 0.2} | options
    for loss in ("logistic", "squared"):
        with pytest.raises(InvalidArgumentError, match=match):
            classifier(DualFrankWolfe(**given), loss=loss).fit(X, Y)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_no_ridge_has_no_guarantee(variant, loss):
    with pytest.raises(UnsoundMechanismError, match="not strongly convex"):
        classifier(DualFrankWolfe(variant, alpha=0.05, ridge=0.0), loss=loss).fit(X, Y)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_the_mechanism_does_not_take(variant):
    mechanism = DualFrankWolfe(variant, alpha=0.05, ridge=0.2)
    with pytest.raises(UnsoundMechanismError, match="catalogued loss"):
        classifier(mechanism, loss=CustomLoss(lambda z, y: z - y, 1.0)).fit(X, Y)
    for norm_ in ("simplex", Vertices(np.eye(6))):
        with pytest.raises(InvalidArgumentError, match="norm"):
            classifier(mechanism, norm=norm_).fit(X, Y)
    with pytest.raises(InvalidArgumentError, match="radius"):
        classifier(mechanism, radius=1.0).fit(X, Y)
    with pytest.raises(InvalidArgumentError, match="residual_bound"):
        PrivateSparseRegressor(mechanism=mechanism, residual_bound=1.0, bounds=(-1, 1), y_bounds=(-1, 1)).fit(
            X, X[:, 0]
        )
    with pytest.raises(InvalidArgumentError, match="features"):
        classifier(mechanism, norm=sf.Cardinality(5)).fit(X, Y)


def test_options_may_stand_on_the_estimator():
    by_name = classifier("dual-frank-wolfe", alpha=0.05, ridge=0.2, n_iter=5).fit(X, Y)
    configured = classifier(DualFrankWolfe(alpha=0.05, ridge=0.2, n_iter=5)).fit(X, Y)
    assert np.array_equal(by_name.coef_, configured.coef_)


# --- iterations ---


def test_public_rules_depend_on_public_facts_alone():
    for variant in VARIANTS:
        plan = classifier(DualFrankWolfe(variant, alpha=0.01)).plan(5000, 6)
        again = classifier(DualFrankWolfe(variant, alpha=0.01)).plan(5000, 6)
        assert plan.n_iter == again.n_iter > 1
        assert plan.noise_scales == again.noise_scales


def test_theorem_4():
    assert theorem_4_iterations(1000, 1.0, lipschitz=1.0, diameter=1.0, width=1.0) == 100
    assert theorem_4_iterations(8000, 1.0, lipschitz=1.0, diameter=8.0, width=1.0) == 6400
    assert theorem_4_iterations(10, 0.1, lipschitz=100.0, diameter=0.1, width=1.0) == 1
    for bad in ({"n_samples": 0}, {"epsilon": 0.0}, {"lipschitz": -1.0}, {"diameter": math.nan}, {"width": 0.0}):
        given = {"n_samples": 10, "epsilon": 1.0, "lipschitz": 1.0, "diameter": 1.0, "width": 1.0} | bad
        with pytest.raises(InvalidArgumentError, match=next(iter(bad))):
            theorem_4_iterations(**given)
