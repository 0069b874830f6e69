"""The real LangGraph dev server, started on loopback with no key and driven by its own client."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client

ROOT = Path(__file__).parent.parent
RISKY = "User pays $2,500 at 3 AM via VPN, account is 2 days old"
pytestmark = pytest.mark.xdist_group("studio")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("studio")
    port = free_port()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "ACE_"))}
    quiet = {
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
        "ACE_PLAYBOOK_URL": f"sqlite:///{folder / 'ace.db'}",
    }
    # The server writes beside its configuration: give it a copy outside the repository.
    (folder / "langgraph.json").write_text((ROOT / "langgraph.json").read_text())
    (folder / ".env").write_text("")
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    command = [
        str(Path(sys.executable).with_name("langgraph")),
        "dev",
        "--no-browser",
        "--no-reload",
    ]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    log = folder / "server.log"
    with log.open("w") as written, get_sync_client(url=f"http://127.0.0.1:{port}") as client:
        process = subprocess.Popen(
            command, cwd=folder, env={**clean, **quiet}, stdout=written, stderr=subprocess.STDOUT
        )
        try:
            wait_until_ready(client, process, log)
            yield client
        finally:
            process.terminate()
            process.wait(20)


def wait_until_ready(client: Any, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if client.assistants.search():
                return
        except httpx.TransportError:  # nobody listens yet
            time.sleep(0.2)
    raise AssertionError(f"the server did not start:\n{log.read_text()[-3000:]}")


@pytest.fixture
def assistant(server: Any) -> str:
    return str(server.assistants.search(graph_id="ace")[0]["assistant_id"])


def test_the_form_is_drawn_from_described_schemas(server: Any, assistant: str) -> None:
    schemas = server.assistants.get_schemas(assistant)
    given = schemas["input_schema"]["properties"]
    assert set(given) == {"transaction", "ground_truth", "decision_id"}
    assert "description" in given["transaction"]
    context = schemas["context_schema"]["properties"]
    assert context["mode"]["enum"] == ["vanilla", "offline_online", "online"]
    assert all("description" in field for field in context.values())
    assert "api_key" not in str(schemas)


def test_the_drawing_has_the_five_nodes(server: Any, assistant: str) -> None:
    drawn = server.assistants.get_graph(assistant, xray=1)
    names = {node["id"] for node in drawn["nodes"]}
    assert names >= {"selector", "agent", "judge", "reflector", "curator"}


@pytest.mark.parametrize("mode", ["vanilla", "offline_online", "online"])
def test_a_run_in_each_mode_shows_the_funnel_in_its_state(
    server: Any, assistant: str, mode: str
) -> None:
    thread = server.threads.create()["thread_id"]
    result = server.runs.wait(
        thread,
        assistant,
        input={"transaction": RISKY, "ground_truth": "APPROVE"},
        context={"mode": mode},
    )
    assert (result["decision"], result["verdict"]) == ("DECLINE", "wrong")
    state = server.threads.get_state(thread)["values"]
    assert set(state["funnel"]) == {"context", "quality", "semantic", "score", "diversity"}
    assert (state["curation"] is None) == (mode == "vanilla")
