"""A fit ends with a whole model, or leaves its estimator as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["whole_or_nothing"]

Fit = TypeVar("Fit", bound=Callable[..., Any])


def whole_or_nothing(fit: Fit) -> Fit:
    """Let a method ``fit`` that raises, Ctrl-C included, leave every attribute as it was.

    Without it a second fit that is stopped would leave the coefficients of the first beside the feature names of the
    second.
    """

    @wraps(fit)
    def guarded(self: Any, *arguments: Any, **named: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *arguments, **named)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Fit, guarded)
