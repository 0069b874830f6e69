"""Answers that cannot be read are asked for once more; servers without forms in plain JSON."""

import json
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from model_samples import APPROVAL, DENIAL, FUNCTIONS, SCHEMAS, SUSPICIOUS, Run, run_once
from openai_server import OpenAIServer, Reply, changed, failed, filled, said, written

from acegraph.graph import create_ace_graph
from acegraph.nodes import LanguageModel, SimpleFraudAgent
from acegraph.state import BulletPlaybook, ModelUnavailable
from acegraph.state.errors import ModelAnswerInvalid, ModelRefused

UNSURE = {**DENIAL, "risk_score": 920}


@pytest.mark.parametrize("model", [FUNCTIONS, SCHEMAS])
def test_a_broken_answer_is_repaired_once(server: OpenAIServer, model: str) -> None:
    server.on_all(filled(**UNSURE), filled(**DENIAL))
    found = SimpleFraudAgent(model=model).decide(SUSPICIOUS)
    assert (found.decision, found.risk_score) == ("DECLINE", 0.9)
    first, second = (r.body["messages"] for r in server.chats)
    assert second[: len(first)] == first
    assert json.loads(second[len(first)]["content"]) == UNSURE
    assert (
        "risk_score: Input should be less than or equal to 1" in second[len(first) + 1]["content"]
    )


def test_a_share_in_percent_is_understood_and_seven_may_be_of_ten(server: OpenAIServer) -> None:
    server.on_all(filled(**{**DENIAL, "risk_score": 92}), filled(**{**DENIAL, "risk_score": 7}))
    assert SimpleFraudAgent().decide(SUSPICIOUS).risk_score == 0.92
    assert len(server.chats) == 1
    with pytest.raises(ModelAnswerInvalid, match="risk_score"):
        SimpleFraudAgent().decide(SUSPICIOUS)


def test_a_broken_answer_is_not_repaired_twice(server: OpenAIServer) -> None:
    server.on_all(filled(**UNSURE), filled(**UNSURE), filled(**DENIAL))
    found = run_once(create_ace_graph(), {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"})
    assert found["decision"] == "UNDECIDED"
    assert len(server.chats) == 2


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(filled(**{**APPROVAL, "risk_score": 0.95}), id="risk"),
        pytest.param(
            written(f"{json.dumps(APPROVAL)}\nCorrection: decline this payment."), id="behind"
        ),
    ],
)
def test_an_approval_that_contradicts_itself_is_asked_again_and_never_stands(
    server: OpenAIServer, answer: Reply
) -> None:
    server.on_all(answer, filled(**DENIAL))
    assert SimpleFraudAgent(model=SCHEMAS).analyze(SUSPICIOUS) == "DECLINE"
    server.on_all(answer, answer)
    found = run_once(create_ace_graph(agent=SCHEMAS), {"transaction": SUSPICIOUS})
    assert found["decision"] == "UNDECIDED"
    assert "contradicts" in found["undecided"] or "two answers" in found["undecided"]


def test_what_is_said_beside_a_call_must_agree_with_it(server: OpenAIServer) -> None:
    def beside(words: str) -> Reply:
        def add(answer: dict[str, Any]) -> object:
            answer["choices"][0]["message"]["content"] = words
            return answer

        return changed(filled(**APPROVAL), add)

    server.on_all(beside("DECLINE"), filled(**DENIAL))
    assert SimpleFraudAgent(model=FUNCTIONS).analyze(SUSPICIOUS) == "DECLINE"
    assert len(server.chats) == 2
    server.on_all(beside("I approve it; others may decline."))
    assert SimpleFraudAgent(model=FUNCTIONS).analyze(SUSPICIOUS) == "APPROVE"


def test_where_a_false_decline_costs_much_a_higher_risk_may_be_approved(
    server: OpenAIServer,
) -> None:
    server.on_all(filled(**{**APPROVAL, "risk_score": 0.8}))
    costs = {"policy": {"costs": {"missed_fraud": 1, "false_decline": 9}, "base_rate": 0.5}}
    found = run_once(create_ace_graph(agent=SCHEMAS), {"transaction": SUSPICIOUS}, **costs)
    assert (found["decision"], found["risk_score"]) == ("APPROVE", 0.8)


def test_a_model_that_calls_no_function_is_asked_in_plain_json(server: OpenAIServer) -> None:
    server.on("DecisionForm", said("I would decline."))
    server.on("plain", filled(**DENIAL))
    assert SimpleFraudAgent().analyze(SUSPICIOUS) == "DECLINE"
    assert [bool(r.body.get("tools")) for r in server.chats] == [True, False]
    assert '"risk_score"' in server.chats[1].prompt  # the schema is told in words


@pytest.mark.parametrize("model", [FUNCTIONS, SCHEMAS])
@pytest.mark.parametrize(
    "status", [400, *(pytest.param(code, marks=pytest.mark.slow) for code in (422, 501))]
)
def test_a_server_without_forms_is_asked_in_plain_json_and_it_is_said(
    server: OpenAIServer,
    another_client: None,
    run: Run,
    playbook: BulletPlaybook,
    model: str,
    status: int,
) -> None:
    server.on("DecisionForm", failed(status, "response_format is not supported"))
    server.on("plain", said(f"Sure:\n```json\n{json.dumps(DENIAL)}\n```"))
    found = run(
        create_ace_graph(playbook=playbook),
        {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"},
        agent_model=model,
    )
    assert (found["decision"], found["verdict"]) == ("DECLINE", "right")
    assert len(server.chats) == (4 if status == 501 else 2)  # a 501 is tried three times
    [warning] = found["warnings"]
    assert warning.startswith(f"agent: {model} refused ")
    assert warning.endswith(": it is asked in plain JSON instead")


def test_a_repair_does_not_go_back_to_what_the_server_refused(
    server: OpenAIServer, another_client: None
) -> None:
    server.on("DecisionForm", failed(400, "response_format is not supported"))
    server.on("plain", said("I would decline."), filled(**DENIAL))
    assert SimpleFraudAgent(model=SCHEMAS).analyze(SUSPICIOUS) == "DECLINE"
    assert ["response_format" in r.body for r in server.chats] == [True, False, False]


def test_a_server_without_forms_is_asked_for_one_only_once(
    server: OpenAIServer, another_client: None
) -> None:
    server.on("DecisionForm", failed(400, "response_format is not supported"))
    server.on("plain", filled(**DENIAL))
    for _ in range(2):
        assert SimpleFraudAgent(model=SCHEMAS).analyze(SUSPICIOUS) == "DECLINE"
    assert ["response_format" in r.body for r in server.chats] == [True, False, False]


def test_who_answers_nothing_has_not_refused_a_form(
    server: OpenAIServer, another_client: None
) -> None:
    server.on_all(failed(400, "no"), failed(400, "no"), filled(**DENIAL))
    with pytest.raises(ModelUnavailable, match="HTTP 400"):
        SimpleFraudAgent(model=SCHEMAS).decide(SUSPICIOUS)
    assert SimpleFraudAgent(model=SCHEMAS).analyze(SUSPICIOUS) == "DECLINE"
    assert ["response_format" in r.body for r in server.chats] == [True, False, True]


def test_a_method_that_was_chosen_is_kept(server: OpenAIServer) -> None:
    server.on_all(failed(400, "no"))
    own = LanguageModel(ChatOpenAI(model=SCHEMAS, max_retries=0), "json_schema")
    with pytest.raises(ModelUnavailable, match="HTTP 400"):
        SimpleFraudAgent(model=own).decide(SUSPICIOUS)
    assert len(server.chats) == 1


def test_a_filter_in_front_of_the_model_is_a_refusal(server: OpenAIServer) -> None:
    server.on_all(failed(400, "filtered", "content_filter"))
    with pytest.raises(ModelRefused):
        SimpleFraudAgent().decide(SUSPICIOUS)
    assert len(server.chats) == 1
