"""The command line: ``dpsparse``, also ``python -m dpsparse``.

One file a command. Each has a function ``add``, which describes it to the parser; nothing else is imported before a
command runs.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from dpsparse._core import DpsparseError
from dpsparse.cli import audit, demo, fit, keygen, ledger, plan, predict, schema, sign, verify
from dpsparse.cli._output import prepare_streams, tell

__all__ = ["main"]

#: In the order of the help.
_COMMANDS = (demo, schema, plan, fit, predict, verify, ledger, audit, keygen, sign)

_ERROR = 2
_INTERRUPTED = 130
#: As shells have it for a program that a closed pipe stops.
_BROKEN_PIPE = 141
_SHOW = "DPSPARSE_TRACEBACK"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        Exit status: 0; 1 where a check says no (``verify``, ``audit``, ``ledger --verify``); 2 for an error that the
        user can mend; 130 after Ctrl-C; 141 where the reader of the output has gone.
    """
    prepare_streams()
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain once more as it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except KeyboardInterrupt as stop:
        _say("interrupted", stop)
        return _INTERRUPTED
    except (DpsparseError, OSError) as error:
        _say(f"error: {error}", error)
        return _ERROR
    except Exception as error:
        # The words of a library may hold a value.
        if os.environ.get(_SHOW):
            raise
        _say(
            f"error: {type(error).__name__}, which is not one of this package's own. Its text may hold data: it is "
            f"shown with {_SHOW}=1 in the environment only",
            error,
        )
        return _ERROR
    return status


def _say(text: str, error: BaseException) -> None:
    """Say what is wrong; notes of a fit that was stopped say what is spent."""
    tell(f"dpsparse: {text}", *getattr(error, "__notes__", ()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dpsparse",
        description="Differentially private sparse learning.",
        epilog="dpsparse COMMAND --help has examples. Exit status: 0; 1 where a check says no; 2 for errors.",
    )
    parser.add_argument("--version", action="version", version=f"dpsparse {version('dpsparse')}")
    commands = parser.add_subparsers(required=True, metavar="command")
    for command in _COMMANDS:
        command.add(commands)
    return parser
