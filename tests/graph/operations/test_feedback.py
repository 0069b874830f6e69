"""Labels that come later, one by one or as a file, and the replay of what was decided."""

import os
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest
from ledger_cases import NODE, counters, record
from typer.testing import CliRunner

from acegraph.graph import TrainingPipeline, feedback, feedback_many, generate_transactions, replay
from acegraph.graph.cli.main import app
from acegraph.graph.operations.feedback import read_labels
from acegraph.state import (
    BulletPlaybook,
    Case,
    InvalidDataset,
    InvalidInput,
    Label,
    PlaybookError,
    prune,
    verify,
)

run = CliRunner().invoke


def write(file: Path, *lines: str) -> Path:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize(("book", "decision_id"), [("book", "d0"), (None, 4711)])
def test_arguments_in_another_order_are_one_clear_line(book: object, decision_id: object) -> None:
    with pytest.raises(InvalidInput, match=r"feedback wants the playbook|a decision_id is"):
        feedback(book or BulletPlaybook(), decision_id, "DECLINE")  # type: ignore[arg-type]


def test_a_file_of_chargebacks_moves_what_single_labels_would(
    playbook: BulletPlaybook, tmp_path: Path
) -> None:
    playbook.add_bullet("DECLINE when amount >= 1", NODE)
    for i in range(4):
        playbook.record(record(f"d{i}", 1, amount=i, settings=SETTINGS))
    file = write(
        tmp_path / "chargebacks.csv",
        "decision_id,label,source,at",
        "d0,fraud,,2026-03-01T12:00:00+02:00",
        "d1,legit,analyst,",
        "d2,DECLINE,,",
        "nobody,DECLINE,,",
        "d2,APPROVE,,",
    )
    report = feedback_many(playbook, read_labels(file, "chargeback"), learn=False)
    assert (report.labels, report.changed, report.wrong) == (5, 3, 2)
    assert (report.unknown, report.replaced) == (["nobody"], 1)
    assert counters(playbook, "b1") == (1, 2, 4)
    told = playbook.decision("d0")
    assert (told["label_source"], told["known_at"]) == (
        "chargeback",
        "2026-03-01T10:00:00.000000+00:00",
    )
    again = feedback_many(playbook, read_labels(file, "chargeback"), learn=False)
    assert again.changed == 0
    assert verify(playbook) == []


SETTINGS = {"node": NODE, "source": None, "learn_as": "online", "reflector_model": None}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("decision_id,label", "d1,perhaps"), "line 2: "),
        (("decision_id,label", ",DECLINE"), "line 2: a decision_id is"),
        (("decision_id,label,at", "d1,DECLINE,soon"), "line 2: a time is ISO 8601"),
        (("decision_id,label,at", "d1,DECLINE,2099-01-01"), "line 2: 2099-01-01 has not come yet"),
        (("id,label", "d1,DECLINE"), "no column decision_id"),
        (("",), "no rows"),
        (("when",), "no column decision_id or label"),
    ],
)
def test_a_bad_file_is_refused_before_anything_is_written(
    tmp_path: Path, lines: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InvalidDataset, match=message):
        read_labels(write(tmp_path / "bad.csv", *lines))


def test_a_file_may_leave_source_and_time_to_the_caller(tmp_path: Path) -> None:
    file = write(tmp_path / "l.csv", "decision_id;label;at", "a;DECLINE;", "b;DECLINE;2026-02-01")
    given = dict(read_labels(file, "analyst", "2026-01-01"))
    assert given["a"] == Label("DECLINE", "analyst", "2026-01-01T00:00:00.000000+00:00")
    assert given["b"].known_at == "2026-02-01T00:00:00.000000+00:00"
    with pytest.raises(InvalidInput, match="beyond the calendar"):
        read_labels(file, "analyst", "0001-01-01T00:00+05:00")


def test_a_label_has_a_time_that_can_be_read(playbook: BulletPlaybook) -> None:
    playbook.record(record("d1", settings=SETTINGS))
    with pytest.raises(InvalidInput, match="ISO 8601"):
        feedback(playbook, "d1", "DECLINE", at="yesterday")
    assert playbook.decision("d1")["label"] is None


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A playbook that has learned from a stream."""
    url = f"sqlite:///{tmp_path_factory.mktemp('learned') / 'ace.db'}"
    with BulletPlaybook(url) as playbook:
        TrainingPipeline(playbook).train_online(generate_transactions(160, seed=1))
    return url


def decisions(playbook: BulletPlaybook) -> list[str]:
    with playbook.database.reading() as connection:
        return list(connection.exec_driver_sql('SELECT "case" FROM decisions').scalars())


@pytest.mark.slow
def test_every_past_selection_comes_out_again(learned: str) -> None:
    with BulletPlaybook(learned) as playbook:
        assert len(playbook) > 0
        replays = [replay(playbook, i) for i in decisions(playbook)[::3]]
        assert all(found.is_reproduced for found in replays)
        assert sum(bool(found.shown) for found in replays) > 10
        assert verify(playbook) == []


def test_a_tampered_selection_does_not_come_out_again(learned: str) -> None:
    with BulletPlaybook(learned) as book, book.fork() as copy:
        with copy.database.writing() as page:
            case = page.connection.exec_driver_sql(
                'SELECT "case" FROM selections WHERE selected > 0'
            ).scalar()
            page.connection.exec_driver_sql(f"DELETE FROM selections WHERE \"case\" = '{case}'")
        assert not replay(copy, str(case)).is_reproduced


def test_a_case_that_was_never_decided_is_not_replayed(playbook: BulletPlaybook) -> None:
    from acegraph.state import Case

    playbook.remember([Case("h1", {"amount": 1}, "APPROVE")], NODE)
    with pytest.raises(PlaybookError, match="never decided"):
        replay(playbook, "h1")


def test_replay_knows_what_retention_took_away(learned: str) -> None:
    with BulletPlaybook(learned) as book, book.fork() as copy:
        decided = decisions(copy)
        prune(copy, "2099-01-01")
        with pytest.raises(PlaybookError, match="was pruned on"):
            replay(copy, decided[0])


def test_the_commands_of_the_ledger(learned: str, tmp_path: Path) -> None:
    at = ["--playbook", learned]
    assert run(app, ["verify", *at]).output.startswith("clean: ")
    with BulletPlaybook(learned) as book:
        version, first = book.version, next(b for b in book if b.status == "active")
        decided = book.decision(first.origin["decision"])["id"]
    assert "is reproduced: True" in run(app, ["replay", decided, *at]).output
    assert "added" in run(app, ["playbook", "history", *at]).output
    assert first.id in run(app, ["playbook", "history", "0", *at]).output
    backup = tmp_path / "backup.db"
    assert "clean" in run(app, ["copy", learned, str(backup)]).output
    moved = ["--playbook", f"sqlite:///{tmp_path / 'moved.db'}"]
    assert run(app, ["copy", str(backup), moved[1]]).exit_code == 0
    assert (
        "holds the bullets of version 0" in run(app, ["playbook", "rollback", "0", *moved]).output
    )
    assert "playbook history" in run(app, ["playbook", "list", *moved]).output
    assert run(app, ["playbook", "rollback", str(version), *moved]).exit_code == 0
    assert first.id in run(app, ["playbook", "list", *moved]).output
    file = write(tmp_path / "labels.csv", "decision_id,label", f"{decided},DECLINE", "zz,DECLINE")
    told = run(app, ["feedback", "--file", str(file), "--source", "late", *moved]).output
    assert "unknown: zz" in told
    early = run(app, ["erase", "--before", "2099-01-01", *moved])
    assert "has not come yet" in str(early.exception)
    pruned = run(app, ["erase", "--before", datetime.now(UTC).isoformat(), *moved])
    assert "decisions: 1" in pruned.output
    assert run(app, ["verify", "--json", *moved]).output.startswith('{\n  "clean": true')


def test_verify_exits_with_1_on_damage(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as book:
        book.add_bullet("DECLINE when amount >= 1", NODE)
        book.record(record("d1", 1), Label("DECLINE"))
        with book.database.writing() as page:
            page.connection.exec_driver_sql("UPDATE bullets SET helpful_count = 7")
    told = run(app, ["verify", "--playbook", url])
    assert told.exit_code == 1
    assert (
        "helpful, harmful, selected are (7, 0, 1); the ledger's outcomes make (1, 0, 1)"
        in told.output
    )


def test_a_verdict_that_changes_nothing_does_not_say_it_was_written(tmp_path: Path) -> None:
    at = ["--playbook", f"sqlite:///{tmp_path / 'ace.db'}"]
    for name in ("a", "b"):
        run(app, ["decide", "pays $40", "--id", name, *at])
    run(app, ["feedback", "a", "APPROVE", "--source", "chargeback", *at])
    said = ["--verdict", "DECLINE", "--who", "ann", "--why", "odd", *at]
    assert "stands: label APPROVE, source chargeback" in run(app, ["review", "a", *said]).output
    assert "stands: label DECLINE, source analyst:ann" in run(app, ["review", "b", *said]).output
    again = ["--verdict", "APPROVE", "--who", "bob", "--why", "fine", *at]
    assert "stands: label DECLINE, source analyst:ann" in run(app, ["review", "b", *again]).output


def test_a_bullet_learned_outside_a_reviewed_run_does_not_wait(tmp_path: Path) -> None:
    at = ["--playbook", f"sqlite:///{tmp_path / 'ace.db'}"]
    with BulletPlaybook(at[1]) as book:
        labels = ("DECLINE" if i >= 100 else "APPROVE" for i in range(200))
        book.remember([Case(f"h{i}", {"amount": i}, v) for i, v in enumerate(labels)], NODE)
    assert run(app, ["decide", '{"amount": 150}', "--id", "x", *at]).output.startswith("APPROVE")
    said = ["--verdict", "DECLINE", "--who", "ann", "--why", "the customer denies it", *at]
    assert "curation: action added" in run(app, ["review", "x", *said]).output
    assert "nothing waits" in run(app, ["review", *at]).output


def test_labels_are_read_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_text, args=("decision_id;label\nd1;DECLINE\n",))
    writer.start()
    assert [(i, label.value) for i, label in read_labels(pipe)] == [("d1", "DECLINE")]
    writer.join()


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["decision_id,label,source", "d1,DECLINE,bank, inc"], "row 1 has 4 cells, the header 3"),
        (["decision_id,label,label", "d1,DECLINE,APPROVE"], "two columns are named 'label'"),
        (["decision_id,verdict"], "no column label"),
        (["decision_id,label", "d1,fraud", "d2,perhaps"], "line 3: unknown label"),
        (["decision_id,label", ",fraud"], "line 2: a decision_id is"),
        ([""], "no rows"),
    ],
)
def test_a_file_in_which_cells_may_have_moved_is_refused(
    lines: list[str], why: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidDataset, match=why):
        read_labels(write(tmp_path / "labels.csv", *lines))


def test_names_of_columns_may_have_spaces_around_them(tmp_path: Path) -> None:
    file = write(tmp_path / "labels.csv", "", " decision_id ; label ", "d1;DECLINE")
    assert [i for i, _ in read_labels(file)] == ["d1"]
