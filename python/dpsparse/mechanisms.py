"""Mechanisms as configured objects, and their names.

The proofs stand in the crate's documentation (``cargo doc --open``), on the pages of ``dpsparse::theory_of_privacy``
that the docstrings name.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias, get_args

import numpy as np

from dpsparse import _core
from dpsparse._core import InvalidArgumentError
from dpsparse._validation import flag, number, optional_finite, positive_integer
from dpsparse._weighted_l1 import checked_weights
from dpsparse.losses import CustomLoss, Loss
from dpsparse.norms import GroupLasso
from dpsparse.polytopes import Vertices
from dpsparse.set_functions import SetFunction

__all__ = [
    "DualFrankWolfe",
    "FrankWolfe",
    "MirrorDescent",
    "NoisyGradientFrankWolfe",
    "NoisyNewton",
    "NoisyProximalGradient",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "PenalisedFrankWolfe",
    "SelectRefit",
    "SgdOutput",
    "theorem_4_iterations",
]


@dataclass(frozen=True)
class FrankWolfe:
    """Private Frank-Wolfe over a polytope (Talwar, Thakurta & Zhang 2015, Algorithm 2).

    Each of T steps moves towards one vertex, chosen by the exact exponential mechanism over integer scores.
    Neighbours: replace-one or add-remove. Sensitivity of a score (mean loss, replace-one, l1 ball): ``2 L radius /
    n`` in scaled units.

    Proof: ``theory_of_privacy::frank_wolfe``.

    Parameters
    ----------
    n_iter : int, optional
        Number of steps T. None: a public rule that balances curvature and noise.
    radius : float, optional
        Size of the polytope in scaled units. None: the estimator's, or the public default.
    calibration : {"tight", "paper"}, default "tight"
        "tight": the accountant gives exactly the privacy asked for. "paper": the scale that the paper prints, for which
        no guarantee is proved; for reproduction only.
    allow_uncertified : bool, default False
        Must be True for ``calibration="paper"``; the certificate then says ``certified=False``.
    refresh : {"auto", "exact", "lagging"}, default "auto"
        When the derivative of a record's loss is computed anew. "exact": in every step, which goes through all records
        and columns. "lagging": once the record's score has moved by a public tolerance (``score_tolerance`` among the
        parameters of the plan), so that a derivative is within 1/128 of its bound; for the l1 ball and the simplex,
        two classes or a regression, and ``calibration="tight"``. The guarantee is the same, and so is the noise. A
        step over sparse ``X`` then costs what it touches, whatever the number of columns; storage changes no model.
        Where zeros stay zeros (no intercept, or bounds that are symmetric) that is what the records that change store;
        else, and where a step takes the intercept, it is at most a pass over the columns that are not rare. Bounds that
        differ from column to column, with an intercept and not symmetric, add as many operations as there are
        different ones. "auto": "lagging" from 65 536 columns on, where it is taken and zeros stay zeros.
    constant_time : bool, default False
        True: a choice does the same work whatever its scores are, some 200 ns a candidate, by the same law. For the l1
        ball, the simplex and explicit vertices, ``calibration="tight"`` and derivatives in every step. Running time
        stays outside of the guarantee: the passes over records before a choice, caches and other processes have times
        too.

    Examples
    --------
    >>> from dpsparse import FrankWolfe, PrivateSparseClassifier
    >>> model = PrivateSparseClassifier(mechanism=FrankWolfe(n_iter=40), bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).mechanism
    'frank-wolfe over the l1 ball, 40 iterations'
    """

    n_iter: int | None = None
    radius: float | None = None
    calibration: str = "tight"
    allow_uncertified: bool = False
    refresh: str = "auto"
    constant_time: bool = False
    name: ClassVar[str] = "frank-wolfe"


@dataclass(frozen=True)
class PenalisedFrankWolfe:
    """Private Frank-Wolfe on ``mean loss + alpha * norm(theta)`` (generalised conditional gradient).

    As :class:`FrankWolfe`, with the origin as one more candidate: it costs nothing, every vertex costs ``alpha *
    radius``, a public constant. The intercept is penalised like a coefficient.

    Parameters
    ----------
    alpha : float, optional
        Penalty per unit of the norm, in scaled units. None: the estimator's. One of the two must be set.
    n_iter : int, optional
        Number of steps T. None: the public rule of :class:`FrankWolfe`.
    radius : float, optional
        Size of the ball that is searched, in scaled units. None: the estimator's, or the public default.
    refresh : {"auto", "exact", "lagging"}, default "auto"
        As for :class:`FrankWolfe`.
    constant_time : bool, default False
        As for :class:`FrankWolfe`.

    Examples
    --------
    >>> from dpsparse import PenalisedFrankWolfe, PrivateSparseClassifier
    >>> mechanism = PenalisedFrankWolfe(alpha=0.01, n_iter=40)
    >>> model = PrivateSparseClassifier(mechanism=mechanism, bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).mechanism
    'frank-wolfe over the l1 ball with penalty 0.01, 40 iterations'
    """

    alpha: float | None = None
    n_iter: int | None = None
    radius: float | None = None
    refresh: str = "auto"
    constant_time: bool = False
    name: ClassVar[str] = "penalised-frank-wolfe"


@dataclass(frozen=True)
class NoisyGradientFrankWolfe:
    """Private Frank-Wolfe over the ball of any norm, with noisy gradients (Talwar et al. 2015, Algorithm 3).

    Neighbours: replace-one or add-remove. Sensitivity of the gradient of the mean loss: ``2 L R2 / n`` in scaled units.

    Proof: ``theory_of_privacy::noisy_gradients``.

    Parameters
    ----------
    n_iter : int, optional
        Number of steps T. None: a public rule that balances curvature and noise.
    radius : float, optional
        Size of the ball in scaled units; the intercept shares it. None: the estimator's, or the public default.
    average_gradients : bool, default True
        Whether a step uses a running mean of the noisy gradients: less noise, some delay. False: as in the paper.

    Examples
    --------
    >>> from dpsparse import NoisyGradientFrankWolfe, PrivateSparseClassifier
    >>> model = PrivateSparseClassifier(mechanism=NoisyGradientFrankWolfe(n_iter=30), bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).n_iter
    30
    """

    n_iter: int | None = None
    radius: float | None = None
    average_gradients: bool = True
    name: ClassVar[str] = "noisy-gradient-frank-wolfe"


@dataclass(frozen=True)
class MirrorDescent:
    """Private mirror descent over the ball of any norm, with noisy gradients (Talwar, Thakurta & Zhang 2014).

    Steps are made in the geometry of the ball: by a potential, half the squared q-norm over entries or groups with
    ``q = 1 + 1/ln(m)``, the negative entropy on the simplex, half the squared Euclidean norm elsewhere. Each ends with
    the Bregman projection on the ball, and the mean of the last half of the iterates is released; the intercept is kept
    within the radius by itself. With three or more classes each has a ball of its own. Neighbours: replace-one or
    add-remove. Sensitivity of the gradient of the mean loss: ``2 L R2 / n`` in scaled units. Potential and projection
    are post-processing.

    Proof: ``theory_of_privacy::noisy_gradients``.

    Parameters
    ----------
    n_iter : int, optional
        Number of steps T. None: as many as their total length takes, 100 to 3000.
    radius : float, optional
        Size of the ball in scaled units. None: the estimator's, or the public default.
    potential : {"auto", "p-norm", "entropy", "euclidean"}, default "auto"
        "auto": "p-norm" for ``norm="l1"``, ``DisjointGroups(...)``, ``GroupLasso(...)`` and ``Modular(...)``, "entropy"
        for ``norm="simplex"``, "euclidean" for other norms. What has no known projection raises.
    step : float, optional
        Length of a step in the dual space, in scaled units. None: a public rule.

    Examples
    --------
    >>> from dpsparse import MirrorDescent, PrivateSparseClassifier
    >>> model = PrivateSparseClassifier(mechanism=MirrorDescent(n_iter=120), bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).n_iter
    120
    """

    n_iter: int | None = None
    radius: float | None = None
    potential: str = "auto"
    step: float | None = None
    name: ClassVar[str] = "mirror-descent"


@dataclass(frozen=True)
class NoisyNewton:
    """Private Newton steps: second moments released once, then noisy gradients.

    Minimises ``mean loss + (ridge / 2) * |theta|**2`` with ``beta X'X / n`` in place of the Hessian, which it bounds
    (Boehning & Lindsay 1988). For the squared loss ``n_iter=1`` with ``residual_bound=1`` releases the sufficient
    statistics X'X and X'y (Wang 2018, AdaSSP). For ill-conditioned features, with moments at most 2047 of them; without
    them steps are those of gradient descent. Neighbours:
    replace-one or add-remove. Sensitivity: ``sqrt(2) R2**2`` of the moments in the Frobenius norm (``R2**2`` under
    add-remove), ``2 L R2 / n`` of the gradient of the mean loss; that of a ``start`` has the intercept's part of R2.

    Proof: ``theory_of_privacy::select_refit``.

    Parameters
    ----------
    n_iter : int, optional
        Number of steps T. None: 40, for two classes 160 up to 25 million entries of records, for more up to 100 where
        noise is small and records are few, without moments 50 to 300.
    share : float, optional
        Share of the zCDP budget for the moments, in [0, 1); 0: none are released. None: 0.07 of regressions with
        squared residuals and of three or more classes, 0.035 of others, and 0 for more than 512 columns.
    damping : float, optional
        Added to all eigenvalues, in units of the largest that the noise of the moments has, without moments of the
        bound on all of them; at least 1e-10. None: enough for steps to converge, or more where steps would follow the
        noise on the gradients.
    ridge : float, optional
        In scaled units, after private scales those of the public bounds. None: the estimator's, or 0. The intercept is
        not under it.
    threshold : float, optional
        Size of a prox of Omega that follows the release, in scaled units. None: 0.
    clip : float, optional
        Clamp of the derivative of the logistic loss, in (0, 1), which the noise is proportional to; the loss goes on
        linearly. With three or more classes the Euclidean norm of a record's slopes, one a class, is clamped at sqrt(2)
        times this. None: no clamp.
    line : float, optional
        Share of the zCDP budget, in (0, 1), for a last line: one factor for all coefficients and a constant, by a loss
        that is clamped less. It undoes what the clamp and the shrinkage of a noisy fit do to all coefficients at once.
        Where least squares clip features far out, another line is through scores of features that are clipped nearer,
        and what predicts better is taken, for .6 of this share besides.
        Needs an intercept. With three or more classes it is the factor alone, for scores around their means; it needs
        second moments, and no radius, alpha or ridge. None: no line.
    start : float, optional
        Share of the zCDP budget, in (0, 1), for the constant that steps start from: how common classes are, with the
        logistic loss or three or more classes, or how large counts are. Noise on such a count is far less than noise on
        the intercept in gradients. Needs an intercept. None: steps start at 0; "auto" takes 0.05 for two classes, 0.02
        for counts, and for three or more classes, whose line has no constants, 0.05 to 0.4: as much as finds a share to
        within a twentieth.
    radius : float, optional
        Largest norm of the coefficients; of those of all classes together, where there are three or more, and then of
        the l1 norm alone, weighted or not. Models are moved to the nearest one of the ball in the metric of the
        released curvature, which costs nothing. In scaled units, after private scales those of the public bounds. None:
        the estimator's, or no bound.
    alpha : float, optional
        Penalty per unit of that norm in place of a radius, in the same units. None: the estimator's, or 0.

    Examples
    --------
    >>> from dpsparse import NoisyNewton, PrivateSparseClassifier
    >>> model = PrivateSparseClassifier(mechanism=NoisyNewton(n_iter=20), bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).n_iter
    20
    """

    n_iter: int | None = None
    share: float | None = None
    damping: float | None = None
    ridge: float | None = None
    threshold: float | None = None
    clip: float | None = None
    line: float | None = None
    radius: float | None = None
    alpha: float | None = None
    start: float | None = None
    name: ClassVar[str] = "noisy-newton"


@dataclass(frozen=True)
class NoisyProximalGradient:
    """Private proximal gradient descent with noisy gradients (Bassily et al. 2014; Wang et al. 2017).

    Minimises ``mean loss + alpha * Omega(theta) + (ridge / 2) * |theta|**2`` with momentum; the mean of the last half
    of the iterates is released, with ``alpha`` after one more step from it that decides which coefficients are zero.
    Neighbours: replace-one or add-remove. Sensitivity of the gradient of the mean loss:
    ``2 L R2 / n``.

    Proof: ``theory_of_privacy::noisy_gradients``.

    Parameters
    ----------
    n_iter : int, optional
        Number of steps T. None: a public rule.
    alpha, ridge : float, optional
        Penalties in scaled units; after private scales those of the images, but for the l1 norm, weighted or not, with
        which they are in units of the public bounds still. None: the estimator's, or 0. The intercept is not penalised.
    step : float, optional
        Length of a step. None: a public rule.
    momentum : float, optional
        Share of the last move that a step repeats, at least 0 and below 1. None: 0.95.

    Examples
    --------
    >>> from dpsparse import NoisyProximalGradient, PrivateSparseClassifier
    >>> model = PrivateSparseClassifier(mechanism=NoisyProximalGradient(n_iter=50), bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).n_iter
    50
    """

    n_iter: int | None = None
    alpha: float | None = None
    ridge: float | None = None
    step: float | None = None
    momentum: float | None = None
    name: ClassVar[str] = "noisy-proximal-gradient"


@dataclass(frozen=True)
class OutputPerturbation:
    """Fit, then add noise (Chaudhuri et al. 2011; Kifer et al. 2012; Jain & Thakurta 2014, Theorem 1).

    Neighbours: replace-one; mode "ridge" also add-remove. Needs a catalogued loss and norm; ``LogDet`` and sums
    of unlike set functions, whose prox has no proved float error, are refused.

    Three or more classes (``loss="logistic"`` without a clamp) have a row of theta each and one release for all of
    them: L is sqrt(2), the largest Euclidean norm of a record's slopes, and Omega is summed over the classes.

    A norm alone does not make this private, although Theorem 1 of Kumar & Deisenroth (2019) says so: no norm is
    strongly convex. Take the logistic loss, the l1 norm with ``alpha=0.01`` and n - 1 records ``x = (1, 1)``, ``y =
    1``. Swapping the last record from ``(1, 0.5)`` to ``(0.5, 1)`` moves the minimiser from about ``(4.6, 0)`` to
    ``(0, 4.6)``, at n = 100 and at n = 1000 alike: no noise that falls with n can hide that. Hence ``ridge=0`` is
    refused in mode "ridge", and mode "early-stopping" takes a public number of steps instead.

    Proof: ``theory_of_privacy::output_perturbation``.

    Parameters
    ----------
    mode : {"ridge", "early-stopping"}, default "ridge"
        "ridge": the minimiser of ``mean loss + alpha * Omega + (ridge / 2) * |theta|**2`` (the intercept is under the
        ridge too), of sensitivity ``2 L R2 / (n ridge)``. "early-stopping": T proximal gradient steps of length eta, of
        sensitivity ``2 L R2 eta T / n``, which needs no ridge.
    noise : {"gaussian", "gamma", "laplace"}, default "gaussian"
        Law of the noise: (epsilon, delta), or pure epsilon for the other two ("gamma" up to a delta of ``1e-30 * (1 +
        exp(epsilon))`` for its floats).
    ridge, alpha : float, optional
        Penalties in scaled units. None: the estimator's; else a public rule for the ridge, and 0 for alpha.
    n_iter : int, optional
        T of mode "early-stopping". None: a public rule.
    threshold : float, optional
        Size of a prox of Omega that follows the release, in scaled units: post-processing, sparse again. None: 0.

    Examples
    --------
    >>> from dpsparse import OutputPerturbation, PrivateSparseClassifier
    >>> mechanism = OutputPerturbation(ridge=0.1, noise="laplace")
    >>> model = PrivateSparseClassifier(mechanism=mechanism, bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).mechanism
    'output-perturbation with ridge 0.100000'
    """

    mode: str = "ridge"
    noise: str = "gaussian"
    ridge: float | None = None
    alpha: float | None = None
    n_iter: int | None = None
    threshold: float | None = None
    name: ClassVar[str] = "output-perturbation"


@dataclass(frozen=True)
class ObjectivePerturbation:
    """Minimise a randomly tilted objective (Chaudhuri et al. 2011; Kifer et al. 2012; Redberg et al. 2023).

    The minimiser of ``mean loss + alpha * Omega + (ridge / 2) * |theta|**2 + <b, theta> / n``, b random, with a little
    noise on the output for the float error of the minimiser. Neighbours: replace-one or add-remove. Needs a catalogued
    Lipschitz loss and a catalogued norm, as :class:`OutputPerturbation` does.

    Proof: ``theory_of_privacy::objective_perturbation``.

    Parameters
    ----------
    noise : {"gaussian", "gamma"}, default "gaussian"
        Law of b: (epsilon, delta), or pure epsilon.
    ridge : float, optional
        In scaled units; the intercept is under it too. None: the estimator's, or a public rule.
    alpha : float, optional
        Penalty in scaled units. None: the estimator's, or 0.
    threshold : float, optional
        Size of a prox of Omega that follows the release, in scaled units. None: 0.
    clip : float, optional
        Clamp of the derivative of the logistic loss, in (0, 1), which the noise is proportional to; the loss goes on
        linearly. None: no clamp.

    Examples
    --------
    >>> from dpsparse import ObjectivePerturbation, PrivateSparseClassifier
    >>> mechanism = ObjectivePerturbation(ridge=0.01, clip=0.5)
    >>> model = PrivateSparseClassifier(mechanism=mechanism, bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).mechanism
    'objective-perturbation with ridge 0.010000 and derivatives of the logistic loss clamped at 0.5'
    """

    noise: str = "gaussian"
    ridge: float | None = None
    alpha: float | None = None
    threshold: float | None = None
    clip: float | None = None
    name: ClassVar[str] = "objective-perturbation"


@dataclass(frozen=True)
class SgdOutput:
    """Stochastic gradient descent over data-independent permutations, then noise (Wu et al. 2017, Algorithms 1 and 2).

    Neighbours: replace-one. Sensitivity: ``2 k eta L R2 / b`` without a ridge, ``2 L R2 / (n ridge)`` with one. Needs a
    catalogued loss. It knows no norm, and another than the default raises.

    Proof: ``theory_of_privacy::output_perturbation``.

    Parameters
    ----------
    noise : {"gaussian", "gamma", "laplace"}, default "gaussian"
        Law of the noise: (epsilon, delta), or pure epsilon for the other two ("gamma" up to a delta of ``1e-30 * (1 +
        exp(epsilon))`` for its floats).
    n_passes : int, optional
        Passes k over the data. None: 5.
    batch_size : int, optional
        Records b of a step. None: a public rule.
    ridge : float, optional
        In scaled units; the intercept is under it too. None: the estimator's, or 0.
    step : float, optional
        Length eta of a step without a ridge, at most ``2 / (beta R2**2)``. None: a public rule.

    Examples
    --------
    >>> from dpsparse import PrivateSparseClassifier, SgdOutput
    >>> model = PrivateSparseClassifier(mechanism=SgdOutput(n_passes=3, batch_size=100), bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).mechanism
    'sgd-output, 3 passes in batches of 100, ridge 0'
    """

    noise: str = "gaussian"
    n_passes: int | None = None
    batch_size: int | None = None
    ridge: float | None = None
    step: float | None = None
    name: ClassVar[str] = "sgd-output"


@dataclass(frozen=True)
class SelectRefit:
    """Select features or groups privately, then refit them alone.

    Neighbours: replace-one or add-remove. Needs a catalogued loss; ``norm`` is "l1" or disjoint groups.

    Proof: ``theory_of_privacy::select_refit``.

    Parameters
    ----------
    n_selected : int, optional
        Features, or groups, to select. None: a public rule.
    share : float, optional
        Share of the zCDP budget for the selection. None: a public constant.
    refit : {"objective-perturbation", "noisy-newton"}, optional
        How the selected features are refitted. None: by objective perturbation where it is proved (a Lipschitz loss,
        one record a person), else by noisy Newton steps.
    ridge : float, optional
        Ridge of the refit in scaled units. None: the estimator's; a public rule for objective perturbation, 0 for noisy
        Newton steps.
    clip : float, optional
        Clamp of the derivative of the logistic loss, in (0, 1), which the noise is proportional to; the loss goes on
        linearly. None: no clamp.

    Examples
    --------
    >>> from dpsparse import PrivateSparseClassifier, SelectRefit
    >>> model = PrivateSparseClassifier(mechanism=SelectRefit(n_selected=4), bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).events[0][1]  # choices
    4
    """

    n_selected: int | None = None
    share: float | None = None
    refit: str | None = None
    ridge: float | None = None
    clip: float | None = None
    name: ClassVar[str] = "select-refit"


@dataclass(frozen=True)
class DualFrankWolfe:
    """Private Frank-Wolfe on the dual (Kumar & Deisenroth 2019, Algorithms 1 and 2; Bach 2015).

    Minimises ``mean loss + alpha * Omega(theta) + (ridge / 2) * |theta|**2`` by Frank-Wolfe on its dual over ``K =
    alpha * |P|(F)`` (``alpha * B(F)`` for a cut). ``theta(s)``, the minimiser of mean loss, ridge and ``<s, theta>``,
    is the dual's gradient. It reads the data at every s, the last one included (Kumar & Deisenroth's Eq. (13) is no
    post-processing), so whatever leaves of it is paid for. Neighbours: replace-one or add-remove. Sensitivity of
    theta(s): ``2 L R2 / (n ridge)`` in scaled units. Needs a catalogued loss and ``ridge > 0``; the intercept is under
    the ridge and not in K. Under add-remove the true number of records is at most 16 times ``n_public``, which the
    certificate states.

    Proof: ``theory_of_privacy::minkowski`` and ``::dual``.

    Parameters
    ----------
    variant : {"noisy-iterates", "selection"}, default "noisy-iterates"
        "noisy-iterates": every step releases theta(s) with Gaussian noise and takes the greedy vertex at it, so any
        set function will do, a :class:`~dpsparse.set_functions.FromOracle` included; the weighted mean of the releases
        costs nothing more. "selection": every step chooses a vertex by exact exponential mechanisms, one per group
        (l1, linf, groups, trees, covers, contiguous ranges), edge (cuts) or size k of the signed k-subsets that concave
        functions of the cardinality sum up; one release of theta(s) follows, with three quarters of the budget.
    n_iter : int, optional
        Number of steps T. None: a public rule that balances what Frank-Wolfe leaves against the noise in a step;
        :func:`theorem_4_iterations` is the paper's.
    alpha : float, optional
        Penalty per unit of the norm, in scaled units. None: the estimator's. One of the two must be set.
    ridge : float, optional
        In scaled units. None: the estimator's, or a public rule.
    threshold : float, optional
        Size of a prox of Omega that follows the release, in scaled units: post-processing, sparse again. None: 0.

    Notes
    -----
    Excess of the penalised objective over its minimum and test accuracy, means of five seeds at delta 1e-6
    (``benches/dual_frank_wolfe.py``; T by the public rule):

    ===========  ===  =======  ==  ==============  ===========  ============  ==============
    problem      p    epsilon  T   noisy-iterates  selection    output pert.  noisy proximal
    ===========  ===  =======  ==  ==============  ===========  ============  ==============
    a9a, l1      123  1        13  .0136 .8354     .0247 .8380  .0159 .8321   .0148 .8332
    a9a, l1      123  4        33  .0039 .8358     .0069 .8351  .0032 .8342   .0176 .8339
    a9a, groups  123  1        18  .0139 .8347     .0235 .8366  .0123 .8336   .0171 .8314
    a9a, groups  123  4        46  .0038 .8348     .0083 .8351  .0022 .8355   .0114 .8334
    tree         64   1        10  .0461 .7640     .0603 .7586  .0454 .7634   .0107 .7920
    tree         64   4        23  .0070 .7964     .0115 .7938  .0087 .7944   .0032 .7976
    chain cut    64   1        27  .0595 .8159     .1010 .7974  .0701 .8128   .0092 .8406
    chain cut    64   4        67  .0130 .8394     .0249 .8375  .0157 .8407   .0023 .8441
    ===========  ===  =======  ==  ==============  ===========  ============  ==============

    "noisy-iterates" had the smaller excess on every one of these: the mean of its T releases has at most 4/3 of the
    variance of one release with the whole budget, whatever T, so that nothing is spent on choices alone. "selection"
    was level with it in accuracy on a9a only. Where the norm has a proved prox, :class:`OutputPerturbation` does
    as well in one step, and where rows are long for what they say (the dense synthetic sets),
    :class:`NoisyProximalGradient`, which puts no ridge on the intercept, does better than all. So this mechanism is
    for norms without such a prox and users' own set functions.

    Examples
    --------
    >>> from dpsparse import DualFrankWolfe, PrivateSparseClassifier
    >>> mechanism = DualFrankWolfe(alpha=0.01, ridge=0.05, n_iter=10)
    >>> model = PrivateSparseClassifier(mechanism=mechanism, bounds=(-1, 1), classes=(0, 1))
    >>> model.plan(10_000, 20).mechanism
    'dual-frank-wolfe by noisy iterates with penalty 0.01, ridge 0.050000, 10 iterations'
    """

    variant: str = "noisy-iterates"
    n_iter: int | None = None
    alpha: float | None = None
    ridge: float | None = None
    threshold: float | None = None
    name: ClassVar[str] = "dual-frank-wolfe"


def theorem_4_iterations(n_samples: int, epsilon: float, *, lipschitz: float, diameter: float, width: float) -> int:
    """Return the number of iterations of Kumar & Deisenroth 2019, Theorem 4.

    ``(diameter**4 * (n_samples * epsilon)**2 / (lipschitz * width)**2)**(1/3)``, at least 1, for Frank-Wolfe on the
    dual over K. It counts neither the ridge nor constants of the noise; the public rule of :class:`DualFrankWolfe`
    does. The theorem's privacy does not hold as printed: its equation (13) reads the data again.

    Parameters
    ----------
    n_samples : int
        Number of records n.
    epsilon : float
        Privacy parameter.
    lipschitz : float
        L1-Lipschitz constant of the dual: a bound on the largest entry of theta(s) over K, such as ``L R2 / ridge``.
    diameter : float
        Euclidean diameter of ``K = alpha |P|(F)``: ``2 * alpha * F.radius(2)``.
    width : float
        Gaussian width of K: ``alpha * F.gaussian_width().value``.

    Returns
    -------
    int

    Raises
    ------
    InvalidArgumentError
        If an argument is not positive and finite.

    Examples
    --------
    >>> from dpsparse.mechanisms import theorem_4_iterations
    >>> theorem_4_iterations(1000, 1.0, lipschitz=1.0, diameter=1.0, width=1.0)
    100
    """
    values = {"epsilon": epsilon, "lipschitz": lipschitz, "diameter": diameter, "width": width}
    floats = {name: number(name, value) for name, value in values.items()}
    for name, value in floats.items():
        if not 0.0 < value < math.inf:
            raise InvalidArgumentError(f"{name} must be positive and finite; got {value!r}")
    return _core.theorem_4_iterations(positive_integer("n_samples", n_samples), **floats)


Mechanism: TypeAlias = (
    FrankWolfe
    | PenalisedFrankWolfe
    | NoisyGradientFrankWolfe
    | MirrorDescent
    | NoisyNewton
    | NoisyProximalGradient
    | OutputPerturbation
    | ObjectivePerturbation
    | SgdOutput
    | SelectRefit
    | DualFrankWolfe
)

MECHANISMS: dict[str, type[Mechanism]] = {each.name: each for each in get_args(Mechanism)}

#: Mechanisms that neither penalise nor bound the norm of a model, nor select by it.
_WITHOUT_NORM = (SgdOutput,)

# What an estimator and a mechanism may both set.
_SHARED = ("n_iter", "radius", "alpha", "ridge")


@dataclass(frozen=True)
class _Auto:
    """The choice by public facts alone, which the Rust core makes (``dpsparse::auto``)."""

    name: ClassVar[str] = "auto"
    alpha: float | None = None
    radius: float | None = None
    ridge: float | None = None


def resolve(mechanism: Any, estimator: Any) -> Mechanism | _Auto:
    """Return the configured mechanism for a ``mechanism`` argument.

    "auto" leaves the choice to the core, unless the estimator sets what only some mechanisms use: ``alpha``, ``radius``
    and ``ridge`` mean noisy Newton steps after private scales; where these are not for it, ``alpha`` means
    penalised Frank-Wolfe, ``radius`` or ``n_iter`` Frank-Wolfe. Where the ball has no vertices to select among, or
    there is a ridge, these are noisy proximal gradients and Frank-Wolfe with noisy gradients.

    Raises
    ------
    InvalidArgumentError
        If it is neither a known name nor a mechanism object.
    """
    if isinstance(mechanism, Mechanism):
        return mechanism
    if isinstance(mechanism, str):
        if mechanism == "auto":
            vertices, is_function = _has_vertices(estimator), isinstance(estimator.norm, SetFunction)
            if _has_units_after_scales(estimator):
                return _Auto()
            if estimator.alpha is not None:
                by_vertices = isinstance(estimator.norm, str) and estimator.norm in ("l1", "simplex")
                penalised = vertices and by_vertices and estimator.ridge is None
                return PenalisedFrankWolfe() if penalised else NoisyProximalGradient()
            if estimator.radius is None and estimator.n_iter is None:
                return _Auto() if estimator.ridge is None else NoisyProximalGradient()
            if vertices:
                return FrankWolfe()
            # Without alpha a prox would leave a set function's norm out, which a ball of the default radius does not.
            in_ball = estimator.radius is not None or (is_function and estimator.ridge is None)
            return NoisyGradientFrankWolfe() if in_ball else NoisyProximalGradient()
        if mechanism in MECHANISMS:
            return MECHANISMS[mechanism]()
    known = ", ".join(repr(name) for name in ("auto", *MECHANISMS))
    raise InvalidArgumentError(f"mechanism must be one of {known} or a configured object such as FrankWolfe(n_iter=40)")


def _has_units_after_scales(estimator: Any) -> bool:
    """Return whether ``alpha``, ``radius`` or ``ridge`` under "auto" says something of a model after private scales.

    For norms of catalogued losses: there they are in units of the public bounds whatever the scales are, and gradients
    in these units are as far off as the bounds are wide.
    """
    weights = getattr(estimator, "feature_weights", None)
    loss = getattr(estimator, "loss", None)
    has_norm = (estimator.alpha is None) != (estimator.radius is None)  # which weights of features are of
    has_ridge = estimator.ridge is not None and estimator.alpha is None and estimator.radius is None
    return (
        (has_norm or (has_ridge and weights is None))
        and estimator.n_iter is None
        and isinstance(estimator.scale, str)
        and estimator.scale in ("auto", "private")
        and not isinstance(estimator.norm, Vertices)
        and not (isinstance(estimator.norm, str) and estimator.norm == "simplex")
        and (isinstance(loss, str) or (isinstance(loss, Loss) and not isinstance(loss, CustomLoss)))
        and flag("fit_intercept", estimator.fit_intercept)
        and (weights is None or estimator.radius is None or bool((checked_weights(weights) > 0.0).all()))
    )


def _has_vertices(estimator: Any) -> bool:
    """Return whether Frank-Wolfe may select among vertices."""
    others = ("l1_ratio", "feature_weights")
    plain = all(getattr(estimator, name, None) is None for name in others)
    positive = getattr(estimator, "positive", False)
    signed = isinstance(positive, bool | np.bool_) and bool(positive)
    norm = estimator.norm
    known = norm._core.has_vertices if isinstance(norm, SetFunction) else not isinstance(norm, GroupLasso)
    return plain and not signed and known


def specification(mechanism: Mechanism | _Auto, estimator: Any) -> tuple[str, str]:
    """Return the name and the options (a JSON object) that the Rust core takes.

    A field of the mechanism wins over the same parameter of the estimator.

    Raises
    ------
    InvalidArgumentError
        If both are set and differ, if the estimator sets one that the mechanism does not use, a norm among them, or if
        an option is not of its kind.
    """
    kinds = {field.name: str(field.type) for field in fields(mechanism)}
    options = {name: _option(name, kind, getattr(mechanism, name)) for name, kind in kinds.items()}
    for name in _SHARED:
        given = getattr(estimator, name)
        if given is None:
            continue
        if name not in options:
            instead = "radius" if name == "alpha" and "radius" in options else None
            hint = f", which takes {instead}" if instead else ""
            raise InvalidArgumentError(f"{name} is not used by {mechanism.name}{hint}; leave it at None")
        given = _option(name, kinds[name], given)
        if options[name] is not None and options[name] != given:
            raise InvalidArgumentError(f"{name} is set on the mechanism and on the estimator, to different values")
        options[name] = given
    _share_alpha(options, mechanism.name, getattr(estimator, "l1_ratio", None))
    _check_weighs(options, mechanism, getattr(estimator, "feature_weights", None))
    _check_norm(mechanism, getattr(estimator, "norm", "l1"))
    return mechanism.name, json.dumps(options)


def _share_alpha(options: dict[str, Any], name: str, l1_ratio: Any) -> None:
    """Share alpha out between the norm and a ridge that is tied to it: the elastic net."""
    if l1_ratio is None:
        return
    if not {"alpha", "ridge"} <= set(options):
        takers = ", ".join(kind.name for kind in get_args(Mechanism) if {"alpha", "ridge"} <= set(_names(kind)))
        raise InvalidArgumentError(f"l1_ratio is not used by {name}, which has no penalty with a ridge; use {takers}")
    ratio = number("l1_ratio", l1_ratio)
    if not 0.0 < ratio <= 1.0:
        raise InvalidArgumentError(f"l1_ratio must be above 0 and at most 1; got {l1_ratio!r}")
    alpha = optional_finite("alpha", options["alpha"])
    if alpha is None or options["ridge"] is not None:
        raise InvalidArgumentError("l1_ratio needs alpha, which it shares out, and excludes ridge")
    options["alpha"], options["ridge"] = alpha * ratio, alpha * (1.0 - ratio)


def _check_weighs(options: dict[str, Any], mechanism: Mechanism | _Auto, weights: Any) -> None:
    """Refuse weights of features where nothing is penalised, thresholded or bounded by the norm."""
    has_ball = "radius" in options and not isinstance(mechanism, NoisyNewton)  # of Newton steps it is optional
    if weights is None or isinstance(mechanism, _Auto) or has_ball:
        return
    users = [name for name in ("alpha", "radius", "threshold") if name in options]
    if not any(options[name] for name in users):
        without = f" without {' or '.join(users)}" if users else ""
        raise InvalidArgumentError(f"feature_weights is not used by {mechanism.name}{without}; leave it at None")


def _check_norm(mechanism: Mechanism | _Auto, norm: Any) -> None:
    """Refuse a norm that was asked for where no option of the mechanism could be about it."""
    if isinstance(mechanism, _WITHOUT_NORM) and not (isinstance(norm, str) and norm == "l1"):
        raise InvalidArgumentError(f"norm is not used by {mechanism.name}; leave it at 'l1'")


def _names(kind: type[Mechanism]) -> list[str]:
    return [field.name for field in fields(kind)]


def short_name(description: str) -> str:
    """Return the name of the first mechanism in a plan's description; without one, what stands before a comma."""
    found = [(description.index(name), -len(name), name) for name in MECHANISMS if name in description]
    return min(found)[2] if found else description.split(",")[0]


def _option(name: str, kind: str, value: Any) -> Any:
    """Check an option by its declared kind, so that the error names it."""
    if kind == "int | None":
        return None if value is None else positive_integer(name, value)
    if kind == "float | None":
        return optional_finite(name, value)
    if kind == "str | None":
        return value if value is None or isinstance(value, str) else repr(value)
    if kind == "bool":
        return flag(name, value)
    return value if isinstance(value, str) else None
