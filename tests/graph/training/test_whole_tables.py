"""A whole table teaches what its rows would: from rows that are drawn."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from command_line import from_json, run

from acegraph.graph.data.files import FileLayout
from acegraph.graph.data.splits import days_of
from acegraph.graph.data.synthetic import write_sample
from acegraph.graph.tables.labelled import LabelledTable
from acegraph.graph.tables.score import score
from acegraph.graph.training.pipeline import TrainingPipeline
from acegraph.graph.training.whole_tables import TableLearning
from acegraph.state import AceContext, BulletPlaybook

NODE = "fraud_detection"
LAYOUT = FileLayout(None, "is_fraud", declared={"customer": "customer"})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand payments, of which some cells are empty or odd."""
    made = tmp_path_factory.mktemp("table") / "payments.csv"
    write_sample(made, 1_000, seed=3, fraud_rate=0.3)
    header, *lines = made.read_text().splitlines()
    rating, customer = map(header.split(",").index, ("merchant_rating", "customer"))
    for i in range(0, len(lines), 9):
        cells = lines[i].split(",")
        cells[rating] = ("", "n/a", "NA", " 2.5 ")[i % 4]
        cells[customer] = ("C-many", "c-MANY")[i % 2]
        lines[i] = ",".join(cells)
    made.write_text("\n".join([header, *lines]) + "\n")
    return made


def test_honest_rows_of_the_last_days_do_not_count(file: Path) -> None:
    drawn = LabelledTable.open(file, LAYOUT).draw()
    items = drawn.dataset.items
    last = max(days_of(item["time"]) or 0 for item in items) - 20
    young = sum(i["answer"] == "APPROVE" and (days_of(i["time"]) or 0) > last for i in items)
    book = BulletPlaybook()
    report = TrainingPipeline(book).train_table(drawn, mature_days=20)
    assert young > 20
    assert (report.cases, report.evidence) == (1_000 - young, 1_000 - young)


def test_a_whole_table_teaches_as_much_as_its_rows_and_only_once(
    file: Path, tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh.csv"
    write_sample(fresh, 1_000, seed=4, fraud_rate=0.3)
    rows = pyarrow.csv.read_csv(fresh)
    fraud = rows["is_fraud"].to_numpy() == 1
    book, table = BulletPlaybook(), LabelledTable.open(file, LAYOUT)
    report = TrainingPipeline(book).train_table(table.draw())
    assert (report.cases, report.evidence, report.frauds) == (1_000, 1_000, 300)
    assert report.held_out["caught"] > 0.6 * 300
    declined = np.array(score(book, rows)["decision"].to_pylist()) == "DECLINE"
    assert (declined[fraud].mean() + (~declined)[~fraud].mean()) / 2 > 0.8
    assert report.mistakes < 250
    version = book.version
    again = TrainingPipeline(book).train_table(table.draw())
    assert (again.repeated, book.version, again.evidence) == (1_000, version, 1_000)


def test_shuffled_labels_teach_nothing(file: Path, tmp_path: Path) -> None:
    table = pyarrow.csv.read_csv(file)
    labels = np.random.default_rng(0).permutation(table["is_fraud"].to_numpy())
    shuffled = tmp_path / "shuffled.parquet"
    place = table.column_names.index("is_fraud")
    pq.write_table(table.set_column(place, "is_fraud", [labels]), shuffled)
    done = run(tmp_path, "train", shuffled.name, "--label", "is_fraud", "--json")
    assert from_json(done)["bullets_active"] == 0
    assert "drawn from" in done.stderr


def test_parquet_is_refused_where_all_rows_must_be_taken_in(file: Path, tmp_path: Path) -> None:
    table = tmp_path / "sample.parquet"
    pq.write_table(pyarrow.csv.read_csv(file), table)
    done = run(tmp_path, "train", table.name, "--label", "is_fraud", "--derive", code=2)
    assert "--derive" in done.stderr


def _as_parquet(file: Path, lines: list[str]) -> None:
    pq.write_table(pyarrow.csv.read_csv(io.BytesIO("\n".join(lines).encode())), file)


def test_corrected_labels_of_a_table_count(file: Path, tmp_path: Path) -> None:
    """Frauds that were not known yet, and one that was none."""
    header, *lines = file.read_text().splitlines()[:401]
    late = tmp_path / "late.parquet"
    _as_parquet(late, [header, *lines])
    assert header.endswith(",is_fraud")
    fraud = np.array([int(line[-1]) for line in lines])
    early = np.where(np.arange(len(fraud)) % 2, fraud, 0)
    early[np.flatnonzero(fraud == 0)[0]] = 1
    first, book = tmp_path / "early.parquet", tmp_path / "ace.db"
    before = [line[:-1] + str(label) for line, label in zip(lines, early, strict=True)]
    _as_parquet(first, [header, *before])
    words = ("--label", "is_fraud", "--playbook", f"sqlite:///{book}", "--json")
    run(tmp_path, "train", str(first), *words)
    again = from_json(run(tmp_path, "train", str(late), *words))
    differ, frauds = int((early != fraud).sum()), int(fraud.sum())
    assert differ > 40
    assert (again["corrected"], again["repeated"], again["frauds"]) == (differ, 0, frauds)
    assert again["evidence"] == 400  # no case counts twice
    with BulletPlaybook(f"sqlite:///{book}") as playbook:
        labels = [case.label for case in playbook.cases(NODE)]
        assert labels.count("DECLINE") == frauds
    assert "clean" in run(tmp_path, "verify", "--playbook", f"sqlite:///{book}").stdout
    back = from_json(run(tmp_path, "train", str(first), *words))
    assert back["corrected"] == differ  # the table that came last counts


def test_a_row_with_another_label_is_drawn_from_a_large_table(tmp_path: Path) -> None:
    numbers = np.arange(24_000)
    fraud = (numbers % 60 == 0).astype(int)
    rows = {"id": [f"p{n}" for n in numbers], "amount": numbers % 997, "is_fraud": fraud}
    file = tmp_path / "large.parquet"
    pq.write_table(pa.table(rows), file)
    layout, book = FileLayout(None, "is_fraud", ids="id"), BulletPlaybook()

    def remembered() -> tuple[int, int]:
        table = LabelledTable.open(file, layout)
        drawn = table.draw(known=book.labels_of_tables(NODE))
        learning = TableLearning(drawn, book, AceContext())
        return learning.remember()

    assert remembered()[1] == 0
    fraud[fraud == 1] = numbers[: fraud.sum()] % 2  # every second was none
    pq.write_table(pa.table({**rows, "is_fraud": fraud}), file)
    assert remembered() == (0, 200)
    labels = list(book.labels_of_tables(NODE).values())
    assert labels.count("DECLINE") == 200
