"""What a playbook keeps for a node in `meta`: the form of its files, and when it was looked at."""

import json
from dataclasses import asdict
from typing import Final

import sqlalchemy as sa

from acegraph.state.database.kept_values import keep_text
from acegraph.state.database.tables import meta
from acegraph.state.database.writer import Fetch, LedgerWriter, Statement, fetch_by
from acegraph.state.values.file_form import FileForm

_FORM: Final = "file_form:"
_REFINED_FROM: Final = "refined_from:"
_KEPT: Final = Statement(sa.select(meta.c.value).where(meta.c.key == sa.bindparam("key")))


def read_form(fetch: Fetch, node: str) -> FileForm:
    """The form that is kept for a node."""
    kept = fetch(_KEPT, _FORM + node)
    return FileForm(**json.loads(kept[0][0])) if kept else FileForm()


def keep_form(writer: LedgerWriter, node: str, form: FileForm) -> None:
    """Keep the form of one more file.

    It is kept before the cases of the file are stored: with their positions other processes see it.
    """
    joined = read_form(fetch_by(writer.connection), node).joined(form)
    keep_text(writer, _FORM + node, json.dumps(asdict(joined), sort_keys=True))


def read_refined_from(fetch: Fetch, node: str) -> int:
    """How many labelled cases there were at the last look at all bullets of a node, or 0."""
    kept = fetch(_KEPT, _REFINED_FROM + node)
    return int(kept[0][0]) if kept else 0


def keep_refined_from(writer: LedgerWriter, node: str, cases: int) -> None:
    """Keep how many labelled cases there are at a look at all bullets of a node."""
    keep_text(writer, _REFINED_FROM + node, str(cases))
