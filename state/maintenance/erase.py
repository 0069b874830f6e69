"""Erasure: the content of transactions leaves the ledger, and what they counted stays.

Text, fields, reasons and digest of the erased cases go; decision, label and counters remain, so
that every sum stays right. Texts that identify the cases also go from bullets, lessons and history.
On SQLite the file is rewritten, so that no byte of them is left there or in its log.
"""

import json
import logging
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import chunks, to_text
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import InvalidInput, UnknownDecision
from acegraph.state.ledger.ledger import ERASED
from acegraph.state.ledger.redaction.spellings import (
    LONG,
    Spelling,
    is_named,
    parts_of_name,
    replaced,
)
from acegraph.state.ledger.row_mapping import read_condition
from acegraph.state.ledger.sightings import remove_sightings
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.playbook.vector_store import forget_vectors
from acegraph.state.values.condition import Condition, parse_condition
from acegraph.state.values.memos import is_memo
from acegraph.state.values.notation import written
from acegraph.state.values.times import now
from acegraph.state.values.transaction import clean_text

GONE: Final = "[erased]"
_MIN_IDENTIFYING: Final = 4
_LONG_NUMBER: Final = 7
_LONGEST_NAME: Final = 200
"""A longer text is a whole transaction: it is found as it is, and not in other spellings."""
_QUOTATION = re.compile(r"[\"“'‘](?=\w)(?:[^\"”'’\n]|'(?=\w))++(?P<end>[\"”'’](?!\w))?")
"""A quotation. A match without an `end` is none: it only keeps its text from a second search."""
# 64 characters before the @ are the most that RFC 5321 allows.
_NAMES = re.compile(r"[\w.+-]{1,64}+@[\w.-]+|\d[\d -]{5,}\d|(?<=[\w,:] )[A-Z][a-z]\w+")
"""What else identifies somebody in a text without fields: addresses, numbers, names."""
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
"""Keys, verdicts, sources, statuses and operators of this package: they identify nobody."""
_TEXTS: Final = {
    tables.bullets: ("content", "condition", "evidence", "origin", "problem_types"),
    tables.history: ("content", "condition", "reason"),
    tables.lessons: ("lesson",),
    tables.answers: ("why",),
    tables.adjustments: ("reason",),
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

    Field and value are found in other spellings too, and the value goes from everything that
    mentions it. Counters, labels and `verify` stay right; an erased decision cannot be replayed or
    learned from.
    """
    ids = list(dict.fromkeys(decision_ids))
    if not ids and entity is None:
        raise InvalidInput("erase wants decision ids, or a field and its value")
    about = None if entity is None else Spelling(clean_text(written(entity[1])))
    with playbook.writing() as writer:
        rows = {row["id"]: row for row in (_by_id(writer, ids) if ids else [])}
        if entity is not None and about is not None:
            rows |= {row["id"]: row for row in _of_entity(writer, entity[0], about)}
        named = (entity[0], about.forms) if entity and about else ()
        common = _common_words(writer, rows)
        texts = _not_said_elsewhere(writer, rows, _identifying_texts(rows.values()))
        texts = {text for text in texts if not common.issuperset(_words(text))}
        if about and (about.size < _MIN_IDENTIFYING or common.issuperset(_words(about.value))):
            about = None  # too short, or too common, to be looked for elsewhere
        for row in rows.values():
            blank = {"text": "", "fields": "{}", "digest": ERASED, "evidence": 0}
            writer.replace(tables.cases, dict(row), blank)
        _blank_decisions(writer, list(rows))
        unseen = remove_sightings(writer, rows, *named)
        scrubbed = _scrub(writer, texts, about)
        if entity is not None and not rows and not scrubbed and not unseen:
            raise UnknownDecision(f"no stored transaction has {entity[0]} = the given value")
        forget_vectors(writer)
        playbook.adjust(writer, {0: (0, 0, 0)}, f"erased by {by}")  # so that other processes notice
        left = _rows_with(writer, about) if about else 0
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


def _of_entity(writer: LedgerWriter, name: str, about: Spelling) -> list[sa.RowMapping]:
    """The cases that have this value in a field of this name, however both are spelt."""
    rows = writer.connection.execute(sa.select(tables.cases)).mappings()
    return [row for row in rows if _has(json.loads(row["fields"]), name, about)]


def _has(fields: Mapping[str, object], name: str, about: Spelling) -> bool:
    values = (str(v) for k, v in fields.items() if v is not None and is_named(k, name))
    # A list of values is one text with commas.
    return any(
        about.equals(part) for v in values for part in (v, v.removesuffix(".0"), *v.split(","))
    )


def _identifying_texts(rows: Iterable[sa.RowMapping]) -> set[str]:
    """Texts of the erased transactions that tell whose they are."""
    texts: set[str] = set()
    for row in rows:
        for name, value in json.loads(row["fields"]).items():
            text = written(value)
            if value is None or isinstance(value, bool):
                continue
            if not isinstance(value, str):  # an amount identifies nobody, a card number does
                is_identifying = text.isdigit() and len(text) >= _LONG_NUMBER
            else:
                is_identifying = is_memo(name) or bool(re.search(r"[A-Z\d@\s]", text))
            if is_identifying:
                texts.add(text)
            if is_memo(name):  # it may have been quoted in part
                texts |= set(_PAIRS.findall(text))
        texts |= {part.strip("\"“”'‘’ ") for part in _names(row["text"])}
        texts.add(row["text"])
    return {text for text in texts if len(text) >= _MIN_IDENTIFYING}


def _names(text: str) -> list[str]:
    """What identifies somebody in a text without fields; a quotation is taken as a whole."""
    quotations = [match[0] for match in _QUOTATION.finditer(text) if match["end"]]
    rest = _QUOTATION.sub(lambda match: '"' if match["end"] else match[0], text)
    return quotations + _NAMES.findall(rest)


def _not_said_elsewhere(writer: LedgerWriter, erased: Collection[str], texts: set[str]) -> set[str]:
    """Those texts that no other transaction holds."""
    left, case = set(texts), tables.cases.c
    for row in writer.connection.execute(sa.select(case.id, case.text, case.fields)):
        if row.id not in erased:
            content = f"{row.text} {row.fields}".casefold()
            left -= {text for text in left if _is_in(text.casefold(), content)}
    return left


def _common_words(writer: LedgerWriter, erased: Collection[str]) -> set[str]:
    """Words of this package and of the names of fields: they identify nobody."""
    common, case = set(_OURS), tables.cases.c
    for row in writer.connection.execute(sa.select(case.id, case.fields)):
        if row.id not in erased:
            common.update(_words(" ".join(json.loads(row.fields))))
    for text in writer.connection.scalars(sa.select(tables.bullets.c.condition)):
        if rule := read_condition(text):
            common.update(_words(" ".join(rule.fields)))
    return common


def _words(text: str) -> list[str]:
    """The words of a text; `merchant_rating` has two."""
    return re.findall(r"[^\W_]+", text.casefold())


def _is_in(text: str, content: str) -> bool:
    return text in content and bool(re.search(_whole(text), content))


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


def _form(text: str) -> str:
    """A pattern for an identifying text: whole words and numbers; short names match by case."""
    if text.isdigit():
        return rf"(?<!\d){text}(?!\d)"
    is_long = len(text) >= 2 * _MIN_IDENTIFYING or not text.isalpha()
    return f"(?i:{_whole(text)})" if is_long else _whole(text)


def _whole(text: str) -> str:
    """A pattern for a text that is no part of a longer word."""
    # Scripts without capitals often have no spaces between words either.
    first, last = (c.isdigit() or c.lower() != c.upper() for c in (text[0], text[-1]))
    return (r"(?<!\w)" if first else "") + re.escape(text) + (r"(?!\w)" if last else "")


class _Eraser:
    """Takes identifying texts out of a text, however they are spelt there."""

    def __init__(self, texts: Collection[str], about: Spelling | None = None) -> None:
        forms = {*texts, *(json.dumps(text, ensure_ascii=False)[1:-1] for text in texts)}
        ordered = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_form, ordered)) or r"(?!)")
        spellings = [Spelling(text) for text in texts if len(text) <= _LONGEST_NAME]
        spellings = [spelling for spelling in spellings if spelling.size >= LONG]
        if about is not None:
            spellings += [about, *parts_of_name(about.value)]
        self._spellings = [(spelling, GONE) for spelling in spellings]

    def __call__(self, text: str) -> str:
        return replaced(self._pattern.sub(GONE, text), self._spellings)


def _scrub(writer: LedgerWriter, texts: set[str], about: Spelling | None) -> int:
    """Replace identifying texts wherever they are repeated; gives how many rows were changed."""
    eraser, of_entity = _Eraser(texts, about), _Eraser((), about)
    scrubbed = 0
    for table, columns in _TEXTS.items():
        if about is None and (not texts or table in _OF_OTHERS):
            continue
        without = of_entity if table in _OF_OTHERS else eraser
        for row in writer.connection.execute(sa.select(table)).mappings().all():
            changes = _changes(row, columns, without)
            if not changes:
                continue
            scrubbed += 1
            if table is tables.bullets:
                changes["changed"] = writer.next_position()
            writer.replace(table, dict(row), changes)
    return scrubbed


def _rows_with(writer: LedgerWriter, about: Spelling) -> int:
    """How many rows hold a value in columns by which other rows are found."""
    columns = (tables.cases.c.id, tables.outcomes.c.source, tables.history.c.source)
    texts = (text for column in columns for text in writer.connection.scalars(sa.select(column)))
    return sum(replaced(text, [(about, "")]) != text for text in texts)


def _changes(row: sa.RowMapping, columns: Iterable[str], without: _Eraser) -> dict[str, object]:
    """Those columns of a row that hold an identifying text, without that text."""
    rule = read_condition(row.get("condition"))
    is_kept = rule is None or not _compares_with(rule, without)
    new: dict[str, object] = {}
    for column in columns:
        if column == "condition":  # a condition without its value is none
            new[column] = row[column] if is_kept else None
        elif column in _JSON:
            new[column] = to_text(
                _scrubbed(json.loads(row[column]), without, keys=column == "fields")
            )
        elif column == "content" and rule and is_kept and parse_condition(row[column]) == rule:
            continue  # field names and operators identify nobody
        else:
            new[column] = without(row[column])
    return {column: value for column, value in new.items() if value != row[column]}


def _compares_with(rule: Condition, without: _Eraser) -> bool:
    """Whether a rule compares a field with an identifying value."""
    values = (c.value for c in rule.comparisons if not isinstance(c.value, bool | None))
    return any(without(written(value)) != written(value) for value in values)


def _scrubbed(data: object, without: _Eraser, *, keys: bool = False) -> object:
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
    if isinstance(data, int | float) and len(written(data)) >= _LONG_NUMBER:
        return GONE if without(written(data)) != written(data) else data
    return data
