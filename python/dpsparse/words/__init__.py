"""Models, certificates and plans in words: tables of coefficients, sentences about privacy, HTML for notebooks.

Everything here is post-processing of what was released, and of public facts: it reads no record and costs no privacy.
"""

from dpsparse.words.certificate import explain
from dpsparse.words.curve import PlanCurve
from dpsparse.words.summary import Summary, summarise

__all__ = ["PlanCurve", "Summary", "explain", "summarise"]
