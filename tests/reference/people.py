"""A table about people, its public schema, and the libraries that hold tables."""

import numpy as np
import pytest
import scipy.sparse as sp

from dpsparse import PrivateSparseClassifier
from dpsparse.tables import Boolean, Category, Number, Schema

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

LIBRARIES = {
    "pandas": pd.DataFrame,
    "polars": lambda cells: pl.DataFrame(cells, strict=False),
    "pyarrow": pa.table,
    "mapping": dict,
}
every_library = pytest.mark.parametrize("library", LIBRARIES)

#: What API users are shown first.
SCHEMA = Schema(
    {
        "age": Number(17, 90, unit="years"),
        "education": Category(["none", "school", "degree"], other="other", reference="none"),
        "insured": Boolean(),
        "visits": Number(0, 100, missing="flag"),
    }
)
N = 400


def people(seed=0, n=N):
    rng = np.random.default_rng(seed)
    visits = [
        None if absent else int(v) for v, absent in zip(rng.integers(0, 150, n), rng.random(n) < 0.2, strict=True)
    ]
    education = rng.choice(["none", "school", "degree", "unheard of"], n).tolist()
    table = {
        "age": rng.integers(10, 99, n).tolist(),
        "education": education,
        "insured": (rng.random(n) < 0.5).tolist(),
        "visits": visits,
        "note": ["ignored"] * n,
    }
    signal = np.array(table["age"]) / 40 + (np.array(education) == "degree") - rng.normal(0, 0.3, n)
    return table, np.where(signal > np.median(signal), "yes", "no"), signal


def classifier(schema=SCHEMA, **arguments):
    return PrivateSparseClassifier(**{"schema": schema, "classes": ("no", "yes"), "random_state": 0} | arguments)


def dense(encoded):
    return encoded.toarray() if sp.issparse(encoded) else encoded


#: What no error may show.
SECRET = "s3cr3t"
