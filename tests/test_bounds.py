"""The forms of public bounds: each has one reading, and what could have two is refused."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsparse import (
    DefaultBoundsWarning,
    InvalidArgumentError,
    PrivateScaler,
    PrivateSimplexClassifier,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
)

N = 60
KINDS = [PrivateSparseClassifier, PrivateSparseRegressor, PrivateSimplexRegressor, PrivateSimplexClassifier]
EVERY = [*KINDS, PrivateScaler]


def records(p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-100, 250, (N, p))
    return X, (X[:, 0] > 50).astype(int)


def make(Kind, **arguments):
    fixed = {"epsilon": 20.0, "random_state": 0}
    if "Classifier" in Kind.__name__:
        fixed["classes"] = (0, 1)
    if "Regressor" in Kind.__name__:
        fixed["y_bounds"] = (0, 1)
    return Kind(**(fixed | arguments))


def released(model):
    return model.ranges_ if isinstance(model, PrivateScaler) else np.append(model.coef_, model.intercept_)


LOWERS, UPPERS = np.array([-100.0, -250.0]), np.array([100.0, 250.0])
WAYS = {
    "two arrays": (LOWERS, UPPERS),
    "a list of two arrays": [LOWERS, UPPERS],
    "two columns": (pd.Series(LOWERS), pd.Series(UPPERS)),
    "an array of pairs": np.column_stack([LOWERS, UPPERS]),
    "two named columns in another order": (
        pd.Series({"pay": -250.0, "age": -100.0}),
        pd.Series({"pay": 250.0, "age": 100.0}),
    ),
    "a series of pairs": pd.Series({"pay": (-250, 250), "age": (-100, 100)}),
    "a series of pairs without names": pd.Series([(-100, 100), (-250, 250)]),
    "a data frame": pd.DataFrame([[-250, 250], [-100, 100]], index=["pay", "age"]),
    "a data frame without names": pd.DataFrame({"low": LOWERS, "high": UPPERS}),
    "a mapping": {"age": (-100, 100), "pay": (-250, 250)},
    "a mapping in another order": {"pay": [-250, 250], "age": np.array([-100, 100])},
}


@pytest.mark.parametrize("Kind", EVERY)
def test_one_set_of_bounds_in_every_form(Kind):
    X, y = records()
    frame = pd.DataFrame(X, columns=["age", "pay"])
    models = {way: make(Kind, bounds=bounds).fit(frame, y) for way, bounds in WAYS.items()}
    expected = released(models["two arrays"])
    assert not np.array_equal(expected, released(make(Kind, bounds=(LOWERS[::-1], UPPERS[::-1])).fit(frame, y)))
    for way, model in models.items():
        np.testing.assert_array_equal(released(model), expected, err_msg=way)
        assert model.certificate_.events == make(Kind, bounds=WAYS[way]).plan(N, 2).events


def test_polars_frames_and_the_scalers_transform_go_by_name():
    X, y = records()
    bounds = WAYS["a mapping in another order"]
    frames = [pd.DataFrame(X, columns=["age", "pay"]), pl.DataFrame(X, schema=["age", "pay"])]
    one, other = (make(PrivateSparseClassifier, bounds=bounds).fit(frame, y) for frame in frames)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    scaler = make(PrivateScaler, bounds=bounds).fit(frames[0])
    plain = make(PrivateScaler, bounds=(LOWERS, UPPERS)).fit(X)
    np.testing.assert_array_equal(scaler.transform(frames[0]), plain.transform(X))


@pytest.mark.parametrize("p", [1, 3])
def test_nested_sequences_have_one_reading_where_there_are_not_two_features(p):
    X, y = records(p)
    pairs = [(-100 - j, 250 + j) for j in range(p)]
    sides = ([low for low, _ in pairs], [high for _, high in pairs])
    models = [make(PrivateSparseClassifier, bounds=bounds).fit(X, y) for bounds in (pairs, sides, np.array(pairs))]
    assert len({released(model).tobytes() for model in models}) == 1


@pytest.mark.parametrize("Kind", EVERY)
@pytest.mark.parametrize(
    "bounds", [[(0, 100), (0, 250)], ((0, 0), (100, 250)), [[0, 100], [0, 250]], ([0, 0], np.array([100, 250]))]
)
def test_two_readings_are_refused_with_the_way_out(Kind, bounds):
    """[(0, 100), (0, 250)] was read as lowers (0, 100) and uppers (0, 250): the first feature constant."""
    X, y = records()
    for action in (lambda: make(Kind, bounds=bounds).plan(N, 2), lambda: make(Kind, bounds=bounds).fit(X, y)):
        with pytest.raises(InvalidArgumentError, match=r"^bounds .*np\.array\(\[\[low, high\]"):
            action()


@pytest.mark.parametrize(
    ("bounds", "match"),
    [
        ({"age": (-1, 1)}, "misses column 'pay'"),
        (pd.Series({"age": (-1, 1)}), "misses column 'pay'"),
        (pd.DataFrame({"age": [-1, 1], "pay": [-1, 1], "height": [-1, 1]}), "data frame"),
        (pd.DataFrame([[-1, 1], [-1, 1]], index=["age", "age"]), "once"),
        ((pd.Series({"age": -1, "pay": -1}), pd.Series({"pay": 1, "age": 1})), "one index"),
        ({"age": (-1, 1), "pay": (-1, 1), "height": (-1, 1)}, "'height'"),
        ({"age": (-1, 1), "pay": (-1,)}, r"bounds\['pay'\]"),
        ({"age": (-1, 1), "pay": ("a", 1)}, r"bounds\['pay'\]"),
        ({"age": (-1, 1), "pay": (1, -1)}, "bounds"),
        ({}, "misses"),
        (np.ones((2, 2, 2)), "bounds"),
        (np.array([["0", "1"], ["0", "1"]]), "bounds"),
        ({0, 1}, "bounds"),
    ],
)
@pytest.mark.parametrize("Kind", EVERY)
def test_other_forms_are_refused(Kind, bounds, match):
    X, y = records()
    with pytest.raises(InvalidArgumentError, match=match):
        make(Kind, bounds=bounds).fit(pd.DataFrame(X, columns=["age", "pay"]), y)


@pytest.mark.parametrize("Kind", EVERY)
def test_a_mapping_needs_names_in_fits_and_the_right_number_in_plans(Kind):
    X, y = records()
    with pytest.raises(InvalidArgumentError, match="column names"):
        make(Kind, bounds=WAYS["a mapping"]).fit(X, y)
    numbered = pd.DataFrame(X)  # names that are no text are none, as in scikit-learn
    with pytest.raises(InvalidArgumentError, match="columns=str"):
        make(Kind, bounds={0: (0, 1), 1: (0, 1)}).fit(numbered, y)
    with pytest.raises(InvalidArgumentError, match="bounds"):
        make(Kind, bounds=WAYS["a mapping"]).plan(N, 3)


def test_equal_bounds_make_a_constant_feature_and_reversed_ones_raise():
    X, y = records()
    model = make(PrivateSparseClassifier, bounds=np.array([[-100, 250], [3, 3]])).fit(X, y)
    assert model.coef_[0, 1] == 0 != model.coef_[0, 0]
    with pytest.raises(InvalidArgumentError, match="bounds"):
        make(PrivateSparseClassifier, bounds=np.array([[-100, 250], [3, 2]])).fit(X, y)


@pytest.mark.parametrize("Kind", EVERY)
def test_bounds_that_are_not_stated_are_minus_one_and_one_with_a_warning(Kind):
    X, y = records()
    for data in (X, X / 1e6):  # the same warning whatever the records are
        names = [name for name in ("bounds", "y_bounds") if hasattr(Kind(), name)]
        stated = make(Kind, **dict.fromkeys(names, (-1.0, 1.0)))
        silent = make(Kind, **dict.fromkeys(names))
        for action in (lambda data=data, silent=silent: silent.fit(data, y), lambda silent=silent: silent.plan(N, 2)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                action()
            assert [warning.category for warning in caught] == [DefaultBoundsWarning] * len(names)
            assert [str(warning.message).split()[0] for warning in caught] == names
            assert {warning.filename for warning in caught} == {__file__}
            assert not any(character in str(warning.message) for warning in caught for character in "02345")
        np.testing.assert_array_equal(released(silent), released(stated.fit(data, y)))
        assert silent.plan.__self__.certificate_.to_json() == stated.certificate_.to_json()


def test_the_defaults_are_none():
    for Kind in EVERY:
        assert Kind().bounds is None
        assert clone(Kind()).bounds is None
    for Kind in (PrivateSparseRegressor, PrivateSimplexRegressor):
        assert Kind().y_bounds is None


@pytest.mark.filterwarnings("ignore::dpsparse.DefaultBoundsWarning")
@parametrize_with_checks([Kind() for Kind in EVERY])
def test_scikit_learn_checks_with_nothing_stated(estimator, check):
    check(estimator)
