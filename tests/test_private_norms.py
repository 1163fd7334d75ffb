"""Signs, free features and elastic nets of private fits: exact with little noise, refused without a proof."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from dpsparse import (
    InvalidArgumentError,
    PrivateSearchCV,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SparseClassifier,
    SparseRegressor,
    UnsoundMechanismError,
    models,
)
from dpsparse.mechanisms import (
    DualFrankWolfe,
    MirrorDescent,
    NoisyGradientFrankWolfe,
    NoisyNewton,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
)
from dpsparse.norms import GroupLasso
from dpsparse.set_functions import Modular

P = 6
WEIGHTS = [0.0, 1.0, 2.0, 1.0, 1.0, 1.0]
POSITIVE_WEIGHTS = [0.5, 1.0, 2.0, 1.0, 1.0, 1.0]
GROUPS = GroupLasso([[0, 1], [2, 3], [4, 5]], l1=0.1)
FREE_GROUPS = GroupLasso([[0, 1], [2, 3], [4, 5]], weights=[0.0, 1.0, 1.0])
FACTS = {"bounds": (-1, 1), "y_bounds": (-1, 1), "scale": None}
STEPS = NoisyProximalGradient(n_iter=800)


def records(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, P))
    y = np.clip(X @ [0.5, -0.4, 0.3, -0.02, -0.02, 0.1] + 0.05 * rng.normal(size=n), -1, 1)
    return X, y


X, Y = records()


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (STEPS, {"alpha": 0.02, "positive": True}),
        (STEPS, {"alpha": 0.02, "positive": True, "fit_intercept": False}),
        (STEPS, {"alpha": 0.05, "l1_ratio": 0.5}),
        (STEPS, {"alpha": 0.05, "feature_weights": WEIGHTS}),
        (STEPS, {"alpha": 0.05, "feature_weights": WEIGHTS, "positive": True, "l1_ratio": 0.9}),
        (STEPS, {"alpha": 0.05, "norm": GROUPS, "positive": True}),
        (STEPS, {"alpha": 0.05, "norm": FREE_GROUPS, "l1_ratio": 0.7}),
        (MirrorDescent(n_iter=3000), {"radius": 0.4, "positive": True}),
        (MirrorDescent(n_iter=3000, potential="euclidean"), {"radius": 0.4, "positive": True}),
        (MirrorDescent(n_iter=3000), {"radius": 0.4, "norm": GROUPS, "positive": True}),
        (MirrorDescent(n_iter=3000), {"radius": 0.4, "feature_weights": POSITIVE_WEIGHTS}),
        (NoisyGradientFrankWolfe(n_iter=4000), {"radius": 0.4, "positive": True}),
        (NoisyGradientFrankWolfe(n_iter=4000), {"radius": 0.4, "positive": True, "norm": GROUPS}),
        (NoisyGradientFrankWolfe(n_iter=4000), {"radius": 0.4, "feature_weights": POSITIVE_WEIGHTS}),
        ("output-perturbation", {"alpha": 0.05, "l1_ratio": 0.5, "positive": True}),
        ("output-perturbation", {"alpha": 0.05, "ridge": 0.05, "feature_weights": WEIGHTS}),
        ("output-perturbation", {"alpha": 0.05, "ridge": 0.05, "norm": GROUPS, "positive": True}),
        (OutputPerturbation(mode="early-stopping", n_iter=400), {"alpha": 0.02, "l1_ratio": 0.5, "positive": True}),
        ("objective-perturbation", {"loss": "huber", "alpha": 0.05, "l1_ratio": 0.5, "positive": True}),
        ("objective-perturbation", {"loss": "huber", "alpha": 0.05, "l1_ratio": 0.5, "feature_weights": WEIGHTS}),
        (DualFrankWolfe(n_iter=2000), {"alpha": 0.05, "l1_ratio": 0.5, "feature_weights": WEIGHTS}),
        (DualFrankWolfe(n_iter=2000), {"alpha": 0.05, "l1_ratio": 0.5, "norm": FREE_GROUPS}),
        ("auto", {"alpha": 0.02, "positive": True}),
        ("auto", {"alpha": 0.05, "l1_ratio": 0.5}),
        ("auto", {"alpha": 0.05, "feature_weights": WEIGHTS}),
        ("auto", {"radius": 0.4, "positive": True}),
    ],
)
def test_little_noise_is_the_exact_fit(mechanism, options):
    # Output and objective perturbation have a ridge on the intercept too, the exact fit has none: it is near 0 here.
    private = PrivateSparseRegressor(
        epsilon=1e7, delta=1e-6, mechanism=mechanism, random_state=0, **{**FACTS, **options}
    ).fit(X, Y)
    exact = SparseRegressor(tol=1e-10, **options).fit(X, Y)
    np.testing.assert_allclose(private.coef_, exact.coef_, atol=4e-3)
    assert np.count_nonzero(exact.coef_) < P or "l1_ratio" in options
    assert not options.get("positive") or (private.coef_ >= 0.0).all()


@pytest.mark.parametrize("mechanism", [STEPS, OutputPerturbation(ridge=0.05)])
def test_without_a_penalty_the_constraint_stands(mechanism):
    """The fit is that of the features of positive coefficients alone."""
    options = {"epsilon": 1e7, "delta": 1e-6, "mechanism": mechanism, "random_state": 0, **FACTS}
    model = PrivateSparseRegressor(positive=True, **options).fit(X, Y)
    kept = model.coef_ > 1e-3
    assert kept.tolist() == [True, False, True, False, False, True]
    alone = PrivateSparseRegressor(**options).fit(X[:, kept], Y)
    np.testing.assert_allclose(model.coef_[kept], alone.coef_, atol=5e-3)


def test_elastic_nets_of_classifiers():
    labels = np.where(Y > 0.1, 1, 0)
    options = {"alpha": 0.02, "l1_ratio": 0.5}
    facts = {"bounds": (-1, 1), "classes": (0, 1), "scale": None, "random_state": 0}
    private = PrivateSparseClassifier(epsilon=1e7, delta=1e-6, mechanism=NoisyProximalGradient(n_iter=2000), **facts)
    exact = SparseClassifier(tol=1e-10, **options).fit(X, labels)
    np.testing.assert_allclose(private.set_params(**options).fit(X, labels).coef_, exact.coef_, atol=0.02)
    options = {"alpha": 0.05, "feature_weights": WEIGHTS}
    private.set_params(l1_ratio=None, **options).fit(X, labels)
    exact = SparseClassifier(tol=1e-10, **options).fit(X, labels)
    np.testing.assert_allclose(private.coef_, exact.coef_, atol=0.1)


@pytest.mark.parametrize(
    "mechanism",
    [
        NoisyProximalGradient(step=0.1, alpha=0.01),
        OutputPerturbation(ridge=0.05),
        ObjectivePerturbation(ridge=0.05),
        ObjectivePerturbation(ridge=0.05, noise="gamma"),
    ],
)
def test_a_shared_alpha_is_a_penalty_and_a_ridge(mechanism):
    """The elastic net is the fit with its two factors, bit for bit."""
    given = {"loss": "huber", "random_state": 0, "epsilon": 2.0, **FACTS}
    plain = type(mechanism)(
        **{field: value for field, value in vars(mechanism).items() if field not in ("alpha", "ridge")}
    )
    net = PrivateSparseRegressor(mechanism=plain, alpha=0.25, l1_ratio=0.25, **given).fit(X, Y)
    factors = PrivateSparseRegressor(mechanism=plain, alpha=0.0625, ridge=0.1875, **given).fit(X, Y)
    np.testing.assert_array_equal(net.coef_, factors.coef_)
    assert net.certificate_.events == factors.certificate_.events


def test_weights_are_those_of_a_modular_function():
    given = {"mechanism": "noisy-gradient-frank-wolfe", "random_state": 0, **FACTS}
    weighted = PrivateSparseRegressor(feature_weights=POSITIVE_WEIGHTS, **given).fit(X, Y)
    modular = PrivateSparseRegressor(norm=Modular(POSITIVE_WEIGHTS), **given).fit(X, Y)
    np.testing.assert_array_equal(weighted.coef_, modular.coef_)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(
        [
            ("noisy-proximal-gradient", {}),
            ("noisy-proximal-gradient", {"alpha": 0.1, "l1_ratio": 0.3}),
            ("mirror-descent", {"radius": 2.0}),
            (MirrorDescent(potential="euclidean", n_iter=100), {}),
            ("noisy-gradient-frank-wolfe", {}),
            (NoisyGradientFrankWolfe(average_gradients=False), {"norm": GroupLasso([[0, 1, 2], [2, 3, 4, 5]])}),
            ("output-perturbation", {}),
            (OutputPerturbation(mode="early-stopping", noise="laplace", threshold=0.01), {}),
            (OutputPerturbation(noise="gamma"), {"alpha": 0.01}),
            ("objective-perturbation", {}),
            (ObjectivePerturbation(noise="gamma", threshold=0.1), {"alpha": 0.01}),
            ("auto", {}),
            ("auto", {"scale": "auto", "bounds": (-7, 3), "y_bounds": (-3, 30)}),
            ("auto", {"alpha": 0.1}),
            ("auto", {"n_iter": 7}),
        ]
    ),
    st.sampled_from([None, GROUPS]),
    st.sampled_from(["huber", "squared", "pinball"]),
    st.booleans(),
    st.integers(0, 2**31),
    st.sampled_from([0.01, 0.3, 3.0]),
)
def test_no_coefficient_is_negative(chosen, norm, loss, intercept, seed, epsilon):
    """Whatever the noise."""
    mechanism, options = chosen
    options = {**FACTS, **options}
    if norm is not None:
        options.setdefault("norm", norm)
    model = PrivateSparseRegressor(
        epsilon=epsilon,
        delta=1e-6,
        loss=loss,
        mechanism=mechanism,
        positive=True,
        fit_intercept=intercept,
        random_state=seed,
        **options,
    )
    data, y = records(50, seed)
    try:
        model.plan(*data.shape)
    except (InvalidArgumentError, UnsoundMechanismError) as error:
        # No bound on slopes, no room for a ridge, or scales that need an intercept: nothing about signs.
        if "positive" in str(error) or "vertices" in str(error):
            raise
        return
    model.fit(data, -y)
    assert (model.coef_ >= 0.0).all()
    assert len(model.support_) == np.count_nonzero(model.coef_)


def test_signs_of_counts_and_of_searches():
    rng = np.random.default_rng(1)
    counts = rng.poisson(np.exp(X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0]))
    facts = {"bounds": (-1, 1), "y_bounds": (0, 20), "random_state": 0}
    model = PrivateSparsePoissonRegressor(epsilon=5.0, positive=True, **facts).fit(X, counts)
    assert (model.coef_ >= 0.0).all()
    assert model.coef_[0] > 0.3
    assert "no negative coefficients" in model.certificate_.mechanism
    free = PrivateSparsePoissonRegressor(epsilon=5.0, **facts).fit(X, counts)
    assert free.coef_[1] < -0.3
    candidate = PrivateSparseRegressor(mechanism="noisy-proximal-gradient", positive=True, **FACTS)
    search = PrivateSearchCV(candidate, {"alpha": [0.01, 0.1]}, epsilon=4.0, random_state=0).fit(X, Y)
    assert (search.best_estimator_.coef_ >= 0.0).all()


def test_auto_fits_signs_after_private_scales():
    wide = {"bounds": (-50, 50), "y_bounds": (-20, 60), "random_state": 0}
    model = PrivateSparseRegressor(epsilon=4.0, positive=True, **wide).fit(X, 10.0 * Y)
    assert "noisy-proximal-gradient" in model.certificate_.mechanism
    assert model.feature_ranges_ is not None
    assert (model.coef_ >= 0.0).all()
    assert model.coef_[0] > 3.0
    assert model.score(X, 10.0 * Y) > 0.3


@pytest.mark.parametrize(
    ("mechanism", "options", "error", "text"),
    [
        ("noisy-newton", {"positive": True}, UnsoundMechanismError, "all coefficients at once"),
        ("sgd-output", {"positive": True}, UnsoundMechanismError, "know no norm"),
        ("dual-frank-wolfe", {"positive": True, "alpha": 0.1}, UnsoundMechanismError, "cone is unbounded"),
        ("frank-wolfe", {"positive": True}, UnsoundMechanismError, 'norm="simplex"'),
        ("penalised-frank-wolfe", {"positive": True, "alpha": 0.1}, UnsoundMechanismError, "noisy-proximal-gradient"),
        ("select-refit", {"positive": True}, UnsoundMechanismError, "vertices of either sign"),
        ("frank-wolfe", {"feature_weights": WEIGHTS}, UnsoundMechanismError, "weight 0"),
        ("penalised-frank-wolfe", {"feature_weights": WEIGHTS, "alpha": 0.1}, UnsoundMechanismError, "weight 0"),
        ("noisy-gradient-frank-wolfe", {"feature_weights": WEIGHTS}, InvalidArgumentError, "unbounded"),
        ("mirror-descent", {"feature_weights": WEIGHTS}, InvalidArgumentError, "unbounded"),
        ("auto", {"feature_weights": WEIGHTS}, InvalidArgumentError, "unbounded"),
        ("output-perturbation", {"alpha": 0.1, "l1_ratio": 1.0}, UnsoundMechanismError, "without a ridge"),
        (STEPS, {"norm": GroupLasso([[0, 1, 2], [2, 3, 4, 5]]), "positive": True}, UnsoundMechanismError, "overlap"),
        ("frank-wolfe", {"alpha": 0.1, "l1_ratio": 0.5}, InvalidArgumentError, "alpha is not used"),
        ("penalised-frank-wolfe", {"alpha": 0.1, "l1_ratio": 0.5}, InvalidArgumentError, "dual-frank-wolfe"),
        ("mirror-descent", {"l1_ratio": 0.5}, InvalidArgumentError, "l1_ratio is not used by mirror-descent"),
        ("auto", {"l1_ratio": 0.5}, InvalidArgumentError, "l1_ratio"),
        (STEPS, {"l1_ratio": 0.5}, InvalidArgumentError, "needs alpha"),
        (STEPS, {"alpha": 0.1, "ridge": 0.1, "l1_ratio": 0.5}, InvalidArgumentError, "excludes ridge"),
        (NoisyProximalGradient(ridge=0.1), {"alpha": 0.1, "l1_ratio": 0.5}, InvalidArgumentError, "excludes ridge"),
        (STEPS, {"alpha": 0.1, "l1_ratio": 0.0}, InvalidArgumentError, "l1_ratio must be above 0"),
        (STEPS, {"alpha": 0.1, "l1_ratio": 1.1}, InvalidArgumentError, "at most 1"),
        (STEPS, {"alpha": 0.1, "l1_ratio": np.nan}, InvalidArgumentError, "l1_ratio"),
        (STEPS, {"alpha": 0.1, "l1_ratio": "half"}, InvalidArgumentError, "l1_ratio must be a number"),
        (STEPS, {"alpha": np.inf, "l1_ratio": 0.5}, InvalidArgumentError, "alpha must be finite"),
        (
            STEPS,
            {"feature_weights": WEIGHTS},
            InvalidArgumentError,
            "not used by noisy-proximal-gradient without alpha",
        ),
        ("output-perturbation", {"feature_weights": WEIGHTS}, InvalidArgumentError, "without alpha or threshold"),
        ("noisy-newton", {"feature_weights": WEIGHTS}, InvalidArgumentError, "without alpha or radius or threshold"),
        ("sgd-output", {"feature_weights": WEIGHTS}, InvalidArgumentError, "not used by sgd-output;"),
        (STEPS, {"alpha": 0.1, "feature_weights": WEIGHTS[:-1]}, InvalidArgumentError, "one per feature; got 5"),
        (STEPS, {"alpha": 0.1, "feature_weights": [-1.0, *WEIGHTS[1:]]}, InvalidArgumentError, "not negative"),
        (STEPS, {"alpha": 0.1, "feature_weights": np.zeros(P)}, InvalidArgumentError, "not all 0"),
        (STEPS, {"alpha": 0.1, "feature_weights": [np.nan] * P}, InvalidArgumentError, "finite"),
        (STEPS, {"alpha": 0.1, "feature_weights": "heavy"}, InvalidArgumentError, "feature_weights"),
        (STEPS, {"alpha": 0.1, "feature_weights": WEIGHTS, "norm": "linf"}, InvalidArgumentError, 'norm="l1"'),
        (STEPS, {"alpha": 0.1, "feature_weights": WEIGHTS, "norm": GROUPS}, InvalidArgumentError, "of its own"),
        (STEPS, {"positive": True, "norm": "linf"}, InvalidArgumentError, "positive=True"),
        (STEPS, {"positive": True, "norm": Modular(POSITIVE_WEIGHTS)}, InvalidArgumentError, "positive=True"),
        ("frank-wolfe", {"positive": True, "norm": "simplex"}, InvalidArgumentError, "not negative anyway"),
        (STEPS, {"positive": "yes"}, InvalidArgumentError, "positive must be True or False"),
    ],
)
def test_what_is_not_proved_is_refused_with_the_reason(mechanism, options, error, text):
    model = PrivateSparseRegressor(mechanism=mechanism, **{**FACTS, **options})
    with pytest.raises(error, match=text.replace("(", r"\(")):
        model.plan(1000, P)
    with pytest.raises(error):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


def test_a_threshold_of_newton_steps_takes_weights():
    newton = NoisyNewton(threshold=0.1)
    model = PrivateSparseRegressor(mechanism=newton, feature_weights=WEIGHTS, random_state=0, **FACTS).fit(X, Y)
    assert np.count_nonzero(model.coef_[3:5]) == 0
    assert model.coef_[0] > 0.4


def test_models_travel_with_their_options():
    model = PrivateSparseRegressor(
        mechanism="output-perturbation",
        alpha=0.01,
        l1_ratio=0.5,
        feature_weights=np.array(WEIGHTS),
        epsilon=5.0,
        random_state=0,
        **FACTS,
    ).fit(X, Y)
    again = models.load(models.dumps(model))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.l1_ratio == 0.5
    assert again.feature_weights.tolist() == WEIGHTS
    assert again.positive is False
    for same in (again, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(same.coef_std(), model.coef_std())
    copy = clone(model)
    assert copy.l1_ratio == 0.5
    assert copy.feature_weights.tolist() == WEIGHTS
    with pytest.raises(InvalidArgumentError, match="have changed"):
        model.set_params(feature_weights=POSITIVE_WEIGHTS).coef_std()
    signed = clone(model).set_params(positive=True, feature_weights=None, random_state=0).fit(X, Y)
    assert models.load(models.dumps(signed)).positive is True
    with pytest.raises(UnsoundMechanismError, match="hides what was released below 0"):
        signed.coef_interval()


def test_documents_that_say_less_have_the_defaults():
    """Models written before these options came."""
    model = PrivateSparseRegressor(random_state=0, **FACTS).fit(X, Y)
    document = json.loads(models.dumps(model))
    for name in ("l1_ratio", "feature_weights", "positive"):
        del document["parameters"][name]
    old = models.load(json.dumps(document))
    assert (old.l1_ratio, old.feature_weights, old.positive) == (None, None, False)
