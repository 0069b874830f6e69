"""The routes for decisions, labels, the playbook and what waits for a person; whether the service
lives and can work, and its metrics for Prometheus.

Decisions, labels and bullets are counted in the ledger, so that all workers tell the same. What
only a process knows carries the label `worker`.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Final, TypeVar, cast

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import Response
from typing_extensions import TypedDict

from acegraph.graph.operations.feedback import (
    FeedbackReport,
    check_names,
    feedback_many,
    read_label,
)
from acegraph.graph.operations.replay import replay
from acegraph.graph.operations.review import answer_outside_run, approve_outside_run, switch
from acegraph.graph.operations.transfer import bullet_to_json
from acegraph.graph.server.access import check_role
from acegraph.graph.server.endpoints import Call, Endpoint, Json, in_json, openapi, refusal
from acegraph.graph.server.service import EVERYBODY
from acegraph.nodes.curator.curator import Curator
from acegraph.state import AceInput, AceOutput
from acegraph.state.errors import AceError, InvalidInput
from acegraph.state.ledger.lookups import ledger_counts
from acegraph.state.maintenance.people.review_queue import waiting
from acegraph.state.run.review_answers import signature
from acegraph.state.task.card_payments import DEFAULT_NODE
from acegraph.state.task.schema import json_schema

T = TypeVar("T")
_GIVEN: Final = ("transaction", "decision_id")
_PAYMENT: Final = {"amount": 2500, "hour": 3, "vpn": True, "account_age_days": 2}
_ORDER: Final = {"transaction": _PAYMENT, "decision_id": "order-1"}
_LABEL: Final = {"decision_id": "order-1", "label": "DECLINE", "source": "chargeback"}
_RETIRE: Final = {"status": "retired", "reason": "blocks too many good customers"}
_ANSWER: Final = {"verdict": "DECLINE", "why": "the customer denies it"}


async def decide(call: Call) -> object:
    """Decide one transaction or many. A decision id that was used before gives the same answer."""
    read = [_or_error(_checked, item) for item in call.items]
    sound = [cast(AceInput, one) for one in read if isinstance(one, dict)]
    decided = iter(await call.service.decide(sound))
    answers = [next(decided) if isinstance(one, dict) else one for one in read]
    if call.is_one and isinstance(answers[0], AceError):
        return refusal(answers[0])
    texts: list[object] = [
        {"decision_id": item.get("decision_id"), "error": in_json(answer)}
        if isinstance(answer, AceError)
        else answer
        for item, answer in zip(call.items, answers, strict=True)
    ]
    return texts[0] if call.is_one else {"answers": texts}


def give_labels(call: Call) -> object:
    """Give the labels of stored decisions, one or many: id and label are enough."""
    playbook, sender = call.service.playbook, call.user.name if call.user != EVERYBODY else ""
    read_one = partial(read_label, task=playbook.task(), sender=sender)
    read = [_or_error(read_one, item) for item in call.items]
    if call.is_one and isinstance(read[0], InvalidInput):
        raise read[0]
    labels = [one for one in read if isinstance(one, tuple)]
    waiting = Curator().awaiting_approval(lowering_only=True)
    learn = call.service.settings.learn
    report = feedback_many(playbook, labels, learn=learn, curator=waiting)
    refused = [
        {"item": number, "error": in_json(one)}
        for number, one in enumerate(read)
        if isinstance(one, InvalidInput)
    ]
    return {**asdict(report), "refused": refused}


def _checked(item: dict[str, object]) -> dict[str, object]:
    check_names(item, _GIVEN)
    return item


def _or_error(read: Callable[[dict[str, object]], T], item: dict[str, object]) -> T | InvalidInput:
    """What is read of an item, or why it is refused."""
    try:
        return read(item)
    except InvalidInput as error:
        return error


def show_decision(call: Call) -> object:
    """A stored decision: its transaction, reasons, bullets and label; `replay=1` repeats it."""
    stored = call.service.playbook.decision(call.name)
    if call.query.get("replay"):
        stored["replay"] = replay(call.service.playbook, call.name).to_json()
    return stored


def list_bullets(call: Call) -> object:
    """All bullets with their records, and the version of the playbook."""
    bullets = [bullet_to_json(bullet) for bullet in call.service.playbook]
    return {"version": call.service.playbook.version, "bullets": bullets}


def show_bullet(call: Call) -> object:
    """One bullet with its history."""
    bullet = call.service.playbook.get_bullet(call.name)
    return {**bullet_to_json(bullet), "history": call.service.playbook.history(call.name)}


def change_bullet(call: Call) -> object:
    """Retire a bullet, or restore a retired one."""
    check_names(call.item, ("status", "reason"), ("status", "reason"))
    status, reason = (str(call.item[name])[:1_000] for name in ("status", "reason"))
    playbook = call.service.playbook
    if playbook.get_bullet(call.name).status == "candidate":
        raise InvalidInput(f"{call.name} waits for approval: answer it at /review/{call.name}")
    switch(playbook, call.name, status, reason, signature(call.user.name))
    return {"id": call.name, "status": playbook.get_bullet(call.name).status}


def show_task(call: Call) -> object:
    """What a transaction is: the fields of the task of a `node`, as a JSON Schema."""
    return json_schema(call.service.playbook.task(call.query.get("node") or DEFAULT_NODE))


def list_waiting(call: Call) -> object:
    """What waits for a person: transactions first, then bullets."""
    return {"waiting": [asdict(entry) for entry in waiting(call.service.playbook)]}


def answer(call: Call) -> object:
    """Answer what waits. Whether a bullet may act needs the role approver."""
    if "who" in call.item:
        raise InvalidInput("the token says who answers")
    fields, playbook = {**call.item, "who": call.user.name}, call.service.playbook
    if "approve" in call.item:
        check_role(call.user, "approver")
        return {"id": call.name, "status": approve_outside_run(playbook, call.name, fields)}
    return {"id": call.name, **answer_outside_run(playbook, call.name, fields).to_json()}


def live(call: Call) -> object:
    """The process answers."""
    return {"status": "live", "version": version("acegraph")}


def ready(call: Call) -> object:
    """The database is there, has the present schema, and can be written to; else 503."""
    try:
        call.service.playbook.database.check_ready()
    except AceError as error:
        body = {"status": "not ready", "reason": str(error), "version": version("acegraph")}
        return Json(body, 503, {"Retry-After": "1"})
    return {"status": "ready", "version": version("acegraph")}


def metrics(call: Call) -> object:
    """Metrics in the text format of Prometheus: what the ledger holds now, and what this process
    counts.
    """
    service = call.service
    counts, found = ledger_counts(service.playbook.database), CollectorRegistry()
    for name, text, label, values in (
        ("decisions", "Decisions in the ledger.", "verdict", counts.decisions),
        ("labels", "Labelled cases in the ledger.", "label", counts.labels),
        ("bullets", "Bullets of the playbook.", "status", counts.bullets),
        ("reviews_waiting", "What waits for a person.", "kind",
         Counter(entry.kind for entry in waiting(service.playbook))),
    ):  # fmt: skip
        gauge = Gauge(name, text, (label,), namespace="acegraph", registry=found)
        for key in sorted(values):
            gauge.labels(key).set(values[key])
    for name, text, value in (
        ("undecided", "Transactions that wait for a decision.", counts.undecided),
        ("labels_missing", "Decisions without a label.", counts.labels_missing),
    ):
        Gauge(name, text, namespace="acegraph", registry=found).set(value)
    told = generate_latest(found) + generate_latest(service.meters.registry)
    return Response(told, media_type=CONTENT_TYPE_PLAIN_0_0_4)


def describe(call: Call) -> object:
    """The paths, with what they take and give, as OpenAPI."""
    return openapi(ENDPOINTS, json_schema(call.service.playbook.task()))


class _Decisions(TypedDict):
    answers: list[AceOutput]


@dataclass
class _Labelled(FeedbackReport):
    refused: list[dict[str, object]] = field(default_factory=list)


_TEXT: Final = {"type": "string"}
_ID: Final = {"type": "string", "minLength": 1, "maxLength": 200}
_CASE: Final = {"anyOf": [{"$ref": "#/components/schemas/Case"}, _TEXT]}
_WORD: Final = {"type": ["string", "number", "boolean"]}
_LABEL_FORM: Final = {"decision_id": _ID, "label": _WORD, "source": _TEXT, "at": _TEXT}
_STATUS_FORM: Final = {"status": {"enum": ["active", "retired"]}, "reason": _TEXT}
_ANSWER_FORM: Final = {"verdict": _TEXT, "approve": {"type": "boolean"}, "why": _TEXT}
ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    Endpoint(
        "POST",
        "/decisions",
        "feed",
        decide,
        _ORDER,
        (),
        {"transaction": _CASE, "decision_id": _ID},
        ("transaction",),
        takes_many=True,
        gives=AceOutput | _Decisions,
    ),
    Endpoint(
        "POST",
        "/labels",
        "feed",
        give_labels,
        _LABEL,
        (),
        _LABEL_FORM,
        ("decision_id", "label"),
        takes_many=True,
        gives=_Labelled,
    ),
    Endpoint("GET", "/task", "viewer", show_task, query=("node",)),
    Endpoint("GET", "/decisions/{id}", "viewer", show_decision, query=("replay",)),
    Endpoint("GET", "/playbook", "viewer", list_bullets),
    Endpoint("GET", "/playbook/{id}", "viewer", show_bullet),
    Endpoint(
        "POST",
        "/playbook/{id}",
        "approver",
        change_bullet,
        _RETIRE,
        (),
        _STATUS_FORM,
        (*_STATUS_FORM,),
    ),
    Endpoint("GET", "/review", "viewer", list_waiting),
    Endpoint("POST", "/review/{id}", "analyst", answer, _ANSWER, (), _ANSWER_FORM, ("why",)),
    Endpoint("GET", "/openapi.json", "viewer", describe),
    Endpoint("GET", "/live", None, live),
    Endpoint("GET", "/ready", None, ready),
    Endpoint("GET", "/metrics", "viewer", metrics, gives=str),
)
