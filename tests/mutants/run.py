"""Mutation tests of `src/privacy` and `src/accounting`: every mutant is killed by a test or explained.

The mutants are those that cargo-mutants lists for `.ci/mutants.toml` (`cargo install cargo-mutants`). All of them are
compiled into one copy of the tree, each behind a switch; then each runs with the tests that reach it, the quickest
first, until one fails. The steps, each kept in the folder `--work`, so that a run that was stopped goes on:

1. the copy is written and compiled; what the compiler refuses is unviable (minutes);
2. each test runs alone and tells which mutants it reaches (minutes);
3. each mutant runs with its tests, two processes at a time (an hour or two on two cores). A line of `results.jsonl`
   each; after a test was added, `--again` tries the survivors alone that nobody explained.

Mutants of constants, and of bodies that alone decide what an `impl Trait` is, have no switch; `--alone` builds each by
itself, a minute each. `--python FILE ...` tries what survived with these files of `tests/` too.

The exit status is 1 if a mutant survives that `survivors.toml` does not explain, or an entry there explains nothing.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from hashlib import sha256
from itertools import accumulate
from math import inf
from pathlib import Path
from threading import Lock

sys.path.append(str(Path(__file__).resolve().parents[1] / "planted"))

from listed import ROOT, Mutant, is_explained, list_mutants, problems_of, read_explanations
from switched import BuildError, Switched, cargo_environment, test_programs, write_tree
from trials import Bench, Known, Test, TestError, Verdict

SUITES = ("lib", "fit", "frank_wolfe", "fuzz")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "target/mutants", help="folder of copy, builds, results")
    parser.add_argument("--file", nargs="+", metavar="PART", help="mutants of files whose path holds one of these")
    parser.add_argument("--again", action="store_true", help="try what survived and is not explained again")
    parser.add_argument("--fresh", action="store_true", help="forget all verdicts")
    parser.add_argument("--report", action="store_true", help="build and run nothing, tell what is known")
    parser.add_argument("--alone", action="store_true", help="build each mutant that has no switch by itself")
    parser.add_argument("--python", nargs="+", metavar="FILE", help="try survivors with these files of tests/")
    parser.add_argument("--interpreter", type=Path, default=Path(sys.executable), help="of the tests of --python")
    parser.add_argument("--seconds", type=float, default=inf, help="of tests for a mutant, at most: for a first look")
    parser.add_argument("--processes", type=int, default=2)
    return parser.parse_args()


class Results:
    """Verdicts by the mutant's name, a line each of a file that grows; the last line of a name holds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.verdicts = {entry.pop("mutant"): Verdict(**entry) for entry in map(json.loads, lines)}

    def add(self, mutant: Mutant, verdict: Verdict) -> None:
        """Keeps the verdict."""
        self.verdicts[mutant.name] = verdict
        with self._path.open("a") as file:
            file.write(json.dumps({"mutant": mutant.name, **asdict(verdict)}) + "\n")

    def survived(self, mutant: Mutant) -> bool:
        """Whether the last try found no test that notices it."""
        return mutant.name in self.verdicts and self.verdicts[mutant.name].what in ("survived", "unreached")


def main() -> int:
    """Builds, asks each test what it reaches, tries mutants, reports; returns the exit status."""
    chosen = arguments()
    work = chosen.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    if chosen.fresh:
        (work / "results.jsonl").unlink(missing_ok=True)
    results = Results(work / "results.jsonl")
    mutants = list_mutants()
    if not chosen.report:
        try:
            try_all(mutants, results, chosen, work)
        except (BuildError, TestError) as error:
            print(error)
            return 1
    wanted = [mutant for mutant in mutants if not chosen.file or any(part in mutant.file for part in chosen.file)]
    return report(wanted, mutants, results)


def try_all(mutants: Sequence[Mutant], results: Results, chosen: argparse.Namespace, work: Path) -> None:
    """Tries what has no verdict yet, and what survived where that is asked for."""
    copy = Switched(work, mutants)
    copy.unviable = {mutant.number for mutant in mutants if _is(results, mutant, "unviable")}
    copy.drop_unviable()
    for mutant in mutants:
        for numbers, what in ((copy.unviable, "unviable"), (copy.alone, "alone")):
            if mutant.number in numbers and mutant.name not in results.verdicts:
                results.add(mutant, Verdict(what))
    wanted = [mutant for mutant in mutants if not chosen.file or any(part in mutant.file for part in chosen.file)]
    alive = [mutant for mutant in wanted if mutant.number not in copy.unviable | copy.alone]
    if chosen.python:
        copy.build_module(chosen.interpreter.absolute())
        bench = Bench(copy.folder, {}, chosen.interpreter.absolute())
        tests = [Test("python", file) for file in chosen.python]
        untried = [mutant for mutant in alive if results.survived(mutant)]
    else:
        bench = Bench(copy.folder, copy.programs(SUITES))
        tests = [test for suite in SUITES for test in bench.tests(suite)]
        explanations = read_explanations()
        untried = [
            mutant
            for mutant in alive
            if mutant.name not in results.verdicts
            or (chosen.again and results.survived(mutant) and not is_explained(mutant, explanations))
        ]
    known = what_tests_reach(bench, tests, copy, chosen.processes, work / "reached")
    if chosen.alone:
        try_alone([mutant for mutant in wanted if _is(results, mutant, "alone")], results, known, work)
        return
    print(f"{len(untried)} mutants to try with {len(tests)} tests", flush=True)
    lock = Lock()

    def try_one(mutant: Mutant) -> None:
        tests = within(in_order(mutant, known), known, chosen.seconds)
        verdict = bench.try_mutant(mutant.number, tests, known)
        with lock:
            # What no test of Python notices is what it was.
            if not chosen.python or verdict.what in ("killed", "timed out"):
                results.add(mutant, verdict)
            if results.survived(mutant):
                print(f"{verdict.what} ({verdict.seconds:.0f} s) {mutant.name}", flush=True)

    with ThreadPoolExecutor(chosen.processes) as pool:
        list(pool.map(try_one, untried))


def try_alone(mutants: Sequence[Mutant], results: Results, known: Mapping[Test, Known], work: Path) -> None:
    """Builds each mutant that has no switch by itself, and runs the library's tests: the file's own first."""
    folder = work / "alone"
    for mutant in mutants:
        write_tree(folder, {mutant.file: mutant.planted((ROOT / mutant.file).read_text())})
        try:
            # Its own target folder: cargo takes programs of another copy of the tree for its own.
            bench = Bench(folder, test_programs(folder, ["lib"], cargo_environment(folder)))
        except BuildError:
            results.add(mutant, Verdict("unviable"))
            continue
        everywhere = {test: Known(it.seconds, frozenset([mutant.number])) for test, it in known.items()}
        tests = [test for test in in_order(mutant, everywhere) if test.suite == "lib"]
        results.add(mutant, bench.try_mutant(mutant.number, tests, known))
        print(f"{results.verdicts[mutant.name].what}: {mutant.name}", flush=True)


def _is(results: Results, mutant: Mutant, what: str) -> bool:
    return mutant.name in results.verdicts and results.verdicts[mutant.name].what == what


def what_tests_reach(
    bench: Bench, tests: Sequence[Test], copy: Switched, processes: int, folder: Path
) -> dict[Test, Known]:
    """Runs each test alone, or reads what an earlier run of the same programs has found."""
    programs = [bench.programs[suite] for suite in sorted({test.suite for test in tests} & bench.programs.keys())]
    module = copy.folder / "python/dpsparse/_core.abi3.so"
    digest = sha256()
    for path in programs or [module]:
        digest.update(path.read_bytes())
    digest.update(repr(tests).encode())
    path = folder / f"{digest.hexdigest()}.json"
    if not path.exists():
        with ThreadPoolExecutor(processes) as pool:
            known = dict(zip(tests, pool.map(bench.know, tests), strict=True))
        rows = [(test.suite, test.name, it.seconds, sorted(it.reached)) for test, it in known.items()]
        folder.mkdir(exist_ok=True)
        path.write_text(json.dumps(rows))
    rows = json.loads(path.read_text())
    return {Test(suite, name): Known(seconds, frozenset(reached)) for suite, name, seconds, reached in rows}


def in_order(mutant: Mutant, known: Mapping[Test, Known]) -> list[Test]:
    """The tests that reach the mutant: the file's own first, then the quickest; programs one after the other."""
    module = mutant.file.removeprefix("src/").removesuffix(".rs").removesuffix("/mod").replace("/", "::")
    reaching = [test for test, it in known.items() if mutant.number in it.reached]
    suites = {suite: k for k, suite in enumerate(dict.fromkeys(test.suite for test in known))}
    return sorted(
        reaching,
        key=lambda test: (suites[test.suite], not test.name.startswith(f"{module}::"), known[test].seconds),
    )


def within(tests: Sequence[Test], known: Mapping[Test, Known], seconds: float) -> list[Test]:
    """As many of the tests as take no longer, and always the first."""
    ends = accumulate(known[test].seconds for test in tests)
    return [test for k, (test, end) in enumerate(zip(tests, ends, strict=True)) if k == 0 or end <= seconds]


def report(wanted: Sequence[Mutant], mutants: Sequence[Mutant], results: Results) -> int:
    """Prints what became of the mutants and which survivors nobody explained; returns the exit status."""
    explanations = read_explanations()
    problems = problems_of(explanations, mutants)
    survivors = [mutant for mutant in wanted if results.survived(mutant)]
    open_ = [mutant for mutant in survivors if not is_explained(mutant, explanations)]
    counts = Counter(
        results.verdicts[mutant.name].what if mutant.name in results.verdicts else "untried" for mutant in wanted
    )
    print(f"{len(wanted)} mutants:", ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    print(f"{len(survivors) - len(open_)} survivors are explained, {len(open_)} are not")
    for mutant in open_:
        print(f"  {results.verdicts[mutant.name].what}: {mutant.name}")
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if open_ or problems else 0


if __name__ == "__main__":
    sys.exit(main())
