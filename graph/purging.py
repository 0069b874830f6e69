"""Purging: what a poisoned source brought in is taken back, and what it kept from being learned is
learned.
"""

from dataclasses import replace
from datetime import datetime

from acegraph.graph.relearning import CannotRelearn, Progress, adopt, relearn
from acegraph.nodes.curator import Curator
from acegraph.state import BulletPlaybook, Purged
from acegraph.state import purge as take_back
from acegraph.state.stream import stream
from acegraph.state.versions import suspect_of


def purge(
    playbook: BulletPlaybook,
    source: str | None = None,
    by: str = "user",
    *,
    entity: tuple[str, object] | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    curator: Curator | None = None,
    progress: Progress = lambda what, done, total: None,
) -> Purged:
    """`state.purge`, after which the playbook is as if the suspect had never said anything.

    Where other labels came meanwhile, they are learned from anew. Where that cannot be done (`note`
    says why), what is left is kept and fitted anew.
    """
    suspect, note, life = suspect_of(source, entity, since, until), "", None
    try:
        life = relearn(playbook, suspect, curator, progress)  # takes its time, and no lock
    except CannotRelearn as error:
        note = f"what was learned meanwhile is kept, not learned anew: {error}"
    with playbook.writing():
        if life:
            life.catch_up(list(stream(playbook.database)))
        found = take_back(playbook, source, by, entity=entity, since=since, until=until)
        if life:
            with life.playbook as copy:
                learned = adopt(playbook, copy, suspect.describe(), by)
            return replace(found, learned=tuple(learned))
        for node in sorted({bullet.node for bullet in playbook}):
            (curator or Curator()).tend(node, playbook)
    return replace(found, note=note)
