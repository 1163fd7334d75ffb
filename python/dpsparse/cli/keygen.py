"""``dpsparse keygen``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from dpsparse.cli._command import Commands, command

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "keygen",
        run,
        help="a pair of keys to sign models with",
        description="""Write a new pair of Ed25519 keys: the private one, which signs and stays with the curator
        (readable by its owner alone, without a password), and the public one, which checks. Files that are there
        stay.""",
        examples=["dpsparse keygen --private curator.pem --public curator.pub.pem"],
    )
    parser.add_argument("--private", required=True, metavar="PRIVATE", help="file for the private key")
    parser.add_argument("--public", required=True, metavar="PUBLIC", help="file for the public key")


def run(arguments: argparse.Namespace) -> int:
    """Write two new files."""
    from dpsparse import models

    private, public = models.generate_key()
    written: list[str] = []
    try:
        for path, text, mode in ((arguments.private, private, 0o600), (arguments.public, public, 0o666)):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            written.append(path)
            with os.fdopen(descriptor, "w", encoding="ascii", newline="\n") as file:
                file.write(text)
    except BaseException:
        # Half a pair is of no use.
        for path in written:
            Path(path).unlink(missing_ok=True)
        raise
    return 0
