"""Learn in the background: the lessons that runs with `learn_later` have left in the queue.

Such a run ends when its decision is judged and recorded. A worker then runs the reflector and the
curator on it, the same nodes as in the graph, in the order of the decisions. A lesson leaves the
queue in the write that stores what was learned, so it is learned once, whoever is killed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack, cast

from acegraph.graph.build import Collaborators, build_learning_graph, gather_parts
from acegraph.state import AceContext, AceState, UnknownDecision
from acegraph.state.run.modes import settle

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

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
    context: AceContext | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
    **collaborators: Unpack[Collaborators],
) -> LearnedLessons:
    """Learn from every decision in the queue, once; the collaborators are those of the graph.

    Several workers may run at the same time: the first to finish a lesson has learned it.
    """
    parts = gather_parts(playbook, context=context, **collaborators)
    graph = build_learning_graph(parts).compile()
    report, waiting = LearnedLessons(), playbook.waiting_lessons()
    for number, decision_id in enumerate(waiting):
        progress("learning", number, len(waiting))
        state = _state_after_judge(playbook, decision_id)
        if state is None:
            playbook.drop_lesson(decision_id)
            report.dropped += 1
            continue
        result = graph.invoke(cast(Any, state), context=parts.context)
        if result["undecided"]:
            report.failed += 1
            continue
        report.lessons += 1
        if result["new_bullet"]:
            report.bullets_added.append(result["new_bullet"])
    logger.info("%d lessons learned, %d failed", report.lessons, report.failed)
    return report


def _state_after_judge(playbook: BulletPlaybook, decision_id: str) -> AceState | None:
    """The state that the judge left; None if there is nothing to learn from the decision now."""
    try:
        stored = playbook.decision(decision_id)
    except UnknownDecision:  # a pruned one is
        return None
    label, is_decided = stored["label"], stored["decision"] is not None
    settings = stored["settings"] or settle(playbook, AceContext(node=stored["node"]))
    is_correct = stored["decision"] == label if is_decided else None
    if label is None or not stored["text"] or stored["lesson"] is not None:
        return None
    if is_correct and not settings["learn_every"]:
        return None
    return {
        "case": {
            "id": decision_id,
            "text": stored["text"],
            "given_fields": stored["fields"],
            "fields": stored["fields"],
            "digest": stored["digest"],
            "ground_truth": label,
        },
        "settings": settings,
        "reasons": stored["reasons"] or [],
        "playbook_version": stored["playbook_version"] or 0,
        "is_correct": is_correct,
        "correct_answer": label,
        "label_source": stored["label_source"],
        "undecided": None,
        "warnings": [],
        "usage": {},
        "reflection": None,
        "curation": None,
        "new_bullet": None,
    }
