"""`acegraph read` and `generate`, and the options that say which column is what."""

import json
from pathlib import Path

import pytest
from command_line import invoke as run
from typer.testing import CliRunner

from acegraph.graph.cli.files import Columns
from acegraph.graph.cli.main import app
from acegraph.graph.data.declare import fields_of
from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.metrics.run import Run
from acegraph.state import BulletPlaybook

pytestmark = pytest.mark.usefixtures("folder")


def write(rows: int, header: str, line: str) -> None:
    lines = [line.format(i=i, label=i % 4 == 0, day=1 + i % 28) for i in range(rows)]
    Path("f.csv").write_text("\n".join([header, *lines]))


@pytest.mark.slow
def test_a_sample_file_can_be_read_learned_from_and_split_by_time() -> None:
    run("demo", "--write", "s.csv", "--rows", "120", "--seed", "3")
    assert run("read", "s.csv", "--label", "is_fraud").stdout.startswith("  rows: 120\n  fraud: 60")
    words = ("--label", "is_fraud", "--split", "temporal", "--baselines", "none", "--json")
    compared = json.loads(run("compare", "s.csv", *words, "--train", "60", "--test", "30").stdout)
    assert compared["test_cases"] == 30


def test_a_natural_sample_is_mostly_honest_and_nothing_is_overwritten() -> None:
    run("demo", "--write", "s.csv", "--rows", "100", "--fraud-rate", "0.02")
    before = Path("s.csv").read_text()
    assert before.count(",1\n") == 2
    assert "exists; nothing is overwritten" in str(
        CliRunner().invoke(app, ["demo", "--write", "s.csv"]).exception
    )
    assert Path("s.csv").read_text() == before


def test_read_says_rows_labels_and_the_reason_for_every_column() -> None:
    header = "ref,Datum,note,Land,same,amount,Betrug"
    write(
        60, header, "X-{i},{day:02}.01.2025,the customer said number {i} twice,DE,7,{i}.5,{label}"
    )
    text = (
        Path("f.csv").read_text().replace("True", "Ja").replace("False", "Nein") + "\nX-60,,,,,1,"
    )
    Path("f.csv").write_text(text)
    words = ("read", "f.csv", "--label", "Betrug", "--positive", "ja", "--json")
    said = json.loads(run(*words).stdout)
    assert (said["rows"], said["fraud"], said["unlabelled"], said["time"]) == (61, 15, 1, "Datum")
    assert said["labels"]["Ja"] == {"taken_for": "DECLINE", "rows": 15}
    why = dict(text.split(" (", 1) for text in said["ignored"])
    assert why["ref"].startswith("names somebody, or a row")
    assert why["same"].startswith("the same in all rows")
    kinds = {row["field"]: row["what"] for row in said["read"]}
    assert list(kinds) == ["Datum", "note", "amount"]
    assert kinds["note"].startswith("text")
    assert "unlabelled: 1" in run(*words[:-1]).stdout


def test_a_category_with_too_many_values_is_said_to_be_no_use() -> None:
    write(400, "trade,amount,y", "trade {i},{i},{label}")
    text = Path("f.csv").read_text()
    for i in range(400):
        text = text.replace(f"trade {i},", f"trade {'abcdefghij'[i % 10]}{i % 150},", 1)
    Path("f.csv").write_text(text)
    assert "ignored: trade (too many values" in run("read", "f.csv", "--label", "y").stdout


def test_seconds_order_the_rows_and_columns_are_dropped() -> None:
    write(80, "Time,V1,secret,Class", "{i},{i},x{i},{label}")
    words = ("--label", "Class", "--split", "temporal", "--as", "Time=time", "--baselines", "none")
    sizes = ("--train", "40", "--test", "40", "--json")
    assert json.loads(run("compare", "f.csv", *words, *sizes).stdout)["test_cases"] == 40
    ignored = ("--as", "secret=ignored", "--as", "V1=ignored")
    said = json.loads(run("read", "f.csv", "--label", "Class", *ignored, "--json").stdout)
    assert {"secret", "V1"}.isdisjoint(row["field"] for row in said["read"])


def test_rows_without_a_label_are_left_out_of_training() -> None:
    write(40, "amount,y", "{i},{label}")
    Path("f.csv").write_text(Path("f.csv").read_text() + "\n7,\n8,")
    done = run("train", "f.csv", "--label", "y", "--json")
    assert json.loads(done.stdout)["cases"] == 40
    assert "2 rows have no label: left out" in done.stderr


def test_the_amount_that_was_named_is_what_a_mistake_costs() -> None:
    write(4, "Betrag,y", "{i}.5,{label}")
    (dataset,) = Columns(label="y", declared=["Betrag=amount"]).read(Path("f.csv"))
    assert dataset.task is not None
    experiment = Experiment()
    rows = fields_of(dataset.items, dataset.task)
    experiment.add_seed({"vanilla": Run()}, rows, dataset.task)
    assert experiment.modes["vanilla"][0].amounts == [0.5, 1.5, 2.5, 3.5]


@pytest.mark.slow
def test_fields_are_derived_from_earlier_rows_and_then_from_earlier_decisions() -> None:
    line = "2026-03-{day:02} 10:{i:02},C-{day},{i}.5,{label}"
    write(59, "paid_at,card_number,amount,is_fraud", line)
    columns = ("--label", "is_fraud", "--as", "card_number=card")
    read = json.loads(run("read", "f.csv", *columns, "--json").stdout)["read"]
    origins = {reading["field"]: reading["origin"] for reading in read}
    assert origins["card.payments_last_day"] == "derived from card_number and paid_at"
    unseen = "its derived fields do not see the files that were learned from before"
    assert unseen not in run("train", "f.csv", *columns).output
    assert unseen not in run("train", "f.csv", *columns).output  # nothing in it is new
    paid = {"paid_at": "2026-03-05 10:40", "card_number": "C-5", "amount": 7}
    run("decide", json.dumps(paid), "--id", "d1", "--truth", "APPROVE")
    with BulletPlaybook("sqlite:///ace.db") as book:
        assert book.decision("d1")["fields"]["card.payments_last_hour"] == 2
    task = json.loads(run("read", "--json").stdout)
    derived = {one["name"]: one["of"] for one in task["derived"]}
    assert derived["card.payments_last_hour"] == ["card_number", "paid_at"]
    words = ("--baselines", "none", "--json", "--train", "16", "--test", "16", "--split", "random")
    compared = json.loads(run("compare", "f.csv", *columns, *words).stdout)
    assert compared["test_cases"] == 16
    write(20, "paid_at,card_number,amount,is_fraud", line.replace("-03-", "-04-"))
    assert unseen in run("train", "f.csv", *columns).output


@pytest.mark.slow
def test_of_a_large_file_some_rows_are_looked_at_and_all_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "large.csv"
    rows = (f"{i},{i % 997}.5,{int(i % 100 == 0)}\n" for i in range(60_000))
    file.write_text("id,amount,is_fraud\n" + "".join(rows))
    found = CliRunner().invoke(app, ["read", str(file), "--label", "is_fraud", "--json"])
    said = json.loads(found.stdout)
    assert (said["rows"], said["fraud"], said["unlabelled"]) == (60_000, 600, 0)
    assert said["looked_at"] < 20_000
    assert said["labels"]["1"]["rows"] == 600
    assert [one["field"] for one in said["read"]] == ["amount"]
