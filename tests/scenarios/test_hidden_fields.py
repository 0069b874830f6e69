"""What a task does not store is in no byte of the database, whatever repeats it."""

import re
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hidden import bytes_of, hiding, repeating_agent
from ledger_cases import NODE

from acegraph.graph import TrainingPipeline, create_ace_graph
from acegraph.state import BulletPlaybook, InvalidSettings, erase, verify
from acegraph.state.database.tables import sightings
from acegraph.state.task.field import Field
from acegraph.state.task.guess import derived_of
from acegraph.state.task.task import Task

DECLARED = Task(
    "cards",
    (
        Field("amount", "number", role="amount", least=0),
        Field("country", "category"),
        Field("vpn", "flag"),
        Field("customer_id", "category", role="id"),
        Field("paid_at", "time", role="time", parts=("hour", "weekday")),
    ),
    unknown="grow",
)
HIDDEN = ("913.77", "913,77", "18.275", "18.28", "2031-07-19")
"""Values of hidden fields, and a ratio that tells one."""


@pytest.mark.parametrize("task", [None, DECLARED])
@pytest.mark.parametrize(
    ("payment", "redact"),
    [
        ({"amount": 913.77, "country": "PL", "vpn": False}, ["amount"]),
        ({"Amount": "913.77", "country": "PL", "vpn": False}, ["AMOUNT"]),
        ({"amount": 913.77, "memo": "invoice of 913.77 EUR"}, ["amount"]),
        ({"amount": "913,77 EUR", "memo": "invoice of 913,77 EUR"}, ["amount"]),
        ({"amount": 913.77, "usual_amount": 50, "amount_ratio": 18.2754}, ["amount"]),
        ({"amount": 50, "country": "PL", "card": {"customer_id": "913.77"}}, ["card"]),
        ({"amount": 50, "claim value": 913.77, "ref": "913.77"}, ["Claim-Value"]),
        ({"amount": 50, "$pin": "913.77"}, ["pin"]),
        ({"amount": 50, "Paid at": "2031-07-19T03:00:00Z"}, ["paid_at"]),
        ("amount: 913.77; country: PL; vpn: no", ["amount"]),
        ("pays $913.77, usually $50", ["amount"]),
    ],
)
def test_a_field_is_hidden_by_the_name_and_the_value_that_it_came_with(
    payment: Any, redact: list[str], task: Task | None, tmp_path: Path
) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        if task:
            book.set_task(task)
        hiding(redact, book)
        graph = create_ace_graph(playbook=book, agent=repeating_agent).compile()
        graph.invoke({"transaction": payment, "decision_id": "d", "ground_truth": "DECLINE"})
        stored = book.decision("d")["fields"]
        assert not any(name in stored for name in ("hour", "paid_at.hour"))
        found = re.sub(rb"\d\d:\d\d:\d\d\.\d+", b"", bytes_of(tmp_path))  # when, not how much
    assert not [written for written in HIDDEN if written.encode() in found]


@pytest.mark.parametrize("redact", ["Paid-At", "paid_at.hour", "hour"])
def test_a_time_is_hidden_with_its_hour(redact: str, tmp_path: Path) -> None:
    given = {"amount": 50, "Paid at": "2031-07-19T03:00:00Z", "PAID_AT.HOUR": 5}
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        book.set_task(DECLARED)
        graph = create_ace_graph(playbook=hiding([redact], book)).compile()
        assert graph.invoke({"transaction": given, "decision_id": "d"})["warnings"] == []
        assert book.decision("d")["fields"].keys() <= {"amount", "paid_at.weekday"}
        assert b"2031-07-19" not in bytes_of(tmp_path)


def test_of_a_sentence_that_nobody_reads_no_reason_repeats_it_or_its_numbers(
    tmp_path: Path,
) -> None:
    said = "Quimby pays 913.77 for a bicycle"
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        book.set_task(Task("notes", (Field("text", "text"), Field("amount", "number"))))
        hiding(["amount"], book)
        graph = create_ace_graph(playbook=book, agent=repeating_agent).compile()
        graph.invoke({"transaction": said, "decision_id": "d"})
        found = bytes_of(tmp_path)
    assert not [word for word in (b"Quimby", b"913.77") if word in found]


SEEN = (
    Field("sum", "number", role="amount"),
    Field("cc", "category", role="entity", entity="card"),
    Field("paid_at", "time", role="time", parts=("hour",)),
    Field("lat", "number", role="latitude"),
    Field("lon", "number", role="longitude"),
)
RIDE = {"sum": 913.77, "cc": "4929", "paid_at": "2031-07-19T03:00:00Z", "lat": 48.1, "lon": 2.5}


@pytest.mark.parametrize(
    ("hidden", "seen"),
    [
        ([], [(9137700, 48.1, 2.5)] * 2),
        (["cc"], [(9137700, 48.1, 2.5)] * 2),
        (["sum"], [(0, 48.1, 2.5)] * 2),
        (["lon"], [(9137700, None, None)] * 2),
        (["Paid-At"], []),
        (["paid_at.hour"], []),
    ],
)
def test_what_later_payments_look_back_on_is_hidden_too(
    hidden: list[str], seen: list[object], playbook: BulletPlaybook
) -> None:
    playbook.set_task(Task("rides", SEEN, derived_of(SEEN)))
    playbook.add_bullet("DECLINE when card.payments_last_day >= 9", NODE)
    graph = create_ace_graph(playbook=hiding(hidden, playbook)).compile()
    for number in range(2):
        result = graph.invoke({"transaction": RIDE, "decision_id": str(number)})
    assert result["warnings"] == []
    with playbook.database.reading() as connection:
        columns = sightings.c.amount, sightings.c.latitude, sightings.c.longitude
        assert [tuple(row) for row in connection.execute(sa.select(*columns))] == seen
    stored = playbook.decision("1")["fields"]
    assert ("card.payments_last_day" in stored) == bool(seen)
    assert stored.get("card.amount_to_usual") == (None if hidden == ["sum"] or not seen else 1.0)
    assert ("card.amount_last_day" in stored) == (bool(seen) and hidden != ["sum"])


def test_a_task_says_what_is_not_stored(tmp_path: Path) -> None:
    fields = (Field("who", "category", stored=False), Field("amount", "number"))
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        book.set_task(Task("cards", fields, unknown="grow"))
        graph = create_ace_graph(playbook=book, agent=repeating_agent).compile()
        given = {"WHO": "QZX-774411", "amount": 950, "other": "of QZX-774411"}
        asked = {"transaction": given, "ground_truth": "DECLINE", "decision_id": "d1"}
        assert graph.invoke(asked)["warnings"] == []
        assert graph.invoke({"transaction": {"amount": 7}})["warnings"] == []
        TrainingPipeline(book).train_offline([{"id": "1", "query": given, "answer": "DECLINE"}])
        TrainingPipeline(book).train_online([{"id": "2", "query": given, "answer": "APPROVE"}])
        assert book.decision("d1")["settings"]["redact"] == ["who"]
        assert verify(book) == []
        found = bytes_of(tmp_path)
    assert b"QZX-774411" not in found
    assert b"amount: 950" in found


def test_a_field_that_is_not_stored_has_no_words() -> None:
    with pytest.raises(InvalidSettings, match="'who': it is not stored"):
        Field("who", "category", stored=False, words=("anna", "bert"))


def test_a_task_that_is_guessed_keeps_no_word_and_no_limit_of_a_hidden_field() -> None:
    playbook = BulletPlaybook()
    rows = [
        {"id": str(i), "query": {"who": f"anna {i % 3}", "paid": 913.0 + i, "city": "Rome"},
         "answer": "APPROVE" if i % 3 else "DECLINE"}
        for i in range(120)
    ]  # fmt: skip
    hiding(["Who", "paid"], playbook)
    TrainingPipeline(playbook).train_offline(rows)
    task = playbook.task(NODE)
    assert [(one.stored, one.words, one.most) for one in task.fields] == [
        (False, (), None), (False, (), None), (True, ("Rome",), None)
    ]  # fmt: skip
    graph = create_ace_graph(playbook=playbook).compile()  # without the setting
    graph.invoke({"transaction": rows[0]["query"], "decision_id": "d1"})
    assert playbook.decision("d1")["fields"] == {"city": "Rome"}


def test_a_task_that_is_guessed_keeps_no_word_that_repeats_a_hidden_value(tmp_path: Path) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        hiding(["who"], book)
        rows = [
            {"id": str(i), "query": {"who": "Lakatos", "shop": shop, "hour": i % 24},
             "answer": "DECLINE" if i % 24 < 6 else "APPROVE"}
            for i, shop in enumerate(["of LAKATOS", "rent"] * 60)
        ]  # fmt: skip
        TrainingPipeline(book).train_offline(rows)
        shop = book.task(NODE).by_name["shop"]
        assert (shop.words, shop.closed) == (("rent",), False)
        found = bytes_of(tmp_path)
    assert b"akatos" not in found
    assert b"LAKATOS" not in found


def test_words_of_a_task_go_with_whom_is_erased(tmp_path: Path) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        rows = [
            {"id": str(i), "query": {"shop": shop, "amount": 20.0 + i}, "answer": "APPROVE"}
            for i, shop in enumerate(["Corner Books", "Lucky Star", "Corner Books", "category"])
        ]
        TrainingPipeline(book).train_offline(rows)
        with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as other:
            assert "Lucky Star" in other.task(NODE).by_name["shop"].words
            erase(book, entity=("shop", "Lucky Star"))
            erase(book, entity=("shop", "category"))
            for task in (book.task(NODE), other.task(NODE)):
                assert task.by_name["shop"].words == ("Corner Books",)
                assert task.by_name["shop"].kind == "category"
        assert verify(book) == []
        assert b"Lucky Star" not in bytes_of(tmp_path)
