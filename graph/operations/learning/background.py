"""Learn from stored decisions: at once when a label comes, or in the background from the queue.

A run with `learn_later` ends when its decision is judged and recorded, and leaves its lesson in the
queue. A lesson leaves the queue in the write that stores what was learned, so it is learned once,
whoever is killed.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from acegraph.nodes.curator.curator import Curation, Curator
from acegraph.nodes.curator.node import curate_lesson
from acegraph.nodes.reflector.custom import (
    Reflecting,
    ReflectorLike,
    as_reflector,
    induces_rules,
)
from acegraph.nodes.reflector.node import reflect_on
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.nodes.selector.node import understand
from acegraph.state import AceContext, BulletPlaybook, ModelError, UnknownDecision
from acegraph.state.run.context import settle
from acegraph.state.run.lesson import Lesson
from acegraph.state.run.schema import RunSettings
from acegraph.state.values import UNDECIDED, Transaction

logger = logging.getLogger(__name__)


@dataclass
class LearnedLessons:
    """What a pass through the queue did."""

    lessons: int = 0
    """Decisions that were learned from, even if no bullet came of it."""
    failed: int = 0
    """Decisions that stay in the queue, because a model failed."""
    dropped: int = 0
    """Decisions from which there is nothing to learn any more: corrected, pruned or erased."""
    bullets_added: list[str] = field(default_factory=list)


def learn_waiting(
    playbook: BulletPlaybook,
    *,
    reflector: ReflectorLike = None,
    curator: Curator | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> LearnedLessons:
    """Learn from every decision in the queue, once; reflector and curator are those of the graph.

    Several workers may run at the same time: the first to finish a lesson has learned it.
    """
    reflecting, curating = as_reflector(reflector), curator or Curator()
    report, waiting = LearnedLessons(), playbook.waiting_lessons()
    for number, decision_id in enumerate(waiting):
        progress("learning", number, len(waiting))
        if not _is_lesson(playbook, decision_id):
            playbook.drop_lesson(decision_id)
            report.dropped += 1
            continue
        try:
            curation = learn_from(playbook, decision_id, reflecting, curating)
        except ModelError as error:
            logger.warning("reflector undecided: %s", type(error).__name__)
            report.failed += 1
            continue
        playbook.drop_lesson(decision_id)  # one that taught nothing is in the queue still
        report.lessons += 1
        if curation.bullet_id:
            report.bullets_added.append(curation.bullet_id)
    logger.info("%d lessons learned, %d failed", report.lessons, report.failed)
    return report


def learn_from(
    playbook: BulletPlaybook, decision_id: str, reflector: Reflecting, curator: Curator
) -> Curation:
    """Learn from a stored decision whose label is known."""
    stored = playbook.decision(decision_id)
    settings = settings_of(playbook, decision_id)
    transaction = Transaction(stored["text"], stored["fields"])
    if stored["decision"] is None and not _leaves_open(playbook, settings, transaction):
        return Curation("refused", "what is known decides it: the agent failed, or it was learned")
    lesson = Lesson(
        decision_id=decision_id,
        transaction=transaction,
        decision=stored["decision"] or UNDECIDED,
        correct=stored["label"],
        reasons=stored["reasons"] or [],
        settings=settings,
        label_source=stored["label_source"],
    )
    reflection = finish(reflect_on(lesson, reflector, playbook, BLOCKING))
    refines = induces_rules(reflector, lesson.settings["reflector_model"])
    return curate_lesson(lesson, reflection, curator, playbook, refines=refines)


def settings_of(playbook: BulletPlaybook, decision_id: str) -> RunSettings:
    """The settings of the run that decided; of a case that none decided those of today."""
    stored = playbook.decision(decision_id)
    settings: RunSettings | None = stored["settings"]
    return settings or settle(playbook, AceContext(node=stored["node"]))


def _leaves_open(playbook: BulletPlaybook, settings: RunSettings, transaction: Transaction) -> bool:
    """Whether prior and rules cannot decide a case."""
    understood = understand(transaction, playbook, settings["node"], "", keeps_derived=False)
    ruleset = Ruleset.of(playbook, settings)
    return bool(ruleset.decide(understood.fields, understood.doubts).undecided)


def _is_lesson(playbook: BulletPlaybook, decision_id: str) -> bool:
    """Whether there is something to learn from a decision now."""
    try:
        stored = playbook.decision(decision_id)
    except UnknownDecision:  # a pruned one is
        return False
    if stored["label"] is None or not stored["text"] or stored["lesson"] is not None:
        return False
    learns_every = settings_of(playbook, decision_id)["learn_every"]
    return bool(stored["decision"] != stored["label"] or learns_every)
