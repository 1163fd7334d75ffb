"""Mirror descent beside the other ways of first order, on every open set and table about people.

Where is the geometry of the ball worth anything? `mirror-descent`, `frank-wolfe`, `noisy-proximal-gradient` and
`dual-frank-wolfe` with their defaults, public bounds and what each takes of the public facts, on records that no fit
saw: accuracy, R^2 or share of the deviance, mean and standard error. A score that is above all others by two standard
errors of both is bold. dual-frank-wolfe is left out of wide matrices, which take it minutes.

Run: ``python benches/mirror_descent.py [--quick] [SET ...]``; by default all of them.
"""

import sys

import numpy as np

from _timing import QUICK, headline
from accuracy_sets import problems
from accuracy_systems import run

SYSTEMS = ("mirror-descent", "frank-wolfe", "noisy-proximal-gradient", "dual-frank-wolfe")
EPSILONS = (1.0,) if QUICK else (0.1, 1.0)
SEEDS = 2 if QUICK else 4


def cells(scores: list[list[float]]) -> list[str]:
    """Return the means as text, with the best in bold where it is beyond doubt."""
    means = np.array([np.mean(found) if found else np.nan for found in scores])
    errors = np.array([np.std(found, ddof=1) / len(found) ** 0.5 if len(found) > 1 else 0.0 for found in scores])
    texts = ["-" if np.isnan(mean) else f"{mean:.3f}" for mean in means]
    if np.isfinite(means).sum() < 2:
        return texts
    first, second = np.argsort(np.where(np.isnan(means), -np.inf, means))[::-1][:2]
    if means[first] - means[second] > 2 * np.hypot(errors[first], errors[second]):
        texts[first] = f"**{texts[first]}**"
    return texts


def main() -> None:
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    headline(f"Scores of ways of first order, {SEEDS} runs each")
    print(f"| set | epsilon | {' | '.join(SYSTEMS)} |\n|{'---|' * (len(SYSTEMS) + 2)}")
    for problem in problems(names or None):
        rows = {system: list(run(problem, system, EPSILONS, SEEDS)) for system in SYSTEMS}
        for epsilon in EPSILONS:
            scores = [
                [row["score"] for row in rows[system] if row.get("epsilon") == epsilon and "score" in row]
                for system in SYSTEMS
            ]
            print(f"| {problem.name} | {epsilon:g} | {' | '.join(cells(scores))} |", flush=True)


if __name__ == "__main__":
    main()
