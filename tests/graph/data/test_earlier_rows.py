"""Derived fields of files: in the order of time, without labels, the same where rows are known."""

import csv
import json
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from acegraph.graph import TrainingPipeline, create_ace_graph, load_dataset
from acegraph.graph.data.explain import explain_dataset
from acegraph.graph.data.files import FileLayout, Item, read_dataset
from acegraph.graph.data.leakage import find_leaks
from acegraph.graph.data.splits import Split
from acegraph.state import AceContext, InvalidDataset
from acegraph.state.task.schema import json_schema
from acegraph.state.values.transaction import is_derived

NODE = AceContext().node
WHO = {"card_number": "card", "merchant": "merchant"}
LAYOUT = FileLayout(query=None, answer="is_fraud", declared=WHO)
Row = dict[str, object]


def card_testing(rows: int, seed: int = 0) -> list[Row]:
    """Payments of many customers; a stolen card is tried out five times within minutes.

    No row tells alone: a fraud has the fields of any small payment.
    """
    rng, now, payments = random.Random(seed), datetime(2026, 1, 1), []
    while len(payments) < rows:
        now += timedelta(minutes=rng.randint(1, 60))
        card, is_fraud = f"card-{rng.randint(1, 60)}", rng.random() < 0.03
        for attempt in range(6 if is_fraud else 1):
            payments.append(
                {
                    "paid_at": now + timedelta(minutes=attempt),
                    "card_number": card,
                    "merchant": f"Shop {rng.randint(1, 40)} Ltd",
                    "amount": round(rng.lognormvariate(3, 1), 2),
                    "is_fraud": int(attempt > 0),
                }
            )
    return sorted(payments, key=lambda row: str(row["paid_at"]))[:rows]


def written(file: Path, rows: list[Row]) -> Path:
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def derived(items: list[Item]) -> list[Row]:
    return [{n: v for n, v in dict(i["query"]).items() if is_derived(n)} for i in items]  # type: ignore[arg-type]


def test_the_order_of_the_rows_and_their_labels_make_no_difference(tmp_path: Path) -> None:
    rows = list({row["paid_at"]: row for row in card_testing(300)}.values())  # no ties
    inverted = [{**row, "is_fraud": 1 - int(str(row["is_fraud"]))} for row in rows[::-1]]
    one, other = (
        load_dataset(written(tmp_path / name, some), query=None, answer="is_fraud", declared=WHO)
        for name, some in (("a.csv", rows), ("b.csv", inverted))
    )
    assert derived(one) == derived(other)[::-1]
    assert max(int(str(row["card.payments_last_hour"])) for row in derived(one)) >= 4


def test_rows_without_a_label_were_payments_too(tmp_path: Path) -> None:
    rows = card_testing(200)
    gaps = [{**row, "is_fraud": "" if i % 2 else row["is_fraud"]} for i, row in enumerate(rows)]
    whole, half = (
        derived(read_dataset(written(tmp_path / name, some), LAYOUT).items)
        for name, some in (("a.csv", rows), ("b.csv", gaps))
    )
    assert half == whole[::2]


def test_without_a_time_or_an_entity_nothing_is_derived(tmp_path: Path) -> None:
    rows = card_testing(30)
    timeless = written(tmp_path / "a.csv", [{**row, "paid_at": "x"} for row in rows])
    assert derived(load_dataset(timeless, query=None, answer="is_fraud", declared=WHO))[-1] == {}
    file = written(tmp_path / "b.csv", rows)
    assert derived(load_dataset(file, query=None, answer="is_fraud"))[-1] == {}


def test_a_row_that_is_no_payment_is_named_with_its_number(tmp_path: Path) -> None:
    rows = [{**row, "paid_at": str(row["paid_at"])} for row in card_testing(30)]
    rows[7]["amount"] = {"value": 5.0, " value ": 6.0}
    file = tmp_path / "p.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InvalidDataset, match="row 8") as refused:
        load_dataset(file, query=None, answer="is_fraud", declared=WHO)
    assert "p.jsonl" in str(refused.value)


def test_a_column_that_is_left_out_takes_along_what_is_derived_from_it(tmp_path: Path) -> None:
    dataset = read_dataset(written(tmp_path / "a.csv", card_testing(99)), LAYOUT)
    left = dataset.without({"amount"})
    assert {name for row in derived(left.items) for name in row} == {
        name for row in derived(dataset.items) for name in row if "amount" not in name
    }
    assert left.items[0]["sighting_columns"].keys() == {"card", "merchant", "time"}
    kinds = {name.partition(".")[0] for name in derived(dataset.without({"merchant"}).items)[0]}
    assert kinds == {"card"}
    assert dataset.without({"a column of another file"}).items == dataset.items
    timeless = dataset.without({"paid_at"})
    assert derived(timeless.items)[0] == {}
    assert "sighting_columns" not in timeless.items[0]


def test_what_is_read_says_where_it_comes_from(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", card_testing(600))
    dataset = read_dataset(file, LAYOUT)
    assert not find_leaks(dataset)  # nothing in it comes from later
    origins = {r.field: r.origin for r in explain_dataset(dataset, {}).read}
    assert origins["card.payments_last_hour"] == "derived from card_number and paid_at"
    assert origins["merchant.amount_last_week"] == "derived from merchant and paid_at"


def test_a_copy_of_a_row_is_a_copy_whatever_was_before_it(tmp_path: Path) -> None:
    rows = card_testing(60)
    file = written(tmp_path / "a.csv", [*rows, rows[-1]])
    items = load_dataset(file, query=None, answer="is_fraud", declared=WHO)
    assert Split(items[:-1], items[-1:]).without_duplicates().copies == 1
    assert [item.get("copy") for item in items[-2:]] == [1, 2]


@pytest.mark.slow
def test_rules_are_learned_from_derived_fields_and_hold_in_live_decisions(tmp_path: Path) -> None:
    rows = card_testing(260)
    file = written(tmp_path / "a.csv", rows)
    pipeline = TrainingPipeline()
    items = load_dataset(file, query=None, answer="is_fraud", declared=WHO)
    assert pipeline.train_offline(items).bullets_active
    book = pipeline.playbook
    assert pipeline.train_offline(items[200:]).repeated == 60  # known, though less was before
    used = {
        name for b in book.get_bullets_for_node(NODE) if b.condition for name in b.condition.fields
    }
    assert any(map(is_derived, used))
    graph = create_ace_graph(playbook=book).compile()
    last = max(row["paid_at"] for row in rows)
    answers = []
    for minute in range(5):
        paid = {**rows[0], "card_number": "card-7", "amount": 20}
        paid["paid_at"] = str(last + timedelta(days=30, minutes=minute))  # type: ignore[operator]
        del paid["is_fraud"]
        answers.append(graph.invoke({"transaction": paid})["decision"])
    assert answers[0] == "APPROVE"
    assert answers[-1] == "DECLINE"
    of = {one.name: one.of for one in book.task(NODE).derived}
    assert of["card.payments_last_hour"] == ("card_number", "paid_at")
    assert not any(map(is_derived, json_schema(book.task(NODE))["properties"]))  # type: ignore[call-overload]
