"""Data sets shipped with the package, each with its provenance in the README beside it."""

from dpsparse.datasets.adult import Adult, load_adult

__all__ = ["Adult", "load_adult"]
