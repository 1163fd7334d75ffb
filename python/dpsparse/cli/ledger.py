"""``dpsparse ledger``."""

from __future__ import annotations

import argparse
import json
import sqlite3

from dpsparse.cli._command import Commands, command

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "ledger",
        run,
        help="what was spent of a data set, and what is left",
        description="""Print the history of a data set in a ledger, what all of it cost, and what a next release may
        cost. Every look checks the chain of entries; with --verify that is all, and the exit status is 1 where it is
        broken.""",
        examples=[
            "dpsparse ledger people.ledger",
            "dpsparse ledger people.ledger --dataset survey --json",
            "dpsparse ledger people.ledger --verify --head 3f0c...",
        ],
    )
    parser.add_argument("ledger", metavar="L", help="the file")
    parser.add_argument("--dataset", default="default", metavar="NAME", help="the data set (default: default)")
    parser.add_argument("--head", metavar="HASH", help="a head that was written down: the file must contain it")
    parser.add_argument("--verify", action="store_true", help="check the chain of entries alone")
    parser.add_argument("--json", action="store_true", help="as JSON, certificates included")


def run(arguments: argparse.Namespace) -> int:
    """Print the history, or whether its chain is whole."""
    from dpsparse.errors import LedgerError
    from dpsparse.privacy import Ledger

    try:
        ledger = Ledger(arguments.ledger, dataset=arguments.dataset, head=arguments.head)
    except LedgerError as error:
        # A file that is locked or cannot be read says nothing of its chain, and neither does what is no file.
        if not arguments.verify or isinstance(error.__cause__, sqlite3.OperationalError | OSError):
            raise
        print(f"BROKEN: {error}")
        return 1
    if arguments.verify:
        print(f"The chain is whole. Head: {ledger.head}")
    elif arguments.json:
        numbers = {"spent": ledger.spent(), "remaining": ledger.remaining(), "secure": ledger.secure}
        print(json.dumps(json.loads(ledger.export_json()) | numbers, indent=2))
    else:
        print(ledger)
    return 0
