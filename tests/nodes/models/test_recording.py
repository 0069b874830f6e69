"""What was answered once is answered from a recording, offline and without a key."""

import json
from pathlib import Path
from typing import Any

import pytest
from model_samples import (
    APPROVAL,
    CANARY,
    DENIAL,
    LESSON,
    NODE,
    OBJECTION,
    PROSE,
    SUSPICIOUS,
    Run,
)
from openai_server import OpenAIServer, failed, filled, hung_up, sent

from acegraph.graph import TrainingPipeline, create_ace_graph, generate_transactions
from acegraph.nodes import HybridSelector, SimpleFraudAgent
from acegraph.state import BulletPlaybook, InvalidSettings, ModelUnavailable

GIVEN = {"transaction": SUSPICIOUS, "decision_id": "d1"}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Take key and server away."""

    def cut() -> None:
        monkeypatch.delenv("OPENAI_API_KEY")
        monkeypatch.delenv("OPENAI_BASE_URL")

    return cut


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording that does not exist yet."""
    monkeypatch.setenv("ACE_RECORDING", str(tmp_path / "run.jsonl"))
    return tmp_path / "run.jsonl"


def _script(server: OpenAIServer) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("VerdictForm", filled(**OBJECTION))
    server.on("ReflectionForm", filled(**LESSON))


def test_a_run_is_repeated_without_a_server_or_a_key(
    server: OpenAIServer, run: Run, file: Path, offline: Any
) -> None:
    _script(server)
    first = run(create_ace_graph(playbook=BulletPlaybook()), GIVEN, policy={"judge_bar": 0})
    asked = len(server.requests)
    assert first["new_bullet"] == "b1"
    offline()
    for _ in range(2):
        again = run(create_ace_graph(playbook=BulletPlaybook()), GIVEN, policy={"judge_bar": 0})
        assert again == first
    assert len(server.requests) == asked


def test_with_a_key_only_what_the_file_lacks_is_asked(server: OpenAIServer, file: Path) -> None:
    server.on_all(filled(**DENIAL))
    for amount in (1, 2, 1):
        SimpleFraudAgent().decide({"amount": amount})
    assert len(server.chats) == len(file.read_text().splitlines()) - 1 == 2


def test_texts_of_every_kind_are_kept_as_they_were(server: OpenAIServer, file: Path) -> None:
    server.on_all(filled(**{**DENIAL, "reasons": ["naïve\u2028 “quoted” \\u0000"]}))
    first = SimpleFraudAgent().decide(SUSPICIOUS)
    head, line = file.read_text().split("\n")[:2]
    assert len(json.loads(head)["secret"]) == 32
    assert json.loads(json.loads(line)["sent"]) == server.chats[0].body
    server.on_all(hung_up)
    assert SimpleFraudAgent().decide(SUSPICIOUS) == first


def test_what_is_no_answer_is_not_recorded(server: OpenAIServer, file: Path, offline: Any) -> None:
    server.on_all(hung_up, sent("<html>", 502, "text/html"), filled(**DENIAL))
    assert SimpleFraudAgent().analyze(SUSPICIOUS) == "DECLINE"
    assert len(file.read_text().splitlines()) == 1 + 1
    offline()
    assert SimpleFraudAgent().analyze(SUSPICIOUS) == "DECLINE"


def test_no_key_is_recorded(server: OpenAIServer, file: Path) -> None:
    server.on_all(
        failed(401, f"Incorrect API key: {CANARY}"),
        filled(**{**DENIAL, "reasons": [f"your key is {CANARY}"]}),
    )
    with pytest.raises(ModelUnavailable):
        SimpleFraudAgent().decide(SUSPICIOUS)
    SimpleFraudAgent().decide({"memo": f"my key is {CANARY}", "amount": 3})
    written = file.read_bytes()
    assert CANARY.encode() not in written
    assert written.count(b"[key]") == 2
    assert b"authorization" not in written.lower()


def test_a_question_that_was_not_recorded_stops_the_run(
    server: OpenAIServer, run: Run, file: Path, offline: Any
) -> None:
    server.on_all(filled(**DENIAL))
    SimpleFraudAgent().decide(SUSPICIOUS)
    offline()
    with pytest.raises(InvalidSettings, match="question is not in the recording"):
        run(create_ace_graph(), {"transaction": "something else"})


@pytest.mark.parametrize("content", ["{}", "not JSON", '{"format": "acegraph exchanges 1"}'])
def test_another_file_is_not_taken_for_a_recording(
    server: OpenAIServer, file: Path, content: str
) -> None:
    file.write_text(content)
    with pytest.raises(InvalidSettings, match="not a recording"):
        SimpleFraudAgent().decide(SUSPICIOUS)
    assert file.read_text() == content


def test_vectors_are_recorded(server: OpenAIServer, file: Path, offline: Any) -> None:
    def select() -> Any:
        playbook = BulletPlaybook()
        playbook.add_bullet(PROSE, NODE, "online")
        return HybridSelector().select_bullets("two", NODE, playbook)

    first = select()
    offline()
    assert select() == first
    assert [r.body["input"] for r in server.embeddings] == [["two"], [PROSE]]


@pytest.mark.slow
def test_a_training_with_many_calls_at_once_is_repeated(
    server: OpenAIServer, file: Path, offline: Any
) -> None:
    _script(server)
    cases = generate_transactions(12, seed=3)

    def train() -> tuple[Any, list[Any]]:
        pipeline = TrainingPipeline(concurrency=4)
        report = pipeline.train_online(cases)
        learned = [(b.content, b.helpful_count) for b in pipeline.playbook]
        return report.cases, report.mistakes, report.bullets_added, learned

    first = train()
    offline()
    assert train() == first
