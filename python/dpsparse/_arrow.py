"""Record batches of arrow."""

from __future__ import annotations

from typing import Any

__all__ = ["as_table"]


def as_table(X: Any) -> Any:
    """Return a record batch of arrow, which libraries know less well, as a table of one batch; all else as it is."""
    if type(X).__name__ != "RecordBatch" or type(X).__module__.partition(".")[0] != "pyarrow":
        return X
    import pyarrow

    return pyarrow.Table.from_batches([X])
