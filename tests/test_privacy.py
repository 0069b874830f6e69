"""Erasing and redacting: what a transaction said is gone, what it counted for is not."""

from pathlib import Path
from typing import Any

import pytest
from ledger_cases import NODE, counters

from acegraph.graph import TrainingPipeline, create_ace_graph, feedback, replay
from acegraph.graph.console import visible
from acegraph.state import (
    AceContext,
    BulletPlaybook,
    InvalidInput,
    PlaybookError,
    PrunedDecision,
    UnknownDecision,
    clean_text,
    erase,
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
