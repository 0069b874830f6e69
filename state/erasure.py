"""Erasure: what transactions said leaves the ledger, what they counted for stays.

Text, fields, reasons and digest of the erased cases go; decision, label and counters remain, so
that every sum is as it was. What only they said is also taken out of bullets, lessons and history.
On SQLite the file is written anew, so that no byte of it is left there or in its log.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state import tables
from acegraph.state.errors import InvalidInput, UnknownDecision
from acegraph.state.formats import chunks, now, to_text
from acegraph.state.ledger import ERASED
from acegraph.state.page import Page
from acegraph.state.playbook import BulletPlaybook
from acegraph.state.remarks import is_remark
from acegraph.state.rows import has_value, written
from acegraph.state.vectors import forget_vector

GONE: Final = "[erased]"
_MIN_TELLING: Final = 4
_LONG_NUMBER: Final = 7
_NAMES = re.compile(
    r"[\w.+-]+@[\w.-]+|[\"“'‘](?=\w)[^\"”’\n]+?[\"”'’](?!\w)"
    r"|\d[\d -]{5,}\d|(?<=[\w,:] )[A-Z][a-z]\w+"
)
"""What tells who it is in a text without fields: addresses, quotations, long numbers, names."""
_PAIRS = re.compile(r"(?=\b(\w{4,} \w{4,})\b)")
_TEXTS: Final = {
    tables.bullets: ("content", "condition", "evidence", "origin", "problem_types"),
    tables.history: ("content", "condition", "reason", "source"),
    tables.lessons: ("lesson",),
    tables.adjustments: ("reason",),
}
"""Where a text may repeat what a transaction said."""


@dataclass(frozen=True)
class Erased:
    """What was erased."""

    cases: tuple[str, ...]
    texts: int
    """Bullets, lessons and entries of the history that repeated something."""


def erase(
    playbook: BulletPlaybook,
    decision_ids: Iterable[str] = (),
    entity: tuple[str, object] | None = None,
) -> Erased:
    """Erase decisions by their ids, or all whose field has a value.

    Counters, labels and `verify` stay right; an erased decision cannot be replayed or learned from.
    """
    ids = list(dict.fromkeys(decision_ids))
    if not ids and entity is None:
        raise InvalidInput("erase wants decision ids, or a field and its value")
    with playbook.writing() as page:
        found = _by_id(page, ids) if ids else []
        found += _of_entity(page, *entity) if entity else []
        rows = {row["id"]: row for row in found}
        if not rows:
            raise UnknownDecision(f"no stored transaction has {entity[0]} = the given value")  # type: ignore[index]
        telling = _telling(rows.values(), entity)
        telling -= _said_by_others(page, rows, telling)
        for row in rows.values():
            blank = {"text": "", "fields": "{}", "digest": ERASED, "evidence": 0}
            page.replace(tables.cases, row, blank)
            forget_vector(page, row["text"])
        _blank_decisions(page, list(rows))
        texts = _scrub(page, telling)
        playbook.adjust(page, {0: (0, 0, 0)}, "erased")  # so that other processes notice
    playbook.forget()
    playbook.forget_cases()
    playbook.database.scrub()
    return Erased(tuple(rows), texts)


def _by_id(page: Page, ids: list[str]) -> list[dict[str, Any]]:
    found = []
    for part in chunks(ids):
        query = sa.select(tables.cases).where(tables.cases.c.id.in_(part))
        found += [dict(row) for row in page.connection.execute(query).mappings()]
    missing = set(ids) - {row["id"] for row in found}
    if missing:
        raise UnknownDecision(f"no decision {min(missing)!r} in this playbook; nothing was erased")
    return found


def _of_entity(page: Page, name: str, value: object) -> list[dict[str, Any]]:
    rows = page.connection.execute(sa.select(tables.cases)).mappings()
    return [dict(row) for row in rows if has_value(json.loads(row["fields"]), name, value)]


def _telling(rows: Iterable[Mapping[str, Any]], entity: tuple[str, object] | None) -> set[str]:
    """What the erased transactions said that tells who they are of."""
    found = {written(entity[1])} if entity else set()
    for row in rows:
        fields = json.loads(row["fields"])
        for name, value in fields.items():
            text = written(value)
            if value is None or isinstance(value, bool):
                continue
            if not isinstance(value, str):  # an amount tells nothing, the number of a card does
                telling = text.isdigit() and len(text) >= _LONG_NUMBER
            else:
                telling = is_remark(name) or bool(re.search(r"[A-Z\d@\s]", text))
            if telling:
                found.add(text)
            if is_remark(name):  # it may have been quoted in part
                found |= set(_PAIRS.findall(text))
        found |= {part.strip("\"“”'‘’ ") for part in _NAMES.findall(row["text"])}
        found.add(row["text"])
    return {text for text in found if len(text) >= _MIN_TELLING}


def _said_by_others(page: Page, erased: Mapping[str, Any], telling: set[str]) -> set[str]:
    """What other transactions say as well tells nothing of those that are erased."""
    left, common = set(telling), set()
    for row in page.connection.execute(
        sa.select(tables.cases.c.id, tables.cases.c.text, tables.cases.c.fields)
    ):
        if row.id not in erased:
            common |= {text for text in left if text in row.text or text in row.fields}
            left -= common
    return common


def _blank_decisions(page: Page, ids: list[str]) -> None:
    """Reasons repeat what was seen. Without a transaction there is nothing to learn from either."""
    for part in chunks(ids):
        query = sa.select(tables.decisions).where(tables.decisions.c.case.in_(part))
        for row in [dict(row) for row in page.connection.execute(query).mappings()]:
            page.replace(tables.decisions, row, {"reasons": "[]"})
        known = set(
            page.connection.scalars(
                sa.select(tables.lessons.c.case).where(tables.lessons.c.case.in_(part))
            )
        )
        nothing = {"action": "refused", "reason": "erased", "bullet_id": None}
        lesson = to_text({**nothing, "evidence": {}, "retired": []})
        at = now()
        page.add(
            tables.lessons,
            [{"case": case, "lesson": lesson, "at": at} for case in part if case not in known],
        )


def _form(text: str) -> str:
    """A pattern for a telling value: whole numbers, and short names as they are written."""
    if text.isdigit():
        return rf"(?<!\d){text}(?!\d)"
    is_long = len(text) >= 2 * _MIN_TELLING or not text.isalpha()
    return f"(?i:{re.escape(text)})" if is_long else re.escape(text)


def _scrub(page: Page, telling: set[str]) -> int:
    """Take telling values out of every text that repeats them; the longest first."""
    forms = {
        form for text in telling for form in (text, json.dumps(text, ensure_ascii=False)[1:-1])
    }
    if not forms:
        return 0
    pattern = re.compile("|".join(map(_form, sorted(forms, key=len, reverse=True))))
    changed = 0
    for table, columns in _TEXTS.items():
        for row in [dict(r) for r in page.connection.execute(sa.select(table)).mappings()]:
            new: dict[str, Any] = {
                c: text
                for c in columns
                if row[c] is not None and (text := pattern.sub(GONE, row[c])) != row[c]
            }
            if not new:
                continue
            changed += 1
            if "condition" in new:  # without the value it compared with there is no condition
                new["condition"] = None
            if table is tables.bullets:
                new["changed"] = page.next_position()
                forget_vector(page, row["content"])
            page.replace(table, row, new)
    return changed
