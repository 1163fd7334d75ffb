"""Models, certificates and plans in words: tables of coefficients, sentences about privacy, HTML for notebooks.

Everything here is post-processing of what was released, and of public facts: it reads no record and costs no privacy.
"""

from typing import TYPE_CHECKING

from dpsparse._lazy import late_names

if TYPE_CHECKING:
    from dpsparse.words.certificate import explain
    from dpsparse.words.curve import PlanCurve
    from dpsparse.words.summary import Summary, summarise
else:  # for the sake of what is attached to the core when the package is imported
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "PlanCurve": "dpsparse.words.curve",
            "Summary": "dpsparse.words.summary",
            "explain": "dpsparse.words.certificate",
            "summarise": "dpsparse.words.summary",
        },
    )

__all__ = ["PlanCurve", "Summary", "explain", "summarise"]
