"""Pearson's chi-square test against an exact law."""

import numpy as np
from scipy.stats import chi2

LEVEL = 1e-6


def p_value(counts, probabilities):
    """Of observed `counts` under a law; cells with an expectation below 5 are pooled."""
    counts, probabilities = np.asarray(counts, dtype=float), np.asarray(probabilities, dtype=float)
    expected = probabilities / probabilities.sum() * counts.sum()
    order = np.argsort(expected)
    counts, expected = counts[order], expected[order]
    small = int(np.searchsorted(np.cumsum(expected), 5.0)) + 1  # as few cells as reach an expectation of 5 together
    small = max(small, int(np.searchsorted(expected, 5.0)))
    counts = np.concatenate([[counts[:small].sum()], counts[small:]])
    expected = np.concatenate([[expected[:small].sum()], expected[small:]])
    assert len(counts) > 1, "everything fell into one cell: the test would have no power"
    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(chi2.sf(statistic, len(counts) - 1))
