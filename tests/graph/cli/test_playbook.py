"""Commands on a playbook: how it is named, how a bullet is shown, who signs a change."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ledger_cases import NODE, record
from typer.testing import CliRunner

from acegraph.graph.cli.main import app
from acegraph.nodes import Curator
from acegraph.state import BulletPlaybook

Command = Callable[..., str]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in a folder with a playbook of one bullet and one decision."""
    monkeypatch.chdir(tmp_path)
    with BulletPlaybook("sqlite:///book.db") as book:
        origin = {"label_source": "feed"}
        Curator(gate="off").curate("DECLINE when amount >= 900", NODE, book, origin=origin)
        book.record(record("d1"))

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, [*words, "--playbook", "book.db"])
        assert done.exit_code == 0, done.output
        return done.output

    return run


def test_a_bullet_is_shown_to_people_and_to_machines(command: Command) -> None:
    shown = command("playbook", "list", "b1")
    for words in ("heuristic", "proof: unproven", "origin: label_source feed", "added"):
        assert words in shown
    assert json.loads(command("playbook", "list", "b1", "--json"))["status"] == "active"


@pytest.mark.slow
def test_labels_come_from_standard_input(command: Command) -> None:
    labels = "decision_id,label\nd1,DECLINE\n"
    words = [Path(sys.executable).with_name("acegraph"), "feedback", "--file", "-"]
    words += ["--playbook", "book.db"]
    done = subprocess.run(words, input=labels, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 label(s) of /dev/stdin\n  labels: 1\n  changed: 1")


def test_old_decisions_are_pruned_by_their_age(command: Command) -> None:
    assert command("erase", "--before", "90d") == "  decisions: 0\n"
    assert command("erase", "--before", "0d") == "  decisions: 1\n"


def test_changes_are_signed(command: Command) -> None:
    signed = ("--who", "ann lee")
    command("playbook", "set", "b1", "retired", *signed)
    command("playbook", "set", "b1", "active", *signed)
    command("playbook", "rollback", "0", *signed)
    command("playbook", "rollback", "1", *signed)
    command("playbook", "purge", "--source", "feed", *signed)
    history = json.loads(command("playbook", "history", "--json"))
    assert [change["source"] for change in history] == ["offline", *["analyst:ann lee"] * 5]
    command("erase", "--decision", "d1", *signed)
    command("erase", "--before", str(datetime.now(UTC)), *signed)
    with closing(sqlite3.connect("book.db")) as ledger:
        reasons = [row[0] for row in ledger.execute("SELECT reason FROM adjustments")]
    assert len(reasons) == 2
    assert all(reason.endswith(" by analyst:ann lee") for reason in reasons)


def test_the_sql_of_a_playbook_heeds_costs_and_names_its_columns(command: Command) -> None:
    plain = command("playbook", "export", "--to", "sql")
    assert plain.startswith("-- Decides by version ")
    assert "--   amount: number\n" in plain
    costs = ("costs=missed_fraud=1,false_decline=0.02", "base_rate=0.05")
    command("policy", *costs, "--alone", "--why", "what mistakes cost us")
    assert command("playbook", "export", "--to", "sql") != plain
