"""Purge: take back what a bad source brought in, and learn again without it (relearn.py)."""

import logging
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime

from acegraph.graph.data.file_rows import Progress
from acegraph.graph.operations.learning.relearn import CannotRelearn, adopt, relearn
from acegraph.nodes.curator.curator import Curator
from acegraph.state import BulletPlaybook
from acegraph.state.ledger.events import PRUNED_PART, broken_by, stream
from acegraph.state.maintenance.label_withdrawal import (
    Entity,
    Purged,
    purge_filter,
    withdraw_labels,
)
from acegraph.state.values.bullet import number_of
from acegraph.state.values.transaction import clean_text

logger = logging.getLogger(__name__)


def purge(
    playbook: BulletPlaybook,
    source: str | None = None,
    by: str = "user",
    *,
    entities: Iterable[Entity] = (),
    author: str | None = None,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    curator: Curator | None = None,
    progress: Progress = lambda what, done, total: None,
) -> Purged:
    """Take back the labels and bullets of a source, of entities or a time, or an author's bullets.

    Afterwards the playbook is as if they had never come: labels that came after them are learned
    from again. If that is impossible, `note` says why, and the other bullets stay in use with
    weights that are fitted again. Several purges, in any order, do the same as one for all.
    """
    to_purge = purge_filter(_as_stored(source, playbook), entities, since, until, author)
    note, copy = "", None
    with ExitStack() as stack:
        try:
            copy = relearn(playbook, to_purge, curator, progress)  # takes its time, and no lock
            if copy:
                stack.enter_context(copy.playbook)
            stack.enter_context(playbook.writing())
            if copy:  # what was written to the ledger meanwhile
                copy.replay(list(stream(playbook.database, after=copy.position)))
        except CannotRelearn as error:
            stack.enter_context(playbook.writing())
            note, copy = f"what was learned meanwhile is kept, not learned anew: {error}", None
        active_before = _active_ids(playbook)
        purged = withdraw_labels(playbook, to_purge, by)
        if copy is None:
            if purged.labels or author:  # too few may be left to fit the weights again
                playbook.set_weights({b.id: None for b in playbook})
            for node in sorted({bullet.node for bullet in playbook}):
                (curator or Curator()).tend(node, playbook)
            if not note and broken_by(playbook.database) == PRUNED_PART:
                note = f"{PRUNED_PART}: what they counted for cannot be taken back"
            purged = replace(purged, note=note)
        else:
            learned = adopt(playbook, copy.playbook, to_purge.describe(), by)
            active = _active_ids(playbook)
            purged = replace(
                purged,
                bullets=_in_order(active_before - active),
                restored=_in_order(active - active_before - set(learned)),
                learned=tuple(learned),
            )
    counts = (purged.labels, len(purged.bullets), len(purged.restored), len(purged.learned))
    text = "purge: %d labels withdrawn; bullets: %d retired, %d restored, %d learned; %s"
    logger.info(text, *counts, purged.note or "nothing of them is left")
    return purged


def _as_stored(source: str | None, playbook: BulletPlaybook) -> str | None:
    """A source as it is stored: cleaned text, or the unchanged name of an imported file."""
    is_file = any(bullet.origin.get("imported_from") == source for bullet in playbook)
    return source if source is None or is_file else clean_text(source)


def _active_ids(playbook: BulletPlaybook) -> set[str]:
    return {bullet.id for bullet in playbook if bullet.status == "active"}


def _in_order(ids: set[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=number_of))
