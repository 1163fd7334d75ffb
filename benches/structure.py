"""Structure that is declared: is it worth anything to a private fit at equal epsilon?

1. ``trees``: `auto` on the levels of a category, on the nodes of its tree (``Category(levels, tree=...)``), and on
   those of families that were drawn at random, which say nothing.
2. ``chains``: `auto` on levels in an order as one score, as a category, as nested intervals (``Ordinal(levels,
   coding="intervals")``), and as indicators of "this level or higher", whose l1 norm is total variation.
3. ``norms``: one mechanism, noisy proximal gradients, with penalties on the levels themselves: none but the square, l1,
   groups, the norm of the tree, and total variation along the chain, each with the best of five penalties on the test
   records, which favours all of them alike; and `auto` on levels and on nodes with nothing tuned.
4. ``groups``: `auto` with l1 and with ``norm="groups"`` on one-hot tables of the shared folder.

Scores on held-out records: the area under the ROC curve for classes, R^2 for reals. In every repetition a split, a
sample of the first part and the noise are new, and the same for all that are compared; standard errors are those of
differences. Claims: none but that the tables are printed; a star is a difference of more than two standard errors.

Run: ``python benches/structure.py [--quick] [trees] [chains] [norms] [groups] [20000]``; without a part, all; a number
is that of records to fit. Data: ``structure_tables.py``. Figures: STRUCTURE.md.
"""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score

from _timing import QUICK, headline, shared
from dpsparse import DpsparseError, PrivateSparseClassifier, PrivateSparseRegressor
from dpsparse.polytopes import DisjointGroups
from dpsparse.set_functions import GraphCut, Tree
from dpsparse.tables import Category, Ordinal, Schema
from structure_tables import Task, chains, made_up, trees

SEEDS = 2 if QUICK else 10
EPSILONS = (1.0,) if QUICK else (0.5, 1.0, 4.0)
RECORDS = next((int(word) for word in sys.argv if word.isdigit()), 5_000)
HELD_OUT = 10_000
PENALTIES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
MECHANISM = "noisy-proximal-gradient"

Make = Callable[[np.random.Generator], tuple[Schema, dict[str, Any]]]


def halves(task: Task, seed: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(len(task.y))
    held_out = min(len(order) // 4, HELD_OUT)
    return order[held_out:][:RECORDS], order[:held_out]


def score(task: Task, make: Make, epsilon: float, seed: int) -> float:
    """Fit one sample of a table and return the score on held-out records."""
    train, test = halves(task, seed)
    schema, options = make(np.random.default_rng(seed))
    estimator: Any = PrivateSparseRegressor if task.y_bounds else PrivateSparseClassifier
    facts: dict[str, Any] = {"y_bounds": task.y_bounds} if task.y_bounds else {"classes": (-1, 1)}
    model = estimator(epsilon=epsilon, schema=schema, random_state=seed, **facts, **options)
    model.fit({name: column[train] for name, column in task.table.items()}, task.y[train])
    rows = {name: column[test] for name, column in task.table.items()}
    if task.y_bounds:
        return float(r2_score(task.y[test], model.predict(rows)))
    return float(roc_auc_score(task.y[test], model.decision_function(rows)))


def against(scores: Mapping[str, np.ndarray], first: str) -> str:
    """Return means, and beside all but the first the difference from it with its standard error."""
    cells = [f"{scores[first].mean():7.3f}"]
    for name, values in scores.items():
        if name != first:
            gaps = values - scores[first]
            error = gaps.std(ddof=1) / np.sqrt(len(gaps))
            star = "*" if abs(gaps.mean()) > 2.0 * error else " "
            cells.append(f"{values.mean():7.3f} ({gaps.mean():+.3f} +- {error:.3f}){star}")
    return "  ".join(cells)


def compare(task: Task, columns: Mapping[str, Callable[[np.random.Generator], Any]], first: str) -> None:
    """Print a line for each epsilon: auto on several encodings of the attribute."""

    def of(column: Callable[[np.random.Generator], Any]) -> Make:
        return lambda rng: (Schema({**task.others, task.attribute: column(rng)}), {})

    for epsilon in EPSILONS:
        scores = {
            name: np.array([score(task, of(column), epsilon, seed) for seed in range(SEEDS)])
            for name, column in columns.items()
        }
        print(f"  {task.name:38s} {len(task.levels):5d} {epsilon:5g} " + against(scores, first), flush=True)


def trees_part() -> None:
    headline(f"Families of levels: auto, {RECORDS} records; levels, nodes of the tree, nodes of families at random")
    for task in trees():
        columns: dict[str, Callable[[np.random.Generator], Any]] = {
            "levels": lambda rng, t=task: Category(t.levels),
            "tree": lambda rng, t=task: Category(t.levels, tree=t.tree()),
            "random": lambda rng, t=task: Category(t.levels, tree=t.tree(rng)),
        }
        compare(task, columns, "levels")


def steps(levels: Sequence[str]) -> Any:
    """Return a category whose level k is 1 in the columns of all levels up to k: increments, and so total variation."""
    return Category(levels, tree=dict(zip(levels[1:], levels[:-1], strict=True)))


def chains_part() -> None:
    headline(f"Levels in an order: auto, {RECORDS} records; category, score, nested intervals, steps")
    for task in chains():
        columns: dict[str, Callable[[np.random.Generator], Any]] = {
            "levels": lambda rng, t=task: Category(t.levels),
            "score": lambda rng, t=task: Ordinal(t.levels),
            "intervals": lambda rng, t=task: Ordinal(t.levels, coding="intervals"),
            "steps": lambda rng, t=task: steps(t.levels),
        }
        compare(task, columns, "levels")


def penalised(task: Task, kind: str, alpha: float) -> Make:
    """Return a fit of the levels, one column each, with a penalty."""
    schema = Schema({**task.others, task.attribute: Category(task.levels, coding="one-hot")})
    p, own = schema.n_columns, schema.groups[-1]
    alone = [[j] for j in range(own[0])]
    blocks = [[own[k] for k in block] for block in nested(task)]
    norm: Any = {
        "square": lambda: "l1",
        "l1": lambda: "l1",
        "groups": lambda: DisjointGroups([*alone, *lowest(task, own)]),
        "tree": lambda: Tree([*alone, *([j] for j in own), *blocks, own], n_features=p),
        "variation": lambda: GraphCut(edges(task, own), n_features=p),
    }[kind]()
    penalty = {"ridge": alpha} if kind == "square" else {"alpha": alpha}
    return lambda rng: (schema, {"mechanism": MECHANISM, "scale": None, "norm": norm, **penalty})


def nested(task: Task) -> list[list[int]]:
    """Return families of several levels, and not of all, from the lowest: intervals of 4, 16, ... levels of a chain."""
    n = len(task.levels)
    if task.families:
        parts = [[np.flatnonzero(np.array(of) == name).tolist() for name in dict.fromkeys(of)] for of in task.families]
    else:
        sizes = [4**power for power in range(1, 9) if 4**power < n]
        parts = [[list(range(start, min(start + size, n))) for start in range(0, n, size)] for size in sizes]
    different = dict.fromkeys(tuple(block) for part in parts for block in part if 1 < len(block) < n)
    return [list(block) for block in different]


def lowest(task: Task, own: list[int]) -> list[list[int]]:
    """Return the smallest families, a partition of the levels."""
    left, parts = set(range(len(own))), []
    for block in [*nested(task), *([k] for k in range(len(own)))]:
        if left.issuperset(block):
            parts.append([own[k] for k in block])
            left -= set(block)
    return parts


def edges(task: Task, own: list[int]) -> list[tuple[int, int]]:
    """Return a chain through all levels in their order, or through those of each family."""
    blocks = [own] if not task.families else [block for block in lowest(task, own) if len(block) > 1]
    return [pair for block in blocks for pair in pairwise(block)]


def norms_part() -> None:
    headline(f"Norms: {MECHANISM} on levels, best of {len(PENALTIES)} penalties on test records; {RECORDS} records")
    wanted = ("stops", "bribes", "cgh", "log wages")
    named = [task for task in [*trees(), *chains()] if task.name.startswith(wanted)]
    for task in [*named, made_up("made up, families", 0.2)]:
        for epsilon in EPSILONS:
            scores: dict[str, np.ndarray] = {}
            for kind in ("square", "l1", "groups", "tree", "variation"):
                try:
                    tried = [
                        np.array([score(task, penalised(task, kind, a), epsilon, seed) for seed in range(SEEDS)])
                        for a in PENALTIES
                    ]
                except DpsparseError as error:
                    print(f"  {task.name} {kind}: refused: {error}")
                    continue
                scores[kind] = max(tried, key=lambda values: float(values.mean()))
            nodes: Any = Ordinal(task.levels, coding="intervals")
            if task.families:
                nodes = Category(task.levels, tree=task.tree())
            for name, column in {"auto, levels": Category(task.levels), "auto, nodes": nodes}.items():
                schema = Schema({**task.others, task.attribute: column})
                scores[name] = np.array(
                    [score(task, lambda rng, s=schema: (s, {}), epsilon, seed) for seed in range(SEEDS)]
                )
            print(f"  {task.name:38s} {epsilon:5g} " + against(scores, "l1"), flush=True)


def groups_part() -> None:
    headline("Attributes as groups on one-hot tables: auto with l1, auto with groups")
    folder = shared("data")
    if folder is None:
        return
    sys.path.insert(0, str(folder))
    import load

    for name in ("dna_splice", "a9a", "adult", "ticdata"):
        data = load.load(name)
        columns = [np.flatnonzero(data.groups == group).tolist() for group in np.unique(data.groups)]
        for epsilon in EPSILONS:
            scores = {"l1": [], "groups": []}
            for seed in range(SEEDS):
                for kind, found in scores.items():
                    norm = "l1" if kind == "l1" else DisjointGroups(columns)
                    model = PrivateSparseClassifier(
                        epsilon=epsilon, norm=norm, bounds=data.bounds, classes=(-1, 1), random_state=seed
                    ).fit(data.X, data.y)
                    found.append(float(roc_auc_score(data.y_test, model.decision_function(data.X_test))))
            values = {kind: np.array(found) for kind, found in scores.items()}
            print(f"  {name:38s} {len(columns):5d} {epsilon:5g} " + against(values, "l1"), flush=True)


PARTS = {"trees": trees_part, "chains": chains_part, "norms": norms_part, "groups": groups_part}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in [name for name in sys.argv[1:] if name in PARTS] or PARTS:
        PARTS[part]()
