"""Dates, text, categories and masks are refused by name, wherever records are read; no message holds a value."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from dpsparse import (
    DpsparseError,
    InvalidDataError,
    InvalidTypeError,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSimplexClassifier,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    SparseClassifier,
    SparseRegressor,
    path,
)
from dpsparse.tables import Number, Schema

N = 40
rng = np.random.default_rng(0)
FLOATS = rng.uniform(-1, 1, N)
LABELS = np.arange(N) % 2
DAYS = pd.date_range("1987-06-05", periods=N)
PUBLIC = {"bounds": (-1, 1), "random_state": 0}

ESTIMATORS = {
    "classifier": PrivateSparseClassifier(classes=(0, 1), n_iter=2, **PUBLIC),
    "regressor": PrivateSparseRegressor(y_bounds=(-1, 1), n_iter=2, **PUBLIC),
    "simplex classifier": PrivateSimplexClassifier(classes=(0, 1), **PUBLIC),
    "simplex regressor": PrivateSimplexRegressor(y_bounds=(-1, 1), **PUBLIC),
    "scaler": PrivateScaler(**PUBLIC),
    "exact classifier": SparseClassifier(alpha=0.1),
    "exact regressor": SparseRegressor(alpha=0.1),
    "search": PrivateSearchCV(
        PrivateSparseClassifier(bounds=(-1, 1), classes=(0, 1)), {"n_iter": [2, 3]}, random_state=0
    ),
}


def pandas_frame(column):
    return pd.DataFrame({"height": FLOATS, "when": column})


def polars_frame(column):
    return pl.DataFrame({"height": FLOATS, "when": column})


INTEGERS = pl.Series(np.arange(N))
OBJECTS = np.array([day.to_pydatetime() for day in DAYS], dtype=object)
DATES = {
    "pandas dates": pandas_frame(DAYS),
    "pandas dates with a zone": pandas_frame(DAYS.tz_localize("UTC")),
    "pandas durations": pandas_frame(DAYS - DAYS[0]),
    "pandas periods": pandas_frame(DAYS.to_period("D")),
    "pandas objects": pandas_frame(pd.Series(OBJECTS, dtype=object)),
    "pandas days as objects": pandas_frame(pd.Series([day.date() for day in OBJECTS], dtype=object)),
    "pandas, dates alone": pd.DataFrame({"when": DAYS, "then": DAYS}),
    "polars dates": polars_frame(INTEGERS.cast(pl.Date)),
    "polars times": polars_frame(INTEGERS.cast(pl.Time)),
    "polars moments": polars_frame(INTEGERS.cast(pl.Datetime)),
    "polars durations": polars_frame(INTEGERS.cast(pl.Duration)),
    "polars, dates alone": pl.DataFrame({"when": INTEGERS.cast(pl.Date)}),
    "numpy dates": np.column_stack([DAYS, DAYS]),
    "numpy durations": np.column_stack([DAYS - DAYS[0]] * 2),
    "numpy objects": np.column_stack([FLOATS.astype(object), OBJECTS]),
    "arrow moments": pa.table({"height": FLOATS, "when": pa.array(np.arange(N), pa.timestamp("ns"))}),
    "arrow durations": pa.table({"height": FLOATS, "when": pa.array(np.arange(N), pa.duration("s"))}),
    "a list": [[0.5, datetime.date(1987, 6, 5)]] * N,
    "a list of durations": [[0.5, datetime.timedelta(1)]] * N,
}
TEXTS = {
    "pandas text": pandas_frame(FLOATS.astype(str)),
    "pandas strings": pandas_frame(pd.array(FLOATS.astype(str), dtype="string")),
    "pandas objects": pandas_frame(pd.Series(FLOATS.astype(str), dtype=object)),
    "one entry": pandas_frame(pd.Series(["0.25", *FLOATS[1:]], dtype=object)),
    "polars text": polars_frame(INTEGERS.cast(pl.String)),
    "numpy text": np.column_stack([FLOATS, FLOATS]).astype(str),
    "numpy bytes": np.column_stack([FLOATS, FLOATS]).astype("S20"),
    "numpy objects": np.column_stack([FLOATS.astype(object), FLOATS.astype(str)]),
    "a list": [[0.5, "0.25"]] * N,
}
CATEGORIES = {
    "pandas": pandas_frame(pd.Categorical([1, 2] * (N // 2))),
    "polars": polars_frame(INTEGERS.cast(pl.String).cast(pl.Categorical)),
    "polars enum": polars_frame(pl.Series(["1", "2"] * (N // 2)).cast(pl.Enum(["1", "2"]))),
}
REFUSED = [
    *((f"dates, {name}", X, "dates or time spans") for name, X in DATES.items()),
    *((f"text, {name}", X, "holds text") for name, X in TEXTS.items()),
    *((f"categories, {name}", X, "holds categories") for name, X in CATEGORIES.items()),
    ("a lazy frame", pl.DataFrame({"height": FLOATS}).lazy(), "collect"),
    ("lists", polars_frame(pl.Series([[1]] * N)), "other than numbers"),
]
MASK = np.zeros((N, 2), dtype=bool)
MASK[3, 1] = True
NUMBERS = np.column_stack([FLOATS, -FLOATS])
UNUSABLE = [
    ("masked", np.ma.array(NUMBERS, mask=MASK), "X has masked entries"),
    (
        "rows of a list, masked",
        [np.ma.array(row, mask=mask) for row, mask in zip(NUMBERS, MASK, strict=True)],
        "masked",
    ),
    ("one name for two columns", pd.DataFrame(NUMBERS, columns=["when", "when"]), "'when'"),
]


def refusal(action, kind, match):
    with pytest.raises(kind, match=match) as caught:
        action()
    assert isinstance(caught.value, DpsparseError)
    text = str(caught.value)
    assert "1987" not in text
    assert "0.25" not in text
    assert not any(f"{value:.6f}" in text for value in FLOATS)
    return text


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(("X", "match"), [pytest.param(X, m, id=i) for i, X, m in REFUSED])
def test_columns_that_are_no_numbers_are_refused(name, X, match):
    refusal(lambda: ESTIMATORS[name].fit(X, LABELS), InvalidTypeError, match)
    assert not hasattr(ESTIMATORS[name], "certificate_")


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(("X", "match"), [pytest.param(X, m, id=i) for i, X, m in UNUSABLE])
def test_masks_and_names_that_repeat_are_refused(name, X, match):
    refusal(lambda: ESTIMATORS[name].fit(X, LABELS), InvalidDataError, match)


def test_the_message_names_the_column():
    fit = ESTIMATORS["classifier"].fit
    assert "column 'when' of X" in refusal(lambda: fit(DATES["pandas dates"], LABELS), InvalidTypeError, "dates")
    assert "column 'when' of X" in refusal(lambda: fit(TEXTS["polars text"], LABELS), InvalidTypeError, "text")
    assert "column 1 of X" in refusal(lambda: fit(DATES["numpy objects"], LABELS), InvalidTypeError, "dates")
    long = pd.DataFrame({"x" * 1000: DAYS})
    assert len(refusal(lambda: fit(long, LABELS), InvalidTypeError, "dates")) < 300


@pytest.mark.parametrize("name", ["classifier", "regressor", "scaler", "exact classifier", "exact regressor"])
@pytest.mark.parametrize(("X", "match"), [pytest.param(X, m, id=i) for i, X, m in REFUSED if "alone" not in i])
def test_predictions_refuse_what_fits_refuse(name, X, match):
    fitted = clone(ESTIMATORS[name]).fit(NUMBERS, LABELS)
    ask = fitted.transform if name == "scaler" else fitted.predict
    refusal(lambda: ask(X), InvalidTypeError, match)
    refusal(lambda: ask(np.ma.array(NUMBERS, mask=MASK)), InvalidDataError, "masked")


TARGETS = {
    "pandas dates": pd.Series(DAYS),
    "pandas durations": pd.Series(DAYS - DAYS[0]),
    "numpy dates": DAYS.to_numpy(),
    "polars dates": INTEGERS.cast(pl.Date),
    "objects": OBJECTS,
    "a list": list(OBJECTS),
    "a frame": pd.DataFrame({"when": DAYS}),
    "numeric text": FLOATS.astype(str),
    "pandas text": pd.Series(FLOATS.astype(str)),
    "a list of text": FLOATS.astype(str).tolist(),
    "categories": pd.Series(pd.Categorical([1, 2] * (N // 2))),
    "arrow dates": pa.array(DAYS.to_pydatetime()),
    "arrow dates, some missing": pa.array([None, *DAYS.to_pydatetime()[1:]]),
    "arrow days": pa.array(DAYS.to_pydatetime()).cast(pa.date32()),
    "arrow durations": pa.chunked_array([pa.array(np.arange(N).astype("m8[s]"))]),
    "arrow text": pa.array(FLOATS.astype(str)),
    "arrow categories": pa.array(FLOATS.astype(str)).dictionary_encode(),
    "arrow text in a table": pa.table({"when": FLOATS.astype(str)}),
}


@pytest.mark.parametrize("name", ["regressor", "simplex regressor", "exact regressor"])
@pytest.mark.parametrize("target", TARGETS)
def test_targets_that_are_no_numbers_are_refused(name, target):
    refusal(lambda: ESTIMATORS[name].fit(NUMBERS, TARGETS[target]), InvalidTypeError, "target y holds")


@pytest.mark.parametrize("name", ["regressor", "classifier", "exact regressor", "exact classifier"])
@pytest.mark.parametrize("weights", [target for target in TARGETS if target != "a frame" and "table" not in target])
def test_weights_that_are_no_numbers_are_refused(name, weights):
    estimator = ESTIMATORS[name]
    if not name.startswith("exact"):
        estimator = clone(estimator).set_params(max_weight=1.0)
    refusal(lambda: estimator.fit(NUMBERS, LABELS, TARGETS[weights]), InvalidTypeError, "sample_weight holds")


def test_masked_weights_are_refused():
    weights = np.ma.array(np.ones(N), mask=MASK[:, 1])
    for name in ("exact regressor", "exact classifier"):
        refusal(lambda name=name: ESTIMATORS[name].fit(NUMBERS, LABELS, weights), InvalidDataError, "masked")


@pytest.mark.parametrize("kind", [bool, np.int8, np.int64, float])
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "simplex classifier"])
def test_sparse_frames_are_their_numbers(name, kind):
    """scikit-learn hands those of truth values and integers back as they are, which the core did not take."""
    dense = pd.DataFrame((NUMBERS > 0).astype(kind), columns=["a", "b"])
    frame = dense.astype(pd.SparseDtype(kind, kind(0)))
    one, other = (clone(ESTIMATORS[name]).fit(X, LABELS) for X in (frame, dense.astype(float)))
    answers = (model.transform(dense) if name == "scaler" else model.predict(dense) for model in (one, other))
    np.testing.assert_allclose(*answers, rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "scaler"])
def test_masked_targets_are_refused(name):
    y = np.ma.array(LABELS, mask=MASK[:, 1])
    refusal(lambda: ESTIMATORS[name].fit(NUMBERS, y), InvalidDataError, "y has masked")


def test_paths_refuse_the_same():
    refusal(lambda: path(DATES["numpy dates"], FLOATS), InvalidTypeError, "dates")
    refusal(lambda: path(NUMBERS, TARGETS["pandas dates"]), InvalidTypeError, "target y")


@pytest.mark.parametrize("missing", [None, pd.NA])
def test_missing_labels_are_refused(missing):
    y = np.array(["a", "b"] * (N // 2), dtype=object)
    y[3] = missing
    for given in (y, list(y), pd.Series(y), pd.Series(y, dtype="string")):
        for estimator in (ESTIMATORS["classifier"], ESTIMATORS["exact classifier"]):
            refusal(lambda given=given, estimator=estimator: estimator.fit(NUMBERS, given), InvalidDataError, "missing")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_numbers_in_other_clothes_are_fine(name):
    """A mask with nothing masked, Python numbers as objects, pandas' and polars' own numbers: as the plain array."""

    def model(X):
        fitted = clone(ESTIMATORS[name]).fit(X, LABELS)
        return np.ravel(getattr(fitted, "best_estimator_", fitted).coef_ if name != "scaler" else fitted.ranges_)

    halves = np.column_stack([np.arange(N) % 2, np.arange(N) % 3 > 0])
    expected = model(halves.astype(float))
    for X in (
        np.ma.array(halves, mask=np.zeros_like(halves, dtype=bool)),
        halves.astype(object),
        halves.tolist(),
        pd.DataFrame({"a": pd.array(halves[:, 0], dtype="Int64"), "b": halves[:, 1].astype(bool)}),
        pd.DataFrame({"a": [Decimal(int(x)) for x in halves[:, 0]], "b": halves[:, 1]}),
        pl.DataFrame({"a": pl.Series(halves[:, 0]).cast(pl.Decimal(10, 2)), "b": halves[:, 1].astype(bool)}),
    ):
        np.testing.assert_array_equal(model(X), expected)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_batches_of_arrow_are_the_tables_that_they_are_batches_of(name):
    table = pa.table({"a": FLOATS, "b": -FLOATS})
    (batch,) = table.to_batches()
    fits = [clone(ESTIMATORS[name]).fit(records, LABELS) for records in (table, batch)]
    for fitted in fits:
        assert fitted.feature_names_in_.tolist() == ["a", "b"]
    ask = [fitted.transform if name == "scaler" else fitted.predict for fitted in fits]
    np.testing.assert_array_equal(ask[0](table), ask[1](batch))
    with pytest.raises(InvalidDataError, match="feature names should match"):
        ask[1](batch.rename_columns(["a", "c"]))


def test_batches_of_arrow_go_by_names():
    batch = pa.RecordBatch.from_arrays([pa.array(FLOATS), pa.array(-FLOATS)], names=["a", "b"])
    model = PrivateSparseClassifier(bounds={"b": (-1, 1), "a": (-2, 2)}, classes=(0, 1), random_state=0)
    frame = pd.DataFrame({"a": FLOATS, "b": -FLOATS})
    np.testing.assert_array_equal(clone(model).fit(batch, LABELS).coef_, clone(model).fit(frame, LABELS).coef_)
    schema = Schema({"b": Number(-1, 1), "a": Number(-2, 2)})
    by_schema = model.set_params(bounds=None, schema=schema)
    np.testing.assert_array_equal(clone(by_schema).fit(batch, LABELS).coef_, clone(by_schema).fit(frame, LABELS).coef_)
    np.testing.assert_array_equal(schema.encode(batch), schema.encode(frame))
    text = pa.RecordBatch.from_arrays([pa.array(["x"] * N), pa.array(-FLOATS)], names=["a", "b"])
    refusal(lambda: clone(ESTIMATORS["classifier"]).fit(text, LABELS), InvalidTypeError, "text")
