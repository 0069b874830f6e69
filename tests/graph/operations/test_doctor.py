"""The doctor's look at the database."""

from pathlib import Path

from acegraph.graph.operations.monitoring.doctor import database_findings
from acegraph.state import BulletPlaybook
from acegraph.state.database.tables import SCHEMA_VERSION


def test_the_database_is_described(lasting_url: str) -> None:
    BulletPlaybook(lasting_url).close()
    found = {finding.name: finding for finding in database_findings(lasting_url)}
    assert f"schema {SCHEMA_VERSION}" in found["database"].text
    assert found["durability"].text == "normal"
    assert "size" in found
    assert {finding.level for finding in found.values()} == {"ok"}


def test_what_is_no_database_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "letter.db"
    file.write_text("Dear friend, " * 100)
    (found,) = database_findings(f"sqlite:///{file}")
    assert (found.level, found.name) == ("problem", "database")
    assert database_findings(f"sqlite:///{tmp_path / 'none.db'}")[0].level == "ok"
