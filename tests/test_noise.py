"""Exact integer noise: its laws against mpmath, moments at large scales, fixed values, threads, forks, bad input."""

import ast
import itertools
import math
import time

import mpmath
import numpy as np
import pytest
from scipy.stats import binom, chi2

from dpsparse import DpsparseError, InvalidArgumentError, RandomnessError
from dpsparse.privacy import noise
from dpsparse.privacy.noise import bernoulli_exp, discrete_gaussian, discrete_laplace, rounded_gaussian
from processes import needs_fork, run, run_forked
from reference.statistics import LEVEL, p_value

N = 400_000
LAWS = {
    "rounded_gaussian": rounded_gaussian,
    "discrete_gaussian": discrete_gaussian,
    "discrete_laplace": discrete_laplace,
}
SCALES = [0.001, 0.3, 1.0, 7.5, 16.0, 31.9, 1000.0]


def normal_tail(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def edges(scale):
    """Cell boundaries: cell i holds edges[i] <= k < edges[i + 1]; the outer cells hold what is beyond."""
    step = max(1, int(scale / 5))
    return [step * i - step // 2 for i in range(-25, 27)]


def cell_probabilities(name, scale, cuts=None):
    """Of k < cuts[0], of each cell, and of k >= cuts[-1], to 30 digits."""
    cuts = cuts or edges(scale)
    with mpmath.workdps(30):
        s = mpmath.mpf(scale)
        if name == "rounded_gaussian":
            above = [normal_tail((mpmath.mpf(k) - 0.5) / s) for k in cuts]
        elif name == "discrete_laplace":
            ratio = mpmath.exp(-1 / s)
            # P(k >= m) = ratio^m / (1 + ratio) for m >= 1
            above = [ratio**k / (1 + ratio) if k >= 1 else 1 - ratio ** (1 - k) / (1 + ratio) for k in cuts]
        else:
            reach = int(14 * scale) + 60  # what is beyond has probability below 1e-40
            weights = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in range(reach)}
            total = weights[0] + 2 * mpmath.fsum(weights[k] for k in range(1, reach))
            sums, running = {}, mpmath.mpf(0)
            for k in range(reach - 1, -reach, -1):
                running += weights[abs(k)]
                sums[k] = running
            above = [sums.get(k, mpmath.mpf(0)) / total if k > -reach else mpmath.mpf(1) for k in cuts]
        cells = [1 - above[0], *(a - b for a, b in itertools.pairwise(above)), above[-1]]
        return np.array([float(cell) for cell in cells])


def counts_of(draws, scale):
    return np.bincount(np.searchsorted(edges(scale), draws, side="right"), minlength=len(edges(scale)) + 1)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("scale", SCALES)
def test_draws_follow_the_law(name, scale):
    expected = cell_probabilities(name, scale)
    assert abs(expected.sum() - 1) < 1e-12
    for seed in (1, 2):
        draws = LAWS[name](scale, N, seed=seed)
        assert draws.dtype == np.int64
        assert draws.shape == (N,)
        counts = counts_of(draws, scale)
        assert (counts[expected < 1e-30] == 0).all()
        if np.count_nonzero(expected * N >= 1e-12) == 1:
            assert counts.max() == N
        else:
            assert p_value(counts, expected) > LEVEL


@pytest.mark.parametrize("name", LAWS)
def test_the_check_would_see_a_wrong_scale_and_a_wrong_law(name):
    for scale in (1.0, 7.5, 1000.0):
        counts = counts_of(LAWS[name](scale, N, seed=1), scale)
        assert p_value(counts, cell_probabilities(name, 1.02 * scale, edges(scale))) < LEVEL
    # The rounded and the discrete Gaussian of the same sigma differ: at 0.3 by far.
    gaussians = {"rounded_gaussian", "discrete_gaussian"}
    if name in gaussians:
        (other,) = gaussians - {name}
        assert p_value(counts_of(LAWS[name](0.3, N, seed=1), 0.3), cell_probabilities(other, 0.3)) < LEVEL


def test_small_sigmas_by_single_probabilities():
    """Rare values by the exact binomial law of their number."""
    cases = [
        (rounded_gaussian, 0.15, lambda s: 2 * normal_tail(0.5 / s)),
        (rounded_gaussian, 0.12, lambda s: 2 * normal_tail(0.5 / s)),
        (
            discrete_gaussian,
            0.21,
            lambda s: 1 - 1 / (1 + 2 * mpmath.nsum(lambda k: mpmath.exp(-k * k / (2 * s * s)), [1, 50])),
        ),
        (discrete_laplace, 0.09, lambda s: 2 * mpmath.exp(-1 / s) / (1 + mpmath.exp(-1 / s))),
    ]
    for law, scale, probability in cases:
        hits = int(np.count_nonzero(law(scale, 2_000_000, seed=3)))
        p = float(probability(mpmath.mpf(scale)))
        assert 1e-6 < p < 1e-3
        tail = min(binom.cdf(hits, 2_000_000, p), binom.sf(hits - 1, 2_000_000, p))
        assert tail > LEVEL / 2


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12, 2.0**40])
def test_large_scales(scale):
    """Uniform residues, the exact chi-square law of the sum of squares, and the law over wide cells."""
    for name, law in LAWS.items():
        draws = law(scale, N, seed=5)
        # Residues are uniform to 1e-100 and more, odd and even, in the low bits.
        assert p_value(np.bincount(draws & 63, minlength=64), np.full(64, 1 / 64)) > LEVEL
        assert p_value(np.bincount(draws % 7, minlength=7), np.full(7, 1 / 7)) > LEVEL
        # The law is continuous but for 1/scale.
        if name == "discrete_laplace":
            tail = 0.5 * np.exp(-np.abs(draws) / scale)
        else:
            tail = 0.5 * chi2.sf((draws / scale) ** 2, 1)
        uniform = np.where(draws < 0, tail, 1 - tail)
        assert p_value(np.bincount((uniform * 100).astype(int), minlength=100), np.full(100, 0.01)) > LEVEL
        # Sums: a chi-square of N degrees (Gaussian), Gamma(N) of magnitudes (Laplace); signs and mean.
        if name == "discrete_laplace":
            total, degrees = 2 * float(np.abs(draws / scale).sum()), 2 * N
        else:
            total, degrees = float(((draws / scale) ** 2).sum()), N
            z = float((draws / scale).sum()) / math.sqrt(N)
            assert abs(z) < 4.9  # two-sided 1e-6
        assert min(chi2.cdf(total, degrees), chi2.sf(total, degrees)) > LEVEL / 2
        positive = int(np.count_nonzero(draws > 0))
        assert min(binom.cdf(positive, N, 0.5), binom.sf(positive - 1, N, 0.5)) > LEVEL / 4


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 0.1, math.log(2), 1.0, 7.0, 800.0, 1e300, 5e-324])
def test_bernoulli_exp(gamma):
    draws = bernoulli_exp(gamma, N, seed=1)
    assert draws.dtype == np.int64
    hits, p = int(draws.sum()), math.exp(-gamma)
    assert set(np.unique(draws)) <= {0, 1}
    assert min(binom.cdf(hits, N, p), binom.sf(hits - 1, N, p)) > LEVEL / 2


def test_values_are_stable():
    """A change of a seeded value is a change of the API of reproductions: note it in the changelog."""
    assert rounded_gaussian(7.5, 8, seed=42).tolist() == [-4, -5, 6, 7, 7, 15, -1, 6]
    assert discrete_gaussian(7.5, 8, seed=42).tolist() == [-5, -6, 7, 9, 0, 1, -2, 8]
    assert discrete_laplace(7.5, 8, seed=42).tolist() == [-6, -7, 8, 11, 0, 1, -2, 10]
    assert bernoulli_exp(0.7, 8, seed=42).tolist() == [0, 0, 0, 1, 0, 0, 0, 1]
    assert rounded_gaussian(1e12, 20_000, seed=42)[-2:].tolist() == [-516615759459, -1294895746464]


def test_seeds_reproduce_and_the_system_does_not():
    for law in (*LAWS.values(), bernoulli_exp):
        assert (law(1.5, 1000, seed=9) == law(1.5, 1000, seed=9)).all()
        assert (law(1.5, 1000, seed=10) != law(1.5, 1000, seed=9)).any()
        assert (law(1.5, 1000) != law(1.5, 1000)).any()
        # A shorter vector is the beginning of a longer one: chunks are fixed.
        assert (law(1.5, 40_000, seed=9)[:20_000] == law(1.5, 20_000, seed=9)).all()


def test_secure_draws_follow_the_law_too():
    for name, law in LAWS.items():
        assert p_value(counts_of(law(7.5, N), 7.5), cell_probabilities(name, 7.5)) > 1e-9


def test_no_two_chunks_are_alike():
    draws = discrete_laplace(1e12, 1 << 18, seed=0)
    # Equal pairs are expected 2^36 / 2 * 1/(4e12) = 0.009 times.
    assert len(np.unique(draws)) == len(draws)


def test_sizes():
    for law in (*LAWS.values(), bernoulli_exp):
        assert law(1.0, 0).shape == (0,)
        assert law(1.0, 1).shape == (1,)
        assert law(np.float32(1.0), np.int32(5), seed=np.uint64(3)).shape == (5,)
        assert law(1, 2).shape == (2,)
    assert rounded_gaussian(2.0, (1 << 22) + 5, seed=1).shape == ((1 << 22) + 5,)


@pytest.mark.parametrize("law", LAWS.values())
@pytest.mark.parametrize(
    "bad", [0.0, -1.0, -0.0, np.nan, np.inf, -np.inf, 2e12, 9e-4, 10**400, "1", None, True, 1j, [1.0]]
)
def test_bad_scales(law, bad):
    name = "scale" if law is discrete_laplace else "sigma"
    with pytest.raises(InvalidArgumentError, match=f"^{name} must") as caught:
        law(bad, 3)
    assert isinstance(caught.value, DpsparseError)


@pytest.mark.parametrize("bad", [-1e-9, np.nan, np.inf, 10**400, "1", None, True])
def test_bad_gammas(bad):
    with pytest.raises(InvalidArgumentError, match=r"^gamma must"):
        bernoulli_exp(bad, 3)


@pytest.mark.parametrize("law", [*LAWS.values(), bernoulli_exp])
def test_bad_sizes_and_seeds(law):
    for size in (-1, 2.0, True, None, "3", (2, 2), 2**63, 2**62):
        with pytest.raises(InvalidArgumentError, match=r"^size "):
            law(1.0, size)
    for seed in (-1, 2**64, 0.5, "x", np.random.default_rng(0)):
        with pytest.raises(InvalidArgumentError, match=r"^seed "):
            law(1.0, 3, seed=seed)


def test_every_name_is_exported_and_documented():
    for name in noise.__all__:
        assert "Examples" in (getattr(noise, name).__doc__ or "")
    assert issubclass(RandomnessError, DpsparseError)


# --- threads and other processes ---


def test_threads_change_no_value():
    script = """
        import hashlib
        from dpsparse.privacy.noise import bernoulli_exp, discrete_gaussian, discrete_laplace, rounded_gaussian
        for law in (bernoulli_exp, discrete_gaussian, discrete_laplace, rounded_gaussian):
            for scale in (0.5, 1e5):
                print(hashlib.sha256(law(scale, 100_000, seed=3).tobytes()).hexdigest())
    """
    outputs = {run(script, RAYON_NUM_THREADS=str(threads)) for threads in (1, 2, 3, 7)}
    assert len(outputs) == 1
    assert len(set(outputs.pop().split())) >= 7  # gamma = 1e5 gives zeros alone


@needs_fork
@pytest.mark.parametrize("warm", [True, False])
def test_forked_children_draw_their_own_noise(warm):
    script = f"""
        from dpsparse.privacy.noise import rounded_gaussian
        draw = lambda seed=None: rounded_gaussian(1e9, 40_000, seed=seed)[-3:].tolist()
        work = lambda: (draw(), draw(1))
        if {warm}:
            work()
    """
    found = run_forked(script, ["child(work)", "child(work)", "here(work)"])
    results = [ast.literal_eval(text) for text in found]
    free, seeded = zip(*results, strict=True)
    assert len({tuple(draw) for draw in free}) == 3
    assert len({tuple(draw) for draw in seeded}) == 1


def test_the_interpreter_stays_free():
    script = """
        import threading, time
        from dpsparse.privacy.noise import rounded_gaussian
        ticks, done = [], threading.Event()
        def tick():
            while not done.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.001)
        thread = threading.Thread(target=tick)
        thread.start()
        before = len(ticks)
        rounded_gaussian(3.0, 1 << 24)
        print(len(ticks) - before)
        done.set()
        thread.join()
    """
    start = time.perf_counter()
    assert int(run(script)) > 10
    assert time.perf_counter() - start < 60
