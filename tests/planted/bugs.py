"""The list of planted bugs: what each changes, and the test that must fail."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTS = Path(__file__).resolve().parent / "bugs"


@dataclass(frozen=True)
class Bug:
    """One bug: `old`, which occurs once in `file`, becomes `new`; then `test` must fail.

    `statement`: `old` and `new` are whole Rust statements, otherwise expressions. `rebuild`: the patch is
    no expression or statement (a type, a constant, a pattern, a line of a macro) and needs a build of its own.
    """

    subject: str
    name: str
    what: str
    file: str
    old: str
    new: str
    test: str
    statement: bool = False
    rebuild: bool = False

    @property
    def suite(self) -> str:
        """Where the test lives: `rust` (the library's own), `python`, or the name of a file `tests/<suite>.rs`."""
        return self.test.partition(":")[0]

    @property
    def test_name(self) -> str:
        """The test as its runner names it."""
        return self.test.partition(":")[2]

    @property
    def switched(self) -> bool:
        """Whether the bug waits behind a switch in the one build of all; Python is patched as it is."""
        return self.file.endswith(".rs") and not self.rebuild and self.suite != "architecture"

    def patched(self, text: str) -> str:
        """`text` of the file with the bug in it."""
        return text.replace(self.old, self.new)


def read_bugs() -> list[Bug]:
    """All lists, by subject and then in the order of the file.

    Raises ValueError where an entry lacks a field or has an unknown one.
    """
    bugs = []
    types = {field.name: field.type for field in fields(Bug)}
    for path in sorted(LISTS.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["bug"]:
            for key, value in entry.items():
                if key == "subject" or types.get(key) is not type(value):
                    raise ValueError(f"{path.name}: {entry.get('name')}: {key} is unknown or of the wrong type")
            try:
                bugs.append(Bug(subject=path.stem, **entry))
            except TypeError as error:
                raise ValueError(f"{path.name}: {entry.get('name')}: {error}") from error
    return bugs


def problems_of(bugs: Sequence[Bug]) -> list[str]:
    """What is wrong with the list, one line each; empty if every bug can be planted and every test exists."""
    found = [
        f"{name}: the name occurs {times} times" for name, times in Counter(b.name for b in bugs).items() if times > 1
    ]
    for bug in bugs:
        found += [f"{bug.name}: {problem}" for problem in _problems(bug)]
    if not found:
        found += _overlaps(bugs)
    return found


def _problems(bug: Bug) -> Iterable[str]:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", bug.name):
        yield "the name must be kebab-case"
    if "\n" in bug.what or not bug.what:
        yield "`what` must be one line"
    if not bug.file.startswith(("src/", "python/")):
        yield f"{bug.file} is no source of the library"
    elif not (ROOT / bug.file).is_file():
        yield f"there is no file {bug.file}"
    else:
        times = (ROOT / bug.file).read_text().count(bug.old) if bug.old else 0
        if times != 1:
            yield f"`old` occurs {times} times in {bug.file}, not once"
    if bug.old == bug.new:
        yield "`new` is `old`"
    if bug.switched and not bug.statement and any(map(_is_no_expression, (bug.old, bug.new))):
        yield "`old` and `new` must be whole expressions; a statement says so, and other texts need `rebuild`"
    if not _test_exists(bug):
        yield f"there is no test {bug.test}"


def _is_no_expression(text: str) -> bool:
    """Whether a text cannot stand in parentheses: one call of a method, a statement, or a part of a list."""
    inner = text.strip()
    while inner != (inner := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "_", inner)):
        pass
    alone = inner.startswith(".") or inner.endswith((";", ","))
    return alone or ("," in inner and not re.search(r"[|<]", inner)) or bool(re.search(r"[()\[\]{}]", inner))


def _test_exists(bug: Bug) -> bool:
    if bug.suite == "rust":
        return _rust_test_exists(bug.test_name.split("::"))
    if bug.suite == "python":
        path, *classes, test = bug.test_name.split("[")[0].split("::")
        return (ROOT / path).is_file() and all(
            re.search(pattern, (ROOT / path).read_text(), re.MULTILINE)
            for pattern in [rf"^\s*def {test}\(", *(rf"^class {name}\b" for name in classes)]
        )
    path = ROOT / "tests" / f"{bug.suite}.rs"
    return path.is_file() and f"fn {bug.test_name}(" in path.read_text()


def _rust_test_exists(parts: list[str]) -> bool:
    """The innermost file on the path of modules must hold the modules left over, inline, and the test."""
    *modules, test = parts
    for depth in range(len(modules), 0, -1):
        stem = ROOT.joinpath("src", *modules[:depth])
        for path in (stem.with_suffix(".rs"), stem / "mod.rs"):
            if path.is_file():
                text = path.read_text()
                return f"fn {test}(" in text and all(f"mod {inline} {{" in text for inline in modules[depth:])
    return False


def _overlaps(bugs: Sequence[Bug]) -> Iterable[str]:
    """Switches of one file must be nested or apart, and alike where they are equal."""
    for file in {bug.file for bug in bugs if bug.switched}:
        text = (ROOT / file).read_text()
        spans = [
            (text.index(bug.old), text.index(bug.old) + len(bug.old), bug)
            for bug in bugs
            if bug.switched and bug.file == file
        ]
        for k, (start, end, bug) in enumerate(spans):
            for other_start, other_end, other in spans[k + 1 :]:
                if start < other_start < end < other_end or other_start < start < other_end < end:
                    yield f"{bug.name}, {other.name}: their texts overlap; one needs `rebuild`"
                elif (start, end) == (other_start, other_end) and bug.statement != other.statement:
                    yield f"{bug.name}, {other.name}: one text, once a statement and once not"
