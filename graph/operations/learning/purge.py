"""Purge: take back what a bad source brought in, and learn the whole again from what is left."""

import logging
from collections.abc import Iterable
from dataclasses import replace

from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.curator.refine import refine
from acegraph.nodes.evidence.stakes import COSTS
from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL
from acegraph.state import BulletPlaybook
from acegraph.state.ledger.lookups import nodes_with_cases
from acegraph.state.maintenance.label_withdrawal import Entity, Purged, PurgeFilter, withdraw_labels
from acegraph.state.values import Status, clean_text, number_of

logger = logging.getLogger(__name__)


def purge(
    playbook: BulletPlaybook,
    source: str | None = None,
    by: str = "user",
    *,
    entities: Iterable[Entity] = (),
    curator: Curator | None = None,
) -> Purged:
    """Take back the labels and bullets of a source or of entities.

    What they had displaced comes back, and all weights are fitted again. Where other labels came
    after the first bad one, a set of rules is sought for all that are left: it takes the place of
    what was learned beside the bad ones if it explains held-out cases better.
    """
    is_file = any(bullet.origin.get("imported_from") == source for bullet in playbook)
    if source is not None and not is_file:
        source = clean_text(source)
    to_purge = PurgeFilter(source, tuple(entities))
    curator = curator or Curator()
    before, in_use = _ids(playbook, "active"), _ids(playbook, "active", "candidate")
    with playbook.writing():
        purged = withdraw_labels(playbook, to_purge, by)
        if purged.labels:  # too few may be left to fit the weights again
            playbook.set_weights({b.id: None for b in playbook})
        for node in _nodes(playbook):
            curator.tend(node, playbook)
    nodes = _nodes(playbook) if purged.later_labels else ()
    learned = {i for node in nodes for i in _learn_again(playbook, node, curator)}
    active = _ids(playbook, "active")
    purged = replace(
        purged,
        bullets=_in_order(in_use - _ids(playbook, "active", "candidate")),
        restored=_in_order(active - before - learned),
        learned=_in_order(learned),
    )
    counts = (purged.labels, len(purged.bullets), len(purged.restored), len(purged.learned))
    logger.info("purge: %d labels withdrawn; bullets: %d retired, %d restored, %d learned", *counts)
    return purged


def _learn_again(playbook: BulletPlaybook, node: str, curator: Curator) -> tuple[str, ...]:
    """The bullets that a set of rules for all labels of a node adds, if it is better.

    Offline and online bullets are not made one set: modes tell them apart.
    """
    learned = [
        bullet
        for bullet in playbook.get_bullets_for_node(node)
        if bullet.origin.get("author") == NO_LANGUAGE_MODEL
    ]
    sources = {bullet.source for bullet in learned} or {"online"}
    if len(sources) > 1:
        return ()
    costs = str(learned[-1].origin.get(COSTS) or "") if learned else ""
    refined = refine(playbook, node, curator, sources.pop(), costs or None)
    return refined.added if refined else ()


def _nodes(playbook: BulletPlaybook) -> list[str]:
    """The nodes that have bullets or cases."""
    return sorted(nodes_with_cases(playbook.database) | {bullet.node for bullet in playbook})


def _ids(playbook: BulletPlaybook, *statuses: Status) -> set[str]:
    return {bullet.id for bullet in playbook if bullet.status in statuses}


def _in_order(ids: set[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=number_of))
