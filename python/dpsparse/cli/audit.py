"""``dpsparse audit``."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dpsparse.cli._command import Commands, command

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "audit",
        run,
        help="a lower bound on a mechanism's epsilon, by running it",
        description="""Run a mechanism many times on two small neighbouring data sets that are built in, and bound its
        epsilon from below by what comes out. Exit status 1 where the bound exceeds the claim: then the claim is wrong.
        A bound below the claim proves nothing.""",
        examples=[
            "dpsparse audit frank-wolfe --epsilon 1",
            "dpsparse audit output-perturbation --task regression --epsilon 2 --runs 5000 --json",
        ],
    )
    parser.add_argument("mechanism", metavar="MECHANISM", help="such as auto, frank-wolfe or output-perturbation")
    parser.add_argument("--task", choices=("classification", "regression"), default="classification")
    parser.add_argument("--epsilon", type=float, default=1.0, metavar="E", help="that it is run with (default: 1)")
    parser.add_argument("--alpha", type=float, help="penalty, for mechanisms that take one")
    parser.add_argument("--delta", type=float, default=1e-5, metavar="D", help="that it is run with (default: 1e-5)")
    parser.add_argument("--claim", type=float, metavar="E", help="epsilon to compare with (default: --epsilon)")
    parser.add_argument("--runs", type=int, default=500, metavar="N", help="on each data set (default: 500)")
    parser.add_argument("--confidence", type=float, default=0.999, help="with which the bound holds (default: 0.999)")
    parser.add_argument("--seed", type=int, default=0, help="of the runs (default: 0)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the bound beside the claim."""
    from dpsparse.testing import audit

    claim = arguments.epsilon if arguments.claim is None else arguments.claim
    release, records, neighbour = _case(arguments)
    bound = audit(
        release,
        records,
        neighbour,
        arguments.runs,
        arguments.delta,
        arguments.confidence,
        random_state=arguments.seed,
    )
    if arguments.json:
        facts = {"mechanism": arguments.mechanism, "bound": bound, "claim": claim, "delta": arguments.delta}
        print(json.dumps(facts | {"runs": arguments.runs, "confidence": arguments.confidence}, indent=2))
    else:
        print(f"{arguments.mechanism}: epsilon is at least {bound:.4g}, and claimed to be {claim:g}")
    return 1 if bound > claim else 0


def _case(arguments: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Return an estimator, and two data sets of which one record differs as much as the bounds allow."""
    import numpy as np

    from dpsparse import PrivateSparseClassifier, PrivateSparseRegressor

    X = np.zeros((10, 2))
    X[-1] = 1.0
    y = np.array([0.0, 1.0] * 5)
    other = y.copy()
    other[-1] = 0.0
    parameters = {
        "epsilon": arguments.epsilon,
        "delta": arguments.delta,
        "mechanism": arguments.mechanism,
        "alpha": arguments.alpha,
        "bounds": (-1.0, 1.0),
    }
    if arguments.task == "classification":
        return PrivateSparseClassifier(classes=(0, 1), **parameters), (X, y), (X, other)
    return PrivateSparseRegressor(y_bounds=(0.0, 1.0), **parameters), (X, y), (X, other)
