"""The ledger's operations: one suite for every kind of database."""

from pathlib import Path

import pytest
from ledger_cases import NODE, content, counters, record
from postgres import Server

from acegraph.graph import purge
from acegraph.state import (
    BulletPlaybook,
    Case,
    InvalidInput,
    Label,
    PlaybookError,
    UnknownDecision,
    as_of,
    back_up,
    diff,
    prune,
    rollback,
    verify,
)
from acegraph.state.errors import PrunedDecision
from acegraph.state.maintenance.versions import bullets_at


@pytest.fixture
def used(playbook: BulletPlaybook) -> BulletPlaybook:
    """A playbook that has seen some work."""
    playbook.add_bullet("DECLINE when amount >= 1", NODE)
    playbook.add_bullet("DECLINE when amount >= 100", NODE, "online")
    past = [Case(f"h{i}", {"amount": i}, "APPROVE", f"amount: {i}") for i in range(3)]
    playbook.remember(past, NODE)
    for i in range(4):
        playbook.record(record(f"d{i}", 1, 2, amount=i), Label("DECLINE"))
    playbook.label("d3", Label("APPROVE", "chargeback"))
    playbook.record(record("p1", 1, amount=50))
    playbook.update_stats("b2", False)
    playbook.set_weights({"b1": 0.25})
    playbook.conclude("d3", {"action": "refused", "retired": []})
    return playbook


def test_a_used_ledger_is_clean(used: BulletPlaybook) -> None:
    assert verify(used) == []
    assert counters(used, "b1") == (3, 1, 5)
    assert counters(used, "b2") == (3, 2, 5)


def test_a_moment_of_the_past_is_a_position(used: BulletPlaybook) -> None:
    with as_of(used, 0) as past:
        assert (len(past), len(past.cases(NODE)), past.version) == (0, 0, 0)
    with pytest.raises(InvalidInput, match="a position of the ledger"):
        as_of(used, "2098-12-31")  # type: ignore[arg-type]


def test_as_of_a_position_knows_what_was_purged_later(used: BulletPlaybook) -> None:
    used.label("d0", Label("APPROVE", "feed"))
    lied, stood = used.clock.position, counters(used, "b1")
    purge(used, "feed")
    assert counters(used, "b1") == (3, 1, 5) != stood
    with as_of(used, lied) as past:
        assert counters(past, "b1") == stood


def test_a_request_sent_again_takes_no_correction_back(used: BulletPlaybook) -> None:
    assert used.decision("d3")["label"] == "APPROVE"
    again = used.record(record("d3", 1, 2, amount=3), Label("DECLINE"))
    assert (again.label_changed, used.decision("d3")["label"]) == (False, "APPROVE")
    used.label("d3", Label("DECLINE", "chargeback"))  # whoever corrects himself does
    assert used.decision("d3")["label"] == "DECLINE"
    assert verify(used) == []


def test_a_file_sent_again_takes_no_correction_back(used: BulletPlaybook) -> None:
    january = Label("APPROVE", "file", "2026-01-05")
    for label in (january, Label("DECLINE", "file", "2026-02-05"), january):
        used.label("p1", label)
    assert used.decision("p1")["label"] == "DECLINE"


def test_what_somebody_else_confirmed_outlives_a_purge(used: BulletPlaybook) -> None:
    assert used.label("p1", Label("DECLINE", "feed")).label_changed
    known = [case.id for case in used.cases(NODE)]
    for source in ("chargeback", "feed", "chargeback"):
        assert not used.label("p1", Label("DECLINE", source)).label_changed
    assert (counters(used, "b1"), used.decision("p1")["label_source"]) == ((4, 1, 5), "feed")
    used.invalidate_cases()
    assert [case.id for case in used.cases(NODE)] == known
    purge(used, "feed")
    told = used.decision("p1")
    assert (told["label"], told["label_source"]) == ("DECLINE", "chargeback")
    assert counters(used, "b1") == (4, 1, 5)
    purge(used, "chargeback")
    assert (used.decision("p1")["label"], counters(used, "b1")) == (None, (4, 0, 5))
    assert verify(used) == []


def test_what_was_purged_never_stands_again(used: BulletPlaybook) -> None:
    used.label("p1", Label("APPROVE", "feed"))
    used.label("p1", Label("DECLINE", "analyst"))
    assert purge(used, "feed").labels == 1
    assert used.decision("p1")["label"] == "DECLINE"
    purge(used, "analyst")
    assert used.decision("p1")["label"] is None
    version = used.version
    assert purge(used, "feed").labels == 0
    assert (used.version, verify(used)) == (version, [])


def test_what_is_unknown_is_said_to_be(used: BulletPlaybook) -> None:
    for ask in (
        lambda: used.withdraw("nobody", "me"),
        lambda: used.conclude("nobody", {}),
        lambda: used.decision("\udcff"),
        lambda: used.label("\udcff", Label("DECLINE")),
    ):
        with pytest.raises(UnknownDecision):
            ask()
    assert verify(used) == []


def test_as_of_a_position_is_what_stood_when_it_was_written(used: BulletPlaybook) -> None:
    moments = [(used.clock, counters(used, "b1"), len(used.cases(NODE)))]
    used.record(record("e1", 1, amount=7), Label("APPROVE"))
    moments.append((used.clock, counters(used, "b1"), len(used.cases(NODE))))
    used.label("e1", Label("DECLINE", "analyst"))
    used.set_status("b1", "retired", "enough")
    for clock, stood, cases in moments:
        with as_of(used, clock.position) as past:
            assert counters(past, "b1") == stood
            assert len(past.cases(NODE)) == cases
            assert past.version == clock.version
            assert past.get_bullet("b1").status == "active"


def test_a_rollback_gives_the_bullets_of_that_version_and_can_be_rolled_back(
    used: BulletPlaybook,
) -> None:
    used.set_status("b1", "retired", "tired")
    used.add_bullet("Prose about gift cards.", NODE)
    then, version = content(used), used.version
    changes = rollback(used, 2, "a bad day")
    assert [c.change for c in changes] == ["retired -> active", "removed"]
    assert content(used) == [(b.id, b.content, b.status) for b in bullets_at(used, 2)]
    assert [b.id for b in used.get_bullets_for_node(NODE)] == ["b1", "b2"]
    assert counters(used, "b1") == (3, 1, 5)
    assert used.history()[-1]["reason"] == "rolled back to version 2: a bad day"
    rollback(used, version)
    assert content(used) == then
    assert rollback(used, used.version) == []
    assert verify(used) == []


def test_a_version_that_never_was_is_refused(used: BulletPlaybook) -> None:
    for version in (-1, 99):
        with pytest.raises(InvalidInput, match="versions 0 to 2"):
            rollback(used, version)


def test_versions_are_compared(used: BulletPlaybook) -> None:
    used.set_status("b2", "retired", "tired")
    assert [(d.bullet_id, d.change) for d in diff(used, 1, 3)] == [("b2", "added")]
    assert [(d.bullet_id, d.change) for d in diff(used, 2, 3)] == [("b2", "active -> retired")]
    assert diff(used, 3, 3) == []


def test_a_purge_takes_back_the_labels_of_a_source_and_the_bullets_from_them(
    used: BulletPlaybook,
) -> None:
    used.add_bullet("DECLINE when amount < 3", NODE, origin={"label_source": "chargeback"})
    found = purge(used, "chargeback")
    assert (found.bullets, found.labels) == (("b3",), 1)
    assert used.get_bullet("b3").status == "retired"
    # The label that stood before it stands again.
    assert used.decision("d3")["label"] == "DECLINE"
    assert counters(used, "b1") == (4, 0, 5)
    assert verify(used) == []
    with pytest.raises(PlaybookError, match="nothing in this playbook came from"):
        purge(used, "nobody")


def test_a_purged_only_label_leaves_a_decision_that_waits(used: BulletPlaybook) -> None:
    used.label("p1", Label("DECLINE", "poisoned feed"))
    purge(used, "poisoned feed")
    assert used.decision("p1")["label"] is None
    assert counters(used, "b1") == (3, 1, 5)
    assert "p1" not in {case.id for case in used.cases(NODE)}
    used.label("p1", Label("DECLINE", "chargeback"))
    assert counters(used, "b1") == (4, 1, 5)
    assert verify(used) == []


def test_pruned_decisions_leave_their_counters_behind(used: BulletPlaybook) -> None:
    cases = len(used.cases(NODE))
    before = {i: counters(used, i) for i in ("b1", "b2")}
    assert prune(used, "2001-01-01") == 0
    assert prune(used, "2099-01-01") == 5
    assert {i: counters(used, i) for i in ("b1", "b2")} == before
    assert len(used.cases(NODE)) == cases - 4
    assert verify(used) == []
    used.record(record("new", 1, amount=77), Label("DECLINE"))
    assert counters(used, "b1") == (4, 1, 6)
    assert verify(used) == []


def test_a_pruned_decision_is_neither_judged_nor_counted_again(used: BulletPlaybook) -> None:
    prune(used, "2099-01-01")
    for use in (
        lambda: used.label("d1", Label("APPROVE")),
        lambda: used.record(record("d1", 1, 2, amount=1), Label("DECLINE")),
        lambda: used.decision("d1"),
    ):
        with pytest.raises(PrunedDecision, match="'d1' was pruned on"):
            use()
    assert used.remember([Case("d1", {"amount": 1}, "APPROVE")], NODE) == 0
    with pytest.raises(PlaybookError, match="cannot be told any more"):
        as_of(used, 3)


def test_a_backup_is_a_clean_playbook_of_its_own(used: BulletPlaybook, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    back_up(used, file)
    with BulletPlaybook(f"sqlite:///{file}") as copy:
        assert verify(copy) == []
        assert content(copy) == content(used)
        assert copy.clock == used.clock
        copy.update_stats("b1", True)
        assert verify(copy) == []
    with pytest.raises(InvalidInput, match="nothing is overwritten"):
        back_up(used, file)


def test_what_another_process_did_is_seen_without_reading_everything(lasting_url: str) -> None:
    with BulletPlaybook(lasting_url) as ours, BulletPlaybook(lasting_url) as theirs:
        ours.add_bullet("DECLINE when amount >= 1", NODE)
        assert len(ours.cases(NODE)) == len(theirs.cases(NODE)) == 0
        theirs.record(record("d1", 1), Label("DECLINE"))
        assert counters(ours, "b1") == (1, 0, 1)
        assert [case.id for case in ours.cases(NODE)] == ["d1"]
        theirs.label("d1", Label("APPROVE"))
        assert [case.label for case in ours.cases(NODE)] == ["APPROVE"]
        theirs.set_status("b1", "retired", "theirs")
        assert ours.get_bullets_for_node(NODE) == []
        assert ours.clock == theirs.clock
        rollback(ours, 1)
        assert [b.id for b in theirs.get_bullets_for_node(NODE)] == ["b1"]
        assert verify(ours) == verify(theirs) == []


def test_durability_is_normal_or_full(lasting_url: str) -> None:
    setting, full = ("PRAGMA synchronous", "2")
    if lasting_url.startswith("postgresql"):
        setting, full = ("SHOW synchronous_commit", "on")
    with BulletPlaybook(lasting_url, durability="full") as book, book.database.reading() as reading:
        assert str(reading.exec_driver_sql(setting).scalar()) == full
    with pytest.raises(InvalidInput, match="durability is normal or full"):
        BulletPlaybook(lasting_url, durability="none")  # type: ignore[arg-type]


def test_a_ledger_moves_house(used: BulletPlaybook, lasting_url: str) -> None:
    from acegraph.state.database.open import copy_ledger

    with used.fork() as copy:
        assert verify(copy) == []
        assert content(copy) == content(used)
        with pytest.raises(PlaybookError, match="not empty"):
            copy_ledger(copy.database, used.database)


def test_a_schema_may_be_named_in_any_letters(postgres: Server) -> None:
    for name in ("TeamA", '"TeamA"'):
        url = postgres.url().rpartition("options")[0] + f"options=-csearch_path%3D{name}"
        with BulletPlaybook(url) as playbook:
            playbook.add_bullet("DECLINE when amount >= 1", NODE)
        with BulletPlaybook(url) as playbook:
            assert len(playbook) == 1
