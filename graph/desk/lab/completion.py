"""What may come next in a rule that somebody types: verdicts, fields, comparisons, values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import numpy as np

from acegraph.nodes.evidence.columns.phrases import phrases_of
from acegraph.state.values.condition import OPENING, written_field

if TYPE_CHECKING:
    from acegraph.state.values.cases import CaseTable

_FIELD: Final = r'(?P<field>[A-Za-z_][\w.]*|"(?:[^"\\]|\\.)*")'
_AFTER_FIELD: Final = re.compile(rf"{_FIELD}\s+(?P<op>[<>=!]*|is?|is n?o?t?|m[a-z]*)$")
_OPERATOR: Final = r"\s*(?:<=|>=|<|>|is not|is|mentions)\s+"
_AFTER_OPERATOR: Final = re.compile(rf'{_FIELD}{_OPERATOR}(?P<value>[\w."-]*)$')
_DONE: Final = re.compile(rf'{_FIELD}{_OPERATOR}(?:"[^"]*"|[\w.-]+)\s+$')
_MOST: Final = 12


def continuations(text: str, table: CaseTable) -> list[str]:
    """Whole texts that begin as this one does, one step further.

    >>> from acegraph.state import Case
    >>> from acegraph.state.values.cases import CaseTable
    >>> table = CaseTable([Case("1", {"amount": 900, "country": "NG"}, "DECLINE")])
    >>> continuations("", table)
    ['DECLINE when ', 'APPROVE when ']
    >>> continuations("DECLINE when am", table)
    ['DECLINE when amount ']
    >>> continuations("DECLINE when amount", table)[:2]
    ['DECLINE when amount >= ', 'DECLINE when amount <= ']
    >>> continuations("DECLINE when country is ", table)
    ['DECLINE when country is "NG" ']
    """
    opening = OPENING.match(text)
    if not opening:
        starts = ("DECLINE when ", "APPROVE when ")
        given = text.strip().casefold()
        return [start for start in starts if start.casefold().startswith(given)] or list(starts)
    last = re.split(r"\s+and\s+", text[opening.end() :], flags=re.IGNORECASE)[-1]
    before = text[: len(text) - len(last)]
    if match := _AFTER_OPERATOR.match(last):
        stem, typed = last[: match.start("value")], match["value"]
        values = _values(_plain(match["field"]), table)
        ends = [f"{text} and "] if typed.strip('"-.') else []
        longer = (v for v in values if v.startswith(typed) and v != typed)
        return [f"{before}{stem}{value} " for value in longer][:_MOST] + ends
    if _DONE.match(last):
        return [f"{text}and "]
    if match := _AFTER_FIELD.match(last):
        stem, typed = last[: match.start("op")], match["op"]
        operators = _operators(_plain(match["field"]), table)
        return [f"{before}{stem}{op} " for op in operators if op.startswith(typed)]
    typed = last.strip('"').casefold()
    for name in table.field_names:
        if name.casefold() == typed:
            return [f"{before}{written_field(name)} {op} " for op in _operators(name, table)]
    names = [name for name in table.field_names if typed in name.casefold()]
    names.sort(key=lambda name: (not name.casefold().startswith(typed), name))
    return [f"{before}{written_field(name)} " for name in names[:_MOST]]


def _plain(name: str) -> str:
    try:
        return str(json.loads(name)) if name.startswith('"') else name
    except ValueError:
        return name


def _operators(name: str, table: CaseTable) -> list[str]:
    column = table.column(name)
    if column is not None and column.is_numeric:
        return [">=", "<=", ">", "<", "is missing", "is known"]
    if table.is_text(name):
        return ["mentions", "is missing", "is known"]
    return ["is", "is not", "is missing", "is known"]


def _values(name: str, table: CaseTable) -> list[str]:
    """The most frequent words of a field, or numbers that cut its values into equal parts."""
    column = table.column(name)
    if column is None:
        return []
    if table.is_text(name):
        return [json.dumps(phrase, ensure_ascii=False) for phrase in phrases_of(name, table)]
    if column.is_numeric:
        known = column.known_numbers()
        cuts = np.quantile(known, [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
        return list(
            dict.fromkeys(f"{cut:.4g}" if "e" not in f"{cut:.4g}" else f"{cut:.0f}" for cut in cuts)
        )
    counts = sorted(column.counts().items(), key=lambda one: -one[1])
    return [json.dumps(value, ensure_ascii=False) for value, _ in counts]
