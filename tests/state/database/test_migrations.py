"""Opening databases of other ages and other owners."""

import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from ledger_cases import NODE, counters, record
from postgres import Server
from project_paths import DATA

from acegraph.graph import replay
from acegraph.state import BulletPlaybook, Label, PlaybookError, as_of, verify
from acegraph.state.database.encoding import text_hash
from acegraph.state.database.tables import SCHEMA_VERSION
from acegraph.state.ledger.lookups import label_history
from acegraph.state.maintenance.erase import erase
from acegraph.state.maintenance.prune import prune
from acegraph.state.playbook.review_queue import give_verdict
from acegraph.state.run.review_answers import VerdictAnswer
from acegraph.state.values.decision import Sighting

OLD = DATA / "ledger_v1.sql"


def test_a_database_of_schema_1_is_brought_up_to_date(tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with sqlite3.connect(old) as connection:
        connection.executescript(OLD.read_text())
    connection.close()
    with BulletPlaybook(f"sqlite:///{old}") as book, BulletPlaybook(f"sqlite:///{new}"):
        assert verify(book) == []
        assert [counters(book, b.id) for b in book] == [(1, 1, 2), (1, 1, 2), (0, 0, 0)]
        assert [b.status for b in book] == ["active", "active", "retired"]
        assert (book.version, book.get_bullet("b1").weight) == (4, 1.5)
        assert len(book.cases(NODE)) == 7
        assert book.decision("d2")["lesson"] == {"action": "refused", "reason": "nothing"}
        book.label("d2", Label("DECLINE", "appeal"))
        assert counters(book, "b1") == (2, 0, 2)
        assert book.right_decision_number("d9", NODE) == 3
        assert verify(book) == []
        with as_of(book, "2026-11-02") as past:
            assert len(past) == 0  # all of it is younger
        with pytest.raises(PlaybookError, match="before the ledger kept"):
            replay(book, "d1")
    assert _schema(old) == _schema(new)


def test_a_database_of_schema_2_gets_the_table_of_sightings(lasting_url: str) -> None:
    with BulletPlaybook(lasting_url) as book:
        book.record(record("d1", amount=1), Label("DECLINE"))
        with book.database.writing() as writer:
            writer.connection.execute(sa.text("DROP TABLE sightings"))
            writer.connection.execute(
                sa.text("UPDATE ace_meta SET value = '2' WHERE key = 'schema'")
            )
    with BulletPlaybook(lasting_url) as book:
        seen = Sighting(0, {"customer": "c1"}, None, None, {"customer": "customer_id"})
        book.record(replace(record("d2", amount=2), sighting=seen))
        assert book.past(NODE, seen, "new")["customer"].payments == (1, 1, 1)
        assert verify(book) == []


def test_a_database_of_schema_3_gets_the_table_of_answers(lasting_url: str) -> None:
    with BulletPlaybook(lasting_url) as book:
        book.record(record("d1", amount=1))
        with book.database.writing() as writer:
            for text in ("DROP TABLE answers", "DROP INDEX decisions_in_order"):
                writer.connection.execute(sa.text(text))
            writer.connection.execute(
                sa.text("UPDATE ace_meta SET value = '3' WHERE key = 'schema'")
            )
    with BulletPlaybook(lasting_url) as book:
        answer = VerdictAnswer(who="ann", verdict="DECLINE", why="the customer denies it")
        give_verdict(book, "d1", answer)
        (said,) = label_history(book.database, "d1")
        assert (said.source, said.why) == ("analyst:ann", "the customer denies it")
        assert verify(book) == []
        erase(book, ["d1"])
        assert label_history(book.database, "d1")[0].why == "[erased]"
        assert verify(book) == []
        prune(book, "2999-01-01")
        assert label_history(book.database, "d1") == []
        assert verify(book) == []


def _schema(file: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(file) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        found = {n: connection.execute(f"PRAGMA table_info({n})").fetchall() for (n,) in names}
    connection.close()
    found.pop("sqlite_sequence", None)
    return found


def test_a_newer_database_is_refused_and_left_alone(lasting_url: str) -> None:
    with BulletPlaybook(lasting_url) as book:
        book.add_bullet("one", NODE)
        with book.database.writing() as page:
            page.connection.execute(
                sa.text("UPDATE ace_meta SET value = :v WHERE key = 'schema'"),
                {"v": str(SCHEMA_VERSION + 1)},
            )
    with pytest.raises(PlaybookError, match=f"has schema {SCHEMA_VERSION + 1}; this acegraph"):
        BulletPlaybook(lasting_url)


def test_another_programs_schema_in_postgres_is_left_alone(postgres: Server) -> None:
    url = postgres.url()
    schema = url.rpartition("%3D")[2]
    engine = sa.create_engine(postgres.base_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
        connection.exec_driver_sql(f"CREATE TABLE {schema}.customers (name TEXT)")
    engine.dispose()
    with pytest.raises(PlaybookError, match="another program"):
        BulletPlaybook(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@127.0.0.1:9/none",
        "postgresql://ann@127.0.0.1:9/none?password=hunter2",
    ],
)
def test_a_password_is_never_told(url: str) -> None:
    with pytest.raises(PlaybookError) as caught:
        BulletPlaybook(url)
    assert "hunter2" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_a_truncated_file_is_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "ace.db"
    with BulletPlaybook(f"sqlite:///{file}") as book:
        for i in range(200):
            book.record(record(f"d{i}", amount=i), Label("DECLINE"))
    whole = file.read_bytes()
    for size in (100, len(whole) // 2, len(whole) - 4096):
        file.write_bytes(whole[:size])
        assert any("\n" not in problem for problem in _problems(file)), size


def _problems(file: Path) -> list[str]:
    try:
        with BulletPlaybook(f"sqlite:///{file}") as book:
            return verify(book)
    except PlaybookError as error:
        return [str(error)]


def _old_file(folder: Path, *changes: str) -> Path:
    """A file of schema 1 to which something was done."""
    file = folder / "old.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(OLD.read_text())
        for change in changes:
            connection.executescript(change)
    return file


def _dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


def test_the_vectors_of_schema_1_are_not_bought_again(tmp_path: Path) -> None:
    vector, name = np.array([1, 2], np.float32), text_hash("amount: 5")
    file = _old_file(
        tmp_path,
        "CREATE TABLE text_embeddings (model VARCHAR, text_hash VARCHAR, vector BLOB)",
        f"INSERT INTO text_embeddings VALUES ('n', '{name}', x'{vector.tobytes().hex()}')",
        "INSERT INTO embeddings SELECT 77, model, vector FROM embeddings",  # of no bullet
        "INSERT INTO ace_meta VALUES ('embedding_model', 'm')",
    )
    with BulletPlaybook(f"sqlite:///{file}") as book:
        assert book.embedding_model == "m"
        assert book.vectors("m", ["b1", "b2"])["b1"].tolist() == [1, 1, 1]
        assert book.text_vectors("n", ["amount: 5"])["amount: 5"].tolist() == [1, 2]
        assert verify(book) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("DROP TABLE history", "no 'history'"),
        ("ALTER TABLE outcomes DROP COLUMN known_at", "no 'known_at'"),
        ("UPDATE cases SET fields = '{oops' WHERE id = 'd2'", "'fields' of cases: Expecting"),
        ("UPDATE bullets SET related = 5", "'related' of bullets: the JSON object must be"),
        ("UPDATE bullets SET content = x'00ff'", "'bytes' object"),
        (
            "ALTER TABLE outcomes RENAME TO o; CREATE TABLE outcomes AS SELECT * FROM o;"
            "INSERT INTO outcomes SELECT * FROM o; DROP TABLE o",
            "UNIQUE constraint failed: outcomes.case, outcomes.revision",
        ),
    ],
)
def test_a_damaged_file_of_schema_1_is_refused_in_one_line_and_left_as_it_was(
    change: str, found: str, tmp_path: Path
) -> None:
    file = _old_file(tmp_path, change)
    before = _dump(file)
    with pytest.raises(PlaybookError) as caught:
        BulletPlaybook(f"sqlite:///{file}")
    said = f"cannot open sqlite:///{file}: its tables of schema 1 are damaged: {found}"
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)
    assert _dump(file) == before


def test_a_table_of_somebody_else_outlives_the_migration(tmp_path: Path) -> None:
    file = _old_file(tmp_path, 'CREATE TABLE "my notes" AS SELECT 1 AS note')
    with BulletPlaybook(f"sqlite:///{file}") as book:
        assert verify(book) == []
    assert any(line.startswith('INSERT INTO "my notes"') for line in _dump(file))


def test_a_database_that_lacks_a_table_is_refused(lasting_url: str) -> None:
    with BulletPlaybook(lasting_url) as book, book.database.writing() as page:
        page.connection.exec_driver_sql("DROP TABLE text_embeddings")
    with pytest.raises(PlaybookError, match=f"schema {SCHEMA_VERSION} but no table text_embeddi"):
        BulletPlaybook(lasting_url)


def test_who_opens_while_another_process_migrates_waits_for_it(tmp_path: Path) -> None:
    file = tmp_path / "ace.db"
    with BulletPlaybook(f"sqlite:///{file}") as book:
        book.add_bullet("one", NODE)
    lengths: list[int] = []

    def open_it() -> None:
        with BulletPlaybook(f"sqlite:///{file}") as book:
            lengths.append(len(book))

    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        made = "SELECT sql FROM sqlite_master WHERE name = 'text_embeddings'"
        (table,) = other.execute(made).fetchone()
        other.execute("DROP TABLE text_embeddings")  # as if it had read the names before this
        other.execute("BEGIN IMMEDIATE")
        opener = threading.Thread(target=open_it)
        opener.start()
        opener.join(0.5)
        assert opener.is_alive()
        other.execute(table)
        other.execute("COMMIT")
    opener.join(30)
    assert lengths == [1]


@pytest.mark.parametrize("schema", ["\u00b2", "", "-1", "two", "1e9"])
def test_a_schema_that_is_no_number_is_refused_in_one_line(schema: str, lasting_url: str) -> None:
    with BulletPlaybook(lasting_url) as book, book.database.writing() as page:
        page.connection.execute(sa.text("UPDATE ace_meta SET value = :v"), {"v": schema})
    with pytest.raises(PlaybookError, match="it is damaged"):
        BulletPlaybook(lasting_url)
