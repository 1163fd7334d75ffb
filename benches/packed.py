"""One-hot tables and indicators, several columns to a byte: memory above the input, and time, beside floats.

The same records, of levels of attributes, come as doubles, as bytes, as a CSR matrix, and as blocks that are known to
be one-hot (what a ``Schema`` of categories says). Each case runs in a process of its own, which reads the high-water
mark of its resident memory (Linux) around a fit of one step; then all cases take turns at whole fits, with
scikit-learn's ``LogisticRegression`` of the CSR matrix among them.

Claims: bytes and blocks take at most an eighth of the memory of doubles, input and all; models are equal bit for bit.
Printed: bytes a record, and seconds of fits of 50 noisy proximal gradients and of `auto`.

Run: ``python benches/packed.py [--quick]``.
"""

import subprocess
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from _timing import QUICK, headline, minima, seconds
from dpsparse import PrivateSparseClassifier
from dpsparse.estimators import _validation
from dpsparse.tables import Category, Schema

N = 50_000 if QUICK else 1_000_000
#: Levels of twenty attributes: 100 columns, each attribute without its reference.
LEVELS = (2, 3, 5, 8, 12, 6, 4, 9, 5, 2) * 2
KINDS = ("doubles", "bytes", "CSR", "one-hot")
ROUNDS = 3

CHILD = """
import sys
sys.path.insert(0, {folder!r})
from _peak import measured
from packed import fit, records
small, y = records({kind!r}, 300)
fit({kind!r}, small, y, mechanism="frank-wolfe", n_iter=1)  # threads and modules are there
X, y = records({kind!r}, {n})
print(measured(lambda: fit({kind!r}, X, y, mechanism="frank-wolfe", n_iter=1))[1])
"""


def records(kind: str, n: int) -> tuple[Any, np.ndarray]:
    """Encoded levels drawn with unequal frequencies, without the references, and classes that follow them."""
    generator = np.random.default_rng(0)
    codes = [(generator.random(n) ** 1.5 * levels).astype(np.int16) for levels in LEVELS]
    effects = [generator.normal(size=levels) for levels in LEVELS]
    z = sum(effect[code] for effect, code in zip(effects, codes, strict=True))
    y = np.where(z + generator.logistic(size=n) > np.median(z), 1, -1)
    starts = np.cumsum([0, *(levels - 1 for levels in LEVELS)])
    if kind == "CSR":
        columns = np.stack([start + code - 1 for start, code in zip(starts, codes, strict=False)], axis=1)
        stored = np.stack([code > 0 for code in codes], axis=1)
        ends = np.concatenate([[0], np.cumsum(stored.sum(axis=1))]).astype(np.int32)
        indices = columns[stored].astype(np.int32)
        return sp.csr_array((np.ones(len(indices)), indices, ends), shape=(n, starts[-1])), y
    X = np.zeros((n, starts[-1]), dtype=np.float64 if kind == "doubles" else np.int8)
    for start, code in zip(starts, codes, strict=False):
        rows = np.flatnonzero(code)
        X[rows, start + code[rows] - 1] = 1
    return X, y


def fit(kind: str, X: Any, y: np.ndarray, **options: Any) -> PrivateSparseClassifier:
    """Fit; of blocks as a schema of categories has them, whose encoded columns X is."""
    model = PrivateSparseClassifier(bounds=(0, 1), classes=(-1, 1), random_state=0, **options)
    if kind != "one-hot":
        return model.fit(X, y)
    schema = Schema({str(k): Category([f"level {j}" for j in range(levels)]) for k, levels in enumerate(LEVELS)})
    with mock.patch.object(_validation, "records", lambda X, _: ("one-hot", X, schema.one_hot)):
        return model.fit(X, y)


def memory() -> None:
    """Print bytes a record: of the input, and above it."""
    if not sys.platform.startswith("linux"):
        print("  memory: skipped, the high-water mark of resident memory is read from /proc")
        return
    total: dict[str, float] = {}
    for kind in KINDS:
        script = CHILD.format(folder=sys.path[0], kind=kind, n=N)
        output = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
        X = records(kind, 1000)[0]
        own = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if kind == "CSR" else X.nbytes) / 1000
        above = int(output) / N
        total[kind] = own + above
        share = total["doubles"] / total[kind]
        claim = f"claimed 8: {'holds' if share >= 8 else 'DOES NOT HOLD'}" if kind in ("bytes", "one-hot") else ""
        print(f"  {kind:8s} {own:6.1f} bytes a record, {above:6.1f} above them, {share:5.1f} times less  {claim}")


def main() -> None:
    headline(f"{N} records of {len(LEVELS)} attributes in {sum(LEVELS) - len(LEVELS)} columns")
    memory()
    data = {kind: records(kind, N) for kind in KINDS}
    for options in ({"mechanism": "noisy-proximal-gradient", "n_iter": 50}, {"mechanism": "auto"}):

        def timed(kind: str, options: dict[str, Any] = options) -> Callable[[], float]:
            return lambda: seconds(lambda: fit(kind, *data[kind], **options))

        contenders = {kind: timed(kind) for kind in KINDS}
        if options["mechanism"] == "auto":
            contenders["scikit-learn"] = lambda: seconds(lambda: LogisticRegression().fit(*data["CSR"]))
        taken = minima(contenders, ROUNDS)
        print(f"  {options['mechanism']:24s} " + ", ".join(f"{kind} {value:.3f} s" for kind, value in taken.items()))
    models = [fit(kind, *data[kind], mechanism="auto").coef_ for kind in KINDS if kind != "CSR"]
    print(f"  models are equal: {'holds' if all(np.array_equal(models[0], m) for m in models) else 'DOES NOT HOLD'}")


if __name__ == "__main__":
    main()
