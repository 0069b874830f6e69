"""Erasure: the content of transactions leaves the ledger, and what they counted stays.

Text, fields, reasons and digest of the erased cases go; decision, label and counters remain, so
that every sum stays right. Texts that only they held also go from bullets, lessons and history. On
SQLite the file is rewritten, so that no byte of them is left there or in its log.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import chunks, now, to_text
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import InvalidInput, UnknownDecision
from acegraph.state.ledger.hidden_fields import LONG_NUMBER, REDACTED, stand_in
from acegraph.state.ledger.lookups import ERASED
from acegraph.state.ledger.row_mapping import read_condition
from acegraph.state.ledger.sightings import remove_sightings
from acegraph.state.playbook.bullets import forget_texts
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.values import Data, clean_text, folded, is_named, written

GONE: Final = "[erased]"
_SHORTEST: Final = 4
"""A shorter text is not looked for elsewhere: it is too common."""
_TEXTS: Final = {
    tables.bullets: ("content", "condition", "evidence", "origin", "problem_types"),
    tables.history: ("content", "condition", "reason"),
    tables.lessons: ("lesson",),
    tables.answers: ("why",),
    tables.adjustments: ("reason",),
    tables.tasks: ("content", "reason"),
    tables.policies: ("reason",),
    tables.cases: ("text", "fields"),
    tables.decisions: ("reasons",),
}
"""The columns that may repeat the content of a transaction."""
_OF_OTHERS: Final = frozenset({tables.cases, tables.decisions})
"""What other transactions say is theirs; only the value of an erased entity is taken out there."""
_JSON: Final = frozenset("evidence origin problem_types lesson fields reasons".split())
_LINKS: Final = frozenset(
    "decision label label_source author prompt imported_from action bullet_id retired".split()
)
"""JSON keys whose values are ids, signatures and choices: other rows are found by them."""
_Clean = Callable[[str], str]
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Erased:
    """Which cases were erased, and how many other texts were changed."""

    cases: tuple[str, ...]
    texts: int
    """Other transactions, bullets, lessons and entries of the history that repeated something."""
    left: int = 0
    """Rows that still hold the value of the entity, in an id or the source of a label."""


def erase(
    playbook: BulletPlaybook,
    decision_ids: Iterable[str] = (),
    entity: tuple[str, object] | None = None,
    by: str = "user",
) -> Erased:
    """Erase decisions by their ids, or every decision whose field `entity[0]` is `entity[1]`.

    The value of the entity, and texts that no other transaction holds, go from everything that
    repeats them as they are written. Counters, labels and `verify` stay right; an erased decision
    cannot be replayed or learned from.
    """
    ids = list(dict.fromkeys(decision_ids))
    if not ids and entity is None:
        raise InvalidInput("erase wants decision ids, or a field and its value")
    name, value = entity if entity else ("", "")
    value = clean_text(written(value))
    with playbook.writing() as writer:
        rows = {row["id"]: row for row in (_by_id(writer, ids) if ids else [])}
        if entity is not None:
            rows |= {row["id"]: row for row in _of_entity(writer, name, value)}
        texts = _said_only_by(writer, rows)
        for row in rows.values():
            blank = {"text": "", "fields": "{}", "digest": ERASED, "evidence": 0}
            writer.replace(tables.cases, dict(row), blank)
        _blank_decisions(writer, list(rows))
        unseen = remove_sightings(writer, rows, name, [folded(value)] if entity else ())
        about = {value} if len(value) >= _SHORTEST else set()
        scrubbed = _scrub(writer, texts, about)
        if entity is not None and not rows and not scrubbed and not unseen:
            raise UnknownDecision(f"no stored transaction has {name} = the given value")
        forget_texts(writer)
        playbook.adjust(writer, {0: (0, 0, 0)}, f"erased by {by}")  # so that other processes notice
        left = _rows_with(writer, value) if about else 0
    playbook.invalidate()
    playbook.invalidate_cases()
    playbook.database.scrub()
    logger.info("erased %d cases, changed %d other texts", len(rows), scrubbed)
    return Erased(tuple(rows), scrubbed, left)


def _by_id(writer: LedgerWriter, ids: list[str]) -> list[sa.RowMapping]:
    rows: list[sa.RowMapping] = []
    for part in chunks(ids):
        query = sa.select(tables.cases).where(tables.cases.c.id.in_(part))
        rows += writer.connection.execute(query).mappings()
    missing = set(ids) - {row["id"] for row in rows}
    if missing:
        raise UnknownDecision(f"no decision {min(missing)!r} in this playbook; nothing was erased")
    return rows


def _of_entity(writer: LedgerWriter, name: str, value: str) -> list[sa.RowMapping]:
    """The cases that have this value in a field of this name; also as its keyed hash."""
    wanted = {value, stand_in(value)} - {REDACTED}
    rows = writer.connection.execute(sa.select(tables.cases)).mappings()
    return [
        row
        for row in rows
        if any(
            is_named(field, name) and written(said) in wanted
            for field, said in json.loads(row["fields"]).items()
        )
    ]


def _said_only_by(writer: LedgerWriter, erased: Mapping[str, sa.RowMapping]) -> set[str]:
    """The texts and long numbers of erased transactions that no other transaction holds."""
    texts = {text for row in erased.values() for text in (row["text"], *_texts_in(row["fields"]))}
    texts = {text for text in texts if len(text) >= _SHORTEST}
    case = tables.cases.c
    for row in writer.connection.execute(sa.select(case.id, case.text, case.fields)):
        if texts and row.id not in erased:
            texts -= {row.text, *_texts_in(row.fields)}
    return texts


def _texts_in(fields: str) -> set[str]:
    """The values of stored fields that may name somebody: an amount names nobody."""
    values = [value for value in json.loads(fields).values() if not isinstance(value, bool | None)]
    return {
        written(value)
        for value in values
        if isinstance(value, str) or len(written(value)) >= LONG_NUMBER
    }


def _blank_decisions(writer: LedgerWriter, ids: list[str]) -> None:
    """Remove the reasons, which repeat the content, and let nothing be learned from it any more."""
    nothing = {"action": "refused", "reason": "erased", "bullet_id": None}
    lesson = to_text({**nothing, "evidence": {}, "retired": []})
    for part in chunks(ids):
        query = sa.select(tables.decisions).where(tables.decisions.c.case.in_(part))
        for row in writer.connection.execute(query).mappings().all():
            writer.replace(tables.decisions, dict(row), {"reasons": "[]"})
        answered = sa.select(tables.answers).where(tables.answers.c.case.in_(part))
        for row in writer.connection.execute(answered).mappings().all():
            writer.replace(tables.answers, dict(row), {"why": GONE})
        with_lesson = sa.select(tables.lessons.c.case).where(tables.lessons.c.case.in_(part))
        learned = set(writer.connection.scalars(with_lesson))
        rows = [{"case": i, "lesson": lesson, "at": now()} for i in part if i not in learned]
        writer.add(tables.lessons, rows)


def _without(texts: Iterable[str]) -> _Clean:
    """A function that takes texts out of a text, where they are no part of longer words."""
    forms = {form for text in texts for form in (text, json.dumps(text, ensure_ascii=False)[1:-1])}
    whole = "|".join(map(_whole, sorted(forms, key=len, reverse=True)))
    pattern = re.compile(whole or r"(?!)")
    return lambda text: pattern.sub(GONE, text)


def _whole(text: str) -> str:
    """A pattern for a text that is no part of a longer word."""
    # Scripts without capitals often have no spaces between words either.
    first, last = (c.isdigit() or c.lower() != c.upper() for c in (text[0], text[-1]))
    return (r"(?<!\w)" if first else "") + re.escape(text) + (r"(?!\w)" if last else "")


def _scrub(writer: LedgerWriter, texts: set[str], about: set[str]) -> int:
    """Replace texts wherever they are repeated; gives how many rows were changed."""
    ours, of_others = _without(texts | about), _without(about)
    scrubbed = 0
    for table, columns in _TEXTS.items():
        if not about and (not texts or table in _OF_OTHERS):
            continue
        without = of_others if table in _OF_OTHERS else ours
        for row in writer.connection.execute(sa.select(table)).mappings().all():
            changes = _changes(row, columns, without)
            if not changes:
                continue
            scrubbed += 1
            if table is tables.bullets:
                changes["changed"] = writer.next_position()
            writer.replace(table, dict(row), changes)
    return scrubbed


def _rows_with(writer: LedgerWriter, value: str) -> int:
    """How many rows hold a value in columns by which other rows are found."""
    columns = (tables.cases.c.id, tables.outcomes.c.source, tables.history.c.source)
    texts = (text for column in columns for text in writer.connection.scalars(sa.select(column)))
    return sum(value in text for text in texts)


def _changes(row: sa.RowMapping, columns: Iterable[str], without: _Clean) -> dict[str, object]:
    """Those columns of a row that hold an identifying text, without that text."""
    rule = read_condition(row.get("condition"))
    tests = rule.spelled if rule else ()
    compared = [written(one.value) for one in tests if not isinstance(one.value, bool | None)]
    is_kept = all(without(value) == value for value in compared)
    new: dict[str, object] = {}
    for column in columns:
        if column == "condition":  # a condition without its value is none
            new[column] = row[column] if is_kept else None
        elif column in _JSON:
            new[column] = to_text(
                _scrubbed(json.loads(row[column]), without, keys=column == "fields")
            )
        elif column == "content" and rule and is_kept:
            continue  # it says its rule
        elif column == "content" and "set_by" in row:
            new[column] = to_text(_task_without(json.loads(row[column]), without))
        else:
            new[column] = without(row[column])
    return {column: value for column, value in new.items() if value != row[column]}


def _task_without(task: Data, without: _Clean) -> Data:
    """A task without the words that hold an identifying text; a flag's two words name nobody."""
    fields = []
    for field in task.get("fields", ()):
        words = [word for word in field.get("words", ()) if without(word) == word]
        if field.get("kind") != "flag" and words != field.get("words", words):
            field = {**field, "words": words, "closed": field.get("closed", False) and bool(words)}
        fields.append(field)
    return {**task, "fields": fields}


def _scrubbed(data: object, without: _Clean, *, keys: bool = False) -> object:
    """JSON without identifying texts in its values; its keys stay unless they name fields."""
    if isinstance(data, str):
        return without(data)
    if isinstance(data, list):
        return [_scrubbed(value, without) for value in data]
    if isinstance(data, dict):
        return {
            without(k) if keys else k: v if k in _LINKS and not keys else _scrubbed(v, without)
            for k, v in data.items()
        }
    if isinstance(data, int | float) and len(written(data)) >= LONG_NUMBER:
        return GONE if without(written(data)) != written(data) else data
    return data
