"""What a playbook keeps for a node in `meta`: when it was looked at as a whole."""

from typing import Final

import sqlalchemy as sa

from acegraph.state.database.kept_values import keep_text
from acegraph.state.database.tables import meta
from acegraph.state.database.writer import Fetch, LedgerWriter, Statement

_REFINED_FROM: Final = "refined_from:"
_KEPT: Final = Statement(sa.select(meta.c.value).where(meta.c.key == sa.bindparam("key")))


def read_refined_from(fetch: Fetch, node: str) -> int:
    """How many labelled cases there were at the last look at all bullets of a node, or 0."""
    kept = fetch(_KEPT, _REFINED_FROM + node)
    return int(kept[0][0]) if kept else 0


def keep_refined_from(writer: LedgerWriter, node: str, cases: int) -> None:
    """Keep how many labelled cases there are at a look at all bullets of a node."""
    keep_text(writer, _REFINED_FROM + node, str(cases))
