"""What everyone sees beside the noisy values is the same on neighbouring data, for the whole catalogue."""

import contextlib
import io
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import CATALOGUE, missing, neighbours, records

from dpsparse import DpsparseError, PrivateOnlineSimplex

pytestmark = pytest.mark.attack

# What a fit draws. Shapes of arrays are public but for the number of columns that are not zero.
NOISY = {"coef_", "intercept_", "feature_ranges_", "target_bounds_", "ranges_", "support_"}
NOISY |= {"best_estimator_", "best_params_", "best_index_"}
NOISY |= {"_box"}  # of a scaler: its ranges, column by column
OF_DRAWN_LENGTH = {"support_"}


def test_the_catalogue_is_complete():
    assert not missing()


def public(name, value):
    """What of an attribute has to be equal."""
    if name in OF_DRAWN_LENGTH:
        return type(value).__name__, np.asarray(value).dtype
    if name in NOISY:
        return type(value).__name__, np.shape(value) if isinstance(value, np.ndarray | float | tuple) else None
    return repr(value) if not isinstance(value, np.ndarray) else (value.dtype.str, value.tolist())


def transcript(entry, X, y, randomness):
    """Attributes, warnings, prints and the error of a fit, with what its plan and its certificate say."""
    model = entry.make(random_state=randomness)
    out, err, error = io.StringIO(), io.StringIO(), None
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except DpsparseError as raised:
            error = type(raised).__name__, str(raised)
    learned = {name: public(name, value) for name, value in vars(model).items() if name not in model.get_params()}
    certificate = getattr(model, "certificate_", None)
    return {
        "attributes": learned,
        "properties": sorted(name for name in dir(model) if name.endswith("_") and not name.startswith("_")),
        "certificate": None if certificate is None else (certificate.to_json(), repr(certificate)),
        "n_iter": getattr(model, "n_iter_", None),
        "pickled names": sorted(pickle.loads(pickle.dumps(model)).__dict__),
        "warnings": [(warning.category.__name__, str(warning.message)) for warning in caught],
        "printed": (out.getvalue(), err.getvalue()),
        "error": error,
    }


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("randomness", [0, None], ids=["seeded", "secure"])
def test_public_transcripts_of_neighbours_are_equal(name, randomness):
    entry = CATALOGUE[name]
    (_, X, y), *others = neighbours(entry.targets)
    expected = transcript(entry, X, y, randomness)
    assert expected["error"] is None
    assert expected["certificate"] is not None
    assert not expected["warnings"]
    for changed, other_X, other_y in others:
        found = transcript(entry, other_X, other_y, randomness)
        for part, value in expected.items():
            assert found[part] == value, (changed, part)


@pytest.mark.parametrize("name", CATALOGUE)
def test_sparse_records_have_the_same_transcript(name):
    entry = CATALOGUE[name]
    X, y = records(entry.targets)
    dense, sparse = transcript(entry, X, y, 0), transcript(entry, sp.csr_array(X), y, 0)
    assert dense == sparse


def unusable(X, y):
    """One unusable value, at one place or another."""
    for row, column in ((0, 0), (len(X) // 2, 1), (len(X) - 1, X.shape[1] - 1)):
        for value in (np.nan, np.inf, -np.inf):
            broken = X.copy()
            broken[row, column] = value
            yield np.isnan(value), broken, y


@pytest.mark.parametrize("name", CATALOGUE)
def test_refusals_tell_neither_the_place_nor_the_value(name):
    entry = CATALOGUE[name]
    texts = {}
    for kind, X, y in unusable(*records(entry.targets)):
        found = transcript(entry, X, y, 0)
        assert found["error"] is not None
        assert found["certificate"] is None
        texts.setdefault(kind, set()).add(repr((found["error"], found["warnings"], found["printed"])))
    assert all(len(text) == 1 for text in texts.values()), texts


def test_online_transcripts_of_neighbours_are_equal():
    """Costs that differ in one round: everything but the vertices is equal."""
    seen = set()
    for changed in (None, 1.0, -1.0, 1e308, 5e-324, -0.0):
        leader = PrivateOnlineSimplex(1.0, 1e-6, horizon=6, n_features=3, bound=1.0, random_state=0)
        told = []
        for step in range(6):
            costs = np.array([0.5, -0.25, 0.0]) * (step + 1) / 6
            leader.update(np.full(3, changed) if step == 2 and changed is not None else costs)
            told.append(
                (leader.round if hasattr(leader, "round") else step, leader.weights.shape, leader.weights.sum())
            )
        with pytest.raises(DpsparseError) as raised:
            leader.update(np.zeros(3))
        certificate = leader.certificate_ if hasattr(leader, "certificate_") else leader.certificate
        seen.add((repr(told), str(raised.value), certificate.to_json()))
    assert len(seen) == 1
