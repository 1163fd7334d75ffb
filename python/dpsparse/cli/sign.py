"""``dpsparse sign``."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpsparse.cli._command import Commands, command

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "sign",
        run,
        help="sign a model with the curator's private key",
        description="""Add an Ed25519 signature to a model: of all of the document, its certificate among it. Others
        check it with dpsparse verify --key.""",
        examples=["dpsparse sign model.json --key curator.pem", "dpsparse sign model.json --key curator.pem -o -"],
    )
    parser.add_argument("model", metavar="MODEL", help="a model that fit wrote")
    parser.add_argument("--key", required=True, metavar="PRIVATE", help="the private key (PEM)")
    parser.add_argument("-o", "--output", metavar="SIGNED", help="default: in the place of MODEL; - is stdout")


def run(arguments: argparse.Namespace) -> int:
    """Write the signed model."""
    from dpsparse import models
    from dpsparse.cli._output import check_writable, write_text

    output = arguments.model if arguments.output is None else arguments.output
    check_writable(output)
    write_text(output, models.sign(Path(arguments.model), Path(arguments.key).read_bytes()))
    return 0
