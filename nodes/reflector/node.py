"""The reflector as a graph node: write a heuristic from a judged decision, or none."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from acegraph.nodes.evidence.columns.entities import TEACHES, case_shares
from acegraph.nodes.evidence.drift import since_change
from acegraph.nodes.evidence.stakes import cost_of_mistakes, not_yet
from acegraph.nodes.reflector.custom import Reflecting, induces_rules
from acegraph.nodes.reflector.prompt import Judged
from acegraph.nodes.rules.points import log_odds_over
from acegraph.nodes.rules.scale import RiskScale, scale_for
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.text.understand import read_fields
from acegraph.state import AceState, BulletPlaybook, ModelError
from acegraph.state.ledger.hidden_fields import HiddenFields
from acegraph.state.run.lesson import Lesson
from acegraph.state.run.schema import Reflection, Update
from acegraph.state.values import DECLINE, Bullet, CaseTable, of_source

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReflectorNode:
    """Reflects on the decision of a run."""

    playbook: BulletPlaybook
    reflector: Reflecting

    async def __call__(self, state: AceState, wait: Wait) -> Update:
        """Write a heuristic from the judged decision, or none."""
        try:
            reflection = await reflect_on(Lesson.of(state), self.reflector, self.playbook, wait)
        except ModelError as error:
            logger.warning("reflector undecided: %s", type(error).__name__)
            return {"undecided": f"reflector: {error}"}
        return {"reflection": reflection}


async def reflect_on(
    lesson: Lesson, reflector: Reflecting, playbook: BulletPlaybook, wait: Wait
) -> Reflection | None:
    """The heuristic that a reflector draws from a lesson, with the evidence of the playbook."""
    node, source = lesson.settings["node"], lesson.settings["source"]
    if induces_rules(reflector, lesson.settings["reflector_model"]):
        cost = await wait.work(cost_of_mistakes, lesson, playbook)
        if not_yet(cost, await wait.work(playbook.get_bullets_for_node, node)):
            return None
    table = await wait.work(playbook.cases, node)
    row = table.row_of(lesson.decision_id)
    if row is not None and case_shares(table)[row] < TEACHES:
        return None
    bullets = await wait.work(lambda: playbook.get_bullets_for_node(node, status=None))
    names = lesson.settings.get("redact") or ()
    hidden = HiddenFields.of(read_fields(lesson.transaction), names, lesson.came)
    active = [b for b in of_source(bullets, source) if b.status == "active"]
    if row is not None and lesson.settings.get("decided_by"):
        scale = scale_for(active, table, lesson.settings)
        if await wait.work(_is_settled, lesson, table, row, active, scale):
            return None
    judged = Judged(
        hidden.transaction(lesson.transaction),
        lesson.decision,
        lesson.correct,
        "\n".join(map(hidden.text, lesson.reasons)),
        since_change(table, bullets),
        active,
        lesson.decision_id,
    )
    return await reflector.reflect_with(judged, wait, lesson.settings["reflector_model"])


def _is_settled(
    lesson: Lesson, table: CaseTable, row: int, active: Sequence[Bullet], scale: RiskScale
) -> bool:
    """Whether the weights already settle a mistake of a model: with what it made of the case, the
    rules give the right answer now, and nothing is left to explain.
    """
    declines = scale.declines(log_odds_over(table, active), read_fields(lesson.transaction))
    return bool(declines[row]) == (lesson.correct == DECLINE)
