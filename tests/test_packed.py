"""Columns of few public values share bytes, one-hot blocks are codes: records, and so models, are the same."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse import InvalidDataError, PrivateSearchCV, PrivateSparseClassifier, PrivateSparseRegressor, _core
from dpsparse.mechanisms import MECHANISMS
from dpsparse.tables import Boolean, Category, Date, Number, Ordinal, Schema
from penalties import PENALISED

ALL = ["auto", *MECHANISMS]
TOWNS = [f"town {k}" for k in range(12)]

#: Every kind of column, with each way to encode it, and to take missing values.
KINDS = {
    "town": Category(TOWNS),
    "town or none": Category(TOWNS[:5], missing="level"),
    "town, flagged": Category(TOWNS[:5], missing="flag", other="elsewhere"),
    "every town": Category(TOWNS[:4], coding="one-hot"),
    "effects": Category(TOWNS[:4], coding="sum", missing="flag"),
    "tree": Category(TOWNS[:4], tree={"north": TOWNS[:2]}),
    "insured": Boolean(),
    "smoker": Boolean(missing="level", reference=True),
    "driver": Boolean(missing="flag"),
    "age": Number(0, 100),
    "visits": Number(0, 9, missing="flag"),
    "pay": Number(0, 90, bins=[30, 60]),
    "rent": Number(0, 90, bins=[30, 60], missing="flag", coding="one-hot"),
    "height": Number(0, 90, knots=[30, 60], missing="level"),
    "grade": Ordinal(["low", "middle", "high"], missing="level"),
    "class": Ordinal(["low", "middle", "high"], coding="intervals", missing="flag"),
    "born": Date("2000-01-01", "2004-12-31", parts=["month", "weekday"]),
    "moved": Date("2000-01-01", "2004-12-31", parts=["year"], trend=False, missing="flag"),
    "left": Date("2000-01-01", "2004-12-31", parts=["month"], missing="level"),
}


def cells(name, rng, n):
    """Cells of a column of `KINDS`, some missing where they may be."""
    column = KINDS[name]
    if isinstance(column, Category | Ordinal):
        found = rng.choice([*column.levels, "unheard of"] if getattr(column, "other", None) else column.levels, n)
    elif isinstance(column, Boolean):
        found = rng.choice([True, False], n)
    elif isinstance(column, Number):
        found = rng.integers(-5, 110, n).astype(float)
    else:
        found = np.datetime64("2000-01-01") + rng.integers(0, 1826, n)
    listed = found.tolist()
    if column.missing != "error":
        listed = [None if lost else cell for cell, lost in zip(listed, rng.random(n) < 0.3, strict=True)]
    return listed


def table_of(names, n, seed=0):
    rng = np.random.default_rng(seed)
    return {name: cells(name, rng, n) for name in names}


@settings(max_examples=30)
@given(st.permutations(sorted(KINDS)), st.integers(1, len(KINDS)), st.integers(0, 2**20))
def test_blocks_are_one_hot_whatever_the_values_are(names, count, seed):
    schema = Schema({name: KINDS[name] for name in names[:count]})
    encoded = schema.encode(table_of(names[:count], 60, seed))
    ends = [end for block in schema.one_hot for end in block]
    assert ends == sorted(ends)
    assert all(first < last <= schema.n_columns for first, last in schema.one_hot)
    for first, last in schema.one_hot:
        block = encoded[:, first:last]
        assert set(np.unique(block)) <= {0.0, 1.0}
        assert block.sum(axis=1).max() <= 1.0


def test_which_columns_are_blocks():
    def blocks(column):
        return Schema({"x": column}).one_hot

    assert blocks(KINDS["town"]) == [(0, 11)]
    assert blocks(KINDS["every town"]) == [(0, 4)]
    assert blocks(KINDS["town, flagged"]) == [(0, 6)]
    assert blocks(KINDS["effects"]) == blocks(KINDS["tree"]) == blocks(KINDS["age"]) == blocks(KINDS["class"]) == []
    assert blocks(KINDS["smoker"]) == [(0, 1), (1, 2)]
    assert blocks(KINDS["driver"]) == blocks(KINDS["visits"]) == blocks(KINDS["grade"]) == [(1, 2)]
    assert blocks(KINDS["rent"]) == [(0, 4)]
    assert blocks(KINDS["height"]) == [(5, 6)]
    assert blocks(KINDS["born"]) == [(1, 12), (12, 18)]
    assert blocks(KINDS["moved"]) == [(0, 4), (4, 5)]


def penalty(mechanism):
    return {"alpha": 0.05} if mechanism in PENALISED else {}


def released(model):
    return model.coef_.tolist(), model.intercept_, model.certificate_.to_json()


@pytest.mark.parametrize("mechanism", ALL)
def test_a_table_in_codes_gives_the_model_of_floats(mechanism):
    names = ["town", "insured", "age", "pay", "every town", "smoker", "tree"]
    schema = Schema({name: KINDS[name] for name in names})
    table = table_of(names, 700)
    y = np.random.default_rng(1).choice(["no", "yes"], 700)
    options = {"mechanism": mechanism, "classes": ("no", "yes"), "random_state": 3, **penalty(mechanism)}
    model = PrivateSparseClassifier(schema=schema, **options)
    with mock.patch("dpsparse._core.fit_private", wraps=_core.fit_private) as fit:
        coded = released(model.fit(table, y))
    kind, X, blocks = fit.call_args.args[1]
    assert (kind, blocks) == ("one-hot", schema.one_hot)
    assert X.shape == (700, schema.n_columns)
    with mock.patch.object(Schema, "one_hot", []):
        assert released(model.fit(table, y)) == coded


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8])
def test_bytes_give_the_model_of_floats(mechanism, dtype):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (600, 21)).astype(dtype)
    X[:, 3] = rng.integers(0, 2 if dtype == np.bool_ else 90, 600)
    bounds = np.zeros(21), np.r_[1, 1, 1, 60, np.ones(17)]
    options = {"mechanism": mechanism, "random_state": 3, "bounds": bounds, **penalty(mechanism)}
    models = [
        released(PrivateSparseClassifier(classes=(0, 1), **options).fit(array, X[:, 0]))
        for array in (X, X.astype(float), np.asfortranarray(X))
    ]
    assert models[0] == models[1] == models[2]


@pytest.mark.parametrize("mechanism", ["auto", "noisy-newton", "noisy-proximal-gradient", "frank-wolfe"])
def test_regressions_weights_and_three_classes_are_the_same_too(mechanism):
    rng = np.random.default_rng(6)
    X = rng.integers(0, 2, (800, 20)).astype(np.uint8)
    options = {"mechanism": mechanism, "bounds": (0, 1), "random_state": 1, "epsilon": 3.0}
    weights, y = rng.uniform(0, 2, 800), X[:, :3].sum(axis=1) + rng.normal(size=800)
    heavy = mechanism != "frank-wolfe"

    def models(X):
        regressor = PrivateSparseRegressor(y_bounds=(-3, 6), max_weight=2.0 if heavy else None, **options)
        yield released(regressor.fit(X, y, sample_weight=weights) if heavy else regressor.fit(X, y))
        classifier = PrivateSparseClassifier(classes=(0, 1, 2), **options)
        model = classifier.fit(X, (y > 1).astype(int) + (y > 2))
        yield model.coef_.tolist(), model.certificate_.to_json()

    assert list(models(X)) == list(models(X.astype(float)))


@pytest.mark.parametrize("classes", [3, 5])
def test_fine_slopes_of_several_classes_are_the_same_too(classes):
    rng = np.random.default_rng(7)
    X, y = rng.integers(0, 2, (600, 20)).astype(np.uint8), rng.integers(0, classes, 600)
    options = {"mechanism": "output-perturbation", "bounds": (0, 1), "classes": range(classes), "random_state": 1}
    models = [PrivateSparseClassifier(**options).fit(array, y) for array in (X, X.astype(float))]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_a_search_over_a_table_in_codes_is_that_of_floats():
    names = ["town", "insured", "every town", "pay"]
    schema = Schema({name: KINDS[name] for name in names})
    table = table_of(names, 900)
    y = np.random.default_rng(2).choice([0, 1], 900)
    search = PrivateSearchCV(
        PrivateSparseClassifier(schema=schema, classes=(0, 1), mechanism="noisy-proximal-gradient"),
        {"ridge": [0.001, 0.1]},
        epsilon=2.0,
        random_state=1,
    )
    coded = search.fit(table, y).best_estimator_.coef_.tolist()
    with mock.patch.object(Schema, "one_hot", []):
        assert search.fit(table, y).best_estimator_.coef_.tolist() == coded


def test_a_block_that_is_not_one_hot_is_refused():
    plan = PrivateSparseClassifier(bounds=(0, 1), classes=(-1, 1)).plan(4, 5)
    X, y = np.eye(4, 5), np.array([1.0, -1.0, 1.0, -1.0])
    X[2, :2] = 1.0
    with pytest.raises(InvalidDataError, match="at most one 1 in every one-hot block"):
        _core.fit_private(plan, ("one-hot", X, [(0, 4)]), y, seed=1, progress=None)
    for blocks in ([(0, 6)], [(2, 4), (0, 2)], [(0, 3), (2, 4)]):
        with pytest.raises(_core.InvalidArgumentError, match="one_hot must be blocks of columns of X, ascending"):
            _core.fit_private(plan, ("one-hot", np.eye(4, 5), blocks), y, seed=1, progress=None)
