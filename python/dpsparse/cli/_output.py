"""What commands write: text and tables, to a file that is whole or not there, or to the standard output."""

from __future__ import annotations

import csv
import errno
import io
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpsparse._atomic import write_bytes
from dpsparse._core import InvalidArgumentError

__all__ = ["STDOUT", "check_writable", "prepare_streams", "tell", "write_columns", "write_text"]

#: The path that means the standard output.
STDOUT = "-"


def prepare_streams() -> None:
    """Let words come out whatever the terminal's characters are, and those for a closed stderr go nowhere."""
    if sys.stderr is None:  # print would take stdout, where a model may be
        sys.stderr = io.StringIO()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def tell(*lines: str) -> None:
    """Say something on the standard error; where that is full or gone, work that is done, and paid for, stays done."""
    try:
        print(*lines, sep="\n", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Python would try once more, and fail, as it flushes at its end.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def check_writable(path: str) -> None:
    """Refuse before the work what writing the file would refuse after it.

    Raises
    ------
    InvalidArgumentError
        For folders that are not there or not to be written to, and for what is no file.
    OSError
        Where the standard output is meant, and closed.
    """
    if path == STDOUT:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "the standard output is closed")
        return
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir() or not os.access(real.parent, os.W_OK):
        raise InvalidArgumentError(f"no such folder, or none that can be written to: {Path(path).parent}")
    if real.exists() and not real.is_file():
        raise InvalidArgumentError(f"the output must be a file: {path}")


def write_text(path: str, text: str) -> None:
    """Write text to a file, or to the standard output."""
    if path == STDOUT:
        # The bytes of a file, whatever the terminal's characters are.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        # By lines: one large write may not tell that the reader has gone.
        sys.stdout.writelines(text.splitlines(keepends=True))
    else:
        write_bytes(path, text.encode("utf-8"))


def write_columns(path: str, columns: Mapping[str, Any]) -> None:
    """Write arrays of one length as CSV, floats so that they are read back exactly, or as Parquet."""
    from dpsparse.cli._tables import is_parquet, parquet_library

    if is_parquet(path):
        buffer = io.BytesIO()
        parquet_library().write(columns, buffer)
        write_bytes(path, buffer.getvalue())
        return
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
    write_text(path, stream.getvalue())
