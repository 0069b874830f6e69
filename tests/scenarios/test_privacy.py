"""Erasing and redacting: what a transaction said is gone, what it counted for is not."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from ledger_cases import NODE, counters

from acegraph.graph import TrainingPipeline, create_ace_graph, feedback, replay
from acegraph.graph.cli.console import visible
from acegraph.nodes import HybridSelector
from acegraph.state import (
    AceContext,
    BulletPlaybook,
    InvalidInput,
    PlaybookError,
    PrunedDecision,
    UnknownDecision,
    clean_text,
    erase,
    prune,
    verify,
)

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
    playbook.add_bullet("Lucky Star Trading sells a blue bicycle", NODE, reason="C-778-anna said")
    graph = create_ace_graph(playbook=playbook).compile()
    for number in range(4):
        for name, given in (("anna", ANNA), ("bert", BERT)):
            graph.invoke({"transaction": given, "decision_id": f"{name}-{number}"})
    for number in range(3):
        feedback(playbook, f"anna-{number}", "APPROVE")
        feedback(playbook, f"bert-{number}", "APPROVE")


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


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


def decided_with_vectors(playbook: BulletPlaybook, context: AceContext | None = None) -> None:
    playbook.add_bullet(PROSE, NODE)
    graph = create_ace_graph(playbook=playbook, embeddings=Paid(), context=context).compile()
    for name in ("C-778-anna", "C-900-bert"):
        given = {"amount": 40, "customer_id": name, "memo": "12,50"}
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


def test_vectors_of_others_stay() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet(PROSE, NODE)
    graph = create_ace_graph(playbook=playbook, embeddings=Paid()).compile()
    for name, text in (("anna", OF_ANNA), ("bert", OF_BERT)):
        graph.invoke({"transaction": text, "decision_id": name})
    erase(playbook, ["anna"])
    assert kept(playbook) == {PROSE, OF_BERT}


def test_a_selector_keeps_no_vector_of_a_transaction_where_it_must_not() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet(PROSE, NODE)
    selector = HybridSelector(embeddings=Paid(), keep_queries=False)
    selector.select_bullets(OF_ANNA, NODE, playbook)
    assert kept(playbook) == {PROSE}


def test_of_what_is_redacted_no_vector_is_kept() -> None:
    playbook = BulletPlaybook()
    decided_with_vectors(playbook, HIDE)
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


HIDE = AceContext(redact=["customer_id", "memo", "merchant_name"])


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
        graph = create_ace_graph(
            playbook=book, context=HIDE, agent=agent, reflector=reflector
        ).compile()
        asked = {"transaction": given, "ground_truth": "DECLINE", "decision_id": "d1"}
        first = graph.invoke(asked)
        assert graph.invoke(asked)["decision_id"] == first["decision_id"]  # the same, sent again
        assert "C-778-anna" in seen[0]
        assert "C-778-anna" not in seen[1]
        assert book.decision("d1")["fields"]["customer_id"] == "[redacted]"
        found = bytes_of(tmp_path)
    assert not [said for said in SAID_BY_ANNA if said.encode() in found]
    assert b"930" in found


def test_what_rules_saw_of_a_redacted_field_cannot_be_told() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount >= 500", NODE)
    graph = create_ace_graph(playbook=playbook).compile()
    for name in ("customer_id", "amount"):
        context = AceContext(redact=[name])
        graph.invoke({"transaction": ANNA, "decision_id": name}, context=context)
    assert replay(playbook, "customer_id").is_reproduced
    with pytest.raises(PlaybookError, match="saw in amount was redacted"):
        replay(playbook, "amount")


def test_history_is_redacted_too(tmp_path: Path) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as book:
        pipeline = TrainingPipeline(book, context=HIDE)
        item = {"id": "1", "query": ANNA, "answer": "DECLINE"}
        pipeline.train_offline([item])
        pipeline.train_online([item])
        assert verify(book) == []
    assert not [said for said in SAID_BY_ANNA if said.encode() in bytes_of(tmp_path)]


def test_with_a_key_customers_stay_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_REDACT_KEY", "secret")
    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook, context=HIDE).compile()
    for name, given in (("a", ANNA), ("a2", {**ANNA, "amount": 7.0}), ("b", BERT)):
        graph.invoke({"transaction": given, "decision_id": name})
    a, again, b = (playbook.decision(i)["fields"]["customer_id"] for i in ("a", "a2", "b"))
    assert a == again != b
    assert a.startswith("redacted-")


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
    assert visible("a\x1b[2Jb\x9b1mc\u202ed\r") == "a\\u001b[2Jb\\u009b1mc\\u202ed\\u000d"
    assert visible("two\nlines\tof café") == "two\nlines\tof café"
