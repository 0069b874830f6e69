"""Every fault of a server ends as a typed error or as `undecided`."""

import json
from threading import Event
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from model_samples import (
    AGREEMENT,
    APPROVAL,
    CANARY,
    DENIAL,
    FUNCTIONS,
    LESSON,
    NODE,
    PROSE,
    RULE,
    SCHEMAS,
    SUSPICIOUS,
    Run,
    counters,
)
from openai_server import (
    OpenAIServer,
    Reply,
    broken_off,
    called,
    embedded,
    failed,
    filled,
    held,
    hung_up,
    ragged,
    said,
    sent,
    written,
)

from acegraph.graph import create_ace_graph
from acegraph.nodes import SimpleFraudAgent
from acegraph.state import BulletPlaybook, ModelError, ModelUnavailable
from acegraph.state.errors import ModelAnswerInvalid, ModelRefused

_APPROVED = json.dumps(APPROVAL)
_HEAD = '{"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": '


def _approval_with(**changes: Any) -> Reply:
    return filled(**{**APPROVAL, **changes})


# What is sent, what it ends as, and how many requests are made before: one for what cannot be
# helped, two where the model is asked once more or in plain JSON, three where the line may recover.
FAULTS: dict[str, tuple[Reply, type[ModelError], int]] = {
    "HTTP 400": (failed(400, f"no, Bearer {CANARY}"), ModelUnavailable, 2),
    "HTTP 401": (failed(401, f"Incorrect API key: {CANARY}"), ModelUnavailable, 1),
    "HTTP 403": (failed(403, f"not with {CANARY}"), ModelUnavailable, 1),
    "HTTP 404": (failed(404, "no such model"), ModelUnavailable, 1),
    "HTTP 429": (failed(429, "slow down"), ModelUnavailable, 3),
    "HTTP 500": (failed(500, f"boom, headers were Bearer {CANARY}"), ModelUnavailable, 3),
    "error with status 200": (sent('{"error": {"message": "overloaded"}}'), ModelAnswerInvalid, 1),
    "HTML with status 200": (sent("<html>Sign in</html>", 200, "text/html"), ModelAnswerInvalid, 1),
    "HTML called JSON": (sent("<html>Sign in</html>"), ModelAnswerInvalid, 1),
    "empty body": (sent(""), ModelAnswerInvalid, 1),
    "a list": (sent("[]"), ModelAnswerInvalid, 1),
    "nested without end": (sent("[" * 100_000), ModelAnswerInvalid, 1),
    "empty choices": (sent(_HEAD + "[]}"), ModelAnswerInvalid, 1),
    "null choices": (sent(_HEAD + "null}"), ModelAnswerInvalid, 1),
    "malformed JSON": (written(_APPROVED[:-1]), ModelAnswerInvalid, 2),
    "not an object": (said('"APPROVE"'), ModelAnswerInvalid, 2),
    "a call without an object": (called('"APPROVE"'), ModelAnswerInvalid, 1),
    "prose only": (said("I would APPROVE this one."), ModelAnswerInvalid, 2),
    "two objects": (said(f"{_APPROVED} or {json.dumps(DENIAL)}"), ModelAnswerInvalid, 2),
    "two calls": (called(_APPROVED, json.dumps(DENIAL)), ModelAnswerInvalid, 2),
    "wrong enum": (_approval_with(decision="APPROVE_WITH_CARE"), ModelAnswerInvalid, 2),
    "risk 920": (_approval_with(risk_score=920), ModelAnswerInvalid, 2),
    "risk NaN": (_approval_with(risk_score=float("nan")), ModelAnswerInvalid, 2),
    "no risk": (filled(reasons=[], decision="APPROVE"), ModelAnswerInvalid, 2),
    "lone surrogate": (_approval_with(reasons=["\ud800"]), ModelAnswerInvalid, 2),
    "empty content": (said(""), ModelAnswerInvalid, 2),
    "null content": (said(None), ModelAnswerInvalid, 2),
    "cut off": (written(_APPROVED, finish_reason="length"), ModelAnswerInvalid, 1),
    "refusal": (said(None, refusal="I cannot help with that"), ModelRefused, 1),
    "content filter": (written(_APPROVED, finish_reason="content_filter"), ModelRefused, 1),
}
# There is a pause before these are tried again, about 1.5 s in all.
SLOW_FAULTS: dict[str, Reply] = {
    "closed connection": hung_up,
    "broken-off body": broken_off(filled(**APPROVAL)),
}
# One of each family: to the graph, and to the ledger, all failures of a family are the same.
OF_EACH_FAMILY = ("HTTP 401", "HTTP 500", "null choices", "prose only", "refusal")


@pytest.mark.parametrize("model", [FUNCTIONS, pytest.param(SCHEMAS, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("reply", "error", "calls"), FAULTS.values(), ids=FAULTS.keys())
def test_used_alone_a_failure_is_one_error_in_one_line(
    server: OpenAIServer, reply: Reply, error: type[ModelError], calls: int, model: str
) -> None:
    server.on_all(reply)
    with pytest.raises(error) as caught:
        SimpleFraudAgent(model=model).decide(SUSPICIOUS)
    assert str(caught.value).startswith(model)
    assert "\n" not in str(caught.value)
    assert CANARY not in str(caught.value)
    assert len(server.chats) == calls


@pytest.mark.parametrize(
    ("reply", "calls"),
    [
        *(pytest.param(FAULTS[name][0], FAULTS[name][2], id=name) for name in OF_EACH_FAMILY),
        *(
            pytest.param(reply, 3, id=name, marks=pytest.mark.slow)
            for name, reply in SLOW_FAULTS.items()
        ),
    ],
)
def test_a_failure_is_not_an_approval(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run, reply: Reply, calls: int
) -> None:
    shown = playbook.add_bullet(RULE, NODE)
    version = playbook.version
    server.on_all(reply)
    found = run(
        create_ace_graph(playbook=playbook), {"transaction": SUSPICIOUS, "ground_truth": "APPROVE"}
    )
    assert [b["id"] for b in found["bullets"]] == [shown]
    assert (found["decision"], found["verdict"]) == ("UNDECIDED", "undecided")
    assert found["undecided"].startswith(f"agent: {FUNCTIONS}")
    assert (found["is_correct"], found["risk_score"], found["new_bullet"]) == (None, None, None)
    assert CANARY not in json.dumps(found)
    assert counters(playbook, shown) == (0, 0, 0)
    assert (len(playbook), playbook.version) == (1, version)
    assert len(server.chats) == calls
    assert len(server.embeddings) == 1


@pytest.mark.parametrize("model", [FUNCTIONS, SCHEMAS])
def test_prose_around_the_form_is_read_or_refused_never_turned_round(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run, model: str
) -> None:
    server.on_all(said(f"Here you are:\n```json\n{json.dumps(DENIAL)}\n```\nBye."))
    found = run(create_ace_graph(playbook=playbook), {"transaction": "x"}, agent_model=model)
    assert found["decision"] == "DECLINE"


def test_a_nul_in_what_a_model_wrote_reaches_no_state(server: OpenAIServer, run: Run) -> None:
    # PostgreSQL, where checkpoints may lie, cannot hold one.
    server.on("DecisionForm", _approval_with(reasons=["us\0ual"]))
    server.on("VerdictForm", filled(**{**AGREEMENT, "reasoning": "it\0 fits"}))
    found = run(create_ace_graph(), {"transaction": SUSPICIOUS})
    assert (found["reasons"], found["judge_reasoning"]) == (["usual"], "it fits")


def test_the_servers_code_is_told_and_its_words_are_not(server: OpenAIServer) -> None:
    server.on(
        "DecisionForm", failed(429, "You, the owner of sk-1, are broke", "insufficient_quota")
    )
    with pytest.raises(ModelUnavailable, match=r"\(HTTP 429\): insufficient_quota$"):
        SimpleFraudAgent().decide(SUSPICIOUS)


def test_a_server_that_recovers_is_asked_again(server: OpenAIServer) -> None:
    server.on("DecisionForm", failed(503, "busy"), failed(429, "busy"), filled(**DENIAL))
    assert SimpleFraudAgent().analyze(SUSPICIOUS) == "DECLINE"
    assert len(server.chats) == 3


def test_a_time_out_is_an_error_of_the_family(server: OpenAIServer) -> None:
    release = Event()
    server.on("DecisionForm", held(release, filled(**APPROVAL)))
    hasty = ChatOpenAI(model=FUNCTIONS, timeout=0.2, max_retries=0)
    with pytest.raises(ModelUnavailable, match="Timeout"):
        SimpleFraudAgent(model=hasty).decide(SUSPICIOUS)
    release.set()
    assert len(server.chats) == 1


def test_a_server_that_is_not_there_is_an_error_of_the_family(server: OpenAIServer) -> None:
    with OpenAIServer() as gone:
        url = gone.url
    absent = ChatOpenAI(model=FUNCTIONS, base_url=url, max_retries=0)
    with pytest.raises(ModelUnavailable, match="Connection"):
        SimpleFraudAgent(model=absent).decide(SUSPICIOUS)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(failed(500, f"boom {CANARY}"), id="HTTP 500"),
        pytest.param(said(None, refusal="no"), id="refusal"),
        pytest.param(filled(**{**AGREEMENT, "confidence": 920}), id="confidence 920"),
        pytest.param(filled(**{**AGREEMENT, "confidence": float("nan")}), id="confidence NaN"),
        pytest.param(filled(**{**AGREEMENT, "is_correct": "perhaps"}), id="neither"),
        pytest.param(sent("<html>", 200, "text/html"), id="HTML"),
    ],
)
def test_a_judge_that_fails_leaves_the_decision_and_credits_nobody(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run, reply: Reply
) -> None:
    shown = playbook.add_bullet(RULE, NODE)
    server.on("DecisionForm", filled(**DENIAL))
    server.on("VerdictForm", reply)
    found = run(create_ace_graph(playbook=playbook), {"transaction": SUSPICIOUS})
    assert (found["decision"], found["verdict"]) == ("DECLINE", "undecided")
    assert found["undecided"].startswith(f"judge: {SCHEMAS}")
    assert (found["is_correct"], found["correct_answer"]) == (None, None)
    assert CANARY not in json.dumps(found)
    assert counters(playbook, shown)[:2] == (0, 0)
    assert len(playbook) == 1
    assert len(server.chats) <= 4


def test_a_reflector_that_fails_leaves_the_verdict_and_teaches_nothing(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", failed(500, f"boom {CANARY}"))
    found = run(
        create_ace_graph(playbook=playbook), {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    )
    assert (found["decision"], found["verdict"]) == ("APPROVE", "wrong")
    assert found["undecided"].startswith(f"reflector: {SCHEMAS}")
    assert found["new_bullet"] is None
    assert CANARY not in json.dumps(found)
    assert len(playbook) == 0


def test_what_a_failing_reflector_missed_is_learned_when_the_decision_comes_again(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", failed(401, "no"), filled(**LESSON))
    graph = create_ace_graph(playbook=playbook)
    given = {"transaction": SUSPICIOUS, "ground_truth": "DECLINE", "decision_id": "d1"}
    assert run(graph, given)["new_bullet"] is None
    assert run(graph, given)["new_bullet"] == "b1"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(failed(500, f"boom {CANARY}"), id="HTTP 500"),
        pytest.param(failed(401, f"bad key {CANARY}"), id="HTTP 401"),
        pytest.param(sent("<html>", 200, "text/html"), id="HTML"),
        pytest.param(sent('{"object": "list", "model": "m", "data": []}'), id="no vectors"),
        pytest.param(embedded(fill=float("nan")), id="NaN"),
        pytest.param(ragged, id="dimensions that differ in one batch"),
    ],
)
def test_without_vectors_the_rules_that_hold_are_shown_and_it_is_said(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run, reply: Reply
) -> None:
    rule, prose = playbook.add_bullet(RULE, NODE), playbook.add_bullet(PROSE, NODE)
    server.on("embeddings", reply)
    server.on("DecisionForm", filled(**DENIAL))
    found = run(
        create_ace_graph(playbook=playbook), {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    )
    assert [b["id"] for b in found["bullets"]] == [rule]
    [warning] = found["warnings"]
    assert warning.startswith("selection without embeddings: ")
    assert CANARY not in json.dumps(found)
    assert (found["decision"], found["verdict"]) == ("DECLINE", "right")
    assert counters(playbook, rule) == (1, 0, 1)
    assert counters(playbook, prose) == (0, 0, 0)
    assert 1 <= len(server.embeddings) <= 3


def test_vectors_of_another_dimension_than_the_stored_ones_are_not_compared(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    rule, _ = playbook.add_bullet(RULE, NODE), playbook.add_bullet(PROSE, NODE)
    server.on("embeddings", embedded(1536), embedded(8))
    server.on("DecisionForm", filled(**DENIAL))
    graph = create_ace_graph(playbook=playbook)
    given = {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    assert run(graph, given)["warnings"] == []
    found = run(graph, {**given, "transaction": {**SUSPICIOUS, "hour": 3}})
    assert [b["id"] for b in found["bullets"]] == [rule]
    assert found["warnings"][0].startswith("selection without embeddings: ")


def test_vectors_of_another_dimension_are_not_kept(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    server.on("embeddings", embedded(1536), embedded(8), embedded(1536))
    server.on("DecisionForm", filled(**DENIAL))
    graph = create_ace_graph(playbook=playbook)
    warned = []
    for bullet in (RULE, PROSE, "DECLINE when amount > 2000"):
        playbook.add_bullet(bullet, NODE)
        found = run(graph, {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"})
        warned.append(bool(found["warnings"]))
    assert warned == [False, True, False]


def test_a_bullet_is_born_even_if_its_vector_cannot_be_fetched(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", filled(**LESSON))
    server.on("embeddings", failed(500, "boom"))
    found = run(
        create_ace_graph(playbook=playbook), {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    )
    assert playbook.get_bullet(found["new_bullet"]).content == LESSON["new_bullet"]
    assert found["warnings"][0].startswith(f"no vector yet for {found['new_bullet']}: ")
