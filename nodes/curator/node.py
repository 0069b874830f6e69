"""The curator as a graph node: let the heuristic of a run into the playbook, or refuse it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from acegraph.nodes.curator.curator import Curation, Curator
from acegraph.nodes.curator.refine import Refinement, refine_if_due
from acegraph.nodes.evidence.stakes import cost_of_mistakes, not_yet
from acegraph.nodes.models.embedding_models import EmbeddingModel
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import AceState, BulletPlaybook, ModelError
from acegraph.state.run.lesson import Lesson, has_failed
from acegraph.state.run.schema import Reflection, RunSettings, Update
from acegraph.state.values import Condition, Source

NOTHING_LEARNED = "the reflector found nothing to learn"
FIRST_RULE: Final = 16
"""About so many labelled cases a first rule needs, half of them declined: fewer prove nothing."""


@dataclass(frozen=True)
class CuratorNode:
    """Curates the heuristic that the reflector wrote."""

    playbook: BulletPlaybook
    curator: Curator
    embedding: Callable[[RunSettings], EmbeddingModel] | None = None
    """The embedding model of a run; None if the vectors of new bullets are stored elsewhere."""
    refines: Callable[[RunSettings], bool] = lambda _: False
    """Whether a run may refine the whole playbook."""

    async def __call__(self, state: AceState, wait: Wait) -> Update:
        """Let the heuristic into the playbook or refuse it, and tend the bullets there."""
        decision_id = state["case"]["id"]
        if has_failed(state, "reflector"):  # nothing is noted: a later run may try again
            failed = Curation("refused", state["undecided"] or "")
            return {"decision_id": decision_id, "curation": failed.to_json()}
        curation = await wait.work(
            curate_lesson,
            Lesson.of(state),
            state["reflection"],
            self.curator,
            self.playbook,
            refines=self.refines(state["settings"]),
        )
        warnings = list(state["warnings"])
        if curation.bullet_id is not None and self.embedding is not None:
            model = self.embedding(state["settings"])
            warnings += await self._store_vector(curation.bullet_id, model, wait)
        return {
            "decision_id": decision_id,
            "new_bullet": curation.bullet_id,
            "curation": curation.to_json(),
            "warnings": warnings,
        }

    async def _store_vector(self, bullet_id: str, model: EmbeddingModel, wait: Wait) -> list[str]:
        """Store the new bullet's vector, or warn; the selector fetches a missing one later."""
        bullet = await wait.work(self.playbook.get_bullet, bullet_id)
        try:
            await model.vectors([bullet.content], wait, self.playbook)
        except ModelError as error:
            return [f"no vector yet for {bullet_id}: {error}"]
        return []


def curate_lesson(
    lesson: Lesson,
    reflection: Reflection | None,
    curator: Curator,
    playbook: BulletPlaybook,
    *,
    refines: bool = False,
) -> Curation:
    """Let a heuristic in or refuse it, and note in the ledger what its decision taught.

    With `refines`, the whole playbook is looked at first if its labelled cases have doubled; if
    that brings bullets, they are the lesson. It takes up to some seconds, and locks nobody out.
    """
    node = lesson.settings["node"]
    if lesson.settings.get("review"):
        curator = curator.awaiting_approval()
    refined = refine_if_due(playbook, lesson, curator) if refines else None
    also_retired = refined.retired if refined and not refined.added else ()
    with playbook.writing():
        learned = playbook.lesson(lesson.decision_id)
        if learned is not None:  # the decision was delivered twice at the same time
            return Curation(**{**learned, "retired": tuple(learned["retired"])})
        cost = cost_of_mistakes(lesson, playbook)
        early = not_yet(cost, playbook.get_bullets_for_node(node)) if refines else ""
        if refines:
            playbook.keep_unsearched(node, cost if early else 0.0)
        if refined and refined.added:
            curation = _refined(refined, playbook)
        elif reflection is None:
            retired = curator.tend(node, playbook)
            known = len(playbook.cases(node))
            few = f": {known} labelled cases, a first rule needs about {FIRST_RULE}"
            reason = early or NOTHING_LEARNED + (few if known < FIRST_RULE else "")
            curation = Curation("refused", reason, retired=tuple(retired))
        else:
            curation = propose(
                curator, reflection, playbook, node, lesson.settings["learn_as"], _origin(lesson)
            )
        curation = replace(curation, retired=(*also_retired, *curation.retired))
        playbook.conclude(lesson.decision_id, curation.to_json())
    return curation


def propose(
    curator: Curator,
    reflection: Reflection,
    playbook: BulletPlaybook,
    node: str,
    source: Source,
    origin: Mapping[str, str],
) -> Curation:
    """What a curator does with a reflector's heuristic."""
    condition = reflection.get("condition")
    prompt = {"prompt": reflection["prompt"]} if "prompt" in reflection else {}
    return curator.curate(
        reflection["new_bullet"],
        node,
        playbook,
        source,
        condition=Condition.from_json(condition) if condition else None,
        problem_types=reflection["problem_types"],
        confidence=reflection["confidence"],
        origin={**origin, "author": reflection.get("author", ""), **prompt},
    )


def _refined(refined: Refinement, playbook: BulletPlaybook) -> Curation:
    """What a lesson taught that led to a refinement; the first new bullet stands for all."""
    first = playbook.get_bullet(refined.added[0])
    reason = f"{refined.rule_set.in_words}; new: {', '.join(refined.added)}"
    return Curation("added", reason, first.id, first.evidence, refined.retired)


def _origin(lesson: Lesson) -> dict[str, str]:
    """Where a bullet comes from: decision, label and its source."""
    return {
        "decision": lesson.decision_id,
        "label": lesson.correct,
        "label_source": lesson.label_source,
    }
