"""Explanations of surviving mutants fit the tree, and the runner of mutants tells what it should."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

MUTANTS = Path(__file__).resolve().parent / "mutants"

FILE = """\
const HALF: usize = 4 / 2;
fn sum(a: usize, b: usize) -> usize {
    if let Some(c) = a.checked_sub(1) && c < b { return c; }
    match a { 0 => 1, 1 if b > 2 => 2, _ => a + b * HALF }
}
"""


@pytest.fixture
def parts(monkeypatch):
    """The modules behind the script, which stand beside it and in no package."""
    monkeypatch.syspath_prepend(str(MUTANTS.parent / "planted"))
    monkeypatch.syspath_prepend(str(MUTANTS))
    import listed
    import run
    import switched
    import trials

    return SimpleNamespace(listed=listed, run=run, switched=switched, trials=trials)


def mutant(parts, number=1, **fields):
    known = {"name": "src/lib.rs:1:19: replace / with * in sum", "file": "src/lib.rs", "function": "sum"}
    known |= {"genre": "BinaryOperator", "start": (1, 23), "end": (1, 24), "replacement": "*"}
    return parts.listed.Mutant(number=number, **(known | fields))


def test_every_explanation_is_read_and_gives_a_reason(parts):
    for entry in parts.listed.read_explanations():
        assert entry.reason.endswith("."), entry
        files = [path.relative_to(parts.listed.ROOT).as_posix() for path in parts.listed.ROOT.glob("src/**/*.rs")]
        assert any(re.fullmatch(entry.file, file) for file in files), entry
        assert not entry.covers(mutant(parts, file="src/lib.rs"))


def test_a_mutant_is_planted_and_explained_by_its_place(parts):
    one = mutant(parts)
    assert one.planted(FILE) == FILE.replace("4 / 2", "4 * 2")
    assert one.change == "replace / with * in sum"
    assert one.line == (parts.listed.ROOT / "src/lib.rs").read_text().splitlines()[0]
    fields = {"file": "src/l.*", "function": "su.", "line": "Diff.*private", "change": "replace / with .*"}
    assert parts.listed.Explanation("Speed alone.", **fields).covers(one)
    for change in ({"file": "src/"}, {"function": "s"}, {"line": "^private"}, {"change": "replace /"}):
        entry = parts.listed.Explanation("Speed alone.", **(fields | change))
        assert not entry.covers(one)
        assert len(parts.listed.problems_of([entry], [one])) == 1
    assert len(parts.listed.problems_of([parts.listed.Explanation("", **fields)], [one])) == 1


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_mutants_stand_behind_switches_and_lines_keep_their_numbers():
    places = [
        ("BinaryOperator", 1, "/", "*"),
        ("FnValue", 3, "if let", "0"),
        ("BinaryOperator", 3, "&&", "||"),
        ("BinaryOperator", 3, "<", "=="),
        ("MatchArm", 4, "0 =>", ""),
        ("MatchArmGuard", 4, "b > 2", "true"),
        ("BinaryOperator", 4, "> 2", "<"),
        ("BinaryOperator", 4, "+", "-"),
        ("BinaryOperator", 4, "*", "/"),
    ]
    asked = [
        {"number": k, "genre": genre, "start": (line, FILE.splitlines()[line - 1].index(at) + 1), "replacement": new}
        for k, (genre, line, at, new) in enumerate(places, start=1)
    ]
    folder = MUTANTS.parents[1] / "target/mutants/switches"
    where = ["--manifest-path", MUTANTS / "Cargo.toml", "--target-dir", folder]
    done = subprocess.run(
        ["cargo", "run", "--locked", "--quiet", *where],
        input=json.dumps({"file": {"text": FILE, "mutants": asked}}),
        capture_output=True,
        text=True,
        check=True,
    )
    written = json.loads(done.stdout)["file"]
    assert (written["alone"], written["unviable"]) == ([1], [3])
    on = "crate::mutant::on"
    assert written["text"] == (
        "const HALF: usize = 4 / 2;\n"
        f"fn sum(a: usize, b: usize) -> usize {{if {on}(2) {{ return 0; }} \n"
        f"    if let Some(c) = a.checked_sub(1) && (if {on}(4) {{ (c) == (b) }} else {{ c < b }}) {{ return c; }}\n"
        f"    match a {{ 0 if !{on}(5) => 1, 1 if (if {on}(6) {{ true }} else if {on}(7) {{ (b) < (2) }} "
        "else { b > 2 }) => 2, _ => "
        f"(if {on}(8) {{ (a) - (b * HALF) }} else {{ a + (if {on}(9) {{ (b) / (HALF) }} else {{ b * HALF }}) }}) }}\n"
        "}\n"
    )
    of_one = {part["mutants"][0]: part for part in written["stretches"] if len(part["mutants"]) == 1}
    assert {number: written["text"][part["start"] : part["end"]] for number, part in of_one.items()}[8].startswith("(")


def test_an_error_is_blamed_on_the_innermost_branch(parts, tmp_path):
    copy = parts.switched.Switched(tmp_path, [])
    copy._stretches["src/lib.rs"] = [
        {"start": 0, "end": 100, "mutants": [1, 2]},
        {"start": 10, "end": 20, "mutants": [1]},
        {"start": 30, "end": 60, "mutants": [2]},
        {"start": 40, "end": 50, "mutants": [3, 4]},
    ]

    def error(*spans, file="src/lib.rs"):
        found = [
            {"file_name": file, "byte_start": start, "byte_end": end, "is_primary": first}
            for start, end, first in spans
        ]
        return {"spans": found, "children": []}

    assert copy._blamed(error((12, 15, True))) == {1}
    assert copy._blamed(error((70, 80, True))) == {1, 2}
    # What is beside the error, where that is a branch, rather than the whole place.
    assert copy._blamed(error((70, 80, True), (31, 35, False))) == {2}
    assert copy._blamed(error((42, 45, True))) == {3, 4}
    assert copy._blamed(error((200, 201, True))) == copy._blamed(error((12, 15, True), file="src/error.rs")) == set()


def test_tests_run_in_growing_batches_of_one_suite_with_those_of_the_file_first(parts):
    tests = [
        parts.trials.Test("lib", "other::slow"),
        parts.trials.Test("lib", "question::gains::tests::slow"),
        parts.trials.Test("lib", "other::quick"),
        parts.trials.Test("lib", "other::unreached"),
        parts.trials.Test("fit", "whole"),
    ]
    seconds = dict(zip(tests, [0.4, 0.3, 0.1, 0.0, 0.1], strict=True))
    reached = {test: frozenset() if "unreached" in test.name else frozenset([1]) for test in tests}
    known = {test: parts.trials.Known(seconds[test], reached[test]) for test in tests}
    order = parts.run.in_order(mutant(parts, file="src/question/gains.rs"), known)
    assert [tests.index(test) for test in order] == [1, 2, 0, 4]
    batches = [[tests.index(test) for test in several] for several in parts.trials._batches(order, known)]
    assert batches == [[1, 2], [0], [4]]


@pytest.mark.parametrize(
    ("script", "what", "by"),
    [
        ("print('test a::b ... ok')", "survived", ""),
        ("print('test a ... ok\\ntest b ... FAILED', flush=True); import time; time.sleep(60)", "killed", "b"),
        ("import os; print('test a ... ', flush=True); os.abort()", "killed", "a"),
        ("import time; print('test a ... ', flush=True); time.sleep(60)", "timed out", "a"),
    ],
)
def test_the_first_failure_ends_a_run(parts, tmp_path, monkeypatch, script, what, by):
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(parts.trials, "LEAST", 2.0)
    bench = parts.trials.Bench(tmp_path, {"lib": program})
    test = parts.trials.Test("lib", "a")
    verdict = bench.try_mutant(1, [test], {test: parts.trials.Known(0.01, frozenset([1]))})
    assert (verdict.what, verdict.by) == (what, f"lib: {by}" if by else "")
    assert verdict.seconds < 30.0
    assert bench.try_mutant(1, [], {}).what == "unreached"


def test_the_last_verdict_of_a_mutant_holds(parts, tmp_path):
    one, other = mutant(parts), mutant(parts, number=2, name="src/lib.rs:2:1: other")
    results = parts.run.Results(tmp_path / "results")
    results.add(one, parts.trials.Verdict("survived"))
    results.add(other, parts.trials.Verdict("unreached"))
    results.add(one, parts.trials.Verdict("killed", "lib: a", 0.5))
    again = parts.run.Results(tmp_path / "results")
    assert [again.survived(each) for each in (one, other)] == [False, True]
    assert again.verdicts[one.name] == parts.trials.Verdict("killed", "lib: a", 0.5)
