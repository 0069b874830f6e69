"""Tables that cannot be decided: one line, exit code 2, and nothing half written."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run
from odd_tables import NODE

from acegraph.graph.data.files import FileLayout
from acegraph.graph.tables.labelled import LabelledTable
from acegraph.state import BulletPlaybook, Case, Condition, InvalidTransaction
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task

GOOD = pa.table({"amount": [10.0, 2000.0], "hour": [12, 3], "country": ["DE", "NG"]})


TASK = Task(
    "payments",
    (
        Field("amount", "number", role="amount", usual=True, least=0),
        Field("hour", "number", usual=True),
        Field("country", "category"),
    ),
    prior=CARD_PAYMENTS.prior,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with BulletPlaybook(f"sqlite:///{tmp_path}/ace.db") as book:
        book.set_task(TASK)
        fields = [{"amount": 9.0 * i, "hour": i % 24, "country": "DE"} for i in range(40)]
        labels = ["DECLINE" if i > 30 else "APPROVE" for i in range(40)]
        cases = zip(fields, labels, strict=True)
        book.remember([Case(f"c{i}", f, label) for i, (f, label) in enumerate(cases)], NODE)
        rule = "DECLINE when amount >= 300 and hour < 6"
        book.add_bullet(rule, NODE, condition=Condition.parse(rule))
    return tmp_path


def truncated(folder: Path) -> str:
    pq.write_table(GOOD, folder / "t.parquet")
    data = (folder / "t.parquet").read_bytes()
    (folder / "t.parquet").write_bytes(data[: len(data) // 2])
    return "t.parquet"


def without_a_column(folder: Path) -> str:
    pq.write_table(GOOD.drop(["hour"]), folder / "t.parquet")
    return "t.parquet"


def empty(folder: Path) -> str:
    (folder / "t.csv").write_text("")
    return "t.csv"


def without_rows(folder: Path) -> str:
    pq.write_table(GOOD.slice(0, 0), folder / "t.parquet")
    return "t.parquet"


def broken_late(folder: Path) -> str:
    lines = f"12.5,3,{'DE ' * 100}\n" * 60_000
    (folder / "t.csv").write_text(f"amount,hour,country\n{lines}1,2,3,4,5\n")
    return "t.csv"


def broken_gzip(folder: Path) -> str:
    data = gzip.compress(b"amount,hour,country\n" + b"12.5,3,DE\n" * 5000)
    (folder / "t.csv.gz").write_bytes(data[: len(data) // 2])
    return "t.csv.gz"


def of_changing_json(folder: Path) -> str:
    (folder / "t.jsonl").write_text(
        '{"amount": 5, "hour": 3, "country": "DE"}\n{"amount": {"a": 1}, "hour": 2}\n'
    )
    return "t.jsonl"


def of_no_known_form(folder: Path) -> str:
    (folder / "t.xlsx").write_bytes(b"PK\x03\x04")
    return "t.xlsx"


def two_names(folder: Path) -> str:
    (folder / "t.csv").write_text("amount,hour,amount\n1,2,3\n")
    return "t.csv"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (truncated, "t.parquet: cannot be read as a table"),
        (without_a_column, r"columns that bullets test are missing: hour \(b1\)"),
        (empty, "t.csv: the file is empty"),
        (without_rows, "t.parquet: no rows"),
        pytest.param(
            broken_late, "t.csv: row 60001 has 5 cells, the header 3", marks=pytest.mark.slow
        ),
        (broken_gzip, "t.csv.gz: cannot be read as a table"),
        (of_changing_json, "t.jsonl: cannot be read as a table"),
        (of_no_known_form, "a name that ends in .csv"),
        (two_names, "two columns are named 'amount'"),
        (lambda _: "nothing.csv", "nothing.csv: no such file"),
        (lambda _: "postgresql://me:secret@there/db#t", "a table is a file; in a database the"),
    ],
)
def test_a_bad_table_is_refused_in_one_line(
    make: Callable[[Path], str], said: str, folder: Path
) -> None:
    name = make(folder)
    before = sorted(p.name for p in folder.iterdir())
    for out in ("out.parquet", "out.csv", "out.jsonl.gz"):
        done = run(folder, "score", name, "--out", out, "--playbook", "ace.db", code=2)
        assert done.stdout == ""
        assert len(done.stderr.strip().splitlines()) == 1
        assert re.search(said, done.stderr), done.stderr
    assert sorted(p.name for p in folder.iterdir()) == before


def test_an_output_that_was_there_stays_when_a_table_is_bad(folder: Path) -> None:
    (folder / "out.csv").write_text("kept")
    run(folder, "score", truncated(folder), "--out", "out.csv", "--playbook", "ace.db", code=2)
    assert (folder / "out.csv").read_text() == "kept"


def test_a_bad_place_for_the_output_is_refused_before_anything_is_read(folder: Path) -> None:
    pq.write_table(GOOD, folder / "t.parquet")
    for out, said in (("no/d.csv", "no folder no"), ("d.xml", "a name that ends in")):
        done = run(folder, "score", "t.parquet", "--out", out, "--playbook", "ace.db", code=2)
        assert said in done.stderr


def test_columns_may_be_missing_where_that_is_allowed(folder: Path) -> None:
    name = without_a_column(folder)
    done = run(folder, "score", name, "--allow-missing", "--playbook", "ace.db")
    assert "UNDECIDED" in done.stdout


def test_a_column_of_another_type_leaves_undecided_what_it_matters_to(folder: Path) -> None:
    table = GOOD.set_column(0, "amount", pa.array(["cheap", "dear"]))
    pq.write_table(table, folder / "t.parquet")
    run(folder, "score", "t.parquet", "--out", "out.parquet", "--playbook", "ace.db")
    found = pq.read_table(folder / "out.parquet")
    assert found["decision"].to_pylist() == ["UNDECIDED", "DECLINE"]  # whatever the amount was
    assert "a number of at least 0 wanted" in found["undecided"].to_pylist()[0]


def test_a_column_of_lists_is_no_field_unless_it_is_left_out(tmp_path: Path) -> None:
    file, rows = tmp_path / "t.parquet", range(60)
    table = {"amount": list(rows), "tags": [["a"]] * 60, "fraud": [i % 2 for i in rows]}
    pq.write_table(pa.table(table), file)
    with pytest.raises(InvalidTransaction, match="'tags' holds a list"):
        LabelledTable.open(file, FileLayout(None, "fraud")).draw()
    layout = FileLayout(None, "fraud", declared={"tags": "ignored"})
    items = LabelledTable.open(file, layout).draw().dataset.items
    assert (len(items), items[7]["query"]) == (60, {"amount": 7})


def test_without_ids_a_row_is_known_by_its_place_and_every_column_is_a_field(
    tmp_path: Path,
) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"row": [7, 8], "id": ["a", "b"], "fraud": [0, 1]}), file)
    items = LabelledTable.open(file, FileLayout(None, "fraud", ids=None)).draw().dataset.items
    assert [item["id"] for item in items] == ["row-1", "row-2"]
    assert items[0]["query"] == {"row": 7, "id": "a"}
