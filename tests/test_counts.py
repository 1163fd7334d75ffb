"""Models of counts: what their coefficients mean, their units, scores, bounds, and what they refuse."""

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score

from dpsparse import (
    DefaultBoundsWarning,
    DpsparseError,
    InvalidArgumentError,
    InvalidDataError,
    NoisyNewton,
    PrivateSearchCV,
    PrivateSparsePoissonRegressor,
    SparsePoissonRegressor,
    UnsoundMechanismError,
    _core,
)
from penalties import WITHOUT_PENALTY
from reference.certificates import keeps_its_claim


def problem(n=4000, p=4, seed=0, rate=2.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    slopes = np.array([0.8, -0.5, *[0.0] * (p - 2)])
    return X, rng.poisson(rate * np.exp(X @ slopes)).astype(float), slopes


def private(**arguments):
    facts = {"bounds": (-1, 1), "y_bounds": (0, 60), "random_state": 0, "delta": 1e-6}
    return PrivateSparsePoissonRegressor(**(facts | arguments))


def test_coefficients_are_logarithms_of_rate_ratios():
    X, y, slopes = problem(20_000)
    for epsilon, tolerance in [(1.0, 0.15), (100.0, 0.05)]:
        models = [private(epsilon=epsilon, random_state=seed).fit(X, y) for seed in range(4)]
        coefficients = np.mean([model.coef_ for model in models], axis=0)
        assert np.abs(coefficients - slopes).max() < tolerance
        assert abs(np.mean([model.intercept_ for model in models]) - np.log(2)) < tolerance
        means = [model.predict(X).mean() / y.mean() for model in models]
        assert abs(np.mean(means) - 1) < tolerance


@pytest.mark.parametrize("epsilon", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_rates_that_a_flag_raises_several_times_are_found(epsilon, share):
    """The curvature of a raised rate is several times what steps are divided by: they are shortened."""
    rng = np.random.default_rng(0)
    X = (rng.random((20_000, 1)) < share).astype(float)
    y = rng.poisson(np.exp(0.7 + 1.5 * X[:, 0])).astype(float)
    exact = PoissonRegressor(alpha=0).fit(X, y).score(X, y)
    for seed in range(8):
        model = private(epsilon=epsilon, bounds=(0, 1), y_bounds=(0, 50), random_state=seed).fit(X, y)
        assert model.score(X, y) > exact - 0.1


def test_upper_bounds_hardly_matter_and_neither_does_the_unit():
    X, y, _ = problem(10_000)
    scores = [private(epsilon=1.0, y_bounds=(0, high)).fit(X, y).score(X, y) for high in (40, 4_000)]
    exact = PoissonRegressor(alpha=0).fit(X, y).score(X, y)
    assert min(scores) > exact - 0.04
    one, other = (private(y_bounds=(0, 60 * unit)).fit(X, y * unit) for unit in (1.0, 0.25))
    assert np.allclose(one.coef_, other.coef_, rtol=1e-9)
    assert one.intercept_ + np.log(0.25) == pytest.approx(other.intercept_, rel=1e-9)


def test_what_noise_leaves_tends_to_the_exact_fit():
    X, y, _ = problem(20_000)
    exact = SparsePoissonRegressor(alpha=1e-9).fit(X, y)
    ours = private(epsilon=1e3).fit(X, y)
    assert np.abs(ours.coef_ - exact.coef_).max() < 0.02
    assert abs(ours.intercept_ - exact.intercept_) < 0.02


@pytest.mark.parametrize("mechanism", WITHOUT_PENALTY)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_mechanism_that_takes_bounded_slopes_takes_counts(mechanism, fit_intercept):
    X, y, _ = problem(2_000)
    ridge = 0.5 if "perturbation" in mechanism or mechanism == "sgd-output" else None
    estimator = private(epsilon=20.0, mechanism=mechanism, fit_intercept=fit_intercept, ridge=ridge, y_bounds=(0, 12))
    estimator.fit(X, y)
    plan = estimator.plan(*X.shape)
    assert estimator.certificate_.events == plan.events
    assert keeps_its_claim(estimator.certificate_)
    assert estimator.coef_[0] > estimator.coef_[1]
    assert (fit_intercept is False) == (estimator.intercept_ == 0.0)
    assert estimator.certificate_.y_bounds == (0.0, 12.0)


def test_predictions_are_rates_and_scores_are_shares_of_the_deviance():
    X, y, _ = problem()
    estimator = private(y_bounds=(0.5, 3.0)).fit(X, y)
    rates = np.exp(X @ estimator.coef_ + estimator.intercept_)
    assert np.allclose(estimator.predict(X), np.clip(rates, 0.5, 3.0))
    assert estimator.target_bounds_ == (0.5, 3.0)
    weights = np.random.default_rng(0).uniform(size=len(y))
    expected = d2_tweedie_score(y, estimator.predict(X), sample_weight=weights, power=1)
    assert estimator.score(X, y, weights) == expected


@pytest.mark.parametrize("level", [0.0, 0.1, 3.0])
def test_counts_that_are_all_alike_have_no_deviance_to_explain(level):
    """Shares of no deviance are NaN, as in scikit-learn, where they were an error of Python or -1e16."""
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    model = PrivateSparsePoissonRegressor(bounds=(-1, 1), y_bounds=(0, 9)).fit(X, np.full(50, 2.0))
    alike, weights = np.full(50, level), np.ones(50)
    assert math.isnan(model.score(X, alike))
    alike[7], weights[7] = 5.0, 0.0
    assert math.isnan(model.score(X, alike, sample_weight=weights))
    assert math.isfinite(model.score(X, alike))
    for y, wrong in ((alike[:-1], None), (np.full(50, level), weights[:-1]), (alike, np.zeros(50))):
        with pytest.raises(InvalidDataError):
            model.score(X, y, sample_weight=wrong)


def test_counts_beyond_their_bounds_are_clipped_in_silence():
    X, y, _ = problem()
    clipped = private(y_bounds=(1, 3)).fit(X, np.clip(y, 1, 3))
    wild = np.where(y > 3, 1e300, np.where(y < 1, -1e300, y))
    assert np.array_equal(private(y_bounds=(1, 3)).fit(X, wild).coef_, clipped.coef_)


@pytest.mark.parametrize("y_bounds", [(-1, 2), (2, 2), (3, 1), (0, np.inf), (np.nan, 1), 5])
def test_bounds_of_counts_are_checked_before_anything_is_spent(y_bounds):
    with pytest.raises(InvalidArgumentError, match="y_bounds"):
        private(y_bounds=y_bounds).plan(100, 2)


@pytest.mark.parametrize("residual_bound", [0, -1.0, np.nan, np.inf, "a"])
def test_clamps_are_checked(residual_bound):
    for scale in ("auto", None):
        with pytest.raises(InvalidArgumentError, match="residual_bound"):
            private(residual_bound=residual_bound, scale=scale).plan(10_000, 2)


def test_noise_is_in_proportion_to_the_clamp():
    def scale(**arguments):
        (one,) = private(mechanism=NoisyNewton(n_iter=3), **arguments).plan(1000, 3).noise_scales
        return one

    assert scale(residual_bound=2.0) == pytest.approx(2 * scale(residual_bound=1.0), rel=1e-3)
    assert scale(residual_bound=1.0) == pytest.approx(scale(), rel=1e-12)


def test_what_is_not_proved_for_counts_is_refused():
    for arguments in ({"mechanism": "simplex-sampling", "norm": "simplex", "fit_intercept": False}, {"norm": "none"}):
        with pytest.raises((InvalidArgumentError, UnsoundMechanismError)):
            private(**arguments).plan(100, 2)


def test_default_bounds_are_told():
    with pytest.warns(DefaultBoundsWarning, match=r"targets are taken to lie in \[0, 1\]"):
        PrivateSparsePoissonRegressor(bounds=(-1, 1)).plan(100, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        private().plan(100, 2)


def test_a_typical_count_is_released_where_records_are_many():
    assert "typical count" in private().plan(1000, 3).mechanism
    for arguments in ({"scale": None}, {"fit_intercept": False}, {"epsilon": 1e-3}):
        assert "typical count" not in private(**arguments).plan(1000, 3).mechanism


def concentrated(n, seed=0):
    """Counts about five of their standard deviations above zero, as ages and years of schooling are."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4))
    return X, rng.poisson(40 * np.exp(X @ [0.2, -0.1, 0.0, 0.0])).astype(float)


def test_counts_far_above_their_spread_are_fitted_as_well_as_others():
    X, y = concentrated(10_000)
    exact = SparsePoissonRegressor(alpha=1e-9).fit(X, y)
    assert y.mean() > 4.5 * y.std()
    for epsilon, loss in [(0.1, 0.06), (1.0, 0.02), (1e3, 0.002)]:
        for high in (100, 10_000):
            models = [private(epsilon=epsilon, y_bounds=(0, high), random_state=seed).fit(X, y) for seed in range(5)]
            assert min(model.score(X, y) for model in models) > exact.score(X, y) - loss, (epsilon, high)
    assert np.abs(models[0].coef_ - exact.coef_).max() < 0.01


def test_counts_that_are_nearly_all_zero_or_equal_have_a_rate():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6_000, 3))
    drawn = rng.poisson(3 * np.exp(0.8 * X[:, 0])).astype(float)
    for share, usual in [(0.9, 0.0), (0.97, 7.0)]:
        y = np.where(rng.random(len(X)) < share, usual, drawn)
        scores = [private(random_state=seed, y_bounds=(0, 60)).fit(X, y).score(X, y) for seed in range(8)]
        assert min(scores) > -0.1, (share, usual)


@pytest.mark.parametrize("high", [2, 10, 50])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1000.0])
def test_rare_events_keep_their_rate_in_tight_bounds(epsilon, high):
    """Half a count was a 64th of an upper bound of 2, and the clamp of the slopes little more."""
    n = 20_000
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 10))
    y = rng.poisson(0.05 * np.exp(0.4 * X[:, 0] - 0.2 * X[:, 1] - 0.1))
    model = private(epsilon=epsilon, bounds=(-5, 5), y_bounds=(0, high)).fit(X, y)
    assert 0.8 < model.predict(X).mean() / y.mean() < 1.25
    assert model.score(X, y) > 0.0


def test_log_rates_that_vary_much_have_their_slopes_where_noise_is_small():
    """The line through scores that were clipped at 2 was steeper by 8 %."""
    n, slopes = 20_000, np.array([1.0, -0.6, 0.3, 0.0])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = rng.poisson(np.exp(3 + X @ slopes))
    model = private(epsilon=1000.0, bounds=(-5, 5), y_bounds=(0, 10_000)).fit(X, y)
    assert np.abs(model.coef_ - slopes).max() < 0.01


@pytest.mark.parametrize("alike", [True, False])
def test_few_counts_have_a_constant_rate(alike):
    X, y = concentrated(300) if alike else problem(300)[:2]
    estimator = private(epsilon=0.25)
    plan = estimator.plan(*X.shape)
    assert "a constant" in plan.mechanism
    assert plan.n_iter == 1
    models = [private(epsilon=0.25, random_state=seed).fit(X, y) for seed in range(20)]
    assert keeps_its_claim(models[0].certificate_)
    for model in models:
        assert np.all(model.coef_ == 0.0)
        assert np.exp(model.intercept_) == pytest.approx(model.predict(X[:1])[0])
    assert np.median([model.score(X, y) for model in models]) > -0.3
    # No counts at all still have a rate.
    assert private(epsilon=0.25).fit(X, 0.0 * y).predict(X[:1])[0] > 0.0


#: Laws of a thousand counts, and a mean D^2 that their constants exceed by three standard errors and more; the first
#: three had -.05, -.45 and -.75 with a .55 quantile.
LAWS = {
    "geometric": (lambda rng: rng.geometric(0.2, 1000) - 1.0, -0.035),
    "mostly zero, the others large": (lambda rng: rng.poisson(6.0, 1000) * (rng.random(1000) < 0.3), -0.22),
    "negative binomial": (lambda rng: rng.negative_binomial(0.3, 0.3 / 3.3, 1000), -0.2),
    "nine in ten are zero": (lambda rng: rng.geometric(0.4, 1000) * (rng.random(1000) < 0.1), -0.2),
    "close together and far from zero": (lambda rng: rng.poisson(40.0, 1000), -0.15),
}


@pytest.mark.parametrize("high", [60, 6000])
@pytest.mark.parametrize("law", LAWS)
def test_constant_rates_are_near_the_mean(law, high):
    draw, least = LAWS[law]
    y = np.minimum(draw(np.random.default_rng(0)).astype(float), 60.0)
    X = np.zeros((1000, 1))
    models = [private(epsilon=0.1, y_bounds=(0, high), random_state=seed).fit(X, y) for seed in range(40)]
    assert np.mean([model.score(X, y) for model in models]) > least
    rate = np.mean([model.predict(X[:1])[0] for model in models])
    assert 0.45 < rate / y.mean() < 1.2


@pytest.mark.parametrize("high", [10, 10_000])
def test_constant_rates_of_equal_counts_are_theirs(high):
    X, y = np.zeros((1000, 1)), np.full(1000, 7.0)
    for seed in range(40):
        rate = private(epsilon=0.1, y_bounds=(0, high), random_state=seed).fit(X, y).predict(X[:1])[0]
        # A rate in between has e^-18 of the weight of one there, and there are a hundred.
        assert 6.0 < rate < 9.0


def test_constant_rates_are_of_weighted_records():
    X, y = np.zeros((1000, 1)), np.arange(1000) % 2 * 8.0
    model = private(epsilon=0.1, max_weight=3.0)
    weights = np.where(y > 0, 3.0, 1.0)
    rates = [
        model.set_params(random_state=seed).fit(X, y, sample_weight=weights).predict(X[:1])[0] for seed in range(40)
    ]
    # 6 of the shares that count, 4 of all records.
    assert 5.0 < np.mean(rates) < 7.0


@pytest.mark.parametrize("penalty", [{"alpha": 0.02}, {"ridge": 0.2}, {"radius": 0.15}])
def test_penalties_of_counts_are_in_units_of_public_bounds_wherever_rates_start(penalty):
    X, y = concentrated(20_000)
    ours = private(epsilon=1e5, y_bounds=(0, 160), **penalty).fit(X, y)
    # A loss whose unit is an eighth of the upper bound.
    penalised = {name: value if name == "radius" else 20 * value for name, value in penalty.items()}
    exact = SparsePoissonRegressor(**({"alpha": None, "tol": 1e-9} | penalised)).fit(X, y)
    free = SparsePoissonRegressor(alpha=1e-9).fit(X, y)
    assert np.abs(ours.coef_ - exact.coef_).max() < 0.01
    assert np.abs(free.coef_ - exact.coef_).max() > 0.02


def test_models_are_compared_by_roots_of_counts():
    X, y, _ = problem(200)
    facts = {"n_features": 4, "n_held_out": 50, "share": 0.25, "adjacency": "replace-one", "records_per_person": 1}
    search = _core.SearchFacts(
        n_samples=200, lower=np.array([-1.0]), upper=np.array([1.0]), y_bounds=(0.5, 6.0), counts=True, **facts
    )
    models = [(np.array([0.8, -0.5, 0.0, 0.0]), [0.7], None), (np.zeros(4), [5.0], None)]
    for score, (coefficients, (intercept,), _) in zip(search.non_private_scores(X, y, models), models, strict=True):
        rates = np.clip(np.exp(X @ coefficients + intercept), 0.5, 6.0)
        apart = (np.sqrt(rates / 6) - np.sqrt(np.clip(y, 0.5, 6) / 6)) ** 2
        assert score == pytest.approx(2**16 * apart.sum(), rel=1e-3)


def test_a_search_takes_counts():
    X, y, _ = problem(6_000)
    grid = {"mechanism": [NoisyNewton(), NoisyNewton(ridge=100.0)]}
    estimator = PrivateSparsePoissonRegressor(bounds=(-1, 1), y_bounds=(0, 20))
    search = PrivateSearchCV(estimator, grid, epsilon=20.0, delta=1e-6, random_state=0).fit(X, y)
    assert search.best_index_ == 0
    assert keeps_its_claim(search.certificate_)
    assert search.best_estimator_.score(X, y) > 0.2


def objective(X, y, theta, intercept):
    z = X @ theta + intercept
    constant = np.where(y > 0, y * np.log(np.maximum(y, 1e-300)) - y, 0.0)
    return float(np.mean(np.exp(z) - y * z + constant))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_ridge_alone_is_that_of_scikit_learn(fit_intercept):
    X, y, _ = problem(300, 6, seed=1)
    ours = SparsePoissonRegressor(alpha=0.0, ridge=0.03, tol=1e-11, fit_intercept=fit_intercept).fit(X, y)
    theirs = PoissonRegressor(alpha=0.03, tol=1e-9, max_iter=10_000, fit_intercept=fit_intercept).fit(X, y)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-6)


def test_an_l1_penalty_is_that_of_a_general_solver():
    X, y, _ = problem(300, 6, seed=2, rate=20.0)
    alpha, p = 0.3, 6

    def split(v):
        theta = v[:p] - v[p:-1]
        slope = np.exp(X @ theta + v[-1]) - y
        gradient = X.T @ slope / len(y)
        value = objective(X, y, theta, v[-1]) + alpha * v[:-1].sum()
        return value, np.concatenate([alpha + gradient, alpha - gradient, [slope.mean()]])

    bounds = [(0, None)] * (2 * p) + [(None, None)]
    start = np.zeros(2 * p + 1)
    found = minimize(split, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    ours = SparsePoissonRegressor(alpha=alpha, tol=1e-9).fit(X, y)
    theta = found.x[:p] - found.x[p:-1]
    assert np.allclose(ours.coef_, theta, atol=1e-5)
    assert 0 < len(ours.support_) < p
    value = objective(X, y, ours.coef_, ours.intercept_) + alpha * np.abs(ours.coef_).sum()
    assert value <= found.fun + 1e-9
    assert value - found.fun <= ours.duality_gap_ + 1e-9


@pytest.mark.parametrize("arguments", [{"alpha": 0.1}, {"radius": 0.4}, {"alpha": 0.1, "norm": "linf"}])
@pytest.mark.parametrize("rate", [0.05, 3.0, 1e5])
def test_gaps_certify_fits_of_counts_of_any_size(arguments, rate):
    X, y, _ = problem(400, 5, seed=3, rate=rate)
    model = SparsePoissonRegressor(**arguments, tol=1e-7).fit(X, y)
    rng = np.random.default_rng(0)

    def penalised(theta, intercept):
        norm = np.abs(theta).max() if "norm" in arguments else np.abs(theta).sum()
        return objective(X, y, theta, intercept) + arguments.get("alpha", 0.0) * norm

    null = objective(X, y, np.zeros(5), np.log(y.mean()))
    assert model.duality_gap_ <= 1e-7 * null + 1e-9
    if "radius" in arguments:
        assert np.abs(model.coef_).sum() <= 0.4 * (1 + 1e-9)
    best = penalised(model.coef_, model.intercept_)
    for _ in range(50):
        theta = model.coef_ * rng.uniform(0, 1) + (rng.normal(0, 0.01, 5) if "radius" not in arguments else 0.0)
        assert best <= penalised(theta, model.intercept_ + rng.normal(0, 0.05)) + model.duality_gap_ + 1e-9 * abs(null)


def test_weights_count_as_repetitions():
    X, y, _ = problem(80, 3, seed=4)
    weights = np.random.default_rng(0).integers(0, 4, 80)
    once = SparsePoissonRegressor(alpha=0.05, tol=1e-11).fit(X, y, weights)
    often = SparsePoissonRegressor(alpha=0.05, tol=1e-11).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.allclose(once.coef_, often.coef_, atol=1e-6)
    assert once.intercept_ == pytest.approx(often.intercept_, abs=1e-6)


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_weights_and_repetitions_differ_by_what_their_gaps_allow(norm):
    """With a ridge r a gap g allows a distance sqrt(2 g/r) from the minimiser: scikit-learn's 1e-7 needs tiny gaps."""
    rng = np.random.default_rng(3)
    X, y, weights = rng.uniform(size=(15, 10)), rng.integers(0, 3, 15), rng.integers(0, 5, 15)
    y[0], weights[0] = 2, 1
    for tol in (1e-3, 1e-6, 1e-13):
        model = SparsePoissonRegressor(norm=norm, alpha=0.01, ridge=0.01, tol=tol)
        weighted = (model.fit(X, y, sample_weight=weights).coef_, model.duality_gap_)
        repeated = (model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).coef_, model.duality_gap_)
        allowed = sum(np.sqrt(2.0 * gap / 0.01) for _, gap in (weighted, repeated))
        assert np.linalg.norm(weighted[0] - repeated[0]) <= allowed
    np.testing.assert_allclose(weighted[0], repeated[0], atol=1e-9)


@pytest.mark.parametrize("y", [[0.0, 0.0, 0.0], [1.0, -1.0, 2.0]])
def test_exact_fits_refuse_what_has_no_rate(y):
    X = np.arange(3.0).reshape(-1, 1)
    with pytest.raises(InvalidDataError):
        SparsePoissonRegressor(alpha=0.1).fit(X, y)
    with pytest.raises((DpsparseError, ValueError)):
        SparsePoissonRegressor(alpha=0.1).fit(X, [np.nan, 1.0, 2.0])
