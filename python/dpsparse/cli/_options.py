"""Options that plans and fits share."""

from __future__ import annotations

import argparse

__all__ = ["add_task"]

_TASKS = ("classification", "regression", "counts")


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is to be learnt, and how."""
    parser.add_argument("--schema", required=True, metavar="SCHEMA", help="public facts about the columns, as JSON")
    parser.add_argument("--delta", type=float, help="default: min(1/n^2, 1e-6); to be given under add-remove")
    parser.add_argument("--task", choices=_TASKS, help="default: by the target's description")
    described = parser.add_mutually_exclusive_group()
    described.add_argument(
        "--classes", type=_labels, metavar="A,B", help="the public labels of the target; default: the schema's"
    )
    described.add_argument(
        "--y-bounds",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="public bounds of the target; default: the schema's",
    )
    parser.add_argument("--mechanism", metavar="NAME", help="default: auto")
    parser.add_argument("--loss", metavar="NAME", help="default: logistic or squared")
    parser.add_argument("--norm", metavar="NAME", help="l1 (default), linf, simplex, groups")
    parser.add_argument("--radius", type=float, help="size of the set of models, for mechanisms that take one")
    parser.add_argument("--alpha", type=float, help="penalty per unit of the norm, for mechanisms that take one")
    parser.add_argument("--adjacency", choices=("replace-one", "add-remove"), help="neighbours (default: replace-one)")
    parser.add_argument("--n-public", type=int, metavar="N", help="public stand-in for the number under add-remove")
    parser.add_argument("--records-per-person", type=int, metavar="M", help="rows that one person may own (default: 1)")


def _labels(text: str) -> list[str]:
    labels = text.split(",")
    if len(labels) < 2 or len(set(labels)) < len(labels) or "" in labels:
        raise argparse.ArgumentTypeError(
            "must be two or more different labels, with commas between them, such as no,yes"
        )
    return labels
