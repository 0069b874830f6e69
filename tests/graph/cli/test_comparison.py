"""What `acegraph compare` shows where fraud is rare, and by group."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from acegraph.graph import generate_transactions
from acegraph.graph.cli.main import app
from acegraph.graph.cli.tables import experiment_table, group_tables, money_table
from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.metrics.run import Run
from acegraph.state.values.costs import CostMatrix


def lines_of(table: Any, width: int = 100) -> list[str]:
    console = Console(width=width, file=StringIO())
    with console.capture() as captured:
        console.print(table)
    return captured.get().splitlines()


def decided(caught: int, false: int) -> Run:
    """1,000 payments with 20 frauds."""
    run = Run()
    for i in range(1000):
        is_fraud = i % 50 == 0
        declined = i // 50 < caught if is_fraud else i < 2 * false and i % 2 == 1
        run.add("DECLINE" if is_fraud else "APPROVE", "DECLINE" if declined else "APPROVE", None)
        run.amounts.append(10.0 + i % 7)
    return run


def rare(**changes: Any) -> Experiment:
    modes = {"vanilla": [decided(0, 0)], "offline_online": [decided(18, 12)]}
    return Experiment(**{"modes": modes, **changes})


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the gender of each customer."""
    monkeypatch.chdir(tmp_path)
    examples = generate_transactions(60, seed=1)
    rows = [
        {**e.fields, "gender": "FM"[i % 2], "is_fraud": e.answer} for i, e in enumerate(examples)
    ]
    with Path("cards.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return tmp_path


def test_the_gain_is_in_balanced_accuracy_and_money_where_fraud_is_rare() -> None:
    experiment = rare()
    text = "\n".join(lines_of(experiment_table(experiment)))
    assert "+44.4, p < .0001" in text  # in plain accuracy: +0.6
    row = next(line for line in lines_of(money_table(experiment)) if "offline + online" in line)
    assert ".887" in row  # of the money of frauds
    assert "p < .0001" in row


def test_the_tables_of_money_fit_the_page() -> None:
    costly = rare(costs=CostMatrix(missed_fraud=250, false_decline=90))
    assert not any("…" in line for line in lines_of(money_table(costly)))


def test_a_group_that_is_declined_more_often_is_seen_by_its_interval() -> None:
    values = ["[b]odd" if i < 60 else "usual" for i in range(1000)]
    experiment = rare(group_values={"age_band": [values]})
    lines = lines_of(group_tables(experiment))
    assert any(line.split()[:2] == ["[b]odd", "58"] for line in lines)
    found = experiment.to_json()["groups"]["offline_online"]["age_band"]  # type: ignore[index]
    usual, odd = sorted(found, key=lambda group: group["honest"], reverse=True)
    assert odd["false_decline_rate"]["low"] > usual["false_decline_rate"]["high"]


def test_compare_shows_the_groups_of_protected_fields(cards: Path) -> None:
    words = ["compare", "cards.csv", "--label", "is_fraud", "--baselines", "none"]
    sizes = ["--train", "20", "--test", "20"]
    grouped = CliRunner().invoke(app, [*words, *sizes, "--as", "hour=protected"]).stdout
    assert "By gender: offline + online" in grouped
    assert "By hour: offline + online" in grouped
    assert "and over" in grouped


def test_undecided_cases_are_told_where_fraud_is_rare() -> None:
    shy = decided(18, 12)
    shy.decisions[:100] = ["UNDECIDED"] * 100
    lines = lines_of(experiment_table(rare(modes={"vanilla": [decided(0, 0)], "online": [shy]})))
    assert any(line.endswith("every figure: online only .100.") for line in lines)
