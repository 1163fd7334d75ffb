"""What every mechanism must keep: plans, certificates, storages, refusals, stated objectives and sensitivities."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import (
    Certificate,
    CustomLoss,
    DisjointGroups,
    FrankWolfe,
    InvalidArgumentError,
    InvalidDataError,
    MirrorDescent,
    NoisyGradientFrankWolfe,
    NoisyNewton,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PenalisedFrankWolfe,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SelectRefit,
    SgdOutput,
    SparseClassifier,
    SparseRegressor,
    UnsoundMechanismError,
    _core,
)
from dpsparse.norms import GroupLasso
from dpsparse.privacy import Accountant
from dpsparse.set_functions import ConcaveCardinality, ContiguousRange, FromOracle, GraphCut, GroupCover, LogDet, Tree
from processes import run
from reference.certificates import keeps_its_claim

N, P = 120, 6
Y_BOUNDS = (-1.0, 3.0)
FRANK_WOLFE = FrankWolfe(n_iter=5)
NOISY_FRANK_WOLFE = NoisyGradientFrankWolfe(n_iter=5)
PROXIMAL = NoisyProximalGradient(n_iter=5, alpha=0.01, ridge=0.01)
NEWTON = NoisyNewton(n_iter=5, ridge=0.01, threshold=0.001)
OUTPUT = {
    f"output-{mode}-{noise}": OutputPerturbation(mode=mode, noise=noise, alpha=0.01, threshold=0.001)
    for mode in ("ridge", "early-stopping")
    for noise in ("gaussian", "gamma", "laplace")
}
SGD = {f"sgd-{noise}": SgdOutput(noise=noise, n_passes=2) for noise in ("gaussian", "gamma", "laplace")}
OBJECTIVE = ObjectivePerturbation(alpha=0.01, threshold=0.001)
SELECT = SelectRefit(n_selected=2)
SELECT_NEWTON = SelectRefit(n_selected=2, refit="noisy-newton")
MECHANISMS = {
    "frank-wolfe": FRANK_WOLFE,
    "penalised": PenalisedFrankWolfe(alpha=0.01, n_iter=5),
    "noisy-frank-wolfe": NOISY_FRANK_WOLFE,
    "averaged": NoisyGradientFrankWolfe(n_iter=5, average_gradients=True),
    "proximal": PROXIMAL,
    "mirror": MirrorDescent(n_iter=5),
    "mirror-euclidean": MirrorDescent(n_iter=5, potential="euclidean"),
    "newton": NEWTON,
    **OUTPUT,
    "objective": OBJECTIVE,
    **SGD,
    "sgd-ridge": SgdOutput(n_passes=2, ridge=0.1, batch_size=7),
    "select-refit": SELECT,
    "select-newton": SELECT_NEWTON,
}
NORMS = {
    "l1": "l1",
    "linf": "linf",
    "groups": DisjointGroups([0, 0, 1, 1, 2, 2]),
    "tree": Tree([[0, 1, 2, 3, 4, 5], [1, 2, 3], [2], [4, 5]], n_features=P),
    "sorted": ConcaveCardinality([1.0, 1.7, 2.2, 2.5, 2.7, 2.7]),
    "chain": GraphCut([(j, j + 1) for j in range(P - 1)], n_features=P),
    "overlapping": GroupCover([[0, 1, 2], [2, 3, 4], [4, 5, 0]], n_features=P),
    "cycle": GraphCut([(j, (j + 1) % P) for j in range(P)], n_features=P),
    "range": ContiguousRange(P),
    "lasso": GroupLasso([[0, 1, 2], [3], [4, 5]], l1=0.2),
    "free": GroupLasso([[0, 1, 2], [3], [4, 5]], weights=[1.0, 0.0, 0.5]),
}
SEMINORMS = {"chain", "cycle", "free"}
CONVEX = {*OUTPUT, "objective", *SGD, "sgd-ridge", "select-refit", "select-newton"}
NO_SQUARED = {"objective"}
REPLACE_ONE_ONLY = {name for name in MECHANISMS if name.startswith(("output-early", "sgd"))}
ONE_RECORD_ONLY = {"objective"}
TAKES_NORM = {
    "frank-wolfe": {"l1", "linf", "groups"},
    "penalised": {"l1"},
    "noisy-frank-wolfe": set(NORMS) - SEMINORMS,
    "averaged": set(NORMS) - SEMINORMS,
    "mirror": set(NORMS) - SEMINORMS,
    "mirror-euclidean": set(NORMS) - SEMINORMS,
    "select-refit": {"l1", "groups"},
    "select-newton": {"l1", "groups"},
    **{name: {"l1"} for name in (*SGD, "sgd-ridge")},  # it knows no norm
}
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


def classifier(name="", **arguments):
    arguments = {
        "mechanism": MECHANISMS.get(name, "auto"),
        "bounds": (-1, 1),
        "classes": (-1, 1),
        "epsilon": 3.0,
        "random_state": 1,
    } | arguments
    return PrivateSparseClassifier(**arguments)


def regressor(name="", **arguments):
    arguments = {
        "mechanism": MECHANISMS.get(name, "auto"),
        "bounds": (-1, 1),
        "y_bounds": Y_BOUNDS,
        "epsilon": 3.0,
    } | arguments
    return PrivateSparseRegressor(**({"loss": "huber", "random_state": 1} | arguments))


def records(n=N, p=P, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(n, p)) < 0.3, 0.0, rng.uniform(-1, 1, (n, p)))
    z = X[:, 0] - X[:, 1] + rng.normal(0, 0.3, n)
    return X, np.where(z > 0, 1, -1), np.clip(1 + 2 * z, -2, 4)


def model(estimator):
    return np.concatenate([np.ravel(estimator.coef_), np.ravel(estimator.intercept_)])


@every_mechanism
@pytest.mark.parametrize("make", [classifier, regressor])
def test_the_plan_is_what_is_spent_and_verifies(name, make):
    X, labels, targets = records()
    estimator = make(name)
    plan = estimator.plan(*X.shape)
    certificate = estimator.fit(X, labels if make is classifier else targets).certificate_
    assert certificate.events == plan.events
    assert (plan.epsilon, plan.delta) == certificate.claim
    assert keeps_its_claim(certificate)
    assert certificate.epsilon(plan.delta) <= 3.0
    pure = name.endswith(("gamma", "laplace"))
    assert certificate.epsilon(plan.delta) > (0.9 if pure else 0.98) * 3.0
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.certified
    assert not certificate.secure
    assert estimator.n_iter_ == plan.n_iter
    assert np.isfinite([*plan.noise_scales, plan.predicted_excess_risk, *model(estimator)]).all()
    assert plan.noise_scales[0] > 0 < plan.predicted_excess_risk


@every_mechanism
def test_seeds_reproduce_in_every_storage_and_no_seed_differs(name):
    X, y, _ = records()
    reference = model(classifier(name).fit(X, y))
    for other in (X, np.asfortranarray(X), sp.csr_array(X), sp.csc_array(X), sp.csr_matrix(X)):
        np.testing.assert_array_equal(model(classifier(name).fit(other, y)), reference)
    first, second = (classifier(name, epsilon=0.5, random_state=None).fit(X, y) for _ in range(2))
    assert first.certificate_.secure
    # A few selections among few vertices may coincide; noise never does.
    assert name in ("frank-wolfe", "penalised") or not np.array_equal(model(first), model(second))


@every_mechanism
@pytest.mark.parametrize("norm", NORMS)
def test_norms(name, norm):
    X, y, _ = records()
    estimator = classifier(name, norm=NORMS[norm])
    if norm in TAKES_NORM.get(name, NORMS):
        assert keeps_its_claim(estimator.fit(X, y).certificate_)
    else:
        for call in (lambda: estimator.plan(N, P), lambda: estimator.fit(X, y)):
            with pytest.raises((InvalidArgumentError, UnsoundMechanismError), match=r"norm|function|group lasso"):
                call()


@every_mechanism
@pytest.mark.parametrize("loss", ["logistic", "hinge", "huber", "squared", "absolute"])
def test_losses(name, loss):
    X, y, targets = records()
    if loss == "squared" and name in NO_SQUARED:
        for make in (classifier, regressor):
            with pytest.raises(UnsoundMechanismError, match="huber"):
                make(name, loss=loss).plan(N, P)
        return
    assert keeps_its_claim(classifier(name, loss=loss).fit(X, y).certificate_)
    if loss in ("logistic", "hinge"):
        with pytest.raises(InvalidArgumentError, match="loss"):
            regressor(name, loss=loss).plan(N, P)
    else:
        assert keeps_its_claim(regressor(name, loss=loss).fit(X, targets).certificate_)


@every_mechanism
def test_users_losses_where_nothing_rests_on_convexity(name):
    X, y, _ = records()
    estimator = classifier(name, loss=CustomLoss(lambda z, t: -t / (1 + np.exp(t * z))))
    if name in CONVEX:
        with pytest.raises(UnsoundMechanismError, match="loss"):
            estimator.plan(N, P)
    else:
        assert keeps_its_claim(estimator.fit(X, y).certificate_)


@pytest.mark.parametrize("name", sorted(CONVEX - {*SGD, "sgd-ridge"}))
def test_users_norms_where_nothing_rests_on_the_prox(name):
    oracle = FromOracle(lambda a: float(len(a)), P)
    for norm in (oracle, LogDet(np.eye(P), 0.5), NORMS["overlapping"] + NORMS["sorted"]):
        with pytest.raises((UnsoundMechanismError, InvalidArgumentError), match="norm"):
            classifier(name, norm=norm).plan(N, P)


@every_mechanism
def test_add_remove(name):
    X, y, _ = records()
    facts = {"adjacency": "add-remove", "n_public": N, "delta": 1e-6}
    estimator = classifier(name, **facts)
    if name in REPLACE_ONE_ONLY:
        with pytest.raises(UnsoundMechanismError, match="add-remove"):
            estimator.plan(N, P)
        return
    for n in (N, N // 2):
        certificate = estimator.fit(X[:n], y[:n]).certificate_
        assert certificate.adjacency == "add-remove"
        assert keeps_its_claim(certificate)
    assert estimator.plan(N + 7, P).events == certificate.events
    replace = classifier(name, delta=1e-6)
    # A default ridge may fall instead of the noise: then add-remove has less bias.
    assert estimator.plan(N, P).noise_scales[0] <= (1 + 1e-6) * replace.plan(N, P).noise_scales[0]


@pytest.mark.parametrize("name", ["output-ridge-gaussian", "objective", "select-refit"])
def test_many_more_records_than_the_public_number_are_refused_where_the_solver_needs_it(name):
    """The mean divides by n_public, so curvature and the solver's error grow with the true count."""
    X, y, _ = records(650)
    facts = {"adjacency": "add-remove", "delta": 1e-6}
    estimator = classifier(name, n_public=60, **facts).fit(X, y)
    assert any("16 times" in line for line in estimator.certificate_.assumptions)
    with pytest.raises(InvalidDataError, match="n_public"):
        classifier(name, n_public=10, **facts).fit(X, y)
    assert not any("16 times" in line for line in classifier(name).fit(X, y).certificate_.assumptions)


@pytest.mark.parametrize("name", ["output-perturbation", "objective-perturbation", "select-refit"])
@pytest.mark.parametrize("adjacency", [{}, {"adjacency": "add-remove", "n_public": 10**6}])
@pytest.mark.parametrize("epsilon", [1.0, 10.0, 1e3])
def test_default_ridges_leave_the_minimiser_time_at_every_budget(name, adjacency, epsilon):
    plan = regressor(mechanism=name, epsilon=epsilon, delta=1e-9, **adjacency).plan(10**6, P)
    assert np.isfinite(plan.noise_scales).all()


@every_mechanism
def test_a_person_with_two_records(name):
    X, y, _ = records()
    estimator = classifier(name, records_per_person=2)
    if name in ONE_RECORD_ONLY:
        with pytest.raises(UnsoundMechanismError, match="record"):
            estimator.plan(N, P)
        return
    assert keeps_its_claim(estimator.fit(X, y).certificate_)
    mechanism = MECHANISMS[name]
    if name.startswith("output-early"):
        mechanism = dataclasses.replace(mechanism, n_iter=4)
    if name.startswith("output-ridge"):
        mechanism = dataclasses.replace(mechanism, ridge=0.1)
    if name == "select-refit":  # two records are refitted by other steps than one
        mechanism = SELECT_NEWTON
    if name.startswith("sgd") and mechanism.ridge is None:
        mechanism = dataclasses.replace(mechanism, step=0.05, batch_size=4)
    one, two = (classifier(mechanism=mechanism, records_per_person=m).plan(N, P).noise_scales[0] for m in (1, 2))
    assert two == pytest.approx(2 * one, rel=1e-3)


def fields(name):
    return {field.name for field in dataclasses.fields(MECHANISMS[name])}


UNUSED = {
    "radius": 2.0,
    "alpha": 0.1,
    "ridge": 0.1,
    "n_iter": 3,
}


@every_mechanism
@pytest.mark.parametrize("argument", UNUSED)
def test_unused_arguments_are_refused_by_name(name, argument):
    estimator = classifier(name, **{argument: UNUSED[argument]})
    unused = argument not in fields(name) or (argument == "n_iter" and name.startswith("output-ridge"))
    if unused:
        with pytest.raises(InvalidArgumentError, match=f"^{argument} is not used"):
            estimator.plan(N, P)
    elif getattr(MECHANISMS[name], argument) is None:
        assert estimator.plan(N, P).certified


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_ridge(loss):
    with pytest.raises(UnsoundMechanismError, match="not strongly convex"):
        classifier(mechanism=OutputPerturbation(ridge=0.0), loss=loss).plan(N, P)
    with pytest.raises(UnsoundMechanismError, match="not strongly convex"):
        classifier(mechanism="output-perturbation", ridge=0, loss=loss).plan(N, P)
    for ridge in (-1.0, -1e-300):
        for mechanism in (OutputPerturbation(), OutputPerturbation(mode="early-stopping"), SgdOutput()):
            with pytest.raises(InvalidArgumentError, match=r"^ridge"):
                classifier(mechanism=mechanism, ridge=ridge, loss=loss).plan(N, P)
    for mechanism in (ObjectivePerturbation(), SelectRefit()):
        with pytest.raises(UnsoundMechanismError, match="not strongly convex"):
            classifier(mechanism=mechanism, ridge=0.0).plan(N, P)
        with pytest.raises(InvalidArgumentError, match=r"^ridge"):
            classifier(mechanism=mechanism, ridge=-1.0).plan(N, P)


def test_an_epsilon_that_the_ridge_leaves_no_room_for():
    for mechanism in (ObjectivePerturbation(ridge=0.01), SelectRefit(n_selected=2, ridge=0.01)):
        with pytest.raises(InvalidArgumentError, match=r"^ridge .*too small for this epsilon"):
            classifier(mechanism=mechanism, epsilon=0.3).plan(N, P)
        # the ridge that the message proposes does leave room
        try:
            classifier(mechanism=mechanism, epsilon=0.3).plan(N, P)
        except InvalidArgumentError as error:
            proposed = float(str(error).split("a ridge of ")[1].split()[0])
        assert (
            classifier(mechanism=dataclasses.replace(mechanism, ridge=1.5 * proposed), epsilon=0.3).plan(N, P).certified
        )


def test_kappa_above_one_is_allowed_and_costs_its_logarithm():
    ridge = 0.25 * (P + 1) / (N * 4.0)  # kappa = 4
    plan = classifier(mechanism=ObjectivePerturbation(ridge=ridge), epsilon=3.0).plan(N, P)
    assert plan.events[0][0].curvature_log == pytest.approx(np.log(5), rel=1e-6)


@pytest.mark.parametrize("mechanism", [OutputPerturbation(ridge=1e-9), ObjectivePerturbation(ridge=1e-8)])
def test_a_ridge_that_would_take_the_solver_hours(mechanism):
    with pytest.raises(InvalidArgumentError, match=r"^ridge .*passes over the data"):
        classifier(mechanism=mechanism, epsilon=100.0).plan(10**9, P)


def test_default_ridges_leave_the_solver_time():
    for mechanism in (OutputPerturbation(), ObjectivePerturbation(), SelectRefit()):
        for n in (50, 10**5, 10**9):
            for epsilon in (0.1, 1.0, 100.0):
                assert classifier(mechanism=mechanism, epsilon=epsilon).plan(n, P).certified


@pytest.mark.parametrize(
    ("mechanism", "argument"),
    [
        (SgdOutput(step=10.0), "step"),
        (SgdOutput(step=0.0), "step"),
        (SgdOutput(step=0.1, ridge=0.1), "step"),
        (SgdOutput(batch_size=N + 1), "batch_size"),
        (SgdOutput(batch_size=0), "batch_size"),
        (SgdOutput(n_passes=0), "n_passes"),
        (SgdOutput(noise="uniform"), "noise"),
        (NoisyProximalGradient(step=-1.0), "step"),
        (NoisyProximalGradient(step=float("nan")), "step"),
        (NoisyProximalGradient(n_iter=0), "n_iter"),
        (NoisyProximalGradient(n_iter=2**40), "n_iter"),
        (NoisyProximalGradient(alpha=-1.0), "alpha"),
        (NoisyProximalGradient(ridge=-1.0), "ridge"),
        (NoisyNewton(n_iter=0), "n_iter"),
        (SelectRefit(refit="least-squares"), "refit"),
        (SelectRefit(refit=3), "refit"),
        (NoisyNewton(share=-0.1), "share"),
        (NoisyNewton(share=1.0), "share"),
        (NoisyNewton(damping=0.0), "damping"),
        (NoisyNewton(damping=float("nan")), "damping"),
        (NoisyNewton(ridge=-1.0), "ridge"),
        (NoisyNewton(threshold=-1.0), "threshold"),
        (NoisyGradientFrankWolfe(n_iter=0), "n_iter"),
        (NoisyGradientFrankWolfe(radius=0.0), "radius"),
        (NoisyGradientFrankWolfe(average_gradients="no"), "average_gradients"),
        (OutputPerturbation(mode="early-stopping", n_iter=0), "n_iter"),
        (OutputPerturbation(mode="late"), "mode"),
        (OutputPerturbation(noise="cauchy"), "noise"),
        (OutputPerturbation(alpha=-0.1), "alpha"),
        (OutputPerturbation(mode="early-stopping", threshold=-0.1), "threshold"),
        (ObjectivePerturbation(threshold=-0.1), "threshold"),
        (ObjectivePerturbation(alpha=-0.1), "alpha"),
        (SelectRefit(n_selected=0), "n_selected"),
        (SelectRefit(n_selected=P + 1), "n_selected"),
        (SelectRefit(share=1.0), "share"),
    ],
    ids=str,
)
def test_bad_options_are_named(mechanism, argument):
    with pytest.raises(InvalidArgumentError, match=f"^{argument} "):
        classifier(mechanism=mechanism).plan(N, P)


def test_gamma_noise_refuses_a_delta_below_what_its_floats_cost():
    for mechanism in (OutputPerturbation(noise="gamma"), SgdOutput(noise="gamma")):
        with pytest.raises(InvalidArgumentError, match=r"^delta"):
            classifier(mechanism=mechanism, delta=1e-30).plan(N, P)
        assert classifier(mechanism=mechanism, delta=1e-25).plan(N, P).certified


# --- the stated objective ---


EXACT = {
    "output": (lambda alpha, ridge: OutputPerturbation(alpha=alpha, ridge=ridge), 1.0),
    "objective": (lambda alpha, ridge: ObjectivePerturbation(alpha=alpha, ridge=ridge), 1.0),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("loss", ["logistic", "hinge", "huber", "squared"])
@pytest.mark.parametrize("alpha", [0.0, 0.03])
def test_at_a_huge_epsilon_the_minimiser_is_that_of_the_stated_objective(name, loss, alpha):
    if (name, loss) == ("objective", "squared"):
        pytest.skip("refused")
    X, labels, targets = records(400)
    make, _ = EXACT[name]
    facts = {"loss": loss, "fit_intercept": False}
    private = {"mechanism": make(alpha, 0.2), "epsilon": 1e4, "delta": 1e-6} | facts
    exact = {"alpha": alpha, "ridge": 0.2, "tol": 1e-10} | facts
    if loss in ("logistic", "hinge"):
        ours, theirs, y = classifier(**private), SparseClassifier(**exact), labels
    else:
        ours, theirs = regressor(**(private | {"y_bounds": (-1.0, 1.0)})), SparseRegressor(**exact)
        y = np.clip(targets - 1, -1, 1)
    ours, theirs = np.ravel(ours.fit(X, y).coef_), np.ravel(theirs.fit(X, y).coef_)
    assert np.abs(theirs).max() > 0.05
    np.testing.assert_allclose(ours, theirs, atol=3e-3)


@pytest.mark.parametrize(
    ("estimator", "share"),
    [
        (PrivateSparseRegressor(y_bounds=Y_BOUNDS), 0.07),
        (PrivateSparseRegressor(y_bounds=Y_BOUNDS, loss="huber"), 0.035),
        (PrivateSparseClassifier(classes=(0, 1)), 0.035),
        (PrivateSparseClassifier(classes=(0, 1), loss="squared"), 0.035),
        (PrivateSparseClassifier(classes=(0, 1, 2)), 0.07),
        (PrivateSparsePoissonRegressor(y_bounds=(0, 20)), 0.035),
    ],
)
def test_moments_cost_more_where_intervals_need_them(estimator, share):
    """Of the costs, which add up in zCDP, moments have their share, beside no line and no start."""
    plan = estimator.set_params(mechanism=NoisyNewton(), bounds=(-1, 1)).plan(10_000, 20)
    (moments, once), (gradient, steps) = plan.events
    of_moments, of_steps = (
        count * (event.sensitivity / event.sigma) ** 2 for event, count in ((moments, once), (gradient, steps))
    )
    assert once == 1
    assert of_moments / (of_moments + of_steps) == pytest.approx(share, rel=1e-3)


def test_one_newton_step_is_ridge_regression_on_sufficient_statistics():
    """AdaSSP (Wang 2018): (X'X/n + damping) theta = X'y/n, with the public damping of the plan."""
    X, _, targets = records(2000)
    estimator = regressor(
        mechanism=NoisyNewton(n_iter=1, damping=5e3),
        loss="squared",
        y_bounds=(-1.0, 1.0),
        residual_bound=1.0,
        scale=None,
        fit_intercept=False,
        epsilon=1e5,
        delta=1e-6,
    )
    y = np.clip(targets - 1, -1, 1)
    damping = dict(estimator.plan(*X.shape).parameters)["damping"]
    assert 0.05 < damping < 5.0
    expected = np.linalg.solve(X.T @ X / len(X) + damping * np.eye(P), X.T @ y / len(X))
    np.testing.assert_allclose(estimator.fit(X, y).coef_, expected, atol=2e-3)


@pytest.mark.parametrize("adjacency", [{}, {"adjacency": "add-remove", "n_public": 3000}])
def test_newton_steps_solve_ill_conditioned_least_squares(adjacency):
    """Features that almost agree: gradient descent of as many steps is far off where Newton steps are exact."""
    rng = np.random.default_rng(5)
    common = rng.uniform(-0.9, 0.9, 3000)
    X = np.column_stack([common + rng.uniform(-0.06, 0.06, 3000) for _ in range(4)])
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.2 + rng.normal(0, 0.05, 3000)
    least_squares = np.linalg.lstsq(np.column_stack([X, np.ones(3000)]), y, rcond=None)[0]
    errors = []
    for mechanism in (NoisyNewton(n_iter=60), NoisyProximalGradient(n_iter=60)):
        facts = {"mechanism": mechanism, "loss": "squared", "y_bounds": (-1.0, 1.0), "scale": None}
        estimator = regressor(epsilon=1e5, delta=1e-6, **facts, **adjacency).fit(X, np.clip(y, -1, 1))
        errors.append(np.abs(model(estimator) - least_squares).max())
    assert errors[0] < 0.03 < 0.15 < errors[1]


CHECKED = (
    FRANK_WOLFE,
    NEWTON,
    NOISY_FRANK_WOLFE,
    PROXIMAL,
    OutputPerturbation(),
    ObjectivePerturbation(),
    SgdOutput(),
    SelectRefit(n_selected=1),
)


@parametrize_with_checks([PrivateSparseClassifier(mechanism=mechanism, bounds=(-1, 1)) for mechanism in CHECKED])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- sensitivity: the points before noise ---


EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
POINTS = {
    "ridge": lambda draw: OutputPerturbation(alpha=draw(ALPHAS), ridge=draw(st.sampled_from([0.02, 0.1, 1.0]))),
    "early-stopping": lambda draw: OutputPerturbation(
        mode="early-stopping",
        alpha=draw(ALPHAS),
        ridge=draw(st.sampled_from([None, 0.1])),
        n_iter=draw(st.integers(1, 30)),
    ),
    "sgd": lambda draw: SgdOutput(
        n_passes=draw(st.integers(1, 4)), batch_size=draw(st.integers(1, 3)), step=draw(st.sampled_from([None, 0.05]))
    ),
    "sgd-ridge": lambda draw: SgdOutput(
        n_passes=draw(st.integers(1, 4)), batch_size=draw(st.integers(1, 3)), ridge=draw(st.sampled_from([0.02, 1.0]))
    ),
}
ALPHAS = st.sampled_from([0.0, 0.01, 0.2])
SMALL = {
    "l1": "l1",
    "linf": "linf",
    "groups": DisjointGroups([[0, 2], [1]]),
    "tree": Tree([[0, 1, 2], [1, 2], [2]], n_features=3),
    "sorted": ConcaveCardinality([1.0, 1.7, 2.0]),
    "chain": GraphCut([(0, 1), (1, 2)], n_features=3),
    "overlapping": GroupCover([[0, 1], [1, 2]], weights=[1.0, 0.5], n_features=3),
    "triangle": GraphCut([(0, 1), (1, 2), (0, 2)], n_features=3),
    "range": ContiguousRange(3),
}


def points(estimator, pair, seed=0):
    """The points of two data sets and the bound on their distance."""
    plan = estimator.plan(len(pair[0]), len(pair[0][0]) - 1)
    answers = []
    for data in pair:
        array = np.array(data, dtype=float)
        answers.append(_core.non_private_release(plan, array[:, :-1].copy(), array[:, -1].copy(), seed=seed))
    (one, bound), (other, _) = answers
    return float(np.linalg.norm(one - other)), bound


@pytest.mark.parametrize(
    ("point", "norm"),
    [(point, norm) for point in POINTS for norm in SMALL if norm == "l1" or not point.startswith("sgd")],
)
@EXAMPLES
@given(st.data())
def test_points_of_neighbours_are_within_the_bound(point, norm, data):
    mechanism = POINTS[point](data.draw)
    classes = data.draw(st.booleans())
    regression = ["huber", "absolute", "squared"]
    loss = data.draw(st.sampled_from(["logistic", "hinge", *regression] if classes else regression))
    m = data.draw(st.sampled_from([1, 2]))
    facts = {
        "mechanism": mechanism,
        "loss": loss,
        "norm": SMALL[norm],
        "fit_intercept": data.draw(st.booleans()),
        "row_norm": data.draw(st.sampled_from([None, None, 0.7])),
        "records_per_person": m,
    }
    estimator = classifier(**facts) if classes else regressor(**(facts | {"y_bounds": (-1.0, 1.0)}))
    entry = st.one_of(st.sampled_from([-1.0, 1.0, 0.0]), st.floats(-1.5, 1.5))
    target = st.sampled_from([-1.0, 1.0]) if classes else st.one_of(st.sampled_from([-1.0, 1.0]), st.floats(-2, 2))
    record = st.tuples(entry, entry, entry, target)
    common = data.draw(st.lists(record, min_size=1, max_size=6))
    if data.draw(st.booleans()):  # leverage: many equal records
        common = [common[0]] * data.draw(st.integers(3, 40))
    common += [common[0]] * max(0, 3 - len(common) - m)
    person, other = (data.draw(st.lists(record, min_size=m, max_size=m)) for _ in range(2))
    moved, bound = points(estimator, (common + person, common + other))
    assert moved <= bound


@pytest.mark.parametrize("loss", ["logistic", "hinge", "huber", "absolute"])
@pytest.mark.parametrize(
    "mechanism",
    [
        OutputPerturbation(ridge=2.0, alpha=0.0),
        OutputPerturbation(mode="early-stopping", n_iter=1),
        SgdOutput(n_passes=1, batch_size=2, step=0.02),
        SgdOutput(n_passes=1, batch_size=1, ridge=2.0),
    ],
    ids=str,
)
def test_the_bound_is_not_vacuous(loss, mechanism):
    """One record at a corner of the box turns its label round."""
    corner = [1.0] * 3
    common = [[0.0] * 3 + [1.0]] * 9
    share = 0.0
    for y in (1.0, -1.0):
        pair = ([*common, [*corner, y]], [*common, [*corner, -y]])
        for seed in range(4):
            moved, bound = points(classifier(mechanism=mechanism, loss=loss, fit_intercept=False), pair, seed)
            share = max(share, moved / bound)
    assert (0.9 if loss == "absolute" else 0.2) < share <= 1.0


def test_no_point_where_there_is_none():
    X, y, _ = records(20)
    for mechanism in (FRANK_WOLFE, PROXIMAL, ObjectivePerturbation(), SelectRefit(n_selected=1)):
        plan = classifier(mechanism=mechanism).plan(*X.shape)
        assert _core.non_private_release(plan, X, y.astype(float), seed=0) is None


# --- the counterexample to output perturbation without a ridge ---


@pytest.mark.parametrize("n", [100, 1000])
def test_the_minimiser_jumps_without_a_ridge(n):
    """Kumar & Deisenroth's Theorem 1 is not private as printed: the move does not fall with n."""
    y = np.ones(n)
    minimisers = []
    for swapped in ((1.0, 0.5), (0.5, 1.0)):
        X = np.vstack([np.ones((n - 1, 2)), swapped])
        # An exact classifier needs two labels: the loss of (x, y) is that of (-x, -y).
        signs = np.where(np.arange(n) % 2, 1, -1)
        exact = SparseClassifier(alpha=0.01, fit_intercept=False, tol=1e-12, max_iter=100_000)
        minimisers.append(np.ravel(exact.fit(X * signs[:, None], signs).coef_))
    np.testing.assert_allclose(minimisers[0], [4.595, 0.0], atol=0.1 if n == 100 else 0.01)
    np.testing.assert_allclose(minimisers[1], minimisers[0][::-1], atol=1e-6)
    with pytest.raises(UnsoundMechanismError, match="ridge"):
        classifier(mechanism=OutputPerturbation(alpha=0.01, ridge=0.0)).plan(n, 2)
    # With a ridge, the same pair moves the minimiser by no more than the bound.
    pair = [np.column_stack([np.vstack([np.ones((n - 1, 2)), s]), y]).tolist() for s in ((1.0, 0.5), (0.5, 1.0))]
    moved, bound = points(classifier(mechanism=OutputPerturbation(alpha=0.01, ridge=0.01), fit_intercept=False), pair)
    assert moved <= bound


# --- objective perturbation against simulation ---


def worst_pair_delta(epsilon, m, curvature_log, draws, rng):
    """delta of replace-one on the pair that the bound is made for, by simulation.

    In one dimension with a linear loss up to the clamp, neighbours shift b by 2 L R2: their densities are those of two
    normals 2 M apart, and the Jacobian adds at most curvature_log to the loss.
    """
    g = rng.standard_normal(draws)
    loss = curvature_log + 2 * m * m + 2 * m * g
    return np.maximum(0.0, -np.expm1(epsilon - loss)).mean()


def simulated_loss_delta(epsilon, m, curvature_log, correlation, draws, rng):
    """As the proof has it: loss kl + 2 M^2 + M (|g1| + |g2|), g1 and g2 normal with any correlation."""
    first = rng.standard_normal(draws)
    second = correlation * first + np.sqrt(1 - correlation**2) * rng.standard_normal(draws)
    loss = curvature_log + 2 * m * m + m * (np.abs(first) + np.abs(second))
    return np.maximum(0.0, -np.expm1(epsilon - loss)).mean()


@pytest.mark.parametrize("options", [{"positive": True}, {"norm": "linf", "alpha": 1e-6}])
def test_objective_perturbation_is_no_worse_at_larger_epsilons(options):
    """Its ridge was that of an exact minimiser: where a descent ends some way off, noise covered all that there was."""
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.uniform(0, 10, 20_000), generator.uniform(10, 20, 20_000)])
    y = 0.2 * X[:, 0] + 0.3 * X[:, 1] + 0.3 * generator.normal(size=20_000)
    facts = {"bounds": (0, 20), "y_bounds": (-2, 20), "loss": "huber", "random_state": 0}
    for epsilon in (1.0, 4.0, 10.0, 100.0):
        model = PrivateSparseRegressor(epsilon, 1e-6, mechanism="objective-perturbation", **facts, **options)
        assert model.plan(*X.shape).noise_scales[0] < 0.02
        assert model.fit(X, y).score(X, y) > 0.88  # least squares has .92


@pytest.mark.parametrize("draws", [10**6, pytest.param(10**7, marks=pytest.mark.slow)])
def test_objective_perturbation_covers_simulated_losses(draws):
    rng = np.random.default_rng(5)
    for m in (0.05, 0.3, 1.0):
        for curvature_log in (0.02, np.log(5.0)):
            event = _core.ObjectivePerturbationEvent(1.0, 1.0 / m, curvature_log, "replace-one")
            for t in (0.0, 1.0, 2 * np.sqrt(3) - 0.01, 2 * np.sqrt(3) + 0.01, 4.5, 6.0):
                epsilon = curvature_log + 2 * m * m + m * t
                claimed = event_delta(event, epsilon)
                if t < 2 * np.sqrt(3):  # the Renyi bound alone, which is looser
                    assert claimed > event_delta(event, curvature_log + 2 * m * m + m * 4.5)
                noise = 6 * np.sqrt(max(claimed, 1e-6) / draws)
                truths = [worst_pair_delta(epsilon, m, curvature_log, draws, rng)]
                for correlation in (-1.0, 0.0, 0.6, 1.0):
                    truths.append(simulated_loss_delta(epsilon, m, curvature_log, correlation, draws // 4, rng))
                assert max(truths) <= claimed + 2 * noise


def event_delta(event, epsilon):
    accountant = Accountant()
    accountant.add(event)
    return accountant.delta(epsilon)


def test_a_chain_with_a_huge_penalty_keeps_its_digits():
    """The float error of the prox enters the sensitivity: it must not grow with the penalty."""
    v = np.array([0.1, 0.7, -0.4, 0.3, 0.9, -0.2])
    for step in (1e3, 1e9, 1e15, 1e200):
        np.testing.assert_allclose(NORMS["chain"].prox(v, step), v.mean(), rtol=1e-13)


CTRL_C = """
import os, signal, threading
import numpy as np
from dpsparse import OutputPerturbation, PrivateSparseClassifier
X = np.random.default_rng(0).uniform(-1, 1, (20_000, 400))
y = np.where(X[:, 0] > 0, 1, -1)
model = PrivateSparseClassifier(mechanism=OutputPerturbation(ridge=5e-4, alpha=1e-5), classes=(-1, 1))
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", hasattr(model, "coef_"))
"""


def test_ctrl_c_stops_a_long_minimisation():
    assert run(CTRL_C) == "interrupted False\n"


def test_a_start_is_a_count_for_log_odds_and_rates():
    facts = {"bounds": (-1, 1), "classes": (0, 1), "scale": None}
    for start in (None, 0.1):
        for n_classes in (2, 3):
            model = PrivateSparseClassifier(
                mechanism=NoisyNewton(start=start), **(facts | {"classes": tuple(range(n_classes))})
            )
            plan = model.plan(1000, 5)
            assert len(plan.events) == (2 if start is None else 3)
            spent = Accountant()
            for event, count in plan.events:
                spent.add(event, count)
            assert spent.epsilon(plan.delta) <= plan.epsilon
    hinge = PrivateSparseClassifier(mechanism=NoisyNewton(start=0.1), loss="hinge", **facts)
    reals = PrivateSparseRegressor(mechanism=NoisyNewton(start=0.1), bounds=(-1, 1), y_bounds=(0, 1), scale=None)
    for model in (hinge, reals):
        with pytest.raises(InvalidArgumentError, match="start is for the logistic loss"):
            model.plan(1000, 5)
    without = PrivateSparseClassifier(mechanism=NoisyNewton(start=0.1), fit_intercept=False, **facts)
    with pytest.raises(InvalidArgumentError, match="fit_intercept"):
        without.plan(1000, 5)
    for share in (0.0, 1.0, -0.1, 2.0):
        with pytest.raises(InvalidArgumentError, match="start"):
            PrivateSparseClassifier(mechanism=NoisyNewton(start=share), **facts).plan(1000, 5)
