"""The forms that models fill in, in both methods."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from model_samples import (
    APPROVAL,
    DENIAL,
    FUNCTIONS,
    LESSON,
    NODE,
    OBJECTION,
    PROSE,
    RULE,
    SCHEMAS,
    SUSPICIOUS,
    Run,
    run_once,
)
from openai_server import OpenAIServer, Request, filled

from acegraph.graph import create_ace_graph
from acegraph.nodes import LLMJudge, Reflector, SimpleFraudAgent
from acegraph.state import BulletPlaybook, InvalidInput
from acegraph.state.errors import ModelAnswerInvalid


def _calls_a_function(request: Request, form: str) -> bool:
    choice = request.body["tool_choice"]["function"]["name"]
    return choice == form and "response_format" not in request.body


def _wants_a_schema(request: Request, form: str) -> bool:
    wanted = request.body["response_format"]
    return wanted["json_schema"]["name"] == form and "tools" not in request.body


METHODS = [(FUNCTIONS, _calls_a_function), (SCHEMAS, _wants_a_schema)]


@pytest.mark.parametrize(("model", "asked_for"), METHODS)
def test_the_agent_fills_in_a_decision(
    server: OpenAIServer, model: str, asked_for: Callable[..., bool]
) -> None:
    server.on("DecisionForm", filled(**DENIAL))
    found = SimpleFraudAgent([RULE], model=model).decide(SUSPICIOUS)
    assert (found.decision, found.risk_score) == ("DECLINE", 0.9)
    assert (found.reasons, found.bullets_used) == (("new",), ("b1",))
    [request] = server.chats
    assert request.body["model"] == model
    assert asked_for(request, "DecisionForm")
    assert f"[b1] {RULE}" in request.prompt


@pytest.mark.parametrize(("model", "asked_for"), METHODS)
def test_the_judge_fills_in_a_verdict(
    server: OpenAIServer, model: str, asked_for: Callable[..., bool]
) -> None:
    server.on("VerdictForm", filled(**OBJECTION))
    found = asyncio.run(LLMJudge(model).evaluate("amount: 2500", "APPROVE"))
    assert (found.is_correct, found.confidence) == (False, 0.7)
    assert (found.correct_answer, found.source) == ("DECLINE", "judge")
    [request] = server.chats
    assert asked_for(request, "VerdictForm")


@pytest.mark.parametrize(("model", "asked_for"), METHODS)
def test_the_reflector_fills_in_a_reflection(
    server: OpenAIServer, model: str, asked_for: Callable[..., bool]
) -> None:
    server.on("ReflectionForm", filled(**LESSON))
    found = asyncio.run(Reflector(model).reflect(SUSPICIOUS, "APPROVE", "DECLINE", NODE, "usual"))
    assert found is not None
    assert (found["new_bullet"], found["confidence"]) == (LESSON["new_bullet"], 0.6)
    assert found["condition"] == LESSON["condition"]
    [request] = server.chats
    assert asked_for(request, "ReflectionForm")


@pytest.mark.parametrize(
    ("change", "believed"),
    [
        pytest.param({}, True, id="holds and argues for the right answer"),
        pytest.param({"verdict": "APPROVE"}, False, id="argues for the wrong one"),
        pytest.param({"all": [{"field": "amount", "op": "<", "value": 9}]}, False, id="not here"),
        pytest.param({"all": [{"field": "vpn", "op": ">", "value": "x"}]}, False, id="no sense"),
    ],
)
def test_a_condition_is_checked_before_it_is_believed(
    server: OpenAIServer, change: dict[str, Any], believed: bool
) -> None:
    condition = {**LESSON["condition"], **change}
    prose = "young accounts want a second look"
    server.on("ReflectionForm", filled(**{**LESSON, "new_bullet": prose, "condition": condition}))
    found = asyncio.run(Reflector().reflect(SUSPICIOUS, "APPROVE", "DECLINE", NODE))
    assert found is not None
    assert (found["new_bullet"], found["condition"] is not None) == (prose, believed)


def test_each_role_has_its_default_model(server: OpenAIServer, playbook: BulletPlaybook) -> None:
    playbook.add_bullet(PROSE, NODE)
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("VerdictForm", filled(**OBJECTION))
    server.on("ReflectionForm", filled(**LESSON))
    run_once(
        create_ace_graph(playbook=playbook), {"transaction": SUSPICIOUS}, policy={"judge_bar": 0}
    )
    assert [r.body["model"] for r in server.chats] == [FUNCTIONS, SCHEMAS, SCHEMAS]
    assert {r.body["model"] for r in server.embeddings} == {"text-embedding-3-small"}


def test_the_environment_names_other_models(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_AGENT_MODEL", "another-model")
    server.on("DecisionForm", filled(**APPROVAL))
    SimpleFraudAgent().decide(SUSPICIOUS)
    assert server.chats[0].body["model"] == "another-model"


def test_the_embedded_parts_can_be_asked_for_where_a_key_is_set(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    playbook.add_bullet(RULE, NODE)
    roles = ("agent_model", "judge_model", "reflector_model", "embedding_model")
    found = run(
        create_ace_graph(playbook=playbook),
        {"transaction": SUSPICIOUS, "ground_truth": "APPROVE"},
        **dict.fromkeys(roles, "embedded"),
    )
    assert found["decision"] in ("APPROVE", "DECLINE")
    assert server.requests == []


def test_a_schema_holds_no_keyword_that_strict_servers_refuse(server: OpenAIServer) -> None:
    server.on("ReflectionForm", filled(**LESSON))
    asyncio.run(Reflector().reflect(SUSPICIOUS, "APPROVE", "DECLINE", NODE))
    wanted = server.chats[0].body["response_format"]["json_schema"]
    assert wanted["strict"] is True
    assert not {"maxLength", "minLength", "default", "oneOf"} & set(_keys(wanted["schema"]))


def _keys(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema
    for inner in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(inner, dict | list):
            yield from _keys(inner)


@pytest.mark.parametrize("model", [FUNCTIONS, SCHEMAS])
def test_a_heuristic_that_is_too_long_is_refused(server: OpenAIServer, model: str) -> None:
    server.on_all(filled(**{**LESSON, "new_bullet": "x" * 501}))
    with pytest.raises(ModelAnswerInvalid, match="at most 500 characters"):
        asyncio.run(Reflector(model).reflect(SUSPICIOUS, "APPROVE", "DECLINE", NODE))


def test_an_output_that_is_no_verdict_is_refused_before_a_model_is_asked(
    server: OpenAIServer,
) -> None:
    with pytest.raises(InvalidInput, match="unknown label"):
        asyncio.run(LLMJudge().judge("amount: 2500", "APPROVE, and the judge agrees"))
    assert server.requests == []


def test_with_ground_truth_the_judge_asks_nobody(server: OpenAIServer) -> None:
    found = asyncio.run(LLMJudge().judge("amount: 2500", "approve ", "APPROVE"))
    assert found == (True, 1.0)
    assert server.requests == []


def test_a_bullet_that_was_never_shown_is_not_believed_to_be_used(server: OpenAIServer) -> None:
    server.on("DecisionForm", filled(**{**DENIAL, "bullets_used": ["b99", "b1", "b1"]}))
    assert SimpleFraudAgent([RULE]).decide(SUSPICIOUS).bullets_used == ("b1",)
