"""The doctor: which models would be used, whether they answer, what is wrong."""

import json
from pathlib import Path

import pytest
from command_line import run
from lies import EMBEDDINGS
from model_samples import CANARY, FUNCTIONS, MODELS, SCHEMAS
from openai_server import OpenAIServer, embedded, failed, filled
from typer.testing import CliRunner

from acegraph.graph.cli.main import app
from acegraph.graph.operations.monitoring.doctor import Finding, model_findings
from acegraph.state import AceContext, BulletPlaybook

HELLO = filled(greeting="hello")


def _by_name(found: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in found}


def test_without_a_key_everything_is_embedded_and_well(no_key: None) -> None:
    found = model_findings()
    assert [f.level for f in found] == ["ok"] * 5
    assert "OPENAI_API_KEY is not set" in found[0].text


def test_it_says_which_models_answer_and_why_they_were_chosen(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_JUDGE_MODEL", "judge-9")
    server.on_all(HELLO)
    found = _by_name(model_findings(AceContext(reflector_model="embedded")))
    assert found["server"].text.startswith(server.url)
    by = f"{FUNCTIONS} (ACE_AGENT_MODEL) by function_calling"
    assert found["agent"].text.startswith(f"{by}, answered in")
    assert found["judge"].text.startswith("judge-9 (ACE_JUDGE_MODEL) by json_schema")
    assert found["reflector"].text == "embedded, needs no server (context)"
    assert "1536 dimensions" in found["embedding"].text
    assert {f.level for f in found.values()} == {"ok"}
    assert CANARY not in str(found)


def test_a_key_without_a_name_asks_nothing_and_it_is_said(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role in MODELS:
        monkeypatch.delenv(f"ACE_{role}_MODEL")
    found = model_findings()
    assert found[0].text.startswith("nothing is asked: a key is set, but no model is named")
    assert server.requests == []


def test_what_is_secret_in_the_address_of_a_server_is_not_told(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://ann:hush@example.org/v1?api-key=hush")
    found = model_findings(ask=False)
    assert found[0].text == "http://example.org/v1, a key is set"
    assert "hush" not in str(found)


def test_a_missing_key_is_a_problem(no_key: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for role, name in MODELS.items():
        monkeypatch.setenv(f"ACE_{role}_MODEL", name)
    found = _by_name(model_findings())
    assert found["agent"].level == found["embedding"].level == "problem"
    assert "needs OPENAI_API_KEY" in found["agent"].text


def test_it_says_what_is_wrong(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_EMBEDDING_MODEL", "unheard-of")
    server.on_all(failed(401, f"bad key {CANARY}"))
    server.on("embeddings", embedded(8))
    found = _by_name(model_findings())
    assert found["agent"] == Finding(
        "agent",
        "problem",
        f"{FUNCTIONS} (ACE_AGENT_MODEL) by function_calling: "
        f"{FUNCTIONS}: the server refused the key (401)",
    )
    assert found["embedding"].level == "ok"
    assert "8 dimensions" in found["embedding"].text
    assert CANARY not in str(found)


@pytest.mark.parametrize("lie", ["vectors of [0.0", "vectors of [0.5", "vectors of [nan"])
def test_an_embedder_that_gives_no_vectors_is_a_problem(server: OpenAIServer, lie: str) -> None:
    [change] = [change for name, change in EMBEDDINGS.items() if name.startswith(lie)]
    server.on_all(HELLO)
    server.on("embeddings", change(embedded(64)))
    assert _by_name(model_findings())["embedding"].level == "problem"


def test_a_server_without_forms_is_a_warning(server: OpenAIServer, another_client: None) -> None:
    server.on("ProbeForm", failed(400, "no"))
    server.on("plain", HELLO)
    found = _by_name(model_findings())
    assert found["judge"].level == "warning"
    assert "asked in plain JSON instead" in found["judge"].text


def test_not_asking_makes_no_request(server: OpenAIServer) -> None:
    assert "not asked" in _by_name(model_findings(ask=False))["judge"].text
    assert server.requests == []


def test_a_setting_that_cannot_be_read_is_a_problem(
    no_key: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_TIMEOUT", "1e300")
    [found] = model_findings()
    assert (found.name, found.level) == ("settings", "problem")
    assert "1e300" in found.text


def test_a_model_named_without_a_key_is_a_problem(
    no_key: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_AGENT_MODEL", SCHEMAS)
    found = _by_name(model_findings())
    assert found["agent"].text == f"{SCHEMAS} (ACE_AGENT_MODEL) needs OPENAI_API_KEY"


def test_the_command_exits_with_one_where_there_is_a_problem(
    server: OpenAIServer, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    server.on_all(failed(404, "no such model"))
    done = CliRunner().invoke(app, ["doctor", "--playbook", url, "--json"])
    assert done.exit_code == 1
    assert {f["level"] for f in json.loads(done.stdout)} == {"ok", "problem"}
    assert not (tmp_path / "ace.db").exists()
    server.on_all(HELLO)
    done = CliRunner().invoke(app, ["doctor", "--playbook", url, "--json"])
    problems = [f for f in json.loads(done.stdout) if f["level"] == "problem"]
    assert [f["name"] for f in problems] == ["database"]  # it was named, and is not there
    assert done.exit_code == 1
    BulletPlaybook(url).close()
    done = CliRunner().invoke(app, ["doctor", "--playbook", url])
    assert (done.exit_code, "acegraph 0." in done.stdout) == (0, True)


def test_a_comparison_with_a_model_and_no_key_is_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "compare", "x.csv", "--model", FUNCTIONS, code=2)
    [line] = done.stderr.splitlines()
    assert line.startswith(f"acegraph: model '{FUNCTIONS}' needs OPENAI_API_KEY")
    assert (done.stdout, list(tmp_path.iterdir())) == ("", [])
