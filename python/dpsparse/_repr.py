"""Arguments as representations of objects show them."""

from __future__ import annotations

from reprlib import Repr
from typing import Any

import numpy as np

_REPR = Repr()
_REPR.maxlist = _REPR.maxtuple = 6
_REPR.maxother = 80


def shortened(value: Any) -> str:
    """Return the representation of a value, of long sequences and arrays that of their first entries."""
    if isinstance(value, np.ndarray):
        # one entry more than is shown, for the dots
        indices, shown = value.dtype.kind == "i", value[tuple(slice(_REPR.maxlist + 1) for _ in value.shape)].tolist()
        value = list(map(tuple, shown)) if indices else shown
    return _REPR.repr(value)
