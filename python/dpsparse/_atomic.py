"""Files that are written whole: a crash leaves the old one, or none, and never a part of the new one."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from dpsparse._core import InvalidArgumentError

__all__ = ["write_bytes"]


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Put content in the place of a file.

    It goes to a file of its own in the same folder, onto the disk, and then takes the name.

    Raises
    ------
    InvalidArgumentError
        For a folder, a pipe or a device, which a file would take the place of.
    OSError
        Where the folder or the disk refuses; the old file, if there is one, is as it was.
    """
    # A link stays one: the file that it leads to is replaced.
    final = Path(os.path.realpath(path))
    if os.path.exists(final) and not os.path.isfile(final):
        raise InvalidArgumentError("path must name a file: what is there is a folder, a pipe or a device")
    # A name as long as a name may be leaves no room for more in that of the draft.
    draft = final.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, final)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    _keep_name(final.parent)


def _keep_name(folder: Path) -> None:
    """Bring the new name in a folder onto the disk, where systems let folders be opened."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
