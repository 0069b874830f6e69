"""Erasing and redacting: what a transaction said is gone, what it counted for is not."""

from pathlib import Path

import pytest
from ledger_cases import NODE, counters

from acegraph.graph import create_ace_graph, feedback
from acegraph.state import (
    BulletPlaybook,
    InvalidInput,
    PrunedDecision,
    UnknownDecision,
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
