"""HTML of plans and certificates for notebooks, pickles and curves of plans, and costs as events of another package.

All are classes of the compiled core, which knows no HTML, no estimators and no other packages: ``_repr_html_``,
``__reduce__`` of plans, ``Plan.curve``, and ``to_dp_accounting`` of certificates and accountants, are set here, once,
when the package is imported. These are the only changes that Python makes to classes of the core, and they change
nothing that is recorded.
"""

from __future__ import annotations

from dpsparse._core import Accountant, Certificate, GreedyPlan, Plan, ScalerPlan, SubmodularPlan
from dpsparse._lazy import LateMethod

__all__ = ["attach"]

#: Classes, the methods that they are given, and where these are: imported when they are first asked for.
_METHODS = (
    (Plan, "__reduce__", "dpsparse._origin", "reduced"),
    (ScalerPlan, "__reduce__", "dpsparse._origin", "reduced"),
    (GreedyPlan, "__reduce__", "dpsparse._origin", "reduced"),
    (SubmodularPlan, "__reduce__", "dpsparse._origin", "reduced"),
    (Plan, "curve", "dpsparse.words.curve", "plan_curve"),
    (Plan, "_repr_html_", "dpsparse.words.notebook", "plan_html"),
    (ScalerPlan, "_repr_html_", "dpsparse.words.notebook", "plan_html"),
    (Certificate, "_repr_html_", "dpsparse.words.notebook", "certificate_html"),
    (Certificate, "to_dp_accounting", "dpsparse.privacy._dp_accounting", "to_dp_accounting"),
    (Accountant, "to_dp_accounting", "dpsparse.privacy._dp_accounting", "to_dp_accounting"),
)


def attach() -> None:
    """Give plans and certificates their HTML, plans pickles and curves, and costs their way out; once, at import."""
    for kind, name, module, function in _METHODS:
        LateMethod(module, function).attach(kind, name)
