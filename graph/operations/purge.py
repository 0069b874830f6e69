"""Purge: take back what a poisoned source brought in, and learn again without it."""

from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime

from acegraph.graph.operations.relearn import CannotRelearn, Progress, adopt, relearn
from acegraph.nodes.curator.curator import Curator
from acegraph.state import BulletPlaybook, clean_text
from acegraph.state.ledger.events import PRUNED_PART, broken_by, stream
from acegraph.state.maintenance.label_withdrawal import Purged, purge_filter, withdraw_labels


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
    """Take back the labels and bullets of a source, an entity or a time.

    Afterwards the playbook is as if they had never come. Labels that came after them are learned
    from again. Where that cannot be done, `note` says why, and the other bullets keep their place
    with weights fitted again.
    """
    source = _as_stored(source, playbook)
    suspect, note, copy = purge_filter(source, entity, since, until), "", None
    with ExitStack() as stack:
        try:
            copy = relearn(playbook, suspect, curator, progress)  # takes its time, and no lock
            if copy:
                stack.enter_context(copy.playbook)
            stack.enter_context(playbook.writing())
            if copy:  # what came in meanwhile
                copy.replay(list(stream(playbook.database, after=copy.position)))
        except CannotRelearn as error:
            stack.enter_context(playbook.writing())
            note, copy = f"what was learned meanwhile is kept, not learned anew: {error}", None
        was_active = {b.id for b in playbook if b.status == "active"}
        found = withdraw_labels(playbook, source, by, entity=entity, since=since, until=until)
        if copy is None:
            if found.labels:  # too few may be left to fit them anew
                playbook.set_weights({b.id: None for b in playbook})
            for node in sorted({bullet.node for bullet in playbook}):
                (curator or Curator()).tend(node, playbook)
            if not note and broken_by(playbook.database) == PRUNED_PART:
                note = f"{PRUNED_PART}: what they counted for cannot be taken back"
            return replace(found, note=note)
        learned = adopt(playbook, copy.playbook, suspect.describe(), by)
        is_active = {b.id for b in playbook if b.status == "active"}
    return replace(
        found,
        bullets=_in_order(was_active - is_active),
        restored=_in_order(is_active - was_active - set(learned)),
        learned=tuple(learned),
    )


def _as_stored(source: str | None, playbook: BulletPlaybook) -> str | None:
    """Sources of labels are kept cleaned, names of imported files as they are."""
    is_file = any(bullet.origin.get("imported_from") == source for bullet in playbook)
    return source if source is None or is_file else clean_text(source)


def _in_order(ids: set[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda bullet_id: int(bullet_id[1:])))
