"""The playbook and its ledger: one suite for every kind of database."""

import threading
from pathlib import Path

import numpy as np
import pytest
from ledger_cases import NODE, counters, record

from acegraph.state import (
    BulletPlaybook,
    Case,
    DecisionConflict,
    InvalidInput,
    InvalidSettings,
    Label,
    PlaybookError,
    UnknownBullet,
    UnknownDecision,
    as_of,
    back_up,
    prune,
    verify,
)
from acegraph.state.database.encoding import now
from acegraph.state.errors import ModelAnswerInvalid


def test_a_bullet_comes_back_as_it_went_in(playbook: BulletPlaybook) -> None:
    bullet_id = playbook.add_bullet(
        "DECLINE when amount >= 100", NODE, "online", problem_types=["amount"], confidence=0.7
    )
    bullet = playbook.get_bullet(bullet_id)
    assert (bullet.content, bullet.source, bullet.problem_types, bullet.confidence) == (
        "DECLINE when amount >= 100",
        "online",
        ("amount",),
        0.7,
    )
    assert bullet.verdict == "DECLINE"
    assert bullet.get_success_rate() == 0.5


def test_bullets_are_given_by_node_and_source(playbook: BulletPlaybook) -> None:
    playbook.add_bullet("one", NODE, "offline")
    playbook.add_bullet("two", NODE, "online")
    playbook.add_bullet("three", "another", "online")
    assert [b.content for b in playbook.get_bullets_for_node(NODE)] == ["one", "two"]
    assert [b.content for b in playbook.get_bullets_for_node(NODE, "online")] == ["two"]


def test_update_stats_moves_two_counters_by_one(playbook: BulletPlaybook) -> None:
    bullet_id = playbook.add_bullet("one", NODE)
    playbook.update_stats(bullet_id, True)
    playbook.update_stats(bullet_id, False)
    playbook.update_stats(bullet_id, True)
    assert counters(playbook, bullet_id) == (2, 1, 3)


def test_an_outcome_is_counted_once_however_often_it_comes(playbook: BulletPlaybook) -> None:
    bullet_id = playbook.add_bullet("DECLINE when amount >= 1", NODE)
    for _ in range(3):
        playbook.record(record("d1", 1), Label("DECLINE"))
    assert counters(playbook, bullet_id) == (1, 0, 1)
    assert len(playbook.cases(NODE)) == 1


def test_one_id_for_two_transactions_is_refused(playbook: BulletPlaybook) -> None:
    bullet_id = playbook.add_bullet("DECLINE when amount >= 1", NODE)
    playbook.record(record("d1", 1), Label("DECLINE"))
    with pytest.raises(DecisionConflict, match="another transaction"):
        playbook.record(record("d1", 1, amount=11), Label("DECLINE"))
    assert counters(playbook, bullet_id) == (1, 0, 1)


def test_a_changed_label_takes_back_what_the_first_one_moved(playbook: BulletPlaybook) -> None:
    bullet_id = playbook.add_bullet("DECLINE when amount >= 1", NODE)
    playbook.record(record("d1", 1), Label("DECLINE"))
    playbook.label("d1", Label("APPROVE", "chargeback"))
    assert counters(playbook, bullet_id) == (0, 1, 1)
    assert [case.label for case in playbook.cases(NODE)] == ["APPROVE"]


def test_a_label_replaces_an_opinion_and_never_the_other_way(playbook: BulletPlaybook) -> None:
    bullet_id = playbook.add_bullet("DECLINE when amount >= 1", NODE)
    playbook.record(record("d1", 1), Label("APPROVE", "judge"))
    assert counters(playbook, bullet_id) == (0, 1, 1)
    assert len(playbook.cases(NODE)) == 0
    playbook.label("d1", Label("DECLINE"))
    playbook.label("d1", Label("APPROVE", "judge"))
    assert counters(playbook, bullet_id) == (1, 0, 1)
    assert [case.label for case in playbook.cases(NODE)] == ["DECLINE"]


def test_history_that_is_decided_later_is_one_case(playbook: BulletPlaybook) -> None:
    bullet_id = playbook.add_bullet("DECLINE when amount >= 1", NODE)
    decided = record("d1", 1)
    past = Case("d1", decided.fields, "APPROVE", decided.text, decided.digest)
    assert playbook.remember([past], NODE) == 1
    assert playbook.remember([past], NODE) == 0
    playbook.record(decided, Label("APPROVE"))
    assert len(playbook.cases(NODE)) == 1
    assert counters(playbook, bullet_id) == (0, 1, 1)


def test_an_uncounted_decision_moves_nothing_and_is_no_evidence(playbook: BulletPlaybook) -> None:
    bullet_id = playbook.add_bullet("DECLINE when amount >= 1", NODE)
    playbook.record(record("d1", 1, counted=False), Label("DECLINE"))
    assert counters(playbook, bullet_id) == (0, 0, 0)
    assert len(playbook.cases(NODE)) == 0


def test_nobody_looks_back_to_before_a_prune(playbook: BulletPlaybook) -> None:
    for decision_id in ("d1", "d2"):
        playbook.record(record(decision_id), Label("DECLINE"))
    before, time = playbook.clock.position, now()
    playbook.record(record("d3"), Label("DECLINE"))
    with as_of(playbook, before) as past:
        assert len(past.cases(NODE)) == 2
    prune(playbook, time)
    with pytest.raises(PlaybookError, match="were pruned"):
        as_of(playbook, before - 1)
    with as_of(playbook, playbook.clock.position) as past:
        assert len(past.cases(NODE)) == 1


def test_a_failed_write_leaves_memory_and_database_alike(playbook: BulletPlaybook) -> None:
    playbook.add_bullet("one", NODE)

    def fail_half_way() -> None:
        with playbook.writing():
            playbook.add_bullet("two", NODE)
            playbook.update_stats("b1", True)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert [b.content for b in playbook] == ["one"]
    assert counters(playbook, "b1") == (0, 0, 0)


def test_eight_threads_lose_nothing(playbook: BulletPlaybook) -> None:
    bullet_id = playbook.add_bullet("DECLINE when amount >= 1", NODE)

    def work(worker: int) -> None:
        for i in range(25):
            for _ in range(2):
                playbook.record(record(f"{worker}-{i}", 1), Label("DECLINE"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counters(playbook, bullet_id) == (200, 0, 200)


def test_vectors_of_two_models_are_kept_apart(playbook: BulletPlaybook) -> None:
    playbook.store_text_vectors("small", {"one": np.array([1, 2], np.float32)})
    assert playbook.text_vectors("large", ["one"]) == {}
    playbook.store_text_vectors("large", {"one": np.array([3, 4, 5], np.float32)})
    assert playbook.text_vectors("small", ["one"])["one"].tolist() == [1, 2]
    assert playbook.forget_vectors("large") == 1
    playbook.store_text_vectors("large", {"one": np.array([6, 7], np.float32)})
    assert playbook.text_vectors("large", ["one"])["one"].tolist() == [6, 7]


def test_a_vector_is_found_again_by_model_and_text(playbook: BulletPlaybook) -> None:
    playbook.store_text_vectors("small", {"a": np.ones(2, np.float32)})
    assert list(playbook.text_vectors("small", ["a", "b"])) == ["a"]
    assert playbook.text_vectors("large", ["a"]) == {}
    many = [f"text {n}" for n in range(1_200)]
    playbook.store_text_vectors("small", dict.fromkeys(many, np.ones(2, np.float32)))
    assert len(playbook.text_vectors("small", many)) == 1_200


def test_vectors_of_one_model_have_one_size(playbook: BulletPlaybook) -> None:
    playbook.store_text_vectors("small", {"a": np.ones(2, np.float32)})
    with pytest.raises(ModelAnswerInvalid, match=r"vectors of \[2, 3\] dimensions"):
        playbook.store_text_vectors("small", {"b": np.ones(3, np.float32)})


def test_a_retired_bullet_is_out_of_sight_and_in_the_history(playbook: BulletPlaybook) -> None:
    bullet_id = playbook.add_bullet("one", NODE)
    playbook.set_status(bullet_id, "retired", "tired")
    assert playbook.get_bullets_for_node(NODE) == []
    assert [(h["change"], h["reason"]) for h in playbook.history()] == [
        ("added", "added"),
        ("retired", "tired"),
    ]
    assert playbook.version == 2


def test_a_fork_is_independent(playbook: BulletPlaybook) -> None:
    playbook.add_bullet("one", NODE)
    with playbook.fork() as copy:
        copy.update_stats("b1", True)
        copy.add_bullet("two", NODE)
    assert len(playbook) == 1
    assert counters(playbook, "b1") == (0, 0, 0)


def test_a_copy_has_the_vectors(playbook: BulletPlaybook, tmp_path: Path) -> None:
    playbook.store_text_vectors("small", {"one": np.array([1, 2], np.float32)})
    back_up(playbook, tmp_path / "copy.db")
    with BulletPlaybook(f"sqlite:///{tmp_path / 'copy.db'}") as copy:
        assert copy.text_vectors("small", ["one"])["one"].tolist() == [1, 2]
        assert verify(copy) == []


@pytest.mark.parametrize("name", ["co?py.db", "co%20py.db", "co py #1.db"])
def test_a_copy_may_have_any_name(tmp_path: Path, name: str) -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("one", NODE)
    back_up(playbook, tmp_path / name)
    with BulletPlaybook(f"sqlite:///{tmp_path / name}") as copy:
        assert len(copy) == 1
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_what_is_unknown_is_said_in_one_line(playbook: BulletPlaybook) -> None:
    with pytest.raises(
        UnknownBullet, match="no bullet 'b7' in playbook version 0; it holds 0 bull"
    ):
        playbook.get_bullet("b7")
    with pytest.raises(UnknownDecision):
        playbook.label("d9", Label("APPROVE"))
    with pytest.raises(InvalidInput):
        playbook.add_bullet("   ", NODE)
    with pytest.raises(InvalidSettings, match="sqlite:///FILE or postgresql"):
        BulletPlaybook("mysql://nowhere")
    with pytest.raises(InvalidSettings, match="is empty"):
        BulletPlaybook("")
    with pytest.raises(InvalidSettings, match="not int"):
        BulletPlaybook(5)  # type: ignore[arg-type]


def test_a_closed_playbook_says_so(lasting_url: str) -> None:
    playbook = BulletPlaybook(lasting_url)
    playbook.close()
    for use in (
        lambda: playbook.label("d1", Label("APPROVE")),
        lambda: playbook.decision("d1"),
        lambda: playbook.add_bullet("DECLINE when amount >= 1", NODE),
    ):
        with pytest.raises(PlaybookError, match=r"sql.* was closed: open it again"):
            use()


def test_a_file_survives_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as first:
        first.add_bullet("DECLINE when amount >= 1", NODE, evidence={"fires": 3})
        first.store_text_vectors("m", {"one": np.ones(3, np.float32)})
        first.record(record("d1", 1), Label("DECLINE"))
    with BulletPlaybook(url) as again:
        bullet = again.get_bullet("b1")
        assert counters(again, "b1") == (1, 0, 1)
        assert (bullet.condition is not None, bullet.evidence) == (True, {"fires": 3})
        assert len(again.cases(NODE)) == 1
        assert again.text_vectors("m", ["one"])["one"].tolist() == [1, 1, 1]
        again.record(record("d1", 1), Label("DECLINE"))
        assert counters(again, "b1") == (1, 0, 1)


def test_what_another_process_writes_is_noticed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as ours, BulletPlaybook(url) as theirs:
        theirs.add_bullet("DECLINE when amount >= 1", NODE)
        assert len(ours) == 1
        ours.record(record("d1", 1), Label("DECLINE"))
        theirs.set_status("b1", "retired", "theirs")
        assert counters(theirs, "b1") == (1, 0, 1)
        assert ours.get_bullets_for_node(NODE) == []


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    file = tmp_path / "other.db"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE customers (name TEXT)")
    other.close()
    with pytest.raises(PlaybookError, match="another program"):
        BulletPlaybook(f"sqlite:///{file}")
    file.write_text("this is no database, it is a letter to a friend" * 50)
    with pytest.raises(PlaybookError, match="cannot open"):
        BulletPlaybook(f"sqlite:///{file}")
