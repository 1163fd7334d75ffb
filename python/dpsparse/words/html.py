"""Small pieces of HTML. All text is escaped here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["block", "cell", "paragraphs", "table"]


def cell(value: Any) -> str:
    """Return a value as text for readers: nothing for None, four digits of a float."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table with a head."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraphs(texts: Iterable[str]) -> str:
    """Return a paragraph for each text."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def block(title: str, *parts: str) -> str:
    """Return parts, HTML themselves, under a title."""
    return f'<div class="dpsparse"><strong>{escape(title)}</strong>{"".join(parts)}</div>'
