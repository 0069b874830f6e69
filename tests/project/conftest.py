"""What the tests of the documentation share: a folder to work in, a server to talk to."""

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from model_samples import AGREEMENT, APPROVAL, LESSON, MODELS
from openai_server import OpenAIServer, filled

from acegraph.graph import generate_transactions


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, but for the files that a reader brings; no settings leak in."""
    for name in [n for n in os.environ if n.startswith(("OPENAI_", "ACE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    rows = [{**e.fields, "is_fraud": e.answer} for e in generate_transactions(100, seed=1)]
    with Path("cards.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    Path("chargebacks.csv").write_text("decision_id,label\norder-1,APPROVE\n")
    return tmp_path


@pytest.fixture
def model_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A scripted server with which the page about language models talks."""
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "no-key-of-anybody")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        for role, name in MODELS.items():
            monkeypatch.setenv(f"ACE_{role}_MODEL", name)
        server.on("DecisionForm", filled(**APPROVAL))
        server.on("VerdictForm", filled(**AGREEMENT))
        server.on("ReflectionForm", filled(**LESSON))
        server.on("ProbeForm", filled(greeting="hello"))
        yield server
