"""Labels in bulk: tables of any form and several files, checked as a whole, recorded once."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ledger_cases import record
from typer.testing import CliRunner, Result

from acegraph.graph.cli.main import app
from acegraph.graph.operations.feedback import feedback_many, labels_of
from acegraph.graph.tables.files import TableFiles
from acegraph.state import BulletPlaybook, InvalidDataset, ModelError
from acegraph.state.maintenance.verify import verify

URL = "sqlite:///ace.db"
SETTINGS = {
    "node": "fraud_detection",
    "source": None,
    "learn_as": "online",
    "reflector_model": None,
}
UNREACHABLE = {
    "ACE_REFLECTOR_MODEL": "some-model",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    "OPENAI_API_KEY": "none",
}
KNOWN = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a playbook in which nine declined payments wait for their labels."""
    monkeypatch.chdir(tmp_path)
    with BulletPlaybook(URL) as playbook:
        playbook.add_bullet("DECLINE when amount >= 1", "fraud_detection")
        for number in range(1, 10):
            playbook.record(record(str(number), 1, amount=number, settings=SETTINGS))
    return tmp_path


def send(file: str, *words: str) -> Result:
    return CliRunner().invoke(app, ["feedback", "--file", file, "--no-learn", *words])


def labels() -> dict[str, tuple[object, object, object]]:
    with BulletPlaybook(URL) as playbook:
        assert verify(playbook) == []
        stored = {str(n): playbook.decision(str(n)) for n in range(1, 10)}
    names = ("label", "label_source", "known_at")
    return {i: tuple(one[n] for n in names) for i, one in stored.items() if one["label"]}


def test_files_of_a_pattern_in_parquet_are_recorded_once(folder: Path) -> None:
    for part, ids in enumerate(([1, 2, 3], [4, 5])):
        table = {"decision_id": ids, "label": [i % 2 for i in ids], "at": [KNOWN] * len(ids)}
        table["other"] = ["x"] * len(ids)
        pq.write_table(pa.table(table), folder / f"day{part}.parquet")
    done = send("day*.parquet", "--source", "chargeback")
    assert "5 label(s): 5 new, 2 decision(s) wrong" in done.output, done.output
    known_at = KNOWN.isoformat(timespec="microseconds")
    assert labels() == {
        str(i): ("DECLINE" if i % 2 else "APPROVE", "chargeback", known_at) for i in range(1, 6)
    }
    assert "5 label(s): 0 new" in send("day*.parquet", "--source", "chargeback").output
    assert len(labels()) == 5


def test_packed_lines_and_cells_are_read_too(folder: Path) -> None:
    with gzip.open("some.jsonl.gz", "wt") as file:
        file.write('{"decision_id": "1", "label": "fraud"}\n{"decision_id": "2", "label": "0"}\n')
    with gzip.open("more.csv.gz", "wt") as file:
        file.write("label;decision_id;source\nlegit;3;analyst\n")
    for pattern in ("some.jsonl.gz", "more*.csv.gz"):
        assert send(pattern).exit_code == 0
    found = {name: (label, source) for name, (label, source, _) in labels().items()}
    wanted = {"1": ("DECLINE", "feedback"), "2": ("APPROVE", "feedback")}
    assert found == {**wanted, "3": ("APPROVE", "analyst")}


def test_a_bad_row_of_the_last_file_stops_all_before_anything_is_written(folder: Path) -> None:
    Path("a.csv").write_text("decision_id,label\n1,fraud\n")
    Path("b.csv").write_text("decision_id,label\n2,fraud\n3,perhaps\n")
    said = str(send("?.csv").exception)
    assert said.startswith("b.csv: row 2: unknown label")
    Path("b.csv").write_text("decision_id,verdict\n2,fraud\n")
    assert "b.csv: not the columns of a.csv: label, verdict" in str(send("?.csv").exception)
    assert labels() == {}


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("cut.parquet", b"PAR1 cut short", "cut.parquet: cannot be read as a table"),
        ("empty.parquet", b"", "empty.parquet: the file is empty"),
        ("list.json", b'[{"decision_id": 1}]', "list.json: one JSON object a line wanted"),
        ("no.jsonl", b'{"id": "1"}\n', "no.jsonl: no column decision_id or label"),
        ("none*.parquet", None, "none*.parquet: no such file"),
        ("nowhere.parquet", None, "nowhere.parquet: no such file"),
    ],
)
def test_a_file_that_is_no_table_of_labels_is_refused_in_one_line(
    folder: Path, name: str, content: bytes | None, why: str
) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    done = send(name)
    assert why in str(done.exception)
    assert "\n" not in str(done.exception)
    assert labels() == {}


def test_what_was_recorded_before_a_failure_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The labels are recorded, and then there is no model to learn from the mistakes."""
    for name, value in UNREACHABLE.items():
        monkeypatch.setenv(name, value)
    pq.write_table(pa.table({"decision_id": ["1", "2"], "label": ["legit"] * 2}), "a.parquet")
    done = CliRunner().invoke(app, ["feedback", "--file", "a.parquet"])
    assert isinstance(done.exception, ModelError)
    assert "2 of 2 labels are recorded; run it again to go on" in done.stderr
    assert set(labels()) == {"1", "2"}


def test_a_table_that_breaks_off_leaves_whole_batches(folder: Path) -> None:
    table = pa.table({"decision_id": [str(1 + i % 9) for i in range(2_100)], "label": [1] * 2_100})
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(table, name)
    files = TableFiles.open("?.parquet")
    Path("b.parquet").write_bytes(b"PAR1 cut short")
    rows, recorded = files.rows_one_by_one(["decision_id", "label"]), []
    with BulletPlaybook(URL) as playbook, pytest.raises(InvalidDataset, match=r"b\.parquet"):
        feedback_many(playbook, labels_of(rows), learn=False, progress=recorded.append)
    assert recorded == [2_000]
    assert len(labels()) == 9
