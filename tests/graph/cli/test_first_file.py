"""A person's first file, written as their office writes: right with no option but the label."""

import csv
import json
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from command_line import run

ROWS = 600
LABEL = ("--label", "Betrug")
AS = ("--as", "Beruf=ignored")


def number(value: float) -> str:
    """A number with points between thousands and a decimal comma."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def rows(count: int, seed: int) -> list[list[str]]:
    """Payments of which large ones abroad, and those of new customers at night, are fraud."""
    rng, now, made = random.Random(seed), datetime(2025, 1, 2, 8), []
    for place in range(count):
        now += timedelta(minutes=rng.randint(20, 700))
        amount, country = rng.lognormvariate(5, 1.2), rng.choice(["Österreich", "Köln", "Ausland"])
        is_new = rng.random() < 0.3
        is_night = now.hour < 6
        is_fraud = (amount > 400 and country == "Ausland") or (is_new and is_night)
        is_fraud ^= rng.random() < 0.02
        made.append(
            [
                f"R-{seed}-{place}",
                now.strftime("%d.%m.%Y %H:%M"),
                number(amount),
                country,
                "ja" if is_new else "nein",
                rng.choice(["Bäcker", "Lehrer", "Ärztin"]),
                "ja" if is_fraud else "nein",
            ]
        )
    return made


HEADER = ["Beleg", "Zahlungszeit", "Betrag", "Ort", "Neukunde", "Beruf", "Betrug"]


def write(file: Path, lines: list[list[str]], columns: int = len(HEADER)) -> None:
    text = "\r\n".join(";".join(line[:columns]) for line in [HEADER, *lines])
    file.write_bytes(text.encode("cp1252"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    write(folder / "zahlungen.csv", rows(ROWS, seed=1))
    write(folder / "morgen.csv", rows(200, seed=2), columns=len(HEADER) - 1)
    run(folder, "train", "zahlungen.csv", *LABEL, *AS)
    return folder


def test_read_says_what_the_columns_are(folder: Path) -> None:
    said = json.loads(run(folder, "read", "zahlungen.csv", *LABEL, *AS, "--json").stdout)
    assert said["rows"] == ROWS
    assert said["time"] == "Zahlungszeit"
    assert said["labels"]["ja"]["taken_for"] == "DECLINE"
    kinds = {one["field"]: one["what"].split()[0].strip(",:") for one in said["read"]}
    assert kinds == {
        "Zahlungszeit": "time",
        "Betrag": "number",
        "Ort": "category",
        "Neukunde": "flag",
    }
    assert any(line.startswith("Beleg (") for line in said["ignored"])


def test_train_finds_the_planted_causes(folder: Path) -> None:
    said = run(folder, "playbook", "list").stdout
    for cause in ("Ort", "Betrag", "Neukunde", "Zahlungszeit.hour"):
        assert cause in said


@pytest.mark.slow
def test_compare_finds_more_than_the_empty_playbook(folder: Path) -> None:
    words = ("--baselines", "none", "--split", "temporal", "--json")
    sizes = ("--train", "400", "--test", "200")
    said = json.loads(run(folder, "compare", "zahlungen.csv", *LABEL, *AS, *words, *sizes).stdout)
    accuracy = {mode: one["accuracy"]["mean"] for mode, one in said["modes"].items()}
    assert max(accuracy.values()) >= 0.9
    assert said["test_cases"] == 200


@pytest.mark.parametrize(
    ("changes", "decision"),
    [
        ({}, "APPROVE"),
        ({"Betrag": 2500.0, "Ort": "Ausland"}, "DECLINE"),
        ({"Neukunde": "ja", "Zahlungszeit": "2025-11-03T02:30:00"}, "DECLINE"),
    ],
)
def test_decide_takes_what_a_system_sends(
    folder: Path, changes: dict[str, object], decision: str
) -> None:
    payment = {
        "Zahlungszeit": "2025-11-03T14:30:00Z",
        "Betrag": 40.0,
        "Ort": "Köln",
        "Neukunde": False,
        **changes,
    }
    said = json.loads(run(folder, "decide", json.dumps(payment), "--json").stdout)
    assert said["decision"] == decision


def test_score_reads_tomorrows_file_as_todays(folder: Path) -> None:
    run(folder, "score", "morgen.csv", "--out", "scored.csv")
    scored = csv.DictReader((folder / "scored.csv").read_text(encoding="utf-8").splitlines())
    truths = ["DECLINE" if line[-1] == "ja" else "APPROVE" for line in rows(200, seed=2)]
    right = sum(row["decision"] == truth for row, truth in zip(scored, truths, strict=True))
    assert right >= 0.95 * len(truths)
