"""Released ranges of features: predictions clip to what fits clipped to, in every storage, in searches too."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone

from dpsparse import (
    DpsparseError,
    FrankWolfe,
    PrivateSearchCV,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    SparseRegressor,
    _core,
)
from dpsparse.estimators._validation import records
from dpsparse.testing import check_mechanism

N, P = 3000, 5
# Wide, far from zero, and a constant one at the end.
LOWER = np.array([-50.0, 0.0, 100.0, -1000.0, 3.0])
UPPER = np.array([50.0, 80.0, 200.0, 10.0, 3.0])


def outliers(seed=0):
    """Features spread over a twentieth of their bounds, some zeros, and one record in fifty at random within them."""
    rng = np.random.default_rng(seed)
    middle, spread = np.array([5.0, 4.0, 150.0, -20.0, 3.0]), np.array([1.0, 2.0, 3.0, 10.0, 0.0])
    X = rng.normal(middle, spread, (N, P))
    X[rng.random((N, P)) < 0.2] = 0.0
    far = rng.random(N) < 0.02
    X[far] = rng.uniform(LOWER, UPPER, (far.sum(), P))
    y = np.clip((X[:, 1] - 4) / 4 - (X[:, 0] - 5) / 8 + rng.normal(0, 0.1, N), -1, 1)
    return X, y


def arguments(**changes):
    return {
        "epsilon": 4.0,
        "bounds": (LOWER, UPPER),
        "mechanism": "frank-wolfe",
        "scale": "private",
        "random_state": 0,
    } | changes


def regressor(**changes):
    return PrivateSparseRegressor(**arguments(**({"y_bounds": (-1, 1)} | changes)))


def classifier(**changes):
    return PrivateSparseClassifier(**arguments(classes=("no", "yes"), **changes))


def training(make):
    X, y = outliers()
    return X, y if make is regressor else np.where(y > 0, "yes", "no")


def fitted(make, **changes):
    X, y = training(make)
    return X, make(**changes).fit(X, y)


def linear(coefficients, intercept, ranges):
    """A fitted model of any numbers."""
    model = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1))
    model.coef_, model.intercept_, model.feature_ranges_ = coefficients, intercept, ranges
    model.n_features_in_ = len(coefficients)
    return model


def expected_scores(model, X):
    lower, upper = model.feature_ranges_.T
    scores = np.clip(X, lower, upper) @ np.ravel(model.coef_) + np.ravel(model.intercept_)
    return np.clip(scores, *model.target_bounds_) if isinstance(model, PrivateSparseRegressor) else scores


def answers(model):
    return model.predict if isinstance(model, PrivateSparseRegressor) else model.decision_function


@pytest.mark.parametrize("make", [regressor, classifier])
def test_predictions_clip_to_released_ranges(make):
    X, model = fitted(make)
    ranges = model.feature_ranges_
    assert ranges.shape == (P, 2)
    assert (np.diff(np.column_stack([LOWER, ranges, UPPER])) >= 0).all()
    assert (np.ptp(ranges[:4], axis=1) < 0.8 * (UPPER - LOWER)[:4]).all()
    assert tuple(ranges[4]) == (3.0, 3.0)
    scores = answers(model)(X)
    np.testing.assert_allclose(scores, expected_scores(model, X), rtol=0, atol=1e-9)
    # Without clipping the outliers' scores are others.
    assert np.abs(scores - (X @ np.ravel(model.coef_) + np.ravel(model.intercept_))).max() > 0.1


@pytest.mark.parametrize("make", [regressor, classifier])
def test_outliers_score_as_the_ends_of_the_ranges(make):
    _, model = fitted(make)
    lower, upper = model.feature_ranges_.T
    rows = np.array([lower, upper])
    beyond = np.array([lower - 1e6, upper + 1e6])
    np.testing.assert_array_equal(answers(model)(beyond), answers(model)(rows))
    bounded = answers(model)(np.random.default_rng(1).uniform(-1e9, 1e9, (100, P)))
    contributions = np.ravel(model.coef_) * np.column_stack([lower, upper]).T
    intercept = float(np.ravel(model.intercept_)[0])
    assert bounded.min() >= contributions.min(axis=0).sum() + intercept - 1e-9
    assert bounded.max() <= contributions.max(axis=0).sum() + intercept + 1e-9


def test_labels_and_probabilities_follow_the_scores():
    X, model = fitted(classifier)
    scores = expected_scores(model, X)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0, "yes", "no"))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(scores), rtol=1e-9)


def test_clipping_helps_where_it_happened_in_the_fit():
    """Deterministic: a fixed seed. Targets that follow the clipped feature are what outliers would spoil."""
    X, model = fitted(regressor)
    other = linear(model.coef_, model.intercept_, None)
    _, y = outliers()
    far = (np.abs(X[:, 0] - 5) > 20) & (X[:, 0] != 0)
    assert far.sum() > 10
    errors = [np.mean((m.predict(X[far]) - y[far]) ** 2) for m in (model, other)]
    assert errors[0] < errors[1]


@settings(deadline=None)
@given(
    X=st.lists(
        st.lists(st.sampled_from([0.0, 0.0, -3.0, 0.5, 7.0]) | st.floats(-9, 9), min_size=3, max_size=3), min_size=1
    ),
    ends=st.lists(st.tuples(st.floats(-6, 6), st.floats(0, 5)), min_size=3, max_size=3),
    coefficients=st.lists(st.floats(-3, 3), min_size=3, max_size=3),
)
def test_sparse_records_score_as_dense_ones(X, ends, coefficients):
    """Ranges with zero inside and outside; in CSR and CSC, with entries stored twice; X is not changed."""
    X, lower = np.array(X), np.array([low for low, _ in ends])
    ranges = np.column_stack([lower, lower + np.array([width for _, width in ends])])
    model = linear(np.array(coefficients), 0.25, ranges)
    expected = np.clip(X, *ranges.T) @ coefficients + 0.25
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-12)
    for make in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix):
        stored = make(X)
        # Every entry as two halves, which the format allows.
        halves = make((np.repeat(stored.data / 2, 2), np.repeat(stored.indices, 2), 2 * stored.indptr), shape=X.shape)
        for matrix in (stored, halves):
            before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
            np.testing.assert_allclose(model.predict(matrix), expected, atol=1e-12)
            for part, kept in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
                np.testing.assert_array_equal(part, kept)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_models_of_sparse_records_are_those_of_dense_ones(make):
    X, model = fitted(make)
    again = clone(model).fit(sp.csr_array(X), training(make)[1])
    np.testing.assert_array_equal(again.feature_ranges_, model.feature_ranges_)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_allclose(answers(again)(sp.csc_array(X)), answers(model)(X), atol=1e-9)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_pickles_keep_ranges_and_refits_of_clones_release_them_again(make):
    X, model = fitted(make)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.feature_ranges_, model.feature_ranges_)
    np.testing.assert_array_equal(answers(again)(X), answers(model)(X))
    fresh = clone(model)
    assert not hasattr(fresh, "feature_ranges_")
    fresh.fit(*training(make))
    np.testing.assert_array_equal(fresh.feature_ranges_, model.feature_ranges_)


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize(
    "changes",
    [
        {"scale": None},
        {"scale": "auto"},  # never with a mechanism of the user's choice
        {"scale": None, "mechanism": "auto"},
    ],
)
def test_models_without_released_ranges_have_none(make, changes):
    X, model = fitted(make, **changes)
    assert model.feature_ranges_ is None
    scores = X @ np.ravel(model.coef_) + np.ravel(model.intercept_)
    if make is regressor:
        scores = np.clip(scores, *model.target_bounds_)
    np.testing.assert_allclose(answers(model)(X), scores, atol=1e-9)
    # A model that had ranges loses them where a fit has none.
    model = make().fit(*training(make))
    assert model.feature_ranges_ is not None
    assert model.set_params(**changes).fit(*training(make)).feature_ranges_ is None


def several(**changes):
    """A classifier of three classes."""
    return PrivateSparseClassifier(**arguments(classes=("low", "middle", "high"), **changes))


@pytest.mark.parametrize("make", [classifier, several])
@pytest.mark.parametrize(
    "changes",
    [{"mechanism": "auto", "scale": "auto"}, {"mechanism": "noisy-newton"}, {"mechanism": "noisy-proximal-gradient"}],
)
def test_ranges_that_only_give_units_are_shown_and_clip_nothing(make, changes):
    """Quantiles within the bounds near those of the features, the bounds of a constant one; the model is linear."""
    X, y = outliers()
    terciles = np.quantile(y, [1 / 3, 2 / 3])
    names = ("no", "yes") if make is classifier else ("low", "middle", "high")
    y = np.array(names)[np.digitize(y, [0.0] if make is classifier else terciles)]
    model = make(**changes).fit(X, y)
    assert "private ranges" in model.certificate_.mechanism
    ranges = model.feature_ranges_
    assert ranges.shape == (P, 2)
    assert tuple(ranges[4]) == (3.0, 3.0)
    assert (np.diff(np.column_stack([LOWER, ranges, UPPER])) >= 0).all()
    inner = np.quantile(np.clip(X, LOWER, UPPER), [0.02, 0.98], axis=0).T[:4]
    assert (ranges[:4, 0] >= inner[:, 0] - 1).all()
    assert (ranges[:4, 1] <= inner[:, 1] + 1).all()
    assert (np.ptp(ranges[:4], axis=1) > 0).all()
    expected = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(
        model.decision_function(X), expected.ravel() if make is classifier else expected, rtol=1e-9, atol=1e-9
    )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert "nothing is clipped to them" in str(model.summary())


def test_ranges_of_several_classes_clip_where_fits_do():
    X, y = outliers()
    model = several().fit(X, np.array(("low", "middle", "high"))[np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))])
    lower, upper = model.feature_ranges_.T
    expected = np.clip(X, lower, upper) @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-9)
    assert np.abs(expected - X @ model.coef_.T - model.intercept_).max() > 0.1
    assert "Features count only within" in str(model.summary())


def test_exact_models_are_linear_everywhere():
    X, y = outliers()
    model = SparseRegressor(alpha=0.1).fit(X, y)
    assert not hasattr(model, "feature_ranges_")
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, atol=1e-9)


# --- searches ---


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize("refit_share", [0.0, 0.5])
def test_searches_carry_the_ranges_of_the_winner(make, refit_share):
    X, y = training(make)
    search = PrivateSearchCV(
        make(), {"radius": [0.01, 3.0]}, epsilon=20.0, refit_share=refit_share, random_state=0
    ).fit(X, y)
    best = search.best_estimator_
    assert search.best_params_ == {"radius": 3.0}
    assert best.feature_ranges_.shape == (P, 2)
    np.testing.assert_allclose(answers(best)(X), expected_scores(best, X), atol=1e-9)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    unscaled = PrivateSearchCV(make(), {"scale": [None]}, epsilon=20.0, refit_share=refit_share, random_state=0)
    assert unscaled.fit(X, y).best_estimator_.feature_ranges_ is None


def scores(x, y, models, y_bounds):
    """The integer scores by which a search compares models on these records."""
    facts = _core.SearchFacts(
        n_samples=len(y),
        n_features=P,
        n_held_out=2,
        share=0.2,
        lower=LOWER,
        upper=UPPER,
        y_bounds=y_bounds,
        adjacency="replace-one",
        records_per_person=1,
    )
    return facts.non_private_scores(x, y, models)


@pytest.mark.parametrize("stored", [np.asfortranarray, sp.csr_array, sp.csc_array])
def test_held_out_losses_are_those_of_the_clipped_model(stored):
    """Errors and squared residuals of predictions; one model of two clips."""
    X, y = outliers(1)
    X_bounded, unit = np.clip(X, LOWER, UPPER), 2**16
    _, model = fitted(regressor)
    unclipped = linear(model.coef_, model.intercept_, None)
    models = [(m.coef_, [m.intercept_], m.feature_ranges_) for m in (model, unclipped)]
    parts = stored(X)
    if sp.issparse(parts):
        parts = records(parts)
    losses = [np.minimum((m.predict(X_bounded) - y) ** 2, 1.0).sum() for m in (model, unclipped)]
    np.testing.assert_allclose(scores(parts, y, models, (-1.0, 1.0)) / unit, losses, rtol=1e-3)
    assert losses[1] - losses[0] > 5 * 1e-3 * losses[0]

    labels = np.where(y > 0, 1.0, -1.0)
    errors = [np.sum((m.predict(X_bounded) > 0) != (labels > 0)) for m in (model, unclipped)]
    # The lattice may decide a score next to zero.
    np.testing.assert_allclose(scores(parts, labels, models, None) / unit, errors, atol=5)


@pytest.mark.parametrize("ranges", [np.zeros((P, 3)), np.zeros((P - 1, 2)), np.tile([1.0, 0.0], (P, 1))])
def test_ranges_of_another_shape_are_refused(ranges):
    X, y = outliers()
    with pytest.raises(DpsparseError, match="feature_ranges"):
        scores(X, y, [(np.zeros(P), [0.0], ranges)], (-1.0, 1.0))


# --- the kit ---


def test_the_kit_checks_released_ranges_too():
    check_mechanism(FrankWolfe(n_iter=3), n_runs=40, scale="private", bounds=(-3.0, 5.0))


@pytest.mark.parametrize(("n", "epsilon"), [(2_000, 2.0), (7_000, 0.5), (7_000, 8.0), (30_000, 1.0)])
def test_few_ranges_are_missed_in_bounds_that_are_far_too_wide(n, epsilon):
    """One fit in two to four had a feature with its public bounds for a range, whatever n and epsilon: all that was
    known beyond what a coarse grid takes had gone to finer ones."""
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(n, 8)))
    y = X[:, 0] - X[:, 1] + rng.normal(size=n)
    missed = 0
    for seed in range(20):
        model = PrivateSparseRegressor(epsilon=epsilon, bounds=(-200, 200), y_bounds=(-20, 20), random_state=seed)
        missed += int((np.diff(model.fit(X, y).feature_ranges_) > 100).any())
    # Two in a hundred fits are expected; the seeds are fixed.
    assert missed <= 4
