"""What the papers' theorems predict, with explicit constants: penalties, iterations, excess risks. All of it is public.

Papers: Talwar, Thakurta & Zhang 2015 (TTZ), Jain & Thakurta 2014 (JT), Kumar & Deisenroth 2019 (KD). They state orders
of magnitude, and some of their noise scales are not proved; the excess risks here are those of the mended mechanisms,
and ``plan()`` reports them by the same formulas.

Excess risks are of the mean training loss in scaled units.

>>> from dpsparse import theory
>>> theory.suggested_alpha(3.5, n_samples=10_000, row_norm=2.0)
0.005714285714285714
>>> round(theory.polytope_iterations(1.0, 1.0, n_samples=10_000, epsilon=1.0))
464
"""

from __future__ import annotations

from dpsparse import _core
from dpsparse._core import InvalidArgumentError
from dpsparse._inputs import count
from dpsparse._validation import number
from dpsparse.mechanisms import theorem_4_iterations
from dpsparse.set_functions import Estimate, SetFunction

__all__ = [
    "gaussian_width",
    "noisy_gradient_excess_risk",
    "polytope_iterations",
    "ridge_excess_risk",
    "selection_excess_risk",
    "suggested_alpha",
    "theorem_4_iterations",
    "width_iterations",
]


def gaussian_width(function: SetFunction, n_samples: int = 10_000, random_state: int | None = None) -> Estimate:
    """Return ``E f(|b|)``, b standard normal: the Gaussian width of ``|P|(F)``, the dual norm's ball (KD, Theorem 1).

    ``p * sqrt(2 / pi)`` for ``F = |A|``, which KD states as O(p); about ``sqrt(2 ln 2p)`` for ``min(|A|, 1)``. See
    :meth:`dpsparse.set_functions.SetFunction.gaussian_width`, which this is.

    Raises
    ------
    InvalidArgumentError
        For what is no set function, fewer than 2 samples where draws are needed, and no seed.

    Examples
    --------
    >>> from dpsparse import theory
    >>> from dpsparse.set_functions import Cardinality
    >>> round(theory.gaussian_width(Cardinality(4)).value, 3)  # 4 sqrt(2 / pi)
    3.192
    """
    if not isinstance(function, SetFunction):
        raise InvalidArgumentError(f"function must be a set function, got {type(function).__name__}")
    return function.gaussian_width(n_samples=n_samples, random_state=random_state)


def suggested_alpha(width: SetFunction | float, *, n_samples: int, row_norm: float, lipschitz: float = 1.0) -> float:
    """Return the penalty ``alpha = lipschitz * row_norm / (sqrt(n) * width)`` of KD, Theorem 1.

    The paper's lambda is ``n * alpha``. It depends on public facts alone, so it costs no privacy. Only the choice of
    the penalty is the theorem's: its output perturbation without a ridge is **not private** as printed, because a norm
    is not strongly convex; :class:`dpsparse.OutputPerturbation` refuses it and keeps the promise by a ridge or by early
    stopping.

    Parameters
    ----------
    width : SetFunction or float
        Gaussian width of ``|P|(F)``, or the set function F itself.
    n_samples : int
        Number of records n.
    row_norm : float
        Bound on the Euclidean norm of a scaled row.
    lipschitz : float, default 1.0
        Lipschitz constant of the loss.

    Raises
    ------
    InvalidArgumentError
        If an argument is not positive and finite.

    Examples
    --------
    >>> from dpsparse import theory
    >>> round(theory.suggested_alpha(3.5, n_samples=10_000, row_norm=2.0), 6)
    0.005714
    """
    size = gaussian_width(width).value if isinstance(width, SetFunction) else number("width", width)
    n = count("n_samples", n_samples)
    return _core.theory_suggested_alpha(number("lipschitz", lipschitz), number("row_norm", row_norm), n, size)


def polytope_iterations(curvature: float, scale: float, *, n_samples: int, epsilon: float) -> float:
    """Return T of TTZ, Theorem 2.5: ``(curvature * n * epsilon / (L1 |C|_1)) ** (2 / 3)``.

    What ``plan()`` of "frank-wolfe" takes instead minimises :func:`selection_excess_risk`: the same rate with the
    constants of the exact exponential mechanism. The Laplace scale that the theorem goes with is not proved under
    replace-one.

    Parameters
    ----------
    curvature : float
        Curvature constant of the mean loss over the polytope.
    scale : float
        ``L1 |C|_1``: l1-Lipschitz constant of the loss times the largest l1 norm of a vertex.
    n_samples : int
        Number of records n.
    epsilon : float
        Privacy parameter.

    Raises
    ------
    InvalidArgumentError
        If ``curvature``, ``scale`` or ``epsilon`` is not positive and finite, or ``n_samples`` no positive integer.

    Examples
    --------
    >>> from dpsparse import theory
    >>> round(theory.polytope_iterations(1.0, 1.0, n_samples=10_000, epsilon=1.0))
    464
    """
    return _iterations(curvature, scale, n_samples, epsilon)


def width_iterations(curvature: float, scale: float, *, n_samples: int, epsilon: float) -> float:
    """Return T of TTZ, Theorem 2.6: ``(curvature * n * epsilon / (L2 G_C)) ** (2 / 3)``.

    G_C is the Gaussian width of the constraint set, L2 the l2-Lipschitz constant of the loss. What ``plan()`` of
    "noisy-gradient-frank-wolfe" takes instead minimises :func:`noisy_gradient_excess_risk`; the theorem's
    ``sigma**2 = 32 L2 T log(T / delta)**2 / (n epsilon)**2`` should have ``L2**2``.

    Raises
    ------
    InvalidArgumentError
        As of :func:`polytope_iterations`.

    Examples
    --------
    >>> from dpsparse import theory
    >>> round(theory.width_iterations(1.0, 2.0, n_samples=10_000, epsilon=1.0))
    292
    """
    return _iterations(curvature, scale, n_samples, epsilon)


def selection_excess_risk(
    curvature: float, n_iter: int, log_candidates: float, sensitivity: float, rho: float
) -> float:
    """Return ``2 curvature / (T + 2) + 2 D ln|S| sqrt(T / (8 rho))``: TTZ, Theorem 2.5, for exact selection.

    Parameters
    ----------
    curvature : float
        Curvature constant of the mean loss over the polytope.
    n_iter : int
        Number of steps T.
    log_candidates : float
        ``ln|S|``, the logarithm of the number of vertices.
    sensitivity : float
        D: how far one record moves a score of the mean loss.
    rho : float
        zCDP budget of all steps, see :func:`dpsparse.privacy.rho_from_epsilon`.

    Raises
    ------
    InvalidArgumentError
        If a number is not positive and finite (``log_candidates`` may be 0), or ``n_iter`` no positive integer.

    Examples
    --------
    >>> from dpsparse import theory
    >>> round(theory.selection_excess_risk(1.0, 50, 3.7, 1e-4, 0.02), 4)
    0.0515
    """
    return _core.theory_selection_excess(
        number("curvature", curvature),
        count("n_iter", n_iter),
        number("log_candidates", log_candidates),
        number("sensitivity", sensitivity),
        number("rho", rho),
    )


def noisy_gradient_excess_risk(curvature: float, n_iter: int, width: float, noise: float) -> float:
    """Return ``2 curvature / (T + 2) + 2 width noise``: TTZ, Theorem 2.6, with the noise that a fit really has.

    Parameters
    ----------
    curvature : float
        Curvature constant of the mean loss over the ball.
    n_iter : int
        Number of steps T.
    width : float
        Gaussian width of the ball.
    noise : float
        Standard deviation of the noise on an entry of the mean gradient that a step uses.

    Raises
    ------
    InvalidArgumentError
        If ``curvature`` is not positive and finite, ``width`` or ``noise`` negative or not finite, or ``n_iter`` no
        positive integer.

    Examples
    --------
    >>> from dpsparse import theory
    >>> round(theory.noisy_gradient_excess_risk(1.0, 50, 2.0, 0.01), 4)
    0.0785
    """
    return _core.theory_gradient_excess(
        number("curvature", curvature), count("n_iter", n_iter), number("width", width), number("noise", noise)
    )


def ridge_excess_risk(
    *,
    n_columns: int,
    distance: float,
    ridge: float,
    trace: float,
    floor: float = 0.0,
    tilt: float = 0.0,
    output: float = 0.0,
) -> float:
    """Return what a ridge and noise cost a quadratic risk: JT, Theorems 1 and 2, with constants.

    ``(ridge * distance**2 + p * tilt**2 / (floor + ridge) + (trace + p * ridge) * output**2) / 2``. The data's part of
    the output noise, ``trace * output**2 / 2``, is free of p, because the trace is at most beta R2^2: that is JT's
    point about Gaussian noise. Gamma noise has an ``output`` that grows like ``sqrt(p)``. Early-stopped descent is a
    ridge of one over its total length.

    Parameters
    ----------
    n_columns : int
        Number of columns p, the intercept included.
    distance : float
        Euclidean norm of the model compared with.
    ridge : float
        Factor of ``|theta|**2 / 2``.
    trace : float
        Trace of the Hessian of the mean loss.
    floor : float, default 0.0
        Its smallest curvature, or one that stands for the flat directions.
    tilt, output : float, default 0.0
        Standard deviation of the noise on an entry of the gradient, and of the released point.

    Raises
    ------
    InvalidArgumentError
        If ``ridge`` is not positive and finite, another number negative or not finite, or ``n_columns`` no positive
        integer.

    Examples
    --------
    >>> from dpsparse import theory
    >>> round(theory.ridge_excess_risk(n_columns=20, distance=1.0, ridge=0.01, trace=0.25, output=0.1), 5)
    0.00725
    """
    return _core.theory_ridge_excess(
        count("n_columns", n_columns),
        number("trace", trace),
        number("floor", floor),
        number("distance", distance),
        number("ridge", ridge),
        number("tilt", tilt),
        number("output", output),
    )


def _iterations(curvature: float, scale: float, n_samples: int, epsilon: float) -> float:
    n = count("n_samples", n_samples)
    return _core.theory_iterations(
        number("curvature", curvature), n, number("epsilon", epsilon), number("scale", scale)
    )
