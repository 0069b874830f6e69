"""Decisions: find them, see how one came about, repeat it, and ask what if."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.figures import risk_of
from acegraph.graph.desk.visit import Visit
from acegraph.graph.desk.words import value_text
from acegraph.graph.operations.replay import replay, selection_for
from acegraph.graph.tables.ruleset import TableRules
from acegraph.state import Transaction
from acegraph.state.errors import AceError, UnknownDecision
from acegraph.state.ledger.lookups import label_history, read_cases
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED
from acegraph.state.task.form import read_cell
from acegraph.state.values.bullet import number_of
from acegraph.state.values.verdict import APPROVE, DECLINE

if TYPE_CHECKING:
    from starlette.responses import Response

    from acegraph.state.playbook.decision_index import DecisionColumns, Rows
    from acegraph.state.values.transaction import Fields

_PAGE: Final = 50
_SEARCHED: Final = 5_000
"""So many texts are searched at a time; a link goes further back."""
_LABELS: Final = {"fraud": FRAUD, "honest": HONEST, "none": UNLABELLED}
STAGES: Final = {
    "context": "for this agent",
    "quality": "good record",
    "semantic": "fits it",
    "score": "scored",
    "diversity": "shown",
}


@dataclass(frozen=True)
class Line:
    """A decision in a list."""

    id: str
    at: float
    decision: str
    risk: float | None
    label: str | None
    text: str


def lines_of(desk: Desk, columns: DecisionColumns, rows: Rows) -> list[Line]:
    """Decisions with their texts."""
    ids = [columns.ids[row] for row in rows]
    texts = read_cases(desk.playbook.database, ids)
    label = {FRAUD: DECLINE, HONEST: APPROVE}
    return [
        Line(
            columns.ids[row],
            float(columns.seconds[row]),
            DECLINE if columns.declined[row] else APPROVE,
            risk_of(columns, row),
            label.get(int(columns.label[row])),
            texts.get(columns.ids[row], ("", {}))[0],
        )
        for row in rows
    ]


@dataclass(frozen=True)
class Search:
    """What decisions are looked for."""

    words: str = ""
    verdict: str = ""
    label: str = ""
    bullet: str = ""
    since: str = ""
    until: str = ""

    @classmethod
    def of(cls, visit: Visit) -> Search:
        """The search in an address."""
        names = ("q", "verdict", "label", "bullet", "since", "until")
        return cls(*(visit.asked(name) for name in names))

    def candidates(self, columns: DecisionColumns) -> Rows:
        """The decisions that fit all but the words, newest first."""
        fits = np.ones(len(columns), bool)
        if self.verdict in (APPROVE, DECLINE):
            fits &= columns.declined == (self.verdict == DECLINE)
        if self.label in _LABELS:
            fits &= columns.label == _LABELS[self.label]
        if self.bullet:
            of_bullet = np.zeros(len(columns), bool)
            of_bullet[columns.rows_of(number_of(self.bullet))] = True
            fits &= of_bullet
        for text, is_end in ((self.since, False), (self.until, True)):
            if (at := _seconds(text, is_end=is_end)) is not None:
                fits &= columns.seconds < at if is_end else columns.seconds >= at
        return np.flatnonzero(fits)[::-1]

    def found_in(self, decision_id: str, text: str, fields: Fields) -> bool:
        """Whether a decision has the words: in its id or text, or as FIELD=VALUE."""
        name, is_field, value = self.words.partition("=")
        if is_field:
            stored = fields.get(name.strip())
            return stored is not None and value_text(stored).casefold() == value.strip().casefold()
        return self.words.casefold() in f"{decision_id} {text}".casefold()


def _seconds(text: str, *, is_end: bool) -> float | None:
    try:
        at = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return at + 86_400 if is_end and len(text) == 10 else at


def show_all(desk: Desk, visit: Visit) -> Response:
    """The decisions that fit, newest first."""
    search, columns = Search.of(visit), desk.decisions()
    if search.words and desk.number_of(search.words) is not None and not visit.asked("from"):
        return desk.page(visit, "decisions.html", _one_hit(desk, columns, search))
    rows = search.candidates(columns)
    start = visit.number("from", len(columns))
    rows = rows[rows < start]
    further: int | None = None
    if search.words:
        looked = rows[:_SEARCHED]
        ids, word = [columns.ids[row] for row in looked], search.words.rpartition("=")[2].strip()
        texts = read_cases(desk.playbook.database, ids, word)
        hits = [
            row
            for row, name in zip(looked, ids, strict=True)
            if name in texts and search.found_in(name, *texts[name])
        ]
        rows_left = len(rows) > len(looked)
        further = int(looked[-1]) if rows_left else None
        if len(hits) > _PAGE:
            further = int(hits[_PAGE - 1])
        shown = np.array(hits[:_PAGE], int)
    else:
        shown = rows[:_PAGE]
        further = int(shown[-1]) if len(rows) > _PAGE else None
    found = {
        "lines": lines_of(desk, columns, shown),
        "search": search,
        "further": further,
        "all": len(columns),
        "fitting": None if search.words else len(rows),
    }
    return desk.page(visit, "decisions.html", found)


def _one_hit(desk: Desk, columns: DecisionColumns, search: Search) -> dict[str, object]:
    row = desk.number_of(search.words)
    return {
        "lines": lines_of(desk, columns, np.array([row])),
        "search": search,
        "further": None,
        "all": len(columns),
        "fitting": 1,
    }


def show_one(desk: Desk, visit: Visit) -> Response:
    """One decision."""
    decision_id = visit.asked("id")
    stored = desk.playbook.decision(decision_id)
    chosen = selection_for(desk.playbook, stored) if stored["decision"] else None
    asked = _asked_fields(visit, stored["fields"])
    found = {
        "stored": stored,
        "said": label_history(desk.playbook.database, decision_id),
        "bullets": desk.playbook.get_bullets(stored["bullets"]),
        "used": stored["bullets_used"],
        "funnel": chosen.funnel if chosen else {},
        "scores": chosen.scores if chosen else {},
        "stages": STAGES,
        "what_if": _what_if(desk.table_rules(), asked) if asked else None,
        "asked": asked or stored["fields"],
        "is_changed": bool(asked),
    }
    template = "_what_if.html" if visit.wants_part else "decision.html"
    return desk.page(visit, template, found)


def _asked_fields(visit: Visit, fields: Fields) -> dict[str, Any]:
    """The fields with the values that were typed instead; empty if nothing was asked."""
    given = {name[2:]: v for name, v in visit.request.query_params.items() if name[:2] == "f."}
    return (
        {name: read_cell(given[name]) if name in given else value for name, value in fields.items()}
        if given
        else {}
    )


def _what_if(rules: TableRules, fields: dict[str, Any]) -> dict[str, object]:
    """What today's playbook decides on such fields, and why."""
    known = {name: value for name, value in fields.items() if value is not None}
    decided = rules.decide(known)
    reasons: list[str] = []
    if decided.risk is not None:
        understood = rules.understand(Transaction.of(known))
        reasons = rules.ruleset.explain(understood.fields, decided)
    return {"decided": decided, "reasons": reasons}


def show_replay(desk: Desk, visit: Visit) -> Response:
    """A decision beside its repetition, with the playbook as it was."""
    try:
        again = replay(desk.playbook, visit.asked("id"))
        found: dict[str, object] = {"again": again, "problem": ""}
    except UnknownDecision:
        raise
    except AceError as error:
        found = {"again": None, "problem": str(error)}
    template = "_replay.html" if visit.wants_part else "replay.html"
    return desk.page(visit, template, {**found, "stages": STAGES, "id": visit.asked("id")})


PAGES: Final = (
    Page("GET", "/decisions", "viewer", show_all),
    Page("GET", "/decisions/one", "viewer", show_one),
    Page("GET", "/decisions/replay", "viewer", show_replay),
)
