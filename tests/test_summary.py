"""Summaries, certificates in words and their HTML: numbers computed again, text escaped, no record in sight."""

import math
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dpsparse
from dpsparse import (
    Certificate,
    InvalidArgumentError,
    PrivateOnlineSimplex,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSimplexClassifier,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    SparseClassifier,
    SparsePoissonRegressor,
    SparseRegressor,
)
from dpsparse.errors import InvalidTypeError
from dpsparse.privacy import (
    DiscreteGaussianEvent,
    ExponentialEvent,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
    PureEvent,
    ZeroConcentratedEvent,
)
from dpsparse.tables import Boolean, Category, Number, Schema
from dpsparse.words import Summary, explain
from dpsparse.words.certificate import _down, _up, event_sentences, guarantee
from dpsparse.words.curve import EPSILONS
from dpsparse.words.notebook import model_html

ODD = "a<i>&"
SCHEMA = Schema(
    {
        ODD: Number(20, 80, unit="years"),
        "smoker": Boolean(),
        "school": Category(["none", "school", "degree<"], reference="school"),
        "dose": Number(0, 10, knots=[5.0]),
        "weight": Number(40, 120, missing="flag"),
    }
)


def records(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            ODD: rng.uniform(20, 80, n),
            "smoker": rng.random(n) < 0.3,
            "school": rng.choice(["none", "school", "degree<"], n),
            "dose": rng.uniform(0, 10, n),
            "weight": rng.uniform(40, 120, n),
        }
    )
    score = 0.05 * (frame[ODD] - 50) + frame.smoker + rng.logistic(size=n)
    return frame, np.where(score > 0, "yes", "no")


@pytest.fixture(scope="module")
def classifier():
    model = PrivateSparseClassifier(
        epsilon=2, schema=SCHEMA, classes=("no", "yes"), mechanism="output-perturbation", scale=None
    )
    return model.fit(*records())


def by_name(summary):
    return {(row["attribute"], row["level"]): row for row in summary.rows}


class Balanced(HTMLParser):
    """Checks that tags are closed in order, and keeps tags and text."""

    VOID = frozenset({"meta", "link", "br", "input", "img", "hr", "path"})

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text = [], set(), []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


# --- the table ---


def test_rows_are_the_intercept_the_coefficients_and_the_references(classifier):
    rows = by_name(classifier.summary())
    assert list(rows) == [
        ("(intercept)", None),
        (ODD, None),
        ("smoker", "False"),
        ("smoker", "True"),
        ("school", "school"),
        ("school", "none"),
        ("school", "degree<"),
        *(("dose", f"spline {k}") for k in range(1, 5)),
        ("weight", None),
        ("weight", "missing"),
    ]
    # An attribute without level has no reference either: it is a coefficient too.
    released = [
        row
        for row in rows.values()
        if row["attribute"] != "(intercept)" and (row["reference"] is None or row["level"] != row["reference"])
    ]
    np.testing.assert_array_equal([row["coefficient"] for row in released], classifier.coef_[0])
    assert rows["(intercept)", None]["coefficient"] == classifier.intercept_[0]
    assert rows["(intercept)", None]["odds_ratio"] is None
    assert rows[ODD, None]["unit"] == "years"
    for reference in (("smoker", "False"), ("school", "school")):
        assert rows[reference]["coefficient"] == 0.0
        assert rows[reference]["odds_ratio"] == 1.0
        assert rows[reference]["lower"] is None
    assert rows["school", "none"]["reference"] == "school"


def test_the_odds_ratio_is_the_models_own(classifier):
    frame, _ = records(5)
    rows = by_name(classifier.summary())

    def odds(table):
        chances = classifier.predict_proba(table)
        return chances[:, 1] / chances[:, 0]

    base = frame.assign(**{ODD: 30.0, "smoker": False, "school": "school"})
    older = odds(base.assign(**{ODD: 31.0})) / odds(base)
    np.testing.assert_allclose(older, rows[ODD, None]["odds_ratio"], rtol=1e-9)
    np.testing.assert_allclose(
        odds(base.assign(smoker=True)) / odds(base), rows["smoker", "True"]["odds_ratio"], rtol=1e-9
    )
    np.testing.assert_allclose(
        odds(base.assign(school="none")) / odds(base), rows["school", "none"]["odds_ratio"], rtol=1e-9
    )
    # Parts of a spline do not change one at a time.
    assert all(rows["dose", f"spline {k}"]["odds_ratio"] is None for k in range(1, 5))


def test_intervals_are_those_of_the_model(classifier):
    table = classifier.summary(confidence=0.9)
    lower, upper = classifier.coef_interval(0.9)
    row = by_name(table)[ODD, None]
    assert (row["lower"], row["upper"]) == (lower[0, 0], upper[0, 0])
    assert row["odds_ratio_lower"] == pytest.approx(math.exp(lower[0, 0]))
    assert row["odds_ratio_upper"] == pytest.approx(math.exp(upper[0, 0]))
    assert (table.rows[0]["lower"], table.rows[0]["upper"]) == classifier.intercept_interval(0.9)
    assert any("0.9" in note for note in table.notes)


def test_without_a_proof_there_are_no_intervals_and_the_table_says_so():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 3))
    table = PrivateSparseClassifier(bounds=(-1, 1), classes=(False, True), n_iter=5).fit(X, X[:, 0] > 0).summary()
    assert "lower" not in table.columns
    assert any(note.startswith("No intervals: ") for note in table.notes)


def test_three_classes_compare_with_the_first():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.1 * rng.normal(size=3000), [-0.3, 0.3])]
    model = PrivateSparseClassifier(5, bounds=(-1, 1), classes=("a", "b", "c"), radius=5).fit(X, y)
    rows = {(row["class"], row["attribute"]): row for row in model.summary().rows}
    assert len(rows) == 9
    low, high = np.zeros((1, 2)), np.array([[1.0, 0.0]])
    before, after = model.predict_proba(low)[0], model.predict_proba(high)[0]
    for k, label in enumerate("abc"):
        row = rows[label, "x0"]
        assert row["coefficient"] == model.coef_[k, 0]
        assert row["odds_ratio"] == pytest.approx(after[k] / after[0] / (before[k] / before[0]), rel=1e-9)


def test_rates_ratios_and_models_without_ratios():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 2))
    counts = rng.poisson(np.exp(X[:, 0]))
    private = PrivateSparsePoissonRegressor(bounds=(-1, 1), y_bounds=(0, 20)).fit(X, counts)
    exact = SparsePoissonRegressor(alpha=0.01).fit(X, counts)
    for model in (private, exact):
        row = by_name(model.summary())["x0", None]
        assert row["rate_ratio"] == pytest.approx(math.exp(model.coef_[0]))
    labels = X[:, 0] > 0
    assert by_name(SparseClassifier(alpha=0.01).fit(X, labels).summary())["x0", None]["odds_ratio"] > 1
    simplex = PrivateSimplexClassifier(bounds=(-1, 1), classes=(False, True)).fit(X, labels)
    assert "odds_ratio" in simplex.summary().columns
    for model in (
        SparseRegressor(alpha=0.01).fit(X, X[:, 0]),
        SparseClassifier(alpha=0.01, loss="hinge").fit(X, labels),
        PrivateSparseClassifier(loss="hinge", bounds=(-1, 1), classes=(False, True)).fit(X, labels),
    ):
        assert model.summary().columns == ("attribute", "level", "reference", "unit", "coefficient")


def test_a_large_coefficient_has_an_infinite_ratio():
    model = SparsePoissonRegressor(alpha=0.01).fit(np.array([[0.0], [1.0]]), [1, 2])
    model.coef_ = np.array([1e4])
    assert model.summary().rows[1]["rate_ratio"] == math.inf


def test_ranges_that_were_paid_for_are_shown():
    frame, _ = records()
    model = PrivateSparseRegressor(5, schema=SCHEMA.without("dose", "weight"), y_bounds=(0, 100))
    model.fit(frame, frame[ODD])
    assert model.feature_ranges_ is not None
    row = by_name(model.summary())[ODD, None]
    assert (row["range_lower"], row["range_upper"]) == tuple(model.feature_ranges_[0])


def test_only_the_support():
    X = np.eye(4)
    model = SparseRegressor(alpha=0.1).fit(X, [4.0, 0.0, 0.0, 0.0])
    names = model.summary(only_support=True).to_dict()["attribute"]
    assert names == ["(intercept)", *(f"x{j}" for j in model.support_)]
    assert len(names) < len(model.summary())


def test_frames_of_both_libraries(classifier):
    table = classifier.summary()
    pandas, polars = table.to_frame("pandas"), table.to_frame("polars")
    assert isinstance(table.to_frame(), pd.DataFrame)
    assert list(pandas.columns) == polars.columns == list(table.columns)
    assert isinstance(polars, pl.DataFrame)
    np.testing.assert_array_equal(pandas["coefficient"], table.to_dict()["coefficient"])
    np.testing.assert_array_equal(polars["coefficient"].to_numpy(), table.to_dict()["coefficient"])
    with pytest.raises(InvalidArgumentError, match="library"):
        table.to_frame("excel")


def test_it_prints_as_a_table(classifier):
    lines = repr(classifier.summary()).splitlines()
    assert lines[0] == "PrivateSparseClassifier"
    assert lines[1].split()[:3] == ["attribute", "level", "reference"]
    assert f"{classifier.coef_[0, 0]:.4g}" in next(line for line in lines if line.startswith(ODD))
    long = Summary("many", ("attribute",), tuple({"attribute": f"x{j}"} for j in range(1000)))
    assert "... and 800 rows more" in repr(long)


def test_bad_arguments(classifier):
    for confidence in (0.0, 1.0, -1, float("nan")):
        with pytest.raises(InvalidArgumentError, match="confidence"):
            classifier.summary(confidence=confidence)
    with pytest.raises(NotFittedError):
        PrivateSparseClassifier().summary()
    changed = clone(classifier).set_params(epsilon=3)
    vars(changed).update({k: v for k, v in vars(classifier).items() if k.endswith("_")})
    assert any("parameters must be those of the fit" in note for note in changed.summary().notes)


def test_the_winner_of_a_search_has_a_summary():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 3))
    base = PrivateSparseClassifier(bounds=(-1, 1), classes=(False, True), n_iter=10)
    search = PrivateSearchCV(base, {"radius": [1.0, 5.0]}, epsilon=4)
    assert search.plan(2000, 3)._repr_html_().startswith("<div")
    winner = search.fit(X, X[:, 0] > 0).best_estimator_
    assert "odds_ratio" in winner.summary().columns


# --- certificates ---


def test_every_event_has_its_sentence():
    said = dict.fromkeys(
        event_sentences(
            [
                (ExponentialEvent(math.log(1.05)), 50),
                (PureEvent(0.1), 1),
                (LaplaceEvent(1.0, 10.0), 2),
                (GaussianEvent(2.0, 37.0), 40),
                (DiscreteGaussianEvent(1.0, 3.0), 1),
                (ZeroConcentratedEvent(0.02), 1),
                (ObjectivePerturbationEvent(2.0, 30.0, 0.1), 1),
                (FailureEvent(1e-7), 1),
            ]
        )
    )
    assert list(said) == [
        "Each of 50 choices may shift the odds of any answer by at most 5 %.",
        "One answer may change in probability by at most 10.6 %.",
        "Each of 2 answers has Laplace noise, and may change in probability by at most 10.6 %.",
        "Each of 40 answers has Gaussian noise of standard deviation 18.5 times what one neighbour can change in it.",
        "One answer has discrete Gaussian noise of standard deviation 3 times what one neighbour can change in it.",
        "One answer has at most the Renyi divergences of one with Gaussian noise of standard deviation 5 times what "
        "one neighbour can change in it (rho = 0.02).",
        "One fit minimises a randomly tilted objective: the tilt has standard deviation 15 times the largest gradient "
        "of one record.",
        "One step may fail to protect, with probability at most 1e-07.",
    ]


def test_equal_events_are_counted_together():
    assert event_sentences([(ExponentialEvent(0.1), 2), (ExponentialEvent(0.1), 3)]) == [
        "Each of 5 choices may shift the odds of any answer by at most 10.6 %."
    ]
    assert event_sentences([(ExponentialEvent(3.0), 1)]) == [
        "One choice may shift the odds of any answer by at most a factor of 20.1."
    ]


def test_rounding_is_against_the_guarantee():
    for value in np.random.default_rng(0).lognormal(sigma=8, size=500):
        assert float(_down(value)) <= value * (1 + 1e-11)
        assert float(_up(value)) >= value * (1 - 1e-11)
        assert float(_up(value)) <= value * 1.011
        assert float(_down(value)) >= value / 1.011


def test_a_bounded_range_bounds_the_odds_of_every_answer():
    """The sentence on choices, by enumeration: softmax of scores that a neighbour changes by up to the range."""
    rng, epsilon0 = np.random.default_rng(0), 0.3
    for _ in range(200):
        scores = rng.normal(size=5)
        moved = scores + rng.uniform(0, epsilon0, 5)
        p, q = (np.exp(s) / np.exp(s).sum() for s in (scores, moved))
        for chosen in range(1, 31):
            mask = np.array([chosen >> k & 1 for k in range(5)], dtype=bool)
            shift = (q[mask].sum() / q[~mask].sum()) / (p[mask].sum() / p[~mask].sum())
            assert math.exp(-epsilon0) - 1e-12 <= shift <= math.exp(epsilon0) + 1e-12


def test_a_certificate_in_words(classifier):
    certificate = classifier.certificate_
    text = explain(classifier)
    first = text.splitlines()[0]
    assert "7.39 times as probable" in first  # exp(2), rounded up
    assert text.splitlines()[1].startswith("Neighbouring records (replace-one) differ in one record (a row of X")
    assert "n = 3000, which is public" in text
    assert f"{ODD} to [20, 80]" in text
    assert "school=degree< to [0, 1]" in text
    assert all(assumption in text for assumption in certificate.assumptions)
    ((event, _),) = certificate.events
    (ratio,) = re.findall(r"standard deviation (\S+) times", text)
    assert 0.98 * event.sigma / event.sensitivity <= float(ratio) <= event.sigma / event.sensitivity
    assert "feature 0 to [20, 80]" in explain(certificate)
    assert explain(Certificate.from_json(certificate.to_json())) == explain(certificate)


def test_a_seeded_fit_has_no_guarantee_in_words():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    model = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-3, 4), random_state=0, scale=None).fit(X, X[:, 0])
    text = explain(model)
    assert text.startswith("NO GUARANTEE")
    assert "times as probable" not in text
    assert "[-3, 4]" in text
    assert guarantee(model.certificate_).startswith("NO GUARANTEE")


def test_add_remove_in_words():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    model = PrivateSparseClassifier(
        1, 1e-6, bounds=(-1, 1), classes=(False, True), adjacency="add-remove", n_public=250, n_iter=3
    ).fit(X, X[:, 0] > 0)
    text = explain(model)
    assert ": added or taken out." in text
    assert "n = 250, a public stand-in," in text
    assert "300" not in text


def test_what_has_no_certificate_is_refused():
    for source in (object(), SparseRegressor(alpha=0.1).fit(np.eye(2), [1.0, 2.0])):
        with pytest.raises(InvalidTypeError, match="certificate"):
            explain(source)
    with pytest.raises(NotFittedError):
        explain(PrivateSparseClassifier())


# --- HTML ---


def test_html_is_well_formed_and_escaped(classifier):
    plan = classifier.plan(3000)
    for page in (
        classifier._repr_html_(),
        classifier.summary()._repr_html_(),
        classifier.certificate_._repr_html_(),
        plan._repr_html_(),
        classifier.plan_curve(3000, epsilons=(1, 2))._repr_html_(),
    ):
        parsed = Balanced(page)
        assert "i" not in parsed.seen  # the tag inside the name of an attribute
    parsed = Balanced(classifier._repr_html_())
    assert ODD in parsed.text
    assert "degree<" in parsed.text
    assert any("times as probable" in text for text in parsed.text)
    assert classifier._repr_mimebundle_()["text/html"].endswith(
        classifier._repr_html_()[classifier._repr_html_().index('<div class="dpsparse">') :]
    )


def test_html_of_scalers_and_of_games():
    X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    scaler = PrivateScaler(bounds=[(-1, 1), (-2, 2), (-3, 3)])
    parsed = Balanced(scaler.plan(300, 3)._repr_html_())
    assert "iterations" not in parsed.text
    assert any(text.startswith("Each of 6 choices") for text in parsed.text)
    certificate = scaler.fit(X).certificate_
    assert "feature 1 to [-2, 2]" in "".join(Balanced(certificate._repr_html_()).text)
    leader = PrivateOnlineSimplex(1.0, 1e-6, horizon=10, n_features=3, bound=1.0)
    leader.update(np.zeros(3))
    assert any("times as probable" in text for text in Balanced(leader.certificate_._repr_html_()).text)


def test_html_follows_scikit_learns_setting(classifier):
    with config_context(display="text"):
        assert not hasattr(classifier, "_repr_html_")
        assert "text/html" not in classifier._repr_mimebundle_()
    assert '<div class="dpsparse">' not in clone(classifier)._repr_html_()  # nothing to tell before a fit


def test_what_is_shown_follows_from_public_facts_and_what_was_released():
    """Models of other records, with the same released numbers, show the same: no record comes in by another way."""
    pages = []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (400, 3))
        model = PrivateSparseClassifier(bounds=(-1, 1), classes=(False, True)).fit(X, X[:, seed] > 0)
        model.coef_, model.intercept_ = np.array([[0.25, 0.0, -1.5]]), np.array([0.125])
        pages.append((model_html(model), repr(model.summary()), explain(model), model.certificate_._repr_html_()))
    assert pages[0] == pages[1]


# --- choosing epsilon ---


def test_a_curve_is_the_plans_themselves(classifier):
    curve = classifier.plan_curve(3000, epsilons=(0.5, 2, 8))
    for k, epsilon in enumerate((0.5, 2, 8)):
        plan = clone(classifier).set_params(epsilon=epsilon).plan(3000)
        assert curve.noise_scale[k] == max(plan.noise_scales)
        assert curve.predicted_excess_risk[k] == plan.predicted_excess_risk
        assert curve.plans[k].events == plan.events
    # What is planned for the epsilon of the fit is what the fit had.
    np.testing.assert_allclose(curve.coef_std[1], classifier.coef_std()[0])
    assert classifier.epsilon == 2
    assert repr(curve).splitlines()[1].split() == [
        "epsilon",
        "noise_scale",
        "predicted_excess_risk",
        "largest_coef_std",
    ]


def test_plans_have_the_curve_of_their_estimator(classifier):
    plan = classifier.plan(3000)
    model = clone(classifier)
    own = model.plan(3000)
    model.set_params(epsilon=9.0, bounds=(-1, 1), schema=None)
    for one in (plan, own):  # of the parameters that the estimator had, whatever it has now
        curve, expected = one.curve(epsilons=(0.5, 2)), classifier.plan_curve(3000, epsilons=(0.5, 2))
        assert repr(curve) == repr(expected)
        assert [each.events for each in curve.plans] == [each.events for each in expected.plans]
    assert plan.curve().epsilons.tolist() == list(EPSILONS)
    regressor = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1))
    assert repr(regressor.plan(2000, 3).curve(epsilons=[1])) == repr(regressor.plan_curve(2000, 3, epsilons=[1]))
    again = plan.curve(epsilons=[1]).plans[0].curve(epsilons=[3])
    assert again.plans[0].events == classifier.plan_curve(3000, epsilons=[3]).plans[0].events
    with pytest.raises(dpsparse.InvalidArgumentError, match="epsilons"):
        plan.curve(epsilons=())


def test_plans_that_no_estimator_made_have_no_curve():
    model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1))
    (fit, *_) = PrivateSearchCV(model, {"radius": [1.0]}, epsilon=2.0).plan(1000, 3).fits
    with pytest.raises(dpsparse.InvalidArgumentError, match="plan must be made by"):
        fit.curve()


def test_a_curve_without_a_law_has_no_deviations():
    model = PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1))
    curve = model.plan_curve(2000, 3, epsilons=[1])
    assert curve.coef_std is None
    assert "largest_coef_std" not in curve.table().columns


@pytest.mark.parametrize("epsilons", [(), (0,), (1, 1), (2, 1), 3, ("a",), (math.inf, 1)])
def test_bad_epsilons(epsilons):
    with pytest.raises(dpsparse.DpsparseError):
        PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1)).plan_curve(100, 2, epsilons=epsilons)
