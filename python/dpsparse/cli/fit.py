"""``dpsparse fit``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dpsparse._core import InvalidArgumentError
from dpsparse.cli._command import Commands, command
from dpsparse.cli._options import add_task

if TYPE_CHECKING:
    from dpsparse.privacy import Ledger

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "fit",
        run,
        help="fit a private model to a table, and write it as JSON",
        description="""Fit a sparse linear model with differential privacy and write it, with its certificate. What is
        learnt follows from public facts alone: labels or bounds of the target, by the options or the schema, never by
        the records. Cells of CSV are read as the schema says; only what it lists stands for a missing value.""",
        examples=[
            "dpsparse fit people.csv --schema schema.json --target outcome --epsilon 1 -o model.json",
            "dpsparse fit people.parquet --schema schema.json --target cost --y-bounds 0 500 --epsilon 1 -o model.json",
            "dpsparse fit people.csv --schema schema.json --target outcome --epsilon 0.5 --delta 1e-7 \\",
            "    --ledger people.ledger --ledger-epsilon 2 --ledger-delta 1e-6 -o model.json",
        ],
    )
    parser.add_argument(
        "table", metavar="TABLE", help="CSV with a first line of names, or Parquet; - is CSV from stdin"
    )
    parser.add_argument("--target", required=True, metavar="T", help="the column to be predicted")
    parser.add_argument("--epsilon", type=float, required=True, metavar="E", help="privacy of the model")
    add_task(parser)
    ledger = parser.add_argument_group("a budget for many fits")
    ledger.add_argument("--ledger", metavar="L", help="a file that keeps the total, and refuses what would break it")
    ledger.add_argument("--ledger-epsilon", type=float, metavar="E", help="the total, for a new data set")
    ledger.add_argument("--ledger-delta", type=float, metavar="D", help="the total's delta, for a new data set")
    ledger.add_argument("--dataset", metavar="NAME", help="the data set's name in the ledger (default: default)")
    parser.add_argument("--seed", type=int, help="make the fit reproducible, and therefore NOT private")
    parser.add_argument("--progress", action="store_true", help="show steps and the time left on stderr")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="the model, as JSON; - is stdout")


def run(arguments: argparse.Namespace) -> int:
    """Fit, write the model, and say what it cost."""
    from dpsparse.cli._output import STDOUT, check_writable, tell, write_text
    from dpsparse.cli._tables import is_number, numbers_of, read_schema, read_table
    from dpsparse.cli._task import task_of
    from dpsparse.words.certificate import guarantee

    # Whatever can be refused is refused before anything is spent.
    check_writable(arguments.output)
    task = task_of(arguments, read_schema(arguments.schema))
    numbers = numbers_of(task.features) | {arguments.target: task.target is not None and is_number(task.target)}
    if task.features.person is not None:
        numbers[task.features.person] = False
    table = read_table(arguments.table, numbers, task.features.missing_values)
    targets = task.targets(table, arguments.target)
    ledger = _ledger(arguments)
    model = task.estimator(
        epsilon=arguments.epsilon, ledger=ledger, random_state=arguments.seed, verbose=int(arguments.progress)
    )
    model.fit(table, targets)
    text = model.to_json()
    try:
        write_text(arguments.output, text)
    except OSError:
        tell("dpsparse: the file cannot be written; the model, which is paid for, goes to stdout")
        write_text(STDOUT, text)
        raise
    tell(guarantee(model.certificate_))
    if ledger is not None:
        left = f"{ledger.remaining():.4g} at delta {ledger.delta:g}"
        tell(f"The ledger leaves a next release epsilon {left}.")
    return 0


def _ledger(arguments: argparse.Namespace) -> Ledger | None:
    total = (arguments.ledger_epsilon, arguments.ledger_delta)
    if arguments.ledger is None:
        if total != (None, None) or arguments.dataset is not None:
            raise InvalidArgumentError("--ledger-epsilon, --ledger-delta and --dataset go with --ledger")
        return None
    if None in total and total != (None, None):
        raise InvalidArgumentError("--ledger-epsilon and --ledger-delta go together")
    if total == (None, None) and not Path(arguments.ledger).exists():
        raise InvalidArgumentError(f"no ledger {arguments.ledger}: a new one needs --ledger-epsilon and --ledger-delta")
    from dpsparse.privacy import Ledger

    return Ledger(arguments.ledger, *total, dataset=arguments.dataset or "default")
