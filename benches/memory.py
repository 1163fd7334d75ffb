"""Peak memory of ingestion, above the numpy or scipy input.

An entry is a cell of the matrix. Claim: at most 2.2 bytes an entry for a dense array (C order, Fortran order, float32).
A sparse matrix is kept by rows and by columns, 6 bytes a stored entry each; its figure is also stated per stored entry.
Each case runs in a process of its own, which reads the high-water mark of its resident memory (Linux) before and after
a fit of one iteration.

Run: ``python benches/memory.py [--quick]``.
"""

import subprocess
import sys
from pathlib import Path

from _timing import QUICK, headline

N, P = (20_000, 500) if QUICK else (100_000, 1_000)
CASES = {"dense C": "C", "dense Fortran": "F", "dense float32": "C32", "CSR 1 %": "csr", "CSC 1 %": "csc"}

CHILD = """
import sys
import numpy as np, scipy.sparse as sp
from dpsparse import PrivateSparseClassifier
folder, kind, n, p = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sys.path.insert(0, folder)
from _peak import measured
generator = np.random.default_rng(0)
model = PrivateSparseClassifier(n_iter=1, random_state=0)
small = generator.uniform(-1, 1, (200, 10))
if kind in ("csr", "csc"):
    rows = np.repeat(np.arange(n, dtype=np.int32), p // 100)
    columns = generator.integers(0, p, rows.size, dtype=np.int32)
    X = sp.csr_array((np.ones(rows.size), columns, np.arange(n + 1, dtype=np.int32) * (p // 100)), shape=(n, p))
    X.sum_duplicates()
    X = X.asformat(kind)
    small = sp.csr_array(small).asformat(kind)
    del rows, columns
else:
    X = np.empty((n, p), dtype=np.float32 if kind == "C32" else float, order="F" if kind == "F" else "C")
    for start in range(0, n, 1000):
        X[start:start + 1000] = generator.uniform(-1, 1, X[start:start + 1000].shape)
y = np.where(generator.uniform(size=n) < 0.5, -1, 1)
model.fit(small, y[:200])  # threads and modules are there
print(X.nnz if kind in ("csr", "csc") else X.size, measured(lambda: model.fit(X, y))[1])
"""


def main() -> None:
    headline(f"Peak memory above the input, {N} x {P}")
    if not sys.platform.startswith("linux"):
        print("  skipped: the high-water mark of resident memory is read from /proc")
        return
    for name, kind in CASES.items():
        command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), kind, str(N), str(P)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        stored, peak = map(int, output.split())
        per_entry = peak / (N * P)
        if kind in ("csr", "csc"):
            note = f"{peak / stored:.1f} bytes a stored entry"
        else:
            note = f"claimed 2.2: {'holds' if per_entry <= 2.2 else 'DOES NOT HOLD'}"
        print(f"  {name:16s} {peak / 1e6:8.1f} MB, {stored:>11,d} stored: {per_entry:6.2f} bytes an entry  {note}")


if __name__ == "__main__":
    main()
