"""Exact integer noise: draws per second of vectors of 10^6.

Claims, on one core (RAYON_NUM_THREADS=1): at least 5 million rounded or discrete Gaussians a second, and at least 50
times as many as opendp's discrete ones. numpy's normal is a floating-point sampler from an insecure generator, not
allowed in a private release; it stands here as a scale.

Run: ``RAYON_NUM_THREADS=1 python benches/noise.py [--quick]``; ``pip install opendp`` adds the peer.
"""

import importlib.util
import warnings
from collections.abc import Callable

import numpy as np

from _timing import headline, minima, row, seconds
from dpsparse.privacy import noise

SIZE = 1_000_000
PEER_SIZE = 20_000
SCALES = (0.001, 1.0, 7.5, 1e3, 1e6, 1e12)
CLAIMED = 5e6


def opendp_gaussian() -> Callable[[float], Callable[[], object]] | None:
    """Return a maker of opendp's discrete Gaussian on a vector of int64, if it is installed."""
    if importlib.util.find_spec("opendp") is None:
        return None
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64")
    zeros = [0] * PEER_SIZE

    def make(sigma: float) -> Callable[[], object]:
        mechanism = dp.m.make_gaussian(*space, scale=sigma)
        return lambda: mechanism(zeros)

    return make


def main() -> None:
    generator = np.random.default_rng(0)
    peer = opendp_gaussian()
    headline(f"Vectors of {SIZE} exact draws beside numpy's insecure float normal; seconds, and draws a second")
    laws = {"rounded": noise.rounded_gaussian, "discrete": noise.discrete_gaussian, "laplace": noise.discrete_laplace}
    for scale in SCALES:
        contenders: dict[str, Callable[[], float]] = {
            name: lambda law=law, scale=scale: seconds(lambda: law(scale, SIZE)) for name, law in laws.items()
        }
        contenders["numpy"] = lambda scale=scale: seconds(lambda: np.rint(generator.normal(0, scale, SIZE)).astype(int))
        if peer is not None:
            draw = peer(scale)
            contenders["opendp"] = lambda draw=draw: seconds(draw) * SIZE / PEER_SIZE
        best = minima(contenders, rounds=7)
        for name in laws:
            row(f"{name}, scale {scale:g}: numpy normal, rounded", best[name], best["numpy"])
            if peer is not None and name != "laplace":
                row("    opendp discrete Gaussian, to scale", best[name], best["opendp"], 50)
            rate = SIZE / best[name]
            verdict = "holds" if rate >= CLAIMED else "DOES NOT HOLD"
            print(f"    {rate / 1e6:.1f} million a second, claimed {CLAIMED / 1e6:g}: {verdict}")
    if peer is None:
        print("  opendp is not installed: pip install opendp")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
