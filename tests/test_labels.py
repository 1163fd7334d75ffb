"""Declared labels in any order, inside scikit-learn's tools; and what a split into pairs of classes costs."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_predict, cross_val_score

from dpsparse import (
    InvalidArgumentError,
    InvalidDataError,
    PrivateSearchCV,
    PrivateSimplexClassifier,
    PrivateSparseClassifier,
    SparseClassifier,
)

N = 4000
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (N, 4))
TRUE = X[:, 0] + X[:, 1] > 0
Y = np.where(TRUE, "yes", "no")
HALF = N // 2


def make(classes, Kind=PrivateSparseClassifier, **arguments):
    return Kind(epsilon=20.0, bounds=(-1, 1), classes=classes, random_state=0, **arguments)


@pytest.mark.parametrize("Kind", [PrivateSparseClassifier, PrivateSimplexClassifier])
@pytest.mark.parametrize("classes", [("yes", "no"), ("no", "yes"), np.array(["yes", "no"]), pd.Series(["yes", "no"])])
def test_scorers_agree_in_any_order(Kind, classes):
    model = make(classes, Kind).fit(X[:HALF], Y[:HALF])
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.coef_[0, 0] > 0
    probabilities = model.predict_proba(X[HALF:])
    assert model.score(X[HALF:], Y[HALF:]) > 0.85
    assert roc_auc_score(Y[HALF:] == "yes", probabilities[:, 1]) > 0.9
    assert log_loss(Y[HALF:], probabilities) < np.log(2)
    assert not any("read from y" in text for text in model.certificate_.assumptions)


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "accuracy", "average_precision"])
def test_scores_by_name_do_not_depend_on_the_order(scoring):
    # Average precision takes the larger label of 0 and 1 for the positive one.
    y = TRUE.astype(int)
    one, other = (cross_val_score(make(c), X, y, cv=2, scoring=scoring) for c in ((0, 1), (1, 0)))
    np.testing.assert_array_equal(one, other)
    assert one.min() > {"neg_log_loss": -np.log(2)}.get(scoring, 0.85)


def test_calibration_takes_declared_words():
    calibrated = CalibratedClassifierCV(make(("yes", "no")), cv=2).fit(X[:HALF], Y[:HALF])
    assert calibrated.score(X[HALF:], Y[HALF:]) > 0.9


def test_a_search_sorts_them_too():
    search = PrivateSearchCV(make(("yes", "no")), {"n_iter": [5, 30]}, epsilon=10.0, random_state=0)
    assert search.fit(X[:HALF], Y[:HALF]).classes_.tolist() == ["no", "yes"]
    assert roc_auc_score(Y[HALF:] == "yes", search.decision_function(X[HALF:])) > 0.9


NUMBERING = {
    "voting": lambda model: VotingClassifier([("one", model)]),
    "soft voting": lambda model: VotingClassifier([("one", model)], voting="soft"),
    "stacking": lambda model: StackingClassifier([("one", model)], LogisticRegression(), cv=2),
    "bagging": lambda model: BaggingClassifier(model, n_estimators=2, random_state=0),
}


@pytest.mark.parametrize("name", NUMBERING)
def test_tools_that_number_the_labels(name):
    """The message says what to declare, and that works: predictions come back as the labels that were given."""
    with pytest.raises(InvalidDataError, match=r"declare classes=\(0, 1\)"):
        NUMBERING[name](make(("yes", "no"))).fit(X[:HALF], Y[:HALF])
    model = NUMBERING[name](make((0, 1))).fit(X[:HALF], Y[:HALF])
    assert set(model.predict(X)) == {"yes", "no"}
    assert model.score(X[HALF:], Y[HALF:]) > 0.9


def test_predictions_across_folds():
    labels = cross_val_predict(make(("yes", "no")), X, Y, cv=2)
    assert np.mean(labels == Y) > 0.9
    with pytest.raises(InvalidDataError, match=r"declare classes=\(0, 1\)"):
        cross_val_predict(make(("yes", "no")), X, Y, cv=2, method="predict_proba")
    probabilities = cross_val_predict(make((0, 1)), X, Y, cv=2, method="predict_proba")
    assert roc_auc_score(Y == "yes", probabilities[:, 1]) > 0.9


def test_integers_are_no_words_and_the_hint_is_for_numbers_only():
    for y in (np.where(TRUE, "yes", "maybe"), np.where(TRUE, 1.5, 0.5)):
        with pytest.raises(InvalidDataError, match=r"among the declared classes$"):
            make(("yes", "no")).fit(X, y)


@pytest.mark.parametrize("y", [Y.astype(object), pd.Series(Y), pd.Series(Y, dtype="string"), pl.Series(Y), list(Y)])
def test_labels_of_every_storage(y):
    expected = make(("no", "yes")).fit(X, Y)
    np.testing.assert_array_equal(make(("yes", "no")).fit(X, y).coef_, expected.coef_)
    categories = make(("yes", "no")).fit(X, pd.Series(Y).astype("category"))
    np.testing.assert_array_equal(categories.coef_, expected.coef_)


def pandas_labels():
    """Labels in pandas' own types, with the type of numpy's that ``classes_`` is to have."""
    whole = TRUE.astype(int)
    for name, values, kind in [
        ("boolean", TRUE, "b"),
        ("bool[pyarrow]", TRUE, "b"),
        ("Int64", whole, "i"),
        ("UInt8", whole, "u"),
        ("int64[pyarrow]", whole, "i"),
        ("string", Y, "O"),
        ("string[pyarrow]", Y, "O"),
    ]:
        yield pytest.param(pd.Series(values, dtype=name), values, kind, id=name)
        yield pytest.param(pd.Series(values, dtype=name).to_frame(), values, kind, id=f"{name}, a frame")
        yield pytest.param(pd.array(values, dtype=name), values, kind, id=f"{name}, an array")
    for values, kind in ((TRUE, "b"), (whole, "i"), (Y, "O")):
        yield pytest.param(pd.Series(values).astype("category"), values, kind, id=f"categories of kind {kind}")
        yield pytest.param(pd.Categorical(values), values, kind, id=f"an array of categories of kind {kind}")
    nullable = pd.Series(TRUE, dtype="boolean").astype("category")
    yield pytest.param(nullable, TRUE, "b", id="categories that are nullable")


@pytest.mark.parametrize("Model", [PrivateSparseClassifier, PrivateSimplexClassifier, SparseClassifier])
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize(("y", "plain", "kind"), list(pandas_labels()))
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_in_types_of_pandas_are_those_of_numpy(Model, declared, y, plain, kind):
    exact = Model is SparseClassifier
    model = Model(alpha=0.1) if exact else make(np.unique(plain) if declared else None, Model)
    twin, model = clone(model).fit(X, plain), model.fit(X, y)
    assert model.classes_.dtype.kind == (plain.dtype.kind if declared and not exact else kind)
    assert model.classes_.tolist() == twin.classes_.tolist()
    np.testing.assert_array_equal(model.coef_, twin.coef_)
    predicted = model.predict(X)
    assert predicted.dtype == model.classes_.dtype
    assert model.score(X, y) == twin.score(X, plain) > 0.8


def missing_labels():
    for name, values in (("boolean", TRUE), ("bool[pyarrow]", TRUE), ("Int64", TRUE.astype(int)), ("string", Y)):
        for series in (pd.Series(values, dtype=name), pd.Series(values, dtype=name).astype("category")):
            series = series.copy()
            series.iloc[3] = pd.NA
            yield pytest.param(series, id=f"{name}, {series.dtype}")
            yield pytest.param(series.to_frame(), id=f"{name}, {series.dtype}, a frame")
    for values in (TRUE, Y, TRUE.astype(int)):
        listed = [None, *values[1:].tolist()]
        yield pytest.param(pl.Series(listed), id=f"polars {values.dtype}")
        yield pytest.param(pl.DataFrame({"y": listed}), id=f"a polars frame of {values.dtype}")
        yield pytest.param(pa.array(listed), id=f"arrow {values.dtype}")
        yield pytest.param(pa.table({"y": listed}), id=f"a table of arrow, {values.dtype}")


@pytest.mark.parametrize("y", list(missing_labels()))
def test_missing_labels_of_every_type(y):
    for model in (make(None), make((False, True)), make(("no", "yes")), SparseClassifier(alpha=0.1)):
        with pytest.raises(InvalidDataError, match="missing labels"):
            model.fit(X, y)
        assert not hasattr(model, "coef_")


@pytest.mark.parametrize("classes", [(pd.NA, 1), (None, 1), (np.nan, 1), ({}, 1), (0, 0), ("a",), ("a", "b", "b")])
def test_labels_that_do_not_sort_are_refused(classes):
    with pytest.raises(InvalidArgumentError, match=r"^classes"):
        make(classes).fit(X, Y)


@pytest.mark.parametrize("classes", [(0, "yes"), ("no", True), [1.5, "a", "b"]])
def test_numbers_beside_text_are_refused(classes):
    with pytest.raises(InvalidArgumentError, match=r"^classes must be all numbers or all text"):
        make(classes).fit(X, Y)


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_labels_that_cannot_be_compared_are_wrong_labels(classes):
    """A decimal beside an integer of numpy raises."""
    for y in ([Decimal(int(label)) for label in TRUE], [1, Decimal("7654321.5"), *[0, 1] * (HALF - 1)]):
        with pytest.raises(InvalidDataError, match="not among the declared classes") as caught:
            make(classes).fit(X, y)
        assert "7654321" not in str(caught.value)


def test_the_price_of_pairs_is_said():
    for classes, y, error in ((None, np.arange(N) % 3, InvalidDataError), ((0, 1, 2), TRUE, InvalidArgumentError)):
        with pytest.raises(error, match=r"OneVsRestClassifier.*K classes cost K budgets.*labels from y"):
            make(classes, PrivateSimplexClassifier).fit(X, y)
