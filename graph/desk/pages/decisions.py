"""Decisions: find them, see how one came about, repeat it, and ask what if."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

import numpy as np
from starlette.responses import Response

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.visit import Visit
from acegraph.graph.operations.replay import Replay, replay, selection_for
from acegraph.graph.tables.ruleset import TableRules, bars
from acegraph.state.errors import AceError
from acegraph.state.ledger.lookups import cases_of_bullet, label_history, read_cases
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED, DecisionColumns, Rows
from acegraph.state.task.form import read_cell
from acegraph.state.values import APPROVE, DECLINE, Fields, Transaction, number_of

_PAGE: Final = 50
_SEARCHED: Final = 5_000
"""So many texts are searched at a time; a link goes further back."""
_LABELS: Final = {"fraud": FRAUD, "honest": HONEST, "none": UNLABELLED}


def _lines(desk: Desk, columns: DecisionColumns, rows: Rows) -> Iterator[dict[str, object]]:
    """Decisions as the list shows them."""
    texts = read_cases(desk.playbook.database, [columns.ids[row] for row in rows])
    label = {FRAUD: DECLINE, HONEST: APPROVE}
    for row in rows:
        name = columns.ids[row]
        yield {
            "id": name,
            "at": float(columns.seconds[row]),
            "decision": DECLINE if columns.declined[row] else APPROVE,
            "risk": float(columns.risk[row]),
            "label": label.get(int(columns.label[row])),
            "text": texts.get(name, ("", {}))[0],
        }


def _candidates(desk: Desk, search: Mapping[str, str], columns: DecisionColumns) -> Rows:
    """The decisions that fit all but the words, newest first."""
    fits = np.ones(len(columns), bool)
    if search["verdict"] in (APPROVE, DECLINE):
        fits &= columns.declined == (search["verdict"] == DECLINE)
    if search["label"] in _LABELS:
        fits &= columns.label == _LABELS[search["label"]]
    if search["bullet"]:
        shown = cases_of_bullet(desk.playbook.database, number_of(search["bullet"]))
        fits &= np.fromiter((name in shown for name in columns.ids), bool, len(columns))
    since, until = _seconds(search["since"], 0.0), _seconds(search["until"], np.inf)
    fits &= (columns.seconds >= since) & (columns.seconds < until + 86_400)
    return np.flatnonzero(fits)[::-1]


def _seconds(day: str, default: float) -> float:
    try:
        return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return default


def show_all(desk: Desk, visit: Visit) -> Response:
    """The decisions that fit, newest first."""
    names = ("q", "verdict", "label", "bullet", "since", "until")
    search, columns = {name: visit.asked(name) for name in names}, desk.decisions()
    rows = _candidates(desk, search, columns)
    looked = rows = rows[rows < visit.number("from", len(columns))]
    fitting, number = rows, desk.number_of(search["q"])
    if number is not None:
        looked = rows = fitting = np.array([number])
    elif search["q"]:
        looked = rows[:_SEARCHED]
        named = {columns.ids[row]: row for row in looked}
        known = read_cases(desk.playbook.database, list(named), search["q"])
        fitting = np.array([row for one, row in named.items() if one in known], int)
    shown, is_all = fitting[:_PAGE], len(looked) == len(rows)
    last = shown if len(fitting) > _PAGE else looked
    found = {
        "lines": list(_lines(desk, columns, shown)),
        "search": search,
        "further": None if is_all and last is looked else int(last[-1]),
        "all": len(columns),
        "fitting": len(fitting) if is_all else None,
    }
    return desk.page(visit, "decisions.html", found)


def show_one(desk: Desk, visit: Visit) -> Response:
    """One decision, with what if, its replay, and the question where it waits for a person."""
    decision_id = visit.asked("id") or visit.given("id")
    stored = desk.playbook.decision(decision_id)
    chosen = selection_for(desk.playbook, stored) if stored["decision"] else None
    given = {name[2:]: v for name, v in visit.request.query_params.items() if name[:2] == "f."}
    changed = {n: read_cell(given[n]) for n in stored["fields"] if n in given}
    asked = {**stored["fields"], **changed} if given else {}
    again: Replay | str | None = None
    try:
        again = replay(desk.playbook, decision_id) if visit.asked("replay") else None
    except AceError as error_of_replay:  # why there is none
        again = str(error_of_replay)
    found = {
        "stored": stored,
        "said": label_history(desk.playbook.database, decision_id),
        "bullets": desk.playbook.get_bullets(stored["bullets"]),
        "used": stored["bullets_used"],
        "funnel": chosen.funnel if chosen else {},
        "scores": chosen.scores if chosen else {},
        "again": again,
        "today": _what_if(desk.table_rules(), stored["fields"]),
        "what_if": _what_if(desk.table_rules(), asked) if asked else None,
        "asked": asked or stored["fields"],
        "entry": next((one for one in desk.waiting() if one.id == decision_id), None),
    }
    return desk.page(visit, "decision.html", found)


def _what_if(rules: TableRules, fields: Fields) -> dict[str, object]:
    """What today's playbook decides on such fields, and why."""
    known = {name: value for name, value in fields.items() if value is not None}
    decided = rules.decide(known)
    reasons: list[str] = []
    drawn: list[str] = []
    if decided.risk is not None:
        fields = rules.understand(Transaction.of(known)).fields
        reasons = rules.ruleset.explain(fields, decided)
        drawn = list(bars(rules.ruleset, fields, decided))
    return {"decided": decided, "reasons": reasons, "bars": drawn}


PAGES: Final = (
    Page("GET", "/decisions", "viewer", show_all),
    Page("GET", "/decisions/one", "viewer", show_one),
)
