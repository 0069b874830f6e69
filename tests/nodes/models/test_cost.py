"""Calls and tokens by node, prices, and budgets that end a training cleanly."""

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from model_samples import (
    APPROVAL,
    DENIAL,
    FUNCTIONS,
    LESSON,
    NODE,
    PROSE,
    SCHEMAS,
    SUSPICIOUS,
    Run,
    run_once,
)
from openai_server import OpenAIServer, failed, filled, said

from acegraph.graph import TrainingPipeline, create_ace_graph
from acegraph.nodes.runtime.usage import Prices, Usage
from acegraph.state import AceContext, BudgetSpent, BulletPlaybook, InvalidSettings

VECTORS = "text-embedding-3-small"
# The scripted server counts one token sent and one received for a chat, one sent for vectors.
ONE_CHAT = {"calls": 1, "input_tokens": 1, "output_tokens": 1}
ONE_VECTOR = {"calls": 1, "input_tokens": 1, "output_tokens": 0}


def _stream(cases: int) -> list[dict[str, Any]]:
    return [
        {"query": {**SUSPICIOUS, "amount": 1000 + i}, "answer": "DECLINE"} for i in range(cases)
    ]


def test_the_state_says_what_each_node_cost(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    playbook.add_bullet(PROSE, NODE)
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", filled(**LESSON))
    found = run(
        create_ace_graph(playbook=playbook), {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    )
    assert found["usage"] == {
        "selector": {VECTORS: ONE_VECTOR},
        "agent": {FUNCTIONS: ONE_CHAT},
        "reflector": {SCHEMAS: ONE_CHAT},
        "curator": {VECTORS: ONE_VECTOR},
    }


def test_what_failed_is_counted_too(server: OpenAIServer) -> None:
    server.on_all(failed(500, "boom"))
    found = run_once(create_ace_graph(), {"transaction": SUSPICIOUS})
    assert found["usage"] == {
        "agent": {FUNCTIONS: {"calls": 3, "input_tokens": 0, "output_tokens": 0}}
    }


def test_a_run_without_models_costs_nothing_and_says_so(no_key: None) -> None:
    assert run_once(create_ace_graph(), {"transaction": SUSPICIOUS})["usage"] == {}


def test_a_chat_model_of_ones_own_is_counted(no_key: None) -> None:
    told = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
    message = AIMessage(json.dumps(DENIAL), usage_metadata=told)
    own = GenericFakeChatModel(messages=iter([message]))
    found = run_once(create_ace_graph(agent=own), {"transaction": SUSPICIOUS})
    assert found["usage"] == {
        "agent": {"GenericFakeChatModel": {"calls": 1, "input_tokens": 7, "output_tokens": 5}}
    }


def test_the_cost_of_an_earlier_run_on_the_thread_is_not_inherited(server: OpenAIServer) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    server.on_all(filled(**DENIAL))
    graph = create_ace_graph().compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    for settings in ({}, {"agent_model": "embedded", "judge_model": "embedded"}):
        found = graph.invoke(
            {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"},
            config,
            context=AceContext(**settings),
        )
    assert found["usage"] == {}


@pytest.mark.parametrize("concurrency", [1, 4])
def test_the_pipeline_sums_up_calls_tokens_and_money(
    server: OpenAIServer, concurrency: int
) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", filled(**LESSON))
    prices = {FUNCTIONS: [1_000_000, 0], SCHEMAS: [0, 2_000_000], VECTORS: [0, 0]}
    pipeline = TrainingPipeline(concurrency=concurrency, prices=prices)
    report = pipeline.train_online(_stream(3))
    assert report.calls == len(server.requests) == pipeline.budget.total.calls
    assert report.tokens == pipeline.budget.total.tokens
    assert report.usage["agent"][FUNCTIONS]["calls"] == 3
    assert report.cost == 3 * 1 + 3 * 2
    assert json.loads(json.dumps(report.to_json()))["calls"] == report.calls


def test_a_model_without_a_price_makes_the_cost_unknown() -> None:
    prices = Prices.of('{"a": [1, 2]}')
    assert prices.cost({"a": Usage(1, 1_000_000, 500_000)}) == 2.0
    assert prices.cost({"a": Usage(1, 1, 1), "b": Usage(1, 1, 1)}) is None
    assert prices.cost({}) == 0


def test_prices_come_from_the_environment_as_text_or_file(
    no_key: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "prices.json"
    file.write_text('{"m": [3, 4]}')
    for given in ('{"m": [3, 4]}', str(file)):
        monkeypatch.setenv("ACE_PRICES", given)
        assert TrainingPipeline().prices.by_model == {"m": (3.0, 4.0)}
    for given in ('{"m": 3}', "[1]", "no-such-file"):
        monkeypatch.setenv("ACE_PRICES", given)
        with pytest.raises(InvalidSettings, match="prices are"):
            TrainingPipeline()


@pytest.mark.parametrize("concurrency", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("budget", [1, 5, 7])
def test_a_budget_of_calls_is_never_exceeded_and_what_was_learned_is_kept(
    server: OpenAIServer, budget: int, concurrency: int
) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", filled(**LESSON))
    playbook = BulletPlaybook()
    pipeline = TrainingPipeline(playbook, concurrency=concurrency, max_calls=budget)
    report = pipeline.train_online(_stream(8))
    assert len(server.requests) == report.calls == budget
    assert report.stopped == f"the budget of {budget} calls is spent"
    assert (report.undecided, report.cases < 8) == (0, True)
    assert report.bullets_added == len(playbook)
    assert len(playbook) == (0 if budget == 1 else 1)


@pytest.mark.slow
def test_an_interrupted_training_goes_on_and_pays_for_nothing_twice(server: OpenAIServer) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", filled(**LESSON))
    playbook = BulletPlaybook()
    stopped = 0
    for _ in range(20):
        report = TrainingPipeline(playbook, max_calls=5).train_online(_stream(6))
        stopped += bool(report.stopped)
        if not report.stopped:
            break
    assert (report.cases, report.mistakes, report.stopped) == (6, 6, "")
    assert stopped >= 2
    whole = len(server.requests)
    server.requests.clear()
    TrainingPipeline().train_online(_stream(6))
    # Cut short within a decision, the agent is asked again for it: at most once a stop.
    assert whole <= len(server.requests) + 2 * stopped


def test_a_budget_of_tokens_ends_a_training(server: OpenAIServer) -> None:
    server.on("DecisionForm", filled(**DENIAL))
    report = TrainingPipeline(max_tokens=6).train_online(_stream(8))
    assert (report.cases, report.tokens) == (3, 6)
    assert report.stopped == "the budget of 6 tokens is spent"


def test_a_part_of_the_cases_is_no_measure(server: OpenAIServer) -> None:
    server.on("DecisionForm", filled(**DENIAL))
    with pytest.raises(BudgetSpent, match="the budget of 3 calls is spent after 3 of 8 cases"):
        TrainingPipeline(max_calls=3).evaluate(_stream(8), "vanilla")


def test_a_failure_that_is_no_matter_of_money_is_undecided_and_goes_on(
    server: OpenAIServer,
) -> None:
    server.on("DecisionForm", said(None, refusal="no"), filled(**DENIAL))
    report = TrainingPipeline(max_calls=100).train_online(_stream(3))
    assert (report.cases, report.undecided, report.stopped) == (3, 1, "")
