"""Schemas as what estimators know of tables: fits, plans, searches, transformers, rows of one person."""

import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
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
    UnsoundMechanismError,
    losses,
)
from dpsparse.privacy import Accountant
from dpsparse.tables import Boolean, Category, Number, Schema, SchemaEncoder
from dpsparse.tables.person import first_of_each, kept_rows
from dpsparse.tables.schema import encode_narrow
from penalties import WITHOUT_PENALTY
from reference.people import LIBRARIES, SCHEMA, SECRET, N, classifier, every_library, pd, people, pl

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
MECHANISMS = ["auto", *WITHOUT_PENALTY]


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
    assert "different persons have different" in new[0]
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


MANY = 2**60 + np.arange(300) // 2


@pytest.mark.parametrize(
    "identities",
    [
        [*MANY[:-1].tolist(), 0.5],
        [*MANY[:-1].tolist(), 1e20],
        # Equal to one that stands before it, whom 2.0**60 need not have meant.
        [*MANY[:-1].tolist(), 2.0**60],
        [*MANY[:-1].tolist(), Decimal(2**60)],
        [1, *MANY[:-2].tolist(), True],
        pd.Series([*MANY[:-1].tolist(), 2.0**60], dtype=object),
        pd.Series(MANY % 2 == 0),
        np.array([*MANY[:-1].tolist(), 0.5]),
        pd.Series([*MANY[:-1].tolist(), None]),
        pd.Series([*MANY[:-1].tolist(), 0.5]),
        pl.Series([*MANY[:-1].astype(float), 0.5]),
        np.zeros(300, np.float32),
        np.zeros(300, "M8[s]"),
        np.zeros(300, "m8[s]"),
    ],
)
def test_persons_are_no_floats(identities):
    """One cell makes a column of integers floats, which merge persons: their rows would be left out."""
    table, y, _ = people(n=300)
    schema = Schema(dict(SCHEMA.columns), person="id")
    with Accountant(10.0, 1e-5) as accountant:
        for model in (
            classifier(schema, ledger=accountant, **ADD_REMOVE),
            PrivateScaler(schema=schema, ledger=accountant, **ADD_REMOVE),
        ):
            with pytest.raises(InvalidTypeError, match=r"'id' of X must hold text or integers.*nullable") as caught:
                model.fit({**table, "id": identities}, y)
            assert not any(text in str(caught.value) for text in ("0.5", "1e", str(2**60)))
        assert accountant.remaining(1e-5) == Accountant(10.0, 1e-5).remaining(1e-5)


@pytest.mark.parametrize(
    "identities",
    [MANY, MANY.tolist(), MANY.astype(str), MANY.astype(object), pd.Series(MANY, dtype="Int64"), pl.Series(MANY)],
)
def test_persons_of_large_numbers_are_told_apart(identities):
    schema = Schema({"x": Number(0, 1)}, person="id")
    assert kept_rows(schema, {"id": identities}, 2, 0).size == 300
    assert kept_rows(schema, {"id": identities}, 1, 0).size == 150


@pytest.mark.parametrize("Series", [lambda ids: pd.Series(ids, dtype="Int64"), pl.Series, list])
def test_missing_persons_of_integers_are_told_as_missing(Series):
    schema = Schema({"x": Number(0, 1)}, person="id")
    with pytest.raises(InvalidDataError, match="every row must name its person"):
        kept_rows(schema, {"id": Series([2**60, None, 3])}, 1, 0)


def test_tables_are_imported_when_they_are_asked_for():
    code = "import sys, dpsparse; sys.exit(any(name.startswith('dpsparse.tables') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- whole numbers as bytes ---


@pytest.mark.parametrize("coding", ["reference", "sum", "one-hot"])
@pytest.mark.parametrize("missing", ["error", "level", "flag"])
def test_tables_of_categories_are_read_as_bytes_and_models_are_the_same(coding, missing):
    rng = np.random.default_rng(0)
    levels = ["a", "b", "c", "d"]
    columns = {f"c{k}": Category(levels, coding=coding, missing=missing, other="d") for k in range(3)}
    schema = Schema(columns | {"own": Boolean(missing="error" if missing == "flag" else missing)})
    texts = rng.choice([*levels, "e"] if missing == "error" else [*levels, "e", ""], (300, 3))
    table = {f"c{k}": texts[:, k] for k in range(3)} | {"own": rng.integers(0, 2, 300).astype(bool)}
    narrow, full = encode_narrow(schema, table), schema.encode(table)
    assert (narrow.dtype, full.dtype) == (np.int8, np.float64)
    np.testing.assert_array_equal(narrow, full)
    y = np.where(texts[:, 0] == "a", "yes", "no")
    facts = {"epsilon": 2.0, "classes": ("no", "yes"), "random_state": 0, "mechanism": "noisy-proximal-gradient"}
    by_schema = PrivateSparseClassifier(schema=schema, **facts).fit(table, y)
    norm = by_schema._statement(300, schema.n_columns)["row_norm"]
    by_hand = PrivateSparseClassifier(bounds=schema.bounds.T, row_norm=norm, **facts).fit(full, y)
    np.testing.assert_array_equal(by_schema.coef_, by_hand.coef_)


@pytest.mark.parametrize("column", [Number(0, 1), Number(0, 9, missing="flag"), Boolean(missing="flag")])
def test_tables_with_other_numbers_are_read_as_doubles(column):
    schema = Schema({"a": Category(["u", "v"]), "b": column})
    values = [True, False] if isinstance(column, Boolean) else [0.25, 1]
    table = {"a": ["u", "v"], "b": values}
    assert encode_narrow(schema, table).dtype == np.float64
    np.testing.assert_array_equal(encode_narrow(schema, table), schema.encode(table))
