"""Damage to live rows: whatever is flipped behind the ledger's back, verify says so."""

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from ledger_cases import NODE, record

from acegraph.graph.operations.monitoring.doctor import database_findings
from acegraph.state import (
    BulletPlaybook,
    Case,
    InvalidInput,
    Label,
    PlaybookError,
    as_of,
    back_up,
    verify,
)
from acegraph.state.database.encoding import file_of
from acegraph.state.database.open import open_database
from acegraph.state.ledger.evidence import evidence_of
from acegraph.state.maintenance.backup import copy
from acegraph.state.values.decision import Shown

FLIPS = 25 * int(os.environ.get("ACE_SOAK", "1"))
TABLES = "bullets history cases decisions selections outcomes lessons adjustments clock"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A SQLite file in which every table has rows."""
    file = tmp_path / "ace.db"
    with BulletPlaybook(f"sqlite:///{file}") as book:
        for i in range(3):
            book.add_bullet(f"DECLINE when amount >= {i}", NODE, evidence={"fires": i})
        book.remember([Case(f"h{i}", {"amount": i}, "APPROVE") for i in range(5)], NODE)
        for i in range(12):
            book.record(record(f"d{i}", 1, 2, amount=i), Label("DECLINE"))
            book.conclude(f"d{i}", {"action": "refused"})
        book.label("d1", Label("APPROVE", "chargeback"))
        book.update_stats("b3", True)
        book.set_weights({"b1": 0.5})
    return file


class Word(str, Enum):  # noqa: UP042
    """A word with a class of its own."""

    DECLINE = "DECLINE"


@pytest.mark.parametrize("risk", [None, 0.5, -0.0, float("nan"), np.float32(0.25)])
def test_values_of_other_classes_are_no_damage(
    risk: float | None, playbook: BulletPlaybook
) -> None:
    playbook.add_bullet("DECLINE when amount >= 1", np.str_(NODE), confidence=-0.0)
    given = replace(
        record(np.str_("d1"), 1),
        decision=Word.DECLINE,
        risk_score=risk,
        playbook_version=np.int64(1),
        shown=(Shown(np.int64(1), credited=True, verdict=None),),
    )
    playbook.record(given, Label(Word.DECLINE))
    playbook.set_weights({"b1": -0.0})
    assert verify(playbook) == []
    assert playbook.decision("d1")["decision"] == "DECLINE"
    assert playbook.get_bullet("b1").helpful_count == 1


def findings(file: Path) -> list[str]:
    """What verify says; a database that cannot even be opened has said enough."""
    try:
        database = open_database(f"sqlite:///{file}")
    except PlaybookError as error:
        return [str(error)]
    try:
        return verify(database)
    finally:
        database.close()


def flipped(value: object, rng: random.Random) -> object:
    """The same value, but for one bit or its presence."""
    if value is None:
        return rng.choice(["x", 1])
    if isinstance(value, int):
        return value ^ (1 << rng.randrange(16))
    if isinstance(value, float):
        return value + rng.choice([-1, 1]) * 2.0**-40
    if isinstance(value, bytes):
        return value + b"\0"
    text = str(value)
    if not text:
        return "x"
    at = rng.randrange(len(text))
    return text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]


def flip_something(connection: sqlite3.Connection, rng: random.Random) -> object:
    """Change one value of one live row; None where the database itself refuses."""
    table = rng.choice(TABLES.split())
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    name = rng.choice(columns)[1]
    keys = [f'"{column[1]}"' for column in columns if column[5]]
    row = rng.choice(connection.execute(f"SELECT {', '.join(keys)} FROM {table}").fetchall())
    where = " AND ".join(f"{key} = ?" for key in keys)
    (value,) = connection.execute(f'SELECT "{name}" FROM {table} WHERE {where}', row).fetchone()
    new = flipped(value, rng)
    try:
        connection.execute(f'UPDATE {table} SET "{name}" = ? WHERE {where}', (new, *row))
        connection.commit()
    except sqlite3.IntegrityError:
        return None
    return table, name, value, new


def test_every_flip_of_a_live_row_is_reported(file: Path) -> None:
    assert findings(file) == []
    whole = file.read_bytes()
    rng = random.Random(7)
    missed, flips = [], 0
    while flips < FLIPS:
        with closing(sqlite3.connect(file)) as connection:
            damage = flip_something(connection, rng)
        if damage is not None:
            flips += 1
            if not findings(file):
                missed.append(damage)
        for tail in ("-wal", "-shm"):
            Path(f"{file}{tail}").unlink(missing_ok=True)
        file.write_bytes(whole)
    assert missed == []
    assert findings(file) == []


@pytest.mark.parametrize("table", "bullets history cases decisions selections outcomes".split())
def test_a_row_that_is_gone_is_reported(file: Path, table: str) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(f"DELETE FROM {table} WHERE hash = (SELECT max(hash) FROM {table})")
    connection.close()
    assert findings(file) != []


def test_damage_is_not_mended_by_writing_to_the_row(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(
            "UPDATE bullets SET content = 'APPROVE when amount >= 0' WHERE number = 1"
        )
    connection.close()
    with BulletPlaybook(f"sqlite:///{file}") as book:
        book.record(record("late", 1, amount=99), Label("DECLINE"))
        book.set_weights({"b1": 0.75})
        book.set_status("b1", "retired", "odd")
    assert any("bullets 1:" in finding for finding in findings(file))


def test_a_restore_is_whole(file: Path) -> None:
    whole, new = file.with_name("whole.db"), file.with_name("new.db")
    with BulletPlaybook(f"sqlite:///{file}") as book:
        back_up(book, whole)
        with pytest.raises(InvalidInput, match="exists"):
            back_up(book, whole)
    copy(f"sqlite:///{whole}", f"sqlite:///{new}")
    assert findings(new) == []
    with pytest.raises(PlaybookError, match="not empty"):
        copy(f"sqlite:///{whole}", f"sqlite:///{new}")
    assert {path.name for path in file.parent.iterdir()} == {"ace.db", "whole.db", "new.db"}


def test_a_file_that_was_emptied_is_no_playbook(file: Path) -> None:
    file.write_bytes(b"")
    with pytest.raises(PlaybookError, match="is empty: not a playbook"):
        BulletPlaybook(f"sqlite:///{file}")
    assert findings(file) != []
    assert [finding.level for finding in database_findings(f"sqlite:///{file}")] == ["problem"]
    assert file.stat().st_size == 0


@pytest.mark.parametrize("place", ["/dev/null", "/dev/full", "/"])
def test_what_is_no_file_is_no_playbook(place: str) -> None:
    with pytest.raises(PlaybookError, match="not a file"):
        BulletPlaybook(f"sqlite:///{place}")


@pytest.mark.parametrize("table", [b"TABLE bullets", b"TABLE ace_meta", b"TABLE clock"])
def test_a_schema_that_is_no_text_is_one_line(file: Path, table: bytes) -> None:
    whole = file.read_bytes()
    assert table in whole
    for place in (1, len(table) - 2, len(table) + 6):
        at = whole.index(table) + place
        file.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        said = findings(file)
        assert said
        assert all("\n" not in line for line in said)


def test_the_doctor_is_red_where_nothing_can_be_written(lasting_url: str) -> None:
    with BulletPlaybook(lasting_url) as book:
        book.add_bullet("one", NODE)
    assert all(finding.level != "problem" for finding in database_findings(lasting_url))
    with read_only(lasting_url) as url:
        assert any(finding.level == "problem" for finding in database_findings(url))
    with BulletPlaybook(lasting_url) as book:
        assert (len(book), verify(book)) == (1, [])


@contextmanager
def read_only(url: str) -> Iterator[str]:
    """A URL under which nothing can be written."""
    file = file_of(url)
    if file is None:
        yield url + "%20-cdefault_transaction_read_only%3Don"
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        copy = Path(folder) / "ace.db"
        copy.write_bytes(file.read_bytes())
        copy.chmod(0o444)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)  # root may write everywhere
        try:
            yield f"sqlite:///{copy}"
        finally:
            os.seteuid(user)


def test_a_clock_that_was_ahead_shuts_no_later_label_out(playbook: BulletPlaybook) -> None:
    for i in range(60):
        playbook.record(record(f"ahead{i}", amount=i), Label("DECLINE", "label", "2099-01-01"))
    playbook.record(record("old", amount=1), Label("DECLINE", "label", "2026-01-01"))
    for i in range(20):
        playbook.record(record(f"late{i}", amount=i), Label("DECLINE"))
    with playbook.database.snapshot() as connection:
        newest = list(evidence_of(connection, NODE))
    assert [case.id for case in newest[-20:]] == [f"late{i}" for i in range(20)]
    with playbook.writing() as writer:
        position = writer.position
    then = as_of(playbook, position).cases(NODE)
    assert [case.id for case in then] == [case.id for case in playbook.cases(NODE)]
    before = playbook.cases(NODE)
    playbook.record(record("next", amount=1), Label("DECLINE"))
    after = playbook.cases(NODE)
    assert [case.id for case in after][-1] == "next"
    assert after._cases is before._cases  # they were not read again
    assert len(after) == 82


KILLED = """
import os, sys
from pathlib import Path
from acegraph.state.database.sqlite import new_database

with new_database("sqlite:///new.db", Path(sys.argv[1]) / "new.db"):
    print("begun", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_writer_left_is_named_by_the_doctor_and_goes_with_the_next(
    file: Path,
) -> None:
    words = [sys.executable, "-c", KILLED, str(file.parent)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        writer.stdout.readline()
        kept = {path.name for path in file.parent.iterdir()}
        assert len(kept) > 1
        with BulletPlaybook(f"sqlite:///{file}") as book:
            back_up(book, file.with_name("first.db"))  # its writer lives: it stays
        assert {path.name for path in file.parent.iterdir()} == {*kept, "first.db"}
        assert len(database_findings(f"sqlite:///{file}")) == 1
        writer.kill()
    (_, left) = database_findings(f"sqlite:///{file}")
    assert left.level == "warning"
    assert str(file.parent / ".new.db.") in left.text
    with BulletPlaybook(f"sqlite:///{file}") as book:
        back_up(book, file.with_name("second.db"))
    names = {path.name for path in file.parent.iterdir()}
    assert names == {"ace.db", "first.db", "second.db"}
    assert len(database_findings(f"sqlite:///{file}")) == 1
