"""What every mechanism must keep, beside exact Frank-Wolfe: plans, certificates, storages, refusals, the stated objectives."""

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
    NoisyGradientFrankWolfe,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PenalisedFrankWolfe,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    SelectRefit,
    SgdOutput,
    SparseClassifier,
    SparseRegressor,
    UnsoundMechanismError,
    _core,
)
from dpsparse.set_functions import ConcaveCardinality, FromOracle, GraphCut, Tree

N, P = 120, 6
Y_BOUNDS = (-1.0, 3.0)
FRANK_WOLFE = FrankWolfe(n_iter=5)
NOISY_FRANK_WOLFE = NoisyGradientFrankWolfe(n_iter=5)
PROXIMAL = NoisyProximalGradient(n_iter=5, alpha=0.01, ridge=0.01)
OUTPUT = {
    f"output-{mode}-{noise}": OutputPerturbation(mode=mode, noise=noise, alpha=0.01, threshold=0.001)
    for mode in ("ridge", "early-stopping")
    for noise in ("gaussian", "gamma", "laplace")
}
SGD = {f"sgd-{noise}": SgdOutput(noise=noise, n_passes=2) for noise in ("gaussian", "gamma", "laplace")}
OBJECTIVE = ObjectivePerturbation(alpha=0.01, threshold=0.001)
SELECT = SelectRefit(n_selected=2)
MECHANISMS = {
    "frank-wolfe": FRANK_WOLFE,
    "penalised": PenalisedFrankWolfe(alpha=0.01, n_iter=5),
    "noisy-frank-wolfe": NOISY_FRANK_WOLFE,
    "averaged": NoisyGradientFrankWolfe(n_iter=5, average_gradients=True),
    "proximal": PROXIMAL,
    **OUTPUT,
    "objective": OBJECTIVE,
    **SGD,
    "sgd-ridge": SgdOutput(n_passes=2, ridge=0.1, batch_size=7),
    "select-refit": SELECT,
}
NORMS = {
    "l1": "l1",
    "linf": "linf",
    "groups": DisjointGroups([0, 0, 1, 1, 2, 2]),
    "tree": Tree([[0, 1, 2, 3, 4, 5], [1, 2, 3], [2], [4, 5]], n_features=P),
    "sorted": ConcaveCardinality([1.0, 1.7, 2.2, 2.5, 2.7, 2.7]),
    "chain": GraphCut([(j, j + 1) for j in range(P - 1)], n_features=P),
}
CONVEX = {*OUTPUT, "objective", *SGD, "sgd-ridge", "select-refit"}
NO_SQUARED = {"objective", "select-refit"}
REPLACE_ONE_ONLY = {name for name in MECHANISMS if name.startswith(("output-early", "sgd"))}
ONE_RECORD_ONLY = {"objective", "select-refit"}
TAKES_NORM = {
    "frank-wolfe": {"l1", "linf", "groups"},
    "penalised": {"l1"},
    "noisy-frank-wolfe": set(NORMS) - {"chain"},
    "averaged": set(NORMS) - {"chain"},
    "select-refit": {"l1", "groups"},
}
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


def classifier(name="", **arguments):
    arguments = {
        "mechanism": MECHANISMS.get(name, "auto"),
        "classes": (-1, 1),
        "epsilon": 3.0,
        "random_state": 1,
    } | arguments
    return PrivateSparseClassifier(**arguments)


def regressor(name="", **arguments):
    arguments = {"mechanism": MECHANISMS.get(name, "auto"), "y_bounds": Y_BOUNDS, "epsilon": 3.0} | arguments
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
    assert certificate.verify()
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
        assert estimator.fit(X, y).certificate_.verify()
    else:
        for call in (lambda: estimator.plan(N, P), lambda: estimator.fit(X, y)):
            with pytest.raises(InvalidArgumentError, match=r"norm|function|seminorm"):
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
    assert classifier(name, loss=loss).fit(X, y).certificate_.verify()
    if loss in ("logistic", "hinge"):
        with pytest.raises(InvalidArgumentError, match="loss"):
            regressor(name, loss=loss).plan(N, P)
    else:
        assert regressor(name, loss=loss).fit(X, targets).certificate_.verify()


@every_mechanism
def test_users_losses_where_nothing_rests_on_convexity(name):
    X, y, _ = records()
    estimator = classifier(name, loss=CustomLoss(lambda z, t: -t / (1 + np.exp(t * z))))
    if name in CONVEX:
        with pytest.raises(UnsoundMechanismError, match="loss"):
            estimator.plan(N, P)
    else:
        assert estimator.fit(X, y).certificate_.verify()


@pytest.mark.parametrize("name", sorted(CONVEX - {*SGD, "sgd-ridge"}))
def test_users_norms_where_nothing_rests_on_the_prox(name):
    with pytest.raises((UnsoundMechanismError, InvalidArgumentError), match="norm"):
        classifier(name, norm=FromOracle(lambda a: float(len(a)), P)).plan(N, P)


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
        assert certificate.verify()
    assert estimator.plan(N + 7, P).events == certificate.events
    replace = classifier(name, delta=1e-6)
    assert estimator.plan(N, P).noise_scales[0] < 0.9 * replace.plan(N, P).noise_scales[0]


@pytest.mark.parametrize("name", ["output-ridge-gaussian", "objective", "select-refit"])
def test_many_more_records_than_the_public_number_are_refused_where_the_solver_needs_it(name):
    """The mean divides by n_public, so curvature and the solver's error grow with the true count."""
    X, y, _ = records(650)
    facts = {"adjacency": "add-remove", "delta": 1e-6}
    estimator = classifier(name, n_public=20, **facts).fit(X, y)
    assert any("64th" in line for line in estimator.certificate_.assumptions)
    with pytest.raises(InvalidArgumentError, match="n_public"):
        classifier(name, n_public=10, **facts).fit(X, y)
    assert not any("64th" in line for line in classifier(name).fit(X, y).certificate_.assumptions)


@every_mechanism
def test_a_person_with_two_records(name):
    X, y, _ = records()
    estimator = classifier(name, records_per_person=2)
    if name in ONE_RECORD_ONLY:
        with pytest.raises(UnsoundMechanismError, match="record"):
            estimator.plan(N, P)
        return
    assert estimator.fit(X, y).certificate_.verify()
    mechanism = MECHANISMS[name]
    if name.startswith("output-early"):
        mechanism = dataclasses.replace(mechanism, n_iter=4)
    if name.startswith("output-ridge"):
        mechanism = dataclasses.replace(mechanism, ridge=0.1)
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
            with pytest.raises(InvalidArgumentError, match="^ridge"):
                classifier(mechanism=mechanism, ridge=ridge, loss=loss).plan(N, P)
    for mechanism in (ObjectivePerturbation(), SelectRefit()):
        for ridge in (0.0, -1.0):
            with pytest.raises(InvalidArgumentError, match="^ridge"):
                classifier(mechanism=mechanism, ridge=ridge).plan(N, P)


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
        with pytest.raises(InvalidArgumentError, match="^delta"):
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


CHECKED = (
    FRANK_WOLFE,
    NOISY_FRANK_WOLFE,
    PROXIMAL,
    OutputPerturbation(),
    ObjectivePerturbation(),
    SgdOutput(),
    SelectRefit(n_selected=1),
)


@parametrize_with_checks([PrivateSparseClassifier(mechanism=mechanism) for mechanism in CHECKED])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
