"""Records in partitions of Spark give the models of records in one memory, bit for bit."""

import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from dpsparse import InvalidArgumentError, InvalidDataError
from dpsparse.distributed import from_spark
from test_blocks import NAMES, N, bounds, estimator, made, same, targets

sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
    # What pyspark's own processes and versions warn of is not ours.
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture(scope="module")
def frame():
    X, scores = made()
    table = pd.DataFrame(X, columns=NAMES).assign(
        score=scores, label=targets("classes", scores), weight=np.random.default_rng(2).uniform(0, 3, N)
    )
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.pyspark.python", sys.executable)
    session = builder.config("spark.default.parallelism", "3").getOrCreate()
    yield session.createDataFrame(table).persist()
    session.stop()


def by_name(kind, **options):
    return estimator(kind, bounds=dict(zip(NAMES, bounds(), strict=True)), **options)


@pytest.mark.parametrize(
    ("kind", "mechanism", "options"),
    [("classes", "frank-wolfe", {"n_iter": 6}), ("reals", "noisy-newton", {}), ("reals", "auto", {})],
)
def test_models_are_those_of_records_in_memory(frame, kind, mechanism, options):
    X, scores = made()
    y = targets(kind, scores)
    whole = estimator(kind, mechanism=mechanism, **options).fit(X, y)
    column = "label" if kind == "classes" else "score"
    shards = from_spark(frame.select(*NAMES, column))
    assert shards.shape == (N, len(NAMES) + 1)
    same(by_name(kind, mechanism=mechanism, **options).fit(shards, column), whole)


def test_weights_are_columns(frame):
    X, scores = made()
    options = {"mechanism": "noisy-newton", "max_weight": 2.0}
    weights = np.random.default_rng(2).uniform(0, 3, N)
    whole = estimator("reals", **options).fit(X, scores, sample_weight=weights)
    shards = from_spark(frame.select(*NAMES, "score", "weight"))
    same(by_name("reals", **options).fit(shards, "score", sample_weight="weight"), whole)
    with pytest.raises(InvalidArgumentError, match="name of a column"):
        by_name("reals", **options).fit(shards, scores)


def test_a_request_that_finds_no_shards_reads_them_anew(frame, monkeypatch):
    """As Spark may take any process for a partition."""
    from dpsparse.distributed import _spark

    X, scores = made()
    options = {"mechanism": "frank-wolfe", "n_iter": 4}
    whole = estimator("reals", **options).fit(X, scores)
    original, calls = _spark._Session.ask, []

    def ask(session, script):
        calls.append(script)
        if len(calls) in (3, 5):
            _spark._each(session._frame, lambda number, rows: _spark._held.forget_others(""))
        return original(session, script)

    monkeypatch.setattr(_spark._Session, "ask", ask)
    same(by_name("reals", **options).fit(from_spark(frame.select(*NAMES, "score")), "score"), whole)
    assert len(calls) > 5


def test_errors_come_back_as_they_are(frame):
    from pyspark.sql import functions

    broken = frame.withColumn("x1", functions.when(functions.col("x1") > 2, float("nan")).otherwise(frame["x1"]))
    with pytest.raises(InvalidDataError, match="NaN"):
        by_name("reals").fit(from_spark(broken.select(*NAMES, "score")), "score")
