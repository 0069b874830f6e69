"""What may come next in a rule that somebody types: verdicts, fields, tests of a field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from acegraph.nodes.evidence.columns.phrases import phrases_of
from acegraph.state import Condition, InvalidCondition
from acegraph.state.values.condition import OPENING, written_field

if TYPE_CHECKING:
    from acegraph.state.values.cases import CaseTable

_AND: Final = re.compile(r"\s+and\s+", re.IGNORECASE)
_SHARES: Final = (0.25, 0.5, 0.75, 0.9, 0.99)
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
    >>> continuations("DECLINE when amount ", table)[:2]
    ['DECLINE when amount >= 900', 'DECLINE when amount <= 900']
    >>> continuations("DECLINE when amount >= 900", table)
    ['DECLINE when amount >= 900 and ']
    >>> continuations('DECLINE when amount > 9 and country is "', table)
    ['DECLINE when amount > 9 and country is "NG"']
    """
    opening = OPENING.match(text)
    if not opening:
        starts, given = ("DECLINE when ", "APPROVE when "), text.strip().casefold()
        return [start for start in starts if start.casefold().startswith(given)] or list(starts)
    last = _AND.split(text[opening.end() :])[-1]
    before, typed = text[: len(text) - len(last)], last.casefold().lstrip('"')
    further = [f"{text.rstrip()} and "] if _is_whole(text) else []
    for name in table.field_names:
        if last.startswith(f"{written_field(name)} "):
            tests = (f"{written_field(name)} {test}" for test in _tests(name, table))
            longer = (test for test in tests if test.startswith(last) and test != last)
            return [f"{before}{test}" for test in longer][:_MOST] + further
    names = [name for name in table.field_names if typed in name.casefold()]
    names.sort(key=lambda name: (not name.casefold().startswith(typed), name))
    return [f"{before}{written_field(name)} " for name in names[:_MOST]]


def _is_whole(text: str) -> bool:
    try:
        return bool(Condition.parse(text))
    except InvalidCondition:
        return False


def _tests(name: str, table: CaseTable) -> Iterator[str]:
    """Tests of a field: numbers that cut its values into parts, or its most frequent words."""
    column = table.column(name)
    if column is not None and column.is_numeric:
        cuts = np.quantile(column.known_numbers(), _SHARES, method="nearest")
        for op in (">=", "<="):
            yield from dict.fromkeys(f"{op} {float(f'{cut:.4g}'):.10g}" for cut in cuts)
    elif table.is_text(name):
        yield from (f"mentions {_written(phrase)}" for phrase in phrases_of(name, table))
    elif column is not None:
        counts = column.counts()
        words = sorted(counts, key=lambda word: -counts[word])
        yield from (f"is {_written(word)}" for word in words)
    yield from ("is missing", "is known")


def _written(value: str | bool) -> str:
    return json.dumps(value, ensure_ascii=False)
