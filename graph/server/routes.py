"""The routes for decisions, labels, the playbook, and what waits for a person."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any, Final, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from acegraph.graph.operations.feedback import check_names, feedback_many, read_label
from acegraph.graph.operations.replay import replay
from acegraph.graph.operations.review import answer_outside_run, switch
from acegraph.graph.server.access import check_role
from acegraph.graph.server.endpoints import Endpoint, in_json, read_items, refusal
from acegraph.graph.server.service import Service
from acegraph.nodes.curator.approval import give_approval
from acegraph.nodes.curator.curator import Curator
from acegraph.state import AceInput, Bullet
from acegraph.state.errors import AceError, InvalidInput
from acegraph.state.maintenance.people.review_queue import waiting
from acegraph.state.maintenance.people.users import User
from acegraph.state.run.review_answers import (
    ApprovalAnswer,
    VerdictAnswer,
    read_answer,
    signature,
)
from acegraph.state.task.card_payments import DEFAULT_NODE
from acegraph.state.task.schema import json_schema

_GIVEN: Final = ("transaction", "decision_id", "ground_truth")
_PAYMENT: Final = {"amount": 2500, "hour": 3, "vpn": True, "account_age_days": 2}


async def decide(service: Service, request: Request, user: User) -> Response:
    """Decide one transaction or many; the answer comes when all are recorded."""
    items, is_one = await read_items(request)
    for item in items:
        check_names(item, _GIVEN)
    service.limit.take(user.name, len(items))
    answers = await service.decide([cast(AceInput, item) for item in items])
    if is_one and isinstance(answers[0], AceError):
        return refusal(answers[0])
    texts: list[Any] = [
        {"decision_id": item.get("decision_id"), "error": in_json(answer)}
        if isinstance(answer, AceError)
        else answer
        for item, answer in zip(items, answers, strict=True)
    ]
    return JSONResponse(texts[0] if is_one else {"answers": texts})


async def give_labels(service: Service, request: Request, user: User) -> Response:
    """Give the labels of stored decisions, one or many; the answer comes when all are stored."""
    items, _ = await read_items(request)
    task = await asyncio.to_thread(service.playbook.task)
    labels = [read_label(item, task) for item in items]
    service.limit.take(user.name, len(items))
    report = await asyncio.to_thread(
        feedback_many, service.playbook, labels, learn=service.settings.learn
    )
    return JSONResponse(asdict(report))


async def show_decision(service: Service, request: Request, user: User) -> Response:
    """A stored decision; with `replay` also how it came about."""
    decision_id = request.path_params["id"]
    stored = await asyncio.to_thread(service.playbook.decision, decision_id)
    if request.query_params.get("replay"):
        repeated = await asyncio.to_thread(replay, service.playbook, decision_id)
        stored["replay"] = repeated.to_json()
    return JSONResponse(stored)


def _in_json(bullet: Bullet) -> dict[str, Any]:
    rule = bullet.condition.render() if bullet.condition else None
    return {**asdict(bullet), "condition": rule, "success_rate": bullet.get_success_rate()}


async def list_bullets(service: Service, request: Request, user: User) -> Response:
    """All bullets, with the version of the playbook."""
    bullets = await asyncio.to_thread(list, service.playbook)
    version = await asyncio.to_thread(lambda: service.playbook.version)
    return JSONResponse({"version": version, "bullets": [_in_json(b) for b in bullets]})


async def show_bullet(service: Service, request: Request, user: User) -> Response:
    """One bullet with its history."""
    bullet_id = request.path_params["id"]
    bullet = await asyncio.to_thread(service.playbook.get_bullet, bullet_id)
    history = await asyncio.to_thread(service.playbook.history, bullet_id)
    return JSONResponse({**_in_json(bullet), "history": history})


async def change_bullet(service: Service, request: Request, user: User) -> Response:
    """Retire a bullet, or restore a retired one."""
    item = await _one(request)
    check_names(item, ("status", "reason"), ("status", "reason"))
    bullet_id, status = request.path_params["id"], item["status"]
    reason, by = str(item["reason"])[:1_000], signature(user.name)
    before = await asyncio.to_thread(service.playbook.get_bullet, bullet_id)
    if before.status == "candidate":
        raise InvalidInput(f"{bullet_id} waits for approval: answer it at /review/{bullet_id}")
    await asyncio.to_thread(switch, service.playbook, bullet_id, str(status), reason, by)
    bullet = await asyncio.to_thread(service.playbook.get_bullet, bullet_id)
    return JSONResponse({"id": bullet_id, "status": bullet.status})


async def show_task(service: Service, request: Request, user: User) -> Response:
    """What the cases are: the task of a node as a JSON Schema."""
    node = request.query_params.get("node") or DEFAULT_NODE
    task = await asyncio.to_thread(service.playbook.task, node)
    return JSONResponse(json_schema(task))


async def list_waiting(service: Service, request: Request, user: User) -> Response:
    """Everything that waits for a person."""
    entries = await asyncio.to_thread(waiting, service.playbook)
    return JSONResponse({"waiting": [asdict(entry) for entry in entries]})


async def answer(service: Service, request: Request, user: User) -> Response:
    """Answer what waits: a verdict on a transaction, or whether a bullet may act."""
    item, name = await _one(request), request.path_params["id"]
    if "who" in item:
        raise InvalidInput("the token says who answers")
    fields = {**item, "who": user.name}
    if "approve" in item:
        check_role(user, "approver")
        approval = read_answer(ApprovalAnswer, fields)
        bullet = await asyncio.to_thread(give_approval, service.playbook, name, approval, Curator())
        return JSONResponse({"id": name, "status": bullet.status})
    task = await asyncio.to_thread(service.playbook.task)
    verdict = read_answer(VerdictAnswer, fields, stored=task.stored)
    done = await asyncio.to_thread(answer_outside_run, service.playbook, name, verdict)
    first = done.human_verdict
    learned = done.learned.to_json() if done.learned else None
    return JSONResponse({"id": name, "verdict": first.verdict, "by": first.by, "learned": learned})


async def _one(request: Request) -> dict[str, Any]:
    items, is_one = await read_items(request)
    if not is_one:
        raise InvalidInput("one object is wanted")
    item: dict[str, Any] = items[0]
    return item


ENDPOINTS: Final = (
    Endpoint(
        "POST",
        "/decisions",
        "analyst",
        decide,
        "Decide one transaction or many. A decision id that was used before gives the same answer.",
        given={
            "one": {"transaction": _PAYMENT, "decision_id": "order-1"},
            "many": [
                {"transaction": _PAYMENT, "decision_id": "order-1"},
                {"transaction": "pays 12 EUR at noon", "decision_id": "order-2"},
            ],
        },
        answer={
            "decision_id": "order-1",
            "decision": "DECLINE",
            "risk_score": 0.87,
            "reasons": ["scorecard +1.9: vpn is true, hour < 6"],
            "bullets_used": [],
            "verdict": "pending",
        },
    ),
    Endpoint(
        "GET",
        "/task",
        "viewer",
        show_task,
        "What a transaction is: the fields of the task as a JSON Schema.",
        answer={"title": "claims", "type": "object", "properties": {"claim_value": {}}},
        parameters={"node": "the node of the task, if there are several"},
    ),
    Endpoint(
        "POST",
        "/labels",
        "analyst",
        give_labels,
        "Give the labels of stored decisions, one or many: id and label are enough.",
        given={
            "one": {"decision_id": "order-1", "label": "DECLINE"},
            "many": [
                {
                    "decision_id": "order-1",
                    "label": "fraud",
                    "source": "chargeback",
                    "at": "2026-01-31",
                },
                {"decision_id": "order-2", "label": "legit"},
            ],
        },
        answer={
            "labels": 1,
            "changed": 1,
            "wrong": 0,
            "missing": 0,
            "too_young": 0,
            "replaced": 0,
            "unknown": [],
            "waiting": 0,
            "bullets_added": [],
        },
    ),
    Endpoint(
        "GET",
        "/decisions/{id}",
        "viewer",
        show_decision,
        "A stored decision: its transaction, reasons, bullets and label.",
        answer={
            "id": "order-1",
            "decision": "DECLINE",
            "reasons": [],
            "bullets": [],
            "label": None,
        },
        parameters={
            "id": "the id of the decision",
            "replay": "1: also the funnel of the selection, then and now",
        },
    ),
    Endpoint(
        "GET",
        "/playbook",
        "viewer",
        list_bullets,
        "All bullets with their records, and the version of the playbook.",
        answer={"version": 1, "bullets": [{"id": "b1", "content": "DECLINE when amount >= 900"}]},
    ),
    Endpoint(
        "GET",
        "/playbook/{id}",
        "viewer",
        show_bullet,
        "One bullet with its history.",
        answer={"id": "b1", "content": "DECLINE when amount >= 900", "history": []},
        parameters={"id": "the id of the bullet, as b1"},
    ),
    Endpoint(
        "POST",
        "/playbook/{id}",
        "approver",
        change_bullet,
        "Retire a bullet, or restore a retired one.",
        given={"retire": {"status": "retired", "reason": "blocks too many good customers"}},
        answer={"id": "b1", "status": "retired"},
        parameters={"id": "the id of the bullet, as b1"},
    ),
    Endpoint(
        "GET",
        "/review",
        "viewer",
        list_waiting,
        "What waits for a person: transactions first, then bullets.",
        answer={"waiting": [{"id": "order-1", "kind": "verdict", "why": "let through for review"}]},
    ),
    Endpoint(
        "POST",
        "/review/{id}",
        "analyst",
        answer,
        "Answer what waits. Whether a bullet may act needs the role approver.",
        given={
            "verdict": {"verdict": "DECLINE", "why": "the customer denies it"},
            "approval": {"approve": True, "why": "checked against last month"},
        },
        answer={"id": "order-1", "verdict": "DECLINE", "by": "analyst:ann", "learned": None},
        parameters={"id": "the id of the decision or of the bullet"},
    ),
)
