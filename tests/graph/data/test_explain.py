"""What was read, what was ignored, and what each bullet did."""

from pathlib import Path

from acegraph.graph.data.explain import explain, explain_dataset
from acegraph.graph.data.files import FileLayout, read_dataset
from acegraph.state import Transaction
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task


def test_a_text_shows_the_words_that_were_read() -> None:
    found = explain(Transaction.of("User pays $2,500 at 3 AM via VPN, buys a yellow kite"))
    assert {(row.field, row.origin) for row in found.read} == {
        ("amount", "$2,500"),
        ("hour", "3 AM"),
        ("vpn", "VPN"),
    }
    assert found.ignored == []


def test_a_nested_mapping_is_flat_and_a_task_splits_its_times() -> None:
    given = {"card": {"age_days": 3}, "at": "2026-03-02 14:05:00", "new": None}
    task = Task("t", (Field("at", "time", parts=("hour", "weekday")),), unknown="grow")
    rows = {row.field: row for row in explain(Transaction.of(given), task).read}
    assert rows["card.age_days"].what == "3"
    assert (rows["at.hour"].what, rows["at.weekday"].what) == ("14", "Monday")
    assert (rows["at.weekday"].origin, rows["at"].origin) == ("derived", "given")
    assert "new" not in rows


def test_what_does_not_fit_is_told() -> None:
    found = explain(Transaction.of({"amount": "much", "hour": 3}))
    assert found.ignored == ["amount (does not fit; a number of at least 0 wanted)"]


def test_identifiers_of_a_file_are_found(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    lines = [f"{4_000_000_000 + 7 * i},{1.5 * i},{'ab'[i % 2]},{i % 2}" for i in range(60)]
    file.write_text("\n".join(["cc_num,amt,kind,fraud", *lines]))
    found = explain_dataset(read_dataset(file, FileLayout(query=None, answer="fraud")), {})
    assert [row.field for row in found.read] == ["amt", "kind"]
    assert found.ignored[0].startswith("cc_num (names somebody")
