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

from acegraph.state.database import tables
from acegraph.state.database.encoding import chunks, to_text
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import InvalidInput, UnknownDecision
from acegraph.state.ledger.ledger import ERASED
from acegraph.state.ledger.row_mapping import read_condition
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.playbook.vector_store import forget_vectors
from acegraph.state.values.condition import Condition, parse_condition
from acegraph.state.values.memos import is_memo
from acegraph.state.values.notation import has_value, written
from acegraph.state.values.times import now

GONE: Final = "[erased]"
_MIN_TELLING: Final = 4
_LONG_NUMBER: Final = 7
_NAMES = re.compile(
    r"[\w.+-]+@[\w.-]+|[\"“'‘](?=\w)[^\"”’\n]+?[\"”'’](?!\w)"
    r"|\d[\d -]{5,}\d|(?<=[\w,:] )[A-Z][a-z]\w+"
)
"""What tells who it is in a text without fields: addresses, quotations, long numbers, names."""
_PAIRS = re.compile(r"(?=\b(\w{4,} \w{4,})\b)")
_OURS: Final = frozenset(
    """
    accept action active added all allow and approve approved as author back bullet by candidate
    case cases chance chargeback condition content curator decided decision decline declined deny
    duplicate erased evidence false feedback field fires fraud fraudulent gain genuine hand harmful
    held helpful high history if imported is judge known label learned legit legitimate lesson low
    missing node not of offline online origin positive precision problem prompt proof proven pruned
    purged rate reason recall refused reject removed retired revived right rolled rule safe
    selected source status suspicious to true types unproven user value verdict version when
    """.split()
)
"""Words of our own: keys, verdicts, sources, statuses, operators. They tell of nobody."""
_TEXTS: Final = {
    tables.bullets: ("content", "condition", "evidence", "origin", "problem_types"),
    tables.history: ("content", "condition", "reason"),
    tables.lessons: ("lesson",),
    tables.adjustments: ("reason",),
}
"""Where a text may repeat what a transaction said."""
_JSON: Final = frozenset({"evidence", "origin", "problem_types", "lesson"})
_LINKS: Final = frozenset(
    "decision label label_source author prompt imported_from action bullet_id retired".split()
)
"""Keys whose values are ids, signatures and choices of ours: other rows are found by them."""


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
    with playbook.writing() as writer:
        found = _by_id(writer, ids) if ids else []
        found += _of_entity(writer, *entity) if entity else []
        rows = {row["id"]: row for row in found}
        if not rows:
            raise UnknownDecision(f"no stored transaction has {entity[0]} = the given value")  # type: ignore[index]
        telling = _identifying_texts(rows.values(), entity)
        telling = _said_by_nobody_else(writer, rows, telling)
        for row in rows.values():
            blank = {"text": "", "fields": "{}", "digest": ERASED, "evidence": 0}
            writer.replace(tables.cases, row, blank)
        _blank_decisions(writer, list(rows))
        texts = _scrub(writer, telling)
        forget_vectors(writer)
        playbook.adjust(writer, {0: (0, 0, 0)}, "erased")  # so that other processes notice
    playbook.invalidate()
    playbook.invalidate_cases()
    playbook.database.scrub()
    return Erased(tuple(rows), texts)


def _by_id(writer: LedgerWriter, ids: list[str]) -> list[dict[str, Any]]:
    found = []
    for part in chunks(ids):
        query = sa.select(tables.cases).where(tables.cases.c.id.in_(part))
        found += [dict(row) for row in writer.connection.execute(query).mappings()]
    missing = set(ids) - {row["id"] for row in found}
    if missing:
        raise UnknownDecision(f"no decision {min(missing)!r} in this playbook; nothing was erased")
    return found


def _of_entity(writer: LedgerWriter, name: str, value: object) -> list[dict[str, Any]]:
    rows = writer.connection.execute(sa.select(tables.cases)).mappings()
    return [dict(row) for row in rows if has_value(json.loads(row["fields"]), name, value)]


def _identifying_texts(
    rows: Iterable[Mapping[str, Any]], entity: tuple[str, object] | None
) -> set[str]:
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
                telling = is_memo(name) or bool(re.search(r"[A-Z\d@\s]", text))
            if telling:
                found.add(text)
            if is_memo(name):  # it may have been quoted in part
                found |= set(_PAIRS.findall(text))
        found |= {part.strip("\"“”'‘’ ") for part in _NAMES.findall(row["text"])}
        found.add(row["text"])
    return {text for text in found if len(text) >= _MIN_TELLING}


def _said_by_nobody_else(
    writer: LedgerWriter, erased: Mapping[str, Any], telling: set[str]
) -> set[str]:
    """What no other transaction says, and what is not made of our own words and field names."""
    left, ours = set(telling), set(_OURS)
    for row in writer.connection.execute(
        sa.select(tables.cases.c.id, tables.cases.c.text, tables.cases.c.fields)
    ):
        if row.id not in erased:
            said = f"{row.text} {row.fields}".casefold()
            left -= {text for text in left if _is_said(text.casefold(), said)}
            ours.update(_words(" ".join(json.loads(row.fields))))
    for text in writer.connection.scalars(sa.select(tables.bullets.c.condition)):
        if rule := read_condition(text):
            ours.update(_words(" ".join(rule.fields)))
    return {text for text in left if not ours.issuperset(_words(text))}


def _words(text: str) -> list[str]:
    """The words of a text; those of `merchant_rating` are two."""
    return re.findall(r"[^\W_]+", text.casefold())


def _is_said(text: str, said: str) -> bool:
    return text in said and bool(re.search(_whole(text), said))


def _blank_decisions(writer: LedgerWriter, ids: list[str]) -> None:
    """Reasons repeat what was seen. Without a transaction there is nothing to learn from either."""
    for part in chunks(ids):
        query = sa.select(tables.decisions).where(tables.decisions.c.case.in_(part))
        for row in [dict(row) for row in writer.connection.execute(query).mappings()]:
            writer.replace(tables.decisions, row, {"reasons": "[]"})
        known = set(
            writer.connection.scalars(
                sa.select(tables.lessons.c.case).where(tables.lessons.c.case.in_(part))
            )
        )
        nothing = {"action": "refused", "reason": "erased", "bullet_id": None}
        lesson = to_text({**nothing, "evidence": {}, "retired": []})
        at = now()
        writer.add(
            tables.lessons,
            [{"case": case, "lesson": lesson, "at": at} for case in part if case not in known],
        )


def _form(text: str) -> str:
    """A pattern for a telling value: whole words and numbers, short names as they are written."""
    if text.isdigit():
        return rf"(?<!\d){text}(?!\d)"
    is_long = len(text) >= 2 * _MIN_TELLING or not text.isalpha()
    return f"(?i:{_whole(text)})" if is_long else _whole(text)


def _whole(text: str) -> str:
    """A pattern for a text that is no part of a longer word."""
    # Scripts without capitals often have no spaces between words either.
    first, last = (c.isdigit() or c.lower() != c.upper() for c in (text[0], text[-1]))
    return (r"(?<!\w)" if first else "") + re.escape(text) + (r"(?!\w)" if last else "")


def _scrub(writer: LedgerWriter, telling: set[str]) -> int:
    """Take telling values out of every text that repeats them; the longest first."""
    forms = {
        form for text in telling for form in (text, json.dumps(text, ensure_ascii=False)[1:-1])
    }
    if not forms:
        return 0
    pattern = re.compile("|".join(map(_form, sorted(forms, key=len, reverse=True))))
    changed = 0
    for table, columns in _TEXTS.items():
        for row in [dict(r) for r in writer.connection.execute(sa.select(table)).mappings()]:
            new = _without(row, columns, pattern)
            if not new:
                continue
            changed += 1
            if table is tables.bullets:
                new["changed"] = writer.next_position()
            writer.replace(table, row, new)
    return changed


def _without(
    row: Mapping[str, Any], columns: Iterable[str], pattern: re.Pattern[str]
) -> dict[str, Any]:
    """Those of the columns that repeat something, as they are without it."""
    rule = read_condition(row.get("condition"))
    is_told = rule is not None and _compares_with(rule, pattern)
    new: dict[str, Any] = {}
    for column in columns:
        if column == "condition":
            new[column] = None if is_told else row[column]  # without its value there is none
        elif column in _JSON:
            new[column] = to_text(_scrubbed(json.loads(row[column]), pattern))
        elif column == "content" and rule and not is_told and parse_condition(row[column]) == rule:
            continue  # field names and operators repeat nobody
        else:
            new[column] = pattern.sub(GONE, row[column])
    return {column: value for column, value in new.items() if value != row[column]}


def _compares_with(rule: Condition, pattern: re.Pattern[str]) -> bool:
    """Whether a rule compares a field with a telling value."""
    values = (c.value for c in rule.comparisons if not isinstance(c.value, bool | None))
    return any(pattern.search(written(value)) for value in values)


def _scrubbed(data: Any, pattern: re.Pattern[str]) -> Any:
    """JSON whose values repeat nothing; its keys are ours."""
    if isinstance(data, str):
        return pattern.sub(GONE, data)
    if isinstance(data, list):
        return [_scrubbed(value, pattern) for value in data]
    if isinstance(data, dict):
        return {k: v if k in _LINKS else _scrubbed(v, pattern) for k, v in data.items()}
    return data
