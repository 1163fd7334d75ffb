"""Extreme but legal arguments: a fit with finite numbers, or an error that names what the user set."""

import warnings

import numpy as np
import pytest

from dpsparse import (
    DualFrankWolfe,
    Huber,
    InvalidArgumentError,
    MirrorDescent,
    NoisyNewton,
    NoisyProximalGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateSearchCV,
    PrivateSimplexClassifier,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SelectRefit,
    UnsoundMechanismError,
    combinatorial,
    privacy,
    set_functions,
)

EPSILONS = (1e-6, 1e-3, 1e6, 1e9, 1e12, 1e15)
DELTAS = (5e-324, 1e-300, 0.5, 1 - 1e-16)
BOUNDS = (1e-300, 1e-150, 1e150, 1e300, 1.7e308)
MECHANISMS = (
    "auto",
    "frank-wolfe",
    "penalised-frank-wolfe",
    "noisy-gradient-frank-wolfe",
    "noisy-proximal-gradient",
    "noisy-newton",
    "mirror-descent",
    "dual-frank-wolfe",
    "output-perturbation",
    "sgd-output",
    "objective-perturbation",
    "select-refit",
)
PENALISED = ("penalised-frank-wolfe", "dual-frank-wolfe")
TASKS = {
    "two classes": (PrivateSparseClassifier, {"classes": (0, 1)}),
    "classes": (PrivateSparseClassifier, {"classes": (0, 1, 2)}),
    "reals": (PrivateSparseRegressor, {"y_bounds": (-1.0, 1.0)}),
    "counts": (PrivateSparsePoissonRegressor, {"y_bounds": (0.0, 5.0)}),
}
#: What users set, by which errors begin.
SET = tuple(f"{name} " for name in (*PrivateSparseRegressor().get_params(), "classes", "X"))


def finite_or_refused(step):
    """None of a step whose numbers are finite, else what its error says."""
    try:
        numbers = step()
    except UnsoundMechanismError as error:
        return f"no guarantee: {error}"
    except InvalidArgumentError as error:
        return str(error)
    assert np.isfinite(numbers).all()
    return None


def data(task, n, bound, rng):
    X = rng.uniform(-1.0, 1.0, (n, 3)) * bound
    y = {"two classes": np.arange(n) % 2, "classes": np.arange(n) % 3, "counts": np.arange(n) % 5}
    return X, y.get(task, X[:, 0] / bound)


def settings():
    for n in (1, 2, 3):
        yield n, {"delta": 1e-6}
    for epsilon in EPSILONS:
        yield 2, {"epsilon": epsilon}
        yield 300, {"epsilon": epsilon}
    for delta in DELTAS:
        yield 2, {"delta": delta}
        yield 300, {"delta": delta}
    for bound in BOUNDS:
        yield 300, {"bounds": (-bound, bound)}
        yield 300, {"y_bounds": bound}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("task", TASKS)
def test_fits_are_finite_or_refused_by_a_name_that_the_user_set(task, mechanism):
    rng = np.random.default_rng(0)
    kind, facts = TASKS[task]
    facts = {"bounds": (-1.0, 1.0), "mechanism": mechanism, "random_state": 0} | facts
    if mechanism in PENALISED:
        facts["alpha"] = 0.1
    fitted = 0
    for n, extreme in settings():
        if "y_bounds" in extreme:
            if task not in ("reals", "counts"):
                continue
            low = -extreme["y_bounds"] if task == "reals" else 0.0
            extreme = {"y_bounds": (low, extreme["y_bounds"])}
        estimator = kind(**facts | extreme)
        X, y = data(task, n, estimator.bounds[1], rng)
        refused = finite_or_refused(lambda it=estimator, X=X, y=y: np.append(it.fit(X, y).coef_, it.intercept_))
        assert refused == finite_or_refused(lambda it=estimator, n=n: it.plan(n, 3).noise_scales), extreme
        assert refused is None or refused.startswith((*SET, "no guarantee")), (extreme, refused)
        fitted += refused is None
    unsound = task == "reals" and mechanism == "objective-perturbation"
    unsound |= task == "classes" and mechanism in ("objective-perturbation", "sgd-output", "dual-frank-wolfe")
    assert (fitted == 0) == unsound


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-100, 1e-10, 1e100, 1e300, 1.7e308])
@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        (NoisyNewton, ("damping",)),
        (NoisyNewton, ("alpha",)),
        (NoisyNewton, ("damping", "alpha")),
        (NoisyProximalGradient, ("step",)),
        (NoisyProximalGradient, ("step", "alpha")),
        (MirrorDescent, ("step",)),
        (OutputPerturbation, ("alpha", "threshold")),
        (ObjectivePerturbation, ("alpha", "threshold")),
    ],
)
def test_options_are_taken_or_refused_before_they_cost(mechanism, options, size):
    """Steps so long, and penalties so small, that floats end: fits did with an error once their budget was spent."""
    rng = np.random.default_rng(0)
    for kind, facts in TASKS.values():
        model = kind(mechanism=mechanism(**dict.fromkeys(options, size)), bounds=(-1, 1), random_state=0, **facts)
        y = np.arange(40) % len(facts.get("classes", (0, 1)))
        for X in (rng.uniform(-1, 1, (40, 3)), np.zeros((40, 3))):
            refused = finite_or_refused(lambda it=model, X=X, y=y: np.append(it.fit(X, y).coef_, it.intercept_))
            assert refused == finite_or_refused(lambda it=model: it.plan(40, 3).noise_scales)


@pytest.mark.parametrize("epsilon", [1e9, 1e12, 1e15])
@pytest.mark.parametrize("mechanism", ["auto", "select-refit", "frank-wolfe", "noisy-proximal-gradient"])
@pytest.mark.parametrize("kind", [PrivateSparseRegressor, PrivateSparsePoissonRegressor])
def test_choices_take_no_larger_a_range_than_is_drawn(kind, mechanism, epsilon):
    """Private scales of so large a budget asked for choices of a range that nothing draws."""
    X, y = data("reals", 200, 1.0, np.random.default_rng(0))
    model = kind(epsilon, mechanism=mechanism, scale="private", bounds=(-1, 1), y_bounds=(0, 1), random_state=0)
    assert np.isfinite(model.fit(X, abs(y)).coef_).all()


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        ({"residual_bound": 1e-300, "mechanism": "noisy-newton"}, "residual_bound"),
        ({"residual_bound": 1e300, "mechanism": "noisy-proximal-gradient"}, "residual_bound"),
        ({"loss": Huber(threshold=1e300), "mechanism": "noisy-gradient-frank-wolfe"}, "loss"),
        ({"loss": Huber(threshold=1e-300), "mechanism": "sgd-output"}, "loss"),
        ({"y_bounds": (-1.7e308, 1.7e308)}, "y_bounds"),
        # A sixth of such fits ended in an error once their budget was spent.
        ({"mechanism": NoisyNewton(damping=1e-20, alpha=10.0)}, "damping"),
        ({"feature_weights": (5e-324, 1.0, 1.0), "mechanism": "mirror-descent"}, "feature_weights"),
        ({"loss": "huber", "mechanism": "objective-perturbation", "epsilon": 1e15}, "epsilon"),
    ],
)
def test_errors_name_the_argument(facts, name):
    with pytest.raises(InvalidArgumentError, match=rf"^{name} "):
        PrivateSparseRegressor(**{"bounds": (-1, 1), "y_bounds": (-1, 1)} | facts).plan(1000, 3)


def test_errors_about_noise_say_what_to_do():
    facts = {"bounds": (-1, 1), "classes": (0, 1), "mechanism": "objective-perturbation"}
    with pytest.raises(InvalidArgumentError, match=r"^epsilon .* use a smaller one"):
        PrivateSparseClassifier(1e15, **facts).plan(1000, 3)
    with pytest.raises(InvalidArgumentError, match=r"^row_norm .* use nearer"):
        PrivateSparsePoissonRegressor(row_norm=1e-6, bounds=(-1, 1), y_bounds=(0, 1)).plan(1000, 3)


def test_coefficients_beyond_floats_are_their_end():
    """A large radius over bounds that are close together: the model came with infinities after it was paid for."""
    facts = {"bounds": (-1e-300, 1e-300), "y_bounds": (0, 1e-300), "radius": 1e9, "mechanism": "mirror-descent"}
    X, y = data("counts", 1000, 1e-300, np.random.default_rng(0))
    model = PrivateSparsePoissonRegressor(1e-6, 1e-12, records_per_person=1000, random_state=0, **facts).fit(X, y)
    assert np.abs(model.coef_).max() == np.finfo(float).max
    assert np.isfinite(model.intercept_)


@pytest.mark.parametrize("task", ["two classes", "counts"])
def test_ridges_that_no_minimiser_gets_to_are_refused_on_the_dual_too(task):
    """Such a fit took days: each of its minimisers may take as many passes as one alone, which was refused."""
    kind, own = TASKS[task]
    facts = {"mechanism": "dual-frank-wolfe", "alpha": 1.0, "ridge": 1e-9, "bounds": (-1, 1)}
    with pytest.raises(InvalidArgumentError, match=r"^ridge is too small: the minimiser"):
        kind(1e9, 0.5, **own, **facts).plan(10, 3)


@pytest.mark.parametrize(
    "mechanism",
    [
        DualFrankWolfe(alpha=0.1, ridge=0.0),
        ObjectivePerturbation(ridge=0.0),
        SelectRefit(refit="objective-perturbation", ridge=0.0),
        "output-perturbation",
    ],
)
def test_no_ridge_where_one_is_needed_has_no_guarantee(mechanism):
    facts = {"bounds": (-1, 1), "classes": (0, 1), "mechanism": mechanism}
    if isinstance(mechanism, str):
        facts["ridge"] = 0.0
    with pytest.raises(UnsoundMechanismError, match="ridge"):
        PrivateSparseClassifier(**facts).plan(1000, 3)


@pytest.mark.parametrize("mechanism", ["dual-frank-wolfe", "objective-perturbation", "output-perturbation"])
def test_a_negative_ridge_is_a_plain_error(mechanism):
    facts = {"alpha": 0.1, "ridge": -1.0, "bounds": (-1, 1), "classes": (0, 1)}
    with pytest.raises(InvalidArgumentError, match=r"^ridge must be positive"):
        PrivateSparseClassifier(mechanism=mechanism, **facts).plan(1000, 3)


@pytest.mark.parametrize("mechanism", ["mirror-descent", "noisy-gradient-frank-wolfe"])
def test_seminorms_ask_for_alpha(mechanism):
    cut = set_functions.GraphCut([(0, 1), (1, 2)], n_features=3)
    facts = {"bounds": (-1, 1), "classes": (0, 1), "norm": cut}
    with pytest.raises(InvalidArgumentError, match=r"^norm is a seminorm.*give alpha"):
        PrivateSparseClassifier(mechanism=mechanism, **facts).plan(1000, 3)
    assert PrivateSparseClassifier(alpha=0.1, **facts).plan(1000, 3).certified


def others(epsilon, delta, n):
    """Estimators beside the sparse linear ones, and their fits."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 3))
    labels, facts = np.arange(n) % 2, {"delta": delta, "bounds": (-1, 1), "random_state": 0}
    sparse = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1))
    cuts = [set_functions.GraphCut([(0, 1), (1, 2)], n_features=3)] * n
    yield lambda: PrivateSimplexRegressor(epsilon, y_bounds=(-1, 1), **facts).fit(X, X[:, 0]).coef_
    yield lambda: PrivateSimplexClassifier(epsilon, classes=(0, 1), **facts).fit(X, labels).coef_
    yield lambda: combinatorial.PrivateCoverage(2, epsilon, delta, random_state=0).fit(X > 0).support_
    yield lambda: combinatorial.PrivateFacilityLocation(2, epsilon, delta, random_state=0).fit(abs(X)).support_
    for kind in (combinatorial.PrivateSubmodularMinimizer, combinatorial.PrivateMinimumNormPoint):
        yield lambda kind=kind: vars(kind(epsilon, delta, n_iter=3, random_state=0).fit(cuts))["n_iter_"]
    for grid in ({"mechanism": ["auto", "frank-wolfe"]}, {"n_iter": [2, 3]}):
        yield (
            lambda grid=grid: (
                PrivateSearchCV(sparse, grid, epsilon=epsilon, delta=delta, random_state=0)
                .fit(X, X[:, 0])
                .best_estimator_.coef_
            )
        )


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e9, 1e15])
@pytest.mark.parametrize("delta", [5e-324, 1e-300, 0.5, 1 - 1e-16])
def test_other_estimators_do_likewise(epsilon, delta):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for n in (1, 2, 3, 50):
            for fit in others(epsilon, delta, n):
                refused = finite_or_refused(fit)
                assert refused is None or refused.startswith(("epsilon ", "delta ", "X ", "n_iter ")), refused


@pytest.mark.parametrize("delta", [5e-324, 1e-323, 1.5e-323, 1e-300, 1 - 1e-16])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1e15])
def test_every_delta_is_a_total(epsilon, delta, tmp_path):
    """Half of the least delta rounds to 0, and it was said to lie beyond its range."""
    with privacy.Ledger(tmp_path / "ledger.db", epsilon, delta) as ledger:
        for total in (privacy.Accountant(epsilon, delta), ledger):
            assert total.remaining(0.0) > 0.99 * epsilon
        budget = privacy.Accountant(epsilon, delta).add(privacy.PureEvent(epsilon / 2))
        assert budget.remaining(0.0) > 0.49 * epsilon
        if delta < 0.5:  # which allows for more
            assert budget.remaining(0.0) < 0.51 * epsilon


@pytest.mark.parametrize(
    "options", [{"alpha": 1e-3}, {"radius": 1.0}, {"ridge": 0.1}, {"alpha": 0.1, "ridge": 0.1}, {}]
)
@pytest.mark.parametrize("task", TASKS)
def test_features_that_do_not_vary_have_models_with_penalties_too(task, options):
    """Penalties were divided by the width of the features: an error, once the fit was paid for."""
    kind, facts = TASKS[task]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3_000, 2)), rng.integers(0, 2, 3_000)
    bounds = [(-1.0, -1.0), (2.0, 2.0)]
    for chosen in ({}, {"mechanism": "noisy-newton", "scale": "private"}):
        model = kind(bounds=np.array(bounds), epsilon=1.0, random_state=0, **facts, **options, **chosen).fit(X, y)
        assert np.all(np.isfinite(model.intercept_))
        np.testing.assert_array_equal(model.coef_, np.zeros_like(model.coef_))
