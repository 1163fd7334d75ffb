"""``dpsparse demo``."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpsparse.cli._command import Commands, command

__all__ = ["add"]

_PICTURE_SUFFIXES = (".png", ".pdf", ".svg")


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "demo",
        run,
        help="the main job on real data shipped in the package",
        description="Which attributes predict an income above 50 K? Fits the UCI Adult census rows privately.",
        examples=["dpsparse demo", "dpsparse demo --epsilon 0.5 --output income.pdf"],
    )
    parser.add_argument("--epsilon", type=float, default=1.0, help="privacy budget of the reported fit (default: 1.0)")
    picture = parser.add_mutually_exclusive_group()
    picture.add_argument("--output", type=_picture_path, metavar="PATH", help="picture (default: dpsparse-demo.png)")
    picture.add_argument("--no-plot", action="store_true", help="save no picture")
    parser.add_argument("--seed", type=int, help="make the run reproducible, and therefore NOT private")


def run(arguments: argparse.Namespace) -> int:
    """Run the demo."""
    import dpsparse.demo

    dpsparse.demo.run(arguments.output, epsilon=arguments.epsilon, seed=arguments.seed, plot=not arguments.no_plot)
    return 0


def _picture_path(text: str) -> Path:
    """Refuse before the work what saving the picture would refuse after it."""
    path = Path(text)
    if path.suffix.lower() not in _PICTURE_SUFFIXES:
        raise argparse.ArgumentTypeError(f"the picture must end in {', '.join(_PICTURE_SUFFIXES)}: {text}")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"no such directory: {path.parent}")
    return path
