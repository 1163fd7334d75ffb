"""What plans were made of: they pickle as that, and are planned anew where they are read."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from dpsparse._core import InvalidArgumentError
from dpsparse.errors import DefaultBoundsWarning

__all__ = ["Origin", "made_by", "origin_of", "parts_of", "reduced"]

Planned = TypeVar("Planned")


@dataclass(frozen=True)
class Origin:
    """An estimator's parameters as they were, and what its ``plan`` was asked.

    Parameters
    ----------
    kind : type
        The estimator.
    parameters : dict
        Its parameters; no ledger, which plans have no use for.
    n_samples : int
    n_features : int or None
    part : tuple of str and int, optional
        Attribute of the plan and place in it, of one that is a part of the plan of a search.
    """

    kind: type
    parameters: dict[str, Any]
    n_samples: int
    n_features: int | None
    part: tuple[str, int] | None = None

    def planned(self) -> Any:
        """Plan anew. What was warned of when the plan was made is not warned of again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DefaultBoundsWarning)
            plan = self.kind(**self.parameters).plan(self.n_samples, self.n_features)
        if self.part is None:
            return plan
        attribute, place = self.part
        return getattr(plan, attribute)[place]


def made_by(plan: Planned, estimator: Any, n_samples: int, n_features: int | None) -> Planned:
    """Let a plan know its estimator's parameters, as they are now, and return it."""
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name != "ledger"}
    object.__setattr__(plan, "_origin", Origin(type(estimator), parameters, n_samples, n_features))
    return plan


def parts_of(plan: Any, *attributes: str) -> None:
    """Let the plans that a plan consists of know that they are parts of it."""
    for attribute in attributes:
        for place, part in enumerate(getattr(plan, attribute)):
            object.__setattr__(part, "_origin", replace(plan._origin, part=(attribute, place)))


def origin_of(plan: Any) -> Origin | None:
    """Return what a plan was made of, where an estimator's ``plan`` made it and it is no part of another one."""
    origin: Origin | None = getattr(plan, "_origin", None)
    return None if origin is None or origin.part is not None else origin


def reduced(self: Any) -> tuple[Any, ...]:
    """Return what a pickle holds of a plan: the parameters and sizes, of which it is planned anew where it is read.

    Another version of the package may plan otherwise: what was read says what a fit there would do and cost.
    """
    origin = getattr(self, "_origin", None)
    if origin is None:
        raise InvalidArgumentError("plan must be made by the method plan of an estimator to be pickled")
    return Origin.planned, (origin,)
