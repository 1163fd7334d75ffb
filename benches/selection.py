"""One exact exponential-mechanism draw among 10^6 integer scores, from scratch.

Claim: faster than numpy's floating-point way, Gumbel noise and argmax (which is no exact sampler, and not allowed in a
private release). Spreads of the scores go from all equal to far beyond the temperature.

Run: ``python benches/selection.py [--quick]``.
"""

import numpy as np

from _timing import headline, minima, row, seconds
from dpsparse import _core

SIZE = 1_000_000
EPSILON, SENSITIVITY = 0.3, 1_000


def main() -> None:
    generator = np.random.default_rng(0)
    eta = EPSILON / (2 * SENSITIVITY)
    headline(f"One draw among {SIZE} integer scores from scratch, beside numpy Gumbel + argmax on floats")
    for spread in (1, 100, 10_000, 1_000_000, 1_000_000_000):
        scores = generator.integers(0, spread, SIZE)
        floats = -eta * scores.astype(float)

        def exact(scores=scores) -> float:
            return seconds(lambda: _core.exponential_mechanism(scores, SENSITIVITY, EPSILON))

        def gumbel(floats=floats) -> float:
            return seconds(lambda: np.argmax(floats + generator.gumbel(size=SIZE)))

        def gumbel_in_place(floats=floats) -> float:
            return seconds(lambda: np.argmin(generator.standard_exponential(SIZE, method="zig") * np.exp(-floats)))

        contenders = {"exact": exact, "gumbel": gumbel}
        if eta * spread < 600:  # exp would overflow
            contenders["race"] = gumbel_in_place
        best = minima(contenders, rounds=15)
        row(f"scores in [0, {spread}): Gumbel + argmax", best["exact"], best["gumbel"], 1.0)
        if "race" in best:
            row("    the same law by an exponential race", best["exact"], best["race"])


if __name__ == "__main__":
    main()
