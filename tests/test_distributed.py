"""Records on several machines give the models of records in one memory, bit for bit, also where workers are killed."""

import contextlib
import itertools
import os
import signal

import numpy as np
import pytest
import scipy.sparse

from dpsparse import (
    CustomLoss,
    InvalidArgumentError,
    InvalidDataError,
    InvalidTypeError,
    PrivateScaler,
    PrivateSearchCV,
    PrivateSimplexRegressor,
    PrivateSparseClassifier,
    WorkersError,
    _core,
)
from dpsparse.distributed import Shards, _dask, _held, _spark, from_dask
from dpsparse.tables import Boolean, Category, Number, Schema
from test_blocks import BY_SUMS, IN_ONE, NAMES, N, P, bounds, chained, estimator, made, same, targets

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

# What dask's processes leave open while they end is not ours.
pytestmark = pytest.mark.filterwarnings("default")
PARTS = ((900, 0, 1_300, 1, 800), P)


@contextlib.contextmanager
def cluster(workers):
    # A connection to a worker that was killed a moment ago is given up soon.
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as started,
        distributed.Client(started) as client,
    ):
        client.wait_for_workers(workers, timeout=60)
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster(2) as client:
        yield client


@pytest.fixture
def victims():
    """The client of workers to be killed."""
    with cluster(3) as client:
        yield client


def parted(X, y):
    return da.from_array(X, chunks=PARTS), da.from_array(y, chunks=(PARTS[0],))


KINDS = ("classes", "reals", "counts")


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [("auto", "classes"), ("auto", "counts"), *zip(BY_SUMS, itertools.cycle(KINDS[1:] + KINDS[:1]), strict=False)],
)
def test_models_are_those_of_records_in_memory(client, mechanism, kind):
    X, scores = made()
    y = targets(kind, scores)
    options = {"mechanism": mechanism, "alpha": 0.01 if mechanism == "penalised-frank-wolfe" else None}
    if mechanism == "select-refit" and kind == "classes":
        with pytest.raises(InvalidArgumentError, match="must be in memory"):
            estimator(kind, **options).fit(*parted(X, y))
        return
    same(estimator(kind, **options).fit(*parted(X, y)), estimator(kind, **options).fit(X, y))
    assert client.run(lambda: len(_held._SHARDS)) == dict.fromkeys(client.nthreads(), 0)


@pytest.mark.parametrize("mechanism", IN_ONE)
def test_mechanisms_that_need_all_records_at_once_refuse(client, mechanism):
    X, scores = made()
    options = {"mechanism": mechanism, "bounds": (-20, 20), "alpha": 0.01 if mechanism == "dual-frank-wolfe" else None}
    with pytest.raises(InvalidArgumentError, match="must be in memory"):
        estimator("classes", **options).fit(*parted(X, targets("classes", scores)))


def test_single_precision_weights_three_classes_and_own_losses(client):
    X, scores = made(dtype=np.float32)
    y = np.digitize(scores, [-0.5, 0.5])
    weights = np.random.default_rng(2).uniform(0, 3, N)
    model = PrivateSparseClassifier(classes=(0, 1, 2), bounds=bounds(), max_weight=2.0, random_state=1)
    whole = model.fit(X, y, sample_weight=weights).coef_
    parts = parted(X, y)
    apart = da.from_array(weights, chunks=(PARTS[0],))
    np.testing.assert_array_equal(model.fit(*parts, sample_weight=apart).coef_, whole)
    own = estimator("reals", loss=CustomLoss(lambda z, y: np.tanh(z - y)), mechanism="frank-wolfe", n_iter=9)
    whole = own.fit(X, scores).coef_
    np.testing.assert_array_equal(own.fit(parts[0], da.from_array(scores, chunks=500)).coef_, whole)


def test_scalers_and_searches_take_parts(client):
    X, scores = made()
    parts, y = parted(X, scores)
    scaler = PrivateScaler(epsilon=1.0, bounds=bounds(), random_state=0)
    whole = scaler.fit(X).ranges_
    np.testing.assert_array_equal(scaler.fit(parts).ranges_, whole)
    for adjacency in ({}, {"adjacency": "add-remove", "n_public": N}):
        fitted = estimator("reals", mechanism="noisy-newton", **adjacency)
        search = PrivateSearchCV(fitted, {"ridge": [0.0, 0.1]}, epsilon=2.0, delta=1e-6, random_state=0)
        whole = search.fit(X, scores).best_estimator_.coef_
        np.testing.assert_array_equal(search.fit(parts, y).best_estimator_.coef_, whole)


def test_data_frames_name_their_columns_and_schemas_encode_on_the_workers(client):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, N),
            "sex": rng.choice(["f", "m"], N),
            "insured": rng.integers(0, 2, N).astype(bool),
        }
    )
    ill = np.where(frame["age"] > 50, "yes", "no")
    schema = Schema({"age": Number(18, 90), "sex": Category(["f", "m"]), "insured": Boolean()})
    model = PrivateSparseClassifier(schema=schema, classes=("no", "yes"), max_weight=2.0, random_state=0)
    weights = rng.uniform(0, 2, N)
    whole = model.fit(frame, ill, sample_weight=weights).coef_
    names = model.feature_names_in_.tolist()
    parts = dd.from_pandas(frame.assign(ill=ill, weight=weights), npartitions=4)
    np.testing.assert_array_equal(model.fit(parts, "ill", sample_weight="weight").coef_, whole)
    assert model.feature_names_in_.tolist() == names
    X, scores = made()
    whole = estimator("reals").fit(X, scores).coef_
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(score=scores), npartitions=3)
    by_name = estimator("reals", bounds=dict(zip(NAMES, bounds(), strict=True)))
    np.testing.assert_array_equal(by_name.fit(frame, "score").coef_, whole)
    np.testing.assert_array_equal(by_name.fit(frame[NAMES], frame["score"]).coef_, whole)
    assert by_name.feature_names_in_.tolist() == NAMES
    with pytest.raises(InvalidArgumentError, match="'z'"):
        by_name.fit(frame, "z")


class Witness:
    """Hears every request of a session and every reply; may do something before one."""

    def __init__(self, monkeypatch, kind=_dask._Session, before=None):
        self.replies, self.requests, self.asked = [], 0, 0
        original, read, witness = kind.ask, _dask._Session._read, self

        def ask(session, script):
            witness.asked += 1
            if before is not None:
                before(witness.asked)
            replies = original(session, script)
            witness.replies.append([len(reply) for reply in replies])
            return replies

        def counted(session, script, numbers):
            numbers = list(numbers)
            witness.requests += len(numbers)
            return read(session, script, numbers)

        monkeypatch.setattr(kind, "ask", ask)
        monkeypatch.setattr(_dask._Session, "_read", counted)


def kill_one(client):
    """End a worker that holds shards: dask may have put none of them on the first one."""
    held = client.run(lambda: (os.getpid(), len(_held._SHARDS)))
    address, process = next((address, process) for address, (process, shards) in held.items() if shards)
    os.kill(process, signal.SIGKILL)
    return address


@pytest.mark.parametrize(("mechanism", "at"), [("frank-wolfe", 12), pytest.param("auto", 3, marks=pytest.mark.slow)])
def test_a_worker_killed_changes_nothing(victims, mechanism, at, monkeypatch):
    X, scores = made()
    y = targets("classes", scores)
    options = {"mechanism": mechanism, "n_iter": 15 if "wolfe" in mechanism else None}
    whole = estimator("classes", **options).fit(X, y)
    killed = []
    witness = Witness(monkeypatch, before=lambda asked: killed.append(kill_one(victims)) if asked == at else None)
    same(estimator("classes", **options).fit(*parted(X, y)), whole)
    # Its shards were read anew.
    assert len(killed) == 1
    assert witness.requests > len(PARTS[0])


def test_a_worker_killed_between_a_request_and_its_reply_changes_nothing(victims, monkeypatch):
    X, scores = made()
    y = targets("classes", scores)
    options = {"mechanism": "frank-wolfe", "n_iter": 20}
    whole = estimator("classes", **options).fit(X, y)
    original, calls = _dask._Session._asked, []

    def asked(session, request):
        calls.append(request)
        replies = original(session, request)
        if len(calls) != 9:
            return replies
        # Every worker has moved its margins; what they answered is lost, and one of them too.
        kill_one(victims)
        return [], [0]

    monkeypatch.setattr(_dask._Session, "_asked", asked)
    same(estimator("classes", **options).fit(*parted(X, y)), whole)
    assert len(calls) > 20


def test_sums_travel_and_no_records(client, monkeypatch):
    X, scores = made()
    witness = Witness(monkeypatch)
    estimator("classes", mechanism="frank-wolfe", n_iter=10).fit(*parted(X, targets("classes", scores)))
    assert witness.asked >= 11
    # A sum for each feature and the intercept, once for each worker, behind the version, a place of 62 bits and three
    # lengths; and a byte a shard, whichever worker dask put it on. Before, a number of records for each shard.
    assert all(sum(sizes) <= len(sizes) * (8 * (P + 1) + 18) + len(PARTS[0]) for sizes in witness.replies)
    assert sum(map(sum, witness.replies)) < 8 * N


def test_two_aggregators_add_shares(client, monkeypatch):
    X, scores = made()
    y = targets("reals", scores)
    addresses = tuple(client.nthreads())
    parts, beside = parted(X, y)
    witness = Witness(monkeypatch, kind=_dask._Aggregated)
    options = {"mechanism": "noisy-newton", "n_iter": 4}
    model = estimator("reals", **options).fit(from_dask(parts, aggregators=addresses), beside)
    same(model, estimator("reals", **options).fit(X, y))
    assert witness.asked > 2
    for wrong in [(addresses[0],), (addresses[0], addresses[0]), (addresses[0], "tcp://127.0.0.1:1")]:
        with pytest.raises(InvalidArgumentError, match="aggregators"):
            estimator("reals").fit(from_dask(parts, aggregators=wrong), beside)


def test_a_part_without_records_has_sums_that_aggregators_add(client):
    """The search ended in an error once its budget was spent, where one record, or few, left a part empty."""
    X, y = np.array([[0.5, -0.5]]), np.array([1])
    fitted = PrivateSparseClassifier(
        bounds=(-1, 1), classes=(0, 1), mechanism="noisy-newton", adjacency="add-remove", n_public=3_000
    )
    search = PrivateSearchCV(fitted, {"ridge": [0.0, 0.1]}, epsilon=2.0, delta=1e-6, random_state=0)
    whole = search.fit(X, y).best_estimator_
    parts = from_dask(da.from_array(X), aggregators=tuple(client.nthreads()))
    same(search.fit(parts, da.from_array(y)).best_estimator_, whole)


def test_a_worker_killed_changes_nothing_of_what_aggregators_add(victims, monkeypatch):
    X, scores = made()
    addresses = tuple(victims.nthreads())[:2]
    parts, y = parted(X, scores)
    options = {"mechanism": "frank-wolfe", "n_iter": 6}
    processes = victims.run(os.getpid)

    def kill(asked):
        if asked == 4:
            (third,) = [process for address, process in processes.items() if address not in addresses]
            os.kill(third, signal.SIGKILL)

    Witness(monkeypatch, kind=_dask._Aggregated, before=kill)
    model = estimator("reals", **options).fit(from_dask(parts, aggregators=addresses), y)
    same(model, estimator("reals", **options).fit(X, scores))


@pytest.mark.parametrize("handler", [True, False])
def test_a_worker_that_comes_back_without_its_half_has_lost_its_shards(client, monkeypatch, handler):
    """A process that was started anew under the address of a worker, after that one had halved its sum and before it
    was fetched: the fit ended in an error of python's once its budget was spent."""
    X, scores = made()
    addresses = tuple(client.nthreads())
    parts, y = parted(X, scores)
    options = {"mechanism": "frank-wolfe", "n_iter": 4}
    run, collected = client.run, []

    def start_anew(dask_worker):
        _held._SHARDS.clear()
        _held._HALVES.clear()
        if not handler:
            del dask_worker.handlers[_dask._HALF]

    def amid(function, *arguments, **options):
        if function is _dask._collected:
            collected.append(function)
            if len(collected) in (1, 6):
                run(start_anew, workers=arguments[1][:1])
        return run(function, *arguments, **options)

    monkeypatch.setattr(client, "run", amid)
    model = estimator("reals", **options).fit(from_dask(parts, client=client, aggregators=addresses), y)
    same(model, estimator("reals", **options).fit(X, scores))
    assert len(collected) > 6


def test_halves_of_another_time_do_not_take_the_place_of_those_that_are_fetched(client, monkeypatch):
    """A request may reach a worker, or end there, after the curator has given it up and asked anew: the second
    aggregator got what goes with another mask, and the fit ended in an error once its budget was spent."""
    X, scores = made()
    addresses = tuple(client.nthreads())
    parts, y = parted(X, scores)
    options = {"mechanism": "frank-wolfe", "n_iter": 4}
    run, asked, late = client.run, [], 0

    def amid(function, *arguments, **options):
        nonlocal late
        if function is _dask._shared:
            asked.append(arguments)
        if function is _dask._collected and arguments[2] == 1:
            late += 1
            run(_dask._shared, *asked[-1], workers=list(asked[-1][1])[:1])
        return run(function, *arguments, **options)

    monkeypatch.setattr(client, "run", amid)
    model = estimator("reals", **options).fit(from_dask(parts, client=client, aggregators=addresses), y)
    same(model, estimator("reals", **options).fit(X, scores))
    assert late > 3


def test_an_aggregator_that_is_killed_is_told(victims, monkeypatch):
    X, scores = made()
    addresses = tuple(victims.nthreads())[:2]
    parts, y = parted(X, scores)
    processes = victims.run(os.getpid)

    def kill(asked):
        if asked == 4:
            os.kill(processes[addresses[1]], signal.SIGKILL)

    Witness(monkeypatch, kind=_dask._Aggregated, before=kill)
    with pytest.raises(WorkersError, match="an aggregator is lost"):
        estimator("reals", mechanism="frank-wolfe", n_iter=8).fit(from_dask(parts, aggregators=addresses), y)


def test_sums_of_a_shard_that_was_lost_travel_in_shares_alone(client, monkeypatch):
    """What brought it back sent the sum of each of its shards to the curator, past both aggregators."""
    X, scores = made()
    addresses = tuple(client.nthreads())
    parts, y = parted(X, scores)
    options = {"mechanism": "frank-wolfe", "n_iter": 6}
    computed, results = _dask._computed, []

    def heard(client, calls):
        found = computed(client, calls)
        results.extend(found)
        return found

    def lose(asked):
        if asked == 4:
            counted.extend(results)
            results.clear()
            client.run(lambda: _held._SHARDS.clear())

    counted = []
    monkeypatch.setattr(_dask, "_computed", heard)
    Witness(monkeypatch, kind=_dask._Aggregated, before=lose)
    model = estimator("reals", **options).fit(from_dask(parts, aggregators=addresses), y)
    same(model, estimator("reals", **options).fit(X, scores))
    assert len(counted) == len(results) == len(PARTS[0])
    assert all(reply for reply, _, _ in counted)  # numbers of records
    assert [reply for reply, _, _ in results] == [b""] * len(PARTS[0])
    assert {checksum for _, _, checksum in counted + results} == {None}


def test_collections_are_taken_as_they_are_in_memory(client):
    X, scores = made()
    whole = estimator("reals").fit(X, scores).coef_
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(score=scores), npartitions=3)
    np.testing.assert_array_equal(estimator("reals").fit(frame[NAMES], frame[["score"]]).coef_, whole)
    numbered = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    model = estimator("reals").fit(numbered, frame["score"])
    np.testing.assert_array_equal(model.coef_, whole)
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(InvalidTypeError, match="text"):
        from_dask(dd.from_pandas(pd.DataFrame(X, columns=[*NAMES[1:], 0]), npartitions=3))
    with pytest.raises(InvalidDataError, match="two-dimensional"):
        estimator("reals").fit(dask.delayed(X), scores)


def test_wrong_replies_are_refused(client, monkeypatch):
    X, scores = made()
    original = _dask._Session.ask

    def tampered(change):
        def ask(session, script):
            replies = original(session, script)
            return replies if script.reads_records else change(replies)

        return ask

    for change in (
        lambda replies: [*replies, replies[0]],
        lambda replies: replies[1:],
        lambda replies: [b"", *replies],
    ):
        monkeypatch.setattr(_dask._Session, "ask", tampered(change))
        with pytest.raises(WorkersError, match="the workers that hold the records"):
            estimator("reals", mechanism="frank-wolfe").fit(*parted(X, scores))


def test_answers_of_another_shape_are_refused(client, monkeypatch):
    """As workers with another version give: they ended in errors of Python's, one of them in a panic, once paid for."""
    parts = parted(*made())
    run, computed, asked = distributed.Client.run, _dask._computed, (_dask._asked, _dask._shared)

    def fit(**options):
        records = from_dask(parts[0], **options)
        with pytest.raises(WorkersError, match="something else than they were asked for"):
            estimator("reals", mechanism="frank-wolfe").fit(records, parts[1])

    for change in (
        lambda answer: (),
        lambda answer: (*answer, 1),
        lambda answer: ("text", []),
        lambda answer: (answer[0], None),
        lambda answer: (None, [10**9]),
        lambda answer: (None, [-1]),
        lambda answer: ["0"],
    ):

        def changed(own, function, *arguments, change=change, **options):
            answers = run(own, function, *arguments, **options)
            return {k: change(answer) for k, answer in answers.items()} if function in asked else answers

        monkeypatch.setattr(distributed.Client, "run", changed)
        fit()
    fit(aggregators=list(client.nthreads()))
    monkeypatch.setattr(distributed.Client, "run", run)
    for change in (lambda read: None, lambda read: read[:2], lambda read: ("text", *read[1:])):

        def other(own, calls, change=change):
            calls = list(calls)
            return [change(read) if calls[0][0] is _dask._read else read for read in computed(own, calls)]

        monkeypatch.setattr(_dask, "_computed", other)
        fit()


@pytest.mark.parametrize("told", [True, False])
def test_searches_refuse_parts_that_change(client, told):
    """Rows that a source shuffles anew stood beside the targets of others, which came from elsewhere. Two aggregators
    are there so that the curator does not learn what a checksum of few rows tells: nothing is compared then."""
    X, scores = made()
    shuffled = dask.delayed(lambda: np.random.default_rng().permutation(X), pure=False)()
    parts = da.from_delayed(shuffled, shape=X.shape, dtype=X.dtype)
    y = da.from_array(scores, chunks=(N,))
    search = PrivateSearchCV(estimator("reals", mechanism="noisy-newton"), {"ridge": [0.01, 1.0]}, epsilon=2.0)
    aggregators = None if told else tuple(client.nthreads())
    with pytest.raises(InvalidDataError, match="other records than they did") if told else contextlib.nullcontext():
        search.fit(from_dask(parts, aggregators=aggregators), y)
    search.fit(from_dask(da.from_array(X), aggregators=aggregators), da.from_array(scores))


def test_partitions_of_spark_are_compared_too(monkeypatch):
    """Whoever reads them anew, in whatever process."""
    X, scores = made()
    rows = [pd.DataFrame(X, columns=NAMES).assign(y=scores)]

    def each(frame, answer):
        _held._SHARDS.clear()
        found = answer(0, lambda: rows[0])
        return {} if found is None else {0: found}

    monkeypatch.setattr(_spark, "_each", each)
    fitted = estimator("reals", bounds=dict(zip(NAMES, bounds(), strict=True)), mechanism="noisy-newton", n_iter=3)

    def shards():
        engine = _spark._Spark.__new__(_spark._Spark)
        engine._frame, engine.counts = None, {0: N}
        return Shards(engine, N, P + 1, (*NAMES, "y"))

    same(fitted.fit(shards(), "y"), estimator("reals", mechanism="noisy-newton", n_iter=3).fit(X, scores))
    original, calls = _spark._Session.ask, []

    def ask(session, script):
        calls.append(script)
        if len(calls) == 3:
            rows[0] = rows[0][::-1]
        return original(session, script)

    monkeypatch.setattr(_spark._Session, "ask", ask)
    with pytest.raises(InvalidDataError, match="other records than they did"):
        fitted.fit(shards(), "y")


def test_unusable_parts_are_refused(client):
    X, scores = made()
    parts, y = parted(X, scores)
    labels = da.from_array(targets("classes", scores), chunks=(PARTS[0],))
    model = estimator("reals")
    with pytest.raises(InvalidDataError, match="NaN"):
        model.fit(da.where(parts > 2, np.nan, parts), y)
    with pytest.raises(InvalidDataError, match="among the declared classes"):
        PrivateSparseClassifier(classes=(3, 4), bounds=bounds()).fit(parts, labels)
    with pytest.raises(InvalidArgumentError, match="classes must be stated"):
        PrivateSparseClassifier(bounds=bounds()).fit(parts, labels)
    with pytest.raises(InvalidArgumentError, match="y must be a dask array"):
        model.fit(parts, scores)
    with pytest.raises(InvalidDataError, match="same parts"):
        model.fit(parts, y[: N // 2])
    with pytest.raises(InvalidArgumentError, match="memory of one machine"):
        PrivateSimplexRegressor(bounds=(-20, 20), y_bounds=(-9, 9), delta=1e-6).fit(parts, y)
    with pytest.raises(InvalidDataError, match="two-dimensional"):
        from_dask(y)
    whole = pd.DataFrame(X, columns=NAMES).assign(score=scores)
    for column in (NAMES[0], "score"):
        lacking = [whole[: N // 2], whole[N // 2 :].drop(columns=column)]
        frame = dd.from_delayed([dask.delayed(part) for part in lacking], meta=whole[:0], verify_meta=False)
        with pytest.raises(InvalidDataError, match=f"no column {column!r}"):
            model.fit(frame, "score")


def test_steps_of_ones_own_that_fail_show_no_entry(client):
    """Dask raises what a user's own step raised on a worker, which quoted the cell."""
    frame = pd.DataFrame({"a": ["0.5"] * 200, "b": ["0.1"] * 200, "y": np.arange(200) % 2})
    frame.loc[17, "a"] = "diagnosis=HIV"
    parts = dd.from_pandas(frame, npartitions=2)
    numbers = parts[["a", "b"]].astype(float)
    # Those of the other part are good: whichever part fails first is what is told.
    labels = parts["a"].map_partitions(lambda a: a.str.replace(".5", "").astype(int), meta=("a", int))
    model = PrivateSparseClassifier(bounds=(0, 1), classes=(0, 1))
    for X, y in ((numbers, parts["y"]), (parts[["b"]].astype(float), labels)):
        with pytest.raises(InvalidDataError, match="cannot be computed: ValueError, whose text") as caught:
            model.fit(X, y)
        assert "HIV" not in chained(caught.value)


def failures():
    """What dask raises where records, workers or the scheduler are lost."""
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError
    from distributed.scheduler import NoWorkerError

    unreachable, lost = "scheduler, through which workers are reached", "are lost"
    yield CommClosedError(), unreachable, ("gather", "run", "nthreads")
    yield CancelledError(), lost, ("gather",)
    yield NoWorkerError.__new__(NoWorkerError), lost, ("gather",)


def test_what_dask_loses_is_told_as_such(client, monkeypatch):
    """It came out as unusable records, or as an error of dask's own."""
    X, scores = made()
    parts = parted(X, scores)
    for failure, told, methods in failures():
        for method in methods:

            def failing(*arguments, failure=failure, **options):
                raise failure

            with monkeypatch.context() as patched:
                patched.setattr(distributed.Client, method, failing)
                with pytest.raises(WorkersError, match=told) as caught:
                    estimator("reals").fit(*parts)
            assert caught.value.__suppress_context__
    same(estimator("reals").fit(*parts), estimator("reals").fit(X, scores))


def test_a_task_of_a_fit_that_has_ended_keeps_no_shard():
    """Tasks that stand in a worker's queue may begin after it was told to forget: their shards were kept for good."""
    _held.forget("ended")
    with pytest.raises(WorkersError, match="a fit that has ended"):
        _held.answer_whole("ended", 0, b"", lambda: (np.zeros((1, 1)), np.zeros(1), None))
    assert not any(session == "ended" for session, _ in _held._SHARDS)


def test_clients_and_chunks_that_are_of_no_use_are_told(client):
    X, scores = made()
    parts, y = parted(X, scores)
    sparse = parts.map_blocks(scipy.sparse.csr_matrix)
    with pytest.raises(InvalidDataError, match="X is sparse"):
        estimator("reals").fit(sparse, y)
    with distributed.Client(client.scheduler.address, set_as_default=False) as own:
        shards = from_dask(parts, client=own)
    with pytest.raises(WorkersError, match="was closed"):
        _dask._there(own)
    with pytest.raises(Exception, match=r"[Cc]losed|not running"):
        estimator("reals").fit(shards, y)


def test_shards_answer_scripts_alone():
    shard = _core.Shard(0)
    with pytest.raises(WorkersError):
        shard.answer(b"give me a record")
    with pytest.raises(WorkersError):
        _core.merged_replies([])
    with pytest.raises(WorkersError):
        _core.split_reply(b"")
    with pytest.raises(TypeError):
        _core.Script()
