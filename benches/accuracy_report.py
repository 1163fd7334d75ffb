"""The table of ``accuracy.py`` in Markdown, and its plots."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from accuracy_systems import AUTO, COORDINATES, GROUPS
from accuracy_targets import TARGETS
from rivals_gradient_descent import UNPAID

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None

NON_PRIVATE, TRIVIAL = "not private", "trivial"
RIVALS = ("diffprivlib", "gradient descent", "Frank-Wolfe in numpy")

#: Of each set, system and epsilon (infinite without privacy): the scores of the seeds.
Cells = dict[tuple[str, str, float], list[float]]


def cells(rows: list[dict[str, Any]]) -> Cells:
    found: Cells = {}
    for row in rows:
        if row.get("score") is not None:
            found.setdefault((row["set"], row["system"], row["epsilon"]), []).append(row["score"])
    return found


def error(values: list[float]) -> float:
    """Return the standard error of the mean; NaN for one value."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def write(rows: list[dict[str, Any]], folder: Path) -> str:
    """Write accuracy.md, accuracy.png/.svg and overview.svg into the folder; return the Markdown."""
    found = cells(rows)
    parts = [_comparison(found), _sets(found), _structure(found), _refusals(rows), _settings(rows)]
    text = "\n\n".join(part for part in parts if part) + "\n"
    (folder / "accuracy.md").write_text(text)
    if pyplot is None:
        print("  no plots: matplotlib is absent")
    elif found:
        _plots(found, folder)
        _overview(found, folder)
    return text


def _is_rival(system: str) -> bool:
    return system.startswith(RIVALS)


def _table(head: list[str], lines: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


def _number(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3g}"


def verdict(mean: float, spread: float, target: float) -> str:
    """Judge a mean with its standard error against a rival's figure."""
    spread = 0.0 if math.isnan(spread) else spread
    if mean - 2 * spread >= target:
        return "above beyond two standard errors"
    return "at or above" if mean + 2 * spread >= target else "below"


def _comparison(found: Cells) -> str:
    """Judge auto against each target, and against the best rival measured here where that is better."""
    lines, held, clear, stricter = [], 0, 0, 0
    for (name, epsilon), (target, rival) in TARGETS.items():
        if (name, AUTO, epsilon) not in found:
            continue
        values = found[name, AUTO, epsilon]
        mean, spread = float(np.mean(values)), error(values)
        word = verdict(mean, spread, target)
        here = _best_rival(found, name, epsilon)
        held += word != "below"
        clear += word.startswith("above")
        hardest = target if here is None else max(target, here[0])
        stricter += verdict(mean, spread, hardest) != "below"
        measured = "" if here is None else f"{_number(here[0])} ({here[1].split(',')[0]})"
        auto = f"{_number(mean)} +- {_number(spread)} ({len(values)})"
        lines.append([name, f"{epsilon:g}", auto, f"{_number(target)} ({rival})", word, measured])
    if not lines:
        return ""
    head = ["set", "epsilon", "auto: mean +- standard error (seeds)", "best rival measured before", "verdict"]
    summary = (
        f"`auto` is at or above the best rival (mean + 2 standard errors >= its figure) in {held} of {len(lines)} "
        f"cells ({len(TARGETS)} in all), above it beyond two standard errors in {clear}. Against the better of that "
        f"figure and the best rival measured here it is at or above in {stricter}."
    )
    return f"## `auto` beside the best rival\n\n{summary}\n\n" + _table([*head, "best rival measured here"], lines)


def _best_rival(found: Cells, name: str, epsilon: float) -> tuple[float, str] | None:
    means = [
        (float(np.mean(values)), system)
        for (each, system, at), values in found.items()
        if each == name and at == epsilon and _is_rival(system)
    ]
    return max(means, default=None)


def _names(found: Cells) -> list[str]:
    return list(dict.fromkeys(name for name, _, _ in found))


def _epsilons(found: Cells, name: str) -> list[float]:
    return sorted({epsilon for each, _, epsilon in found if each == name and math.isfinite(epsilon)})


def _sets(found: Cells) -> str:
    """Return a table per set: a line per system, a column per epsilon."""
    parts = []
    for name in _names(found):
        epsilons = _epsilons(found, name)
        lines = []
        for system in dict.fromkeys(system for each, system, _ in found if each == name):
            line = [system if _is_rival(system) or system in (NON_PRIVATE, TRIVIAL, UNPAID) else f"`{system}`"]
            for epsilon in epsilons:
                values = found.get((name, system, epsilon)) or found.get((name, system, math.inf))
                line.append("" if values is None else _cell(values))
            lines.append(line)
        parts.append(f"### {name}\n\n" + _table(["system", *(f"eps {epsilon:g}" for epsilon in epsilons)], lines))
    intro = "## Every system\n\nMean +- standard error over the seeds in brackets, on records that no fit saw."
    return "\n\n".join([intro, *parts]) if parts else ""


def _cell(values: list[float]) -> str:
    spread = error(values)
    return _number(float(np.mean(values))) + ("" if math.isnan(spread) else f" +- {_number(spread)} ({len(values)})")


def _structure(found: Cells) -> str:
    """Compare group selection with coordinate selection, whichever wins."""
    lines = []
    for name in _names(found):
        for epsilon in _epsilons(found, name):
            alone, groups = found.get((name, COORDINATES, epsilon)), found.get((name, GROUPS, epsilon))
            if alone is None or groups is None:
                continue
            gain = float(np.mean(groups) - np.mean(alone))
            spread = math.hypot(error(alone), error(groups))
            word = "groups" if gain > 2 * spread else "coordinates" if gain < -2 * spread else "neither"
            lines.append([name, f"{epsilon:g}", _cell(alone), _cell(groups), f"{gain:+.3f}", word])
    head = ["set", "epsilon", f"`{COORDINATES}`", f"`{GROUPS}`", "gain", "better beyond two standard errors"]
    return "## Do groups earn their place?\n\n" + _table(head, lines) if lines else ""


def _refusals(rows: list[dict[str, Any]]) -> str:
    ran = {(row["set"], row["system"]) for row in rows if row.get("score") is not None}
    # diffprivlib is several systems once it runs.
    ran |= {(name, system.partition(",")[0]) for name, system in ran if _is_rival(system)}
    # What was refused may have run in another piece after all.
    refused = [row for row in rows if row.get("score") is None and (row["set"], row["system"]) not in ran]
    lines = [f"- {row['set']}, {row['system']}: {row['setting']}" for row in refused]
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


def _plots(found: Cells, folder: Path) -> None:
    names = _names(found)
    columns = min(4, len(names))
    height = math.ceil(len(names) / columns)
    figure, axes = pyplot.subplots(height, columns, figsize=(4.2 * columns, 3.2 * height + 1.2), squeeze=False)
    order = sorted({system for _, system, epsilon in found if math.isfinite(epsilon)} - {AUTO})
    colours = {system: pyplot.get_cmap("tab20")(k % 20) for k, system in enumerate(order)} | {AUTO: "black"}
    for axis, name in zip(axes.flat, names, strict=False):
        for system in [*order, AUTO]:
            at = [epsilon for epsilon in _epsilons(found, name) if (name, system, epsilon) in found]
            if not at:
                continue
            values = [found[name, system, epsilon] for epsilon in at]
            axis.errorbar(
                at,
                [np.mean(each) for each in values],
                yerr=[2 * np.nan_to_num(error(each)) for each in values],
                label=system,
                color=colours[system],
                linewidth=2.4 if system == AUTO else 1.0,
                linestyle="--" if _is_rival(system) else "-",
                marker="o",
                markersize=3,
            )
        for system, style in ((NON_PRIVATE, "-"), (TRIVIAL, ":")):
            if (name, system, math.inf) in found:
                axis.axhline(np.mean(found[name, system, math.inf]), color="grey", linestyle=style, label=system)
        _frame(axis, name, found)
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    labels = {text: line for axis in axes.flat for line, text in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(labels.values(), labels.keys(), loc="lower center", ncols=4, fontsize=8)
    figure.tight_layout(rect=(0, min(0.35, 1.1 / figure.get_figheight()), 1, 1))
    for suffix in ("png", "svg"):
        figure.savefig(folder / f"accuracy.{suffix}", dpi=120)
    pyplot.close(figure)


def _overview(found: Cells, folder: Path) -> None:
    """Draw auto beside the best rival measured here, the figures measured before and the fit without privacy."""
    names = [name for name in dict.fromkeys(name for name, _ in TARGETS) if (name, AUTO, 1.0) in found]
    columns = 3
    height = math.ceil(len(names) / columns)
    figure, axes = pyplot.subplots(height, columns, figsize=(3.6 * columns, 2.5 * height + 0.5), squeeze=False)
    for axis, name in zip(axes.flat, names, strict=False):
        at = _epsilons(found, name)
        values = [found[name, AUTO, epsilon] for epsilon in at]
        spread = [2 * np.nan_to_num(error(each)) for each in values]
        axis.errorbar(at, [np.mean(each) for each in values], spread, color="black", marker="o", ms=3, label="auto")
        rivals = [(epsilon, best[0]) for epsilon in at if (best := _best_rival(found, name, epsilon))]
        axis.plot(*zip(*rivals, strict=True), "--", color="tab:red", label="best rival run here, tuned on the test set")
        known = [(epsilon, target) for (each, epsilon), (target, _) in TARGETS.items() if each == name]
        axis.plot(
            *zip(*known, strict=True), "x", color="tab:red", label="best rival measured before, tuned on the test set"
        )
        if (name, NON_PRIVATE, math.inf) in found:
            axis.axhline(np.mean(found[name, NON_PRIVATE, math.inf]), color="grey", label="not private")
        shown = [*(np.mean(each) for each in values), *(y for _, y in rivals + known)]
        low, high = min(shown), max(*shown, np.mean(found.get((name, NON_PRIVATE, math.inf), [max(shown)])))
        axis.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
        axis.set_xscale("log")
        axis.set_xticks(at, [f"{epsilon:g}" for epsilon in at])
        axis.minorticks_off()
        axis.set_title(f"{name}, {'R^2' if found[name, TRIVIAL, math.inf][0] == 0 else 'accuracy'}", fontsize=9)
        axis.tick_params(labelsize=8)
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for axis in axes[-1]:
        axis.set_xlabel("epsilon (bars: two standard errors)", fontsize=8)
    if names:
        figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=8)
    figure.tight_layout(rect=(0, 0.35 / figure.get_figheight(), 1, 1))
    with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dpsparse"}):
        figure.savefig(folder / "overview.svg", metadata={"Date": None})
    pyplot.close(figure)


def _frame(axis: Any, name: str, found: Cells) -> None:
    """Label a panel; a regression that fails by far does not set its scale."""
    axis.set_xscale("log")
    epsilons = _epsilons(found, name)
    axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axis.minorticks_off()
    axis.set_title(name)
    axis.set_xlabel("epsilon (bars: two standard errors)")
    trivial = np.mean(found.get((name, TRIVIAL, math.inf), [0.0]))
    axis.set_ylabel("R^2" if trivial == 0 else "accuracy")
    means = [float(np.mean(values)) for (each, _, _), values in found.items() if each == name]
    low, high = max(min(means), trivial - 0.15), max(means)
    axis.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
