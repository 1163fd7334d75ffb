"""What must not leak around the mechanism: errors, warnings, plans, pickles, attributes."""

import gc
import json
import pickle
import traceback
import warnings
import weakref
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from dpsparse import (
    DisjointGroups,
    DpsparseError,
    InvalidArgumentError,
    InvalidDataError,
    PrivateOnlineSimplex,
    PrivateSparseClassifier,
    PrivateSparseRegressor,
    SparseRegressor,
    blocks,
)
from dpsparse.distributed._recipe import Recipe
from dpsparse.tables import Number, Schema
from reference.certificates import keeps_its_claim

N, P = 40, 3
SECRET = 0.7654321234  # stands in X or in y; no message may show its digits
DIGITS = "765432"
WORD = "confidential"


def classifier(**arguments):
    fixed = {"bounds": (-1, 1), "classes": (0, 1), "n_iter": 3, "random_state": 0}
    return PrivateSparseClassifier(**(fixed | arguments))


def regressor(**arguments):
    fixed = {"bounds": (-1, 1), "y_bounds": (-1, 1), "n_iter": 3, "random_state": 0}
    return PrivateSparseRegressor(**(fixed | arguments))


MAKERS = [classifier, regressor]


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N, P))
    X[5, 1] = SECRET
    return X, (X[:, 0] > 0).astype(float)


def with_entry(values, at, entry, dtype):
    values = np.array(values, dtype=dtype)
    values[at] = entry
    return values


def broken_text():
    """Text of arrow of which one cell is no UTF-8: arrow's own error shows it, and is of none of Python's kinds."""
    cells = [b"0", b"1"] * (N // 2)
    cells[3] = b"\xff" + WORD.encode()
    ends = np.cumsum([0, *map(len, cells)], dtype=np.int32)
    return pa.StringArray.from_buffers(N, pa.py_buffer(ends), pa.py_buffer(b"".join(cells)))


def unusable():
    """Data sets that a fit refuses; all of them hold the secret number or the word."""
    X, y = data()
    nan, inf = (with_entry(X, (3, 1), value, float) for value in (np.nan, np.inf))
    words = with_entry(X, (3, 1), WORD, object)
    missing = pd.DataFrame(X)
    missing.iloc[3, 1] = np.nan
    broken = sp.csr_matrix(X)
    broken.indices = broken.indices.copy()
    broken.indices[2] = 77
    text = broken_text()
    table = pa.table({"x0": X[:, 0], "x1": text, "x2": X[:, 2]})
    return {
        "NaN": (nan, y),
        "infinity": (inf, y),
        "sparse NaN": (sp.csr_matrix(nan), y),
        "frame NaN": (missing, y),
        "words": (words, y),
        "array of words": (X.astype(str), with_entry(y.astype(str), 3, WORD, object)),
        "words in a frame": (pd.DataFrame(words), y),
        "complex": (X + 1j, y),
        "one dimension": (X[:, 1], y),
        "one number": (SECRET, y),
        "a word": (WORD, y),
        "three dimensions": (X[None], y),
        "lengths": (X, y[:-1]),
        "ragged": ([list(row) for row in X[:-1]] + [[SECRET]], y),
        "beyond floats": (with_entry(X, (3, 1), 10**400, object), y),
        "objects": (with_entry(X, (3, 1), {WORD: SECRET}, object), y),
        "bad indices": (broken, y),
        "broken text": (table, y),
        "broken text in blocks": (blocks.from_arrow(table), y),
        "y NaN": (X, with_entry(y, 3, np.nan, float)),
        "y infinity": (X, with_entry(y, 3, -np.inf, float)),
        "y complex": (X, y + 1j * SECRET),
        "y words": (X, with_entry(y, 3, WORD, object)),
        "y two columns": (X, np.column_stack([X[:, 1], y])),
        "y sparse": (X, sp.csr_matrix(X[:, 1:2])),
        "y objects": (X, with_entry(y, 3, [SECRET], object)),
        "y broken text": (X, text),
        "y broken text in a frame": (X, pd.Series(text, dtype=pd.ArrowDtype(pa.string()))),
        "y broken categories": (X, text.dictionary_encode()),
        "y signalling": (X, with_entry(y, 3, Decimal(f"sNaN{DIGITS}"), object)),
    }


LABELS = {
    "a third class": lambda y: with_entry(y, 3, 2, int),
    "a number": lambda y: with_entry(y, 5, SECRET, float),
    "numbers": lambda y: np.linspace(0, SECRET, N),
    "a word": lambda y: with_entry(y.astype(int).astype(str), 3, WORD, object),
    "words": lambda y: np.array([WORD + str(k) for k in range(N)]),
}


def assert_silent_refusal(estimator, X, y):
    """A DpsparseError before any budget, without data in its text, its chain or a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(DpsparseError) as raised:
            estimator.fit(X, y)
    error = raised.value
    texts = [str(error), repr(error.args), "".join(traceback.format_exception(error)[-1:])]
    while error is not None:  # everything that a logger could follow, shown or suppressed
        texts.append(repr(error))
        error = error.__cause__ or error.__context__
    texts += [str(warning.message) for warning in caught]
    for text in texts:
        assert DIGITS not in text
        assert WORD not in text
    assert not caught
    assert not hasattr(estimator, "certificate_")
    assert not hasattr(estimator, "coef_")
    return str(raised.value)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", unusable())
def test_unusable_records_are_refused_without_showing_them(make, name):
    assert assert_silent_refusal(make(), *unusable()[name])


@pytest.mark.parametrize("name", LABELS)
def test_wrong_labels_are_refused_without_showing_them(name):
    X, y = data()
    message = assert_silent_refusal(classifier(), X, LABELS[name](y))
    assert "classes" in message


@pytest.mark.parametrize("make", MAKERS)
def test_a_refused_refit_leaves_the_model_as_it_was(make):
    X, y = data()
    estimator = make().fit(X, y)
    before = pickle.dumps({k: v for k, v in vars(estimator).items() if k.endswith("_")})
    for bad_X, bad_y in ((with_entry(X, (3, 1), np.nan, float), y), (X, with_entry(y, 3, np.nan, float))):
        with pytest.raises(DpsparseError):
            estimator.fit(bad_X, bad_y)
    estimator.set_params(epsilon=-1.0)
    with pytest.raises(InvalidArgumentError):
        estimator.fit(X, 1 - y)
    assert pickle.dumps({k: v for k, v in vars(estimator).items() if k.endswith("_")}) == before


def hostile():
    """Usable data sets with the same public facts, as different as they can be."""
    rng = np.random.default_rng(5)
    X, y = data()
    return {
        "ordinary": (X, y),
        "zeros": (np.zeros((N, P)), y),
        "far outside the bounds": (1e300 * X, y),
        "at the edges": (np.sign(X), y),
        "one class": (X, np.ones(N)),
        "separable": (np.column_stack([y] * P), y),
        "equal records": (np.tile(X[:1], (N, 1)), y),
        "subnormal": (5e-324 * np.sign(X), y),
        "heavy tails": (rng.standard_cauchy((N, P)), y),
    }


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("norm", ["l1", "linf", DisjointGroups([0, 0, 1])])
def test_plans_certificates_and_warnings_depend_on_public_facts_only(make, norm, capsys):
    seen, outputs = set(), set()
    for X, y in hostile().values():
        for stored in (X, sp.csr_matrix(X)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                estimator = make(norm=norm, verbose=0)
                plan = estimator.plan(*X.shape)
                estimator.fit(stored, y)
            assert not caught
            assert estimator.certificate_.events == plan.events
            assert estimator.n_iter_ == plan.n_iter
            assert repr(estimator.plan(*X.shape)) == repr(plan)
            seen.add((repr(plan), estimator.certificate_.to_json(), repr(estimator.certificate_)))
            outputs.add(capsys.readouterr())
    assert len(seen) == 1
    assert outputs == {("", "")}


def test_no_warning_tells_how_many_records_there_are():
    """Of as many labels as half of the records scikit-learn warns, where labels are read and their number is known."""
    labels = np.arange(60) % 30
    for n in (58, 59):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier(classes=None, adjacency="add-remove", n_public=60, delta=1e-6).fit(np.zeros((n, P)), labels[:n])
        assert not caught


def test_no_warning_tells_of_numbers_beyond_doubles():
    """A long double of one record, where numpy has such."""
    beyond = np.array([0.5, np.finfo(np.longdouble).max])
    table = {"x": beyond[np.arange(N) % 2]}
    schema = Schema({"x": Number(-1, 1)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier(bounds=None, schema=schema).fit(table, np.arange(N) % 2)
        for array in (table["x"], table["x"].astype(object)):
            with suppress(InvalidDataError):
                classifier().fit(blocks.from_arrays(np.column_stack([array] * P), rows=7), np.arange(N) % 2)
    assert not caught


def test_a_rule_of_its_own_for_iterations_never_sees_data():
    rules = {classifier(n_iter=None).fit(X, y).n_iter_ for X, y in hostile().values()}
    assert len(rules) == 1


def test_progress_shows_public_counts_only(capsys):
    shown = set()
    for X, y in hostile().values():
        classifier(verbose=1, n_iter=2).fit(X, y)
        text = capsys.readouterr().err.replace("\r", "\n").strip().split("\n")[-1]
        shown.add(text.split("[")[0])  # a progress bar may go on with times
    assert len(shown) == 1
    assert "2/2" in shown.pop()


PUBLIC = {
    "coef_",
    "intercept_",
    "_clips_features",
    "feature_ranges_",
    "target_bounds_",
    "classes_",
    "n_features_in_",
    "feature_names_in_",
    "support_",
    "n_iter_",
    "certificate_",
}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix, pd.DataFrame])
@pytest.mark.parametrize("randomness", [None, 0, np.random.RandomState(1), np.random.default_rng(2)])
def test_pickles_hold_no_records(make, storage, randomness):
    rng = np.random.default_rng(11)
    X, y = rng.uniform(-1, 1, (N, P)), rng.integers(0, 2, N)
    estimator = make(random_state=randomness).fit(storage(X), y)
    learned = {name for name in vars(estimator) if name not in estimator.get_params()}
    assert learned <= PUBLIC
    content = pickle.dumps(estimator) + estimator.certificate_.to_json().encode() + repr(estimator).encode()
    quantised = np.rint(16383 * X).astype(np.int16)
    for array in (X, X.astype(np.float32), X.T.copy(), quantised, quantised.T.copy()):
        flat = array.ravel()
        # any two neighbouring entries of the records, in any of these forms
        assert not any(flat[k : k + 2].tobytes() in content for k in range(len(flat) - 1))
    assert not any(f"{v:.6f}"[1:] in content.decode("latin1") for v in np.abs(X).ravel())
    assert y.astype(float).tobytes() not in content
    assert y.tobytes() not in content
    arrays = [v for v in vars(estimator).values() if isinstance(v, np.ndarray)]
    assert all(array.size <= max(P, 2) for array in arrays)
    control = content + X.tobytes()
    assert X.ravel()[4:6].tobytes() in control  # the search finds what is there


@pytest.mark.parametrize("make", MAKERS)
def test_fits_neither_keep_nor_change_the_records(make):
    X, y = data()
    X *= 3  # some outside the bounds: clipping must not happen in place
    kept_X, kept_y = X.copy(), y.copy()
    estimator = make().fit(X, y)
    assert (kept_X == X).all()
    assert (y == kept_y).all()
    references = weakref.ref(X), weakref.ref(y)
    del X, y
    gc.collect()
    assert [reference() for reference in references] == [None, None]
    assert keeps_its_claim(estimator.certificate_)


def test_scores_weights_and_parts_show_no_broken_text():
    """Where records are converted beside a fit's own: by scores, as weights, and on workers."""
    X, y = data()
    model, text = regressor().fit(X, y), broken_text()
    part = pa.table({"x0": X[:, 0], "y": text})
    recipe = Recipe(1, ("x0",), target="y", labels=np.array(["0", "1"]))
    for call in (
        lambda: model.score(X, text),
        lambda: model.score(X, y, sample_weight=text),
        lambda: regressor(max_weight=1.0).fit(X, y, sample_weight=text),
        lambda: SparseRegressor().fit(X, y, sample_weight=text),
        lambda: PrivateOnlineSimplex(1.0, 1e-6, horizon=2, n_features=N, bound=1.0).update(text),
        lambda: recipe(part),
    ):
        with pytest.raises(InvalidDataError) as refused:
            call()
        error = refused.value
        while error is not None:
            assert WORD not in str(error)
            error = error.__cause__ or error.__context__


def test_sample_weights_without_a_largest_one_are_refused():
    X, y = data()
    for make in MAKERS:
        with pytest.raises(InvalidArgumentError, match="max_weight"):
            make().fit(X, y, sample_weight=np.ones(N))


def test_certificates_name_what_they_rest_on():
    X, y = data()
    given = classifier().fit(X, y).certificate_
    read = classifier(classes=None).fit(X, y).certificate_
    assert not any("labels, read from y" in text for text in given.assumptions)
    assert any("labels, read from y" in text for text in read.assumptions)
    several = classifier(records_per_person=3).fit(X, y).certificate_
    assert "at most 3 records" in several.unit
    assert any("more than 3 records" in text for text in several.assumptions)
    own = classifier(loss=lambda z, y: z).fit(X, y).certificate_
    assert any("user's loss" in text for text in own.assumptions)
    assert json.loads(given.to_json())["secure"] is False
    assert repr(given).startswith("NO GUARANTEE: ")
    secure = classifier(random_state=None).fit(X, y).certificate_
    assert "NO GUARANTEE" not in repr(secure)
    assert DIGITS not in secure.to_json() + repr(secure)
