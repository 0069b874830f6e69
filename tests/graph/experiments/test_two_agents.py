"""A language model and the embedded analyst on the same cases, in one command."""

import csv
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from command_line import from_json, run
from model_samples import APPROVAL, SCHEMAS
from openai_server import OpenAIServer, filled
from rich.console import Console

from acegraph.graph import generate_transactions
from acegraph.graph.cli.tables import two_agents_table
from acegraph.graph.experiments.two_agents import TwoAgents
from acegraph.graph.metrics.paired import Difference


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


def test_both_agents_decide_the_same_cases(server: OpenAIServer, folder: Path) -> None:
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url, "NO_PROXY": "127.0.0.1"}
    env["ACE_PRICES"] = f'{{"{SCHEMAS}": [1000000, 0]}}'
    options = ("--no-baselines", "--model", SCHEMAS, "--also-embedded", "--json")
    found = from_json(run(folder, *COMMAND, *options, **env))["agents"]
    assert found["model"] == SCHEMAS
    assert set(found["against_embedded"]) >= {"vanilla", "offline", "offline_online", "online"}
    assert set(found["against_embedded"]["vanilla"]) == {"mean", "low", "high", "p_value"}
    took = found["per_decision"]
    assert len(server.chats) == 100  # 20 to learn from, 20 in each of four modes
    assert (took["model"]["calls"], took["model"]["tokens"]) == (1, 2)
    assert took["model"]["cost"] == 1  # the server says that it was sent one token
    assert took["embedded"] == {**took["embedded"], "calls": 0, "tokens": 0, "cost": None}
    assert took["model"]["seconds"] > 0


def test_the_difference_and_the_price_are_printed() -> None:
    differences = {"offline_online": Difference(0.03, 0.01, 0.05, 0.004)}
    took = {"calls": 1.0, "tokens": 412.5, "cost": None, "seconds": 0.8}
    agents = TwoAgents(SCHEMAS, differences, {"model": took, "embedded": {**took, "cost": 0.0}})
    console = Console(width=100, file=StringIO())
    with console.capture() as captured:
        console.print(two_agents_table(agents))
    text = captured.get()
    assert f"{SCHEMAS} less the embedded analyst" in text
    assert "+3.0 [+1.0, +5.0]" in text
    assert f"a decision of {SCHEMAS}: 1 calls, 412.5 tokens, no price, 0.8 s" in text


def test_without_a_model_there_is_nothing_to_put_beside_it(folder: Path) -> None:
    said = run(folder, *COMMAND, "--also-embedded", code=2)
    assert "--also-embedded goes with a model that decides: --model NAME" in said.stderr


def test_a_judge_that_is_named_is_measured(server: OpenAIServer, folder: Path) -> None:
    server.on("VerdictForm", filled(reasoning="it fits", is_correct=True, confidence=0.9))
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url, "NO_PROXY": "127.0.0.1"}
    found = from_json(run(folder, *COMMAND, "--no-baselines", "--json", ACE_JUDGE_MODEL="j", **env))
    # It is asked about right and wrong decisions in turn, and always says right.
    assert found["judge"] == {
        "judge": "j",
        "labels": 20,
        "agreed": 10,
        "low": 0.2993,
        "weight": 0.0,
    }
