"""The plots of ``accuracy.py``."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from accuracy_cells import Cells, best_rival, epsilons_of, error, is_rival, names_of
from accuracy_reference import NON_PRIVATE, TRIVIAL
from accuracy_systems import AUTO
from accuracy_targets import TARGETS

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    pyplot = None


def write(found: Cells, folder: Path) -> None:
    """Write accuracy.png/.svg and overview.svg into the folder."""
    if pyplot is None:
        print("  no plots: matplotlib is absent")
    elif any(math.isfinite(epsilon) for _, _, epsilon in found):
        _plots(found, folder)
        _overview(found, folder)


def _plots(found: Cells, folder: Path) -> None:
    names = [name for name in names_of(found) if epsilons_of(found, name)]
    columns = min(4, len(names))
    height = math.ceil(len(names) / columns)
    figure, axes = pyplot.subplots(height, columns, figsize=(4.2 * columns, 3.2 * height + 1.2), squeeze=False)
    order = sorted({system for _, system, epsilon in found if math.isfinite(epsilon)} - {AUTO})
    colours = {system: pyplot.get_cmap("tab20")(k % 20) for k, system in enumerate(order)} | {AUTO: "black"}
    for axis, name in zip(axes.flat, names, strict=False):
        for system in [*order, AUTO]:
            at = [epsilon for epsilon in epsilons_of(found, name) if (name, system, epsilon) in found]
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
                linestyle="--" if is_rival(system) else "-",
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
    if not names:
        return
    columns = 3
    height = math.ceil(len(names) / columns)
    figure, axes = pyplot.subplots(height, columns, figsize=(3.6 * columns, 2.5 * height + 0.5), squeeze=False)
    for axis, name in zip(axes.flat, names, strict=False):
        at = epsilons_of(found, name)
        values = [found[name, AUTO, epsilon] for epsilon in at]
        spread = [2 * np.nan_to_num(error(each)) for each in values]
        axis.errorbar(at, [np.mean(each) for each in values], spread, color="black", marker="o", ms=3, label="auto")
        rivals = [(epsilon, best[0]) for epsilon in at if (best := best_rival(found, name, epsilon))]
        axis.plot(*zip(*rivals, strict=True), "--", color="tab:red", label="best rival run here, tuned on the test set")
        known = [(epsilon, target) for (each, epsilon), (target, _) in TARGETS.items() if each == name]
        axis.plot(
            *zip(*known, strict=True), "x", color="tab:red", label="best rival measured before, tuned on the test set"
        )
        if (name, NON_PRIVATE, math.inf) in found:
            axis.axhline(np.mean(found[name, NON_PRIVATE, math.inf]), color="grey", label="not private")
        shown = [*(np.mean(each) for each in values), *(y for _, y in rivals + known)]
        low, high = min(shown), max(*shown, np.mean(found.get((name, NON_PRIVATE, math.inf), [max(shown)])))
        margin = max(0.08 * (high - low), 0.001)
        axis.set_ylim(low - margin, high + margin)
        axis.set_xscale("log")
        axis.set_xticks(at, [f"{epsilon:g}" for epsilon in at])
        axis.minorticks_off()
        axis.set_title(f"{name}, {_unit(found, name)}", fontsize=9)
        axis.tick_params(labelsize=8)
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for axis in axes[-1]:
        axis.set_xlabel("epsilon (bars: two standard errors)", fontsize=8)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=8)
    figure.tight_layout(rect=(0, 0.35 / figure.get_figheight(), 1, 1))
    with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dpsparse"}):
        figure.savefig(folder / "overview.svg", metadata={"Date": None})
    pyplot.close(figure)


def _frame(axis: Any, name: str, found: Cells) -> None:
    """Label a panel; a regression that fails by far does not set its scale."""
    axis.set_xscale("log")
    epsilons = epsilons_of(found, name)
    axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axis.minorticks_off()
    axis.set_title(name)
    axis.set_xlabel("epsilon (bars: two standard errors)")
    trivial = np.mean(found.get((name, TRIVIAL, math.inf), [0.0]))
    axis.set_ylabel(_unit(found, name))
    means = [float(np.mean(values)) for (each, _, _), values in found.items() if each == name]
    low, high = max(min(means), trivial - 0.15), max(means)
    margin = max(0.05 * (high - low), 0.001)
    axis.set_ylim(low - margin, high + margin)


def _unit(found: Cells, name: str) -> str:
    """Return what a score is, by the constant model's; R^2 is 0 there."""
    constant = found.get((name, TRIVIAL, math.inf))
    return "score" if constant is None else "R^2" if constant[0] == 0 else "accuracy"
