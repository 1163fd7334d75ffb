"""Every system on every set in Markdown, with what was refused and what was tuned, and the plots."""

import math
from pathlib import Path
from typing import Any

import numpy as np

import accuracy_plots
from accuracy_cells import (
    Cells,
    best_rival,
    cell_text,
    cells,
    epsilons_of,
    error,
    is_rival,
    names_of,
    number,
    probabilities,
    table,
    verdict,
)
from accuracy_reference import NON_PRIVATE, TRIVIAL
from accuracy_systems import AUTO, COORDINATES, GROUPS
from accuracy_targets import TARGETS
from rivals_gradient_descent import UNPAID


def write(rows: list[dict[str, Any]], folder: Path) -> None:
    """Write accuracy.md and the plots into the folder."""
    found = cells(rows)
    parts = [_comparison(found), _sets(rows), _structure(found), _refusals(rows), _settings(rows)]
    (folder / "accuracy.md").write_text("\n\n".join(part for part in parts if part) + "\n")
    accuracy_plots.write(found, folder)


def _comparison(found: Cells) -> str:
    """Judge auto against each target, and against the best rival measured here where that is better."""
    lines, held, clear, stricter = [], 0, 0, 0
    for (name, epsilon), (target, rival) in TARGETS.items():
        if (name, AUTO, epsilon) not in found:
            continue
        values = found[name, AUTO, epsilon]
        mean, spread = float(np.mean(values)), error(values)
        word = verdict(mean, spread, target)
        here = best_rival(found, name, epsilon)
        held += word != "below"
        clear += word.startswith("above")
        hardest = target if here is None else max(target, here[0])
        stricter += verdict(mean, spread, hardest) != "below"
        measured = "" if here is None else f"{number(here[0])} ({here[1].split(',')[0]})"
        auto = f"{number(mean)} +- {number(spread)} ({len(values)})"
        lines.append([name, f"{epsilon:g}", auto, f"{number(target)} ({rival})", word, measured])
    if not lines:
        return ""
    head = ["set", "epsilon", "auto: mean +- standard error (seeds)", "best rival measured before", "verdict"]
    summary = (
        f"`auto` is at or above the best rival (mean + 2 standard errors >= its figure) in {held} of {len(lines)} "
        f"cells ({len(TARGETS)} in all), above it beyond two standard errors in {clear}. Against the better of that "
        f"figure and the best rival measured here it is at or above in {stricter}."
    )
    return f"## `auto` beside the best rival\n\n{summary}\n\n" + table([*head, "best rival measured here"], lines)


def _sets(rows: list[dict[str, Any]]) -> str:
    """Return tables per set: a line per system, a column per epsilon."""
    scores = {key: cell_text(values) for key, values in cells(rows).items()}
    parts = ["## Every system\n\nMean +- standard error over the seeds in brackets, on records that no fit saw."]
    for name in dict.fromkeys(name for name, _, epsilon in scores if math.isfinite(epsilon)):
        parts.append(f"### {name}\n\n" + _systems("system", scores, name))
        stated = {key: text for key, text in probabilities(rows).items() if key[0] == name}
        parts += [_systems("log loss / AUC", stated, name)] if stated else []
    return "\n\n".join(parts) if len(parts) > 1 else ""


def _systems(head: str, texts: dict[tuple[str, str, float], str], name: str) -> str:
    epsilons = sorted({epsilon for each, _, epsilon in texts if each == name and math.isfinite(epsilon)})
    lines = []
    for system in dict.fromkeys(system for each, system, _ in texts if each == name):
        line = [system if is_rival(system) or system in (NON_PRIVATE, TRIVIAL, UNPAID) else f"`{system}`"]
        line += [texts.get((name, system, epsilon), texts.get((name, system, math.inf), "")) for epsilon in epsilons]
        lines.append(line)
    return table([head, *(f"eps {epsilon:g}" for epsilon in epsilons)], lines)


def _structure(found: Cells) -> str:
    """Compare group selection with coordinate selection, whichever wins."""
    lines = []
    for name in names_of(found):
        for epsilon in epsilons_of(found, name):
            alone, groups = found.get((name, COORDINATES, epsilon)), found.get((name, GROUPS, epsilon))
            if alone is None or groups is None:
                continue
            gain = float(np.mean(groups) - np.mean(alone))
            spread = math.hypot(error(alone), error(groups))
            word = "groups" if gain > 2 * spread else "coordinates" if gain < -2 * spread else "neither"
            lines.append([name, f"{epsilon:g}", cell_text(alone), cell_text(groups), f"{gain:+.3f}", word])
    head = ["set", "epsilon", f"`{COORDINATES}`", f"`{GROUPS}`", "gain", "better beyond two standard errors"]
    return "## Do groups earn their place?\n\n" + table(head, lines) if lines else ""


def _refusals(rows: list[dict[str, Any]]) -> str:
    ran = {(row["set"], row["system"]) for row in rows if row.get("score") is not None}
    # diffprivlib is several systems once it runs.
    ran |= {(name, system.partition(",")[0]) for name, system in ran if is_rival(system)}
    lines = []
    for row in rows:
        at = "" if row.get("epsilon") is None else f" at epsilon {row['epsilon']:g}"
        # What was refused as a whole may have run in another piece after all.
        if row.get("score") is None and (at or (row["set"], row["system"]) not in ran):
            lines.append(f"- {row['set']}, {row['system']}{at}: {row['setting']}")
    return "## Not run\n\n" + "\n".join(lines) if lines else ""


def _settings(rows: list[dict[str, Any]]) -> str:
    """Say what was added to a mechanism's defaults, and what tuning chose for a rival."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if row.get("score") is not None and row.get("setting") and math.isfinite(row["epsilon"]):
            epsilons = found.setdefault((row["set"], row["system"], row["setting"]), [])
            epsilons += [] if row["epsilon"] in epsilons else [row["epsilon"]]
    lines = [
        f"- {name}, {system}, epsilon {', '.join(f'{epsilon:g}' for epsilon in epsilons)}: {setting}"
        for (name, system, setting), epsilons in found.items()
    ]
    intro = (
        "What a mechanism got beyond its defaults and the set's public facts, and what tuning on the test set chose "
        "for a rival."
    )
    return "\n\n".join(["## Settings", intro, "\n".join(lines)]) if lines else ""
