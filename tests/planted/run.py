"""Plants privacy bugs one at a time; for each, the test that is named beside it must fail.

All bugs of Rust files are compiled in at once, each behind a switch, in a copy of the tree: few builds serve them all.
The exit status is 1 if a bug survives its test, if a test fails with no bug planted, or if the list is wrong.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bugs import Bug, problems_of, read_bugs
from trees import BuildError, Tree, Verdict, make_python

LIMIT = 120.0  # seconds for a test with a bug in it: one that hangs has failed; more where it is as slow without
PATIENCE = 900.0  # seconds for a test without: the first run may compile


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="plant these bugs alone")
    parser.add_argument("--subject", nargs="+", metavar="SUBJECT", help="plant the bugs of these lists alone")
    parser.add_argument("--check", action="store_true", help="check the lists against the tree, build nothing")
    parser.add_argument("--build", action="store_true", help="check the lists, build with all bugs, run nothing")
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory and say where it is")
    parser.add_argument("--work", type=Path, metavar="DIR", help="work here instead, incrementally, and keep it")
    parser.add_argument("--python", type=Path, help="an interpreter with the test requirements; else one is made")
    return parser.parse_args()


def main() -> int:
    """Checks the lists, then plants what was asked for; returns the exit status."""
    chosen = arguments()
    bugs = read_bugs()
    problems = problems_of(bugs)
    names, subjects = {bug.name for bug in bugs}, {bug.subject for bug in bugs}
    problems += [f"there is no bug {name}" for name in chosen.only or [] if name not in names]
    problems += [f"there is no list {subject}" for subject in chosen.subject or [] if subject not in subjects]
    if problems:
        print(*problems, sep="\n")
        return 1
    if chosen.check:
        print(f"{len(bugs)} bugs, each in its place with its test")
        return 0
    work = (chosen.work or Path(tempfile.mkdtemp(prefix="planted-"))).resolve()
    try:
        if chosen.build:
            return build_all(dict(enumerate(bugs, start=1)), chosen, work)
        return try_all(dict(enumerate(bugs, start=1)), chosen, work)
    except BuildError as error:
        print(error)
        return 1
    finally:
        if chosen.keep or chosen.work:
            print(f"kept: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)


def build_all(bugs: Mapping[int, Bug], chosen: argparse.Namespace, work: Path) -> int:
    """Builds the crate's tests and its module with every bug behind its switch; returns the exit status.

    What is planted and is no whole expression of one type does not compile.
    """
    tree = Tree(work / "switched", bugs, chosen.python or Path(sys.executable))
    tree.write()
    tree.build(["rust", "python"])
    print(f"{sum(bug.switched for bug in bugs.values())} bugs, each behind its switch")
    return 0


def try_all(bugs: Mapping[int, Bug], chosen: argparse.Namespace, work: Path) -> int:
    """Builds, runs every test without a bug, then each bug's; prints a line each."""
    wanted = {
        number: bug
        for number, bug in bugs.items()
        if (not chosen.only or bug.name in chosen.only) and (not chosen.subject or bug.subject in chosen.subject)
    }
    suites = {bug.suite for bug in wanted.values()}
    python = Path(sys.executable)
    if "python" in suites:
        python = chosen.python.absolute() if chosen.python else make_python(work / "venv")
    # Tests of the tree itself read plain sources. Every other bug waits in the first tree, wanted or not: one build.
    switched, plain = Tree(work / "switched", bugs, python), Tree(work / "plain", {}, python)
    of_the_tree = suites & {"architecture"}
    for tree, built in ((switched, suites - of_the_tree), (plain, of_the_tree)):
        if built:
            tree.write()
            tree.build(sorted(built))
    trees = {suite: plain if suite in of_the_tree else switched for suite in suites}
    tests = sorted({bug.test for bug in wanted.values()})
    seconds = {test: seconds_without_a_bug(test, trees[test.partition(":")[0]]) for test in tests}
    if None in seconds.values():
        return 1
    limits = {test: max(LIMIT, 4.0 * (taken or 0.0)) for test, taken in seconds.items()}
    # A build of one bug's own replaces the build of all: such bugs come last.
    order = sorted(wanted.items(), key=lambda item: item[1].rebuild)
    survivors = [bug.name for number, bug in order if not caught(number, bug, trees[bug.suite], limits[bug.test])]
    print(f"{len(wanted)} bugs planted, {len(survivors)} survived", *survivors, sep="\n  ")
    return 1 if survivors else 0


def seconds_without_a_bug(test: str, tree: Tree) -> float | None:
    """How long the test takes with no bug planted; None where it does not pass."""
    began = time.monotonic()
    run = tree.run(test, None, PATIENCE)
    if run[0] is Verdict.PASSED:
        return time.monotonic() - began
    print(f"without a bug: {test} {timed(run, began)}\n{run[1][-4000:]}", flush=True)
    return None


def caught(number: int, bug: Bug, tree: Tree, limit: float) -> bool:
    """Whether the bug's test ran and failed, or did not end within `limit` seconds."""
    began = time.monotonic()
    try:
        if not bug.switched:
            tree.plant(bug)
            if bug.rebuild and bug.file.endswith(".rs"):
                tree.build([bug.suite])
        run = tree.run(bug.test, number, limit)
    except BuildError as error:
        run = (Verdict.BROKEN, str(error))
    finally:
        if not bug.switched:
            tree.heal(bug)
    is_caught = run[0] in (Verdict.FAILED, Verdict.TIMED_OUT)
    print(
        f"{'caught  ' if is_caught else 'SURVIVED'} {bug.subject}/{bug.name}: {bug.test} {timed(run, began)}",
        flush=True,
    )
    if run[0] is Verdict.BROKEN:
        print(run[1][-4000:], flush=True)
    return is_caught


def timed(run: tuple[Verdict, str], began: float) -> str:
    """The verdict and the seconds since `began`."""
    return f"{run[0].value} ({time.monotonic() - began:.1f} s)"


if __name__ == "__main__":
    sys.exit(main())
