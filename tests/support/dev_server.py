"""The real LangGraph dev server on loopback, in a folder of its own, for tests that drive it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from langgraph_sdk import get_sync_client
from project_paths import ROOT

QUIET = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running_dev_server(
    folder: Path, config: str = "langgraph.json", env: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Start the server with one of our configurations; gives its address once it listens."""
    port = free_port()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "ACE_"))}
    place = {"ACE_PLAYBOOK_URL": f"sqlite:///{folder / 'ace.db'}"}
    # The server writes beside its configuration: give it a copy outside the repository.
    for name in (config, "pyproject.toml"):
        (folder / name).write_text((ROOT / name).read_text())
    (folder / ".env").write_text("")
    command = [str(Path(sys.executable).with_name("langgraph")), "dev", "--config", config]
    command += ["--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]
    log = folder / "server.log"
    with log.open("w") as written:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**clean, **QUIET, **place, **(env or {})},
            stdout=written,
            stderr=subprocess.STDOUT,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until_ready(address, process, log)
            yield address
        finally:
            process.terminate()
            process.wait(20)


def wait_until_ready(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{address}/ok").is_success:
                return
        except httpx.TransportError:  # nobody listens yet
            pass
        time.sleep(0.2)
    raise AssertionError(f"the server did not start:\n{log.read_text()[-3000:]}")


def client(address: str, token: str = "") -> Any:
    """A client with or without a token."""
    headers = {"authorization": f"Bearer {token}"} if token else None
    return get_sync_client(url=address, headers=headers)
