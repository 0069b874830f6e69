"""What tests share: no key from outside, a playbook of every kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from acegraph.state import BulletPlaybook


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's key or settings leak into a test."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ACE_PLAYBOOK_URL", "ACE_AGENT_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["memory", "sqlite"])
def playbook(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BulletPlaybook]:
    """A playbook of every kind."""
    url = f"sqlite:///{tmp_path / 'ace.db'}" if request.param == "sqlite" else None
    with BulletPlaybook(url) as book:
        yield book
