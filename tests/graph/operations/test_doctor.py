"""The doctor's look at the database."""

from pathlib import Path

from acegraph.graph.operations.monitoring.doctor import database_findings
from acegraph.state import BulletPlaybook
from acegraph.state.database.tables import SCHEMA_VERSION


def test_the_database_is_described(lasting_url: str) -> None:
    BulletPlaybook(lasting_url).close()
    (found,) = database_findings(lasting_url)
    assert (found.level, found.name) == ("ok", "database")
    assert f"schema {SCHEMA_VERSION}" in found.text


def test_what_is_no_database_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "letter.db"
    file.write_text("Dear friend, " * 100)
    (found,) = database_findings(f"sqlite:///{file}")
    assert (found.level, found.name) == ("problem", "database")
    assert database_findings(f"sqlite:///{tmp_path / 'none.db'}")[0].level == "ok"
