"""Kinds of columns: what they encode, and what their errors keep to themselves."""

import datetime
import functools
import operator
import traceback
import zoneinfo
from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsparse import InvalidArgumentError, InvalidDataError, InvalidTypeError, PrivateScaler, UnknownLevelError
from dpsparse.tables import Boolean, Category, Date, Number, Ordinal, Schema
from reference.people import LIBRARIES, SCHEMA, SECRET, classifier, every_library, pa, pd, people, pl
from reference.tables import encode_rows, tables

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
@given(tables(), st.integers(1, 4), st.booleans())
def test_pieces_of_rows_make_the_same_table(given, size, sparse):
    columns, cells = given
    schema = Schema(columns)
    whole = schema.encode(cells, sparse=sparse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpsparse.tables.schema._PIECE", size)
        pieces = schema.encode(cells, sparse=sparse)
    if sparse:
        assert whole.indices.dtype == pieces.indices.dtype
        assert whole.has_canonical_format == pieces.has_canonical_format
        whole, pieces = whole.toarray(), pieces.toarray()
    assert whole.tobytes() == pieces.tobytes()


@every_library
@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_wrong_is_told_as_of_all_rows_at_once(library, sparse, monkeypatch):
    """Of a column that has unknown levels first and missing ones later, and of a later column with others."""
    schema = Schema({"first": Category(["a", "b"]), "second": Category(["a", "b"])})
    frame = LIBRARIES[library]({"first": ["a", "a", SECRET, None], "second": [SECRET, "a", "a", "a"]})
    told = []
    for size in (10**6, 1):
        monkeypatch.setattr("dpsparse.tables.schema._PIECE", size)
        with pytest.raises(InvalidDataError) as caught:
            schema.encode(frame, sparse=sparse)
        assert caught.value.__context__ is None
        told.append((type(caught.value), str(caught.value)))
    assert told[0] == told[1]


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


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_the_first_and_the_last_times_that_there_are_are_clipped(unit):
    """Near the ends of their types numpy's conversions wrap around: the earliest time became the latest date."""
    schema = Schema({"t": Date("2024-01-01", "2024-12-31", parts=("hour",), missing="flag")})
    ends = np.array([1 - 2**63, 2**63 - 1, -(2**63)], dtype=f"M8[{unit}]")
    array = schema.encode({"t": ends})
    assert array[:, 0].tolist() == [0.0, 365.0, 182.5]
    assert array[:, -1].tolist() == [0.0, 0.0, 1.0]
    np.testing.assert_array_equal(schema.encode({"t": list(ends)}), array)
    stamps = schema.encode({"t": pd.Series([pd.Timestamp.min, pd.Timestamp.max])})
    assert stamps[:, 0].tolist() == [0.0, 365.0]


@pytest.mark.parametrize("kind", ["date32", "date64"])
def test_no_date_is_too_far_for_arrow(kind):
    """An error about one record would tell of it: dates of arrow reach beyond the year 9999, Python's do not."""
    schema = Schema({"t": Date("2024-01-01", "2024-12-31", missing="flag")})
    width = {"date32": pa.int32(), "date64": pa.int64()}[kind]
    ends = np.iinfo(width.to_pandas_dtype())
    cells = pa.array([ends.min + 1, ends.max, None], type=width).cast(getattr(pa, kind)())
    tables = [pa.table({"t": cells})]
    if kind == "date32":
        tables.append(pd.DataFrame({"t": pd.arrays.ArrowExtensionArray(cells)}))
    for table in tables:
        assert schema.encode(table).tolist() == [[0.0, 0.0], [365.0, 0.0], [182.5, 1.0]]


def zoned(library, unit, zone, instants):
    """A column of times in a zone, in a library that has such; None is a missing one."""
    if library == "pyarrow":
        return pa.table({"t": pa.array(instants, type=pa.int64()).cast(pa.timestamp(unit, tz=zone))})
    if library == "polars":
        return pl.DataFrame({"t": pl.Series(instants, dtype=pl.Int64).cast(pl.Datetime(unit, zone))})
    missing = np.iinfo(np.int64).min
    ticks = np.array([missing if instant is None else instant for instant in instants], dtype=np.int64)
    return pd.DataFrame({"t": pd.Series(ticks.view(f"M8[{unit}]")).dt.tz_localize("UTC").dt.tz_convert(zone)})


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/New_York", "UTC"])
@pytest.mark.parametrize(
    ("library", "unit"),
    [(library, unit) for library in ("pandas", "pyarrow") for unit in ("s", "ms", "us", "ns")]
    + [("polars", unit) for unit in ("ms", "us", "ns")],
)
def test_a_time_next_to_the_end_of_its_type_changes_no_other_hour(library, unit, zone):
    """Libraries that cannot move one of a column to the hours of its zone move none: all others were hours of UTC."""
    schema = Schema({"t": Date("2019-01-01", "2021-12-31", parts=("hour",), missing="flag", coding="one-hot")})
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    ends = np.iinfo(np.int64)
    usual = [1_590_000_000 * per_second, 1_600_003_600 * per_second, None]
    hour = datetime.datetime.fromtimestamp(1_590_000_000, zoneinfo.ZoneInfo(zone)).hour
    expected = schema.encode(zoned(library, unit, zone, usual))
    assert expected[0, 1:25].argmax() == hour
    for extreme, day in ((ends.min + 1, 0.0), (ends.max, 1095.0)):
        encoded = schema.encode(zoned(library, unit, zone, [*usual, extreme]))
        np.testing.assert_array_equal(encoded[:3], expected)
        assert encoded[3, 0] == day
        np.testing.assert_array_equal(schema.encode(zoned(library, unit, zone, [extreme])), encoded[3:])


def test_cells_of_another_type_are_refused_wherever_they_stand():
    """A complex number that is equal to a level: an error that depends on what stands before it would tell of that."""
    schema = Schema({"k": Category([1, 2], other=2)})
    for cells in ([1 + 0j, 1], [1, 1 + 0j]):
        with pytest.raises(InvalidTypeError, match="'k'"):
            schema.encode({"k": cells})


def test_a_missing_cell_beside_large_levels_moves_no_other_cell():
    top = 2**53 - 1
    for column in (Category([top - 1, top], missing="flag"), Ordinal([top - 1, top], missing="flag")):
        schema = Schema({"x": column})
        alone, beside = (schema.encode(pd.DataFrame({"x": [top, top - 1, *more]})) for more in ([], [None]))
        np.testing.assert_array_equal(alone, beside[:2])
    with pytest.raises(InvalidArgumentError, match="as text"):
        Category([top, top + 1])


@pytest.mark.parametrize(
    "column",
    [
        Number(0, 2, missing="flag"),
        Category([1, 2], other=2, missing="level"),
        Boolean(other=True, missing="flag"),
        Ordinal([1, 2], other=2, missing="flag"),
    ],
)
def test_decimals_that_signal_are_missing_cells(column):
    """They have no hash, so that one of them refused all cells where values are told apart."""
    cells = [Decimal(1), Decimal("sNaN"), Decimal(2), None]
    encoded = Schema({"x": column}).encode({"x": cells})
    np.testing.assert_array_equal(encoded, Schema({"x": column}).encode({"x": [1, None, 2, None]}))
    with pytest.raises(InvalidTypeError, match="'x'"):
        Schema({"x": column}).encode({"x": [1, [2]]})


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


# --- errors ---

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


@pytest.mark.parametrize("unit", ["ns", "s", "D"])
@pytest.mark.parametrize("column", [Number(0, 9), Category([1, 2]), Ordinal([1, 2]), Boolean()], ids=repr)
def test_spans_of_time_are_no_numbers(column, unit):
    """numpy counts them among its integers: those in nanoseconds were read as these, others were an error of Python."""
    spans = np.array([1, 1], f"timedelta64[{unit}]")
    for cells in (spans, list(spans)):
        with pytest.raises(InvalidTypeError, match="'span'"):
            Schema({"span": column}).encode({"span": cells})


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
