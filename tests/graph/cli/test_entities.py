"""`acegraph entity`: whom labels called fraud, and one of them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command_line import invoke as run
from command_line import run as run_in

AS = ("--as", "where=entity:terminal", "--as", "who=customer", "--as", "fraud=late:2")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A playbook that learned from a file in which one terminal went bad."""
    folder, start = tmp_path_factory.mktemp("entities"), datetime(2026, 1, 5, tzinfo=UTC)
    lines = ["at,who,where,amount,fraud"]
    for hour in range(2_400):
        is_fraud = hour % 8 == 3 and hour > 480
        at = (start + timedelta(hours=hour)).isoformat()
        lines.append(f"{at},c{hour % 61},T-{hour % 8},{10 + hour % 37},{int(is_fraud)}")
    file = folder / "payments.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    url = str(folder / "ace.db")
    assert run("train", str(file), "--label", "fraud", *AS, "--playbook", url).exit_code == 0
    return url


def test_top_lists_whom_labels_call_fraud(book: str) -> None:
    (one,) = json.loads(run("entity", "top", "terminal", "--json", "--playbook", book).stdout)
    assert (one["name"], one["payments"]) == ("T-3", 300)
    assert one["evidence"] > 5
    told = run("entity", "top", "terminal", "--days", "3", "--playbook", book).stdout
    assert "terminal: of 3 days" in told
    assert "T-3" in told
    assert "no customer was called fraud" not in told


def test_show_tells_one_with_its_payments(book: str) -> None:
    told = run("entity", "show", "terminal", "T-3", "--playbook", book).stdout
    assert "settled payments" in told
    assert "were called fraud (usual" in told
    shown = json.loads(
        run("entity", "show", "terminal", "t 3", "--json", "--playbook", book).stdout
    )
    assert shown["payments"] == 300
    assert len(shown["cases"]) == 10
    honest = json.loads(
        run("entity", "show", "terminal", "T-4", "--json", "--playbook", book).stdout
    )
    assert honest["frauds"] == 0
    assert honest["evidence"] < 1


def test_whom_nobody_names_is_told_in_one_line(book: str) -> None:
    for words, told in (
        (("terminal", "T-99"), "no payment in this playbook names terminal 'T-99'"),
        (("shop", "x"), "no kind 'shop' in the task, which names customer, terminal"),
    ):
        failed = run_in(Path(), "entity", "show", *words, "--playbook", book, code=2)
        assert told in failed.stderr
