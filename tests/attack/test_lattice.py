"""Released numbers lie on a lattice that records do not decide (Mironov 2012; Haney et al. 2022).

What is visible: every noise of ``dpsparse.privacy.noise`` is an integer. Output perturbation and stochastic gradient descent
release multiples of a power of two, which the plan's noise over that of its event gives; nothing is done to them
where there is no threshold and no penalty. Frank-Wolfe models are sums of vertices, simplex models counts of draws, ranges points
of the grid of the bounds. What is not: Newton, proximal and gradient steps, dual and refitted models are functions of
released lattice vectors that round in floats, so that their own steps say nothing; the integers are added to in Rust, whose tests
see them (``privacy::tests::laws``).
"""

from fractions import Fraction

import numpy as np
import pytest

from catalogue import CATALOGUE, neighbours
from dpsparse import FrankWolfe, OutputPerturbation, PrivateOnlineSimplex, PrivateScaler, SgdOutput, _core
from dpsparse.privacy.noise import bernoulli_exp, discrete_gaussian, discrete_laplace, rounded_gaussian
from dpsparse.testing._audit import released

pytestmark = pytest.mark.attack

SEEDS = range(8)


def step_of(plan):
    """The lattice of a vector that leaves with lattice noise: its noise over that in units of the lattice."""
    return plan
