"""HTML of plans and certificates for notebooks, curves of plans, and costs as events of another package.

All are classes of the compiled core, which knows no HTML, no estimators and no other packages: ``_repr_html_``,
``Plan.curve``, and ``to_dp_accounting`` of certificates and accountants, are set here, once, when the package is
imported. These are the only changes that Python makes to classes of the core, and they change nothing that is recorded.
"""

from __future__ import annotations

from typing import Any

from dpsparse._core import Accountant, Certificate, Plan, ScalerPlan
from dpsparse.privacy._dp_accounting import to_dp_accounting
from dpsparse.words import html
from dpsparse.words.certificate import event_sentences, sentences
from dpsparse.words.curve import plan_curve

__all__ = ["attach", "certificate_html", "model_html", "plan_html"]


def certificate_html(certificate: Certificate) -> str:
    """Return a certificate's sentences as HTML."""
    return html.block("Certificate", html.paragraphs(sentences(certificate)))


def plan_html(plan: Any) -> str:
    """Return a plan's numbers and what its events will mean, as HTML."""
    facts: list[tuple[str, Any]] = [("mechanism", plan.mechanism)]
    facts += [("epsilon", float(plan.epsilon)), ("delta", float(plan.delta))]
    for name, shown in (("n_samples", "records"), ("n_train", "records to train"), ("n_held_out", "records held out")):
        if hasattr(plan, name):
            facts.append((shown, str(getattr(plan, name))))
    if hasattr(plan, "n_iter"):
        facts.append(("iterations", str(plan.n_iter)))
    if hasattr(plan, "noise_scales") and plan.noise_scales:
        facts.append(("largest noise scale", float(max(plan.noise_scales))))
    if hasattr(plan, "predicted_excess_risk"):
        facts.append(("predicted excess risk, in units of the mean loss", float(plan.predicted_excess_risk)))
    return html.block("Plan", html.table(("what", "value"), facts), html.paragraphs(event_sentences(plan.events)))


def model_html(model: Any) -> str:
    """Return the table of a fitted model and, for private ones, its certificate as HTML; nothing before a fit."""
    if not hasattr(model, "coef_"):
        return ""
    from dpsparse.words.summary import summarise

    parts = [str(summarise(model, only_support=True)._repr_html_())]
    if isinstance(getattr(model, "certificate_", None), Certificate):
        parts.append(html.block("Certificate", html.paragraphs(sentences(model))))
    return "".join(parts)


def attach() -> None:
    """Give plans and certificates their HTML, plans their curves, and costs their way out; once, at import."""
    Plan.curve = plan_curve  # type: ignore[method-assign]
    Certificate.to_dp_accounting = to_dp_accounting  # type: ignore[method-assign]
    Accountant.to_dp_accounting = to_dp_accounting  # type: ignore[method-assign]
    Certificate._repr_html_ = certificate_html  # type: ignore[attr-defined]
    Plan._repr_html_ = plan_html  # type: ignore[attr-defined]
    ScalerPlan._repr_html_ = plan_html  # type: ignore[attr-defined]
