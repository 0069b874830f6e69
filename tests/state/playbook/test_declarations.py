"""Tasks and policies: versions are only added, and of two writers one is told that it came late."""

from dataclasses import replace
from multiprocessing import get_context

import pytest
from ledger_cases import NODE, record

from acegraph.state import BulletPlaybook, PlaybookError, as_of, verify
from acegraph.state.errors import OutdatedVersion

FIRST = {"fields": [{"name": "amount", "kind": "number"}]}
SECOND = {"fields": []}


def test_a_task_is_stored_as_it_was_set_and_the_newest_counts(playbook: BulletPlaybook) -> None:
    assert playbook.declared("task", NODE) is None
    assert playbook.declare("task", NODE, FIRST, expected_version=0, by="ann", reason="begin") == 1
    assert playbook.declared("task", NODE) == (1, FIRST)
    assert playbook.declare("task", NODE, SECOND, expected_version=1, by="growth", reason="") == 2
    assert playbook.declared("task", NODE) == (2, SECOND)
    assert playbook.declared("task", "other") is None
    said = [
        (one["version"], one["set_by"], one["content"])
        for one in playbook.declarations("task", NODE)
    ]
    assert said == [(1, "ann", FIRST), (2, "growth", SECOND)]
    assert verify(playbook) == []


def test_a_policy_names_who_approved_it(playbook: BulletPlaybook) -> None:
    wanted = {"undecided": "hold"}
    playbook.declare(
        "policy", NODE, wanted, expected_version=0, by="ann", reason="new", approved_by="bob"
    )
    assert playbook.declared("policy", NODE) == (1, wanted)
    assert playbook.declared("task", NODE) is None
    (only,) = playbook.declarations("policy", NODE)
    assert (only["set_by"], only["approved_by"], only["reason"]) == ("ann", "bob", "new")
    assert verify(playbook) == []


def test_whoever_read_an_older_version_is_told_who_came_before(playbook: BulletPlaybook) -> None:
    playbook.declare("task", NODE, FIRST, expected_version=0, by="ann", reason="")
    before = playbook.clock
    with pytest.raises(OutdatedVersion, match="the newest and version 1 is, which ann"):
        playbook.declare("task", NODE, SECOND, expected_version=0, by="bob", reason="")
    assert playbook.declared("task", NODE) == (1, FIRST)
    assert playbook.clock == before


def test_a_write_that_fails_takes_the_task_back_with_it(playbook: BulletPlaybook) -> None:
    playbook.declare("task", NODE, FIRST, expected_version=0, by="ann", reason="")

    def fail() -> None:
        with playbook.writing():
            playbook.declare("task", NODE, SECOND, expected_version=1, by="ann", reason="")
            assert playbook.declared("task", NODE) == (2, SECOND)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert playbook.declared("task", NODE) == (1, FIRST)


def test_another_playbook_on_the_same_database_sees_it_with_its_next_read(lasting_url: str) -> None:
    with BulletPlaybook(lasting_url) as one, BulletPlaybook(lasting_url) as other:
        assert other.declared("task", NODE) is None
        one.declare("task", NODE, FIRST, expected_version=0, by="ann", reason="")
        assert other.declared("task", NODE) == (1, FIRST)
        one.record(record("d1", amount=1))
        assert other.declared("task", NODE) == (1, FIRST)


def _set(url: str, name: str) -> str:
    with BulletPlaybook(url) as book:
        try:
            book.declare("task", NODE, {"name": name}, expected_version=0, by=name, reason="")
        except PlaybookError as error:
            return type(error).__name__
    return name


def test_of_two_processes_that_set_a_task_at_once_one_wins_and_the_other_is_told(
    lasting_url: str,
) -> None:
    BulletPlaybook(lasting_url).close()
    with get_context("spawn").Pool(2) as pool:
        said = pool.starmap(_set, [(lasting_url, "ann"), (lasting_url, "bob")])
    with BulletPlaybook(lasting_url) as book:
        (winner,) = {"ann", "bob"} & set(said)
        assert set(said) == {winner, "OutdatedVersion"}
        assert book.declared("task", NODE) == (1, {"name": winner})


def test_a_decision_keeps_both_versions_under_a_hash(playbook: BulletPlaybook) -> None:
    playbook.record(record("d1", amount=1))
    playbook.record(replace(record("d2", amount=2), task_version=3, policy_version=1))
    kept = [playbook.decision(i) for i in ("d1", "d2")]
    assert [(d["task_version"], d["policy_version"]) for d in kept] == [(None, None), (3, 1)]
    assert verify(playbook) == []
    with playbook.database.writing() as writer:
        writer.connection.exec_driver_sql("UPDATE decisions SET task_version = 4")
    assert len(verify(playbook)) == 2


def test_a_playbook_of_the_past_has_the_task_of_then(playbook: BulletPlaybook) -> None:
    playbook.declare("task", NODE, FIRST, expected_version=0, by="ann", reason="")
    then = playbook.clock.position
    playbook.declare("task", NODE, SECOND, expected_version=1, by="ann", reason="")
    with as_of(playbook, then) as past, playbook.fork() as copy:
        assert past.declared("task", NODE) == (1, FIRST)
        assert copy.declared("task", NODE) == (2, SECOND)
