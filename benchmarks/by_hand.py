"""What a person would write instead: bare graphs, a service of one table, rules as closures.

Nothing here knows of acegraph; the rules are given as plain tests.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import uuid4

from langgraph.graph import END, START, StateGraph
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import TypedDict

Test = tuple[str, str, Any]
"""A field, a sign of comparison, and a value."""
Fields = Mapping[str, Any]
Rule = tuple[int, str, Callable[[Fields], bool]]


class Bare(TypedDict, total=False):
    """A state of eight keys."""

    transaction: dict[str, Any]
    decision_id: str | None
    ground_truth: str | None
    decision: str
    risk_score: float
    reasons: list[str]
    bullets: list[str]
    verdict: str


def bare_graph(*learning: str) -> Any:
    """Three nodes that give constants, and those of the branch that learns behind an edge."""
    builder = StateGraph(Bare)
    builder.add_node("selector", lambda state: {"bullets": []})
    builder.add_node(
        "agent", lambda state: {"decision": "APPROVE", "risk_score": 0.5, "reasons": ["none"]}
    )
    builder.add_node("judge", lambda state: {"verdict": "pending"})
    names = ("selector", "agent", "judge", *learning)
    for name in learning:
        builder.add_node(name, lambda state: {"bullets": ["b1"]})
    builder.add_edge(START, "selector")
    builder.add_edge("selector", "agent")
    builder.add_edge("agent", "judge")
    builder.add_conditional_edges("judge", lambda state: learning[0] if learning else END)
    for one, other in zip(names[3:], (*names[4:], END), strict=False):
        builder.add_edge(one, other)
    return builder.compile()


def closure(tests: Iterable[Test]) -> Callable[[Fields], bool]:
    """All tests of a rule as one function."""
    signs = {"is": "==", "is not": "!="}
    parts = [
        f"(v := f.get({name!r})) is not None and v {signs.get(sign, sign)} {value!r}"
        for name, sign, value in tests
    ]
    made: Callable[[Fields], bool] = eval(f"lambda f: {' and '.join(parts)}")
    return made


def decide(rules: Iterable[Rule], start: int, fields: Fields) -> tuple[str, list[str]]:
    """The decision by the sum of the points of all rules that hold."""
    points, reasons = start, []
    for worth, name, holds in rules:
        if holds(fields):
            points += worth
            reasons.append(name)
    return "DECLINE" if points > 0 else "APPROVE", reasons


def service(file: str, rules: list[Rule], start: int) -> Starlette:
    """One route and one table; a request is answered after its commit."""
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(
        "CREATE TABLE decisions (id TEXT PRIMARY KEY, payment TEXT, decision TEXT, reasons TEXT)"
    )

    async def answer(request: Request) -> Response:
        body = json.loads(await request.body())
        items, answers, rows = body if isinstance(body, list) else [body], [], []
        for item in items:
            case_id = item.get("decision_id") or uuid4().hex
            decision, reasons = decide(rules, start, item["transaction"])
            rows.append((case_id, json.dumps(item["transaction"]), decision, json.dumps(reasons)))
            answers.append({"decision_id": case_id, "decision": decision, "reasons": reasons})
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO decisions VALUES (?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
        return JSONResponse(answers if isinstance(body, list) else answers[0])

    return Starlette(routes=[Route("/decisions", answer, methods=["POST"])])
