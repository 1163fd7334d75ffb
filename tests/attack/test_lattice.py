"""Released numbers lie on a lattice that records do not decide (Mironov 2012), with an ulp that they do not either.

What is visible from outside: every noise of ``dpsparse.privacy.noise`` is an integer. Output perturbation, stochastic
gradient descent and the dual mechanism by selection release multiples of a power of two, which follows from public
numbers; nothing is done to them where there is no threshold and no penalty. Frank-Wolfe models are sums of vertices,
simplex models counts of draws, ranges points of the grid of their bounds.

What is not visible: gradient, proximal and Newton steps, dual iterates, objective perturbation and refits release
integers, of which their models are functions that round in floats (Haney et al. 2022 does not apply to these: it is the
noise that must not meet a float whose ulp the data decide). Tests of the crate see their integers
(``privacy::tests::laws``).
"""

from fractions import Fraction

import numpy as np
import pytest
from catalogue import CATALOGUE, neighbours

from dpsparse import PrivateOnlineSimplex, PrivateSparseClassifier
from dpsparse.privacy.noise import bernoulli_exp, discrete_gaussian, discrete_laplace, rounded_gaussian
from dpsparse.testing._audit import released

pytestmark = pytest.mark.attack

SEEDS = range(8)
ON_POWERS_OF_TWO = [
    name
    for name, entry in CATALOGUE.items()
    if entry.mechanism.startswith(("output", "early stopping", "sgd")) or entry.mechanism == "dual by selection"
]
SUMS_OF_VERTICES = [
    f"{kind}: {mechanism}"
    for kind in ("classifier", "regressor")
    for mechanism in ("frank-wolfe", "lagging frank-wolfe", "penalised-frank-wolfe")
]


def fits(name, **arguments):
    """Models of all neighbours at several seeds."""
    entry = CATALOGUE[name]
    for _, X, y in neighbours(entry.targets):
        for seed in SEEDS:
            yield entry.make(random_state=seed, **arguments).fit(X, y)


def step(plan, n_entries):
    """The lattice of a released vector, from the plan alone: what its noise is in units of it, and what it is."""
    (noise,), kinds = plan.noise_scales, {type(event).__name__: event for event, _ in plan.events}
    if "GaussianEvent" in kinds:
        return noise / kinds["GaussianEvent"].sigma
    if "PureEvent" in kinds:  # the size of spherical noise is about noise/sqrt(p + 1), p times less than a millionth
        sensitivity = kinds["PureEvent"].epsilon * noise / np.sqrt(n_entries + 1)
        return 2.0 ** np.floor(np.log2(sensitivity / n_entries / 1e6))
    return noise / np.sqrt(2) / kinds["LaplaceEvent"].scale


@pytest.mark.parametrize("name", ON_POWERS_OF_TWO)
def test_released_vectors_are_multiples_of_a_public_step(name):
    """Exactly, for every neighbour; and of no coarser one: 32 multiples are all even with probability 2^-32."""
    values = [released(model) for model in fits(name)]
    entry = CATALOGUE[name]
    plan = entry.make().plan(*next(neighbours(entry.targets))[1].shape)
    exponent = np.log2(step(plan, values[0].size))
    assert abs(exponent - np.rint(exponent)) < 1e-6
    h = Fraction(2) ** int(np.rint(exponent))
    per_data_set = [values[k : k + len(SEEDS)] for k in range(0, len(values), len(SEEDS))]
    assert len(per_data_set) > 10
    for vectors in per_data_set:
        multiples = [Fraction(float(entry)) / h for vector in vectors for entry in vector]
        assert all(multiple.denominator == 1 for multiple in multiples)
        assert any(multiple.numerator % 2 for multiple in multiples)


@pytest.mark.parametrize("name", SUMS_OF_VERTICES)
def test_sums_of_vertices_are_one_float_for_each_integer(name):
    """u radius/10 after four steps, u an integer: whatever the data, the same u gives the same bits."""
    floats = {}
    for model in fits(name, radius=0.3):
        for value in released(model):
            multiple = value / (0.3 / 10)
            assert abs(multiple - np.rint(multiple)) < 1e-9
            floats.setdefault(int(np.rint(multiple)), set()).add(float(value) + 0.0)
    assert len(floats) > 5
    assert all(len(bits) == 1 for bits in floats.values())


@pytest.mark.parametrize("name", ["simplex classifier", "simplex regressor"])
def test_simplex_models_are_counts_of_draws(name):
    for model in fits(name, n_draws=4):
        counts = 4 * np.ravel(model.coef_)
        assert (counts == np.rint(counts)).all()
        assert counts.sum() == 4


def test_ranges_are_points_of_the_grid_of_their_bounds():
    """Or in the middle of two of them: an end stands for the values between two thresholds."""
    floats = {}
    for model in fits("scaler"):
        for value in model.ranges_.ravel():
            multiple = 2 * 16383 * value
            assert abs(multiple - np.rint(multiple)) < 1e-6
            floats.setdefault(int(np.rint(multiple)), set()).add(float(value))
    assert len(floats) > 20
    assert all(len(bits) == 1 for bits in floats.values())


def test_online_weights_are_vertices():
    for seed in SEEDS:
        leader = PrivateOnlineSimplex(1.0, 1e-6, horizon=20, n_features=5, bound=1.0, random_state=seed)
        for costs in np.random.default_rng(seed).uniform(-1, 1, (20, 5)) / 3:
            leader.update(costs)
            assert sorted(leader.weights.tolist()) == [0.0, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("law", [rounded_gaussian, discrete_gaussian, discrete_laplace])
@pytest.mark.parametrize("scale", [2.0**-10, 1 / 3, 1e6 / 7, np.pi * 1e11])
def test_noise_is_an_integer_of_every_residue(law, scale):
    """And wide noise is even as often as odd, and so on: a float in between would lose low bits."""
    draws = law(scale, 40_000)
    assert draws.dtype == np.int64
    if scale > 1e3:
        bits = (draws[:, None] >> np.arange(12)) & 1
        assert (np.abs(bits.mean(axis=0) - 0.5) < 5.5 / np.sqrt(4 * len(draws))).all()  # 12 bits, 4e-8 each


def test_bernoulli_draws_are_bits():
    assert set(bernoulli_exp(1 / 3, 10_000).tolist()) == {0, 1}


@pytest.mark.parametrize("scale", [2.0**-400, 1.0, 2.0**300])
def test_the_unit_of_a_feature_scales_the_lattice_and_nothing_else(scale):
    """Bounds in another unit, a power of two: bit for bit the same model in that unit."""
    entry = CATALOGUE["classifier: output, gaussian"]
    for _, X, y in neighbours("classes"):
        X = np.clip(X, -1.0, 1.0)
        base = entry.make(random_state=0).fit(X, y)
        scaled = entry.make(random_state=0, bounds=(-scale, scale)).fit(X * scale, y)
        assert isinstance(base, PrivateSparseClassifier)
        if scale > 1e-100:  # where a subnormal record does not vanish twice
            assert (scaled.coef_ * scale == base.coef_).all()
            assert (scaled.intercept_ == base.intercept_).all()
