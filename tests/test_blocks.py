"""Records in blocks give the models of records in memory, bit for bit, wherever their integers are kept."""

import time
from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import (
    InvalidArgumentError,
    InvalidDataError,
    MissingFileError,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSparseClassifier,
    PrivateSparsePoissonRegressor,
    PrivateSparseRegressor,
    StorageError,
    blocks,
)
from dpsparse.distributed import Shards
from dpsparse.tables import Boolean, Category, Number, Schema

pa = pytest.importorskip("pyarrow")

N, P = 3_001, 5
NAMES = [f"x{j}" for j in range(P)]
IN_ONE = ("output-perturbation", "objective-perturbation", "dual-frank-wolfe", "sgd-output", "select-refit")
BY_SUMS = (
    "auto",
    "frank-wolfe",
    "penalised-frank-wolfe",
    "noisy-gradient-frank-wolfe",
    "noisy-proximal-gradient",
    "noisy-newton",
    "mirror-descent",
    "select-refit",
)


def made(seed=0, dtype=float):
    """Features in bounds of different widths, and scores."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(N, P)) * np.arange(1, P + 1)).astype(dtype)
    return X, X[:, 0] - X[:, 1] / 2 + rng.normal(size=N) / 3


def bounds():
    return np.column_stack([-5.0 * np.arange(1, P + 1), 5.0 * np.arange(1, P + 1)])


def estimator(kind, **options):
    options = {"epsilon": 2.0, "bounds": bounds(), "random_state": 3, **options}
    if kind == "classes":
        return PrivateSparseClassifier(classes=(-1, 1), **options)
    if kind == "counts":
        return PrivateSparsePoissonRegressor(y_bounds=(0, 30), **options)
    return PrivateSparseRegressor(y_bounds=(-10, 10), **options)


def targets(kind, scores):
    if kind == "classes":
        return np.where(scores > 0, 1, -1)
    return np.random.default_rng(1).poisson(np.exp(np.clip(scores / 4, -2, 2))) if kind == "counts" else scores


def same(one, other):
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.certificate_.to_json() == other.certificate_.to_json()


@pytest.mark.parametrize("in_files", [False, True])
@pytest.mark.parametrize("kind", ["classes", "reals", "counts"])
@pytest.mark.parametrize("mechanism", BY_SUMS)
def test_models_are_those_of_records_in_memory(mechanism, kind, in_files, tmp_path):
    if mechanism == "select-refit" and kind == "classes" and in_files:
        pytest.skip("its refit of classes minimises exactly: it needs all records at once")
    X, scores = made()
    y = targets(kind, scores)
    options = {"mechanism": mechanism, "alpha": 0.01 if mechanism == "penalised-frank-wolfe" else None}
    whole = estimator(kind, **options).fit(X, y)
    directory = tmp_path if in_files else None
    for rows in (N, 1_000, 77):
        same(estimator(kind, **options).fit(blocks.from_arrays(X, rows=rows, directory=directory), y), whole)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mechanism", IN_ONE)
def test_mechanisms_that_need_all_records_at_once_take_blocks_in_memory_alone(mechanism, tmp_path):
    X, scores = made()
    y = targets("classes", scores)
    options = {"mechanism": mechanism, "bounds": (-20, 20), "alpha": 0.01 if mechanism == "dual-frank-wolfe" else None}
    whole = estimator("classes", **options).fit(X, y)
    same(estimator("classes", **options).fit(blocks.from_arrays(X, rows=400), y), whole)
    with pytest.raises(InvalidArgumentError, match="must be in memory"):
        estimator("classes", **options).fit(blocks.from_arrays(X, rows=400, directory=tmp_path), y)


def test_single_precision_weights_and_three_classes(tmp_path):
    X, scores = made(dtype=np.float32)
    y = np.digitize(scores, [-0.5, 0.5])
    weights = np.random.default_rng(2).uniform(0, 3, N)
    model = PrivateSparseClassifier(classes=(0, 1, 2), bounds=bounds(), max_weight=2.0, random_state=1)
    whole = model.fit(X, y, sample_weight=weights)
    coefficients = whole.coef_
    parts = blocks.from_arrays(X, rows=500, directory=tmp_path)
    np.testing.assert_array_equal(model.fit(parts, y, sample_weight=weights).coef_, coefficients)


def test_scalers_and_searches_take_blocks(tmp_path):
    X, scores = made()
    parts = blocks.from_arrays(X, rows=500, directory=tmp_path)
    scaler = PrivateScaler(epsilon=1.0, bounds=bounds(), random_state=0)
    whole = scaler.fit(X).ranges_
    np.testing.assert_array_equal(scaler.fit(parts).ranges_, whole)
    search = PrivateSearchCV(
        estimator("reals", mechanism="noisy-newton"), {"ridge": [0.0, 0.1]}, epsilon=2.0, random_state=0
    )
    whole = search.fit(X, scores).best_estimator_.coef_
    np.testing.assert_array_equal(search.fit(parts, scores).best_estimator_.coef_, whole)


@pytest.mark.parametrize("mechanism", IN_ONE)
def test_searches_of_mechanisms_that_need_all_records_at_once_take_blocks_in_memory(mechanism):
    """Parts of the records came in blocks, which was refused once the budget was spent."""
    X, scores = made()
    y = targets("classes", scores)
    options = {"bounds": (-20, 20), "alpha": 0.01 if mechanism == "dual-frank-wolfe" else None}
    candidates = {"mechanism": [mechanism], "ridge": [None, 0.5]}
    for refit_share in (0.0, 0.5):
        search = PrivateSearchCV(
            estimator("classes", **options), candidates, epsilon=4.0, refit_share=refit_share, random_state=0
        )
        whole = search.fit(X, y).best_estimator_
        same(search.fit(blocks.from_arrays(X, rows=400), y).best_estimator_, whole)


def test_tables_of_arrow_and_parquet_name_their_columns(tmp_path):
    X, scores = made()
    columns = dict(zip(NAMES, X.T, strict=True))
    whole = estimator("reals").fit(X, scores)
    table = pa.table({**columns, "y": scores})
    by_name = estimator("reals", bounds=dict(zip(NAMES, bounds(), strict=True)))
    import pyarrow.parquet as pq

    pq.write_table(table, tmp_path / "people.parquet", row_group_size=700)
    files = tmp_path / "files"
    files.mkdir()
    for source in (
        blocks.from_arrow(table, rows=400),
        blocks.from_parquet(tmp_path / "people.parquet"),
        blocks.from_parquet(str(tmp_path / "people.parquet"), rows=512, directory=files),
    ):
        model = by_name.fit(source, "y")
        np.testing.assert_array_equal(model.coef_, whole.coef_)
        assert model.feature_names_in_.tolist() == NAMES
        assert source.names == (*NAMES, "y")
    few = blocks.from_arrow(table, columns=["x1", "x0"])
    assert few.shape == (N, 2)
    np.testing.assert_array_equal(np.vstack(list(few.arrays())), X[:, [1, 0]])
    with pytest.raises(InvalidArgumentError, match="'z'"):
        estimator("reals").fit(blocks.from_arrow(table), "z")
    with pytest.raises(InvalidArgumentError, match="'z'"):
        blocks.from_arrow(table, columns=["z"])


def most_held(made, pause):
    """Rows of blocks that are taken so slowly, and the most memory of arrow's meanwhile."""
    before, held, rows = pa.total_allocated_bytes(), [], 0
    for block in made:
        held.append(pa.total_allocated_bytes() - before)
        rows += block.num_rows
        time.sleep(pause)
    return rows, max(held)


def parquet(path, rows, group):
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    pq.write_table(
        pa.table({f"x{j}": rng.random(rows) for j in range(5)}), path, row_group_size=group, use_dictionary=False
    )
    return path


@pytest.mark.parametrize("group", [10_000, 400_000])
@pytest.mark.parametrize("pause", [0.0, 0.01])
def test_files_are_not_kept_in_memory_as_they_are_read(pause, group, tmp_path):
    """Arrow kept all of a file that it had read, and its threads read on as long as a slow fit took: as much memory as
    what does not fit into it. Of a file of one row group it decoded all at once.
    """
    path = parquet(tmp_path / "many.parquet", 400_000, group)
    rows, held = most_held(blocks.from_parquet(path, rows=10_000), pause)
    assert rows == 400_000
    # A block of 400 kB, and for each column a page of 160 kB and a buffer of 64 kB.
    assert held < path.stat().st_size / 6


def test_datasets_are_not_read_on_while_a_slow_fit_takes_blocks(tmp_path):
    """Threads of arrow did, all of a file. What it reads ahead are row groups, of which it holds some 30 of 320 at most
    where the machine has other work."""
    from pyarrow import dataset as arrow

    path = parquet(tmp_path / "many.parquet", 800_000, 2_500)
    options = arrow.ParquetFragmentScanOptions(pre_buffer=False)
    dataset = arrow.dataset(path, format=arrow.ParquetFileFormat(default_fragment_scan_options=options))
    rows, held = most_held(blocks.from_arrow(dataset, rows=10_000), 0.005)
    assert rows == 800_000
    assert held < path.stat().st_size / 2


def test_columns_of_files_come_by_their_names_alone_and_in_order(tmp_path):
    """To arrow "age" may name the parts of a column of that name, which Parquet calls "age." and something."""
    import pyarrow.parquet as pq

    table = pa.table({"age.squared": [1.0, 4.0], "age": [1.0, 2.0], "dose": [3.0, 5.0]})
    pq.write_table(table, tmp_path / "people.parquet")
    for columns in (["dose", "age"], ["age.squared", "dose"]):
        made = blocks.from_parquet(tmp_path / "people.parquet", columns=columns)
        (block,) = made
        assert block == table.select(columns)


def test_files_that_change_are_refused_as_such(tmp_path, monkeypatch):
    """They ended in arrow's own KeyError, which holds no record, but is no error of ours."""
    import pyarrow.parquet as pq

    X, scores = made()
    table = pa.table({**dict(zip(NAMES, X.T, strict=True)), "y": scores})
    for number in range(2):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    source = blocks.from_parquet(tmp_path)
    pq.write_table(table.drop_columns([NAMES[1]]), tmp_path / "1.parquet")
    with pytest.raises(InvalidDataError, match="has changed since"):
        list(source)
    with monkeypatch.context() as patched:  # a file system that tells neither sizes nor times
        patched.setattr(blocks, "_check_stamps", lambda dataset, stamps: None)
        with pytest.raises(InvalidDataError, match="no longer has each of the columns once"):
            list(source)
    twice = pa.Table.from_arrays([*table.columns, table.column(0)], names=[*table.column_names, NAMES[0]])
    pq.write_table(twice, tmp_path / "1.parquet")
    with pytest.raises(InvalidDataError, match=f"several columns of the name '{NAMES[0]}'"):
        blocks.from_parquet(tmp_path)
    with pytest.raises(InvalidArgumentError, match="name each file of a folder"):
        blocks.from_parquet([str(tmp_path)])


@pytest.mark.parametrize("make", ["from_parquet", "from_arrow"])
@pytest.mark.parametrize("what", ["rows", "columns"])
def test_files_that_are_written_anew_have_no_targets_beside_other_rows(make, what, tmp_path):
    """The target is read apart from the features: a person would be behind two records."""
    import pyarrow.dataset
    import pyarrow.parquet as pq

    X, scores = made()
    table = pa.table({**dict(zip(NAMES, X.T, strict=True)), "y": scores})
    there = tmp_path / "records.parquet"
    pq.write_table(table, there)
    source = blocks.from_parquet(there) if make == "from_parquet" else blocks.from_arrow(pyarrow.dataset.dataset(there))
    before = estimator("reals").fit(source, "y").coef_
    np.testing.assert_array_equal(estimator("reals").fit(source, "y").coef_, before)
    features, target = source.with_target("y")
    anew = table.take(pa.array(np.arange(N)[::-1])) if what == "rows" else table.select([*table.column_names][::-1])
    pq.write_table(anew, tmp_path / "new.parquet")
    (tmp_path / "new.parquet").replace(there)
    for X_, y in ((source, "y"), (features, target)):
        with pytest.raises(InvalidDataError, match="has changed since"):
            estimator("reals").fit(X_, y)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pa.int64(), pa.timestamp("us")),
        (pa.int32(), pa.date32()),
        (pa.int64(), pa.duration("us")),
        (pa.float64(), pa.string()),
        (pa.int64(), pa.bool_()),
    ],
)
@pytest.mark.parametrize("place", ["x0", "y"])
def test_columns_of_another_kind_in_a_later_file_are_refused(first, second, place, tmp_path):
    """Arrow makes numbers of them: microseconds of a date, and what a text says."""
    import pyarrow.parquet as pq

    X, scores = made()
    table = pa.table({**dict(zip(NAMES, X.T, strict=True)), "y": scores})
    for number, kind in enumerate((first, second)):
        ones = pa.array(np.ones(N, dtype=np.int32)).cast(pa.int64() if kind != pa.date32() else pa.int32()).cast(kind)
        column = table.column_names.index(place)
        pq.write_table(table.set_column(column, place, ones), tmp_path / f"{number}.parquet")
    with pytest.raises(InvalidDataError, match=f"in the column '{place}', where the first file has"):
        blocks.from_parquet(tmp_path)


def test_columns_of_other_sizes_of_numbers_are_numbers(tmp_path):
    import pyarrow.parquet as pq

    kinds = [pa.float64(), pa.int8(), pa.float32(), pa.null()]
    for number, kind in enumerate(kinds):
        values = pa.nulls(4, kind) if kind == pa.null() else pa.array([1, 0, 1, 1]).cast(kind)
        pq.write_table(pa.table({"x": values}), tmp_path / f"{number}.parquet")
    source = blocks.from_parquet(tmp_path)
    entries = np.concatenate(list(source.arrays()))[:, 0]
    np.testing.assert_array_equal(entries, [1, 0, 1, 1] * 3 + [np.nan] * 4)


def chained(error):
    """All texts of an error and of what is chained to it."""
    return "" if error is None else f"{error} {chained(error.__cause__)} {chained(error.__context__)}"


@pytest.mark.parametrize(
    ("place", "first", "second"),
    [
        ("x0", lambda n: np.zeros(n, dtype=np.int8), lambda n: np.full(n, 0.62871)),
        ("x0", np.zeros, lambda n: pa.array(["a 0.62871"] * n)),
        ("y", lambda n: np.zeros(n, dtype=np.int8), lambda n: np.full(n, 0.62871)),
    ],
)
def test_columns_of_another_type_in_a_later_file_show_no_entry(place, first, second, tmp_path):
    import pyarrow.parquet as pq

    X, scores = made()
    table = pa.table({**dict(zip(NAMES, X.T, strict=True)), "y": scores})
    k = table.column_names.index(place)
    for number, values in enumerate((first(N), second(N))):
        pq.write_table(table.set_column(k, place, pa.array(values)), tmp_path / f"{number}.parquet")
    with pytest.raises(InvalidDataError, match="type") as caught:
        estimator("reals").fit(blocks.from_parquet(tmp_path), "y")
    assert "0.62" not in chained(caught.value)


@pytest.mark.parametrize("target", [False, True])
def test_a_later_file_without_a_column_is_named_before_anything_is_read(target, tmp_path):
    """Arrow hands out missing values for it, which no one has measured."""
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    X, scores = made()
    table = pa.table({**dict(zip(NAMES, X.T, strict=True)), "y": np.full(N, 0.62871)})
    left_out = "y" if target else NAMES[1]
    pq.write_table(table, tmp_path / "0.parquet")
    pq.write_table(table.drop_columns([left_out]), tmp_path / "1.parquet")
    for make in (blocks.from_parquet, lambda folder: blocks.from_arrow(ds.dataset(folder))):
        with pytest.raises(InvalidDataError, match=rf"1\.parquet' has no column '{left_out}'") as caught:
            make(tmp_path)
        assert "0.62" not in chained(caught.value)
    kept = [name for name in table.column_names if name != left_out]
    assert blocks.from_parquet(tmp_path, columns=kept).shape == (2 * N, len(kept))
    pq.write_table(table.append_column("more", pa.array(scores)), tmp_path / "1.parquet")
    assert blocks.from_parquet(tmp_path).shape == (2 * N, table.num_columns)


def test_folders_that_are_called_after_values_stay_unnamed(tmp_path):
    import pyarrow.dataset as ds

    table = pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0], "town": ["Parisville", "Oslo"]})
    ds.write_dataset(table, tmp_path, format="parquet", partitioning=["town"], partitioning_flavor="hive")
    read = ds.dataset(tmp_path, partitioning="hive")
    assert blocks.from_arrow(read).shape == (2, 3)  # the folders hold a column
    bare = ds.dataset(tmp_path, schema=table.schema)
    with pytest.raises(InvalidDataError, match="has no column 'town'") as caught:
        blocks.from_arrow(bare)
    assert not any(town in chained(caught.value) for town in ("Paris", "Oslo"))


def test_files_that_go_or_are_damaged_are_told(tmp_path):
    import pyarrow.parquet as pq

    X, scores = made()
    table = pa.table({**dict(zip(NAMES, X.T, strict=True)), "y": scores})
    for number in range(2):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    last, parts = tmp_path / "1.parquet", blocks.from_parquet(tmp_path)
    with open(last, "r+b") as file:
        file.truncate(last.stat().st_size // 2)
    with pytest.raises(InvalidDataError, match="damaged"):
        estimator("reals").fit(parts, "y")
    last.unlink()
    with pytest.raises(MissingFileError, match="no longer there"):
        estimator("reals").fit(parts, "y")
    (tmp_path / "notes.txt").write_text("dear diary")
    with pytest.raises(InvalidDataError, match="no Parquet"):
        blocks.from_parquet(tmp_path)


def test_columns_of_tables_are_found_by_their_names():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, scores = made()
    whole = estimator("reals").fit(X, scores).coef_
    first, second = dict(zip(NAMES, X[:1_000].T, strict=True)), dict(zip(NAMES, X[1_000:].T, strict=True))
    turned = dict(reversed(second.items()))
    lacks = {name: values for name, values in second.items() if name != "x2"}
    other = {("z" if name == "x2" else name): values for name, values in second.items()}
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        for names in (NAMES, None):

            def fit(later, make=make, names=names):
                parts = [make(first), make(later)]
                source = blocks.from_iterables(lambda: parts, n_samples=N, n_features=P, names=names)
                return estimator("reals").fit(source, scores)

            np.testing.assert_array_equal(fit(turned).coef_, whole)
            with pytest.raises(InvalidDataError, match=r"'x2'"):
                fit(other)
            with pytest.raises(InvalidDataError, match=r"'x2'|shape"):
                fit(lacks)
    # Numbers are no names, and mean places.
    parts = [pd.DataFrame(X[:1_000]), pd.DataFrame(X[1_000:])]
    source = blocks.from_iterables(lambda: parts, n_samples=N, n_features=P, names=NAMES)
    np.testing.assert_array_equal(estimator("reals").fit(source, scores).coef_, whole)


def test_objects_that_are_numbers_are_taken_as_in_memory():
    rng = np.random.default_rng(0)
    cents, truth = rng.integers(-99, 100, N), rng.random(N) < 0.5
    decimals = pa.array([Decimal(int(cent)) / 100 for cent in cents], pa.decimal128(5, 2))
    y = cents / 100
    options = {"bounds": (-1, 1), "y_bounds": (-1, 1), "random_state": 0}
    table = pa.table({"price": decimals, "paid": truth})
    whole = PrivateSparseRegressor(**options).fit(table, y)
    same(PrivateSparseRegressor(**options).fit(blocks.from_arrow(table, rows=700), y), whole)
    objects = np.column_stack([cents / 100, truth]).astype(object)
    parts = blocks.from_iterables(lambda: [objects[:5], objects[5:]])
    same(PrivateSparseRegressor(**options).fit(parts, y), PrivateSparseRegressor(**options).fit(objects, y))
    unknown = pa.table({"paid": pa.array([None, *truth.tolist()[1:]], pa.bool_())})
    with pytest.raises(InvalidDataError, match="NaN"):
        PrivateSparseRegressor(**options).fit(blocks.from_arrow(unknown), y)


def test_schemas_encode_block_by_block(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "age": rng.uniform(20, 80, N),
        "sex": rng.choice(["f", "m"], N),
        "insured": rng.integers(0, 2, N).astype(bool),
    }
    y = np.where(columns["age"] > 50, "yes", "no")
    table = pa.table({**columns, "ill": y})
    schema = Schema({"age": Number(18, 90), "sex": Category(["f", "m"]), "insured": Boolean()})
    model = PrivateSparseClassifier(schema=schema, classes=("no", "yes"), random_state=0)
    whole = model.fit(table, y).coef_
    names = model.feature_names_in_.tolist()
    model.fit(blocks.from_arrow(table, rows=640, directory=tmp_path), "ill")
    np.testing.assert_array_equal(model.coef_, whole)
    assert model.feature_names_in_.tolist() == names
    assert model.coef_names_ is not None


@pytest.mark.parametrize("change", ["order", "a value", "the kind of numbers"])
def test_searches_refuse_blocks_that_change(change):
    """Rows that were shuffled since would stand beside the targets of others."""
    X, scores = made()
    X[:, 0] = np.round(X[:, 0])
    passes = []

    def factory():
        passes.append(change)
        now = X.copy()
        if len(passes) > at:
            if change == "order":
                now = now[np.random.default_rng(len(passes)).permutation(N)]
            elif change == "a value":
                now[N // 2, 1] += 1e-9
            else:
                now = now.astype(np.float32)
        step = 700 + 100 * len(passes)  # blocks may be cut anew
        return [now[start : start + step] for start in range(0, N, step)]

    search = PrivateSearchCV(estimator("reals"), {"radius": [1.0, 3.0], "scale": [None]}, epsilon=4.0, random_state=0)
    at = 1_000
    parts = blocks.from_iterables(factory, n_samples=N, n_features=P)
    whole = search.fit(X, scores).best_estimator_.coef_
    np.testing.assert_array_equal(search.fit(parts, scores).best_estimator_.coef_, whole)
    for at in range(1, len(passes)):
        passes.clear()
        with pytest.raises(InvalidDataError, match="another order") as refused:
            search.fit(parts, scores)
        assert len(passes) == at + 1
        assert refused.value.__cause__ is None
    # Between fits they may be others.
    at = 0
    passes.clear()
    if change != "order":
        search.fit(parts, scores)


def test_blocks_are_read_once_without_scales_and_searches():
    X, scores = made()
    reads = []

    def factory():
        reads.append(1)
        return iter([X[:1_000], X[1_000:]])

    parts = blocks.from_iterables(factory, n_samples=N, n_features=P)
    estimator("reals").fit(parts, scores)
    assert reads == [1]
    assert blocks.from_iterables(factory).shape == (N, P)


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ([np.zeros((5, P)), np.zeros((4, P - 1))], "every block must be of shape"),
        ([np.zeros((5, P))], "as many records"),
        ([np.zeros((12, P))], "as many records"),
        ([np.full((9, P), np.nan)], "NaN"),
        ([np.full((9, P), "text")], "text"),
        ([np.full((9, P), "text", dtype=object)], "text"),
        ([np.full((9, P), object())], "other than numbers"),
        ([[[1.0] * P, [1.0]]], "numbers"),
        ([sp.csr_array((9, P))], "sparse"),
    ],
)
def test_unusable_blocks_are_refused(parts, problem):
    source = blocks.from_iterables(lambda: parts, n_samples=9, n_features=P)
    with pytest.raises(InvalidDataError, match=problem):
        estimator("reals").fit(source, np.zeros(9))


@pytest.mark.parametrize("names", [NAMES[:1], [*NAMES, "more"], NAMES[:-1] + NAMES[:1], range(P), "abcde", 5, []])
def test_names_are_one_a_column_and_differ(names):
    for make in (
        lambda: blocks.from_arrays(np.zeros((9, P)), names=names),
        lambda: blocks.from_iterables(lambda: [np.zeros((9, P))], names=names),
    ):
        with pytest.raises(InvalidArgumentError, match="names must be different"):
            make()
    with pytest.raises(InvalidArgumentError, match="names must be different"):
        blocks.from_arrow(pa.table({"x0": [1.0]}), columns=["x0", "x0"])


def test_errors_of_factories_go_on():
    def factory():
        yield np.zeros((5, P))
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        estimator("reals").fit(blocks.from_iterables(factory, n_samples=9, n_features=P), np.zeros(9))


def test_directories_are_checked(tmp_path, monkeypatch):
    with pytest.raises(InvalidArgumentError, match="directory"):
        blocks.from_arrays(np.zeros((9, P)), directory=tmp_path / "missing")
    with pytest.raises(InvalidArgumentError, match="rows"):
        blocks.from_arrays(np.zeros((9, P)), rows=0)
    gone = tmp_path / "gone"
    gone.mkdir()
    parts = blocks.from_arrays(np.zeros((9, P)), directory=gone)
    gone.rmdir()
    with pytest.raises(StorageError, match="directory"):
        estimator("reals").fit(parts, np.zeros(9))


def test_add_remove_takes_any_number_of_blocks(tmp_path):
    X, scores = made()
    options = {"adjacency": "add-remove", "n_public": N, "delta": 1e-6}
    whole = estimator("reals", **options).fit(X, scores)
    same(estimator("reals", **options).fit(blocks.from_arrays(X, rows=999, directory=tmp_path), scores), whole)


@pytest.mark.parametrize("adjacency", [{}, {"adjacency": "add-remove", "n_public": 100, "delta": 1e-6}])
@pytest.mark.parametrize("names", [None, NAMES])
def test_records_of_which_there_are_none_are_called_that(adjacency, names):
    """Wherever they are, with no word of a parameter or of workers: nobody is asked about them."""
    nothing, labels = blocks.from_arrays(np.zeros((0, P))), np.zeros(0)
    if names is not None:
        nothing, labels = Shards(None, 0, P + 1, (*names, "y")), "y"
    model = estimator("reals", mechanism="noisy-newton", **adjacency)
    search = PrivateSearchCV(model, {"ridge": [0.1, 1.0]}, delta=1e-6)
    for fitted in (model, search):
        with pytest.raises(InvalidDataError, match=r"^X must have at least one record$"):
            fitted.fit(nothing, labels)
