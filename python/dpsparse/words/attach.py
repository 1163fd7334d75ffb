"""HTML of plans and certificates for notebooks, and curves of plans.

All are classes of the compiled core, which knows no HTML and no estimators: ``_repr_html_``, and ``Plan.curve``, are
set here, once, when the package is imported. These are the only changes that Python makes to classes of the core, and
they change nothing that is recorded.
"""

from __future__ import annotations

from dpsparse._core import Certificate, Plan, ScalerPlan
from dpsparse._lazy import LateMethod

__all__ = ["attach"]

#: Classes, the methods that they are given, and where these are: imported when they are first asked for.
_METHODS = (
    (Plan, "curve", "dpsparse.words.curve", "plan_curve"),
    (Plan, "_repr_html_", "dpsparse.words.notebook", "plan_html"),
    (ScalerPlan, "_repr_html_", "dpsparse.words.notebook", "plan_html"),
    (Certificate, "_repr_html_", "dpsparse.words.notebook", "certificate_html"),
)


def attach() -> None:
    """Give plans and certificates their HTML, and plans their curves; once, at import."""
    for kind, name, module, function in _METHODS:
        LateMethod(module, function).attach(kind, name)
