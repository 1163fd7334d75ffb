"""Intervals for the population after noisy Newton steps: what they are made of, where there are none, and coverage.

Seeds are fixed. With other seeds a test of coverage would fail with probability below 1e-6 if intervals cover as often
as they say less SLACK (binomial tails, divided by the number of coefficients and levels).
"""

import copy
import pickle

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

from dpsparse import (
    DpsparseError,
    NoisyNewton,
    PrivateSearchCV,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    UnsoundMechanismError,
    _core,
)
from dpsparse.estimators import _population_law as laws
from dpsparse.estimators import _population_residuals as sizes
from dpsparse.estimators._validation import records
from dpsparse.estimators.population import population_estimates
from dpsparse.tables import Boolean, Category, Number, Schema

LEVEL = 1e-6
LEVELS = (0.9, 0.95)
SLACK = 0.03
#: Fits by the number of records: some minutes in all.
RUNS = {5000: 200, 20_000: 120, 50_000: 120}

# A trace by hand: three features and an intercept, moments and gradients without noise.
REGRESSION = {
    "loss": ("squared", []),
    "n_classes": None,
    "adjacency": "replace-one",
    "records_per_person": 1,
    "max_weight": None,
    "lower": np.array([-8.0]),
    "upper": np.array([8.0]),
    # What the images of `affine_images` map to -1 and 1: nothing is clipped before.
    "y_bounds": (-1.5, 2.5),
}
CLASSES = {**REGRESSION, "loss": ("logistic", []), "n_classes": 2}


def affine_images(d, factor=2.0, constant=0.5):
    """Images of the frame of d columns: every entry times `factor`, then a constant on the intercept."""
    images = factor * np.vstack([np.zeros(d), np.eye(d)])
    images[:, -1] += constant
    return images


def trace_of(X, y, derivative, *, points, clamp=np.inf, noise=0.0, moment_noise=0.0, rng=None):
    """What steps at these points release of these records, as `_core.fit_private` returns it."""
    n, d = X.shape
    rng = rng or np.random.default_rng(0)
    slopes = [np.clip(derivative(X @ theta, y), -clamp, clamp) for theta in points]
    gradients = np.array([X.T @ slope / n for slope in slopes]) + noise * rng.normal(size=(len(points), d))
    half = np.tril(rng.normal(size=(d, d)), -1)
    moments = X.T @ X + moment_noise * (half + half.T + np.diag(rng.normal(size=d)) * np.sqrt(2))
    trace = {
        "moments": moments,
        "moment_noise": moment_noise,
        "least_eigenvalue": np.linalg.eigvalsh(moments)[0],
        "points": np.array(points),
        "gradients": gradients,
        "gradient_noise": noise,
        "n_samples": n,
        "clamp": clamp,
        "weighs": False,
        "intercept": 1.0,
        "clipped_at": None,
        "bends": False,
        "images": affine_images(d),
    }
    return trace | probed(y - X @ np.linalg.lstsq(X, y)[0])


def probed(residuals, clamp=8.0, noise=1e-4):
    """What the probes of a line say of residuals: clamped means, with the constant off by the clamp and more."""
    size = np.mean(np.abs(residuals))
    offs = np.array([-clamp, clamp, -clamp - 1.5 * size, clamp + 1.5 * size])
    slopes = [np.mean(np.clip(residuals + off, -clamp, clamp)) for off in offs]
    return {
        "line_points": np.column_stack([np.ones(4), offs]),
        "line_gradients": np.column_stack([np.zeros(4), slopes]),
        "line_noise": noise,
        "line_clamp": clamp,
        "line_probes": 4,
    }


def records_by_hand(n, rng):
    X = np.column_stack([rng.normal(size=(n, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 0.5]]), np.ones(n)])
    return X, np.array([0.8, -0.4, 0.0, 0.3])


def far_points(truth, rng, share=0.8, noise=0.02):
    """Coefficients that are shrunk, and moved by noise: gradients there are not 0."""
    moved = noise * rng.normal(size=(40, len(truth)))
    return list(share * truth + moved - moved.mean(axis=0))


def squared(z, y):
    return z - y


def logistic(z, y):
    return 1 / (1 + np.exp(-z)) - (y > 0)


def test_without_noise_the_estimate_is_least_squares_and_so_is_its_error():
    """Wherever gradients were taken; the images of coefficients and errors are those of the user's units."""
    rng = np.random.default_rng(1)
    X, truth = records_by_hand(20_000, rng)
    y = X @ truth + rng.normal(0, 0.7, len(X))
    found = population_estimates(trace_of(X, y, squared, points=far_points(truth, rng)), REGRESSION, None)
    fit, (square,), *_ = np.linalg.lstsq(X, y)
    np.testing.assert_allclose(found.estimate, 2 * fit + [0, 0, 0, 0.5], atol=1e-9)
    expected = 2 * np.sqrt(np.diag(np.linalg.inv(X.T @ X)) * square / len(X))
    np.testing.assert_allclose(found.sampling_error, expected, rtol=0.02)
    # Gradients far from the minimiser leave the error of the curvature.
    assert np.all(found.error > found.sampling_error)
    assert not found.clipping.any()


@pytest.mark.parametrize("noise", [0.02, 0.6])
def test_without_noise_a_logistic_estimate_is_the_maximum_of_the_likelihood(noise):
    """Points that noise moved far, as it does many steps, have another mean gradient than their mean."""
    rng = np.random.default_rng(2)
    X, truth = records_by_hand(50_000, rng)
    y = np.where(rng.uniform(size=len(X)) < 1 / (1 + np.exp(-X @ truth)), 1.0, -1.0)
    points = far_points(truth, rng, noise=noise)
    found = population_estimates(trace_of(X, y, logistic, points=points, clamp=1.0), CLASSES, None)
    fit = truth.copy()
    for _ in range(20):
        likely = 1 / (1 + np.exp(-X @ fit))
        hessian = (X.T * (likely * (1 - likely))) @ X
        fit -= np.linalg.solve(hessian, X.T @ logistic(X @ fit, y))
    # The curvature is that of normal records with these moments: off by its sampling error times what steps left.
    np.testing.assert_allclose(found.estimate, 2 * fit + [0, 0, 0, 0.5], atol=0.01 * 0.4)
    np.testing.assert_allclose(found.sampling_error, 2 * np.sqrt(np.diag(np.linalg.inv(hessian))), rtol=0.02)


def test_the_curvature_of_normal_scores_is_their_mean():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(400_000, 2)) @ [[1, 0.6], [0, 0.8]] + [0.5, -1], np.full(400_000, 0.3)])
    theta = np.array([1.2, -0.7, 0.9])
    likely = 1 / (1 + np.exp(-X @ theta))
    expected = (X.T * (likely * (1 - likely))) @ X / len(X)
    law = laws.law_of(X.T @ X / len(X), 0.3, np.zeros(0), np.zeros((0, 3)))
    np.testing.assert_allclose(laws.curvature(theta, law), expected, atol=1e-3)


@pytest.mark.parametrize(
    ("law", "within"),
    [
        (lambda rng, n: rng.normal(size=n), 0.03),
        (lambda rng, n: rng.laplace(size=n) / np.sqrt(2), 0.03),
        (lambda rng, n: rng.uniform(-1, 1, n) * np.sqrt(3), 0.15),
        (lambda rng, n: rng.exponential(size=n) - 1, 0.15),
    ],
    ids=["normal", "laplace", "uniform", "exponential"],
)
def test_probes_tell_how_large_residuals_are(law, within):
    """Exactly for two laws, and for others nearly; noise on the probes is not taken for small residuals."""
    residuals = 0.6 * law(np.random.default_rng(4), 500_000)
    _, square = sizes.residuals(probed(residuals))
    assert square == pytest.approx(0.36, rel=within)
    assert sizes.residuals(probed(residuals, noise=0.1))[1] > 0.8 * 0.36
    with pytest.raises(Exception, match="residuals"):
        sizes.residuals(probed(residuals, noise=0.2))


def test_clamped_residuals_are_undone():
    """A clamp at half of a standard deviation: fewer residuals are within it, and the minimiser is the same."""
    rng = np.random.default_rng(5)
    X, truth = records_by_hand(200_000, rng)
    y = X @ truth + rng.normal(0, 0.7, len(X))
    trace = trace_of(X, y, squared, points=far_points(truth, rng), clamp=0.35)
    found = population_estimates(trace, REGRESSION, None)
    assert np.all(np.abs(found.estimate - 2 * truth - [0, 0, 0, 0.5]) < 4 * found.sampling_error + 2 * 0.005)
    # The median has pi/2 times the variance of the mean; this clamp has less.
    ratio = found.sampling_error / (2 * 0.7 * np.sqrt(np.diag(np.linalg.inv(X.T @ X))))
    assert np.all((ratio > 1.05) & (ratio < np.sqrt(np.pi / 2)))


def test_errors_are_those_of_noise_and_sampling_by_brute_force():
    """Draws of records, gradients and moments: errors are what is seen, and a little more for that of the curvature."""
    rng = np.random.default_rng(6)
    n, noise, moment_noise = 2000, 0.2, 15.0
    seen, errors = [], []
    for _ in range(1500):
        X, truth = records_by_hand(n, rng)
        y = X @ truth + rng.normal(0, 0.7, n)
        points = far_points(truth, rng, share=0.95)
        found = population_estimates(
            trace_of(X, y, squared, points=points, noise=noise, moment_noise=moment_noise, rng=rng), REGRESSION, None
        )
        seen.append(found.estimate)
        errors.append(found.error)
    deviation, said = np.std(seen, axis=0), np.median(errors, axis=0)
    # A standard deviation of 1500 draws is within 10 % of itself, but for probability 1e-6.
    assert np.all(said > 0.9 * deviation)
    assert np.all(said < 1.5 * deviation)
    assert np.all(np.abs(np.mean(seen, axis=0) - 2 * truth - [0, 0, 0, 0.5]) < 0.25 * deviation)


@pytest.mark.parametrize(
    ("change", "facts", "reason"),
    [
        ({"moment_noise": 2000.0}, {}, "hides a direction"),
        ({"line_noise": 1.0}, {}, "how large residuals are"),
        ({"line_probes": 0}, {}, "NoisyNewton(line"),
        ({"intercept": 0.0}, {}, "fit_intercept"),
        ({}, {"adjacency": "add-remove"}, "replace-one"),
        ({}, {"records_per_person": 2}, "one a person"),
        ({}, {"max_weight": 2.0}, "count alike"),
        ({}, {"loss": ("huber", [1.0])}, "squared loss"),
        ({}, {"n_classes": 2}, "squared loss"),
        ({}, {"loss": (abs, 1.0)}, "squared loss"),
        ({"clamp": 0.5}, CLASSES, "clamped"),
    ],
)
def test_what_is_not_known_to_cover_is_refused_with_its_reason(change, facts, reason):
    rng = np.random.default_rng(7)
    X, truth = records_by_hand(2000, rng)
    trace = trace_of(X, X @ truth + rng.normal(0, 0.7, 2000), squared, points=far_points(truth, rng))
    found = population_estimates(trace | change, REGRESSION | facts, None)
    assert isinstance(found, str)
    assert reason in found


@pytest.mark.parametrize("facts", [REGRESSION, CLASSES], ids=["squared", "logistic"])
def test_whatever_the_noise_is_a_fit_does_not_fail(facts):
    """Gradients and residuals of any size: numbers that are finite, or a reason, and no warning."""
    rng = np.random.default_rng(10)
    X, truth = records_by_hand(500, rng)
    trace = trace_of(X, np.sign(X @ truth), logistic, points=far_points(truth, rng), clamp=1.0)
    kinds = set()
    for size in np.logspace(-6, 6, 300):
        noise = size * rng.normal(size=(40, 4))
        slopes = size * rng.normal(size=(4, 2))
        found = population_estimates(
            trace | {"gradients": noise, "points": noise[::-1], "line_gradients": slopes}, facts, None
        )
        assert isinstance(found, str) or all(np.all(np.isfinite(values)) for values in found)
        kinds.add(type(found))
    assert str in kinds


def test_steps_that_ended_far_off_are_refused():
    rng = np.random.default_rng(8)
    X, truth = records_by_hand(2000, rng)
    points = [0.1 * truth] * 40
    trace = trace_of(X, X @ truth + rng.normal(0, 0.7, 2000), squared, points=points)
    assert "far from the minimiser" in population_estimates(trace, REGRESSION, None)
    assert "noisy Newton" in population_estimates(None, REGRESSION, None)


def test_clipped_features_widen_intervals():
    """By what clipping normal features changes, which a simulation shows."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=1_000_000)
    clipped = np.clip(x, -2, 2)
    slope = np.cov(x, clipped)[0, 1] / np.var(clipped)
    X, truth = records_by_hand(2000, rng)
    trace = trace_of(X, X @ truth + rng.normal(0, 0.7, 2000), squared, points=far_points(truth, rng))
    ranges = np.array([[-2.0, 4.0], [-1.0, 1.0], [0.0, 3.0]])
    found = population_estimates(trace | {"clipped_at": 2.0}, REGRESSION, ranges)
    np.testing.assert_allclose(found.clipping[:3], (slope - 1) * np.abs(found.estimate[:3]), rtol=0.05)
    assert found.clipping[3] == pytest.approx(found.clipping[0] * 1.0 + found.clipping[2] * 1.5)


def uniform_data(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X @ [1.0, -0.5, 0.0] + rng.normal(0, 0.5, n)


def rare_levels(n, rng):
    """Two rare levels, one of them of a pair that excludes each other, and a normal column."""
    level = rng.choice(3, n, p=[0.6, 0.35, 0.05])
    X = np.column_stack([level == 1, level == 2, rng.uniform(size=n) < 0.03, rng.normal(size=n), np.ones(n)])
    return X.astype(float), np.array([0.5, 2.0, -1.5, 0.5, -0.5])


def indicators(X, columns):
    shares = X.mean(axis=0)
    return laws.law_of(X.T @ X / len(X), 1.0, shares[columns], np.eye(X.shape[1])[columns])


def test_expectations_of_two_valued_columns_are_their_means():
    """Far out along rare columns too; what is left is of second order. Curvatures are derivatives of them."""
    X, truth = rare_levels(400_000, np.random.default_rng(11))
    law = indicators(X, [0, 1, 2])
    normal = indicators(X, [])
    for far in (np.zeros(5), np.array([0, 3.0, 0, 0, 0]), np.array([0, -3.0, 4.0, 0, 0])):
        theta = truth + far
        seen = X.T @ (1 / (1 + np.exp(-X @ theta))) / len(X)
        off = np.abs(laws.expected(theta[None], law)[0] - seen)
        np.testing.assert_array_less(off, 3e-3)
        assert off.max() < 0.5 * np.abs(laws.expected(theta[None], normal)[0] - seen).max()
        steps = 1e-4 * np.eye(5)
        slopes = (laws.expected(theta + steps, law) - laws.expected(theta - steps, law)) / 2e-4
        np.testing.assert_allclose(laws.curvature(theta, law), slopes, atol=1e-6)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.0, 2.0)], ids=["0 and 1", "-3 and 2"])
@pytest.mark.parametrize("often", [False, True])
def test_rare_levels_are_found_by_their_bounds(ends, often):
    """Whatever the two values are, and which of them is rare; with wider bounds gradients tell, and it is refused."""
    rng = np.random.default_rng(12)
    X, truth = rare_levels(50_000, rng)
    y = np.where(rng.uniform(size=len(X)) < 1 / (1 + np.exp(-X @ truth)), 1.0, -1.0)
    width = ends[1] - ends[0]
    X[:, 2] = ends[0] + width * (1 - X[:, 2] if often else X[:, 2])
    sign = -1 if often else 1
    truth[-1] -= truth[2] * (sign * ends[0] / width - often)
    truth[2] *= sign / width
    noise = np.array([0, 1.5, 2.0 / width, 0.0, 0.0])
    moved = rng.normal(size=(60, 5)) * noise
    points = truth + moved - moved.mean(axis=0)
    trace = trace_of(X, y, logistic, points=points, clamp=1.0, noise=1e-4, rng=rng)
    trace["images"] = affine_images(5, 1.0, 0.0)
    facts = CLASSES | {"lower": np.array([0.0, 0, ends[0], -6]), "upper": np.array([1.0, 1, ends[1], 6])}
    found = population_estimates(trace, facts, None)
    fit = truth.copy()
    for _ in range(20):
        likely = 1 / (1 + np.exp(-X @ fit))
        fit -= np.linalg.solve((X.T * (likely * (1 - likely))) @ X, X.T @ logistic(X @ fit, y))
    np.testing.assert_array_less(np.abs(found.estimate - fit), 1.5 * found.error)
    wide = facts | {"lower": np.full(4, -9.0), "upper": np.full(4, 9.0)}
    assert "bounds that are the values" in population_estimates(trace, wide, None)
    # Released ranges that features were clipped to are ends as well.
    ranges = np.column_stack([facts["lower"], facts["upper"]])
    np.testing.assert_array_equal(population_estimates(trace, wide, ranges), found)


def level_of_targets(effect, clamp=0.6, points=None, share=0.03):
    """Targets that are clipped to [-1, 1], as a released range does; a rare level has this effect."""
    rng = np.random.default_rng(13)
    X = np.column_stack([rng.uniform(size=20_000) < share, rng.uniform(size=20_000), np.ones(20_000)]).astype(float)
    truth = np.array([effect, 0.1, 0.0])
    y = np.clip(X @ truth + rng.normal(0, 0.05, len(X)), -1, 1)
    fit = np.linalg.lstsq(X, y)[0]
    near = [fit + 0.001 * rng.normal(size=3) for _ in range(40)] if points is None else points(truth)
    trace = trace_of(X, y, squared, points=near, clamp=clamp)
    return trace | probed(y - X @ fit, clamp=0.5), {
        **REGRESSION,
        "lower": np.zeros(2),
        "upper": np.ones(2),
        "y_bounds": (-9.0, 9.0),
    }


def test_targets_of_a_level_at_the_end_of_their_range_are_refused():
    """Unless public bounds are the end: then nothing is clipped that was not said."""
    for effect in (1.5, -1.5):
        trace, facts = level_of_targets(effect)
        assert "targets of some level" in population_estimates(trace, facts, None)
        assert not isinstance(population_estimates(trace, facts | {"y_bounds": (-1.5, 2.5)}, None), str)
    trace, facts = level_of_targets(0.5)
    assert not isinstance(population_estimates(trace, facts, None), str)


def test_clamped_residuals_of_a_level_are_refused():
    trace, facts = level_of_targets(
        0.6, clamp=0.2, points=lambda truth: [truth - [far, 0, 0] for far in np.linspace(0.6, 0.0, 40)]
    )
    assert "residuals of some level" in population_estimates(trace, facts, None)


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_targets_of_which_most_are_alike_are_refused(share):
    """They are clipped to a range that is next to nothing, and residuals show no more than that most are alike."""
    rng = np.random.default_rng(14)
    X = np.column_stack([rng.uniform(size=(20_000, 2)), np.ones(20_000)])
    y = (rng.uniform(size=20_000) < share) * (0.8 + 0.2 * X[:, 0])
    fit = np.linalg.lstsq(X, y)[0]
    trace = trace_of(X, y, squared, points=[fit] * 40, clamp=0.97) | probed(y - X @ fit, clamp=0.97)
    facts = REGRESSION | {"y_bounds": (-9.0, 9.0)}
    assert "most targets are alike" in population_estimates(trace, facts, None)
    assert not isinstance(population_estimates(trace, REGRESSION, None), str)
    # A range at the end of its grid says so by itself.
    trace, facts = level_of_targets(0.5)
    assert "most targets are alike" in population_estimates(trace, facts | {"y_bounds": (-1e6, 1e6)}, None)


def test_rows_that_are_shortened_are_refused():
    """A norm that bounds do not allow to be exceeded shortens none, a schema's neither."""
    X, y = uniform_data()
    arguments = {"epsilon": 2.0, "y_bounds": (-5, 5), "random_state": 0}
    model = PrivateSparseRegressor(bounds=(-1, 1), row_norm=1.2, **arguments).fit(X, y)
    with pytest.raises(UnsoundMechanismError, match="row_norm"):
        model.coef_interval()
    assert PrivateSparseRegressor(bounds=(-1, 1), row_norm=np.sqrt(3), **arguments).fit(X, y).coef_interval()
    schema = Schema({"a": Number(-1, 1), "b": Boolean(), "c": Category(["x", "y", "z"], reference="x")})
    table = {"a": X[:, 0], "b": X[:, 1] > 0, "c": np.array(["x", "y", "z"])[np.digitize(X[:, 2], [-0.3, 0.3])]}
    assert PrivateSparseRegressor(schema=schema, **arguments).fit(table, y).coef_interval()
    least = schema.row_norm
    assert PrivateSparseRegressor(schema=schema, row_norm=least, **arguments).fit(table, y).coef_interval()
    model = PrivateSparseRegressor(schema=schema, row_norm=0.9 * least, **arguments).fit(table, y)
    with pytest.raises(UnsoundMechanismError, match="row_norm"):
        model.intercept_interval()


@pytest.fixture(scope="module")
def regressor():
    return PrivateSparseRegressor(epsilon=2.0, bounds=(-1, 1), y_bounds=(-5, 5), random_state=0).fit(*uniform_data())


def test_the_public_methods_agree(regressor):
    found = regressor.population_estimates()
    lower, upper = regressor.coef_interval(0.9)
    half = ndtri(0.95) * found.error + found.clipping
    np.testing.assert_allclose(np.append(lower, regressor.intercept_interval(0.9)[0]), found.estimate - half)
    np.testing.assert_allclose(np.append(upper, regressor.intercept_interval(0.9)[1]), found.estimate + half)
    assert lower.shape == regressor.coef_.shape
    for same in (pickle.loads(pickle.dumps(regressor)), copy.deepcopy(regressor)):
        np.testing.assert_array_equal(same.coef_interval(0.9, target="population"), (lower, upper))
    with pytest.raises(UnsoundMechanismError, match="known law"):
        regressor.coef_interval(target="fit")
    with pytest.raises(DpsparseError, match="target"):
        regressor.coef_interval(target="sample")


def test_summaries_and_displays_show_them(regressor):
    from matplotlib.figure import Figure

    from dpsparse.displays import CoefficientDisplay

    table = regressor.summary(confidence=0.9)
    assert table.columns[-4:] == ("estimate", "lower", "upper", "sampling_width")
    found, (lower, upper) = regressor.population_estimates(), regressor.coef_interval(0.9)
    row = table.rows[1]
    assert (row["estimate"], row["lower"], row["upper"]) == (found.estimate[0], lower[0], upper[0])
    assert row["sampling_width"] == pytest.approx(2 * ndtri(0.95) * found.sampling_error[0])
    assert row["sampling_width"] < row["upper"] - row["lower"]
    assert table.rows[0]["estimate"] == found.estimate[-1]
    assert any("population" in note and "one law" in note and "symmetric" in note for note in table.notes)
    display = CoefficientDisplay.from_estimator(regressor, confidence=0.9, ax=Figure().subplots())
    ((points, _, (lines,)),) = display.ax_.containers
    np.testing.assert_allclose(points.get_xdata(), found.estimate[:3])
    drawn = np.array([segment[:, 0] for segment in lines.get_segments()])
    np.testing.assert_allclose(drawn, np.column_stack([lower, upper]))


def test_ratios_have_intervals_too():
    X, y = uniform_data()
    model = PrivateSparseClassifier(
        epsilon=4.0, bounds=(-1, 1), classes=(0, 1), mechanism="noisy-newton", random_state=0
    ).fit(X, y > 0)
    lower, upper = model.coef_interval(0.9)
    assert lower.shape == model.coef_.shape == (1, 3)
    row = model.summary(confidence=0.9).rows[1]
    assert row["odds_ratio_lower"] == pytest.approx(np.exp(lower[0, 0]))
    assert row["odds_ratio_upper"] == pytest.approx(np.exp(upper[0, 0]))


def test_fits_that_release_no_such_steps_say_so():
    X, y = uniform_data(2000)
    counts = np.random.default_rng(0).poisson(2.0, 2000)
    arguments = {"bounds": (-1, 1), "random_state": 0}
    regressions = {"y_bounds": (-5, 5), **arguments}
    refused = {
        "residuals": PrivateSparseRegressor(4.0, mechanism="noisy-newton", **regressions),
        "second moments": PrivateSparseRegressor(mechanism=NoisyNewton(share=0, line=0.06), **regressions),
        "threshold": PrivateSparseRegressor(mechanism=NoisyNewton(threshold=0.1), **regressions),
        "a radius": PrivateSparseRegressor(4.0, radius=0.1, **regressions),
        "an alpha": PrivateSparseRegressor(4.0, alpha=1e-4, **regressions),
        "clamped": PrivateSparseClassifier(4.0, mechanism=NoisyNewton(clip=0.5), **arguments),
        "replace-one": PrivateSparseRegressor(adjacency="add-remove", n_public=2000, delta=1e-6, **regressions),
        "hides a direction": PrivateSparseRegressor(0.1, **regressions),
    }
    for reason, model in refused.items():
        target = y > 0 if isinstance(model, PrivateSparseClassifier) else y
        model.fit(X, target)
        for call in (model.population_estimates, model.coef_interval, model.intercept_interval):
            with pytest.raises(UnsoundMechanismError, match=reason):
                call()
        (note,) = [note for note in model.summary().notes if reason in note]
        assert note.startswith("No intervals: ")
        assert "no interval is known" not in note
    model = PrivateSparseRegressor(n_iter=30, **regressions).fit(X, y)
    with pytest.raises(UnsoundMechanismError, match="frank-wolfe"):
        model.population_estimates()
    model = PrivateSparsePoissonRegressor(y_bounds=(0, 20), **arguments).fit(X, counts)
    with pytest.raises(UnsoundMechanismError, match="squared loss"):
        model.coef_interval()
    model = PrivateSparseClassifier(**arguments).fit(X, np.digitize(y, [-0.5, 0.5]))
    with pytest.raises(UnsoundMechanismError, match="two classes"):
        model.coef_interval()
    search = PrivateSearchCV(PrivateSparseRegressor(**regressions), {"ridge": [None]}, epsilon=8.0, random_state=0)
    search.set_params(param_grid={"mechanism": ["auto", "noisy-newton"]}).fit(X, y)
    with pytest.raises(UnsoundMechanismError):
        search.best_estimator_.population_estimates()


@pytest.mark.parametrize("share", [None, 0, 0.2])
def test_probes_are_planned_and_asked_for(share):
    """What is planned is spent: with moments four gradients more, and else none, for the same part of the budget."""

    def regressor(share):
        mechanism = NoisyNewton(share=share, line=0.1)
        return PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-5, 5), mechanism=mechanism, random_state=0)

    def of_the_line(plan):
        costs = [count * (event.sensitivity / event.sigma) ** 2 for event, count in plan.events]
        return sum(costs[-2:]) / sum(costs)

    model, (X, y) = regressor(share), uniform_data(2000)
    plan = model.plan(*X.shape)
    assert of_the_line(plan) == pytest.approx(of_the_line(regressor(0).plan(*X.shape)), rel=1e-6)
    assert model.fit(X, y).certificate_.events == plan.events
    assert {14, 10} & {count for _, count in plan.events} == {10 if share == 0 else 14}


def test_models_that_bend_have_no_intervals():
    """Incomes whose logarithms a target follows: no line through them is the population's, and fits see it."""
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(20_000, 3))
    facts = {"epsilon": 4.0, "bounds": (0, 1000), "y_bounds": (-10, 10), "random_state": 0}
    y = logs @ [1.0, -0.5, 0.0] + rng.normal(0, 0.5, len(logs))
    model = PrivateSparseRegressor(**facts).fit(np.exp(1.5 * logs), y)
    with pytest.raises(UnsoundMechanismError, match="say less far out"):
        model.coef_interval()
    model = PrivateSparseRegressor(**facts | {"bounds": (-7, 7)}).fit(logs, y)
    lower, upper = model.coef_interval()
    assert np.all(lower < [1.0, -0.5, 0.0])
    assert np.all(upper > [1.0, -0.5, 0.0])


def test_released_traces_hold_what_a_fit_spent():
    """One gradient a step, and no more than was planned; everything is finite."""
    X, y = uniform_data(5000)
    model = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-5, 5))
    plan = model.plan(*X.shape)
    *_, trace = _core.fit_private(plan, records(X), y, seed=0, progress=None)
    assert trace["points"].shape == trace["gradients"].shape == (plan.n_iter, 4)
    assert trace["line_points"].shape == trace["line_gradients"].shape == (14, 2)
    np.testing.assert_array_equal(trace["moments"], trace["moments"].T)
    eigenvalues = np.linalg.eigvalsh(trace["moments"])
    assert trace["least_eigenvalue"] == pytest.approx(eigenvalues[0], abs=1e-9 * eigenvalues[-1])
    assert all(np.all(np.isfinite(value)) for value in trace.values() if value is not None)


# Designs: records, coefficients and the intercept last, public bounds of features and targets.


def correlated(rng, n):
    X = rng.normal(size=(n, 6))
    for j in range(1, 6):
        X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    return X, np.array([1, -0.5, 0.25, 0, 0, 0.5, 2.0]), (-6.0, 6.0), (-20.0, 20.0)


def unequal_scales(rng, n):
    size, middle = np.array([1, 10, 1000, 0.1, 5.0]), np.array([0, 50, -300, 2, 0.0])
    U = rng.uniform(-1, 1, (n, 5))
    U[:, 1] = 0.5 * (U[:, 0] + U[:, 1])
    bounds = (middle - 3 * size, middle + 3 * size)
    return U * size + middle, np.append(np.array([1, 0.5, -0.3, 0, 0.8]) / size, 3.0), bounds, (-60.0, 60.0)


def wide_bounds(rng, n):
    X = rng.normal(size=(n, 4)) * [1, 2, 0.5, 1] + [3, 0, 1, -2]
    X[:, 1] += X[:, 0]
    return X, np.array([1, 0.5, 0, -1, 0.0]), (-100.0, 100.0), (-200.0, 200.0)


def binary_columns(rng, n):
    B = (rng.uniform(size=(n, 4)) < [0.5, 0.3, 0.1, 0.5]).astype(float)
    B[:, 3] = np.where(rng.uniform(size=n) < 0.6, B[:, 0], B[:, 3])
    X = np.hstack([B, rng.uniform(0, 1, (n, 3))])
    return X, np.array([0.5, -1, 1, 0, 1, -1, 0, 1.0]), (0.0, 1.0), (-10.0, 10.0)


DESIGNS = [correlated, unequal_scales, wide_bounds, binary_columns]
#: Middle scores of the designs: log odds are taken from there.
MIDDLES = {correlated: 2.5, unequal_scales: 5.6, wide_bounds: 7.0, binary_columns: 1.3}


def assert_coverage(hits, confidence):
    """`hits`, of shape (runs, coefficients), are no fewer than SLACK below the confidence allows."""
    runs, coefficients = hits.shape
    for found in hits.sum(axis=0):
        assert binom.cdf(found, runs, confidence - SLACK) > LEVEL / (coefficients * len(LEVELS))


def simulate(make, draw, runs):
    """Estimates of `runs` fits on new records, those that are not refused, the truth, and how many were refused."""
    found, plan, refused = [], None, 0
    for key in range(runs):
        X, y, truth = draw(np.random.default_rng([key, 17]))
        plan, statement = plan or make.plan(*X.shape), make._facts(*X.shape)[0]
        *_, released, trace = _core.fit_private(plan, records(X), y, seed=key, progress=None)
        # As fits do: ranges count where features are clipped to them.
        ranges = released[0] if released is not None and released[1] else None
        estimates = population_estimates(trace, statement, ranges)
        if isinstance(estimates, str):
            refused += 1
        else:
            found.append(estimates)
    return found, truth, refused


def assert_they_cover(found, truth, runs):
    """Those that are given cover, if they are given as a rule; few by chance could say nothing."""
    if len(found) < runs // 4:
        return
    distances = np.array([np.abs(one.estimate - truth) for one in found])
    for confidence in LEVELS:
        reach = np.array([ndtri(0.5 + 0.5 * confidence) * one.error + one.clipping for one in found])
        assert_coverage(distances <= reach, confidence)
    # The noise counts: by sampling alone they would not cover.
    alone = np.array([ndtri(0.975) * one.sampling_error for one in found])
    if np.median(np.concatenate([one.error / one.sampling_error for one in found])) > 2:
        with pytest.raises(AssertionError):
            assert_coverage(distances <= alone, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("n", [5000, 20_000, 50_000])
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_of_regressions_cover_the_population(design, n, epsilon):
    def draw(rng):
        X, truth, *_ = design(rng, n)
        return X, X @ truth[:-1] + truth[-1] + rng.normal(size=n), truth

    _, _, bounds, y_bounds = design(np.random.default_rng(0), 2)
    make = PrivateSparseRegressor(epsilon=epsilon, bounds=bounds, y_bounds=y_bounds)
    found, truth, refused = simulate(make, draw, RUNS[n])
    assert_they_cover(found, truth, RUNS[n])
    if (n, epsilon) == (5000, 0.5):
        assert refused > 0.9 * RUNS[n]
    if (n, epsilon) == (50_000, 4.0):
        assert refused < 0.1 * RUNS[n]


def classes(rng, X, truth):
    """Of a logistic model."""
    likely = 1 / (1 + np.exp(-X @ truth[:-1] - truth[-1]))
    return np.where(rng.uniform(size=len(X)) < likely, 1.0, -1.0)


def even_classes(design, n):
    """Records of a design, with classes that are about even, and the coefficients of these."""

    def draw(rng):
        X, truth, *_ = design(rng, n)
        truth = np.append(truth[:-1], truth[-1] - MIDDLES[design])
        return X, classes(rng, X, truth), truth

    return draw


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("n", [5000, 20_000, 50_000])
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_of_logistic_models_cover_the_population(design, n, epsilon):
    bounds = design(np.random.default_rng(0), 2)[2]
    make = PrivateSparseClassifier(
        epsilon=epsilon, bounds=bounds, classes=(0, 1), mechanism="noisy-newton", scale="private"
    )
    found, truth, refused = simulate(make, even_classes(design, n), RUNS[n])
    assert_they_cover(found, truth, RUNS[n])
    if (n, epsilon) == (50_000, 4.0):
        assert refused < 0.1 * RUNS[n]


@pytest.mark.slow
@pytest.mark.parametrize("design", [correlated, binary_columns])
def test_intervals_of_auto_cover_logistic_models_where_it_clamps_nothing(design):
    n = 50_000
    bounds = design(np.random.default_rng(0), 2)[2]
    make = PrivateSparseClassifier(epsilon=4.0, bounds=bounds, classes=(0, 1))
    found, truth, refused = simulate(make, even_classes(design, n), RUNS[n])
    assert refused == 0
    assert_they_cover(found, truth, RUNS[n])


def rare_level(share, effect):
    def draw(rng, n=20_000):
        X = (rng.uniform(size=(n, 4)) < [share, 0.3, 0.5, 1]).astype(float)
        X[:, 3] = rng.uniform(size=n)
        truth = np.array([effect, 0.5, -0.5, 0.5, -0.5])
        return X, classes(rng, X, truth), truth

    return draw


def test_an_effect_on_a_rare_level_is_covered():
    """A few fits of a level of 2 %, along which steps wander farther than a normal law allows for.

    Would fail with probability below 1e-6 if each covers in .92 of cases.
    """
    make = PrivateSparseClassifier(
        epsilon=2.0, bounds=(0, 1), classes=(0, 1), mechanism="noisy-newton", scale="private"
    )
    found, truth, refused = simulate(make, rare_level(0.02, 2.0), 30)
    assert refused < 10
    assert_coverage(np.array([np.abs(one.estimate - truth) <= ndtri(0.975) * one.error for one in found]), 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [2.0, 4.0])
@pytest.mark.parametrize(("share", "effect"), [(0.02, 2.0), (0.02, -2.0), (0.05, 3.0), (0.05, -1.5), (0.1, 3.0)])
def test_intervals_of_rare_levels_cover_the_population(share, effect, epsilon):
    make = PrivateSparseClassifier(
        epsilon=epsilon, bounds=(0, 1), classes=(0, 1), mechanism="noisy-newton", scale="private"
    )
    found, truth, refused = simulate(make, rare_level(share, effect), 200)
    assert refused < 0.5 * 200
    assert_they_cover(found, truth, 200)
