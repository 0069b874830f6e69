"""A language model and the embedded analyst on the same cases, in one command."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import from_json, run
from model_samples import APPROVAL, SCHEMAS
from openai_server import OpenAIServer, filled

from acegraph.graph import generate_transactions


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        running.on("DecisionForm", filled(**APPROVAL))
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{**e.fields, "is_fraud": e.answer} for e in generate_transactions(44, seed=1)]
    with (tmp_path / "cards.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return tmp_path


COMMAND = ("compare", "cards.csv", "--label", "is_fraud", "--train", "20", "--test", "20")


@pytest.mark.slow
def test_the_embedded_analyst_stands_among_the_other_learners(
    server: OpenAIServer, folder: Path
) -> None:
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url, "NO_PROXY": "127.0.0.1"}
    found = from_json(run(folder, *COMMAND, "--model", SCHEMAS, "--json", **env))
    assert (
        len(server.chats) == 80
    )  # 20 in each of four modes; history is learned from without a decision
    beside = found["challengers"]["embedded"]
    assert set(beside["against"]["balanced_accuracy"]) == {"mean", "low", "high", "p_value"}
    asked = len(server.chats)
    alone = from_json(run(folder, *COMMAND, "--model", "embedded", "--json"))
    assert beside["accuracy"] == alone["modes"]["offline_online"]["accuracy"]
    assert "embedded" not in alone["challengers"]
    assert len(server.chats) == asked
