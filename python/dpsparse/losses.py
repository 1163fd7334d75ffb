"""Losses as objects, for a shape parameter other than the default, and users' own losses.

By name: ``"logistic"``, ``"clipped-logistic"`` (derivatives at most 0.5), ``"hinge"`` (smoothed quadratically over
width 0.5), ``"squared"`` (always ``(1/2)(z - y)**2``), ``"huber"`` (threshold 1), ``"absolute"`` (huber with
threshold 0.1) and ``"pinball"`` (the median). ``"poisson"`` is the loss of the estimators for counts. The catalogue
lives in the Rust core: a loss that is added there can be used by name without any change here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from dpsparse._core import InvalidArgumentError
from dpsparse._validation import number

__all__ = ["ClippedLogistic", "CustomLoss", "Hinge", "Huber", "Logistic", "Loss", "Pinball", "Squared"]

Derivative: TypeAlias = Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64]], npt.ArrayLike]


@dataclass(frozen=True)
class Logistic:
    """Logistic loss ``ln(1 + exp(-y z))``: Lipschitz constant 1, smoothness 1/4.

    Examples
    --------
    >>> from dpsparse import Logistic, SparseClassifier
    >>> X = [[-2.0], [-1.0], [1.0], [2.0]]
    >>> SparseClassifier(loss=Logistic(), alpha=0.01).fit(X, [0, 0, 1, 1]).predict([[3.0]])
    array([1])
    """

    name: ClassVar[str] = "logistic"


@dataclass(frozen=True)
class ClippedLogistic:
    """Logistic loss with its derivative clamped: linear for records far on the wrong side.

    Parameters
    ----------
    bound : float, default 0.5
        Largest size of the derivative, in (0, 1): the Lipschitz constant, which the noise is proportional to. 0.5 is
        its size at margin 0.

    Examples
    --------
    >>> from dpsparse import ClippedLogistic, SparseClassifier
    >>> X = [[-2.0], [-1.0], [1.0], [2.0]]
    >>> SparseClassifier(loss=ClippedLogistic(bound=0.3), alpha=0.01).fit(X, [0, 0, 1, 1]).predict([[3.0]])
    array([1])
    """

    bound: float = 0.5
    name: ClassVar[str] = "clipped-logistic"


@dataclass(frozen=True)
class Hinge:
    """Hinge loss, smoothed quadratically over ``width`` below the kink: Lipschitz constant 1, smoothness 1/width.

    Parameters
    ----------
    width : float, default 0.5
        Width of the parabola, positive, in units of the margin.

    Examples
    --------
    >>> from dpsparse import Hinge, SparseClassifier
    >>> X = [[-2.0], [-1.0], [1.0], [2.0]]
    >>> SparseClassifier(loss=Hinge(width=0.2), alpha=0.01).fit(X, [0, 0, 1, 1]).predict([[3.0]])
    array([1])
    """

    width: float = 0.5
    name: ClassVar[str] = "hinge"


@dataclass(frozen=True)
class Squared:
    """Squared loss ``(1/2)(z - y)**2``; private fits clamp the residual at ``residual_bound``.

    Examples
    --------
    >>> from dpsparse import SparseRegressor, Squared
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = SparseRegressor(loss=Squared(), alpha=0.01).fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> float(model.coef_[0].round(1))
    2.0
    """

    name: ClassVar[str] = "squared"


@dataclass(frozen=True)
class Huber:
    """Huber's loss: quadratic up to ``threshold``, linear beyond it.

    Parameters
    ----------
    threshold : float, default 1.0
        Where the loss turns linear, positive, which is also its Lipschitz constant. Private regressors map targets to
        [-1, 1] first, so it is in those units there, or in units of the spread of the targets, about one standard
        deviation, where that is released (``scale``); exact ones use it in the user's units.

    Examples
    --------
    >>> from dpsparse import Huber, SparseRegressor
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = SparseRegressor(loss=Huber(threshold=0.5), alpha=0.01).fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> float(model.coef_[0].round(1))
    2.0
    """

    threshold: float = 1.0
    name: ClassVar[str] = "huber"


@dataclass(frozen=True)
class Pinball:
    """Pinball loss of quantile regression, smoothed: Lipschitz constant max(level, 1 - level), smoothness 1/width.

    Its derivative rises from ``-level`` to ``1 - level`` while z - y goes from ``-width/2`` to ``width/2``: predictions
    are quantiles of the targets with uniform noise of that width added.

    Parameters
    ----------
    level : float, default 0.5
        Which quantile, in (0, 1); 0.5 is the median.
    width : float, default 0.1
        Width of the smoothing, positive. Private regressors map targets to [-1, 1] first, so it is in those units
        there, or in units of the spread of the targets where that is released (``scale``); exact ones use it in the
        user's units.

    Examples
    --------
    >>> from dpsparse import Pinball, SparseRegressor
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = SparseRegressor(loss=Pinball(level=0.5, width=0.1), alpha=0.01).fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> float(model.coef_[0].round(1))
    2.0
    """

    level: float = 0.5
    width: float = 0.1
    name: ClassVar[str] = "pinball"


@dataclass(frozen=True)
class CustomLoss:
    """A user's own loss, known by its derivative.

    The derivative is called once, on a public grid of margins and targets, **before any record is read**; fits use
    the table (linear interpolation). It cannot see, couple, log or leak records whatever it does: NaN becomes 0 and
    every entry is clamped to ``[-lipschitz, lipschitz]`` (``theory_of_privacy::records``).

    Parameters
    ----------
    derivative : callable
        Maps two float64 arrays ``(z, y)`` of one shape to the array of derivatives ``dl/dz``. ``y`` holds -1 and +1 for
        classifiers and values in [-1, 1] for regressors.
    lipschitz : float, default 1.0
        Bound on the derivative, positive. Larger values are clamped to it.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import CustomLoss, PrivateSparseRegressor
    >>> loss = CustomLoss(lambda z, y: np.tanh(z - y))
    >>> model = PrivateSparseRegressor(loss=loss, bounds=(-1, 1), y_bounds=(0, 10))
    >>> model.plan(10_000, 20).epsilon
    1.0
    """

    derivative: Derivative
    lipschitz: float = 1.0
    name: ClassVar[str] = "user"


Loss: TypeAlias = Logistic | ClippedLogistic | Hinge | Squared | Huber | Pinball | CustomLoss


def catalogued(loss: Any) -> tuple[str, list[float]]:
    """Catalogue name and shape parameters of a loss given by name or as an object.

    Raises
    ------
    InvalidArgumentError
        If it is neither, or a user's own loss.
    """
    if isinstance(loss, str):
        return loss, []
    if isinstance(loss, Loss) and not isinstance(loss, CustomLoss):
        given = [(field.name, getattr(loss, field.name)) for field in fields(loss)]
        return loss.name, [number(name, value) for name, value in given]
    raise InvalidArgumentError(
        f"loss must be a catalogued name or an object of dpsparse.losses, got {type(loss).__name__}"
    )


def specification(loss: Any) -> tuple[str, list[float]] | tuple[Derivative, float]:
    """Return what the Rust core takes: a catalogued loss or a user's derivative with its Lipschitz constant."""
    if isinstance(loss, CustomLoss):
        return loss.derivative, number("lipschitz", loss.lipschitz)
    if callable(loss) and not isinstance(loss, type):
        return loss, 1.0
    return catalogued(loss)
