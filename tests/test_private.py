"""Private estimators as scikit-learn users meet them."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpsparse
from dpsparse import (
    Certificate,
    CustomLoss,
    DisjointGroups,
    FrankWolfe,
    Huber,
    InvalidArgumentError,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PenalisedFrankWolfe,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    SgdOutput,
    UnsoundMechanismError,
    Vertices,
)
from dpsparse.privacy import FailureEvent
from processes import run
from reference.certificates import keeps_its_claim


@parametrize_with_checks(
    [PrivateSparseClassifier(bounds=(-1, 1)), PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1))]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def classification():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 12))
    y = np.where(2 * X[:, 2] - 2 * X[:, 5] + rng.logistic(size=4000) / 2 > 0, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 10, (6000, 8))
    y = 5 + 3 * X[:, 1] - 2 * X[:, 4] + rng.normal(size=6000)
    return X, y


def test_gamma_noise_keeps_objective_perturbation_pure(classification):
    X, y = classification
    mechanism = ObjectivePerturbation(noise="gamma")
    for adjacency in ("replace-one", "add-remove"):
        public = {"n_public": 4000} if adjacency == "add-remove" else {}
        model = PrivateSparseClassifier(
            epsilon=1.0,
            delta=1e-6,
            mechanism=mechanism,
            bounds=(-1, 1),
            classes=("no", "yes"),
            adjacency=adjacency,
            random_state=0,
            **public,
        )
        events = model.plan(4000, 12).events
        # What floats may get wrong is an event of its own.
        *pure, (failure, _) = events
        assert isinstance(failure, FailureEvent)
        assert failure.delta < 1e-29
        assert 0.98 <= sum(count * event.renyi(np.inf) for event, count in pure) <= 1.0
        model.fit(X, y)
        assert keeps_its_claim(model.certificate_)
        assert model.score(X, y) > 0.75
    with pytest.raises(InvalidArgumentError, match=r"^ridge is too small"):
        PrivateSparseClassifier(mechanism=ObjectivePerturbation(noise="gamma", ridge=1e-6), bounds=(-1, 1)).plan(
            4000, 12
        )


def test_gamma_noise_on_the_objective_has_the_scale_of_the_theorem():
    """Rows of zeros leave <b, theta>/n and the ridge alone: theta* = -b/(n ridge)."""
    n, p, epsilon, ridge = 2000, 3, 1.0, 1.0
    X = np.zeros((n, p))
    y = np.resize([-1, 1], n)
    mechanism = ObjectivePerturbation(noise="gamma", ridge=ridge)
    sizes = []
    for seed in range(300):
        model = PrivateSparseClassifier(
            epsilon=epsilon,
            delta=1e-6,
            mechanism=mechanism,
            row_norm=1.0,
            fit_intercept=False,
            random_state=seed,
            bounds=(-1, 1),
        ).fit(X, y)
        sizes.append(np.linalg.norm(model.coef_) * n * ridge)
    # |b| ~ Gamma(p, 2 L R2/eps'), eps' = 0.99 epsilon - ln(1 + beta R2^2/(n ridge)).
    scale = 2.0 / (0.99 * epsilon - np.log1p(0.25 / (n * ridge)))
    assert np.mean(sizes) == pytest.approx(p * scale, rel=4 / np.sqrt(300 * p))
    assert np.var(sizes) == pytest.approx(p * scale**2, rel=0.4)


def test_momentum_is_checked():
    for momentum in (-0.1, 1.0):
        with pytest.raises(InvalidArgumentError, match=r"^momentum "):
            PrivateSparseClassifier(mechanism=NoisyProximalGradient(momentum=momentum), bounds=(-1, 1)).plan(1000, 5)


def test_classifier_finds_the_signal(classification):
    X, y = classification
    model = PrivateSparseClassifier(epsilon=2.0, classes=("no", "yes"), random_state=0, bounds=(-1, 1)).fit(X, y)
    assert model.score(X, y) > 0.8
    assert {2, 5} <= set(model.support_)
    assert model.coef_.shape == (1, 12)
    assert model.intercept_.shape == (1,)
    assert model.coef_[0, 2] > 0 > model.coef_[0, 5]
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    np.testing.assert_array_equal(model.predict(X) == "yes", model.decision_function(X) > 0)


def test_declared_classes_are_sorted(classification):
    X, y = classification
    model = PrivateSparseClassifier(epsilon=2.0, classes=("yes", "no"), random_state=0, bounds=(-1, 1)).fit(X, y)
    assert list(model.classes_) == ["no", "yes"]
    assert model.coef_[0, 2] > 0
    assert model.score(X, y) > 0.8
    undeclared = PrivateSparseClassifier(random_state=0, bounds=(-1, 1)).fit(X, y)
    assert any("labels" in assumption for assumption in undeclared.certificate_.assumptions)
    assert not any("labels, read" in assumption for assumption in model.certificate_.assumptions)


def test_regressor_maps_back_to_user_units(regression):
    X, y = regression
    model = PrivateSparseRegressor(epsilon=20.0, bounds=(0, 10), y_bounds=(-20, 40), radius=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.coef_.shape == (8,)
    np.testing.assert_allclose(model.coef_[[1, 4]], [3, -2], atol=0.5)


def test_wide_bounds_are_clipped_silently(classification):
    X, y = classification
    X = X.copy()
    X[::7] *= 1e9
    model = PrivateSparseClassifier(epsilon=2.0, random_state=0, bounds=(-1, 1)).fit(X, y)
    clipped = PrivateSparseClassifier(epsilon=2.0, random_state=0, bounds=(-1, 1)).fit(np.clip(X, -1, 1), y)
    np.testing.assert_array_equal(model.coef_, clipped.coef_)


def test_frames_and_feature_names(classification):
    X, y = classification
    names = [f"f{j}" for j in range(X.shape[1])]
    reference = PrivateSparseClassifier(random_state=0, bounds=(-1, 1)).fit(X, y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = PrivateSparseClassifier(random_state=0, bounds=(-1, 1)).fit(frame, y)
        np.testing.assert_array_equal(model.coef_, reference.coef_)
        assert list(model.feature_names_in_) == names


def test_pipelines_searches_clones(classification):
    X, y = classification
    pipeline = make_pipeline(
        FunctionTransformer(np.tanh), PrivateSparseClassifier(epsilon=4.0, random_state=0, bounds=(-1, 1))
    )
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.8
    search = GridSearchCV(
        PrivateSparseClassifier(epsilon=4.0, random_state=0, bounds=(-1, 1)), {"radius": [2.0, 10.0]}, cv=3
    ).fit(X, y)
    assert search.best_params_["radius"] in (2.0, 10.0)
    model = PrivateSparseClassifier(
        mechanism=FrankWolfe(n_iter=7), norm=DisjointGroups([0] * 6 + [1] * 6), bounds=(-1, 1)
    )
    again = clone(model)
    assert again.get_params()["mechanism"] == FrankWolfe(n_iter=7)
    assert again.fit(X, y).n_iter_ == 7


def test_pickles_keep_the_model_and_its_certificate(classification):
    X, y = classification
    model = PrivateSparseClassifier(random_state=0, bounds=(-1, 1)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_ == model.certificate_
    assert Certificate.from_json(model.certificate_.to_json()) == model.certificate_


def test_secure_by_default_and_seeded_on_request(classification):
    X, y = classification
    first, second = (PrivateSparseClassifier(epsilon=0.2, bounds=(-1, 1)).fit(X, y) for _ in range(2))
    assert first.certificate_.secure
    assert not np.array_equal(first.coef_, second.coef_)
    for seed in (3, np.int64(3), np.random.RandomState(3), np.random.default_rng(3)):
        model = PrivateSparseClassifier(random_state=seed, bounds=(-1, 1)).fit(X, y)
        assert not model.certificate_.secure
        assert repr(model.certificate_).startswith("NO GUARANTEE: the randomness of this run was seeded")
        assert not model.certificate_.verify()
    np.testing.assert_array_equal(
        PrivateSparseClassifier(random_state=3, bounds=(-1, 1)).fit(X, y).coef_,
        PrivateSparseClassifier(random_state=3, bounds=(-1, 1)).fit(X, y).coef_,
    )


def test_the_plan_is_what_is_spent(classification):
    X, y = classification
    model = PrivateSparseClassifier(epsilon=0.7, delta=1e-7, bounds=(-1, 1))
    plan = model.plan(*X.shape)
    certificate = model.fit(X, y).certificate_
    assert certificate.events == plan.events
    assert (plan.epsilon, plan.delta) == (0.7, 1e-7) == certificate.claim
    assert 0.999 * 0.7 < certificate.epsilon(1e-7) <= 0.7
    assert plan.n_iter == model.n_iter_
    assert plan.noise_scales[0] > 0 < plan.predicted_excess_risk
    assert certificate.verify()


def test_the_default_delta_is_public():
    assert PrivateSparseClassifier(bounds=(-1, 1)).plan(500, 3).delta == 1e-6
    assert PrivateSparseClassifier(bounds=(-1, 1)).plan(10_000, 3).delta == pytest.approx(1e-8)


def test_add_remove_halves_the_noise_and_needs_public_numbers(classification):
    X, y = classification
    model = PrivateSparseClassifier(
        adjacency="add-remove", n_public=4000, delta=1e-6, n_iter=20, random_state=0, bounds=(-1, 1)
    )
    replace = PrivateSparseClassifier(delta=1e-6, n_iter=20, bounds=(-1, 1))
    halved = model.plan(3999, 12).noise_scales[0]
    assert halved == pytest.approx(replace.plan(4000, 12).noise_scales[0] / 2)
    assert model.fit(X, y).certificate_.adjacency == "add-remove"
    for missing in ({"n_public": None}, {"delta": None}):
        with pytest.raises(dpsparse.InvalidArgumentError, match=next(iter(missing))):
            clone(model).set_params(**missing).fit(X, y)


def test_the_papers_calibration(classification):
    X, y = classification
    with pytest.raises(UnsoundMechanismError, match="tight"):
        PrivateSparseClassifier(mechanism=FrankWolfe(calibration="paper"), bounds=(-1, 1)).fit(X, y)
    paper = FrankWolfe(calibration="paper", allow_uncertified=True)
    certificate = PrivateSparseClassifier(mechanism=paper, random_state=0, bounds=(-1, 1)).fit(X, y).certificate_
    assert not certificate.certified
    assert not certificate.verify()
    assert certificate.epsilon(1e-6) == np.inf


def test_penalty_selects_less(classification):
    X, y = classification
    sizes = [
        len(
            PrivateSparseClassifier(epsilon=5.0, alpha=alpha, n_iter=60, random_state=0, bounds=(-1, 1))
            .fit(X, y)
            .support_
        )
        for alpha in (1e-4, 0.03, 1.0)
    ]
    assert sizes[0] >= sizes[1] >= sizes[2] == 0
    assert sizes[1] >= 2
    named = PrivateSparseClassifier(
        epsilon=5.0, alpha=0.03, n_iter=60, mechanism="penalised-frank-wolfe", random_state=0, bounds=(-1, 1)
    )
    configured = PrivateSparseClassifier(
        epsilon=5.0, mechanism=PenalisedFrankWolfe(alpha=0.03, n_iter=60), random_state=0, bounds=(-1, 1)
    )
    np.testing.assert_array_equal(named.fit(X, y).coef_, configured.fit(X, y).coef_)


def test_user_losses_run_on_a_table(classification):
    X, y = classification
    calls = []

    def derivative(z, t):
        calls.append(z.shape)
        return -t / (1 + np.exp(t * z))

    own = PrivateSparseClassifier(
        epsilon=3.0, loss=CustomLoss(derivative), n_iter=30, random_state=0, bounds=(-1, 1)
    ).fit(X, y)
    known = PrivateSparseClassifier(epsilon=3.0, n_iter=30, random_state=0, bounds=(-1, 1)).fit(X, y)
    assert len(calls) == 1
    np.testing.assert_allclose(own.coef_, known.coef_, atol=0.5)
    with pytest.raises(dpsparse.UserLossError, match="raised"):
        PrivateSparseClassifier(loss=lambda z, t: 1 / 0, bounds=(-1, 1)).fit(X, y)
    with pytest.raises(dpsparse.UserLossError, match="returned"):
        PrivateSparseClassifier(loss=lambda z, t: "no", bounds=(-1, 1)).fit(X, y)
    assert keeps_its_claim(
        PrivateSparseRegressor(loss=Huber(threshold=0.3), random_state=0, bounds=(-1, 1), y_bounds=(-1, 1))
        .fit(X, X[:, 0])
        .certificate_
    )


def test_a_constant_feature_gets_no_coefficient(classification):
    X, y = classification
    lower, upper = np.full(12, -1.0), np.full(12, 1.0)
    lower[4] = upper[4] = 0.5
    model = PrivateSparseClassifier(epsilon=0.05, bounds=(lower, upper), n_iter=200, random_state=0).fit(X, y)
    assert model.coef_[0, 4] == 0
    assert len(model.support_) == 11


@pytest.mark.parametrize("norm", ["linf", "simplex", DisjointGroups([[0, 1, 2, 3], [4, 5, 6, 7, 8, 9, 10, 11]])])
def test_other_sets_learn_too(classification, norm):
    X, y = classification
    y = X[:, 2] + X[:, 1] > 0
    radius = {"linf": 2.0}.get(norm if isinstance(norm, str) else "", 20.0)
    model = PrivateSparseClassifier(epsilon=8.0, norm=norm, radius=radius, random_state=0, bounds=(-1, 1)).fit(X, y)
    assert model.score(X, y) > 0.75
    assert keeps_its_claim(model.certificate_)


def test_explicit_vertices_bound_the_model(classification):
    X, y = classification
    vertices = np.vstack([np.eye(12)[2] - np.eye(12)[5], np.zeros(12), -np.eye(12)[0]]) * 4
    model = PrivateSparseClassifier(epsilon=4.0, norm=Vertices(vertices), random_state=0, bounds=(-1, 1)).fit(
        sp.csr_array(X), y
    )
    assert model.score(X, y) > 0.8


def test_a_person_with_many_rows_costs_more():
    one = PrivateSparseClassifier(n_iter=10, bounds=(-1, 1)).plan(1000, 5)
    three = PrivateSparseClassifier(n_iter=10, records_per_person=3, bounds=(-1, 1)).plan(1000, 5)
    assert three.noise_scales[0] == pytest.approx(3 * one.noise_scales[0])
    assert three.events == one.events


def test_progress_goes_to_stderr(classification, capsys):
    X, y = classification
    PrivateSparseClassifier(n_iter=5, verbose=1, random_state=0, bounds=(-1, 1)).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "5" in captured.err


@pytest.mark.parametrize(
    ("mechanism", "shown"),
    [("auto", "noisy-newton"), ("noisy-gradient-frank-wolfe", "noisy-gradient-frank-wolfe"), ("frank-wolfe",) * 2],
)
def test_lines_of_progress_are_short(mechanism, shown, classification, capsys):
    X, y = classification
    PrivateSparseClassifier(mechanism=mechanism, verbose=1, random_state=0, bounds=(-3, 3)).fit(X, y)
    lines = [line for line in capsys.readouterr().err.replace("\n", "\r").split("\r") if line]
    assert lines
    # A bar that tqdm draws begins with the name too.
    assert all(line.startswith(f"{shown}: ") and len(line) <= 100 for line in lines)


@pytest.mark.parametrize(
    ("mechanism", "steps"),
    [
        (OutputPerturbation(mode="early-stopping", n_iter=7), 7),
        (SgdOutput(n_passes=4), 4),
        (OutputPerturbation(), 1),
    ],
)
def test_progress_of_descents_counts_their_public_steps(mechanism, steps, classification, capsys):
    X, y = classification
    PrivateSparseClassifier(mechanism=mechanism, verbose=1, random_state=0, bounds=(-1, 1)).fit(X, y)
    assert f"{steps}/{steps}" in capsys.readouterr().err


CTRL_C = """
import os, signal, sys, threading, time
import numpy as np
from dpsparse import PrivateSparseClassifier
X = np.random.default_rng(0).uniform(-1, 1, (20_000, 200))
y = np.where(X[:, 0] > 0, 1, -1)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
model = PrivateSparseClassifier(n_iter=1_000_000, classes=(-1, 1))
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", hasattr(model, "coef_"))
"""


def test_ctrl_c_stops_a_long_fit():
    assert run(CTRL_C) == "interrupted False\n"
