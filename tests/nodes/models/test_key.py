"""The key is in the header and nowhere else."""

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from model_samples import (
    APPROVAL,
    CANARY,
    FUNCTIONS,
    LESSON,
    NODE,
    OBJECTION,
    RULE,
    SCHEMAS,
    SUSPICIOUS,
    Run,
    run_once,
)
from openai_server import OpenAIServer, failed, filled

from acegraph.graph import create_ace_graph
from acegraph.nodes import HybridSelector, SimpleFraudAgent
from acegraph.state import BulletPlaybook, InvalidSettings


def test_the_key_is_in_the_header_and_nowhere_else(
    server: OpenAIServer, playbook: BulletPlaybook, run: Run
) -> None:
    playbook.add_bullet(RULE, NODE)
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("VerdictForm", filled(**OBJECTION))
    server.on("ReflectionForm", filled(**LESSON))
    graph = create_ace_graph(playbook=playbook)
    found = run(graph, {"transaction": SUSPICIOUS}, policy={"judge_bar": 0})
    assert found["new_bullet"] is not None
    assert len(server.requests) == 5
    assert {r.headers["authorization"] for r in server.requests} == {f"Bearer {CANARY}"}
    assert CANARY not in json.dumps(found)
    assert CANARY not in json.dumps([r.body for r in server.requests])
    assert CANARY not in json.dumps(playbook.decision(found["decision_id"]), default=str)


def test_the_key_is_in_no_log_and_no_checkpoint(
    server: OpenAIServer, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    server.on_all(failed(401, f"Incorrect API key: {CANARY}"))
    with (
        caplog.at_level(logging.DEBUG),
        SqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver,
    ):
        graph = create_ace_graph().compile(checkpointer=saver)
        given = {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
        found = graph.invoke(given, {"configurable": {"thread_id": "1"}})
        saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert found["undecided"] == f"agent: {FUNCTIONS}: the server refused the key (401)"
    assert b"refused the key" in (tmp_path / "checkpoints.db").read_bytes()
    assert CANARY.encode() not in (tmp_path / "checkpoints.db").read_bytes()
    assert caplog.records
    assert CANARY not in "".join(record.getMessage() for record in caplog.records)


def test_a_changed_key_is_used_at_once(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    agent = SimpleFraudAgent()
    agent.decide(SUSPICIOUS)
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    agent.decide(SUSPICIOUS)
    assert server.chats[1].headers["authorization"] == "Bearer another-key"


def test_a_changed_key_is_used_for_vectors_too(
    server: OpenAIServer, playbook: BulletPlaybook, monkeypatch: pytest.MonkeyPatch
) -> None:
    playbook.add_bullet(RULE, NODE)
    selector = HybridSelector()
    selector.select_bullets("one", NODE, playbook)
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    selector.select_bullets("two", NODE, playbook)
    assert server.embeddings[1].headers["authorization"] == "Bearer another-key"


@pytest.mark.parametrize("key", [None, ""])
@pytest.mark.parametrize(
    "name_a_model",
    [
        pytest.param(
            lambda: run_once(create_ace_graph(), {"transaction": "x"}, agent_model=FUNCTIONS),
            id="agent",
        ),
        pytest.param(
            lambda: run_once(create_ace_graph(), {"transaction": SUSPICIOUS}, judge_model=SCHEMAS),
            id="judge",
        ),
        pytest.param(lambda: SimpleFraudAgent(model=FUNCTIONS).decide("x"), id="alone"),
        pytest.param(
            lambda: HybridSelector(embedding_model="text-embedding-3-small"), id="selector"
        ),
    ],
)
def test_naming_a_model_without_a_key_is_one_line(
    no_key: None,
    monkeypatch: pytest.MonkeyPatch,
    name_a_model: Callable[[], object],
    key: str | None,
) -> None:
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InvalidSettings, match="needs OPENAI_API_KEY") as caught:
        name_a_model()
    assert "\n" not in str(caught.value)
