"""A training against a server that always fails ends early, says why, and is no result."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from model_samples import APPROVAL, DENIAL, MODELS, SUSPICIOUS
from openai_server import OpenAIServer, Reply, failed, filled, hung_up, sent
from typer.testing import CliRunner

from acegraph.graph import TrainingPipeline
from acegraph.graph.cli.main import app
from acegraph.state import ModelUnavailable

CASES = [{"query": {**SUSPICIOUS, "amount": n}, "answer": "DECLINE"} for n in range(1, 21)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-canary")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for role, name in MODELS.items():
        monkeypatch.setenv(f"ACE_{role}_MODEL", name)
    with OpenAIServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        yield running


@pytest.mark.parametrize("concurrency", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("reply", "cases", "attempts"),
    [
        pytest.param(failed(401, "no"), 1, 1, id="401"),
        pytest.param(failed(403, "no"), 1, 1, id="403", marks=pytest.mark.slow),
        pytest.param(failed(404, "no"), 1, 1, id="404", marks=pytest.mark.slow),
        pytest.param(failed(500, "no"), 5, 3, id="500"),
        pytest.param(sent("<html>", 200, "text/html"), 5, 1, id="HTML"),
        pytest.param(hung_up, 5, 3, id="closed", marks=pytest.mark.slow),
    ],
)
def test_what_always_fails_is_not_asked_to_the_end(
    server: OpenAIServer, reply: Reply, cases: int, attempts: int, concurrency: int
) -> None:
    server.on_all(reply)
    report = TrainingPipeline(concurrency=concurrency).train_offline(CASES)
    assert report.failed
    assert "in a row failed (agent: " in report.stopped
    assert cases <= report.undecided == report.cases < cases + concurrency
    assert len(server.chats) == attempts * report.cases


def test_an_evaluation_that_always_fails_is_an_error(server: OpenAIServer) -> None:
    server.on_all(failed(401, "no"))
    with pytest.raises(ModelUnavailable, match="after 1 of 20 cases"):
        TrainingPipeline().evaluate(CASES, "vanilla")


def test_a_reflector_that_always_fails_ends_a_training(server: OpenAIServer) -> None:
    server.on_all(failed(401, "no"))
    server.on("DecisionForm", filled(**APPROVAL))
    report = TrainingPipeline().train_offline(CASES)
    assert (report.failed, report.cases, report.mistakes) == (True, 1, 1)
    assert report.failure.startswith("reflector: ")


def test_some_failures_are_told_and_end_nothing(server: OpenAIServer) -> None:
    server.on_all(*[failed(500, "no")] * 4 * 3, filled(**DENIAL))
    report = TrainingPipeline().train_offline(CASES)
    assert (report.failed, report.stopped, report.undecided, report.cases) == (False, "", 4, 20)
    assert "HTTP 500" in report.failure


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_says_so_and_exits_with_one(
    server: OpenAIServer, tmp_path: Path, as_json: bool
) -> None:
    (tmp_path / "cases.json").write_text(json.dumps(CASES))
    server.on_all(failed(401, "no"))
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    command = ["train", str(tmp_path / "cases.json"), "--playbook", url]
    done = CliRunner().invoke(app, [*command, "--json"] if as_json else command)
    assert done.exit_code == 1
    assert "the server refused the key (401)" in done.stdout
    assert "chance" not in done.stdout
    if not as_json:
        assert "undecided: 1" in done.stdout
