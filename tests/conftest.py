"""What tests share: no key from outside, a playbook of every kind."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from postgres import Server, running_server

from acegraph.state import BulletPlaybook

# The same examples on every day; `make soak` draws others.
settings.register_profile("repeatable", derandomize="ACE_SOAK" not in os.environ)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Search what was imported for garbage no more: that took a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's key or settings leak into a test."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ACE_PLAYBOOK_URL", "ACE_AGENT_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, started when the first test asks for it."""
    with running_server() as server:
        yield server


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest) -> str:
    """Every kind of database; `make test` asks PostgreSQL in the tests of the ledger alone."""
    return str(request.param)


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """The URL of a new database of every kind; None lives in memory."""
    if kind == "postgres":
        return str(request.getfixturevalue("postgres").url())
    return f"sqlite:///{tmp_path / 'ace.db'}" if kind == "sqlite" else None


@pytest.fixture
def lasting_url(url: str | None) -> str:
    """The URL of a new database of every kind that several processes can share."""
    if url is None:
        pytest.skip("a playbook in memory belongs to one process")
    return url


@pytest.fixture
def playbook(url: str | None) -> Iterator[BulletPlaybook]:
    """A playbook of every kind."""
    with BulletPlaybook(url) as book:
        yield book
