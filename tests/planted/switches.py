"""Many bugs in one build: each waits behind a switch that an environment variable turns."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bugs import Bug

VARIABLE = "DPSPARSE_PLANTED"

# Switches bring parentheses and dead ends that lints dislike.
QUIET = "#![allow(warnings)]\n"

# The switchboard, a module of the copy alone. Read once: bugs sit in inner loops.
MODULE = f"""
pub(crate) mod planted {{
    /// Whether the bug of this number is planted in this run.
    pub(crate) fn is(number: usize) -> bool {{
        static CHOSEN: std::sync::LazyLock<Option<usize>> =
            std::sync::LazyLock::new(|| std::env::var("{VARIABLE}").ok()?.parse().ok());
        *CHOSEN == Some(number)
    }}
}}
"""


@dataclass
class _Span:
    """A stretch of a file, the bugs that replace it as a whole, and the stretches inside it."""

    start: int
    end: int
    bugs: list[tuple[int, Bug]] = field(default_factory=list)
    inside: list["_Span"] = field(default_factory=list)

    def add(self, start: int, end: int, number: int, bug: Bug) -> None:
        """Spans come outermost first."""
        for span in self.inside:
            if (span.start, span.end) == (start, end):
                span.bugs.append((number, bug))
                return
            if span.start <= start and end <= span.end:
                span.add(start, end, number, bug)
                return
        self.inside.append(_Span(start, end, [(number, bug)]))

    def written(self, text: str) -> str:
        """The stretch of `text` with its switches."""
        pieces, at = [], self.start
        for span in sorted(self.inside, key=lambda span: span.start):
            pieces += [text[at : span.start], span.written(text)]
            at = span.end
        code = "".join([*pieces, text[at : self.end]])
        if not self.bugs:
            return code
        choices = " else ".join(f"if crate::planted::is({number}) {{ {bug.new} }}" for number, bug in self.bugs)
        switched = f"{choices} else {{ {code} }}"
        return switched if self.bugs[0][1].statement else f"({switched})"


def with_switches(text: str, bugs: Sequence[tuple[int, Bug]]) -> str:
    """`text` of a Rust file with each (number, bug) behind its switch; `old` of every bug occurs once in it."""
    whole = _Span(0, len(text))
    spans = [(text.index(bug.old), text.index(bug.old) + len(bug.old), number, bug) for number, bug in bugs]
    for span in sorted(spans, key=lambda span: (span[0], -span[1], span[2])):
        whole.add(*span)
    return whole.written(text)
