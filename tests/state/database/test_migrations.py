"""Opening databases of other ages and other owners."""

import gzip
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from ledger_cases import NODE, record
from postgres import Server
from project_paths import DATA

from acegraph.state import BulletPlaybook, Label, PlaybookError, verify
from acegraph.state.database.tables import SCHEMA_VERSION

OLD = """
CREATE TABLE ace_meta (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
INSERT INTO ace_meta VALUES ('schema', '%d');
"""


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_a_file_of_an_early_schema_is_refused_and_left_alone(schema: int, tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(OLD % schema)
    before = _dump(file)
    with pytest.raises(PlaybookError, match="open it once with acegraph 0"):
        BulletPlaybook(f"sqlite:///{file}")
    assert _dump(file) == before


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file of schema 4."""
    file = tmp_path / "old.db"
    file.write_bytes(gzip.decompress((DATA / "schema4" / "playbook.db.gz").read_bytes()))
    return file


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("DROP TABLE history", "no table history"),
        ("UPDATE ace_meta SET value = '{oops' WHERE key = 'user:ann'", "schema 4 are damaged"),
        ("CREATE TABLE tasks (node TEXT)", "table tasks already exists"),
    ],
)
def test_a_damaged_file_of_schema_4_is_refused_in_one_line_and_left_as_it_was(
    change: str, found: str, old: Path
) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(change)
    before = _dump(old)
    with pytest.raises(PlaybookError) as caught:
        BulletPlaybook(f"sqlite:///{old}")
    assert found in str(caught.value)
    assert "\n" not in str(caught.value)
    assert _dump(old) == before


def test_a_migrated_file_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    with BulletPlaybook(f"sqlite:///{old}"), BulletPlaybook(f"sqlite:///{new}"):
        assert _columns(old) == _columns(new)


def _columns(file: Path) -> dict[str, set[tuple[object, ...]]]:
    with closing(sqlite3.connect(file)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: {row[1:4] for row in connection.execute(f"PRAGMA table_info({name})")}
            for (name,) in names
        }


def test_a_table_of_somebody_else_outlives_the_migration(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript('CREATE TABLE "my notes" AS SELECT 1 AS note')
    with BulletPlaybook(f"sqlite:///{old}") as book:
        assert verify(book) == []
    assert any(line.startswith('INSERT INTO "my notes"') for line in _dump(old))


def _dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


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


@pytest.mark.parametrize(
    "what", ["TRIGGER t AFTER INSERT ON cases BEGIN SELECT 1; END", "VIEW v AS SELECT 1"]
)
def test_a_file_to_which_somebody_added_what_acts_with_every_write_is_refused(
    what: str, tmp_path: Path
) -> None:
    with BulletPlaybook(tmp_path / "ace.db") as book:
        with closing(sqlite3.connect(tmp_path / "ace.db")) as other:
            other.execute(f"CREATE {what}")
        with pytest.raises(PlaybookError, match="somebody added"):
            book.database.check_ready()
    with pytest.raises(PlaybookError, match="somebody added"):
        BulletPlaybook(tmp_path / "ace.db")
