"""The form of the files that a playbook learned from, kept in `meta` by node."""

import json
from dataclasses import asdict
from typing import Final

import sqlalchemy as sa

from acegraph.state.database.tables import meta
from acegraph.state.database.writer import Fetch, LedgerWriter, Statement, fetch_by
from acegraph.state.values.file_form import FileForm

_KEY: Final = "file_form:"
_KEPT: Final = Statement(sa.select(meta.c.value).where(meta.c.key == sa.bindparam("key")))


def read_form(fetch: Fetch, node: str) -> FileForm:
    """The form that is kept for a node."""
    kept = fetch(_KEPT, _KEY + node)
    return FileForm(**json.loads(kept[0][0])) if kept else FileForm()


def keep_form(writer: LedgerWriter, node: str, form: FileForm) -> None:
    """Keep the form of one more file.

    It is kept before the cases of the file are stored: with their positions other processes see it.
    """
    joined = read_form(fetch_by(writer.connection), node).joined(form)
    writer.connection.execute(meta.delete().where(meta.c.key == _KEY + node))
    kept = {"key": _KEY + node, "value": json.dumps(asdict(joined), sort_keys=True)}
    writer.connection.execute(meta.insert(), [kept])
