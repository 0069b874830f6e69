"""Exchanges are recorded and replayed offline, byte for byte, without a key."""

import base64
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
from openai_server import (
    OpenAIServer,
    Response,
    failed,
    filled,
    hung_up,
    sent,
    waiting_for,
)

from acegraph.graph import TrainingPipeline, create_ace_graph, generate_transactions
from acegraph.nodes import HybridSelector, SimpleFraudAgent, recording, replaying
from acegraph.state import BulletPlaybook, InvalidSettings, ModelUnavailable

GIVEN = {"transaction": SUSPICIOUS, "decision_id": "d1"}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Take key and server away."""

    def cut() -> None:
        monkeypatch.delenv("OPENAI_API_KEY")
        monkeypatch.delenv("OPENAI_BASE_URL")

    return cut


def _script(server: OpenAIServer) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("VerdictForm", filled(**OBJECTION))
    server.on("ReflectionForm", filled(**LESSON))


def test_a_run_is_replayed_without_a_server_or_a_key(
    server: OpenAIServer, run: Run, tmp_path: Path, offline: Any
) -> None:
    _script(server)
    with recording(tmp_path / "run.jsonl"):
        first = run(create_ace_graph(playbook=BulletPlaybook()), GIVEN, judge_bar=0)
    asked = len(server.requests)
    assert first["new_bullet"] == "b1"
    offline()
    for _ in range(2):
        with replaying(tmp_path / "run.jsonl"):
            again = run(create_ace_graph(playbook=BulletPlaybook()), GIVEN, judge_bar=0)
        assert again == first
    assert len(server.requests) == asked


def test_the_environment_records_and_replays(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: Any
) -> None:
    server.on_all(filled(**DENIAL))
    file = tmp_path / "run.jsonl"
    monkeypatch.setenv("ACE_RECORD", str(file))
    SimpleFraudAgent().decide(SUSPICIOUS)
    monkeypatch.setenv("ACE_REPLAY", str(file))
    with pytest.raises(InvalidSettings, match="exclude each other"):
        SimpleFraudAgent().decide(SUSPICIOUS)
    monkeypatch.delenv("ACE_RECORD")
    offline()
    assert SimpleFraudAgent().analyze(SUSPICIOUS) == "DECLINE"
    assert len(server.requests) == 1


def test_bytes_are_kept_as_they_were(server: OpenAIServer, tmp_path: Path) -> None:
    server.on_all(filled(**{**DENIAL, "reasons": ["naïve\u2028 “quoted” \\u0000"]}))
    with recording(tmp_path / "run.jsonl"):
        first = SimpleFraudAgent().decide(SUSPICIOUS)
    head, line = (tmp_path / "run.jsonl").read_text().split("\n")[:2]
    assert len(json.loads(head)["secret"]) == 32
    assert json.loads(json.loads(line)["sent"]["text"]) == server.chats[0].body
    with replaying(tmp_path / "run.jsonl"):
        assert SimpleFraudAgent().decide(SUSPICIOUS) == first


def test_an_end_of_line_in_an_answer_is_none_of_the_recording(
    server: OpenAIServer, tmp_path: Path
) -> None:
    server.on_all(sent("not\u2028now\x85", 502, "text/plain"), filled(**DENIAL))
    with recording(tmp_path / "run.jsonl"):
        first = SimpleFraudAgent().decide(SUSPICIOUS)
    with replaying(tmp_path / "run.jsonl"):
        assert SimpleFraudAgent().decide(SUSPICIOUS) == first


def test_a_key_among_other_bytes_than_text_is_not_recorded(
    server: OpenAIServer, tmp_path: Path
) -> None:
    refused = f"Schlüssel {CANARY} ungültig".encode("latin-1")
    server.on_all(lambda body: Response(refused, 401, "text/plain"))
    with recording(tmp_path / "run.jsonl"), pytest.raises(ModelUnavailable):
        SimpleFraudAgent().decide(SUSPICIOUS)
    line = (tmp_path / "run.jsonl").read_text().split("\n")[1]
    received = base64.b64decode(json.loads(line)["received"]["base64"])
    assert received == "Schlüssel [key] ungültig".encode("latin-1")


def test_no_key_is_recorded(server: OpenAIServer, tmp_path: Path) -> None:
    server.on_all(failed(401, f"Incorrect API key: {CANARY}"), filled(**DENIAL))
    with recording(tmp_path / "run.jsonl"):
        with pytest.raises(ModelUnavailable):
            SimpleFraudAgent().decide(SUSPICIOUS)
        SimpleFraudAgent().decide({"memo": f"my key is {CANARY}", "amount": 3})
    written = (tmp_path / "run.jsonl").read_bytes()
    assert CANARY.encode() not in written
    assert written.count(b"[key]") == 2
    assert b"authorization" not in written.lower()


def test_failures_are_replayed_as_well(server: OpenAIServer, tmp_path: Path, offline: Any) -> None:
    server.on_all(hung_up, sent("<html>", 502, "text/html"), filled(**DENIAL))
    with recording(tmp_path / "run.jsonl"):
        assert SimpleFraudAgent().analyze(SUSPICIOUS) == "DECLINE"
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 1 + 3
    offline()
    with replaying(tmp_path / "run.jsonl"):
        assert SimpleFraudAgent().analyze(SUSPICIOUS) == "DECLINE"


def test_a_run_that_gave_up_for_lack_of_time_is_replayed(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_DEADLINE", "0.3")
    server.on_all(waiting_for(failed(429, "slow down"), "0.2"))
    for use in (recording, replaying):
        with use(tmp_path / "run.jsonl"), pytest.raises(ModelUnavailable, match="429"):
            SimpleFraudAgent().decide(SUSPICIOUS)
    assert len(server.chats) == 2


def test_a_request_that_was_not_recorded_stops_the_run(
    server: OpenAIServer, run: Run, tmp_path: Path
) -> None:
    server.on_all(filled(**DENIAL))
    with recording(tmp_path / "run.jsonl"):
        SimpleFraudAgent().decide(SUSPICIOUS)
    with (
        replaying(tmp_path / "run.jsonl"),
        pytest.raises(InvalidSettings, match="completions request is not in the recording"),
    ):
        run(create_ace_graph(), {"transaction": "something else"})
    agent = SimpleFraudAgent()
    with replaying(tmp_path / "run.jsonl"):
        agent.decide(SUSPICIOUS)
        with pytest.raises(InvalidSettings, match="was asked less often in the recording"):
            agent.decide(SUSPICIOUS)


@pytest.mark.parametrize("content", ["", "{}", "not JSON", '{"format": "acegraph exchanges 9"}'])
def test_another_file_is_not_taken_for_a_recording(
    server: OpenAIServer, tmp_path: Path, content: str
) -> None:
    (tmp_path / "run.jsonl").write_text(content)
    with replaying(tmp_path / "run.jsonl"), pytest.raises(InvalidSettings, match="not a recording"):
        SimpleFraudAgent().decide(SUSPICIOUS)
    with replaying(tmp_path / "none.jsonl"), pytest.raises(InvalidSettings, match="no recording"):
        SimpleFraudAgent().decide(SUSPICIOUS)


def test_a_recording_is_continued_under_its_secret(server: OpenAIServer, tmp_path: Path) -> None:
    server.on_all(filled(**DENIAL))
    for amount in (1, 2):
        with recording(tmp_path / "run.jsonl"):
            SimpleFraudAgent().decide({"amount": amount})
    with replaying(tmp_path / "run.jsonl"):
        assert [SimpleFraudAgent().analyze({"amount": a}) for a in (2, 1)] == ["DECLINE"] * 2


def test_a_recording_that_was_deleted_begins_anew(server: OpenAIServer, tmp_path: Path) -> None:
    server.on_all(filled(**DENIAL))
    for _ in range(2):
        (tmp_path / "run.jsonl").unlink(missing_ok=True)
        with recording(tmp_path / "run.jsonl"):
            SimpleFraudAgent().decide(SUSPICIOUS)
    with replaying(tmp_path / "run.jsonl"):
        assert SimpleFraudAgent().analyze(SUSPICIOUS) == "DECLINE"


def _with_prose() -> BulletPlaybook:
    playbook = BulletPlaybook()
    playbook.add_bullet(PROSE, NODE, "online")
    return playbook


@pytest.mark.parametrize("name", [None, "text-embedding-3-small"])
def test_vectors_are_recorded_and_replayed_by_what_was_used_before(
    server: OpenAIServer, tmp_path: Path, name: str | None
) -> None:
    select = HybridSelector(embedding_model=name).select_bullets
    select("one", NODE, _with_prose())
    with recording(tmp_path / "run.jsonl"):
        select("two", NODE, _with_prose())
    with replaying(tmp_path / "run.jsonl"):
        select("two", NODE, _with_prose())
    assert len(server.embeddings) == 2
    select("three", NODE, _with_prose())
    assert len(server.embeddings) == 3


def test_a_pipeline_that_was_used_before_is_recorded_whole(
    server: OpenAIServer, tmp_path: Path
) -> None:
    server.on_all(filled(**DENIAL))
    pipeline = TrainingPipeline(_with_prose())
    pipeline.train_online([{"query": "one", "answer": "DECLINE"}])
    with recording(tmp_path / "run.jsonl"):
        pipeline.train_online([{"query": "two", "answer": "DECLINE"}])
    written = (tmp_path / "run.jsonl").read_text()
    assert [path in written for path in ("/v1/embeddings", "/v1/chat/completions")] == [True] * 2


def test_a_training_with_many_calls_at_once_is_replayed(
    server: OpenAIServer, tmp_path: Path, offline: Any
) -> None:
    _script(server)
    cases = generate_transactions(12, seed=3)

    def train() -> tuple[Any, list[Any]]:
        pipeline = TrainingPipeline(concurrency=4)
        report = pipeline.train_online(cases)
        return report.to_json(), [(b.content, b.helpful_count) for b in pipeline.playbook]

    with recording(tmp_path / "run.jsonl"):
        first = train()
    offline()
    with replaying(tmp_path / "run.jsonl"):
        assert train() == first
