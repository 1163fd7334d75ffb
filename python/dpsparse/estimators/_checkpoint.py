"""The file that a fit which was stopped goes on from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from dpsparse._core import InvalidArgumentError

__all__ = ["Checkpoint", "kept_until_fitted"]

Checkpoint: TypeAlias = str | os.PathLike[str] | None


@contextmanager
def kept_until_fitted(checkpoint: Checkpoint) -> Iterator[Path | None]:
    """Yield the path of a checkpoint, and remove the file once the block has made the model, and only then.

    Raises
    ------
    InvalidArgumentError
        For what is no path.
    """
    if checkpoint is None:
        yield None
        return
    if not isinstance(checkpoint, str | os.PathLike) or not isinstance(os.fspath(checkpoint), str):
        raise InvalidArgumentError("checkpoint must be None or the path of a file")
    # Wherever users' code goes meanwhile; a link stays one: the file that it leads to is made, and removed.
    path = Path(os.path.realpath(checkpoint)) if "\0" not in str(checkpoint) else Path(checkpoint)
    yield path
    with suppress(OSError):  # what is left of it gives the same model again
        path.unlink(missing_ok=True)
