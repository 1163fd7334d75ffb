"""Displays draw what tables and plans say: the drawn points are read back."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError

from dpsparse import (
    InvalidArgumentError,
    PrivateSearchCV,
    PrivateSparseClassifier,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
)
from dpsparse.displays import CoefficientDisplay, EpsilonDisplay

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def private(**options):
    return PrivateSparseClassifier(bounds=(-1, 1), classes=(False, True), **options)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (2000, 5)), rng


def drawn(container):
    line, _, bars = container
    segments = [np.array(bar.get_segments()) for bar in bars]
    return np.array(line.get_xdata()), np.array(line.get_ydata()), segments


def test_coefficients_and_their_intervals(data):
    X, _ = data
    model = private(mechanism="output-perturbation", scale=None).fit(X, X[:, 0] > 0)
    display = CoefficientDisplay.from_estimator(model, confidence=0.9)
    x, y, (segments,) = drawn(display.ax_.containers[0])
    np.testing.assert_array_equal(x, model.coef_[0])
    lower, upper = model.coef_interval(0.9)
    np.testing.assert_allclose(segments[:, 0, 0], lower[0])
    np.testing.assert_allclose(segments[:, 1, 0], upper[0])
    assert display.figure_ is display.ax_.figure
    labels = dict(zip(display.ax_.get_yticks(), (t.get_text() for t in display.ax_.get_yticklabels()), strict=True))
    assert [labels[place] for place in y] == ["x0", "x1", "x2", "x3", "x4"]


def test_ratios_are_on_a_logarithmic_axis(data):
    X, rng = data
    model = SparsePoissonRegressor(alpha=0.01).fit(X, rng.poisson(np.exp(X[:, 0])))
    display = CoefficientDisplay.from_estimator(model, ratio=True)
    x, _, segments = drawn(display.ax_.containers[0])
    np.testing.assert_allclose(x, np.exp(model.coef_[model.support_]))
    assert display.ax_.get_xscale() == "log"
    assert segments == []
    with pytest.raises(InvalidArgumentError, match="ratio"):
        CoefficientDisplay.from_estimator(SparseRegressor(alpha=0.01).fit(X, X[:, 0]), ratio=True)


def test_the_largest_are_kept_in_order(data):
    X, _ = data
    model = SparseRegressor(alpha=1e-4).fit(X, X @ [1.0, -5.0, 2.0, 0.5, 3.0])
    display = CoefficientDisplay.from_estimator(model, max_coefficients=2)
    x, y, _ = drawn(display.ax_.containers[0])
    np.testing.assert_array_equal(x, model.coef_[[1, 4]])
    assert y[0] > y[1]
    with pytest.raises(InvalidArgumentError, match="max_coefficients"):
        CoefficientDisplay.from_estimator(model, max_coefficients=0)


def test_classes_are_series(data):
    X, _ = data
    y = np.digitize(X[:, 0], [-0.3, 0.3])
    model = PrivateSparseClassifier(5, bounds=(-1, 1), classes=(0, 1, 2), radius=5).fit(X, y)
    display = CoefficientDisplay.from_estimator(model)
    assert [container.get_label() for container in display.ax_.containers] == ["0", "1", "2"]
    for k, container in enumerate(display.ax_.containers):
        np.testing.assert_array_equal(drawn(container)[0], model.coef_[k, model.support_])
    assert display.ax_.get_legend() is not None


def test_given_axes_and_an_empty_model(data):
    X, _ = data
    ax = plt.figure().add_subplot()
    model = SparseClassifier(alpha=10.0).fit(X, X[:, 0] > 0)
    assert len(model.support_) == 0
    display = CoefficientDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    assert display.plot().ax_ is not ax


def test_planned_numbers_against_epsilon():
    model, epsilons = private(), (0.5, 1.0, 4.0)
    for quantity in ("predicted_excess_risk", "noise_scale"):
        display = EpsilonDisplay.from_estimator(
            model, n_samples=2000, n_features=5, epsilons=epsilons, quantity=quantity
        )
        curve = model.plan_curve(2000, 5, epsilons=epsilons)
        x, y, _ = drawn(display.ax_.containers[0])
        np.testing.assert_array_equal(x, epsilons)
        np.testing.assert_array_equal(y, getattr(curve, quantity))
        again = EpsilonDisplay.from_plans(curve.plans[::-1], quantity=quantity)
        np.testing.assert_array_equal(again.values, display.values)
    assert display.ax_.get_xscale() == "log"
    with pytest.raises(InvalidArgumentError, match="coef_std"):
        EpsilonDisplay.from_estimator(model, n_samples=2000, n_features=5, quantity="coef_std")
    with pytest.raises(InvalidArgumentError, match="quantity"):
        EpsilonDisplay.from_plans([], quantity="score")


def test_the_largest_deviation_of_a_coefficient():
    model = private(mechanism="output-perturbation", scale=None)
    display = EpsilonDisplay.from_estimator(model, n_samples=2000, n_features=5, epsilons=(1, 2), quantity="coef_std")
    curve = model.plan_curve(2000, 5, epsilons=(1, 2))
    np.testing.assert_array_equal(display.values, curve.coef_std.max(axis=1))
    assert display.values[0] > display.values[1]


def test_scores_with_error_bars():
    scores = [[0.6, 0.7, 0.8], [0.8, 0.8, 0.8]]
    display = EpsilonDisplay.from_scores([0.5, 2.0], scores, name="accuracy")
    _, y, (segments,) = drawn(display.ax_.containers[0])
    np.testing.assert_allclose(y, [0.7, 0.8])
    np.testing.assert_allclose(segments[0, :, 1], [0.6, 0.8])  # sample standard deviation 0.1
    assert display.ax_.get_ylabel() == "accuracy"
    assert EpsilonDisplay.from_scores([1.0], [[0.5]]).spread is None
    for epsilons, wrong in [([1.0], [0.5]), ([1.0, 2.0], [[0.5]]), ([-1.0], [[0.5]]), ([1.0], [[]])]:
        with pytest.raises(InvalidArgumentError):
            EpsilonDisplay.from_scores(epsilons, wrong)


def test_what_is_no_model_is_refused_with_what_to_give():
    search = PrivateSearchCV(private(), {"radius": [1.0]})
    for given, match in (
        (3, "with summary.*got int"),
        (None, "got NoneType"),
        (PrivateSparseClassifier, "the class PrivateSparseClassifier"),
        (search, "of a search, its best_estimator_"),
    ):
        with pytest.raises(InvalidArgumentError, match=match):
            CoefficientDisplay.from_estimator(given)
    for unfitted in (private(), SparseRegressor()):
        with pytest.raises(NotFittedError):
            CoefficientDisplay.from_estimator(unfitted)
    for given in (3, None, "model", SparseRegressor(), search, PrivateSparseClassifier):
        with pytest.raises(
            InvalidArgumentError, match=r"estimator must be a private linear model, with plan_curve\(\)"
        ):
            EpsilonDisplay.from_estimator(given, n_samples=1000, n_features=5)
    with pytest.raises(InvalidArgumentError, match=r"model\.summary"):
        CoefficientDisplay(3)
    for plans in (3, [3], [private()]):
        with pytest.raises(InvalidArgumentError, match=r"what plan\(\) returns"):
            EpsilonDisplay.from_plans(plans)
    for call in (lambda: EpsilonDisplay("a", "b"), lambda: EpsilonDisplay.from_scores([1.0], [["much"]])):
        with pytest.raises(InvalidArgumentError, match="must be an array of numbers"):
            call()


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"dpsparse\[plot\]"):
        EpsilonDisplay([1.0], [1.0]).plot()
