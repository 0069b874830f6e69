"""Open the database that a URL names: SQLite or PostgreSQL."""

from os import PathLike, fspath

from acegraph.state.database.base import Database, Durability
from acegraph.state.errors import InvalidSettings


def open_database(url: str | PathLike[str] | None, durability: Durability = "normal") -> Database:
    """Open the database of a URL or the SQLite file of a path; else a new one in memory."""
    if isinstance(url, PathLike):
        url = f"sqlite:///{fspath(url)}"
    if url is not None and not isinstance(url, str):
        raise InvalidSettings(
            f"a playbook is a BulletPlaybook, a URL or a file, not {type(url).__name__}"
        )
    if url == "":
        raise InvalidSettings("the URL of the playbook is empty; without one it is in memory")
    scheme = (url or "sqlite:").partition(":")[0]
    if scheme == "sqlite":
        from acegraph.state.database.sqlite import SqliteDatabase

        return SqliteDatabase(url or "sqlite://", durability)
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        from acegraph.state.database.postgres import PostgresDatabase

        return PostgresDatabase(url or "", durability)
    # The rest of the URL may hold a password.
    raise InvalidSettings(
        f"cannot open a playbook at {scheme}:...; sqlite:///FILE or postgresql://HOST/NAME wanted"
    )
