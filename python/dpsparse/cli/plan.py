"""``dpsparse plan``."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dpsparse.cli._command import Commands, command
from dpsparse.cli._options import add_task

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "plan",
        run,
        help="cost and noise of a fit, before any data are read",
        description="""Print what a fit will spend and how much noise it will add, by public facts alone: the schema,
        the number of records, the budget. With several epsilons their plans stand side by side.""",
        examples=[
            "dpsparse plan --schema schema.json --n 20000 --epsilon 1 --target outcome",
            "dpsparse plan --schema schema.json --n 20000 --epsilon 0.5 --epsilon 1 --classes no,yes --json",
        ],
    )
    add_task(parser)
    parser.add_argument("--n", type=int, required=True, metavar="N", help="number of records, which is public")
    parser.add_argument("--epsilon", type=float, required=True, action="append", metavar="E", help="may come often")
    parser.add_argument("--target", metavar="T", help="the target's column, which is no feature")
    parser.add_argument("--json", action="store_true", help="as JSON, a list of plans")


def run(arguments: argparse.Namespace) -> int:
    """Print one plan, or several side by side."""
    from dpsparse.cli._tables import read_schema
    from dpsparse.cli._task import task_of
    from dpsparse.words.curve import curve_of

    task = task_of(arguments, read_schema(arguments.schema))
    plans = [task.estimator(epsilon=epsilon).plan(arguments.n) for epsilon in sorted(set(arguments.epsilon))]
    if arguments.json:
        print(json.dumps([_facts(plan) for plan in plans], indent=2))
    elif len(plans) == 1:
        print(plans[0])
    else:
        print(curve_of(plans))
    return 0


def _facts(plan: Any) -> dict[str, Any]:
    return {
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "n_samples": plan.n_samples,
        "mechanism": plan.mechanism,
        "n_iter": plan.n_iter,
        "certified": plan.certified,
        "noise_scales": plan.noise_scales,
        "predicted_excess_risk": plan.predicted_excess_risk,
        "memory": plan.memory,
        "events": [{"event": event.describe(), "count": count} for event, count in plan.events],
    }
