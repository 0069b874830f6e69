"""Labels over HTTP: what an id and a source may be, who signs them, and what they cannot do."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from acegraph.graph import feedback
from acegraph.graph.operations.learning.purge import purge
from acegraph.graph.operations.review import approve_outside_run
from acegraph.graph.server.app import create_service
from acegraph.graph.server.service import ServiceSettings
from acegraph.nodes.curator.curator import Curator
from acegraph.state import BulletPlaybook, verify
from acegraph.state.errors import InvalidAnswer, InvalidInput
from acegraph.state.maintenance.people.users import add_user

BAD_IDS = ["\ud800", "", "x" * 201, "a\nb", "a\tb", "\x00", " a", "\u202ea", ["x"], {"a": 1}, 5]
BAD_SOURCES = [
    *("\u0430nalyst:ann", "ａｎａｌｙｓｔ:ann", "analyst :ann", "analyst：ann", "analyst:ann"),
    *("judge", "JUDGE", ["x"], {"a": 1}, "x" * 61, "a\nb", "", 5, "chargeback@ann", "\ud800", "_"),
]


@pytest.fixture
def book() -> BulletPlaybook:
    book = BulletPlaybook()
    book.add_bullet("DECLINE when amount >= 900", "fraud_detection")
    return book


@pytest.fixture
def client(book: BulletPlaybook) -> TestClient:
    token = f"shop.{add_user(book.database, 'shop', 'feed')}"
    return TestClient(
        create_service(ServiceSettings(), book), headers={"Authorization": f"Bearer {token}"}
    )


def sent(client: TestClient, path: str, items: object) -> Any:
    """The answer to what no client library would send."""
    kind = {"Content-Type": "application/json"}
    return client.post(path, content=json.dumps(items), headers=kind)


def decided(client: TestClient, *ids: object) -> list[Any]:
    items = [{"transaction": {"amount": 5, "hour": 14}, "decision_id": one} for one in ids]
    answer = sent(client, "/decisions", items)
    assert answer.status_code == 200
    return list(answer.json()["answers"])


@pytest.mark.parametrize("bad", BAD_IDS)
def test_a_bad_id_is_refused_alone_in_decisions_and_in_labels(client: TestClient, bad: Any) -> None:
    first, refused, last = decided(client, "a", bad, "b")
    assert refused["error"]["status"] == 422
    assert "decision" in first
    assert "decision" in last
    items = [{"decision_id": one, "label": "fraud"} for one in ("a", bad, "b")]
    report = sent(client, "/labels", items).json()
    assert (report["changed"], [one["item"] for one in report["refused"]]) == (2, [1])
    alone = sent(client, "/labels", items[1])
    assert alone.status_code == 422
    with pytest.raises(InvalidInput, match="decision_id"):
        feedback(BulletPlaybook(), bad, "fraud")


@pytest.mark.parametrize("bad", BAD_SOURCES)
def test_a_bad_source_is_refused_alone(
    client: TestClient, book: BulletPlaybook, bad: object
) -> None:
    decided(client, "a", "b")
    items = [
        {"decision_id": "a", "label": "fraud", "source": bad},
        {"decision_id": "b", "label": "fraud", "source": "Charge-back 2.0"},
    ]
    report = sent(client, "/labels", items).json()
    assert (report["changed"], [one["item"] for one in report["refused"]]) == (1, [0])
    assert book.decision("b")["label_source"] == "Charge-back 2.0@shop"


def test_an_unknown_key_is_refused_alone_and_no_decision_brings_its_label(
    client: TestClient,
) -> None:
    items = [
        {"transaction": {"amount": 5}, "decision_id": "a", "ground_truth": "legit"},
        {"transaction": {"amount": 5}, "decision_id": "b"},
    ]
    refused, decision = client.post("/decisions", json=items).json()["answers"]
    assert "ground_truth" in refused["error"]["message"]
    assert decision["decision"] == "APPROVE"


def test_a_label_that_is_delivered_again_undoes_no_correction(
    client: TestClient, book: BulletPlaybook
) -> None:
    decided(client, "a")
    first = {"decision_id": "a", "label": "fraud", "source": "chargeback"}
    for label in (first, {**first, "label": "legit"}, first, first):
        client.post("/labels", json=label)
    assert book.decision("a")["label"] == "APPROVE"
    client.post("/labels", json={**first, "at": "2026-01-01T00:00:00"})
    assert book.decision("a")["label"] == "DECLINE"
    client.post("/labels", json={**first, "label": "legit", "at": "2026-01-02T00:00:00"})
    client.post("/labels", json={**first, "at": "2026-01-01T00:00:00"})
    assert book.decision("a")["label"] == "APPROVE"
    assert not verify(book)


def test_a_person_may_change_their_mind(book: BulletPlaybook, client: TestClient) -> None:
    decided(client, "a")
    for label in ("fraud", "legit", "fraud"):
        feedback(book, "a", label, source="analyst:ann")
    assert book.decision("a")["label"] == "DECLINE"


def test_what_labels_over_http_teach_lowers_no_risk_before_a_person_says_so(
    client: TestClient, book: BulletPlaybook
) -> None:
    """Young accounts pay much, are declined, and a feed calls all of it honest."""
    items = [
        {
            "transaction": {
                "amount": 1_000 + 7 * n, "account_age_days": 40 + n, "customer": f"c{n % 12}",
            },
            "decision_id": f"d{n}",
        }
        for n in range(40)
    ]  # fmt: skip
    assert {one["decision"] for one in client.post("/decisions", json=items).json()["answers"]} == {
        "DECLINE"
    }
    for number in range(40):
        label = {"decision_id": f"d{number}", "label": "fraud" if number % 4 == 0 else "legit"}
        client.post("/labels", json=label)
    lowering = [b for b in book if b.verdict == "APPROVE"]
    assert lowering
    assert all(b.status == "candidate" for b in lowering)
    Curator().tend("fraud_detection", book)
    assert all(book.get_bullet(b.id).status != "active" for b in lowering)


def test_nobody_approves_what_was_learned_from_a_label_they_sent(book: BulletPlaybook) -> None:
    origin = {"label_source": "chargeback@shop", "author": "embedded analyst"}
    rule = book.add_bullet("APPROVE when hour < 1", "n", status="candidate", origin=origin)
    given = {"approve": True, "why": "checked"}
    with pytest.raises(InvalidAnswer, match="label it was learned from"):
        approve_outside_run(book, rule, {**given, "who": "shop"})
    assert approve_outside_run(book, rule, {**given, "who": "ann"}) == "active"


@pytest.mark.parametrize("source", ["chargeback", "chargeback@shop", "@shop"])
def test_what_a_user_sent_is_taken_back_by_its_kind_or_by_the_user(
    client: TestClient, book: BulletPlaybook, source: str
) -> None:
    decided(client, "a", "b")
    client.post("/labels", json={"decision_id": "a", "label": "fraud", "source": "chargeback"})
    feedback(book, "b", "fraud", source="investigation")
    assert purge(book, source=source).labels == 1
    assert [book.decision(one)["label"] for one in "ab"] == [None, "DECLINE"]
