"""How commands describe themselves."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

__all__ = ["Commands", "command"]

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = argparse._SubParsersAction

_WIDTH = 100


def command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    help: str,
    description: str,
    examples: Sequence[str],
) -> argparse.ArgumentParser:
    """Add a command, which ``run`` carries out, and return its parser."""
    parser = commands.add_parser(
        name,
        help=help,
        description=textwrap.fill(" ".join(description.split()), _WIDTH),
        epilog="\n  ".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser
