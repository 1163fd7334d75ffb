"""The lists of planted bugs fit the tree, and the script that plants them tells a failure from what is none."""

import subprocess
import sys
from pathlib import Path

import pytest

PLANTED = Path(__file__).resolve().parent / "planted"


@pytest.fixture
def parts(monkeypatch):
    """The modules behind the script, which stand beside it and in no package."""
    monkeypatch.syspath_prepend(str(PLANTED))
    import bugs
    import switches
    import trees

    return bugs, switches, trees


def test_every_bug_can_be_planted_and_every_test_exists():
    done = subprocess.run([sys.executable, PLANTED / "run.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_every_bug_compiles():
    """What is planted must be a whole expression of one type, which no list shows."""
    done = subprocess.run([sys.executable, PLANTED / "run.py", "--build"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "each behind its switch" in done.stdout


def bug(bugs, **fields):
    known = {"subject": "noise", "name": "less", "what": "less", "file": "src/lib.rs", "old": "a", "new": "b"}
    return bugs.Bug(**(known | {"test": "rust:tests::some"} | fields))


def test_lists_that_do_not_fit_are_told(parts):
    bugs, _, _ = parts
    good = {"file": "src/question/statement.rs", "old": "sqrt_up(2.0)", "new": "1.0"}
    good["test"] = "rust:privacy::tests::laws::splits::splits_are_drawn_without_a_look"
    assert bugs.problems_of([bug(bugs, **good)]) == []
    for change, problem in [
        ({"old": "no such text"}, "0 times"),
        ({"old": "self"}, "times in"),
        ({"new": "sqrt_up(2.0)"}, "`new` is `old`"),
        ({"new": "sqrt_up(2.0);"}, "whole expressions"),
        ({"new": ".max(1.0)"}, "whole expressions"),
        ({"new": "one(2.0), f(1.0, 2.0)"}, "whole expressions"),
        ({"new": "sqrt_up(2.0"}, "whole expressions"),
        ({"file": "src/none.rs"}, "there is no file"),
        ({"file": "README.md"}, "no source"),
        ({"name": "Less Noise"}, "kebab-case"),
        ({"test": "rust:privacy::tests::laws::none"}, "there is no test"),
        ({"test": "rust:privacy::tests::none::splits_are_drawn_without_a_look"}, "there is no test"),
        ({"test": "python:tests/test_planted.py::test_none"}, "there is no test"),
        ({"test": "architecture:none"}, "there is no test"),
    ]:
        (told,) = bugs.problems_of([bug(bugs, **(good | change))])
        assert problem in told
    twice = bugs.problems_of([bug(bugs, **good), bug(bugs, **good)])
    assert any("occurs 2 times" in told for told in twice)
    overlapping = [
        bug(bugs, **good),
        bug(bugs, **(good | {"name": "other", "old": "ReplaceOne => sqrt_up", "new": "x"})),
    ]
    assert any("overlap" in told for told in bugs.problems_of(overlapping))


def test_switches_stand_inside_each_other_and_choose_one(parts):
    bugs, switches, _ = parts
    text = "let x = f(a + 1) * 2; done();"
    planted = [
        (1, bug(bugs, old="a + 1", new="a")),
        (2, bug(bugs, old="f(a + 1) * 2", new="0")),
        (3, bug(bugs, old="a + 1", new="a + 2")),
        (4, bug(bugs, old="done();", new="", statement=True)),
    ]
    inner = "(if crate::planted::is(1) { a } else if crate::planted::is(3) { a + 2 } else { a + 1 })"
    assert switches.with_switches(text, planted) == (
        f"let x = (if crate::planted::is(2) {{ 0 }} else {{ f({inner}) * 2 }}); "
        "if crate::planted::is(4) {  } else { done(); }"
    )
    assert switches.with_switches(text, []) == text


@pytest.mark.parametrize(
    ("status", "output", "verdict"),
    [
        (0, "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored", "PASSED"),
        (101, "running 1 test\ntest result: FAILED. 0 passed; 1 failed; 0 ignored", "FAILED"),
        (-6, "running 1 test\n", "FAILED"),  # ended by a signal
        (0, "running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored", "BROKEN"),
        (0, "running 1 test\ntest result: ok. 0 passed; 0 failed; 1 ignored", "BROKEN"),
    ],
)
def test_verdicts_of_cargo(parts, status, output, verdict):
    _, _, trees = parts
    assert trees._of_cargo(status, output) is trees.Verdict[verdict]


@pytest.mark.parametrize(
    ("status", "output", "verdict"),
    [
        (0, "3 passed in 1s", "PASSED"),
        (1, "1 failed, 2 passed in 1s", "FAILED"),
        (0, "1 skipped in 1s", "BROKEN"),
        (1, "1 error in 1s", "BROKEN"),
        (2, "1 error during collection", "BROKEN"),
        (5, "1 deselected in 1s", "BROKEN"),
    ],
)
def test_verdicts_of_pytest(parts, status, output, verdict):
    _, _, trees = parts
    assert trees._of_pytest(status, output) is trees.Verdict[verdict]
