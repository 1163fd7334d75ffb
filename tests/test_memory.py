"""Sizes that no memory holds are typed errors, sparse records stay sparse, and constant features cost nothing."""

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import (
    FrankWolfe,
    NoisyProximalGradient,
    ObjectivePerturbation,
    PrivateScaler,
    PrivateSparseClassifier,
    SelectRefit,
    TooLargeError,
    set_functions,
)
from processes import needs_marks, run_measured

HUGE = 4_000_000_000  # half a terabyte of maps alone


def test_plans_that_memory_cannot_hold_are_refused():
    model = PrivateSparseClassifier(epsilon=1.0, bounds=(0, 1), classes=(0, 1), mechanism=FrankWolfe())
    with pytest.raises(TooLargeError, match=r"needs \d+ bytes of memory"):
        model.plan(1000, HUGE)


def test_sparse_fits_that_memory_cannot_hold_are_refused():
    X = sp.csr_array((np.ones(4), np.arange(4), np.arange(5)), shape=(4, HUGE))
    model = PrivateSparseClassifier(epsilon=1.0, bounds=(0, 1), classes=(0, 1), mechanism=FrankWolfe())
    with pytest.raises(TooLargeError, match="bytes"):
        model.fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("family", ["Cardinality", "ContiguousRange"])
def test_set_functions_that_memory_cannot_hold_are_refused(family):
    with pytest.raises(TooLargeError, match="bytes"):
        getattr(set_functions, family)(2**32 - 2)


def test_a_scaler_reads_sparse_records_as_they_are():
    """10^6 x 2*10^4 would be 40 GB if it were stored densely."""
    n, p = 1_000_000, 20_000
    X = sp.csc_array((np.ones(n // 2), np.arange(n // 2), np.where(np.arange(p + 1) > 3, n // 2, 0)), shape=(n, p))
    upper = np.zeros(p)
    upper[[3, 5]] = 8.0
    scaler = PrivateScaler(epsilon=1.0, bounds=(np.zeros(p), upper), random_state=0).fit(X)
    np.testing.assert_allclose(scaler.ranges_[[3, 5]], [[0, 1], [0, 0]], atol=0.01)


@pytest.mark.parametrize(
    "mechanism",
    ["auto", FrankWolfe(), SelectRefit(), NoisyProximalGradient(), ObjectivePerturbation()],
    ids=lambda mechanism: mechanism if isinstance(mechanism, str) else type(mechanism).__name__,
)
@pytest.mark.parametrize("wide", [False, True])
def test_constant_features_cost_nothing(mechanism, wide):
    """n = 1000, 4 features and 90 constant ones: the plan and the fit are those of the 4 alone."""
    generator = np.random.default_rng(0)
    end = 7.0 if wide else 1.0
    X = generator.uniform(-end, end, (1000, 4))
    y = X[:, 0] > 0
    real = np.arange(94) % 24 == 0
    many = np.full((1000, 94), 3.0)
    many[:, real] = X
    settings = {"epsilon": 1.0, "delta": 1e-6, "classes": (False, True), "mechanism": mechanism, "random_state": 0}
    few = PrivateSparseClassifier(bounds=(-end, end), **settings)
    all_ = PrivateSparseClassifier(bounds=(np.where(real, -end, 3.0), np.where(real, end, 3.0)), **settings)
    expected, plan = few.plan(1000, 4), all_.plan(1000, 94)
    assert plan.noise_scales == expected.noise_scales
    assert plan.events == expected.events
    assert plan.mechanism == expected.mechanism
    few.fit(X, y)
    for records in (many, sp.csr_array(many)):
        all_.fit(records, y)
        np.testing.assert_array_equal(np.ravel(all_.coef_)[~real], 0.0)
        np.testing.assert_array_equal(np.ravel(all_.coef_)[real], np.ravel(few.coef_))
        assert all_.intercept_ == few.intercept_


DTYPES = ["float32", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float16"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_models_do_not_depend_on_the_type_of_numbers(dtype, order):
    generator = np.random.default_rng(0)
    low = 0 if dtype in ("bool", "uint8", "uint16", "uint32") else -2
    values = generator.integers(low, 2 if dtype == "bool" else 6, (500, 7))
    X, y = values.astype(dtype, order=order), np.where(values[:, 0] > 1, 1.0, -1.0)
    facts = {"epsilon": 1.0, "bounds": (low, 4), "classes": (-1, 1), "random_state": 0}
    expected = PrivateSparseClassifier(**facts).fit(values.astype(float), y)
    for records in (X, X[:, ::-1][:, ::-1], np.repeat(X, 2, axis=0)[::2]):
        model = PrivateSparseClassifier(**facts).fit(records, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=[f"x{j}" for j in range(7)])
    np.testing.assert_array_equal(PrivateSparseClassifier(**facts).fit(frame, y).coef_, expected.coef_)


def test_booleans_of_other_bytes_are_clipped_like_numbers():
    """A view of bytes as booleans may hold any byte: the core never sees it as a boolean."""
    X = np.array([[0, 1], [2, 255], [1, 0], [0, 0]] * 50, dtype=np.uint8)
    y = np.array([-1, 1, 1, -1] * 50)
    facts = {"epsilon": 1.0, "bounds": (0, 1), "classes": (-1, 1), "random_state": 0}
    expected = PrivateSparseClassifier(**facts).fit(np.minimum(X, 1).astype(float), y)
    model = PrivateSparseClassifier(**facts).fit(X.view(np.bool_), y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


TYPED = """
    import numpy as np
    from dpsparse import PrivateSparseRegressor
    n, p, dtype, order = {n}, {p}, "{dtype}", "{order}"
    X = np.zeros((n, p), dtype=dtype, order=order)
    X[::2] = 1
    y = np.where(np.arange(n) % 2, 0.5, -0.5)
    facts = dict(epsilon=1.0, bounds=(0, 1), y_bounds=(-1, 1), n_iter=2)
    model = PrivateSparseRegressor(mechanism="noisy-proximal-gradient", **facts)
    model.fit(X[:1000], y[:1000])  # threads and modules are there
    print(measured(lambda: model.fit(X, y))[1])
"""


@needs_marks
@pytest.mark.parametrize(("dtype", "order"), [("float32", "C"), ("float32", "F"), ("float64", "C"), ("bool", "C")])
def test_records_are_read_without_a_copy(dtype, order):
    """Beside X a fit holds its integers, of two bytes an entry, some vectors of the records, and tiles of a few MB."""
    n, p = 400_000, 100
    peak = int(run_measured(TYPED.format(n=n, p=p, dtype=dtype, order=order)))
    assert peak < 2 * n * p + 100 * n + 16 * 2**20  # a copy as doubles would be 8 n p more


FITS = """
    import numpy as np
    import dpsparse
    rng = np.random.default_rng(0)
    model = {model}
    for n in {sizes}:
        X = np.empty((n, {p}), dtype="{dtype}")
        for start in range(0, n, 1000):
            X[start : start + 1000] = rng.integers(0, 2, (min(1000, n - start), {p}))
        y = np.arange(n) % 2
        model.fit(X[:500], y[:500])  # threads and modules are there
        _, peak = measured(lambda: model.fit(X, y))
        print(peak, model.plan(n, {p}).memory)
        del X
"""
MODELS = {
    "auto": "dpsparse.PrivateSparseClassifier(bounds=(-3, 2), classes=(0, 1))",
    "a regression": "dpsparse.PrivateSparseRegressor(bounds=(-3, 2), y_bounds=(-1, 1))",
    "Frank-Wolfe": "dpsparse.PrivateSparseClassifier(bounds=(-3, 2), classes=(0, 1), mechanism=dpsparse.FrankWolfe(5))",
    "lagging": "dpsparse.PrivateSparseClassifier(bounds=(-3, 2), classes=(0, 1), "
    "mechanism=dpsparse.FrankWolfe(5, refresh='lagging'))",
}


def peaks(model, sizes, p, dtype="f8"):
    """For each number of records the measured peak, above the table that is handed over, and what the plan says."""
    lines = run_measured(FITS.format(model=MODELS[model], sizes=sizes, p=p, dtype=dtype)).splitlines()
    return [tuple(map(int, line.split())) for line in lines]


@needs_marks
@pytest.mark.parametrize("model", MODELS)
def test_fits_take_no_more_memory_than_the_plan_says_and_grow_as_it_does(model):
    (few, said_of_few), (many, said) = peaks(model, (25_000, 100_000), 200)
    assert few <= 1.15 * said_of_few + 8e6
    assert many <= 1.15 * said + 8e6
    assert said == pytest.approx(4 * said_of_few, rel=0.01)
    # As much for each record, and not far below what is said: whatever else there is does not grow with the records.
    assert 0.75 * said <= (many - few) / 0.75 <= 1.15 * said + 8e6


@needs_marks
def test_packed_columns_take_less_than_the_plan_says():
    ((peak, said),) = peaks("auto", (100_000,), 200, dtype="u1")
    assert peak < 0.5 * said


def test_the_memory_of_a_plan_is_a_formula_of_public_facts():
    def said(n, p, *, mechanism="frank-wolfe", classes=(0, 1), **arguments):
        model = PrivateSparseClassifier(bounds=(-1, 1), classes=classes, mechanism=mechanism, **arguments)
        return model.plan(n, p).memory

    def records(n, p):
        return 2 * 32 * -(-n // 32) * p + 32 * n

    for n, p in ((10_000, 5), (10_001, 200), (33, 1)):
        assert type(said(n, p)) is int
        assert said(n, p) == records(n, p) + 16 * n
        assert said(n, p, max_weight=1.0) == records(n, p) + 16 * n + 32 * n
        assert said(n, p, classes=range(4)) == records(n, p) + 16 * n + 3 * 10 * n
        assert said(n, p, mechanism=FrankWolfe(refresh="lagging")) == records(n, p) + 16 * n + 128 * n
    # Their image under private scales, and of that one score for the line.
    assert said(20_000, 50, mechanism="auto") == 2 * records(20_000, 50) + records(20_000, 1) + 16 * 20_000
    selected = SelectRefit(n_selected=3)
    assert said(20_000, 50, mechanism=selected) == records(20_000, 50) + records(20_000, 3) + 16 * 20_000
    public = {"adjacency": "add-remove", "n_public": 500, "delta": 1e-6}
    assert said(7, 5, **public) == records(500, 5) + 16 * 500


TABLE = """
    import numpy as np
    import pandas as pd
    from dpsparse.tables import Boolean, Category, Date, Number, Ordinal, Schema
    from dpsparse.tables.schema import encode_narrow
    rng = np.random.default_rng(0)
    n, levels = 1_000_000, ["alpha", "beta", "gamma", "delta"]
    codes = rng.integers(0, 4, n)
    text, typed = np.array(levels, dtype=object)[codes], pd.Categorical.from_codes(codes, levels)
    days = np.datetime64("2024-01-01") + codes
    kinds = {{
        "numbers": (Number(0, 1, missing="flag"), rng.uniform(0, 1, n)),
        "text": (Category(levels), text),
        "categories": (Category(levels), typed),
        "levels": (Ordinal(levels), typed),
        "integers": (Category(range(4)), codes),
        "truth values": (Boolean(), codes > 1),
        "dates": (Date("2024-01-01", "2024-12-31", parts=("month",)), days),
    }}
    column, cells = kinds["{kind}"]
    schema, frame = Schema({{"a": column}}), pd.DataFrame({{"a": cells}})
    encode = encode_narrow if {narrow} else Schema.encode
    encode(schema, frame[:1000])
    del kinds, text, typed, days
    encoded, peak = measured(lambda: encode(schema, frame))
    print(peak, encoded.nbytes)
"""


@needs_marks
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "text", "categories", "levels", "integers", "truth values", "dates"])
def test_tables_are_encoded_in_little_more_than_what_they_become(kind, narrow):
    """Beside the encoded rows there is what a piece of them takes: at once cells took up to 150 bytes each."""
    peak, encoded = map(int, run_measured(TABLE.format(kind=kind, narrow=narrow)).split())
    assert peak < encoded + 24e6
