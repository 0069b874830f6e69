"""One scripted server for all tests of the language-model path, and both ways to run a graph."""

import os
from collections.abc import Iterator
from itertools import count

import pytest
from model_samples import CANARY, MODELS, Run, arun_once, run_once
from openai_server import OpenAIServer

from acegraph.state import BulletPlaybook


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith(("OPENAI_", "ACE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


@pytest.fixture(scope="session")
def one_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def server(one_server: OpenAIServer, no_key: None, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """One server for all tests: building a client for a new address takes longer than a test."""
    one_server.forget()
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("OPENAI_BASE_URL", one_server.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for role, name in MODELS.items():
        monkeypatch.setenv(f"ACE_{role}_MODEL", name)
    return one_server


_seconds = count(100)


@pytest.fixture
def another_client(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client of this test's own: it remembers what its server refused."""
    monkeypatch.setenv("ACE_TIMEOUT", str(next(_seconds)))


@pytest.fixture
def playbook() -> Iterator[BulletPlaybook]:
    with BulletPlaybook() as book:
        yield book


@pytest.fixture(params=["invoke", "ainvoke"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a graph once, as a script would, and give its whole last state."""
    return run_once if request.param == "invoke" else arun_once
