"""A lesson: one judged decision on its way through reflector and curator, now or when its label
comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acegraph.nodes.curator.curator import Curation, Curator
from acegraph.nodes.evidence.drift import since_change
from acegraph.nodes.evidence.scorecard import NO_LANGUAGE_MODEL
from acegraph.nodes.reflector import prompt as prompts
from acegraph.nodes.reflector.custom import Reflecting
from acegraph.nodes.reflector.reflector import Judged, Reflection
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.text.reader import read_fields
from acegraph.state import Condition, Transaction, Verdict
from acegraph.state.ledger.redaction import Redaction

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


NOTHING_LEARNED = "the reflector found nothing to learn"


@dataclass(frozen=True)
class Lesson:
    """A decision whose right answer is known."""

    decision_id: str
    transaction: Transaction
    decision: Verdict
    correct: Verdict
    reasons: Sequence[str]
    settings: Mapping[str, Any]
    """Those of the run that decided."""
    label_source: str = "label"
    """Who says what would have been right."""

    async def reflect(
        self, reflector: Reflecting, playbook: BulletPlaybook, wait: Wait
    ) -> Reflection | None:
        """The heuristic that the reflector draws from it, with all the evidence there is."""
        node, source = self.settings["node"], self.settings["source"]
        table = await wait.work(playbook.cases, node)
        everyone = await wait.work(lambda: playbook.get_bullets_for_node(node, status=None))
        bullets = [b for b in everyone if b.status == "active" and source in (None, b.source)]
        hide = Redaction.of(read_fields(self.transaction), self.settings.get("redact") or ())
        judged = Judged(
            hide.transaction(self.transaction),
            self.decision,
            self.correct,
            hide.text("\n".join(self.reasons)),
            since_change(table, everyone),
            bullets,
            self.decision_id,
        )
        return await reflector.settle(judged, wait, self.settings["reflector_model"])

    def curate(
        self, reflection: Mapping[str, Any] | None, curator: Curator, playbook: BulletPlaybook
    ) -> Curation:
        """Let the heuristic in or refuse it, and note that this decision has been learned from."""
        node = self.settings["node"]
        if self.settings.get("review"):  # a late label takes the same road
            curator = curator.awaiting_approval()
        with playbook.writing():
            learned = playbook.lesson(self.decision_id)
            if learned is not None:  # the same decision, delivered twice at once
                return Curation(**{**learned, "retired": tuple(learned["retired"])})
            if reflection is None:
                retired = curator.tend(node, playbook)
                found = Curation("refused", NOTHING_LEARNED, retired=tuple(retired))
            else:
                condition = reflection.get("condition")
                found = curator.curate(
                    reflection["new_bullet"],
                    node,
                    playbook,
                    self.settings["learn_as"],
                    condition=Condition.from_json(condition) if condition else None,
                    problem_types=reflection["problem_types"],
                    confidence=reflection["confidence"],
                    origin={
                        "decision": self.decision_id,
                        "label": self.correct,
                        "label_source": self.label_source,
                        **_author(reflection),
                    },
                )
            playbook.conclude(self.decision_id, found.to_json())
        return found


def _author(reflection: Mapping[str, Any]) -> dict[str, str]:
    """Who wrote it, and for a language model the version of the prompt it was told."""
    author = str(reflection.get("author", ""))
    is_model = author not in ("", NO_LANGUAGE_MODEL)
    return {"author": author} | ({"prompt": prompts.VERSION} if is_model else {})
