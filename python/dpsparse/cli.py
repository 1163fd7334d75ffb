"""The command line: ``dpsparse``, also ``python -m dpsparse``."""

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from dpsparse import DpsparseError

_PICTURE_SUFFIXES = (".png", ".pdf", ".svg")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        Exit status: 0, 2 for an error that the user can mend, 130 after Ctrl-C.
    """
    arguments = _parser().parse_args(argv)
    try:
        return _demo(arguments)
    except (DpsparseError, OSError) as error:
        print(f"dpsparse: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dpsparse: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dpsparse", description="Differentially private sparse learning.")
    parser.add_argument("--version", action="version", version=f"dpsparse {version('dpsparse')}")
    commands = parser.add_subparsers(required=True, metavar="command")
    demo = commands.add_parser(
        "demo",
        help="the main job on real data shipped in the package",
        description="Which attributes predict an income above 50 K? Fits the UCI Adult census rows privately.",
    )
    demo.add_argument("--epsilon", type=float, default=1.0, help="privacy budget of the reported fit (default: 1.0)")
    picture = demo.add_mutually_exclusive_group()
    picture.add_argument("--output", type=_picture_path, metavar="PATH", help="picture (default: dpsparse-demo.png)")
    picture.add_argument("--no-plot", action="store_true", help="save no picture")
    demo.add_argument("--seed", type=int, help="make the run reproducible, and therefore NOT private")
    return parser


def _demo(arguments: argparse.Namespace) -> int:
    # Imported here so that `--version` and `--help` do not wait for it.
    from dpsparse.demo import run

    run(arguments.output, epsilon=arguments.epsilon, seed=arguments.seed, plot=not arguments.no_plot)
    return 0


def _picture_path(text: str) -> Path:
    """Refuse before the work what saving the picture would refuse after it."""
    path = Path(text)
    if path.suffix.lower() not in _PICTURE_SUFFIXES:
        raise argparse.ArgumentTypeError(f"the picture must end in {', '.join(_PICTURE_SUFFIXES)}: {text}")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"no such directory: {path.parent}")
    return path
