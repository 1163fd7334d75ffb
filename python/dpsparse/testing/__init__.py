"""Checks that users run on their own parts: what a private release claims, put to the test."""

from dpsparse.testing._audit import audit
from dpsparse.testing._mechanism import check_mechanism

__all__ = ["audit", "check_mechanism"]
