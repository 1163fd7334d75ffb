import gzip
import hashlib
import pickle
from importlib.resources import files

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse.datasets import load_adult
from dpsparse.datasets.adult import BIN_STARTS, FILE_NAME, LEVELS

SOURCE_SHA256 = "9791f289391d1c169c52b0c325601d9e82f97eac620b7ac9fba381cb063da1af"
FILE_SHA256 = "ffa553996c751593518cd3765fa26e2d3507ec07cda7a957791872d217995361"
TEXT_SHA256 = "9351193ae5c09398dcc538a9e6b3d9c31498341c5daad8c17649e6f966fd6a4c"

UCI_COLUMNS = [
    "age",
    "workclass",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "income",
]


@pytest.fixture(scope="module")
def adult():
    return load_adult()


@pytest.fixture(scope="module")
def folder():
    return files("dpsparse.datasets")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_file_is_small_and_the_one_documented(folder):
    packed = folder.joinpath(FILE_NAME).read_bytes()
    readme = folder.joinpath("README.md").read_text(encoding="utf-8")
    assert len(packed) < 350_000
    assert sha256(packed) == FILE_SHA256
    assert sha256(gzip.decompress(packed)) == TEXT_SHA256
    for stated in (SOURCE_SHA256, FILE_SHA256, TEXT_SHA256, "CC BY 4.0", "10.24432/C5XW20"):
        assert stated in readme


def test_raw_columns_rebuild_the_source_byte_for_byte(adult):
    renamed = {"race": "ethnicity", "sex": "gender", "income": "loan"}
    columns = [
        column.astype(str) if column.dtype == np.int64 else np.char.add(" ", column) for column in adult.raw.values()
    ]
    lines = [",".join(["", *(renamed.get(name, name) for name in adult.raw)])]
    lines += [",".join([str(i), *row]) for i, row in enumerate(zip(*columns, strict=True))]
    assert sha256(("\n".join(lines) + "\n").encode("ascii")) == SOURCE_SHA256


def test_raw_columns_have_their_uci_names_and_types(adult):
    assert list(adult.raw) == UCI_COLUMNS
    for name, column in adult.raw.items():
        assert column.shape == (32_561,)
        assert column.dtype == np.int64 if name in BIN_STARTS else column.dtype.kind == "U"


def test_labels(adult):
    labels, counts = np.unique(adult.y, return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {"<=50K": 24_720, ">50K": 7_841}
    assert adult.classes == ("<=50K", ">50K")


def test_shapes_agree(adult):
    n_features = len(adult.feature_names)
    assert adult.X.shape == (32_561, n_features)
    assert adult.X.dtype == np.float64
    assert adult.groups.shape == (n_features,)
    assert adult.attributes == tuple(name for name in UCI_COLUMNS if name != "income")
    assert adult.bounds == (0.0, 1.0)
    assert len(set(adult.feature_names)) == n_features
    for name, group in zip(adult.feature_names, adult.groups, strict=True):
        assert name.startswith(adult.attributes[group] + "=")


def test_each_row_has_exactly_one_feature_of_each_attribute(adult):
    assert set(np.unique(adult.X)) == {0.0, 1.0}
    for group in range(len(adult.attributes)):
        np.testing.assert_array_equal(adult.X[:, adult.groups == group].sum(axis=1), 1.0)


def test_no_two_features_are_the_same_column(adult):
    assert len(np.unique(adult.X, axis=1).T) == adult.X.shape[1]


@pytest.mark.parametrize("attribute", LEVELS)
def test_categorical_features_mark_their_level(adult, attribute):
    assert set(adult.raw[attribute]) <= set(LEVELS[attribute])
    for level in LEVELS[attribute]:
        feature = adult.X[:, adult.feature_names.index(f"{attribute}={level}")]
        np.testing.assert_array_equal(feature == 1.0, adult.raw[attribute] == level)


@pytest.mark.parametrize("attribute", BIN_STARTS)
def test_numeric_features_mark_the_range_that_their_name_says(adult, attribute):
    values = adult.raw[attribute]
    assert values.min() >= BIN_STARTS[attribute][0]
    for j in np.flatnonzero(adult.groups == adult.attributes.index(attribute)):
        label = adult.feature_names[j].partition("=")[2]
        low, _, high = label.partition("-")
        if label.endswith("+"):
            inside = values >= int(label[:-1])
        else:
            inside = (values >= int(low)) & (values <= int(high or low))
        np.testing.assert_array_equal(adult.X[:, j] == 1.0, inside)


def test_education_levels_stand_in_the_order_of_their_rank(adult):
    rank = {level: i + 1 for i, level in enumerate(LEVELS["education"])}
    np.testing.assert_array_equal([rank[level] for level in adult.raw["education"]], adult.raw["education-num"])


def test_sparse_is_the_same_matrix(adult):
    X = load_adult(as_sparse=True).X
    assert sp.issparse(X)
    assert X.format == "csr"
    assert X.has_canonical_format
    assert X.nnz == 32_561 * len(adult.attributes)
    np.testing.assert_array_equal(X.toarray(), adult.X)


def test_the_schema_encodes_the_frame_as_the_features_without_references(adult):
    schema = adult.schema
    assert schema == load_adult().schema
    assert schema.attributes == adult.attributes
    encoded = schema.encode(adult.frame())
    kept, dropped = [], []
    for attribute, group in zip(adult.attributes, schema.groups, strict=True):
        columns = np.flatnonzero(adult.groups == adult.attributes.index(attribute))
        # Levels and bins in the order of the features but for "?", which is missing and the last in both.
        reference = schema.terms[group[0]].reference
        labels = [adult.feature_names[j].partition("=")[2] for j in columns]
        names = [schema.terms[j].level for j in group]
        assert len(group) == len(columns) - 1
        if attribute in LEVELS:
            position = labels.index(reference)
            assert [label.replace("?", "missing") for label in labels if label != reference] == names
        else:
            starts = [float(name[1:].partition(",")[0]) for name in names]
            missing = set(map(float, BIN_STARTS[attribute])) - set(starts)
            assert len(missing) == 1
            assert float(reference[1:].partition(",")[0]) in missing
            position = BIN_STARTS[attribute].index(int(missing.pop()))
        dropped.append(columns[position])
        kept += [j for j in columns if j != columns[position]]
    assert len(dropped) == len(adult.attributes)
    np.testing.assert_array_equal(encoded, adult.X[:, kept])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", "numpy"])
def test_frames_of_all_libraries_say_the_same(adult, backend):
    if backend != "numpy":
        pytest.importorskip(backend)
    table = adult.frame(backend)
    assert len(table) == 32_561
    few = table[:500] if backend != "pyarrow" else table.slice(0, 500)
    np.testing.assert_array_equal(
        adult.schema.encode(few), adult.schema.encode({name: adult.raw[name][:500] for name in adult.attributes})
    )
    with pytest.raises(ImportError):
        adult.frame("no_such_library")


def test_without_libraries_of_frames_there_is_a_structured_array(adult, monkeypatch):
    monkeypatch.setattr("dpsparse.datasets.adult.find_spec", lambda name: None)
    table = adult.frame()
    assert isinstance(table, np.ndarray)
    assert table.dtype.names == adult.attributes
    table["age"] = 0
    assert adult.raw["age"].min() >= 17


def test_calls_share_nothing(adult):
    other = load_adult()
    other.X[:] = 7.0
    other.y[:] = "?"
    assert set(other.raw["income"]) == {"<=50K", ">50K"}
    assert adult.X.max() == 1.0


def test_it_pickles(adult):
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(adult)).X, adult.X)
