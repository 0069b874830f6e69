"""Erasing and redacting: what a transaction said is gone, what it counted for is not."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from command_line import invoke, run
from hidden import bytes_of, hiding, repeating_agent
from langchain_core.embeddings import Embeddings
from ledger_cases import NODE, counters, record
from postgres import Server

from acegraph.graph import TrainingPipeline, create_ace_graph, feedback, replay
from acegraph.graph.cli.printing import visible
from acegraph.graph.operations.transfer import export_bullets
from acegraph.nodes import HybridSelector
from acegraph.state import (
    BulletPlaybook,
    Case,
    DecisionConflict,
    InvalidInput,
    PlaybookError,
    UnknownDecision,
    back_up,
    erase,
    prune,
    verify,
)
from acegraph.state.errors import PrunedDecision
from acegraph.state.values.plain import clean_text

ANNA = {
    "amount": 930.0,
    "hour": 3,
    "customer_id": "C-778-anna",
    "merchant_name": "Lucky Star Trading",
    "memo": "for the blue bicycle, Müller",
}
BERT = {"amount": 12.0, "hour": 15, "customer_id": "C-900-bert", "merchant_name": "Corner Books"}
SAID_BY_ANNA = ("C-778-anna", "Lucky Star", "blue bicycle", "Müller")


def used(playbook: BulletPlaybook) -> None:
    """Two customers' decisions, labels, and a bullet that should never have been written."""
    playbook.add_bullet("DECLINE when amount >= 500", NODE)
    playbook.add_bullet("Lucky Star Trading sells bicycles", NODE, reason="C-778-anna said")
    graph = create_ace_graph(playbook=playbook).compile()
    for number in range(4):
        for name, given in (("anna", ANNA), ("bert", BERT)):
            graph.invoke({"transaction": given, "decision_id": f"{name}-{number}"})
    for number in range(3):
        feedback(playbook, f"anna-{number}", "APPROVE")
        feedback(playbook, f"bert-{number}", "APPROVE")


def test_no_byte_of_what_was_erased_is_left(tmp_path: Path) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        used(book)
        before = bytes_of(tmp_path)
        assert all(said.encode() in before for said in SAID_BY_ANNA)
        erase(book, entity=("customer_id", "C-778-anna"))
        after = bytes_of(tmp_path)  # still open: the log is there too
        assert not [said for said in SAID_BY_ANNA if said.encode() in after]
        assert b"C-900-bert" in after
        assert verify(book) == []
    assert not [said for said in SAID_BY_ANNA if said.encode() in bytes_of(tmp_path)]


def test_counters_and_labels_stay_on_every_database(playbook: BulletPlaybook) -> None:
    used(playbook)
    before = [counters(playbook, b.id) for b in playbook]
    assert before[0] == (0, 3, 4)
    found = erase(playbook, [f"anna-{number}" for number in range(4)])
    assert len(found.cases) == 4
    assert [counters(playbook, b.id) for b in playbook] == before
    assert verify(playbook) == []
    stored = playbook.decision("anna-0")
    assert (stored["text"], stored["fields"], stored["reasons"]) == ("", {}, [])
    assert (stored["decision"], stored["label"]) == ("DECLINE", "APPROVE")
    assert {case.id for case in playbook.cases(NODE)} == {f"bert-{n}" for n in range(3)}
    assert playbook.get_bullet("b1").content == "DECLINE when amount >= 500"
    assert "Lucky" not in playbook.get_bullet("b2").content


def test_a_label_for_an_erased_decision_still_counts_and_teaches_nothing() -> None:
    playbook = BulletPlaybook()
    used(playbook)
    erase(playbook, ["anna-3"])
    found = feedback(playbook, "anna-3", "APPROVE")
    assert (found.is_correct, found.curation) == (False, None)
    assert counters(playbook, "b1") == (0, 4, 4)
    assert verify(playbook) == []


def test_an_erased_decision_is_not_decided_again() -> None:
    playbook = BulletPlaybook()
    used(playbook)
    erase(playbook, ["anna-0"])
    graph = create_ace_graph(playbook=playbook).compile()
    with pytest.raises(PrunedDecision, match="erased"):
        graph.invoke({"transaction": ANNA, "decision_id": "anna-0"})
    with pytest.raises(PlaybookError, match="erased"):
        replay(playbook, "anna-0")


def test_what_others_said_too_stays_in_the_bullets() -> None:
    playbook = BulletPlaybook()
    used(playbook)
    erase(playbook, ["anna-0"])
    assert "Lucky Star" in playbook.get_bullet("b2").content


@pytest.mark.parametrize(
    "said",
    [
        {"memo": "verdict"},
        {"memo": "curator"},
        {"memo": "DECLINE when amount >= 500"},
        {"merchant": "Precision Merchant Decision Labs"},
    ],
)
def test_erasing_our_own_words_breaks_no_rule(said: dict[str, str]) -> None:
    playbook = BulletPlaybook()
    used(playbook)
    origin = {"decision": "bert-0", "label_source": "curator", "author": "curator"}
    playbook.add_bullet(
        "DECLINE when amount >= 500 and merchant_rating < 2",
        NODE,
        evidence={"precision": 0.9, "precision_low": 0.8},
        origin=origin,
    )
    playbook.add_bullet("Decline a merchant whose amount is high at that hour", NODE)
    playbook.set_status("b3", "retired", "worn out", "curator")
    graph = create_ace_graph(playbook=playbook).compile()
    graph.invoke({"transaction": {"amount": 40, **said}, "decision_id": "said"})
    bullets, history = list(playbook), playbook.history()
    assert erase(playbook, ["said"]).texts == 0
    assert list(playbook) == bullets
    assert playbook.history() == history
    assert verify(playbook) == []


def test_a_rule_about_somebody_who_is_erased_is_no_rule_any_more(playbook: BulletPlaybook) -> None:
    used(playbook)
    playbook.add_bullet(
        'DECLINE when merchant_name is "Lucky Star Trading"',
        NODE,
        evidence={"Lucky Star Trading": "C-778-anna", "seen": ["at Lucky Star Trading"]},
    )
    erase(playbook, entity=("customer_id", "C-778-anna"))
    found = playbook.get_bullet("b3")
    assert (found.content, found.condition) == ('DECLINE when merchant_name is "[erased]"', None)
    assert found.evidence == {"Lucky Star Trading": "[erased]", "seen": ["at [erased]"]}
    assert playbook.get_bullet("b1").condition is not None
    assert verify(playbook) == []


def test_what_is_erased_is_a_whole_word() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("No roses, primroses or roses_sold; 上海星光贸易公司的付款", NODE)
    graph = create_ace_graph(playbook=playbook).compile()
    for name, memo in (("a", "roses"), ("b", "primroses"), ("c", "上海星光贸易")):
        graph.invoke({"transaction": {"amount": 5, "memo": memo}, "decision_id": name})
    erase(playbook, ["a", "c"])
    content = playbook.get_bullet("b1").content
    assert content == "No [erased], primroses or roses_sold; [erased]公司的付款"


class Paid(Embeddings):
    """An embedding model whose vectors are worth keeping."""

    model = "paid"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, len(text)] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


PROSE = "Decline payments through a VPN"
OF_ANNA, OF_BERT = "amount: 40; customer_id: C-778-anna", "amount: 40; customer_id: C-900-bert"


def decided_with_vectors(playbook: BulletPlaybook) -> None:
    playbook.add_bullet(PROSE, NODE)
    graph = create_ace_graph(playbook=playbook, embeddings=Paid()).compile()
    for name in ("C-778-anna", "C-900-bert"):
        given = {"amount": 40, "customer_id": name, "memo": "12,50 for rent and food"}
        graph.invoke({"transaction": given, "decision_id": name})


def kept(playbook: BulletPlaybook) -> set[str]:
    return set(playbook.text_vectors("paid", [PROSE, OF_ANNA, OF_BERT]))


def test_vectors_go_with_what_was_erased_or_pruned(playbook: BulletPlaybook) -> None:
    decided_with_vectors(playbook)
    assert kept(playbook) == {PROSE, OF_ANNA, OF_BERT}
    erase(playbook, ["C-778-anna"])
    assert OF_ANNA not in kept(playbook)
    assert PROSE in kept(playbook)
    prune(playbook, "2099-01-01")
    assert kept(playbook) == {PROSE}
    assert verify(playbook) == []


def test_vectors_of_bullets_stay() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet(PROSE, NODE)
    graph = create_ace_graph(playbook=playbook, embeddings=Paid()).compile()
    for name, text in (("anna", OF_ANNA), ("bert", OF_BERT)):
        graph.invoke({"transaction": text, "decision_id": name})
    erase(playbook, ["anna"])
    assert kept(playbook) == {PROSE}


def test_a_selector_keeps_no_vector_of_a_transaction_where_it_must_not() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet(PROSE, NODE)
    selector = HybridSelector(embeddings=Paid(), keep_queries=False)
    selector.select_bullets(OF_ANNA, NODE, playbook)
    assert kept(playbook) == {PROSE}


def test_of_what_is_redacted_no_vector_is_kept() -> None:
    playbook = hiding(HIDE)
    decided_with_vectors(playbook)
    assert kept(playbook) == {PROSE}


def test_erasing_what_is_not_there_changes_nothing() -> None:
    playbook = BulletPlaybook()
    used(playbook)
    clock = playbook.clock
    with pytest.raises(UnknownDecision):
        erase(playbook, ["anna-0", "nobody"])
    with pytest.raises(UnknownDecision):
        erase(playbook, entity=("customer_id", "C-1"))
    with pytest.raises(InvalidInput):
        erase(playbook)
    assert playbook.clock == clock
    assert playbook.decision("anna-0")["text"]


HIDE = ("customer_id", "memo", "merchant_name")


@pytest.mark.parametrize("given", [ANNA, "; ".join(f"{k}: {v}" for k, v in ANNA.items())])
def test_what_is_redacted_is_seen_and_never_stored(tmp_path: Path, given: Any) -> None:
    seen: list[str] = []

    def agent(asked: dict[str, Any]) -> dict[str, Any]:
        seen.append(asked["transaction"] if isinstance(asked["transaction"], str) else str(asked))
        return {"decision": "APPROVE", "risk_score": 0.1, "reasons": ["C-778-anna is known"]}

    def reflector(asked: dict[str, Any]) -> dict[str, Any]:
        seen.append(asked["query"] + asked["agent_reasoning"])
        return {"new_bullet": "Decline purchases at night above 900"}

    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        hiding(HIDE, book)
        graph = create_ace_graph(playbook=book, agent=agent, reflector=reflector).compile()
        asked = {"transaction": given, "ground_truth": "DECLINE", "decision_id": "d1"}
        first = graph.invoke(asked)
        assert graph.invoke(asked)["decision_id"] == first["decision_id"]  # the same, sent again
        assert "C-778-anna" in seen[0]
        assert "C-778-anna" not in seen[1]
        stored = book.decision("d1")
        assert stored["fields"] == {"amount": 930, "hour": 3}
        assert stored["text"].startswith("amount: 930.0; hour: 3")
        assert stored["reasons"] == ["[redacted] is known"]
        found = bytes_of(tmp_path)
    assert not [said for said in SAID_BY_ANNA if said.encode() in found]
    assert b"930" in found


def test_what_rules_saw_of_a_redacted_field_cannot_be_told() -> None:
    for name in ("customer_id", "amount"):
        hiding([name], playbook := BulletPlaybook())
        playbook.add_bullet("DECLINE when amount >= 500", NODE)
        graph = create_ace_graph(playbook=playbook).compile()
        graph.invoke({"transaction": ANNA, "decision_id": name})
        if name == "customer_id":
            assert replay(playbook, name).is_reproduced
    with pytest.raises(PlaybookError, match="saw in amount was not stored"):
        replay(playbook, "amount")


def test_history_is_redacted_too(tmp_path: Path) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        pipeline = TrainingPipeline(hiding(HIDE, book))
        item = {"id": "1", "query": ANNA, "answer": "DECLINE"}
        pipeline.train_offline([item])
        pipeline.train_online([item])
        assert verify(book) == []
    assert not [said for said in SAID_BY_ANNA if said.encode() in bytes_of(tmp_path)]


def test_with_a_key_customers_stay_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_REDACT_KEY", "secret")
    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=hiding(HIDE, playbook)).compile()
    for name, given in (("a", ANNA), ("a2", {**ANNA, "amount": 7.0}), ("b", BERT)):
        graph.invoke({"transaction": given, "decision_id": name})
    a, again, b = (playbook.decision(i)["fields"]["customer_id"] for i in ("a", "a2", "b"))
    assert a == again != b
    assert a.startswith("redacted-")


def test_an_erased_value_is_gone_wherever_it_is_written(tmp_path: Path) -> None:
    value = "Anna-Lena Öztürk"
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        graph = create_ace_graph(playbook=book, agent=repeating_agent).compile()
        for name, given in (
            ("own", {"amount": 40.0, "customer_name": value}),
            ("others", {"amount": 41.0, "memo": f"to {value} thanks", "other": value}),
            ("said", f"User pays $2,500 at 3 AM to {value} via VPN"),
        ):
            graph.invoke({"transaction": given, "decision_id": name})
        book.add_bullet(f"Decline payments to {value} at night", NODE, reason=value)
        erased = erase(book, entity=("customer_name", value))
        assert (erased.cases, erased.left) == (("own",), 0)
        export_bullets(book, tmp_path / "export.json")
        back_up(book, tmp_path / "backup.db")
        assert verify(book) == []
        assert value.encode() not in bytes_of(tmp_path)
        assert json.dumps(value)[1:-1].encode() not in bytes_of(tmp_path)
        assert len(book) == 1


def test_a_field_is_erased_by_any_of_its_names() -> None:
    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook).compile()
    for name in ("customerId", "Customer ID", "payer.customer_id", "CUSTOMER-ID", "customer_kind"):
        graph.invoke({"transaction": {"amount": 40, name: "C-77"}, "decision_id": name})
    assert len(erase(playbook, entity=("customer_id", "C-77")).cases) == 4


def test_what_ids_hold_is_said(playbook: BulletPlaybook) -> None:
    graph = create_ace_graph(playbook=playbook).compile()
    graph.invoke({"transaction": ANNA, "decision_id": "C-778-anna/1"})
    feedback(playbook, "C-778-anna/1", "APPROVE")
    assert erase(playbook, entity=("customer_id", "C-778-anna")).left == 1
    assert verify(playbook) == []


NAME, CARD = "Anna-Lena Öztürk", "4929123456781234"
WRITINGS = [
    *(NAME, NAME.upper(), NAME.lower(), "ANNA_LENA_OZTURK", "Anna  -  Lena  Öztürk"),
    *(unicodedata.normalize("NFD", NAME), "anna.lena.ozturk@example.org", f"Frau {NAME}'s"),
    *(CARD, " ".join(CARD), "4929-1234-5678-1234", f"PAN{CARD}", int(CARD), float(CARD)),
]


@pytest.mark.parametrize("word", WRITINGS)
def test_a_hidden_value_is_not_stored_where_another_field_or_the_agent_repeats_it(
    tmp_path: Path, word: object
) -> None:
    field, value = ("card_number", CARD) if "2" in str(word) else ("customer_name", NAME)
    camel = "".join(part.title() for part in field.split("_"))
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        hiding([field], book)
        graph = create_ace_graph(playbook=book, agent=repeating_agent).compile()
        for number, own in enumerate(({"payer": {camel: value}}, {camel: value})):
            others = {"memo": f"for {word}, thanks", "reference": word}
            given = {"amount": 40.0, "hour": 3, **own, **others}
            asked = {"transaction": given, "ground_truth": "DECLINE", "decision_id": str(number)}
            assert graph.invoke(asked)["warnings"] == []
        assert verify(book) == []
        found = bytes_of(tmp_path)
    forms = {
        form for w in (word, value) for form in (str(w), clean_text(str(w)), json.dumps(str(w)))
    }
    assert not [form for form in forms if form.strip('"').encode() in found]
    assert b"amount: 40.0; hour: 3" in found


def test_a_redacted_value_is_not_stored_as_it_came() -> None:
    """The playbook knows the value in another form, and under another name."""
    playbook = BulletPlaybook()
    past = [
        Case(str(i), {"amount": i + 0.5, "country": "DE", "new": i % 2 == 0}, "APPROVE")
        for i in range(60)
    ]
    playbook.remember(past, "fraud_detection")
    hiding(["amount", "country"], playbook)
    graph = create_ace_graph(playbook=playbook).compile()
    given = {"Amount": "1234.50", "Country": "de", "new": True}
    for number, payment in enumerate((given, {**given, "Amount": 1234.5})):
        asked = {"transaction": payment, "decision_id": f"d{number}"}
        assert graph.invoke(asked)["warnings"] == []
        stored = playbook.decision(f"d{number}")["text"]
        assert stored == "new: true"
    others = [{**given, "Amount": "1234.60"}, {**given, "Country": "fr"}]
    digests = []
    for number, payment in enumerate(others):
        graph.invoke({"transaction": payment, "decision_id": f"other {number}"})
        digests.append(playbook.decision(f"other {number}")["digest"])
    # Else a hidden value could be guessed by trying.
    assert set(digests) == {playbook.decision("d0")["digest"]}


@pytest.mark.parametrize("command", ["train", pytest.param("serve", marks=pytest.mark.slow)])
def test_every_command_that_stores_payments_can_redact(command: str, tmp_path: Path) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        book.add_bullet("DECLINE when amount >= 900", NODE)
        hiding(["who"], book)
    secret = "QZX-774411"
    if command == "train":
        file = tmp_path / "t.csv"
        file.write_text(f"id,amount,who,fraud\nd1,950,{secret},1\nd2,20,x,0\n")
        run(tmp_path, "train", "t.csv", "--label", "fraud")
        file.unlink()
    else:
        line = json.dumps({"transaction": {"amount": 950, "who": secret}, "decision_id": "d1"})
        serve = [sys.executable, "-m", "acegraph.graph.cli", "serve", "--stdin"]
        subprocess.run(serve, cwd=tmp_path, input=line, text=True, check=True, capture_output=True)
    found = bytes_of(tmp_path)
    assert secret.encode() not in found
    assert b"amount: 950" in found


PAST = [
    {
        "id": f"r{i}",
        "query": {
            "amount": 600.0 + i if i % 3 == 0 else 20.0 + i,
            "country": "PD"[i % 2] + "LE"[i % 2],
            "vpn": i % 3 == 0,
            "customer_id": f"C-{i}",
        },
        "answer": "APPROVE" if i % 3 else "DECLINE",
    }
    for i in range(60)
]
MORE_PAYMENTS: list[tuple[dict[str, Any], list[str]]] = [
    ({"transaction": {"Country": "pl", "amount": 9, "customer_id": "C-1"}}, ["customer_id"]),
    ({"Amount": "900 EUR", "country": "PL", "customer_id": "C-1"}, ["customer_id"]),
    ({"amount": "900.5 EUR", "country": "PL", "memo": "972.54"}, ["amount"]),
    ({"amount": "900 EUR", "tx_amount": "77", "customer_id": "C-1"}, ["customer_id"]),
    ({"Country": "pl", "amount": 9, "paid_at": "2026-01-31 13:00"}, ["paid_at"]),
    ({"country": "pl", "amount": 40, "amount_ratio": 2.0}, ["amount"]),
]


@pytest.mark.parametrize("key", ["", "secret"])
@pytest.mark.parametrize(
    ("payment", "redact"),
    [
        ({"Country": "pl", "amount": 900.5, "vpn": False, "customer_id": "C-1"}, ["customer_id"]),
        ("amount=900.50, country=pl, customer_id=C-12345", ["customer_id"]),
        ({"Amount": "900 EUR", "country": "PL", "customer_id": "C-1"}, ["amount"]),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in MORE_PAYMENTS),
    ],
)
def test_a_payment_stays_the_same_one_whatever_was_learned_and_rates_are(
    payment: Any, redact: list[str], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_REDACT_KEY", key)
    playbook = BulletPlaybook()
    asked = {"transaction": payment, "decision_id": "d"}
    for _ in range(2):
        hiding(redact, playbook)
        create_ace_graph(playbook=playbook).compile().invoke(asked)
        TrainingPipeline(playbook).train_offline(PAST)  # else a conflict


@pytest.mark.parametrize("key", ["", "secret"])
@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("pays $2,500 at 3 AM", "amount"),
        ("pays $2.5k at shop 2500", "amount"),
        ("pays $20 at 3 AM", "hour"),
        ("vpn: true, amount: 20, connects via VPN", "vpn"),
        ("User of card: AB-77, amount: 20, pays", "user_of_card"),
        ("User of card: AB-77, amount: 20, pays", "customer_id"),
    ],
)
def test_of_a_sentence_only_the_fields_are_stored_that_are_not_hidden(
    monkeypatch: pytest.MonkeyPatch, key: str, said: str, field: str
) -> None:
    monkeypatch.setenv("ACE_REDACT_KEY", key)
    playbook = hiding([field])
    graph = create_ace_graph(playbook=playbook).compile()
    graph.invoke({"transaction": said, "decision_id": "d1"})
    for _ in range(2):
        stored = playbook.decision("d1")
        assert "text" not in stored["fields"]
        assert not any(word in stored["text"] for word in ("pays", "$", "connects"))
        assert stored["fields"].get(field, "redacted-").startswith("redacted-")
        graph.invoke({"transaction": said, "decision_id": "d1"})  # the same one, sent again
        feedback(playbook, "d1", "DECLINE")


def test_hidden_sentences_that_say_different_things_are_different_payments() -> None:
    playbook = hiding(["amount"])
    graph = create_ace_graph(playbook=playbook).compile()
    graph.invoke({"transaction": "pays $20 at 3 PM", "decision_id": "d1"})
    with pytest.raises(DecisionConflict):
        graph.invoke({"transaction": "pays $9,000 at 3 AM via VPN", "decision_id": "d1"})


def test_an_agent_and_a_reflector_do_not_repeat_a_number_that_is_written_shorter() -> None:
    seen: list[str] = []

    def agent(asked: dict[str, Any]) -> dict[str, Any]:
        reasons = [f"seen: {asked['transaction']}"]
        return {"decision": "APPROVE", "risk_score": 0.1, "reasons": reasons}

    def reflector(asked: dict[str, Any]) -> None:
        seen.append(asked["query"])

    playbook = hiding(["amount"])
    graph = create_ace_graph(playbook=playbook, agent=agent, reflector=reflector).compile()
    graph.invoke({"transaction": "pays $2.5k at 3 AM", "decision_id": "d1"})
    said, why = playbook.decision("d1")["reasons"]
    assert (said, "2.5" in why) == ("[redacted]", False)
    graph.invoke({"transaction": "pays $4.2k via VPN", "ground_truth": "DECLINE"})
    assert seen == ["vpn: true"]


def test_a_whole_table_hides_a_column_under_its_known_name_too(tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path / 'ace.db'}", tmp_path / "t.parquet"
    for start, name in ((0, "amount"), (100, "Amount")):
        rows = {
            name: [start + 30.25 + i for i in range(60)],
            "hour": [(start + i) % 24 for i in range(60)],
            "fraud": [i % 3 == 0 for i in range(60)],
        }
        pq.write_table(pa.table(rows), file)
        invoke("train", str(file), "--label", "fraud", "--as", f"{name}=hidden", "--playbook", url)
    file.unlink()
    found = bytes_of(tmp_path)
    assert b"hour: " in found
    assert b"amount: " not in found
    assert b"188.25" not in found


@pytest.mark.parametrize("key", ["", "secret"])
def test_what_is_redacted_stays_as_it_is_when_a_label_comes(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("ACE_REDACT_KEY", key)
    seen: list[str] = []

    def reflector(asked: dict[str, Any]) -> None:
        seen.append(asked["query"])

    playbook = hiding(HIDE)
    graph = create_ace_graph(playbook=playbook, agent=repeating_agent).compile()
    graph.invoke({"transaction": ANNA, "decision_id": "d1"})
    feedback(playbook, "d1", "DECLINE", reflector=reflector)
    assert seen == [playbook.decision("d1")["text"]]
    assert "[[" not in seen[0]
    assert ("merchant_name" in seen[0]) == bool(key)


def test_an_erasure_rewrites_every_table_of_postgres(postgres: Server) -> None:
    def places(book: BulletPlaybook) -> dict[str, int]:
        with book.database.reading() as connection:
            query = "SELECT relname, relfilenode FROM pg_class WHERE relnamespace = "
            query += "current_schema()::regnamespace AND relkind = 'r'"
            return {row.relname: row.relfilenode for row in connection.execute(sa.text(query))}

    with BulletPlaybook(postgres.url()) as book:
        book.record(record("d1"))
        before = places(book)
        erase(book, ["d1"])
        after = places(book)
    assert "trial_answers" in before
    assert [name for name in before if before[name] == after[name]] == []


def test_files_that_we_make_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)  # the most open one
    try:
        with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
            used(book)
            back_up(book, tmp_path / "backup.db")
            export_bullets(book, tmp_path / "export.json")
            modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert set(modes) >= {"ace.db", "ace.db-wal", "ace.db-shm", "backup.db", "export.json"}
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize(
    "unseen",
    ["\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\U000e0041", "\x00", "\x1b", "\x9b",
     "\ufe0f", "\U000e0100", "\u00ad", "\u180e"],
)  # fmt: skip
def test_what_nobody_sees_is_taken_out_at_the_boundary(unseen: str) -> None:
    assert clean_text(f"pay{unseen}ment") == "payment"


def test_lone_surrogates_and_fillers_are_no_text() -> None:
    assert clean_text("a\ud800b") == "a\ufffdb"
    assert clean_text("\u3164\u2800") == ""


def test_output_cannot_steer_a_terminal() -> None:
    assert visible("a\x1b[2Jb\x9b1mc\u202ed\r") == "a\\u001b[2Jb\\u009b1mc\\u202ed\\r"
    assert visible("two\nlines\tof café", keep="\n\t") == "two\nlines\tof café"
    assert visible("\u00ad\u061c\U000e0041") == "\\u00ad\\u061c\\udb40\\udc41"
    assert visible("APPROVE\nDECLINE\x85\u2028") == "APPROVE\\nDECLINE\\u0085\\u2028"
