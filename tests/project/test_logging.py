"""Loggers: silent by default, heard by a host that listens, JSON lines where that is asked for."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from command_line import run as run_command
from service_soak import Service

from acegraph.graph.operations.monitoring.logs import JsonFormatter

CODE = """
import logging, sys
{listen}
from acegraph.graph import create_ace_graph
from acegraph.state import ModelUnavailable
from acegraph.state.values.plain import clean_text
def failing(_):
    raise ModelUnavailable("the model server is down")
graph = create_ace_graph(agent=failing).compile()
print(graph.invoke({{"transaction": {{"amount": 4711.5, "memo": "canary"}}}})["decision"])
"""


def run(listen: str) -> subprocess.CompletedProcess[str]:
    code = CODE.format(listen=listen)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_nothing_is_logged_unless_somebody_listens() -> None:
    done = run("")
    assert done.stdout.strip() == "UNDECIDED"
    assert done.stderr == ""


@pytest.mark.slow
def test_a_host_hears_of_a_failed_model_and_of_no_transaction() -> None:
    done = run("logging.basicConfig(level=logging.DEBUG)")
    assert "acegraph.nodes.agent.node" in done.stderr
    assert "ModelUnavailable" in done.stderr
    ours = [line for line in done.stderr.splitlines() if "acegraph" in line]
    assert not [line for line in ours if "canary" in line or "4711" in line]


def test_a_line_tells_the_kind_and_the_place_of_an_error_and_not_its_text() -> None:
    try:
        int("canary")
    except ValueError:
        error = sys.exc_info()
    record = logging.LogRecord("acegraph.x", logging.ERROR, "", 0, "failed %s", ("twice",), error)
    record.decision_id = "order-1"
    line = JsonFormatter().format(record)
    assert "canary" not in line
    assert "ValueError at test_logging.py:" in line
    told = json.loads(line)
    assert (told["message"], told["level"]) == ("failed twice", "error")
    assert told["decision_id"] == "order-1"


def test_a_format_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    done = run_command(tmp_path, "monitor", code=2, ACE_LOG_FORMAT="xml")
    assert done.stderr == "acegraph: ACE_LOG_FORMAT is json, not 'xml'\n"


@pytest.mark.slow
def test_every_line_of_the_service_is_json_and_holds_no_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real process, from its start to its end."""
    monkeypatch.setenv("ACE_LOG_FORMAT", "json")
    with (tmp_path / "log").open("w+") as log:
        service = Service(f"sqlite:///{tmp_path}/ace.db", (), log=log)
        try:
            service.wait_until_ready()
            body = {"transaction": {"amount": 987654.25, "memo": "canary"}, "decision_id": "d1"}
            answer = httpx.post(f"{service.address}/decisions", json=body)
            assert answer.status_code == 200, answer.text
        finally:
            service.process.terminate()
            service.process.wait()
    text = (tmp_path / "log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert any("startup complete" in line["message"] for line in lines)
    assert "canary" not in text
    assert "987654.25" not in text
