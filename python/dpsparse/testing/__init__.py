"""Checks that users run on their own parts, and the hypothesis strategies that our own suite runs.

A check returns nothing where all holds and raises :class:`AssertionError`, with the counterexample in its text, where
something does not. Every check looks from outside: definitions are evaluated by brute force over the subsets of a few
features or at random points, never with the algorithm that is checked. :func:`audit` bounds the epsilon of a release
from below by running it. :func:`verify_certificate` verifies certificates by code of its own, and needs mpmath.

The strategies need hypothesis (``pip install "dpsparse[test]"``); the checks do not.
"""

from typing import Any

from dpsparse.testing._audit import audit
from dpsparse.testing._duality import PenalisedProblem, check_duality
from dpsparse.testing._loss import check_loss
from dpsparse.testing._mechanism import check_mechanism
from dpsparse.testing._reference import Verdict, verify_certificate
from dpsparse.testing._set_function import check_set_function

__all__ = [
    "PenalisedProblem",
    "Verdict",
    "audit",
    "check_duality",
    "check_loss",
    "check_mechanism",
    "check_set_function",
    "neighbouring_datasets",
    "set_functions",
    "verify_certificate",
]


def __getattr__(name: str) -> Any:
    # hypothesis is imported only where a strategy is asked for.
    if name in {"neighbouring_datasets", "set_functions"}:
        from dpsparse.testing import _strategies

        return getattr(_strategies, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
