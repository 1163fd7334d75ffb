"""Whether plans order mechanisms as test errors do: rank correlations of predicted and measured errors.

A plan predicts its mechanism's excess risk from public facts alone. On every set, at every epsilon, Spearman's rank
correlation over the mechanisms that take the set says how well that orders them; 1 is the right order.

    python benches/predicted_error.py [--sets SET ...] [--epsilons .5 1] [--seeds 3]
"""

import argparse
import time
import warnings
from statistics import fmean
from typing import Any

from scipy.stats import spearmanr

import accuracy_sets
from accuracy_problem import Problem
from accuracy_systems import AUTO, GROUPS, estimator, systems
from dpsparse import DpsparseError

SETS = [
    "credit_status",
    "gss_abortion",
    "health_insurance",
    "labsup_worked",
    "tv16_vote",
    "gss_income",
    "loan_rate",
    "star_math",
    "phoneme",
    "california",
    "garbage",
]
#: Once the fits of a mechanism have taken so many seconds in a cell it gets no further seed.
PATIENCE = 10.0
#: Constrains to a simplex, or answers another question: their excess is over another model.
OTHERS = {GROUPS, "simplex-sampling"}


def cell(problem: Problem, epsilon: float, seeds: int) -> dict[str, tuple[float, float]]:
    """Predicted excess risk and mean test error of every mechanism that takes the problem."""
    found = {}
    for name, options in systems(problem).items():
        if name in OTHERS:
            continue
        facts: dict[str, Any] = {**options, "epsilon": epsilon}
        errors: list[float] = []
        start = time.perf_counter()
        try:
            predicted = estimator(problem, facts).plan(*problem.shape).predicted_excess_risk
            for seed in range(seeds):
                if seed and time.perf_counter() - start > PATIENCE:
                    break
                X, y, X_test, y_test = problem.split(seed)
                model = estimator(problem, {**facts, "random_state": seed}).fit(X, y)
                errors.append(1.0 - float(model.score(X_test, y_test)))
        except DpsparseError:
            continue
        if predicted is not None:
            found[name] = (float(predicted), fmean(errors))
    return found


def main() -> None:
    """A row a set and epsilon, then the mean."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0])
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | eps | mechanisms | rank correlation | predicted best | its error | least error | auto |")
    print("|---|---|---|---|---|---|---|---|")
    correlations = []
    for problem in accuracy_sets.problems(chosen.sets):
        for epsilon in chosen.epsilons:
            rows = cell(problem, epsilon, chosen.seeds)
            of_auto = rows.pop(AUTO)[1]
            predicted, errors = zip(*rows.values(), strict=True)
            correlations.append(float(spearmanr(predicted, errors).statistic))
            first = min(rows, key=lambda name: rows[name][0])
            print(
                f"| {problem.name} | {epsilon:g} | {len(rows)} | {correlations[-1]:.2f} | {first} "
                f"| {rows[first][1]:.3f} | {min(errors):.3f} | {of_auto:.3f} |",
                flush=True,
            )
    print(f"\nmean rank correlation {fmean(correlations):.2f} over {len(correlations)} cells")


if __name__ == "__main__":
    main()
