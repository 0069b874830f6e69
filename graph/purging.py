"""Purging: what a poisoned source brought in is taken back, and the rest fitted anew without it."""

from datetime import datetime

from acegraph.nodes.curator import Curator
from acegraph.state import BulletPlaybook, Purged
from acegraph.state import purge as take_back


def purge(
    playbook: BulletPlaybook,
    source: str | None = None,
    by: str = "user",
    *,
    entity: tuple[str, object] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    curator: Curator | None = None,
) -> Purged:
    """`state.purge`, after which the curator tends what is left: as if it had never been there."""
    with playbook.writing():
        found = take_back(playbook, source, by, entity=entity, since=since, until=until)
        for node in sorted({bullet.node for bullet in playbook}):
            (curator or Curator()).tend(node, playbook)
    return found
