"""A key in the environment sends nothing anywhere: models are named."""

import os
from pathlib import Path

import pytest
from command_line import from_json, run
from model_samples import APPROVAL, FUNCTIONS, RULE, SUSPICIOUS, run_once
from openai_server import OpenAIServer, filled

from acegraph.graph import TrainingPipeline, create_ace_graph, generate_transactions
from acegraph.nodes import SimpleFraudAgent
from acegraph.state import BulletPlaybook

PAYMENT = '{"amount": 2500, "account_age_days": 2}'


@pytest.fixture
def key_only(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """A server with a key, and nobody who names a model of it."""
    for role in ("AGENT", "JUDGE", "REFLECTOR", "EMBEDDING"):
        monkeypatch.delenv(f"ACE_{role}_MODEL")
    server.on_all(filled(**APPROVAL))
    return server


def test_with_a_key_alone_no_byte_leaves(key_only: OpenAIServer, playbook: BulletPlaybook) -> None:
    playbook.add_bullet(RULE, "fraud_detection")
    graph = create_ace_graph(playbook=playbook)
    run_once(graph, {"transaction": SUSPICIOUS})  # without a label: a judge would be asked
    run_once(graph, {"transaction": SUSPICIOUS, "ground_truth": "APPROVE"})  # and a reflector
    SimpleFraudAgent().decide(SUSPICIOUS)
    TrainingPipeline().train_offline(generate_transactions(20, seed=1))
    assert key_only.requests == []


def test_the_named_model_is_asked_and_no_other(key_only: OpenAIServer) -> None:
    given = {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    found = run_once(create_ace_graph(), given, agent_model=f"openai:{FUNCTIONS}")
    assert found["verdict"] == "wrong"
    assert [r.body["model"] for r in key_only.requests] == [FUNCTIONS]


def test_the_first_line_says_who_decides_and_where(key_only: OpenAIServer, tmp_path: Path) -> None:
    env = {name: os.environ[name] for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL")}
    quiet = run(tmp_path, "decide", PAYMENT, "--json", **env)
    assert key_only.requests == []
    assert quiet.stderr.startswith("the embedded analyst decides; a key is set, but no model is")
    loud = run(tmp_path, "decide", PAYMENT, "--json", "--model", FUNCTIONS, **env)
    assert loud.stderr.startswith(
        f"asked at {key_only.url}: agent {FUNCTIONS}; transactions are sent there"
    )
    assert from_json(loud)["usage"]["agent"][FUNCTIONS]["calls"] == 1
