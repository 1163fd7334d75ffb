"""The mutants that cargo-mutants lists, and the survivors that are explained."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXPLANATIONS = Path(__file__).resolve().parent / "survivors.toml"


@cache
def _lines(file: str) -> list[str]:
    return (ROOT / file).read_text().splitlines()


@dataclass(frozen=True)
class Mutant:
    """One mutant; `number` is its switch, `name` says where it is and what it changes."""

    number: int
    name: str
    file: str
    function: str
    genre: str
    start: tuple[int, int]
    end: tuple[int, int]
    replacement: str

    @property
    def change(self) -> str:
        """What it changes, without the place."""
        return self.name.split(": ", 1)[1]

    @property
    def line(self) -> str:
        """The line where it begins, as it is without it."""
        return _lines(self.file)[self.start[0] - 1]

    def planted(self, text: str) -> str:
        """`text` of the file with the mutant in it."""
        lines = text.splitlines(keepends=True)
        start, end = (sum(map(len, lines[: line - 1])) + column - 1 for line, column in (self.start, self.end))
        return f"{text[:start]}{self.replacement}{text[end:]}"


def _place(at: dict[str, int]) -> tuple[int, int]:
    return at["line"], at["column"]


def list_mutants() -> list[Mutant]:
    """All mutants of `.ci/mutants.toml`, numbered from 1."""
    command = ["cargo", "mutants", "--config", ".ci/mutants.toml", "--list", "--json"]
    listed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [
        Mutant(
            number=number,
            name=entry["name"],
            file=entry["file"],
            function=(entry["function"] or {}).get("function_name", ""),
            genre=entry["genre"],
            start=_place(entry["span"]["start"]),
            end=_place(entry["span"]["end"]),
            replacement=entry["replacement"],
        )
        for number, entry in enumerate(json.loads(listed), start=1)
    ]


@dataclass(frozen=True)
class Explanation:
    """Why no test can notice mutants.

    Each field but the reason is a pattern, of the file's path, the function's name and the change as a whole, and of a
    part of the line where the mutant is.
    """

    reason: str
    file: str
    function: str = ".*"
    line: str = ""
    change: str = ".*"

    def covers(self, mutant: Mutant) -> bool:
        """Whether the mutant is one of those."""
        wholes = ((self.file, mutant.file), (self.function, mutant.function), (self.change, mutant.change))
        return all(re.fullmatch(pattern, text) for pattern, text in wholes) and bool(re.search(self.line, mutant.line))


def read_explanations() -> list[Explanation]:
    """The entries of `survivors.toml`; raises ValueError where one has other fields."""
    entries = tomllib.loads(EXPLANATIONS.read_text()).get("survivor", [])
    try:
        return [Explanation(**entry) for entry in entries]
    except TypeError as error:
        raise ValueError(f"{EXPLANATIONS.name}: {error}") from error


def is_explained(mutant: Mutant, explanations: Iterable[Explanation]) -> bool:
    """Whether one of them covers it."""
    return any(entry.covers(mutant) for entry in explanations)


def problems_of(explanations: Iterable[Explanation], mutants: Sequence[Mutant]) -> list[str]:
    """One line for each entry that explains nothing."""
    return [
        f"{EXPLANATIONS.name}: no reason, or no such mutant: {entry}"
        for entry in explanations
        if not entry.reason or not any(entry.covers(mutant) for mutant in mutants)
    ]
