"""How much each constant of the public rules matters, and whether sets that had no say would choose it.

In a copy of the tree every number of ``src/plan/defaults/``, also each of a list, is multiplied by a factor that is
chosen at run time.
``mechanism="auto"`` is then fitted with every factor on every set. For a set the factor with the least error on all
*other* sets (geometric mean) is taken, and its error there is set against the least one: this is what a set that nobody
tuned on loses. Constants that move no score are not used by ``auto`` on these sets.

    python benches/constants.py --work DIR [--only NAME ...] [--sets SET ...] [--epsilons .1 1] [--seeds 4]

Fits go to ``DIR/fits.jsonl`` as they are made; a second run goes on where the first one ended.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accuracy_problem import Problem

ROOT = Path(__file__).resolve().parents[1]
DEFAULTS = "src/plan/defaults"
VARIABLE = "DPSPARSE_FACTOR"
FACTORS = (1.0, 0.6, 1.6)
#: Tables of every kind that are quick to fit.
SETS = [
    "credit_status",
    "gss_abortion",
    "health_insurance",
    "labsup_worked",
    "tv16_vote",
    "gss_income",
    "loan_rate",
    "star_math",
    "happiness",
    "nesarc_drinks",
    "rand_visits",
    "phoneme",
    "california",
    "garbage",
]

NUMBER = re.compile(r"pub(?:\(crate\))? const ([A-Z_0-9]+): (f64|usize) = ([-0-9._e]+);")
LIST = re.compile(r"pub(?:\(crate\))? const ([A-Z_0-9]+): (?:\[f64; \d\]|\(f64, f64\)) = [\[(]([-0-9._e, ]+)[\])];")
#: A factor is looked up whenever a plan or a fit reads a constant: a few hundred times a fit.
LOOKUP = f"""
pub(crate) fn varied(name: &str, value: f64) -> f64 {{
    let chosen = std::env::var("{VARIABLE}").unwrap_or_default();
    match chosen.split_once('=') {{
        Some((chosen, factor)) if chosen == name => value * factor.parse::<f64>().unwrap(),
        _ => value,
    }}
}}

pub(crate) trait List {{
    fn varied(self, name: &str) -> Self;
}}

impl<const N: usize> List for [f64; N] {{
    fn varied(self, name: &str) -> Self {{
        std::array::from_fn(|k| varied(&format!("{{name}}[{{k}}]"), self[k]))
    }}
}}

impl List for (f64, f64) {{
    fn varied(self, name: &str) -> Self {{
        let [a, b] = [self.0, self.1].varied(name);
        (a, b)
    }}
}}

pub(crate) fn varied_list<L: List>(name: &str, list: L) -> L {{
    list.varied(name)
}}
"""


def constants() -> dict[str, tuple[str, float]]:
    """Type and value of every number among the defaults; those of a list are ``NAME[0]``, ``NAME[1]`` and so on."""
    text = "\n".join(path.read_text() for path in sorted((ROOT / DEFAULTS).glob("*.rs")))
    found = NUMBER.findall(text)
    for name, values in LIST.findall(text):
        found += [(f"{name}[{k}]", "list", value) for k, value in enumerate(values.split(","))]
    return {name: (kind, float(value.replace("_", ""))) for name, kind, value in found}


def with_factors(text: str, known: dict[str, tuple[str, float]]) -> str:
    """A Rust file whose uses of constants look their factors up; imports, comments and constant items stay."""
    kinds = {name.split("[")[0]: kind for name, (kind, _) in known.items()}
    words = re.compile(r"\b(?:" + "|".join(kinds) + r")\b")

    def varied(match: re.Match[str]) -> str:
        name = match.group()
        if kinds[name] == "list":
            return f'crate::plan::defaults::varied_list("{name}", {name})'
        lookup = f'crate::plan::defaults::varied("{name}", {name} as f64)'
        return f"({lookup}.round() as usize)" if kinds[name] == "usize" else lookup

    pieces = re.split(
        r"(^use [^;]*;|//[^\n]*|^\s*(?:pub(?:\([a-z]+\))? )?const [^;]*;|^#\[cfg\(test\)\].*\Z)",
        text,
        flags=re.M | re.S,
    )
    return "".join(piece if index % 2 else words.sub(varied, piece) for index, piece in enumerate(pieces))


def build(folder: Path) -> None:
    """The copy with its extension module beside the package's sources."""
    known = constants()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        content = (ROOT / name).read_bytes()
        if name.startswith("src/") and name.endswith(".rs"):
            content = with_factors(content.decode(), known).encode()
        if name == f"{DEFAULTS}/mod.rs":
            content += LOOKUP.encode()
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    settings = {
        "PYO3_BUILD_EXTENSION_MODULE": "1",
        "PYO3_PYTHON": sys.executable,
        "CARGO_TARGET_DIR": str(folder / "target"),
    }
    command = ["cargo", "build", "--release", "--lib", "--features", "python", "--locked", "--quiet"]
    subprocess.run(command, cwd=folder, env={**os.environ, **settings}, check=True)
    shutil.copy(folder / "target/release/libdpsparse.so", folder / "python/dpsparse/_core.abi3.so")


class Fits:
    """Scores by constant, factor, set and epsilon, kept in a file; what is there is not made again."""

    def __init__(self, path: Path, seeds: int) -> None:
        self.seeds = seeds
        self.path = path
        self.scores: dict[tuple[str, float, str, float], list[float]] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            *key, scores = json.loads(line)
            self.scores[tuple(key)] = scores

    def base(self, problem: Problem, epsilon: float) -> list[float]:
        """Without a factor."""
        return self._made("", 1.0, problem, epsilon, self.seeds)

    def vary(self, name: str, problem: Problem, epsilon: float) -> None:
        """With every factor; with the outer two and one seed alone where these leave the score as it is."""
        base = self.base(problem, epsilon)[:1]
        outer = (min(FACTORS), max(FACTORS))
        if any(self._made(name, factor, problem, epsilon, 1, keep=False) != base for factor in outer):
            for factor in FACTORS:
                self._made(name, factor, problem, epsilon, self.seeds)
        else:
            for factor in FACTORS:
                self._keep((name, factor, problem.name, epsilon), self.base(problem, epsilon))

    def _made(
        self, name: str, factor: float, problem: Problem, epsilon: float, seeds: int, keep: bool = True
    ) -> list[float]:
        import accuracy_systems

        key = (name, factor, problem.name, epsilon)
        if key in self.scores:
            return self.scores[key][:seeds]
        os.environ[VARIABLE] = f"{name}={factor}"
        try:
            rows = list(accuracy_systems.run(problem, accuracy_systems.AUTO, (epsilon,), seeds))
        finally:
            del os.environ[VARIABLE]
        # A constant may be pushed to where a plan is refused: no score is none.
        scores = [row["score"] for row in rows if "score" in row]
        if keep:
            self._keep(key, scores)
        return scores

    def _keep(self, key: tuple[str, float, str, float], scores: list[float]) -> None:
        if key not in self.scores:
            self.scores[key] = scores
            with self.path.open("a") as out:
                out.write(json.dumps([*key, scores]) + "\n")


def measure(chosen: argparse.Namespace) -> None:
    """Fits what is not there yet."""
    import accuracy_sets

    fits = Fits(chosen.work / "fits.jsonl", chosen.seeds)
    problems = list(accuracy_sets.problems(chosen.sets))
    for name in chosen.only or constants():
        started = time.monotonic()
        for problem in problems:
            for epsilon in chosen.epsilons:
                fits.vary(name, problem, epsilon)
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)


def report(fits: Fits, chosen: argparse.Namespace) -> None:
    """A line a constant: the factor that all sets choose, and what sets lose that had no say."""
    print("| constant | value | moves | best factor | gain | loss without a say: mean, worst (set) | noise |")
    print("|---|---|---|---|---|---|---|")
    used, within = 0, 0
    for name, (_, value) in constants().items():
        errors = {}
        for key in fits.scores:
            if key[0] == name:
                errors.setdefault(key[2], {})
        for problem in errors:
            for factor in FACTORS:
                errors[problem][factor] = _error(fits, name, factor, problem, chosen.epsilons)
        moved = {problem: by for problem, by in errors.items() if len(set(by.values())) > 1}
        if not moved:
            continue
        used += 1
        best = min(FACTORS, key=lambda factor: fmean(by[factor] for by in moved.values()))
        gain = fmean(by[1.0] - by[best] for by in moved.values())
        losses = {}
        for problem, by in moved.items():
            others = [other for name, other in moved.items() if name != problem] or [
                dict.fromkeys(FACTORS, 0.0) | {1.0: -1.0}
            ]
            taken = min(FACTORS, key=lambda factor: fmean(other[factor] for other in others))
            losses[problem] = math.expm1(by[taken] - min(by.values()))
        worst = max(losses, key=losses.__getitem__)
        within += losses[worst] <= 0.1
        noise = fmean(_noise(fits, problem, chosen.epsilons) for problem in moved)
        print(
            f"| {name} | {value:g} | {len(moved)} | {best:g} | {100 * gain:.2f} % "
            f"| {100 * fmean(losses.values()):.1f} %, {100 * losses[worst]:.1f} % ({worst}) | {100 * noise:.1f} % |"
        )
    print(f"\n{used} constants move a score; {within} of them cost no set more than a tenth of its error.")


def _error(fits: Fits, name: str, factor: float, problem: str, epsilons: Sequence[float]) -> float:
    """Mean logarithm of 1 - score over epsilons; infinite where a plan was refused."""
    logs = []
    for epsilon in epsilons:
        scores = fits.scores.get((name, factor, problem, epsilon), [])
        if not scores:
            return math.inf
        logs.append(math.log(max(1.0 - fmean(scores), 1e-9)))
    return fmean(logs)


def _noise(fits: Fits, problem: str, epsilons: Sequence[float]) -> float:
    """Standard error of an error, as a share of it."""
    found = []
    for epsilon in epsilons:
        scores = fits.scores["", 1.0, problem, epsilon]
        found.append(stdev(scores) / math.sqrt(len(scores)) / max(1.0 - fmean(scores), 1e-9))
    return math.hypot(*found) / len(found)


def main() -> None:
    """Builds, measures and reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="for the copy of the tree and the fits")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these constants alone")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--report", action="store_true", help="build and fit nothing")
    chosen = parser.parse_args()
    if not chosen.report:
        folder = chosen.work.resolve()
        build(folder)
        # Before the package is imported: the one that looks factors up, not the installed one.
        sys.path.insert(0, str(folder / "python"))
        measure(chosen)
    report(Fits(chosen.work / "fits.jsonl", chosen.seeds), chosen)


if __name__ == "__main__":
    main()
