"""The page of results: ``auto`` beside the best rival's figure, collection by collection, counted and in full.

A cell is a set at an epsilon, its score a mean over seeds. It is above or below the rival's figure beyond two standard
errors (on tables about people below only where also more than .001 under), else level, and under the constant model
where it is more than .01 below that beyond two standard errors.
"""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import accuracy_people
from accuracy_cells import Cells, best_rival, cells, error, is_rival, number, probabilities, table, verdict
from accuracy_problem import OPEN, PEOPLE
from accuracy_reference import NON_PRIVATE, TRIVIAL
from accuracy_systems import AUTO
from accuracy_targets import TARGETS

NINE, OTHERS = "nine open sets", "other open sets"
TASKS = {"binary": "binary", "regression": "regression", "multiclass": "multi-class", "count": "counts"}
SCORES = {"binary": "accuracy", "multiclass": "accuracy", "regression": "R^2", "count": "D^2"}
#: How far under a rival's figure still counts as level: figures have three decimals.
SLACK = {OPEN: 0.0, PEOPLE: 0.001}
#: How far under the constant model is no noise of a test set.
MARGIN = 0.01
MARKS = "`*` above, `!` below, `<` under the constant model"


@dataclass(frozen=True)
class Judged:
    """A cell of ``auto``: its verdict against a rival's figure, ``strict`` against that and the rivals run here."""

    text: str
    word: str | None
    strict: str | None
    under: bool


#: A fit that raises at an epsilon is below every rival, and under the constant model.
REFUSED = Judged("refused ! <", "below", "below", True)


def write(rows: list[dict[str, Any]], folder: Path) -> str:
    """Write results.md and summary.md into the folder; return the former."""
    found, collections = cells(rows), _collections(rows)
    judged = {name: _judge(found, name, facts) for sets in collections.values() for name, facts in sets.items()}
    for row in rows:
        if row["system"] == AUTO and row.get("score") is None and row.get("epsilon") is not None:
            judged.setdefault(row["set"], {})[row["epsilon"]] = REFUSED
    summary = "\n\n".join(part for part in (_summary(collections, judged), _left_out(rows)) if part)
    (folder / "summary.md").write_text(summary + "\n")
    parts = [
        "# Results",
        "Written by `python benches/accuracy.py --page benches/RESULTS.md`, whose docstring says what is measured.",
        summary,
        *(_table(title, sets, judged, found) for title, sets in collections.items()),
        _probabilities(rows),
        _measured(rows),
    ]
    text = "\n\n".join(part for part in parts if part) + "\n"
    (folder / "results.md").write_text(text)
    return text


def _collections(rows: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what a row says of each set that ``auto`` takes, by the title of its collection."""
    nine = list(dict.fromkeys(name for name, _ in TARGETS))
    titles = [NINE, OTHERS, *(_people(task) for task in TASKS)]
    found: dict[str, dict[str, dict[str, Any]]] = {title: {} for title in titles}
    facts = {row["set"]: row for row in rows if row["system"] == AUTO and row.get("epsilon") is not None}
    for name in sorted(facts, key=lambda name: (nine.index(name) if name in nine else len(nine), name)):
        row = facts[name]
        title = _people(row["task"]) if row["collection"] == PEOPLE else NINE if name in nine else OTHERS
        found[title][name] = row
    return {title: sets for title, sets in found.items() if sets}


def _people(task: str) -> str:
    return f"tables about people, {TASKS[task]}"


def _judge(found: Cells, name: str, facts: dict[str, Any]) -> dict[float, Judged]:
    """Judge ``auto`` at each epsilon."""
    constant, slack = _constant(found, name, facts), SLACK[facts["collection"]]
    judged = {}
    for (each, system, epsilon), values in found.items():
        if (each, system) != (name, AUTO):
            continue
        mean, spread = float(np.mean(values)), error(values)
        figure, here = _figure(name, epsilon, facts), best_rival(found, name, epsilon)
        hardest = max((each for each in (figure, here and here[0]) if each is not None), default=None)
        word = None if figure is None else verdict(mean, spread, figure, slack)
        strict = None if hardest is None else verdict(mean, spread, hardest, slack)
        under = constant is not None and mean + 2 * np.nan_to_num(spread) < constant - MARGIN
        text = number(mean) + ("" if math.isnan(spread) else f" +- {number(spread)}")
        text += "" if figure is None else f" ({number(figure)})"
        text += "" if word is None else " *" if word.startswith("above") else " !" if word == "below" else ""
        judged[epsilon] = Judged(text + (" <" if under else ""), word, strict, bool(under))
    return judged


def _figure(name: str, epsilon: float, facts: dict[str, Any]) -> float | None:
    """Return the best rival's figure, measured beforehand."""
    if facts["collection"] == OPEN:
        return TARGETS[name, epsilon][0] if (name, epsilon) in TARGETS else None
    known = accuracy_people.figures().get(name)
    return None if known is None else known.best.get(epsilon)


def _constant(found: Cells, name: str, facts: dict[str, Any]) -> float | None:
    known = accuracy_people.figures().get(name) if facts["collection"] == PEOPLE else None
    if known is not None:
        return known.baseline
    values = found.get((name, TRIVIAL, math.inf))
    return None if values is None else float(np.mean(values))


def _summary(collections: dict[str, dict[str, dict[str, Any]]], judged: dict[str, dict[float, Judged]]) -> str:
    """Count the verdicts of each collection."""
    lines = []
    for title, sets in collections.items():
        here = [cell for name in sets for cell in judged[name].values()]
        words = Counter(cell.word for cell in here if cell.word is not None)
        strict = Counter(cell.strict for cell in here if cell.strict is not None)
        above = sum(count for word, count in words.items() if word.startswith("above"))
        counts = [str(count) for count in (above, words["at or above"], words["below"])] if words else [""] * 3
        texts = [str(words.total()), *counts, str(strict["below"]) if strict else ""]
        lines.append([title, *texts, f"{sum(cell.under for cell in here)} of {len(here)}"])
    head = ["collection", "cells with a rival's figure", "above", "level", "below", "below that or a rival run here"]
    rule = (
        "`auto` with its defaults, which saw no test data, beside the best rival, tuned on the test set. Above and "
        "below: beyond two standard errors, on tables about people below only where also more than .001 under. Under "
        "the constant model: more than .01 below it, beyond two standard errors."
    )
    return rule + "\n\n" + table([*head, "under the constant model"], lines) if lines else ""


def _left_out(rows: list[dict[str, Any]]) -> str:
    """Say why ``auto`` does not take a set."""
    ran = {row["set"] for row in rows if row["system"] == AUTO and row.get("epsilon") is not None}
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["system"] == AUTO and row["set"] not in ran:
            reasons.setdefault(row["setting"], []).append(row["set"])
    return "\n".join(f"- {', '.join(names)}: {reason}." for reason, names in reasons.items())


def _table(title: str, sets: dict[str, dict[str, Any]], judged: dict[str, dict[float, Judged]], found: Cells) -> str:
    """Return scores by set and epsilon, with rivals' figures and marks."""
    epsilons = sorted({epsilon for name in sets for epsilon in judged[name]})
    lines = []
    for name, facts in sets.items():
        texts = [judged[name][epsilon].text if epsilon in judged[name] else "" for epsilon in epsilons]
        free, constant = found.get((name, NON_PRIVATE, math.inf)), _constant(found, name, facts)
        records, features = facts["shape"]
        about = f"{name} ({records} x {features}), {SCORES[facts['task']]}"
        ends = ["" if free is None else number(float(np.mean(free))), "" if constant is None else number(constant)]
        lines.append([about, *texts, *ends])
    head = ["set (records x features)", *(f"eps {epsilon:g}" for epsilon in epsilons), "not private", "constant"]
    intro = f"`auto`: mean +- standard error (best rival's figure); {MARKS}."
    return f"## {title[0].upper()}{title[1:]}\n\n{intro}\n\n" + table(head, lines)


def _probabilities(rows: list[dict[str, Any]]) -> str:
    """Return log loss and AUC of ``auto`` and the rivals run here, the fit without privacy and the constant model."""
    stated = probabilities(rows)
    shown = [key for key in stated if math.isfinite(key[2]) and (key[1] == AUTO or is_rival(key[1]))]
    if not shown:
        return ""
    epsilons = sorted({epsilon for _, _, epsilon in shown})
    lines = []
    for name, system in sorted(dict.fromkeys((name, system) for name, system, _ in shown), key=lambda each: each[0]):
        texts = [stated.get((name, system, epsilon), "") for epsilon in epsilons]
        ends = [stated.get((name, each, math.inf), "") for each in (NON_PRIVATE, TRIVIAL)]
        lines.append([name, system, *texts, *ends])
    intro = (
        "Mean log loss (natural, as stated by the model or by its margins) / mean AUC on records that no fit saw. "
        "Rivals were tuned for accuracy. The constant model states the shares of the classes."
    )
    head = ["set", "system", *(f"eps {epsilon:g}" for epsilon in epsilons), "not private", "constant"]
    return f"## Log loss and AUC\n\n{intro}\n\n" + table(head, lines)


def _measured(rows: list[dict[str, Any]]) -> str:
    """Say with how many seeds, when, on what and with which versions the rows were measured."""
    seeds: dict[str, Counter[int]] = {}
    for (_, system, _), values in cells(rows).items():
        kind = system if system in (AUTO, NON_PRIVATE, TRIVIAL) else "rivals" if is_rival(system) else "mechanisms"
        seeds.setdefault(kind, Counter())[len(values)] += 1
    lines = []
    for kind, counts in seeds.items():
        lines.append(f"- seeds, {kind}: " + ", ".join(f"{count} in {counts[count]} cells" for count in sorted(counts)))
    for machine in dict.fromkeys(row["machine"] for row in rows):
        dates = sorted({row["date"] for row in rows if row["machine"] == machine})
        lines.append(f"- measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))}: {machine}")
    return "## Seeds, dates, machines and versions\n\n" + "\n".join(lines) if rows else ""
