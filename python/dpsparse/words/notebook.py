"""HTML of plans, certificates and models for notebooks."""

from __future__ import annotations

from typing import Any

from dpsparse._core import Certificate
from dpsparse.words import html
from dpsparse.words.certificate import event_sentences, sentences
from dpsparse.words.summary import summarise

__all__ = ["certificate_html", "model_html", "plan_html"]


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
    if hasattr(plan, "memory"):
        facts.append(("memory for records in a dense table, at most", f"{plan.memory / 1e6:.4g} MB"))
    if hasattr(plan, "noise_scales") and plan.noise_scales:
        facts.append(("largest noise scale", float(max(plan.noise_scales))))
    if hasattr(plan, "predicted_excess_risk"):
        facts.append(("predicted excess risk, in units of the mean loss", float(plan.predicted_excess_risk)))
    return html.block("Plan", html.table(("what", "value"), facts), html.paragraphs(event_sentences(plan.events)))


def model_html(model: Any) -> str:
    """Return the table of a fitted model and, for private ones, its certificate as HTML; nothing before a fit."""
    if not hasattr(model, "coef_"):
        return ""
    parts = [str(summarise(model, only_support=True)._repr_html_())]
    if isinstance(getattr(model, "certificate_", None), Certificate):
        parts.append(html.block("Certificate", html.paragraphs(sentences(model))))
    return "".join(parts)
